/* The command line of cslc.  One table holds each option's spelling, argument and meaning.
 *
 * The command line is itself a source text: bindings of --params have a place in it, and the
 * compiler shows mistakes in them like mistakes in a file. */
#include "frontend/driver/driver.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

typedef enum {
  OPT_OUTPUT = 'o', OPT_LEVEL = 'O', OPT_DEBUG = 'g', OPT_HELP = 'h', OPT_VERBOSE_SHORT = 'v',
  OPT_FIRST_LONG = 256,
#define OPTION(id, name, argument, meta, help) OPT_##id,
#include "frontend/driver/options.def"
  OPT_END
} OptionCode;

static const struct option long_options[] = {
#define OPTION(id, name, argument, meta, help) {name, argument, NULL, OPT_##id},
#include "frontend/driver/options.def"
  {NULL, 0, NULL, 0},
};

typedef struct {
  Options *options;
  Arena *arena;
  const char *line;          /* the command line, joined */
  const size_t *starts;      /* where each argument starts in it */
  uint32_t base;             /* its offset among the sources */
  char **argv;
} Cli;

/* Unrolling: release 1.4 stops at 50, later ones farther on.  Depth: ours, bounded by the C
 * stack. */
enum { OPTION_DEFAULT_MAX_INLINED = 10000, OPTION_DEFAULT_FUNC_DEPTH = 256 };

enum { EXIT_USAGE = 2, GO_ON = OPTIONS_GO_ON };

static void print_help(void)
{
  printf("usage: cslc [options] FILE.csl -o OUT\n\n"
         "  OUT ending in .bin is one program image, else a folder for prog.bin and out.json.\n\n"
         "  -o OUT                        where the result goes (default out)\n"
         "  -O0, -O1, -O2                 optimisation level (default -O1)\n"
         "  -g0                           no information about variables for debuggers\n");
#define OPTION(id, name, argument, meta, help) printf("  --%-27s %s\n", name meta, help);
#include "frontend/driver/options.def"
  printf("\nExit code: 0 no errors, 1 errors in the program, 2 a wrong command line,\n"
         "3 a mistake of the compiler itself.\n");
}

static void print_version(void)
{
  printf("cslc %s\n"
         "Fabric and vector timing follow published measurements, scalar timing an instruction\n"
         "set of this project; nothing was verified on hardware, and prog.bin is this project's\n"
         "format, which does not run on a wafer.\n", WSE_VERSION);
}

static int usage_error(const char *format, ...) BASE_PRINTF(1, 2);
static int usage_error(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fprintf(stderr, "cslc: ");
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\nrun 'cslc --help' for the options\n");
  return EXIT_USAGE;
}

static int given_twice(const char *option, const char *first, const char *second)
{
  return usage_error("--%s is given twice, as '%s' and as '%s'; cslc takes one", option, first,
                     second);
}

/* ---- values -------------------------------------------------------------------------------- */

static bool parse_uint(const char *text, uint32_t most, uint32_t *value)
{
  char *end = NULL;
  errno = 0;
  if (!isdigit((unsigned char)text[0]))
    return false;
  bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  unsigned long long v = strtoull(text, &end, is_hex ? 16 : 10);
  if (errno || *end || v > most)
    return false;
  *value = (uint32_t)v;
  return true;
}

static int set_uint(const char *name, const char *text, uint32_t least, uint32_t most,
                    uint32_t *value)
{
  if (parse_uint(text, most, value) && *value >= least)
    return GO_ON;
  return usage_error("%s must be a number from %u to %u, not '%s'", name, least, most, text);
}

static int set_pair(const char *name, const char *text, uint32_t least, uint32_t *x, uint32_t *y)
{
  const char *comma = strchr(text, ',');
  char first[16] = "";
  if (comma && (size_t)(comma - text) < sizeof first)
    memcpy(first, text, (size_t)(comma - text));
  if (comma && parse_uint(first, UINT16_MAX, x) && parse_uint(comma + 1, UINT16_MAX, y)
      && *x >= least && *y >= least)
    return GO_ON;
  return usage_error("%s must be two numbers, as in '8,4', not '%s'", name, text);
}

