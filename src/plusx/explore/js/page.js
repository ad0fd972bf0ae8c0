/** The explorers of a page: each starts when the page has nothing else to do, and in an essay when a
 * reader comes near, over the table that was written for it. */

import { idle, whenNear } from "./near.js";
import { Table } from "./sources.js";
import { start } from "./start.js";
import { decode, statesOf, unpacked } from "./states.js";

/** @typedef {HTMLElement & {explorer?: import("./explorer.js").Explorer | null}} Root */

const script = /** @type {HTMLScriptElement} */ (document.currentScript);
const here = new URL(".", script.src || location.href); // a script inside its page has no address
const { plotly: whole } = script.dataset; // all of plotly in one file, where the book has no bundles

/** @param {Root} root */
const begin = (root) => {
  const table = async () => new Table(root, await decode(await unpacked(await statesOf(root))), here, whole);
  if (root.closest(".px-scene")) whenNear(root, () => start(root, table));
  else idle(() => start(root, table));
};
const beginAll = () => /** @type {NodeListOf<Root>} */ (document.querySelectorAll(".plusx-explore")).forEach(begin);
if (document.readyState === "complete") beginAll();
else window.addEventListener("load", beginAll);
