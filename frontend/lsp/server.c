/* The protocol: messages in and out, the texts of open files, and a child for each program. */
#include "frontend/lsp/lsp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 20, READ_BYTES = 1 << 16 };

typedef struct { char *path, *uri, *text; json_int_t version; } Document;

typedef struct {
  ProgramCall call;
  bool is_alone;           /* a file that no other program imports */
  pid_t child;             /* 0: none */
  int to, from;            /* pipes */
  char *input;             /* stb_ds: what came and is no whole line yet */
  bool has_result;         /* of this child */
  bool fails_early;        /* in its layout: the code of its tiles is not checked */
  bool is_news;            /* its result changes what the client shows beside texts */
  char **files;            /* stb_ds: that it has read, now or before */
  json_t *messages;        /* by path */
} ServedProgram;

typedef struct {
  Client client;
  const char *stdlib;
  Document *documents;     /* stb_ds */
  ServedProgram **programs;      /* stb_ds */
  json_t *published;       /* messages that the client has, by path */
  json_t *held;            /* paths whose messages wait for the result of a program */
  bool is_initialised, is_shut_down, is_done;
} Server;

/* ---- programs ------------------------------------------------------------------------------- */

static bool reads_file(const ServedProgram *p, const char *path)
{
  for (size_t i = 0; i < arrlenu(p->files); i++)
    if (strcmp(p->files[i], path) == 0)
      return true;
  return false;
}

static void stop_child(ServedProgram *p)
{
  if (p->child > 0) {
    kill(p->child, SIGKILL);
    waitpid(p->child, NULL, 0);
    close(p->to);
    close(p->from);
  }
  p->child = 0;
  arrsetlen(p->input, 0);
}

static SourceOverlay *make_overlays(const Server *s)
{
  SourceOverlay *overlays = NULL;
  for (size_t i = 0; i < arrlenu(s->documents); i++) {
    const Document *d = &s->documents[i];
    SourceOverlay overlay = {d->path, d->text, strlen(d->text)};
    arrput(overlays, overlay);
  }
  return overlays;
}

/* The child has nothing of the server's: neither its streams nor the pipes of other children. */
static void enter_child(const Server *s)
{
  int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  if (s->client.in > STDERR_FILENO)
    close(s->client.in);
  if (s->client.out > STDERR_FILENO)
    close(s->client.out);
  for (size_t i = 0; i < arrlenu(s->programs); i++)
    if (s->programs[i]->child > 0) {
      close(s->programs[i]->to);
      close(s->programs[i]->from);
    }
}

static void start_child(const Server *s, ServedProgram *p)
{
  int questions[2], answers[2];
  stop_child(p);
  p->has_result = false;
  if (pipe(questions) != 0)
    return;
  if (pipe(answers) != 0) {
    close(questions[0]);
    close(questions[1]);
    return;
  }
  fflush(NULL);
  p->child = fork();
  if (p->child == 0) {
    enter_child(s);
    close(questions[1]);
    close(answers[0]);
    analysis_serve(&p->call, make_overlays(s), s->stdlib, questions[0], answers[1]);
  }
  close(questions[0]);
  close(answers[1]);
  p->to = questions[1];
  p->from = answers[0];
}

static bool is_same_call(const ProgramCall *a, const ProgramCall *b)
{
  const char *profile_a = a->profile ? a->profile : "", *profile_b = b->profile ? b->profile : "";
  if (strcmp(a->folder, b->folder) != 0 || strcmp(profile_a, profile_b) != 0 ||
      arrlen(a->argv) != arrlen(b->argv))
    return false;
  for (size_t i = 0; i < arrlenu(a->argv); i++)
    if (strcmp(a->argv[i], b->argv[i]) != 0)
      return false;
  return true;
}

