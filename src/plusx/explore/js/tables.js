/** A figure's data as tables, and its title as words that are weighed. */

import { isColour } from "./colours.js";
import { make } from "./elements.js";
import { number } from "./numbers.js";

/** @typedef {{key?: string, caption?: string, head: string[], columns: string[][]}} Part */

/** @param {Iterable<string | number>} values */
const cells = (values) => Array.from(values, (value) => (typeof value === "string" ? value : number(value)));

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
    if (trace.hoverinfo === "skip") return;
    if (!trace.x || !trace.y) {
      parts.push(...columnsOf(trace, trace.name || `series ${index + 1}`));
      return;
    }
    const head = axisTitle(trace, "x");
    const x = cells(trace.x);
    const name = trace.name || `series ${index + 1}`;
    if (trace.z) {
      const columns = [cells(trace.y), ...x.map((_, i) => cells(trace.z.map((/** @type {any} */ row) => row[i])))];
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

/**
 * What else a trace holds, as `_columns` in figures.py has it.
 * @param {Record<string, any>} trace
 * @param {string} caption
 * @returns {Part[]}
 */
function columnsOf(trace, caption) {
  /** @type {Map<number, Part>} */
  const found = new Map();
  /** @type {(values: any) => boolean} */
  const isList = (values) => Array.isArray(values) || ArrayBuffer.isView(values);
  for (const [key, value] of Object.entries(trace)) {
    const inside = isList(value) || !(value instanceof Object) ? { "": value } : value;
    for (const [inner, values] of Object.entries(inside)) {
      if (!isList(values) || !values.length || isColour(inner || key)) continue;
      if (!Array.from(values).every((each) => ["string", "number"].includes(typeof each))) continue;
      const part = found.get(values.length) ?? { caption, head: [], columns: [] };
      part.head.push(`${key} ${inner}`.trim());
      part.columns.push(cells(values));
      found.set(values.length, part);
    }
  }
  return [...found.values()];
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
