// A session's past, the newest first: turns, and between them what was pruned, compacted, taken back, pinned.

import * as detail from "./detail.js";
import { trouble } from "./ask.js";
import { button, el, id, line, meter, moment, number, percent, plural, said, shows, walk } from "./dom.js";
import { address, state } from "./state.js";
import { get } from "./wire.js";

const PAGE = 30;
let pages = 1;
let drawnKey = null;

/** Asks for the newest items, as many as are looked at, and draws them. */
export async function load() {
  const key = state.key;
  if (drawnKey !== key) [pages, drawnKey] = [1, key];
  const items = [];
  let before, next;
  for (let nth = 0; nth < pages; nth += 1) {
    const told = await get("/api/session/timeline", { key, before, limit: PAGE });
    items.push(...told.items);
    next = before = told.next;
    if (!next) break;
  }
  if (key === state.key) draw(items, next);
}

function draw(items, next) {
  const panel = id("panel-timeline");
  if (shows(panel, [drawnKey, items, next])) return;
  const open = new Set([...panel.querySelectorAll("[aria-expanded=true]")].map((one) => one.dataset.seq));
  const here = panel.contains(document.activeElement) ? document.activeElement.dataset.seq : null;
  if (!items.length) {
    panel.replaceChildren(el("p", { class: "nothing" }, "Nothing was said in this session yet."));
    return;
  }
  const list = el("ol", { class: "timeline", reversed: true });
  const most = Math.max(1, ...items.map((one) => Math.max(one.before ?? 0, one.after ?? 0)));
  list.append(...items.map((one) => row(one, most)));
  walk(list, ".item-open");
  panel.replaceChildren(
    list,
    next
      ? button("Show older", () => { pages += 1; load().catch(trouble); }, { class: "older" })
      : el("p", { class: "faint older" }, "This is where the session begins."),
  );
  for (const one of list.querySelectorAll(".item-open[aria-expanded]")) if (open.has(one.dataset.seq)) one.click();
  if (here) list.querySelector(`.item-open[data-seq="${here}"]`)?.focus();
}

function row(one, most) {
  const [kind, ...inside] = (ROWS[one.kind] ?? other)(one, most);
  return el(
    "li", { class: `item ${one.kind} ${kind}` },
    el("div", { class: "item-when" }, el("span", {}, moment(one.at)), el("span", { class: "faint" }, one.last > one.seq ? `#${one.seq}–${one.last}` : `#${one.seq}`)),
    el("div", { class: "item-what" }, ...inside),
  );
}