/* Takes the call. */
static void add_program(Server *s, ProgramCall call, bool is_alone)
{
  for (size_t i = 0; i < arrlenu(s->programs); i++)
    if (is_same_call(&s->programs[i]->call, &call)) {
      project_call_free(&call);
      return;
    }
  ServedProgram *p = base_zeroed(1, sizeof *p);
  p->call = call;
  p->is_alone = is_alone;
  p->messages = json_object();
  p->is_news = true;
  arrput(s->programs, p);
  start_child(s, p);
}

static void remove_program(Server *s, size_t index)
{
  ServedProgram *p = s->programs[index];
  stop_child(p);
  project_call_free(&p->call);
  for (size_t i = 0; i < arrlenu(p->files); i++)
    free(p->files[i]);
  arrfree(p->files);
  arrfree(p->input);
  json_decref(p->messages);
  free(p);
  arrdel(s->programs, index);
}

/* ---- messages ------------------------------------------------------------------------------- */

static Document *find_document(const Server *s, const char *path)
{
  for (size_t i = 0; path && i < arrlenu(s->documents); i++)
    if (strcmp(s->documents[i].path, path) == 0)
      return &s->documents[i];
  return NULL;
}

/* Two programs say the same about a file, though each says for itself what led there. */
static bool is_same_message(const json_t *a, const json_t *b)
{
  return json_equal(json_object_get(a, "range"), json_object_get(b, "range")) &&
         json_equal(json_object_get(a, "message"), json_object_get(b, "message"));
}

/* What all programs say about the file, each message once; NULL while one is not done. */
static json_t *merged_messages(const Server *s, const char *path)
{
  json_t *all = json_array(), *message, *known;
  size_t i, k;
  for (size_t n = 0; n < arrlenu(s->programs); n++) {
    const ServedProgram *p = s->programs[n];
    if (!p->has_result && (reads_file(p, path) || arrlenu(p->files) == 0)) {
      json_decref(all);
      return NULL;
    }
    json_array_foreach(json_object_get(p->messages, path), i, message) {
      bool is_new = true;
      json_array_foreach(all, k, known)
        is_new = is_new && !is_same_message(known, message);
      if (is_new)
        json_array_append(all, message);
    }
  }
  return all;
}

static void publish_file(Server *s, const char *path)
{
  json_t *messages = merged_messages(s, path);
  const Document *d = find_document(s, path);
  if (!messages) {
    json_object_set_new(s->held, path, json_true());
    return;
  }
  json_object_del(s->held, path);
  if (!d && json_equal(messages, json_object_get(s->published, path))) {
    json_decref(messages);
    return;
  }
  char *uri = d ? base_print("%s", d->uri) : path_uri(path);
  json_t *params = json_pack("{s:o,s:O}", "uri", base_json_text(uri), "diagnostics", messages);
  if (d)
    json_object_set_new(params, "version", json_integer(d->version));
  json_object_set_new(s->published, path, messages);
  client_notify(&s->client, "textDocument/publishDiagnostics", params);
  free(uri);
}

/* After a program's result: its files, those that had messages before, and those that waited for a
 * program whose files were not known yet. */
static void publish(Server *s, const ServedProgram *p)
{
  json_t *paths = json_object();
  const char *path;
  json_t *value;
  void *next;
  json_object_foreach(s->published, path, value)
    if (json_array_size(value) > 0)
      json_object_set_new(paths, path, json_true());
  json_object_foreach(p->messages, path, value)
    json_object_set_new(paths, path, json_true());
  json_object_update(paths, s->held);
  for (size_t i = 0; i < arrlenu(s->documents); i++)
    if (reads_file(p, s->documents[i].path))
      json_object_set_new(paths, s->documents[i].path, json_true());
  json_object_foreach_safe(paths, next, path, value)
    publish_file(s, path);
  json_decref(paths);
}

/* The path of the file that cslc gets, mostly a layout; from malloc. */
static char *path_of_main(const ServedProgram *p)
{
  return path_resolved(p->call.folder, p->call.argv[0]);
}

