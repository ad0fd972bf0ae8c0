/** Other states beside the present one: their curves, faint. */

import { same } from "../trees.js";

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
 * The axis of a trace, less its range: what its numbers mean.
 * @param {any} figure
 * @param {any} trace
 * @param {string} side
 */
function axisOf({ layout }, trace, side) {
  const { range, ...axis } = layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`] ?? {};
  return axis;
}

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
    const alike =
      now &&
      ["type", "xaxis", "yaxis"].every((key) => now[key] === trace[key]) &&
      ["x", "y"].every((side) => same(axisOf(present, now, side), axisOf(other, trace, side)));
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
