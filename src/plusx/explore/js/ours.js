/** The one name that we have among a page's globals: what scripts of a page, or copies of one module, share. */

const page = /** @type {{ plusx?: import("./types.js").Ours }} */ (globalThis);
page.plusx ??= {};

export const ours = page.plusx;
