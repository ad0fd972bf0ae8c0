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
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const box = target.querySelector("mjx-container[display]") ?? target;
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  const boxes = ".bd-article div.math, .bd-article .pst-scrollable-table-container";
  document.querySelectorAll(boxes).forEach((box) => watch.observe(box));
})();
