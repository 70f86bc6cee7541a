// Speaks to csl-ls through the protocol library of VS Code: each request type at some places of each
// file, with the answers checked by the library's own predicates.
//
//   node client.js CSL_LS PLACES FILE ...
//
// Prints {"answers": {METHOD: COUNT}, "values": {METHOD: COUNT}, "wrong": [...]}: requests that were
// answered, answers that were not empty, and answers that are none of the protocol's.
const { spawn } = require("child_process");
const fs = require("fs");
const { pathToFileURL } = require("url");
const p = require("vscode-languageserver-protocol/node");

const [server, places, ...files] = process.argv.slice(2);
const EVERYTHING = p.Range.create(0, 0, 1e6, 0);
const OPTIONS = { tabSize: 2, insertSpaces: true };

const listOf = (is) => (answer) => Array.isArray(answer) && answer.every((one) => is(one));
const isNumbers = (answer) => Array.isArray(answer.data) && answer.data.length % 5 === 0;
const isSignature = (answer) => answer.signatures.every((s) => typeof s.label === "string" &&
  s.parameters.every((one) => typeof one.label === "string" && s.label.includes(one.label)));
const isItem = (one) =>
  typeof one.label === "string" && (one.textEdit === undefined || p.TextEdit.is(one.textEdit));
const isHighlight = (one) => p.Range.is(one.range);
const isSymbol = (one) => typeof one.name === "string" && p.Location.is(one.location);
const isEdits = (answer) =>
  p.WorkspaceEdit.is(answer) &&
  Object.values(answer.changes ?? {}).every(listOf(p.TextEdit.is));
const isCompletion = (answer) => listOf(isItem)(answer.items ?? answer);

// [request type, what its answer is, more parameters]; those of AT_PLACES also get a position.
const AT_PLACES = [
  [p.HoverRequest.type, p.Hover.is],
  [p.DefinitionRequest.type, p.Location.is],
  [p.ReferencesRequest.type, listOf(p.Location.is), { context: { includeDeclaration: true } }],
  [p.DocumentHighlightRequest.type, listOf(isHighlight)],
  [p.PrepareRenameRequest.type, p.Range.is],
  [p.RenameRequest.type, isEdits, { newName: "renamed_by_the_test" }],
  [p.CompletionRequest.type, isCompletion],
  [p.SignatureHelpRequest.type, isSignature],
];
const OF_FILES = [
  [p.SemanticTokensRequest.type, isNumbers],
  [p.DocumentSymbolRequest.type, listOf(p.DocumentSymbol.is)],
  [p.FoldingRangeRequest.type, listOf(p.FoldingRange.is)],
  [p.DocumentFormattingRequest.type, listOf(p.TextEdit.is), { options: OPTIONS }],
  [p.InlayHintRequest.type, listOf(p.InlayHint.is), { range: EVERYTHING }],
  [p.CodeActionRequest.type, listOf(p.CodeAction.is),
    { range: EVERYTHING, context: { diagnostics: [] } }],
];

const result = { answers: {}, values: {}, wrong: [] };

function count(table, method) {
  table[method] = (table[method] ?? 0) + 1;
}

async function ask(connection, [type, is, more], uri, position) {
  const params = { textDocument: { uri }, ...(position && { position }), ...more };
  let answer;
  try {
    answer = await connection.sendRequest(type, params);
  } catch (error) {
    // A rename that is refused says why.
    if (type !== p.RenameRequest.type || !error.message) result.wrong.push([type.method, uri, `${error}`]);
    count(result.answers, type.method);
    return;
  }
  count(result.answers, type.method);
  if (answer === null || (Array.isArray(answer) && answer.length === 0)) return;
  count(result.values, type.method);
  if (!is(answer)) result.wrong.push([type.method, uri, answer]);
}

// The places of words, spread over the text.
function wordsOf(text) {
  const words = [];
  text.split("\n").forEach((line, number) => {
    for (const found of line.matchAll(/@?[A-Za-z_]\w*/g))
      words.push(p.Position.create(number, found.index + found[0].length));
  });
  const step = Math.max(1, words.length / Number(places));
  return Array.from({ length: Math.min(places, words.length) }, (_, i) => words[Math.floor(i * step)]);
}

async function main() {
  const child = spawn(server, ["--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = p.createProtocolConnection(
    new p.StreamMessageReader(child.stdout), new p.StreamMessageWriter(child.stdin));
  const published = new Map();
  connection.onNotification(p.PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
    if (!diagnostics.every((d) => p.Diagnostic.is(d))) result.wrong.push(["diagnostics", uri, diagnostics]);
    published.get(uri)?.();
  });
  connection.listen();
  const started = await connection.sendRequest(p.InitializeRequest.type, {
    processId: process.pid, rootUri: null, capabilities: {} });
  if (!started.capabilities) result.wrong.push(["initialize", "", started]);
  await connection.sendNotification(p.InitializedNotification.type, {});
  for (const file of files) {
    const uri = pathToFileURL(file).href;
    const text = fs.readFileSync(file, "utf8");
    const messages = new Promise((done) => published.set(uri, done));
    await connection.sendNotification(p.DidOpenTextDocumentNotification.type, {
      textDocument: p.TextDocumentItem.create(uri, "csl", 1, text) });
    await messages;
    for (const row of OF_FILES) await ask(connection, row, uri);
    for (const position of wordsOf(text))
      for (const row of AT_PLACES) await ask(connection, row, uri, position);
    await connection.sendNotification(p.DidCloseTextDocumentNotification.type, { textDocument: { uri } });
  }
  const symbols = await connection.sendRequest(p.WorkspaceSymbolRequest.type, { query: "" });
  count(result.answers, p.WorkspaceSymbolRequest.type.method);
  if (symbols && !symbols.every(isSymbol)) result.wrong.push(["workspace/symbol", "", symbols]);
  await connection.sendRequest(p.ShutdownRequest.type);
  await connection.sendNotification(p.ExitNotification.type);
  await new Promise((done) => child.on("exit", done));
  result.exit = child.exitCode;
  console.log(JSON.stringify(result));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
