/** The lanes' controls and pictures, as elements. */

import { diagram } from "../../../explore/js/diagram.js";
import { make } from "../../../explore/js/elements.js";
import { button } from "../../js/panel.js";
import { Results } from "./results.js";
import { LAST, mean, NAMES, short } from "./words.js";

export class Bench extends Results {
  build() {
    const { setup } = this;
    this.story = make("p", { class: "ln-story" });
    this.taskRadios = this.radios("task", "Data", Object.entries(setup.tasks), (task) => this.choose(() => (this.task = task), true));
    this.seedField = make("input", { type: "number", min: 0, max: 9999, step: 1, onchange: () => this.choose(() => (this.seed = this.seedTyped()), true) });
    this.playButton = button("Play", () => (this.playing ? this.pause() : this.play()), { class: "ln-play" });
    this.result = make("p", { class: "pn-hidden", role: "status" }); // at the pace of reading; for the eye there is `now`
    this.now = make("p", { class: "px-result" });

    const picture = (title, look = "ln-picture") => {
      const canvas = make("canvas", { role: "img", "aria-label": title });
      const caption = make("figcaption", {}, title);
      return { canvas, caption, node: make("figure", { class: look }, caption, canvas) };
    };
    this.lossPicture = picture("Loss of each step (thin), and mean of the last 20");
    const each = setup.kind === "stack" ? "block" : "branch";
    this.gradientPicture = picture(`Gradient of the state, by ${each}`);
    this.branchPicture = picture(`Branch over stream, by ${each}`);
    this.functionPicture = picture("");
    this.planes = NAMES.map((name) => picture(`Lane ${name}: where it sees which spiral`, "ln-picture ln-plane"));
    this.seenBox = make("div", { class: "ln-seen" });

    this.lanes = Object.fromEntries(NAMES.map((name) => [name, this.buildLane(name)]));
    this.root.querySelector(".pn-stage").replaceChildren(
      this.presetRow((at) => this.usePreset(at)),
      this.story,
      make("div", { class: "pn-row" }, ...(Object.keys(setup.tasks).length > 1 ? [this.taskRadios] : []), make("label", {}, "Seed", this.seedField), this.link),
      make("div", { class: "pn-said" }, make("div", {}, this.message, this.now, this.result), this.load, this.progress),
      make("div", { class: "pn-row" }, this.playButton, button("One step", () => this.oneStep()), button("Rewind", () => this.startOver())),
      make("p", { class: "ln-key", "aria-hidden": "true" }, make("span", { class: "ln-A" }, "A"), make("span", { class: "ln-B" }, "B")),
      make("div", { class: "ln-pictures" }, this.lossPicture.node, this.seenBox, this.gradientPicture.node, this.branchPicture.node),
      make("div", { class: "ln-lanes" }, ...NAMES.map((name) => this.lanes[name].node)),
      ...this.challenges("Check lane B"),
    );
    new ResizeObserver(() => this.repaint()).observe(this.lossPicture.canvas);
  }

  buildLane(name) {
    const { options, labels, groups, piece, usual, of } = this.setup;
    const blocks = usual.skips.length;
    const lane = {};
    const put = (part, value) => this.put(name, { [part]: value });
    const putSkips = (places, value) => put("skips", [...lane.words.skips].map((digit, at) => (places.includes(at) ? value : digit)).join(""));
    const select = (part) => {
      const field = make("select", { onchange: () => put(part, field.value) },
        ...options[part].map(([value, words]) => make("option", { value }, words)));
      lane[part] = field;
      return make("label", {}, labels[part], field);
    };
    const block = make("div", { class: "px-diagram", "aria-label": `${piece} of lane ${name}` });
    lane.block = diagram(block, (control, value) => {
      const group = groups.find((each) => each.control === control);
      if (group) putSkips(group.at, value);
      else put(control, options[control][value][0]);
    });
    const stack = make("div", { class: "px-diagram ln-stack", "aria-label": `Skips of lane ${name}` });
    lane.stack = diagram(stack, (control, value) => putSkips([Number(control)], value));
    lane.depth = make("input", { type: "range", min: 1, max: blocks, step: 1, oninput: () => put("depth", lane.depth.value) });
    lane.depthTold = make("output", {});
    lane.differs = make("p", { class: "pn-note" });
    const other = NAMES.find((each) => each !== name);
    lane.node = make("section", { class: `ln-lane ln-${name}`, "aria-label": `Lane ${name}${of}` },
      make("h3", { "aria-level": 2 }, `Lane ${name}`),
      lane.differs,
      block,
      stack,
      make("div", { class: "pn-row" }, button("All skips", () => put("skips", "1".repeat(blocks))), button("No skip", () => put("skips", "0".repeat(blocks))),
        button(`Make it like ${other}`, () => this.put(name, this.lanes[other].words))),
      make("div", { class: "ln-fields" },
        ...(usual.depth ? [make("label", { class: "ln-depth" }, "Blocks", lane.depth, lane.depthTold)] : []),
        ...Object.keys(options).map(select)));
    return lane;
  }

  /** What lane B lacks for a challenge, in words; "" if nothing. */
  missing({ task, fixed, below, within }) {
    const { words } = this.lanes.B;
    const losses = this.history.B.loss;
    if (this.task !== task) return `this one is about the data “${this.setup.tasks[task]}”`;
    for (const [part, value] of Object.entries(fixed)) {
      if (this.history.B.was.some((each) => each[part] !== value) || words[part] !== value) return `in lane B ${this.told(part, value)} is asked for, from the first step on`;
    }
    if (losses.length < LAST) return `lane B has taken ${losses.length} steps, and ${LAST} are needed`;
    const reached = losses.findIndex((_, at) => at >= LAST - 1 && mean(losses.slice(at - LAST + 1, at + 1)) < below);
    if (reached < 0) return `its loss over the last ${LAST} steps is ${short(mean(losses.slice(-LAST)))}, below ${below} is asked for`;
    return reached < within ? "" : `it came below ${below} at step ${reached + 1}, ${within} were allowed`;
  }

  /** A part of a lane and its value, in words. */
  told(part, value) {
    const label = this.setup.options[part]?.find(([each]) => each === value)[1];
    const said = {
      depth: value === "1" ? "1 block" : `${value} blocks`,
      norm: value === "1" ? "norms" : "no norm",
      place: value === "none" ? "no norm" : label,
      activation: value === "none" ? "no activation" : label,
      start: value === "identity" ? "a start as the identity" : `a start with ${label}`,
      scale: `branch scale ${label}`,
      learned: `the branch scale ${label}`,
      rate: `rate ${label}`,
    };
    if (part !== "skips") return said[part] ?? label;
    if (!value.includes("0")) return "all skips";
    if (!value.includes("1")) return "no skip";
    const cut = this.setup.groups.flatMap(({ name, at }) => {
      const numbers = at.flatMap((each, i) => (value[each] === "0" ? [i + 1] : []));
      if (!numbers.length) return [];
      return numbers.length === at.length ? name : `${name} ${numbers.join(", ")}`;
    });
    return `no skip around ${cut.join(" and ")}`;
  }
}
