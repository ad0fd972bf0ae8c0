/**
 * An explorer: it follows its controls and the diagram, says each state's result, and has a picture draw it. Where the
 * states come from is a source. Nothing here knows what a figure is about.
 */

import { controlsOf, formOf } from "./controls.js";
import { diagram } from "./diagram.js";
import { one } from "./elements.js";
import { Drawn } from "./pictures/drawn.js";
import { Plotted } from "./pictures/plotly.js";
import { tables, weighed } from "./tables.js";
import { same } from "./trees.js";
import { notOffered, plain } from "./words.js";

/** @import { Kernel, Table } from "./sources.js" */

const LATE = 300; // milliseconds until a state that is not there is said to be computed
const SILENT = 4000; // and until a kernel is said to be silent
const BUSY = "No answer from the kernel yet: it is busy, or it was stopped. If it was restarted, run this cell again.";
const GONE = "The kernel no longer has this explorer, as after a restart: run its cell again.";
const faint = (/** @type {string} */ kind) =>
  `<span class="px-${kind}"><svg viewBox="0 0 30 12" width="30" height="12" aria-hidden="true">` +
  `<path d="M0 6h30" stroke="var(--px-muted)" stroke-width="1.5" ${kind === "pinned" ? 'stroke-dasharray="2 3"' : 'opacity="0.5"'}/></svg> </span>`;

export class Explorer {
  /** @type {any} the figure that is shown */
  current = undefined;
  /** @type {number[] | null} its state */
  chosen = null;
  /** @type {number[] | null} the state before it, whose curves stay as ghosts */
  last = null;
  /** @type {number[] | null} the state that the reader keeps beside it */
  pin = null;
  paper = false;
  title = "";
  /** @type {any[]} what the legend says */
  legend = [];
  /** @type {ReturnType<typeof setTimeout>[]} */
  timers = [];

