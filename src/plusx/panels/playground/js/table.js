/** What answers where no net is loaded. */

import { planes } from "../../js/engine.js";

/** The presets at the start texts, as `pack` in page.py wrote them; each is read when it is asked for. */
export async function tableOf(text, setup) {
  const { take, isRead } = await planes(await text);
  const states = new Map();
  for (const [name, net] of Object.entries(setup.nets)) {
    const n = net.start.length;
    for (const preset of setup.presets) {
      const parts = {
        scores: take((net.layers + 1) * n * net.alphabet.length, (w) => -Math.expm1(w / 3000)),
        attention: take(net.layers * net.heads * n * n, (w) => w / 65535),
        similarity: take((net.layers + 1) * n * n, (w) => w / 32767 - 1),
        norm: take((net.layers + 1) * n, (w) => Math.expm1(w / 3000)),
      };
      states.set([name, net.start, preset.switches].join(), { n, parts });
    }
  }
  if (!isRead()) throw new Error("the table has another size");

  return { ask(net, text, switches) {
    const state = states.get([net, text, switches].join());
    return state && { n: state.n, ...Object.fromEntries(Object.entries(state.parts).map(([part, read]) => [part, read()])) };
  } };
}
