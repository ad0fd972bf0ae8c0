/** The application that a notebook is open in. A widget can know only its looks. */

/**
 * Whether letters of a computed colour are light, by its own numbers: a browser that guards its reader draws noise.
 * @param {string} colour
 */
export function isLight(colour) {
  const kind = colour.split("(")[0];
  const numbers = (colour.split("/")[0].match(/(?<![\w.-])-?[\d.]+(e-?\d+)?/g) ?? []).map(Number);
  if (/^ok/.test(kind)) return numbers[0] > 0.6;
  if (/^l/.test(kind)) return numbers[0] > 54;
  const [red, green, blue] = kind === "color" ? numbers.map((part) => 255 * part) : numbers;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 127;
}

/**
 * Be dark where the application is, which is where its letters are light, and keep the keys that its shortcuts would
 * take.
 * @param {HTMLElement} root gets the class px-dark there, and loses it again, until `signal` aborts
 * @param {AbortSignal} signal
 * @param {() => void} changed called when it did
 */
export function followHost(root, signal, changed) {
  const look = () => {
    const dark = isLight(getComputedStyle(/** @type {Element} */ (root.parentElement)).color);
    if (dark === root.classList.contains("px-dark")) return;
    root.classList.toggle("px-dark", dark);
    changed();
  };
  look();
  const watch = new MutationObserver(() => {
    look();
    setTimeout(look, 500); // the new theme's stylesheet may come later
  });
  for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
  signal.addEventListener("abort", () => watch.disconnect());
  // JupyterLab hears each key before its target does. It leaves the keys of a target with this attribute of Lumino's.
  /** @param {KeyboardEvent} event */
  const keep = ({ target, key, ctrlKey, metaKey, altKey, shiftKey }) => {
    const isLabs = ctrlKey || metaKey || altKey || (shiftKey && key === "Enter"); // to save, to run
    if (target instanceof Element && root.contains(target)) {
      target.toggleAttribute("data-lm-suppress-shortcuts", !isLabs);
    }
  };
  window.addEventListener("keydown", keep, { capture: true, signal });
}
