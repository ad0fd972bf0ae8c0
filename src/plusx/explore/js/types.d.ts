/** Types: a figure as figures.py normalises it, and what explorers ask of pictures, plotly and a kernel. No code. */

export type Value = number | string | boolean | null;
/** Numbers come as a Float64Array, which is read in the same way. */
export type Values = Value[];
/** JSON, and arrays of numbers in it. */
export type Node = Value | undefined | Float64Array | Node[] | { [key: string]: Node };

export type Axis = {
  type?: string;
  range?: Values;
  title?: { text?: string };
  [key: string]: Node;
};

export type AxisName = `${"x" | "y"}axis${string}`;

export type Layout = {
  height: number;
  barmode?: string;
  shapes?: Node;
  scene?: Record<string, Axis>;
  [axis: AxisName]: Axis | undefined;
};

export type Trace = {
  type?: string;
  mode?: string;
  name?: string;
  visible?: boolean | string;
  opacity?: number;
  orientation?: string;
  xaxis?: string;
  yaxis?: string;
  x?: Values;
  y?: Values;
  z?: number[][];
  zmin?: number;
  zmax?: number;
  base?: number | number[];
  fill?: string;
  stackgroup?: string;
  hoverinfo?: string;
  line?: { color?: string; width?: number; dash?: string; shape?: string };
  marker?: { color?: Value | Values; size?: number | number[]; symbol?: string };
  colorbar?: Axis;
};

export type Figure = {
  data: Trace[];
  layout: Layout;
  title: string;
  drawn?: string;
  marks?: [string, string][];
};

/** What plotly gets of a figure. */
export type Drawing = Pick<Figure, "data" | "layout">;

/** A trace of another state; `at`: its place among those of both. */
export type Ghost = {
  trace: Trace & { x: Values; y: Values };
  at: number;
  pinned: boolean;
};

/** An axis as plotly has worked it out: a value's place in pixels. */
export type Scale = { _id: string; d2p(value: Value, clip?: boolean): number; c2p(value: number): number };
export type Plot = { xaxis: Scale; yaxis: Scale };

export type Plotly = {
  version: string;
  react(plot: HTMLElement, data: unknown, layout: unknown, config: object): unknown;
  relayout(plot: HTMLElement, changes: object): unknown;
  purge(plot: HTMLElement): void;
  Plots: { resize(plot: HTMLElement): void };
};

/** A control of the markup, by the index of its value; `show` says in words what is set. */
export type Control = {
  name: string;
  labels: string[];
  get(): number;
  set(index: number): void;
  show?(index: number): void;
};

/** An element's id -> its states, by scripts beside a page; a file -> its plotly, one for the whole page. */
export type Ours = { states?: Record<string, string>; plotly?: Map<string, Promise<Plotly>> };

/** What a kernel says: the figure of a state in a buffer, or why there is none, or plotly. */
export type Answer = {
  state?: number[];
  error?: string;
  plotly?: boolean;
};

/** An anywidget's model. */
export type Model = {
  get(name: string): number;
  set(name: string, value: number): void;
  on(event: string, call: (answer: Answer, buffers: DataView<ArrayBuffer>[]) => void): void;
  off(event: string, call: (answer: Answer, buffers: DataView<ArrayBuffer>[]) => void): void;
  send(message: { state: number[] } | { plotly: true }): void;
  save_changes(): void;
};

/** What is to be seen: the present state's figure, and those of states that stay beside it, faintly. */
export type View = { figure: Figure; others: { figure: Figure; pinned: boolean }[] };

/** What an explorer asks of the picture of its figures, whatever draws it: plotly.js, or we. */
export interface Picture {
  /** Whether it can draw; until then the still stands in its place. */
  ready: boolean;
  /** Gets what it needs, if anything; an error says in words what did not come. */
  load?(): Promise<void>;
  /** The view has changed: draws in this frame, or in the next if this one has drawn. */
  redraw(): void;
  /** Every colour has changed. */
  repaint(): void;
  /** Its place has another size, which a picture as wide as its page follows by itself. */
  resize?(): void;
  /** Whether another state can stay beside this figure. */
  pins(figure: Figure): boolean;
  end(): void;
}
