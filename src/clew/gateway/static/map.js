// The window as a map: what takes how much of it, and the entry behind each piece.

import { button, el, id, later, line, number, percent, plural, shows, svg, walk } from "./dom.js";
import * as detail from "./detail.js";
import { state } from "./state.js";
import { get } from "./wire.js";

const SIZES = { "group-name": "600 12.5px", "kind-name": "600 12px", "piece-size": "11.5px", "piece-name": "12px" };

let drawnWidth = 0;

export function start(failed) {
  const again = later(() => { if (state.key && state.tab === "window") load().then(draw).catch(failed); }, 250);
  new ResizeObserver(() => {
    const width = id("panel-window").clientWidth;
    if (width && Math.abs(width - drawnWidth) > 4) again();
  }).observe(id("panel-window"));
}

/** How large the map is to be. */
function size() {
  const width = Math.max(240, id("panel-window").clientWidth || id("main").clientWidth - 40);
  const height = Math.max(300, Math.min(620, innerHeight - 330, width < 560 ? 460 : 620));
  return { width, height };
}

/** Asks for the session's window; for the pieces only while the map is looked at. */
export async function load() {
  const key = state.key, map = state.tab === "window", { width, height } = size();
  const told = await get("/api/session/window", { key, width, height, map });
  Object.assign(told, { key, map });
  told.width = width;
  told.height = height;
  return told;
}

/** Draws what was told. */
export function draw(told) {
  if (told.key !== state.key || state.tab !== "window") return;
  const panel = id("panel-window");
  const open = panel.querySelector("details")?.open ?? false;
  const here = panel.contains(document.activeElement) ? document.activeElement.dataset?.name : null;
  drawnWidth = told.width;
  if (shows(panel, [told.key, told.width, told.height, told.regions])) return;
  if (!told.regions.length) {
    panel.replaceChildren(el("p", { class: "nothing" }, "The window is empty: nothing was said since it was made fresh."));
    return;
  }
  const readout = el("p", { class: "readout", id: "readout", "aria-hidden": "true" }, summary(told));
  panel.replaceChildren(picture(told, readout), readout, legend(told), table(told, open));
  if (here) [...panel.querySelectorAll(".piece")].find((one) => one.dataset.name === here)?.focus();
}

const summary = (told) => `${plural(told.messages, "message")} in the window. Point at a piece, or go there with Tab and the arrow keys; Enter opens it.`;

function picture(told, readout) {
  const whole = told.regions.flatMap((region) => region.pieces).reduce((sum, piece) => sum + piece.chars, 0);
  const map = svg("svg", {
    class: "map", width: told.width, height: told.height, viewBox: `0 0 ${told.width} ${told.height}`,
  });
  // Around it, since a browser may take an SVG that listens to the focus for a stop of the tab key.
  const place = el("div", { role: "group", "aria-label": "Map of the window: pieces by size. The arrow keys go from piece to piece, Enter opens one." }, map);
  for (const region of told.regions) {
    map.append(svg("rect", { class: `region ${css(region.name)}`, ...rect(region, 0.5), rx: 4 }));
    if (region.height >= 60) map.append(words(`${region.name}  ${percent(region.chars, whole)}`, region.x + 7, region.y + 14, region.width - 10, "group-name"));
    for (const piece of region.pieces) map.append(...drawn(told, region, piece, whole));
  }
  const rest = readout.textContent;
  const show = (event) => {
    const one = event.target.closest(".piece");
    readout.textContent = one ? one.dataset.told : rest;
  };
  place.addEventListener("pointerover", show);
  place.addEventListener("focusin", show);
  place.addEventListener("pointerleave", () => { readout.textContent = rest; });
  place.addEventListener("keydown", (event) => move(event, place));
  walk(place, ".piece");
  return place;
}

function drawn(told, region, piece, whole) {
  const kind = region.name === "conversation" ? piece.name : region.name;
  if (!piece.inner.length || (piece.inner.length === 1 && !piece.inner[0].id)) return [part(told, region, piece, piece, kind, whole, 0)];
  const strip = piece.inner.reduce((top, one) => Math.min(top, one.y), Infinity) - piece.y;
  const below = piece.inner.map((one, nth) => part(told, region, piece, one, kind, whole, nth));
  if (strip < 5) return below;
  const name = `${piece.name}  ${percent(piece.chars, whole)}`;
  return [
    svg("rect", { class: `kind ${css(kind)}`, ...rect(piece, 0.75), rx: 3 }),
    words(name, piece.x + 6, piece.y + 14, piece.width - 8, "kind-name"),
    ...below,
  ];
}