/* An error in the main file: without a layout nothing says what the tiles' code is for, so that is
 * not checked. */
static bool has_main_error(const ServedProgram *p)
{
  enum { SEVERITY_ERROR = 1 };
  char *main_file = path_of_main(p);
  bool fails = false;
  json_t *message;
  size_t i;
  json_array_foreach(json_object_get(p->messages, main_file), i, message)
    fails |= json_integer_value(json_object_get(message, "severity")) == SEVERITY_ERROR;
  free(main_file);
  return fails;
}

static bool checks_file(const ServedProgram *p, const char *path)
{
  if (p->is_alone || !reads_file(p, path))
    return false;
  char *main_file = path_of_main(p);
  bool is_main = strcmp(main_file, path) == 0;
  free(main_file);
  return is_main || !p->fails_early;
}

/* A file that no program checks is checked alone, and no longer when one does. */
static void settle_alone(Server *s)
{
  for (size_t i = 0; i < arrlenu(s->documents); i++) {
    const char *path = s->documents[i].path;
    bool is_known = true, is_checked = false;
    size_t alone = SIZE_MAX;
    for (size_t k = 0; k < arrlenu(s->programs); k++) {
      const ServedProgram *p = s->programs[k];
      bool is_it = p->is_alone && strcmp(p->call.argv[0], path) == 0;
      alone = is_it ? k : alone;
      is_known = is_known && (p->has_result || p->is_alone);
      is_checked = is_checked || checks_file(p, path);
    }
    if (is_checked && alone != SIZE_MAX)
      remove_program(s, alone);
    else if (is_known && !is_checked && alone == SIZE_MAX)
      add_program(s, project_alone(path), true);
  }
}

static void take_files(ServedProgram *p, const json_t *files)
{
  json_t *file;
  size_t i;
  json_array_foreach(files, i, file)
    if (!reads_file(p, json_string_value(file)))
      arrput(p->files, base_print("%s", json_string_value(file)));
}

static void take_result(Server *s, ServedProgram *p, const json_t *result)
{
  p->has_result = true;
  take_files(p, json_object_get(result, "files"));
  json_decref(p->messages);
  p->messages = json_incref(json_object_get(result, "messages"));
  p->fails_early = has_main_error(p);
  settle_alone(s);
  publish(s, p);
  if (p->is_news)
    client_refresh(&s->client);
  p->is_news = false;
}

/* The child is gone before its result: the main file says so. */
static void take_failure(Server *s, ServedProgram *p)
{
  char *main_file = path_of_main(p);
  const char *text = "cslc cannot check this program: its options are wrong, or it has an internal "
                     "error; 'cslc --check' shows which";
  json_t *result = json_pack("{s:[s],s:{s:[{s:{s:{s:i,s:i},s:{s:i,s:i}},s:i,s:s,s:s}]}}",
                             "files", main_file, "messages", main_file, "range", "start", "line", 0,
                             "character", 0, "end", "line", 0, "character", 0, "severity", 1,
                             "source", "csl-ls", "message", text);
  free(main_file);
  if (!result)
    result = json_pack("{s:[],s:{}}", "files", "messages");
  take_result(s, p, result);
  json_decref(result);
}

/* ---- children's answers --------------------------------------------------------------------- */

/* The next line that the child has written, without its end; NULL: none yet. */
static json_t *take_line(ServedProgram *p)
{
  size_t length = arrlenu(p->input);
  const char *end = length ? memchr(p->input, '\n', length) : NULL;
  if (!end)
    return NULL;
  size_t n = (size_t)(end - p->input);
  json_t *value = json_loadb(p->input, n, JSON_DECODE_ANY, NULL);
  arrdeln(p->input, 0, n + 1);
  return value ? value : json_null();
}

