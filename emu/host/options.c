/* The command line: options, and host actions in the order given. */
#include "emu/host/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum {
  MAX_THREADS_ACCEPTED = 1024,
  ALL_KINDS = (1 << TRACE_KIND_COUNT) - 1,
};

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define DEFAULT_KINDS "task,wavelet,switch"
#define DEFAULT_CYCLES TEXT(HOST_DEFAULT_MAX_CYCLES)
#define DEFAULT_SECONDS TEXT(STATUS_LINE_SECONDS) " on a terminal, else " TEXT(HOST_LOG_SECONDS)

/* Options by number; one row each: name, argument, what several of them do, what --help says. */
#define OPTION_ROWS(X)                                                                            \
  X(h2d, required_argument, ADDED, "SYM[@X,Y,W,H]=FILE.npy|V,V,...", "copy to the device")        \
  X(launch, required_argument, ADDED, "FN[(ARGS)]", "call an exported function and wait")         \
  X(run, no_argument, ADDED, "", "run until the fabric is quiet")                                 \
  X(d2h, required_argument, ADDED, "SYM[:N][@X,Y,W,H]=FILE.npy", "copy to the host")              \
  X(print, required_argument, ADDED, "SYM[:N][@X,Y,W,H]", "print values, one tile per line")      \
  X(stats, optional_argument, ONCE, "[FILE]", "statistics as JSON at the end")                    \
  X(trace, optional_argument, JOINED, "[KINDS]",                                                  \
    "event trace; of task,inst,wavelet,switch,queue,stall,host,all (default " DEFAULT_KINDS ")")  \
  X(trace_file, required_argument, ONCE, "FILE", "trace there instead of standard output")        \
  X(trace_format, required_argument, LAST, "text|perfetto|simlog", "form of the trace")           \
  X(trace_ids, no_argument, LAST, "", "number the wavelets in the text of the trace")             \
  X(trace_region, required_argument, ONCE, "X,Y,W,H", "trace these tiles only")                   \
  X(trace_cycles, required_argument, ONCE, "A:B", "trace these cycles only")                      \
  X(profile, optional_argument, ONCE, "[FILE]", "cycles by source line and cause of waiting")     \
  X(watch, required_argument, ADDED, "X,Y,COLOR[,N]",                                             \
    "follow what that tile sends N-th (0 first)")                                                 \
  X(stop, required_argument, ONCE, "CYCLE|X,Y|FILE:LINE[@X,Y]",                                   \
    "stop there, show the tile, exit 4")                                                          \
  X(dump, required_argument, ADDED, "X,Y,W,H",                                                    \
    "show these tiles where the run has stopped or ended")                                        \
  X(cluster, required_argument, ONCE, "FILE",                                                     \
    "instead of PROG: wafers and links, docs/cluster.md")                                         \
  X(engine, required_argument, LAST, "fast|reference", "which engine runs")                       \
  X(threads, required_argument, LAST, "N", "threads of the fast engine")                          \
  X(max_cycles, required_argument, LAST, "N",                                                     \
    "end with exit code 4 there (default " DEFAULT_CYCLES ")")                                    \
  X(progress, required_argument, LAST, "SECONDS",                                                 \
    "the first line about a long run comes then (default " DEFAULT_SECONDS ")")                   \
  X(timing, required_argument, JOINED, "cs2|ROW:CYCLES,...",                                      \
    "hardware mode, or rows of docs/cycle-model.md with other values")                            \
  X(check, required_argument, JOINED, "WORD,...",                                                 \
    "hazards: off, warn, error (default) or strict; and memory, tasks, lengths, order for more")  \
  X(check_reads, no_argument, LAST, "", "reads of memory that was never written are faults")      \
  X(check_left, no_argument, LAST, "", "wavelets left behind at the end are an error, exit 2")    \
  X(report, required_argument, ONCE, "FILE.html|FILE.wseview",                                    \
    "the run as one page: map, time lines, profile, ...; or the data of such a page")             \
  X(report_detail, required_argument, LAST, "events|counts",                                      \
    "what the page is made of: events show more, counts take less time (default: by tiles)")      \
  X(save_state, required_argument, ONCE, "FILE", "write the state of the run there at its end")   \
  X(save_every, required_argument, LAST, "N", "and every N cycles, with --save-state")            \
  X(load_state, required_argument, ONCE, "FILE",                                                  \
    "go on from that state, with the same host actions")                                          \
  X(dap, required_argument, ONCE, "PORT",                                                         \
    "wait for a debugger at this port; 0 chooses one (docs/debugger.md)")                         \
  X(help, no_argument, LAST, "", "this text, also with -h")                                       \
  X(version, no_argument, LAST, "", "version and what the cycles stand for")

