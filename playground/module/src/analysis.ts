// The language server's answers about one program; types are those of the protocol, version 3.17.
import { FOLDER, Instance } from "./instance.js";

export interface LspPosition { line: number; character: number }
export interface LspRange { start: LspPosition; end: LspPosition }
export interface LspFix {
  title: string;
  edit: { uri: string; range: LspRange; newText: string };
}
export interface LspDiagnostic {
  range: LspRange;
  severity: 1 | 2 | 3 | 4;
  source: string;
  code?: string;
  message: string;
  relatedInformation?: { location: { uri: string; range: LspRange }; message: string }[];
  data?: { fixes: LspFix[] };
}

/** The URI of a file of the program. */
export function uriOf(path: string): string { return `file://${FOLDER}/${path}`; }

/** The path of a file of the program by its URI; others stay whole. */
export function pathOf(uri: string): string {
  const path = decodeURIComponent(uri.replace(/^file:\/\//, ""));
  return path.startsWith(`${FOLDER}/`) ? path.slice(FOLDER.length + 1) : path;
}

export class Analysis {
  /** The files that the program has read. */
  readonly files: readonly string[];
  /** Messages by path, as in textDocument/publishDiagnostics. */
  readonly diagnostics: Readonly<Record<string, LspDiagnostic[]>>;

  constructor(private readonly instance: Instance, result: string) {
    const { files, messages } = JSON.parse(result) as
      { files: string[]; messages: Record<string, LspDiagnostic[]> };
    this.files = files.map((f) => pathOf(f));
    this.diagnostics = Object.fromEntries(
      Object.entries(messages).map(([path, list]) => [pathOf(path), list]));
  }

  /**
   * The answer to a request of the protocol about a file, such as "textDocument/hover" with
   * `{ position }`; null: there is none.
   */
  ask<T>(method: string, path: string, params: object = {}): T | null {
    const whole = path.startsWith("/") ? path : `${FOLDER}/${path}`;
    const request = { method, path: whole,
                      params: { ...params, textDocument: { uri: uriOf(path) } } };
    const text = this.instance.callText("answer", JSON.stringify(request));
    return text === undefined ? null : JSON.parse(text) as T | null;
  }

  /** The names of the numbers in the answer to textDocument/semanticTokens/full. */
  get tokenTypes(): string[] {
    const types: unknown = JSON.parse(this.instance.callText("token_types")!);
    return (Array.isArray(types) ? types
            : (types as { tokenTypes: string[] }).tokenTypes) as string[];
  }
}
