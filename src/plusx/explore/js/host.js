/** The application that a notebook is open in. A widget can know only its looks. */

/**
 * Be dark where the application is, which is where its letters are light, and keep the keys that its shortcuts would
 * take.
 * @param {HTMLElement} root gets the class px-dark there, and loses it again, until `signal` aborts
 * @param {AbortSignal} signal
 * @param {() => void} changed called when it did
 */
export function followHost(root, signal, changed) {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const pixel = /** @type {CanvasRenderingContext2D} */ (canvas);
  const look = () => {
    pixel.fillStyle = getComputedStyle(/** @type {Element} */ (root.parentElement)).color;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue] = pixel.getImageData(0, 0, 1, 1).data;
    const dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 127;
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