#define NUMBER(name, argument, again, value, text) OPTION_##name,
enum { OPTION_ROWS(NUMBER) OPTION_COUNT };
#undef NUMBER

enum { no_argument, required_argument, optional_argument };   /* whether an option has a value */

/* What an option does that has been given before: LAST, it sets the same thing; JOINED, the two
 * lists are one; ADDED, both are done; ONCE, it is an error unless the values are equal. */
typedef enum { LAST, JOINED, ADDED, ONCE } Repetition;
typedef struct {
  const char *name;
  int argument;
  Repetition again;
  const char *value, *text;
} OptionRow;
#define ROW(name, argument, again, value, text) {#name, argument, again, value, text},
static const OptionRow rows[OPTION_COUNT] = {OPTION_ROWS(ROW)};
#undef ROW

/* Names are spelled with '-' on the command line. */
static void option_name(unsigned option, char name[32])
{
  snprintf(name, 32, "%s", rows[option].name);
  for (char *c = name; *c; c++)
    if (*c == '_')
      *c = '-';
}

void host_options_help(FILE *out)
{
  fprintf(out, "usage: wse-emu PROG [options and host actions, carried out in the order given]\n"
               "PROG is a program image or an output directory of cslc.\n\n");
  for (unsigned i = 0; i < OPTION_COUNT; i++) {
    char name[32], left[80];
    const char *value = rows[i].value;
    option_name(i, name);
    if (rows[i].argument == optional_argument)
      snprintf(left, sizeof left, "--%s[=%.*s]", name, (int)strlen(value) - 2, value + 1);
    else
      snprintf(left, sizeof left, "--%s%s%s", name, *value ? "=" : "", value);
    fprintf(out, "  %-38s %s\n", left, rows[i].text);
  }
  fprintf(out, "\nExit code: 0 the program ended quietly, 1 bad usage or image, 2 a fault in the "
               "program,\n3 deadlock, 4 cycle limit or --stop; 130 SIGINT, 143 SIGTERM ended the "
               "run.\n");
}

FILE *host_options_out(const HostOptions *options)
{
  return options->out ? options->out : stdout;
}

const char *host_version(void)
{
  return WSE_VERSION;
}

const char *host_honesty(void)
{
  return "Cycle-accurate here means: the timing of the fabric and of vector operations is "
         "calibrated\nagainst published measurements, and the timing of scalar code is modelled on "
         "an instruction\nset of this project. Nothing was verified on hardware. Program images "
         "have a format of this\nproject, which does not run on a wafer.";
}

/* ---- values ----------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == 0 && errno == 0;
}

/* More than none; a fraction has a point. */
static bool parse_seconds(const char *text, double *seconds)
{
  *seconds = strtod(text, NULL);
  return *text != 0 && strspn(text, "0123456789.") == strlen(text) &&
         strchr(text, '.') == strrchr(text, '.') && *seconds > 0;
}

bool host_parse_region(const char *text, uint32_t region[4])
{
  char tail;
  return strspn(text, "0123456789,") == strlen(text) &&
         sscanf(text, "%9u,%9u,%9u,%9u%c", &region[0], &region[1], &region[2], &region[3],
                &tail) == 4;
}

bool host_parse_kinds(const char *text, Diags *diags, uint32_t *kinds)
{
  *kinds = 0;
  for (const char *at = text;;) {
    size_t length = strcspn(at, ",");
    TraceKind kind;
    if (length == 3 && memcmp(at, "all", 3) == 0) {
      *kinds |= ALL_KINDS;
    } else if (trace_kind_from_name(at, length, &kind)) {
      *kinds |= 1u << kind;
    } else {
      diag_unknown_trace_kind(diags, HOST_NOWHERE,
                              arena_copy_text(diags_scratch(diags), at, length));
      return false;
    }
    if (!at[length])
      return true;
    at += length + 1;
  }
}

