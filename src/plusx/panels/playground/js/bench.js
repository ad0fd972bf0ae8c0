/** The playground's controls and places of pictures, as elements. */

import { paletteOf } from "../../../explore/js/colours.js";
import { diagram } from "../../../explore/js/diagram.js";
import { make } from "../../../explore/js/elements.js";
import { here } from "../../js/engine.js";
import { Answer } from "./answer.js";
import { ACTIVATION, NORMS } from "./readings.js";

export class Bench extends Answer {
  build() {
    const { setup } = this;
    const stage = this.root.querySelector(".pn-stage");
    this.buildCommon("the net");
    const titles = Object.entries(setup.nets).map(([name, { title }]) => [name, title]);
    this.netRadios = this.radios("net", "Net", Object.fromEntries(titles), (name) => this.chooseNet(name));
    const values = (kind) => Object.fromEntries([...setup.switches[kind].labels.entries()].slice(1));
    this.normRadios = this.radios("norm", "Norms stand", values(NORMS[0]), (value) => this.setAll(NORMS, Number(value), "place"));
    this.kindRadios = this.radios("kind", "Activations", values(ACTIVATION), (value) => this.setAll([ACTIVATION], Number(value), "kind"));

    this.field = make("textarea", { rows: 1, maxlength: 600, spellcheck: "false", autocomplete: "off", oninput: () => { this.text = this.field.value; this.changed(); } });
    this.fieldNote = make("span", { class: "pn-note" });
    this.late = make("p", { class: "px-message", role: "status", hidden: true }, "No answer yet: the kernel is busy or was stopped; if it was restarted, run this cell again.");
    this.result = make("p", { class: "px-result", role: "status" });

    this.presets = setup.presets.map(({ name, switches }) => {
      const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => this.set(switches) }, name);
      return { button, switches };
    });
    this.layers = [];
    const stack = make("div", { class: "pg-stack" });
    const strip = (layer) => {
      const maps = layer < 0 ? [] : Array.from({ length: this.net.heads }, (_, head) => this.map(`attention ${layer} ${head}`));
      const row = { maps, similarity: this.map(`similarity ${layer + 1}`), words: make("p", { class: "pg-words" }) };
      row.node = make("div", { class: "pg-strip" }, ...maps, row.similarity, row.words);
      return row;
    };
    this.first = strip(-1);
    stack.append(make("div", { class: "pg-layer" }, make("p", { class: "pg-caption" }, "Embeddings of token and place"), this.first.node));
    for (let layer = 0; layer < this.net.layers; layer++) {
      const title = `Layer ${layer + 1}`;
      const node = make("div", { class: "px-diagram", "aria-label": title });
      const drawing = diagram(node, (control, value) => this.choose(layer, control, value));
      const row = strip(layer);
      this.layers.push({ ...row, diagram: drawing });
      stack.append(make("div", { class: "pg-layer" }, make("p", { class: "pg-caption" }, title), node, row.node));
    }
    this.lastNorm = make("button", { type: "button", role: "switch", class: "pg-last", onclick: () => this.put(this.trained.length - 1, 1 - this.switches.at(-1)) }, "last norm");
    stack.append(make("div", { class: "pg-layer pg-end" }, this.lastNorm));

    this.largeCanvas = make("canvas", { role: "img" });
    this.largeCaption = make("figcaption", {});
    this.bars = make("ol", { class: "pg-bars" });
    this.barsTitle = make("h3", { "aria-level": 2 }); // the first of a page, too
    this.challenges = setup.challenges.map((each) => this.challenge(each, "Check my switches", () => this.missing(each)));

    // What says the answer comes before the stack for the keyboard, and stands below it for the eye (see playground.css).
    this.bench = make("div", { class: "pg-bench" },
      make("div", { class: "pn-row" }, this.netRadios, make("label", { class: "pg-field" }, make("span", {}, "Input"), this.field)),
      make("div", { class: "pn-row" },
        make("details", { class: "pg-several" }, make("summary", {}, "Several switches at once: presets, norms, activations"),
          make("div", { class: "pn-row", role: "group", "aria-label": "Presets" }, ...this.presets.map(({ button }) => button)),
          make("div", { class: "pn-row" }, this.normRadios, this.kindRadios)),
        this.fieldNote, this.link),
      make("div", { class: "pn-said" }, make("div", {}, this.message, this.late, this.result), this.load, this.progress),
      stack,
      make("p", { class: "pn-note" }, "Every thick line at the bottom of a layer, every box and every pill is a switch. A norm has two places, and stands in one of them or in none. Keyboard: Tab goes from layer to layer, arrows from switch to switch, space switches. With each layer: the attention of its four heads (row: who takes, column: from whom), then how alike the tokens are after it."),
      make("div", { class: "pg-answer" }, this.barsTitle, this.bars),
    );
    stage.replaceChildren(
      this.bench,
      make("figure", { class: "pg-large" }, this.largeCanvas, this.largeCaption),
      make("h3", {}, "Challenges"),
      make("ol", { class: "pn-challenges" }, ...this.challenges),
    );
    this.offerLoading();
    if (!here) return;
    window.addEventListener("hashchange", () => this.followLink());
    const up = document.getElementById("pst-back-to-top");
    const noteSight = ([{ isIntersecting }]) => up?.classList.toggle("pg-in-sight", isIntersecting);
    new IntersectionObserver(noteSight).observe(this.bench);
  }

  repaint() {
    if (this.seen && String(this.colours()) !== String(this.paintedIn)) this.draw();
  }

  /** What pictures are painted in: attention, similarity, letters. */
  colours() {
    const { C0, C1, ink } = paletteOf(this.root);
    return [C0, C1, ink];
  }

  map(name) {
    return make("button", { type: "button", class: "pg-map", "data-map": name, "aria-pressed": "false",
      onclick: () => { this.large = name; if (this.seen) this.draw(); } }, make("canvas", { width: 1, height: 1, "aria-hidden": "true" }));
  }

  /** What the switches lack for a challenge, in words; "" if nothing. */
  missing({ net, accepted }) {
    if (this.netName !== net) return `this one is about the net for ${this.setup.nets[net].title.toLowerCase()}`;
    if (accepted.includes(this.switches)) return "";
    const changed = this.changes(this.switches).length;
    const wanted = [...accepted[0]].filter((digit, i) => digit !== this.trained[i]).length;
    if (changed !== wanted) return `${changed} of the switches differ from training, it takes ${wanted}`;
    return "the number of switches is right, but not which";
  }
}
