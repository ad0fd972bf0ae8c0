/**
 * What an explorer asks of the picture of its figures, whatever draws it. plotly.js is one; a figure that is drawn and
 * not plotted has another.
 *
 * @typedef {object} View what is to be seen
 * @property {any} figure the present state's
 * @property {{figure: any, pinned: boolean}[]} others those of states that stay beside it, faintly
 *
 * @typedef {object} Picture
 * @property {boolean} ready whether it can draw; until then the still stands in its place
 * @property {() => Promise<void>} load gets what it needs; an error says in words what did not come
 * @property {() => void} redraw the view has changed: draws in this frame, or in the next if this one has drawn
 * @property {() => void} repaint every colour has changed
 * @property {() => void} resize its place has another size
 * @property {(figure: any) => boolean} pins whether another state can stay beside this figure
 * @property {() => void} end
 */

export {};
