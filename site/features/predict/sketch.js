/**
 * Draw, then see: the reader draws a curve on the empty axes of the explorer that follows, and what was measured comes
 * over it. Every measured number is that of the explorer's table.
 *
 * <div class="plusx-sketch" id data-explorer="name?state, as in a link" data-trace="name"
 *      data-x="layer {}: how a place on the x axis is said" data-level="the value below which it is asked to fall">
 */

import { make } from "../../../src/plusx/explore/js/elements.js";
import { ours } from "../../../src/plusx/explore/js/ours.js";

/** @typedef {{x: number[], y: number[], colour: string, across: any, up: any}} Measured a line, and its two axes */
/** @typedef {{x: number, share: number}} Touch shares of the axes, 0 to 1 */

const STEPS = 50; // of an arrow key, from one end of an axis to the other
const HEIGHT = 260;
const EDGE = { left: 52, right: 74, top: 30, bottom: 40 };
const INSET = 14; // so that a handle covers no number of the axis
const RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹";

/** @param {Element} element @param {Record<string, any>} attributes */
const set = (element, attributes) => Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));

/** @param {Element} parent @param {string} tag @param {Record<string, any>} attributes */
function draw(parent, tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  element.textContent = text;
  parent.append(element);
  return element;
}

/** @param {number} value as the text of the book writes it, in two digits */
function told(value) {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e5)) {
    const [whole, part] = String(Number(value.toPrecision(2))).split("."); // toLocaleString takes a phone 100 ms
    return whole.replace(/\d(?=\d{3}$)/, "$&,") + (part ? `.${part}` : "");
  }
  const [factor, power] = value.toExponential(0).split("e");
  const raised = [...power].map((digit) => RAISED["-0123456789".indexOf(digit)] ?? "").join("");
  return `${factor === "1" ? "" : `${factor} · `}10${raised}`;
}

/** An axis of an explorer: from values to shares of its length and back. */
class Axis {
  /** @param {any} axis as plotly has it */
  constructor({ type, range: [low, high], tickvals, ticktext, title }) {
    const [to, from] = type === "log" ? [Math.log10, (/** @type {number} */ place) => 10 ** place] : [Number, Number];
    /** @param {number} value */
    this.share = (value) => Math.min(1, Math.max(0, (to(value) - low) / (high - low)));
    /** @param {number} share */
    this.value = (share) => from(low + Math.min(1, Math.max(0, share)) * (high - low));
    /** @type {string} */
    this.title = title.text;
    /** @type {number[]} */
    const values = Array.from(tickvals ?? steps(low, high));
    this.ticks = values.map((value, i) => ({ share: this.share(value), text: ticktext?.[i] ?? told(value) }));
  }
}

