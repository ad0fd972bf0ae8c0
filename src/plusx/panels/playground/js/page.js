/** The playground of a page: its presets in a table beside it, its nets in a worker when they are asked for. */

import { statesOf } from "../../../explore/js/states.js";
import { Playground } from "./playground.js";
import { Table } from "./table.js";

async function start(root) {
  const setup = JSON.parse(root.querySelector(".pg-setup").textContent);
  const table = Table.from(statesOf(root), setup).catch(() => undefined); // without presets the net still answers
  root.plusx = new Playground(root, setup, { table });
  if (!(await table)) root.plusx.say("The table of presets is damaged or missing: load the nets to see anything.");
}

for (const root of document.querySelectorAll(".plusx-playground")) start(root);
