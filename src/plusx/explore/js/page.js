/** The explorers of a page: each starts when the page has nothing else to do, and in an essay when a
 * reader comes near, over the table that was written for it. */

import { idle, whenNear } from "./near.js";
import { Table } from "./sources.js";
import { start } from "./start.js";
import { decode, ours, statesOf, unpacked } from "./states.js";

/** @typedef {HTMLElement & {explorer?: import("./explorer.js").Explorer | null}} Root */

const script = /** @type {HTMLScriptElement} */ (document.currentScript);
const here = new URL(".", script.src || document.baseURI); // the script itself may stand in the page
// All of plotly in one file, where the book has no bundles; or plotly stands in the page too.
const whole = script.dataset.plotly ?? (!script.src && "Plotly" in window ? "in the page" : undefined);
if (whole === "in the page") ours.plotly?.set(whole, Promise.resolve(/** @type {any} */ (window).Plotly));

/** @param {Root} root */
const begin = (root) => {
  const table = async () => new Table(root, await decode(unpacked(await statesOf(root))), here, whole);
  if (root.closest(".px-scene")) whenNear(root, () => start(root, table));
  else idle(() => start(root, table));
};
const beginAll = () => /** @type {NodeListOf<Root>} */ (document.querySelectorAll(".plusx-explore")).forEach(begin);
if (document.readyState === "complete") beginAll();
else window.addEventListener("load", beginAll);
