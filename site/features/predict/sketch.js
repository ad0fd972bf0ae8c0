/**
 * Draw, then see: where the answer is a curve, a number or an order, the reader draws it on the empty axes of the
 * explorer that follows, and what was measured comes over it. Every measured number is that of the explorer's table.
 *
 * <div class="plusx-sketch" id data-kind="curve|number|order" data-explorer="name?state, as in a link" data-trace="name"
 *      data-x="layer {}: how a place on the x axis is said, or for a number the place it is read at"
 *      data-title="what a number is" data-level="for a curve: the value below which it is asked to fall">
 */
(() => {
  const { of, keep } = plusx.predictions;
  const SVG = "http://www.w3.org/2000/svg";
  const STEPS = 50; // of an arrow key, from one end of an axis to the other
  const EDGE = { left: 52, right: 74, top: 30, bottom: 40 };
  const INSET = 14; // so that a handle covers no number of the axis

  function make(parent, tag, attributes = {}, text = "") {
    const inSvg = parent.namespaceURI === SVG || tag === "svg";
    const element = inSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    set(element, attributes);
    element.textContent = text;
    parent.append(element);
    return element;
  }

  const set = (element, attributes) => Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  const raised = (power) => [...power].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)] ?? "").join("");

  /** A number of two or more significant digits, as the text of the book writes it. */
  function told(value, digits = 2) {
    const size = Math.abs(value);
    if (size === 0 || (size >= 1e-3 && size < 1e5)) {
      const [whole, part] = String(Number(value.toPrecision(digits))).split("."); // toLocaleString takes a phone 100 ms
      return whole.replace(/\d(?=\d{3}$)/, "$&,") + (part ? `.${part}` : "");
    }
    const [factor, power] = value.toExponential(0).split("e");
    return `${factor === "1" ? "" : `${factor} · `}10${raised(power)}`;
  }

  /** An axis of an explorer: from values to shares of its length and back. */
  class Axis {
    constructor({ type, range, tickvals, ticktext, title }) {
      const [low, high] = range;
      const [to, from] = type === "log" ? [(value) => Math.log10(value), (place) => 10 ** place] : [Number, Number];
      this.share = (value) => Math.min(1, Math.max(0, (to(value) - low) / (high - low)));
      this.value = (share) => from(low + Math.min(1, Math.max(0, share)) * (high - low));
      this.title = title.text;
      const values = Array.from(tickvals ?? steps(low, high));
      this.ticks = values.map((value, i) => ({ share: this.share(value), text: ticktext?.[i] ?? told(value) }));
    }
  }

  /** Round numbers in a range. */
  function steps(low, high) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((times) => times * power >= rough) * power;
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
  }

  /** The median, which is drawn thick, of the traces with a name; and its two axes. */
  function measuredIn(figure, name) {
    const trace = figure.data.findLast((each) => each.name === name && (each.line?.width ?? 3) >= 3);
    const axis = (side) => figure.layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`];
    return { x: Array.from(trace.x), y: Array.from(trace.y), axis, colour: `var(--px-${trace.line?.color ?? "C0"})` };
  }

  /** What all three share: the words, the button, what is kept. */
  class Sketch {
    constructor(root, measured) {
      Object.assign(this, { root, measured, name: root.id, data: root.dataset, drawn: null, seen: false });
      const fallback = [...root.children];
      this.after = root.querySelector("[data-right] > :not(summary)")?.cloneNode(true); // what to look at then
      for (const each of fallback) each.hidden = true;
      root.setAttribute("role", "group");
      root.ariaLabel = "Your prediction";
      make(root, "p", { class: "px-how" }, this.how);
      this.build();
      this.button = make(root, "button", { type: "button", class: "px-see" }, "See what was measured");
      this.said = make(root, "p", { class: "px-said", role: "status", tabindex: -1 });
      if (this.after) root.append(this.after);
      const prediction = of(this.name);
      if (this.fits(prediction?.drawn)) {
        this.drawn = prediction.drawn;
        this.seen = prediction.seen === true;
      }
      this.button.addEventListener("click", () => {
        this.seen = true;
        this.changed();
        this.root.classList.add("px-arriving");
        this.said.focus();
      });
      this.show();
    }

    /** The reader has drawn, or asked. */
    changed() {
      const [mine, measured] = this.words();
      keep(this.name, { drawn: this.drawn, seen: this.seen, mine, ...(this.seen && { measured }) });
      this.show();
    }

    undo(before) {
      this.drawn = before;
      if (before) return this.changed();
      keep(this.name, undefined);
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
  }

  // ---- on axes -----------------------------------------------------------------------------------------------

  /** Handles on axes: a curve has several, side by side, a number has one. */
  class Plot extends Sketch {
    fits(drawn) {
      return Array.isArray(drawn) && drawn.length === this.handles.length && drawn.every(Number.isFinite);
    }

    build() {
      this.svg = make(this.root, "svg", { class: "px-sketch" });
      this.grid = make(this.svg, "g", { "aria-hidden": true });
      this.lines = make(this.svg, "g", { "aria-hidden": true });
      this.handles = this.places().map((place) => {
        const handle = make(this.svg, "circle", { r: 9, role: "slider", tabindex: 0, "aria-label": place });
        set(handle, { "aria-valuemin": 0, "aria-valuemax": STEPS, "aria-orientation": this.orientation });
        return handle;
      });
      this.svg.addEventListener("keydown", (event) => this.press(event));
      this.svg.addEventListener("pointerdown", (event) => this.drag(event));
      new ResizeObserver(() => this.draw()).observe(this.root);
    }

    /** The value at each handle: as drawn, or where they wait. */
    get values() {
      return this.drawn ?? this.handles.map(() => this.axis.value(this.waiting));
    }

    put(index, share) {
      this.drawn = this.values.with(index, Number(this.axis.value(share).toPrecision(3)));
    }

    press(event) {
      const index = this.handles.indexOf(event.target);
      const share = this.axis.share(this.values[index]);
      const next = { ArrowUp: share + 1 / STEPS, ArrowRight: share + 1 / STEPS, ArrowDown: share - 1 / STEPS,
        ArrowLeft: share - 1 / STEPS, Home: 0, End: 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      this.put(index, next);
      this.changed();
    }

    drag(event) {
      event.preventDefault();
      const before = this.drawn;
      let last = event.pointerType === "touch" ? null : this.touch(event); // a finger may be about to scroll
      const move = (each) => (last = this.touch(each, last));
      const end = new AbortController();
      this.svg.setPointerCapture(event.pointerId);
      this.svg.addEventListener("pointermove", move, end);
      this.svg.addEventListener("pointerup", (each) => last ?? this.touch(each), end);
      this.svg.addEventListener("pointercancel", () => this.undo(before), end); // it does scroll
      for (const stop of ["pointerup", "pointercancel"]) this.svg.addEventListener(stop, () => end.abort(), end);
    }

    /** The size of the drawing, as wide as there is room. */
    frame(height) {
      const width = Math.max(240, this.root.clientWidth - 2 * parseFloat(getComputedStyle(this.root).paddingLeft));
      set(this.svg, { width, height, viewBox: `0 0 ${width} ${height}` });
      this.grid.replaceChildren();
      this.lines.replaceChildren();
      return { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: height - EDGE.bottom };
    }

    tell() {
      this.handles.forEach((handle, i) => {
        const value = this.values[i];
        set(handle, {
          "aria-valuenow": Math.round(this.axis.share(value) * STEPS),
          "aria-valuetext": this.drawn ? told(value) : "not drawn yet",
        });
      });
    }

    /** A tick's line and its text. */
    tick(x1, y1, x2, y2, text, anchor) {
      make(this.grid, "line", { x1, y1, x2, y2 });
      const [x, y] = anchor === "end" ? [x1 - 6, y1 + 4] : [x2, Math.max(y1, y2) + 16];
      make(this.grid, "text", { x, y, "text-anchor": anchor }, text);
    }
  }

  class Curve extends Plot {
    get how() {
      return "Draw the curve: drag across the axes, or move the points with the arrow keys.";
    }

    get orientation() {
      return "vertical";
    }

    get waiting() {
      return 0.5;
    }

    places() {
      const { x, axis } = this.measured;
      this.axis = new Axis(axis("y"));
      const spans = [7, 6, 5, 4].filter((span) => (x.length - 1) % span === 0);
      const span = x.length <= 8 ? x.length - 1 : spans[0] ?? 6;
      this.x = Array.from({ length: span + 1 }, (_, i) => x[Math.round((i * (x.length - 1)) / span)]);
      const [low, high] = [x[0], x.at(-1)];
      this.across = (value) => (value - low) / (high - low);
      return this.x.map((value) => this.place(value));
    }

    place(value) {
      return this.data.x.replace("{}", value);
    }

    touch(event, last) {
      const { left, top } = this.svg.getBoundingClientRect();
      const { box } = this;
      const x = (event.clientX - left - box.left - INSET) / (box.right - box.left - INSET);
      const share = 1 - (event.clientY - top - box.top) / (box.bottom - box.top);
      const shares = this.x.map(this.across);
      const near = shares.map((each) => Math.abs(each - x));
      const index = near.indexOf(Math.min(...near));
      shares.forEach((each, i) => {
        // Those that a fast hand has passed.
        if (last && i !== index && (each - last.x) * (each - x) < 0) this.put(i, last.share + ((each - last.x) / (x - last.x)) * (share - last.share));
      });
      this.put(index, share);
      this.changed();
      return { x, share };
    }

    draw() {
      const box = (this.box = this.frame(260));
      const { x, y, colour, axis } = this.measured;
      const across = (value) => box.left + INSET + this.across(value) * (box.right - box.left - INSET);
      const up = (value) => box.bottom - this.axis.share(value) * (box.bottom - box.top);
      for (const { share, text } of this.axis.ticks) {
        const at = box.bottom - share * (box.bottom - box.top);
        this.tick(box.left, at, box.right, at, text, "end");
      }
      const numbers = box.right - box.left > 300 || this.x.length < 6 ? this.x : this.x.filter((_, i) => i % 2 === 0);
      for (const value of numbers) this.tick(across(value), box.top, across(value), box.bottom, told(value), "middle");
      make(this.grid, "text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, axis("x").title.text);
      make(this.grid, "text", { x: 0, y: 14, class: "px-title" }, this.axis.title);
      const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${across(a).toFixed(1)} ${up(b).toFixed(1)}`).join("");
      const ends = [];
      if (this.drawn) {
        make(this.lines, "path", { class: "px-mine", d: path(this.x.map((value, i) => [value, this.drawn[i]])) });
        ends.push({ text: "you", y: up(this.drawn.at(-1)) });
      }
      if (this.seen) {
        make(this.lines, "path", { class: "px-measured-line", pathLength: 1, stroke: colour, d: path(x.map((value, i) => [value, y[i]])) });
        ends.push({ text: "measured", y: up(y.at(-1)), fill: colour });
      }
      const [mine, other] = ends;
      if (other && Math.abs(mine.y - other.y) < 15) {
        const sign = mine.y <= other.y ? 1 : -1;
        const middle = Math.min(box.bottom - 8, Math.max(box.top + 8, (mine.y + other.y) / 2));
        [mine.y, other.y] = [middle - 8 * sign, middle + 8 * sign];
      }
      for (const { text, y: at, fill = "var(--px-ink)" } of ends) make(this.lines, "text", { x: box.right + 14, y: at + 4, style: `fill: ${fill}` }, text);
      this.handles.forEach((handle, i) => set(handle, { cx: across(this.x[i]), cy: up(this.values[i]) }));
      this.tell();
    }

    /** The measured value at each handle. */
    get found() {
      return this.x.map((value) => this.measured.y[this.measured.x.indexOf(value)]);
    }

    words() {
      return this.data.level ? this.wordsOfLevel(Number(this.data.level)) : this.wordsOfEnds();
    }

    /** Where the two fall below a level. */
    wordsOfLevel(level) {
      const goal = this.axis.share(level);
      const fall = (x, y) => {
        const i = y.findIndex((value) => this.axis.share(value) < goal);
        if (i < 1) return i < 0 ? null : x[0];
        const [before, after] = [this.axis.share(y[i - 1]), this.axis.share(y[i])];
        return Math.ceil(x[i - 1] + ((before - goal) / (before - after)) * (x[i] - x[i - 1]));
      };
      const say = (at) => (at === null ? `never below ${told(level)}` : `below ${told(level)} at ${this.place(at)}`);
      return [say(fall(this.x, this.drawn)), say(fall(this.measured.x, this.measured.y)), ""];
    }

    /** Both ends, and the place where the two are farthest apart. */
    wordsOfEnds() {
      const last = this.x.length - 1;
      const say = (values) => [0, last].map((i) => `${told(values[i])} at ${this.place(this.x[i])}`).join(", ");
      const apart = this.x.map((_, i) => Math.abs(this.axis.share(this.drawn[i]) - this.axis.share(this.found[i])));
      const most = apart.indexOf(Math.max(...apart));
      const between = most > 0 && most < last; // else it has been said
      const there = `${this.place(this.x[most])}: ${told(this.drawn[most])}, measured ${told(this.found[most])}.`;
      return [say(this.drawn), say(this.found), between ? `Farthest apart at ${there}` : ""];
    }
  }

  class Amount extends Plot {
    get how() {
      return "Drag the bar to the number, or move its end with the arrow keys.";
    }

    get orientation() {
      return "horizontal";
    }

    get waiting() {
      return 0;
    }

    places() {
      this.axis = new Axis(this.measured.axis("y"));
      this.found = this.measured.y[this.measured.x.indexOf(Number(this.data.x))];
      return [this.data.title];
    }

    touch(event) {
      const { left } = this.svg.getBoundingClientRect();
      this.put(0, (event.clientX - left - this.box.left) / (this.box.right - this.box.left));
      this.changed();
    }

    draw() {
      const box = (this.box = this.frame(140));
      const across = (value) => box.left + this.axis.share(value) * (box.right - box.left);
      const room = (box.right - box.left) / this.axis.ticks.length > 44;
      this.axis.ticks.forEach(({ share, text }, i) => {
        const at = box.left + share * (box.right - box.left);
        this.tick(at, box.top, at, box.bottom, room || i % 2 === 0 ? text : "", "middle");
      });
      make(this.grid, "text", { x: 0, y: 14, class: "px-title" }, this.data.title);
      const bar = (value, y, className, text, fill) => {
        make(this.lines, "rect", { class: className, x: box.left, y, height: 20, width: across(value) - box.left, fill });
        make(this.lines, "text", { x: box.right + 14, y: y + 15, style: "fill: var(--px-ink)" }, text);
      };
      bar(this.values[0], box.top + 8, "px-mine", "you", "none");
      if (this.seen) bar(this.found, box.top + 38, "px-measured-bar", "measured", this.measured.colour);
      set(this.handles[0], { cx: across(this.values[0]), cy: box.top + 18 });
      this.tell();
    }

    words() {
      const [mine] = this.drawn;
      const times = Math.max(mine, this.found) / Math.min(mine, this.found);
      const off = `${told(times)} times too ${mine < this.found ? "little" : "much"}.`;
      return [told(mine), told(this.found), times < 2 ? `Within a factor of ${told(times)}.` : `Yours is ${off}`];
    }
  }

  // ---- in order ----------------------------------------------------------------------------------------------

  class Order extends Sketch {
    get how() {
      return "Put them in order, from most to least: drag them, or use the buttons.";
    }


    build() {
      const { x, y, axis } = this.measured;
      this.axis = new Axis(axis("y"));
      this.items = x.map((value, i) => ({ name: this.data.x.replace("{}", value), value, found: y[i] }));
      this.list = make(this.root, "ol", { class: "px-order" });
      this.moved = make(this.root, "span", { role: "status", class: "px-moved" });
      for (const item of this.items) {
        item.row = make(this.list, "li");
        make(item.row, "span", { class: "px-grip" }, item.name);
        for (const [way, step, sign] of [["up", -1, "↑"], ["down", 1, "↓"]]) {
          const button = make(item.row, "button", { type: "button", "aria-label": `${item.name}: ${way}` }, sign);
          item[way] = button;
          button.addEventListener("click", () => {
            this.move(item, this.place(item) + step);
            button.focus(); // which a row loses on its way
          });
        }
        item.told = make(item.row, "span", { class: "px-found" });
        item.row.querySelector(".px-grip").addEventListener("pointerdown", (event) => this.drag(event, item));
      }
      // At first in no order that says anything.
      this.start = [...this.items.filter((_, i) => i % 2), ...this.items.filter((_, i) => i % 2 === 0)].map(({ value }) => value);
    }

    fits(drawn) {
      return Array.isArray(drawn) && String([...drawn].sort()) === String([...this.start].sort());
    }

    get order() {
      return this.drawn ?? this.start;
    }

    place(item) {
      return this.order.indexOf(item.value);
    }

    move(item, to) {
      if (to < 0 || to >= this.items.length || to === this.place(item)) return;
      const others = this.order.filter((value) => value !== item.value);
      this.drawn = [...others.slice(0, to), item.value, ...others.slice(to)];
      this.changed();
      this.moved.textContent = `${item.name}: place ${to + 1} of ${this.items.length}`;
    }

    drag(event, item) {
      event.preventDefault();
      const end = new AbortController();
      this.list.setPointerCapture(event.pointerId);
      this.list.addEventListener("pointermove", ({ clientY }) => {
        const middles = [...this.list.children].filter((row) => row !== item.row).map((row) => row.getBoundingClientRect());
        this.move(item, middles.filter(({ top, height }) => top + height / 2 < clientY).length);
      }, end);
      for (const stop of ["pointerup", "pointercancel"]) this.list.addEventListener(stop, () => end.abort(), end);
    }

    draw() {
      this.list.append(...this.order.map((value) => this.items.find((item) => item.value === value).row));
      const ranked = this.ranked();
      for (const item of this.items) {
        item.up.ariaDisabled = this.place(item) === 0; // it keeps the focus, which a disabled one would lose
        item.down.ariaDisabled = this.place(item) === this.items.length - 1;
        item.told.textContent = this.seen ? `measured: ${told(item.found, 3)}, place ${ranked.indexOf(item.value) + 1}` : "";
        item.told.style.setProperty("--share", this.axis.share(item.found));
      }
    }

    /** From most to least, as measured. */
    ranked() {
      return [...this.items].sort((a, b) => b.found - a.found).map(({ value }) => value);
    }

    words() {
      const found = new Map(this.items.map(({ value, found }) => [value, found]));
      const near = (a, b) => Math.abs(this.axis.share(found.get(a)) - this.axis.share(found.get(b))) < 0.001; // count as equal
      let [pairs, right] = [0, 0];
      this.drawn.forEach((a, i) => {
        for (const b of this.drawn.slice(i + 1)) {
          pairs += 1;
          right += near(a, b) || found.get(a) > found.get(b);
        }
      });
      return [this.drawn.join(", "), this.ranked().join(", "), `${right} of ${pairs} pairs stand as measured.`];
    }
  }

  const kinds = { curve: Curve, number: Amount, order: Order };
  document.querySelectorAll(".plusx-sketch").forEach(async (root) => {
    const [name, state = ""] = root.dataset.explorer.split("?");
    const explorer = await plusx.explore.started(document.getElementById(`explore-${name}`));
    root.classList.toggle("px-left", !explorer); // with its choices
    if (explorer) new kinds[root.dataset.kind](root, measuredIn(explorer.figureOf(state), root.dataset.trace));
  });
})();