static bool bad_value(Diags *diags, const char *name, const char *value, const char *expected)
{
  diag_option_argument(diags, HOST_NOWHERE, name, value, expected);
  return false;
}

static bool take_cycles(HostOptions *o, const char *value)
{
  char tail;
  unsigned long long first, last;
  if (strspn(value, "0123456789:") != strlen(value) ||
      sscanf(value, "%19llu:%19llu%c", &first, &last, &tail) != 2 || first > last)
    return false;
  o->session.first_cycle = first;
  o->session.last_cycle = last;
  return o->session.has_cycles = true;
}

/* One word of the list.  A list has one level, and `off` leaves nothing to look for. */
static bool take_check_word(HostOptions *o, const char *word, size_t length, unsigned *levels,
                            unsigned *others)
{
  static const struct { const char *name; CheckLevel level; unsigned checks; } words[] = {
    {"off", CHECK_OFF, 0}, {"warn", CHECK_WARN, 0}, {"error", CHECK_ERROR, 0},
    {"strict", CHECK_ERROR, CHECKS_STRICT}, {"memory", CHECK_COUNT, CHECKS_MEMORY},
    {"tasks", CHECK_COUNT, CHECKS_TASKS}, {"lengths", CHECK_COUNT, CHECKS_LENGTHS},
    {"order", CHECK_COUNT, CHECKS_ORDER},
  };
  for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
    if (strlen(words[i].name) != length || memcmp(word, words[i].name, length) != 0)
      continue;
    bool is_level = words[i].level != CHECK_COUNT;
    o->session.checks |= words[i].checks;
    *levels += is_level;
    *others += !is_level;
    if (is_level)
      o->session.check = words[i].level;
    return *levels < 2 && (*others == 0 || *levels == 0 || o->session.check != CHECK_OFF);
  }
  return false;
}

static bool take_check(HostOptions *o, const char *value)
{
  unsigned levels = 0, others = 0;
  o->session.check = CHECK_ERROR;
  o->session.checks = 0;
  for (;; value++) {
    size_t length = strcspn(value, ",");
    if (!take_check_word(o, value, length, &levels, &others))
      return false;
    value += length;
    if (!*value)
      return true;
  }
}

static bool take_threads(HostOptions *o, const char *value, Diags *diags)
{
  uint64_t number;
  if (!parse_number(value, &number) || number < 1 || number > MAX_THREADS_ACCEPTED)
    return bad_value(diags, "--threads", value,
                     arena_printf(diags_scratch(diags), "a number from 1 to %d",
                                  MAX_THREADS_ACCEPTED));
  o->session.threads = (unsigned)number;
  return true;
}

/* Checked here; session_open sets the rows of the program's machine. */
static bool take_timing(HostOptions *o, const char *value, Diags *diags)
{
  Timing scratch = *timing_get(ARCH_WSE2);
  const char *wrong = timing_set_words(&scratch, ARCH_WSE2, value, diags_scratch(diags));
  if (!wrong) {
    o->session.timing = value;
    return true;
  }
  bad_value(diags, "--timing", value,
            arena_printf(diags_scratch(diags), "cs2 or ROW:CYCLES,... with rows of "
                         "docs/cycle-model.md and 1 to %d cycles, of a ramp to %d",
                         TIMING_MOST, TIMING_MOST_RAMP));
  const char **names = arena_many(diags_scratch(diags), const char *, timing_row_count);
  for (size_t i = 0; i < timing_row_count; i++)
    names[i] = timing_rows[i].name;
  const char *near = base_nearest(arena_copy_text(diags_scratch(diags), wrong,
                                                  strcspn(wrong, ":")), names, timing_row_count);
  if (near)
    diag_symbol_nearest(diags, HOST_NOWHERE, near);
  return false;
}

