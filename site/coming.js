/**
 * In a chapter's head: what is read later is laid out later, a few parts whenever the page is idle (book.css leaves it
 * out until then). All at once where the reader acts, or comes back, or comes for a place: there, heights must be right.
 */
(() => {
  const html = document.documentElement;
  if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") return;
  const AT_ONCE = 4; // parts: together a few milliseconds of a phone
  const wait = globalThis.requestIdleCallback ?? ((call) => setTimeout(call, 16));
  const all = () => html.classList.remove("px-coming");
  html.classList.add("px-coming");
  // A click, not the press before it: what is under the pointer must not move until it is let go.
  for (const act of ["click", "keydown", "hashchange", "beforeprint"]) addEventListener(act, all, { once: true, capture: true });
  addEventListener("load", () => {
    const parts = [...document.querySelectorAll(".bd-article section > :not(section)")];
    wait(function show() {
      for (const part of parts.splice(0, AT_ONCE)) part.classList.add("px-here");
      if (!parts.length) all();
      else if (html.matches(".px-coming")) wait(show);
    });
  });
})();
