/**
 * In a chapter's head: what is read later is laid out later, a part whenever the page is idle (book.css leaves it out
 * until then). All at once where the reader acts, or comes back, or comes for a place: there, heights must be right.
 */
(() => {
  const html = document.documentElement;
  if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") return;
  const FRAME = 80; // elements that a frame is to bring, or else one part
  const wait = globalThis.requestIdleCallback ?? ((call) => setTimeout(call, 16));
  const left = new AbortController();
  const all = () => html.classList.remove("px-coming");
  html.classList.add("px-coming");
  // A click, not the press before it: what is under the pointer must not move until it is let go.
  for (const act of ["click", "keydown", "hashchange", "beforeprint"]) {
    addEventListener(act, all, { once: true, capture: true, signal: left.signal });
  }
  const size = (part) => part?.querySelectorAll(":not(pre *)").length;
  addEventListener("load", () => {
    let parts;
    wait(function show() {
      parts ??= [...document.querySelectorAll(".bd-article section > :not(section, .px-script), .px-stage, .px-words > *")];
      // A frame costs a slow phone 10 ms whatever is in it, and an explorer's picture alone 50.
      let room = FRAME;
      do {
        room -= size(parts[0]);
        parts.shift()?.classList.add("px-here");
      } while (parts.length && size(parts[0]) <= room);
      if (!parts.length) left.abort(); // the class stays: without it every node would be styled anew, 150 ms
      else if (html.matches(".px-coming")) wait(show);
    });
  });
})();
