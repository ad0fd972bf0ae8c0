/** Other states beside the present one: their curves, points and bars, faint, drawn into plotly's picture. */

import { inCss } from "../colours.js";
import { shape } from "../elements.js";
import { axisOf, same } from "../trees.js";
import { isFree } from "./plotly-inner.js";

/** @import { Figure, Ghost, Layout, Plot, Trace, Values } from "../types.js" */

const DASHES = /** @type {Record<string, string>} */ ({ dot: "3 3", dash: "9 9", longdash: "15 15", dashdot: "9 3 3 3", longdashdot: "15 3 3 3" });

/** @type {(trace: Trace) => boolean} whether it is worth a ghost: a line, points or bars that speak, no decoration */
export const speaks = (trace) => {
  const { type = "scatter", mode = "lines", opacity = 1, visible = true, line, hoverinfo } = trace;
  const drawn = type === "bar" || (type === "scatter" && /lines|markers/.test(mode) && !("stackgroup" in trace));
  return drawn && visible === true && opacity >= 0.6 && (line?.width ?? 2) >= 1.5 && hoverinfo !== "skip";
};

const SIDES = /** @type {const} */ (["x", "y"]);

/**
 * The traces of another state, where the present one has the same trace on the same axes.
 * @param {Figure} present
 * @param {Figure} other
 * @param {boolean} pinned
 * @returns {Ghost[]}
 */
export function ghosts(present, other, pinned) {
  return other.data.flatMap((trace, at) => {
    const now = present.data[at];
    const meant = (/** @type {Figure} */ { layout }) => SIDES.map((side) => ({ ...axisOf(layout, trace, side), range: null }));
    const alike = now && now.type === trace.type && now.xaxis === trace.xaxis && now.yaxis === trace.yaxis && same(meant(present), meant(other));
    const stacked = ["stack", "relative"].includes(String(present.layout.barmode)) && trace.type === "bar";
    const isDrawn = alike && speaks(trace) && speaks(now) && !stacked && trace.x && trace.y;
    return isDrawn ? [{ trace: /** @type {Ghost["trace"]} */ (trace), at, pinned }] : [];
  });
}

/** @type {(each: number | number[] | undefined, i: number, usual: number) => number} of one for all or for each */
const nth = (each, i, usual) => (typeof each === "object" ? each[i] : each) ?? usual;

/** @type {(values: Values) => Values} the least and the greatest of numbers, the first and the last of words */
const endsOf = (values) => {
  const isNumber = typeof values[0] === "number";
  const end = (/** @type {(...ends: any[]) => number} */ of) => values.reduce((one, other) => of(one, other));
  return isNumber ? [end(Math.min), end(Math.max)] : [values[0], values[values.length - 1]];
};

/**
 * For each plot whose axes plotly chooses, a trace that shows nothing and reaches as far as all in it, ghosts too.
 * @param {Layout} layout
 * @param {Trace[]} traces
 */
export function hulls(layout, traces) {
  /** @type {Record<string, Trace & { x: Values, y: Values, showlegend: boolean }>} */
  const found = {};
  for (const trace of traces) {
    const { type = "scatter", xaxis, yaxis, visible = true, fill, stackgroup, orientation = "v" } = trace;
    const axes = SIDES.map((side) => axisOf(layout, trace, side));
    // A fill reaches to zero, without plotly's room beyond.
    const isKnown = ["scatter", "bar"].includes(type) && trace.x && trace.y && visible === true && !fill && stackgroup === undefined;
    if (!isKnown || !axes.some(isFree)) continue;
    const hull = (found[`${xaxis}${yaxis}`] ??= { x: [], y: [], xaxis, yaxis, mode: "none", hoverinfo: "skip", showlegend: false });
    SIDES.forEach((side, i) => {
      const isLength = type === "bar" && (side === "y") === (orientation === "v");
      const values = /** @type {Values} */ (trace[side]);
      const far = isLength ? Array.from(values, (value, at) => Number(value) + nth(trace.base, at, 0)) : values;
      const known = far.filter((value) => typeof value === "string" || (Number.isFinite(value) && (axes[i]?.type !== "log" || Number(value) > 0)));
      if (!known.length) return;
      const [low, high] = endsOf(known);
      const ends = isLength && Number(low) > 0 ? [high] : isLength && Number(high) < 0 ? [low] : [low, high]; // plotly lets bars begin at the edge
      hull[side] = endsOf([...hull[side], ...ends]);
    });
  }
  return Object.values(found).filter(({ x, y }) => x.length && y.length);
}

