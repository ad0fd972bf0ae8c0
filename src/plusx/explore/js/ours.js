/** The one name that we have among a page's globals: what scripts of a page, or copies of one module, share. */

/**
 * @typedef {object} Ours
 * @property {Record<string, string>} [states] an element's id -> its states, by scripts beside a page
 * @property {Map<string, Promise<any>>} [plotly] a file -> its plotly; one for the whole page
 */

const page = /** @type {{plusx?: Ours}} */ (globalThis);
page.plusx ??= {};

export const ours = page.plusx;
