/**
 * Explorers without a kernel: decodes the table of states that static.py wrote, follows the native
 * controls, and draws with plotly. Nothing here knows what a figure is about.
 */
(() => {
  "use strict";

  const { src, dataset } = document.currentScript;
  const here = new URL(".", src);
  const whole = dataset.plotly; // all of plotly in one file, where the book has no bundles
  const config = { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false };
  const flat = ["basic", "cartesian"]; // each draws all that the one before it draws; the other bundle is gl3d
  const loading = new Map(); // file -> the promise of its Plotly

  const isNumber = (value) => typeof value === "number"; // words would add ticks
  const numbers = (value) => value?.length > 0 && (ArrayBuffer.isView(value) || [].every.call(value, isNumber));
  const alike = (value, before) => value?.length === before?.length;
  const points = (value, before, { mode }) => numbers(value) && numbers(before) && (mode || alike(value, before));
  const unmovable = ["stackgroup", "error_x", "error_y"]; // plotly works these out for all traces together
  const known = "4.1.1"; // the plotly.js whose inner steps `move` takes
  /** By type of trace: what can change without plotly's defaults, and if so from what to what. */
  const movable = {
    scatter: { x: points, y: points, text: (value, before) => Array.isArray(value) === Array.isArray(before), name: () => true },
    bar: { y: (value, before) => numbers(value) && alike(value, before) },
    heatmap: {
      z: (value, before, { zmin, zmax }) => zmin < zmax && alike(value, before) && alike(value[0], before[0]),
    },
  };

  /** Plotly: all of it, or the smallest bundle that draws every flat explorer of this page, or every 3-D one. */
  function loadPlotly(root) {
    let { bundle } = root.dataset;
    if (flat.includes(bundle)) {
      const needed = [...document.querySelectorAll(".plusx-explore")].map((each) => flat.indexOf(each.dataset.bundle));
      bundle = flat[Math.max(...needed)];
    }
    const file = whole ?? `plotly-${bundle}.min.js`;
    if (!loading.has(file)) {
      loading.set(file, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(file, here);
        script.onload = () => resolve(window.Plotly); // before any other script runs, so it is this one's
        script.onerror = () => reject(new Error("The plotting library did not load"));
        document.head.append(script);
      }));
    }
    return loading.get(file);
  }

  /**
   * The reverse of `encode` in states.py.
   * @param {string} text base64 of gzip
   * @returns {Promise<{figure: object, leaves: {path: (string|number)[], index: number[], values: any[]}[]}>}
   */
  async function decode(text) {
    const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const blob = await new Response(stream).arrayBuffer();
    const start = 4 + new DataView(blob).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(blob, 4, start - 4)));
    const planes = new Uint8Array(blob, start);
    const count = planes.length / 4;
    const bytes = new Uint8Array(8 * count); // little-endian float64 with a zero lower half
    for (let plane = 0; plane < 4; plane++) {
      for (let i = 0; i < count; i++) bytes[8 * i + 4 + plane] = planes[plane * count + i];
    }
    return restore(header, new Float64Array(bytes.buffer));
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

  /** A copy of the tree with colour names replaced; numbers are shared, so plotly sees what changed. */
  function painted(node, palette) {
    if (typeof node === "string") return palette[node] ?? node;
    if (Array.isArray(node)) return node.map((item) => painted(item, palette));
    if (node === null || typeof node !== "object" || ArrayBuffer.isView(node)) return node;
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, painted(value, palette)]));
  }

  /** The colours of the page's theme, by the names figures use. */
  function paletteOf(root) {
    const style = getComputedStyle(root);
    const names = ["C0", "C1", "C2", "C3", "C4", "C5", "ink", "muted", "grid"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--px-${name}`).trim()]));
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

  class Explorer {
    constructor(root, table) {
      this.root = root;
      this.name = root.dataset.name;
      this.table = table;
      this.form = root.querySelector(".px-controls");
      this.controls = this.readControls();
      this.start = this.state();
      this.plot = root.querySelector(".px-plot");
      this.sizes = this.controls.map((control) => control.labels.length);
      this.form.addEventListener("submit", (event) => event.preventDefault());
      this.form.addEventListener("input", () => this.changed());
      this.form.addEventListener("reset", () => setTimeout(() => this.changed()));
      const details = root.querySelector(".px-data");
      details.addEventListener("toggle", () => this.fillTable());
      this.form.querySelector("fieldset").disabled = false;
      if (!this.followLink()) this.update();
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
        if (first.type === "checkbox") {
          return { name, labels: ["off", "on"], get: () => Number(first.checked), set: (i) => (first.checked = i === 1) };
        }
        if (first.type === "radio") {
          const labels = inputs.map((input) => input.nextElementSibling.textContent);
          return { name, labels, get: () => inputs.findIndex((input) => input.checked), set: (i) => (inputs[i].checked = true) };
        }
        const get = () => Number(first.value);
        const set = (i) => (first.value = i);
        if (first.type !== "range") return { name, labels: [...first.options].map((option) => option.text), get, set };
        const labels = JSON.parse(first.dataset.labels);
        const show = (i) => {
          first.setAttribute("aria-valuetext", labels[i]);
          first.nextElementSibling.textContent = labels[i];
        };
        return { name, labels, show, get, set };
      });
    }

    state() {
      return this.controls.map((control) => control.get());
    }

    /** For each leaf, which of its values the current state has. */
    choice() {
      const at = this.state().reduce((sum, index, i) => sum * this.sizes[i] + index, 0);
      return this.table.leaves.map((leaf) => leaf.index[at]);
    }

    /** The figure of a choice, colour names unresolved. */
    figure(choice) {
      const figure = painted(this.table.figure, {}); // a copy to write the leaves into
      this.table.leaves.forEach(({ path, values }, i) => {
        let node = figure;
        for (const key of path.slice(0, -1)) node = node[key];
        node[path.at(-1)] = values[choice[i]];
      });
      return figure;
    }

    /** The leaves that differ from what is drawn; null if they settle more than points, texts, shapes, and axes' names and ranges. */
    moved() {
      if (this.plotly.version !== known) return null;
      const { data, layout } = this.current;
      const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
      const isPlain = (trace) => (trace.type ?? "scatter") in movable && !unmovable.some((key) => key in trace);
      if (!this.drawn || !axes.every((axis) => layout[axis].range) || !data.every(isPlain)) return null;
      const leaves = this.table.leaves
        .map(({ path, values }, i) => ({ path, value: values[this.chosen[i]], before: values[this.drawn[i]] }))
        .filter(({ path, value, before }) => value !== before && !["title", "legend"].includes(path[0])); // words
      const isMove = ({ path: [part, index, key, ...rest], value, before }) => {
        if (part === "layout" && /^[xy]axis/.test(index)) {
          return key === "range" || (key === "title" && rest[0] === "text" && value && before); // an empty one has no node
        }
        if (part === "layout") return index === "shapes";
        return rest.length === 0 && movable[data[index]?.type ?? "scatter"][key]?.(value, before, data[index]);
      };
      return leaves.every(isMove) ? leaves : null;
    }

    changed() {
      history.replaceState(null, "", this.link());
      this.update();
    }

    link() {
      const labels = this.controls.map((control) => [control.name, control.labels[control.get()]]);
      return `#${this.name}?${new URLSearchParams(labels)}`;
    }

    /** Take the state from the address, if it speaks of this explorer. */
    followLink() {
      const [name, query] = location.hash.slice(1).split("?");
      if (name !== encodeURI(this.name) || query === undefined) return false;
      const unknown = [];
      for (const [key, label] of new URLSearchParams(query)) {
        const control = this.controls.find((each) => each.name === key);
        const index = control ? control.labels.indexOf(label) : -1;
        if (index < 0) unknown.push(`${key}=${label}`);
        else control.set(index);
      }
      this.say(unknown.length ? `The link asks for ${unknown.join(", ")}, which is not offered here.` : "");
      this.update();
      this.root.scrollIntoView();
      return true;
    }

    say(text) {
      const message = this.root.querySelector(".px-message[role=alert]");
      message.textContent = text;
      message.hidden = !text;
    }

    /** Words at once; the picture now, or with the next frame if one was drawn in this frame. */
    update() {
      this.controls.forEach((control) => control.show?.(control.get()));
      this.chosen = this.choice();
      this.current = this.figure(this.chosen);
      const { title, legend } = this.current;
      const result = this.root.querySelector(".px-result");
      if (result.textContent !== title) result.textContent = title;
      this.root.querySelector(".px-figure").setAttribute("aria-label", title);
      const shownLegend = this.root.querySelector(".px-legend");
      if (this.legend !== legend) shownLegend.innerHTML = this.legend = legend; // escaped when the book was built
      this.root.querySelector(".px-link").href = this.link();
      this.fillTable();
      this.stale = true;
      // Until plotly is there the still shows the start, so any other state dims it.
      this.root.classList.toggle("px-pending", !this.plotly && this.state().join() !== this.start.join());
      if (!this.frame) this.draw();
    }

    fillTable() {
      if (!this.root.querySelector(".px-data").open) return;
      this.root.querySelector(".px-table").replaceChildren(...tables(this.current));
    }

    draw() {
      if (!this.plotly || !this.stale) return;
      this.stale = false;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
      const moved = this.moved();
      if (moved) this.move(moved);
      else {
        const { data, layout } = painted(this.current, paletteOf(this.root));
        const solid = this.plot._fullLayout?.scene;
        const seen = solid?._scene?.getCamera?.(); // plotly itself remembers it as it was when the mouse was let go
        if (seen) solid.camera = seen;
        this.plotly.react(this.plot, data, layout, config);
      }
      this.drawn = this.chosen;
      this.root.classList.remove("px-pending");
      this.root.classList.add("px-live");
    }

    /**
     * Draws moved leaves by plotly's inner steps for traces, without its defaults and axes, most of a redraw. These
     * steps are no public interface: `known` is their version, and tests compare with freshly drawn pictures.
     */
    move(leaves) {
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
        if (index === "shapes") changes.shapes ??= painted(this.current.layout.shapes, paletteOf(this.root));
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
      script.onload = () => resolve(window.plusxStates?.[root.id]);
      script.onerror = () => reject(new Error("The states did not load"));
      document.head.append(script);
    });
  }

  async function start(root) {
    let explorer;
    try {
      explorer = new Explorer(root, await decode(await statesOf(root)));
    } catch {
      const message = root.querySelector(".px-message[role=alert]");
      message.textContent = "The data of this explorer is damaged or missing. The picture and the data below show the state it starts in.";
      message.hidden = false;
      return;
    }
    const solid = root.dataset.bundle === "gl3d";
    const draw = async () => {
      try {
        if (solid && !document.createElement("canvas").getContext("webgl")) throw new Error("This browser draws no 3-D");
        explorer.plotly = await loadPlotly(root);
      } catch (error) {
        explorer.say(`${error.message}: the picture stays at the start, the words and the data follow the controls.`);
        return;
      }
      explorer.draw();
    };
    for (const touch of ["pointerenter", "focusin", "input"]) root.addEventListener(touch, draw, { once: true });
    if (root.matches(".px-pending")) draw(); // a link asks for more than the still shows
    else if (!solid) whenNear(root, draw); // the largest bundle comes with a touch
    window.addEventListener("hashchange", () => explorer.followLink());
    const redraw = () => {
      explorer.stale = true;
      explorer.drawn = null; // every colour changes
      explorer.draw();
    };
    const theme = new MutationObserver(redraw);
    for (const node of [document.documentElement, document.body]) theme.observe(node, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

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

  const startAll = () => document.querySelectorAll(".plusx-explore").forEach((root) => idle(() => start(root)));
  if (document.readyState === "complete") startAll();
  else window.addEventListener("load", startAll);
})();
