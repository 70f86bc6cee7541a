/* ir-opt: a developer's tool.  Reads a module in text form, runs passes, prints it. */
#include "ir/ir.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };
enum {
  OPT_PASSES = 256, OPT_AT_LEVEL, OPT_DUMP, OPT_LOCS, OPT_ROUND_TRIP, OPT_FORMAT, OPT_VERSION
};

typedef struct {
  const char *path, *passes;
  IrOptOptions opt;
  bool optimise, locs, round_trip, help, version;
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
        "  --version           print the version and stop\n"
        "  -h, --help          print this and stop\n"
        "passes:\n", out);
  for (size_t i = 0; (name = ir_pass_name(i, &text)); i++)
    fprintf(out, "  %-10s %s\n", name, text);
}

static bool is_pass(const char *name)
{
  const char *known, *text;
  for (size_t i = 0; (known = ir_pass_name(i, &text)); i++)
    if (strcmp(known, name) == 0)
      return true;
  return false;
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

static const struct option long_options[] = {
  {"passes", required_argument, NULL, OPT_PASSES},
  {"level", required_argument, NULL, OPT_AT_LEVEL},
  {"dump-after", required_argument, NULL, OPT_DUMP},
  {"locs", no_argument, NULL, OPT_LOCS},
  {"round-trip", no_argument, NULL, OPT_ROUND_TRIP},
  {"diag-format", required_argument, NULL, OPT_FORMAT},
  {"version", no_argument, NULL, OPT_VERSION},
  {"help", no_argument, NULL, 'h'},
  {NULL, 0, NULL, 0},
};

static int refuse_value(const char *option, const char *known, const char *found)
{
  fprintf(stderr, "ir-opt: %s takes %s, not '%s'\n", option, known, found);
  return EXIT_USAGE;
}

static int take_option(ToolOptions *o, int code)
{
  switch (code) {
  case 'O':
    o->optimise = parse_level(optarg, &o->opt.level);
    return o->optimise ? EXIT_SUCCESS : refuse_value("-O", "0, 1 or 2", optarg);
  case OPT_PASSES: o->passes = optarg; return EXIT_SUCCESS;
  case OPT_AT_LEVEL:
    return parse_level(optarg, &o->opt.level) ? EXIT_SUCCESS
                                              : refuse_value("--level", "0, 1 or 2", optarg);
  case OPT_DUMP:
    o->opt.dump_after = optarg;
    return is_pass(optarg) ? EXIT_SUCCESS
                           : refuse_value("--dump-after", "a pass that --help lists", optarg);
  case OPT_LOCS: o->locs = true; return EXIT_SUCCESS;
  case OPT_ROUND_TRIP: o->round_trip = true; return EXIT_SUCCESS;
  case OPT_FORMAT:
    return parse_format(optarg, &o->format) ? EXIT_SUCCESS
                                            : refuse_value("--diag-format", "text or json", optarg);
  case OPT_VERSION: o->version = true; return EXIT_SUCCESS;
  default: o->help = true; return EXIT_SUCCESS;
  }
}

/* The exit code of a wrong command line, after saying what is wrong; else 0. */
static int parse_options(int argc, char **argv, ToolOptions *o)
{
  int code;
  *o = (ToolOptions){.opt = {.level = 1, .dump_to = stdout}};
  opterr = 0;
  while ((code = getopt_long(argc, argv, ":hO:", long_options, NULL)) != -1) {
    if (code == '?' || code == ':') {
      command_line_report_rejected("ir-opt", code, argv, long_options);
      return EXIT_USAGE;
    }
    int result = take_option(o, code);
    if (result != EXIT_SUCCESS)
      return result;
  }
  o->path = argv[optind];
  if (o->help || o->version || optind + 1 == argc)
    return EXIT_SUCCESS;
  print_usage(stderr);
  return EXIT_USAGE;
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
    fprintf(stderr, "ir-opt: unknown pass in '%s'; --help lists them\n", o->passes);
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
  int code = parse_options(argc, argv, &o);
  if (code != EXIT_SUCCESS)
    return code;
  if (o.help || o.version) {
    if (o.help)
      print_usage(stdout);
    else
      printf("ir-opt %s\n", WSE_VERSION);
    return command_line_end("ir-opt", EXIT_SUCCESS);
  }
  Arena *arena = arena_create("module");
  SourceMap *sources = source_map_create();
  Diags *diags = diags_create(sources);
  code = run_file(&o, arena, sources, diags);
  diags_destroy(diags);
  source_map_destroy(sources);
  arena_destroy(arena);
  return command_line_end("ir-opt", code);
}
