// The list of sessions: how full each is, how often it was compacted, whether it runs.

import { age, el, id, later, line, meter, percent, plural, short, walk } from "./dom.js";
import { address, state } from "./state.js";
import { get } from "./wire.js";

const STEP = 60;
let limit = STEP;
let known = { sessions: [], found: 0, all: 0, window: null };

export const overview = () => known;

/** Asks for the list and draws it. */
export async function load() {
  const find = id("find").value.trim();
  known = await get("/api/overview", { find, limit });
  draw(find);
  return known;
}

function draw(find) {
  const list = id("session-list"), here = document.activeElement?.closest?.("#session-list a")?.dataset.key;
  list.replaceChildren(...known.sessions.map(row));
  walk(list, "a");
  if (here) [...list.querySelectorAll("a")].find((one) => one.dataset.key === here)?.focus();
  id("session-more").hidden = known.found <= known.sessions.length;
  id("session-note").textContent = note(find);
}

function note(find) {
  if (!known.all) return "No session yet.";
  if (!known.found) return `No session's key or title holds “${line(find, 40)}”.`;
  if (known.found > known.sessions.length) return `${known.sessions.length} of ${plural(known.found, "session")}`;
  return plural(known.found, "session");
}

function row(one) {
  const size = one.windowTokens, window = one.contextTokens ?? known.window;
  const fill = window ? `${percent(size, window)} of ${short(window)}` : `${short(size)} tokens`;
  const facts = [fill, plural(one.compactions, "compaction"), age(one.updated)].filter(Boolean);
  const running = one.running ? "running" : one.queued ? `${one.queued} waiting` : "";
  return el(
    "li", {},
    el(
      "a",
      { href: address({ s: one.key }), "data-key": one.key, "aria-current": one.key === state.key ? "page" : null },
      el(
        "span", { class: "session-name" },
        el("bdi", {}, line(one.title || one.key, 80)),
        running && el("span", { class: "badge live" }, running),
        one.interrupted && !running && el("span", { class: "badge warn" }, "interrupted"),
      ),
      window ? meter(size / window, size > 0.75 * window ? "full" : "") : null,
      el("span", { class: "faint" }, facts.join(" · ")),
    ),
  );
}

/** Marks the session that is looked at. */
export function mark() {
  for (const link of id("session-list").querySelectorAll("a"))
    if (link.dataset.key === state.key) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
}

export function start(failed) {
  const again = () => load().catch(failed);
  const soon = later(() => { limit = STEP; again(); }, 200);
  id("find").addEventListener("input", soon);
  id("session-more").addEventListener("click", () => { limit += 4 * STEP; again(); });
}
