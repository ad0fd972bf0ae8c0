/**
 * A script and its stage (stage.py, stage.css): the paragraph that a reader comes to sets the explorer by the link to a
 * state that it holds, until the reader takes the controls. On a phone the picture stays in sight, until it is closed.
 */
(() => {
  "use strict";
  const html = document.documentElement;
  const beside = matchMedia("(min-width: 1200px)");
  const small = matchMedia("(max-width: 600px)");
  const isRead = () => html.dataset.reading === "read" && !html.classList.contains("px-slides");

  for (const script of document.querySelectorAll(".px-script")) {
    const root = script.querySelector(".plusx-explore");
    const after = script.lastElementChild;
    direct(script, root);
    dock(script, root, after);
  }

  /** Let paragraphs with a link to a state set it as they pass the middle of the window. */
  function direct(script, root) {
    const links = [...script.querySelectorAll(`.px-words a[href^="#${root.dataset.name}?"]`)];
    const paragraphs = new Map(links.map((link) => [link.closest(".px-words > *"), link]));
    const watch = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting || !isRead() || !(beside.matches || root.matches(".px-docked"))) continue;
        for (const paragraph of paragraphs.keys()) paragraph.classList.toggle("px-speaks", paragraph === target);
        root.dispatchEvent(new CustomEvent("px-show", { detail: paragraphs.get(target).hash }));
      }
    }, { rootMargin: "-35% 0% -45%" });
    for (const paragraph of paragraphs.keys()) watch.observe(paragraph);
    for (const touch of ["pointerdown", "keydown"]) {
      root.addEventListener(touch, ({ target }) => {
        if (!target.closest(".px-controls")) return;
        watch.disconnect(); // the reader has taken over
        for (const paragraph of paragraphs.keys()) paragraph.classList.remove("px-speaks");
      });
    }
  }

  /** Keep the picture at the top of a phone's screen while the text after it is read. */
  function dock(script, root, after) {
    const place = root.parentElement;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "px-undock";
    close.ariaLabel = "Close the picture";
    close.textContent = "×";
    root.append(close);
    let closed = false;
    const tell = () => {
      const passed = place.getBoundingClientRect().bottom < 0.3 * innerHeight;
      const read = after.getBoundingClientRect().bottom > 0.55 * innerHeight;
      const on = small.matches && passed && read && !closed && isRead();
      if (on === root.classList.contains("px-docked")) return;
      place.style.minHeight = on ? `${place.offsetHeight}px` : "";
      root.classList.toggle("px-docked", on);
    };
    close.addEventListener("click", () => {
      closed = true;
      tell();
    });
    let due = false;
    const soon = () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        tell();
      });
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
  }
})();
