/** Play: where time or depth passes along a control, a button that walks through its values. */

import { one } from "./elements.js";
import { same } from "./trees.js";

/** @typedef {import("./controls.js").Control} Control */
/** @typedef {import("./explorer.js").Explorer} Explorer */

const BEAT = 500; // milliseconds for each state
const TIMES = ["step", "steps", "layer", "layers", "block", "blocks", "depth", "epoch", "epochs", "after"];
const PLAYS = "M2 1h3v10H2zM7 1h3v10H7z";
const STANDS = "M2 1l9 5-9 5z";

/**
 * Whether time or depth passes along a control: four or more rising numbers, and a word of its name says so.
 * @param {Control} control
 */
export function passes({ name, labels }) {
  const values = labels.map(Number);
  const rise = values.slice(1).every((value, i) => value > values[i]); // what is no number does not
  return values.length >= 4 && rise && name.split("_").some((word) => TIMES.includes(word));
}

/** A button beside a control that walks through its values to the end, each shown as if it had been pressed. */
export class Player {
  /** @type {ReturnType<typeof setTimeout> | 0} */
  beat = 0;

  /**
   * @param {Explorer} explorer
   * @param {Control} control
   */
  constructor(explorer, control) {
    this.explorer = explorer;
    this.control = control;
    const row = document.createElement("div");
    row.className = "px-playable";
    row.innerHTML =
      '<button type="button" class="px-play" aria-pressed="false">' +
      `<svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><path d="${STANDS}"/></svg></button>`;
    this.button = /** @type {HTMLButtonElement} */ (row.firstChild);
    this.button.ariaLabel = `Play ${control.name.replaceAll("_", " ")}`;
    control.box?.replaceWith(row);
    if (control.box) row.prepend(control.box);
    this.button.addEventListener("click", () => (this.beat ? this.stop() : this.play()));
    for (const touch of ["pointerdown", "input", "click"]) {
      explorer.form.addEventListener(touch, ({ target }) => {
        if (!this.button.contains(/** @type {Node} */ (target))) this.stop();
      });
    }
    this.leave = new AbortController();
    this.sight = new IntersectionObserver((seen) => {
      if (!seen.at(-1)?.isIntersecting) this.stop();
    });
  }

  play() {
    this.leave = new AbortController();
    document.addEventListener("visibilitychange", () => this.stop(), this.leave);
    this.sight.observe(this.explorer.root);
    this.tell(true);
    this.step();
  }

  /** The next value, from the end the first, once the present state is there and may be drawn. */
  step() {
    const { explorer, control } = this;
    this.beat = setTimeout(() => this.step(), BEAT);
    if (explorer.source.gone) this.stop();
    else if (same(explorer.chosen, explorer.state()) && explorer.picture.settled) {
      const next = (control.get() + 1) % control.labels.length;
      control.set(next);
      explorer.changed();
      if (next === control.labels.length - 1) this.stop();
    }
  }

  stop() {
    if (!this.beat) return;
    clearTimeout(this.beat);
    this.beat = 0;
    this.leave.abort();
    this.sight.disconnect();
    this.tell(false);
    requestAnimationFrame(() => this.explorer.sayResult()); // not before the line is one that is read aloud again
  }

  /** @param {boolean} playing */
  tell(playing) {
    this.button.setAttribute("aria-pressed", String(playing));
    one(this.button, "path").setAttribute("d", playing ? PLAYS : STANDS);
    const result = one(this.explorer.root, ".px-result");
    if (playing) result.setAttribute("aria-live", "off");
    else result.removeAttribute("aria-live");
  }
}
