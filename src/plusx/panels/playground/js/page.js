/** The playground of a page: its presets in a table beside it, its nets in a worker when they are asked for. */

import { Playground } from "./playground.js";

for (const root of document.querySelectorAll(".plusx-playground")) new Playground(root);
