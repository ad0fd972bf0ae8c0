/**
 * Engines that answer elsewhere: a worker with onnxruntime-web in the page, or torch behind a kernel in JupyterLab.
 * Nothing here knows what is asked.
 */

import { one, unique } from "../../explore/js/elements.js";
import { followHost } from "../../explore/js/host.js";
import { unpacked, unzip } from "../../explore/js/states.js";

const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);

/** The folder of the page's scripts; null beside a kernel. */
export const here = script && new URL(".", script.src);

/** What the markup tells a panel. @param {HTMLElement} root */
export const setupOf = (root) => JSON.parse(String(one(root, ".pn-setup").textContent));

/**
 * Numbers as `planes` in page.py packed them, then base64 of gzip: `take` gives a function that reads the next ones.
 * @param {string} text
 */
export async function planes(text) {
  const bytes = new Uint8Array(await unzip(unpacked(text)).arrayBuffer());
  const half = bytes.length / 2; // low bytes, then high ones
  let at = 0;
  const take = (/** @type {number} */ count, /** @type {(word: number) => number} */ scale) => {
    const begin = at;
    at += count;
    return () => Float32Array.from({ length: count }, (_, i) => scale(bytes[begin + i] + 256 * bytes[half + begin + i]));
  };
  return { take, isRead: () => at === half };
}

/** @typedef {{ done: (seen: any) => void, fail: (error: Error) => void }} Waiting */

/** An engine elsewhere: questions go out with an id, and an answer with it comes back. */
export class Remote {
  isGone = false;
  /** @type {Map<string, Waiting>} */
  waiting = new Map();
  end = () => {};

  /** @param {(question: object) => void} send */
  constructor(send) {
    this.send = send;
  }

  /** @param {object} question */
  ask(question) {
    return new Promise((done, fail) => {
      const id = unique(); // also among views of one model, which all hear each answer
      this.waiting.set(id, { done, fail });
      this.send({ id, ...question });
    });
  }

  /**
   * @param {string} id
   * @param {string | undefined} error
   * @param {() => any} seen
   */
  answered(id, error, seen) {
    const waiting = this.waiting.get(id);
    if (!waiting) return; // another view asked
    this.waiting.delete(id);
    if (error) waiting.fail(new Error(error));
    else waiting.done(seen());
  }
}

/** @param {URL} address as what a file is sent, "" if it does not come: a browser tells its console alone */
const typeOf = (address) => fetch(address).then(({ headers }) => headers.get("content-type") ?? "", () => "");

/**
 * onnxruntime-web in a worker; the engine's `end` stops it.
 * @param {string} script of the worker, beside this one
 * @param {object} files
 * @param {(share: number) => void} progress how much of the files has come
 * @returns {Promise<Remote>}
 */
export function loadWorker(script, files, progress) {
  const worker = new Worker(new URL(script, /** @type {URL} */ (here)), { type: "module" });
  const engine = new Remote((question) => worker.postMessage(question));
  engine.end = () => worker.terminate();
  return new Promise((resolve, reject) => {
    const give = (/** @type {string} */ error, final = false) => {
      worker.terminate();
      reject(Object.assign(new Error(error), { final }));
    };
    worker.onerror = async (event) => {
      const type = event.message ? "" : await typeOf(new URL(script, /** @type {URL} */ (here)));
      if (type && !type.includes("javascript")) give(`This host sends scripts as ${type}, which no browser starts as a worker`, true);
      else give(event.message || "The worker did not start");
    };
    worker.onmessage = ({ data }) => {
      if (data.id !== undefined) engine.answered(data.id, data.error, () => data.seen);
      else if (data.error) give(data.error);
      else if (data.ready) resolve(engine);
      else progress(data.progress);
    };
    worker.postMessage({ files });
  });
}

/** @param {DataView<ArrayBuffer>} view */
const floats = (view) => new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

/**
 * torch behind a kernel, by the messages of an anywidget model, until `signal` aborts.
 * @param {any} model
 * @param {AbortSignal} signal
 */
function askKernel(model, signal) {
  const engine = new Remote((question) => {
    try {
      model.send(question);
    } catch (error) {
      engine.isGone = true; // the way to the kernel is closed
      throw error;
    }
  });
  /**
   * @param {{id: string, error?: string, names: string[]}} answer
   * @param {DataView<ArrayBuffer>[]} buffers
   */
  const hear = ({ id, error, names, ...words }, buffers) => {
    const numbers = () => names.map((name, i) => [name, floats(buffers[i])]);
    engine.answered(id, error, () => ({ ...words, ...Object.fromEntries(numbers()) }));
  };
  model.on("msg:custom", hear);
  signal.addEventListener("abort", () => model.off("msg:custom", hear));
  return engine;
}

/** @typedef {{ lost: () => void, repaint: () => void }} Hearing */

/**
 * The anywidget of a panel for which a kernel computes.
 * @param {(root: HTMLElement, beside: { engine: Remote, signal: AbortSignal }) => void} start makes the panel, which
 *     leaves itself in `root.plusx`, and hears there when its kernel has `lost` it, or it has to `repaint`
 */
export const widget = (start) => ({
  /** @param {{ model: any, el: HTMLElement }} view */
  render({ model, el }) {
    el.innerHTML = model.get("markup");
    const root = /** @type {HTMLElement & { plusx?: Hearing }} */ (el.firstElementChild);
    const ended = new AbortController();
    const { signal } = ended;
    const engine = askKernel(model, signal);
    const lose = () => {
      engine.isGone = true; // ipywidgets says so when a kernel restarts, by itself or not
      root.plusx?.lost();
    };
    followHost(root, signal, () => root.plusx?.repaint());
    model.on("comm_live_update", lose);
    signal.addEventListener("abort", () => model.off("comm_live_update", lose));
    start(root, { engine, signal });
    return () => ended.abort();
  },
});
