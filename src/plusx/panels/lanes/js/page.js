/** The lanes of a page: their presets' runs beside it, steps by a worker when they are asked for. */

import { Lanes } from "./lanes.js";
import { whenOpen } from "./whenopen.js";

for (const root of document.querySelectorAll(".plusx-lanes")) whenOpen(root, () => new Lanes(root));
