/** The playground of a notebook: an anywidget, for which the kernel computes. */

import { widget } from "../../js/engine.js";
import { Playground } from "./playground.js";

export default widget((root, beside) => new Playground(root, beside));
