/** The lanes of a notebook: an anywidget, for which the kernel trains. */

import { beside } from "../../js/engine.js";
import { Lanes } from "./lanes.js";
import { setupOf, whenOpen } from "./whenopen.js";

function render(view) {
  let lanes;
  const lost = () => {
    lanes?.pause();
    lanes?.say(lanes.fault());
  };
  const { root, engine, signal, end } = beside(view, { lost, repaint: () => lanes?.draw() });
  whenOpen(root, () => {
    lanes = new Lanes(root, setupOf(root), { engine, signal });
  });
  return end;
}

export default { render };
