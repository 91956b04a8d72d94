// What is looked at: which session, which view of it. It is kept in the address, so that links and the way back work.

export const TABS = ["window", "timeline", "brief", "talk"];

export const state = {
  key: null,
  tab: "window",
  compaction: null, // the brief that is looked at; null is the newest
  window: null, // what the gateway last said of the session's window
};

export function read() {
  const facts = new URLSearchParams(location.hash.slice(1));
  state.key = facts.get("s");
  state.tab = TABS.includes(facts.get("t")) ? facts.get("t") : "window";
  state.compaction = facts.get("c");
}

export function address(facts) {
  const to = { s: state.key, t: state.tab, c: null, ...facts };
  const kept = Object.entries(to).filter(([, value]) => value);
  return `#${new URLSearchParams(kept)}`;
}

/** Looks at something else. */
export function go(facts) {
  location.hash = address(facts);
}
