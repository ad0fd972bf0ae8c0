/** Other states beside the present one: their curves, faint. */

import { inCss } from "../colours.js";
import { same } from "../trees.js";
import { isFree } from "./plotly-inner.js";

const DASHES = /** @type {Record<string, string>} */ ({ dot: "3 3", dash: "9 9", longdash: "15 15", dashdot: "9 3 3 3", longdashdot: "15 3 3 3" });

/**
 * Whether a trace is worth a ghost: a line, points or bars that speak, and no decoration.
 * @param {any} trace
 */
export function speaks(trace) {
  const { type = "scatter", mode = "lines", opacity = 1, visible = true, line, hoverinfo } = trace;
  const drawn = type === "bar" || (type === "scatter" && /lines|markers/.test(mode) && !("stackgroup" in trace));
  return drawn && visible === true && opacity >= 0.6 && (line?.width ?? 2) >= 1.5 && hoverinfo !== "skip";
}

/**
 * The axes of a trace, across and up.
 * @param {any} layout
 * @param {any} trace
 */
const axesOf = (layout, trace) => ["x", "y"].map((side) => layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`] ?? {});

/** @param {any} layout */
export const isGrouped = ({ barmode = "group" }) => barmode === "group";

/**
 * Which of the bars at one place are a trace's, where they stand side by side: its own word, or its place in its plot.
 * @param {any[]} data
 * @param {number} index
 */
export const slotOf = (data, index) =>
  data[index].offsetgroup ??
  String(data.slice(0, index).filter(({ type, xaxis, yaxis }) => type === "bar" && xaxis === data[index].xaxis && yaxis === data[index].yaxis).length);

/**
 * The traces of another state, faint, where the present one has the same trace on the same axes.
 * @param {any} present
 * @param {any} other
 * @param {boolean} pinned
 * @returns {any[]}
 */
export function ghosts(present, other, pinned) {
  return other.data.flatMap((/** @type {any} */ trace, /** @type {number} */ i) => {
    const now = present.data[i];
    const meant = (/** @type {any} */ { layout }) => axesOf(layout, trace).map(({ range, ...axis }) => axis);
    const alike = now && ["type", "xaxis", "yaxis"].every((key) => now[key] === trace[key]) && same(meant(present), meant(other));
    const stacked = ["stack", "relative"].includes(present.layout.barmode) && trace.type === "bar";
    if (!alike || !speaks(trace) || !speaks(now) || stacked || !trace.x || !trace.y) return [];
    const { type, x, y, xaxis, yaxis, mode = "lines", line = {}, marker = {}, opacity = 1, orientation } = trace;
    const own = line.color ?? marker.color;
    const color = typeof own === "string" ? own : own ? "muted" : `C${i % 6}`;
    const faint = { hoverinfo: "skip", showlegend: false, opacity: opacity * (pinned ? 0.8 : 0.35) };
    const common = { type, x, y, xaxis, yaxis, ...faint };
    if (type === "bar") {
      const edge = { width: 1.5, color: "ink" }; // its own colour would not be seen on a bar
      const empty = { color: "rgba(0,0,0,0)", line: edge };
      const place = isGrouped(present.layout) ? { offsetgroup: slotOf(present.data, i) } : {};
      const { width, offset, base } = trace;
      return [{ ...common, orientation, width, offset, base, ...place, marker: empty }];
    }
    const { size = 6, symbol } = marker;
    const stroke = { ...line, color, width: Math.min(line.width ?? 2, 1.5), ...(pinned ? { dash: "dot" } : {}) };
    return [{ ...common, mode: mode.replace("+text", ""), line: stroke, marker: { size, symbol, color } }];
  });
}
/**
 * Whether a trace's places are numbers on axes of numbers.
 * @param {any} layout
 * @param {any} trace
 */
const isPlaced = (layout, trace) =>
  (trace.type ?? "scatter") === "scatter" && [trace.x, trace.y].every(ArrayBuffer.isView) &&
  axesOf(layout, trace).every(({ type = "linear" }) => ["linear", "log"].includes(type));

/**
 * Whether a ghost is drawn into plotly's picture, and not by plotly: straight lines, and dots of one size.
 * @param {any} layout
 * @param {any} ghost
 */
export const isPlain = (layout, ghost) =>
  isPlaced(layout, ghost) && !ghost.line.shape && typeof ghost.marker.size === "number" && [undefined, "circle"].includes(ghost.marker.symbol);

/**
 * For each plot whose axes plotly chooses, a trace that shows nothing and reaches as far as the ghosts in it.
 * @param {any} layout
 * @param {any[]} traces the present ones and the ghosts
 */
export function hulls(layout, traces) {
  /** @type {Record<string, any>} */
  const found = {};
  for (const trace of traces) {
    const { xaxis, yaxis, visible = true, fill, stackgroup } = trace;
    const axes = axesOf(layout, trace);
    // A fill reaches to zero, without plotly's room beyond.
    if (!isPlaced(layout, trace) || visible !== true || fill || stackgroup !== undefined || !axes.some(isFree)) continue;
    const hull = (found[`${xaxis}${yaxis}`] ??= { x: [], y: [], xaxis, yaxis, mode: "none", hoverinfo: "skip", showlegend: false });
    ["x", "y"].forEach((side, i) => {
      for (const value of trace[side]) {
        if (!Number.isFinite(value) || (axes[i].type === "log" && value <= 0)) continue;
        hull[side] = [Math.min(hull[side][0] ?? value, value), Math.max(hull[side][1] ?? value, value)];
      }
    });
  }
  return Object.values(found);
}

/**
 * @param {string} tag
 * @param {Record<string, any>} looks
 * @param {string} [d]
 */
function shape(tag, looks, d) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (d !== undefined) node.setAttribute("d", d);
  for (const [key, value] of Object.entries(looks)) node.style.setProperty(key, String(value));
  return node;
}

/**
 * A ghost on the axes of its plot, as they are.
 * @param {any} ghost
 * @param {any} xaxis
 * @param {any} yaxis
 */
function ghostly({ x, y, mode, line, marker, opacity }, xaxis, yaxis) {
  const r = marker.size / 2;
  let [way, dots, begun] = ["", "", false];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [across, down] = [xaxis.d2p(x[i]), yaxis.d2p(y[i])];
    const known = Number.isFinite(across) && Number.isFinite(down);
    if (known) {
      way += `${begun ? "L" : "M"}${across.toFixed(2)},${down.toFixed(2)}`;
      dots += `M${(across - r).toFixed(2)},${down.toFixed(2)}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0`;
    }
    begun = known;
  }
  const [group, colour] = [shape("g", { opacity }), inCss(line.color)];
  const dash = DASHES[line.dash] ?? "none";
  if (mode.includes("lines")) group.append(shape("path", { fill: "none", stroke: colour, "stroke-width": `${line.width}px`, "stroke-dasharray": dash }, way));
  if (mode.includes("markers")) group.append(shape("path", { fill: colour }, dots));
  return group;
}

/**
 * Draw ghosts into plotly's picture, by its axes as they are.
 * @param {any} plot plotly's node
 * @param {any[]} ghosts
 */
export function place(plot, ghosts) {
  for (const { xaxis, yaxis, plot: layer, layerClipId } of /** @type {any[]} */ (Object.values(plot._fullLayout._plots ?? {}))) {
    const own = ghosts.filter((ghost) => (ghost.xaxis ?? "x") === xaxis._id && (ghost.yaxis ?? "y") === yaxis._id);
    let group = layer.node().querySelector(":scope > .px-ghosts");
    if (!group && !own.length) continue;
    group ??= layer.node().appendChild(shape("g", {}));
    group.setAttribute("class", "px-ghosts");
    group.setAttribute("clip-path", `url(#${layerClipId})`);
    group.replaceChildren(...own.map((ghost) => ghostly(ghost, xaxis, yaxis)));
  }
}
