/**
 * The playground: switches on a trained transformer, and what it does with them. Who computes is an
 * engine: a worker with onnxruntime-web in the page, torch behind a kernel in JupyterLab, or the
 * table of presets that the page brings along. Nothing here knows weights.
 */
(() => {
  "use strict";

  const { here, make, unique, unzip, statesOf, loadWorker, askKernel } = globalThis.plusxPanel;
  const PER_LAYER = 7; // switches of a layer, as LAYER in switched.py has them; among them:
  const NORMS = [2, 5];
  const FFN = 3; // the first of its half
  const ACTIVATION = 6;

  // ---- small helpers ---------------------------------------------------------------------------

  const shown = (token) => ({ " ": "␣", "\n": "⏎" })[token] ?? token;
  const spoken = (token) => ({ " ": "space", "\n": "line break" })[token] ?? token;
  const percent = (p) => (p > 0 && p < 0.005 ? "<1 %" : `${Math.round(100 * p)} %`);
  const short = (x) => (Number.isFinite(x) ? (x !== 0 && (Math.abs(x) >= 1e4 || Math.abs(x) < 0.01) ? x.toExponential(1) : x.toFixed(2)) : "not a number");
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  /** log softmax of `count` scores from `at`. */
  function logProbabilities(scores, at, count) {
    const row = scores.subarray(at, at + count);
    let top = -Infinity;
    let total = 0;
    for (const score of row) top = Math.max(top, score);
    for (const score of row) total += Math.exp(score - top);
    total = top + Math.log(total);
    return Array.from(row, (score) => score - total);
  }

  /** Mean cosine of two different tokens after a layer. */
  function meanCosine(seen, layer) {
    const { n, similarity } = seen;
    if (n === 1) return 1;
    const part = similarity.subarray(layer * n * n, (layer + 1) * n * n);
    let others = 0;
    part.forEach((value, i) => (others += i % (n + 1) ? value : 0));
    return others / (n * (n - 1));
  }

  // ---- what answers where no net is loaded -------------------------------------------------------------

  /** The presets at the start texts, as `pack` in page.py wrote them; each is read when it is asked for. */
  class Table {
    static async from(text, setup) {
      const table = new Table();
      const bytes = new Uint8Array(await unzip(await text));
      const half = bytes.length / 2; // low bytes, then high ones
      let at = 0;
      const take = (count, scale) => {
        const begin = at;
        const end = (at += count);
        return () => Float32Array.from(bytes.subarray(begin, end), (low, i) => scale(low + 256 * bytes[half + begin + i]));
      };
      table.states = new Map();
      for (const [name, net] of Object.entries(setup.nets)) {
        const n = net.start.length;
        for (const preset of setup.presets) {
          const parts = {
            scores: take((net.layers + 1) * n * net.alphabet.length, (w) => -Math.expm1(w / 3000)),
            attention: take(net.layers * net.heads * n * n, (w) => w / 65535),
            similarity: take((net.layers + 1) * n * n, (w) => w / 32767 - 1),
            norm: take((net.layers + 1) * n, (w) => Math.expm1(w / 3000)),
          };
          table.states.set([name, net.start, preset.switches].join(), { n, parts });
        }
      }
      if (at !== half) throw new Error("the table has another size");
      return table;
    }

    async ask(net, text, switches) {
      const state = this.states.get([net, text, switches].join());
      if (!state) return undefined;
      const { n, parts } = state;
      return { n, scores: parts.scores(), attention: parts.attention(), similarity: parts.similarity(), norm: parts.norm() };
    }
  }

  // ---- pictures -----------------------------------------------------------------------------------

  /** A square of numbers from 0 (ground) to 1 (ink of the series), one pixel each. */
  function paint(canvas, values, n, colour) {
    if (canvas.width !== n) canvas.width = canvas.height = n; // even the same size empties and allocates
    const context = canvas.getContext("2d");
    const image = context.createImageData(n, n);
    for (let i = 0; i < n * n; i++) {
      const share = Number.isNaN(values[i]) ? 0 : Math.min(Math.max(values[i], 0), 1);
      image.data[4 * i] = colour[0];
      image.data[4 * i + 1] = colour[1];
      image.data[4 * i + 2] = colour[2];
      image.data[4 * i + 3] = 255 * share;
    }
    context.putImageData(image, 0, 0);
  }

  /** The same in large, with the tokens along its sides. */
  function paintLarge(canvas, values, tokens, colour, ink) {
    const n = tokens.length;
    const side = 640;
    const margin = 32;
    const cell = (side - margin) / n;
    canvas.width = canvas.height = side;
    const context = canvas.getContext("2d");
    context.font = `${Math.min(26, Math.max(10, 0.9 * cell))}px monospace`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let i = 0; i < n; i++) {
      context.fillStyle = ink;
      context.fillText(shown(tokens[i]), margin / 2, margin + (i + 0.5) * cell);
      context.fillText(shown(tokens[i]), margin + (i + 0.5) * cell, margin / 2);
      for (let j = 0; j < n; j++) {
        const share = Math.min(Math.max(values[i * n + j] || 0, 0), 1);
        context.fillStyle = `rgba(${colour.join()},${share})`;
        context.fillRect(margin + j * cell, margin + i * cell, cell, cell);
      }
    }
    context.strokeStyle = ink;
    context.strokeRect(margin, margin, side - margin, side - margin);
  }

  // ---- the playground -------------------------------------------------------------------------------

  class Playground {
    /** Until `signal` aborts; in the book's page nothing aborts it. */
    constructor(root, setup, { table, engine, signal = new AbortController().signal }) {
      Object.assign(this, { root, setup, table, engine, signal });
      this.netName = Object.keys(setup.nets)[0];
      this.text = this.net.start;
      this.trained = "1".repeat(this.net.layers * PER_LAYER + 1);
      this.switches = this.trained;
      this.place = 1;
      this.kind = 1;
      this.large = "attention 0 0";
      this.build();
      this.changed(false).then(() => here && this.followLink());
    }

    get net() {
      return this.setup.nets[this.netName];
    }

    /** The part of the text that the net sees. */
    get seenText() {
      return this.text.slice(-this.net.places);
    }

    build() {
      const { setup } = this;
      const stage = this.root.querySelector(".pg-stage");
      const group = unique(); // other views in the same page have radios of their own
      const radios = (name, legend, options, chosen, change) => make("fieldset", { class: "px-radio" }, make("legend", {}, legend),
        ...options.map(([value, label]) => make("label", {},
          make("input", { type: "radio", name: `pg-${name}-${group}`, value, checked: value === chosen, onchange: () => change(value) }), make("span", {}, label))));
      this.netRadios = radios("net", "Net", Object.entries(setup.nets).map(([name, { title }]) => [name, title]), this.netName, (name) => this.chooseNet(name));
      const values = (kind) => setup.switches[kind].labels.map((label, i) => [String(i), label]).slice(1);
      this.normRadios = radios("norm", "Norms stand", values(NORMS[0]), "1", (value) => this.setAll(NORMS, Number(value), "place"));
      this.kindRadios = radios("kind", "Activations", values(ACTIVATION), "1", (value) => this.setAll([ACTIVATION], Number(value), "kind"));

      this.field = make("textarea", { rows: 2, maxlength: 600, spellcheck: "false", autocomplete: "off", oninput: () => { this.text = this.field.value; this.changed(); } });
      this.fieldNote = make("span", { class: "pg-note" });
      this.write = make("button", { type: "button", onclick: () => this.writeOn() }, "Let it write 40 more");
      this.load = make("button", { type: "button", class: "pg-load", onclick: () => this.loadNet() });
      this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": "Loading the net" });
      this.message = make("p", { class: "px-message", role: "alert", hidden: true });
      this.late = make("p", { class: "px-message", role: "status", hidden: true }, "No answer yet: the kernel is busy or was stopped; if it was restarted, run this cell again.");
      this.result = make("p", { class: "px-result", role: "status" });
      this.link = make("a", { class: "px-link", href: "#", hidden: !here }, "Link to this state"); // Lab's address is Lab's

      this.presets = setup.presets.map(({ name, switches }) => {
        const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => this.set(switches) }, name);
        return { button, switches };
      });
      this.layers = [];
      const stack = make("div", { class: "pg-stack" });
      const strip = (layer) => {
        const maps = layer < 0 ? [] : Array.from({ length: this.net.heads }, (_, head) => this.map(`attention ${layer} ${head}`));
        const row = { maps, similarity: this.map(`similarity ${layer + 1}`), words: make("p", { class: "pg-words" }) };
        row.node = make("div", { class: "pg-strip" }, ...maps, row.similarity, row.words);
        return row;
      };
      this.first = strip(-1);
      stack.append(make("div", { class: "pg-layer" }, make("p", { class: "pg-caption" }, "Embeddings of token and place"), this.first.node));
      for (let layer = 0; layer < this.net.layers; layer++) {
        const title = `Layer ${layer + 1}`;
        const node = make("div", { class: "px-diagram", "aria-label": title });
        const diagram = plusxDiagram(node, (control, value) => this.choose(layer, control, value));
        const row = strip(layer);
        this.layers.push({ ...row, diagram });
        stack.append(make("div", { class: "pg-layer" }, make("p", { class: "pg-caption" }, title), node, row.node));
      }
      this.lastNorm = make("button", { type: "button", role: "switch", class: "pg-last", onclick: () => this.put(this.trained.length - 1, 1 - this.switches.at(-1)) }, "last norm");
      stack.append(make("div", { class: "pg-layer pg-end" }, this.lastNorm));

      this.largeCanvas = make("canvas", { role: "img" });
      this.largeCaption = make("figcaption", {});
      this.lens = make("div", { class: "pg-lens", tabindex: 0, role: "region", "aria-label": "Logit lens, a table" });
      this.bars = make("ol", { class: "pg-bars" });
      this.barsTitle = make("h3", {});
      this.challenges = setup.challenges.map((challenge) => this.challenge(challenge));

      // What says the answer comes before the stack for the keyboard, and stands below it for the eye (see playground.css).
      this.bench = make("div", { class: "pg-bench" },
        this.netRadios,
        make("label", { class: "pg-field" }, make("span", {}, "Input"), this.field),
        make("div", { class: "pg-row" }, this.fieldNote, this.write, this.link),
        make("div", { class: "pg-row pg-presets", role: "group", "aria-label": "Presets" }, ...this.presets.map(({ button }) => button)),
        make("div", { class: "pg-row" }, this.normRadios, this.kindRadios),
        make("div", { class: "pg-said" }, make("div", {}, this.message, this.late, this.result), this.load, this.progress),
        make("div", { class: "pg-answer" }, this.barsTitle, this.bars),
        make("h3", {}, "The stack"),
        make("p", { class: "pg-note" }, "Every thick line at the bottom of a layer, every box and every pill is a switch. A norm has two places, and stands in one of them or in none. Keyboard: Tab goes from layer to layer, arrows from switch to switch, space switches. With each layer: the attention of its four heads (row: who takes, column: from whom), then how alike the tokens are after it."),
        stack,
      );
      stage.replaceChildren(
        this.bench,
        make("figure", { class: "pg-large" }, this.largeCanvas, this.largeCaption),
        make("h3", {}, "Logit lens: what each layer would answer"),
        this.lens,
        make("h3", {}, "Challenges"),
        make("ol", { class: "pg-challenges" }, ...this.challenges),
      );
      this.offerLoading();
      this.followTheme();
      if (!here) return;
      window.addEventListener("hashchange", () => this.followLink());
      const up = document.getElementById("pst-back-to-top");
      const noteSight = ([{ isIntersecting }]) => up?.classList.toggle("pg-in-sight", isIntersecting);
      new IntersectionObserver(noteSight).observe(this.bench);
    }

    /** Paint anew when the page goes from light to dark or back, as the book or the system tells it. */
    followTheme() {
      const repaint = () => this.repaint();
      const watch = new MutationObserver(repaint);
      for (const node of [document.documentElement, document.body]) watch.observe(node, { attributeFilter: ["data-theme"] });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint, { signal: this.signal });
      this.signal.addEventListener("abort", () => watch.disconnect());
    }

    repaint() {
      if (this.seen && String(this.colours()) !== String(this.paintedIn)) this.draw();
    }

    /** What pictures are painted in: attention, similarity, letters. */
    colours() {
      const style = getComputedStyle(this.root);
      return ["--px-C0", "--px-C1", "--px-ink"].map((name) => style.getPropertyValue(name).trim());
    }

    map(name) {
      return make("button", { type: "button", class: "pg-map", "data-map": name, "aria-pressed": "false",
        onclick: () => { this.large = name; if (this.seen) this.draw(); } }, make("canvas", { width: 1, height: 1, "aria-hidden": "true" }));
    }

    challenge({ net, ask, accepted, told }) {
      const verdict = make("p", { role: "status", class: "pg-verdict" });
      const check = () => {
        const changed = this.changes(this.switches).length;
        const wanted = [...accepted[0]].filter((digit, i) => digit !== this.trained[i]).length;
        const right = this.netName === net && accepted.includes(this.switches);
        verdict.classList.toggle("pg-solved", right);
        if (right) verdict.textContent = `Solved. ${told}`;
        else if (this.netName !== net) verdict.textContent = `Not yet: this one is about the net for ${this.setup.nets[net].title.toLowerCase()}.`;
        else if (changed !== wanted) verdict.textContent = `Not yet: ${changed} of the switches differ from training, it takes ${wanted}.`;
        else verdict.textContent = "Not yet: the number of switches is right, but not which.";
      };
      return make("li", {}, make("p", {}, ask), make("button", { type: "button", onclick: check }, "Check my switches"), verdict);
    }

    // -- what the reader does

    /** What a press in a layer's diagram asks for; an activation comes back as the one that was last chosen. */
    choose(layer, control, value) {
      const kind = this.setup.switches.findIndex((each) => each.control === control);
      const index = layer * PER_LAYER + kind;
      const comesBack = kind === ACTIVATION && this.switches[index] === "0";
      this.put(index, comesBack ? this.kind : value);
    }

    put(index, digit) {
      this.set(this.switches.slice(0, index) + digit + this.switches.slice(index + 1));
    }

    /** Give all switches of some kinds that are on another value. */
    setAll(kinds, value, memory) {
      this[memory] = value;
      this.set(Array.from(this.switches, (digit, i) =>
        i < this.net.layers * PER_LAYER && kinds.includes(i % PER_LAYER) && digit !== "0" ? value : digit).join(""));
    }

    set(switches) {
      this.switches = switches;
      this.changed();
    }

    chooseNet(name) {
      this.netName = name;
      this.text = this.net.start;
      this.changed();
    }

    /** Let the net append characters, each drawn from what it expects, a little sharpened. */
    async writeOn() {
      if (this.fault()) return;
      this.write.disabled = true;
      const { net } = this;
      let { text } = this;
      let seed = text.length;
      try {
        for (let i = 0; i < 40; i++) {
          const { scores } = await this.answer();
          if (this.net !== net || this.text !== text) break; // the reader has gone on
          const logs = logProbabilities(scores, scores.length - net.alphabet.length, net.alphabet.length);
          const weights = logs.map((log) => Math.exp(log / 0.7));
          seed = (seed * 1103515245 + 12345) % 2147483648; // the same words for the same text and switches
          let left = (seed / 2147483648) * sum(weights);
          const next = weights.findIndex((weight) => (left -= weight) < 0);
          text = this.text = this.field.value = text + net.alphabet[next < 0 ? 0 : next];
        }
      } catch {
        // asked again below, and told there
      }
      this.write.disabled = false;
      this.changed();
    }

    address() {
      return `#${this.root.id}?${new URLSearchParams({ net: this.netName, switches: this.switches, text: this.text })}`;
    }

    /** Take the state from the address, if it speaks of this playground. */
    followLink() {
      const [name, query] = location.hash.slice(1).split("?");
      if (name !== this.root.id || query === undefined) return false;
      const asked = new URLSearchParams(query);
      const net = asked.get("net") ?? this.netName;
      const switches = asked.get("switches") ?? this.trained;
      const fits = switches.length === this.trained.length && [...switches].every((digit, i) => digit >= 0 && digit < (i < switches.length - 1 ? this.setup.switches[i % PER_LAYER].labels.length : 2));
      const known = Object.hasOwn(this.setup.nets, net);
      if (known) this.netName = net;
      if (fits) this.switches = switches;
      this.text = asked.get("text") ?? this.net.start;
      const wrong = [...(known ? [] : [`net=${net}`]), ...(fits ? [] : [`switches=${switches}`])];
      this.linkWrong = wrong.length ? `The link asks for ${wrong.join(", ")}, which is not offered here.` : "";
      this.changed(false);
      this.root.scrollIntoView();
      return true;
    }

    // -- loading

    offerLoading() {
      this.load.hidden = Boolean(this.engine);
      this.write.disabled = !this.engine;
      if (this.engine) return;
      const { files } = this.root.dataset;
      this.cannot = "";
      if (location.protocol === "file:") this.cannot = "This page was opened from disk, where a browser starts no worker";
      else if (typeof WebAssembly !== "object") this.cannot = "This browser has no WebAssembly";
      this.files = JSON.parse(files || "{}");
      const bytes = sum(Object.values(this.files).map((file) => file.bytes));
      this.load.textContent = `Load the nets (${(bytes / 1e6).toFixed(1)} MB)`;
      this.load.hidden = Boolean(this.cannot);
    }

    async loadNet() {
      this.load.disabled = true;
      this.progress.hidden = false;
      try {
        this.engine = await loadWorker("playground-worker.js", this.files, (share) => (this.progress.value = share));
      } catch (error) {
        this.load.disabled = false;
        this.say(`The nets did not load: ${error.message}. Try again, or use the presets, which need no loading.`);
        return;
      } finally {
        this.progress.hidden = true;
      }
      this.offerLoading();
      this.changed(false);
    }

    // -- what the net answers

    say(text) {
      this.message.textContent = text;
      this.message.hidden = !text;
    }

    /** What keeps the net from answering, if anything. */
    fault() {
      if (this.engine?.isGone) return "The kernel has no playground any more: run this cell again.";
      if (!this.text) return "Write something: the net needs at least one character.";
      const { alphabet } = this.net;
      const unknown = [...new Set(this.seenText)].filter((token) => !alphabet.includes(token));
      return unknown.length ? `The net does not know ${unknown.join(" ")}. It was trained on ${this.net.knows}.` : "";
    }

    async answer() {
      const { netName: net, seenText: text, switches } = this;
      const tokens = Array.from(text, (token) => this.net.alphabet.indexOf(token));
      const late = setTimeout(() => (this.late.hidden = Boolean(here || this.fault())), 4000);
      try {
        if (this.engine) return await this.engine.ask({ net, tokens, switches: Array.from(switches, Number) });
        return (await this.table)?.ask(net, text, switches);
      } finally {
        clearTimeout(late);
        this.late.hidden = true;
      }
    }

    /** Show the state at once, and what the net makes of it when it is known; of several changes, only the last. */
    async changed(remember = true) {
      this.showState();
      if (remember && here) history.replaceState(null, "", this.address());
      if (!remember && this.linkWrong) this.say(this.linkWrong);
      this.linkWrong = "";
      const fault = this.fault();
      this.root.classList.toggle("pg-stale", Boolean(fault));
      if (fault) return this.say(fault);
      if (remember) this.say("");
      this.wanted = true;
      if (this.busy) return;
      this.busy = true;
      try {
        while (this.wanted) {
          this.wanted = false;
          const state = [this.net, this.seenText, this.switches];
          const seen = await this.answer();
          if (this.wanted || this.fault()) continue;
          this.root.classList.toggle("pg-stale", !seen);
          if (seen) {
            [this.seen, this.seenState] = [seen, state];
            await this.draw();
          } else {
            this.result.textContent = this.cannot
              ? `${this.cannot}: only the presets can be shown, at the first input. They were computed when the book was built.`
              : "The nets are not loaded yet: without them only the presets answer, at the first input.";
          }
        }
      } catch (error) {
        this.root.classList.add("pg-stale");
        this.say(this.fault() || `The net did not answer: ${error.message}. The picture is the last good one.`);
      } finally {
        this.busy = false;
      }
    }

    /** The names of the switches that differ from training. */
    changes(switches) {
      return Array.from(switches, (digit, i) => {
        if (digit === this.trained[i]) return null;
        const { name, labels } = this.setup.switches[i % PER_LAYER];
        const full = i === switches.length - 1 ? "last norm" : `${name} ${Math.floor(i / PER_LAYER) + 1}`;
        if (digit === "0") return `no ${full}`;
        return `${full} ${i % PER_LAYER === ACTIVATION ? "as " : ""}${labels[digit]}`;
      }).filter(Boolean);
    }

    /** What a layer is drawn from. An activation that is off shows the one that a press brings back. */
    pieces(layer) {
      const { pieces, halves, switches } = this.setup;
      const digits = this.switches.slice(layer * PER_LAYER, (layer + 1) * PER_LAYER);
      const { labels } = switches[ACTIVATION];
      const named = (html) => (digits[ACTIVATION] === "0" ? html.replace(`>${labels[1]}<`, `>${labels[this.kind]}<`) : html);
      return [...halves[0][digits.slice(0, FFN)], ...halves[1][digits.slice(FFN)]].map((at) => ({ html: named(pieces[at]) }));
    }

    showState() {
      const digits = Array.from(this.switches, Number);
      const on = (kinds) => digits.slice(0, -1).filter((digit, i) => kinds.includes(i % PER_LAYER) && digit);
      const common = (values, before) => (values.length && values.every((value) => value === values[0]) ? values[0] : before);
      this.place = common(on(NORMS), this.place);
      this.kind = common(on([ACTIVATION]), this.kind);
      this.layers.forEach(({ diagram }, layer) => diagram.show(this.pieces(layer)));
      this.lastNorm.setAttribute("aria-checked", digits.at(-1) === 1);
      for (const { button, switches } of this.presets) button.setAttribute("aria-pressed", switches === this.switches);
      const check = (radios, value) => { for (const input of radios.querySelectorAll("input")) input.checked = input.value === String(value); };
      check(this.netRadios, this.netName);
      check(this.normRadios, this.place);
      check(this.kindRadios, this.kind);
      if (this.field.value !== this.text) this.field.value = this.text;
      const left = this.text.length - this.net.places;
      this.fieldNote.textContent = left > 0 ? `The net sees the last ${this.net.places}.` : `${this.net.hint}, up to ${this.net.places}.`;
      this.write.hidden = !this.net.causal;
      this.link.href = this.address();
    }

    /**
     * What was last computed, which need not be of the present state: that may want nets that are not loaded. In two
     * tasks, so that a slow phone shows the answer before it paints the large picture and the lens.
     */
    async draw() {
      const { seen } = this;
      const [net, text, switches] = this.seenState;
      const { n } = seen;
      const [attention, similarity, ink] = (this.paintedIn = this.colours());
      const colours = [attention, similarity].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
      const tokens = [...text];
      const wanted = net.causal ? tokens.slice(1) : [...tokens].sort();
      const size = net.alphabet.length;
      const logs = (layer, place) => logProbabilities(seen.scores, (layer * n + place) * size, size);

      // The answer, and in words.
      const last = tokens.map((_, place) => logs(net.layers, place));
      const best = last.map((row) => row.indexOf(Math.max(...row)));
      const losses = wanted.map((token, place) => -last[place][net.alphabet.indexOf(token)]);
      const loss = losses.length ? short(sum(losses) / losses.length) : null;
      const cosine = meanCosine(seen, net.layers);
      const changes = this.changes(switches);
      const state = changes.length > 3 ? `${changes.length} switches changed` : changes.join(", ") || "as trained";
      const parts = [];
      if (net.causal) {
        if (loss) parts.push(`${loss} nats per character on this text (guessing ${Math.log(size).toFixed(2)})`);
        const top = best.at(-1);
        parts.push(`next: ${spoken(net.alphabet[top] ?? "–")}, ${percent(Math.exp(last.at(-1)[top]))}`);
      } else {
        const right = wanted.filter((token, place) => net.alphabet[best[place]] === token).length;
        parts.push(`answer ${best.map((token) => net.alphabet[token] ?? "–").join("")}: ${right} of ${n} places right`, `loss ${loss}`);
      }
      parts.push(`mean cosine of the tokens at the end ${short(cosine)}`);
      const isPresent = !this.root.classList.contains("pg-stale");
      if (isPresent) this.result.textContent = `${state[0].toUpperCase()}${state.slice(1)}: ${parts.join("; ")}.`;
      this.drawBars(net, last, best, wanted);

      // Each layer.
      const row = (strip, layer) => {
        strip.maps.forEach((button, head) => {
          const at = ((layer - 1) * net.heads + head) * n * n;
          this.drawMap(button, seen.attention.subarray(at, at + n * n), n, colours[0]);
          button.setAttribute("aria-label", `Layer ${layer}, attention of head ${head + 1}`);
        });
        this.drawMap(strip.similarity, seen.similarity.subarray(layer * n * n, (layer + 1) * n * n), n, colours[1]);
        strip.similarity.setAttribute("aria-label", `Similarity of the tokens ${layer ? `after layer ${layer}` : "before layer 1"}`);
        const length = sum(Array.from(seen.norm.subarray(layer * n, (layer + 1) * n))) / n;
        strip.words.replaceChildren(make("span", {}, `cosine ${short(meanCosine(seen, layer))}`), make("span", {}, `length ${short(length)}`));
      };
      row(this.first, 0);
      this.layers.forEach((strip, layer) => row(strip, layer + 1));
      await new Promise((resolve) => setTimeout(resolve));
      if (seen !== this.seen) return; // drawn anew meanwhile
      this.drawLarge(net, tokens, colours, ink);
      this.drawLens(net, logs, tokens, wanted, colours[0]);
    }

    drawMap(button, values, n, colour) {
      paint(button.firstChild, values, n, colour);
      button.setAttribute("aria-pressed", button.dataset.map === this.large);
    }

    drawLarge(net, tokens, colours, ink) {
      const { seen } = this;
      const { n } = seen;
      const [what, layer, head] = this.large.split(" ");
      const attention = what === "attention";
      const at = (attention ? layer * net.heads + Number(head) : Number(layer)) * n * n;
      const values = seen[what].subarray(at, at + n * n);
      paintLarge(this.largeCanvas, values, tokens, colours[attention ? 0 : 1], ink);
      let words;
      if (attention) {
        const own = sum(tokens.map((_, i) => values[i * n + i])) / n;
        const before = n > 1 ? sum(tokens.slice(1).map((_, i) => values[(i + 1) * n + i])) / (n - 1) : 0;
        words = `Layer ${Number(layer) + 1}, head ${Number(head) + 1}. A token takes ${percent(own)} from itself and ${percent(before)} from the one before, on average.`;
      } else {
        words = `Cosine of each two tokens ${Number(layer) ? `after layer ${layer}` : "before layer 1"}: on average ${short(meanCosine(seen, Number(layer)))}.`;
      }
      this.largeCaption.textContent = words;
      this.largeCanvas.setAttribute("aria-label", words);
    }

    drawBars(net, last, best, wanted) {
      let bars;
      if (net.causal) {
        this.barsTitle.textContent = "The next character";
        const logs = last.at(-1);
        const order = logs.map((_, i) => i).sort((a, b) => logs[b] - logs[a]).slice(0, 6);
        bars = order.map((token) => [net.alphabet[token], Math.exp(logs[token]), ""]);
      } else {
        this.barsTitle.textContent = "The answer, and how sure the net is of the right digit";
        bars = wanted.map((token, place) => {
          const said = net.alphabet[best[place]] ?? "–";
          return [said, Math.exp(last[place][net.alphabet.indexOf(token)]), said === token ? "" : `, right: ${token}`];
        });
      }
      this.bars.replaceChildren(...bars.map(([token, p, note]) => make("li", {},
        make("span", { class: "pg-token" }, make("span", { "aria-hidden": "true" }, shown(token)), make("span", { class: "pg-hidden" }, spoken(token))),
        make("span", { class: "pg-bar", "aria-hidden": "true" }, make("span", { style: `width:${Number.isFinite(p) ? 100 * p : 0}%` })),
        make("span", {}, `${percent(p)}${note}`))));
    }

    drawLens(net, logs, tokens, wanted, colour) {
      const key = `${net.title} ${tokens.length}`;
      if (this.lensKey !== key) {
        this.lensKey = key;
        this.lensHead = tokens.map(() => make("th", { scope: "col" }));
        this.lensCells = Array.from({ length: net.layers + 1 }, () => tokens.map(() => make("td")));
        this.lens.replaceChildren(make("table", {},
          make("caption", {}, net.causal ? "Below each character: what each layer expects to follow. The more colour, the more probable is what did follow." : "At each place: the digit that each layer would answer. The more colour, the more probable is the right one."),
          make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "input"), ...this.lensHead)),
          make("tbody", {}, ...this.lensCells.map((cells, layer) => make("tr", {}, make("th", { scope: "row" }, layer ? `layer ${layer}` : "start"), ...cells)))));
      }
      tokens.forEach((token, i) => (this.lensHead[i].textContent = shown(token)));
      this.lensCells.forEach((cells, layer) => cells.forEach((cell, place) => {
        const row = logs(layer, place);
        const said = shown(net.alphabet[row.indexOf(Math.max(...row))] ?? "–");
        const right = wanted[place] === undefined ? 0 : Math.exp(row[net.alphabet.indexOf(wanted[place])]);
        if (cell.textContent !== said) cell.textContent = said;
        cell.style.backgroundColor = `rgba(${colour.join()},${(0.5 * (right || 0)).toFixed(3)})`;
      }));
    }
  }

  // ---- start ----------------------------------------------------------------------------------------

  async function start(root) {
    const setup = JSON.parse(root.querySelector(".pg-setup").textContent);
    const table = Table.from(statesOf(root), setup).catch(() => undefined); // without presets the net still answers
    root.plusx = new Playground(root, setup, { table });
    if (!(await table)) root.plusx.say("The table of presets is damaged or missing: load the nets to see anything.");
  }

  globalThis.plusxPlayground = {
    /** In JupyterLab: the kernel computes. */
    render({ model, el }) {
      el.innerHTML = model.get("markup");
      const root = el.firstElementChild;
      const ended = new AbortController();
      const { signal } = ended;
      const engine = askKernel(model, signal);
      const playground = new Playground(root, JSON.parse(root.querySelector(".pg-setup").textContent), { engine, signal });
      const lose = () => { // ipywidgets says so when a kernel restarts, by itself or not
        engine.isGone = true;
        playground.changed(false);
      };
      plusxFollowHost(root, signal, () => playground.repaint());
      model.on("comm_live_update", lose);
      signal.addEventListener("abort", () => model.off("comm_live_update", lose));
      return () => ended.abort();
    },
  };
  if (here) document.querySelectorAll(".plusx-playground").forEach((root) => start(root));
})();
