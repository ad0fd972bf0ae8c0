/** The search lists sections while one types, definitions first (sections.py). Return asks the whole search, as before. */
import { make } from "../../../src/plusx/explore/js/elements.js";

(() => {
  const MOST = 10;
  const here = document.currentScript.src; // beside it stands what is listed
  const form = document.querySelector("#pst-search-dialog form");
  if (!form) return;
  const input = form.querySelector("input");
  const list = make("ul", { class: "px-listed" });
  const status = make("p", { class: "px-counted", role: "status" });
  form.after(status, list);
  let loading;

  const load = () => (loading ??= new Promise((onload) => {
    document.head.append(make("script", { src: new URL("sections.js", here), onload }));
  }));

  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const has = (words, asked) => asked.every((part) => words.some((word) => word.startsWith(part)));

  /** How well a section answers; 0 if some word is nowhere in it. */
  function score(asked, [, isTerm, title, chapter, text]) {
    const own = wordsOf(title);
    if (isTerm && own.join(" ") === asked.join(" ")) return 6;
    if (isTerm && has(own, asked)) return 5;
    if (has(own, asked)) return title === chapter ? 4 : 3;
    const rest = [...own, ...wordsOf(text)];
    if (has(rest, asked)) return isTerm ? 1 : 2;
    return has([...rest, ...wordsOf(chapter)], asked) ? 1 : 0;
  }

  async function find() {
    await load();
    const asked = wordsOf(input.value);
    const found = asked.length ? plusx.sections.map((section) => [score(asked, section), section]) : [];
    const best = found.filter(([points]) => points).sort(([a], [b]) => b - a);
    list.replaceChildren(...best.slice(0, MOST).map(([, section]) => row(section)));
    const more = best.length > MOST ? `The first ${MOST} of ${best.length} sections. Return finds pages.` : "";
    status.textContent = !asked.length ? "" : more || `${best.length || "No"} section${best.length === 1 ? "" : "s"}`;
  }

  function row([address, isTerm, title, chapter, text]) {
    const where = make("span", {}, isTerm || title !== chapter ? chapter : "");
    const href = new URL(`../../${address}`, here);
    return make("li", {}, make("a", { href }, make("strong", {}, title), " ", where, make("small", {}, text)));
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", find);
  form.parentElement.addEventListener("keydown", (event) => {
    const stops = [input, ...list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (!step || !next) return;
    event.preventDefault();
    next.focus();
  });
  list.addEventListener("click", ({ target }) => target.closest("a") && form.parentElement.close());
})();
