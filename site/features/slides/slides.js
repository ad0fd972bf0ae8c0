/**
 * A chapter as slides for a projector: the page itself, a part at a time. Nothing is moved or copied, so explorers
 * keep their state; a class hides what is not on the slide. First come the title, predictions, explorers and what to
 * take along, and all of the chapter when it is asked for. `#slides=3` opens the third, `#slides-all=3` that of all.
 */

const html = document.documentElement;
const article = document.querySelector(".bd-article");
const button = document.querySelector(".btn-slides-button");
let slides = []; // the nodes of each, headings first; none while the page is shown
let at = 0;
let whole = false; // whether all of the chapter is on slides
let bar;

const alone = ".plusx-explore, .plusx-playground, .plusx-lanes"; // what has a slide of its own
const asked = ".px-choices"; // what stands below its question
const isHeading = (node) => /^H[1-6]$/.test(node.tagName);
const show = (nodes, on) => nodes.forEach((node) => node.classList.toggle("px-off", !on));

/** Whether a part is on slides also where not all is. */
function isCore({ node, headings }, i, all) {
  const under = headings.at(-1).textContent;
  if (/^Self-check/.test(under) || /^Lab notes/.test(headings[1]?.textContent)) return false;
  return (headings.length === 1 && node.matches("p, ul, ol")) || node.querySelector(alone) || node.matches(asked) ||
    all[i + 1]?.node.matches(asked) || /take along/.test(under);
}

/** What the page consists of, in reading order, each part with the headings it stands under. */
function parts(node, above = []) {
  let headings = above;
  return [...node.children].flatMap((child) => {
    if (child.matches("section, .cell, .px-script, .px-words")) return parts(child, headings);
    if (!isHeading(child)) return { node: child, headings };
    headings = [...above, child];
    return [];
  });
}

/** A heading, a question, an exercise or an explorer begins a slide, and so does what has no room. */
function split() {
  show(article.querySelectorAll(".px-off"), true);
  const there = parts(article).filter(({ node }) => node.offsetHeight);
  there.forEach(({ node, headings }) => show([...headings, node], false));
  const all = whole ? there : there.filter(isCore);
  slides = [];
  let slide = [];
  all.forEach(({ node, headings }, i) => {
    const last = all[i - 1]?.node;
    const begin = () => {
      show(slide, false);
      html.classList.toggle("px-title", !slides.length);
      slides.push((slide = [...headings, node]));
      show(slide, true);
    };
    const isAnswer = node.matches(asked);
    const starts = headings.at(-1) !== all[i - 1]?.headings.at(-1) || node.querySelector(alone) ||
      last.querySelector(alone) || last.matches(asked) || node.matches(".exercise") ||
      all[i + 1]?.node.matches(asked);
    if (starts && !isAnswer) return begin();
    slide.push(node);
    show([node], true);
    if (isAnswer || article.scrollHeight < article.clientHeight + 3) return;
    show([slide.pop()], false);
    begin();
  });
  show(slide, false);
}

function go(to) {
  show(slides[at] ?? [], false);
  at = Math.max(0, Math.min(slides.length - 1, to));
  const slide = slides[at];
  const explorer = slide.map((node) => node.querySelector(".plusx-explore")).find(Boolean);
  show(slide, true);
  html.classList.toggle("px-title", at === 0);
  html.classList.toggle("px-alone", slide.some((node) => node.querySelector(alone)));
  article.scrollTop = 0;
  const title = slide.findLast(isHeading).firstChild.textContent;
  article.setAttribute("aria-label", `Slide ${at + 1} of ${slides.length}: ${title}`);
  const [previous, place, more, , next] = bar.children;
  more.setAttribute("aria-pressed", whole);
  place.textContent = `${at + 1} / ${slides.length}`;
  previous.disabled = at === 0;
  next.disabled = at === slides.length - 1;
  if (!bar.contains(document.activeElement) || document.activeElement.disabled) article.focus();
  history.replaceState(null, "", `#slides${whole ? "-all" : ""}=${at + 1}`);
  if (explorer) {
    // Its picture, letters and all, fills what room is left.
    const figure = explorer.querySelector(".px-figure");
    const margin = parseFloat(getComputedStyle(html).fontSize);
    const under = [...explorer.querySelectorAll(":scope > :is(.px-diagram, .px-sides)")]; // a drawn figure's wire
    const below = under.reduce((sum, part) => sum + part.offsetHeight + margin, margin);
    const room = article.getBoundingClientRect().bottom - figure.getBoundingClientRect().top - below;
    const zoom = Math.max(room, 0.4 * article.clientHeight) / parseFloat(figure.style.height);
    explorer.style.setProperty("--px-zoom", zoom);
    explorer.style.setProperty("--px-tall", figure.style.height);
  }
  dispatchEvent(new Event("resize")); // plotly draws anew what has another width
}