/* False when the child is gone. */
static bool read_child(ServedProgram *p)
{
  char bytes[READ_BYTES];
  ssize_t n = read(p->from, bytes, sizeof bytes);
  if (n < 0 && errno == EINTR)
    return true;
  if (n <= 0) {
    stop_child(p);
    return false;
  }
  memcpy(arraddnptr(p->input, n), bytes, (size_t)n);
  return true;
}

static void hear_child(Server *s, ServedProgram *p)
{
  if (!read_child(p)) {
    if (!p->has_result)
      take_failure(s, p);
    return;
  }
  json_t *line = p->has_result ? NULL : take_line(p);
  if (line)
    take_result(s, p, line);
  json_decref(line);
}

/* Waits for a line of the child; NULL when it is gone or takes too long. */
static json_t *wait_line(ServedProgram *p)
{
  time_t start = time(NULL);
  for (json_t *line; p->child > 0;) {
    if ((line = take_line(p)) != NULL)
      return line;
    struct pollfd fd = {.fd = p->from, .events = POLLIN};
    int ready = poll(&fd, 1, 1000);
    if (ready > 0 ? !read_child(p) : time(NULL) - start > ANSWER_SECONDS)
      stop_child(p);
  }
  return NULL;
}

static void wait_result(Server *s, ServedProgram *p)
{
  if (p->has_result)
    return;
  json_t *line = wait_line(p);
  if (line)
    take_result(s, p, line);
  else
    take_failure(s, p);
  json_decref(line);
}

/* A program that reads the file; one of a project before the file alone. NULL: none. */
static ServedProgram *program_of(Server *s, const char *path)
{
  for (int alone = 0; alone < 2; alone++)
    for (size_t i = 0; i < arrlenu(s->programs); i++) {
      if (s->programs[i]->is_alone != (alone == 1))
        continue;
      ServedProgram *p = s->programs[i];
      wait_result(s, p);       /* may add and remove programs that are alone */
      if (reads_file(p, path))
        return p;
    }
  return NULL;
}

static json_t *ask_program(Server *s, ServedProgram *p, const char *method, json_t *params,
                           const char *path)
{
  if (p->child == 0)
    start_child(s, p);
  wait_result(s, p);
  json_t *request = json_pack("{s:s,s:O?,s:s?}", "method", method, "params", params, "path", path);
  char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
  json_decref(request);
  if (!text || p->child == 0) {
    free(text);
    return NULL;
  }
  char *line = base_print("%s\n", text);
  json_t *answer = frame_write_bytes(p->to, line, strlen(line)) ? wait_line(p) : NULL;
  free(line);
  free(text);
  return answer;
}

/* ---- renaming ------------------------------------------------------------------------------- */

/* The first of the files that the program reads; malloc. NULL: none. */
static char *file_read_by(const ServedProgram *p, const json_t *by_uri)
{
  const char *uri;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)by_uri, uri, value) {
    char *path = uri_path(uri);
    if (path && reads_file(p, path))
      return path;
    free(path);
  }
  return NULL;
}

/* What the programs that read one of the files answer about it. */
static json_t *ask_readers(Server *s, const char *method, json_t *params, const json_t *by_uri)
{
  json_t *answers = json_array();
  for (size_t i = 0; i < arrlenu(s->programs); i++) {
    wait_result(s, s->programs[i]);      /* may add and remove programs that are alone */
    char *path = i < arrlenu(s->programs) ? file_read_by(s->programs[i], by_uri) : NULL;
    if (!path)
      continue;
    json_t *answer = ask_program(s, s->programs[i], method, params, path);
    json_array_append_new(answers, answer ? answer : json_null());
    free(path);
  }
  return answers;
}

/* NULL: none. */
static json_t *answer_with(const json_t *answers, const char *key)
{
  json_t *answer;
  size_t i;
  json_array_foreach(answers, i, answer)
    if (json_object_get(answer, key))
      return answer;
  return NULL;
}

