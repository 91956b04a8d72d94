// The page: the way in, the list, one session with its views, and all of it kept as it is by what the gateway tells.

import { ask, quiet, tell, trouble } from "./ask.js";
import * as brief from "./brief.js";
import * as detail from "./detail.js";
import { button, el, id, line, meter, number, percent, plain, plural } from "./dom.js";
import * as map from "./map.js";
import * as sessions from "./sessions.js";
import { TABS, go, read, state } from "./state.js";
import * as talk from "./talk.js";
import * as timeline from "./timeline.js";
import { get, listen, onRefused, post } from "./wire.js";

let stream = null;


// The way in -----------------------------------------------------------------------------------------------------------

const LINK = { on: "live", off: "not connected; trying again", out: "not connected" };

function linked(now) {
  id("link").dataset.state = now;
  id("link-words").textContent = LINK[now];
}

const carried = () => new URLSearchParams(location.hash.slice(1)).get("token");

async function begin() {
  const given = carried();
  if (given) {
    history.replaceState(null, "", location.pathname);
    if (!(await enter(given))) return;
  }
  try {
    await get("/api/overview", { limit: 1 });
  } catch (failure) {
    if (failure.status === 401) return entrance();
    trouble(failure);
  }
  open();
}

async function enter(token) {
  try {
    await post("/login", {}, { token });
    return true;
  } catch (failure) {
    entrance(failure.message);
    return false;
  }
}

function entrance(why) {
  stream?.close();
  stream = null;
  linked("out");
  detail.close();
  id("app").hidden = id("logout").hidden = id("menu").hidden = true;
  const already = !id("entrance").hidden;
  id("entrance").hidden = false;
  if (why) id("login-why").textContent = plain(why);
  if (!already) id("token").focus();
}

function open() {
  id("entrance").hidden = true;
  id("app").hidden = id("logout").hidden = id("menu").hidden = false;
  quiet();
  if (stream) return;
  stream = listen(heard, (now) => {
    linked(now);
    if (now === "on") refresh();
  });
  look();
}

// What is looked at ----------------------------------------------------------------------------------------------------

function failed(failure) {
  if (failure.status === 404 && failure.code === "unknown_session") gone();
  else if (failure.status !== 401) trouble(failure);
}

/** The list, and the session that is looked at, as they are now. */
async function refresh() {
  try {
    await sessions.load();
    if (state.key) await session();
    else beginning();
    if (id("link").dataset.state === "on" && id("trouble").textContent.startsWith("The gateway cannot be reached")) quiet();
  } catch (failure) {
    failed(failure);
  }
}

const LEAST_MS = 300, SHARE = 4; // of the time that passes, no more than one part in so many goes into asking again

let busy = false, wanted = 0;

/** Asks again in a while: at once for a small session, seldom for a huge one. */
function soon() {
  if (busy) {
    wanted = 1;
    return;
  }
  busy = true;
  setTimeout(async () => {
    wanted = 0;
    const began = performance.now();
    await refresh();
    setTimeout(() => {
      busy = false;
      if (wanted) soon();
    }, SHARE * (performance.now() - began));
  }, LEAST_MS);
}

function look() {
  const before = state.key;
  read();
  if (before !== state.key) {
    detail.close();
    brief.forget();
    id("doing").textContent = "";
  }
  document.body.classList.remove("with-menu");
  id("menu").setAttribute("aria-expanded", "false");
  sessions.mark();
  if (!state.key) return beginning();
  session().catch(failed);
}

async function session() {
  const key = state.key;
  const told = await map.load();
  if (key !== state.key) return;
  state.window = told;
  head(told);
  tabs();
  const tab = state.tab;
  if (tab !== "window") await { timeline, brief, talk }[tab].load();
  else if (told.map) map.draw(told);
}

function head(told) {
  const row = told.session;
  id("nothing").hidden = true;
  id("there").hidden = false;
  id("name").replaceChildren(el("bdi", {}, line(row.title || row.key, 120)));
  const facts = [
    row.title ? line(row.key, 80) : "", told.model ? line(told.model, 80) : "no model is set",
    plural(row.entries, "entry", "entries"), plural(row.compactions, "compaction"),
    row.running ? "running" : row.queued ? `${row.queued} waiting` : "",
  ];
  id("facts").textContent = facts.filter(Boolean).join(" · ");
  id("do-undo").disabled = !row.compactions;
  document.title = `${line(row.title || row.key, 60)} · Clew`;

  fill(told);
}

