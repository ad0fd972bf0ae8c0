/**
 * The playground: switches on a trained transformer, and what it does with them. Who computes is an
 * engine: a worker with onnxruntime-web in the page, torch behind a kernel in JupyterLab, or the
 * table of presets that the page brings along. Nothing here knows weights.
 */

import { statesOf } from "../../../explore/js/states.js";
import { here, panels } from "../../js/engine.js";
import { Bench } from "./bench.js";
import { ACTIVATION, FFN, NORMS, PER_LAYER, short } from "./readings.js";
import { tableOf } from "./table.js";

const LOADING = { script: "playground-worker.js", what: "nets", offered: "the nets", instead: "use the presets" };

class Playground extends Bench {
  place = 1; // where norms were last put
  kind = 1; // of activation, as last chosen

  constructor(root, beside) {
    super(root, LOADING, beside);
    if (!this.engine) this.table = tableOf(statesOf(root), this.setup).catch(() => { // without presets the net still answers
      this.say("The table of presets is damaged or missing: load the nets to see anything.");
    });
    this.netName = Object.keys(this.setup.nets)[0];
    this.text = this.net.start;
    this.trained = "1".repeat(this.net.layers * PER_LAYER + 1);
    this.switches = this.trained;
    this.build();
    this.followLinks(this.changed(false));
  }

  engineChanged() {
    return this.changed(false);
  }

  get net() {
    return this.setup.nets[this.netName];
  }

  /** The part of the text that the net sees. */
  get seenText() {
    return this.text.slice(-this.net.places);
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

  address() {
    return `#${this.root.id}?${new URLSearchParams({ net: this.netName, switches: this.switches, text: this.text })}`;
  }

  /** What a link sets. take: gives a part of it, if that fits, else what is usual. */
  obey(take) {
    const { nets, switches } = this.setup;
    const last = this.trained.length - 1;
    const fits = (digit, i) => digit >= 0 && digit < (i < last ? switches[i % PER_LAYER].labels.length : 2);
    this.netName = take("net", this.netName, (net) => Object.hasOwn(nets, net));
    this.switches = take("switches", this.trained, (digits) => digits.length === last + 1 && [...digits].every(fits));
    this.text = take("text", this.net.start);
    this.changed(false);
  }

  // -- what the net answers

  /** What keeps the net from answering, if anything. */
  fault() {
    if (this.engine?.isGone) return "The kernel has no playground any more: run this cell again.";
    if (!this.text) return "Write something: the net needs at least one character.";
    const { alphabet } = this.net;
    const unknown = [...new Set(this.seenText)].filter((token) => !alphabet.includes(token));
    const named = unknown.map((token) => ({ "\t": "a tab", "\n": "a line break" })[token] ?? token);
    return unknown.length ? `The net does not know ${named.join(" ")}. It was trained on ${this.net.knows}.` : "";
  }

  async answer() {
    const { netName: net, seenText: text, switches } = this;
    const tokens = Array.from(text, (token) => this.net.alphabet.indexOf(token));
    const late = setTimeout(() => (this.late.hidden = Boolean(here || this.fault())), 4000);
    try {
      if (this.engine) return await this.engine.ask({ net, tokens, switches: Array.from(switches, Number) });
      return (await this.table)?.(net, text, switches);
    } finally {
      clearTimeout(late);
      this.late.hidden = true;
    }
  }

  /** Show the state at once, and what the net makes of it when it is known; of several changes, only the last. */
  async changed(remember = true) {
    this.showState();
    if (remember && here) history.replaceState(null, "", this.address());
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
          this.result.textContent = this.known(state[2]) + (this.cannot
            ? `${this.cannot}: only the presets can be shown, at the first input, and of one switch alone its loss. They were computed when the book was built.`
            : "The nets are not loaded yet: without them only the presets are shown, at the first input, and of one switch alone its loss.");
        }
      }
    } catch (error) {
      this.root.classList.add("pg-stale");
      this.say(this.fault() || `The net did not answer: ${error.message}. The picture is the last good one.`);
    } finally {
      this.busy = false;
    }
  }

  /** What the chapter's table says of a setting. */
  known(switches) {
    const losses = this.setup.known[this.netName] ?? {};
    if (!(switches in losses)) return "";
    const [loss, whole] = [switches, this.trained].map((each) => short(losses[each]));
    return `${this.changes(switches).join(", ")}: a loss of ${loss} on held-out data, ${whole} as trained. `;
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
    for (const [layer, diagram] of this.diagrams.entries()) diagram.show(this.pieces(layer));
    this.lastNorm.setAttribute("aria-checked", digits.at(-1) === 1);
    const preset = this.setup.presets.findIndex(({ switches }) => switches === this.switches);
    this.mark(preset, [this.netRadios, this.netName], [this.normRadios, this.place], [this.kindRadios, this.kind]);
    if (this.field.value !== this.text) this.field.value = this.text;
    const left = this.text.length - this.net.places;
    this.fieldNote.textContent = left > 0 ? `The net sees the last ${this.net.places}.` : `${this.net.hint}, up to ${this.net.places}.`;
  }
}

export default panels("playground", (root, beside) => new Playground(root, beside));