/* The index of `text` among `names`, or -1. */
static int index_of(const char *text, const char *const *names, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], text) == 0)
      return (int)i;
  return -1;
}

static int bad_choice(const char *name, const char *text, const char *const *names, size_t n)
{
  char known[256] = "";
  for (size_t i = 0; i < n; i++) {
    strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
    strncat(known, names[i], sizeof known - strlen(known) - 1);
  }
  const char *near = base_nearest(text, names, n);
  fprintf(stderr, "cslc: unknown value '%s' of %s; known are %s\n", text, name, known);
  if (near)
    fprintf(stderr, "did you mean '%s'?\n", near);
  return EXIT_USAGE;
}

static bool is_name(const char *text, size_t length)
{
  if (length == 0 || isdigit((unsigned char)text[0]))
    return false;
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)text[i]) && text[i] != '_')
      return false;
  return true;
}

/* `text` lies in one of the arguments; where is it in the joined line? */
static Span place_of(const Cli *cli, const char *text, size_t length)
{
  for (size_t i = 0; cli->argv[i]; i++) {
    const char *arg = cli->argv[i];
    if (text >= arg && text <= arg + strlen(arg))
      return (Span){cli->base + (uint32_t)(cli->starts[i] + (size_t)(text - arg)),
                    (uint32_t)length};
  }
  return (Span){cli->base, 0};
}

static const char BLANKS[] = " \t\n";

/* NAME:VALUE,NAME:VALUE with blanks around; an empty list is fine, scripts write one. */
static int add_bindings(Cli *cli, const char *option, const char *text, OptionBinding **list)
{
  while (*(text += strspn(text, BLANKS))) {
    size_t whole = strcspn(text, ","), length = whole;
    while (length > 0 && strchr(BLANKS, text[length - 1]))
      length--;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL || !is_name(text, (size_t)(colon - text)) || colon + 1 == text + length) {
      const char *wrong = arena_copy_text(cli->arena, text, length);
      return usage_error("%s takes NAME:VALUE,NAME:VALUE..., not '%s'", option, wrong);
    }
    const char *value = colon + 1 + strspn(colon + 1, BLANKS);
    OptionBinding binding = {
      .name = arena_copy_text(cli->arena, text, (size_t)(colon - text)),
      .value = arena_copy_text(cli->arena, value, length - (size_t)(value - text)),
      .span = place_of(cli, text, length),
    };
    arrput(*list, binding);
    text += whole + (text[whole] == ',');
  }
  return GO_ON;
}

static int add_sections(Cli *cli, const char *text)
{
  while (*text) {
    size_t length = strcspn(text, ",");
    const char *colon = memchr(text, ':', length);
    uint32_t address = 0;
    if (!colon || colon == text ||
        !parse_uint(arena_copy_text(cli->arena, colon + 1, length - (size_t)(colon + 1 - text)),
                    PE_MEM_BYTES - 1, &address))
      return usage_error("--link-section-start-address-bytes takes NAME:ADDRESS,..., with"
                         " addresses below %d, not '%s'", PE_MEM_BYTES,
                         arena_copy_text(cli->arena, text, length));
    OptionSection section = {.name = arena_copy_text(cli->arena, text, (size_t)(colon - text)),
                             .address = (uint16_t)address,
                             .span = place_of(cli, text, length)};
    for (size_t i = 0; i < arrlenu(cli->options->sections); i++) {
      const OptionSection *other = &cli->options->sections[i];
      if (strcmp(other->name, section.name) == 0 && other->address != section.address)
        return usage_error("--link-section-start-address-bytes gives '%s' two addresses, %u and"
                           " %u", section.name, other->address, section.address);
    }
    arrput(cli->options->sections, section);
    text += length + (text[length] == ',');
  }
  return GO_ON;
}

/* ---- options ------------------------------------------------------------------------------- */

