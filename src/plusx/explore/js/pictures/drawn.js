/**
 * Figures that we draw ourselves, of the kinds that drawn.py draws before scripts. Here a change is seen on its way, and
 * one thread stands out under the pointer or by the arrow keys.
 */

import { paletteOf, rgb } from "../colours.js";
import { make, one } from "../elements.js";
import { number } from "../numbers.js";
import { tables } from "../tables.js";

/** @typedef {import("./picture.js").Picture} Picture */
/** @typedef {import("./picture.js").View} View */
/** @typedef {{ grid: Float64Array[], span: number[], tall: number, kind: string, columns: number }} Lines */

const [WIDTH, PAD, EDGE] = [1000, 40, 8]; // as in drawn.py
const WAY = 550; // milliseconds from one state to the next
const SVG = "http://www.w3.org/2000/svg";
const still = matchMedia("(prefers-reduced-motion: reduce)");
const ease = (/** @type {number} */ share) => (share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2);

/**
 * @param {any} figure
 * @returns {Lines}
 */
const linesOf = ({ data, span, layout, drawn, columns }) => ({
  grid: data[0].z.map((/** @type {Iterable<number>} */ row) => Float64Array.from(row)),
  span,
  tall: layout.height,
  kind: drawn,
  columns,
});

/**
 * What is drawn, as paths: a thread each, the river's outline, or the lines of sheets.
 * @param {Lines} lines
 */
export function paths({ grid, span: [low, high], tall, kind, columns }) {
  if (kind === "fold") {
    const wide = WIDTH / columns;
    return grid.map((row, at) => {
      const middle = (Math.floor((at * columns) / grid.length) + 0.5) * wide;
      const points = [];
      for (let i = 0; i < row.length; i += 2) {
        const y = tall / 2 - (row[i + 1] / high) * (tall / 2 - EDGE);
        points.push(`${(middle + (row[i] / high) * 0.47 * wide).toFixed(1)},${y.toFixed(1)}`);
      }
      return `M${points.join("L")}`;
    });
  }
  const step = (WIDTH - 2 * PAD) / Math.max(grid[0].length - 1, 1);
  const share = (/** @type {number} */ value) => {
    const known = Number.isNaN(value) ? low : Math.min(Math.max(value, low), high);
    return (known - low) / (high - low);
  };
  const tenth = (/** @type {number} */ y) => Math.round(10 * y) / 10;
  /**
   * @param {number[]} ys
   * @param {string} begin
   * @param {number} sign
   */
  const curve = (ys, begin, sign) => {
    const half = ((sign * step) / 2).toFixed(1);
    let way = `${begin}h${sign * PAD}`;
    for (let i = 1; i < ys.length; i++) {
      const up = (ys[i] - ys[i - 1]).toFixed(1);
      way += `c${half},0 ${half},${up} ${(sign * step).toFixed(1)},${up}`;
    }
    return `${way}h${sign * PAD}`;
  };
  if (kind === "threads") {
    const y = (/** @type {number} */ value) => tenth(tall - EDGE - share(value) * (tall - 2 * EDGE));
    return grid.map((row) => {
      const ys = Array.from(row, y);
      return curve(ys, `M0,${ys[0].toFixed(1)}`, 1);
    });
  }
  const half = Array.from(grid[0], (value) => Math.max(share(value) * (tall / 2 - EDGE), 0.75));
  const [upper, lower] = [half.map((each) => tenth(tall / 2 - each)), half.map((each) => tenth(tall / 2 + each))];
  const last = lower[lower.length - 1].toFixed(1);
  return [`${curve(upper, `M0,${upper[0].toFixed(1)}`, 1)}V${last}${curve(lower.reverse(), "", -1)}Z`];
}

/**
 * The carpet: a pixel for each number, in the colours of the theme.
 * @param {HTMLCanvasElement} canvas
 * @param {Lines} lines
 * @param {Record<string, string>} palette
 */
