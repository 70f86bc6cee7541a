// The editor: CodeMirror with what the language server knows.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap }
  from "@codemirror/autocomplete";
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, foldKeymap, indentUnit, syntaxHighlighting }
  from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import type { Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import type { Text } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, drawSelection, gutter, highlightActiveLine,
         highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers,
         tooltips } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { pathOf } from "../../module/dist/analysis.js";
import type { LspDiagnostic, LspPosition, LspRange } from "../../module/dist/index.js";
import { element } from "./dom";
import { cslLanguage } from "./grammar";

export interface EditorHost {
  ask<T>(method: string, path: string, params: object): Promise<T | null>;
  changed(path: string, text: string): void;
  go(path: string, line: number, column: number): void;
  run(): void;
  toggleBreakpoint(path: string, line: number): void;
}

const colors = HighlightStyle.define([
  { tag: tags.comment, class: "t-comment" }, { tag: tags.string, class: "t-string" },
  { tag: tags.escape, class: "t-escape" }, { tag: tags.number, class: "t-number" },
  { tag: tags.bool, class: "t-number" }, { tag: tags.macroName, class: "t-builtin" },
  { tag: tags.definition(tags.variableName), class: "t-function" },
  { tag: [tags.keyword, tags.controlKeyword, tags.modifier], class: "t-keyword" },
  { tag: tags.typeName, class: "t-type" }, { tag: tags.operator, class: "t-operator" },
  { tag: tags.invalid, class: "t-invalid" },
]);

function offsetOf(doc: Text, at: LspPosition): number {
  const line = doc.line(Math.min(at.line + 1, doc.lines));
  return Math.min(line.from + at.character, line.to);
}

function positionOf(doc: Text, offset: number): LspPosition {
  const line = doc.lineAt(offset);
  return { line: line.number - 1, character: offset - line.from };
}

