/* Read, the default, or Lab: in the page's head, so that what Read folds is never seen open. reading.js does the rest. */

document.documentElement.dataset.reading = localStorage.getItem("reading") ?? "read";