function weave(canvas, { grid, span: [low, high] }, { C0, C1 }) {
  const [below, above] = [rgb(C0), rgb(C1)];
  [canvas.width, canvas.height] = [grid[0].length, grid.length];
  const image = new ImageData(canvas.width, canvas.height);
  let at = 0;
  for (const row of grid) {
    for (const value of row) {
      const share = (2 * (Math.min(Math.max(value, low), high) - low)) / (high - low) - 1 || 0;
      image.data.set([...(share > 0 ? above : below), Math.round(255 * Math.abs(share))], at);
      at += 4;
    }
  }
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

/** @implements {Picture} */
export class Drawn {
  ready = true;
  settled = true;
  /** @type {Lines | null} where the lines are now, on their way */
  now = null;
  /** @type {Lines | null} where they go */
  goal = null;
  frame = 0;
  chosen = -1;
  /** @type {HTMLCanvasElement | null} where a carpet is woven */
  canvas = null;

  /**
   * @param {HTMLElement} root
   * @param {() => View | null} view
   */
  constructor(root, view) {
    this.root = root;
    this.view = view;
    this.plot = /** @type {HTMLElement} */ (root.querySelector(".px-plot"));
    this.faint = document.createElementNS(SVG, "g");
    this.faint.setAttribute("class", "px-faint");
    this.told = make("div", { class: "px-told", role: "status" });
    /** @type {SVGElement[]} */
    this.lines = [];
    this.plot.addEventListener("pointermove", (event) => this.near(event));
    this.plot.addEventListener("pointerdown", (event) => this.near(event));
    this.plot.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && this.single(-1));
    this.plot.addEventListener("blur", () => this.single(-1));
    this.plot.addEventListener("keydown", (event) => this.pressed(event));
  }

  async load() {}
  /** Colours are the page's own, but the carpet's. */
  repaint() {
    if (this.canvas && this.now) this.put(this.now);
  }

  resize() {} // and the picture is as wide as its page
  end() {
    cancelAnimationFrame(this.frame);
  }

  pins() {
    return ["threads", "river"].includes(String(this.root.dataset.drawn)); // others would lie upon each other
  }

  fitting() {
    return false; // heights are the same in all states
  }

  /** @param {any} figure */
  tables(figure) {
    return tables(figure);
  }

  redraw() {
    const view = this.view();
    if (!view) return;
    const goal = linesOf(view.figure);
    if (!this.now) this.build(goal);
    if (this.pins()) this.faint.replaceChildren(...view.others.flatMap(({ figure }) => paths(linesOf(figure)).map((d) => this.path(d))));
    const before = this.goal;
    this.goal = goal;
    const same = before?.grid.every((row, i) => row.every((value, l) => value === goal.grid[i][l]));
    if (!same) this.go();
    if (this.chosen >= 0) this.single(this.chosen);
    this.root.classList.remove("px-pending");
    this.root.classList.add("px-live");
  }

  /**
   * The nodes of the first state, taken from the still, which is the same.
   * @param {Lines} goal
   */
  build(goal) {
    if (goal.kind === "carpet") {
      this.canvas = make("canvas", { class: "px-carpet" });
      this.plot.append(this.canvas);
      return;
    }
    const drawn = /** @type {SVGElement} */ (one(this.root, ".px-still svg").cloneNode(true));
    this.lines = [.../** @type {NodeListOf<SVGElement>} */ (drawn.querySelectorAll(`.px-${goal.kind}`))];
    this.lines[0].before(this.faint);
    this.plot.append(drawn, this.told);
    if (goal.kind !== "threads") return;
    this.plot.tabIndex = 0;
    this.plot.role = "group";
    this.plot.ariaLabel = "Threads: arrow keys go from one to the next";
  }

  /** @param {string} d */
  path(d) {
    const node = document.createElementNS(SVG, "path");
    node.setAttribute("d", d);
    return node;
  }

  /** Go from where the lines are to where they belong; a change on the way takes over from there. */
  go() {
    cancelAnimationFrame(this.frame);
    const goal = /** @type {Lines} */ (this.goal);
    const from = this.now;
    if (!from || still.matches || document.hidden) {
      this.put(goal);
      return;
    }
    const begun = performance.now();
    const step = () => {
      const share = Math.min((performance.now() - begun) / WAY, 1);
      const k = ease(share);
      const between = (/** @type {number} */ a, /** @type {number} */ b) => (share < 1 && Number.isFinite(a + b) ? a + k * (b - a) : b);
      this.put({ ...goal, grid: goal.grid.map((row, i) => row.map((value, l) => between(from.grid[i][l], value))) });
      if (share < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  /** @param {Lines} lines */
  put(lines) {
    this.now = lines;
    if (this.canvas) weave(this.canvas, lines, paletteOf(this.root));
    else for (const [i, d] of paths(lines).entries()) this.lines[i].setAttribute("d", d);
  }

  /** @param {PointerEvent} event */
  near({ clientX, clientY }) {
    const { goal } = this;
    if (goal?.kind !== "threads") return;
    const box = this.plot.getBoundingClientRect();
    const last = goal.grid[0].length - 1;
    const layer = Math.round((((clientX - box.left) / box.width) * WIDTH - PAD) / ((WIDTH - 2 * PAD) / last));
    const [low, high] = goal.span;
    const at = low + (1 - (clientY - box.top - EDGE) / (box.height - 2 * EDGE)) * (high - low);
    const far = goal.grid.map((row) => Math.abs(row[Math.min(Math.max(layer, 0), last)] - at));
    const least = Math.min(...far);
    this.single(least < (high - low) / 12 ? far.indexOf(least) : -1);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const count = this.lines.length;
    const goals = { ArrowUp: this.chosen + 1, ArrowDown: this.chosen - 1, Home: 0, End: count - 1, Escape: -1 };
    const goal = /** @type {Record<string, number>} */ (goals)[event.key];
    if (goal === undefined || this.goal?.kind !== "threads") return;
    event.preventDefault();
    event.stopPropagation(); // to JupyterLab these keys mean its cells
    this.single(event.key === "Escape" ? -1 : Math.min(Math.max(goal, 0), count - 1));
  }

  /**
   * Let one thread stand out, and say where it goes; -1: none.
   * @param {number} at
   */
  single(at) {
    this.chosen = at;
    this.plot.classList.toggle("px-one", at >= 0);
    this.lines.forEach((line, i) => line.classList.toggle("px-on", i === at));
    const view = this.view();
    let words = "";
    if (at >= 0 && view) {
      const { x, y, z } = view.figure.data[0];
      const row = z[at];
      words = `${y[at]}: from ${number(row[0])} to ${number(row.at(-1))} after ${x.length - 1} layers`;
    }
    if (this.told.textContent !== words) this.told.textContent = words;
  }
}