static bool take_trace_format(HostOptions *o, const char *value, Diags *diags)
{
  static const char *const forms[] = {
    [TRACE_AS_TEXT] = "text", [TRACE_AS_PERFETTO] = "perfetto", [TRACE_AS_SIMLOG] = "sim-log",
  };
  for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
    if (strcmp(value, forms[i]) == 0) {
      o->session.trace_form = (TraceForm)i;
      return true;
    }
  if (strcmp(value, "simlog") == 0) {   /* as the file's name, sim.log, or in one word */
    o->session.trace_form = TRACE_AS_SIMLOG;
    return true;
  }
  return bad_value(diags, "--trace-format", value, "text, perfetto or simlog");
}

static bool parse_watch(const char *text, uint32_t watch[4])
{
  char tail;
  if (strspn(text, "0123456789,") != strlen(text))
    return false;
  int n = sscanf(text, "%9u,%9u,%9u,%9u%c", &watch[0], &watch[1], &watch[2], &watch[3], &tail);
  if (n == 3)
    watch[3] = 0;
  return (n == 3 || n == 4) && text[strlen(text) - 1] != ',' && watch[2] < MAX_COLORS;
}

static bool take_observer(HostOptions *o, int option, const char *value, Diags *diags)
{
  StopSpec spec;
  switch (option) {
  case OPTION_profile:
    o->profile_file = value;
    return o->session.profile = true;
  case OPTION_watch:
    if (o->session.n_watches == MOST_OBSERVED)
      return bad_value(diags, "--watch", value, "no more than " TEXT(MOST_OBSERVED) " of them");
    return parse_watch(value, o->session.watches[o->session.n_watches++]) ||
           bad_value(diags, "--watch", value, "X,Y,COLOR or X,Y,COLOR,NUMBER");
  case OPTION_stop:
    o->session.stop = value;
    return stop_parse(value, &spec) ||
           bad_value(diags, "--stop", value, "a cycle, X,Y, FILE:LINE or FILE:LINE@X,Y");
  case OPTION_dump:
    if (o->session.n_dumps == MOST_OBSERVED)
      return bad_value(diags, "--dump", value, "no more than " TEXT(MOST_OBSERVED) " of them");
    return host_parse_region(value, o->session.dumps[o->session.n_dumps++]) ||
           bad_value(diags, "--dump", value, "X,Y,W,H");
  default:
    ICE("option %d observes nothing", option);
  }
}

static bool take_limits(HostOptions *o, int option, const char *value, Diags *diags)
{
  uint64_t number;
  switch (option) {
  case OPTION_trace_region:
    o->session.has_region = true;
    return host_parse_region(value, o->session.region) ||
           bad_value(diags, "--trace-region", value, "X,Y,W,H");
  case OPTION_trace_cycles:
    return take_cycles(o, value) ||
           bad_value(diags, "--trace-cycles", value, "A:B, first and last cycle");
  case OPTION_max_cycles:
    if (!parse_number(value, &number) || number == 0)
      return bad_value(diags, "--max-cycles", value, "a number of cycles");
    o->session.max_cycles = number;
    return true;
  case OPTION_progress:
    return parse_seconds(value, &o->session.progress_seconds) ||
           bad_value(diags, "--progress", value, "a number of seconds");
  default:
    ICE("option %d has no value", option);
  }
}

static bool take_report_detail(HostOptions *o, const char *value, Diags *diags)
{
  if (strcmp(value, "events") == 0)
    o->session.page_source = PAGE_FROM_EVENTS;
  else if (strcmp(value, "counts") == 0)
    o->session.page_source = PAGE_FROM_COUNTS;
  else
    return bad_value(diags, "--report-detail", value, "events or counts");
  return true;
}

static bool take_port(HostOptions *o, const char *value, Diags *diags)
{
  uint64_t number;
  if (!parse_number(value, &number) || number > UINT16_MAX)
    return bad_value(diags, "--dap", value, "a port, 0 to 65535");
  o->dap_port = (unsigned)number;
  return o->has_dap = true;
}

static bool take_state(HostOptions *o, int option, const char *value, Diags *diags)
{
  if (option == OPTION_save_state)
    o->session.save_state = value;
  else if (option == OPTION_load_state)
    o->session.load_state = value;
  else if (!parse_number(value, &o->session.save_every) || o->session.save_every == 0)
    return bad_value(diags, "--save-every", value, "a number of cycles");
  return true;
}