/** Round numbers in a range. @param {number} low @param {number} high */
function steps(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = /** @type {number} */ ([1, 2, 5, 10].find((times) => times * power >= rough)) * power;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

/**
 * The median, which is drawn thick, of the traces with a name.
 * @param {any} figure
 * @param {string} name
 * @returns {Measured}
 */
function measuredIn(figure, name) {
  const trace = figure.data.findLast((/** @type {any} */ each) => each.name === name && (each.line?.width ?? 3) >= 3);
  const [across, up] = ["x", "y"].map((side) => figure.layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`]);
  const colour = `var(--px-${trace.line?.color ?? "C0"})`;
  return { x: Array.from(trace.x), y: Array.from(trace.y), colour, across, up };
}

class Sketch {
  /** @param {HTMLElement} root @param {Measured} measured */
  constructor(root, measured) {
    this.root = root;
    this.measured = measured;
    this.axis = new Axis(measured.up);
    const { x } = measured;
    const span = x.length <= 8 ? x.length - 1 : [7, 6, 5, 4].find((each) => (x.length - 1) % each === 0) ?? 6;
    this.x = Array.from({ length: span + 1 }, (_, i) => x[Math.round((i * (x.length - 1)) / span)]); // of the handles
    /** @type {number[] | null} */
    this.drawn = null;
    this.seen = false;
    this.box = this.frame();
    const fallback = /** @type {HTMLElement[]} */ ([...root.children]);
    const after = root.querySelector("[data-right] > :not(summary)"); // what to look at then
    this.after = after && /** @type {HTMLElement} */ (after.cloneNode(true));
    for (const each of fallback) each.hidden = true;
    set(root, { role: "group", "aria-label": "Your prediction" });
    const how = "Draw the curve: drag across the axes, or move the points with the arrow keys.";
    this.svg = draw(root, "svg", { class: "px-sketch" });
    this.svg.before(make("p", { class: "px-how" }, how));
    this.grid = draw(this.svg, "g", { "aria-hidden": true });
    this.lines = draw(this.svg, "g", { "aria-hidden": true });
    const slider = { r: 9, role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": STEPS, "aria-orientation": "vertical" };
    this.handles = this.x.map((value) => draw(this.svg, "circle", { ...slider, "aria-label": this.place(value) }));
    this.button = make("button", { type: "button", class: "px-see", onclick: () => this.see() }, "See what was measured");
    this.said = make("p", { class: "px-said", role: "status", tabindex: -1 });
    root.append(this.button, this.said, ...(this.after ? [this.after] : []));
    const prediction = ours.predictions.of(root.id);
    if (this.fits(prediction?.drawn)) {
      this.drawn = prediction.drawn;
      this.seen = prediction.seen === true;
    }
    this.svg.addEventListener("keydown", (event) => this.press(/** @type {KeyboardEvent} */ (event)));
    this.svg.addEventListener("pointerdown", (event) => this.drag(/** @type {PointerEvent} */ (event)));
    new ResizeObserver(() => this.draw()).observe(root);
    this.show();
  }

  /** @param {any} drawn what was kept */
  fits(drawn) {
    return Array.isArray(drawn) && drawn.length === this.x.length && drawn.every(Number.isFinite);
  }

  /** @param {number} value on the x axis */
  place(value) {
    return /** @type {string} */ (this.root.dataset.x).replace("{}", String(value));
  }

  /** The value at each handle: as drawn, or where they wait. */
  get values() {
    return this.drawn ?? this.x.map(() => this.axis.value(0.5));
  }

  /** @param {number} index @param {number} share */
  put(index, share) {
    this.drawn = this.values.with(index, Number(this.axis.value(share).toPrecision(3)));
  }

  see() {
    this.seen = true;
    this.changed();
    this.root.classList.add("px-arriving");
    this.said.focus();
  }

  /** The reader has drawn, or asked. */
  changed() {
    const [mine, measured] = this.words();
    ours.predictions.keep(this.root.id, { drawn: this.drawn, seen: this.seen, mine, ...(this.seen && { measured }) });
    this.show();
  }

  show() {
    this.button.disabled = !this.drawn;
    this.button.hidden = this.seen;
    this.root.classList.toggle("px-drawn", Boolean(this.drawn));
    if (this.after) this.after.hidden = !this.seen;
    this.draw();
    if (!this.seen) return;
    const [mine, measured, compared] = this.words();
    this.said.textContent = `You: ${mine}. Measured: ${measured}. ${compared}`;
  }

  // ---- by hand -----------------------------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  press(event) {
    const index = this.handles.indexOf(/** @type {SVGElement} */ (event.target));
    const share = this.axis.share(this.values[index]);
    const [up, down] = [share + 1 / STEPS, share - 1 / STEPS];
    /** @type {Record<string, number>} */
    const keys = { ArrowUp: up, ArrowRight: up, ArrowDown: down, ArrowLeft: down, Home: 0, End: 1 };
    if (!(event.key in keys)) return;
    event.preventDefault();
    this.put(index, keys[event.key]);
    this.changed();
  }

  /** @param {PointerEvent} event */
  drag(event) {
    event.preventDefault();
    const before = this.drawn;
    let last = event.pointerType === "touch" ? null : this.touch(event); // a finger may be about to scroll
    const move = (/** @type {any} */ each) => (last = this.touch(each, last));
    const end = new AbortController();
    this.svg.setPointerCapture(event.pointerId);
    this.svg.addEventListener("pointermove", move, end);
    this.svg.addEventListener("pointerup", (each) => last ?? move(each), end);
    this.svg.addEventListener("pointercancel", () => this.undo(before), end); // it does scroll
    for (const stop of ["pointerup", "pointercancel"]) this.svg.addEventListener(stop, () => end.abort(), end);
  }

  /** @param {number[] | null} before */
  undo(before) {
    this.drawn = before;
    if (before) return this.changed();
    ours.predictions.keep(this.root.id, undefined);
    this.show();
  }

  /**
   * A hand moves the nearest point, and those that it has passed.
   * @param {PointerEvent} event
   * @param {Touch | null} [last]
   */
  touch(event, last) {
    const { left, top } = this.svg.getBoundingClientRect();
    const { box } = this;
    const x = (event.clientX - left - box.left - INSET) / (box.right - box.left - INSET);
    const share = 1 - (event.clientY - top - box.top) / (box.bottom - box.top);
    const shares = this.x.map((value) => this.across(value));
    const near = shares.map((each) => Math.abs(each - x));
    const index = near.indexOf(Math.min(...near));
    shares.forEach((each, i) => {
      const passed = last && i !== index && (each - last.x) * (each - x) < 0;
      if (passed) this.put(i, last.share + ((each - last.x) / (x - last.x)) * (share - last.share));
    });
    this.put(index, share);
    this.changed();
    return { x, share };
  }

  // ---- as drawn ----------------------------------------------------------------------------------------------

  /** @param {number} value on the x axis -> its share */
  across(value) {
    const [low, high] = [this.x[0], this.x[this.x.length - 1]];
    return (value - low) / (high - low);
  }

  /** Where the drawing's axes are, as wide as there is room. */
  frame() {
    const width = Math.max(240, this.root.clientWidth - 2 * parseFloat(getComputedStyle(this.root).paddingLeft));
    return { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: HEIGHT - EDGE.bottom, width };
  }

  draw() {
    const { grid, lines, drawn } = this;
    const box = (this.box = this.frame());
    const { x, y, colour, across } = this.measured;
    set(this.svg, { width: box.width, height: HEIGHT, viewBox: `0 0 ${box.width} ${HEIGHT}` });
    grid.replaceChildren();
    lines.replaceChildren();
    const right = (/** @type {number} */ value) => box.left + INSET + this.across(value) * (box.right - box.left - INSET);
    const at = (/** @type {number} */ share) => box.bottom - share * (box.bottom - box.top);
    const up = (/** @type {number} */ value) => at(this.axis.share(value));
    for (const { share, text } of this.axis.ticks) {
      draw(grid, "line", { x1: box.left, y1: at(share), x2: box.right, y2: at(share) });
      draw(grid, "text", { x: box.left - 6, y: at(share) + 4, "text-anchor": "end" }, text);
    }
    const every = box.right - box.left > 300 || this.x.length < 6 ? 1 : 2;
    for (const value of this.x.filter((_, i) => i % every === 0)) {
      draw(grid, "line", { x1: right(value), y1: box.top, x2: right(value), y2: box.bottom });
      draw(grid, "text", { x: right(value), y: box.bottom + 16, "text-anchor": "middle" }, told(value));
    }
    draw(grid, "text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, across.title.text);
    draw(grid, "text", { x: 0, y: 14, class: "px-title" }, this.axis.title);
    const path = (/** @type {number[]} */ xs, /** @type {number[]} */ ys) =>
      xs.map((value, i) => `${i ? "L" : "M"}${right(value).toFixed(1)} ${up(ys[i]).toFixed(1)}`).join("");
    const ends = [];
    if (drawn) {
      draw(lines, "path", { class: "px-mine", d: path(this.x, drawn) });
      ends.push({ text: "you", y: up(drawn[drawn.length - 1]), fill: "var(--px-ink)" });
    }
    if (this.seen) {
      draw(lines, "path", { class: "px-measured-line", pathLength: 1, stroke: colour, d: path(x, y) });
      ends.push({ text: "measured", y: up(y[y.length - 1]), fill: colour });
    }
    const [mine, other] = ends;
    if (other && Math.abs(mine.y - other.y) < 15) {
      const sign = mine.y <= other.y ? 1 : -1;
      const middle = Math.min(box.bottom - 8, Math.max(box.top + 8, (mine.y + other.y) / 2));
      [mine.y, other.y] = [middle - 8 * sign, middle + 8 * sign];
    }
    for (const { text, y, fill } of ends) draw(lines, "text", { x: box.right + 14, y: y + 4, style: `fill: ${fill}` }, text);
    this.handles.forEach((handle, i) => {
      const value = this.values[i];
      const now = { "aria-valuenow": Math.round(this.axis.share(value) * STEPS), "aria-valuetext": drawn ? told(value) : "not drawn yet" };
      set(handle, { cx: right(this.x[i]), cy: up(value), ...now });
    });
  }

  // ---- in words ----------------------------------------------------------------------------------------------

  /** What was drawn, what was measured, and how far apart they are. */
  words() {
    const { level } = this.root.dataset;
    const drawn = this.values;
    if (!level) return this.wordsOfEnds(drawn);
    const say = (/** @type {number[]} */ xs, /** @type {number[]} */ ys) => {
      const at = this.fall(xs, ys, this.axis.share(Number(level)));
      return at === null ? `never below ${told(Number(level))}` : `below ${told(Number(level))} at ${this.place(at)}`;
    };
    return [say(this.x, drawn), say(this.measured.x, this.measured.y), ""];
  }

  /** Where a line falls below a share. @param {number[]} x @param {number[]} y @param {number} goal */
  fall(x, y, goal) {
    const shares = y.map((value) => this.axis.share(value));
    const i = shares.findIndex((share) => share < goal);
    if (i < 1) return i < 0 ? null : x[0];
    return Math.ceil(x[i - 1] + ((shares[i - 1] - goal) / (shares[i - 1] - shares[i])) * (x[i] - x[i - 1]));
  }

  /** Both ends, and the place where the two are farthest apart. @param {number[]} drawn */
  wordsOfEnds(drawn) {
    const found = this.x.map((value) => this.measured.y[this.measured.x.indexOf(value)]);
    const last = this.x.length - 1;
    const say = (/** @type {number[]} */ values) =>
      [0, last].map((i) => `${told(values[i])} at ${this.place(this.x[i])}`).join(", ");
    const apart = this.x.map((_, i) => Math.abs(this.axis.share(drawn[i]) - this.axis.share(found[i])));
    const most = apart.indexOf(Math.max(...apart));
    const between = most > 0 && most < last; // else it has been said
    const there = `${this.place(this.x[most])}: ${told(drawn[most])}, measured ${told(found[most])}.`;
    return [say(drawn), say(found), between ? `Farthest apart at ${there}` : ""];
  }
}

for (const root of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".plusx-sketch"))) {
  const [name, state = ""] = /** @type {string} */ (root.dataset.explorer).split("?");
  ours.explore.started(document.getElementById(`explore-${name}`)).then((/** @type {any} */ explorer) => {
    root.classList.toggle("px-left", !explorer); // with its choices
    if (explorer) new Sketch(root, measuredIn(explorer.figureOf(state), /** @type {string} */ (root.dataset.trace)));
  });
}
