/** What answers where no net is loaded. */

import { planes } from "../../js/engine.js";

/** The presets at the start texts, as `pack` in page.py wrote them; each is read when it is asked for. */
export async function tableOf(text, setup) {
  const { take, isRead } = await planes(await text);
  const states = new Map();
  for (const [name, net] of Object.entries(setup.nets)) {
    const n = net.start.length;
    for (const preset of setup.presets) {
      const scores = take((net.layers + 1) * n * net.alphabet.length, (w) => -Math.expm1(w / 3000));
      const attention = take(net.layers * net.heads * n * n, (w) => w / 65535);
      const similarity = take((net.layers + 1) * n * n, (w) => w / 32767 - 1);
      const norm = take((net.layers + 1) * n, (w) => Math.expm1(w / 3000));
      const read = () => ({ n, scores: scores(), attention: attention(), similarity: similarity(), norm: norm() });
      states.set([name, net.start, preset.switches].join(), read);
    }
  }
  if (!isRead()) throw new Error("the table has another size");
  return (...state) => states.get(state.join())?.();
}
