/* wse-model: what the performance models of collectives and of matrix multiplication predict.
 *
 * The formulas are functions of the standard library (<collectives/model>, <blas/model>), evaluated
 * here by the compiler's comptime evaluator, so programs and this command share one definition. */
#include "frontend/driver/driver_internal.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTIVES "<collectives/predict>"
#define BLAS "<blas/model>"
#define BLAS_PLANS "<blas/layout>"
#define LINKS "<links/model>"
#define LINKS_TILES "<links/tiles_model>"

enum {
  EXIT_USAGE = 2,
  MOST_TILES = 4096,           /* a line; no machine has more than 1024; the thesis has 3^7 */
  MOST_TREE_TILES = 1024,      /* <collectives/trees> makes none for longer lines */
  MOST_ELEMENTS = 1000000,     /* so that every sum fits 32 bits */
  MOST_T_R = 100,
  MOST_SIDE = 100000,          /* of a matrix; three of them fit 64 bits */
  EQUATIONS = 9,               /* of the paper on matrix multiplication */
  MOST_SIMD = 8,
  MOST_WAFERS = 65536, MOST_CHANNELS = 4, MOST_PACKET = 16383, MOST_BUFFERS = 64,
  MOST_LATENCY = 1000000, RATE_UNITS = 1000,
};

/* The comptime evaluator's limits: no program asks for them here. */
enum { MODEL_DEPTH = 256, MODEL_STEPS = 2000000000 };

enum { NOT_GIVEN = -1 };     /* the model chooses */

typedef struct {
  const char *command, *op, *pattern;
  int64_t tiles, length, t_r, step, roots[2], grid[2];
  int64_t sides[3], equation, simd;      /* M, N, K; 0: all equations */
  const char *scheme;
  int64_t wafers, channels, packet, buffers, latency, rate, arch;     /* rate: in 1 / RATE_UNITS */
} Query;

typedef enum {
  OPT_OP = 256, OPT_PATTERN, OPT_PES, OPT_LEN, OPT_TR, OPT_STEP, OPT_ROOT, OPT_GRID, OPT_SIZE,
  OPT_EQUATION, OPT_SIMD, OPT_SCHEME, OPT_WAFERS, OPT_CHANNELS, OPT_PACKET, OPT_BUFFERS,
  OPT_LATENCY, OPT_RATE, OPT_ARCH, OPT_VERSION, OPT_HELP
} ModelOption;

static const struct option long_options[] = {
  {"op", required_argument, NULL, OPT_OP},
  {"pattern", required_argument, NULL, OPT_PATTERN},
  {"pes", required_argument, NULL, OPT_PES},         {"len", required_argument, NULL, OPT_LEN},
  {"tr", required_argument, NULL, OPT_TR},           {"step", required_argument, NULL, OPT_STEP},
  {"root", required_argument, NULL, OPT_ROOT},       {"grid", required_argument, NULL, OPT_GRID},
  {"size", required_argument, NULL, OPT_SIZE},
  {"equation", required_argument, NULL, OPT_EQUATION},
  {"simd", required_argument, NULL, OPT_SIMD},
  {"scheme", required_argument, NULL, OPT_SCHEME},
  {"wafers", required_argument, NULL, OPT_WAFERS},
  {"channels", required_argument, NULL, OPT_CHANNELS},
  {"packet", required_argument, NULL, OPT_PACKET},
  {"buffers", required_argument, NULL, OPT_BUFFERS},
  {"latency", required_argument, NULL, OPT_LATENCY},
  {"rate", required_argument, NULL, OPT_RATE},       {"arch", required_argument, NULL, OPT_ARCH},
  {"version", no_argument, NULL, OPT_VERSION},       {"help", no_argument, NULL, OPT_HELP},
  {NULL, 0, NULL, 0},
};

