// What the page and its workers say to each other.
import type { CompileResult, LspDiagnostic, RunResult, ToolResult } from "../../module/dist/index.js";

export interface Project {
  files: Record<string, string>;
  main: string;
  options: string;               // of cslc, as on the command line
  run: string;                   // of wse-emu
}

export interface Ran extends RunResult { report?: Uint8Array; seconds: number }

export interface Calls {
  start: { args: { wasm: WebAssembly.Module; library: Record<string, string> }; result: string };
  compile: { args: { project: Project }; result: CompileResult };
  run: { args: { project: Project; image: Uint8Array }; result: Ran };
  debug: { args: { project: Project; image: Uint8Array; commands: string[] }; result: ToolResult };
  check: { args: { project: Project }; result: Record<string, LspDiagnostic[]> };
  ask: { args: { project: Project; method: string; path: string; params: object };
         result: unknown };
}

export type CallName = keyof Calls;
export interface Request { id: number; name: CallName; args: unknown }
export interface Reply { id: number; result?: unknown; error?: string }

/** Words of a command line: quotes keep blanks together. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const [, ...parts] of text.matchAll(/((?:"[^"]*"|'[^']*'|[^\s"'])+)/g))
    words.push(parts[0]!.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return words;
}