  /**
   * @param {HTMLElement} root
   * @param {Table | Kernel} source
   */
  constructor(root, source) {
    this.root = root;
    /** @type {any} */
    this.source = source;
    this.inPage = !("model" in source);
    this.name = String(root.dataset.name);
    this.form = formOf(one(root, ".px-controls"));
    this.controls = controlsOf(this.form);
    this.names = this.controls.map((control) => control.name);
    this.source.sizes = this.controls.map((control) => control.labels.length);
    this.source.names = this.names;
    this.start = this.state();
    /** @type {import("./types.js").Picture} */
    this.picture = root.dataset.drawn ? new Drawn(root, () => this.view()) : new Plotted(root, source, () => this.view(), (words) => this.say(words));
    const drawing = root.querySelector(".px-diagram");
    this.diagram = drawing && diagram(/** @type {HTMLElement} */ (drawing), (name, index) => this.choose(name, index));
    this.linking = /** @type {HTMLAnchorElement} */ (one(root, ".px-link"));
    this.pinning = one(this.form, ".px-pin");
    this.pinning.addEventListener("click", () => this.pinState());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => this.changed());
    this.form.addEventListener("reset", (event) => {
      event.preventDefault(); // which sets what stands in the markup, control by control
      this.jump(this.start, null, null);
      this.changed();
    });
    one(root, ".px-data").addEventListener("toggle", () => this.fillTable());
    /** @type {HTMLFieldSetElement} */ (one(this.form, "fieldset")).disabled = false;
    if (this.inPage) this.beginInPage();
    else this.beginBesideKernel(/** @type {Kernel} */ (source));
  }

  beginInPage() {
    const { root } = this;
    const told = () => this.show(root.dataset.show ?? ""); // by a link in the text, as one comes to read it
    root.addEventListener("px-show", told);
    if (!this.followLink() && !told()) this.update();
  }

  /** @param {Kernel} source */
  beginBesideKernel(source) {
    this.linking.hidden = true; // a notebook's address is its application's
    this.set(source.get());
    source.watch(() => {
      const state = source.get();
      if (same(state, this.state())) return;
      this.set(state);
      this.update();
    });
    source.answered = (state, error) => {
      if (!same(state, this.state()) || same(state, this.chosen)) return;
      if (!error) return this.update();
      this.arrived();
      this.say(`${error} The picture is the last good one.`);
    };
    this.update();
  }

  state() {
    return this.controls.map((control) => control.get());
  }

  /** @param {number[]} state */
  set(state) {
    this.controls.forEach((control, i) => control.set(state[i]));
  }

  /**
   * A part of the picture or of the diagram was pressed.
   * @param {string} name
   * @param {number} index
   */
  choose(name, index) {
    this.controls[this.names.indexOf(name)].set(index);
    this.changed();
  }

  /** The reader has changed a control. */
  changed() {
    if (!this.inPage) this.source.set(this.state());
    this.update();
    if (this.inPage) setTimeout(() => history.replaceState(null, "", this.linking.href)); // the picture comes first
  }

  /**
   * Go to a state with the ghosts of others, whatever was shown before.
   * @param {number[]} state
   * @param {number[] | null} last
   * @param {number[] | null} pin
   */
  jump(state, last, pin) {
    this.set(state);
    [this.chosen, this.last, this.pin] = [null, last, pin];
  }

  /** Keep the present state's curves beside those to come, or let those that were kept go. */
  pinState() {
    this.pin = this.pin ? null : this.chosen;
    this.changed();
  }

  /** What the picture is to show: the present state, and faintly those that stay beside it. */
  view() {
    if (!this.current) return null;
    /** @type {[number[] | null, boolean][]} */
    const kept = this.paper ? [] : [[this.last, false], [this.pin, true]];
    const others = kept.flatMap(([state, pinned]) => {
      const twice = !pinned && same(state, this.pin);
      const figure = state && !twice && !same(state, this.chosen) && this.source.figure(state);
      return figure ? [{ figure, pinned }] : [];
    });
    return { figure: this.current, others };
  }

  // ---- the address -----------------------------------------------------------------------------------

  /** @param {number[]} state */
  labels(state) {
    return this.controls.map(({ name, labels }, i) => [name, labels[state[i]]]);
  }

  /** The link to this state: the label of every control, then each ghost by the controls in which it differs. */
  link() {
    const [state, last, pin] = [this.state(), this.last, this.pin];
    const query = new URLSearchParams(this.labels(state));
    const differing = (/** @type {number[]} */ other) => this.labels(other).filter((_, i) => other[i] !== state[i]);
    if (last) query.set(".last", String(new URLSearchParams(differing(last))));
    if (pin) query.set(".pin", String(new URLSearchParams(differing(pin))));
    return `#${this.name}?${query}`;
  }

  /** Take the state from the address, if it speaks of this explorer. */
  followLink() {
    if (!this.show(location.hash)) return false;
    for (let fold = this.root.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) fold.open = true;
    // On a stage it is in sight already.
    this.root.scrollIntoView({ block: this.root.closest(".px-stage") ? "nearest" : "start" });
    return true;
  }

  /**
   * Take the state from a link's fragment, if it speaks of this explorer.
   * @param {string} hash
   */
  show(hash) {
    const [name, query] = hash.slice(1).split("?");
    if (name !== encodeURI(this.name) || query === undefined) return false;
    /** @type {string[]} */
    const unknown = [];
    // The state that some words make of another.
    const read = (/** @type {URLSearchParams} */ words, /** @type {number[]} */ base) => {
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
    const other = (/** @type {string} */ key) =>
      words.has(key) ? read(new URLSearchParams(String(words.get(key))), state) : null;
    this.jump(state, other(".last"), other(".pin"));
    this.say(notOffered(unknown));
    this.update();
    return true;
  }

  // ---- words -----------------------------------------------------------------------------------------

  /** @param {string} text */
  say(text) {
    const message = one(this.root, ".px-message[role=alert]");
    message.textContent = text;
    message.hidden = !text;
  }

  /** Show the present state: its words at once, its picture too, unless this frame has drawn one already. */
  update() {
    const state = this.state();
    for (const control of this.controls) control.show?.(control.get());
    const figure = this.source.figure(state);
    if (!figure) return this.wait(state);
    this.arrived();
    if (!this.inPage) this.say("");
    if (this.chosen && !same(this.chosen, state)) this.last = this.chosen;
    [this.chosen, this.current] = [state, figure];
    this.showWords();
    this.fillTable();
    // Until the picture is there the still shows the start, so any other state dims it.
    this.root.classList.toggle("px-pending", !this.picture.ready && !same(state, this.start));
    this.picture.redraw();
  }

  showWords() {
    const { title, legend, diagram, words } = this.current;
    const result = one(this.root, ".px-result");
    if (this.title !== title) result.replaceChildren(...weighed(title));
    this.title = title;
    one(this.root, ".px-figure").setAttribute("aria-label", words ? `${plain(title)}. ${words}` : plain(title));
    this.linking.href = this.link();
    const isStart = same(this.chosen, this.start) && !this.last && !this.pin;
    one(this.form, "[type=reset]").ariaDisabled = String(isStart); // a disabled button would lose the focus
    this.diagram?.show(diagram ?? []);
    // Its place stays, and with it what is below.
    this.pinning.style.visibility = this.picture.pins(this.current) ? "" : "hidden";
    this.pinning.setAttribute("aria-pressed", String(Boolean(this.pin)));
    const before = this.picture.pins(this.current) && this.view()?.others.some(({ pinned }) => !pinned);
    const beside = { before: before && this.last && this.apart(this.last), pinned: this.pin && this.apart(this.pin) };
    if (same(this.legend, [legend, beside])) return;
    this.legend = [legend, beside];
    const shown = one(this.root, ".px-legend");
    shown.innerHTML = legend; // escaped when it was made
    for (const [kind, words] of Object.entries(beside)) {
      if (!words) continue;
      shown.insertAdjacentHTML("beforeend", faint(kind));
      shown.lastElementChild?.append(`${kind}: ${words}`);
    }
  }

  /**
   * What is different in another state.
   * @param {number[]} other
   */
  apart(other) {
    const differs = this.labels(other).filter((_, i) => other[i] !== this.chosen?.[i]);
    return differs.map(([name, label]) => `${name.replaceAll("_", " ")} ${label}`).join(", ") || "this state";
  }

  fillTable() {
    const data = /** @type {HTMLDetailsElement} */ (one(this.root, ".px-data"));
    if (!this.current || !data.open) return;
    one(this.root, ".px-table").replaceChildren(...tables(this.current));
  }

  // ---- a state that a kernel has yet to compute ------------------------------------------------------

  /** @param {number[]} state */
  wait(state) {
    this.arrived();
    this.root.classList.add("px-waiting");
    const tell = (/** @type {string} */ words) => this.say(this.source.gone ? GONE : words);
    this.source.ask(state);
    tell("");
    this.timers = [setTimeout(() => tell("Computing this state …"), LATE), setTimeout(() => tell(BUSY), SILENT)];
  }

  arrived() {
    for (const timer of this.timers) clearTimeout(timer);
    this.root.classList.remove("px-waiting");
  }
}
