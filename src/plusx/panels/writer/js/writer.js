/**
 * The writer: a language model that goes on from a reader's words, a switch on each of its additions. Who computes is an
 * engine: a worker with onnxruntime-web in the page, torch behind a kernel. Before one is there, what was kept is shown.
 */

import { diagram } from "../../../explore/js/diagram.js";
import { one, unique } from "../../../explore/js/elements.js";

const LAYERS = 30;
const MOST = 40; // tokens of a text
const PARTS = ["attention", "FFN"];

/** @typedef {{ prompt: string, texts: Record<string, string> }} Setup */
/** @typedef {{ text: string, ended: boolean }} Seen */
/** @typedef {{ ask: (question: object) => Promise<Seen>, isGone?: boolean }} Engine */

export class Writer {
  /** Of the parts that are off: "attention skip 3". @type {Set<string>} */
  off = new Set();
  view = unique();
  turn = 0; // of what is to be written; a change begins another
  busy = false;
  /** @type {Engine | undefined} */
  engine;

  /**
   * @param {HTMLElement} root
   * @param {(progress: (share: number) => void) => Promise<Engine>} bring loads the model
   * @param {string} offer the words of the button that does, or why nothing can, beginning with "Not"
   */
  constructor(root, bring, offer) {
    /** @type {Setup} */
    this.setup = JSON.parse(String(one(root, ".wr-setup").textContent));
    this.bring = bring;
    this.cannot = offer.startsWith("Not") ? offer : "";
    const part = (/** @type {string} */ name) => one(root, name);
    [this.given, this.written, this.status] = [".wr-given", ".wr-written", "[role=status]"].map(part);
    this.field = /** @type {HTMLInputElement} */ (part(".wr-prompt"));
    this.progress = /** @type {HTMLProgressElement} */ (part("progress"));
    [this.go, this.whole, this.load] = [".wr-go", ".wr-whole", ".wr-load"].map((name) => /** @type {HTMLButtonElement} */ (part(name)));
    this.wires = [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".px-diagram"))].map((node) => {
      const whole = Array.from(node.children, (piece) => piece.outerHTML);
      return { part: String(node.dataset.part), whole, drawn: diagram(node, (control, layer) => this.toggle(`${control} ${layer}`)) };
    });
    this.load.textContent = offer;
    this.load.hidden = Boolean(this.cannot);
    this.go.disabled = false;
    part("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.go.textContent === "Stop") this.stop();
      else this.changed();
    });
    this.whole.addEventListener("click", () => {
      this.off.clear();
      this.changed();
    });
    this.load.addEventListener("click", () => this.loadModel());
  }

  /** @param {string} name */
  toggle(name) {
    if (!this.off.delete(name)) this.off.add(name);
    this.changed();
  }

  stop() {
    this.turn += 1;
    this.wanted = false;
  }

  async loadModel() {
    this.load.disabled = true;
    this.progress.hidden = false;
    this.say("The model is on its way …");
    try {
      this.engine = await this.bring((share) => (this.progress.value = share));
      this.load.hidden = true;
      this.changed();
    } catch (error) {
      this.load.disabled = false;
      this.say(`The model did not load: ${/** @type {Error} */ (error).message}. Try again.`);
    } finally {
      this.progress.hidden = true;
    }
  }

  /** What is off, in words. */
  get told() {
    if (!this.off.size) return "All sixty skips and sixty branches in place.";
    const first = [...this.off].slice(0, 3).map((name) => name.replace(/ (\d+)$/, " of layer $1"));
    return `Off: ${first.join(", ")}${this.off.size > 3 ? ` and ${this.off.size - 3} more` : ""}.`;
  }

  /** @param {string} words */
  say(words) {
    this.status.textContent = words;
  }

  /** Draw what is off, and begin to write. */
  changed() {
    for (const { part, whole, drawn } of this.wires) {
      drawn.show(whole.map((html, at) => {
        const on = ["branch", "skip"].map((kind) => !this.off.has(`${part} ${kind} ${at + 1}`)); // as they stand in a piece
        return { html: html.replace(/(data-on|aria-checked)="true"/g, (all, name) => (name === "data-on" ? `data-on="${on.shift()}"` : all)) };
      }));
    }
    this.turn += 1;
    this.wanted = true;
    if (this.engine) this.write();
    else this.showKept();
  }

  /** Without a model: what it wrote when it was asked for this book. */
  showKept() {
    const text = this.field.value === this.setup.prompt && this.off.size < 2 ? this.setup.texts[[...this.off].join()] : undefined;
    this.put(this.field.value, text ?? " …");
    this.say(text !== undefined ? this.told : `${this.told} ${this.cannot || "For other words, or more than one cut, load the model."}`);
  }

  /**
   * @param {string} given
   * @param {string} written
   */
  put(given, written) {
    this.given.textContent = given;
    this.written.textContent = written.replace(/\n+/g, " ↵ ");
  }

  /** Token by token, until it has ended, or something has changed: then anew. */
  async write() {
    if (this.busy || !this.engine) return;
    this.busy = true;
    this.go.textContent = "Stop";
    const gates = (/** @type {string} */ kind) => Array.from({ length: 2 * LAYERS }, (_, at) =>
      Number(!this.off.has(`${PARTS[at % 2]} ${kind} ${Math.floor(at / 2) + 1}`)));
    try {
      while (this.wanted) {
        this.wanted = false;
        const { turn } = this;
        const prompt = this.field.value.trim();
        if (!prompt) {
          this.say("Write something that it can go on from.");
          break;
        }
        const state = { view: this.view, skip: gates("skip"), branch: gates("branch") };
        this.say(`${this.told} It writes …`);
        for (let count = 0; count < MOST && turn === this.turn; count++) {
          const seen = await this.engine.ask({ begin: count ? "" : prompt, ...state });
          if (turn !== this.turn) break;
          this.put(prompt, seen.text);
          if (seen.ended) break;
        }
        this.say(this.told);
      }
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.say(this.engine.isGone ? "The kernel has no model any more: run this cell again." : `The model did not answer: ${message}.`);
    } finally {
      this.busy = false;
      this.go.textContent = "Write";
    }
  }
}
