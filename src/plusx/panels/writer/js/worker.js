/** Writes with onnxruntime-web, apart from the page; what attention keeps of the text stays here. */
import { contents, floats, serve, sessions, whole } from "../../js/runtime.js";
import { Tokenizer } from "./tokenizers.min.js";

const [HEADS, WIDTH] = [3, 64]; // of keys and values
const END = 2; // the token that ends what it says
let tokenizer;
let state; // the tokens to be read next, keys and values of those before, and what was written

function begin(text) {
  const none = floats([], [1, HEADS, 0, WIDTH]);
  const names = sessions.model.outputNames.filter((name) => name !== "scores");
  return { ids: tokenizer.encode(text).ids, past: Object.fromEntries(names.map((name) => [`past_${name}`, none])), written: [] };
}

serve(async ({ begin: text, skip, branch }) => {
  tokenizer ??= new Tokenizer(JSON.parse(new TextDecoder().decode(contents.words)), {});
  if (text) state = begin(text);
  const ids = whole(state.ids, [1, state.ids.length]);
  const { scores, ...kept } = await sessions.model.run({ ids, skip: floats(skip), branch: floats(branch), ...state.past });
  const best = scores.data.reduce((at, score, i, all) => (score > all[at] ? i : at), 0);
  state.past = Object.fromEntries(Object.entries(kept).map(([name, tensor]) => [`past_${name}`, tensor]));
  state.ids = [best];
  if (best !== END) state.written.push(best);
  return { text: tokenizer.decode(state.written), ended: best === END };
});
