// The data of a run: a container of JSON and compressed arrays of numbers, written by
// emu/observe/pack.c.  Arrays are inflated when they are first asked for.

export interface Channel { name: string; combine: "SUM" | "MOST"; unit: string; text: string }

export interface Level {
  level: number;
  side: number;          // of a block, in tiles
  columns: number;
  rows: number;
  steps: number;
  step_cycles: number;
}

export interface MemorySymbol {
  name: string; type: string; address: number; bytes: number; code: boolean;
}
export interface Task { kind: number; id: number; name: string; type: string }

export interface TileClass {
  source: string;
  code_address: number;
  code_bytes: number;
  static_bytes: number;
  stack_top: number;
  stack_bytes: number;
  symbols: MemorySymbol[];
  tasks: Task[];
  operations: Record<string, [string, string, number]>;   // by address: name, file, line
  colors: string[];
}

export interface SourceFile { name: string; text?: string; changed?: boolean }
export interface Finding {
  name: string; cycle: number; x: number; y: number; color?: number; text: string;
}
export interface Wait { x: number; y: number; text: string }

// What wse-emu --stats writes; the viewer shows these numbers as they are.
export interface Statistics {
  cycles: number;
  host_cycles: number;
  arch: string;
  engine: string;
  tiles: number;
  partial?: boolean;
  phases: { action: string; start: number; end: number; cycles: number; host_cycles: number }[];
  stalls: Record<string, number>;
  trust: Record<string, number>;
  estimate?: { class: string; low: number; high: number; points: number };
  [name: string]: unknown;
}

export interface Run {
  version: number;
  title: string;
  wafer?: string;        // its name in a cluster
  width: number;
  height: number;
  cycles: number;
  statistics: Statistics;
  honesty: string;
  message: string;
  memory_bytes: number;
  channels: Channel[];
  classes: TileClass[];
  // swaps: by config, ports from which the other color of the pair arrives, to become this one
  routes: { configs: number[][]; sets: number[][]; swaps: number[] };
  sources: { files: SourceFile[]; lines: number[][]; lines_in_all: number };
  findings: Finding[];
  chains?: Wait[][];
  levels: Level[];       // coarsest first
  time_lines?: number;   // absent: no events of tasks
  ways_one_of?: number;  // absent: no events of wavelets
  ways_until?: number;   // the cycle from which on there are none
  turn_cycles: number;   // routes may have changed further within so many cycles; 0: none are kept
  sampled?: boolean;     // counts are the engine's, of each tile, looked at now and then
  arrays: Record<string, { at: number; bytes: number; count: number }>;
}

const MAGIC = "WSEVIEW1";
const HEADER_BYTES = 12;
const KNOWN_VERSION = 1;

async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// LEB128; numbers beyond 2^53 would lose bits, which no count of a run reaches.
function readNumbers(bytes: Uint8Array, count: number): Float64Array {
  const numbers = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let value = 0, unit = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * unit;
      unit *= 128;
    } while (byte & 128);
    numbers[i] = value;
  }
  if (at !== bytes.length) throw new Error("An array of the data has a wrong length.");
  return numbers;
}

export class RunData {
  private arrays = new Map<string, Promise<Float64Array | null>>();

  private constructor(readonly run: Run, private readonly bytes: Uint8Array) {}

  static async open(data: ArrayBuffer | Uint8Array): Promise<RunData> {
    const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
    if (bytes.length < HEADER_BYTES || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC)
      throw new Error("These are not the data of a run.");
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
    const json = await inflate(bytes.subarray(HEADER_BYTES, HEADER_BYTES + length));
    const run = JSON.parse(new TextDecoder().decode(json)) as Run;
    if (run.version !== KNOWN_VERSION)
      throw new Error(`These data have version ${run.version}; the viewer knows ${KNOWN_VERSION}.`);
    return new RunData(run, bytes.subarray(HEADER_BYTES + length));
  }

