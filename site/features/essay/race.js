/* The first page's race stands below its first screens: its script comes when it comes near, or is asked for. */

import { make } from "../../../src/plusx/explore/js/elements.js";

const race = document.querySelector(".px-race");
const { id } = race.querySelector(".plusx-lanes");
const left = new AbortController();
const { signal } = left;
const load = () => {
  if (signal.aborted) return;
  left.abort();
  near.disconnect();
  document.head.append(make("script", { src: race.dataset.script }));
};
const follow = () => location.hash.startsWith(`#${id}?`) && load();
const look = (seen) => seen.some(({ isIntersecting }) => isIntersecting) && load();
const near = new IntersectionObserver(look, { rootMargin: "50%" });
near.observe(race);
race.addEventListener("toggle", load, { capture: true, signal });
addEventListener("hashchange", follow, { signal });
follow();
