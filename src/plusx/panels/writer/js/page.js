/** The writer of a page: a model that the site brings along comes into a worker when it is asked for. */

import { loadWorker } from "../../js/engine.js";
import { Writer } from "./writer.js";

for (const root of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".plusx-writer"))) {
  const files = JSON.parse(root.dataset.files ?? "{}");
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  const offer = !bytes
    ? "Not here: other words, and more cuts than one, want the model, which this page does not bring along. Open the chapter in JupyterLab."
    : location.protocol === "file:"
      ? "Not from disk, where a browser starts no worker."
      : `Load the model (${Math.round(bytes / 1e6)} MB)`;
  new Writer(root, (progress) => loadWorker("writer-worker.js", files, progress), offer);
}
