/** Making elements, and ids that no other view has. */

/**
 * An element with attributes and children; keys that begin with "on" are listeners.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes] true is an attribute without a value, false none
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/**
 * An element of SVG with attributes, its style among them.
 * @param {string} tag
 * @param {Record<string, any>} attributes
 */
export function shape(tag, attributes) {
  const node = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") node.style.cssText = value; // which a page's policy allows, as it may not the attribute
    else node.setAttribute(key, value);
  }
  return node;
}

/** @type {(src: string, lost: string) => Promise<unknown>} runs a script. Error: what is lost without it */
export const run = (src, lost) =>
  new Promise((resolve, reject) => {
    document.head.append(make("script", { src, onload: resolve, onerror: () => reject(new Error(lost)) }));
  });

/** @returns {string} different each time: randomUUID needs https */
export const unique = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

/**
 * The one element that a selector finds, where the markup promises it.
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement}
 */
export const one = (root, selector) => /** @type {HTMLElement} */ (root.querySelector(selector));
