/** What a drawn figure's numbers look like, as paths: to the letter what drawn.py writes into the still. */

/** @typedef {{ grid: Float64Array[], span: number[], tall: number, drawn: string, columns: number, named?: boolean }} Lines */

const [WIDTH, PAD, EDGE, PLANE] = [1000, 40, 8, 460]; // as in drawn.py

/**
 * @param {import("../types.js").Figure} figure
 * @returns {any} Lines
 */
export const linesOf = ({ data, layout, ...figure }) => ({
  ...figure,
  grid: data[0].z?.map((row) => Float64Array.from(row)),
  tall: layout.height,
});

/** @type {Record<string, (lines: Lines) => string[]>} */
const KINDS = { threads, river, fold, dots, waterfall };

/**
 * What is drawn: a thread each, rivers' outlines, the lines of sheets, wedges and dots and their places, or steps.
 * @param {Lines} lines
 */
export const paths = (lines) => KINDS[lines.drawn](lines);

const tenth = (/** @type {number} */ y) => Math.round(10 * y) / 10;
/** @param {Lines} lines */
const stepOf = ({ grid }) => (WIDTH - 2 * PAD) / Math.max(grid[0].length - 1, 1);

/**
 * How far up its span a value is. What is beyond is drawn to a span beyond, so that it is seen to leave.
 * @param {Lines} lines
 */
const shareIn = ({ span: [low, high] }) => (/** @type {number} */ value) => {
  const known = Number.isNaN(value) ? low : Math.min(Math.max(value, 2 * low - high), 2 * high - low);
  return (known - low) / (high - low);
};

/** @type {(ys: number[], step: number, tall: number) => string} an arrowhead where a line leaves, at the edge */
const leaving = (ys, step, tall) => {
  const within = (/** @type {number} */ y) => 0 <= y && y <= tall;
  return ys.slice(1).map((to, at) => {
    if (!within(ys[at]) || within(to)) return "";
    const edge = to < 0 ? 0 : tall;
    const way = 0.5 - Math.sin(Math.asin(1 - (2 * (edge - ys[at])) / (to - ys[at])) / 3); // of the bend, where it meets the edge
    const across = PAD + at * step + (1.5 * way - 1.5 * way ** 2 + way ** 3) * step;
    const [foot, tip] = [Math.abs(edge - 10), Math.abs(edge - 2)];
    return `M${(across - 4).toFixed(1)},${foot}L${across.toFixed(1)},${tip}L${(across + 4).toFixed(1)},${foot}`;
  }).join("");
};

/** @type {(ys: number[], begin: string, step: number) => string} step: to the next layer, below 0 if on the left */
const curve = (ys, begin, step) => {
  const half = (step / 2).toFixed(1);
  let way = begin;
  for (let i = 1; i < ys.length; i++) {
    const up = (ys[i] - ys[i - 1]).toFixed(1);
    way += `c${half},0 ${half},${up} ${step.toFixed(1)},${up}`;
  }
  return `${way}h${Math.sign(step) * PAD}`;
};

/** @type {(at: number, y: number) => string} from the left edge to the first layer */
const lead = (at, y) => {
  const up = (y - at).toFixed(1);
  return `M0,${at.toFixed(1)}${at === y ? `h${PAD}` : `c${PAD / 2},0 ${PAD / 2},${up} ${PAD},${up}`}`;
};

/**
 * Where threads with names begin: one below the other at equal distances, in the order of their heights.
 * @param {Lines} lines
 */
function beginsOf({ grid, tall }) {
  const order = grid.map((_, i) => i).sort((a, b) => grid[b][0] - grid[a][0]);
  return grid.map((_, i) => tenth(((order.indexOf(i) + 0.5) * tall) / grid.length));
}

/** @param {Lines} lines */
function threads(lines) {
  const { grid, tall } = lines;
  const share = shareIn(lines);
  const begins = lines.named && beginsOf(lines);
  return grid.map((row, i) => {
    const ys = Array.from(row, (value) => tenth(tall - EDGE - share(value) * (tall - 2 * EDGE)));
    return curve(ys, lead(begins ? begins[i] : ys[0], ys[0]), stepOf(lines)) + leaving(ys, stepOf(lines), tall);
  });
}

