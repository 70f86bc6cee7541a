/* The cycles of the last run, by source line: what wse-emu --profile=profile.json has written in
 * the folder of the program.
 *
 * A profile that is older than a file, or a text that was edited since it was stored, has lines
 * elsewhere now, so such files have no cycles. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>
#include <stdlib.h>
#include <sys/stat.h>

char *profile_path(const ProgramCall *call)
{
  return path_resolved(call->folder, call->profile ? call->profile : "profile.json");
}

static bool is_before(struct timespec a, struct timespec b)
{
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Is the text of the file what the profiled program was compiled from? */
static bool is_profiled_text(const LspAnalysis *a, const char *path, const char *profile)
{
  struct stat source, run;
  if (stat(path, &source) != 0 || stat(profile, &run) != 0 ||
      is_before(run.st_mtim, source.st_mtim))
    return false;
  for (size_t i = 0; i < arrlenu(a->overlays); i++) {
    const SourceOverlay *open = &a->overlays[i];
    size_t length;
    char *stored = strcmp(open->path, path) == 0 ? file_read_all(path, &length) : NULL;
    bool is_edited = stored && (length != open->length || memcmp(stored, open->text, length) != 0);
    free(stored);
    if (is_edited)
      return false;
  }
  return true;
}

static uint64_t number_at(const json_t *row, const char *key)
{
  json_int_t n = json_integer_value(json_object_get(row, key));
  return n > 0 ? (uint64_t)n : 0;
}

static bool names_file(const LspAnalysis *a, const json_t *row, const char *path)
{
  const char *name = json_string_value(json_object_get(row, "file"));
  char *known = name ? path_resolved(a->call->folder, name) : NULL;
  bool is_it = known && strcmp(known, path) == 0;
  free(known);
  return is_it;
}

LineCycles *profile_of_file(const LspAnalysis *a, const char *path, uint64_t *all)
{
  char *profile = profile_path(a->call);
  json_t *run = is_profiled_text(a, path, profile) ? json_load_file(profile, 0, NULL) : NULL, *row;
  LineCycles *lines = NULL;
  size_t i;
  *all = number_at(run, "cycles");
  json_array_foreach(json_object_get(run, "lines"), i, row) {
    LineCycles line = {(uint32_t)number_at(row, "line"), number_at(row, "cycles")};
    if (line.line > 0 && names_file(a, row, path))
      arrput(lines, line);
  }
  json_decref(run);
  free(profile);
  return lines;
}

const char *profile_text(Arena *arena, uint64_t cycles, uint64_t all)
{
  double share = all ? 100.0 * (double)cycles / (double)all : 0;
  return arena_printf(arena, "%llu cycle%s, %.1f %%", (unsigned long long)cycles,
                      cycles == 1 ? "" : "s", share);
}