  // null: the array was left out, because it is all zero or because it did not fit.
  numbers(name: string): Promise<Float64Array | null> {
    let found = this.arrays.get(name);
    if (!found) {
      const row = this.run.arrays[name];
      found = !row ? Promise.resolve(null)
        : inflate(this.bytes.subarray(row.at, row.at + row.bytes))
          .then((bytes) => readNumbers(bytes, row.count));
      this.arrays.set(name, found);
    }
    return found;
  }

  channel(level: Level, name: string): Promise<Float64Array | null> {
    return this.numbers(`level${level.level}.${name}`);
  }
}

// ---- what the map can show ------------------------------------------------------------------

export interface Quantity {
  id: string;
  label: string;
  group: string;
  unit: string;
  channels: string[];
  combine: "SUM" | "MOST";
}

const WAITS = ["paused", "input", "fifo", "output", "issue", "bank"];
export const WAIT_TEXTS: Record<string, string> = {
  paused: "microthread blocked", input: "wavelet missing", fifo: "FIFO empty or full",
  output: "output queue full", issue: "another thread issued", bank: "memory bank conflict",
};
export const WAIT_NAMES = ["none", ...WAITS];      // by the number of the cause
export const LINKS = ["north", "south", "east", "west"];
export const PORTS = ["north", "south", "east", "west", "ramp"];

const sum = (id: string, label: string, group: string, unit: string, channels = [id]): Quantity =>
  ({ id, label, group, unit, channels, combine: "SUM" });

export const QUANTITIES: Quantity[] = [
  sum("activity", "Activity", "Work", "instructions and groups", ["instructions", "groups"]),
  sum("instructions", "Instructions", "Work", "instructions"),
  sum("groups", "Vector groups", "Work", "groups"),
  sum("elements", "Vector elements", "Work", "elements"),
  sum("tasks", "Tasks started", "Work", "tasks"),
  sum("waits", "Waits, all causes", "Waits of vector operations", "cycles", WAITS),
  ...WAITS.map((name) =>
    sum(name, `Waits: ${WAIT_TEXTS[name]}`, "Waits of vector operations", "cycles")),
  sum("links", "Link traffic, all directions", "Fabric", "wavelets", LINKS),
  ...LINKS.map((name) => sum(name, `Links to the ${name}`, "Fabric", "wavelets")),
  sum("sent", "Sent into the router", "Fabric", "wavelets"),
  sum("delivered", "Delivered by the router", "Fabric", "wavelets"),
  { id: "input_fill", label: "Input queue fill", group: "Queues", unit: "wavelets",
    channels: ["input_fill"], combine: "MOST" },
  { id: "output_fill", label: "Output queue fill", group: "Queues", unit: "wavelets",
    channels: ["output_fill"], combine: "MOST" },
];

export function quantitiesOf(run: Run): Quantity[] {
  return QUANTITIES.filter((q) => q.channels.every((name) =>
    run.channels.some((c) => c.name === name)));
}

// What a page of counts leaves out, and how to have it; "": nothing.
export function sampledNote(run: Run): string {
  if (!run.sampled) return "";
  const counts = "Counts of each tile are samples, so that the run takes little longer: waits " +
    "count where they end, and streams between neighbours some wavelets early or late. ";
  const fill = "How full queues are needs the events of every wavelet (--report-detail=events), " +
    "which take longer.";
  return run.time_lines === undefined ? `${counts}Time lines, cycles of source lines and ways of ` +
    `wavelets need --profile: the run then takes three to six times as long, or up to 55 times ` +
    `where it consists of long loops or streams. ${fill}` : counts + fill;
}

export function findQuantity(id: string): Quantity {
  return QUANTITIES.find((q) => q.id === id) ?? QUANTITIES[0];
}

// A time in cycles: from `from` on and before `to`.
export interface TimeWindow { from: number; to: number }

