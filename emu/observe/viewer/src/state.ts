// What the user has chosen.  Every part of the viewer draws from it and listens to its changes.
import type { RunData, TimeWindow, Way } from "./data";
import type { Slice, Quantity } from "./data";

export interface Chosen {
  quantity: Quantity;
  window: TimeWindow;
  logarithmic: boolean;
  tile: number;
  colors: Set<number>;        // whose routes are shown
  way: Way | null;            // that is followed
  showWays: boolean;          // dots for all recorded wavelets
  showFindings: boolean;
  showHot: boolean;
  chain: number;              // of waits; -1: all
}

type Listener = (changed: Set<keyof Chosen>) => void;

export class State {
  private listeners: Listener[] = [];
  private changed = new Set<keyof Chosen>();

  constructor(readonly data: RunData, readonly chosen: Chosen) {}

  set<K extends keyof Chosen>(key: K, value: Chosen[K]): void {
    if (this.chosen[key] === value) return;
    this.chosen[key] = value;
    if (!this.changed.size) queueMicrotask(() => this.tell());
    this.changed.add(key);
  }

  // For sets that were changed in place.
  touch(key: keyof Chosen): void {
    if (!this.changed.size) queueMicrotask(() => this.tell());
    this.changed.add(key);
  }

  private tell(): void {
    const changed = this.changed;
    this.changed = new Set();
    for (const listener of this.listeners) listener(changed);
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  get run() { return this.data.run; }
  x(tile = this.chosen.tile): number { return tile % this.run.width; }
  y(tile = this.chosen.tile): number { return Math.floor(tile / this.run.width); }
  tileAt(x: number, y: number): number { return y * this.run.width + x; }
  tileName(tile = this.chosen.tile): string { return `P${this.x(tile)}.${this.y(tile)}`; }
  // Routes are shown as they are at the end of the time shown; of the whole run, at the start.
  get routeCycle(): number { return this.isWhole ? 0 : this.chosen.window.to; }
  get isWhole(): boolean {
    return this.chosen.window.from <= 0 && this.chosen.window.to >= this.run.cycles;
  }
}

export type { Slice };
