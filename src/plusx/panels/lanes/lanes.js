/**
 * Lanes: two nets that train side by side, and a switch on all that tells them apart. Who takes the steps is an engine:
 * a worker with onnxruntime-web in the page, torch behind a kernel in JupyterLab, or the runs of the presets that the
 * page brings along. Nothing here knows weights or gradients.
 */
(() => {
  "use strict";

  const { here, make, unique, unzip, statesOf, loadWorker, askKernel } = globalThis.plusxPanel;
  const NAMES = ["A", "B"];
  const START = ["start"]; // parts of a lane that its first weights depend on
  const LAST = 20; // steps whose mean is the loss that is told
  const MOST = 3000; // steps, then a lane rests
  const SPEEDS = { slow: 2, medium: 10, fast: Infinity }; // steps a second
  const FRAME = 80; // milliseconds of computing between two pictures, at full speed
  const READING = 5000; // milliseconds between two sentences to a screen reader

  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const frame = () => new Promise((done) => requestAnimationFrame(done)); // none comes while the tab is hidden

  /** A number as readers see it, with three digits. */
  function short(x) {
    if (!Number.isFinite(x)) return "not a number";
    if (x === 0) return "0";
    return Math.abs(x) >= 1000 || Math.abs(x) < 0.001 ? x.toExponential(1) : String(Number(x.toPrecision(3)));
  }

  // ---- the runs of the presets, as `pack` in page.py wrote them ------------------------------------------

  class Kept {
    static async from(text, { presets, usual, kept, every }) {
      const blocks = usual.skips.length;
      const bytes = new Uint8Array(await unzip(text));
      const words = Float32Array.from({ length: bytes.length / 2 }, (_, i) => bytes[i] + 256 * bytes[bytes.length / 2 + i]);
      let at = 0;
      const take = (count, scale) => words.subarray(at, (at += count)).map(scale);
      const power = (word) => (word === 65535 ? NaN : 10 ** ((word / 65534) * 24 - 12));
      const pictures = kept / every;
      const sizes = { line: 128, spirals: 1024, signals: 1, sort: 1 };
      const runs = presets.map(({ task }) => NAMES.map(() => ({
        loss: take(kept, power),
        gradient: take(pictures * blocks, power),
        branch: take(pictures * blocks, power),
        seen: take((pictures + 1) * sizes[task], (word) => (word * 8) / 65535 - 4),
      })));
      if (at !== words.length) throw new Error("the runs have another size");
      return Object.assign(new Kept(), { runs, blocks, every, kept });
    }

    async ask({ name, preset, from, steps }) {
      const { loss, gradient, branch, seen } = this.runs[preset][NAMES.indexOf(name)];
      const pictures = Math.floor((from + steps) / this.every);
      const part = (all, size, at) => all.subarray(at * size, (at + 1) * size);
      return {
        loss: loss.subarray(from, from + steps),
        ...(pictures && { gradient: part(gradient, this.blocks, pictures - 1), branch: part(branch, this.blocks, pictures - 1) }),
        seen: part(seen, seen.length / (this.kept / this.every + 1), pictures),
      };
    }
  }

  // ---- pictures ---------------------------------------------------------------------------------------

  /** Ticks of an axis from low to high: powers of ten, or four or five round numbers. */
  function ticks(low, high, isLog) {
    const round = [1, 2, 5, 10].map((digit) => digit * 10 ** Math.floor(Math.log10((high - low) / 5)));
    const step = round.find((each) => (high - low) / each <= 5) ?? round.at(-1);
    const by = isLog ? Math.max(1, Math.ceil((high - low) / 5)) : step;
    const found = [];
    for (let tick = Math.ceil(low / by - 1e-9) * by; tick <= high + 1e-9 * by; tick += by) found.push(tick);
    return found;
  }

  const SUPERS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const tickWord = (tick, isLog) => (isLog ? `10${[...String(Math.round(tick))].map((char) => SUPERS[char]).join("")}` : String(Number(tick.toPrecision(4))));

  /** A canvas as sharp as the screen, emptied; gives its context and its size in CSS pixels. */
  function sheet(canvas) {
    const { clientWidth: width, clientHeight: height } = canvas;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    return { context, width, height };
  }

  /**
   * Lines over common axes.
   * @param lines of { x, y, colour, dash, mark }; what is no number is a gap
   * @param axes { x: [low, high], y: [low, high], log: is y a power of ten, ticks of x if not round as [place, word],
   *   marks: x of dashes }
   */
  function plot(canvas, lines, axes, ink) {
    const { context, width, height } = sheet(canvas);
    const [left, right, top, bottom] = [44, 8, 8, 22];
    const up = axes.log ? Math.log10 : (value) => value;
    const X = (value) => left + ((value - axes.x[0]) / (axes.x[1] - axes.x[0])) * (width - left - right);
    const Y = (value) => height - bottom - ((up(value) - axes.y[0]) / (axes.y[1] - axes.y[0])) * (height - top - bottom);
    context.fillStyle = ink.muted;
    context.strokeStyle = ink.grid;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const rule = (...way) => {
      context.beginPath();
      context.moveTo(...way[0]);
      context.lineTo(...way[1]);
      context.stroke();
    };
    for (const tick of ticks(...axes.y, axes.log)) {
      const y = Y(axes.log ? 10 ** tick : tick);
      rule([left, y], [width - right, y]);
      context.fillText(tickWord(tick, axes.log), left - 5, y);
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    const below = axes.ticks ?? ticks(...axes.x).map((tick) => [tick, tickWord(tick)]);
    for (const [tick, word] of below) context.fillText(word, Math.min(X(tick), width - 14), height - 5);
    context.setLineDash([2, 3]);
    context.strokeStyle = ink.muted;
    for (const mark of axes.marks ?? []) rule([X(mark), top], [X(mark), height - bottom]);
    context.save();
    context.beginPath();
    context.rect(left, 0, width - left - right + 4, height - bottom + 3);
    context.clip();
    for (const { x, y, colour, dash = [], mark, thick = 2 } of lines) {
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = thick;
      context.setLineDash(dash);
      context.beginPath();
      let pen = false;
      y.forEach((value, i) => {
        const isThere = Number.isFinite(up(value));
        if (isThere) context[pen ? "lineTo" : "moveTo"](X(x[i]), Y(value));
        pen = isThere;
      });
      context.stroke();
      context.setLineDash([]);
      if (mark) y.forEach((value, i) => Number.isFinite(up(value)) && stamp(context, mark, X(x[i]), Y(value)));
    }
    context.restore();
  }

  function stamp(context, mark, x, y) {
    context.beginPath();
    if (mark === "circle") context.arc(x, y, 3.5, 0, 7);
    else context.rect(x - 3, y - 3, 6, 6);
    context.fill();
  }

  /** The limits of a logarithmic axis around numbers: whole powers of ten, at least one apart. */
  function decades(values) {
    const logs = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
    if (!logs.length) return [-1, 1];
    const low = Math.floor(Math.min(...logs));
    return [low, Math.max(Math.ceil(Math.max(...logs)), low + 1)];
  }

  /** The plane from -2 to 2: how probable the second spiral is at each place, and examples of both. */
  function paintPlane(canvas, seen, dots, [first, second], page) {
    const { context, width, height } = sheet(canvas);
    if (seen) {
      const side = Math.sqrt(seen.length);
      const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
      const [from, to] = [rgb(first), rgb(second)];
      const small = make("canvas", { width: side, height: side });
      const image = new ImageData(side, side);
      seen.forEach((value, i) => {
        const share = Math.min(Math.max(value, 0), 1);
        const mixed = from.map((part, at) => part + share * (to[at] - part));
        const row = side - 1 - Math.floor(i / side); // from below
        image.data.set([...mixed, Number.isNaN(value) ? 0 : 150], 4 * (row * side + (i % side)));
      });
      small.getContext("2d").putImageData(image, 0, 0);
      context.drawImage(small, 0, 0, width, height);
    }
    context.strokeStyle = page;
    for (const [x, y, which] of dots) {
      context.fillStyle = which ? second : first;
      stamp(context, which ? "square" : "circle", ((x + 2) / 4) * width, ((2 - y) / 4) * height);
      context.stroke();
    }
  }

  // ---- the panel ----------------------------------------------------------------------------------------

  class Lanes {
    /** Until `signal` aborts; in the book's page nothing aborts it. */
    constructor(root, setup, { engine, signal = new AbortController().signal }) {
      Object.assign(this, { root, setup, engine, signal, view: unique(), seed: 0, speed: "fast", patience: 15_000, ahead: 0 });
      this.branches = setup.usual.skips.split("").map((_, at) => { // what each is called: in words, and in its picture
        const { name, short, at: mine } = setup.groups.find((group) => group.at.includes(at));
        const number = mine.indexOf(at) + 1;
        return { name: `${name} ${number}`, short: `${short}${number}` };
      });
      this.build();
      this.usePreset(0, false).then(() => here && this.followLink());
      this.signal.addEventListener("abort", () => (this.playing = false));
    }

    // -- what is shown

    build() {
      const { setup } = this;
      const group = unique();
      const button = (words, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, words);
      const radios = (name, legend, options, change) => make("fieldset", { class: "px-radio" }, make("legend", {}, legend),
        ...Object.entries(options).map(([value, label]) => make("label", {},
          make("input", { type: "radio", name: `ln-${name}-${group}`, value, onchange: () => change(value) }), make("span", {}, label))));

      this.presets = setup.presets.map(({ name }, at) => button(name, () => this.usePreset(at), { "aria-pressed": "false" }));
      this.story = make("p", { class: "ln-story" });
      this.taskRadios = radios("task", "Data", setup.tasks, (task) => this.choose(() => (this.task = task), true));
      this.seedField = make("input", { type: "number", min: 0, max: 9999, step: 1, onchange: () => this.choose(() => (this.seed = this.seedTyped()), true) });
      this.speedRadios = radios("speed", "Speed", { slow: "2 steps a second", medium: "10", fast: "as fast as it goes" }, (speed) => (this.speed = speed));
      this.speedRadios.querySelector("[value=fast]").checked = true;
      this.link = make("a", { class: "px-link", href: "#", hidden: !here }, "Link to this setting"); // Lab's address is Lab's
      this.playButton = button("Play", () => (this.playing ? this.pause() : this.play()), { class: "ln-play" });
      this.stepButton = button("One step", () => this.oneStep());
      this.rewindButton = button("Rewind", () => this.startOver());
      this.load = button("", () => this.loadStep(), { class: "ln-load" });
      this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "Loading the training step" });
      this.message = make("p", { class: "px-message", role: "alert", hidden: true });
      this.result = make("p", { class: "ln-hidden", role: "status" }); // at the pace of reading; for the eye there is `now`
      this.now = make("p", { class: "px-result" });

      const picture = (title, look = "ln-picture") => {
        const canvas = make("canvas", { role: "img", "aria-label": title });
        const caption = make("figcaption", {}, title);
        return { canvas, caption, node: make("figure", { class: look }, caption, canvas) };
      };
      this.lossPicture = picture("Loss of each step (thin), and mean of the last 20");
      const each = setup.kind === "stack" ? "block" : "branch";
      this.gradientPicture = picture(`Gradient of the weights, by ${each}`);
      this.branchPicture = picture(`Branch over stream, by ${each}`);
      this.functionPicture = picture("");
      this.planes = NAMES.map((name) => picture(`Lane ${name}: where it sees which spiral`, "ln-picture ln-plane"));
      this.seenBox = make("div", { class: "ln-seen" });

      this.lanes = Object.fromEntries(NAMES.map((name) => [name, this.buildLane(name, radios, button)]));
      this.challenges = setup.challenges.map((challenge) => this.buildChallenge(challenge, button));
      this.root.querySelector(".ln-stage").replaceChildren(
        make("div", { class: "ln-row", role: "group", "aria-label": "Presets" }, ...this.presets),
        this.story,
        make("div", { class: "ln-row" }, ...(Object.keys(setup.tasks).length > 1 ? [this.taskRadios] : []), make("label", {}, "Seed", this.seedField), this.link),
        make("div", { class: "ln-said" }, make("div", {}, this.message, this.now, this.result), this.load, this.progress),
        make("div", { class: "ln-row" }, this.playButton, this.stepButton, this.rewindButton, this.speedRadios),
        make("p", { class: "ln-key", "aria-hidden": "true" }, make("span", { class: "ln-A" }, "A"), make("span", { class: "ln-B" }, "B")),
        make("div", { class: "ln-pictures" }, this.lossPicture.node, this.seenBox, this.gradientPicture.node, this.branchPicture.node),
        make("div", { class: "ln-lanes" }, ...NAMES.map((name) => this.lanes[name].node)),
        ...(this.challenges.length ? [make("h3", {}, "Challenges"), make("ol", { class: "ln-challenges" }, ...this.challenges)] : []),
      );
      this.offerLoading();
      this.followTheme();
      new ResizeObserver(() => this.draw()).observe(this.lossPicture.canvas);
      if (here) window.addEventListener("hashchange", () => location.hash === this.address() || this.followLink());
    }

    buildLane(name, radios, button) {
      const { options, labels, groups, piece, usual, of } = this.setup;
      const blocks = usual.skips.length;
      const lane = { name };
      const put = (part, value) => this.put(name, { [part]: value });
      const select = (part) => {
        const field = make("select", { onchange: () => put(part, field.value) },
          ...options[part].map(([value, words]) => make("option", { value }, words)));
        lane[part] = field;
        return make("label", {}, labels[part], field);
      };
      const block = make("div", { class: "px-diagram", "aria-label": `${piece} of lane ${name}` });
      lane.block = plusxDiagram(block, (control, value) => {
        const group = groups.find((each) => each.control === control);
        if (group) put("skips", [...lane.words.skips].map((digit, at) => (group.at.includes(at) ? value : digit)).join(""));
        else put(control, options[control][value][0]);
      });
      const stack = make("div", { class: "px-diagram ln-stack", "aria-label": `Skips of lane ${name}` });
      lane.stack = plusxDiagram(stack, (control, value) => {
        const at = Number(control);
        put("skips", lane.words.skips.slice(0, at) + value + lane.words.skips.slice(at + 1));
      });
      lane.depth = make("input", { type: "range", min: 1, max: blocks, step: 1, oninput: () => put("depth", lane.depth.value) });
      lane.depthTold = make("output", {});
      lane.differs = make("p", { class: "ln-note" });
      const other = NAMES.find((each) => each !== name);
      lane.node = make("section", { class: `ln-lane ln-${name}`, "aria-label": `Lane ${name}${of}` },
        make("h3", {}, `Lane ${name}`),
        lane.differs,
        block,
        stack,
        make("div", { class: "ln-row" }, button("All skips", () => put("skips", "1".repeat(blocks))), button("No skip", () => put("skips", "0".repeat(blocks))),
          button(`Make it like ${other}`, () => this.put(name, this.lanes[other].words))),
        make("div", { class: "ln-fields" },
          ...(usual.depth ? [make("label", { class: "ln-depth" }, "Blocks", lane.depth, lane.depthTold)] : []),
          ...Object.keys(options).map(select)));
      return lane;
    }

    buildChallenge(challenge, button) {
      const verdict = make("p", { role: "status", class: "ln-verdict" });
      const check = () => {
        const missing = this.missing(challenge);
        verdict.classList.toggle("ln-solved", !missing);
        verdict.textContent = missing ? `Not yet: ${missing}.` : `Solved. ${challenge.told}`;
      };
      return make("li", {}, make("p", {}, challenge.ask), button("Check lane B", check), verdict);
    }

    /** What lane B lacks for a challenge, in words; "" if nothing. */
    missing({ task, fixed, below, within }) {
      const { words } = this.lanes.B;
      const losses = this.history.B.loss;
      if (this.task !== task) return `this one is about the data “${this.setup.tasks[task]}”`;
      for (const [part, value] of Object.entries(fixed)) {
        if (this.history.B.was.some((each) => each[part] !== value) || words[part] !== value) return `in lane B ${this.told(part, value)} is asked for, from the first step on`;
      }
      if (losses.length < LAST) return `lane B has taken ${losses.length} steps, and ${LAST} are needed`;
      const reached = losses.findIndex((_, at) => at >= LAST - 1 && mean(losses.slice(at - LAST + 1, at + 1)) < below);
      if (reached < 0) return `its loss over the last ${LAST} steps is ${short(mean(losses.slice(-LAST)))}, below ${below} is asked for`;
      return reached < within ? "" : `it came below ${below} at step ${reached + 1}, ${within} were allowed`;
    }

    /** A part of a lane and its value, in words. */
    told(part, value) {
      const label = this.setup.options[part]?.find(([each]) => each === value)[1];
      switch (part) {
        case "skips": {
          if (!value.includes("0")) return "all skips";
          if (!value.includes("1")) return "no skip";
          const cut = this.setup.groups.flatMap(({ name, at }) => {
            const numbers = at.flatMap((each, i) => (value[each] === "0" ? [i + 1] : []));
            if (!numbers.length) return [];
            return numbers.length === at.length ? name : `${name} ${numbers.join(", ")}`;
          });
          return `no skip around ${cut.join(" and ")}`;
        }
        case "depth": return value === "1" ? "1 block" : `${value} blocks`;
        case "norm": return value === "1" ? "norms" : "no norm";
        case "place": return value === "none" ? "no norm" : label;
        case "activation": return value === "none" ? "no activation" : label;
        case "start": return value === "identity" ? "a start as the identity" : `a start with ${label}`;
        case "scale": return `branch scale ${label}`;
        case "learned": return `the branch scale ${label}`;
        case "rate": return `rate ${label}`;
        default: return label;
      }
    }

    followTheme() {
      const repaint = () => this.draw();
      const watch = new MutationObserver(repaint);
      for (const node of [document.documentElement, document.body]) watch.observe(node, { attributeFilter: ["data-theme"] });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint, { signal: this.signal });
      this.signal.addEventListener("abort", () => watch.disconnect());
    }

    // -- what the reader does

    get preset() {
      return this.setup.presets.findIndex((preset) => preset === this.chosen);
    }

    seedTyped() {
      const seed = Math.round(Number(this.seedField.value));
      return seed >= 0 && seed <= 9999 ? seed : this.seed;
    }

    usePreset(at, remember = true) {
      const preset = this.setup.presets[at];
      return this.choose(() => {
        const [at, changes] = preset.then ?? [];
        const flips = at ? [{ at, name: "B", changes }] : [];
        Object.assign(this, { chosen: preset, task: preset.task, seed: 0, first: preset, flips, isStory: true });
      }, true, remember);
    }

    /** Change parts of a lane. A net that trains goes on as it is, unless its first weights would be others. */
    put(name, changes) {
      const lane = this.lanes[name];
      const isOther = Object.keys(changes).filter((part) => changes[part] !== lane.words[part]);
      if (!isOther.length) return this.show();
      return this.choose(() => {
        this.isStory = false;
        lane.words = { ...lane.words, ...changes };
        this.note(name, changes);
      }, isOther.some((part) => START.includes(part)));
    }

    /** Keep what was flipped, and after which step, so that the run can be taken once more. */
    note(name, changes) {
      const at = this.count + this.ahead;
      if (!at) return void (this.first = this.wordsNow());
      this.flips.length = this.made;
      const last = this.flips.at(-1);
      if (last?.at === at && last.name === name) last.changes = { ...last.changes, ...changes };
      else this.made = this.flips.push({ at, name, changes });
    }

    wordsNow() {
      return Object.fromEntries(NAMES.map((name) => [name, this.lanes[name].words]));
    }

    /** After which steps something was flipped. */
    get marks() {
      return [...new Set(this.flips.slice(0, this.made).map(({ at }) => at))];
    }

    /** A change by the reader: from here on this is no preset's run. */
    async choose(change, rewinds, remember = true) {
      this.chosen = null;
      change();
      if (rewinds) this.toFirst();
      this.show();
      if (remember && here) history.replaceState(null, "", this.address());
      if (rewinds) await this.rewind();
      else this.tell(true);
    }

    address() {
      const asked = new URLSearchParams();
      if (this.chosen) asked.set("preset", this.preset + 1);
      else {
        asked.set("task", this.task);
        asked.set("seed", this.seed);
        for (const name of NAMES) {
          for (const [part, value] of Object.entries(this.first[name])) {
            if (value !== this.setup.usual[part]) asked.set(`${name}.${part}`, value);
          }
        }
        for (const { at, name, changes } of this.flips) {
          for (const [part, value] of Object.entries(changes)) asked.append("then", `${at}.${name}.${part}.${value}`);
        }
      }
      return `#${this.root.id}?${asked}`;
    }

    isOffered(part, value) {
      const { usual, options } = this.setup;
      if (part === "skips") return value.length === usual.skips.length && /^[01]+$/.test(value);
      if (part === "depth" && usual.depth) return /^\d+$/.test(value) && value >= 1 && Number(value) <= usual.depth;
      return Boolean(options[part]?.some(([each]) => each === value));
    }

    /** A flip as `address` wrote it; null if it is none. */
    flipOf(written) {
      const [, at, name, part, value] = /^([1-9]\d{0,3})\.([AB])\.(\w+)\.(.+)$/.exec(written) ?? [];
      if (!at || START.includes(part) || !this.isOffered(part, value)) return null;
      return { at: Number(at), name, changes: { [part]: value } };
    }

    /** Take the setting from the address, if it speaks of these lanes. */
    async followLink() {
      const [id, query] = location.hash.slice(1).split("?");
      if (id !== this.root.id || query === undefined) return;
      const asked = new URLSearchParams(query);
      const preset = Number(asked.get("preset")) - 1;
      const wrong = [];
      if (preset in this.setup.presets) await this.usePreset(preset, false);
      else {
        const take = (key, fits, usual) => {
          const value = asked.get(key) ?? usual;
          if (fits(value)) return value;
          wrong.push(`${key}=${value}`);
          return usual;
        };
        await this.choose(() => {
          this.task = take("task", (task) => Object.hasOwn(this.setup.tasks, task), Object.keys(this.setup.tasks)[0]);
          this.seed = Number(take("seed", (seed) => /^\d{1,4}$/.test(seed), "0"));
          this.first = Object.fromEntries(NAMES.map((name) => [name, Object.fromEntries(Object.entries(this.setup.usual).map(([part, usual]) =>
            [part, take(`${name}.${part}`, (value) => this.isOffered(part, value), usual)]))]));
          const flips = asked.getAll("then").map((written) => this.flipOf(written) ?? void wrong.push(`then=${written}`));
          this.flips = flips.filter(Boolean).sort((one, other) => one.at - other.at);
          this.isStory = true;
        }, true, false);
      }
      if (wrong.length) this.say(`The link asks for ${wrong.join(", ")}, which is not offered here.`);
      this.root.scrollIntoView();
    }

    // -- loading

    offerLoading() {
      this.load.hidden = Boolean(this.engine);
      if (this.engine) return;
      this.cannot = "";
      if (location.protocol === "file:") this.cannot = "This page was opened from disk, where a browser starts no worker";
      else if (typeof WebAssembly !== "object") this.cannot = "This browser has no WebAssembly";
      const { runtime, ...files } = JSON.parse(this.root.dataset.files || "{}");
      const mine = ["begin", "step", "look"].map((part) => [part, files[`${this.setup.kind}-${part}`]]);
      this.files = { runtime, ...Object.fromEntries(mine) };
      const bytes = Object.values(this.files).reduce((sum, file) => sum + file.bytes, 0);
      this.load.textContent = `Load PyTorch's training step (${(bytes / 1e6).toFixed(1)} MB)`;
      this.load.hidden = Boolean(this.cannot);
    }

    async loadStep(then = () => this.startOver()) {
      this.pause();
      this.load.disabled = true;
      this.progress.hidden = false;
      try {
        this.engine = await loadWorker("lanes-worker.js", this.files, (share) => (this.progress.value = share));
      } catch (error) {
        this.say(`The training step did not load: ${error.message}. Try again, or replay the presets, which need no loading.`);
        return;
      } finally {
        this.load.disabled = false;
        this.progress.hidden = true;
      }
      this.say("");
      this.offerLoading();
      await then();
    }

    // -- training

    say(text) {
      this.message.textContent = text;
      this.message.hidden = !text;
    }

    /** What keeps the lanes from training, if anything. */
    fault() {
      if (this.engine?.isGone) return "The kernel has no lanes any more: run this cell again.";
      if (this.engine || this.chosen) return "";
      return this.cannot
        ? `${this.cannot}: only the presets can be shown. They were trained when the book was built.`
        : "To train with your own switches, load the training step. Without it only the presets replay.";
    }

    /** Ask the engine for steps of both lanes; a lane that has run away takes no more. */
    async ask(steps, begin) {
      if (!this.engine) this.keptRuns ??= await Kept.from(await statesOf(this.root), this.setup);
      const going = NAMES.filter((name) => begin || !this.history[name].ended);
      const ask = (name) => {
        const { words } = this.lanes[name];
        if (steps) this.history[name].was.push(words);
        if (this.engine) return this.engine.ask({ lane: this.view + name, task: this.task, seed: this.seed, words, steps, begin });
        return this.keptRuns.ask({ name, preset: this.preset, from: this.count, steps });
      };
      const late = new Promise((_, fail) => {
        this.alarm = setTimeout(() => fail(Object.assign(new Error("no answer came"), { isLost: true })), this.patience);
      });
      try {
        const answers = await Promise.race([Promise.all(going.map(ask)), late]);
        return Object.fromEntries(going.map((name, i) => [name, answers[i]]));
      } finally {
        clearTimeout(this.alarm);
      }
    }

    /** Take steps of both lanes, one call at a time; true if they were taken and are still wanted. */
    async advance(steps, begin = false) {
      const before = this.turn;
      this.turn = (async () => {
        await before;
        if (begin) this.forget();
        const run = this.run;
        if (this.fault()) return false;
        if (!begin && this.isOver()) return false;
        if (!begin) this.flip();
        const flipAt = this.flips[this.made]?.at ?? Infinity;
        const left = begin ? 0 : Math.min(steps, this.stopAt() - this.count, flipAt - this.count);
        let answers;
        this.ahead = left;
        try {
          answers = await this.ask(left, begin);
        } catch (error) {
          await this.failed(error);
          return false;
        } finally {
          this.ahead = 0;
        }
        if (run !== this.run) return false;
        this.take(answers, left);
        return true;
      })();
      return this.turn;
    }

    forget() {
      this.run = unique();
      this.count = 0;
      this.history = Object.fromEntries(NAMES.map((name) => [name, { loss: [], right: [], was: [] }]));
    }

    take(answers, steps) {
      this.count += steps;
      for (const [name, { loss, gradient, branch, seen }] of Object.entries(answers)) {
        const lane = this.history[name];
        for (const value of loss) {
          if (!lane.ended && !Number.isFinite(value)) lane.ended = lane.loss.length + 1;
          lane.loss.push(value);
        }
        Object.assign(lane, { gradient, branch, seen });
        lane.right.push([this.count, mean(seen)]);
      }
      this.draw();
    }

    /** The step at which the run ends. */
    stopAt() {
      return this.engine ? MOST : this.setup.kept;
    }

    /** Whether no lane can go on. */
    isOver() {
      return this.count >= this.stopAt() || NAMES.every((name) => this.history[name].ended);
    }

    /** What a story, or the run that is taken once more, flips after this step. */
    flip() {
      const before = this.made;
      for (; this.flips[this.made]?.at === this.count; this.made++) {
        const { name, changes } = this.flips[this.made];
        this.lanes[name].words = { ...this.lanes[name].words, ...changes };
      }
      if (this.made > before) this.show();
    }

    /** The switches as they are at step 0: those of a story, which comes again whole, else those of now. */
    toFirst() {
      if (!this.isStory) Object.assign(this, { first: this.wordsNow(), flips: [] });
      for (const name of NAMES) this.lanes[name].words = { ...this.first[name] };
      this.made = 0;
    }

    startOver() {
      this.toFirst();
      this.show();
      return this.rewind();
    }

    /** The run so far once more, with all that was flipped; whoever takes the steps has lost the nets. */
    async again(steps) {
      for (const name of NAMES) this.lanes[name].words = { ...this.first[name] };
      this.made = 0;
      this.show();
      let goesOn = await this.advance(0, true);
      while (goesOn && this.count < steps) goesOn = await this.advance(Math.min(10, steps - this.count));
    }

    /** Both lanes as they begin. */
    async rewind() {
      this.pause();
      this.say("");
      if (await this.advance(0, true)) this.tell(true);
      else this.draw();
      const fault = this.fault();
      if (fault) this.now.textContent = this.result.textContent = fault;
    }

    async oneStep() {
      this.pause();
      if (await this.advance(1)) this.tell(true);
    }

    pause() {
      this.playing = false;
      this.playButton.textContent = "Play";
    }

    async play() {
      this.playing = true;
      this.playButton.textContent = "Pause";
      let steps = 1;
      let told = performance.now();
      while (this.playing && !this.signal.aborted) {
        const begun = performance.now();
        const isFast = this.speed === "fast";
        const most = this.engine ? 50 : 5; // a kept run is there at once
        if (!(await this.advance(isFast ? Math.min(steps, most) : 1))) break;
        const took = performance.now() - begun;
        steps = Math.max(1, Math.round((steps * FRAME) / Math.max(took, 1)));
        if (!isFast) await wait(1000 / SPEEDS[this.speed] - took);
        await frame();
        if (performance.now() - told > READING) {
          told = performance.now();
          this.tell(true);
        }
      }
      this.pause();
      this.tell(true);
    }

    async failed(error) {
      this.pause();
      if (this.fault()) return this.say(this.fault());
      if (error.isLost && this.engine?.end) {
        this.engine.end();
        this.engine = null;
        this.turn = null;
        this.patience *= 2; // a slow machine's next worker needs more, or it is lost again, and again
        const { count } = this;
        this.say("The worker that computed was lost; it is started again.");
        await this.loadStep(() => this.again(count));
        if (this.engine) this.say(`The worker that computed was lost. It was started again and took the same ${this.count} steps.`);
      } else if (error.isLost) this.say("No answer: the kernel is busy or was stopped; if it was restarted, run this cell again.");
      else this.say(`The step was not taken: ${error.message}.`);
    }

    // -- results

    /** How a lane does, in words. */
    words(name) {
      const { loss, ended } = this.history[name];
      if (ended) return `${name} has run away: since step ${ended} its loss is not a number`;
      return `${name} ${short(mean(loss.slice(-LAST)))}`;
    }

    /** The state in words: for the eye at each picture, for a screen reader when it is asked for. */
    tell(aloud) {
      if (this.fault()) {
        this.now.textContent = this.fault();
      } else if (!this.count) {
        this.now.textContent = "Step 0: both lanes are as they were drawn. Press Play.";
      } else {
        const steps = Math.min(LAST, this.count);
        const over = steps === 1 ? "loss" : `loss over the last ${steps} steps`;
        const end = this.isOver() ? ` The ${this.engine ? "lanes rest" : "kept run ends"} here; rewind to see it again.` : "";
        this.now.textContent = `Step ${this.count}, ${over}: ${NAMES.map((name) => this.words(name)).join("; ")}.${end}`;
      }
      if (aloud) this.result.textContent = this.now.textContent;
    }

    show() {
      const { options, controls, groups, drawings } = this.setup;
      this.presets.forEach((button, at) => button.setAttribute("aria-pressed", at === this.preset));
      const steps = [...new Set(this.flips.map(({ at }) => at))];
      const kept = this.isStory && steps.length ? `Switches are flipped once more, after step ${steps.join(", ")}.` : "";
      this.story.textContent = this.chosen?.says ?? kept;
      this.taskRadios.querySelector(`[value=${this.task}]`).checked = true;
      this.seedField.value = this.seed;
      this.link.href = this.address();
      for (const name of NAMES) {
        const { words, ...lane } = this.lanes[name];
        for (const part of Object.keys(options)) lane[part].value = words[part];
        lane.depth.value = words.depth;
        lane.depthTold.textContent = words.depth;
        const state = controls.map((control) => {
          const group = groups.find((each) => each.control === control);
          return group ? Number(group.at.some((at) => words.skips[at] === "1")) : options[control].findIndex(([each]) => each === words[control]);
        });
        lane.block.show(drawings[state.join("")]);
        lane.stack.show(this.branches.map((branch, at) => ({ html: blockOf(at, branch, words) })));
        const other = this.lanes[NAMES.find((each) => each !== name)].words;
        const parts = Object.keys(words).filter((part) => words[part] !== other[part]);
        lane.differs.textContent = parts.length ? `Only here: ${parts.map((part) => this.told(part, words[part])).join("; ")}.` : "The same as the other lane.";
      }
      this.functionPicture.caption.textContent = {
        line: "The function, and what it should be (dotted)",
        signals: "Share of held-out signals told right",
        sort: "Share of 256 new sequences sorted without a mistake",
      }[this.task] ?? "";
      this.seenBox.replaceChildren(...(this.task === "spirals" ? this.planes : [this.functionPicture]).map(({ node }) => node));
      this.draw();
    }

    draw() {
      if (!this.history || !this.lossPicture.canvas.clientWidth) return;
      const style = getComputedStyle(this.root);
      const [A, B, first, second, ink, muted, grid] = ["C0", "C1", "C2", "C5", "ink", "muted", "grid"].map((name) => style.getPropertyValue(`--px-${name}`).trim());
      const looks = { A: { colour: A }, B: { colour: B, dash: [6, 4] } };
      const inks = { muted, grid };
      const last = Math.max(100, Math.ceil(this.count / 100) * 100);
      const raw = NAMES.map((name) => ({ ...thin(this.history[name].loss), ...looks[name], dash: [], thick: 0.5 }));
      const losses = NAMES.map((name) => ({ ...thin(smooth(this.history[name].loss)), ...looks[name], thick: 2.5 }));
      plot(this.lossPicture.canvas, [...raw, ...losses], { x: [0, last], y: decades(losses.flatMap(({ y }) => y)), log: true, marks: this.marks }, inks);
      this.lossPicture.canvas.setAttribute("aria-label", `Loss by step. ${this.count ? NAMES.map((name) => this.words(name)).join("; ") : "No step yet"}.`);
      for (const [part, { canvas, caption }] of [["gradient", this.gradientPicture], ["branch", this.branchPicture]]) {
        const lines = NAMES.map((name) => {
          const y = [...(this.history[name][part] ?? [])].slice(0, this.lanes[name].words.depth);
          return { x: y.map((_, at) => at + 1), y, ...looks[name], mark: name === "A" ? "circle" : "square" };
        });
        const { branches } = this;
        const marked = branches.flatMap((branch, at) => (branches.length < 10 || !at || at % 4 === 3 ? [[at + 1, branch.short]] : []));
        plot(canvas, lines, { x: [0.5, branches.length + 0.5], y: decades(lines.flatMap(({ y }) => y)), log: true, ticks: marked }, inks);
        const ends = lines.map(({ y }, i) => (y.length ? `${NAMES[i]} ${short(y[0])} in ${branches[0].name}, ${short(y.at(-1))} in ${branches[y.length - 1].name}` : `${NAMES[i]} none yet`));
        canvas.setAttribute("aria-label", `${caption.textContent}: ${ends.join("; ")}.`);
      }
      if (this.task === "spirals") this.drawPlanes(first, second, ink);
      else this.drawFunction(looks, inks, ink);
      this.tell(false);
    }

    drawPlanes(first, second, ink) {
      const page = getComputedStyle(this.root).backgroundColor;
      this.planes.forEach(({ canvas, caption }, i) => {
        const { seen } = this.history[NAMES[i]];
        paintPlane(canvas, seen, this.setup.dots, [first, second], page || ink);
        const sure = seen ? mean(Array.from(seen, (p) => Number(p > 0.9 || p < 0.1))) : 0;
        canvas.setAttribute("aria-label", `${caption.textContent}; sure of it in ${Math.round(100 * sure)} percent of the plane.`);
      });
    }

    drawFunction(looks, inks, ink) {
      const { canvas, caption } = this.functionPicture;
      if (this.task === "line") {
        const grid = (length) => Array.from({ length }, (_, i) => -2 + (4 * i) / (length - 1));
        const lines = NAMES.map((name) => {
          const y = Array.from(this.history[name].seen ?? []);
          return { x: grid(y.length), y, ...looks[name] };
        });
        const x = grid(100);
        lines.push({ x, y: x.map((at) => at + 0.3 * Math.sin(3 * at)), colour: ink, dash: [1, 4] });
        plot(canvas, lines, { x: [-2, 2], y: [-3, 3] }, inks);
      } else {
        const lines = NAMES.map((name) => {
          const { right } = this.history[name];
          return { x: right.map(([at]) => at), y: right.map(([, share]) => share), ...looks[name] };
        });
        plot(canvas, lines, { x: [0, Math.max(100, Math.ceil(this.count / 100) * 100)], y: [0, 1], marks: this.marks }, inks);
      }
      const told = this.task === "line" ? "" : NAMES.map((name) => `; ${name} ${Math.round(100 * (this.history[name].right.at(-1)?.[1] ?? 0))} percent`).join("");
      canvas.setAttribute("aria-label", `${caption.textContent}${told}.`);
    }
  }

  /** At each step the mean over the last LAST losses, or as many as there are. */
  const smooth = (losses) => losses.map((_, at) => mean(losses.slice(Math.max(0, at - LAST + 1), at + 1)));

  /** Losses at their steps; of very many, the means of neighbours. */
  function thin(losses) {
    const size = Math.ceil(losses.length / 400);
    const [x, y] = [[], []];
    for (let at = 0; at < losses.length; at += size) {
      const part = losses.slice(at, at + size);
      x.push(at + (part.length + 1) / 2);
      y.push(mean(part));
    }
    return { x, y };
  }

  /** A block of the stack in the diagram's language: its number in the branch, and under it the skip, which is pressed. */
  function blockOf(at, branch, { skips, depth = skips.length }) {
    const isOn = skips[at] === "1";
    const isUsed = at < depth;
    const name = `Skip around ${branch.name}${isUsed ? "" : ", which is passed by"}`;
    return `<svg class="px-piece ln-block${isUsed ? "" : " ln-passed"}" role="group" width="40" height="56" viewBox="0 0 40 56">
<g class="px-branch" data-on="${isUsed}"><path class="px-wire" d="M5 42V20q0-6 6-6H27q6 0 6 6V37"/><g class="px-part" data-on="${isUsed}"><rect class="px-box" x="8" y="3" width="22" height="22" rx="4"/><text x="19" y="18.5">${branch.short}</text></g></g>
<g class="px-skip" data-set="${at}" data-to="${isOn ? 0 : 1}" data-role="switch" data-on="${isOn}" data-name="${name}"><rect class="px-hit" x="0" y="28" width="40" height="28" rx="6"/><path class="px-line" d="M0 42H32"/><path class="px-tip" d="M30 36v12l9-6z"/><path class="px-cut" d="M13 36l12 12m0-12l-12 12"/></g></svg>`;
  }

  // ---- start ----------------------------------------------------------------------------------------------

  const setupOf = (root) => JSON.parse(root.querySelector(".ln-setup").textContent);

  /** Start lanes at once, or, where they are closed, when a reader or a link opens them. */
  function whenOpen(root, start) {
    const closed = root.querySelector(".ln-closed");
    if (!closed || closed.open) return start();
    closed.addEventListener("toggle", start, { once: true });
    const follow = () => (closed.open ||= location.hash.startsWith(`#${root.id}?`));
    if (here) {
      follow();
      window.addEventListener("hashchange", follow);
    }
  }

  globalThis.plusxLanes = {
    /** In JupyterLab: the kernel trains. */
    render({ model, el }) {
      el.innerHTML = model.get("markup");
      const root = el.firstElementChild;
      const ended = new AbortController();
      const { signal } = ended;
      const engine = askKernel(model, signal);
      let lanes;
      whenOpen(root, () => (lanes = new Lanes(root, setupOf(root), { engine, signal })));
      const lose = () => { // ipywidgets says so when a kernel restarts, by itself or not
        engine.isGone = true;
        lanes?.pause();
        lanes?.say(lanes.fault());
      };
      plusxFollowHost(root, signal, () => lanes?.draw());
      model.on("comm_live_update", lose);
      signal.addEventListener("abort", () => model.off("comm_live_update", lose));
      return () => ended.abort();
    },
  };
  if (here) document.querySelectorAll(".plusx-lanes").forEach((root) => whenOpen(root, () => (root.plusx = new Lanes(root, setupOf(root), {}))));
})();