const ROWS = {
  turn(one) {
    const calls = one.calls.reduce((sum, each) => sum + each.count, 0);
    const tools = one.calls.slice(0, 4).map((each) => `${line(each.tool, 30)} ×${each.count}`).join(", ");
    const facts = [
      plural(one.entries, "entry", "entries"), plural(one.tokens, "token"),
      calls ? `${plural(calls, "call")} (${tools}${one.calls.length > 4 ? ", …" : ""})` : "",
    ].filter(Boolean);
    const below = el("div", { class: "turn-entries", hidden: true });
    const press = button("", () => unfold(press, below, one), { class: "item-open linkish", "aria-expanded": "false", "data-seq": one.seq });
    press.append(el("span", { class: "said clip", dir: "auto" }, ...said(one.text || (one.partial ? "(the turn goes on)" : "(no words)"))));
    return [
      "",
      press,
      one.answer && el("p", { class: "answer clip", dir: "auto" }, ...said(one.answer)),
      el("p", { class: "faint" }, facts.join(" · "), one.errors > 0 && el("span", { class: "badge bad" }, plural(one.errors, "error"))),
      below,
    ];
  },
  compaction(one, most) {
    const name = { standing: "Compaction, standing", superseded: "Compaction, taken up by a later one", undone: "Compaction, taken back" }[one.standing];
    return [
      one.standing,
      el("a", { class: "item-open", href: address({ t: "brief", c: one.id }), "data-seq": one.seq }, el("strong", {}, name)),
      sizes(one, most),
      el("p", {}, ...said(`${capital(one.verdict)}.`)),
      el("p", { class: "faint" }, [`${plural(one.covered, "entry", "entries")} wound up`, `by ${line(one.by, 60)}`, TRIGGERS[one.trigger] ?? one.trigger, one.lost ? `${plural(one.lost, "identifier")} lost` : "no identifier lost"].join(" · ")),
    ];
  },
  prune(one, most) {
    const parts = [one.trimmed && `${plural(one.trimmed, "result")} shown by head and tail`, one.cleared && `${plural(one.cleared, "result")} shown as one line`, one.images && `images of ${plural(one.images, "message")} shown as words`];
    return ["", mark(one, "Pruned"), sizes(one, most), el("p", { class: "faint" }, `${parts.filter(Boolean).join(", ") || "nothing"}; sizes are of these alone, and the transcript keeps them whole`)];
  },
  undo(one, most) {
    return ["", mark(one, "Compaction taken back"), sizes(one, most), el("p", { class: "faint" }, "The view is again what it was, with what was said since behind it. ", el("a", { href: address({ t: "brief", c: one.compaction }) }, "The brief that was taken back"))];
  },
  pin(one) {
    return ["", mark(one, one.on ? "Pinned" : "Unpinned", one.target), one.text && el("p", { class: "clip", dir: "auto" }, ...said(one.text)), el("p", { class: "faint" }, one.targetSeq ? `Entry #${one.targetSeq}` : "An entry")];
  },
  reset: (one) => ["", mark(one, "Fresh window"), el("p", { class: "faint" }, `Asked for with ${line(one.reason, 40)}; the transcript keeps everything before it`)],
  model: (one) => ["", mark(one, `Model: ${line(one.model, 80)}`)],
};

const TRIGGERS = {
  manual: "asked for", budget: "over the threshold", overflow: "the provider refused the size", bytes: "too many bytes",
  timeout: "a request timed out", switch: "the model changed",
};

const other = (one) => ["", mark(one, one.kind)];

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

const mark = (one, words, target) => button(words, () => detail.entry(target ?? one.id, words), { class: "item-open linkish strong", "data-seq": one.seq });

function sizes(one, most) {
  if (one.before === null || one.before === undefined || (!one.before && !one.after)) return el("p", { class: "faint" }, "sizes unknown");
  const more = one.after > one.before;
  const change = one.before && !more ? `−${percent(one.before - one.after, one.before)}` : "";
  return el(
    "div", { class: "sizes" },
    el("div", { class: "bars" }, meter(one.before / most, "before"), meter(one.after / most, "after")),
    el("span", {}, `${number(one.before)} → ${number(one.after)} tokens`, el("span", { class: "faint" }, ` ${change}`)),
  );
}

async function unfold(press, below, one) {
  const open = press.getAttribute("aria-expanded") === "true";
  press.setAttribute("aria-expanded", String(!open));
  below.hidden = open;
  if (open || below.childElementCount) return;
  try {
    const limit = Math.min(1000, one.last - one.seq + 1);
    const told = await get("/api/session/entries", { key: state.key, after: one.seq - 1, limit });
    const list = el("ul", {}, ...told.entries.filter((each) => each.kind === "message").map(short));
    walk(list, "button");
    below.replaceChildren(list);
  } catch (failure) {
    trouble(failure);
  }
}

function short(one) {
  const name = { user: "user", assistant: "assistant", toolresult: `result of ${one.tool}`, shell: "shell" }[one.role] ?? one.role;
  const words = line(one.text, 110) || (one.calls ?? []).join(", ") || "(no words)";
  const press = button("", () => detail.entry(one.id), { class: "linkish entry-line" });
  press.append(
    el("span", { class: "faint" }, `#${one.seq}`), el("span", { class: one.error ? "bad" : "role" }, line(name, 40)),
    el("bdi", { class: "one-line" }, words), el("span", { class: "faint" }, number(one.tokens)),
  );
  return el("li", {}, press);
}
