/** How numbers are written, to the letter as numbers.py writes them. */

/**
 * @param {number} value
 * @param {number} [digits] significant ones
 */
export function number(value, digits = 4) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const rounded = Number(value.toPrecision(digits));
  const plain = value === 0 || (Math.abs(rounded) >= 1e-3 && Math.abs(value) < Math.max(1e5, 10 ** digits));
  return plain ? String(rounded) : value.toExponential(digits - 1);
}

const power = (/** @type {number} */ value) => Number(value.toExponential(16).split("e")[1]);

/**
 * The values of a column in words: four digits of the largest and of how far they lie apart.
 * @param {Iterable<any>} values
 * @param {boolean} [apart] or as many as it takes until no two that differ are written alike
 */
export function cells(values, apart = false) {
  const all = [...values];
  const numbers = [...new Set(all.filter(Number.isFinite))];
  let [low, high, digits] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 4];
  for (const value of numbers) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const [far, most] = [high - low, Math.max(-low, high)];
  const isNoise = far < 2 ** -44 * most && !numbers.every(Number.isInteger); // of rounding
  if (far > 0 && far < Number.POSITIVE_INFINITY && !isNoise) {
    digits = Math.min(Math.max(4, 4 + power(most) - power(far)), 17);
  }
  while (apart && digits < 17 && new Set(numbers.map((value) => number(value, digits))).size < numbers.length) digits += 1;
  return all.map((value) => (typeof value === "number" ? number(value, digits) : String(value ?? "–")));
}