static bool take_option(HostOptions *o, int option, const char *value, Diags *diags)
{
  switch (option) {
  case OPTION_save_state: case OPTION_save_every: case OPTION_load_state:
    return take_state(o, option, value, diags);
  case OPTION_trace:
    return host_parse_kinds(value, diags, &o->session.trace_kinds);
  case OPTION_trace_file:
    o->trace_file = value;
    return true;
  case OPTION_trace_ids:
    return o->session.trace_ids = true;
  case OPTION_trace_format:
    return take_trace_format(o, value, diags);
  case OPTION_profile: case OPTION_watch: case OPTION_stop: case OPTION_dump:
    return take_observer(o, option, value, diags);
  case OPTION_trace_region: case OPTION_trace_cycles: case OPTION_max_cycles: case OPTION_progress:
    return take_limits(o, option, value, diags);
  case OPTION_engine:
    o->session.engine = engine_from_name(value);
    if (!o->session.engine)
      diag_unknown_engine(diags, HOST_NOWHERE, value);
    return o->session.engine != NULL;
  case OPTION_cluster:
    o->cluster = value;
    return true;
  case OPTION_threads:
    return take_threads(o, value, diags);
  case OPTION_timing:
    return take_timing(o, value, diags);
  case OPTION_check:
    return take_check(o, value) ||
           bad_value(diags, "--check", value,
                     "one of off, warn, error, strict, and words of memory, tasks, lengths, "
                     "order, as in warn,tasks; off stands alone");
  case OPTION_check_reads:
    return o->session.check_reads = true;
  case OPTION_check_left:
    return o->session.left_is_error = true;
  case OPTION_report:
    o->page_file = value;
    return o->session.page = true;
  case OPTION_report_detail:
    return take_report_detail(o, value, diags);
  case OPTION_stats:
    o->stats = true;
    o->stats_file = value;
    return true;
  case OPTION_dap:
    return take_port(o, value, diags);
  case OPTION_help:
    return o->help = true;
  case OPTION_version:
    return o->version = true;
  default:
    ICE("option %d is not handled", option);
  }
}

static bool take_action(HostOptions *o, int option, const char *value)
{
  HostActionKind kind;
  switch (option) {
  case OPTION_h2d: kind = HOST_H2D; break;
  case OPTION_launch: kind = HOST_LAUNCH; break;
  case OPTION_run: kind = HOST_RUN; break;
  case OPTION_d2h: kind = HOST_D2H; break;
  case OPTION_print: kind = HOST_PRINT; break;
  default: return false;
  }
  arrput(o->actions, ((HostAction){kind, value ? value : ""}));
  return true;
}

/* The options in the environment of a host script are those of wse-emu. */
static const char *tool_of(const HostOptions *o)
{
  return o->tool ? o->tool : "wse-emu";
}

static bool take_program(HostOptions *o, const char *path, Diags *diags)
{
  if (o->program) {
    diag_program_twice(diags, HOST_NOWHERE, o->program, path, tool_of(o));
    return false;
  }
  o->program = path;
  return true;
}

/* The option that `name` is or, if no other does so, begins with; OPTION_COUNT: none. */
static unsigned find_option(const char *name, size_t length)
{
  unsigned found = OPTION_COUNT;
  for (unsigned i = 0; i < OPTION_COUNT; i++) {
    char full[32];
    option_name(i, full);
    if (strncmp(full, name, length) != 0)
      continue;
    if (!full[length])
      return i;
    if (found != OPTION_COUNT)
      return OPTION_COUNT;
    found = i;
  }
  return found;
}

/* False: fewer than two options begin with `name`. */
static bool note_several(const char *name, size_t length, Diags *diags)
{
  const char *all = "";
  unsigned count = 0;
  for (unsigned i = 0; i < OPTION_COUNT && length; i++) {
    char full[32];
    option_name(i, full);
    if (strncmp(full, name, length) == 0)
      all = arena_printf(diags_scratch(diags), "%s%s--%s", all, count++ ? ", " : "", full);
  }
  if (count >= 2)
    diag_options_begin_so(diags, HOST_NOWHERE, all);
  return count >= 2;
}

