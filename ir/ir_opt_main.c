/* ir-opt: a developer's tool.  Reads a module in text form, runs passes, prints it. */
#include "ir/ir.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

typedef struct {
  const char *path, *passes;
  IrOptOptions opt;
  bool optimise, locs, round_trip;
  DiagFormat format;
} ToolOptions;

static void print_usage(FILE *out)
{
  const char *text, *name;
  fputs("usage: ir-opt [-O0|-O1|-O2 | --passes=A,B,...] [options] FILE.ir\n"
        "  --level=N           level that the passes named by --passes work at (default 1)\n"
        "  --dump-after=PASS   also print the module after each run of PASS\n"
        "  --locs              print source locations\n"
        "  --round-trip        print what reading the printed module gives\n"
        "  --diag-format=text|json\n"
        "passes:\n", out);
  for (size_t i = 0; (name = ir_pass_name(i, &text)); i++)
    fprintf(out, "  %-10s %s\n", name, text);
}

static bool parse_level(const char *text, int *level)
{
  if (strlen(text) != 1 || *text < '0' || *text > '2')
    return false;
  *level = *text - '0';
  return true;
}

static bool parse_format(const char *text, DiagFormat *format)
{
  *format = strcmp(text, "json") == 0 ? DIAG_FORMAT_JSON : DIAG_FORMAT_TEXT;
  return strcmp(text, "json") == 0 || strcmp(text, "text") == 0;
}

static bool parse_options(int argc, char **argv, ToolOptions *o)
{
  static const struct option longs[] = {
    {"passes", required_argument, NULL, 'p'},     {"level", required_argument, NULL, 'l'},
    {"dump-after", required_argument, NULL, 'd'}, {"locs", no_argument, NULL, 'L'},
    {"round-trip", no_argument, NULL, 'r'},       {"diag-format", required_argument, NULL, 'f'},
    {NULL, 0, NULL, 0}};
  bool ok = true;
  int c;
  *o = (ToolOptions){.opt = {.level = 1, .dump_to = stdout}};
  while (ok && (c = getopt_long(argc, argv, "O:", longs, NULL)) != -1) {
    switch (c) {
    case 'O': ok = o->optimise = parse_level(optarg, &o->opt.level); break;
    case 'p': o->passes = optarg; break;
    case 'l': ok = parse_level(optarg, &o->opt.level); break;
    case 'd': o->opt.dump_after = optarg; break;
    case 'L': o->locs = true; break;
    case 'r': o->round_trip = true; break;
    case 'f': ok = parse_format(optarg, &o->format); break;
    default: ok = false;
    }
  }
  o->path = argv[optind];
  return ok && optind + 1 == argc;
}

static IrModule *read_module(Arena *arena, SourceMap *sources, Diags *diags, const char *path,
                             const char *text, size_t length, DiagFormat format)
{
  IrModule *m = ir_read(arena, sources, source_add(sources, path, text, length), diags);
  diags_flush(diags, stderr, format);
  return m;
}

static int run_file(const ToolOptions *o, Arena *arena, SourceMap *sources, Diags *diags)
{
  size_t length;
  char *text = file_read_all(o->path, &length);
  if (!text) {
    perror(o->path);
    return EXIT_FAILURE;
  }
  IrModule *m = read_module(arena, sources, diags, o->path, text, length, o->format);
  free(text);
  if (!m)
    return EXIT_FAILURE;
  if (o->passes && !ir_run_passes(m, o->passes, &o->opt)) {
    fprintf(stderr, "ir-opt: unknown pass in '%s'\n", o->passes);
    return EXIT_USAGE;
  }
  if (o->optimise)
    ir_optimise(m, &o->opt);
  if (o->round_trip) {
    FILE *out = open_memstream(&text, &length);
    ir_print_with(m, &(IrPrintOptions){.locs = o->locs}, out);
    fclose(out);
    m = read_module(arena, sources, diags, "printed", text, length, o->format);
    free(text);
    if (!m)
      return EXIT_FAILURE;
  }
  ir_print_with(m, &(IrPrintOptions){.locs = o->locs}, stdout);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
  ToolOptions o;
  if (!parse_options(argc, argv, &o)) {
    print_usage(stderr);
    return EXIT_USAGE;
  }
  Arena *arena = arena_create("module");
  SourceMap *sources = source_map_create();
  Diags *diags = diags_create(sources);
  int code = run_file(&o, arena, sources, diags);
  diags_destroy(diags);
  source_map_destroy(sources);
  arena_destroy(arena);
  return code;
}
