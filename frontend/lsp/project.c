/* From a file to the programs that it is part of: how cslc is called for them. */
#include "frontend/lsp/lsp.h"

#include <ctype.h>
#include <glob.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_CALLS = 8, MOST_FOLDERS_UP = 4 };

static void free_words(char **words)
{
  for (size_t i = 0; i < arrlenu(words); i++)
    free(words[i]);
  arrfree(words);
}

void project_call_free(ProgramCall *call)
{
  free_words(call->argv);
  free(call->profile);
  free(call->folder);
}

ProgramCall project_alone(const char *path)
{
  ProgramCall call = {.folder = path_folder(path)};
  arrput(call.argv, base_print("%s", path));
  return call;
}

/* ---- scripts ------------------------------------------------------------------------------- */

/* The next word of a shell command, with its quotes removed; NULL at the end of the command, and
 * *text behind it. Variables are not known here: words with them stay as they are. */
static char *next_word(const char **text)
{
  const char *c = *text;
  while (*c == ' ' || *c == '\t' || (c[0] == '\\' && c[1] == '\n'))
    c += *c == '\\' ? 2 : 1;
  if (*c == 0 || strchr("\n;&|#<>()", *c)) {
    *text = c + (*c != 0);
    return NULL;
  }
  char *word = base_malloc(strlen(c) + 1), quote = 0;
  size_t n = 0;
  for (; *c; c++) {
    if (quote ? *c == quote : *c == '"' || *c == '\'') {
      quote = quote ? 0 : *c;
      continue;
    }
    if (!quote && strchr(" \t\n;&|<>()", *c))
      break;
    if (quote != '\'' && c[0] == '\\' && c[1]) {
      c++;
      if (*c == '\n')
        continue;
    }
    word[n++] = *c;
  }
  word[n] = 0;
  *text = c;
  return word;
}

static bool is_cslc(const char *word)
{
  const char *slash = strrchr(word, '/');
  return strcmp(slash ? slash + 1 : word, "cslc") == 0;
}

/* Takes out what says where the output goes: nothing is written. */
static void drop_output(char **words)
{
  for (size_t i = 0; i < arrlenu(words);) {
    size_t n = strcmp(words[i], "-o") == 0 ? 2 : strncmp(words[i], "-o", 2) == 0 ? 1 : 0;
    for (size_t k = 0; k < n && i < arrlenu(words); k++) {
      free(words[i]);
      arrdel(words, i);
    }
    i += n == 0;
  }
}

static bool has_variable(char **words)
{
  for (size_t i = 0; i < arrlenu(words); i++)
    if (strpbrk(words[i], "$`"))
      return true;
  return false;
}

static void read_script(const char *path, const char *folder, ProgramCall **calls)
{
  size_t length;
  const char *why;
  char *text = file_read_text(path, FILE_TEXT_MAX_BYTES, &length, &why);
  if (!text)
    return;
  for (const char *at = text; *at;) {
    char **words = NULL;
    for (char *word; (word = next_word(&at)) != NULL;)
      arrput(words, word);
    if (arrlenu(words) > 1 && is_cslc(words[0]) && arrlenu(*calls) < MOST_CALLS &&
        !has_variable(words)) {
      free(words[0]);
      arrdel(words, 0);
      drop_output(words);
      ProgramCall call = {.folder = base_print("%s", folder), .argv = words};
      arrput(*calls, call);
    } else {
      free_words(words);
    }
  }
  free(text);
}

static void read_scripts(const char *folder, ProgramCall **calls)
{
  char *pattern = base_print("%s/commands*.sh", folder);
  glob_t found;
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++)
      read_script(found.gl_pathv[i], folder, calls);
    globfree(&found);
  }
  free(pattern);
}

/* ---- csl.json ------------------------------------------------------------------------------ */

/* Takes the text, which is from malloc. */
static void add_mistake(json_t *messages, int line, char *text)
{
  json_array_append_new(messages, json_pack(
    "{s:{s:{s:i,s:i},s:{s:i,s:i}},s:i,s:s,s:o}", "range", "start", "line", line, "character", 0,
    "end", "line", line, "character", 0, "severity", 1, "source", "csl-ls", "message",
    base_json_text(text)));
  free(text);
}