static void print_help(void)
{
  puts("usage: wse-model predict --op=OP --pattern=NAME --pes=P --len=B [options]\n"
       "       wse-model best    --op=OP --pes=P --len=B [options]\n"
       "       wse-model tree    --pes=P --len=B [--tr=T]\n"
       "       wse-model gemm    --size=MxNxK --pes=P|--grid=WxH [--equation=E] [--simd=S]\n"
       "       wse-model cluster --op=OP --wafers=R --len=B [options]\n"
       "\n"
       "predict  cycles of a collective, as the performance model has them\n"
       "best     the fixed pattern of reduce, broadcast or allreduce with the fewest cycles,\n"
       "         and how many these are\n"
       "tree     the optimal pre-order tree of a reduction: each tile and its parent\n"
       "gemm     cycles of a multiplication of 16-bit floats, A of M x K and B of K x N\n"
       "         elements, by the equations of \"General Matrix Multiply on CS-2\", and as\n"
       "         <blas/layout> expects them of its own plans\n"
       "cluster  cycles of a collective between the R wafers of a ring, blocks of B words;\n"
       "         with --grid over their M x N tiles each, of B words\n"
       "\n"
       "  --op=OP          and the names that --pattern has for it:\n"
       "    reduce         star (or scalar), chain, tree, two-phase, optimal, ring, jump-chain,\n"
       "                   jump-tree, jump-two-phase; with a completion task task-star,\n"
       "                   task-chain and so on; of i32, element by element, element-star,\n"
       "                   element-chain and so on\n"
       "    broadcast      multicast (default), or any, from a root that the program chooses\n"
       "    allreduce      star, chain, tree, two-phase, optimal, ring, butterfly; as the\n"
       "                   library carries them out library-ring, library-butterfly,\n"
       "                   exchange, split, stream\n"
       "    allgather, reduce-scatter\n"
       "                   line; with a completion task task; by rings both ways whole, halves\n"
       "    alltoall, scan, exclusive-scan, barrier\n"
       "                   line; with a completion task task; barrier also steady\n"
       "    gather, scatter\n"
       "                   line\n"
       "    packets        from one end or corner to the other: latency, interval (cycles from\n"
       "                   one to the next); what each costs the processor of a tile: sends,\n"
       "                   takes, passes, passes-credit\n"
       "  --pes=P          tiles in the line, 1 to 4096; of a tree 1 to 1024\n"
       "  --grid=MxN       or a grid: M tiles, then N\n"
       "  --len=B          elements of a vector, 1 to 1000000; a barrier has none\n"
       "  --tr=T           cycles between a processor and its router (default 2; 5 on wse3)\n"
       "  --step=S         two-phase: tiles of a group; star: only every S-th tile;\n"
       "                   butterfly: members of a group (default 2);\n"
       "                   packets: the window (default 1)\n"
       "  --root=R         tile that gets the result (default 0); of a grid: R,R2\n"
       "  --size=MxNxK     of gemm, on P x P tiles or W x H\n"
       "  --equation=E     1 to 9 (default: all): 1, 2 MASTER; 3 to 5 SUMMA by vectors, 6 to 8 by\n"
       "                   blocks; 9 the ideal\n"
       "  --simd=S         elements of a cycle (default: 4 on wse2, 8 on wse3)\n"
       "  --arch=A         wse2 or wse3 (default: wse3 for cluster, else wse2)\n"
       "  of cluster:\n"
       "  --op=OP          all-gather, reduce-scatter, all-reduce, all-to-all or broadcast\n"
       "  --scheme=NAME    of all-gather: split (default), half, or line for wafers in a line;\n"
       "                   of reduce-scatter: split or line\n"
       "  --channels=K     of a link in each direction (default 2); --packet=WORDS (1024),\n"
       "                   --buffers=N (2) of a data mover\n"
       "  --latency=L      cycles of a link (default 200)\n"
       "  --rate=N         thousandths of a word per cycle that a link carries (default 1000)");
}

static int usage_error(const char *what, const char *value)
{
  fprintf(stderr, "wse-model: %s%s%s\nrun 'wse-model --help' for the options\n", what,
          value ? ": " : "", value ? value : "");
  return EXIT_USAGE;
}

/* A number in [least, most] up to `end`'s character. */
static bool parse_number(const char *text, char end, int64_t least, int64_t most, int64_t *value,
                         const char **rest)
{
  char *stop;
  errno = 0;
  long long n = strtoll(text, &stop, 10);
  if (stop == text || *stop != end || errno || n < least || n > most)
    return false;
  *value = n;
  if (rest)
    *rest = stop + 1;
  return true;
}

static bool parse_pair(const char *text, char between, int64_t least, int64_t most, int64_t pair[2])
{
  const char *rest;
  return parse_number(text, between, least, most, &pair[0], &rest) &&
         parse_number(rest, 0, least, most, &pair[1], NULL);
}

static bool parse_size(const char *text, int64_t sides[3])
{
  return parse_number(text, 'x', 1, MOST_SIDE, &sides[0], &text) &&
         parse_number(text, 'x', 1, MOST_SIDE, &sides[1], &text) &&
         parse_number(text, 0, 1, MOST_SIDE, &sides[2], NULL);
}

