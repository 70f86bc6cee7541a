// One instance of the WebAssembly module: its memory, its files, and calls of its functions.

/** Texts or bytes by path. */
export type Files = { readonly [path: string]: string | Uint8Array };

interface FileSystem {
  mkdirTree(path: string): void;
  writeFile(path: string, data: string | Uint8Array): void;
  readFile(path: string): Uint8Array;
  readFile(path: string, options: { encoding: "utf8" }): string;
  readdir(path: string): string[];
  stat(path: string): { mode: number };
  isDir(mode: number): boolean;
  chdir(path: string): void;
  analyzePath(path: string): { exists: boolean };
}

type Exports = { readonly [name: string]: (...values: number[]) => number };

interface RawModule {
  FS: FileSystem;
  HEAPU8: Uint8Array;
  HEAPU32: Uint32Array;
  stringToUTF8(text: string, at: number, room: number): void;
  lengthBytesUTF8(text: string): number;
  UTF8ToString(at: number): string;
}

export type Factory = (options: {
  instantiateWasm(imports: WebAssembly.Imports,
                  receive: (instance: WebAssembly.Instance) => void): object;
  print(text: string): void;
  printErr(text: string): void;
}) => Promise<RawModule>;

/** What all instances share. */
export interface Parts {
  readonly factory: Factory;
  readonly module: WebAssembly.Module;
  readonly library: Files;
}

/** A tool has ended in a way that none should: a bug of the toolchain, or no memory or stack. */
export class ToolCrash extends Error {
  override readonly name = "ToolCrash";
}

const OUT = "/tmp/stdout", ERR = "/tmp/stderr";
export const FOLDER = "/work";
const EXIT_INTERNAL = 3;

interface ExitStatus { name: "ExitStatus"; status: number }

function isExit(error: unknown): error is ExitStatus {
  return (error as Partial<ExitStatus> | null)?.name === "ExitStatus";
}

/** What the engine of JavaScript says when a program asks for too much. */
function crashText(error: unknown): string {
  if (error instanceof RangeError)
    return "the program is nested deeper than the stack of this JavaScript engine";
  return error instanceof Error ? error.message : String(error);
}

export class Instance {
  private constructor(private readonly raw: RawModule) {}

  static async create(parts: Parts, files: Files, folder = FOLDER): Promise<Instance> {
    const silent = (): void => undefined;
    const raw = await parts.factory({
      instantiateWasm(imports, receive) {
        void WebAssembly.instantiate(parts.module, imports).then(receive);
        return {};
      },
      print: silent,
      printErr: silent,
    });
    const instance = new Instance(raw);
    instance.write(parts.library, "/stdlib");
    instance.write(files, folder);
    raw.FS.mkdirTree(folder);
    raw.FS.chdir(folder);
    instance.call("start", OUT, ERR);
    return instance;
  }

  write(files: Files, folder: string): void {
    for (const [path, data] of Object.entries(files)) {
      const whole = path.startsWith("/") ? path : `${folder}/${path}`;
      this.raw.FS.mkdirTree(whole.slice(0, whole.lastIndexOf("/")) || "/");
      this.raw.FS.writeFile(whole, data);
    }
  }

  /** Undefined: no such file. */
  read(path: string): Uint8Array | undefined {
    const whole = path.startsWith("/") ? path : `${FOLDER}/${path}`;
    return this.raw.FS.analyzePath(whole).exists ? this.raw.FS.readFile(whole) : undefined;
  }

  readText(path: string): string {
    const bytes = this.read(path);
    return bytes ? new TextDecoder().decode(bytes) : "";
  }

  get output(): string { return this.readText(OUT); }
  get errors(): string { return this.readText(ERR); }

  /** Calls module_NAME; texts become pointers that live as long as the instance. */
  call(name: string, ...values: (string | number)[]): number {
    const exports = this.raw as unknown as Exports;
    const f = exports[`_module_${name}`];
    if (!f)
      throw new TypeError(`the module has no function ${name}`);
    const args = values.map((v) => typeof v === "string" ? this.keepText(v) : v);
    try {
      return f(...args);
    } catch (error) {
      throw this.crash(error);
    }
  }

  /** A text that the function returns; undefined: NULL. */
  callText(name: string, ...values: (string | number)[]): string | undefined {
    const at = this.call(name, ...values);
    return at ? this.raw.UTF8ToString(at) : undefined;
  }

  /** The exit code of a tool. */
  run(tool: string, args: readonly string[]): number {
    return this.call("run_tool", tool, JSON.stringify(args));
  }

  /** Room for words, filled with `words` if given; release it with `free`. */
  allocate(bytes: number, words?: Uint32Array): number {
    const at = (this.raw as unknown as Exports)["_malloc"]!(Math.max(bytes, 4));
    if (!at)
      throw new ToolCrash("no memory");
    if (words)
      this.raw.HEAPU32.set(words, at >>> 2);
    return at;
  }

  free(at: number): void { (this.raw as unknown as Exports)["_free"]!(at); }
  bytesAt(at: number, size: number): Uint8Array { return this.raw.HEAPU8.slice(at, at + size); }
  wordsAt(at: number, n: number): Uint32Array {
    return this.raw.HEAPU32.slice(at >>> 2, (at >>> 2) + n);
  }

  private keepText(text: string): number {
    const room = this.raw.lengthBytesUTF8(text) + 1;
    const at = this.allocate(room);
    this.raw.stringToUTF8(text, at, room);
    return at;
  }

  private crash(error: unknown): ToolCrash {
    let said = "";
    try {
      (this.raw as unknown as Exports)["_module_flush"]!();
      said = this.errors;
    } catch { /* the stack or the memory is at its end; what was said is lost */ }
    if (isExit(error))
      return new ToolCrash(said || `the tool has ended itself with code ${error.status}` +
                           (error.status === EXIT_INTERNAL ? " (internal error)" : ""));
    return new ToolCrash(`${crashText(error)}${said ? `\n${said}` : ""}`, { cause: error });
  }
}
