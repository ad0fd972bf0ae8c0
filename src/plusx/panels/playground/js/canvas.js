/** Squares of numbers, small and large. */

import { shown } from "./readings.js";

/** A square of numbers from 0 (ground) to 1 (colour), one pixel each; what is no number is ground. */
export function paint(canvas, values, n, colour) {
  if (canvas.width !== n) canvas.width = canvas.height = n; // even the same size empties and allocates
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  for (let i = 0; i < n * n; i++) image.data[4 * i + 3] = 255 * values[i]; // how opaque; it keeps to 0 ... 255 by itself
  context.putImageData(image, 0, 0);
  context.globalCompositeOperation = "source-in";
  context.fillStyle = colour;
  context.fillRect(0, 0, n, n);
}

/** Such a square in large, with the tokens along its sides. */
export function enlarge(canvas, square, tokens, ink) {
  const margin = 32;
  const side = 608;
  const cell = side / tokens.length;
  canvas.width = canvas.height = margin + side;
  const context = canvas.getContext("2d");
  context.font = `${Math.min(26, Math.max(10, 0.9 * cell))}px monospace`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = context.strokeStyle = ink;
  for (const [i, token] of tokens.entries()) {
    context.fillText(shown(token), margin / 2, margin + (i + 0.5) * cell);
    context.fillText(shown(token), margin + (i + 0.5) * cell, margin / 2);
  }
  context.imageSmoothingEnabled = false;
  context.drawImage(square, margin, margin, side, side);
  context.strokeRect(margin, margin, side, side);
}