static bool is_before(const json_t *a, const json_t *b)
{
  const json_t *x = json_object_get(json_object_get(a, "range"), "start");
  const json_t *y = json_object_get(json_object_get(b, "range"), "start");
  json_int_t line = json_integer_value(json_object_get(x, "line"));
  json_int_t other = json_integer_value(json_object_get(y, "line"));
  return line < other || (line == other && json_integer_value(json_object_get(x, "character")) <
                                             json_integer_value(json_object_get(y, "character")));
}

/* Into its place, once. */
static void merge_edit(json_t *edits, json_t *edit)
{
  size_t i = 0;
  while (i < json_array_size(edits) && is_before(json_array_get(edits, i), edit))
    i++;
  if (!json_equal(json_array_get(edits, i), edit))
    json_array_insert(edits, i, edit);
}

static json_t *merged_changes(const json_t *answers)
{
  json_t *changes = json_object(), *answer, *edits, *edit;
  const char *uri;
  size_t i, k;
  json_array_foreach(answers, i, answer)
    json_object_foreach(json_object_get(answer, "changes"), uri, edits) {
      if (!json_object_get(changes, uri))
        json_object_set_new(changes, uri, json_array());
      json_array_foreach(edits, k, edit)
        merge_edit(json_object_get(changes, uri), edit);
    }
  return changes;
}

/* Only the host's script, which is not known, may use the name elsewhere. */
static bool is_name_of_host(const json_t *answers)
{
  bool is_it = true;
  json_t *answer;
  size_t i;
  json_array_foreach(answers, i, answer)
    is_it = is_it && (!json_object_get(answer, "changes") ||
                      json_is_true(json_object_get(answer, "isNameOfHost")));
  return is_it;
}

/* What a program that reads a changed file has against the changes; NULL: nothing. */
static json_t *check_rename(Server *s, const json_t *changes, json_t *field)
{
  json_t *params = json_pack("{s:O,s:O?}", "changes", changes, "field", field);
  json_t *answers = ask_readers(s, "program/checkRename", params, changes);
  json_t *refused = json_incref(answer_with(answers, "error"));
  json_decref(answers);
  json_decref(params);
  return refused;
}

/* The changes in all programs of the declaration, which `answer` of one of them names. */
static json_t *rename_declared(Server *s, const json_t *params, const json_t *answer)
{
  const json_t *declaration = json_object_get(answer, "declaration");
  const json_t *range = json_object_get(declaration, "range");
  json_t *file = json_pack("{s:n}", json_string_value(json_object_get(declaration, "uri")));
  json_t *there = json_pack("{s:O,s:O}", "position", json_object_get(range, "start"),
                            "newName", json_object_get(params, "newName"));
  json_t *answers = ask_readers(s, "program/rename", there, file);
  json_t *changes = merged_changes(answers);
  json_t *refused = is_name_of_host(answers)
    ? json_pack("{s:s}", "error", "a host script, which csl-ls does not read, knows this name")
    : check_rename(s, changes, json_object_get(answer, "field"));
  json_decref(answers);
  json_decref(there);
  json_decref(file);
  if (!refused)
    return json_pack("{s:o}", "changes", changes);
  json_decref(changes);
  return refused;
}

static json_t *rename_everywhere(Server *s, json_t *params, const char *path)
{
  char *uri = path_uri(path);
  json_t *file = json_pack("{s:n}", uri);
  json_t *answers = ask_readers(s, "program/rename", params, file);
  const json_t *known = answer_with(answers, "declaration");
  json_t *result = known ? rename_declared(s, params, known)
                         : json_incref(answer_with(answers, "error"));
  json_decref(answers);
  json_decref(file);
  free(uri);
  return result;
}

/* ---- requests ------------------------------------------------------------------------------- */

