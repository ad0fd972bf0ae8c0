/**
 * The writer: a language model that goes on from a reader's words, a switch on each of its additions. Who computes is an
 * engine: a worker with onnxruntime-web in the page, torch behind a kernel. Before one is there, what was kept is shown,
 * which types itself unless the reader wants no motion.
 */

import { diagram } from "../../../explore/js/diagram.js";
import { one, unique } from "../../../explore/js/elements.js";
import { setupOf } from "../../js/engine.js";

const MOST = 40; // tokens of a text
const PARTS = ["attention", "FFN"];
export const GONE = "The kernel has no model any more: run this cell again.";

/** @typedef {{ prompt: string, texts: Record<string, string>, example: string }} Setup */
/** @typedef {{ text: string, ended: boolean }} Seen */
/** @typedef {{ ask: (question: object) => Promise<Seen>, isGone?: boolean }} Engine */

export class Writer {
  /** Of the parts that are off: "attention skip 3". @type {Set<string>} */
  off = new Set();
  view = unique();
  turn = 0; // of what is to be written; a change begins another
  wanted = false;
  busy = false;
  typing = 0;
  still = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Engine | undefined} */
  engine;

  /**
   * @param {HTMLElement} root
   * @param {(progress: (share: number) => void) => Promise<Engine>} bring loads the model
   * @param {string} offer the words of the button that does, or why nothing can, beginning with "Not"
   */
  constructor(root, bring, offer) {
    /** @type {Setup} */
    this.setup = setupOf(root);
    root.plusx = this;
    this.bring = bring;
    this.cannot = offer.startsWith("Not") ? offer : "";
    const part = (/** @type {string} */ name) => one(root, name);
    [this.given, this.written, this.status] = [".wr-given", ".wr-written", "[role=status]"].map(part);
    this.rest = document.createElement("span"); // unseen, what is still to come: no line breaks anew while it types
    this.rest.className = "wr-rest";
    this.written.after(this.rest);
    this.progress = /** @type {HTMLProgressElement} */ (part("progress"));
    [this.whole, this.load] = [".wr-whole", ".wr-load"].map((name) => /** @type {HTMLButtonElement} */ (part(name)));
    this.wires = [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".px-diagram"))].map((node) => {
      const whole = Array.from(node.children, (piece) => piece.outerHTML);
      return { part: String(node.dataset.part), whole, drawn: diagram(node, (control, layer) => this.toggle(`${control} ${layer}`)) };
    });
    const form = root.querySelector("form"); // the first page has none: there only what was kept can be asked for
    this.field = form?.querySelector("input");
    this.go = form?.querySelector("button");
    if (this.go) this.go.disabled = false;
    if (this.field && this.go && this.cannot) {
      this.field.readOnly = true;
      this.go.hidden = true;
      this.say(`${this.told} ${this.cannot}`);
    }
    this.load.textContent = offer;
    this.load.hidden = Boolean(this.cannot || !form);
    this.whole.hidden = false;
    form?.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.busy) this.stop();
      else this.changed();
    });
    this.whole.addEventListener("click", () => {
      if (this.off.size) this.off.clear();
      else this.off.add(this.setup.example);
      this.changed();
    });
    this.load.addEventListener("click", () => this.loadModel());
  }

  lost() {
    this.say(GONE);
  }

  repaint() {}

  /** @param {string} name */
  toggle(name) {
    const was = this.off.has(name);
    if (!this.field || this.cannot) this.off.clear(); // one at a time was kept
    if (was) this.off.delete(name);
    else this.off.add(name);
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
      const { message, final } = /** @type {Error & {final?: boolean}} */ (error);
      this.say(`The model did not load: ${message.replace(/\.$/, "")}.${final ? "" : " Try again."}`);
    } finally {
      this.progress.hidden = true;
    }
  }

  /** What is off, in words. */
  get told() {
    if (!this.off.size) return "All skips and branches in place.";
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
        return { html: html.replace(/data-on="true"/g, () => `data-on="${on.shift()}"`) };
      }));
    }
    this.whole.textContent = this.off.size ? "All whole" : "Cut one skip";
    clearInterval(this.typing);
    this.turn += 1;
    this.wanted = true;
    if (this.engine) this.write();
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

  /**
   * @param {string} given
   * @param {string} written
   * @param {string} [rest] still to come
   */
  put(given, written, rest = "") {
    [this.given.textContent, this.written.textContent, this.rest.textContent] = [given, written, rest];
  }

  /** Token by token, until it has ended, or something has changed: then anew. */
  async write() {
    const { engine, field, go } = this;
    if (this.busy || !engine || !field || !go) return;
    this.busy = true;
    go.textContent = "Stop";
    const gates = (/** @type {string} */ kind) => Array.from({ length: 2 * this.wires[0].whole.length }, (_, at) =>
      Number(!this.off.has(`${PARTS[at % 2]} ${kind} ${Math.floor(at / 2) + 1}`)));
    try {
      while (this.wanted) {
        this.wanted = false;
        const { turn } = this;
        const prompt = field.value.trim();
        if (!prompt) {
          this.say("Write something that it can go on from.");
          break;
        }
        const state = { view: this.view, skip: gates("skip"), branch: gates("branch") };
        this.say(`${this.told} It writes …`);
        for (let count = 0; count < MOST && turn === this.turn; count++) {
          const seen = await engine.ask({ begin: count ? "" : prompt, ...state });
          if (turn !== this.turn) break;
          this.put(prompt, shown(seen.text));
          if (seen.ended) break;
        }
        this.say(this.told);
      }
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.say(engine.isGone ? GONE : `The model did not answer: ${message}.`);
    } finally {
      this.busy = false;
      go.textContent = "Write";
    }
  }
}

/** In lines as wide as there is room: its own line breaks as signs. @param {string} text */
const shown = (text) => text.replace(/\n+/g, " ↵ ");
