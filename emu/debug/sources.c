/* emu/debug: the source of a program, where this machine has it. */
#include "emu/debug/debug_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Mostly the compiler was called in the folder of its output or in one above. */
static char *find_above(const char *path, const char *name)
{
  char *folder = realpath(path, NULL), *found = NULL;
  while (!found && folder && *folder) {
    *strrchr(folder, '/') = 0;
    char *here = base_print("%s/%s", folder, name);
    found = realpath(here, NULL);
    free(here);
  }
  free(folder);
  return found;
}

char *source_find(const Program *program, const char *name)
{
  char *found = realpath(name, NULL);
  bool is_relative = *name && *name != '/';
  return found || !is_relative || !program->path ? found : find_above(program->path, name);
}

static bool is_newer(const char *path, const struct stat *than)
{
  struct stat info;
  if (stat(path, &info) != 0)
    return false;
  return info.st_mtim.tv_sec != than->st_mtim.tv_sec
           ? info.st_mtim.tv_sec > than->st_mtim.tv_sec
           : info.st_mtim.tv_nsec > than->st_mtim.tv_nsec;
}

void sources_warn(const Program *program, FILE *out)
{
  struct stat image;
  if (!program->path || stat(program->path, &image) != 0)
    return;
  for (uint32_t i = 0; i < program->image->n_files; i++) {
    char *path = source_find(program, program->image->files[i]);
    if (path && is_newer(path, &image))
      fprintf(out, "warning: '%s' is newer than the program, so its lines may differ\n", path);
    free(path);
  }
}

/* ---- lines --------------------------------------------------------------------------------- */

static void print_lines(const char *text, size_t length, const SourceLines *lines, FILE *out)
{
  uint64_t number = 1, middle = SOURCE_LINES / 2;
  uint64_t first = lines->line > middle ? lines->line - middle : 1;
  for (size_t i = 0; i < length && (number < first || number - first < SOURCE_LINES); number++) {
    size_t end = i;
    while (end < length && text[end] != '\n')
      end++;
    if (number >= first)
      fprintf(out, "%s%4" PRIu64 "  %.*s\n", number == lines->marked ? "->" : "  ", number,
              (int)(end - i), text + i);
    i = end + 1;
  }
  if (number <= first)
    fprintf(out, "'%s' has %" PRIu64 " lines\n", lines->file, number - 1);
}

void source_print(const Program *program, const SourceLines *lines, FILE *out)
{
  size_t length;
  char *path = source_find(program, lines->file);
  char *text = path ? file_read_all(path, &length) : NULL;
  if (text)
    print_lines(text, length, lines, out);
  else if (!*lines->file)
    fputs("no source is known here\n", out);
  else
    fprintf(out, "cannot read '%s'%s\n", lines->file,
            path || *lines->file == '/' ? "" : "; " SOURCE_ELSEWHERE);
  free(text);
  free(path);
}