/* The options that were probably meant, if any. */
static void note_nearest(const char *name, size_t length, Diags *diags)
{
  char given[32], names[OPTION_COUNT][32];
  const char *candidates[OPTION_COUNT];
  if (length >= sizeof given || note_several(name, length, diags))
    return;
  memcpy(given, name, length);
  given[length] = 0;
  for (unsigned i = 0; i < OPTION_COUNT; i++) {
    option_name(i, names[i]);
    candidates[i] = names[i];
  }
  unsigned same = find_option(name, length);     /* with one '-' in front */
  const char *near = same < OPTION_COUNT ? names[same]
                                         : base_nearest(given, candidates, OPTION_COUNT);
  if (near && length)
    diag_option_nearest(diags, HOST_NOWHERE, near);
}

/* What has been given of each option so far. */
typedef struct { bool is_given; const char *value; } GivenOption;

static void forget_observed(HostOptions *o, unsigned option)
{
  if (option == OPTION_watch)
    o->session.n_watches = 0;
  else if (option == OPTION_dump)
    o->session.n_dumps = 0;
}

/* The option with its value, after those in `given`; false after emitting what is wrong. */
static bool take_again(HostOptions *o, unsigned option, const char *value, GivenOption *given,
                       Diags *diags)
{
  const Repetition again = rows[option].again;
  GivenOption *before = &given[option];
  if (option == OPTION_trace && !value)
    value = DEFAULT_KINDS;
  bool is_same = !value || !before->value ? value == before->value
                                          : strcmp(value, before->value) == 0;
  if (before->is_given && again == ONCE && !is_same) {
    char name[32];
    option_name(option, name);
    diag_option_once(diags, HOST_NOWHERE, name, before->value ? before->value : "",
                     value ? value : "");
    return false;
  }
  if (before->is_given && again == JOINED)
    value = arena_printf(diags_scratch(diags), "%s,%s", before->value, value);
  if (!before->is_given)
    forget_observed(o, option);
  *before = (GivenOption){true, value};
  return take_action(o, (int)option, value) || take_option(o, (int)option, value, diags);
}

/* One argument, and the next one if that is its value; false after emitting what is wrong. */
static bool take_argument(HostOptions *o, char **argv, int argc, int *at, GivenOption *given_before,
                          Diags *diags)
{
  const char *given = argv[*at];
  if (given[0] != '-')
    return take_program(o, given, diags);
  if (strcmp(given, "-h") == 0)
    return o->help = true;
  const char *name = given + (given[1] == '-' ? 2 : 1);
  size_t length = strcspn(name, "=");
  const char *value = name[length] ? name + length + 1 : NULL;
  unsigned option = given[1] == '-' && length ? find_option(name, length) : OPTION_COUNT;
  if (option == OPTION_COUNT || (value && rows[option].argument == no_argument)) {
    diag_option_unknown(diags, HOST_NOWHERE, tool_of(o), given, tool_of(o));
    note_nearest(name, length, diags);
    return false;
  }
  if (!value && rows[option].argument == required_argument) {
    if (*at + 1 == argc) {
      diag_option_value_missing(diags, HOST_NOWHERE, given, tool_of(o));
      return false;
    }
    value = argv[++*at];
  }
  return take_again(o, option, value, given_before, diags);
}

/* In the order given; what stands behind `--` is no option. */
static bool take_arguments(HostOptions *o, int argc, char **argv, Diags *diags)
{
  bool options = true;
  GivenOption given[OPTION_COUNT] = {{false, NULL}};
  for (int i = 0; i < argc; i++) {
    bool ends = options && strcmp(argv[i], "--") == 0;
    options = options && !ends;
    if (!ends && !(options ? take_argument(o, argv, argc, &i, given, diags)
                           : take_program(o, argv[i], diags)))
      return false;
  }
  return true;
}

