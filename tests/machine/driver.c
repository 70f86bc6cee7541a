/* Runs machine programs that arrive as text and prints how each has ended, for a model of the
 * machine that shares no code with it (tests/machine).  A program runs on both engines, on one
 * and several threads, with and without events, and everything that can be compared is.
 *
 * Standard input, one statement per line, numbers in decimal, code and data in hexadecimal digits:
 *   program ID ARCH FP16 WIDTH HEIGHT      enumerators of Arch and Fp16Format
 *   tile X Y                               a tile with code; the next statements are about it
 *   code WORDS | data ADDRESS BYTES | task KIND ID ENTRY ARGUMENTS | open MASK
 *   input QUEUE COLOR | output QUEUE COLOR | dsr FILE NUMBER WORDS
 *   route X Y COLOR CURRENT RING POP SWAP_X SWAP_Y TEARDOWN
 *         FILTER COUNT_DATA COUNT_CONTROL FILTER_CONTROL HAS_LIMIT2 INIT LIMIT1 LIMIT2 MAXIMUM
 *         then RX TX for each position
 *   random SEED                            a program of tests/unit/random_program.h instead
 *   run LIMIT CREW                         CREW 1: threads meet in every cycle, too
 * Standard output: one line of JSON for each `run`, see print_end.  A difference between two ways
 * to run a program ends the driver with exit code 1 and a message.  Some ways stop in random cycles
 * and go on in another engine, which gets a snapshot. */
#include "tests/unit/engine_compare.h"
#include "tests/unit/random_program.h"
#include "tests/unit/rank_threads.h"

#include <stdio.h>

enum { LINE_MOST = 1 << 17, FIELDS = 40, DATA_WORDS = 12 };

typedef struct {
  const EngineOps *ops;
  uint32_t shuffle;
  unsigned threads;
  bool crew;
  unsigned processes;           /* with engine_ranks */
  bool halts;                   /* goes on in other engines, from snapshots */
} Way;
static const Way ways[] = {
  {&engine_reference, 0, 1, false, 0, false}, {&engine_reference, 7, 1, false, 0, false},
  {&engine_fast, 0, 1, false, 0, false}, {&engine_fast, 0, 2, false, 0, false},
  {&engine_fast, 0, 3, false, 0, false}, {&engine_fast, 1, 2, true, 0, false},
  {&engine_fast, 1, 3, true, 0, false}, {&engine_ranks, 0, 1, false, 2, false},
  {&engine_ranks, 0, 2, false, 3, false}, {&engine_ranks, 0, 1, false, 7, false},
  {&engine_fast, 0, 1, false, 0, true}, {&engine_reference, 0, 1, false, 0, true},
  {&engine_fast, 1, 3, true, 0, true},
};
enum { WAYS = ARRAY_COUNT(ways) };

/* The statements of one program; each way to run it is built from them. */
typedef struct { char **lines; long id; } Text;

/* ---- building -------------------------------------------------------------------------------- */

typedef struct {
  Asm *a;
  AsmClass *c;                  /* of the last `tile` */
} Build;

/* Numbers of a statement from `at` on; returns how many. */
static unsigned numbers(const char *at, long out[FIELDS])
{
  unsigned n = 0;
  for (char *end; n < FIELDS; at = end) {
    out[n] = strtol(at, &end, 10);
    if (end == at)
      break;
    n++;
  }
  return n;
}

static unsigned hex_value(const char *at, unsigned digits)
{
  char text[8] = {0};
  memcpy(text, at, digits);
  return (unsigned)strtoul(text, NULL, 16);
}

/* The last field of a statement. */
static const char *last_field(const char *line)
{
  const char *space = strrchr(line, ' ');
  return space ? space + 1 : line;
}

static void add_code(AsmClass *c, const char *digits)
{
  for (; digits[0] && digits[0] != '\n'; digits += 4) {
    if (c->words >= ASM_WORDS)
      fail_msg("too much code");
    c->code[c->words++] = (uint16_t)hex_value(digits, 4);
  }
}

