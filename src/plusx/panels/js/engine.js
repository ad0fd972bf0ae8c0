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

/** An engine elsewhere: questions go out with an id, and an answer with it comes back. */
export class Remote {
  isGone = false;
  /** @type {Map<string, PromiseWithResolvers<any>>} */
  waiting = new Map();
  end = () => {};

  /** @param {(question: object) => void} send */
  constructor(send) {
    this.send = send;
  }

  /** @param {object} question */
  ask(question) {
    const id = unique(); // also among views of one model, which all hear each answer
    const answer = Promise.withResolvers();
    this.waiting.set(id, answer);
    this.send({ id, ...question });
    return answer.promise;
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
    if (error) waiting.reject(new Error(error));
    else waiting.resolve(seen());
  }
}

/**
 * onnxruntime-web in a worker; the engine's `end` stops it.
 * @param {string} script of the worker, beside this one
 * @param {object} files
 * @param {(share: number) => void} progress how much of the files has come
 * @returns {Promise<Remote>}
 */
export async function loadWorker(script, files, progress) {
  const address = new URL(script, /** @type {URL} */ (here));
  const worker = new Worker(address, { type: "module" });
  const engine = new Remote((question) => worker.postMessage(question));
  engine.end = () => worker.terminate();
  worker.onmessage = ({ data }) => {
    if (data.id) engine.answered(data.id, data.error, () => data.seen);
    else progress(data.progress);
  };
  const failed = new Promise((_, fail) => {
    worker.onerror = async ({ message }) => {
      const sent = message ? null : await fetch(address).catch(() => null); // a browser tells its console alone
      const type = sent?.headers.get("content-type") ?? "javascript";
      const final = !type.includes("javascript");
      const said = final ? `This host sends scripts as ${type}, which no browser starts as a worker` : message || "The worker did not start";
      fail(Object.assign(new Error(said), { final }));
    };
  });
  try {
    await Promise.race([engine.ask({ files }), failed]);
  } catch (error) {
    worker.terminate();
    throw error;
  }
  return engine;
}

/** @typedef {{ engineChanged: () => void, repaint?: () => void }} Hearing */
/** @typedef {{ engine: Remote, signal: AbortSignal }} Beside a kernel, until the signal aborts */

/**
 * A kind of panel in its two forms: a script starts those of its page, a module is an anywidget, whose kernel computes.
 * @param {string} kind
 * @param {(root: HTMLElement, beside?: Beside) => void} start makes a panel, which leaves itself in `root.plusx`, and
 *     hears there that its kernel has gone, `engineChanged`, or that it has to `repaint`
 */
export function panels(kind, start) {
  const roots = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(`.plusx-${kind}`));
  for (const root of here ? roots : []) start(root);
  /** @param {{ model: any, el: HTMLElement }} view */
  const render = ({ model, el }) => {
    el.innerHTML = model.get("markup");
    const root = /** @type {HTMLElement & { plusx?: Hearing }} */ (el.firstElementChild);
    const ended = new AbortController();
    const { signal } = ended;
    const engine = new Remote((question) => {
      try {
        model.send(question);
      } catch (error) {
        engine.isGone = true; // the way to the kernel is closed
        throw error;
      }
    });
    /** @param {string} event @param {Function} call */
    const follow = (event, call) => {
      model.on(event, call);
      signal.addEventListener("abort", () => model.off(event, call));
    };
    /**
     * @param {{id: string, error?: string, names: string[]}} answer
     * @param {DataView<ArrayBuffer>[]} buffers
     */
    const hear = ({ id, error, names, ...words }, buffers) => {
      const numbers = () => names.map((name, i) => [name, floats(buffers[i])]);
      engine.answered(id, error, () => ({ ...words, ...Object.fromEntries(numbers()) }));
    };
    follow("msg:custom", hear);
    follow("comm_live_update", () => {
      engine.isGone = true; // ipywidgets says so when a kernel restarts, by itself or not
      root.plusx?.engineChanged();
    });
    followHost(root, signal, () => root.plusx?.repaint?.());
    start(root, { engine, signal });
    return () => ended.abort();
  };
  return { render };
}

/** @param {DataView<ArrayBuffer>} view */
const floats = (view) => new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
