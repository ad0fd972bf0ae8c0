/** The lanes' numbers, and what is said and drawn of many. */

export const NAMES = ["A", "B"];
export const LAST = 20; // steps whose mean is the loss that is told
export const MOST = 3000; // steps, then a lane rests
export const FRAME = 80; // milliseconds of computing between two pictures
export const READING = 5000; // milliseconds between two sentences to a screen reader

export const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** A number as readers see it, with three digits. */
export function short(x) {
  if (!Number.isFinite(x)) return "not a number";
  if (x === 0) return "0";
  return (Math.abs(x) >= 1000 || Math.abs(x) < 0.001 ? x.toExponential(1) : String(Number(x.toPrecision(3)))).replaceAll("-", "−");
}

/** At each step the mean over the last LAST losses, or as many as there are. */
export const smooth = (losses) => losses.map((_, at) => mean(losses.slice(Math.max(0, at - LAST + 1), at + 1)));

/** Losses at their steps; of very many, the means of neighbours. */
export function thin(losses) {
  const size = Math.ceil(losses.length / 400);
  const [x, y] = [[], []];
  for (let at = 0; at < losses.length; at += size) {
    const part = losses.slice(at, at + size);
    x.push(at + (part.length + 1) / 2);
    y.push(mean(part));
  }
  return { x, y };
}

/** A block of the stack in the diagram's language: its number in the branch, and under it the skip, which is pressed. */
export function blockOf(at, branch, { skips, depth = skips.length }) {
  const isOn = skips[at] === "1";
  const isUsed = at < depth;
  const name = `Skip around ${branch.name}${isUsed ? "" : ", which is passed by"}`;
  return `<svg class="px-piece ln-block${isUsed ? "" : " ln-passed"}" role="group" width="40" height="56" viewBox="0 0 40 56">
<g class="px-branch" data-on="${isUsed}"><path class="px-wire" d="M5 42V20q0-6 6-6H27q6 0 6 6V37"/><g class="px-part" data-on="${isUsed}"><rect class="px-box" x="8" y="3" width="22" height="22" rx="4"/><text x="19" y="18.5">${branch.short}</text></g></g>
<g class="px-skip" data-set="${at}" data-to="${isOn ? 0 : 1}" data-role="switch" data-on="${isOn}" data-name="${name}"><rect class="px-hit" x="0" y="28" width="40" height="28" rx="6"/><path class="px-line" d="M0 42H32"/><path class="px-tip" d="M30 36v12l9-6z"/><path class="px-cut" d="M13 36l12 12m0-12l-12 12"/></g></svg>`;
}