static json_t *capabilities(void)
{
  json_t *result = json_pack(
    "{s:s,s:{s:b,s:i},s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b}", "positionEncoding", "utf-16",
    "textDocumentSync", "openClose", 1, "change", 2, "hoverProvider", 1, "definitionProvider", 1,
    "referencesProvider", 1, "documentHighlightProvider", 1, "documentSymbolProvider", 1,
    "foldingRangeProvider", 1, "documentFormattingProvider", 1, "inlayHintProvider", 1,
    "workspaceSymbolProvider", 1);
  json_object_set_new(result, "renameProvider", json_pack("{s:b}", "prepareProvider", 1));
  json_object_set_new(result, "completionProvider",
                      json_pack("{s:[s,s]}", "triggerCharacters", ".", "@"));
  json_object_set_new(result, "signatureHelpProvider",
                      json_pack("{s:[s,s]}", "triggerCharacters", "(", ","));
  json_object_set_new(result, "semanticTokensProvider",
                      json_pack("{s:o,s:b}", "legend", token_types(), "full", 1));
  json_object_set_new(result, "codeActionProvider",
                      json_pack("{s:[s]}", "codeActionKinds", "quickfix"));
  return json_pack("{s:o,s:{s:s,s:s}}", "capabilities", result, "serverInfo", "name", "csl-ls",
                   "version", WSE_VERSION);
}

static char *document_path(const json_t *params)
{
  const json_t *document = json_object_get(params, "textDocument");
  char *path = uri_path(json_string_value(json_object_get(document, "uri")));
  char *real = path ? path_resolved("/", path) : NULL;
  free(path);
  return real;
}

static bool is_question(const char *method)
{
  return strncmp(method, "textDocument/", strlen("textDocument/")) == 0;
}

static json_t *search_workspace(Server *s, json_t *params)
{
  json_t *all = json_array(), *item, *known;
  size_t k, n;
  for (size_t i = 0; i < arrlenu(s->programs); i++) {
    json_t *found = ask_program(s, s->programs[i], "workspace/symbol", params, NULL);
    json_array_foreach(found, k, item) {
      bool is_new = true;
      json_array_foreach(all, n, known)
        is_new = is_new && !json_equal(known, item);
      if (is_new)
        json_array_append(all, item);
    }
    json_decref(found);
  }
  return all;
}

static void answer_request(Server *s, const char *method, const json_t *id, json_t *params)
{
  if (strcmp(method, "workspace/symbol") == 0) {
    client_send_result(&s->client, id, search_workspace(s, params));
    return;
  }
  char *path = document_path(params);
  ServedProgram *p = path ? program_of(s, path) : NULL;
  bool is_rename = strcmp(method, "textDocument/rename") == 0;
  json_t *result = !p ? NULL : is_rename ? rename_everywhere(s, params, path)
                                         : ask_program(s, p, method, params, path);
  const char *error = json_string_value(json_object_get(result, "error"));
  if (error) {
    client_send_error(&s->client, id, ERROR_FAILED, error);
    json_decref(result);
  } else {
    client_send_result(&s->client, id, result);
  }
  free(path);
}

static void take_request(Server *s, const char *method, const json_t *id, json_t *params)
{
  if (strcmp(method, "initialize") == 0) {
    s->is_initialised = true;
    client_read_abilities(&s->client, params);
    client_send_result(&s->client, id, capabilities());
  } else if (!s->is_initialised) {
    client_send_error(&s->client, id, ERROR_NOT_INITIALISED,
                      "the first request must be 'initialize'");
  } else if (s->is_shut_down) {
    client_send_error(&s->client, id, ERROR_REQUEST, "the server has been shut down");
  } else if (strcmp(method, "shutdown") == 0) {
    s->is_shut_down = true;
    client_send_result(&s->client, id, NULL);
  } else if (is_question(method) || strcmp(method, "workspace/symbol") == 0) {
    answer_request(s, method, id, params);
  } else {
    client_send_error(&s->client, id, ERROR_METHOD, "csl-ls does not know this method");
  }
}

