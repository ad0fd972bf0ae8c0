/** Takes the steps of both lanes with onnxruntime-web, apart from the page; the weights stay here. */
import { floats, serve, sessions, whole } from "../../js/runtime.js";

const TASKS = ["line", "spirals", "signals"]; // those with 1024 examples; to sort, each step draws tokens of six kinds
const ACTIVATIONS = ["relu", "tanh", "none"];
const NORMS = ["none", "pre", "post"];
const STATE = ["weights", "exp_avg", "exp_avg_sq"];
const states = new Map(); // lane -> what a step hands to the next, and how many there were

/** Number `at` of a seed's sequence, in [0, 1): `uniform` of step.py. */
function uniform(seed, at) {
  let z = (seed + Math.imul(at + 1, 0x6d2b79f5)) | 0;
  z = Math.imul(z ^ (z >>> 15), z | 1);
  z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
  return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
}

const float = (number) => floats([Number(number)], []);
const oneOf = (names, chosen) => floats(names.map((name) => Number(name === chosen)));
const sizeOf = (net, name) => sessions[net].inputMetadata.find((input) => input.name === name).shape[0];

/** Parts of `Setting` of step.py or sorter.py, by a lane in words; the others are its numbers as they stand there. */
const PARTS = {
  skip: ({ skips }) => floats([...skips].map(Number)),
  used: ({ skips, depth }) => floats([...skips].map((_, block) => Number(block < depth))),
  place: ({ place }) => oneOf(NORMS, place),
  activation: ({ activation }) => oneOf(ACTIVATIONS, activation),
  adam: ({ optimiser }) => float(optimiser === "Adam"),
  identity: ({ start }) => float(start === "identity"),
  gain: ({ start }) => float(start === "identity" ? 1 : start),
  task: (_, task) => whole([TASKS.indexOf(task)]),
};

/** Those that a function takes. */
function setting(net, task, words) {
  const wanted = sessions[net].inputNames.filter((name) => name in PARTS || name in words);
  return Object.fromEntries(wanted.map((name) => [name, PARTS[name]?.(words, task) ?? float(words[name])]));
}

async function begin(seed, task, words) {
  const count = sizeOf("begin", "noise");
  const normal = (_, at) => Math.sqrt(-2 * Math.log(1 - uniform(seed, 2 * at))) * Math.cos(2 * Math.PI * uniform(seed, 2 * at + 1));
  const noise = floats(Float32Array.from({ length: count }, normal));
  const { new_weights: weights } = await sessions.begin.run({ noise, ...setting("begin", task, words) });
  const zeros = floats(new Float32Array(count));
  return { count: 0, seed, first: 2 * count, below: TASKS.includes(task) ? 1024 : 6, tensors: { weights, exp_avg: zeros, exp_avg_sq: zeros } };
}

async function step(state, settings) {
  const batch = sizeOf("step", "at");
  const from = state.first + state.count * batch;
  const at = whole(Array.from({ length: batch }, (_, i) => Math.floor(state.below * uniform(state.seed, from + i))));
  state.count += 1;
  const took = await sessions.step.run({ ...state.tensors, count: float(state.count), at, ...settings });
  state.tensors = Object.fromEntries(STATE.map((name) => [name, took[`new_${name}`]]));
  return took;
}

serve(async ({ lane, task, seed, words, steps, begin: anew }) => {
  if (anew) states.set(lane, await begin(seed, task, words));
  const state = states.get(lane);
  const settings = setting("step", task, words);
  const loss = new Float32Array(steps);
  let took;
  for (let i = 0; i < steps; i++) {
    took = await step(state, settings);
    loss[i] = took.new_loss.data[0];
  }
  const { seen } = await sessions.look.run({ weights: state.tensors.weights, ...settings });
  return { loss, ...(took && { gradient: took.new_gradient.data, branch: took.new_branch.data }), seen: seen.data };
});
