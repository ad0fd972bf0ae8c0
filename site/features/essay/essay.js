/**
 * The first page's essay: the paragraph that one reads sets the picture beside it. Who presses the picture takes over,
 * until the next paragraph comes.
 */

for (const step of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".px-step"))) {
  const explorer = /** @type {HTMLElement} */ (step.querySelector(".plusx-explore"));
  const link = `a[href^="#${explorer.dataset.name}?"]`;
  const said = [...step.querySelectorAll(`p:has(${link})`)];
  /** @param {IntersectionObserverEntry[]} seen */
  const read = (seen) => {
    const now = seen.find(({ isIntersecting }) => isIntersecting)?.target;
    if (!now) return;
    for (const each of said) each.classList.toggle("px-now", each === now);
    explorer.dataset.show = /** @type {HTMLAnchorElement} */ (now.querySelector(link)).hash; // also if it has yet to start
    explorer.dispatchEvent(new Event("px-show"));
  };
  const watch = new IntersectionObserver(read, { rootMargin: "-45% 0px -45% 0px" }); // a tenth of the window, in its middle
  for (const each of said) watch.observe(each);
}