static void add_data(AsmClass *c, unsigned address, const char *digits)
{
  for (; digits[0] && digits[0] != '\n'; digits += 2) {
    uint8_t byte = (uint8_t)hex_value(digits, 2);
    if (address >= ASM_CODE)
      fail_msg("data beyond the code's address");
    asm_bytes(c, (uint16_t)address++, &byte, 1);
  }
}

static void add_dsr(AsmClass *c, long file, long number, const char *digits)
{
  ImageDsr *dsr = &c->dsrs[c->image.n_dsrs++];
  *dsr = (ImageDsr){.file = (DsrFile)file, .number = (uint8_t)number};
  for (unsigned i = 0; i < DATA_WORDS; i++)
    dsr->words[i] = (uint16_t)hex_value(digits + 4 * i, 4);
}

static void add_route(Asm *a, const long n[FIELDS], unsigned count)
{
  enum { CURRENT = 3, RING, POP, SWAP_X, SWAP_Y, TEARDOWN, FILTER, FIRST_POSITION = 18 };
  ImageColorConfig config = {
    .current = (uint8_t)n[CURRENT], .ring = n[RING], .pop = (PopMode)n[POP], .swap_x = n[SWAP_X],
    .swap_y = n[SWAP_Y], .teardown = n[TEARDOWN],
    .filter = {.kind = (FilterKind)n[FILTER], .count_data = n[FILTER + 1],
               .count_control = n[FILTER + 2], .filter_control = n[FILTER + 3],
               .has_limit2 = n[FILTER + 4], .init_counter = (uint16_t)n[FILTER + 5],
               .limit1 = (uint16_t)n[FILTER + 6], .limit2 = (uint16_t)n[FILTER + 7],
               .max_counter = (uint16_t)n[FILTER + 8]}};
  for (unsigned i = FIRST_POSITION; i + 1 < count; i += 2)
    config.positions[(i - FIRST_POSITION) / 2] =
        (ImagePosition){.rx = (PortMask)n[i], .tx = (PortMask)n[i + 1], .valid = true};
  asm_config(a, (unsigned)n[0], (unsigned)n[1], (unsigned)n[2], config);
}

static void add_tile_statement(AsmClass *c, const char *name, const char *line, const long n[FIELDS])
{
  if (strcmp(name, "code") == 0)
    add_code(c, last_field(line));
  else if (strcmp(name, "data") == 0)
    add_data(c, (unsigned)n[0], last_field(line));
  else if (strcmp(name, "task") == 0)
    asm_task(c, (TaskKind)n[0], (unsigned)n[1], (uint16_t)n[2], (unsigned)n[3], "task");
  else if (strcmp(name, "open") == 0)
    c->image.blocked &= ~(uint64_t)n[0];
  else if (strcmp(name, "input") == 0)
    asm_input(c, (unsigned)n[0], (unsigned)n[1]);
  else if (strcmp(name, "output") == 0)
    asm_output(c, (unsigned)n[0], (unsigned)n[1]);
  else if (strcmp(name, "dsr") == 0)
    add_dsr(c, n[0], n[1], last_field(line));
  else
    fail_msg("no such statement: %s", line);
}

static void add_statement(Build *b, const char *line)
{
  char name[16] = "";
  long n[FIELDS];
  if (sscanf(line, "%15s", name) != 1)
    return;
  unsigned count = numbers(line + strlen(name), n);
  if (strcmp(name, "program") == 0) {
    b->a = asm_new((Arch)n[1], (uint16_t)n[3], (uint16_t)n[4]);
    b->a->image.fp16 = (Fp16Format)n[2];
  } else if (strcmp(name, "tile") == 0) {
    b->c = asm_class(b->a, (unsigned)n[0], (unsigned)n[1], (unsigned)n[0], (unsigned)n[1]);
    b->c->image.start_entry = ASM_CODE;
  } else if (strcmp(name, "route") == 0) {
    add_route(b->a, n, count);
  } else {
    add_tile_statement(b->c, name, line, n);
  }
}

