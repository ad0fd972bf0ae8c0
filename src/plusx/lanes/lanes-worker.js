/** Takes the steps of both lanes with onnxruntime-web, apart from the page; the weights stay here. */
import { ort, serve, sessions } from "./runtime.js";

const POINTS = 1024; // examples of a task
const TASKS = ["line", "spirals", "signals"];
const ACTIVATIONS = ["relu", "tanh", "none"];
const STATE = ["weights", "exp_avg", "exp_avg_sq"];
const states = new Map(); // lane -> what a step hands to the next, and how many there were

/** Number `at` of a seed's sequence, in [0, 1): `uniform` of step.py. */
function uniform(seed, at) {
  let z = (seed + Math.imul(at + 1, 0x6d2b79f5)) | 0;
  z = Math.imul(z ^ (z >>> 15), z | 1);
  z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
  return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
}

const floats = (numbers) => new ort.Tensor("float32", Float32Array.from(numbers), [numbers.length]);
const float = (number) => new ort.Tensor("float32", [number], []);
const whole = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [numbers.length]);
const taskOf = (task) => whole([TASKS.indexOf(task)]);
const sizeOf = (net, name) => sessions[net].inputMetadata.find((input) => input.name === name).shape[0];

/** A lane in words as `Setting` of step.py. */
const setting = (task, words) => ({
  skip: floats([...words.skips].map(Number)),
  used: floats([...words.skips].map((_, block) => Number(block < words.depth))),
  norm: float(Number(words.norm)),
  activation: floats(ACTIVATIONS.map((name) => Number(name === words.activation))),
  scale: float(Number(words.scale)),
  learned: float(Number(words.learned)),
  rate: float(Number(words.rate)),
  adam: float(Number(words.optimiser === "Adam")),
  task: taskOf(task),
});

async function begin(seed, task, { start }) {
  const count = sizeOf("begin", "noise");
  const normal = (_, at) => Math.sqrt(-2 * Math.log(1 - uniform(seed, 2 * at))) * Math.cos(2 * Math.PI * uniform(seed, 2 * at + 1));
  const isIdentity = start === "identity";
  const { new_weights: weights } = await sessions.begin.run({
    noise: floats(Float32Array.from({ length: count }, normal)),
    gain: float(isIdentity ? 1 : Number(start)),
    identity: float(Number(isIdentity)),
    task: taskOf(task),
  });
  const zeros = floats(new Float32Array(count));
  return { count: 0, seed, first: 2 * count, tensors: { weights, exp_avg: zeros, exp_avg_sq: zeros } };
}

async function step(state, settings) {
  const batch = sizeOf("step", "at");
  const from = state.first + state.count * batch;
  const at = whole(Array.from({ length: batch }, (_, i) => Math.floor(POINTS * uniform(state.seed, from + i))));
  state.count += 1;
  const took = await sessions.step.run({ ...state.tensors, count: float(state.count), at, ...settings });
  state.tensors = Object.fromEntries(STATE.map((name) => [name, took[`new_${name}`]]));
  return took;
}

serve(async ({ lane, task, seed, words, steps, begin: anew }) => {
  if (anew) states.set(lane, await begin(seed, task, words));
  const state = states.get(lane);
  const settings = setting(task, words);
  const loss = new Float32Array(steps);
  let took;
  for (let i = 0; i < steps; i++) {
    took = await step(state, settings);
    loss[i] = took.new_loss.data[0];
  }
  const { seen } = await sessions.look.run({ weights: state.tensors.weights, ...settings });
  const last = took ? { gradient: took.new_gradient.data, branch: took.new_branch.data } : {};
  return { loss, ...last, seen: seen.data };
});
