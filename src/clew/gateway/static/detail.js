// The pane beside everything: an entry word for word, or all entries behind a line, with the way to pin them.

import { tell, trouble } from "./ask.js";
import { button, el, id, moment, number, plain, plural, said } from "./dom.js";
import { state } from "./state.js";
import { get, post } from "./wire.js";

const FIRST = 12_000; // characters of an entry that are shown before anybody asks for more

let back = null; // where the focus was
let turn = 0; // the newest question; older answers are not shown
let changed = () => {};

export function start(onChange) {
  changed = onChange;
  id("detail-close").addEventListener("click", close);
  id("detail").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
}

export function close() {
  const pane = id("detail");
  if (pane.hidden) return;
  turn += 1;
  const inside = pane.contains(document.activeElement);
  pane.hidden = true;
  document.body.classList.remove("with-detail");
  if (inside) again(back)?.focus();
}

/** What had the focus, or what was drawn in its place meanwhile. */
function again(node) {
  if (!node || node.isConnected) return node;
  for (const name of ["data-name", "data-line", "data-seq"]) {
    const value = node.getAttribute(name);
    if (value) return [...document.querySelectorAll(`[${name}]`)].find((one) => one.getAttribute(name) === value);
  }
  return null;
}

function open(name) {
  const pane = id("detail");
  if (!pane.contains(document.activeElement)) back = document.activeElement;
  pane.hidden = false;
  document.body.classList.add("with-detail");
  id("detail-name").textContent = plain(name);
  id("detail-body").replaceChildren(el("p", { class: "faint" }, "Looking…"));
  pane.scrollTop = 0;
  pane.focus({ preventScroll: true });
}

/** Facts about something that is no entry. */
export function facts(name, rows, words) {
  turn += 1;
  open(name);
  id("detail-body").replaceChildren(
    el("dl", { class: "facts" }, ...rows.flatMap(([term, value]) => [el("dt", {}, term), el("dd", {}, plain(value))])),
    ...(words ? [el("p", { class: "faint" }, plain(words))] : []),
  );
}

/** One entry, by id or `#12`. */
export async function entry(name, title) {
  await entries(title ?? "Entry", [name], null);
}

/** Several entries, one below the other; `above` is what they stand behind. */
export async function entries(title, names, above) {
  const mine = (turn += 1), key = state.key;
  open(title);
  try {
    const found = await Promise.all(names.map((one) => get("/api/session/entry", { key, id: one, most: FIRST })));
    if (mine !== turn) return;
    id("detail-body").replaceChildren(
      ...(above ? [el("blockquote", { dir: "auto" }, ...said(above))] : []),
      ...(found.length ? found.map((one) => card(key, one)) : [el("p", {}, "No entry stands behind this line.")]),
    );
  } catch (failure) {
    if (mine !== turn) return;
    id("detail-body").replaceChildren(el("p", { class: "bad" }, plain(failure.message)));
  }
}

function card(key, one) {
  const box = el("article", { class: "entry", "aria-label": `Entry ${one.seq}` });
  fill(box, key, one);
  return box;
}

function fill(box, key, one) {
  const badges = [
    one.pinned && el("span", { class: "badge pin" }, "pinned"),
    one.error && el("span", { class: "badge bad" }, "error"),
    el("span", { class: `badge ${one.inWindow ? "" : "dim"}` }, one.inWindow ? "in the window" : "wound up"),
    one.shortened.length > 0 && el("span", { class: "badge warn" }, `shown ${shown(one.shortened)}`),
  ];
  const text = one.text ?? "";
  box.replaceChildren(
    el(
      "header", {},
      el("h3", {}, `#${one.seq} · ${plain(one.what)}`),
      el("p", { class: "faint" }, `${moment(one.at)} · ${plural(one.tokens, "token")} · ${plural(one.chars ?? 0, "character")}`),
      el("p", { class: "badges" }, ...badges),
    ),
    el("pre", { class: "said", dir: "auto", tabindex: "0", "aria-label": `Text of entry ${one.seq}` }, ...said(text)),
    el(
      "div", { class: "row" },
      (one.chars ?? 0) > text.length && button(`Show all ${number(one.chars)} characters`, () => more(box, key, one)),
      one.kind === "message" && button(one.pinned ? "Unpin" : "Pin", () => pin(box, key, one)),
      one.seq > 1 && button("Before", () => entry(`#${one.seq - 1}`), { class: "quiet", "aria-label": `Entry ${one.seq - 1}` }),
      button("After", () => entry(`#${one.seq + 1}`), { class: "quiet", "aria-label": `Entry ${one.seq + 1}` }),
    ),
  );
}

const shown = (kinds) => kinds.map((one) => ({ trim: "by head and tail", clear: "as one line", image: "without images" })[one] ?? one).join(", ");

async function more(box, key, one) {
  try {
    fill(box, key, await get("/api/session/entry", { key, id: one.id, most: 10_000_000 }));
    box.querySelector(".said").focus();
  } catch (failure) {
    trouble(failure);
  }
}

async function pin(box, key, one) {
  try {
    await post("/api/session/pin", { key }, { entry: one.id, on: !one.pinned });
    tell(one.pinned ? `Entry ${one.seq} is let go again.` : `Entry ${one.seq} is pinned: it is kept through every compaction.`);
    const size = Math.max(FIRST, (one.text ?? "").length);
    fill(box, key, await get("/api/session/entry", { key, id: one.id, most: size }));
    [...box.querySelectorAll("button")].find((each) => /^(Unpin|Pin)$/.test(each.textContent))?.focus();
    changed();
  } catch (failure) {
    trouble(failure);
  }
}

