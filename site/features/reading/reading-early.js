/* Read, the default, or Lab: in the page's head, so that what Read folds is never seen open. reading.js does the rest. */

const { dataset } = document.documentElement;
try {
  dataset.reading = localStorage.getItem("reading") ?? "read";
} catch {
  dataset.reading = "read"; // no storage, as in a frame of another site
}
