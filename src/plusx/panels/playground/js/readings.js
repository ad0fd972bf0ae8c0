/** What the nets' scores say, and how it is written. */

export const PER_LAYER = 7; // switches of a layer, as LAYER in switched.py has them; among them:
export const NORMS = [2, 5];
export const FFN = 3; // the first of its half
export const ACTIVATION = 6;

export const shown = (token) => ({ " ": "␣", "\n": "⏎" })[token] ?? token;
export const spoken = (token) => ({ " ": "space", "\n": "line break" })[token] ?? token;
export const percent = (p) => (p > 0 && p < 0.005 ? "<1 %" : `${Math.round(100 * p)} %`);
export const short = (x) => (Number.isFinite(x) ? (x !== 0 && (Math.abs(x) >= 1e4 || Math.abs(x) < 0.01) ? x.toExponential(1) : x.toFixed(2)).replaceAll("-", "−") : "not a number");
export const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** log softmax of `count` scores from `at`. */
export function logProbabilities(scores, at, count) {
  const row = scores.subarray(at, at + count);
  const top = Math.max(...row);
  const total = top + Math.log(row.reduce((sum, score) => sum + Math.exp(score - top), 0));
  return Array.from(row, (score) => score - total);
}

/** Mean cosine of two different tokens after a layer. */
export function meanCosine({ n, similarity }, layer) {
  const part = similarity.subarray(layer * n * n, (layer + 1) * n * n);
  return n === 1 ? 1 : mean(part.filter((_, i) => i % (n + 1)));
}
