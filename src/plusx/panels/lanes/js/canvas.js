/** Curves and planes on a canvas, as sharp as the screen. */

import { rgb } from "../../../explore/js/colours.js";
import { make } from "../../../explore/js/elements.js";
import { plain } from "../../../explore/js/words.js";

/** Ticks of an axis from low to high: powers of ten, or four or five round numbers. */
function ticks(low, high, isLog) {
  const round = [1, 2, 5, 10].map((digit) => digit * 10 ** Math.floor(Math.log10((high - low) / 5)));
  const step = round.find((each) => (high - low) / each <= 5) ?? round.at(-1);
  const by = isLog ? Math.max(1, Math.ceil((high - low) / 5)) : step;
  const found = [];
  for (let tick = Math.ceil(low / by - 1e-9) * by; tick <= high + 1e-9 * by; tick += by) found.push(tick);
  return found;
}

const tickWord = (tick, isLog) => (isLog ? plain(`10<sup>${Math.round(tick)}</sup>`) : String(Number(tick.toPrecision(4))).replace("-", "−"));

/** A canvas as sharp as the screen, emptied; gives its context and its size in CSS pixels. */
function sheet(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}

/**
 * Lines over common axes.
 * @param lines of { x, y, colour, dash, mark }; what is no number is a gap
 * @param axes { x: [low, high], y: [low, high], log: is y a power of ten, ticks of x if not round as [place, word],
 *   marks: x of dashes }
 */
export function plot(canvas, lines, axes, ink) {
  const { context, width, height } = sheet(canvas);
  const [left, right, top, bottom] = [44, 8, 8, 22];
  const up = axes.log ? Math.log10 : (value) => value;
  const X = (value) => left + ((value - axes.x[0]) / (axes.x[1] - axes.x[0])) * (width - left - right);
  const Y = (value) => height - bottom - ((up(value) - axes.y[0]) / (axes.y[1] - axes.y[0])) * (height - top - bottom);
  context.fillStyle = ink.muted;
  context.strokeStyle = ink.grid;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const rule = (from, to) => context.stroke(new Path2D(`M${from}L${to}`));
  for (const tick of ticks(...axes.y, axes.log)) {
    const y = Y(axes.log ? 10 ** tick : tick);
    rule([left, y], [width - right, y]);
    context.fillText(tickWord(tick, axes.log), left - 5, y);
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  const below = axes.ticks ?? ticks(...axes.x).map((tick) => [tick, tickWord(tick)]);
  for (const [tick, word] of below) context.fillText(word, Math.min(X(tick), width - 14), height - 5);
  context.setLineDash([2, 3]);
  context.strokeStyle = ink.muted;
  for (const mark of axes.marks ?? []) rule([X(mark), top], [X(mark), height - bottom]);
  context.clip(new Path2D(`M${left},0H${width - right + 4}V${height - bottom + 3}H${left}Z`));
  const isThere = (value) => Number.isFinite(up(value));
  for (const { x, y, colour, dash = [], mark, thick = 2 } of lines) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = thick;
    context.setLineDash(dash);
    const way = Array.from(y, (value, i) => isThere(value) && `${isThere(y[i - 1]) ? "L" : "M"}${X(x[i])},${Y(value)}`);
    context.stroke(new Path2D(way.filter(Boolean).join("")));
    for (const [i, value] of mark ? y.entries() : []) if (isThere(value)) stamp(context, mark, X(x[i]), Y(value));
  }
}

function stamp(context, mark, x, y) {
  context.beginPath();
  if (mark === "circle") context.arc(x, y, 3.5, 0, 7);
  else context.rect(x - 3, y - 3, 6, 6);
  context.fill();
}

/** The limits of a logarithmic axis around numbers: whole powers of ten, at least one apart. */
export function decades(values) {
  const logs = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  if (!logs.length) return [-1, 1];
  const low = Math.floor(Math.min(...logs));
  return [low, Math.max(Math.ceil(Math.max(...logs)), low + 1)];
}

/** The plane from -2 to 2: how probable the second spiral is at each place, and examples of both. */
export function paintPlane(canvas, seen, dots, [first, second], page) {
  const { context, width, height } = sheet(canvas);
  if (seen.length) {
    const side = Math.sqrt(seen.length);
    const [from, to] = [rgb(first), rgb(second)];
    const small = make("canvas", { width: side, height: side });
    const image = new ImageData(side, side);
    seen.forEach((value, i) => {
      const mixed = from.map((part, at) => part + value * (to[at] - part));
      const row = side - 1 - Math.floor(i / side); // from below
      image.data.set([...mixed, Number.isNaN(value) ? 0 : 150], 4 * (row * side + (i % side)));
    });
    small.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(small, 0, 0, width, height);
  }
  context.strokeStyle = page;
  for (const [x, y, which] of dots) {
    context.fillStyle = which ? second : first;
    stamp(context, which ? "square" : "circle", ((x + 2) / 4) * width, ((2 - y) / 4) * height);
    context.stroke();
  }
}
