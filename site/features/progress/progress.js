/**
 * How far a reader has come: kept in this browser and nowhere else, shown as a line above a chapter, as a mark beside its
 * name, and on the first page as the place where one left off.
 */

const KEY = "progress"; // {chapter's file: {share, place, words, time}}
const READ = 0.9; // so much of a chapter is all of it: exercises may be left
const CHAPTER = /chapters\/([^/]+\.html)/;

/** What was kept; null without storage, as in a frame of another site. */
function stored() {
  try {
    return Object(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return null;
  }
}

function keep(kept) {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {}
}

function make(tag, attributes, ...parts) {
  const element = Object.assign(document.createElement(tag), attributes);
  element.append(...parts);
  return element;
}

// ---- in a chapter --------------------------------------------------------------------------------------

function follow(article, file) {
  const line = make("div", { className: "px-progress", ariaHidden: "true" });
  const headings = [...article.querySelectorAll("section[id] > :is(h2, h3)")];
  document.body.append(line);
  let waiting = 0;

  /** Where the reader is now; the share is that of the text above the foot of the window. */
  function look() {
    waiting = 0;
    const { top, height } = article.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (innerHeight - top) / height));
    line.style.transform = `scaleX(${share})`;
    const kept = stored();
    if (scrollY < innerHeight || !kept) return; // opened is not yet begun
    const last = headings.findLast((heading) => heading.getBoundingClientRect().top < innerHeight / 2);
    const words = last ? last.firstChild.textContent.trim() : "";
    keep({ ...kept, [file]: {
      share: Math.max(share, kept[file]?.share ?? 0), place: last?.parentElement.id ?? "", words, time: Date.now(),
    } });
  }

  const soon = () => (waiting ||= setTimeout(look, 200));
  addEventListener("scroll", soon, { passive: true });
  soon(); // at once, it would have the page laid out between two scripts
}

// ---- beside the names of chapters ----------------------------------------------------------------------

function mark(kept) {
  for (const link of document.querySelectorAll(".bd-docs-nav a[href], .px-chapters li > p > a[href]")) {
    link.querySelector(".px-come")?.remove();
    const [, file] = new URL(link.href).pathname.match(CHAPTER) ?? [];
    const share = kept[file]?.share;
    if (!share) continue;
    const come = make("span", { className: "px-come" }, make("span", { className: "px-heard" }, share < READ ? ", begun" : ", read"));
    come.style.setProperty("--px-share", share < READ ? share : 1);
    link.append(come);
  }
}

// ---- on the first page ---------------------------------------------------------------------------------

function offer(place, kept) {
  const begun = Object.entries(kept).filter(([, { share }]) => share < READ);
  if (!begun.length) return;
  const [file, { place: at, words }] = begun.reduce((one, other) => (other[1].time > one[1].time ? other : one));
  const name = [...document.querySelectorAll(".bd-docs-nav a[href]")].find((link) => link.href.includes(`chapters/${file}`));
  if (!name) return; // another edition has no such chapter
  const title = name.cloneNode(true);
  title.querySelector(".px-come")?.remove();
  const link = make("a", { href: `chapters/${file}${at ? `#${at}` : ""}` }, title.textContent.trim(), words ? `, “${words}”` : "");
  const button = make("button", { type: "button" }, "Forget where I am");
  const told = make("p", { className: "px-goon", tabIndex: -1 }, "Go on where you left off: ", link, ". ", button);
  button.addEventListener("click", () => {
    keep({});
    mark({});
    told.textContent = "Forgotten.";
    told.focus(); // which the button's going would lose
  });
  place.after(told);
}

const kept = stored() ?? {};
const article = document.querySelector("article.bd-article");
const [, file] = location.pathname.match(CHAPTER) ?? [];
mark(kept);
if (file && document.querySelector("[class^='plusx-']:is(.plusx-explore, .plusx-lanes, .plusx-playground)")) follow(article, file);
const hero = document.querySelector(".plusx-writer");
if (hero) offer(hero, kept);