// Values of a quantity by block of a level, over the steps of time that the window touches.
export interface Slice {
  level: Level;
  from: number;          // cycles that the values really stand for
  to: number;
  values: Float64Array;  // by row and column; sums over the block, or the most in it
  most: number;          // per tile, over all windows of this length
  total: number;
}

// Where the values stand for more than the chosen time: the page keeps counts of tiles in longer steps
// than those of the whole fabric.
export const isWider = (slice: Slice, window: TimeWindow): boolean =>
  slice.from < window.from || slice.to > window.to;

function tilesOfBlock(run: Run, level: Level, column: number, row: number): number {
  const wide = Math.min(level.side, run.width - column * level.side);
  return wide * Math.min(level.side, run.height - row * level.side);
}

export function valuePerTile(run: Run, slice: Slice, quantity: Quantity, column: number,
                             row: number): number {
  const value = slice.values[row * slice.level.columns + column];
  return quantity.combine === "MOST" ? value
    : value / tilesOfBlock(run, slice.level, column, row);
}

export class Slicer {
  private quantities = new Map<string, Promise<Float64Array>>();
  private most = new Map<string, number>();

  constructor(readonly data: RunData) {}

  // Finest blocks whose steps of time are not longer than the window.
  levelFor(window: TimeWindow): Level {
    const levels = this.data.run.levels;
    const whole = window.from <= 0 && window.to >= this.data.run.cycles;
    for (let i = levels.length - 1; i >= 0; i--)
      if (whole || levels[i].step_cycles <= window.to - window.from) return levels[i];
    return levels[0];
  }

  // All of a quantity's values at a level: by step, row and column.
  async values(level: Level, quantity: Quantity): Promise<Float64Array> {
    const key = `${level.level} ${quantity.id}`;
    let found = this.quantities.get(key);
    if (!found) {
      found = this.sumChannels(level, quantity);
      this.quantities.set(key, found);
    }
    return found;
  }

  private async sumChannels(level: Level, quantity: Quantity): Promise<Float64Array> {
    const parts = await Promise.all(quantity.channels.map((c) => this.data.channel(level, c)));
    const there = parts.filter((p) => p !== null);
    if (there.length === 1) return there[0];
    const values = new Float64Array(level.columns * level.rows * level.steps);
    for (const part of there) for (let i = 0; i < part.length; i++) values[i] += part[i];
    return values;
  }

  async slice(quantity: Quantity, window: TimeWindow, level = this.levelFor(window)):
      Promise<Slice> {
    const run = this.data.run, blocks = level.columns * level.rows;
    const all = await this.values(level, quantity);
    const first = Math.max(0, Math.floor(window.from / level.step_cycles));
    const last = Math.min(level.steps, Math.max(first + 1,
                                                Math.ceil(window.to / level.step_cycles)));
    const values = new Float64Array(blocks);
    combineSteps(all, values, first, last, quantity);
    let total = 0;
    for (let i = 0; i < blocks; i++) total = quantity.combine === "MOST"
      ? Math.max(total, values[i]) : total + values[i];
    return { level, from: first * level.step_cycles,
             to: Math.min(last * level.step_cycles, run.cycles), values, total,
             most: this.mostOf(all, level, quantity, last - first) };
  }

  private mostOf(all: Float64Array, level: Level, quantity: Quantity, steps: number): number {
    const key = `${level.level} ${quantity.id} ${steps}`;
    let most = this.most.get(key);
    if (most !== undefined) return most;
    most = 0;
    const blocks = level.columns * level.rows, values = new Float64Array(blocks);
    for (let first = 0; first < level.steps; first += steps) {
      values.fill(0);
      combineSteps(all, values, first, Math.min(level.steps, first + steps), quantity);
      const slice = { level, values } as Slice;
      for (let row = 0; row < level.rows; row++)
        for (let column = 0; column < level.columns; column++)
          most = Math.max(most, valuePerTile(this.data.run, slice, quantity, column, row));
    }
    this.most.set(key, most);
    return most;
  }