static int set_emit(Options *o, const char *text)
{
  static const char *const names[] = {"tokens", "ast", "tree", "ir", "asm", "layout", "map"};
  static const EmitKind kinds[] = {EMIT_TOKENS, EMIT_AST, EMIT_TREE, EMIT_IR, EMIT_ASM,
                                   EMIT_LAYOUT, EMIT_MAP};
  int k = index_of(text, names, ARRAY_COUNT(names));
  if (k < 0)
    return bad_choice("--emit", text, names, ARRAY_COUNT(names));
  for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
    if (o->emit == kinds[i] && (size_t)k != i)
      return given_twice("emit", names[i], text);
  o->emit = kinds[k];
  return GO_ON;
}

/* A file that is written or read once: two of them would be meant. */
static int set_file(const char *option, const char **file, const char *name)
{
  if (*file && strcmp(*file, name) != 0)
    return given_twice(option, *file, name);
  *file = name;
  return GO_ON;
}

static int set_arch(Options *o, const char *text)
{
  const char *names[ARCH_COUNT];
  for (int i = 0; i < ARCH_COUNT; i++)
    names[i] = machine_get((Arch)i)->name;
  int k = index_of(text, names, ARRAY_COUNT(names));
  if (k < 0)
    return bad_choice("--arch", text, names, ARRAY_COUNT(names));
  o->arch = (Arch)k;
  return GO_ON;
}

static int set_fp16(Options *o, const char *text)
{
  const char *names[FP16_COUNT];
  for (int i = 0; i < FP16_COUNT; i++)
    names[i] = fp16_name((Fp16Format)i);
  int k = index_of(text, names, FP16_COUNT);
  if (k < 0)
    return bad_choice("--fp16-format", text, names, FP16_COUNT);
  o->fp16 = (Fp16Format)k;
  return GO_ON;
}

static int set_diag_format(Options *o, const char *text)
{
  static const char *const names[] = {"text", "json"};
  int k = index_of(text, names, ARRAY_COUNT(names));
  if (k < 0)
    return bad_choice("--diag-format", text, names, ARRAY_COUNT(names));
  o->diag_format = k == 0 ? DIAG_FORMAT_TEXT : DIAG_FORMAT_JSON;
  return GO_ON;
}

/* 1.4 and the releases like it, or 2 and later; by any of their numbers, as in 0.9.0 or 2.10. */
static int set_sdk(Options *o, const char *text)
{
  static const char *const names[] = {"1.4", "2"};
  bool is_known = text[0] >= '0' && text[0] <= '2' && (text[1] == 0 || text[1] == '.') &&
                  text[strspn(text, "0123456789.")] == 0;
  if (!is_known)
    return bad_choice("--sdk", text, names, ARRAY_COUNT(names));
  o->sdk = text[0] == '2' ? SDK_2 : SDK_1_4;
  return GO_ON;
}

static int set_level(Options *o, const char *text)
{
  if (text[0] < '0' || text[0] > '2' || text[1])
    return usage_error("there is no optimisation level -O%s; levels are -O0, -O1 and -O2", text);
  o->opt_level = text[0] - '0';
  return GO_ON;
}

/* -g0 leaves it out; every other -g is what happens anyway. */
static int set_debug(Options *o, const char *text)
{
  o->debug = !text || strcmp(text, "0") != 0;
  return GO_ON;
}

static const char *option_name(int code)
{
  for (const struct option *o = long_options; o->name != NULL; o++)
    if (o->val == code)
      return o->name;
  return "";
}

static int ignore_option(int code)
{
  fprintf(stderr, "cslc: warning: --%s has no effect: only its name is public\n",
          option_name(code));
  return GO_ON;
}

