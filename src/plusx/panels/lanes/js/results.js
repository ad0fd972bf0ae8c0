/** What two lanes have done, in words and in pictures. */

import { paletteOf } from "../../../explore/js/colours.js";
import { Panel } from "../../js/panel.js";
import { decades, paintPlane, plot } from "./canvas.js";
import { blockOf, LAST, mean, NAMES, short, smooth, thin } from "./words.js";

export class Results extends Panel {
  words(name) {
    const { loss, ended } = this.history[name];
    if (ended) return `${name} has run away: since step ${ended} its loss is not a number`;
    return `${name} ${short(mean(loss.slice(-LAST)))}`;
  }

  /** The state in words: for the eye at each picture, for a screen reader when it is asked for. */
  tell(aloud) {
    const steps = Math.min(LAST, this.count);
    const over = steps === 1 ? "loss" : `loss over the last ${steps} steps`;
    const end = this.isOver() ? ` The ${this.engine ? "lanes rest" : "kept run ends"} here; rewind to see it again.` : "";
    const said = `Step ${this.count}, ${over}: ${NAMES.map((name) => this.words(name)).join("; ")}.${end}`;
    this.now.textContent = this.fault() || (this.count ? said : "Step 0: both lanes are as they were drawn. Press Play.");
    if (aloud) this.result.textContent = this.now.textContent;
  }

  show() {
    const { options, controls, groups, drawings } = this.setup;
    this.mark(this.preset, [this.taskRadios, this.task]);
    this.story.textContent = this.setup.presets[this.preset]?.says ?? "";
    this.seedField.value = this.seed;
    for (const name of NAMES) {
      const { words, ...lane } = this.lanes[name];
      for (const part of Object.keys(options)) lane[part].value = words[part];
      lane.depth.value = words.depth;
      lane.depthTold.textContent = words.depth;
      const state = controls.map((control) => {
        const group = groups.find((each) => each.control === control);
        return group ? Number(group.at.some((at) => words.skips[at] === "1")) : options[control].findIndex(([each]) => each === words[control]);
      });
      lane.block.show(drawings[state.join("")]);
      lane.stack.show(this.branches.map((branch, at) => ({ html: blockOf(at, branch, words) })));
      const other = this.lanes[NAMES.find((each) => each !== name)].words;
      const parts = Object.keys(words).filter((part) => words[part] !== other[part]);
      lane.differs.textContent = parts.length ? `Only here: ${parts.map((part) => this.told(part, words[part])).join("; ")}.` : "The same as the other lane.";
    }
    this.functionPicture.caption.textContent = {
      line: "The function, and what it should be (dotted)",
      signals: "Share of held-out signals told right",
      sort: "Share of 256 new sequences sorted without a mistake",
    }[this.task] ?? "";
    this.seenBox.replaceChildren(...(this.task === "spirals" ? this.planes : [this.functionPicture]).map(({ node }) => node));
    this.repaint();
  }

  repaint() {
    if (!this.history || !this.lossPicture.canvas.clientWidth) return;
    const palette = paletteOf(this.root);
    const looks = { A: { colour: palette.C0 }, B: { colour: palette.C1, dash: [6, 4] } };
    const curves = (drawn) => NAMES.map((name) => ({ ...looks[name], ...drawn(this.history[name], name) }));
    const steps = { x: [0, Math.max(100, Math.ceil(this.count / 100) * 100)], marks: this.marks };
    const raw = curves(({ loss }) => ({ ...thin(loss), dash: [], thick: 0.5 }));
    const losses = curves(({ loss }) => ({ ...thin(smooth(loss)), thick: 2.5 }));
    plot(this.lossPicture.canvas, [...raw, ...losses], { ...steps, y: decades(losses.flatMap(({ y }) => y)), log: true }, palette);
    this.lossPicture.canvas.setAttribute("aria-label", `Loss by step. ${this.count ? NAMES.map((name) => this.words(name)).join("; ") : "No step yet"}.`);
    const { branches } = this;
    const ticks = branches.flatMap(({ short }, at) => (branches.length < 10 || !at || at % 4 === 3 ? [[at + 1, short]] : []));
    for (const [part, { canvas, caption }] of [["gradient", this.gradientPicture], ["branch", this.branchPicture]]) {
      const lines = curves((lane, name) => {
        const y = [...(lane[part] ?? [])].slice(0, this.lanes[name].words.depth);
        return { x: y.map((_, at) => at + 1), y, mark: name === "A" ? "circle" : "square" };
      });
      plot(canvas, lines, { x: [0.5, branches.length + 0.5], y: decades(lines.flatMap(({ y }) => y)), log: true, ticks }, palette);
      const ends = lines.map(({ y }, i) => (y.length ? `${NAMES[i]} ${short(y[0])} in ${branches[0].name}, ${short(y.at(-1))} in ${branches[y.length - 1].name}` : `${NAMES[i]} none yet`));
      canvas.setAttribute("aria-label", `${caption.textContent}: ${ends.join("; ")}.`);
    }
    if (this.task === "spirals") this.drawPlanes(palette);
    else this.drawFunction(curves, steps, palette);
    this.tell(false);
  }

  drawPlanes({ C2, C5 }) {
    const page = getComputedStyle(this.root).backgroundColor;
    this.planes.forEach(({ canvas, caption }, i) => {
      const { seen = [] } = this.history[NAMES[i]];
      paintPlane(canvas, seen, this.setup.dots, [C2, C5], page);
      const sure = seen.filter((p) => p > 0.9 || p < 0.1).length / seen.length || 0;
      canvas.setAttribute("aria-label", `${caption.textContent}; sure of it in ${Math.round(100 * sure)} percent of the plane.`);
    });
  }

  /** What both lanes have made of a line; or how much they have told right, step by step. */
  drawFunction(curves, steps, palette) {
    const { canvas, caption } = this.functionPicture;
    if (this.task === "line") {
      const grid = (length) => Array.from({ length }, (_, i) => -2 + (4 * i) / (length - 1));
      const x = grid(100);
      const wanted = { x, y: x.map((at) => at + 0.3 * Math.sin(3 * at)), colour: palette.ink, dash: [1, 4] };
      const lines = curves(({ seen = [] }) => ({ x: grid(seen.length), y: seen }));
      plot(canvas, [...lines, wanted], { x: [-2, 2], y: [-3, 3] }, palette);
      canvas.setAttribute("aria-label", `${caption.textContent}.`);
    } else {
      const lines = curves(({ right }) => ({ x: right.map(([at]) => at), y: right.map(([, share]) => share) }));
      plot(canvas, lines, { ...steps, y: [0, 1] }, palette);
      const told = lines.map(({ y }, i) => `; ${NAMES[i]} ${Math.round(100 * (y.at(-1) ?? 0))} percent`);
      canvas.setAttribute("aria-label", `${caption.textContent}${told.join("")}.`);
    }
  }
}
