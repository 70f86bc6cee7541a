// What the router of a tile connects for a color: by the layout, and after each change by a switch
// or by the program.
import { PORTS } from "./data";
import type { RunData } from "./data";

interface Turn { cycle: number; inputs: number; outputs: number }

// One of the routes of a color.  `now`: it is the one in use.
export interface Route {
  color: number; inputs: number; outputs: number; now: boolean;
  position: number;           // of the switch; -1: the program has rewritten it
  swaps: number;              // inputs from which the other color of the pair comes
}

const COLOR_BITS = 32, PORT_COUNT = 5;

export class Routes {
  private tiles: Float64Array | null = null;
  private turns = new Map<number, Turn[]>();      // by tile and color

  constructor(private readonly data: RunData) {}

  async load(): Promise<void> {
    this.tiles = await this.data.numbers("tile.routes");
    const [tile, color, cycle, ports] = await Promise.all(
      ["tile", "color", "cycle", "ports"].map((n) => this.data.numbers(`turn.${n}`)));
    if (!tile || !color || !cycle || !ports) return;
    let at = 0;
    for (let i = 0; i < tile.length; i++) {
      at += tile[i];
      const key = at * COLOR_BITS + color[i];
      const list = this.turns.get(key) ?? [];
      if (!list.length) this.turns.set(key, list);
      list.push({ cycle: (list[list.length - 1]?.cycle ?? 0) + cycle[i],
                  inputs: ports[i] & (1 << PORT_COUNT) - 1, outputs: ports[i] >> PORT_COUNT });
    }
  }

  has(tile: number, color: number): boolean {
    return this.setOf(tile).some((v, i) => i % 2 === 0 && v === color);
  }

  get change(): boolean { return this.turns.size > 0; }

  // How many changes the tile's routes have before the cycle.
  changesBefore(tile: number, cycle: number): number {
    let sum = 0;
    for (let color = 0; color < COLOR_BITS; color++)
      sum += this.turns.get(tile * COLOR_BITS + color)?.filter((t) => t.cycle < cycle).length ?? 0;
    return sum;
  }

  // All changes of a tile, in order of time, with their colors.
  changesOf(tile: number): (Turn & { color: number })[] {
    const found: (Turn & { color: number })[] = [];
    for (let color = 0; color < COLOR_BITS; color++)
      for (const turn of this.turns.get(tile * COLOR_BITS + color) ?? [])
        found.push({ color, ...turn });
    return found.sort((a, b) => a.cycle - b.cycle || a.color - b.color);
  }

  // The routes of all colors, or of one, before the cycle; 0: at the start.
  of(tile: number, cycle: number, only = -1): Route[] {
    const set = this.setOf(tile), found: Route[] = [];
    for (let i = 0; i < set.length; i += 2)
      if (only < 0 || set[i] === only)
        found.push(...this.ofColor(tile, set[i], set[i + 1], cycle));
    return found;
  }

  private setOf(tile: number): number[] {
    return (this.tiles && this.data.run.routes.sets[this.tiles[tile]]) ?? [];
  }

  private ofColor(tile: number, color: number, number: number, cycle: number): Route[] {
    const { configs, swaps: all } = this.data.run.routes, config = configs[number];
    const swaps = all[number] ?? 0;
    const turn = this.lastTurn(tile, color, cycle), found: Route[] = [];
    for (let p = 1; config && p < config.length; p += 2) {
      const [inputs, outputs, position] = [config[p], config[p + 1], (p - 1) / 2];
      const now = turn ? inputs === turn.inputs && outputs === turn.outputs
        : position === config[0];
      found.push({ color, inputs, outputs, now, position, swaps });
    }
    if (turn && !found.some((r) => r.now))
      found.push({ color, inputs: turn.inputs, outputs: turn.outputs, now: true, position: -1,
                   swaps });
    return found;
  }

  private lastTurn(tile: number, color: number, cycle: number): Turn | undefined {
    const turns = this.turns.get(tile * COLOR_BITS + color) ?? [];
    let low = 0, high = turns.length;           // the first that is not before the cycle
    while (low < high) {
      const middle = (low + high) >> 1;
      if (turns[middle].cycle < cycle) low = middle + 1;
      else high = middle;
    }
    return turns[low - 1];
  }
}

export function portNames(mask: number): string[] {
  return PORTS.filter((_, i) => mask >> i & 1);
}

// Pairs of ports that a route connects.
export function connections(route: Route): [number, number][] {
  const found: [number, number][] = [];
  for (let from = 0; from < PORT_COUNT; from++)
    for (let to = 0; to < PORT_COUNT; to++)
      if (route.inputs >> from & 1 && route.outputs >> to & 1) found.push([from, to]);
  return found;
}
