/**
 * The inner steps of plotly that are taken where only points move: without its defaults and axes, most of a redraw.
 * They are no public interface. `understood` is their version, tests compare with freshly drawn pictures, and with any
 * other version all is drawn in plotly's public way.
 */

import { painted } from "../colours.js";
import { differences } from "../trees.js";

/** @import { Axis, AxisName, Drawing, Layout, Node, Plotly, Trace } from "../types.js" */
/** @import { Difference } from "../trees.js" */
/** @typedef {(value: Node, before: Node, trace: Trace) => unknown} Test */

export const understood = "4.1.1"; // of plotly.js

const lengthOf = (/** @type {Node} */ value) => (Array.isArray(value) || ArrayBuffer.isView(value) ? value.length : undefined);
const isNumber = (/** @type {Node} */ value) => typeof value === "number"; // words would add ticks
const numbers = (/** @type {Node} */ value) => lengthOf(value) && (!Array.isArray(value) || value.every(isNumber));
/** @type {Test} */
const alike = (value, before) => lengthOf(value) === lengthOf(before);
/** @type {Test} */
const points = (value, before, trace) => numbers(value) && numbers(before) && (trace.mode || alike(value, before, trace));
const rowOf = (/** @type {Node} */ grid) => (Array.isArray(grid) ? grid[0] : null);
const LOOKS = ["color", "dash", "width", "symbol", "size"];
const UNMOVABLE = ["stackgroup", "error_x", "error_y"]; // plotly works these out for all traces together

/**
 * For each type of trace the keys that `move` may change, and whether it may make that change of one.
 * @type {Record<string, Record<string, Test>>}
 */
const MOVABLE = {
  scatter: {
    x: points,
    y: points,
    text: (value, before) => Array.isArray(value) === Array.isArray(before),
    name: () => true,
  },
  bar: { y: (value, before, trace) => numbers(value) && alike(value, before, trace) },
  heatmap: {
    z: (value, before, trace) => Number(trace.zmin) < Number(trace.zmax) && alike(value, before, trace) && alike(rowOf(value), rowOf(before), trace),
  },
};

const TIED = ["autorange", "matches", "scaleanchor", "rangemode", "constrain", "rangebreaks"];

/** @param {Layout} layout its axes' names */
const axesOf = (layout) => /** @type {AxisName[]} */ (Object.keys(layout).filter((key) => /^[xy]axis/.test(key)));

/** @param {Axis | undefined} axis whether plotly chooses where it begins and ends */
export const isFree = (axis) => !axis?.range;

/**
 * The differences between what is drawn and what is to be. Null if there are any but in points, texts, shapes and looks
 * of lines and markers, and in axes' names, ranges and ticks.
 * @param {Drawing} drawn
 * @param {Drawing} next
 * @returns {Difference[] | null}
 */
export function moves(drawn, next) {
  const { data, layout } = next;
  const axes = axesOf(layout);
  const isPlain = (/** @type {Trace} */ trace) => (trace.type ?? "scatter") in MOVABLE && trace.x && !UNMOVABLE.some((key) => key in trace);
  const free = axes.filter((axis) => isFree(layout[axis]));
  if (free.some((axis) => TIED.some((key) => key in (layout[axis] ?? {}))) || !data.every(isPlain)) return null;
  const isMove = (/** @type {Difference} */ { path: [part, index, key, ...rest], value, before }) => {
    if (part === "layout" && /^[xy]axis/.test(String(index))) {
      return ["range", "tickvals", "ticktext"].includes(String(key)) || (key === "title" && rest[0] === "text" && value && before); // an empty one has no node
    }
    if (part === "layout") return index === "shapes" && !free.length;
    if (key === undefined) return false;
    const { type = "scatter" } = data[Number(index)];
    if (rest.length) return type === "scatter" && ["line", "marker"].includes(String(key)) && LOOKS.includes(String(rest[0]));
    return MOVABLE[type][key]?.(value, before, data[Number(index)]);
  };
  const found = differences(drawn, next);
  return found.every(isMove) ? found : null;
}

/**
 * Draw moved leaves by plotly's inner steps for traces.
 * @param {Plotly} plotly
 * @param {any} plot plotly's node
 * @param {Difference[]} leaves
 * @param {Drawing} next
 * @param {() => import("../colours.js").Palette} palette
 */
export function move(plotly, plot, leaves, next, palette) {
  const { data, calcdata, _fullData, _fullLayout } = plot;
  const ofTraces = leaves.filter(({ path }) => path[0] === "data");
  const free = axesOf(next.layout).filter((axis) => isFree(next.layout[axis]));
  const ends = (/** @type {string} */ axis) =>
    JSON.stringify(_fullLayout[axis]._traceIndices.map((/** @type {number} */ i) => _fullData[i]._extremes?.[_fullLayout[axis]._id]));
  const before = free.map(ends);
  const looks = ofTraces.filter(({ path }) => path.length > 3);
  for (const { path: [, index, key, ...rest], value } of ofTraces) {
    if (rest.length) data[index][key][rest[0]] = painted(value, palette(), rest[0] === "color");
    else data[index][key] = _fullData[index][key] = value;
  }
  for (const { path: [, index] } of looks) {
    const { colorway } = _fullLayout; // of which each trace before it has one, unless it is not to be seen
    const place = data.slice(0, index).filter((/** @type {Trace} */ { visible }) => visible !== false).length;
    _fullData[index]._module.supplyDefaults(data[index], _fullData[index], colorway[place % colorway.length], _fullLayout);
  }
  for (const index of new Set(ofTraces.map(({ path }) => path[1]))) {
    const trace = _fullData[index];
    if (trace.visible !== true) continue; // in the table only
    if (trace._length) trace._length = Math.min(trace.x.length, trace.y.length);
    calcdata[index] = trace._module.calc(plot, trace);
    calcdata[index][0].trace = trace;
    calcdata[index][0].t ??= {};
  }
  const types = _fullLayout._modules;
  for (const subplot of Object.values(_fullLayout._plots)) {
    for (const { crossTraceCalc } of types) crossTraceCalc?.(plot, subplot);
  }
  /** @type {Record<string, any>} */
  const changes = Object.fromEntries(free.filter((axis, i) => ends(axis) !== before[i]).map((axis) => [`${axis}.autorange`, true]));
  for (const { path: [part, index, ...rest], value } of leaves) {
    if (part !== "layout") continue;
    if (index === "shapes") changes.shapes ??= painted(next.layout.shapes, palette());
    else changes[[index, ...rest].join(".")] = ArrayBuffer.isView(value) ? [.../** @type {any} */ (value)] : value;
  }
  for (const key of Object.keys(changes)) {
    const { type, _id } = _fullLayout[key.split(".")[0]];
    // plotly leaves a label where it is whose text stays, and yet places it by what is written beside it.
    if (type === "log") for (const node of plot.querySelectorAll(`.${_id}tick`)) node.remove();
  }
  const rescaled = Object.keys(changes).some((key) => key.endsWith("range")); // which draws the traces as well
  plot.classList.toggle("px-moves", !rescaled);
  if (!rescaled) {
    for (const { plot: draw } of _fullLayout._basePlotModules) draw(plot);
    for (const { name, style } of types) if (name !== "scatter") style(plot); // a scatter's plot has styled it
    _fullLayout._rehover?.();
  }
  if (Object.keys(changes).length) plotly.relayout(plot, changes);
  if (!rescaled) plot.emit("plotly_afterplot"); // as plotly does for more than shapes
}
