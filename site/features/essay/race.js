/* The first page's race stands below its first screens: its script comes when it comes near, or is asked for. */

import { make } from "../../../src/plusx/explore/js/elements.js";
import { whenNear } from "../../../src/plusx/explore/js/near.js";

const race = document.querySelector(".px-race");
const { id } = race.querySelector(".plusx-lanes");
const script = make("script", { src: race.dataset.script });
const load = () => document.head.append(script); // once more, and it runs no second time
const follow = () => location.hash.startsWith(`#${id}?`) && load();
whenNear(race, load);
race.addEventListener("toggle", load, { capture: true });
addEventListener("hashchange", follow);
follow();