typedef struct { int code; size_t member; int64_t least, most; } NumberOption;

static const NumberOption number_options[] = {
  {OPT_PES, offsetof(Query, tiles), 1, MOST_TILES},
  {OPT_LEN, offsetof(Query, length), 1, MOST_ELEMENTS},
  {OPT_TR, offsetof(Query, t_r), 0, MOST_T_R},
  {OPT_STEP, offsetof(Query, step), 1, MOST_TILES},
  {OPT_EQUATION, offsetof(Query, equation), 1, EQUATIONS},
  {OPT_WAFERS, offsetof(Query, wafers), 2, MOST_WAFERS},
  {OPT_CHANNELS, offsetof(Query, channels), 1, MOST_CHANNELS},
  {OPT_PACKET, offsetof(Query, packet), 1, MOST_PACKET},
  {OPT_BUFFERS, offsetof(Query, buffers), 1, MOST_BUFFERS},
  {OPT_LATENCY, offsetof(Query, latency), 1, MOST_LATENCY},
  {OPT_RATE, offsetof(Query, rate), 1, RATE_UNITS},
};

/* NULL: the option takes no single number. */
static const NumberOption *find_number(int code)
{
  for (size_t i = 0; i < ARRAY_COUNT(number_options); i++)
    if (number_options[i].code == code)
      return &number_options[i];
  return NULL;
}

static bool parse_option(Query *q, int code, const char *text)
{
  const NumberOption *number = find_number(code);
  if (number)
    return parse_number(text, 0, number->least, number->most,
                        (int64_t *)((char *)q + number->member), NULL);
  switch (code) {
  case OPT_OP: q->op = text; return true;
  case OPT_PATTERN: q->pattern = text; return true;
  case OPT_ROOT:
    return parse_number(text, 0, 0, MOST_TILES - 1, &q->roots[0], NULL) ||
           parse_pair(text, ',', 0, MOST_TILES - 1, q->roots);
  case OPT_GRID: return parse_pair(text, 'x', 1, MOST_TILES, q->grid);
  case OPT_SIZE: return parse_size(text, q->sides);
  case OPT_SCHEME: q->scheme = text; return true;
  case OPT_ARCH:
    return strncmp(text, "wse", 3) == 0 && parse_number(text + 3, 0, 2, 3, &q->arch, NULL);
  case OPT_SIMD: return parse_number(text, 0, 2, MOST_SIMD, &q->simd, NULL) && q->simd % 2 == 0;
  default: return false;
  }
}

static int report_value(int code, const char *name, const char *text)
{
  enum { ROOM = 120 };
  char said[ROOM];
  const NumberOption *number = find_number(code);
  const char *form = code == OPT_ROOT ? "a tile, or two numbers as in 3,0"
                   : code == OPT_GRID ? "two numbers, as in 4x3"
                   : code == OPT_SIZE ? "three numbers, as in 64x32x16"
                   : code == OPT_ARCH ? "wse2 or wse3" : "an even number of elements";
  if (number)
    snprintf(said, sizeof said, "--%s is a number from %" PRId64 " to %" PRId64, name,
             number->least, number->most);
  else
    snprintf(said, sizeof said, "--%s is %s", name, form);
  return usage_error(said, text);
}

/* The model answers one question: two values of an option would be two.  Marks the option in
 * `given`, and false after reporting that it was there. */
static bool check_once(int index, const char *given[], const char *value)
{
  enum { ROOM = 120 };
  char said[ROOM];
  if (!given[index] || strcmp(given[index], value) == 0) {
    given[index] = value;
    return true;
  }
  snprintf(said, sizeof said, "--%s is given twice, as '%s' and as '%s'; ask twice",
           long_options[index].name, given[index], value);
  usage_error(said, NULL);
  return false;
}