static Asm *build(const Text *text, const EngineOps *ops)
{
  Build b = {0};
  long n[FIELDS];
  if (strncmp(text->lines[0], "random ", 7) == 0) {
    numbers(text->lines[0] + 7, n);
    b.a = random_program((uint32_t)n[0], ops);
  } else {
    for (size_t i = 0; i < arrlenu(text->lines); i++)
      add_statement(&b, text->lines[i]);
  }
  b.a->ops = ops;
  return b.a;
}

/* ---- how a program has ended ----------------------------------------------------------------- */

static const char *const status_names[] = {
  [RUN_QUIET] = "quiet", [RUN_FAULT] = "fault", [RUN_LIMIT] = "limit"};

static void print_faults(FILE *out, Asm *a)
{
  size_t n;
  const Fault *faults = a->ops->faults(a->engine, &n);
  fprintf(out, ",\"faults\":[");
  for (size_t i = 0; i < n; i++)
    fprintf(out, "%s[\"%s\",%u,%u,%u]", i ? "," : "", fault_name(faults[i].kind), faults[i].tile,
            faults[i].pc, faults[i].color);
  fprintf(out, "]");
}

static void print_memory(FILE *out, Asm *a, uint32_t tile)
{
  uint8_t bytes[PE_MEM_BYTES];
  uint32_t length = program_class(a->program, tile)->image->static_bytes;
  fprintf(out, ",\"data\":\"");
  if (!a->ops->mem_read(a->engine, tile, 0, bytes, length))
    fail_msg("the memory cannot be read");
  for (uint32_t i = 0; i < length; i++)
    fprintf(out, "%02x", bytes[i]);
  fprintf(out, "\"");
}

static void print_registers(FILE *out, Asm *a, uint32_t tile)
{
  const Registers *regs = a->ops->registers(a->engine, tile);
  if (!regs)
    return;
  fprintf(out, ",\"carry\":%d,\"vstat\":%d,\"r\":[", regs->carry, regs->vstat);
  for (unsigned i = 0; i < GPR_COUNT; i++)
    fprintf(out, "%s%u", i ? "," : "", regs->r[i]);
  fprintf(out, "]");
}

static void print_stream(FILE *out, const VecStream *s)
{
  fprintf(out, ",[%d,%u,%u,%u,%u,%u,%u,%u]", (int)s->kind, s->queue, s->color, s->per_wavelet,
          s->phase, s->min_wavelets, s->flags, s->address);
}

/* [thread, pc, waits for (StallCause), elements to go, unbounded, on_control, operation] and the
 * streams: destination, src0, src1.  A main thread without an operation: [thread, pc, -1 - the thread
 * whose end it waits for, or 0]. */
static void print_threads(FILE *out, const InspectTile *t)
{
  bool first = true;
  fprintf(out, ",\"threads\":[");
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    if (thread->state == THREAD_IDLE)
      continue;
    fprintf(out, "%s[%u,%u,%d", first ? "" : ",", i, thread->pc,
            thread->state == THREAD_VECTOR ? (int)thread->waiting : -1 - (int)thread->awaited);
    first = false;
    if (thread->run) {
      const VecRun *run = thread->run;
      fprintf(out, ",%u,%d,%d,%d", run->remaining, run->unbounded, (int)run->on_control.kind,
              (int)run->op);
      print_stream(out, &run->dest);
      print_stream(out, &run->src[0]);
      print_stream(out, &run->src[1]);
    }
    fprintf(out, "]");
  }
  fprintf(out, "]");
}

static void print_queues(FILE *out, const char *name, const InspectQueue queues[MAX_QUEUES])
{
  fprintf(out, ",\"%s\":[", name);
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    fprintf(out, "%s[%u,%u,%u,%d,%u,%d]", q ? "," : "", queues[q].count,
            queues[q].count ? queues[q].head.color : 0, queues[q].capacity,
            queues[q].count && queues[q].head.control,
            queues[q].count ? queues[q].head.payload : 0,
            queues[q].count && queues[q].head.kept);
  fprintf(out, "]");
}

/* [color, wavelets, position, suspended, from, control, payload, rx, tx, swap by x and y, filter,
 * input queue]; the fields of a head are 0 without a wavelet. */