static int take_option(Cli *cli, int code, const char *arg)
{
  Options *o = cli->options;
  uint32_t ignored = 0;
  switch (code) {
  case OPT_OUTPUT: o->output = arg + (arg[0] == '='); return GO_ON;
  case OPT_LEVEL: return set_level(o, arg);
  case OPT_DEBUG: return set_debug(o, arg);
  case OPT_ARCH: return set_arch(o, arg);
  case OPT_FABRIC_DIMS:
    return set_pair("--fabric-dims", arg, 1, &o->fabric_width, &o->fabric_height);
  case OPT_FABRIC_OFFSETS:
    return set_pair("--fabric-offsets", arg, 0, &o->offset_x, &o->offset_y);
  case OPT_PARAMS: return add_bindings(cli, "--params", arg, &o->params);
  case OPT_COLORS: return add_bindings(cli, "--colors", arg, &o->colors);
  case OPT_LINK_SECTION: return add_sections(cli, arg);
  case OPT_MEMCPY: o->memcpy = true; return GO_ON;
  case OPT_CHANNELS: return set_uint("--channels", arg, 1, 16, &o->channels);
  case OPT_WEST_BUF: return set_uint("--width-west-buf", arg, 0, UINT16_MAX, &o->west_buf);
  case OPT_EAST_BUF: return set_uint("--width-east-buf", arg, 0, UINT16_MAX, &o->east_buf);
  case OPT_IMPORT_PATH: arrput(o->import_paths, arg); return GO_ON;
  case OPT_MAX_INLINED:
    return set_uint("--max-inlined-iterations", arg, 0, UINT32_MAX, &o->max_inlined_iterations);
  case OPT_MAX_PARALLELISM: return set_uint("--max-parallelism", arg, 0, UINT32_MAX, &ignored);
  case OPT_SINGLE_PE: case OPT_LOMEM_RESERVATION_END: case OPT_DUMP_DSR_ALLOC_GRAPH:
  case OPT_DISABLE_AUTO_MICROTHREAD_ID: return ignore_option(code);
  case OPT_FUNC_DEPTH:
    return set_uint("--comptime-func-depth-limit", arg, 1, UINT32_MAX, &o->comptime_depth_limit);
  case OPT_STEPS:
    return set_uint("--comptime-step-limit", arg, 1, UINT32_MAX, &o->comptime_step_limit);
  case OPT_OUTPUT_JSON: return set_file("output-json", &o->output_json, arg ? arg : "");
  case OPT_DEPFILE: return set_file("depfile", &o->depfile, arg);
  case OPT_OUT_ROUTES: o->out_routes = true; return GO_ON;
  case OPT_FP16: return set_fp16(o, arg);
  case OPT_VERBOSE: case OPT_VERBOSE_SHORT: o->verbose = true; return GO_ON;
  case OPT_EMIT: return set_emit(o, arg);
  case OPT_CHECK: o->check = true; return GO_ON;
  case OPT_CHECK_INDICES: o->check_indices = true; return GO_ON;
  case OPT_LAYOUT_JSON: return set_file("layout-json", &o->layout_json, arg);
  case OPT_SDK: return set_sdk(o, arg);
  case OPT_DIAG_FORMAT: return set_diag_format(o, arg);
  case OPT_WERROR: case OPT_WARNINGS_AS_ERRORS: o->werror = true; return GO_ON;
  case OPT_FABRIC_WARNINGS: o->fabric_warnings = true; return GO_ON;
  case OPT_TIME_REPORT: o->time_report = true; return GO_ON;
  case OPT_VERSION: print_version(); return EXIT_SUCCESS;
  case OPT_HELP: case OPT_HELP_LONG: print_help(); return EXIT_SUCCESS;
  default: ICE("option %d", code);
  }
}

/* ---- the walk over argv -------------------------------------------------------------------- */

/* Makes the command line a source text, arguments with blanks in quotes. */
static void add_command_line(Cli *cli, SourceMap *sources, int argc)
{
  char *line = NULL;
  size_t length = 0;
  FILE *out = base_text_open(&line, &length);
  size_t *starts = arena_many(cli->arena, size_t, argc + 1);
  for (int i = 0; i < argc; i++) {
    const char *quote = strpbrk(cli->argv[i], " \t\n'") ? "\"" : "";
    fprintf(out, "%s%s", i ? " " : "", quote);
    fflush(out);
    starts[i] = length;
    fprintf(out, "%s%s", cli->argv[i], quote);
  }
  base_text_close(out, &line);
  FileId file = source_add(sources, "<command line>", line, length);
  cli->starts = starts;
  cli->base = source_base(sources, file);
  free(line);
}