/* EXIT_SUCCESS: go on. */
static int parse_line(Query *q, int argc, char **argv, bool *is_done)
{
  const char *given[ARRAY_COUNT(long_options)] = {NULL};
  int code, index = 0;
  opterr = 0;
  while ((code = getopt_long(argc, argv, ":h", long_options, &index)) != -1) {
    *is_done = code == 'h' || code == OPT_HELP || code == OPT_VERSION;
    if (code == '?' || code == ':') {
      command_line_report_rejected("wse-model", code, argv, long_options);
      return EXIT_USAGE;
    }
    if (code == OPT_VERSION)
      printf("wse-model %s\n", WSE_VERSION);
    else if (*is_done)
      print_help();
    if (*is_done)
      return EXIT_SUCCESS;
    if (!check_once(index, given, optarg))
      return EXIT_USAGE;
    if (!parse_option(q, code, optarg))
      return report_value(code, long_options[index].name, optarg);
  }
  if (optind + 1 != argc)
    return usage_error("say predict, best, tree, gemm or cluster",
                       optind + 1 < argc ? argv[optind + 1] : NULL);
  q->command = argv[optind];
  if (q->op && strcmp(q->op, "barrier") == 0 && q->length == 0)
    q->length = 1;                  /* it has no vector, so all lengths give the same */
  return EXIT_SUCCESS;
}

static const char *one_of(const char *word, const char *const *words)
{
  for (; word && *words; words++)
    if (strcmp(word, *words) == 0)
      return *words;
  return NULL;
}

static int check_gemm(const Query *q)
{
  if (q->sides[0] == 0)
    return usage_error("--size is missing", NULL);
  return (q->tiles == 0) == (q->grid[0] == 0) ? usage_error("give --pes or --grid", NULL)
                                              : EXIT_SUCCESS;
}

static bool makes_a_tree(const Query *q)
{
  return strcmp(q->command, "tree") == 0 || (q->pattern && strcmp(q->pattern, "optimal") == 0);
}

static bool is_too_long_for_a_tree(const Query *q)
{
  return q->tiles > MOST_TREE_TILES || q->grid[0] > MOST_TREE_TILES || q->grid[1] > MOST_TREE_TILES;
}

static const char no_pattern[] = "the operation has no such pattern";

static int check_cluster(const Query *q)
{
  static const char *const ops[] = {"all-gather", "reduce-scatter", "all-reduce", "all-to-all",
                                    "broadcast", NULL};
  static const char *const schemes[] = {"split", "half", "line", NULL};
  if (!one_of(q->op, ops))
    return usage_error("--op of cluster is all-gather, reduce-scatter, all-reduce, all-to-all or "
                       "broadcast", q->op);
  if (!one_of(q->scheme, schemes))
    return usage_error("--scheme is split, half or line", q->scheme);
  bool is_line = strcmp(q->scheme, "line") == 0 && strcmp(q->op, "reduce-scatter") == 0;
  if (strcmp(q->scheme, "split") != 0 && strcmp(q->op, "all-gather") != 0 && !is_line)
    return usage_error("only all-gather has this --scheme, and reduce-scatter has line, too",
                       q->scheme);
  if (q->length == 0)
    return usage_error("--len is missing", NULL);
  return q->wafers == 0 ? usage_error("--wafers is missing", NULL) : EXIT_SUCCESS;
}

/* Of what is computed on the wafer; `tree` has no --op. */
static int check_operation(const Query *q)
{
  static const char *const ops[] = {"reduce",         "broadcast", "allreduce",
                                    "allgather",      "reduce-scatter",
                                    "alltoall",       "scan",      "exclusive-scan",
                                    "barrier",        "gather",    "scatter",
                                    "packets",        NULL};
  static const char *const compared[] = {"reduce", "broadcast", "allreduce", NULL};
  if (strcmp(q->command, "tree") != 0 && !one_of(q->op, ops))
    return usage_error("--op is reduce, broadcast, allreduce, allgather, reduce-scatter, "
                       "alltoall, scan, exclusive-scan, barrier, gather, scatter or packets",
                       q->op);
  if (strcmp(q->command, "best") == 0 && !one_of(q->op, compared))
    return usage_error("best compares the patterns of reduce, broadcast and allreduce", q->op);
  return q->length == 0 ? usage_error("--len is missing", NULL) : EXIT_SUCCESS;
}

static int check_tiles(const Query *q)
{
  if ((q->tiles == 0) == (q->grid[0] == 0))
    return usage_error("give --pes or --grid", NULL);
  if (strcmp(q->command, "tree") == 0 && q->tiles == 0)
    return usage_error("tree needs --pes", NULL);
  if (makes_a_tree(q) && is_too_long_for_a_tree(q)) {
    char said[80];
    snprintf(said, sizeof said, "trees are made for up to %d tiles; take another pattern",
             MOST_TREE_TILES);
    return usage_error(said, NULL);
  }
  if (q->roots[0] >= (q->tiles ? q->tiles : q->grid[0]) ||
      q->roots[1] >= (q->tiles ? 1 : q->grid[1]))
    return usage_error("--root is not among the tiles", NULL);
  return EXIT_SUCCESS;
}

