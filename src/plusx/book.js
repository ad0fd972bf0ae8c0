/* Paper is light, whatever the screen is; explorers follow the theme. */
(() => {
  const { dataset } = document.documentElement;
  let screen;
  window.addEventListener("beforeprint", () => {
    screen = dataset.theme;
    dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => (dataset.theme = screen));
})();

/* A box that scrolls sideways must be reachable by keyboard; one that does not is no tab stop. */
(() => {
  const fit = (target) => {
    const box = target.querySelector("mjx-container[display]") ?? target;
    // Code that is not laid out yet has no width: it keeps what the build gave it.
    const skipped = box.firstElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) === false;
    if (skipped || box === document.activeElement) return;
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));
  for (const box of document.querySelectorAll(".bd-article :is(pre, div.math, .pst-scrollable-table-container)")) {
    watch.observe(box);
    box.addEventListener("contentvisibilityautostatechange", () => requestAnimationFrame(() => fit(box)));
  }
})();
