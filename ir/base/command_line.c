/* What every tool says of its command line: options that it does not have, and output that is
 * lost. */
#include "ir/base/base.h"

#include <errno.h>
#include <getopt.h>
#include <stb_ds.h>
#include <stdlib.h>

void command_line_report_unknown(const char *tool, const char *given, const char *const *names,
                                 size_t count)
{
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
  fprintf(stderr, "%s: there is no option '%s'\n", tool, name);
  const char *near = base_nearest(name + strspn(name, "-"), names, count);
  if (near)
    fprintf(stderr, "did you mean '--%s'?\n", near);
  else
    fprintf(stderr, "run '%s --help' for the options\n", tool);
}

/* Options that begin with `name`, if it is short for several; false: it is short for none. */
static bool print_beginnings(const char *tool, const char *name, const struct option *options)
{
  bool found = false;
  for (const struct option *o = options; o->name != NULL; o++) {
    if (strncmp(o->name, name, strlen(name)) != 0)
      continue;
    if (!found)
      fprintf(stderr, "%s: '--%s' is the beginning of several options:", tool, name);
    fprintf(stderr, " --%s", o->name);
    found = true;
  }
  fprintf(stderr, found ? "\n" : "");
  return found;
}

static void report_unknown_long(const char *tool, const char *given, const struct option *options)
{
  char name[64];
  const char **names = NULL;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
  if (print_beginnings(tool, name + strspn(name, "-"), options))
    return;
  for (const struct option *o = options; o->name != NULL; o++)
    arrput(names, o->name);
  command_line_report_unknown(tool, given, names, arrlenu(names));
  arrfree(names);
}

void command_line_report_rejected(const char *tool, int result, char *const *argv,
                                  const struct option *options)
{
  const char *given = argv[optind - 1];
  const struct option *o = options;
  while (o->name != NULL && (optopt == 0 || o->val != optopt))
    o++;
  if (result != ':' && optopt == 0) {
    report_unknown_long(tool, given, options);
    return;
  }
  if (result == ':')
    fprintf(stderr, "%s: '%s' needs a value\n", tool, given);
  else if (o->name != NULL)
    fprintf(stderr, "%s: --%s takes no value\n", tool, o->name);
  else
    fprintf(stderr, "%s: there is no option '-%c'\n", tool, optopt);
  fprintf(stderr, "run '%s --help' for the options\n", tool);
}

int command_line_end(const char *tool, int code)
{
  if (fflush(stdout) == 0 && !ferror(stdout))
    return code;
  fprintf(stderr, "%s: error: cannot write to standard output: %s\n", tool,
          file_lost_reason(stdout));
  return EXIT_FAILURE;
}