/** @param {Lines} lines */
function river(lines) {
  const { grid, tall } = lines;
  const share = shareIn(lines);
  const room = tall / grid.length;
  const step = stepOf(lines);
  return grid.map((row, at) => {
    const half = Array.from(row, (value) => Math.max(share(value) * (room / 2 - EDGE), 0.75));
    const [upper, lower] = [-1, 1].map((side) => half.map((each) => tenth((at + 0.5) * room + side * each)));
    const last = lower[lower.length - 1].toFixed(1);
    return `${curve(upper, lead(upper[0], upper[0]), step)}V${last}${curve(lower.reverse(), `h${-PAD}`, -step)}Z`;
  });
}

/** @param {Lines} lines */
function fold({ grid, span: [, high], tall, columns }) {
  const wide = WIDTH / columns;
  return grid.map((row, at) => {
    const middle = (Math.floor((at * columns) / grid.length) + 0.5) * wide;
    const points = [];
    for (let i = 0; i < row.length; i += 2) {
      const y = tall / 2 - (row[i + 1] / high) * (tall / 2 - EDGE);
      points.push(`${(middle + (row[i] / high) * 0.47 * wide).toFixed(1)},${y.toFixed(1)}`);
    }
    return `M${points.join("L")}`;
  });
}

/** @param {Lines} lines */
function starsOf({ grid, span: [low, high], tall }) {
  const unit = (tall - 6 * EDGE) / (high - low);
  const middle = (low + high) / 2;
  return grid.map((row) => [PLANE / 2 + (row[0] - middle) * unit, tall / 2 - (row[1] - middle) * unit]);
}

/** @param {Lines} lines */
function dots(lines) {
  const { grid } = lines;
  const stars = starsOf(lines);
  const wedges = stars.flatMap(([x, y], i) =>
    stars.flatMap(([x0, y0], j) => {
      if (i === j) return [];
      const long = Math.max(Math.hypot(x - x0, y - y0), 1e-9);
      const [a, b] = [(-(y - y0) / long) * grid[i][2 + j] * 26, ((x - x0) / long) * grid[i][2 + j] * 26];
      const [one, other] = [`${(x0 + a).toFixed(1)},${(y0 + b).toFixed(1)}`, `${(x0 - a).toFixed(1)},${(y0 - b).toFixed(1)}`];
      return [`M${one}L${x.toFixed(1)},${y.toFixed(1)}L${other}Z`];
    }),
  );
  const at = stars.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
  return [...wedges, ...at.map((place) => `M${place}h0`), ...at.map((place) => `translate(${place})`)];
}

/** @param {Lines} lines */
function waterfall(lines) {
  const { grid, tall } = lines;
  const share = shareIn(lines);
  const ys = Array.from([0, ...grid[0]], (value) => tall - EDGE - share(value) * (tall - 2 * EDGE));
  const wide = WIDTH / grid[0].length;
  const [up, down, runs] = [[""], [""], [""]];
  for (let at = 0; at + 1 < ys.length; at++) {
    const left = ((at + 0.15) * wide).toFixed(1);
    const [from, to] = [ys[at].toFixed(1), ys[at + 1].toFixed(1)];
    (ys[at + 1] < ys[at] ? up : down).push(`M${left},${from}V${to}h${(0.7 * wide).toFixed(1)}V${from}Z`);
    runs.push(`M${left},${to}h${((at + 2 < ys.length ? 1.7 : 0.85) * wide).toFixed(1)}`);
  }
  return [up, down, runs].map((each) => each.join(""));
}

/**
 * Which thread or dot is under a place of the picture, in pixels; -1: none is near.
 * @param {Lines} lines
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function nearest(lines, x, y, width, height) {
  const { grid, drawn, span: [low, high], tall } = lines;
  let far, most;
  if (drawn === "dots") {
    const zoom = Math.min(width / PLANE, height / tall);
    far = starsOf(lines).map(([x0, y0]) => Math.hypot(width / 2 + (x0 - PLANE / 2) * zoom - x, height / 2 + (y0 - tall / 2) * zoom - y));
    most = 44;
  } else {
    const last = grid[0].length - 1;
    const layer = Math.min(Math.max(Math.round(((x / width) * WIDTH - PAD) / stepOf(lines)), 0), last);
    const at = low + (1 - (y - EDGE) / (height - 2 * EDGE)) * (high - low);
    far = grid.map((row) => Math.abs(row[layer] - at));
    most = (high - low) / 12;
  }
  const least = Math.min(...far);
  return least < most ? far.indexOf(least) : -1;
}