/* What options say together, when all are known. */
static bool finish_options(HostOptions *o, Diags *diags)
{
  const SessionOptions *s = &o->session;
  if (s->save_every && !s->save_state)
    return bad_value(diags, "--save-every", "N", "a file as well, with --save-state=FILE");
  if (s->page_source != PAGE_BY_TILES && !s->page)
    return bad_value(diags, "--report-detail", "events|counts",
                     "a page as well, with --report=FILE");
  bool about_trace = o->trace_file || s->trace_ids || s->has_region || s->has_cycles;
  bool is_text = s->trace_form == TRACE_AS_TEXT;
  if (s->trace_kinds == 0 && (!is_text || about_trace))
    return host_parse_kinds(is_text ? DEFAULT_KINDS : "all", diags, &o->session.trace_kinds);
  return true;
}

bool host_options_parse(const char *tool, int argc, char **argv, Diags *diags, HostOptions *o)
{
  *o = (HostOptions){.tool = tool, .session.check = CHECK_ERROR};
  if (!take_arguments(o, argc - 1, argv + 1, diags) || !finish_options(o, diags))
    return false;
  if (o->program && o->cluster)
    diag_program_twice(diags, HOST_NOWHERE, o->program, o->cluster, tool);
  else if (!o->program && !o->cluster && !o->help && !o->version)
    diag_program_missing(diags, HOST_NOWHERE);
  return (!o->program || !o->cluster) && (o->program || o->cluster || o->help || o->version);
}

/* ---- options in a text ------------------------------------------------------------------ */

/* The next word of a shell command, its quotes and backslashes resolved; NULL at the end, and with
 * *open set if a quote does not end. */
static char *next_word(const char **at, Arena *scratch, bool *open)
{
  *at += strspn(*at, " \t\n");
  char *word = arena_alloc(scratch, strlen(*at) + 1, 1), *to = word, quote = 0;
  if (!**at)
    return NULL;
  for (; **at && (quote || !strchr(" \t\n", **at)); ++*at) {
    char c = **at, next = (*at)[1];
    bool escapes = c == '\\' && next && (!quote || (quote == '"' && strchr("\\\"$`", next)));
    if (escapes)
      *to++ = *++*at;
    else if (c == quote)
      quote = 0;
    else if (!quote && (c == '\'' || c == '"'))
      quote = c;
    else
      *to++ = c;
  }
  *open = quote != 0;
  return quote ? NULL : word;
}

static bool take_words(HostOptions *o, const char *words, Arena *scratch, Diags *diags)
{
  char **argv = NULL;
  bool open = false;
  for (char *word; (word = next_word(&words, scratch, &open));)
    arrput(argv, word);
  if (open)
    diag_quote_open(diags, HOST_NOWHERE);
  bool ok = !open && take_arguments(o, (int)arrlen(argv), argv, diags);
  arrfree(argv);
  return ok;
}

bool host_options_words(const char *words, const char *later, Arena *scratch, Diags *diags,
                        HostOptions *o)
{
  bool ok = take_words(o, words, scratch, diags) && take_words(o, later, scratch, diags) &&
            finish_options(o, diags);
  if (ok && (o->program || o->cluster || arrlenu(o->actions) || o->help || o->version)) {
    diag_option_of_command_line(diags, HOST_NOWHERE);
    ok = false;
  }
  return ok;
}

const char *host_file_tagged(const char *path, Arena *scratch, const char *tag)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *point = strrchr(name, '.');
  int before = (int)(point && point > name ? (size_t)(point - path) : strlen(path));
  return arena_printf(scratch, "%.*s-%s%s", before, path, tag, path + before);
}

static const char *number_name(const char *path, Arena *scratch, unsigned number)
{
  return path && number >= 2 ? host_file_tagged(path, scratch, arena_printf(scratch, "%u", number))
                             : path;
}

void host_options_number(HostOptions *o, Arena *scratch, unsigned number)
{
  o->trace_file = number_name(o->trace_file, scratch, number);
  o->profile_file = number_name(o->profile_file, scratch, number);
  o->page_file = number_name(o->page_file, scratch, number);
  o->stats_file = number_name(o->stats_file, scratch, number);
  o->session.save_state = number_name(o->session.save_state, scratch, number);
  o->session.load_state = number_name(o->session.load_state, scratch, number);
}
