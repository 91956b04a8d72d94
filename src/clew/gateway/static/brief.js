// One brief, line by line: what stands behind each line, what the audit said, what was lost. Also one that would be.

import * as detail from "./detail.js";
import { button, el, id, line, meter, moment, number, percent, plural, said, shows, walk } from "./dom.js";
import { go, state } from "./state.js";
import { get } from "./wire.js";

let previewed = null; // a brief that would be, for one session, until it is put away
let compactNow = () => {};

export function start(compact) {
  compactNow = compact;
}

/** Asks what a compaction now would come to and shows it. */
export async function preview(focus) {
  const key = state.key;
  const told = await get("/api/session/preview", { key, focus });
  if (!told.ok) return told;
  previewed = { key, focus, brief: told.brief };
  if (state.key === key) {
    if (state.tab === "brief") draw(previewed.brief, true);
    else go({ t: "brief" });
  }
  return told;
}

/** The preview is out of date, or was put away. */
export function forget() {
  previewed = null;
}

export async function load() {
  const key = state.key, name = state.compaction;
  if (previewed && previewed.key !== key) forget();
  if (previewed && !name) {
    draw(previewed.brief, true);
    return;
  }
  try {
    const told = await get("/api/session/compaction", { key, id: name });
    if (key === state.key && name === state.compaction) draw(told, false);
  } catch (failure) {
    if (failure.code !== "bad_request") throw failure;
    if (key === state.key) none();
  }
}

function none() {
  shows(id("panel-brief"), null);
  id("panel-brief").replaceChildren(
    el(
      "div", { class: "nothing" },
      el("p", {}, "Nothing was compacted in this session yet, so it has no brief."),
      el("p", { class: "faint" }, "Preview shows what rules would write now; it changes nothing and asks no model."),
    ),
  );
}

function draw(told, preview) {
  const panel = id("panel-brief");
  if (shows(panel, [state.key, preview, told])) return;
  const here = panel.contains(document.activeElement) ? document.activeElement.dataset.line : null;
  const lines = el("ol", { class: "lines", "aria-label": "Lines of the brief" }, ...told.lines.map(row));
  walk(lines, ".brief-line");
  panel.replaceChildren(
    ...(preview ? [banner()] : [chooser(told)]),
    el("div", { class: "brief" }, lines, beside(told)),
  );
  if (here) lines.querySelector(`.brief-line[data-line="${here}"]`)?.focus();
}

function banner() {
  return el(
    "div", { class: "banner", role: "status" },
    el("p", {}, el("strong", {}, "Preview. "), "This is what rules would write now. No model was asked and nothing was written."),
    button("Compact now…", () => compactNow(previewed?.focus), { class: "main" }),
    button("Put away", () => { forget(); load(); }),
  );
}

function chooser(told) {
  const words = { standing: "standing", superseded: "taken up by a later one", undone: "taken back" };
  const select = el(
    "select", { id: "which", onchange: (event) => go({ t: "brief", c: event.target.value }) },
    ...told.compactions.map((one, nth) =>
      el("option", { value: one.id, selected: one.id === told.id }, `${told.compactions.length - nth}. ${moment(one.at)}, ${words[one.standing]}, by ${line(one.by, 40)}`),
    ),
  );
  return el("div", { class: "row which" }, el("label", { for: "which" }, "Compaction"), select);
}