  // Over time, of the whole fabric, at the finest steps.
  async overTime(quantity: Quantity): Promise<{ level: Level; values: Float64Array }> {
    const level = this.data.run.levels[0], blocks = level.columns * level.rows;
    const all = await this.values(level, quantity);
    const values = new Float64Array(level.steps);
    for (let t = 0; t < level.steps; t++)
      for (let b = 0; b < blocks; b++)
        values[t] = quantity.combine === "MOST" ? Math.max(values[t], all[t * blocks + b])
          : values[t] + all[t * blocks + b];
    return { level, values };
  }
}

function combineSteps(all: Float64Array, values: Float64Array, first: number, last: number,
                      quantity: Quantity): void {
  const blocks = values.length;
  for (let t = first; t < last; t++) {
    const at = t * blocks;
    if (quantity.combine === "MOST")
      for (let b = 0; b < blocks; b++) values[b] = Math.max(values[b], all[at + b]);
    else
      for (let b = 0; b < blocks; b++) values[b] += all[at + b];
  }
}

// ---- time lines -----------------------------------------------------------------------------

export const enum SpanKind { Task, Operation, Wait }

export interface Span {
  from: number; to: number; kind: SpanKind; thread: number; subject: number; open: boolean;
}
export interface TimeLine { spans: Span[]; left_out: number }

export async function readTimeLine(data: RunData, tile: number): Promise<TimeLine | null> {
  const [tiles, from, length, kind, subject] = await Promise.all(
    ["tiles", "from", "length", "kind", "subject"].map((n) => data.numbers(`span.${n}`)));
  if (!tiles || !from || !length || !kind || !subject) return null;
  let at = 0;
  for (let i = 0; i < tiles.length; i += 3) {
    if (tiles[i] === tile)
      return { spans: readSpans(from, length, kind, subject, at, tiles[i + 1]),
               left_out: tiles[i + 2] };
    at += tiles[i + 1];
  }
  return null;
}

function readSpans(from: Float64Array, length: Float64Array, kind: Float64Array,
                   subject: Float64Array, at: number, count: number): Span[] {
  const spans: Span[] = [];
  let start = 0;
  for (let i = at; i < at + count; i++) {
    start += from[i];
    spans.push({ from: start, to: start + length[i], kind: (kind[i] & 3) as SpanKind,
                 thread: kind[i] >> 2 & 15, subject: subject[i], open: (kind[i] & 64) !== 0 });
  }
  return spans;
}

// Tiles that have a time line.
export async function timeLineTiles(data: RunData): Promise<number[]> {
  const tiles = await data.numbers("span.tiles");
  const found: number[] = [];
  for (let i = 0; tiles && i < tiles.length; i += 3) found.push(tiles[i]);
  return found;
}

// ---- ways of wavelets -----------------------------------------------------------------------

export const enum StepKind { Sent, Entered, Moved, Arrived, Taken, FromHost, ToHost }
export interface WayStep { cycle: number; tile: number; kind: StepKind; from: number; to: number }
export interface Way {
  number: number; color: number; payload: number; control: boolean; steps: WayStep[];
}

export async function readWays(data: RunData): Promise<Way[]> {
  const [number, cycle, tile, kind, ports, color, payload] = await Promise.all(
    ["number", "cycle", "tile", "kind", "ports", "color", "payload"]
      .map((n) => data.numbers(`way.${n}`)));
  const ways: Way[] = [];
  if (!number || !cycle || !tile || !kind || !ports || !color || !payload) return ways;
  let now = 0, at = 0;
  for (let i = 0; i < number.length; i++) {
    now += number[i];
    if (number[i] || !ways.length) {
      at = 0;
      ways.push({ number: now, color: color[i], payload: payload[i], control: kind[i] >= 8,
                  steps: [] });
    }
    at += cycle[i];
    ways[ways.length - 1].steps.push({ cycle: at, tile: tile[i], kind: kind[i] & 7,
                                       from: ports[i] & 7, to: ports[i] >> 3 });
  }
  return ways;
}
