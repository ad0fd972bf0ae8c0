/** What the glossary says of a term, in a card below it: by mouse, by focus, and at a finger's first tap (terms.py). */
import { make } from "../../../src/plusx/explore/js/elements.js";

(() => {
  const kept = document.getElementById("px-terms");
  if (!kept) return;
  const WAIT = 150; // milliseconds, so that a mouse that passes by opens nothing
  const card = make("div", { id: "px-term", role: "tooltip", class: "px-term", hidden: true });
  document.querySelector(".bd-article").append(card);
  let shown = null, due;

  function show(link) {
    const said = kept.content.querySelector(`[data-term="${CSS.escape(link.hash.slice(1))}"]`);
    if (!said || shown === link) return;
    hide();
    shown = link;
    card.replaceChildren(...said.cloneNode(true).childNodes);
    card.hidden = false;
    const [lines, article] = [link.getClientRects(), card.offsetParent.getBoundingClientRect()];
    const [first, last] = [lines[0], lines[lines.length - 1]]; // a term can break over two lines
    const below = last.bottom + card.offsetHeight + 12 < innerHeight;
    const left = Math.min((below ? last : first).left, document.documentElement.clientWidth - card.offsetWidth - 12);
    card.style.left = `${Math.max(left, 12) - article.left}px`;
    card.style.top = `${(below ? last.bottom + 4 : first.top - card.offsetHeight - 4) - article.top}px`;
    link.setAttribute("aria-describedby", card.id);
  }

  function hide() {
    clearTimeout(due);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    card.hidden = true;
  }

  const soon = (what, ...given) => {
    clearTimeout(due);
    due = setTimeout(what, WAIT, ...given);
  };
  for (const link of document.querySelectorAll('.bd-article a[href*="glossary.html#term-"]')) {
    link.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && soon(show, link));
    link.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && soon(hide));
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
    link.addEventListener("click", (event) => {
      if (event.pointerType !== "touch" || shown === link) return;
      event.preventDefault(); // the next tap follows
      show(link);
    });
  }
  // To be read, and copied from, for as long as the mouse is on it.
  card.addEventListener("pointerenter", () => clearTimeout(due));
  card.addEventListener("pointerleave", () => soon(hide));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  document.addEventListener("pointerdown", ({ target }) => card.contains(target) || target.closest("a") === shown || hide());
})();