function row(one) {
  if (one.text.startsWith("#")) return el("li", { class: "heading" }, el("h3", {}, line(one.text.replace(/^#+\s*/, ""), 200)));
  if (!one.text.trim()) return el("li", { class: "blank", "aria-hidden": "true" });
  const bullet = /^(\s*)[-*] /.exec(one.text);
  const words = bullet ? one.text.slice(bullet[0].length) : one.text;
  const deep = bullet ? `bullet deep-${Math.min(3, bullet[1].length >> 1)}` : "";
  if (!one.claims) return el("li", { class: `plain ${deep}` }, el("span", { class: "said faint", dir: "auto" }, ...said(words)));
  const numbers = one.sources.map((each) => `#${each.seq}`);
  const chips = numbers.length
    ? el("span", { class: "sources" }, numbers.length > 3 ? `${numbers.slice(0, 3).join(" ")} +${numbers.length - 3}` : numbers.join(" "))
    : el("span", { class: "badge warn" }, "no source");
  const found = numbers.length ? plural(numbers.length, "source") : "no source";
  const press = button("", () => trace(press, one, found), { class: "brief-line", "data-line": one.number });
  press.append(el("span", { class: `said ${deep}`, dir: "auto" }, ...said(words)), chips);
  return el("li", { class: numbers.length ? "" : "unsupported" }, press);
}

function trace(press, one, found) {
  for (const other of document.querySelectorAll(".brief-line[aria-current]")) other.removeAttribute("aria-current");
  press.setAttribute("aria-current", "true");
  detail.entries(`Line ${one.number}: ${found}`, one.sources.map((each) => each.id), one.text);
}

function beside(told) {
  const saved = told.tokensBefore ? percent(told.tokensBefore - told.tokensAfter, told.tokensBefore) : null;
  const took = told.durationMs === null || told.durationMs === undefined ? "" : ` in ${(told.durationMs / 1000).toFixed(1)} s`;
  const claims = told.lines.filter((one) => one.claims), bare = claims.filter((one) => !one.sources.length);
  return el(
    "aside", { class: "beside", "aria-label": "Audit and losses" },
    part("Size",
      told.tokensBefore || told.tokensAfter
        ? el("div", { class: "sizes" }, el("div", { class: "bars" }, meter(1, "before"), meter(told.tokensAfter / told.tokensBefore, "after")), el("span", {}, `${number(told.tokensBefore)} → ${number(told.tokensAfter)} tokens`))
        : el("p", {}, "Sizes unknown: it came with an import."),
      el("p", { class: "faint" }, [saved && `${saved} freed`, told.covered ? `${plural(told.covered, "entry", "entries")} wound up` : "", `brief of ${number(told.tokens)} tokens`].filter(Boolean).join(" · ")),
      el("p", { class: "faint" }, `By ${line(told.by, 80)}${took}`, told.focus && `; focus: ${line(told.focus, 200)}`),
    ),
    part("Verdict",
      el("p", {}, el("span", { class: `badge ${told.outcome === "accepted" || told.outcome === "repaired" ? "good" : "warn"}` }, OUTCOMES[told.outcome] ?? told.outcome)),
      el("p", {}, ...said(`${told.verdict.charAt(0).toUpperCase()}${told.verdict.slice(1)}.`)),
      el("p", { class: "faint" }, bare.length ? `${plural(bare.length, "line")} of ${claims.length} without a source` : `All ${claims.length} lines have a source`),
      ...attempts(told),
    ),
    part("Lost",
      el("p", {}, ...said(`${told.lostWords.charAt(0).toUpperCase()}${told.lostWords.slice(1)}.`)),
      ...folded(plural(told.lost.length, "lost identifier"), told.lost, told.lostTotal),
      ...Object.entries(told.leftOut).flatMap(([name, texts]) => folded(`Not shown: ${plural(texts.length, "fact")} of ${line(name, 30)}`, texts)),
      told.cut.length > 0 && el("p", { class: "faint" }, `The budget left no room for all of: ${told.cut.map((one) => line(one, 40)).join(", ")}`),
    ),
    part("Kept by rules", el("p", {}, line(told.ledger, 400)),
      ...folded(`${plural(told.restored.length, "fact")} put back`, told.restored),
      ...folded(`${plural(told.dropped.length, "line")} taken out`, told.dropped),
    ),
  );
}

const OUTCOMES = { accepted: "accepted", repaired: "accepted after repair", fallback: "written by rules", imported: "imported, not audited" };

const part = (name, ...inside) => el("section", {}, el("h3", {}, name), ...inside);

function attempts(told) {
  if (!told.attempts.length) return [];
  return [el("ol", { class: "attempts" }, ...told.attempts.map((one) =>
    el("li", {},
      el("span", {}, `${line(one.writer, 60)}${one.failure ? `: no draft, ${line(one.failure, 100)}` : one.tokens ? `: ${plural(one.tokens, "token")}` : ""}`),
      one.findings.length
        ? el("ul", {}, ...one.findings.map((each) => el("li", { dir: "auto" }, ...said(each))))
        : !one.failure && el("span", { class: "faint" }, ", no findings"),
    )))];
}

function folded(name, texts, total) {
  if (!texts.length) return [];
  const more = (total ?? texts.length) - texts.length;
  return [el("details", {}, el("summary", {}, name),
    el("ul", { class: "texts" }, ...texts.map((one) => el("li", { dir: "auto" }, ...said(one))), more > 0 && el("li", { class: "faint" }, `… ${number(more)} more`)))];
}
