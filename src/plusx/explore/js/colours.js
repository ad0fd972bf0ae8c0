/** The theme's colours, by the names that figures use. */

import { isLight } from "./host.js";
import { isTree } from "./trees.js";

/** @import { Node } from "./types.js" */

/** @typedef {Record<string, string>} Palette */

const NAMES = ["C0", "C1", "C2", "C3", "C4", "C5", "ink", "muted", "grid", "page"];

/** @param {string} colour */
export const inCss = (colour) => (NAMES.includes(colour) ? `var(--px-${colour})` : colour);

/** @param {string} key */
const isColour = (key) => /colou?r(way|scale|s)?$/.test(key); // as `coloured` in figures.py

/**
 * The colours of the page's theme.
 * @param {Element} root
 * @returns {Palette}
 */
export function paletteOf(root) {
  const style = getComputedStyle(root); // whose variables are light-dark(…), as they are written
  const theme = Number(isLight(style.color));
  const both = (/** @type {string} */ name) => style.getPropertyValue(`--px-${name}`).match(/#\w+/g) ?? [];
  return Object.fromEntries(NAMES.map((name) => [name, both(name)[theme]]));
}

/**
 * A copy of the tree with the names of colours replaced; numbers are shared, so plotly sees what changed.
 * @param {Node} node
 * @param {Palette} palette
 * @param {boolean} here whether a word that stands here is a colour
 * @returns {Node}
 */
export function painted(node, palette, here = false) {
  if (typeof node === "string") return here ? (palette[node] ?? node) : node;
  if (!isTree(node)) return node;
  if (Array.isArray(node)) return node.map((item) => painted(item, palette, here));
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, painted(value, palette, isColour(key))]));
}

/**
 * Red, green and blue of a colour of the palette, 0 to 255.
 * @param {string} hex six digits behind a #
 */
export const rgb = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));

/**
 * Paint anew whenever the page goes from light to dark or back, as the book or the system tells it.
 * @param {() => void} repaint
 * @param {AbortSignal} signal until it aborts
 */
export function followTheme(repaint, signal) {
  const watch = new MutationObserver(repaint);
  for (const node of [document.documentElement, document.body]) watch.observe(node, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint, { signal });
  signal.addEventListener("abort", () => watch.disconnect());
}