static void check_keys(const json_t *object, const char *const *known, const char *where,
                       json_t *messages)
{
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    size_t i = 0;
    while (known[i] && strcmp(known[i], key) != 0)
      i++;
    if (!known[i])
      add_mistake(messages, 0, base_print("%s has no key '%s'", where, key));
  }
}

static void read_program(const json_t *program, const char *folder, ProgramCall **calls,
                         json_t *messages)
{
  static const char *const keys[] = {"layout", "options", "profile", NULL};
  const char *layout = json_string_value(json_object_get(program, "layout"));
  const json_t *options = json_object_get(program, "options"), *option;
  const json_t *profile = json_object_get(program, "profile");
  size_t i;
  if (!layout) {
    add_mistake(messages, 0, base_print("a program needs 'layout', the name of its main file"));
    return;
  }
  check_keys(program, keys, "a program", messages);
  if (options && !json_is_array(options))
    add_mistake(messages, 0, base_print("'options' of %s must be a list of texts", layout));
  if (profile && !json_is_string(profile))
    add_mistake(messages, 0, base_print("'profile' of %s must be the name of a file", layout));
  ProgramCall call = {.folder = base_print("%s", folder)};
  arrput(call.argv, base_print("%s", layout));
  if (json_is_string(profile))
    call.profile = base_print("%s", json_string_value(profile));
  json_array_foreach(options, i, option)
    if (json_is_string(option))
      arrput(call.argv, base_print("%s", json_string_value(option)));
    else
      add_mistake(messages, 0, base_print("'options' of %s must be a list of texts", layout));
  drop_output(call.argv);
  arrput(*calls, call);
}

/* {"programs": [{"layout": "layout.csl", "options": ["--arch=wse3", ...], "profile": ...}, ...]} */
static void read_project(const char *folder, ProgramCall **calls, json_t *mistakes)
{
  static const char *const keys[] = {"programs", NULL};
  char *path = base_print("%s/csl.json", folder);
  json_error_t error;
  json_t *project = json_load_file(path, 0, &error), *messages = json_array(), *program;
  const json_t *programs = json_object_get(project, "programs");
  size_t i;
  if (!project && access(path, F_OK) == 0)
    add_mistake(messages, error.line > 0 ? error.line - 1 : 0,
                base_print("csl.json cannot be read: %s", error.text));
  else if (project && !json_is_array(programs))
    add_mistake(messages, 0, base_print("csl.json needs 'programs', a list such as [{\"layout\": "
                                        "\"layout.csl\", \"options\": [\"--arch=wse3\"]}]"));
  if (json_is_object(project))
    check_keys(project, keys, "csl.json", messages);
  json_array_foreach(programs, i, program)
    if (arrlenu(*calls) < MOST_CALLS)
      read_program(program, folder, calls, messages);
  if (project || json_array_size(messages))
    json_object_set(mistakes, path, messages);
  json_decref(messages);
  json_decref(project);
  free(path);
}

static void add_layout_beside(const char *folder, ProgramCall **calls)
{
  char *layout = base_print("%s/layout.csl", folder);
  if (access(layout, R_OK) == 0)
    arrput(*calls, project_alone(layout));
  free(layout);
}

ProgramCall *project_calls(const char *path, json_t *mistakes)
{
  ProgramCall *calls = NULL;
  char *own = path_folder(path), *folder = base_print("%s", own);
  for (int up = 0; up <= MOST_FOLDERS_UP && arrlenu(calls) == 0; up++) {
    read_project(folder, &calls, mistakes);
    if (arrlenu(calls) == 0)
      read_scripts(folder, &calls);
    char *above = path_folder(folder);
    free(folder);
    folder = above;
  }
  if (arrlenu(calls) == 0)
    add_layout_beside(own, &calls);
  free(folder);
  free(own);
  return calls;
}
