/** What a page is to who reads it, measured where its lines and boxes are: for test_layout.py, which judges. */

const ASIDE = "[class^=plusx-], table, nav, figure, footer, .admonition-title, .px-chapters, .px-sheet, .math";
const HANDS = "button, select, textarea, input, summary, [role=switch], .px-radio span";
const box = (node) => node.getBoundingClientRect();
const inArticle = (query) => [...document.querySelectorAll("article.bd-article :is(" + query + ")")].filter((node) => node.checkVisibility());
const nameOf = (node) =>
  (node.ariaLabel || node.textContent.trim() || node.dataset.name || node.dataset.field || node.id || node.className).replace(/\s+/g, " ").slice(0, 60);
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const facesThere = () => Promise.allSettled([...document.fonts].map((face) => face.load())); // not one by one, as words ask
const settled = () => drawn().then(facesThere).then(drawn);

/** A paragraph's words, as a line breaks them: a formula is as long as the letters that have its width. */
function* wordsOf(paragraph) {
  const size = parseFloat(getComputedStyle(paragraph).fontSize);
  const within = (node) => !node.parentElement.closest(".px-mathml, mjx-container, svg");
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeName === "MJX-CONTAINER") yield [box(node), Math.round(box(node).width / (0.43 * size))];
    if (node.nodeType !== Node.TEXT_NODE || !within(node)) continue;
    for (const found of node.data.matchAll(/\S+/g)) {
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const spaced = /\s/.test(node.data[found.index + found[0].length] ?? "");
      yield [box(range), found[0].length + spaced];
    }
  }
}

/** Of each paragraph of more than one line: how many letters its full lines have, the middle one of all but the last. */
function letters() {
  return inArticle("p").filter((paragraph) => !paragraph.closest(ASIDE)).flatMap((paragraph) => {
    const lines = [];
    let right = Infinity;
    for (const [place, count] of wordsOf(paragraph)) {
      if (!place.width) continue;
      if (place.left < right - 4) lines.push(0);
      lines[lines.length - 1] += count;
      right = place.right;
    }
    const full = lines.slice(0, -1).sort((a, b) => a - b);
    const pair = paragraph.closest(".px-script, .px-scene");
    const beside = Boolean(pair) && getComputedStyle(pair).display === "grid";
    return full.length ? [{ words: nameOf(paragraph), beside, letters: full[full.length >> 1] }] : [];
  });
}

/** What a pointer cannot press in its middle, what is cut by a box around it, and what sticks out of its panel. */
async function covered() {
  const found = [];
  for (const node of inArticle(HANDS)) {
    const hand = node.matches(".px-radio input") ? node.nextElementSibling : node.matches("[role=switch]") ? node.querySelector(".px-hit") ?? node : node;
    hand.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, right, width, height } = box(hand);
    if (!width || getComputedStyle(hand).visibility === "hidden" || node.closest(".px-pin[style*=hidden]")) continue;
    const label = node.closest("label");
    const around = node.closest("[class^=plusx-], .px-choices");
    const reached = () => {
      const now = box(hand);
      there = document.elementFromPoint((now.left + now.right) / 2, (now.top + now.bottom) / 2);
      return there && (node.contains(there) || hand.contains(there) || label?.contains(there));
    };
    let there = null;
    // The page's contents give way, which takes a busy machine its time; where one has not, others are looked at briefly.
    for (let wait = found.length ? 6 : 100; !reached() && wait > 0; wait--) await new Promise((done) => setTimeout(done, 50));
    if (!reached()) {
      found.push(`${nameOf(node)}: ${there ? "under " + (there.className.baseVal ?? there.className) : "off the window"}`);
    } else if (around && (left < box(around).left - 2 || right > box(around).right + 2)) found.push(`${nameOf(node)}: outside ${around.id}`);
    if (height > innerHeight) found.push(`${nameOf(node)}: taller than the window`);
  }
  return found;
}

/** Words that something lies on, half a window at a time, but for what sticks to an edge of the window for a while. */
async function veiled() {
  const sticks =
    ".bd-header-article, .bd-sidebar-secondary.hide, .px-stage, .px-docked, .px-beside, .pn-said, .ln-pictures, .copybtn, .skip-link";
  const walker = document.createTreeWalker(document.querySelector("article.bd-article"), NodeFilter.SHOW_TEXT);
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.matches("details:not([open])") || parent.closest("svg, .px-mathml, mjx-container")) continue;
    if (!parent.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const around = [];
    let cut = false; // as what only a screen reader is to read
    for (let out = parent; out !== document.body; out = out.parentElement) {
      const { overflowX, clipPath } = getComputedStyle(out);
      if (overflowX !== "visible") around.push(out);
      cut ||= clipPath !== "none";
    }
    if (!cut) texts.push({ node, parent, around });
  }
  const range = document.createRange();
  const ends = ({ left, right, top, bottom }) => (right - left < 8 ? [] : [left + 4, right - 4].map((x) => [x, (top + bottom) / 2]));
  const within = ({ left, right, top, bottom }, [x, y]) => x > left && x < right && y > top && y < bottom;
  const hidden = () =>
    texts.flatMap(({ node, parent, around }) => {
      const place = box(parent);
      if (place.bottom < 0 || place.top > innerHeight) return [];
      range.selectNodeContents(node);
      const shown = [...range.getClientRects()].flatMap(ends).filter((end) => around.every((each) => within(box(each), end)));
      const over = shown.map((end) => document.elementFromPoint(...end));
      const veil = over.find((there) => there && !parent.contains(there) && !there.contains(parent) && !there.closest(sticks));
      return veil ? [`${nameOf(parent)}: under ${veil.tagName} ${veil.className.baseVal ?? veil.className}`] : [];
    });
  const found = new Set();
  for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight / 2) {
    scrollTo({ top, behavior: "instant" });
    await drawn();
    let now = hidden();
    for (let wait = found.size ? 6 : 40; now.length && wait > 0; wait--) now = await new Promise((done) => setTimeout(() => done(hidden()), 50));
    for (const each of now) found.add(each);
  }
  return [...found];
}

