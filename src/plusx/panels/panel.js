/**
 * What panels share that ask a net: elements, and engines that answer elsewhere. An engine is a worker with
 * onnxruntime-web in the page, or torch behind a kernel in JupyterLab. Nothing here knows what is asked.
 */
(() => {
  "use strict";

  const here = document.currentScript && new URL(".", document.currentScript.src); // in JupyterLab: null

  /** An element with attributes and children; `on...` are listeners. */
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }

  const unique = () => crypto.getRandomValues(new Uint32Array(2)).join("-"); // randomUUID needs https

  /** From base64 of gzip to bytes. */
  async function unzip(text) {
    const packed = await fetch(`data:;base64,${text}`); // the browser decodes it, off the page's own thread
    const stream = packed.body.pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  /** What Python computed beforehand: in the page, or in a script beside it (which works from disk, as fetch does not). */
  function statesOf(root) {
    const { textContent, dataset } = root.querySelector(".px-states");
    if (!dataset.src) return textContent;
    return new Promise((resolve, reject) => {
      const script = make("script", { src: dataset.src, onload: () => resolve(window.plusxStates?.[root.id] ?? ""), onerror: () => reject(new Error("it did not load")) });
      document.head.append(script);
    });
  }

  /** An engine elsewhere: questions go out with an id, and an answer with it comes back. */
  class Remote {
    constructor(send) {
      this.send = send;
      this.waiting = new Map();
    }

    ask(question) {
      return new Promise((done, fail) => {
        const id = unique(); // also among views of one model, which all hear each answer
        this.waiting.set(id, { done, fail });
        this.send({ id, ...question });
      });
    }

    answered(id, error, seen) {
      if (!this.waiting.has(id)) return; // another view asked
      const { done, fail } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) fail(new Error(error));
      else done(seen());
    }
  }

  /**
   * onnxruntime-web in a worker; the engine's `end` stops it.
   * @param {string} script of the worker, beside this one
   * @param {(share: number) => void} progress how much of the files has come
   */
  function loadWorker(script, files, progress) {
    const worker = new Worker(new URL(script, here), { type: "module" });
    const engine = new Remote((question) => worker.postMessage(question));
    engine.end = () => worker.terminate();
    return new Promise((resolve, reject) => {
      const give = (error) => {
        worker.terminate();
        reject(new Error(error));
      };
      worker.onerror = (event) => give(event.message || "The worker did not start");
      worker.onmessage = ({ data }) => {
        if (data.id !== undefined) engine.answered(data.id, data.error, () => data.seen);
        else if (data.error) give(data.error);
        else if (data.ready) resolve(engine);
        else progress(data.progress);
      };
      worker.postMessage({ files });
    });
  }

  /** torch behind a kernel, by the messages of an anywidget model, until `signal` aborts. */
  function askKernel(model, signal) {
    const engine = new Remote((question) => {
      try {
        model.send(question);
      } catch (error) { // the way to the kernel is closed
        engine.isGone = true;
        throw error;
      }
    });
    const hear = ({ id, error, names, ...words }, buffers) => {
      engine.answered(id, error, () => ({ ...words, ...Object.fromEntries(names.map((name, i) => [name, floats(buffers[i])])) }));
    };
    model.on("msg:custom", hear);
    signal.addEventListener("abort", () => model.off("msg:custom", hear));
    return engine;
  }

  const floats = (view) => new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

  globalThis.plusxPanel = { here, make, unique, unzip, statesOf, loadWorker, askKernel };
})();
