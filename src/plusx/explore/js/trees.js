/** Figures as trees of plain values: whether two are the same, and where they differ. */

export const isTree = (node) => node !== null && typeof node === "object" && !ArrayBuffer.isView(node);

/**
 * Whether two values of a figure are equal to the last digit.
 * @returns {boolean}
 */
export function same(a, b) {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  const keys = Object.keys(a);
  if ("length" in a) return a.length === b.length && [].every.call(a, (item, i) => same(item, b[i]));
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
}

/** @typedef {{path: (string|number)[], value: any, before: any}} Difference */

/**
 * Where two figures differ, as deep inside as both have the same parts.
 * @param {(string|number)[]} path
 * @returns {Difference[]}
 */
export function differences(before, value, path = []) {
  const ofTrees = isTree(before) && isTree(value);
  const parts = ofTrees && (Array.isArray(value) ? isTree(value[0]) && !("length" in value[0]) : true);
  const keys = parts ? Object.keys(value) : [];
  if (!parts || Array.isArray(before) !== Array.isArray(value) || Object.keys(before).join() !== keys.join()) {
    return same(before, value) ? [] : [{ path, value, before }];
  }
  const step = Array.isArray(value) ? Number : String;
  return keys.flatMap((key) => differences(before[key], value[key], [...path, step(key)]));
}
