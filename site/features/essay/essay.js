/**
 * The first page's essay: the paragraph that one reads sets the picture beside it. Who presses the picture takes over,
 * until the next paragraph comes.
 */

import { whenBegun } from "../../build/begun.js";

for (const step of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".px-scene"))) {
  const explorer = /** @type {HTMLElement} */ (step.querySelector(".plusx-explore"));
  const link = `a[href^="#${explorer.dataset.name}?"]`;
  const said = /** @type {HTMLElement[]} */ ([...step.querySelectorAll(`p:has(${link})`)]);
  /** @param {HTMLAnchorElement} to */
  const show = ({ hash }) => {
    explorer.dataset.show = hash; // also if it has yet to start
    explorer.dispatchEvent(new Event("px-show"));
  };
  // In the window's middle, or where the picture stands above the text, below that.
  whenBegun(said, matchMedia("(min-width: 1200px)").matches ? 50 : 65, (now) => {
    for (const each of said) each.classList.toggle("px-now", each === now);
    show(/** @type {HTMLAnchorElement} */ (now.querySelector(link)));
  });
  for (const each of /** @type {NodeListOf<HTMLAnchorElement>} */ (step.querySelectorAll(`p ${link}`))) {
    each.addEventListener("click", (event) => {
      event.preventDefault(); // the picture is in sight: nothing has to scroll, which would set another state
      show(each);
    });
  }
}
