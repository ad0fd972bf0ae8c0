/** The writer of a notebook: an anywidget, for which the kernel computes. */

import { beside } from "../../js/engine.js";
import { Writer } from "./writer.js";

/** @param {{ model: any, el: HTMLElement }} view */
function render(view) {
  const gone = "The kernel has no model any more: run this cell again.";
  const { root, engine, end } = beside(view, { lost: () => writer.say(gone), repaint: () => {} });
  const bring = async () => {
    writer.progress.removeAttribute("value"); // the kernel does not say how far it is
    if (engine.isGone) throw new Error(gone);
    await engine.ask({ view: "", begin: "", skip: [], branch: [] });
    return engine;
  };
  const writer = new Writer(root, bring, "Load the model");
  return end;
}

export default { render };
