/**
 * The writer: a language model that goes on from a reader's words, a switch on each of its additions. Who computes is an
 * engine: a worker with onnxruntime-web in the page, torch behind a kernel. Before one is there, what was kept is shown,
 * which types itself unless the reader wants no motion.
 */

import { diagram } from "../../../explore/js/diagram.js";
import { unique } from "../../../explore/js/elements.js";
import { loadWorker, panels, setupOf } from "../../js/engine.js";

const MOST = 40; // tokens of a text
const GONE = "The kernel has no model any more: run this cell again.";

class Writer {
  off = new Set(); // the parts that are off: "attention skip 3"
  view = unique();
  turn = 0; // of what is to be written; a change begins another
  busy = false;
  typing = 0;
  still = matchMedia("(prefers-reduced-motion: reduce)");
  cannot = ""; // why no model can be loaded
  engine = null;

  /** Without a kernel, a model comes into a worker that the site has brought along. */
  constructor(root, kernel) {
    root.plusx = this;
    Object.assign(this, { kernel, setup: setupOf(root), files: JSON.parse(root.dataset.files ?? "{}") });
    for (const name of ["given", "written", "rest", "whole", "load"]) this[name] = root.querySelector(`.wr-${name}`);
    this.status = root.querySelector("[role=status]");
    this.progress = root.querySelector("progress");
    this.wires = Array.from(root.querySelectorAll(".px-diagram"), (node) => {
      const whole = Array.from(node.children, (piece) => piece.outerHTML);
      return { part: node.dataset.part, whole, drawn: diagram(node, (control, layer) => this.toggle(`${control} ${layer}`)) };
    });
    const bytes = Object.values(this.files).reduce((sum, file) => sum + file.bytes, 0);
    if (!kernel && !bytes) this.cannot = "Not here: other words, and more cuts than one, want the model, which this page does not bring along. Open the chapter in JupyterLab.";
    else if (!kernel && location.protocol === "file:") this.cannot = "Not from disk, where a browser starts no worker.";
    else if (!kernel) this.load.textContent += ` (${Math.round(bytes / 1e6)} MB)`;
    const form = root.querySelector("form"); // the first page has none: there only what was kept can be asked for
    if (form) {
      this.field = form.querySelector("input");
      this.go = form.querySelector("button");
      this.field.readOnly = this.go.hidden = Boolean(this.cannot);
      this.go.disabled = false;
      if (this.cannot) this.say(`${this.told} ${this.cannot}`);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (!this.busy) return this.changed();
        this.turn += 1; // it stops
      });
    }
    this.load.hidden = Boolean(this.cannot || !form);
    this.whole.hidden = false;
    this.whole.addEventListener("click", () => {
      if (this.off.size) this.off.clear();
      else this.off.add(this.setup.example);
      this.changed();
    });
    this.load.addEventListener("click", () => this.loadModel());
  }

  engineChanged() {
    this.say(GONE);
  }

  toggle(name) {
    const was = this.off.has(name);
    if (!this.field || this.cannot) this.off.clear(); // one at a time was kept
    if (was) this.off.delete(name);
    else this.off.add(name);
    this.changed();
  }

  async loadModel() {
    this.load.disabled = true;
    this.progress.hidden = false;
    this.say("The model is on its way …");
    try {
      this.engine = await this.bring();
      this.load.hidden = true;
      this.changed();
    } catch ({ message, final }) {
      this.load.disabled = false;
      this.say(`The model did not load: ${message.replace(/\.$/, "")}.${final ? "" : " Try again."}`);
    } finally {
      this.progress.hidden = true;
    }
  }

  async bring() {
    const { kernel } = this;
    if (!kernel) return loadWorker("writer-worker.js", this.files, (share) => (this.progress.value = share));
    this.progress.removeAttribute("value"); // the kernel does not say how far it is
    if (kernel.isGone) throw new Error(GONE);
    await kernel.ask({ view: "", begin: "", skip: [], branch: [] });
    return kernel;
  }

  /** What is off, in words. */
  get told() {
    if (!this.off.size) return "All skips and branches in place.";
    const first = [...this.off].slice(0, 3).map((name) => name.replace(/ (\d+)$/, " of layer $1"));
    return `Off: ${first.join(", ")}${this.off.size > 3 ? ` and ${this.off.size - 3} more` : ""}.`;
  }

  say(words) {
    this.status.textContent = words;
  }

  /** Draw what is off, and begin to write. */
  changed() {
    for (const { part, whole, drawn } of this.wires) {
      drawn.show(whole.map((html, at) => {
        const on = ["branch", "skip"].map((kind) => !this.off.has(`${part} ${kind} ${at + 1}`)); // as they stand in a piece
        return { html: html.replace(/data-on="true"/g, () => `data-on="${on.shift()}"`) };
      }));
    }
    this.whole.textContent = this.off.size ? "All whole" : "Cut one skip";
    clearInterval(this.typing);
    this.turn += 1;
    if (this.engine) this.writing = this.write(this.writing, this.turn);
    else this.showKept();
  }

  /** Without a model: what it wrote when it was asked for this book. */
  showKept() {
    const { prompt, texts } = this.setup;
    const given = this.field?.value ?? prompt;
    const text = given === prompt && this.off.size < 2 ? texts[[...this.off].join()] : undefined;
    this.say(text !== undefined ? this.told : `${this.told} ${this.cannot || "For other words, or more than one cut, load the model."}`);
    const letters = shown(text ?? " …");
    let at = this.still.matches || document.hidden ? letters.length : 0;
    const put = () => {
      this.put(given, letters.slice(0, at), letters.slice(at));
      if (at++ >= letters.length) clearInterval(this.typing);
    };
    this.typing = setInterval(put, 22);
    put();
  }

  /** rest: what is still to come. */
  put(given, written, rest = "") {
    [this.given.textContent, this.written.textContent, this.rest.textContent] = [given, written, rest];
  }

  /** Token by token, until it has ended, or something has changed. before: what was being written. */
  async write(before, turn) {
    await before;
    if (turn !== this.turn) return;
    const prompt = this.field.value.trim();
    if (!prompt) return this.say("Write something that it can go on from.");
    const gates = (kind) => this.wires[0].whole.flatMap((_, at) =>
      this.wires.map(({ part }) => Number(!this.off.has(`${part} ${kind} ${at + 1}`))));
    const state = { view: this.view, skip: gates("skip"), branch: gates("branch") };
    this.busy = true;
    this.go.textContent = "Stop";
    this.say(`${this.told} It writes …`);
    try {
      for (let count = 0; count < MOST; count++) {
        const seen = await this.engine.ask({ begin: count ? "" : prompt, ...state });
        if (turn !== this.turn) break;
        this.put(prompt, shown(seen.text));
        if (seen.ended) break;
      }
      this.say(this.told);
    } catch ({ message }) {
      this.say(this.engine.isGone ? GONE : `The model did not answer: ${message}.`);
    }
    this.busy = false;
    this.go.textContent = "Write";
  }
}

/** In lines as wide as there is room: its own line breaks as signs. */
const shown = (text) => text.replace(/\n+/g, " ↵ ");

export default panels("writer", (root, beside) => new Writer(root, beside?.engine));
