/**
 * Lanes: two nets that train side by side, and a switch on all that tells them apart. Who takes the steps is an engine:
 * a worker with onnxruntime-web in the page, torch behind a kernel in JupyterLab, or the runs of the presets that the
 * page brings along. Nothing here knows weights or gradients.
 */

import { unique } from "../../../explore/js/elements.js";
import { statesOf } from "../../../explore/js/states.js";
import { here, panels } from "../../js/engine.js";
import { Bench } from "./bench.js";
import { keptRuns } from "./kept.js";
import { FRAME, MOST, mean, NAMES, READING } from "./words.js";

const LOADING = { script: "lanes-worker.js", what: "training step", offered: "PyTorch's training step", instead: "replay the presets" };

class Lanes extends Bench {
  view = unique();
  preset = -1; // whose run this is, if it is one's
  seed = 0;
  patience = 15_000; // milliseconds
  ahead = 0; // steps that are asked for

  constructor(root, beside) {
    super(root, LOADING, beside);
    this.branches = Array.from(this.setup.usual.skips, (_, at) => { // what each is called: in words, and in its picture
      const { name, short, at: mine } = this.setup.groups.find((group) => group.at.includes(at));
      const number = mine.indexOf(at) + 1;
      return { name: `${name} ${number}`, short: `${short}${number}` };
    });
    this.build();
    this.followLinks(this.usePreset(0, false));
  }

  engineChanged() {
    this.pause();
    this.say(this.fault());
    return this.fault() ? undefined : this.startOver();
  }

  // -- what the reader does

  seedTyped() {
    const seed = Math.round(Number(this.seedField.value));
    return seed >= 0 && seed <= 9999 ? seed : this.seed;
  }

  usePreset(at, remember = true) {
    const preset = this.setup.presets[at];
    return this.choose(() => {
      Object.assign(this, { preset: at, plan: preset, task: preset.task, seed: 0 });
    }, true, remember);
  }

  /** Change parts of a lane. A net that trains goes on as it is, unless its first weights would be others. */
  put(name, changes) {
    const lane = this.lanes[name];
    const isOther = Object.keys(changes).filter((part) => changes[part] !== lane.words[part]);
    if (!isOther.length) return this.show();
    return this.choose(() => {
      this.plan = null;
      lane.words = { ...lane.words, ...changes };
      if (this.count) this.marks.push(this.count + this.ahead);
    }, isOther.includes("start")); // on which those depend
  }

  /** A change by the reader: from here on this is no preset's run. */
  async choose(change, rewinds, remember = true) {
    this.preset = -1;
    change();
    if (rewinds) this.toFirst();
    this.show();
    if (remember && here) history.replaceState(null, "", this.address());
    if (rewinds) await this.rewind();
    else this.tell(true);
  }

  address() {
    const { usual } = this.setup;
    const changes = NAMES.flatMap((name) => Object.entries(this.lanes[name].words)
      .filter(([part, value]) => value !== usual[part])
      .map(([part, value]) => [`${name}.${part}`, value]));
    const asked = this.preset < 0 ? [["task", this.task], ["seed", this.seed], ...changes] : [["preset", this.preset + 1]];
    return `#${this.root.id}?${new URLSearchParams(asked)}`;
  }

  isOffered(part, value) {
    const { usual, options } = this.setup;
    if (part === "skips") return value.length === usual.skips.length && /^[01]+$/.test(value);
    if (part === "depth") return /^\d+$/.test(value) && value >= 1 && Number(value) <= usual.depth;
    return options[part]?.some(([each]) => each === value);
  }

  /** What a link sets. take: gives a part of it, if that fits, else what is usual. */
  obey(take) {
    const { presets, tasks, usual } = this.setup;
    const preset = Number(take("preset", "")) - 1;
    if (preset in presets) return this.usePreset(preset, false);
    return this.choose(() => {
      this.task = take("task", Object.keys(tasks)[0], (task) => Object.hasOwn(tasks, task));
      this.seed = Number(take("seed", "0", (seed) => /^\d{1,4}$/.test(seed)));
      this.plan = null;
      for (const name of NAMES) {
        const own = (part) => take(`${name}.${part}`, usual[part], (value) => this.isOffered(part, value));
        this.lanes[name].words = Object.fromEntries(Object.keys(usual).map((part) => [part, own(part)]));
      }
    }, true, false);
  }

  // -- training

  get files() {
    const { runtime, ...files } = super.files;
    const mine = ["begin", "step", "look"].map((part) => [part, files[`${this.setup.kind}-${part}`]]);
    return { runtime, ...Object.fromEntries(mine) };
  }

  loadNets() {
    this.pause();
    return super.loadNets();
  }

  /** What keeps the lanes from training, if anything. */
  fault() {
    if (this.engine?.isGone) return "The kernel has no lanes any more: run this cell again.";
    if (this.engine || this.preset >= 0) return "";
    return this.cannot
      ? `${this.cannot}: only the presets can be shown. They were trained when the book was built.`
      : "To train with your own switches, load the training step. Without it only the presets replay.";
  }

