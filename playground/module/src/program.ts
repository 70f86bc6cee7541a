// A run that its caller drives.
import { Instance } from "./instance.js";

export interface Geometry {
  width: number; height: number;
  fabricWidth: number; fabricHeight: number;
  offsetX: number; offsetY: number;
  arch: string;
  hasMemcpy: boolean;
}

export interface ExportedSymbol {
  id: number;
  name: string;
  type: string;                  /** as CSL prints it */
  isFunction: boolean;
  isMutable: boolean;
  elementBytes: number;          /** 2 or 4, 1 for bool */
  elementClass: "i" | "u" | "f" | "b" | "?";
  extent: number;                /** elements; 0: not known */
  parameters: number;
}

/** Tiles of the program's rectangle; (0, 0) is its north-west tile. */
export interface Region { x: number; y: number; width: number; height: number }

/** The run has ended with an error: a fault, a deadlock, the limit of cycles, a wrong argument. */
export class RunError extends Error {
  override readonly name = "RunError";
  constructor(message: string, readonly status: number, readonly cycle: number,
              readonly x: number, readonly y: number) {
    super(message);
  }
}

export class Program {
  readonly geometry: Geometry;
  readonly symbols: readonly ExportedSymbol[];

  private constructor(private readonly instance: Instance) {
    this.geometry = JSON.parse(instance.callText("geometry")!) as Geometry;
    this.symbols = JSON.parse(instance.callText("symbols")!) as ExportedSymbol[];
  }

  static open(instance: Instance, path: string, args: readonly string[]): Program {
    const quoted = args.map((a) => `'${a.replaceAll("'", "'\\''")}'`).join(" ");
    Program.demand(instance, instance.call("open", path, quoted));
    return new Program(instance);
  }

  /** Runs until the fabric is quiet, or for at most `cycles` more cycles. */
  run(cycles = 0): void { this.demand(this.instance.call("run", cycles)); }

  /** Calls an exported function on every tile that exports it, and waits for its end. */
  launch(name: string, words: Uint32Array = new Uint32Array()): void {
    const at = this.instance.allocate(words.byteLength, words);
    this.demand(this.instance.call("launch", this.symbol(name).id, at, words.length));
    this.instance.free(at);
  }

  /** Copies to an exported array: one word per element, element fastest, then x, then y. */
  write(name: string, region: Region, words: Uint32Array): void {
    this.copy(true, name, region, words);
  }

  /** Copies from an exported array, in the same order. */
  read(name: string, region: Region, elements: number): Uint32Array {
    const words = new Uint32Array(region.width * region.height * elements);
    return this.copy(false, name, region, words);
  }

  /** The bytes of any symbol of a tile's program, exported or not, at zero cycles. */
  readSymbol(x: number, y: number, name: string): Uint8Array {
    const size = this.instance.allocate(4);
    const at = this.instance.call("read", x, y, name, size);
    const n = this.instance.wordsAt(size, 1)[0]!;
    this.instance.free(size);
    if (!at)
      throw this.error();
    return this.instance.bytesAt(at, n);
  }

  /** The names of a tile's symbols. */
  tileSymbols(x: number, y: number): string[] {
    return JSON.parse(this.instance.callText("tile_symbols", x, y)!) as string[];
  }

  /** Completes all operations and says whether something is stuck. */
  finish(): void { this.demand(this.instance.call("finish")); }

  get cycle(): number { return this.instance.call("cycle"); }
  get statistics(): unknown { return JSON.parse(this.instance.callText("statistics")!); }
  close(): void { this.instance.call("close"); }

  private symbol(name: string): ExportedSymbol {
    const found = this.symbols.find((s) => s.name === name);
    if (!found)
      throw new RunError(`the program exports no '${name}'; it has ` +
                         (this.symbols.map((s) => `'${s.name}'`).join(", ") || "no exports"),
                         1, 0, -1, -1);
    return found;
  }

  private copy(toDevice: boolean, name: string, r: Region, words: Uint32Array): Uint32Array {
    const symbol = this.symbol(name), elements = words.length / (r.width * r.height);
    if (!Number.isInteger(elements))
      throw new RangeError(`${words.length} words are not the same number for each of ` +
                           `${r.width} x ${r.height} tiles`);
    const at = this.instance.allocate(words.byteLength, words);
    const code = this.instance.call("copy", Number(toDevice), symbol.id, r.x, r.y, r.width,
                                    r.height, elements, Number(symbol.elementBytes === 2), at);
    const out = this.instance.wordsAt(at, words.length);
    this.instance.free(at);
    this.demand(code);
    return out;
  }

  private error(): RunError { return Program.errorOf(this.instance); }
  private demand(code: number): void { Program.demand(this.instance, code); }

  private static errorOf(instance: Instance): RunError {
    const e = JSON.parse(instance.callText("error")!) as
      { status: number; message: string; cycle: number; x: number; y: number };
    return new RunError(e.message, e.status, e.cycle, e.x, e.y);
  }

  private static demand(instance: Instance, code: number): void {
    if (code !== 0)
      throw Program.errorOf(instance);
  }
}
