// Elements and words. Whatever a transcript holds becomes text here and nothing else: no markup, no controls, no
// characters that turn the order of others round.

const LOW = (
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
).split(" ");

const NAMES = {
  0x007f: "DEL",
  0x200b: "ZWSP", 0x200e: "LRM", 0x200f: "RLM", 0x061c: "ALM", 0x2028: "LS", 0x2029: "PS", 0x202a: "LRE",
  0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI",
  0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM", 0x00ad: "SHY", 0x180e: "MVS",
};

const ACTING =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|(?:\udb40[\udc00-\udc7f])+/g;

function sign(found) {
  const code = found.codePointAt(0);
  if (code >= 0xe0000) return "\u27eaTAG\u27eb";
  const name = LOW[code] ?? NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return `\u27ea${name}\u27eb`;
}

/** A text whose acting characters are shown as signs, as one string. */
export function plain(text) {
  return String(text ?? "").replaceAll("\r\n", "\n").replace(ACTING, sign);
}

/** The same on one line of at most so many characters. */
export function line(text, most = 200) {
  const words = plain(text).replace(/\s+/gu, " ").trim();
  const chars = [...words];
  return chars.length > most ? `${chars.slice(0, most - 1).join("")}…` : words;
}

/** The same as nodes, the signs set apart from what was said. */
export function said(text) {
  const whole = String(text ?? "").replaceAll("\r\n", "\n");
  const nodes = [];
  let at = 0;
  for (const found of whole.matchAll(ACTING)) {
    if (found.index > at) nodes.push(document.createTextNode(whole.slice(at, found.index)));
    nodes.push(el("span", { class: "sign" }, sign(found[0])));
    at = found.index + found[0].length;
  }
  nodes.push(document.createTextNode(whole.slice(at)));
  return nodes;
}

const SVG = "http://www.w3.org/2000/svg";

function dressed(node, facts, children) {
  for (const [name, value] of Object.entries(facts ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element; strings among its children become text. */
export function el(tag, facts, ...children) {
  return dressed(document.createElement(tag), facts, children);
}

/** The same in SVG. */
export function svg(tag, facts, ...children) {
  return dressed(document.createElementNS(SVG, tag), facts, children);
}

/** A button. */
export function button(words, press, facts) {
  return el("button", { type: "button", onclick: press, ...facts }, words);
}

/** A bar that is so full, from 0 to 1; for the eye, since the number stands beside it. */
export function meter(share, kind = "") {
  const inside = el("span");
  inside.style.width = `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
  return el("span", { class: `meter ${kind}`, "aria-hidden": "true" }, inside);
}

export const id = (name) => document.getElementById(name);

export const number = (count) => (count === null || count === undefined ? "unknown" : count.toLocaleString("en-US"));

export function short(count) {
  if (count === null || count === undefined) return "?";
  if (count < 1000) return String(count);
  const [value, unit] = count < 1e6 ? [count / 1e3, "k"] : [count / 1e6, "M"];
  return value < 10 ? `${value.toFixed(1)}${unit}` : `${Math.round(value)}${unit}`;
}

export const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");

export const plural = (count, noun, nouns = `${noun}s`) => `${number(count)} ${count === 1 ? noun : nouns}`;

export function age(iso) {
  const then = Date.parse(iso);
  if (!(then > 0)) return "";
  const seconds = Math.max(0, (Date.now() - then) / 1000);
  for (const [limit, size, unit] of [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"]])
    if (seconds < limit) return `${Math.floor(seconds / size)} ${unit}`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function moment(iso) {
  const then = new Date(iso);
  if (!(then > 0)) return "time unknown";
  const two = (n) => String(n).padStart(2, "0");
  const day = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
  return `${day} ${two(then.getHours())}:${two(then.getMinutes())}`;
}

/** The arrow keys go from one to the next; the group is one stop of the tab key. */
export function walk(group, selector) {
  const all = () => [...group.querySelectorAll(selector)];
  for (const [nth, one] of all().entries()) one.tabIndex = nth ? -1 : 0;
  group.addEventListener("focusin", (event) => {
    const here = event.target.closest(selector);
    if (here) for (const one of all()) one.tabIndex = one === here ? 0 : -1;
  });
  group.addEventListener("keydown", (event) => {
    const here = event.target.closest(selector);
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!here || step === undefined || event.target !== here) return;
    const items = all();
    const to = Math.min(items.length - 1, Math.max(0, items.indexOf(here) + step));
    event.preventDefault();
    items[to].focus();
  });
}

const drawn = new WeakMap();

/** Whether a place shows this already; if not, it is taken to show it from now on. */
export function shows(place, value) {
  const now = JSON.stringify(value);
  if (drawn.get(place) === now && place.childElementCount) return true;
  drawn.set(place, now);
  return false;
}

/** Runs what it is given once nothing was asked for a while. */
export function later(run, ms) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, ms);
  };
}
