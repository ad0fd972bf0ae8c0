/**
 * A script and its stage (stage.py, stage.css): a link to a state sets the explorer as the reader comes to it, until the
 * reader takes the controls. On a phone the picture stays in sight, until it is closed.
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

  /** Let each link to a state set it as the line that it stands on comes to be read. */
  function direct(script, root) {
    const links = script.querySelectorAll(`.px-words a[href^="#${root.dataset.name}?"]`);
    const speak = (speaker) => links.forEach((link) => link.classList.toggle("px-speaks", link === speaker));
    const watch = new IntersectionObserver((entries) => {
      const speaker = entries.find(({ isIntersecting }) => isIntersecting)?.target;
      if (!speaker || !isRead() || !(beside.matches || root.matches(".px-docked"))) return;
      speak(speaker);
      root.dispatchEvent(new CustomEvent("px-show", { detail: speaker.hash }));
    }, { rootMargin: "-40% 0% -55%" });
    links.forEach((link) => watch.observe(link));
    for (const touch of ["pointerdown", "keydown"]) {
      root.addEventListener(touch, ({ target }) => {
        if (!target.closest(".px-controls")) return;
        watch.disconnect(); // the reader has taken over
        speak(null);
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
