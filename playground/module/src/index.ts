// The toolchain as a library: compile, run, drive a run step by step, ask the language server.
import { Instance, ToolCrash } from "./instance.js";
import type { Factory, Files, Parts } from "./instance.js";
import { Program } from "./program.js";
import { Analysis } from "./analysis.js";

export { ToolCrash } from "./instance.js";
export type { Files } from "./instance.js";
export { Program, RunError } from "./program.js";
export type { Geometry, ExportedSymbol, Region } from "./program.js";
export { Analysis } from "./analysis.js";
export { uriOf, pathOf } from "./analysis.js";
export type { LspDiagnostic, LspFix, LspPosition, LspRange } from "./analysis.js";

/** A place of a message; line 0: it has none. Columns count bytes from 1. */
export interface Place {
  file: string;
  line: number;
  col: number;
  end_line: number;
  end_col: number;
  length: number;
}

/** A message of the compiler, as with `cslc --diag-format=json`. */
export interface Diagnostic extends Place {
  severity: "error" | "warning" | "note";
  id: string;
  message: string;
  notes?: Diagnostic[];
  fix?: Place & { text: string };
}

export interface ToolResult {
  exitCode: number;
  output: string;                /** standard output */
  errors: string;                /** standard error */
  files: Record<string, Uint8Array>;   /** those that were asked for and exist */
}

export interface CompileOptions {
  files: Files;
  main?: string;                 /** "layout.csl" */
  options?: readonly string[];   /** of cslc: "--arch=wse3", "--params=P:4" */
}

export interface CompileResult {
  ok: boolean;
  exitCode: number;
  image?: Uint8Array;            /** if ok: what `cslc -o OUT.bin` writes */
  diagnostics: Diagnostic[];
  errors: string;                /** what is no message about the program: wrong options */
}

export interface RunOptions {
  options?: readonly string[];   /** of wse-emu: "--print=y", "--trace", "--report=r.html" */
  files?: Files;                 /** that the options name: "--h2d=A=a.npy" */
  outputs?: readonly string[];   /** files that the options write */
}

/** Exit codes of wse-emu. */
export const status = { ok: 0, usage: 1, fault: 2, deadlock: 3, cycleLimit: 4 } as const;

export interface RunResult extends ToolResult {
  stats?: Statistics;            /** unless the image or the options are wrong */
}

/** `wse-emu --stats`; docs/emulator.md has the keys. */
export interface Statistics {
  cycles: number;
  host_cycles: number;
  arch: string;
  engine: string;
  tiles: number;
  instructions: number;
  tasks: number;
  wavelets: number;
  wavelet_hops: number;
  stalls: Record<string, number>;
  phases: { action: string; cycles: number; host_cycles: number }[];
  [key: string]: unknown;
}

export type Tool = "cslc" | "csl-fmt" | "wse-emu" | "wse-dbg";

export interface LoadOptions {
  /** The module, if it is not beside this file. */
  wasm?: BufferSource | WebAssembly.Module;
  /** The standard library by path, if it is not beside this file. */
  library?: Files;
}

async function readBeside(name: string): Promise<Uint8Array> {
  const url = new URL(name, import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function compileModule(wasm?: BufferSource | WebAssembly.Module):
    Promise<WebAssembly.Module> {
  if (wasm instanceof WebAssembly.Module)
    return wasm;
  return WebAssembly.compile(wasm ?? await readBeside("wse-module.wasm") as BufferSource);
}

function parseDiagnostics(text: string): { diagnostics: Diagnostic[]; rest: string } {
  const diagnostics: Diagnostic[] = [], rest: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("{"))
      diagnostics.push(JSON.parse(line) as Diagnostic);
    else if (line)
      rest.push(line);
  }
  return { diagnostics, rest: rest.join("\n") };
}

/** Compiler, emulator and language server. Calls are independent of each other. */
export class Toolchain {
  private constructor(private readonly parts: Parts) {}

  static async load(options: LoadOptions = {}): Promise<Toolchain> {
    const imported = await import("./wse-module.mjs") as unknown as { default: Factory };
    const library = options.library ??
      JSON.parse(new TextDecoder().decode(await readBeside("stdlib.json"))) as Files;
    return new Toolchain({ factory: imported.default, library,
                           module: await compileModule(options.wasm) });
  }

  /** The release, as `cslc --version` has it. */
  async version(): Promise<string> {
    return (await Instance.create(this.parts, {})).callText("version")!;
  }

  /**
   * Runs a tool with files in its folder, as on the command line.
   * @throws ToolCrash if the tool has a bug, or the program is too large for the engine.
   */
  async tool(name: Tool, args: readonly string[], files: Files,
             outputs: readonly string[] = []): Promise<ToolResult> {
    const instance = await Instance.create(this.parts, files);
    const exitCode = instance.run(name, args);
    const result: ToolResult = { exitCode, output: instance.output, errors: instance.errors,
                                 files: {} };
    for (const path of outputs) {
      const bytes = instance.read(path);
      if (bytes)
        result.files[path] = bytes.slice();
    }
    return result;
  }

  async compile({ files, main = "layout.csl", options = [] }: CompileOptions):
      Promise<CompileResult> {
    const image = "/tmp/image.bin";
    const args = [main, "-o", image, "--diag-format=json", ...options];
    const ran = await this.tool("cslc", args, files, [image]);
    const { diagnostics, rest } = parseDiagnostics(ran.errors);
    const bytes = ran.exitCode === 0 ? ran.files[image] : undefined;
    return { ok: bytes !== undefined, exitCode: ran.exitCode, diagnostics, errors: rest,
             ...(bytes && { image: bytes }) };
  }

  async run(image: Uint8Array, { options = [], files = {}, outputs = [] }: RunOptions = {}):
      Promise<RunResult> {
    const stats = "/tmp/stats.json", path = "/work/program.bin";
    const ran = await this.tool("wse-emu", [path, ...options, `--stats=${stats}`],
                                { ...files, [path]: image }, [...outputs, stats]);
    const { [stats]: text, ...others } = ran.files;
    return { ...ran, files: others,
             ...(text && { stats: JSON.parse(new TextDecoder().decode(text)) as Statistics }) };
  }

  /**
   * A run that the caller drives. `args` are options of wse-emu for a run.
   * @throws RunError if the image is wrong.
   */
  async open(image: Uint8Array, args: readonly string[] = []): Promise<Program> {
    const path = "/tmp/image.bin";
    const instance = await Instance.create(this.parts, { [path]: image });
    return Program.open(instance, path, args);
  }

  /**
   * The language server's view of a program, with the messages of all its files.
   * @throws ToolCrash if the options are wrong or the compiler has a bug.
   */
  async check({ files, main = "layout.csl", options = [] }: CompileOptions): Promise<Analysis> {
    const instance = await Instance.create(this.parts, files);
    const text = instance.callText("check", "/work", JSON.stringify([main, ...options]));
    instance.call("flush");
    if (text === undefined)
      throw new ToolCrash(instance.errors || "the options are wrong");
    return new Analysis(instance, text);
  }
}
