/** Ours on every page: paper, boxes that scroll, menus, the contents' marker. */

import { make } from "../../src/plusx/explore/js/elements.js";

/* Paper is light, whatever the screen is; explorers follow the theme. */
(() => {
  const { dataset } = document.documentElement;
  let theme, folded;
  window.addEventListener("beforeprint", () => {
    theme = dataset.theme;
    dataset.theme = "light";
    folded = document.querySelector(".px-goals:not([open])");
    folded?.setAttribute("open", "");
  });
  window.addEventListener("afterprint", () => {
    dataset.theme = theme;
    folded?.removeAttribute("open");
  });
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

/* The theme's menus: their buttons say whether they are open, and as dialogs they close by a button or a link in them. */
(() => {
  const wide = matchMedia("(min-width: 992px)"); // from here on the theme's script hides the chapters beside the page
  for (const side of ["primary", "secondary"]) {
    const toggle = document.querySelector(`.${side}-toggle`);
    const sidebar = document.getElementById(`pst-${side}-sidebar`);
    const dialog = document.getElementById(`pst-${side}-sidebar-modal`);
    if (!toggle || !dialog) continue; // a page without headings
    sidebar.prepend(make("button", { type: "button", class: "px-close", "aria-label": "Close" }, "×"));
    dialog.ariaLabel = side === "primary" ? "Book" : "On this page";
    dialog.addEventListener("click", ({ target }) => {
      if (target.closest(".px-close, a")) dialog.close();
    });
    const tell = () => {
      const beside = side === "primary" && wide.matches && !sidebar.classList.contains("pst-sidebar-hidden");
      toggle.ariaExpanded = dialog.open || beside;
    };
    new MutationObserver(tell).observe(sidebar, { attributeFilter: ["class"] }); // the dialog borrows its classes
    wide.addEventListener("change", tell);
    tell();
  }
})();

/* The contents mark the section that is read: the last that has begun in the upper third of the window or above it. */
(() => {
  const links = [...document.querySelectorAll('#pst-page-toc-nav a[href^="#"]')];
  const entries = document.querySelectorAll("#pst-page-toc-nav .toc-entry");
  const sections = links.map(({ hash }) => document.getElementById(decodeURIComponent(hash.slice(1))));
  if (!links.length) return;
  let due = false;

  function mark() {
    due = false;
    const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 2;
    const begun = sections.findLastIndex((section) => section?.getBoundingClientRect().top < innerHeight / 3);
    const here = links[atEnd ? links.length - 1 : begun];
    for (const link of links) {
      link.classList.toggle("active", link === here);
      link.ariaCurrent = link === here || null;
    }
    for (const entry of entries) entry.classList.toggle("active", entry.contains(here ?? null));
  }

  const soon = () => {
    if (!due) requestAnimationFrame(mark);
    due = true;
  };
  for (const change of ["scroll", "resize", "load"]) addEventListener(change, soon, { passive: true });
  new ResizeObserver(soon).observe(document.body);
})();
