/** The runs of the presets, as `pack` in page.py wrote them. */

import { inflated } from "../../js/engine.js";
import { NAMES } from "./words.js";

export class Kept {
  static async from(text, { presets, usual, kept, every }) {
    const blocks = usual.skips.length;
    const bytes = await inflated(text);
    const words = Float32Array.from({ length: bytes.length / 2 }, (_, i) => bytes[i] + 256 * bytes[bytes.length / 2 + i]);
    let at = 0;
    const take = (count, scale) => {
      at += count;
      return words.subarray(at - count, at).map(scale);
    };
    const power = (word) => (word === 65535 ? NaN : 10 ** ((word / 65534) * 48 - 24));
    const pictures = kept / every;
    const sizes = { line: 128, spirals: 1024, signals: 1, sort: 1 };
    const runs = presets.map(({ task }) => NAMES.map(() => ({
      loss: take(kept, power),
      gradient: take(pictures * blocks, power),
      branch: take(pictures * blocks, power),
      seen: take((pictures + 1) * sizes[task], (word) => (word * 8) / 65535 - 4),
    })));
    if (at !== words.length) throw new Error("the runs have another size");
    return Object.assign(new Kept(), { runs, blocks, every, kept });
  }

  async ask({ name, preset, from, steps }) {
    const { loss, gradient, branch, seen } = this.runs[preset][NAMES.indexOf(name)];
    const pictures = Math.floor((from + steps) / this.every);
    const part = (all, size, at) => all.subarray(at * size, (at + 1) * size);
    return {
      loss: loss.subarray(from, from + steps),
      ...(pictures && { gradient: part(gradient, this.blocks, pictures - 1), branch: part(branch, this.blocks, pictures - 1) }),
      seen: part(seen, seen.length / (this.kept / this.every + 1), pictures),
    };
  }
}