function fill(told) {
  const tokens = told.size.tokens, window = told.window, marks = told.thresholds;
  const place = id("fill");
  if (!window) {
    place.replaceChildren(el("p", {}, `${number(tokens)} tokens. `, el("span", { class: "faint" }, "How large the window is, is not known: name a model in the settings.")));
    return;
  }
  const bar = meter(tokens / window, tokens >= marks.compactAt ? "full" : "");
  for (const [name, at] of [["trim", marks.trimAt], ["clear", marks.clearAt], ["compact", marks.compactAt]]) {
    const tick = el("i", { class: `tick ${name}`, title: `${name}: ${number(at)}` });
    tick.style.left = `${(100 * at) / window}%`;
    bar.append(tick);
  }
  place.replaceChildren(
    el("p", {}, el("strong", {}, percent(tokens, window)), ` ${number(tokens)} of ${number(window)} tokens `, el("span", { class: "faint" }, `(${told.size.source})`)),
    bar,
    el("p", { class: "faint" }, `Old results shortened from ${number(marks.trimAt)}, compacted at ${number(marks.compactAt)}${told.doubtful ? "; the size is over the window, so one of the two is wrong" : ""}`),
  );
}

function tabs() {
  for (const name of TABS) {
    const here = name === state.tab, tab = id(`tab-${name}`);
    tab.setAttribute("aria-selected", String(here));
    tab.tabIndex = here ? 0 : -1;
    id(`panel-${name}`).hidden = !here;
  }
}

function nothing(...inside) {
  id("there").hidden = true;
  id("nothing").hidden = false;
  id("nothing").replaceChildren(...inside);
  document.title = "Clew";

}

function beginning() {
  const known = sessions.overview();
  if (known.all) return nothing(el("h2", {}, "Choose a session"), el("p", { class: "faint" }, "The list has the most recently used first."));
  return nothing(
    el("h2", {}, "No session yet"),
    el("p", {}, "Begin one here, talk to an agent in a terminal with ", el("code", {}, "clew chat"), ", or bring a transcript in:"),
    el("pre", {}, "clew import ~/.claude/projects/…/SESSION.jsonl\nclew demo --store ~/…/clew.sqlite   # a long session to look at; `clew status` names the store"),
    button("Begin a session", fresh, { class: "main" }),
  );
}

function gone() {
  detail.close();
  nothing(el("h2", {}, "This session is gone"), el("p", {}, "It was deleted, or never was. The others are in the list."));
  sessions.load().catch(() => {});
}

// What happens ---------------------------------------------------------------------------------------------------------

const QUIET = ["Words", "CompactionStep", "Called", "Spent", "Waiting"];

function heard(told) {
  const { key, event } = told;
  if (key === state.key) {
    doing(event);
    talk.heard(event);
    if (event.type === "Compacted" && event.outcome === "compacted") brief.forget();
  }
  if (!QUIET.includes(event.type)) soon();
}

const STAGES = { chunk: "reading the conversation", merge: "writing the brief", turn: "reading the turn in progress" };

function doing(event) {
  const words = {
    Asking: () => `Asking ${line(event.model, 60)} with ${number(event.tokens)} tokens…`,
    Called: () => `Calls ${line(event.call.name, 60)}…`,
    Returned: () => "",
    Waiting: () => `${line(event.model, 60)} failed; asked again in ${event.seconds.toFixed(0)} s`,
    Compacting: () => `Compacting ${number(event.tokens)} tokens…`,
    CompactionStep: () => `Compacting: ${STAGES[event.stage] ?? line(event.stage, 30)}, part ${event.part} of ${event.parts}…`,
    Compacted: () => "",
    Ended: () => "",
  }[event.type];
  if (words) id("doing").textContent = words();
}

// What can be done -----------------------------------------------------------------------------------------------------

/** A change, with its button out of reach until it is over. */
async function change(press, words, run) {
  quiet();
  press.disabled = true;
  if (words) id("doing").textContent = words;
  try {
    await run();
  } catch (failure) {
    failed(failure);
  } finally {
    press.disabled = false;
    if (words) id("doing").textContent = "";
    await refresh();
    if (document.activeElement === document.body && press.isConnected && !press.disabled) press.focus();
  }
}

