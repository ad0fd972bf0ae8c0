/** The runs of the presets, as `pack` in page.py wrote them: gives what answers as an engine does. */

import { planes } from "../../js/engine.js";
import { NAMES } from "./words.js";

export async function keptRuns(text, { presets, usual, kept, every }) {
  const blocks = usual.skips.length;
  const { take, isRead } = await planes(text);
  const power = (word) => (word === 65535 ? NaN : 10 ** ((word / 65534) * 48 - 24));
  const pictures = kept / every;
  const sizes = { line: 128, spirals: 1024, signals: 1, sort: 1 };
  const runs = presets.map(({ task }) => NAMES.map(() => ({
    loss: take(kept, power)(),
    gradient: take(pictures * blocks, power)(),
    branch: take(pictures * blocks, power)(),
    seen: take((pictures + 1) * sizes[task], (word) => (word * 8) / 65535 - 4)(),
  })));
  if (!isRead()) throw new Error("the runs have another size");

  return ({ name, preset, from, steps }) => {
    const { loss, gradient, branch, seen } = runs[preset][NAMES.indexOf(name)];
    const at = Math.floor((from + steps) / every);
    const part = (all, size, at) => all.subarray(at * size, (at + 1) * size);
    return {
      loss: loss.subarray(from, from + steps),
      ...(at && { gradient: part(gradient, blocks, at - 1), branch: part(branch, blocks, at - 1) }),
      seen: part(seen, seen.length / (pictures + 1), at),
    };
  };
}
