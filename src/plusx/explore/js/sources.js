/**
 * Where states come from: in a page the table that static.py wrote, in a notebook a kernel. A source tells the figure
 * of a state, given as an index for each control, and where plotly is.
 */

import { painted } from "./colours.js";
import { decode, ours, unzip } from "./states.js";

const FLAT = ["basic", "cartesian"]; // each draws all that the one before it draws; the other bundle is gl3d
const SILENT = 4000; // milliseconds until a kernel is said to be silent

/** @import { Answer, Model } from "./types.js" */
/** @import { Tree } from "./trees.js" */

/** Every state, as `encode` in states.py wrote them. */
export class Table {
  /** @type {number[]} how many values each control has, told by the explorer */
  sizes = [];

  /**
   * @param {HTMLElement} root
   * @param {{figure: any, leaves: any[]}} states
   * @param {URL} here the folder of the page's scripts
   * @param {string} [whole] all of plotly in one file, where the book has no bundles
   */
  constructor(root, { figure, leaves }, here, whole) {
    this.root = root;
    this.common = figure;
    this.leaves = leaves;
    this.here = here;
    this.whole = whole;
  }

  /** @param {number[]} state */
  figure(state) {
    const at = state.reduce((sum, index, i) => sum * this.sizes[i] + index, 0);
    const figure = /** @type {Tree} */ (painted(this.common, {})); // a copy to write the leaves into
    for (const { path, values, index } of this.leaves) {
      let node = figure;
      for (const key of path.slice(0, -1)) node = /** @type {Tree} */ (node[key]);
      node[path.at(-1)] = values[index[at]];
    }
    return figure;
  }

  /** All of plotly, or the smallest bundle that draws every flat explorer of this page, or every 3-D one. */
  get file() {
    let bundle = String(this.root.dataset.bundle);
    if (FLAT.includes(bundle)) {
      const all = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".plusx-explore"));
      bundle = FLAT[Math.max(...Array.from(all, (each) => FLAT.indexOf(String(each.dataset.bundle))))];
    }
    return this.whole ?? `plotly-${bundle}.min.js`;
  }

  async script() {
    return new URL(this.file, this.here).href;
  }
}

/** A function behind a kernel, by the messages of an anywidget's model. What has come is remembered. */
export class Kernel {
  file = "kernel";
  /** @type {Map<string, any>} */
  computed = new Map();
  /** @type {string[]} of the controls, told by the explorer */
  names = [];
  closed = false;
  ended = false;
  since = 0; // when the question was asked that has no answer yet, and may be lost; 0: none
  /** @type {number[] | null} what is to be asked after it */
  next = null;
  /** @type {(state: number[], error?: string) => void} */
  answered = () => {};
  /** @type {PromiseWithResolvers<Blob> | undefined} plotly, once it was asked for */
  asked;
  changes = () => {};

  /**
   * @param {Model} model
   * @param {Element} el
   */
  constructor(model, el) {
    this.model = model;
    this.el = el;
    model.on("msg:custom", this.hear);
  }

  /**
   * Every view of the model hears every answer: also to what another asked, or to what nobody has asked yet.
   * @param {Answer} answer
   * @param {DataView<ArrayBuffer>[]} buffers
   */
  hear = async ({ state, error, plotly }, buffers) => {
    if (plotly) this.asked?.resolve(await unzip(buffers[0]).blob());
    if (!state) return;
    if (!error) this.computed.set(state.join(), (await decode(buffers[0])).figure);
    this.since = 0;
    if (this.next && !this.figure(this.next)) this.ask(this.next);
    this.answered(state, error);
  };

  /** @param {number[]} state */
  figure(state) {
    return this.computed.get(state.join());
  }

  /**
   * One question is under way at a time, and then the newest: a slider passes more values than a slow function answers.
   * @param {number[]} state
   */
  ask(state) {
    this.next = null;
    if (this.since && performance.now() - this.since < SILENT) this.next = state;
    else {
      this.since = performance.now();
      this.whileThere(() => this.model.send({ state }));
    }
  }

  /**
   * ipywidgets throws where the kernel's side was closed, or marks the view.
   * @param {() => void} call
   */
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
  get() {
    return this.names.map((name) => this.model.get(name));
  }

  /** @param {number[]} state */
  set(state) {
    this.names.forEach((name, i) => this.model.set(name, state[i]));
    this.whileThere(() => this.model.save_changes());
  }

  /**
   * Call when all of the traits that change together have changed, once for each.
   * @param {() => void} call
   */
  watch(call) {
    this.changes = () => queueMicrotask(call);
    for (const name of this.names) this.model.on(`change:${name}`, this.changes);
  }

  async script() {
    // The kernel may be gone: let the next view ask its own.
    const late = setTimeout(() => ours.plotly?.delete(this.file), SILENT);
    this.asked = Promise.withResolvers();
    this.whileThere(() => this.model.send({ plotly: true }));
    const blob = await this.asked.promise.finally(() => clearTimeout(late));
    // In a page with a loader of modules, such as Voila's, plotly would become a module and not `window.Plotly`.
    const parts = ["((module, exports, define) => {", blob, "\n})();"];
    return URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
  }

  close() {
    this.ended = true;
    this.asked?.reject(new DOMException("The view was closed", "AbortError"));
    this.model.off("msg:custom", this.hear);
    for (const name of this.names) this.model.off(`change:${name}`, this.changes);
  }
}
