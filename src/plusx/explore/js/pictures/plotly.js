/** A figure that plotly draws: the present state over the faint curves of others, in the theme's colours. */

import { painted, paletteOf } from "../colours.js";
import { run } from "../elements.js";
import { ours } from "../states.js";
import { ghosts, hulls, place, speaks } from "./ghosts.js";
import { move, moves, understood } from "./plotly-inner.js";

/** @import { Drawing, Figure, Ghost, Picture, Plotly, View } from "../types.js" */
/** @import { Kernel, Table } from "../sources.js" */

const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false };
// One for the whole page: a notebook has this module once for each explorer.
ours.plotly ??= new Map();
const loading = ours.plotly;

/**
 * Plotly from where `source` says; one that did not come may be asked for again. Who waits for what a view has asked
 * asks for itself when that view is closed, as where a notebook's application shows a cell twice in a row.
 * @param {Table | Kernel} source
 * @returns {Promise<Plotly>}
 */
async function loadPlotly(source) {
  const { file } = source;
  if (!loading.has(file)) {
    const script = source.script().then((address) => run(address, "The plotting library did not load"));
    const promise = script.then(() => /** @type {any} */ (window).Plotly); // this one's: no other has run since
    promise.catch(() => loading.get(file) === promise && loading.delete(file)); // by now it may be another's
    loading.set(file, promise);
  }
  try {
    return await /** @type {Promise<Plotly>} */ (loading.get(file));
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "AbortError" || ("ended" in source && source.ended)) throw error;
    return loadPlotly(source);
  }
}

/** @implements {Picture} */
export class Plotted {
  /** @type {Drawing | null} what is drawn, colours by name; null: all is to be drawn anew */
  drawn = null;
  /** @type {Plotly | null} null until it came */
  plotly = null;
  stale = false;
  failed = false;
  frame = 0;
  /** @type {Ghost[]} the ghosts that are drawn into plotly's picture */
  faint = [];

  /**
   * @param {HTMLElement} root
   * @param {Table | Kernel} source
   * @param {() => View | null} view what is to be seen; null: nothing yet
   * @param {(words: string) => void} say what the reader has to know
   */
  constructor(root, source, view, say) {
    this.say = say;
    this.root = root;
    this.source = source;
    this.view = view;
    this.plot = /** @type {any} */ (root.querySelector(".px-plot"));
  }

  get ready() {
    return Boolean(this.plotly);
  }

  async load() {
    const isSolid = this.root.dataset.bundle === "gl3d";
    if (isSolid && !document.createElement("canvas").getContext("webgl")) throw new Error("This browser draws no 3-D");
    this.plotly = await loadPlotly(this.source);
  }

  redraw() {
    this.stale = true;
    if (!this.frame) this.draw();
  }

  repaint() {
    this.drawn = null;
    this.redraw();
  }

  /** A notebook's panels leave another width, and beside a text there is less height than the figure asks for. */
  resize() {
    if (!this.drawn) return; // its size is not asked for: a plot that is left out would be laid out for that
    const { clientWidth, clientHeight, _fullLayout } = this.plot;
    if (!clientWidth || (clientWidth === _fullLayout.width && clientHeight === _fullLayout.height)) return;
    this.plotly?.Plots.resize(this.plot);
  }

  /** @param {Figure} figure */
  pins(figure) {
    return figure.data.some(speaks);
  }

  end() {
    this.plotly?.purge(this.plot);
  }

  draw() {
    const view = this.view();
    if (!this.plotly || !this.stale || !view) return;
    this.stale = false;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
    const { figure, figure: { data, layout }, others } = view;
    this.faint = others.flatMap((other) => ghosts(figure, other.figure, other.pinned));
    const far = hulls(layout, [...data, ...this.faint.map(({ trace }) => trace)]); // how far reaches what stays beside
    const next = { data: [...data, ...far], layout };
    const leaves = this.drawn && this.plotly.version === understood ? moves(this.drawn, next) : null;
    try {
      if (leaves) move(this.plotly, this.plot, leaves, next, () => paletteOf(this.root));
    } catch {
      this.drawn = null; // plotly has other inner steps than was thought
    }
    const anew = !leaves || !this.drawn;
    this.drawn = next;
    if (anew) this.react(next);
    this.root.classList.remove("px-pending");
    this.root.classList.add("px-live");
  }

  /**
   * Draws all anew, in plotly's public way.
   * @param {Drawing} next
   */
  react(next) {
    const { data, layout } = /** @type {Drawing} */ (painted(next, paletteOf(this.root)));
    const solid = this.plot._fullLayout?.scene;
    const seen = solid?._scene?.getCamera?.(); // plotly itself remembers it as it was when the mouse was let go
    if (seen) solid.camera = seen;
    const sized = { ...layout, height: this.plot.clientHeight || layout.height };
    if (this.failed) this.say("");
    this.failed = false;
    const isFirst = !this.plot.on;
    try {
      Promise.resolve(this.plotly?.react(this.plot, data, sized, CONFIG)).catch((error) => this.fail(error));
      if (isFirst) {
        const draw = () => place(this.plot, this.faint);
        this.plot.on("plotly_afterplot", draw);
        draw();
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {any} error plotly's own, on numbers that it cannot place, as those below 1e-308 */
  fail(error) {
    this.plotly?.purge(this.plot);
    this.drawn = null;
    this.failed = true;
    this.say(`This state could not be drawn (${error.message ?? error}). Its result and its data are right.`);
  }
}
