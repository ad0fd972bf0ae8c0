/** What Python computed beforehand, as it comes: beside a page, in base64, zipped, in planes of bytes. */

import { one, run } from "./elements.js";
import { isTree } from "./trees.js";

/** @import { Node } from "./types.js" */

/** The one name that we have among a page's globals: what its scripts, or copies of one module, share. */
export const ours = (/** @type {{ plusx?: import("./types.js").Ours }} */ (globalThis).plusx ??= {});

/**
 * The states of an element: in the page, or in a script beside it, which works from disk as fetch does not.
 * @param {HTMLElement} root
 * @returns {Promise<string>} base64
 */
export async function statesOf(root) {
  const { textContent, dataset } = one(root, ".px-states");
  if (!dataset.src) return textContent ?? "";
  await run(dataset.src, "The states did not load");
  return ours.states?.[root.id] ?? "";
}

/**
 * From base64; not by `fetch`, which a page's policy may keep from addresses that begin with data:.
 * @param {string} text
 */
export function unpacked(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** @param {BlobPart} bytes */
export const unzip = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));

/**
 * The reverse of `packed` in states.py.
 * @param {BlobPart} packed
 * @returns {Promise<{figure: any, leaves: {path: (string|number)[], index: number[], values: any[]}[]}>}
 */
export async function decode(packed) {
  const blob = await unzip(packed).arrayBuffer();
  const start = 4 + new DataView(blob).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(blob, 4, start - 4)));
  const planes = new Uint8Array(blob, start);
  const count = planes.length / 8;
  const bytes = new Uint8Array(planes.length); // of little-endian float64
  for (let plane = 0; plane < 8; plane++) {
    for (let i = 0; i < count; i++) bytes[8 * i + plane] = planes[plane * count + i];
  }
  return restore(header, new Float64Array(bytes.buffer));
}

/**
 * The tree with every {"$": [offset, ...shape]} replaced by its numbers.
 * @param {Node} node
 * @param {Float64Array} numbers
 * @returns {any} a figure, and what varies in it
 */
function restore(node, numbers) {
  if (!isTree(node)) return node;
  if (Array.isArray(node)) return node.map((item) => restore(item, numbers));
  if (!node.$) return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, restore(value, numbers)]));
  const [offset, ...shape] = /** @type {number[]} */ (node.$);
  return shaped(numbers, offset, shape);
}

/** @type {(numbers: Float64Array, offset: number, shape: number[]) => Node} rows of rows, the innermost no copies */
const shaped = (numbers, offset, [length, ...inner]) => {
  if (!inner.length) return numbers.subarray(offset, offset + length);
  const size = inner.reduce((product, count) => product * count);
  return Array.from({ length }, (_, i) => shaped(numbers, offset + i * size, inner));
};
