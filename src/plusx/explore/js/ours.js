/** The one name that we have among a page's globals: what scripts of a page, or copies of one module, share. */

/**
 * @typedef {object} Ours
 * @property {Record<string, string>} [states] an element's id -> its states, by scripts beside a page
 * @property {Map<string, Promise<any>>} [plotly] a file -> its plotly; one for the whole page
 * @property {any} [predictions] what a reader predicted, see the site's feature
 * @property {any} [explore] for the page's other scripts, see page.js
 */

const page = /** @type {{plusx?: Ours}} */ (globalThis);
page.plusx ??= {};

export const ours = page.plusx;
