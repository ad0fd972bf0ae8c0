/** What answers where no net is loaded. */

import { inflated } from "../../js/engine.js";

/** The presets at the start texts, as `pack` in page.py wrote them; each is read when it is asked for. */
export class Table {
  static async from(text, setup) {
    const table = new Table();
    const bytes = await inflated(await text);
    const half = bytes.length / 2; // low bytes, then high ones
    let at = 0;
    const take = (count, scale) => {
      const begin = at;
      at += count;
      return () => Float32Array.from(bytes.subarray(begin, begin + count), (low, i) => scale(low + 256 * bytes[half + begin + i]));
    };
    table.states = new Map();
    for (const [name, net] of Object.entries(setup.nets)) {
      const n = net.start.length;
      for (const preset of setup.presets) {
        const parts = {
          scores: take((net.layers + 1) * n * net.alphabet.length, (w) => -Math.expm1(w / 3000)),
          attention: take(net.layers * net.heads * n * n, (w) => w / 65535),
          similarity: take((net.layers + 1) * n * n, (w) => w / 32767 - 1),
          norm: take((net.layers + 1) * n, (w) => Math.expm1(w / 3000)),
        };
        table.states.set([name, net.start, preset.switches].join(), { n, parts });
      }
    }
    if (at !== half) throw new Error("the table has another size");
    return table;
  }

  async ask(net, text, switches) {
    const state = this.states.get([net, text, switches].join());
    if (!state) return undefined;
    const { n, parts } = state;
    return { n, scores: parts.scores(), attention: parts.attention(), similarity: parts.similarity(), norm: parts.norm() };
  }
}
