/** onnxruntime-web for the workers of panels: their files fetched with progress, a session for each net. */
import { unzip } from "../../explore/js/states.js";
import * as ort from "./ort.wasm.bundle.min.js";

export const sessions = {};
export const contents = {}; // of files that are no nets

export const floats = (numbers, shape = [numbers.length]) => new ort.Tensor("float32", Float32Array.from(numbers), shape);
export const whole = (numbers, shape = [numbers.length]) =>
  new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), shape);

/** Fetch a file with its progress; it may be gzipped. What is to be kept is asked of the network once. */
async function read({ url, keep }, came) {
  const store = keep && self.caches ? await caches.open("plusx model") : undefined; // there is none without https
  const known = await store?.match(url);
  const answer = known ?? (await fetch(url));
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  const transform = (part, out) => {
    out.enqueue(part);
    came(part.length);
  };
  const blob = await new Response(answer.body.pipeThrough(new TransformStream({ transform }))).blob();
  if (store && !known) {
    for (const other of await store.keys()) await store.delete(other); // an older one
    await store.put(url, new Response(blob)).catch(() => {}); // where there is no room it comes again
  }
  const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const isPacked = first === 0x1f && second === 0x8b; // unless the server has unpacked it
  return (isPacked ? unzip(blob) : blob).arrayBuffer();
}

async function load(files) {
  const total = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  let got = 0;
  const came = (bytes) => {
    got += bytes;
    postMessage({ progress: Math.min(got / total, 1) });
  };
  const names = Object.keys(files);
  await Promise.all(names.map(async (name) => (contents[name] = await read(files[name], came))));
  ort.env.wasm.numThreads = 1; // more need headers that a static host does not send
  ort.env.wasm.wasmBinary = contents.runtime;
  for (const name of names) {
    if (!files[name].url.endsWith(".onnx")) continue;
    sessions[name] = await ort.InferenceSession.create(contents[name], { executionProviders: ["wasm"] });
    delete contents[name];
  }
  return {};
}

/**
 * Answer each question with an id: the first, of files, once they are loaded, any other by what is given.
 * @param {(question: object) => Promise<object>} answer gives what the page gets as `seen`; its arrays are not copied
 */
export function serve(answer) {
  self.onmessage = async ({ data: { id, files, ...question } }) => {
    try {
      const seen = files ? await load(files) : await answer(question);
      const moved = Object.values(seen).filter(ArrayBuffer.isView).map((data) => data.buffer);
      postMessage({ id, seen }, moved);
    } catch (error) {
      postMessage({ id, error: error.message });
    }
  };
}
