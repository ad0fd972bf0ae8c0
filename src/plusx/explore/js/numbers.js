/** How numbers are written. */

/**
 * Four significant digits, as `number` in figures.py writes them.
 * @param {number} value
 */
export function number(value) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  return size === 0 || (size >= 1e-3 && size < 1e5) ? String(Number(value.toPrecision(4))) : value.toExponential(3);
}
