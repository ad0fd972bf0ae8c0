/** Other states beside the present one: their curves, points and bars, faint, drawn into plotly's picture. */

import { inCss } from "../colours.js";
import { shape } from "../elements.js";
import { same } from "../trees.js";
import { isFree } from "./plotly-inner.js";

const DASHES = /** @type {Record<string, string>} */ ({ dot: "3 3", dash: "9 9", longdash: "15 15", dashdot: "9 3 3 3", longdashdot: "15 3 3 3" });

/** Whether a trace is worth a ghost: a line, points or bars that speak, and no decoration. */
export function speaks(trace) {
  const { type = "scatter", mode = "lines", opacity = 1, visible = true, line, hoverinfo } = trace;
  const drawn = type === "bar" || (type === "scatter" && /lines|markers/.test(mode) && !("stackgroup" in trace));
  return drawn && visible === true && opacity >= 0.6 && (line?.width ?? 2) >= 1.5 && hoverinfo !== "skip";
}

/** The axes of a trace, across and up. */
const axesOf = (layout, trace) => ["x", "y"].map((side) => layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`] ?? {});

/**
 * The traces of another state, where the present one has the same trace on the same axes; `at`: its place in both.
 * @param {boolean} pinned
 */
export function ghosts(present, other, pinned) {
  return other.data.flatMap((trace, /** @type {number} */ at) => {
    const now = present.data[at];
    const meant = ({ layout }) => axesOf(layout, trace).map(({ range, ...axis }) => axis);
    const alike = now && ["type", "xaxis", "yaxis"].every((key) => now[key] === trace[key]) && same(meant(present), meant(other));
    const stacked = ["stack", "relative"].includes(present.layout.barmode) && trace.type === "bar";
    return alike && speaks(trace) && speaks(now) && !stacked && trace.x && trace.y ? [{ trace, at, pinned }] : [];
  });
}

/** Where the bars of a trace begin. */
const footOf = (trace, /** @type {number} */ i) => trace.base?.[i] ?? trace.base ?? 0;

/** The least and the greatest of numbers, the first and the last of words. */
function endsOf(values) {
  let [low, high] = [values[0], values.at(-1)];
  if (typeof low === "number") for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

/**
 * For each plot whose axes plotly chooses, a trace that shows nothing and reaches as far as all in it, ghosts too.
 */
export function hulls(layout, traces) {
  /** @type {Record<string, any>} */
  const found = {};
  for (const trace of traces) {
    const { type = "scatter", xaxis, yaxis, visible = true, fill, stackgroup, orientation = "v" } = trace;
    const axes = axesOf(layout, trace);
    // A fill reaches to zero, without plotly's room beyond.
    const isKnown = ["scatter", "bar"].includes(type) && trace.x && trace.y && visible === true && !fill && stackgroup === undefined;
    if (!isKnown || !axes.some(isFree)) continue;
    const hull = (found[`${xaxis}${yaxis}`] ??= { x: [], y: [], xaxis, yaxis, mode: "none", hoverinfo: "skip", showlegend: false });
    ["x", "y"].forEach((side, i) => {
      const isLength = type === "bar" && (side === "y") === (orientation === "v");
      const far = (value, /** @type {number} */ at) => (isLength ? value + footOf(trace, at) : value);
      const known = Array.from(trace[side], far).filter((value) => typeof value === "string" || (Number.isFinite(value) && (axes[i].type !== "log" || value > 0)));
      if (!known.length) return;
      const [low, high] = endsOf(known);
      const ends = isLength && low > 0 ? [high] : isLength && high < 0 ? [low] : [low, high]; // plotly lets bars begin at the edge
      hull[side] = endsOf([...hull[side], ...ends]);
    });
  }
  return Object.values(found).filter(({ x, y }) => x.length && y.length);
}

/**
 * The outlines of bars, each as far from its place as those of the present state are.
 * @param {any[]} present plotly's
 */
function outlines(trace, present, xaxis, yaxis) {
  const [side, length, across, along] = trace.orientation === "h" ? ["y", "x", yaxis, xaxis] : ["x", "y", xaxis, yaxis];
  return Array.from(trace[side], (where, i) => {
    const { p, w, [side]: middle } = present[i] ?? present[0];
    const [one, other] = [-w / 2, w / 2].map((half) => across.d2p(where) + across.c2p(middle + half) - across.c2p(p));
    const [low, high] = [0, trace[length][i]].map((value) => along.d2p(footOf(trace, i) + value, true));
    if (![one, other, low, high].every(Number.isFinite)) return "";
    return side === "x" ? `M${one},${high}H${other}V${low}H${one}Z` : `M${high},${one}V${other}H${low}V${one}Z`;
  }).join("");
}

/**
 * A ghost on the axes of its plot, as they are.
 * @param {any} ghost
 * @param {any[]} present plotly's own of its trace
 */
function ghostly({ trace, at, pinned }, present, xaxis, yaxis) {
  const { type, x, y, mode = "lines", line = {}, marker = {}, opacity = 1 } = trace;
  const group = shape("g", { style: `opacity: ${opacity * (pinned ? 0.8 : 0.35)}` });
  if (type === "bar") { // in its own colour it would not be seen on a bar
    group.append(shape("path", { d: outlines(trace, present, xaxis, yaxis), style: "fill: none; stroke: var(--px-ink); stroke-width: 1.5px" }));
    return group;
  }
  const own = line.color ?? marker.color;
  const colour = inCss(typeof own === "string" ? own : own ? "muted" : `C${at % 6}`);
  let [way, dots, begun] = ["", "", false];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [across, down] = [xaxis.d2p(x[i]), yaxis.d2p(y[i])];
    const known = Number.isFinite(across) && Number.isFinite(down);
    if (known) {
      const [place, r] = [`${across.toFixed(2)},${down.toFixed(2)}`, (marker.size?.[i] ?? marker.size ?? 6) / 2];
      const turn = { hv: `H${across}`, vh: `V${down}` }[/** @type {string} */ (line.shape)] ?? "";
      way += begun ? `${turn}L${place}` : `M${place}`;
      dots += `M${place}m${-r},0${/^(circle|undefined)/.test(marker.symbol) ? `a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0` : `v${-r}h${2 * r}v${2 * r}h${-2 * r}z`}`;
    }
    begun = known;
  }
  const dash = DASHES[pinned ? "dot" : line.dash] ?? "none";
  const style = `fill: none; stroke: ${colour}; stroke-width: ${Math.min(line.width ?? 2, 1.5)}px; stroke-dasharray: ${dash}`;
  if (mode.includes("lines")) group.append(shape("path", { d: way, style }));
  if (mode.includes("markers")) group.append(shape("path", { d: dots, style: `fill: ${colour}` }));
  return group;
}

/**
 * Draw ghosts into plotly's picture, by its axes as they are.
 * @param {any} plot plotly's node
 */
export function place(plot, ghosts) {
  for (const { xaxis, yaxis, plot: layer, layerClipId } of /** @type {any[]} */ (Object.values(plot._fullLayout._plots ?? {}))) {
    const own = ghosts.filter(({ trace }) => (trace.xaxis ?? "x") === xaxis._id && (trace.yaxis ?? "y") === yaxis._id);
    let group = layer.node().querySelector(":scope > .px-ghosts");
    if (!group && !own.length) continue;
    group ??= layer.node().appendChild(shape("g", { class: "px-ghosts" }));
    group.setAttribute("clip-path", `url(#${layerClipId})`);
    group.replaceChildren(...own.map((ghost) => ghostly(ghost, plot.calcdata[ghost.at], xaxis, yaxis)));
  }
}
