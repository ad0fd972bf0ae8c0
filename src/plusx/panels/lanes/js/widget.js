/** The lanes of a notebook: an anywidget, for which the kernel trains. */

import { widget } from "../../js/engine.js";
import { Lanes } from "./lanes.js";
import { whenOpen } from "./whenopen.js";

export default widget((root, beside) => whenOpen(root, () => new Lanes(root, beside)));
