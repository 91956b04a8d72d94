// The end of the conversation, and the way to go on with it: what is said goes out, the answer comes in as it is made.

import { tell, trouble } from "./ask.js";
import * as detail from "./detail.js";
import { button, el, id, line, moment, plural, said, short } from "./dom.js";
import { state } from "./state.js";
import { freshId, get, post } from "./wire.js";

const LAST = 30; // entries that are shown
const MOST = 3_000; // characters of each

let built = null; // the session the panel was made for
let live = null; // the answer that comes in: { box, words, steps }
const drafts = new Map(); // what was typed and not sent, by session

function build() {
  built = state.key;
  live = null;
  const key = built;
  const field = el("textarea", { id: "words", rows: "2", placeholder: "Say something. A line that begins with / is a command, such as /status.", "aria-label": "Message", maxlength: "1000000" });
  field.value = drafts.get(key) ?? "";
  field.addEventListener("input", () => drafts.set(key, field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  const form = el("form", { class: "composer" }, field,
    el("div", { class: "row" }, el("button", { type: "submit", class: "main" }, "Send"), button("Stop", stop, { id: "stop", hidden: true }), el("span", { class: "faint wide-only" }, "Enter sends, Shift+Enter begins a line")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  id("panel-talk").replaceChildren(el("ol", { class: "talk", id: "talk", "aria-label": "Conversation" }), el("ol", { class: "talk", id: "talk-live", "aria-label": "Just now" }), form);
}

export async function load() {
  const key = state.key;
  if (built !== key) build();
  const before = live;
  const row = await get("/api/session", { key });
  const told = await get("/api/session/entries", { key, after: Math.max(0, row.entries - LAST), limit: LAST + 50 });
  if (key !== state.key || built !== key) return;
  const near = atEnd();
  const shown = told.entries.filter((one) => one.kind !== "custom");
  id("talk").replaceChildren(
    ...(row.entries > LAST ? [el("li", { class: "faint centre" }, `The last of ${plural(row.entries, "entry", "entries")}; the timeline has the rest.`)] : []),
    ...shown.map(bubble),
    ...(shown.length ? [] : [el("li", { class: "nothing" }, "Nothing was said yet. Say something below.")]),
  );
  for (const one of id("talk-live").querySelectorAll(".pending"))
    if (shown.some((each) => each.id === one.dataset.id)) one.remove();
  id("stop").hidden = !row.running;
  if (!row.running && live === before) settle(); // an answer that began meanwhile is not over
  if (near) toEnd();
}

const atEnd = () => {
  const place = id("panel-talk");
  return !place.dataset.seen || innerHeight + scrollY >= document.documentElement.scrollHeight - 160;
};

function toEnd() {
  id("panel-talk").dataset.seen = "1";
  if (state.tab === "talk") scrollTo(0, document.documentElement.scrollHeight);
}

function bubble(one) {
  if (one.kind !== "message") {
    const names = { compaction: `Compacted: ${short(one.tokensBefore)} → ${short(one.tokensAfter)} tokens`, undo: "Compaction taken back", prune: "Old tool results pruned", reset: "Fresh window", pin: "A message pinned or let go", model: "Another model" };
    return el("li", { class: "mark" }, names[one.kind] ?? one.kind);
  }
  const text = one.text ?? "";
  if (one.role === "toolresult")
    return el("li", { class: "tool" }, button(`Result of ${line(one.tool, 40)}${one.error ? ", an error" : ""} · ${plural(one.chars, "character")}`, () => detail.entry(one.id), { class: "linkish" }), el("bdi", { class: "one-line faint" }, line(text, 120)));
  const cut = text.length > MOST;
  return el(
    "li", { class: `message ${one.role}` },
    el("p", { class: "who" }, { user: "You", assistant: "Answer", shell: "Shell" }[one.role] ?? one.role, el("span", { class: "faint" }, ` #${one.seq} · ${moment(one.at)}`), button("Open", () => detail.entry(one.id), { class: "linkish", "aria-label": `Open entry ${one.seq}` })),
    el("div", { class: "said", dir: "auto" }, ...said(cut ? text.slice(0, MOST) : text)),
    cut && el("p", { class: "faint" }, `… of ${plural(one.chars, "character")}`),
  );
}

async function send() {
  const field = id("words"), key = state.key, text = field.value, name = freshId();
  if (!text.trim()) return;
  field.value = "";
  drafts.delete(key);
  const pending = el("li", { class: "message user pending", "data-id": name }, el("p", { class: "who" }, "You", el("span", { class: "faint" }, " on its way")), el("div", { class: "said", dir: "auto" }, ...said(text)));
  if (!text.startsWith("/")) for (const old of id("talk-live").querySelectorAll(".command")) old.remove();
  id("talk-live").append(pending);
  toEnd();
  try {
    const run = await post("/api/session/messages", { key }, { text, id: name, wait: true });
    pending.remove();
    if (key !== state.key) return;
    if (run.outcome === "command") command(text, run.text);
    else if (run.ok === false) ended(run);
    await load();
    toEnd();
  } catch (failure) {
    pending.remove();
    if (failure.code === "unreachable") failure.message = "The connection broke. If the gateway took the message in, it goes on with it; look at what stands above before sending it again.";
    if (key === state.key && !field.value) field.value = text;
    trouble(failure);
    load().catch(() => {});
  }
}

function command(text, words) {
  id("talk-live").append(el("li", { class: "message command" }, el("p", { class: "who" }, line(text, 80)), el("pre", { class: "said" }, ...said(words || "Done."))));
}

function ended(run) {
  const why = { cancelled: "It was stopped; what was said is kept.", failed: "The turn failed.", overflow: "The request does not fit the window.", too_large: "The request is too large.", loop: "The same call came again and again." }[run.outcome] ?? run.outcome;
  trouble([why, run.detail].filter(Boolean).join(" "));
}

async function stop() {
  try {
    const told = await post("/api/session/cancel", { key: state.key });
    tell(told.cancelled ? "Stopped; what was said is kept." : "Nothing runs.");
  } catch (failure) {
    trouble(failure);
  }
}

function begin() {
  if (live) return live;
  const words = el("div", { class: "said", dir: "auto" }), steps = el("ul", { class: "steps" });
  const box = el("li", { class: "message assistant live" }, el("p", { class: "who" }, "Answer", el("span", { class: "faint" }, " coming in")), words, steps);
  id("talk-live").prepend(box);
  live = { box, words, steps, text: "" };
  return live;
}

function settle() {
  live?.box.remove();
  live = null;
}

/** An event of the session that is looked at. */
export function heard(event) {
  if (built !== state.key || !id("talk-live")) return;
  const near = atEnd();
  switch (event.type) {
    case "Asking":
      begin();
      id("stop").hidden = false;
      break;
    case "Words":
      begin();
      live.text += event.text;
      live.words.replaceChildren(...said(live.text));
      break;
    case "Called":
      begin().steps.append(el("li", {}, `Calls ${line(event.call.name, 60)}`));
      break;
    case "Returned":
      begin().steps.append(el("li", { class: event.result.error ? "bad" : "" }, `${line(event.result.tool, 60)} ${event.result.error ? "failed" : "returned"} after ${event.ms} ms`));
      live.words.replaceChildren();
      live.text = "";
      break;
    case "Waiting":
      begin().steps.append(el("li", { class: "bad" }, `${line(event.model, 60)} failed (${line(event.why, 60)}); asked again in ${event.seconds.toFixed(0)} s`));
      break;
  }
  if (near) toEnd();
}
