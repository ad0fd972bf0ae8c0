/** Runs the nets of the playground with onnxruntime-web, apart from the page, which stays responsive. */
import * as ort from "./ort.wasm.bundle.min.js";

const sessions = {};

/** Fetch a file with its progress; it may be gzipped. */
async function read({ url }, came) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  const parts = [];
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    came(value.length);
  }
  let blob = new Blob(parts);
  const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (first === 0x1f && second === 0x8b) { // unless the server has unpacked it
    blob = await new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  }
  return blob.arrayBuffer();
}

async function load(files) {
  const total = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  let got = 0;
  const came = (bytes) => postMessage({ progress: Math.min((got += bytes) / total, 1) });
  const names = Object.keys(files);
  const contents = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(files[name], came)])));
  ort.env.wasm.numThreads = 1; // more need headers that a static host does not send
  ort.env.wasm.wasmBinary = contents.runtime;
  for (const name of names) {
    if (name !== "runtime") sessions[name] = await ort.InferenceSession.create(contents[name], { executionProviders: ["wasm"] });
  }
  postMessage({ ready: true });
}

const whole = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [numbers.length]);

async function answer({ id, net, tokens, switches }) {
  const outputs = await sessions[net].run({ tokens: whole(tokens), switches: whole(switches) });
  const seen = Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.data]));
  const moved = Object.values(seen).map((data) => data.buffer); // not copied
  postMessage({ id, seen: { n: tokens.length, ...seen } }, moved);
}

onmessage = ({ data }) => {
  const task = data.files ? load(data.files) : answer(data);
  task.catch((error) => postMessage({ id: data.id, error: error.message }));
};
