/** Lines bear their names where they end, in panels that have the room; the legend has all of them. */

import { make } from "../elements.js";

const LINE = 15; // of a name at a line's end, in pixels
const FAR = LINE / 2; // from its end, a name may be another line's
const WIDE = 0.4; // of a panel, a name covers too much

/** @typedef {{x: number, y: number, panel: any, room: any, at: number, label: HTMLElement}} End */

/**
 * Where a line ends, in pixels of the plot; null if that is out of its panel.
 * @param {any} trace
 * @param {any} layout plotly's full one
 */
function endOf({ x, y, xaxis = "x", yaxis = "y" }, { _plots }) {
  const { xaxis: across, yaxis: up } = _plots[`${xaxis}${yaxis}`] ?? {};
  if (!across || !up) return null;
  for (let i = Math.min(x.length, y.length) - 1; i >= 0; i--) {
    const [right, down] = [across.d2p(x[i]), up.d2p(y[i])];
    if (!Number.isFinite(right) || !Number.isFinite(down)) continue; // a gap
    if (Math.min(right, down, across._length - right, up._length - down) < -1) return null;
    return { x: right + across._offset, y: down + up._offset, panel: up, room: across, at: 0 };
  }
  return null;
}

/**
 * Heights for the names of one panel's lines, none over another; null where one would be far from its line.
 * @param {End[]} ends
 */
function stacked(ends) {
  const { _offset: top, _length: tall } = ends[0].panel;
  const sorted = [...ends].sort((a, b) => a.y - b.y);
  let free = top + LINE / 2;
  for (const end of sorted) {
    end.at = Math.max(end.y, free);
    free = end.at + LINE;
  }
  free = top + tall - LINE / 2;
  for (const end of sorted.reverse()) {
    end.at = Math.min(end.at, free);
    free = end.at - LINE;
  }
  return sorted.every((end) => Math.abs(end.at - end.y) <= FAR && end.at >= top) ? sorted : null;
}

/**
 * Write the names over a plot.
 * @param {HTMLElement} box for the names
 * @param {any} plot plotly's node
 * @param {any} figure
 */
export function nameEnds(box, plot, figure) {
  const isListed = (/** @type {any} */ { name, showlegend }) => showlegend !== false && name;
  const listed = new Set(figure.data.filter(isListed).map((/** @type {any} */ { name }) => name));
  const isNamed = (/** @type {any} */ { type = "scatter", mode = "", name, visible = true, hoverinfo }) =>
    type === "scatter" && mode.includes("lines") && listed.has(name) && visible === true && hoverinfo !== "skip";
  /** @type {End[]} */
  const ends = !figure.legend
    ? []
    : figure.data.flatMap((/** @type {any} */ trace, /** @type {number} */ i) => {
        const end = isNamed(trace) && endOf(trace, plot._fullLayout);
        if (!end) return [];
        const label = make("span", {}, trace.name);
        label.style.color = plot._fullData[i].line.color;
        return [{ ...end, label }];
      });
  box.replaceChildren(...ends.map(({ label }) => label));
  for (const panel of new Set(ends.map((end) => end.panel))) {
    const here = ends.filter((end) => end.panel === panel);
    const fits = here.every(({ label, room }) => label.offsetWidth <= WIDE * room._length);
    const placed = fits && here.length > 1 && stacked(here);
    for (const { label, x, at, room } of placed || here) {
      label.hidden = !placed;
      const left = Math.min(x, room._offset + room._length) - label.offsetWidth;
      label.style.transform = `translate(${left}px, ${at - LINE}px)`;
    }
  }
}