  /** Ask the engine for steps of both lanes; a lane that has run away takes no more. */
  async ask(steps, begin) {
    if (!this.engine) this.keptRuns ??= await keptRuns(await statesOf(this.root), this.setup);
    const going = NAMES.filter((name) => !this.history[name].ended);
    const ask = (name) => {
      const { words } = this.lanes[name];
      if (steps) this.history[name].was.push(words);
      if (this.engine) return this.engine.ask({ lane: this.view + name, task: this.task, seed: this.seed, words, steps, begin });
      return this.keptRuns({ name, preset: this.preset, from: this.count, steps });
    };
    const late = Promise.withResolvers();
    const alarm = setTimeout(late.reject, this.patience, Object.assign(new Error("no answer came"), { isLost: true }));
    try {
      const answers = await Promise.race([Promise.all(going.map(ask)), late.promise]);
      return Object.fromEntries(going.map((name, i) => [name, answers[i]]));
    } finally {
      clearTimeout(alarm);
    }
  }

  /** Take steps of both lanes, one call at a time; true if they were taken and are still wanted. */
  advance(steps, begin = false) {
    this.turn = this.goOn(this.turn, steps, begin);
    return this.turn;
  }

  async goOn(before, steps, begin) {
    await before;
    if (begin) {
      this.count = 0;
      this.history = Object.fromEntries(NAMES.map((name) => [name, { loss: [], right: [], was: [] }]));
    }
    if (this.fault() || (!begin && this.isOver())) return false;
    if (!begin) this.flip();
    const ends = [this.stopAt(), this.plan?.then?.[0]].filter((end) => end > this.count);
    this.ahead = begin ? 0 : Math.min(steps, ...ends.map((end) => end - this.count));
    try {
      this.take(await this.ask(this.ahead, begin), this.ahead);
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    } finally {
      this.ahead = 0;
    }
  }

  take(answers, steps) {
    this.count += steps;
    for (const [name, { loss, gradient, branch, seen }] of Object.entries(answers)) {
      const lane = this.history[name];
      lane.loss.push(...loss);
      lane.ended = lane.loss.findIndex((value) => !Number.isFinite(value)) + 1; // 0 while it goes on
      Object.assign(lane, { gradient, branch, seen });
      lane.right.push([this.count, mean(seen)]);
    }
    this.repaint();
  }

  /** The step at which the run ends. */
  stopAt() {
    return this.engine ? MOST : this.setup.kept;
  }

  /** Whether no lane can go on. */
  isOver() {
    return this.count >= this.stopAt() || NAMES.every((name) => this.history[name].ended);
  }

  /** What a preset changes in lane B after this step. */
  flip() {
    const [at, changes] = this.plan?.then ?? [];
    if (at !== this.count || this.marks.includes(at)) return;
    this.marks.push(at);
    this.lanes.B.words = { ...this.lanes.B.words, ...changes };
    this.show();
  }

  /** The switches as they are at step 0: those of a preset, else those of now. */
  toFirst() {
    for (const name of this.plan ? NAMES : []) this.lanes[name].words = { ...this.plan[name] };
    this.marks = [];
  }

  startOver() {
    this.toFirst();
    this.show();
    return this.rewind();
  }

  /** Both lanes as they begin. */
  async rewind() {
    this.pause();
    this.say("");
    if (!(await this.advance(0, true))) this.repaint();
    this.tell(true);
  }

  async oneStep() {
    this.pause();
    if (await this.advance(1)) this.tell(true);
  }

  pause() {
    this.playing = false;
    this.playButton.textContent = "Play";
  }

  async play() {
    this.playing = true;
    this.playButton.textContent = "Pause";
    let steps = 1;
    let told = performance.now();
    while (this.playing && !this.signal.aborted) {
      const begun = performance.now();
      const most = this.engine ? 50 : 5; // a kept run is there at once
      if (!(await this.advance(Math.min(steps, most)))) break;
      const took = performance.now() - begun;
      steps = Math.max(1, Math.round((steps * FRAME) / Math.max(took, 1)));
      await new Promise((done) => requestAnimationFrame(done)); // none comes while the tab is hidden
      if (performance.now() - told > READING) {
        told = performance.now();
        this.tell(true);
      }
    }
    this.pause();
    this.tell(true);
  }

  failed(error) {
    this.pause();
    if (this.fault()) return this.say(this.fault());
    if (error.isLost && this.engine && here) {
      this.engine.end();
      this.engine = null;
      this.load.hidden = false;
      this.say("The worker that computed was lost, and both nets with it: load the step again.");
    } else if (error.isLost) this.say("No answer: the kernel is busy or was stopped; if it was restarted, run this cell again.");
    else this.say(`The step was not taken: ${error.message}.`);
  }
}

/** Lanes may stand closed, so that who reads on need not wait for them, until a reader or a link opens them. */
export default panels("lanes", (root, beside) => {
  const start = () => new Lanes(root, beside);
  const closed = root.querySelector(".ln-closed:not([open])");
  if (!closed) return start();
  closed.addEventListener("toggle", start, { once: true });
  const follow = () => (closed.open ||= location.hash.startsWith(`#${root.id}?`));
  if (!here) return;
  follow();
  window.addEventListener("hashchange", follow);
});
