/** The lanes of a page: their presets' runs beside it, steps by a worker when they are asked for. */

import { Lanes } from "./lanes.js";
import { setupOf, whenOpen } from "./whenopen.js";

for (const root of document.querySelectorAll(".plusx-lanes")) {
  whenOpen(root, () => {
    root.plusx = new Lanes(root, setupOf(root), {});
  });
}