/** Plain text or the little Markdown of hovers: code fences and lines. */
function showMarkup(text: string): HTMLElement {
  const box = element("div", { class: "hover" });
  for (const [i, part] of text.split(/```\w*\n?/).entries())
    if (part.trim())
      box.append(element(i % 2 ? "pre" : "p", {}, part.trim()));
  return box;
}

// ---- the line where the debugger stands, and breakpoints -------------------------------------

const setStand = StateEffect.define<number | null>();
const standField = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    let now = marks.map(change.changes);
    for (const effect of change.effects)
      if (effect.is(setStand))
        now = effect.value === null || effect.value > change.state.doc.lines ? Decoration.none
            : Decoration.set([Decoration.line({ class: "stand" })
                                        .range(change.state.doc.line(effect.value).from)]);
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class BreakMarker extends GutterMarker {
  override toDOM(): Node {
    return element("span", { class: "breakpoint", title: "Breakpoint" }, "●");
  }
}
const breakMarker = new BreakMarker();
const setBreaks = StateEffect.define<readonly number[]>();
const breakField = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(marks, change) {
    let now = marks.map(change.changes);
    for (const effect of change.effects)
      if (effect.is(setBreaks))
        now = RangeSet.of(effect.value.filter((n) => n <= change.state.doc.lines)
                            .map((n) => breakMarker.range(change.state.doc.line(n).from)), true);
    return now;
  },
});

// ---- the editor --------------------------------------------------------------------------------

const KINDS: Record<number, string> = { 3: "function", 6: "variable", 9: "namespace", 14: "keyword",
                                        21: "constant", 5: "property", 10: "property", 7: "type" };

interface CompletionItem {
  label: string; kind?: number; detail?: string;
  documentation?: string | { value: string };
}

export class Editor {
  readonly view: EditorView;
  private path = "";
  private readonly states = new Map<string, EditorState>();

  constructor(parent: HTMLElement, private readonly host: EditorHost) {
    this.view = new EditorView({ parent });
  }

  /** The files of another program. */
  open(files: Record<string, string>, path: string): void {
    this.states.clear();
    for (const [name, text] of Object.entries(files))
      this.states.set(name, EditorState.create({ doc: text, extensions: this.extensions(name) }));
    this.path = "";
    this.show(path);
  }

  show(path: string): void {
    if (this.path && this.path !== path)
      this.states.set(this.path, this.view.state);
    const state = this.states.get(path);
    if (state && this.path !== path) {
      this.path = path;
      this.view.setState(state);
    }
  }

  select(path: string, line: number, column: number): void {
    this.show(path);
    const at = this.view.state.doc.line(Math.min(Math.max(line, 1), this.view.state.doc.lines));
    const anchor = Math.min(at.from + column - 1, at.to);
    this.view.dispatch({ selection: { anchor },
                         effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }

  /** The messages of the shown file. */
  mark(diagnostics: readonly LspDiagnostic[]): void {
    const { doc } = this.view.state;
    const marks = diagnostics.map((d): Diagnostic => {
      const from = offsetOf(doc, d.range.start);
      return {
        from, to: Math.max(offsetOf(doc, d.range.end), from),
        severity: d.severity === 1 ? "error" : d.severity === 2 ? "warning" : "hint",
        message: d.message, source: "cslc",
        renderMessage: () => this.renderMessage(d),
        actions: (d.data?.fixes ?? []).map((fix) => ({
          name: fix.title,
          apply: () => this.apply(fix.edit.uri, [{ range: fix.edit.range,
                                                   newText: fix.edit.newText }]),
        })),
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  markStand(line: number | null): void {
    const { doc } = this.view.state;
    this.view.dispatch({ effects: [setStand.of(line),
      ...line !== null && line <= doc.lines
        ? [EditorView.scrollIntoView(doc.line(line).from, { y: "center" })] : []] });
  }

  markBreaks(lines: readonly number[]): void {
    this.view.dispatch({ effects: [setBreaks.of(lines)] });
  }

  async format(): Promise<void> {
    const edits = await this.host.ask<{ range: LspRange; newText: string }[]>(
      "textDocument/formatting", this.path, { options: { tabSize: 2, insertSpaces: true } });
    if (edits)
      this.apply("", edits);
  }

  private apply(uri: string, edits: readonly { range: LspRange; newText: string }[]): void {
    if (uri)
      this.show(pathOf(uri));
    const { doc } = this.view.state;
    this.view.dispatch({ changes: edits.map((e) => ({
      from: offsetOf(doc, e.range.start), to: offsetOf(doc, e.range.end), insert: e.newText })) });
  }

  private renderMessage(d: LspDiagnostic): HTMLElement {
    const box = element("div", {}, element("div", { class: "said" }, d.message));
    for (const { message, location } of d.relatedInformation ?? []) {
      const path = pathOf(location.uri), { line, character } = location.range.start;
      box.append(element("div", { class: "note" }, `${message} `, element("button", {
        class: "place", type: "button",
        onclick: () => this.host.go(path, line + 1, character + 1),
      }, `${path}:${line + 1}`)));
    }
    return box;
  }

  private async complete(context: CompletionContext): Promise<CompletionResult | null> {
    const word = context.matchBefore(/@?[A-Za-z_]\w*|[.@]/);
    if (!word && !context.explicit)
      return null;
    const answer = await this.host.ask<CompletionItem[] | { items: CompletionItem[] }>(
      "textDocument/completion", this.path,
      { position: positionOf(context.state.doc, context.pos) });
    const items = Array.isArray(answer) ? answer : answer?.items ?? [];
    const from = word ? word.from + (word.text === "." ? 1 : 0) : context.pos;
    return { from, validFor: /^@?\w*$/, options: items.map((item) => ({
      label: item.label, type: KINDS[item.kind ?? 0] ?? "variable",
      ...(item.detail && { detail: item.detail }),
      ...(item.documentation && { info: () => showMarkup(typeof item.documentation === "string"
            ? item.documentation : item.documentation!.value) }),
    })) };
  }

  private async goToDefinition(): Promise<void> {
    const position = positionOf(this.view.state.doc, this.view.state.selection.main.head);
    const answer = await this.host.ask<{ uri: string; range: LspRange } |
                                       { uri: string; range: LspRange }[]>(
      "textDocument/definition", this.path, { position });
    const place = Array.isArray(answer) ? answer[0] : answer;
    if (place)
      this.host.go(pathOf(place.uri), place.range.start.line + 1,
                   place.range.start.character + 1);
  }

  private async showHover(view: EditorView, pos: number) {
    const answer = await this.host.ask<{ contents: string | { value: string }; range?: LspRange }>(
      "textDocument/hover", this.path, { position: positionOf(view.state.doc, pos) });
    if (!answer)
      return null;
    const text = typeof answer.contents === "string" ? answer.contents : answer.contents.value;
    return { pos: answer.range ? offsetOf(view.state.doc, answer.range.start) : pos, above: true,
             create: () => ({ dom: showMarkup(text) }) };
  }

  private extensions(path: string) {
    const act = (f: () => void) => () => { f(); return true; };
    return [
      breakField, standField,
      gutter({ class: "cm-breaks", markers: (view) => view.state.field(breakField),
               initialSpacer: () => breakMarker,
               domEventHandlers: { mousedown: (view, line) => {
                 this.host.toggleBreakpoint(path, view.state.doc.lineAt(line.from).number);
                 return true;
               } } }),
      lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(),
      drawSelection(), indentUnit.of("  "), bracketMatching(), closeBrackets(),
      highlightActiveLine(), highlightSelectionMatches(), lintGutter(),
      autocompletion({ override: [(context) => this.complete(context)] }),
      hoverTooltip((view, pos) => this.showHover(view, pos)),
      tooltips({ parent: document.body }),
      cslLanguage, syntaxHighlighting(colors),
      keymap.of([
        { key: "Mod-Enter", run: act(() => this.host.run()) },
        { key: "F12", run: act(() => void this.goToDefinition()) },
        { key: "Shift-Alt-f", run: act(() => void this.format()) },
        ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap,
        ...foldKeymap, ...completionKeymap, ...lintKeymap, indentWithTab,
      ]),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": `Text of ${path}; Escape, then Tab, leaves it` }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged)
          this.host.changed(path, update.state.doc.toString());
      }),
    ];
  }
}