/** A screen on, or where nothing is left to scroll a slide. */
function page(step) {
  const { scrollTop, scrollHeight, clientHeight } = article;
  const left = step > 0 ? scrollHeight - clientHeight - scrollTop : scrollTop;
  if (left > 4) article.scrollBy(0, step * 0.85 * clientHeight);
  else go(at + step);
}

function press(event) {
  const { key, target } = event;
  if (event.altKey || event.ctrlKey || event.metaKey || target.closest("dialog")) return;
  const isField = target.closest("input:not([type=checkbox]), select, textarea, [role=slider]");
  const isTaken = isField || target.scrollWidth > target.clientWidth + 1;
  const act = {
    Escape: leave,
    PageDown: () => page(1), // a presenter's remote sends it, whatever has the focus
    PageUp: () => page(-1),
    ...(!isTaken && {
      ArrowRight: () => go(at + 1),
      ArrowLeft: () => go(at - 1),
      Home: () => go(0),
      End: () => go(slides.length - 1),
    }),
  }[key];
  if (!act) return;
  event.preventDefault();
  act();
}

const top = () => slides[at].find((node) => !isHeading(node));

/** Go to the slide that has what began this one, or the next part of the page that is on one. */
function stay() {
  const shown = top();
  split();
  const isAt = (node) => node === shown || shown.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING;
  const found = slides.findIndex((nodes) => isAt(nodes.at(-1)));
  go(found < 0 ? slides.length - 1 : found);
}

/** In another size other parts fit. */
function again(event) {
  if (slides.length && event.isTrusted) stay();
}

function turn(all) {
  whole = all;
  stay();
}

function enter() {
  html.classList.add("px-slides");
  article.tabIndex = 0; // it scrolls where a slide is too tall
  article.setAttribute("aria-roledescription", "slide");
  bar = document.createElement("nav");
  bar.className = "px-bar";
  bar.ariaLabel = "Slides";
  bar.innerHTML =
    '<button class="px-previous" aria-label="Previous slide">‹</button><span role="status"></span>' +
    '<button>All of the chapter</button><button>Leave slides (Esc)</button>' +
    '<button class="px-next" aria-label="Next slide">›</button>';
  [() => go(at - 1), null, () => turn(!whole), leave, () => go(at + 1)].forEach((act, i) => (bar.children[i].onclick = act));
  article.after(bar);
  document.addEventListener("keydown", press);
  split();
}

function leave() {
  const first = top();
  slides = [];
  bar.remove();
  document.removeEventListener("keydown", press);
  html.classList.remove("px-slides", "px-title", "px-alone");
  for (const name of ["tabindex", "aria-roledescription", "aria-label"]) article.removeAttribute(name);
  show(article.querySelectorAll(".px-off"), true);
  if (/^#slides/.test(location.hash)) history.replaceState(null, "", location.href.split("#")[0]);
  dispatchEvent(new Event("resize"));
  button.focus({ preventScroll: true });
  if (at) first.scrollIntoView();
}

/** The slide that the address names, or that has what a link leads to. */
function follow() {
  const [name, number] = location.hash.slice(1).split(/[=?]/);
  if (name === "slides" || name === "slides-all") {
    const all = name === "slides-all";
    if (!slides.length) {
      whole = all;
      enter();
    } else if (all !== whole) turn(all);
    return go((parseInt(number, 10) || 1) - 1);
  }
  if (!slides.length) return;
  const target = document.querySelector(":target") ?? document.getElementById(`explore-${name}`);
  const find = () => slides.findIndex((nodes) => nodes.some((node) => node.contains(target) || target?.contains(node)));
  if (target && find() < 0 && !whole) turn(true); // it may be on none of the few
  if (target && find() >= 0) go(find());
  else leave();
}

document.addEventListener("keydown", (event) => {
  if (!event.altKey || event.code !== "KeyS" || slides.length) return;
  event.preventDefault();
  button.click();
});
addEventListener("hashchange", follow);
addEventListener("resize", again);
addEventListener("load", again); // letters have come
follow();
