/** Squares of numbers, small and large. */

import { shown } from "./readings.js";

/** A square of numbers from 0 (ground) to 1 (ink of the series), one pixel each. */
export function paint(canvas, values, n, colour) {
  if (canvas.width !== n) canvas.width = canvas.height = n; // even the same size empties and allocates
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  for (let i = 0; i < n * n; i++) {
    const share = Number.isNaN(values[i]) ? 0 : Math.min(Math.max(values[i], 0), 1);
    image.data[4 * i] = colour[0];
    image.data[4 * i + 1] = colour[1];
    image.data[4 * i + 2] = colour[2];
    image.data[4 * i + 3] = 255 * share;
  }
  context.putImageData(image, 0, 0);
}

/** The same in large, with the tokens along its sides. */
export function paintLarge(canvas, values, tokens, colour, ink) {
  const n = tokens.length;
  const side = 640;
  const margin = 32;
  const cell = (side - margin) / n;
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  context.font = `${Math.min(26, Math.max(10, 0.9 * cell))}px monospace`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < n; i++) {
    context.fillStyle = ink;
    context.fillText(shown(tokens[i]), margin / 2, margin + (i + 0.5) * cell);
    context.fillText(shown(tokens[i]), margin + (i + 0.5) * cell, margin / 2);
    for (let j = 0; j < n; j++) {
      const share = Math.min(Math.max(values[i * n + j] || 0, 0), 1);
      context.fillStyle = `rgba(${colour.join()},${share})`;
      context.fillRect(margin + j * cell, margin + i * cell, cell, cell);
    }
  }
  context.strokeStyle = ink;
  context.strokeRect(margin, margin, side - margin, side - margin);
}
