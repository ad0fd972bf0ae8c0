/**
 * Figures that we draw ourselves, of the kinds that drawn.py draws before scripts. Here a change is seen on its way, and
 * one thread stands out under the pointer or by the arrow keys.
 */

import { paletteOf, rgb } from "../colours.js";
import { make, one, shape } from "../elements.js";
import { number } from "../numbers.js";
import { linesOf, nearest, paths } from "./shapes.js";

/** @import { Palette } from "../colours.js" */
/** @import { Picture, View } from "../types.js" */
/** @import { Lines } from "./shapes.js" */

const WAY = 550; // milliseconds from one state to the next
const still = matchMedia("(prefers-reduced-motion: reduce)");
const ease = (/** @type {number} */ share) => (share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2);

/** @type {(canvas: HTMLCanvasElement, lines: Lines, palette: Palette) => void} a pixel for each number of a carpet */
const weave = (canvas, { grid, span: [low, high] }, { C0, C1 }) => {
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
};

/** @implements {Picture} */
export class Drawn {
  ready = true;
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
    this.faint = shape("g", { class: "px-faint" });
    this.told = make("div", { class: "px-told", role: "status" });
    /** @type {SVGElement[]} */
    this.lines = [];
    this.plot.addEventListener("pointermove", (event) => this.near(event));
    this.plot.addEventListener("pointerdown", (event) => this.near(event));
    this.plot.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && this.single(-1));
    this.plot.addEventListener("blur", () => this.single(-1));
    this.plot.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Colours are the page's own, but the carpet's. */
  repaint() {
    if (this.canvas && this.now) this.put(this.now);
  }

  end() {
    cancelAnimationFrame(this.frame);
  }

  pins() {
    return ["threads", "river"].includes(String(this.root.dataset.drawn)); // others would lie upon each other
  }

  /** Whether one line or dot can stand out. */
  singles() {
    return ["threads", "dots"].includes(String(this.root.dataset.drawn));
  }

  redraw() {
    const view = this.view();
    if (!view) return;
    const goal = linesOf(view.figure);
    if (!this.now) this.build(goal);
    if (this.pins()) this.faint.replaceChildren(...view.others.flatMap(({ figure }) => paths(linesOf(figure)).map((d) => shape("path", { d }))));
    const before = this.goal;
    this.goal = goal;
    const same = before?.grid.every((row, i) => row.every((value, l) => value === goal.grid[i][l]));
    if (!same) this.go();
    if (this.chosen >= 0) this.single(this.chosen);
    const marks = this.root.querySelectorAll(".px-marks b");
    for (const [i, [, said]] of (view.figure.marks ?? []).entries()) marks[i].textContent = said;
    this.root.classList.remove("px-pending");
    this.root.classList.add("px-live");
  }

  /**
   * The nodes of the first state, taken from the still, which is the same.
   * @param {Lines} goal
   */
  build(goal) {
    if (goal.drawn === "carpet") {
      this.canvas = make("canvas", { class: "px-carpet" });
      this.plot.append(this.canvas);
      return;
    }
    const drawn = /** @type {SVGElement} */ (one(this.root, ".px-still svg").cloneNode(true));
    this.lines = [.../** @type {NodeListOf<SVGElement>} */ (drawn.querySelectorAll(`.px-${goal.drawn}`))];
    this.lines[0].before(this.faint);
    this.plot.append(drawn, this.told);
    if (!this.singles()) return;
    this.plot.tabIndex = 0;
    this.plot.role = "group";
    this.plot.ariaLabel = `${goal.drawn === "dots" ? "Dots" : "Threads"}: arrow keys go from one to the next`;
  }

  /** Go from where the lines are to where they belong; a change on the way takes over from there. */
  go() {
    cancelAnimationFrame(this.frame);
    const goal = /** @type {Lines} */ (this.goal);
    const from = this.now;
    if (!from || still.matches || document.hidden) return this.put(goal);
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
    else for (const [i, way] of paths(lines).entries()) this.lines[i].setAttribute(this.lines[i].tagName === "text" ? "transform" : "d", way);
  }

  /** @param {PointerEvent} event */
  near({ clientX, clientY }) {
    if (!this.goal || !this.singles()) return;
    const { left, top, width, height } = this.plot.getBoundingClientRect();
    this.single(nearest(this.goal, clientX - left, clientY - top, width, height));
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const count = this.goal?.grid.length ?? 0;
    const goals = { ArrowUp: this.chosen + 1, ArrowDown: this.chosen - 1, Home: 0, End: count - 1, Escape: -1 };
    const goal = /** @type {Record<string, number>} */ (goals)[event.key];
    if (goal === undefined || !this.singles()) return;
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
    this.lines.forEach((line, i) => line.classList.toggle("px-on", Number(line.dataset.of ?? i) === at));
    const view = this.view();
    const words = at >= 0 && view ? said(view.figure, at) : "";
    if (this.told.textContent !== words) this.told.textContent = words;
  }
}

/**
 * Where a thread goes, or from whom a dot takes.
 * @param {any} figure
 * @param {number} at
 */
function said({ drawn, data: [{ x, y, z }] }, at) {
  const row = z[at];
  if (drawn === "threads") return `${y[at]}: from ${number(row[0])} to ${number(row.at(-1))} after ${x.length - 1} layers`;
  /** @type {number[]} */
  const shares = Array.from(row.slice(2));
  const most = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a]).slice(0, 3);
  return `${y[at]} takes ${most.map((i) => `${Math.round(100 * shares[i])} % of ${i === at ? "itself" : y[i]}`).join(", ")}`;
}
