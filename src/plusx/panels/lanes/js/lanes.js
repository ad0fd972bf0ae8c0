/**
 * Lanes: two nets that train side by side, and a switch on all that tells them apart. Who takes the steps is an engine:
 * a worker with onnxruntime-web in the page, torch behind a kernel in JupyterLab, or the runs of the presets that the
 * page brings along. Nothing here knows weights or gradients.
 */

import { unique } from "../../../explore/js/elements.js";
import { statesOf } from "../../../explore/js/states.js";
import { notOffered } from "../../../explore/js/words.js";
import { here } from "../../js/engine.js";
import { Bench } from "./bench.js";
import { keptRuns } from "./kept.js";
import { FRAME, frame, MOST, mean, NAMES, READING, START } from "./words.js";

export class Lanes extends Bench {
  constructor(root, beside) {
    super(root, beside);
    Object.assign(this, { view: unique(), seed: 0, patience: 15_000, ahead: 0 });
    const { setup } = this;
    this.branches = setup.usual.skips.split("").map((_, at) => { // what each is called: in words, and in its picture
      const { name, short, at: mine } = setup.groups.find((group) => group.at.includes(at));
      const number = mine.indexOf(at) + 1;
      return { name: `${name} ${number}`, short: `${short}${number}` };
    });
    this.build();
    this.usePreset(0, false).then(() => here && this.followLink());
    this.signal.addEventListener("abort", () => (this.playing = false));
  }

  lost() {
    this.pause();
    this.say(this.fault());
  }

  repaint() {
    this.draw();
  }

  // -- what the reader does

  get preset() {
    return this.setup.presets.indexOf(this.chosen);
  }

  seedTyped() {
    const seed = Math.round(Number(this.seedField.value));
    return seed >= 0 && seed <= 9999 ? seed : this.seed;
  }

  usePreset(at, remember = true) {
    const preset = this.setup.presets[at];
    return this.choose(() => {
      Object.assign(this, { chosen: preset, plan: preset, task: preset.task, seed: 0 });
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
    }, isOther.some((part) => START.includes(part)));
  }

  /** A change by the reader: from here on this is no preset's run. */
  async choose(change, rewinds, remember = true) {
    this.chosen = null;
    change();
    if (rewinds) this.toFirst();
    this.show();
    if (remember && here) history.replaceState(null, "", this.address());
    if (rewinds) await this.rewind();
    else this.tell(true);
  }

  address() {
    const asked = new URLSearchParams();
    if (this.chosen) asked.set("preset", this.preset + 1);
    else {
      asked.set("task", this.task);
      asked.set("seed", this.seed);
      for (const name of NAMES) {
        for (const [part, value] of Object.entries(this.lanes[name].words)) {
          if (value !== this.setup.usual[part]) asked.set(`${name}.${part}`, value);
        }
      }
    }
    return `#${this.root.id}?${asked}`;
  }

  isOffered(part, value) {
    const { usual, options } = this.setup;
    if (part === "skips") return value.length === usual.skips.length && /^[01]+$/.test(value);
    if (part === "depth" && usual.depth) return /^\d+$/.test(value) && value >= 1 && Number(value) <= usual.depth;
    return Boolean(options[part]?.some(([each]) => each === value));
  }

  /** Take the setting from the address, if it speaks of these lanes. */
  async followLink() {
    const [id, query] = location.hash.slice(1).split("?");
    if (id !== this.root.id || query === undefined) return;
    const asked = new URLSearchParams(query);
    const preset = Number(asked.get("preset")) - 1;
    const wrong = [];
    if (preset in this.setup.presets) await this.usePreset(preset, false);
    else {
      const take = (key, fits, usual) => {
        const value = asked.get(key) ?? usual;
        if (fits(value)) return value;
        wrong.push(`${key}=${value}`);
        return usual;
      };
      await this.choose(() => {
        this.task = take("task", (task) => Object.hasOwn(this.setup.tasks, task), Object.keys(this.setup.tasks)[0]);
        this.seed = Number(take("seed", (seed) => /^\d{1,4}$/.test(seed), "0"));
        this.plan = null;
        for (const name of NAMES) {
          const parts = Object.entries(this.setup.usual).map(([part, usual]) =>
            [part, take(`${name}.${part}`, (value) => this.isOffered(part, value), usual)]);
          this.lanes[name].words = Object.fromEntries(parts);
        }
      }, true, false);
    }
    if (wrong.length) this.say(notOffered(wrong));
    this.root.scrollIntoView();
  }