/** One piece that can be pointed at, gone to and opened. */
function part(told, region, piece, one, kind, whole, nth) {
  const number_ = one.seq ? `#${one.seq} ` : "";
  const name = one === piece || !one.id ? one.name : `${number_}${one.name}`;
  const group = one === piece ? region.name : piece.name;
  const sizes = [one.tokens ? plural(one.tokens, "token") : "", plural(one.chars, "character"), percent(one.chars, whole)];
  const says = `${line(name, 120)} (${group}): ${sizes.filter(Boolean).join(", ")}`;
  const open = () => look(told, region, piece, one);
  const node = svg(
    "g",
    { class: `piece ${css(kind)} shade-${nth % 3}`, role: "button", tabindex: "-1", "aria-label": says, "data-told": says, "data-name": `${group}/${name}`, onclick: open },
    svg("rect", { ...rect(one, 0.75), rx: 2 }),
  );
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  });
  const brief = name.replace(/^(#\d+ )(?:result of |assistant calls )/, "$1");
  if (one.height >= 17) node.append(words(brief, one.x + 5, one.y + 13, one.width - 7));
  if (one.height >= 34) node.append(words(one.tokens ? `${number(one.tokens)} tokens` : number(one.chars), one.x + 5, one.y + 28, one.width - 7, "piece-size"));
  return node;
}

function look(told, region, piece, one) {
  if (one.id && piece.name === "brief") {
    location.hash = `#${new URLSearchParams({ s: state.key, t: "brief" })}`;
    return;
  }
  if (one.id) {
    detail.entry(one.id, `${piece.name}, ${percent(one.chars, piece.chars)} of them`);
    return;
  }
  const cut = { file: "cut at the limit of a file", total: "cut at the limit of all files", "left out": "left out, no room was left" };
  const rows = [["Part of", region.name], ["Size", `${one.tokens ? `${plural(one.tokens, "token")}, ` : ""}${plural(one.chars, "character")}`]];
  if (one.entries) rows.push(["Entries", number(one.entries)]);
  if (one.rawChars) rows.push(["Whole file", plural(one.rawChars, "character")]);
  if (one.cut) rows.push(["Cut", cut[one.cut] ?? one.cut]);
  if (one.parameters) rows.push(["Arguments", number(one.parameters)]);
  const fixed = region.name !== "conversation";
  detail.facts(one.name, rows, fixed ? "Every request carries it; no compaction makes it smaller." : "These are many small entries; the timeline shows each.");
}

/** To the nearest piece in the direction of an arrow key, from the middle of this one. */
function move(event, map) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
  const here = event.target.closest(".piece");
  if (!here || (!dx && !dy)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const from = middle(here);
  let best = null, least = Infinity;
  for (const one of map.querySelectorAll(".piece")) {
    const to = middle(one), ahead = (to.x - from.x) * dx + (to.y - from.y) * dy;
    const aside = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
    if (one === here || ahead < 1) continue;
    if (ahead + 2 * aside < least) [best, least] = [one, ahead + 2 * aside];
  }
  best?.focus();
}

function middle(piece) {
  const box = piece.querySelector("rect");
  const at = (name) => Number(box.getAttribute(name));
  return { x: at("x") + at("width") / 2, y: at("y") + at("height") / 2 };
}

function rect(box, inset) {
  const by = Math.min(box.width, box.height) > 3 ? inset : 0;
  return { x: box.x + by, y: box.y + by, width: Math.max(0, box.width - 2 * by), height: Math.max(0, box.height - 2 * by) };
}

function words(text, x, y, room, kind = "piece-name") {
  return svg("text", { x, y, class: kind, "aria-hidden": "true" }, fitting(text, room, kind));
}

let ruler = null;

/** As much of a text as there is room for; nothing where that would be a letter or two. */
function fitting(text, room, kind) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${SIZES[kind]} ${getComputedStyle(document.body).fontFamily}`;
  const takes = (words) => ruler.measureText(words).width;
  const whole = line(text, 80);
  if (takes(whole) <= room) return whole;
  const chars = [...whole];
  let most = chars.length;
  while (most && takes(`${chars.slice(0, most).join("")}…`) > room) most -= 1;
  return most < 3 ? "" : `${chars.slice(0, most).join("").trimEnd()}…`;
}

const css = (name) => `k-${name.replaceAll(/[^a-z]+/g, "-")}`;

function legend(told) {
  const kinds = told.regions.flatMap((region) =>
    region.name === "conversation" ? region.pieces : [{ ...region, name: region.name }],
  );
  const whole = kinds.reduce((sum, one) => sum + one.chars, 0);
  const items = kinds.filter((one) => one.chars / whole > 0.002).map((one) =>
    el("li", {}, el("span", { class: `swatch ${css(one.name)}`, "aria-hidden": "true" }), `${one.name} ${percent(one.chars, whole)}`),
  );
  return el("ul", { class: "legend", "aria-label": "Shares of the window" }, ...items);
}

function table(told, open) {
  const rows = told.regions.flatMap((region) => region.pieces.flatMap((piece) => {
    const whole = [el("th", { scope: "row" }, line(piece.name, 80)), el("td", {}, region.name), el("td", {}, piece.tokens ? number(piece.tokens) : "–"), el("td", {}, number(piece.chars)), el("td", {}, piece.entries ? number(piece.entries) : "–")];
    const inner = piece.inner.filter((one) => one.id && piece.name !== "brief").slice(0, 10).map((one) =>
      el("tr", { class: "inner" }, el("th", { scope: "row" }, button(`#${one.seq} ${line(one.name, 60)}`, () => look(told, region, piece, one), { class: "linkish" })), el("td", {}, piece.name), el("td", {}, number(one.tokens)), el("td", {}, number(one.chars)), el("td", {}, "1")),
    );
    return [el("tr", {}, ...whole), ...inner];
  }));
  return el(
    "details", { open, class: "as-table" },
    el("summary", {}, "The same as a table"),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of the window" },
      el("table", {},
        el("thead", {}, el("tr", {}, ...["Piece", "Part of", "Tokens", "Characters", "Entries"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...rows),
      ),
    ),
  );
}