async function compact(focus) {
  const key = state.key;
  const asked = await ask(
    "Compact this session",
    ["Its old part is wound up into a brief. The model writes it and every line is audited, or rules write it and no model is asked. Nothing is deleted: the transcript keeps every entry, and Undo takes the brief back."],
    [["preview", "Preview"], ["rules", "By rules"], ["compact", "Compact", "main"]],
    { label: "Focus, for the model: what the brief should care about most", rows: 2, most: 4000 },
  );
  if (!asked) return;
  const wish = asked.text || focus || null;
  if (asked.value === "preview") return preview(wish);
  await change(id("do-compact"), "Compacting…", async () => {
    const rules = asked.value === "rules";
    const told = await (rules ? post("/api/session/rules", { key }) : post("/api/session/compact", { key }, { focus: wish }));
    if (told.compacted) {
      brief.forget();
      const sizes = told.result;
      tell(`Compacted: ${number(sizes.tokensBefore)} → ${number(sizes.tokensAfter)} tokens.`);
      if (state.key === key) go({ t: "brief" });
    } else if (told.ok) tell(`Nothing to compact: ${told.reason}.`);
    else trouble(`Not compacted: ${told.reason}. ${told.detail ?? ""} The history is as it was. Compact… → By rules needs no model.`);
  });
}

async function preview(focus) {
  await change(id("do-preview"), "Looking what rules would write…", async () => {
    const told = await brief.preview(focus);
    if (!told.ok) tell(`Nothing to compact: ${told.reason}.`);
  });
}

async function undo() {
  const key = state.key;
  const asked = await ask(
    "Take the newest compaction back?",
    ["The window is again what it was before it, with what was said since behind it. It may then be too full for the next request. The brief stays in the timeline."],
    [["undo", "Undo it", "main"]],
  );
  if (!asked) return;
  await change(id("do-undo"), "Taking it back…", async () => {
    const told = await post("/api/session/undo", { key });
    brief.forget();
    tell(`Taken back: ${number(told.tokensBefore)} → ${number(told.tokensAfter)} tokens.`);
    if (state.compaction) go({ t: state.tab });
  });
}

async function fresh() {
  const asked = await ask("A new session", [], [["make", "Begin", "main"]], { label: "Title (may be empty)", most: 200 });
  if (!asked) return;
  try {
    const made = await post("/api/sessions", {}, asked.text ? { title: asked.text } : {});
    await sessions.load();
    go({ s: made.key, t: "talk" });
  } catch (failure) {
    failed(failure);
  }
}

// The wiring -----------------------------------------------------------------------------------------------------------

function choose(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || event.target.role !== "tab") return;
  event.preventDefault();
  const to = TABS[(TABS.indexOf(state.tab) + step + TABS.length) % TABS.length];
  id(`tab-${to}`).focus();
  go({ t: to });
}

function wire() {
  onRefused(() => entrance(stream && "The gateway does not know this browser any more: it was started anew, or its token was changed. Paste its token, or open the link that it prints."));
  detail.start(() => refresh());
  brief.start(compact);
  map.start(failed);
  sessions.start(failed);
  addEventListener("hashchange", () => (carried() ? begin() : look()));
  addEventListener("visibilitychange", () => { if (!document.hidden && stream) soon(); });
  id("login").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await enter(id("token").value.trim())) {
      id("token").value = "";
      open();
    }
  });
  id("logout").addEventListener("click", async () => {
    await post("/logout").catch(() => {});
    entrance("Logged out. Paste the gateway's token to come in again.");
  });
  id("menu").addEventListener("click", () => {
    const on = document.body.classList.toggle("with-menu");
    id("menu").setAttribute("aria-expanded", String(on));
    if (on) id("find").focus();
  });
  id("skip").addEventListener("click", (event) => {
    event.preventDefault();
    id("main").focus();
  });
  id("fresh").addEventListener("click", fresh);
  id("do-compact").addEventListener("click", () => compact());
  id("do-preview").addEventListener("click", () => preview());
  id("do-undo").addEventListener("click", undo);
  for (const name of TABS) id(`tab-${name}`).addEventListener("click", () => go({ t: name }));
  document.querySelector(".tabs").addEventListener("keydown", choose);
}

wire();
begin();