  // -- training

  offerLoading() {
    const { runtime, ...files } = JSON.parse(this.root.dataset.files || "{}");
    const mine = ["begin", "step", "look"].map((part) => [part, files[`${this.setup.kind}-${part}`]]);
    this.offer("PyTorch's training step", { runtime, ...Object.fromEntries(runtime ? mine : []) });
  }

  async loadNets() {
    this.pause();
    if (!(await this.bring("lanes-worker.js", "The training step", "replay the presets"))) return;
    this.say("");
    this.offerLoading();
    await this.startOver();
  }

  /** What keeps the lanes from training, if anything. */
  fault() {
    if (this.engine?.isGone) return "The kernel has no lanes any more: run this cell again.";
    if (this.engine || this.chosen) return "";
    return this.cannot
      ? `${this.cannot}: only the presets can be shown. They were trained when the book was built.`
      : "To train with your own switches, load the training step. Without it only the presets replay.";
  }

  /** Ask the engine for steps of both lanes; a lane that has run away takes no more. */
  async ask(steps, begin) {
    if (!this.engine) this.keptRuns ??= await keptRuns(await statesOf(this.root), this.setup);
    const going = NAMES.filter((name) => begin || !this.history[name].ended);
    const ask = (name) => {
      const { words } = this.lanes[name];
      if (steps) this.history[name].was.push(words);
      if (this.engine) return this.engine.ask({ lane: this.view + name, task: this.task, seed: this.seed, words, steps, begin });
      return this.keptRuns.ask({ name, preset: this.preset, from: this.count, steps });
    };
    const late = new Promise((_, fail) => {
      this.alarm = setTimeout(() => fail(Object.assign(new Error("no answer came"), { isLost: true })), this.patience);
    });
    try {
      const answers = await Promise.race([Promise.all(going.map(ask)), late]);
      return Object.fromEntries(going.map((name, i) => [name, answers[i]]));
    } finally {
      clearTimeout(this.alarm);
    }
  }

  /** Take steps of both lanes, one call at a time; true if they were taken and are still wanted. */
  async advance(steps, begin = false) {
    const before = this.turn;
    this.turn = (async () => {
      await before;
      if (begin) this.forget();
      const run = this.run;
      if (this.fault()) return false;
      if (!begin && this.isOver()) return false;
      if (!begin) this.flip();
      const flipAt = this.plan?.then?.[0] ?? 0;
      const ends = [this.stopAt(), ...(flipAt > this.count ? [flipAt] : [])];
      const left = begin ? 0 : Math.min(steps, ...ends.map((end) => end - this.count));
      let answers;
      this.ahead = left;
      try {
        answers = await this.ask(left, begin);
      } catch (error) {
        await this.failed(error);
        return false;
      } finally {
        this.ahead = 0;
      }
      if (run !== this.run) return false;
      this.take(answers, left);
      return true;
    })();
    return this.turn;
  }

  forget() {
    this.run = unique();
    this.count = 0;
    this.history = Object.fromEntries(NAMES.map((name) => [name, { loss: [], right: [], was: [] }]));
  }

  take(answers, steps) {
    this.count += steps;
    for (const [name, { loss, gradient, branch, seen }] of Object.entries(answers)) {
      const lane = this.history[name];
      for (const value of loss) {
        if (!lane.ended && !Number.isFinite(value)) lane.ended = lane.loss.length + 1;
        lane.loss.push(value);
      }
      Object.assign(lane, { gradient, branch, seen });
      lane.right.push([this.count, mean(seen)]);
    }
    this.draw();
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
    if (await this.advance(0, true)) this.tell(true);
    else this.draw();
    const fault = this.fault();
    if (fault) this.now.textContent = this.result.textContent = fault;
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
      await frame();
      if (performance.now() - told > READING) {
        told = performance.now();
        this.tell(true);
      }
    }
    this.pause();
    this.tell(true);
  }

  async failed(error) {
    this.pause();
    if (this.fault()) return this.say(this.fault());
    if (error.isLost && this.engine && here) {
      this.engine.end();
      this.engine = this.turn = null;
      this.offerLoading();
      this.say("The worker that computed was lost, and both nets with it: load the step again.");
    } else if (error.isLost) this.say("No answer: the kernel is busy or was stopped; if it was restarted, run this cell again.");
    else this.say(`The step was not taken: ${error.message}.`);
  }
}