static void print_colors(FILE *out, Asm *a, uint32_t tile, const InspectTile *t)
{
  const ClassCode *cls = program_class(a->program, tile);
  bool first = true;
  fprintf(out, ",\"colors\":[");
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    const InspectColor *color = &t->colors[c];
    const ImageColorConfig *config = program_color(a->program, tile, c);
    if (!color->configured)
      continue;
    fprintf(out, "%s[%u,%u,%u,%d,%d,%d,%u,%u,%u,%d,%d,%d]", first ? "" : ",", c, color->count,
            color->position, color->suspended, color->count ? (int)color->head_from : 0,
            color->count && color->head.control, color->count ? color->head.payload : 0, color->rx,
            color->tx, config->swap_x | config->swap_y << 1, (int)config->filter.kind,
            cls ? cls->image->data_queue[c] : 0xff);
    first = false;
  }
  fprintf(out, "]");
}

/* [kind, id] of each task. */
static void print_tasks(FILE *out, Asm *a, uint32_t tile)
{
  const ClassCode *cls = program_class(a->program, tile);
  fprintf(out, ",\"tasks\":[");
  for (uint32_t i = 0; cls && i < cls->image->n_tasks; i++)
    fprintf(out, "%s[%d,%u]", i ? "," : "", (int)cls->image->tasks[i].kind,
            cls->image->tasks[i].id);
  fprintf(out, "]");
}

static void print_tile(FILE *out, Asm *a, uint32_t tile)
{
  InspectTile t;
  a->ops->inspect(a->engine, tile, &t);
  fprintf(out, "{\"code\":%s,\"active\":%llu,\"blocked\":%llu,\"paused\":%u",
          t.has_code ? "true" : "false", (unsigned long long)t.active,
          (unsigned long long)t.blocked, t.paused);
  if (t.has_code) {
    print_memory(out, a, tile);
    print_registers(out, a, tile);
  }
  print_threads(out, &t);
  print_queues(out, "in", t.input);
  print_queues(out, "out", t.output);
  print_colors(out, a, tile, &t);
  print_tasks(out, a, tile);
  fprintf(out, "}");
}

static const char *idle_name(Asm *a)
{
  static const char *const names[] = {
    [IDLE_DONE] = "done", [IDLE_WARNINGS] = "left", [IDLE_LEFT] = "left", [IDLE_STUCK] = "stuck"};
  return names[idle_classify(a->engine, a->program, &(IdleQuestion){0})];
}

