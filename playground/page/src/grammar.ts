// Colors for CSL from the same TextMate grammar that the VS Code extension has.
import { StreamLanguage } from "@codemirror/language";
import type { StringStream } from "@codemirror/language";
import grammar from "../../../editors/vscode/syntaxes/csl.tmLanguage.json";

interface Rule {
  name?: string; match?: string; begin?: string; end?: string; include?: string;
  patterns?: Rule[]; captures?: Record<string, { name: string }>;
}

const repository = grammar.repository as unknown as Record<string, Rule>;

/** Scopes of the grammar, the longest first, and the tags of the editor for them. */
const TAGS: [scope: string, tag: string][] = [
  ["comment", "comment"], ["string", "string"], ["constant.character", "escape"],
  ["constant.numeric", "number"], ["constant.language", "bool"],
  ["entity.name.function", "variableName.definition"], ["support.function", "macroName"],
  ["keyword.operator.word", "keyword"], ["keyword.operator", "operator"],
  ["keyword.control", "controlKeyword"], ["keyword", "keyword"],
  ["storage.modifier", "modifier"], ["storage.type", "typeName"], ["invalid", "invalid"],
];

function tagOf(scope: string | undefined): string | null {
  return TAGS.find(([prefix]) => scope?.startsWith(prefix))?.[1] ?? null;
}

interface Flat { match: RegExp; rule: Rule }
const compiled = new Map<readonly Rule[], Flat[]>();

/** The rules that can start a token, in their order. */
function flatten(rules: readonly Rule[]): Flat[] {
  let flat = compiled.get(rules);
  if (!flat) {
    flat = rules.flatMap((rule) => {
      if (rule.include)
        return flatten([repository[rule.include.slice(1)]!]);
      const text = rule.match ?? rule.begin;
      return text ? [{ match: new RegExp(text, "dy"), rule }] : flatten(rule.patterns ?? []);
    });
    compiled.set(rules, flat);
  }
  return flat;
}

interface State { inside: Rule | null; rest: { to: number; tag: string | null }[] }

function token(stream: StringStream, state: State): string | null {
  const line = stream.string;
  const part = state.rest.shift();
  if (part) {
    stream.pos = part.to;
    return part.tag;
  }
  if (state.inside) {
    const rule = state.inside, end = new RegExp(rule.end!, "y");
    end.lastIndex = stream.pos;
    if (end.test(line)) {
      stream.pos = Math.max(end.lastIndex, stream.pos + (end.lastIndex === stream.pos ? 1 : 0));
      state.inside = null;
      return tagOf(rule.name);
    }
    return step(stream, state, rule.patterns ?? []) ?? tagOf(rule.name);
  }
  return step(stream, state, grammar.patterns as Rule[]);
}

function step(stream: StringStream, state: State, rules: readonly Rule[]): string | null {
  for (const { match, rule } of flatten(rules)) {
    match.lastIndex = stream.pos;
    const found = match.exec(stream.string);
    if (!found || found[0].length === 0)
      continue;
    if (rule.begin)
      state.inside = rule;
    if (rule.captures) {
      let at = stream.pos;
      for (const [n, { name }] of Object.entries(rule.captures)) {
        const [from, to] = found.indices![Number(n)]!;
        if (from > at)
          state.rest.push({ to: from, tag: null });
        state.rest.push({ to, tag: tagOf(name) });
        at = to;
      }
      return token(stream, state);
    }
    stream.pos += found[0].length;
    return tagOf(rule.name);
  }
  if (!stream.match(/^[A-Za-z_]\w*/))
    stream.next();
  return null;
}

export const cslLanguage = StreamLanguage.define<State>({
  name: "csl",
  startState: () => ({ inside: null, rest: [] }),
  copyState: ({ inside, rest }) => ({ inside, rest: [...rest] }),
  token(stream, state) {
    if (stream.sol()) {           // a string ends with its line
      state.inside = null;
      state.rest = [];
    }
    return token(stream, state);
  },
  languageData: { commentTokens: { line: "//" },
                  closeBrackets: { brackets: ["(", "[", "{", "\"", "|"] } },
});
