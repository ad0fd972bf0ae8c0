/** The playground of a notebook: an anywidget, for which the kernel computes. */

import { beside } from "../../js/engine.js";
import { Playground } from "./playground.js";

function render(view) {
  const { root, engine, signal, end } = beside(view, {
    lost: () => playground.changed(false),
    repaint: () => playground.repaint(),
  });
  const setup = JSON.parse(root.querySelector(".pg-setup").textContent);
  const playground = new Playground(root, setup, { engine, signal });
  return end;
}

export default { render };
