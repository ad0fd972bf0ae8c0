/** What the nets' scores say, and how it is written. */

export const PER_LAYER = 7; // switches of a layer, as LAYER in switched.py has them; among them:
export const NORMS = [2, 5];
export const FFN = 3; // the first of its half
export const ACTIVATION = 6;

export const shown = (token) => ({ " ": "␣", "\n": "⏎" })[token] ?? token;
export const spoken = (token) => ({ " ": "space", "\n": "line break" })[token] ?? token;
export const percent = (p) => (p > 0 && p < 0.005 ? "<1 %" : `${Math.round(100 * p)} %`);
export const short = (x) => (Number.isFinite(x) ? (x !== 0 && (Math.abs(x) >= 1e4 || Math.abs(x) < 0.01) ? x.toExponential(1) : x.toFixed(2)).replaceAll("-", "−") : "not a number");
export const sum = (values) => values.reduce((a, b) => a + b, 0);

/** log softmax of `count` scores from `at`. */
export function logProbabilities(scores, at, count) {
  const row = scores.subarray(at, at + count);
  let top = -Infinity;
  let total = 0;
  for (const score of row) top = Math.max(top, score);
  for (const score of row) total += Math.exp(score - top);
  total = top + Math.log(total);
  return Array.from(row, (score) => score - total);
}

/** Mean cosine of two different tokens after a layer. */
export function meanCosine(seen, layer) {
  const { n, similarity } = seen;
  if (n === 1) return 1;
  const part = similarity.subarray(layer * n * n, (layer + 1) * n * n);
  let others = 0;
  for (const [i, value] of part.entries()) if (i % (n + 1)) others += value;
  return others / (n * (n - 1));
}
