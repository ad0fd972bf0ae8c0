/** The explorers of a page: each starts when the page has nothing else to do, and in an essay when a
 * reader comes near, over the table that was written for it. */

import { idle, whenNear } from "./near.js";
import { ours } from "./ours.js";
import { Table } from "./sources.js";
import { start } from "./start.js";
import { decode, statesOf, unpacked } from "./states.js";

/** @typedef {HTMLElement & {explorer?: import("./explorer.js").Explorer | null}} Root */

const script = /** @type {HTMLScriptElement} */ (document.currentScript);
const here = new URL(".", script.src);
const { plotly: whole } = script.dataset; // all of plotly in one file, where the book has no bundles

ours.explore = {
  /**
   * An explorer once it has its states and the page nothing else to do: for what else is made of them. null: they did
   * not come.
   * @param {Root} root
   */
  async started(root) {
    if (root.explorer === undefined) {
      await new Promise((resolve) => root.addEventListener("px-started", resolve, { once: true }));
    }
    await new Promise((resolve) => idle(() => resolve(null)));
    return root.explorer;
  },
};

/** @param {Root} root */
const begin = (root) => {
  const table = async () => new Table(root, await decode(await unpacked(await statesOf(root))), here, whole);
  if (root.closest(".px-scene")) whenNear(root, () => start(root, table));
  else idle(() => start(root, table));
};
const beginAll = () => /** @type {NodeListOf<Root>} */ (document.querySelectorAll(".plusx-explore")).forEach(begin);
if (document.readyState === "complete") beginAll();
else window.addEventListener("load", beginAll);
