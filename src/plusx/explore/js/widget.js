/** The explorer of a notebook: an anywidget, whose states a kernel computes. */

import { Kernel } from "./sources.js";
import { start } from "./start.js";

/**
 * A view; there may be several of one model.
 * @param {{ model: any, el: HTMLElement }} view
 */
function render({ model, el }) {
  el.innerHTML = model.get("markup");
  const root = /** @type {HTMLElement} */ (el.firstElementChild);
  root.classList.add("px-hosted");
  const ending = start(root, async () => new Kernel(model, el));
  return () => ending.then((end) => end());
}

export default { render };
