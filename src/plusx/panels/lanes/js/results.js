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
    if (this.fault()) {
      this.now.textContent = this.fault();
    } else if (!this.count) {
      this.now.textContent = "Step 0: both lanes are as they were drawn. Press Play.";
    } else {
      const steps = Math.min(LAST, this.count);
      const over = steps === 1 ? "loss" : `loss over the last ${steps} steps`;
      const end = this.isOver() ? ` The ${this.engine ? "lanes rest" : "kept run ends"} here; rewind to see it again.` : "";
      this.now.textContent = `Step ${this.count}, ${over}: ${NAMES.map((name) => this.words(name)).join("; ")}.${end}`;
    }
    if (aloud) this.result.textContent = this.now.textContent;
  }

  show() {
    const { options, controls, groups, drawings } = this.setup;
    for (const [at, button] of this.presets.entries()) button.setAttribute("aria-pressed", at === this.preset);
    this.story.textContent = this.chosen?.says ?? "";
    this.taskRadios.querySelector(`[value=${this.task}]`).checked = true;
    this.seedField.value = this.seed;
    this.link.href = this.address();
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
    this.draw();
  }

  draw() {
    if (!this.history || !this.lossPicture.canvas.clientWidth) return;
    const { C0: A, C1: B, C2: first, C5: second, ink, muted, grid } = paletteOf(this.root);
    const looks = { A: { colour: A }, B: { colour: B, dash: [6, 4] } };
    const inks = { muted, grid };
    const last = Math.max(100, Math.ceil(this.count / 100) * 100);
    const raw = NAMES.map((name) => ({ ...thin(this.history[name].loss), ...looks[name], dash: [], thick: 0.5 }));
    const losses = NAMES.map((name) => ({ ...thin(smooth(this.history[name].loss)), ...looks[name], thick: 2.5 }));
    plot(this.lossPicture.canvas, [...raw, ...losses], { x: [0, last], y: decades(losses.flatMap(({ y }) => y)), log: true, marks: this.marks }, inks);
    this.lossPicture.canvas.setAttribute("aria-label", `Loss by step. ${this.count ? NAMES.map((name) => this.words(name)).join("; ") : "No step yet"}.`);
    for (const [part, { canvas, caption }] of [["gradient", this.gradientPicture], ["branch", this.branchPicture]]) {
      const lines = NAMES.map((name) => {
        const y = [...(this.history[name][part] ?? [])].slice(0, this.lanes[name].words.depth);
        return { x: y.map((_, at) => at + 1), y, ...looks[name], mark: name === "A" ? "circle" : "square" };
      });
      const { branches } = this;
      const marked = branches.flatMap((branch, at) => (branches.length < 10 || !at || at % 4 === 3 ? [[at + 1, branch.short]] : []));
      plot(canvas, lines, { x: [0.5, branches.length + 0.5], y: decades(lines.flatMap(({ y }) => y)), log: true, ticks: marked }, inks);
      const ends = lines.map(({ y }, i) => (y.length ? `${NAMES[i]} ${short(y[0])} in ${branches[0].name}, ${short(y.at(-1))} in ${branches[y.length - 1].name}` : `${NAMES[i]} none yet`));
      canvas.setAttribute("aria-label", `${caption.textContent}: ${ends.join("; ")}.`);
    }
    if (this.task === "spirals") this.drawPlanes(first, second, ink);
    else this.drawFunction(looks, inks, ink);
    this.tell(false);
  }

  drawPlanes(first, second, ink) {
    const page = getComputedStyle(this.root).backgroundColor;
    this.planes.forEach(({ canvas, caption }, i) => {
      const { seen } = this.history[NAMES[i]];
      paintPlane(canvas, seen, this.setup.dots, [first, second], page || ink);
      const sure = seen ? mean(Array.from(seen, (p) => Number(p > 0.9 || p < 0.1))) : 0;
      canvas.setAttribute("aria-label", `${caption.textContent}; sure of it in ${Math.round(100 * sure)} percent of the plane.`);
    });
  }

  drawFunction(looks, inks, ink) {
    const { canvas, caption } = this.functionPicture;
    if (this.task === "line") {
      const grid = (length) => Array.from({ length }, (_, i) => -2 + (4 * i) / (length - 1));
      const lines = NAMES.map((name) => {
        const y = Array.from(this.history[name].seen ?? []);
        return { x: grid(y.length), y, ...looks[name] };
      });
      const x = grid(100);
      lines.push({ x, y: x.map((at) => at + 0.3 * Math.sin(3 * at)), colour: ink, dash: [1, 4] });
      plot(canvas, lines, { x: [-2, 2], y: [-3, 3] }, inks);
    } else {
      const lines = NAMES.map((name) => {
        const { right } = this.history[name];
        return { x: right.map(([at]) => at), y: right.map(([, share]) => share), ...looks[name] };
      });
      plot(canvas, lines, { x: [0, Math.max(100, Math.ceil(this.count / 100) * 100)], y: [0, 1], marks: this.marks }, inks);
    }
    const told = this.task === "line" ? "" : NAMES.map((name) => `; ${name} ${Math.round(100 * (this.history[name].right.at(-1)?.[1] ?? 0))} percent`).join("");
    canvas.setAttribute("aria-label", `${caption.textContent}${told}.`);
  }
}
