/** Figures as trees of plain values: whether two are the same, and where they differ. */

/** @import { Axis, Layout, Node, Trace } from "./types.js" */
/** @typedef {{ [key: string]: Node }} Tree */

/**
 * @param {Node} node
 * @returns {node is Tree}
 */
export const isTree = (node) => node !== null && typeof node === "object" && !ArrayBuffer.isView(node);

/** @type {(a: Node, b: Node) => boolean} whether two values of a figure are equal to the last digit */
export const same = (a, b) => {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  const [one, other] = /** @type {Tree[]} */ ([a, b]);
  if ("length" in one) return one.length === other.length && [].every.call(one, (item, i) => same(item, other[i]));
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(one[key], other[key]));
};

/** @type {(layout: Layout, trace: Trace, side: "x" | "y") => Axis | undefined} the axis of a trace on a side */
export const axisOf = (layout, trace, side) => layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`];

/** @typedef {{path: (string|number)[], value: Node, before: Node}} Difference */

/**
 * Where two figures differ, as deep inside as both have the same parts.
 * @param {Node} before
 * @param {Node} value
 * @param {(string|number)[]} path
 * @returns {Difference[]}
 */
export function differences(before, value, path = []) {
  const parts = isTree(before) && isTree(value) && (!Array.isArray(value) || (isTree(value[0]) && !("length" in value[0])));
  const keys = parts ? Object.keys(value) : [];
  if (!parts || Array.isArray(before) !== Array.isArray(value) || Object.keys(before).join() !== keys.join()) {
    return same(before, value) ? [] : [{ path, value, before }];
  }
  const step = Array.isArray(value) ? Number : String;
  return keys.flatMap((key) => differences(before[key], value[key], [...path, step(key)]));
}
