/** What panels share whose nets come into a worker when they are asked for: what is said, set and loaded. */

import { followTheme } from "../../explore/js/colours.js";
import { make, unique } from "../../explore/js/elements.js";
import { notOffered } from "../../explore/js/words.js";
import { here, loadWorker, setupOf } from "./engine.js";

export const button = (words, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, words);

export class Panel {
  group = unique(); // other views in the same page have radios of their own
  cannot = ""; // why nothing can be loaded

  /**
   * Until `signal` aborts; in the book's page nothing aborts it.
   * @param words what is loaded, how that is offered, and what needs no loading
   */
  constructor(root, words, { engine, signal = new AbortController().signal } = {}) {
    Object.assign(this, { root, engine, signal, setup: setupOf(root), loading: words });
    root.plusx = this;
    this.load = button("", () => this.loadNets(), { class: "pn-load", hidden: true });
    this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": `Loading the ${words.what}` });
    this.message = make("p", { class: "px-message", role: "alert", hidden: true });
    this.link = make("a", { class: "px-link", href: "#", hidden: !here }, "Link to this setting"); // Lab's address is Lab's
    followTheme(() => this.repaint(), this.signal);
    if (!engine) this.offer();
  }

  /** A button for each preset, which `use` takes by its place. */
  presetRow(use) {
    this.presets = this.setup.presets.map(({ name }, at) => button(name, () => use(at), { "aria-pressed": "false" }));
    return make("div", { class: "pn-row", role: "group", "aria-label": "Presets" }, ...this.presets);
  }

  /** The questions that a setting answers; `missing` says what one lacks now, in words, or "". */
  challenges(label) {
    const items = this.setup.challenges.map((each) => {
      const verdict = make("p", { role: "status", class: "pn-verdict" });
      const check = () => {
        const lacks = this.missing(each);
        verdict.classList.toggle("pn-solved", !lacks);
        verdict.textContent = lacks ? `Not yet: ${lacks}.` : `Solved. ${each.told}`;
      };
      return make("li", {}, make("p", {}, each.ask), button(label, check), verdict);
    });
    return items.length ? [make("h3", {}, "Challenges"), make("ol", { class: "pn-challenges" }, ...items)] : [];
  }

  /** options: of [value, label]. */
  radios(name, legend, options, change) {
    const own = { type: "radio", name: `${name}-${this.group}` };
    const option = ([value, label]) =>
      make("label", {}, make("input", { ...own, value, onchange: () => change(value) }), make("span", {}, label));
    return make("fieldset", { class: "px-radio" }, make("legend", {}, legend), ...options.map(option));
  }

  /** The buttons as the state has them: the preset at a place is pressed, and of radios the one of a value. */
  mark(preset, ...chosen) {
    for (const [at, each] of this.presets.entries()) each.setAttribute("aria-pressed", at === preset);
    for (const [radios, value] of chosen) radios.querySelector(`[value="${value}"]`).checked = true;
    this.link.href = this.address();
  }

  say(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  /** In a page, do as the address says, also when a link has changed it, once the first state is shown. */
  async followLinks(shown) {
    await shown;
    if (!here) return;
    window.addEventListener("hashchange", () => location.hash === this.address() || this.followLink());
    this.followLink();
  }

  /** Take the state from the address, if it speaks of this panel. */
  async followLink() {
    const [id, query] = location.hash.slice(1).split("?");
    if (id !== this.root.id || query === undefined) return;
    const asked = new URLSearchParams(query);
    const wrong = [];
    await this.obey((part, usual, fits = () => true) => {
      const value = asked.get(part) ?? usual;
      if (fits(value)) return value;
      wrong.push(`${part}=${value}`);
      return usual;
    });
    if (wrong.length) this.say(notOffered(wrong));
    this.root.scrollIntoView();
  }

  get files() {
    return JSON.parse(this.root.dataset.files);
  }

  /** Offer to load the files, where the page can. */
  offer() {
    if (location.protocol === "file:") this.cannot = "This page was opened from disk, where a browser starts no worker";
    else if (origin === "null") this.cannot = "This page is shown in a frame that may start no worker: open it by itself";
    else if (typeof WebAssembly !== "object") this.cannot = "This browser has no WebAssembly";
    const bytes = Object.values(this.files).reduce((sum, file) => sum + file.bytes, 0);
    this.load.textContent = `Load ${this.loading.offered} (${(bytes / 1e6).toFixed(1)} MB)`;
    this.load.hidden = Boolean(this.cannot);
  }

  async loadNets() {
    const { script, what, instead } = this.loading;
    this.load.disabled = true;
    this.progress.hidden = false;
    try {
      this.engine = await loadWorker(script, this.files, (share) => (this.progress.value = share));
      this.load.hidden = true;
      this.say("");
    } catch (error) {
      const said = error.message.replace(/\.$/, "");
      this.say(`The ${what} did not load: ${said}. ${error.final ? "Here you can" : "Try again, or"} ${instead}, which need no loading.`);
    }
    this.load.disabled = false;
    this.progress.hidden = true;
    if (this.engine) await this.engineChanged();
  }
}