/* ---- notifications -------------------------------------------------------------------------- */

/* A child without a result may be about to read the file for the first time.  About the file itself
 * the client asks anyway. */
static void restart_readers(Server *s, const char *path)
{
  for (size_t i = 0; i < arrlenu(s->programs); i++)
    if (reads_file(s->programs[i], path) || !s->programs[i]->has_result) {
      s->programs[i]->is_news |= arrlenu(s->documents) > 1;
      start_child(s, s->programs[i]);
    }
}

/* What is wrong in a csl.json, if the client does not have these messages already. */
static void publish_project(Server *s, const char *path, json_t *messages)
{
  const json_t *before = json_object_get(s->published, path);
  if (before ? json_equal(messages, before) : json_array_size(messages) == 0)
    return;
  char *uri = path_uri(path);
  json_object_set(s->published, path, messages);
  client_notify(&s->client, "textDocument/publishDiagnostics",
                    json_pack("{s:o,s:O}", "uri", base_json_text(uri), "diagnostics", messages));
  free(uri);
}

static void find_programs(Server *s, const char *path)
{
  json_t *mistakes = json_object(), *messages;
  const char *project;
  ProgramCall *calls = project_calls(path, mistakes);
  for (size_t i = 0; i < arrlenu(calls); i++)
    add_program(s, calls[i], false);
  json_object_foreach(mistakes, project, messages)
    publish_project(s, project, messages);
  json_decref(mistakes);
  arrfree(calls);
  settle_alone(s);
}

static void free_document(Document *d)
{
  free(d->path);
  free(d->uri);
  free(d->text);
}

static void open_document(Server *s, const json_t *params)
{
  const json_t *item = json_object_get(params, "textDocument");
  const char *text = json_string_value(json_object_get(item, "text"));
  char *path = document_path(params);
  if (!path || !text || find_document(s, path)) {
    free(path);
    return;
  }
  Document d = {.path = path, .text = base_print("%s", text),
                .uri = base_print("%s", json_string_value(json_object_get(item, "uri"))),
                .version = json_integer_value(json_object_get(item, "version"))};
  arrput(s->documents, d);
  restart_readers(s, path);
  find_programs(s, path);
}

static void change_document(Server *s, const json_t *params)
{
  const json_t *item = json_object_get(params, "textDocument");
  json_t *change;
  size_t i;
  char *path = document_path(params);
  Document *d = find_document(s, path);
  if (d) {
    json_array_foreach(json_object_get(params, "contentChanges"), i, change)
      d->text = text_after_change(d->text, change);
    d->version = json_integer_value(json_object_get(item, "version"));
    restart_readers(s, path);
  }
  free(path);
}

static void close_document(Server *s, const json_t *params)
{
  char *path = document_path(params);
  Document *d = find_document(s, path);
  if (d) {
    free_document(d);
    arrdel(s->documents, d - s->documents);
    for (size_t i = arrlenu(s->programs); i-- > 0;)
      if (s->programs[i]->is_alone && strcmp(s->programs[i]->call.argv[0], path) == 0)
        remove_program(s, i);
    restart_readers(s, path);
    publish_file(s, path);
  }
  free(path);
}

/* Files on the disk have changed, perhaps those that name the programs. */
static void reload(Server *s)
{
  while (arrlenu(s->programs) > 0)
    remove_program(s, arrlenu(s->programs) - 1);
  for (size_t i = 0; i < arrlenu(s->documents); i++)
    find_programs(s, s->documents[i].path);
}

static bool is_profile(const Server *s, const char *path)
{
  bool found = false;
  for (size_t i = 0; i < arrlenu(s->programs) && !found; i++) {
    char *profile = profile_path(&s->programs[i]->call);
    found = strcmp(profile, path) == 0;
    free(profile);
  }
  return found;
}

