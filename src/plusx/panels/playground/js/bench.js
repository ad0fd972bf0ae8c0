/** The playground's controls and places of pictures, as elements. */

import { paletteOf } from "../../../explore/js/colours.js";
import { diagram } from "../../../explore/js/diagram.js";
import { make } from "../../../explore/js/elements.js";
import { here } from "../../js/engine.js";
import { button } from "../../js/panel.js";
import { Answer, where } from "./answer.js";
import { ACTIVATION, NORMS } from "./readings.js";

export class Bench extends Answer {
  build() {
    const { setup } = this;
    const titles = Object.entries(setup.nets).map(([name, { title }]) => [name, title]);
    this.netRadios = this.radios("net", "Net", titles, (name) => this.chooseNet(name));
    const values = (kind) => [...setup.switches[kind].labels.entries()].slice(1);
    this.normRadios = this.radios("norm", "Norms stand", values(NORMS[0]), (value) => this.setAll(NORMS, Number(value), "place"));
    this.kindRadios = this.radios("kind", "Activations", values(ACTIVATION), (value) => this.setAll([ACTIVATION], Number(value), "kind"));

    this.field = make("textarea", { rows: 1, maxlength: 600, spellcheck: "false", autocomplete: "off", oninput: () => { this.text = this.field.value; this.changed(); } });
    this.fieldNote = make("span", { class: "pn-note" });
    this.late = make("p", { class: "px-message", role: "status", hidden: true }, "No answer yet: the kernel is busy or was stopped; if it was restarted, run this cell again.");
    this.result = make("p", { class: "px-result", role: "status" });

    [this.maps, this.layerWords, this.diagrams] = [[], [], []];
    const layers = Array.from({ length: this.net.layers + 1 }, (_, layer) => this.layer(layer));
    this.large = this.maps[1];
    this.lastNorm = button("last norm", () => this.put(this.trained.length - 1, 1 - this.switches.at(-1)), { role: "switch", class: "pg-last" });
    this.largeCanvas = make("canvas", { role: "img" });
    this.largeCaption = make("figcaption", {});
    this.bars = make("ol", { class: "pg-bars" });
    this.barsTitle = make("h3", { "aria-level": 2 }); // the first of a page, too

    // What says the answer comes before the stack for the keyboard, and stands below it for the eye (see playground.css).
    this.bench = make("div", { class: "pg-bench" },
      make("div", { class: "pn-row" }, this.netRadios, make("label", { class: "pg-field" }, make("span", {}, "Input"), this.field)),
      make("div", { class: "pn-row" },
        make("details", { class: "pg-several" }, make("summary", {}, "Several switches at once: presets, norms, activations"),
          this.presetRow((at) => this.set(setup.presets[at].switches)),
          make("div", { class: "pn-row" }, this.normRadios, this.kindRadios)),
        this.fieldNote, this.link),
      make("div", { class: "pn-said" }, make("div", {}, this.message, this.late, this.result), this.load, this.progress),
      make("div", { class: "pg-stack" }, ...layers, make("div", { class: "pg-layer" }, this.lastNorm)),
      make("p", { class: "pn-note" }, "Every thick line at the bottom of a layer, every box and every pill is a switch. A norm has two places, and stands in one of them or in none. Keyboard: Tab goes from layer to layer, arrows from switch to switch, space switches. With each layer: the attention of its four heads (row: who takes, column: from whom), then how alike the tokens are after it."),
      make("div", { class: "pg-answer" }, this.barsTitle, this.bars),
    );
    this.root.querySelector(".pn-stage").replaceChildren(
      this.bench,
      make("figure", { class: "pg-large" }, this.largeCanvas, this.largeCaption),
      ...this.challenges("Check my switches"),
    );
    if (!here) return;
    const up = document.getElementById("pst-back-to-top");
    const noteSight = ([{ isIntersecting }]) => up?.classList.toggle("pg-in-sight", isIntersecting);
    new IntersectionObserver(noteSight).observe(this.bench);
  }

  /** A layer's switches and what is drawn after it; 0 stands for what comes before the first. */
  layer(layer) {
    const { heads } = this.net;
    const title = layer ? `Layer ${layer}` : "Embeddings of token and place";
    const node = make("div", { class: "px-diagram", "aria-label": title });
    if (layer) this.diagrams.push(diagram(node, (control, value) => this.choose(layer - 1, control, value)));
    const maps = Array.from({ length: layer ? heads : 0 }, (_, at) =>
      this.map({ part: "attention", at: (layer - 1) * heads + at, layer, head: at + 1 }, `Layer ${layer}, attention of head ${at + 1}`));
    const similarity = this.map({ part: "similarity", at: layer, layer }, `Similarity of the tokens ${where(layer)}`);
    const words = make("p", { class: "pg-words" });
    this.layerWords.push(words);
    return make("div", { class: "pg-layer" }, make("p", { class: "pg-caption" }, title), ...(layer ? [node] : []),
      make("div", { class: "pg-strip" }, ...maps, similarity, words));
  }

  /** A picture of a square of numbers, which a press shows in large. map: `part` of what was seen, `at` which place. */
  map(map, label) {
    const enlarge = () => {
      this.large = map;
      if (this.seen) this.draw();
    };
    const canvas = make("canvas", { width: 1, height: 1, "aria-hidden": "true" });
    map.button = button(canvas, enlarge, { class: "pg-map", "aria-label": label, "aria-pressed": "false" });
    this.maps.push(map);
    return map.button;
  }

  repaint() {
    if (this.seen && String(this.colours()) !== String(this.paintedIn)) this.draw();
  }

  /** What pictures are painted in: attention, similarity, letters. */
  colours() {
    const { C0, C1, ink } = paletteOf(this.root);
    return [C0, C1, ink];
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