static Options default_options(void)
{
  return (Options){
    .arch = ARCH_WSE2,
    .fp16 = FP16_F16,
    .opt_level = 1,
    .debug = true,
    .diag_format = DIAG_FORMAT_TEXT,
    .channels = 1,
    .max_inlined_iterations = OPTION_DEFAULT_MAX_INLINED,
    .comptime_depth_limit = OPTION_DEFAULT_FUNC_DEPTH,
    .comptime_step_limit = OPTION_DEFAULT_STEPS,
  };
}

/* getopt moves what is no option to the end: exactly one argument may be there, or none if the
 * layout names the files. */
static int check_sources(const Options *o, char **argv, int argc, int first)
{
  if (first == argc && !o->layout_json)
    return usage_error("no source file is given");
  if (first < argc && o->layout_json)
    return usage_error("'%s' is given beside --layout-json, which names the source files",
                       argv[first]);
  if (o->layout_json && arrlenu(o->params) + arrlenu(o->colors) > 0)
    return usage_error("--params and --colors are for a main file; a --layout-json layout has "
                       "values of its own");
  bool is_syntax = o->emit == EMIT_TOKENS || o->emit == EMIT_AST || o->emit == EMIT_TREE;
  if (o->layout_json && is_syntax)
    return usage_error("--emit=tokens|ast|tree prints one source file, not a --layout-json");
  if (first + 1 < argc)
    return usage_error("one source file is compiled at a time, and '%s' follows '%s'",
                       argv[first + 1], argv[first]);
  return GO_ON;
}

/* What is asked for has to have a place, and only one kind of result can be asked for. */
static int check_results(const Options *o)
{
  bool to_stdout = o->emit != EMIT_NONE;
  if (strcmp(o->input, "-") == 0 && !o->check)
    return usage_error("standard input has no name for the output; - is for --check");
  if (o->check && to_stdout)
    return usage_error("--check and --emit exclude each other");
  if (o->depfile && (o->check || to_stdout))
    return usage_error("--depfile lists what an image is made of; with --%s there is none",
                       o->check ? "check" : "emit");
  if (o->output && o->output[0] == 0)
    return usage_error("-o needs a name");
  if (o->output && strcmp(o->output, "-") == 0 && !to_stdout)
    return usage_error("-o - is standard output, for --emit; an image goes to a file");
  return GO_ON;
}

static int take_input(Options *o, char **argv, int argc, int first)
{
  int result = check_sources(o, argv, argc, first);
  if (result != GO_ON)
    return result;
  o->input = o->layout_json ? o->layout_json : argv[first];
  if (o->output == NULL && o->emit == EMIT_NONE)
    o->output = "out";
  return check_results(o);
}

int options_parse(Options *options, Arena *arena, SourceMap *sources, int argc, char **argv)
{
  *options = default_options();
  Cli cli = {.options = options, .arena = arena, .argv = argv};
  char **as_given = arena_many(arena, char *, argc + 1);   /* getopt permutes argv */
  memcpy(as_given, argv, sizeof *argv * (size_t)argc);
  cli.argv = as_given;
  add_command_line(&cli, sources, argc);
  optind = 0;
  opterr = 0;
  int code;
  while ((code = getopt_long(argc, argv, ":o:O:g::hv", long_options, NULL)) != -1) {
    if (code == ':' || code == '?') {
      command_line_report_rejected("cslc", code, argv, long_options);
      return EXIT_USAGE;
    }
    /* `--import-path $LIBRARY --memcpy` with an empty variable. */
    if (optarg != NULL && optarg == argv[optind - 1] && strncmp(optarg, "--", 2) == 0)
      return usage_error("'%s' needs a value, and '%s' is an option", argv[optind - 2], optarg);
    int result = take_option(&cli, code, optarg);
    if (result != GO_ON)
      return result;
  }
  return take_input(options, argv, argc, optind);
}

void options_free(Options *options)
{
  arrfree(options->params);
  arrfree(options->sections);
  arrfree(options->colors);
  arrfree(options->import_paths);
  arrfree(options->overlays);
}
