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

/* {"programs": [{"layout": "layout.csl", "options": ["--arch=wse3", ...], "profile": ...}, ...]} */
static void read_project(const char *folder, ProgramCall **calls)
{
  char *path = base_print("%s/csl.json", folder);
  json_t *project = json_load_file(path, 0, NULL), *program;
  size_t i, k;
  free(path);
  json_array_foreach(json_object_get(project, "programs"), i, program) {
    const char *layout = json_string_value(json_object_get(program, "layout"));
    json_t *option;
    if (!layout || arrlenu(*calls) >= MOST_CALLS)
      continue;
    ProgramCall call = {.folder = base_print("%s", folder)};
    arrput(call.argv, base_print("%s", layout));
    const char *profile = json_string_value(json_object_get(program, "profile"));
    if (profile)
      call.profile = base_print("%s", profile);
    json_array_foreach(json_object_get(program, "options"), k, option)
      if (json_is_string(option))
        arrput(call.argv, base_print("%s", json_string_value(option)));
    drop_output(call.argv);
    arrput(*calls, call);
  }
  json_decref(project);
}

static void add_layout_beside(const char *folder, ProgramCall **calls)
{
  char *layout = base_print("%s/layout.csl", folder);
  if (access(layout, R_OK) == 0)
    arrput(*calls, project_alone(layout));
  free(layout);
}

ProgramCall *project_calls(const char *path)
{
  ProgramCall *calls = NULL;
  char *own = path_folder(path), *folder = base_print("%s", own);
  for (int up = 0; up <= MOST_FOLDERS_UP && arrlenu(calls) == 0; up++) {
    read_project(folder, &calls);
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