/* A line of JSON; from malloc. */
static char *end_of(Asm *a, RunStatus status, long id)
{
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  fprintf(out, "{\"id\":%ld,\"status\":\"%s\",\"cycle\":%llu,\"arch\":\"%s\",\"width\":%u,\"idle\":\"%s\"",
          id, status_names[status], (unsigned long long)a->ops->cycle(a->engine),
          a->image.arch == ARCH_WSE2 ? "wse2" : "wse3", a->image.width,
          status == RUN_QUIET ? idle_name(a) : "");
  print_faults(out, a);
  fprintf(out, ",\"tiles\":[");
  for (uint32_t tile = 0; tile < a->program->n_tiles; tile++) {
    fprintf(out, "%s", tile ? "," : "");
    print_tile(out, a, tile);
  }
  fprintf(out, "]}\n");
  fclose(out);
  return text;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The others make the program anew, from an image. */
static void start_processes(Asm *a, unsigned count)
{
  size_t length;
  uint8_t *bytes = image_write(&a->image, &length);
  char *copy = arena_many(a->arena, char, length);
  memcpy(copy, bytes, length);
  free(bytes);
  rank_threads_start(count);
  ranks_offer_image(copy, length);
}

static void end_way(Way way, Asm *a)
{
  asm_free(a);
  if (way.processes)
    rank_threads_end();
}

/* Another engine, of either kind, takes over where this one stands. */
static void change_engine(Asm *a, uint32_t draw)
{
  Snapshot *first = snapshot_take(a->engine, NULL), *state = snapshot_take(a->engine, first);
  snapshot_free(first);
  a->ops->destroy(a->engine);
  a->ops = draw & 1 ? &engine_fast : &engine_reference;
  a->options.threads = 1 + draw % 3;
  asm_engine(a);
  snapshot_restore(state, a->engine);
  snapshot_free(state);
  a->engine->continues = true;
}

/* Halts in cycles up to some behind `end`, where the program ends without that. */
static RunStatus run_halting(Asm *a, uint32_t seed, uint64_t limit, uint64_t end)
{
  enum { HALTS = 4 };
  RunStatus status = RUN_LIMIT;
  uint32_t draw = seed * 2654435761u + 12345;
  uint64_t at = 0;
  a->engine->continues = true;
  for (unsigned i = 0; i < HALTS && status == RUN_LIMIT; i++) {
    draw = draw * 1664525u + 1013904223u;
    at += (draw >> 8) % (end / 2 + 3);
    if (at >= limit)
      break;
    status = a->ops->run(a->engine, at);
    if (status == RUN_LIMIT)
      change_engine(a, draw >> 16);
  }
  return status == RUN_LIMIT ? a->ops->run(a->engine, limit) : status;
}

/* `end`: where another way has ended. */
static Asm *run_way(const Text *text, Way way, bool traced, uint64_t limit, uint64_t end,
                    RunStatus *status)
{
  Asm *a = build(text, way.ops);
  a->options.shuffle = way.shuffle;
  a->options.threads = way.threads;
  asm_program(a, traced ? ALL_EVENTS : 0);
  if (way.processes)
    start_processes(a, way.processes);
  asm_engine(a);
  *status = way.halts ? run_halting(a, seed_now + way.threads, limit, end)
                      : a->ops->run(a->engine, limit);
  return a;
}

/* Without a trace the fast engine may run for some cycles after a fault. */
static bool stops_at_once(const Asm *a, bool traced, RunStatus status)
{
  return status != RUN_FAULT || traced || a->ops == &engine_reference;
}

/* Every way against the first, with or without events; how the first has ended, from malloc. */
static char *run_ways(const Text *text, bool traced, uint64_t limit, bool crew)
{
  RunStatus status, other;
  Asm *first = run_way(text, ways[0], traced, limit, 0, &status);
  uint64_t end = first->ops->cycle(first->engine);
  for (unsigned i = 1; i < WAYS; i++) {
    if (ways[i].threads > 1 && first->program->n_tiles == 1)
      continue;
    if (ways[i].crew && !crew)
      continue;
    Asm *a = run_way(text, ways[i], traced, limit, end, &other);
    compare_number("status", NO_TILE, status, other);
    if (stops_at_once(a, traced, status))
      compare_all(first, a);
    else
      compare_faults(first, a);
    end_way(ways[i], a);
  }
  char *shown = end_of(first, status, text->id);
  asm_free(first);
  return shown;
}

static void run_program(const Text *text, uint64_t limit, bool crew)
{
  char *traced = run_ways(text, true, limit, crew), *plain = run_ways(text, false, limit, crew);
  if (strcmp(traced, plain) != 0)
    fail_msg("seed %u: with and without events:\n%s%s", seed_now, traced, plain);
  fputs(traced, stdout);
  fflush(stdout);
  free(traced);
  free(plain);
}

static void forget(Text *text)
{
  for (size_t i = 0; i < arrlenu(text->lines); i++)
    free(text->lines[i]);
  arrfree(text->lines);
}

int main(void)
{
  static char line[LINE_MOST];
  Text text = {0};
  long n[FIELDS];
  while (fgets(line, sizeof line, stdin)) {
    if (strncmp(line, "run ", 4) == 0) {
      numbers(line + 4, n);
      run_program(&text, (uint64_t)n[0], n[1]);
      forget(&text);
      continue;
    }
    if (arrlenu(text.lines) == 0) {
      numbers(strchr(line, ' '), n);
      text.id = n[0];
      seed_now = (uint32_t)n[0];
    }
    arrput(text.lines, strdup(line));
  }
  forget(&text);
  return 0;
}
