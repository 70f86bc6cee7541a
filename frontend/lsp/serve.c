/* What a child of the server does: checks a program, then answers questions, a line each. */
#include "frontend/lsp/lsp.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct { const char *method; Answer *answer; } AnswerRow;

static const AnswerRow answers[] = {
  {"textDocument/hover", answer_hover},
  {"textDocument/definition", answer_definition},
  {"textDocument/references", answer_references},
  {"textDocument/documentHighlight", answer_highlight},
  {"textDocument/prepareRename", answer_prepare_rename},
  {"program/rename", answer_rename},
  {"program/checkRename", answer_check_rename},
  {"textDocument/completion", answer_completion},
  {"textDocument/signatureHelp", answer_signature},
  {"textDocument/semanticTokens/full", answer_tokens},
  {"textDocument/documentSymbol", answer_outline},
  {"textDocument/foldingRange", answer_folding},
  {"textDocument/formatting", answer_format},
  {"textDocument/inlayHint", answer_hints},
  {"textDocument/codeAction", answer_fixes},
  {"workspace/symbol", answer_workspace},
};

static void write_line(int out, json_t *value)
{
  char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  json_decref(value);
  if (!text)
    ICE("an answer is no JSON");
  size_t length = strlen(text);
  text[length++] = '\n';      /* in the place of the NUL */
  for (size_t done = 0; done < length;) {
    ssize_t n = write(out, text + done, length - done);
    if (n <= 0)
      _exit(EXIT_FAILURE);
    done += (size_t)n;
  }
  free(text);
}

json_t *analysis_answer(LspAnalysis *a, const json_t *request)
{
  const char *method = json_string_value(json_object_get(request, "method"));
  const json_t *params = json_object_get(request, "params");
  Question q = {.a = a, .params = params,
                .path = json_string_value(json_object_get(request, "path"))};
  if (q.path)
    q.ast = analysis_file(a, q.path);
  if (q.ast) {
    q.text = analysis_text(a, q.ast, &q.length);
    q.base = source_base(a->sources, q.ast->file);
    const json_t *position = json_object_get(params, "position");
    q.off = q.base + (uint32_t)(position ? text_offset_of(q.text, q.length, position) : 0);
  }
  json_t *result = NULL;
  for (size_t i = 0; i < ARRAY_COUNT(answers); i++)
    if (strcmp(answers[i].method, method) == 0 && (q.ast || !q.path))
      result = answers[i].answer(&q);
  return result ? result : json_null();
}

static json_t *read_files(const LspAnalysis *a)
{
  json_t *files = json_array();
  for (uint32_t i = 1; i <= files_last(a->session->files); i++) {
    if (!files_parsed(a->session->files, (FileId){i}))
      continue;
    char *path = analysis_path(a, (FileId){i});
    json_array_append_new(files, base_json_text(path));
    free(path);
  }
  return files;
}

json_t *analysis_result(const LspAnalysis *a)
{
  return json_pack("{s:o,s:O}", "files", read_files(a), "messages", a->messages);
}

void analysis_serve(const ProgramCall *call, const SourceOverlay *overlays, const char *stdlib,
                    int in, int out)
{
  LspAnalysis a;
  if (chdir(call->folder) != 0 || !analysis_run(&a, call, overlays, stdlib))
    _exit(EXIT_FAILURE);
  write_line(out, analysis_result(&a));
  FILE *requests = fdopen(in, "r");
  char *line = NULL;
  size_t room = 0;
  while (requests && getline(&line, &room, requests) > 0) {
    json_t *request = json_loads(line, 0, NULL);
    if (!request)
      break;
    write_line(out, analysis_answer(&a, request));
    json_decref(request);
  }
  _exit(EXIT_SUCCESS);
}
