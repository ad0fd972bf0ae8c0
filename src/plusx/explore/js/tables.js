/** A figure's data as tables, and its title as words that are weighed. */

import { make } from "./elements.js";
import { cells } from "./numbers.js";
import { axisOf } from "./trees.js";
import { plain, tagged } from "./words.js";

/** @import { Figure, Trace, Values } from "./types.js" */
/** @typedef {{key?: string, caption?: string, head: string[], columns: string[][]}} Part */

const GRIDS = ["heatmap", "contour", "surface"];

/** @type {(values: Values, count: number) => Values} where cells are whose edges are given, or whose middles are */
const middles = (values, count) =>
  values.length > count ? Array.from({ length: count }, (_, i) => (Number(values[i]) + Number(values[i + 1])) / 2) : values;

/** @type {(figure: Figure) => HTMLTableElement[]} its data, as `table` in figures.py builds them */
export const tables = (figure) => {
  const axisTitle = (/** @type {Trace} */ trace, /** @type {"x" | "y" | "z"} */ key) => {
    let axis = key === "z" ? trace.colorbar : axisOf(figure.layout, trace, key);
    if (trace.type === "surface") axis = figure.layout.scene?.[`${key}axis`];
    return plain(axis?.title?.text || key);
  };
  /** @type {Part[]} */
  const parts = [];
  const nested = (/** @type {unknown[]} */ values) => Array.isArray(values) && values.length > 0 && values.every(Array.isArray);
  figure.data.forEach((trace, /** @type {number} */ index) => {
    const { x, y, z, type, hoverinfo } = trace;
    if (hoverinfo === "skip" || !x || !y || nested(x) || nested(y)) return;
    const [head, side] = [axisTitle(trace, "x"), axisTitle(trace, "y")];
    const name = plain(String(trace.name || `series ${index + 1}`));
    if (GRIDS.includes(String(type)) || (figure.drawn && z)) {
      if (!z) return;
      const [across, up] = [cells(middles(x, z[0].length), true), cells(middles(y, z.length), true)];
      const shown = cells(z.flatMap((row) => [...row]));
      const columns = across.map((_, i) => up.map((_, j) => shown[j * across.length + i]));
      const caption = `${name}: ${axisTitle(trace, "z")}`;
      parts.push({ caption, head: [`${side} ↓ ${head} →`, ...across], columns: [up, ...columns] });
      return;
    }
    if (y.length !== x.length || (z && z.length !== x.length)) return;
    const first = cells(x, true);
    const key = JSON.stringify([head, first]);
    if (parts.at(-1)?.key !== key) parts.push({ key, head: [head], columns: [first] });
    for (const side of /** @type {const} */ (["y", "z"])) {
      if (!trace[side]) continue;
      parts.at(-1)?.head.push(`${name}: ${axisTitle(trace, side)}`);
      parts.at(-1)?.columns.push(cells(trace[side]));
    }
  });
  return parts.map(tableOf);
};

/** @param {Part} part */
function tableOf({ caption, head, columns }) {
  const table = document.createElement("table");
  if (caption) table.createCaption().textContent = caption;
  const header = table.createTHead().insertRow();
  header.append(...head.map((title) => make("th", { scope: "col" }, title)));
  const body = table.createTBody();
  columns[0].forEach((_, i) => {
    const row = body.insertRow();
    for (const column of columns) row.insertCell().textContent = column[i];
  });
  return table;
}

/**
 * A title as nodes: its first sentence is read first, so what else it says and all intervals are small.
 * @param {string} title
 */
export function weighed(title) {
  const [, first, rest] = /** @type {RegExpMatchArray} */ (title.match(/^(.*?(?:\.(?= \p{Lu})|$))(.*)$/su));
  const parts = first.split(/(\([^()]* to [^()]*\))/); // every second is an interval
  return [...parts.flatMap((part, i) => (i % 2 ? make("small", {}, ...tagged(part)) : tagged(part))), make("small", {}, ...tagged(rest))];
}
