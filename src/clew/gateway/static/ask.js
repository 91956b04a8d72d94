// Questions to the one who sits here, and what is said to them: a dialog, a line of news, a line of trouble.

import { button, el, id, plain } from "./dom.js";

/** Asks; the value of the button that was pressed, with what was typed, or null. `field` is {label, hint, most}. */
export function ask(name, words, buttons, field) {
  const dialog = id("ask"), form = id("ask-form");
  const input = field && el(field.rows ? "textarea" : "input", { id: "ask-field", rows: field.rows, maxlength: field.most });
  form.replaceChildren(
    el("h2", { id: "ask-name" }, name),
    ...words.map((one) => el("p", {}, plain(one))),
    ...(field ? [el("label", { for: "ask-field" }, field.label), input] : []),
    el(
      "div", { class: "ask-buttons" },
      el("button", { value: "", class: "quiet", formnovalidate: true }, "Cancel"),
      ...buttons.map(([value, label, kind]) => el("button", { value, class: kind ?? "" }, label)),
    ),
  );
  if (input) {
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
      event.preventDefault();
      dialog.close(buttons.at(-1)[0]);
    });
  }
  dialog.returnValue = "";
  dialog.showModal();
  (input ?? form.querySelector(".ask-buttons button")).focus();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => resolve(dialog.returnValue ? { value: dialog.returnValue, text: input?.value.trim() ?? "" } : null),
      { once: true },
    );
  });
}

let timer = 0;

/** A sentence of news. */
export function tell(words) {
  const place = id("said");
  place.textContent = plain(words);
  place.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => { place.hidden = true; }, 8000);
}

/** A sentence of trouble; it stays until it is put away. */
export function trouble(failure) {
  const place = id("trouble");
  if (failure?.status === 401) return;
  const words = failure instanceof Error ? failure.message : failure;
  place.replaceChildren(el("span", {}, plain(words)), button("Dismiss", quiet, { class: "quiet" }));
  place.hidden = false;
}

/** No trouble any more. */
export function quiet() {
  id("trouble").hidden = true;
}