static int check_pattern(const Query *q)
{
  static const char *const of_broadcast[] = {"multicast", "any", NULL};
  bool is_broadcast = q->op && strcmp(q->op, "broadcast") == 0;
  if (is_broadcast && q->pattern && !one_of(q->pattern, of_broadcast))
    return usage_error(no_pattern, q->pattern);
  bool needs_pattern = strcmp(q->command, "predict") == 0 && !is_broadcast;
  return needs_pattern && !q->pattern ? usage_error("--pattern is missing", NULL) : EXIT_SUCCESS;
}

static int check_query(const Query *q)
{
  static const char *const commands[] = {"predict", "best", "tree", "gemm", "cluster", NULL};
  if (!one_of(q->command, commands))
    return usage_error("no such command", q->command);
  if (strcmp(q->command, "gemm") == 0)
    return check_gemm(q);
  if (strcmp(q->command, "cluster") == 0)
    return check_cluster(q);
  int code = check_operation(q);
  if (code == EXIT_SUCCESS)
    code = check_tiles(q);
  return code == EXIT_SUCCESS ? check_pattern(q) : code;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool evaluate_call(const char *library, Arch arch, const char *binding, int64_t value,
                          const char *function, const LibraryValue *args, uint32_t n,
                          LibraryCall *call)
{
  Options options = {.input = "", .arch = arch, .comptime_depth_limit = MODEL_DEPTH,
                     .comptime_step_limit = MODEL_STEPS, .max_inlined_iterations = 1};
  SourceMap *sources = source_map_create();
  *call = (LibraryCall){.library = library, .function = function, .binding_name = binding,
                        .binding = {.number = value}, .args = args, .n_args = n};
  bool ok = driver_call(&options, sources, WSE_SOURCE_STDLIB, call);
  source_map_destroy(sources);
  return ok;
}

static Arch arch_of(const Query *q) { return q->arch == 3 ? ARCH_WSE3 : ARCH_WSE2; }

/* A parameter that the query does not give has the library's default for the machine. */
static const char *binding_of(const char *name, int64_t value)
{
  return value == NOT_GIVEN ? NULL : name;
}

static bool evaluate_collective(const Query *q, const char *function, const LibraryValue *args,
                                uint32_t n, LibraryCall *call)
{
  return evaluate_call(COLLECTIVES, arch_of(q), binding_of("T_R", q->t_r), q->t_r, function, args,
                       n, call);
}

/* The cycles, or a negative number after reporting. */
static int64_t cycles_of(const Query *q, const char *pattern)
{
  LibraryValue args[] = {{.text = q->op}, {.text = pattern}, {.number = q->tiles},
                         {.number = q->grid[0]}, {.number = q->grid[1]}, {.number = q->length},
                         {.number = q->step}, {.number = q->roots[0]}, {.number = q->roots[1]}};
  LibraryCall call;
  int64_t cycles = -1;
  if (evaluate_collective(q, "cycles", args, ARRAY_COUNT(args), &call)) {
    cycles = call.numbers[0];
    if (cycles < 0)
      usage_error(cycles == -1 ? no_pattern
                               : "the pattern needs another shape or root", pattern);
  }
  arrfree(call.numbers);
  return cycles;
}

static int answer_predict(const Query *q)
{
  int64_t cycles = cycles_of(q, q->pattern ? q->pattern : "multicast");
  if (cycles < 0)
    return EXIT_USAGE;
  printf("%lld\n", (long long)cycles);
  return EXIT_SUCCESS;
}

static int answer_best(const Query *q)
{
  LibraryValue args[] = {{.text = q->op}, {.number = q->tiles}, {.number = q->grid[0]},
                         {.number = q->grid[1]}, {.number = q->length}, {.number = q->step},
                         {.number = q->roots[0]}, {.number = q->roots[1]}};
  LibraryCall call;
  int result = EXIT_USAGE;
  if (evaluate_collective(q, "best", args, ARRAY_COUNT(args), &call)) {
    int64_t cycles = cycles_of(q, call.text);
    if (cycles >= 0) {
      printf("%s %lld\n", call.text, (long long)cycles);
      result = EXIT_SUCCESS;
    }
  }
  free(call.text);
  arrfree(call.numbers);
  return result;
}

static int answer_tree(const Query *q)
{
  LibraryValue args[] = {{.number = q->tiles}, {.number = q->length}};
  LibraryCall call;
  if (!evaluate_collective(q, "tree", args, ARRAY_COUNT(args), &call))
    return EXIT_FAILURE;
  printf("# %lld tiles, %lld elements: %lld cycles; tile, parent\n0 -\n", (long long)q->tiles,
         (long long)q->length, (long long)call.numbers[0]);
  for (size_t v = 1; v < arrlenu(call.numbers); v++)
    printf("%zu %lld\n", v, (long long)call.numbers[v]);
  arrfree(call.numbers);
  return EXIT_SUCCESS;
}

/* The cycles that the library expects of its own plans; no line for a plan that does not fit. */
static bool print_plans(const Query *q, LibraryValue *args, size_t count)
{
  static const char *const names[] = {"gemm_summa_block", "gemm_master_block"};
  LibraryCall call;
  bool is_known =
      evaluate_call(BLAS_PLANS, arch_of(q), binding_of("simd", q->simd), q->simd,
                    "gemm_predictions", args, count, &call);
  for (size_t i = 0; is_known && i < ARRAY_COUNT(names); i++)
    if (call.numbers[i])
      printf("%s: %lld\n", names[i], (long long)call.numbers[i]);
  arrfree(call.numbers);
  return is_known;
}

/* A line for each equation and each plan; one number if one equation is asked for. */
static int answer_gemm(const Query *q)
{
  int64_t width = q->tiles ? q->tiles : q->grid[0], height = q->tiles ? q->tiles : q->grid[1];
  LibraryValue args[] = {{.number = q->sides[0]}, {.number = q->sides[1]}, {.number = q->sides[2]},
                         {.number = width}, {.number = height}};
  LibraryCall call;
  int result = EXIT_FAILURE;
  if (evaluate_call(BLAS, arch_of(q), binding_of("simd", q->simd), q->simd, "equations", args,
                    ARRAY_COUNT(args), &call)) {
    for (int64_t i = 0; i < (int64_t)arrlen(call.numbers) && !q->equation; i++)
      printf("equation %lld: %lld\n", (long long)i + 1, (long long)call.numbers[i]);
    if (q->equation)
      printf("%lld\n", (long long)call.numbers[q->equation - 1]);
    if (q->equation || print_plans(q, args, ARRAY_COUNT(args)))
      result = EXIT_SUCCESS;
  }
  arrfree(call.numbers);
  return result;
}

static int answer_cluster(const Query *q)
{
  LibraryValue args[] = {{.text = q->op}, {.text = q->scheme}, {.number = q->wafers},
                         {.number = q->length}, {.number = q->channels}, {.number = q->packet},
                         {.number = q->buffers}, {.number = q->latency}, {.number = q->rate},
                         {.number = q->grid[0]}, {.number = q->grid[1]}};
  bool has_tiles = q->grid[0] != 0;
  uint32_t n = ARRAY_COUNT(args) - (has_tiles ? 0 : ARRAY_COUNT(q->grid));
  LibraryCall call;
  int result = EXIT_FAILURE;
  int64_t arch = q->arch == NOT_GIVEN ? 3 : q->arch;
  if (evaluate_call(has_tiles ? LINKS_TILES : LINKS, ARCH_WSE2, "arch", arch, "cycles", args, n,
                    &call)) {
    printf("%lld\n", (long long)call.numbers[0]);
    result = EXIT_SUCCESS;
  }
  arrfree(call.numbers);
  return result;
}

static int answer_line(int argc, char **argv)
{
  Query q = {.t_r = NOT_GIVEN, .simd = NOT_GIVEN, .scheme = "split", .channels = 2,
             .packet = 1024, .buffers = 2, .latency = 200, .rate = RATE_UNITS, .arch = NOT_GIVEN};
  bool is_done = false;
  int result = parse_line(&q, argc, argv, &is_done);
  if (result == EXIT_SUCCESS && !is_done)
    result = check_query(&q);
  if (result != EXIT_SUCCESS || is_done)
    return result;
  if (strcmp(q.command, "predict") == 0)
    return answer_predict(&q);
  if (strcmp(q.command, "gemm") == 0)
    return answer_gemm(&q);
  if (strcmp(q.command, "cluster") == 0)
    return answer_cluster(&q);
  return strcmp(q.command, "best") == 0 ? answer_best(&q) : answer_tree(&q);
}

int main(int argc, char **argv)
{
  return command_line_end("wse-model", answer_line(argc, argv));
}