/* The client also watches files that no program is made of. */
static bool concerns_programs(const Server *s, const json_t *change)
{
  char *path = uri_path(json_string_value(json_object_get(change, "uri")));
  char *real = path ? path_resolved("/", path) : NULL;
  bool is_json = real && file_has_ending(real, ".json");
  bool concerns = !is_json || file_is_named(real, "csl.json") || is_profile(s, real);
  free(real);
  free(path);
  return concerns;
}

static void take_changes(Server *s, const json_t *changes)
{
  json_t *change;
  size_t i;
  bool concerns = json_array_size(changes) == 0;
  json_array_foreach(changes, i, change)
    concerns = concerns || concerns_programs(s, change);
  if (concerns)
    reload(s);
}

static void take_notification(Server *s, const char *method, const json_t *params)
{
  if (strcmp(method, "exit") == 0)
    s->is_done = true;
  else if (!s->is_initialised)
    return;
  else if (strcmp(method, "initialized") == 0)
    client_watch_files(&s->client);
  else if (strcmp(method, "textDocument/didOpen") == 0)
    open_document(s, params);
  else if (strcmp(method, "textDocument/didChange") == 0)
    change_document(s, params);
  else if (strcmp(method, "textDocument/didClose") == 0)
    close_document(s, params);
  else if (strcmp(method, "workspace/didChangeWatchedFiles") == 0)
    take_changes(s, json_object_get(params, "changes"));
}

/* ---- in ------------------------------------------------------------------------------------- */

static void take_message(void *context, const char *text, size_t length)
{
  Server *s = context;
  json_t *message = json_loadb(text, length, 0, NULL);
  if (!message) {
    client_send_error(&s->client, NULL, ERROR_PARSE, "the message is no JSON");
    return;
  }
  const char *method = json_string_value(json_object_get(message, "method"));
  const json_t *id = json_object_get(message, "id");
  json_t *params = json_object_get(message, "params");
  if (method && id)
    take_request(s, method, id, params);
  else if (method)
    take_notification(s, method, params);
  else if (!json_object_get(message, "result") && !json_object_get(message, "error"))
    client_send_error(&s->client, id, ERROR_REQUEST, "the message has no method");
  json_decref(message);
}

static void wait_for_events(Server *s)
{
  struct pollfd *fds = NULL;
  struct pollfd input = {.fd = s->client.in, .events = POLLIN};
  arrput(fds, input);
  for (size_t i = 0; i < arrlenu(s->programs); i++) {
    const ServedProgram *p = s->programs[i];
    struct pollfd fd = {.fd = p->child > 0 ? p->from : -1, .events = POLLIN};
    arrput(fds, fd);
  }
  if (poll(fds, (nfds_t)arrlenu(fds), -1) > 0) {
    for (size_t i = 1; i < arrlenu(fds); i++)
      for (size_t k = 0; fds[i].revents && k < arrlenu(s->programs); k++)
        if (s->programs[k]->child > 0 && s->programs[k]->from == fds[i].fd) {
          hear_child(s, s->programs[k]);
          break;
        }
    if (fds[0].revents)
      client_take_input(&s->client, take_message, s);
  }
  arrfree(fds);
}

int server_run(int in, int out, const char *stdlib)
{
  signal(SIGPIPE, SIG_IGN);
  Server s = {.client = {.in = in, .out = out}, .stdlib = stdlib, .published = json_object(),
              .held = json_object()};
  while (!s.is_done && !s.client.is_gone)
    wait_for_events(&s);
  while (arrlenu(s.programs) > 0)
    remove_program(&s, arrlenu(s.programs) - 1);
  for (size_t i = 0; i < arrlenu(s.documents); i++)
    free_document(&s.documents[i]);
  arrfree(s.documents);
  arrfree(s.programs);
  arrfree(s.client.input);
  json_decref(s.published);
  json_decref(s.held);
  return s.is_shut_down ? EXIT_SUCCESS : EXIT_FAILURE;
}
