/** onnxruntime-web for the workers of panels: their files fetched with progress, a session for each net. */
import * as ort from "./ort.wasm.bundle.min.js";

export { ort };
export const sessions = {};
export const contents = {}; // of files that are no nets

/** Fetch a file with its progress; it may be gzipped. What is to be kept is asked of the network once. */
async function read({ url, keep }, came) {
  const store = keep && self.caches ? await caches.open("plusx model") : undefined; // there is none without https
  const known = await store?.match(url);
  const answer = known ?? (await fetch(url));
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  const parts = [];
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    came(value.length);
  }
  let blob = new Blob(parts);
  if (store && !known) {
    for (const other of await store.keys()) await store.delete(other); // an older one
    await store.put(url, new Response(blob)).catch(() => {}); // where there is no room it comes again
  }
  const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (first === 0x1f && second === 0x8b) { // unless the server has unpacked it
    blob = await new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  }
  return blob.arrayBuffer();
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
  postMessage({ ready: true });
}

/**
 * Load what the first message names, then answer each question with an id.
 * @param {(question: object) => Promise<object>} answer gives what the page gets as `seen`; its arrays are not copied
 */
export function serve(answer) {
  const tell = async ({ id, ...question }) => {
    const seen = await answer(question);
    const moved = Object.values(seen).filter(ArrayBuffer.isView).map((data) => data.buffer);
    postMessage({ id, seen }, moved);
  };
  self.onmessage = ({ data }) => {
    const task = data.files ? load(data.files) : tell(data);
    task.catch((error) => postMessage({ id: data.id, error: error.message }));
  };
}
