/**
 * A chapter on a projector: the page itself, larger and without what is not for a class. It opens where one reads;
 * keys, a presenter's remote and two buttons go from part to part, Escape leads back. `#slides` in an address opens it.
 */

import { make } from "../../../src/plusx/explore/js/elements.js";

const html = document.documentElement;
const article = document.querySelector(".bd-article");
const button = document.querySelector(".btn-slides-button");
const PANELS = ".plusx-explore, .plusx-playground, .plusx-lanes";
const PARTS = `section > :is(h1, h2, h3), ${PANELS}, p:has(+ .px-choices)`; // what a step brings to the top
const MOST = 0.85; // of the window, so that a step passes nothing by
const isOn = () => html.classList.contains("px-slides");
const top = (node) => node.getBoundingClientRect().top - parseFloat(getComputedStyle(html).scrollPaddingTop);

function step(by) {
  const tops = [...article.querySelectorAll(PARTS)].filter((part) => part.checkVisibility()).map(top);
  // What is a line below the top is seen already.
  const next = by > 0 ? tops.find((each) => each > 45) : tops.findLast((each) => each < -4);
  const most = MOST * innerHeight;
  scrollBy({ top: by * Math.min(Math.abs(next ?? most), most), behavior: "instant" });
}

/** Show the page so or so, at the place where one reads. */
function turn(on) {
  const places = [...article.querySelectorAll(`:is(h1, h2, h3, p, li, pre), ${PANELS}`)];
  const isBelowBar = (place) => place.checkVisibility() && place.getBoundingClientRect().bottom > 60;
  const below = places.filter(isBelowBar);
  html.classList.toggle("px-slides", on);
  if (on) document.body.append(bar);
  else bar.remove();
  if (scrollY) below.find((place) => place.checkVisibility())?.scrollIntoView({ behavior: "instant" });
}

function leave() {
  turn(false);
  if (location.hash === "#slides") history.replaceState(null, "", location.href.split("#")[0]);
  button.focus({ preventScroll: true });
}

const bar = make("nav", { class: "px-bar", "aria-label": "Projector" },
  make("button", { "aria-label": "Previous part", onclick: () => step(-1) }, "‹"),
  make("button", { "aria-label": "Next part", onclick: () => step(1) }, "›"),
  make("button", { "aria-label": "Leave (Esc)", onclick: leave }, "×"));

function press(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || target.closest("dialog")) return;
  const isTaken = target.closest("input:not([type=checkbox]), select, textarea, [role=slider]") ||
    target.scrollWidth > target.clientWidth + 1;
  if (event.altKey ? event.code === "KeyS" : isOn() && key === "Escape") button.click();
  else if (!isOn() || event.altKey) return;
  else if (key === "PageDown" || (key === "ArrowRight" && !isTaken)) step(1); // a remote sends the first of each pair
  else if (key === "PageUp" || (key === "ArrowLeft" && !isTaken)) step(-1);
  else return;
  event.preventDefault();
}

const follow = () => location.hash === "#slides" && !isOn() && turn(true);
(globalThis.plusx ??= {}).slides = () => (isOn() ? leave() : turn(true));
document.addEventListener("keydown", press);
addEventListener("hashchange", follow);
follow();
