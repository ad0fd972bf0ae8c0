/** What panels share whose nets come into a worker when they are asked for: what is said, and how they are loaded. */

import { followTheme } from "../../explore/js/colours.js";
import { make, unique } from "../../explore/js/elements.js";
import { here, loadWorker, setupOf } from "./engine.js";

export class Panel {
  group = unique(); // other views in the same page have radios of their own

  /** Until `signal` aborts; in the book's page nothing aborts it. */
  constructor(root, { engine, signal = new AbortController().signal } = {}) {
    Object.assign(this, { root, engine, signal, setup: setupOf(root) });
    root.plusx = this;
  }

  /** The parts that load and tell. what: is loaded, in words. */
  buildCommon(what) {
    this.load = make("button", { type: "button", class: "pn-load", onclick: () => this.loadNets() });
    this.progress = make("progress", { max: 1, value: 0, hidden: true, "aria-label": `Loading ${what}` });
    this.message = make("p", { class: "px-message", role: "alert", hidden: true });
    const isOurs = Boolean(here); // Lab's address is Lab's
    this.link = make("a", { class: "px-link", href: "#", hidden: !isOurs }, "Link to this setting");
    followTheme(() => this.repaint(), this.signal);
  }

  /** A question that a setting answers. missing: gives what is lacking now, in words, or "". */
  challenge({ ask, told }, label, missing) {
    const verdict = make("p", { role: "status", class: "pn-verdict" });
    const check = () => {
      const lacks = missing();
      verdict.classList.toggle("pn-solved", !lacks);
      verdict.textContent = lacks ? `Not yet: ${lacks}.` : `Solved. ${told}`;
    };
    return make("li", {}, make("p", {}, ask), make("button", { type: "button", onclick: check }, label), verdict);
  }

  /** options: value to label. */
  radios(name, legend, options, change) {
    const own = { type: "radio", name: `${name}-${this.group}` };
    const option = ([value, label]) =>
      make("label", {}, make("input", { ...own, value, onchange: () => change(value) }), make("span", {}, label));
    return make("fieldset", { class: "px-radio" }, make("legend", {}, legend), ...Object.entries(options).map(option));
  }

  say(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  /** Offer to load some files, where the page can. */
  offer(what, files) {
    this.load.hidden = Boolean(this.engine);
    if (this.engine) return;
    this.cannot = "";
    if (location.protocol === "file:") this.cannot = "This page was opened from disk, where a browser starts no worker";
    else if (origin === "null") this.cannot = "This page is shown in a frame that may start no worker: open it by itself";
    else if (typeof WebAssembly !== "object") this.cannot = "This browser has no WebAssembly";
    this.files = files;
    const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
    this.load.textContent = `Load ${what} (${(bytes / 1e6).toFixed(1)} MB)`;
    this.load.hidden = Boolean(this.cannot);
  }

  /** Whether the worker came; else it is said why not. what, instead: in words. */
  async bring(script, what, instead) {
    this.load.disabled = true;
    this.progress.hidden = false;
    try {
      this.engine = await loadWorker(script, this.files, (share) => (this.progress.value = share));
    } catch (error) {
      const said = error.message.replace(/\.$/, "");
      this.say(`${what} did not load: ${said}. ${error.final ? "Here you can" : "Try again, or"} ${instead}, which need no loading.`);
      return false;
    } finally {
      this.load.disabled = false;
      this.progress.hidden = true;
    }
    return true;
  }
}
