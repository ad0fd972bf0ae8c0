/** A figure's data as tables, and its title as words that are weighed. */

import { make } from "./elements.js";
import { cells } from "./numbers.js";

/** @typedef {{key?: string, caption?: string, head: string[], columns: string[][]}} Part */

/**
 * The figure's data as tables, as `table` in figures.py builds them.
 * @param {any} figure
 */
export function tables(figure) {
  /**
   * @param {any} trace
   * @param {string} key
   */
  const axisTitle = (trace, key) => {
    let axis = figure.layout[`${key}axis${(trace[`${key}axis`] ?? key).slice(1)}`];
    if (key === "z") axis = trace.colorbar;
    if (trace.type === "surface") axis = figure.layout.scene[`${key}axis`];
    return axis?.title?.text || key;
  };
  /** @type {Part[]} */
  const parts = [];
  figure.data.forEach((/** @type {any} */ trace, /** @type {number} */ index) => {
    if (trace.hoverinfo === "skip" || !trace.x || !trace.y) return;
    const head = axisTitle(trace, "x");
    const x = cells(trace.x, true);
    const name = trace.name || `series ${index + 1}`;
    if (trace.z) {
      const shown = cells(trace.z.flatMap((/** @type {any} */ row) => [...row]));
      const columns = x.map((_, i) => trace.z.map((/** @type {any} */ _, /** @type {number} */ j) => shown[j * x.length + i]));
      columns.unshift(cells(trace.y, true));
      const caption = `${name}: ${axisTitle(trace, "z")}`;
      parts.push({ caption, head: [`${axisTitle(trace, "y")} ↓ ${head} →`, ...x], columns });
      return;
    }
    const key = JSON.stringify([head, x]);
    if (parts.at(-1)?.key !== key) parts.push({ key, head: [head], columns: [x] });
    parts.at(-1)?.head.push(`${name}: ${axisTitle(trace, "y")}`);
    parts.at(-1)?.columns.push(cells(trace.y));
  });
  return parts.map(tableOf);
}

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
  return [...parts.map((part, i) => (i % 2 ? make("small", {}, part) : part)), make("small", {}, rest)];
}
