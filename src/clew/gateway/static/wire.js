// The gateway from here: questions, changes, and what happens as it happens.

export class Failure extends Error {
  constructor(status, code, words) {
    super(words);
    this.status = status;
    this.code = code;
  }
}

const KINDS = [
  "Admitted", "Interrupted", "Asking", "Words", "Called", "Returned", "Waiting", "Switched", "Flushing", "Flushed",
  "EngineTrouble", "Compacting", "NativeCompaction", "CompactionStep", "Compacted", "Trimmed", "PrefixBreak",
  "Answered", "Spent", "Ended", "Missed",
];

let refused = () => {};

/** Told when the gateway no longer knows this browser. */
export function onRefused(run) {
  refused = run;
}

async function ask(method, path, params, body) {
  const query = new URLSearchParams(Object.entries(params ?? {}).filter(([, value]) => value !== undefined && value !== null));
  const url = query.size ? `${path}?${query}` : path;
  const more = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  let answer;
  try {
    answer = await fetch(url, { method, credentials: "same-origin", ...more });
  } catch {
    throw new Failure(0, "unreachable", "The gateway cannot be reached; the page tries again by itself.");
  }
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  const error = told.error ?? {};
  if (answer.status === 401 && path !== "/login") refused();
  throw new Failure(answer.status, error.code ?? "http", error.message || `The gateway answered ${answer.status}.`);
}

export const get = (path, params) => ask("GET", path, params);
export const post = (path, params, body = {}) => ask("POST", path, params, body);

const LEAST_S = 1, MOST_S = 5;

/** Events of all sessions until `close` is called; comes back by itself. `state` is told `on` or `off`. */
export function listen(heard, state) {
  let source = null, timer = 0, pause = LEAST_S, ended = false;

  function open() {
    source = new EventSource("/api/events");
    source.onopen = () => {
      pause = LEAST_S;
      state("on");
    };
    source.onerror = () => {
      source.close();
      if (ended) return;
      state("off");
      timer = setTimeout(again, pause * 1000);
      pause = Math.min(MOST_S, pause * 2);
    };
    for (const kind of KINDS)
      source.addEventListener(kind, (event) => heard(JSON.parse(event.data)));
  }

  /** A void cookie and a gateway that is away look alike to an event source; a question tells them apart. */
  async function again() {
    try {
      await get("/api/overview", { limit: 1 });
    } catch (failure) {
      if (failure.status === 401) return;
    }
    if (!ended) open();
  }

  open();
  return {
    close() {
      ended = true;
      clearTimeout(timer);
      source.close();
    },
  };
}

/** A name that nothing has yet; the same message sent twice is one message. */
export function freshId() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