/**
 * The outlines of bars, each as far from its place as those of the present state are.
 * @param {Ghost["trace"]} trace
 * @param {any[]} present plotly's
 * @param {Plot} plot
 */
function outlines({ x, y, base, orientation }, present, { xaxis, yaxis }) {
  const [side, where, length, across, along] = orientation === "h" ? ["y", y, x, yaxis, xaxis] : ["x", x, y, xaxis, yaxis];
  return Array.from(where, (middle, i) => {
    const { p, w, [side]: own } = present[i] ?? present[0];
    const [one, other] = [-w / 2, w / 2].map((half) => across.d2p(middle) + across.c2p(own + half) - across.c2p(p));
    const [low, high] = [0, Number(length[i])].map((value) => along.d2p(nth(base, i, 0) + value, true));
    if (![one, other, low, high].every(Number.isFinite)) return "";
    return side === "x" ? `M${one},${high}H${other}V${low}H${one}Z` : `M${high},${one}V${other}H${low}V${one}Z`;
  }).join("");
}

/**
 * A ghost on the axes of its plot, as they are.
 * @param {Ghost} ghost
 * @param {any[]} present plotly's own of its trace
 * @param {Plot} plot
 */
function ghostly({ trace, at, pinned }, present, plot) {
  const { type, x, y, mode = "lines", line = {}, marker = {}, opacity = 1 } = trace;
  const group = shape("g", { style: `opacity: ${opacity * (pinned ? 0.8 : 0.35)}` });
  if (type === "bar") { // in its own colour it would not be seen on a bar
    group.append(shape("path", { d: outlines(trace, present, plot), style: "fill: none; stroke: var(--px-ink); stroke-width: 1.5px" }));
    return group;
  }
  const own = line.color ?? marker.color;
  const colour = inCss(typeof own === "string" ? own : own ? "muted" : `C${at % 6}`);
  let [way, dots, begun] = ["", "", false];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [across, down] = [plot.xaxis.d2p(x[i]), plot.yaxis.d2p(y[i])];
    const known = Number.isFinite(across) && Number.isFinite(down);
    if (known) {
      const [place, r] = [`${across.toFixed(2)},${down.toFixed(2)}`, nth(marker.size, i, 6) / 2];
      const turn = { hv: `H${across}`, vh: `V${down}` }[/** @type {string} */ (line.shape)] ?? "";
      way += begun ? `${turn}L${place}` : `M${place}`;
      dots += `M${place}m${-r},0${/^(circle|undefined)/.test(String(marker.symbol)) ? `a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0` : `v${-r}h${2 * r}v${2 * r}h${-2 * r}z`}`;
    }
    begun = known;
  }
  const dash = DASHES[pinned ? "dot" : String(line.dash)] ?? "none";
  const style = `fill: none; stroke: ${colour}; stroke-width: ${Math.min(line.width ?? 2, 1.5)}px; stroke-dasharray: ${dash}`;
  if (mode.includes("lines")) group.append(shape("path", { d: way, style }));
  if (mode.includes("markers")) group.append(shape("path", { d: dots, style: `fill: ${colour}` }));
  return group;
}

/**
 * Draw ghosts into plotly's picture, by its axes as they are.
 * @param {any} plot plotly's node
 * @param {Ghost[]} ghosts
 */
export function place(plot, ghosts) {
  for (const { xaxis, yaxis, plot: layer, layerClipId } of /** @type {any[]} */ (Object.values(plot._fullLayout._plots ?? {}))) {
    const own = ghosts.filter(({ trace }) => (trace.xaxis ?? "x") === xaxis._id && (trace.yaxis ?? "y") === yaxis._id);
    let group = layer.node().querySelector(":scope > .px-ghosts");
    if (!group && !own.length) continue;
    group ??= shape("g", { class: "px-ghosts" });
    layer.node().append(group); // above all that is there, whichever came first
    group.setAttribute("clip-path", `url(#${layerClipId})`);
    group.replaceChildren(...own.map((ghost) => ghostly(ghost, plot.calcdata[ghost.at], { xaxis, yaxis })));
  }
}
