/**
 * Explorers: follow the native controls and the diagram, and draw with plotly. Where the states come from is a
 * source: in a page the table that static.py wrote, in a notebook a kernel. Nothing here knows what a figure is about.
 */
(() => {
  "use strict";

  const script = document.currentScript; // null in a notebook, where this is part of a module
  const here = script && new URL(".", script.src);
  const whole = script?.dataset.plotly; // all of plotly in one file, where the book has no bundles
  const config = { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false };
  const flat = ["basic", "cartesian"]; // each draws all that the one before it draws; the other bundle is gl3d
  // File -> the promise of its Plotly. One for the whole page: a notebook has this module once for each explorer.
  const loading = (globalThis.plusxPlotly ??= new Map());

  const isNumber = (value) => typeof value === "number"; // words would add ticks
  const numbers = (value) => value?.length > 0 && (ArrayBuffer.isView(value) || [].every.call(value, isNumber));
  const alike = (value, before) => value?.length === before?.length;
  const points = (value, before, { mode }) => numbers(value) && numbers(before) && (mode || alike(value, before));
  const unmovable = ["stackgroup", "error_x", "error_y"]; // plotly works these out for all traces together
  const understood = "4.1.1"; // the plotly.js whose inner steps `move` takes
  /** For each type of trace the keys that `move` may change, and whether it may make that change of one. */
  const movable = {
    scatter: { x: points, y: points, text: (value, before) => Array.isArray(value) === Array.isArray(before), name: () => true },
    bar: { y: (value, before) => numbers(value) && alike(value, before) },
    heatmap: {
      z: (value, before, { zmin, zmax }) => zmin < zmax && alike(value, before) && alike(value[0], before[0]),
    },
  };

  /**
   * Plotly from where `source` says; one that did not come may be asked for again. Who waits for what a view has asked
   * asks for itself when that view is closed, as where a notebook's application shows a cell twice in a row.
   */
  async function loadPlotly(source) {
    const { file } = source;
    if (!loading.has(file)) {
      const promise = source.script().then((address) => new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = address;
        script.onload = () => resolve(window.Plotly); // before any other script runs, so it is this one's
        script.onerror = () => reject(new Error("The plotting library did not load"));
        document.head.append(script);
      }));
      promise.catch(() => loading.get(file) === promise && loading.delete(file)); // by now it may be another's
      loading.set(file, promise);
    }
    try {
      return await loading.get(file);
    } catch (error) {
      if (error.name !== "AbortError" || source.ended) throw error;
      return loadPlotly(source);
    }
  }

  /** From base64, by the browser and off the page's own thread. */
  const unpacked = async (text) => (await fetch(`data:;base64,${text}`)).arrayBuffer();
  const unzip = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));

  /**
   * The reverse of `packed` in states.py.
   * @param {BufferSource} bytes
   * @returns {Promise<{figure: object, leaves: {path: (string|number)[], index: number[], values: any[]}[]}>}
   */
  async function decode(bytes) {
    const blob = await unzip(bytes).arrayBuffer();
    const start = 4 + new DataView(blob).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(blob, 4, start - 4)));
    const planes = new Uint8Array(blob, start);
    const count = planes.length / 4;
    const words = new Uint32Array(2 * count); // little-endian float64 with a zero lower half
    for (let i = 0; i < count; i++) {
      words[2 * i + 1] = planes[i] | (planes[count + i] << 8) | (planes[2 * count + i] << 16) | (planes[3 * count + i] << 24);
    }
    return restore(header, new Float64Array(words.buffer));
  }

  /** The tree with every {"$": [offset, ...shape]} replaced by its numbers. */
  function restore(node, numbers) {
    if (Array.isArray(node)) return node.map((item) => restore(item, numbers));
    if (node === null || typeof node !== "object") return node;
    if (!node.$) return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, restore(value, numbers)]));
    const [offset, rows, columns] = node.$;
    if (columns === undefined) return numbers.subarray(offset, offset + rows);
    return Array.from({ length: rows }, (_, i) => numbers.subarray(offset + i * columns, offset + (i + 1) * columns));
  }

  const isTree = (node) => node !== null && typeof node === "object" && !ArrayBuffer.isView(node);
  const isColour = (key) => /colou?r(way|scale|s)?$/.test(key); // as `coloured` in figures.py

  /** A copy of the tree with the names of colours replaced; numbers are shared, so plotly sees what changed. */
  function painted(node, palette, here = false) {
    if (typeof node === "string") return here ? palette[node] ?? node : node;
    if (!isTree(node)) return node;
    if (Array.isArray(node)) return node.map((item) => painted(item, palette, here));
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, painted(value, palette, isColour(key))]));
  }

  /** Whether two values of a figure are equal to the last digit. */
  function same(a, b) {
    if (Object.is(a, b)) return true;
    if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
    const keys = Object.keys(a);
    if ("length" in a) return a.length === b.length && [].every.call(a, (item, i) => same(item, b[i]));
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
  }

  /** Where two figures differ, as deep inside as both have the same parts: {path, value, before}. */
  function differences(before, value, path = []) {
    const parts = isTree(before) && isTree(value) && (Array.isArray(value) ? isTree(value[0]) && !("length" in value[0]) : true);
    const keys = parts ? Object.keys(value) : [];
    if (!parts || Array.isArray(before) !== Array.isArray(value) || Object.keys(before).join() !== keys.join()) {
      return same(before, value) ? [] : [{ path, value, before }];
    }
    const step = Array.isArray(value) ? Number : String;
    return keys.flatMap((key) => differences(before[key], value[key], [...path, step(key)]));
  }

  /** The colours of the page's theme, by the names figures use. */
  function paletteOf(root) {
    const style = getComputedStyle(root);
    const names = ["C0", "C1", "C2", "C3", "C4", "C5", "ink", "muted", "grid", "page"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--px-${name}`).trim()]));
  }

  const LINE = 15; // of a name at a line's end, in pixels
  const FAR = LINE / 2; // from its end, a name may be another line's
  const WIDE = 0.4; // of a panel, a name covers too much

  /** Where a line ends, in pixels of the plot; null if that is out of its panel. */
  function endOf({ x, y, xaxis = "x", yaxis = "y" }, { _plots }) {
    const { xaxis: across, yaxis: up } = _plots[`${xaxis}${yaxis}`] ?? {};
    if (!across || !up) return null;
    for (let i = Math.min(x.length, y.length) - 1; i >= 0; i--) {
      const [right, down] = [across.d2p(x[i]), up.d2p(y[i])];
      if (!Number.isFinite(right) || !Number.isFinite(down)) continue; // a gap
      if (Math.min(right, down, across._length - right, up._length - down) < -1) return null;
      return { x: right + across._offset, y: down + up._offset, panel: up, room: across };
    }
    return null;
  }

  /** Heights for the names of one panel's lines, none over another; null where one would be far from its line. */
  function stacked(ends) {
    const { _offset: top, _length: tall } = ends[0].panel;
    const sorted = [...ends].sort((a, b) => a.y - b.y);
    let free = top + LINE / 2;
    for (const end of sorted) {
      end.at = Math.max(end.y, free);
      free = end.at + LINE;
    }
    free = top + tall - LINE / 2;
    for (const end of sorted.reverse()) {
      end.at = Math.min(end.at, free);
      free = end.at - LINE;
    }
    return sorted.every((end) => Math.abs(end.at - end.y) <= FAR && end.at >= top) ? sorted : null;
  }

  /** Four significant digits, as `number` in figures.py writes them. */
  function number(value) {
    if (Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    return size === 0 || (size >= 1e-3 && size < 1e5) ? String(Number(value.toPrecision(4))) : value.toExponential(3);
  }

  /** The figure's data as tables, as `table` in figures.py builds them. */
  function tables(figure) {
    const cells = (values) => Array.from(values, (value) => (typeof value === "string" ? value : number(value)));
    const axisTitle = (trace, key) => {
      let axis = figure.layout[`${key}axis${(trace[`${key}axis`] ?? key).slice(1)}`];
      if (key === "z") axis = trace.colorbar;
      if (trace.type === "surface") axis = figure.layout.scene[`${key}axis`];
      return axis?.title?.text || key;
    };
    const parts = [];
    figure.data.forEach((trace, index) => {
      if (!trace.x || !trace.y || trace.hoverinfo === "skip") return;
      const head = axisTitle(trace, "x");
      const x = cells(trace.x);
      const name = trace.name || `series ${index + 1}`;
      if (trace.z) {
        const columns = [cells(trace.y), ...x.map((_, i) => cells(trace.z.map((row) => row[i])))];
        const caption = `${name}: ${axisTitle(trace, "z")}`;
        parts.push({ caption, head: [`${axisTitle(trace, "y")} ↓ ${head} →`, ...x], columns });
        return;
      }
      const key = JSON.stringify([head, x]);
      if (parts.at(-1)?.key !== key) parts.push({ key, head: [head], columns: [x] });
      parts.at(-1).head.push(`${name}: ${axisTitle(trace, "y")}`);
      parts.at(-1).columns.push(cells(trace.y));
    });
    return parts.map(({ caption, head, columns }) => {
      const table = document.createElement("table");
      if (caption) table.createCaption().textContent = caption;
      const header = table.createTHead().insertRow();
      for (const title of head) {
        const cell = document.createElement("th");
        cell.scope = "col";
        cell.textContent = title;
        header.append(cell);
      }
      const body = table.createTBody();
      columns[0].forEach((_, i) => {
        const row = body.insertRow();
        for (const column of columns) row.insertCell().textContent = column[i];
      });
      return table;
    });
  }

  /** A title as nodes: its first sentence is read first, so what else it says and all intervals are small. */
  function weighed(title) {
    const [, first, rest] = title.match(/^(.*?(?:\.(?= \p{Lu})|$))(.*)$/su);
    const small = (words) => Object.assign(document.createElement("small"), { textContent: words });
    const parts = first.split(/(\([^()]* to [^()]*\))/); // every second is an interval
    return [...parts.map((part, i) => (i % 2 ? small(part) : part)), small(rest)];
  }

  const LATE = 300; // milliseconds until a state that is not there is said to be computed
  const SILENT = 4000; // and until a kernel is said to be silent

  // ---- where states come from ------------------------------------------------------------------

  /** Every state, as `encode` in states.py wrote them. */
  class Table {
    constructor(root, { figure, leaves }) {
      Object.assign(this, { root, common: figure, leaves });
    }

    /** The figure of a state, given as an index for each control. */
    figure(state) {
      const at = state.reduce((sum, index, i) => sum * this.sizes[i] + index, 0);
      const figure = painted(this.common, {}); // a copy to write the leaves into
      for (const { path, values, index } of this.leaves) {
        let node = figure;
        for (const key of path.slice(0, -1)) node = node[key];
        node[path.at(-1)] = values[index[at]];
      }
      return figure;
    }

    /** All of plotly, or the smallest bundle that draws every flat explorer of this page, or every 3-D one. */
    get file() {
      let { bundle } = this.root.dataset;
      if (flat.includes(bundle)) {
        const needed = [...document.querySelectorAll(".plusx-explore")].map((each) => flat.indexOf(each.dataset.bundle));
        bundle = flat[Math.max(...needed)];
      }
      return whole ?? `plotly-${bundle}.min.js`;
    }

    async script() {
      return new URL(this.file, here);
    }
  }

  /** A function behind a kernel, by the messages of an anywidget's model. What has come is remembered. */
  class Kernel {
    constructor(model, el) {
      Object.assign(this, { model, el, computed: new Map(), file: "kernel", answered: () => {} });
      this.heard = (answer, buffers) => this.hear(answer, buffers);
      model.on("msg:custom", this.heard);
    }

    /** Every view of the model hears every answer: also to what another asked, or to what nobody has asked yet. */
    async hear({ state, error, plotly }, buffers) {
      if (plotly) this.gotScript?.(await unzip(buffers[0]).blob());
      if (!state) return;
      if (!error) this.computed.set(state.join(), (await decode(buffers[0])).figure);
      this.answered(state, error);
    }

    figure(state) {
      return this.computed.get(state.join());
    }

    ask(state) {
      this.whileThere(() => this.model.send({ state }));
    }

    /** ipywidgets throws where the kernel's side was closed, or marks the view. */
    whileThere(call) {
      try {
        call();
      } catch {
        this.closed = true;
      }
    }

    get gone() {
      return this.closed || Boolean(this.el.closest(".jupyter-widgets-disconnected"));
    }

    /** The state that all views of the model share: a trait for each control. */
    get(names) {
      return names.map((name) => this.model.get(name));
    }

    set(names, state) {
      names.forEach((name, i) => this.model.set(name, state[i]));
      this.whileThere(() => this.model.save_changes());
    }

    /** Call once after any of the traits have changed. */
    watch(names, call) {
      let due = false;
      this.changes = () => {
        if (due) return;
        due = true;
        queueMicrotask(() => {
          due = false;
          call();
        });
      };
      this.names = names;
      for (const name of names) this.model.on(`change:${name}`, this.changes);
    }

    async script() {
      const late = setTimeout(() => loading.delete(this.file), SILENT); // the kernel may be gone: let the next view ask its own
      const blob = await new Promise((resolve, reject) => {
        this.gotScript = resolve;
        this.leaveScript = reject;
        this.whileThere(() => this.model.send({ plotly: true }));
      }).finally(() => clearTimeout(late));
      // In a page with a loader of modules, such as Voila's, plotly would become a module and not `window.Plotly`.
      const parts = ["((module, exports, define) => {", blob, "\n})();"];
      return URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
    }

    close() {
      this.ended = true;
      this.leaveScript?.(new DOMException("The view was closed", "AbortError"));
      this.model.off("msg:custom", this.heard);
      for (const name of this.names) this.model.off(`change:${name}`, this.changes);
    }
  }

  // ---- other states beside the present one -----------------------------------------------------------

  /** Whether a trace is worth a ghost: a line, points or bars that speak, and no decoration. */
  function speaks(trace) {
    const { type = "scatter", mode = "lines", opacity = 1, visible = true, line, hoverinfo } = trace;
    const drawn = type === "bar" || (type === "scatter" && /lines|markers/.test(mode) && !("stackgroup" in trace));
    return drawn && visible === true && opacity >= 0.6 && (line?.width ?? 2) >= 1.5 && hoverinfo !== "skip";
  }

  /** The layout with axes upwards that hold what is drawn and no more; the foot of a bar is drawn. */
  function fitted({ data, layout }) {
    const ends = {};
    const axisUp = ({ yaxis = "y" }) => `yaxis${yaxis.slice(1)}`;
    const grids = data.filter(({ type = "scatter" }) => !["bar", "scatter"].includes(type)).map(axisUp); // these fill theirs
    for (const trace of data) {
      const { type, y, visible = true } = trace;
      const axis = axisUp(trace);
      if (!layout[axis]?.range || visible !== true || grids.includes(axis)) continue;
      const isLog = layout[axis].type === "log";
      const at = Array.from(y ?? [], (value) => (isLog ? Math.log10(value) : value));
      const seen = (type === "bar" ? [0, ...at] : at).filter(Number.isFinite); // neither a gap nor a name
      if (at.some(Number.isFinite)) ends[axis] = [...(ends[axis] ?? []), ...seen];
    }
    const axes = Object.entries(ends).map(([axis, seen]) => {
      const { range, tickvals, ticktext, dtick, ...own } = layout[axis];
      const [low, high] = seen.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
      const room = 0.06 * (high - low) || 0.1 * Math.abs(high) || 0.1;
      const next = [low - room, high + room];
      return [axis, { ...own, range: range[0] > range[1] ? next.reverse() : next }];
    });
    return { ...layout, ...Object.fromEntries(axes) };
  }

  /** The axis of a trace, less its range: what its numbers mean. */
  function axisOf({ layout }, trace, side) {
    const { range, ...axis } = layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`] ?? {};
    return axis;
  }

  /** The traces of another state, faint, where the present one has the same trace on the same axes. */
  function ghosts(present, other, pinned) {
    return other.data.flatMap((trace, i) => {
      const now = present.data[i];
      const alike = now && ["type", "xaxis", "yaxis"].every((key) => now[key] === trace[key]) &&
        ["x", "y"].every((side) => same(axisOf(present, now, side), axisOf(other, trace, side)));
      const stacked = present.layout.barmode === "stack" && trace.type === "bar";
      if (!alike || !speaks(trace) || !speaks(now) || stacked || !trace.x || !trace.y) return [];
      const { type, x, y, xaxis, yaxis, mode = "lines", line = {}, marker = {}, opacity = 1, orientation } = trace;
      const own = line.color ?? marker.color;
      const color = typeof own === "string" ? own : own ? "muted" : `C${i % 6}`;
      const common = { type, x, y, xaxis, yaxis, hoverinfo: "skip", showlegend: false, opacity: opacity * (pinned ? 0.8 : 0.35) };
      if (type === "bar") {
        const edge = { width: 1.5, color: "ink" }; // its own colour would not be seen on a bar
        return [{ ...common, orientation, width: trace.width, offsetgroup: String(i), marker: { color: "rgba(0,0,0,0)", line: edge } }];
      }
      const { size = 6, symbol } = marker;
      const stroke = { ...line, color, width: Math.min(line.width ?? 2, 1.5), ...(pinned ? { dash: "dot" } : {}) };
      return [{ ...common, mode: mode.replace("+text", ""), line: stroke, marker: { size, symbol, color } }];
    });
  }

  // ---- time ----------------------------------------------------------------------------------------

  const BEAT = 500; // milliseconds for each state
  const TIMES = ["step", "steps", "layer", "layers", "block", "blocks", "depth", "epoch", "epochs", "after"];
  const ICONS = { true: "M2 1h3v10H2zM7 1h3v10H7z", false: "M2 1l9 5-9 5z" }; // by whether it plays

  /** Whether time or depth passes along a control: four or more rising numbers, and a word of its name says so. */
  function passes({ name, labels }) {
    const values = labels.map(Number);
    const rise = values.slice(1).every((value, i) => value > values[i]); // what is no number does not
    return values.length >= 4 && rise && name.split("_").some((word) => TIMES.includes(word));
  }

  /** A button beside a control that walks through its values to the end, each shown as if it had been pressed. */
  class Player {
    constructor(explorer, control) {
      Object.assign(this, { explorer, control });
      const row = document.createElement("div");
      row.className = "px-playable";
      row.innerHTML = '<button type="button" class="px-play" aria-pressed="false">' +
        `<svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><path d="${ICONS.false}"/></svg></button>`;
      this.button = row.firstChild;
      this.button.ariaLabel = `Play ${control.name.replaceAll("_", " ")}`;
      control.box.replaceWith(row);
      row.prepend(control.box);
      this.button.addEventListener("click", () => (this.beat ? this.stop() : this.play()));
      for (const touch of ["pointerdown", "input", "click"]) {
        explorer.form.addEventListener(touch, ({ target }) => this.button.contains(target) || this.stop());
      }
    }

    play() {
      this.leave = new AbortController();
      document.addEventListener("visibilitychange", () => this.stop(), this.leave);
      this.sight = new IntersectionObserver((seen) => seen.at(-1).isIntersecting || this.stop());
      this.sight.observe(this.explorer.root);
      this.tell(true);
      this.step();
    }

    /** The next value, from the end the first, once the present state is there and may be drawn. */
    step() {
      const { explorer, control } = this;
      this.beat = setTimeout(() => this.step(), BEAT);
      if (explorer.source.gone) this.stop();
      else if (same(explorer.chosen, explorer.state()) && explorer.plotly !== undefined) {
        const next = (control.get() + 1) % control.labels.length;
        control.set(next);
        explorer.changed();
        if (next === control.labels.length - 1) this.stop();
      }
    }

    stop() {
      if (!this.beat) return;
      clearTimeout(this.beat);
      this.beat = 0;
      this.leave.abort();
      this.sight.disconnect();
      this.tell(false);
      requestAnimationFrame(() => this.explorer.sayResult()); // not before the line is one that is read aloud again
    }

    tell(playing) {
      this.button.setAttribute("aria-pressed", playing);
      this.button.querySelector("path").setAttribute("d", ICONS[playing]);
      const result = this.explorer.root.querySelector(".px-result");
      if (playing) result.setAttribute("aria-live", "off");
      else result.removeAttribute("aria-live");
    }
  }

  // ---- one explorer --------------------------------------------------------------------------------

  /** The form that the markup's controls make, put in their box's place. */
  function formOf(box) {
    const held = document.activeElement; // the link, if a reader is that fast: what is moved loses the focus
    const form = document.createElement("form");
    form.className = box.className;
    form.autocomplete = "off";
    box.replaceWith(form);
    form.append(...box.childNodes);
    for (const input of form.querySelectorAll("[data-name]")) input.name = input.dataset.name;
    if (form.contains(held)) held.focus({ preventScroll: true });
    return form;
  }

  class Explorer {
    constructor(root, source) {
      Object.assign(this, { root, source, name: root.dataset.name });
      this.form = formOf(root.querySelector(".px-controls"));
      this.controls = this.readControls();
      this.names = this.controls.map((control) => control.name);
      source.sizes = this.controls.map((control) => control.labels.length);
      this.players = this.controls.filter(passes).map((control) => new Player(this, control));
      this.start = this.state();
      this.plot = root.querySelector(".px-plot");
      this.ends = document.createElement("div");
      this.ends.className = "px-ends";
      this.ends.ariaHidden = true;
      this.plot.after(this.ends);
      this.last = this.pin = null; // states whose curves stay as ghosts
      const diagram = root.querySelector(".px-diagram");
      this.diagram = diagram && plusxDiagram(diagram, (name, index) => {
        this.halt();
        this.controls[this.names.indexOf(name)].set(index);
        this.changed();
      });
      this.pinning = this.form.querySelector(".px-pin");
      this.pinning.addEventListener("click", () => this.pinState());
      this.fitting = this.form.querySelector(".px-fit");
      this.fitting.addEventListener("click", () => this.fit(!this.fits));
      this.form.addEventListener("submit", (event) => event.preventDefault());
      this.form.addEventListener("input", () => this.changed());
      this.form.addEventListener("reset", (event) => {
        event.preventDefault(); // which sets what stands in the markup, control by control
        this.restart();
      });
      root.querySelector(".px-data").addEventListener("toggle", () => this.fillTable());
      this.form.querySelector("fieldset").disabled = false;
      if (here) {
        const told = () => this.show(root.dataset.show ?? ""); // by a link in the text, as one comes to read it
        root.addEventListener("px-show", told);
        const link = root.querySelector(".px-link");
        link.ariaLive = "polite";
        link.addEventListener("click", () => this.copyLink(link));
        if (!this.followLink() && !told()) this.update();
        return;
      }
      root.querySelector(".px-link").hidden = true; // a notebook's address is its application's
      this.set(source.get(this.names));
      source.watch(this.names, () => {
        const state = source.get(this.names);
        if (same(state, this.state())) return;
        this.halt();
        this.set(state);
        this.update();
      });
      source.answered = (state, error) => {
        if (!same(state, this.state()) || same(state, this.chosen)) return;
        if (error) this.fail(error);
        else this.update();
      };
      this.update();
    }

    /** For each control: its labels, and how to read and set its index. */
    readControls() {
      const groups = new Map();
      for (const input of this.form.querySelectorAll("[data-control]")) {
        const index = Number(input.dataset.control);
        groups.set(index, [...(groups.get(index) ?? []), input]);
      }
      return [...groups.entries()].sort(([a], [b]) => a - b).map(([, inputs]) => {
        const [first] = inputs;
        const name = first.name;
        const box = first.closest(".px-radio") ?? first.closest("label");
        if (first.type === "checkbox") {
          return { name, labels: ["off", "on"], get: () => Number(first.checked), set: (i) => (first.checked = i === 1) };
        }
        if (first.type === "radio") {
          const labels = inputs.map((input) => input.nextElementSibling.textContent);
          return { name, box, labels, get: () => inputs.findIndex((input) => input.checked), set: (i) => (inputs[i].checked = true) };
        }
        const get = () => Number(first.value);
        const set = (i) => (first.value = i);
        if (first.type !== "range") return { name, box, labels: [...first.options].map((option) => option.text), get, set };
        const labels = JSON.parse(first.dataset.labels);
        const show = (i) => {
          first.setAttribute("aria-valuetext", labels[i]);
          first.nextElementSibling.textContent = labels[i];
        };
        return { name, box, labels, show, get, set };
      });
    }

    state() {
      return this.controls.map((control) => control.get());
    }

    set(state) {
      this.controls.forEach((control, i) => control.set(state[i]));
    }

    /** The reader has changed a control. */
    changed() {
      if (!here) this.source.set(this.names, this.state());
      this.update();
      if (here) history.replaceState(null, "", this.link());
    }

    /** Let nothing play on. */
    halt() {
      this.players.forEach((player) => player.stop());
    }

    /** Go to a state with the ghosts of others, whatever was shown before. */
    jump(state, last, pin) {
      this.halt();
      this.set(state);
      [this.chosen, this.last, this.pin] = [null, last, pin];
    }

    restart() {
      this.fit(false);
      this.jump(this.start, null, null);
      this.changed();
    }

    /** Keep the present state's curves beside those to come, or let those that were kept go. */
    pinState() {
      this.pin = this.pin ? null : this.chosen;
      this.changed();
    }

    /** Whether the axes follow what each state shows, or are those of all states, so that states compare. */
    fit(fits) {
      this.fits = fits;
      this.fitting.setAttribute("aria-pressed", fits);
      this.offerReset();
      this.redraw();
    }

    /** Nothing is to be reset at the start. The button keeps the focus, which a disabled one would lose. */
    offerReset() {
      const isStart = same(this.chosen, this.start) && !this.last && !this.pin && !this.fits;
      this.form.querySelector("[type=reset]").ariaDisabled = isStart;
    }

    // -- the address

    labels(state) {
      return this.controls.map(({ name, labels }, i) => [name, labels[state[i]]]);
    }

    /** The link to this state: the label of every control, then each ghost by the controls in which it differs. */
    link() {
      const query = new URLSearchParams(this.labels(this.state()));
      for (const [name, state] of [[".last", this.last], [".pin", this.pin]]) {
        if (state) query.set(name, new URLSearchParams(this.labels(state).filter((_, i) => state[i] !== this.state()[i])));
      }
      return `#${this.name}?${query}`;
    }

    /** A press puts the link on the clipboard, too, and says so; where a browser refuses, the address bar has it. */
    async copyLink(link) {
      const copied = await navigator.clipboard?.writeText(link.href).then(() => true, () => false);
      link.textContent = copied ? "Link copied" : "Link is in the address bar";
      setTimeout(() => (link.textContent = "Link to this state"), 2000);
    }

    /** Take the state from the address, if it speaks of this explorer. */
    followLink() {
      if (!this.show(location.hash)) return false;
      // On a stage it is in sight already.
      this.root.scrollIntoView({ block: this.root.closest(".px-stage") ? "nearest" : "start" });
      return true;
    }

    /** Take the state from a link's fragment, if it speaks of this explorer. */
    show(hash) {
      const [name, query] = hash.slice(1).split("?");
      if (name !== encodeURI(this.name) || query === undefined) return false;
      const unknown = [];
      /** The state that some words make of another. */
      const read = (words, base) => {
        const state = [...base];
        for (const [key, label] of words) {
          if (key.startsWith(".")) continue;
          const i = this.names.indexOf(key);
          const index = i < 0 ? -1 : this.controls[i].labels.indexOf(label);
          if (index < 0) unknown.push(`${key}=${label}`);
          else state[i] = index;
        }
        return state;
      };
      const words = new URLSearchParams(query);
      const state = read(words, this.state());
      const other = (key) => (words.has(key) ? read(new URLSearchParams(words.get(key)), state) : null);
      const [last, pin] = [other(".last"), other(".pin")];
      this.jump(state, last, pin);
      this.say(unknown.length ? `The link asks for ${unknown.join(", ")}, which is not offered here.` : "");
      this.update();
      return true;
    }

    /** The figure of a state that words tell as a link does; what they leave out is as at the start. */
    figureOf(words) {
      const told = new URLSearchParams(words);
      return this.source.figure(this.controls.map(({ name, labels }, i) => (
        told.has(name) ? labels.indexOf(told.get(name)) : this.start[i]
      )));
    }

    // -- words

    say(text) {
      const message = this.root.querySelector(".px-message[role=alert]");
      message.textContent = text;
      message.hidden = !text;
    }

    /** Show the present state: its words at once, its picture too, unless this frame has drawn one already. */
    update() {
      const state = this.state();
      this.controls.forEach((control) => control.show?.(control.get()));
      const figure = this.source.figure(state);
      if (!figure) {
        this.wait(state);
        return;
      }
      this.arrived();
      if (!here) this.say("");
      if (this.chosen && !same(this.chosen, state)) this.last = this.chosen;
      [this.chosen, this.current] = [state, figure];
      this.showWords();
      this.fillTable();
      // Until plotly is there the still shows the start, so any other state dims it.
      this.root.classList.toggle("px-pending", !this.plotly && !same(state, this.start));
      this.redraw();
    }

    showWords() {
      const { title, legend, diagram } = this.current;
      const result = this.root.querySelector(".px-result");
      if (result.textContent !== title || !result.firstElementChild) this.sayResult();
      this.root.querySelector(".px-figure").setAttribute("aria-label", title);
      this.root.querySelector(".px-link").href = this.link();
      this.offerReset();
      this.diagram?.show(diagram ?? []);
      // Its place stays, and with it what is below.
      this.pinning.style.visibility = this.current.data.some(speaks) ? "" : "hidden";
      this.pinning.setAttribute("aria-pressed", Boolean(this.pin));
      this.fitting.style.visibility = same(fitted(this.current), this.current.layout) ? "hidden" : "";
      const differs = this.pin && this.labels(this.pin).filter((_, i) => this.pin[i] !== this.chosen[i]);
      const pinned = differs && (differs.map(([name, label]) => `${name.replaceAll("_", " ")} ${label}`).join(", ") || "this state");
      if (same(this.legend, [legend, pinned])) return;
      this.legend = [legend, pinned];
      const shown = this.root.querySelector(".px-legend");
      shown.innerHTML = legend; // escaped when it was made
      if (!pinned) return;
      shown.insertAdjacentHTML("beforeend", '<span class="px-pinned"><svg viewBox="0 0 30 12" width="30" height="12" ' +
        'aria-hidden="true"><path d="M0 6h30" stroke="var(--px-muted)" stroke-width="1.5" stroke-dasharray="2 3"/></svg> </span>');
      shown.lastChild.append(`pinned: ${pinned}`);
    }

    /** Write the result line, anew even if it says the same: what is written is read aloud. */
    sayResult() {
      if (this.current) this.root.querySelector(".px-result").replaceChildren(...weighed(this.current.title));
    }

    fillTable() {
      if (!this.current || !this.root.querySelector(".px-data").open) return;
      this.root.querySelector(".px-table").replaceChildren(...tables(this.current));
    }

    // -- a state that a kernel has yet to compute

    wait(state) {
      this.arrived();
      this.root.classList.add("px-waiting");
      const silent = "No answer from the kernel yet: it is busy, or it was stopped. If it was restarted, run this cell again.";
      const gone = "The kernel no longer has this explorer, as after a restart: run its cell again.";
      this.source.ask(state);
      this.say(this.source.gone ? gone : "");
      this.timers = [
        setTimeout(() => this.say(this.source.gone ? gone : "Computing this state …"), LATE),
        setTimeout(() => this.say(this.source.gone ? gone : silent), SILENT),
      ];
    }

    arrived() {
      this.timers?.forEach(clearTimeout);
      this.root.classList.remove("px-waiting");
    }

    fail(error) {
      this.arrived();
      this.halt();
      this.say(`${error} The picture is the last good one.`);
    }

    // -- the picture

    redraw() {
      this.stale = true;
      if (!this.frame) this.draw();
    }

    /** Every colour has changed. */
    repaint() {
      this.drawn = null;
      this.redraw();
    }

    /** What plotly gets, colours by name: the present state, and faintly those that stay beside it. */
    composed() {
      const { data, layout } = this.current;
      const kept = this.paper ? [] : [[this.last, false], [this.pin, true]];
      const others = kept.flatMap(([state, pinned]) => {
        const twice = !pinned && same(state, this.pin);
        const figure = state && !twice && !same(state, this.chosen) && this.source.figure(state);
        return figure ? ghosts(this.current, figure, pinned) : [];
      });
      // A ghost's bars stand where those of its trace do.
      const own = data.map((trace, i) => (trace.type === "bar" && layout.barmode !== "stack" ? { ...trace, offsetgroup: String(i) } : trace));
      const figure = { data: [...own, ...others], layout };
      return this.fits ? { ...figure, layout: fitted(figure) } : figure;
    }

    /**
     * The differences between what is drawn and what is to be. Null if there are any but in points, texts and shapes, and
     * in axes' names and ranges.
     */
    moved(next) {
      if (!this.drawn || this.plotly.version !== understood) return null;
      const { data, layout } = next;
      const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
      const isPlain = (trace) => (trace.type ?? "scatter") in movable && trace.x && !unmovable.some((key) => key in trace);
      if (!axes.every((axis) => layout[axis].range) || !data.every(isPlain)) return null;
      const isMove = ({ path: [part, index, key, ...rest], value, before }) => {
        if (part === "layout" && /^[xy]axis/.test(index)) {
          return key === "range" || (key === "title" && rest[0] === "text" && value && before); // an empty one has no node
        }
        if (part === "layout") return index === "shapes";
        return key !== undefined && rest.length === 0 && movable[data[index].type ?? "scatter"][key]?.(value, before, data[index]);
      };
      const moves = differences(this.drawn, next);
      return moves.every(isMove) ? moves : null;
    }

    draw() {
      if (!this.plotly || !this.stale || !this.current) return;
      this.stale = false;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
      const next = this.composed();
      const moves = this.moved(next);
      try {
        if (moves) this.move(moves, next);
      } catch {
        this.drawn = null; // plotly has other inner steps than was thought
      }
      if (!moves || !this.drawn) this.react(next);
      this.drawn = next;
      this.nameEnds();
      this.root.classList.remove("px-pending");
      this.root.classList.add("px-live");
    }

    /** Lines bear their names where they end, in panels that have the room; the legend has all of them. */
    nameEnds() {
      const listed = new Set(this.current.data.flatMap(({ name, showlegend }) => (showlegend === false || !name ? [] : [name])));
      const isNamed = ({ type = "scatter", mode = "", name, visible = true, hoverinfo }) => (
        type === "scatter" && mode.includes("lines") && listed.has(name) && visible === true && hoverinfo !== "skip"
      );
      const ends = this.current.legend ? this.current.data.flatMap((trace, i) => {
        const end = isNamed(trace) && endOf(trace, this.plot._fullLayout);
        return end ? [{ ...end, name: trace.name, colour: this.plot._fullData[i].line.color }] : [];
      }) : [];
      this.ends.replaceChildren(...ends.map((end) => {
        end.label = document.createElement("span");
        end.label.textContent = end.name;
        end.label.style.color = end.colour;
        return end.label;
      }));
      for (const panel of new Set(ends.map((end) => end.panel))) {
        const here = ends.filter((end) => end.panel === panel);
        const fits = here.every(({ label, room }) => label.offsetWidth <= WIDE * room._length);
        const placed = fits && here.length > 1 && stacked(here);
        for (const { label, x, at, room } of placed || here) {
          label.hidden = !placed;
          label.style.transform = `translate(${Math.min(x, room._offset + room._length) - label.offsetWidth}px, ${at - LINE}px)`;
        }
      }
    }

    /** Draws all anew, in plotly's public way. */
    react(next) {
      const { data, layout } = painted(next, paletteOf(this.root));
      const solid = this.plot._fullLayout?.scene;
      const seen = solid?._scene?.getCamera?.(); // plotly itself remembers it as it was when the mouse was let go
      if (seen) solid.camera = seen;
      this.plotly.react(this.plot, data, { ...layout, height: this.plot.clientHeight || layout.height }, config);
    }

    /**
     * Draws moved leaves by plotly's inner steps for traces, without its defaults and axes, most of a redraw. These
     * steps are no public interface: `understood` is their version, and tests compare with freshly drawn pictures.
     */
    move(leaves, next) {
      const { data, calcdata, _fullData, _fullLayout } = this.plot;
      const ofTraces = leaves.filter(({ path }) => path[0] === "data");
      for (const { path: [, index, key], value } of ofTraces) data[index][key] = _fullData[index][key] = value;
      for (const index of new Set(ofTraces.map(({ path }) => path[1]))) {
        const trace = _fullData[index];
        if (trace.visible !== true) continue; // in the table only
        if (trace._length) trace._length = Math.min(trace.x.length, trace.y.length);
        calcdata[index] = trace._module.calc(this.plot, trace);
        calcdata[index][0].trace = trace;
        calcdata[index][0].t ??= {};
      }
      const types = _fullLayout._modules;
      for (const subplot of Object.values(_fullLayout._plots)) {
        for (const { crossTraceCalc } of types) crossTraceCalc?.(this.plot, subplot);
      }
      for (const { plot } of _fullLayout._basePlotModules) plot(this.plot);
      for (const { name, style } of types) if (name !== "scatter") style(this.plot); // a scatter's plot has styled it
      _fullLayout._rehover?.();
      const changes = {};
      for (const { path: [part, index, ...rest], value } of leaves) {
        if (part !== "layout") continue;
        if (index === "shapes") changes.shapes ??= painted({ shapes: next.layout.shapes }, paletteOf(this.root)).shapes;
        else changes[[index, ...rest].join(".")] = ArrayBuffer.isView(value) ? [...value] : value;
      }
      if (Object.keys(changes).length) this.plotly.relayout(this.plot, changes);
    }
  }

  /** The states of an explorer: in the page, or in a script beside it (which works from disk, as fetch does not). */
  function statesOf(root) {
    const { textContent, dataset } = root.querySelector(".px-states");
    if (!dataset.src) return textContent;
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = dataset.src;
      script.onload = () => resolve(window.plusxStates?.[root.id] ?? "");
      script.onerror = () => reject(new Error("The states did not load"));
      document.head.append(script);
    });
  }

  const solids = "This browser draws no 3-D";

  /** Bring an explorer to life; returns what ends it. */
  async function start(root, kernel) {
    let explorer;
    try {
      const source = kernel ?? new Table(root, await decode(await unpacked(await statesOf(root))));
      explorer = new Explorer(root, source);
    } catch (error) {
      const message = root.querySelector(".px-message[role=alert]");
      message.textContent = "The data of this explorer is damaged or missing. The picture and the data below show the state it starts in.";
      message.hidden = false;
    }
    root.explorer = explorer ?? null;
    root.dispatchEvent(new Event("px-started"));
    if (!explorer) return () => {};
    const solid = root.dataset.bundle === "gl3d";
    let failed = "";
    const load = async () => {
      if (explorer.plotly) return;
      try {
        if (solid && !document.createElement("canvas").getContext("webgl")) throw new Error(solids);
        explorer.plotly = await loadPlotly(explorer.source);
      } catch (error) {
        explorer.plotly = null; // until it came it was undefined
        failed = `${error.message}: the picture stays at the start, the words and the data follow the controls.`;
        explorer.say(failed);
        return;
      }
      if (failed) explorer.say("");
      explorer.redraw();
    };
    for (const touch of ["pointerenter", "focusin", "input", "click"]) root.addEventListener(touch, load); // also after a failure
    const leave = new AbortController();
    if (root.matches(".px-pending")) load(); // a link asks for more than the still shows
    else if (kernel) whenNear(root, load);
    else if (!solid) awake.then(() => whenNear(root, load)); // the largest bundle comes with a touch
    if (here) window.addEventListener("hashchange", () => explorer.followLink(), leave);
    const repaint = () => explorer.repaint();
    const { plot } = explorer;
    // A notebook's panels leave another width, and beside a text there is less height than the figure asks for.
    const resize = new ResizeObserver(() => {
      if (!explorer.drawn) return; // its size is not asked for: a plot that is left out would be laid out for that
      const { clientWidth, clientHeight, _fullLayout } = plot;
      if (!clientWidth) return;
      if (clientWidth !== _fullLayout.width || clientHeight !== _fullLayout.height) {
        explorer.plotly.Plots.resize(plot).then(() => explorer.nameEnds());
      }
    });
    resize.observe(plot);
    const onPaper = (paper) => () => {
      explorer.paper = paper;
      explorer.redraw();
    };
    window.addEventListener("beforeprint", onPaper(true), leave);
    window.addEventListener("afterprint", onPaper(false), leave);
    const theme = new MutationObserver(repaint);
    for (const node of [document.documentElement, document.body]) theme.observe(node, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint, leave);
    if (kernel) plusxFollowHost(root, leave.signal, repaint); // its looks are those of the notebook's application
    return () => {
      leave.abort();
      theme.disconnect();
      resize.disconnect();
      kernel?.close();
      explorer.plotly?.purge(explorer.plot);
    };
  }

  // A reader has moved in some way: until then the stills show all there is to see.
  const awake = new Promise((resolve) => {
    for (const sign of ["pointermove", "pointerdown", "keydown", "scroll"]) {
      window.addEventListener(sign, resolve, { once: true, passive: true }); // not captured: the menu scrolls by itself
    }
  });

  // Within a second: a browser that always has something to draw, such as a solid in another page, is never idle.
  const idle = (call) => window.requestIdleCallback?.(call, { timeout: 1000 }) ?? setTimeout(call, 200);

  /** Once, when the page has nothing else to do and the reader is within a screen of the explorer. */
  function whenNear(root, call) {
    const watch = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      watch.disconnect();
      idle(call);
    }, { rootMargin: "100%" });
    watch.observe(root);
  }

  globalThis.plusxExplore = {
    /**
     * An explorer of a page, once it has its states and the page nothing else to do: for what else is made of them.
     * null: they did not come.
     */
    async started(root) {
      if (root.explorer === undefined) await new Promise((resolve) => root.addEventListener("px-started", resolve, { once: true }));
      await new Promise(idle);
      return root.explorer;
    },
    /** A view of a notebook's explorer; there may be several of one. */
    render({ model, el }) {
      el.innerHTML = model.get("markup");
      const root = el.firstElementChild;
      root.classList.add("px-hosted");
      const ending = start(root, new Kernel(model, el));
      return () => ending.then((end) => end());
    },
  };
  const startAll = () => document.querySelectorAll(".plusx-explore").forEach((root) => idle(() => start(root)));
  if (here && document.readyState === "complete") startAll();
  else if (here) window.addEventListener("load", startAll);
})();
