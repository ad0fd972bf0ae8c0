/** The writer of a notebook: an anywidget, for which the kernel computes. */

import { widget } from "../../js/engine.js";
import { GONE, Writer } from "./writer.js";

export default widget((root, { engine }) => {
  const bring = async () => {
    writer.progress.removeAttribute("value"); // the kernel does not say how far it is
    if (engine.isGone) throw new Error(GONE);
    await engine.ask({ view: "", begin: "", skip: [], branch: [] });
    return engine;
  };
  const writer = new Writer(root, bring, "Load the model");
});