/** What scrolls inside a card, but for its table and long code. */
const scrolling = () =>
  inArticle(".px-stage, .px-stage :not(pre, .px-table), [class^=plusx-], [class^=plusx-] :not(.px-table, pre, textarea)")
    .filter((node) => node.scrollHeight > node.clientHeight + 2 && /auto|scroll/.test(getComputedStyle(node).overflowY))
    .map((node) => `${nameOf(node)}: ${node.scrollHeight} px in ${node.clientHeight}`);

/** Code above the first picture, at the page's start: a picture that stays in sight would come before its own. */
function pills() {
  scrollTo({ top: 0, behavior: "instant" });
  const root = inArticle("section > .plusx-explore, .cell .plusx-explore")[0];
  if (!root || root.closest("section section")) return [];
  return inArticle(".px-badge, summary")
    .filter((node) => !node.closest(".px-goals, .plusx-explore, .px-choices") && box(node).height)
    .filter((node) => box(node).top < box(root.querySelector(".px-figure")).top)
    .map(nameOf);
}

/** The opener: on the first screen, where its parts end. */
function opener() {
  scrollTo({ top: 0, behavior: "instant" });
  const root = inArticle("section > .plusx-explore, .cell .plusx-explore")[0];
  if (!root?.dataset.drawn || root.closest("section section")) return null;
  const parts = [...root.querySelectorAll(":scope > .px-diagram, .px-controls label, .px-controls select")].filter((node) => node.checkVisibility() && box(node).height);
  const cell = root.closest(".cell");
  return {
    name: root.dataset.name,
    kind: root.dataset.drawn,
    figure: Math.round(box(root.querySelector(".px-figure")).height),
    end: Math.round(box(root.querySelector(".px-figure")).bottom),
    hands: Math.round(Math.max(...parts.map((node) => box(node).bottom))),
  };
}

/** Each explorer that plotly draws, brought to the top of the window: what of it is there. */
function cards() {
  return inArticle(".plusx-explore:not([data-drawn])").map((root) => {
    const figure = root.querySelector(".px-figure");
    const place = root.closest(".px-stage") ?? root;
    const top = parseFloat(getComputedStyle(place).top) || 56;
    scrollTo({ top: scrollY + box(place).top - top, behavior: "instant" });
    const [card, picture] = [box(root), box(figure)];
    const controls = box(root.querySelector(".px-controls"));
    const full = picture.left >= controls.right || controls.left >= picture.right || picture.width > 0.93 * box(document.querySelector(".bd-article")).width;
    return {
      name: root.dataset.name,
      staged: Boolean(root.closest(".px-stage")),
      full,
      head: Math.round(picture.top - card.top),
      seen: Math.round(Math.min(picture.bottom, innerHeight) - Math.max(picture.top, 0)),
      tall: Math.round(picture.height),
    };
  });
}

/** Over all states of each explorer: how far its picture moves in its card, and of those beside a text the card's end. */
async function jumps() {
  const found = [];
  for (const root of inArticle(".plusx-explore")) {
    root.scrollIntoView({ block: "start", behavior: "instant" });
    for (let waited = 0; !root.explorer && waited < 100; waited++) await new Promise((done) => setTimeout(done, 50));
    const { explorer } = root;
    root.querySelector(".px-controls").dispatchEvent(new Event("pointerdown", { bubbles: true }));
    await settled();
    const start = explorer.state();
    const sizes = explorer.controls.map((control) => control.labels.length);
    const count = sizes.reduce((a, b) => a * b, 1);
    const places = [];
    explorer.picture.redraw = () => {}; // words alone: they are what moves a picture
    for (let at = 0; at < count; at += Math.max(1, Math.floor(count / 60))) {
      let rest = at;
      explorer.set(sizes.map((size) => [rest % size, (rest = Math.floor(rest / size))][0]));
      explorer.update();
      places.push(box(root.querySelector(".px-figure")).top - box(root).top);
    }
    delete explorer.picture.redraw;
    explorer.jump(start, null, null);
    explorer.update();
    const far = Math.max(...places) - Math.min(...places);
    if (far > 1) found.push(`${root.dataset.name}: ${Math.round(far)} px`);
  }
  return found;
}

/** The parts of each wire that are smaller than a finger, and numbers that lie on another. */
function fingers() {
  return inArticle(".plusx-explore[data-drawn] > .px-diagram, .px-beside .px-diagram").flatMap((wire) => {
    const name = wire.closest(".plusx-explore").dataset.name;
    const parts = [...wire.querySelectorAll("[role=switch] .px-hit")].map(box);
    const small = parts.filter(({ width, height }) => width < 24 || height < 24);
    const words = [...wire.querySelectorAll("text")].filter((node) => node.checkVisibility()).map(box);
    const over = words.filter((one, i) => words.slice(i + 1).some((other) => one.top < other.bottom - 2 && other.top < one.bottom - 2 && one.left < other.right && other.left < one.right));
    const told = [];
    if (small.length) told.push(`${name}: ${small.length} of ${parts.length} parts below 24 px, the least ${Math.round(Math.min(...small.map(({ width, height }) => Math.min(width, height))))}`);
    if (over.length) told.push(`${name}: ${over.length} numbers lie on others`);
    return told;
  });
}

globalThis.layout = { letters, covered, veiled, scrolling, opener, pills, cards, jumps, fingers, settled };
