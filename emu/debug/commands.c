/* The commands of the debugger's command line. */
#include "emu/debug/debug_internal.h"
#include "emu/observe/observe.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum { LISTED_INSTRUCTIONS = 12, MOST_TILES = 40, BYTES_A_LINE = 16,
       MOST_SHOWN_BYTES = 4096 };

typedef struct {
  const char *name, *other;     /* `other`: a short form; NULL none */
  void (*run)(Debugger *d, const char *rest);
  const char *help;
} Command;

/* ---- help with arguments ------------------------------------------------------------------- */

static bool read_count(Debugger *d, const char *text, uint64_t *count, uint64_t otherwise)
{
  *count = otherwise;
  if (!*text || evaluate_number(text, UINT64_MAX, count))
    return true;
  bool is_large = !text[strspn(text, "0123456789")];
  fprintf(d->out, is_large ? "'%s' has more than 64 bits\n" : "'%s' is no number\n", text);
  return false;
}

static EvalContext evaluator_of(Debugger *d, Frames *frames)
{
  EvalContext e = evaluate_context(d->timeline, d->tile, d->frame, frames);
  if (d->frame >= frames->n)
    d->frame = 0;
  if (!e.frame && frames->n)
    e.frame = frames->all;
  return e;
}

/* ---- running ------------------------------------------------------------------------------- */

/* At the end of the run only the way back is left. */
static bool can_go(Debugger *d)
{
  bool is_over = timeline_reason(d->timeline) == STAND_END &&
                 timeline_cycle(d->timeline) >= timeline_present(d->timeline);
  if (is_over)
    fprintf(d->out, "the run is over; 'reverse-continue', 'reverse-step' and 'goto' lead back\n");
  return !is_over;
}

static void go_on(Debugger *d, StepKind step, const char *rest)
{
  uint64_t count;
  if (read_count(d, rest, &count, 1) && can_go(d))
    debugger_go(d, step, count);
}

static void run_continue(Debugger *d, const char *rest) { go_on(d, STEP_NONE, rest); }
static void run_step(Debugger *d, const char *rest) { go_on(d, STEP_LINE, rest); }
static void run_next(Debugger *d, const char *rest) { go_on(d, STEP_OVER, rest); }
static void run_stepi(Debugger *d, const char *rest) { go_on(d, STEP_INSTRUCTION, rest); }
static void run_finish(Debugger *d, const char *rest) { go_on(d, STEP_OUT, rest); }
static void run_task(Debugger *d, const char *rest) { go_on(d, STEP_TASK, rest); }

static void run_cycle(Debugger *d, const char *rest)
{
  uint64_t count;
  if (!read_count(d, rest, &count, 1) || !can_go(d))
    return;
  debugger_go(d, STEP_NONE, 1);
  uint64_t now = timeline_cycle(d->timeline);
  timeline_limit(d->timeline, count < UINT64_MAX - now ? now + count : UINT64_MAX);
}

static void say_back(Debugger *d, BackResult result)
{
  if (result == BACK_START)
    fprintf(d->out, "nothing stops before: this is the start\n");
  else if (result == BACK_PAUSED)
    fprintf(d->out, "paused, ");
  debugger_print_stand(d);
}

static void go_back(Debugger *d, StepKind step, const char *rest)
{
  uint64_t count;
  BackResult result = BACK_FOUND;
  if (!read_count(d, rest, &count, 1))
    return;
  for (uint64_t i = 0; i < count && result == BACK_FOUND; i++)
    result = debugger_go_back(d, step);
  say_back(d, result);
}

static void run_reverse_continue(Debugger *d, const char *rest) { go_back(d, STEP_NONE, rest); }
static void run_reverse_step(Debugger *d, const char *rest) { go_back(d, STEP_LINE, rest); }
static void run_reverse_next(Debugger *d, const char *rest) { go_back(d, STEP_OVER, rest); }
static void run_reverse_stepi(Debugger *d, const char *rest)
{
  go_back(d, STEP_INSTRUCTION, rest);
}

static void run_goto(Debugger *d, const char *rest)
{
  uint64_t cycle;
  if (!read_count(d, rest, &cycle, timeline_present(d->timeline)))
    return;
  if (cycle > timeline_present(d->timeline))
    fprintf(d->out, "the run has not come farther than cycle %" PRIu64 "; 'cycle N' runs on\n",
            timeline_present(d->timeline));
  timeline_travel(d->timeline, cycle);
  follow_end(d);
  stops_forget_hit(d);
  d->frame = 0;
  debugger_print_stand(d);
}

static void run_reverse_cycle(Debugger *d, const char *rest)
{
  uint64_t count, now = timeline_cycle(d->timeline);
  char text[32];
  if (!read_count(d, rest, &count, 1))
    return;
  snprintf(text, sizeof text, "%" PRIu64, count < now ? now - count : 0);
  run_goto(d, text);
}

static void run_follow(Debugger *d, const char *rest)
{
  (void)rest;
  if (can_go(d) && follow_forward(d))
    debugger_go(d, STEP_NONE, 1);
}

static void run_origin(Debugger *d, const char *rest)
{
  (void)rest;
  follow_back(d);
  debugger_print_stand(d);
}

/* Where the variable got the value that it has: a watchpoint for the way back only. */
static void run_last_write(Debugger *d, const char *rest)
{
  Break *saved = d->breaks;
  d->breaks = NULL;
  bool ok = stops_add_text(d, BREAK_WATCH, rest) != NULL;
  if (ok) {
    BackResult result = debugger_go_back(d, STEP_NONE);
    stops_forget_hit(d);
    if (result == BACK_PAUSED)
      fprintf(d->out, "paused, ");
    else if (result == BACK_START)
      fprintf(d->out, "nothing has written it before: this is the start\n");
    stops_remove(d, d->breaks[0].number);
  }
  arrfree(d->breaks);
  d->breaks = saved;
  if (ok)
    debugger_print_stand(d);
}

/* ---- breakpoints --------------------------------------------------------------------------- */

static void print_break(Debugger *d, const Break *b)
{
  if (!b)
    return;
  fprintf(d->out, "%s %u: %s", b->kind == BREAK_WATCH ? "watchpoint" : "breakpoint", b->number,
          b->text);
  if (b->line != b->asked_line)
    fprintf(d->out, ", at line %u, the next one with code", b->line);
  if (arrlenu(b->places) > 1)
    fprintf(d->out, " (%zu places)", (size_t)arrlenu(b->places));
  fputc('\n', d->out);
}

/* break task NAME, break wavelet COLOR ..., break switch COLOR, or a place in the code. */
static Break *add_break(Debugger *d, const char *rest)
{
  const char *place;
  BreakKind kind = stops_kind(rest, &place);
  if (*rest)
    return stops_add_text(d, kind, place);
  fprintf(d->out, "a place is missing: FILE:LINE, LINE, FUNCTION or *ADDRESS\n");
  return NULL;
}

static void run_break(Debugger *d, const char *rest) { print_break(d, add_break(d, rest)); }

static void run_tbreak(Debugger *d, const char *rest)
{
  Break *b = add_break(d, rest);
  if (b)
    b->temporary = true;
  print_break(d, b);
}

static void run_watch(Debugger *d, const char *rest)
{
  print_break(d, stops_add_text(d, BREAK_WATCH, rest));
}

static Break *find_break(Debugger *d, const char *rest)
{
  uint64_t number;
  if (!*rest)
    fprintf(d->out, "the number of a breakpoint is missing\n");
  if (!*rest || !read_count(d, rest, &number, 0))
    return NULL;
  Break *b = number <= d->last_number ? stops_find(d, (unsigned)number) : NULL;
  if (!b)
    fprintf(d->out, "there is no breakpoint %s\n", rest);
  return b;
}

static void run_delete(Debugger *d, const char *rest)
{
  stops_forget_hit(d);
  while (!*rest && arrlenu(d->breaks))
    stops_remove(d, d->breaks[0].number);
  const Break *b = *rest ? find_break(d, rest) : NULL;
  if (b)
    stops_remove(d, b->number);
}

static void run_disable(Debugger *d, const char *rest)
{
  Break *b = find_break(d, rest);
  if (b)
    b->disabled = true;
}

static void run_enable(Debugger *d, const char *rest)
{
  Break *b = find_break(d, rest);
  if (b)
    b->disabled = false;
}

static void run_ignore(Debugger *d, const char *rest)
{
  char number[32], times[32], more[2];
  uint64_t count;
  if (sscanf(rest, "%31s %31s %1s", number, times, more) != 2) {
    fprintf(d->out, "ignore NUMBER COUNT\n");
    return;
  }
  Break *b = find_break(d, number);
  if (b && read_count(d, times, &count, 0)) {
    b->rule = HITS_AFTER;
    b->count = count < UINT64_MAX - b->hits ? b->hits + count : UINT64_MAX;
  }
}

/* ---- where and what ------------------------------------------------------------------------ */

typedef struct { Debugger *d; uint32_t n; } LocalList;

static void print_local(void *context, const DebugLocal *local, const EvalValue *value)
{
  LocalList *list = context;
  Debugger *d = list->d;
  list->n++;
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  fprintf(d->out, "%s = ", local->name);
  if (value)
    evaluate_print(&e, value, d->out);
  else
    fprintf(d->out, "<no place here>");
  fputc('\n', d->out);
}

/* The parameters of the chosen frame, with or without its other variables. */
static void print_locals(Debugger *d, bool with_others)
{
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  LocalList list = {.d = d};
  names_visit_locals(&e, true, print_local, &list);
  if (with_others)
    names_visit_locals(&e, false, print_local, &list);
  if (frames.n == 0)
    fprintf(d->out, "the tile's main thread is in no function\n");
  else if (list.n == 0)
    fprintf(d->out, "the function has none here\n");
}

static void run_backtrace(Debugger *d, const char *rest)
{
  Frames frames;
  evaluator_of(d, &frames);
  (void)rest;
  for (unsigned i = 0; i < frames.n; i++) {
    const DebugFrame *f = &frames.all[i];
    fprintf(d->out, "%c%u  %s", i == d->frame ? '*' : ' ', i, f->function);
    if (f->inlined != IMAGE_NO_INLINE)
      fprintf(d->out, " (inlined)");
    if (*f->file)
      fprintf(d->out, " at %s:%u", f->file, f->line);
    fprintf(d->out, ", pc 0x%04x\n", f->pc);
  }
  if (!frames.n)
    fprintf(d->out, "main thread is idle\n");
}

static void choose_frame(Debugger *d, int64_t frame)
{
  Frames frames;
  evaluator_of(d, &frames);
  if (frame < 0 || frame >= frames.n) {
    fprintf(d->out, "there is no such frame\n");
    return;
  }
  const DebugFrame *f = &frames.all[d->frame = (unsigned)frame];
  fprintf(d->out, "%u  %s at %s:%u\n", d->frame, f->function, f->file, f->line);
}

static void run_frame(Debugger *d, const char *rest)
{
  uint64_t frame;
  if (read_count(d, rest, &frame, d->frame))
    choose_frame(d, frame < MOST_FRAMES ? (int64_t)frame : -1);
}

static void run_up(Debugger *d, const char *rest)
{
  (void)rest;
  choose_frame(d, (int64_t)d->frame + 1);
}

static void run_down(Debugger *d, const char *rest)
{
  (void)rest;
  choose_frame(d, (int64_t)d->frame - 1);
}

static void run_tile(Debugger *d, const char *rest)
{
  unsigned x, y;
  char tail;
  int n = sscanf(rest, "%9u,%9u%c", &x, &y, &tail);
  bool is_tile = n == 2 && !strpbrk(rest, "+-") && x < d->program->image->width &&
                 y < d->program->image->height;
  if (*rest && !is_tile) {
    fprintf(d->out, "'%s' is no tile X,Y: those of the program go from 0,0 to %u,%u\n", rest,
            d->program->image->width - 1, d->program->image->height - 1);
    return;
  }
  if (*rest) {
    d->tile = program_tile(d->program, x, y);
    d->frame = 0;
  }
  debugger_print_stand(d);
}

static void run_print(Debugger *d, const char *rest)
{
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  EvalValue v;
  bool hex = strncmp(rest, "/x ", 3) == 0;
  uint64_t bits = 0;
  if (!evaluate_text(&e, rest + (hex ? 3 : 0), &v) || (hex && !evaluate_bits(&e, &v, &bits))) {
    fprintf(d->out, "%s\n", e.why);
    return;
  }
  fprintf(d->out, "%s = ", rest + (hex ? 3 : 0));
  if (hex) {
    fprintf(d->out, "0x%" PRIx64, bits);
    evaluate_print_note(&v, d->out);
  } else {
    evaluate_print(&e, &v, d->out);
  }
  fputc('\n', d->out);
}

/* set [var] PLACE = VALUE */
static void run_set(Debugger *d, const char *rest)
{
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  EvalValue place, value;
  char left[128];
  if (strncmp(rest, "var ", 4) == 0)
    rest += 4;
  const char *equals = strchr(rest, '=');
  if (!equals || (size_t)(equals - rest) >= sizeof left) {
    fprintf(d->out, "set PLACE = VALUE\n");
    return;
  }
  snprintf(left, sizeof left, "%.*s", (int)(equals - rest), rest);
  for (size_t n = strlen(left); n && left[n - 1] == ' '; n--)
    left[n - 1] = 0;
  if (!evaluate_text(&e, left, &place) || !evaluate_text(&e, equals + 1, &value) ||
      !evaluate_assign(&e, &place, &value)) {
    fprintf(d->out, "%s\n", e.why);
    return;
  }
  fprintf(d->out, "%s = ", left);
  evaluate_print(&e, &place, d->out);
  fputc('\n', d->out);
}

static void run_memory(Debugger *d, const char *rest)
{
  if (csdb_memory(d, rest))
    return;
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  Engine *engine = timeline_engine(d->timeline);
  char address[128], count[32], more[2];
  uint64_t bytes = BYTES_A_LINE;
  EvalValue v;
  if (strncmp(rest, "read ", 5) == 0)
    rest += 5;
  int n = sscanf(rest, "%127s %31s %1s", address, count, more);
  if (n < 1 || n > 2 || (n == 2 && !evaluate_number(count, MOST_SHOWN_BYTES, &bytes))) {
    fprintf(d->out, "memory ADDRESS [BYTES], at most %d bytes\n", MOST_SHOWN_BYTES);
    return;
  }
  uint32_t at;
  if (!evaluate_text(&e, address, &v) || !evaluate_address(&e, &v, &at)) {
    fprintf(d->out, "%s\n", e.why);
    return;
  }
  for (unsigned i = 0; i < bytes; i++) {
    uint8_t byte;
    if (!engine->ops->mem_read(engine, d->tile, at + i, &byte, 1)) {
      fprintf(d->out, "%s0x%04x lies outside the tile's memory\n", i % BYTES_A_LINE ? "\n" : "",
              at + i);
      return;
    }
    if (i % BYTES_A_LINE == 0)
      fprintf(d->out, "0x%04x:", at + i);
    fprintf(d->out, "%s%02x%s", i % 2 ? "" : " ", byte,
            i % BYTES_A_LINE == BYTES_A_LINE - 1 || i + 1 == bytes ? "\n" : "");
  }
}

/* ---- source and code ----------------------------------------------------------------------- */

static void run_list(Debugger *d, const char *rest)
{
  Frames frames;
  evaluator_of(d, &frames);
  const ClassCode *cls = program_class(d->program, d->tile);
  bool has_place = frames.n && *frames.all[d->frame].file;
  const char *file = has_place ? frames.all[d->frame].file : cls ? cls->image->source : "";
  uint64_t line;
  bool is_elsewhere = strchr(rest, ':') || isalpha((unsigned char)*rest) || *rest == '_';
  if (is_elsewhere ? stops_find_source(d, rest, &file, &line)
                   : read_count(d, rest, &line, has_place ? frames.all[d->frame].line : 1))
    source_print(d->program, &(SourceLines){file, line, *rest || has_place ? line : 0}, d->out);
}

static void run_disassemble(Debugger *d, const char *rest)
{
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  const ClassCode *cls = program_class(d->program, d->tile);
  EvalValue v = {.kind = EVAL_INTEGER, .integer = frames.n ? frames.all[d->frame].pc : 0};
  uint32_t now = frames.n ? frames.all[0].pc : UINT32_MAX;
  if (!cls || (*rest && !evaluate_text(&e, rest, &v))) {
    fprintf(d->out, "%s\n", cls ? e.why : "the tile has no code");
    return;
  }
  int64_t at = evaluate_integer(&e, &v);
  uint32_t pc = at >= 0 && at <= UINT16_MAX ? (uint32_t)at : UINT32_MAX;
  if (!frames.n && !*rest)
    pc = cls->image->code_address;
  for (unsigned i = 0; i < LISTED_INSTRUCTIONS; i++) {
    const Insn *insn = class_insn(cls, pc);
    char text[128];
    if (!insn) {
      if (i == 0)
        fprintf(d->out, "no instruction begins at 0x%04" PRIx64 "\n", at);
      return;
    }
    insn_print(insn, text, sizeof text);
    fprintf(d->out, "%s 0x%04x  %s\n", pc == now ? "->" : "  ", pc, text);
    pc += 2 * insn_words(insn->op);
  }
}

/* ---- info ---------------------------------------------------------------------------------- */

static void print_tiles(Debugger *d)
{
  Engine *engine = timeline_engine(d->timeline);
  unsigned shown = 0, left = 0;
  Report r = report_create(engine, d->program, d->out);
  for (uint32_t t = 0; t < d->program->n_tiles; t++) {
    InspectTile at;
    if (!program_class(d->program, t) || !engine->ops->touched(engine, t))
      continue;
    engine->ops->inspect(engine, t, &at);
    if (at.threads[0].state == THREAD_IDLE)
      continue;
    if (shown++ >= MOST_TILES) {
      left++;
      continue;
    }
    fprintf(d->out, "%cP%u.%u ", t == d->tile ? '*' : ' ', program_x(d->program, t),
            program_y(d->program, t));
    report_thread(&r, t, 0, &at.threads[0]);
    fputc('\n', d->out);
  }
  if (left)
    fprintf(d->out, "and %u more tiles whose main thread runs\n", left);
  if (!shown)
    fprintf(d->out, "no main thread runs\n");
}

typedef struct { EvalContext *e; FILE *out; bool any; } NamePrinter;

static void print_name(void *context, const char *name, const EvalValue *value)
{
  NamePrinter *p = context;
  p->any = true;
  fprintf(p->out, "%s = ", name);
  evaluate_print(p->e, value, p->out);
  fputc('\n', p->out);
}

static void print_globals(Debugger *d)
{
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  NamePrinter printer = {&e, d->out, false};
  names_visit_globals(&e, print_name, &printer);
}

static void print_constants(Debugger *d)
{
  Frames frames;
  EvalContext e = evaluator_of(d, &frames);
  NamePrinter printer = {&e, d->out, false};
  names_visit_constants(&e, print_name, &printer);
  if (!printer.any)
    fprintf(d->out, "the tile's program has no constants whose numbers are known\n");
}

static void print_registers(Debugger *d)
{
  Engine *engine = timeline_engine(d->timeline);
  const Registers *regs = engine->ops->registers(engine, d->tile);
  for (unsigned i = 0; regs && i < GPR_COUNT; i++)
    fprintf(d->out, "r%-2u 0x%04x %d\n", i, regs->r[i], (int16_t)regs->r[i]);
  if (!regs)
    fprintf(d->out, "the tile has not run yet\n");
}

static void print_descriptors(Debugger *d)
{
  Engine *engine = timeline_engine(d->timeline);
  const Tile *core = engine->ops->tile(engine, d->tile, false);
  unsigned shown = 0;
  for (unsigned f = 0; core && core->mem.cls && f < DSR_FILE_COUNT; f++)
    for (unsigned i = 0; i < MAX_DSRS; i++) {
      char text[256];
      if (!dsr_is_named(core->dsrs, (DsrFile)f, i))
        continue;
      descriptor_print(&dsr_at(core->dsrs, (DsrFile)f, i)->desc, NULL, text, sizeof text);
      fprintf(d->out, "%s[%u] %s\n", dsr_file_name((DsrFile)f), i, text);
      shown++;
    }
  if (!shown)
    fprintf(d->out, "the tile has loaded no DSR\n");
}

static void print_tile(Debugger *d)
{
  Engine *engine = timeline_engine(d->timeline);
  dump_tile(engine, d->program, d->tile, d->out);
}

static void run_info(Debugger *d, const char *rest)
{
  if (strncmp(rest, "b", 1) == 0)
    stops_print(d);
  else if (strncmp(rest, "l", 1) == 0)
    print_locals(d, true);
  else if (strncmp(rest, "a", 1) == 0)
    print_locals(d, false);
  else if (strncmp(rest, "g", 1) == 0 || strncmp(rest, "v", 1) == 0)
    print_globals(d);
  else if (strncmp(rest, "c", 1) == 0)
    print_constants(d);
  else if (strncmp(rest, "r", 1) == 0)
    print_registers(d);
  else if (strncmp(rest, "d", 1) == 0)
    print_descriptors(d);
  else if (strcmp(rest, "tile") == 0)
    print_tile(d);
  else if (strncmp(rest, "t", 1) == 0)
    print_tiles(d);
  else
    fprintf(d->out, "info breakpoints, locals, args, globals, constants, registers, dsrs, tile or "
                    "tiles\n");
}

static void run_register(Debugger *d, const char *rest)
{
  (void)rest;
  if (!csdb_register(d))
    print_registers(d);
}

static void run_rectangle(Debugger *d, const char *rest)
{
  if (!csdb_rectangle(d, rest))
    run_tile(d, rest);
}

static void run_hash(Debugger *d, const char *rest)
{
  (void)rest;
  fprintf(d->out, "cycle %" PRIu64 ", state %016" PRIx64 "\n", timeline_cycle(d->timeline),
          timeline_hash(d->timeline));
}

static void run_quit(Debugger *d, const char *rest)
{
  (void)rest;
  d->quit = true;
}

/* ---- the table ----------------------------------------------------------------------------- */

static void run_help(Debugger *d, const char *rest);

static const Command commands[] = {
  {"break", "b", run_break, "stop before FILE:LINE, LINE, FUNCTION or *ADDRESS; task [NAME]; "
   "wavelet COLOR [VALUE] [arrives|departs]; switch COLOR; each with [@X,Y[,W,H]] [if EXPR]"},
  {"tbreak", "tb", run_tbreak, "the same, once"},
  {"watch", "wa", run_watch, "stop when a variable of the tile changes"},
  {"delete", "d", run_delete, "[NUMBER] remove a breakpoint, or all"},
  {"disable", NULL, run_disable, "NUMBER"},
  {"enable", NULL, run_enable, "NUMBER"},
  {"ignore", NULL, run_ignore, "NUMBER COUNT: stop only after so many hits more"},
  {"continue", "c", run_continue, "[N] run on, to the N-th stop"},
  {"step", "s", run_step, "[N] to another line of the tile"},
  {"next", "n", run_next, "[N] the same, over calls"},
  {"finish", NULL, run_finish, "to the end of the function"},
  {"stepi", "si", run_stepi, "[N] an instruction of the tile"},
  {"task", NULL, run_task, "[N] to the start of the tile's next task"},
  {"cycle", "cy", run_cycle, "[N] a cycle of the whole fabric"},
  {"reverse-continue", "rc", run_reverse_continue, "[N] back to the stop before, N times"},
  {"reverse-step", "rs", run_reverse_step, "[N] back to the start of the line before"},
  {"reverse-next", "rn", run_reverse_next, "[N] the same, over calls"},
  {"reverse-stepi", "rsi", run_reverse_stepi, "[N] back by an instruction of the tile"},
  {"reverse-cycle", "rcy", run_reverse_cycle, "[N] back by a cycle"},
  {"last-write", "lw", run_last_write, "EXPR: back to where the variable was written last"},
  {"follow", NULL, run_follow, "until a tile takes the wavelet of the stop, or its own next one"},
  {"origin", NULL, run_origin, "back to where that wavelet, or the tile's last one, was sent"},
  {"goto", NULL, run_goto, "[CYCLE] to a cycle of the past; alone: to the present"},
  {"tile", "t", run_tile, "[X,Y] choose a tile, or show where this one is"},
  {"thread", NULL, run_tile, "[X,Y] the same"},
  {"rectangle", NULL, run_rectangle, "[X,Y] the same; select X,Y,W,H, deselect, reset, show: the "
   "tiles of memory read, register, wavelet, image, trace"},
  {"backtrace", "bt", run_backtrace, "the frames of the tile's main thread"},
  {"frame", "f", run_frame, "[N] choose a frame"},
  {"up", NULL, run_up, "the frame of the caller"},
  {"down", NULL, run_down, "the frame of the callee"},
  {"print", "p", run_print,
   "[/x] EXPR: variables, fields, elements, a[8..16], $pc, $r0, $cycle, arithmetic"},
  {"set", NULL, run_set, "[var] PLACE = VALUE, in the present only"},
  {"memory", "x", run_memory, "[read] ADDRESS [BYTES]; read --address=A [--length=WORDS]; "
   "write --address=A --value=WORD"},
  {"list", "l", run_list, "[LINE, FILE:LINE or FUNCTION] source"},
  {"disassemble", "dis", run_disassemble, "[ADDRESS] instructions"},
  {"info", "i", run_info, "breakpoints, locals, args, globals, constants, registers, dsrs, tile, "
   "tiles"},
  {"register", NULL, run_register, "the tile's registers"},
  {"hash", NULL, run_hash, "a number for the whole state: equal states have equal ones"},
  {"help", "h", run_help, "this text"},
  {"quit", "q", run_quit, "end the run"},
  {"exit", NULL, run_quit, "the same"},
  {"wavelet", NULL, csdb_wavelet, "what queues and routers of the tiles hold"},
  {"image", NULL, csdb_image, "code and symbols of the tiles"},
  {"trace", NULL, csdb_trace, "list, select KEY, show: what the tiles have recorded with <debug>"},
  {"target", NULL, csdb_target, "create --core-file=FILE, save-core [FILE], list, show"},
  {"context", NULL, csdb_context, "list, select 0, show"},
  {"workdir", NULL, csdb_workdir, "select FOLDER, show: where cores are written"},
  {"settings", NULL, csdb_settings, "what is selected"},
};

static void run_help(Debugger *d, const char *rest)
{
  (void)rest;
  for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
    fprintf(d->out, "%-17s %-4s %s\n", commands[i].name, commands[i].other ? commands[i].other : "",
            commands[i].help);
}

bool commands_knows(const char *name)
{
  for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
    if (strcmp(commands[i].name, name) == 0 ||
        (commands[i].other && strcmp(commands[i].other, name) == 0))
      return true;
  return false;
}

const char *commands_name(unsigned index)
{
  return index < ARRAY_COUNT(commands) ? commands[index].name : NULL;
}

static const Command *find_command(const char *name)
{
  const Command *found = NULL;
  size_t n = strlen(name);
  for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
    const Command *c = &commands[i];
    if (strcmp(c->name, name) == 0 || (c->other && strcmp(c->other, name) == 0))
      return c;
    if (!found && strncmp(c->name, name, n) == 0)
      found = c;
  }
  return found;
}

/* Commands of other debuggers, and what has their effect here. */
static const struct { const char *theirs, *ours; } of_others[] = {
  {.theirs = "run", .ours = "continue"}, {.theirs = "start", .ours = "continue"},
  {.theirs = "where", .ours = "backtrace"}, {.theirs = "clear", .ours = "delete"},
  {.theirs = "kill", .ours = "quit"}};

static void report_no_command(Debugger *d, const char *name)
{
  const char *names[ARRAY_COUNT(commands)], *meant = NULL;
  for (size_t i = 0; i < ARRAY_COUNT(of_others); i++)
    if (strcmp(of_others[i].theirs, name) == 0)
      meant = of_others[i].ours;
  for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
    names[i] = commands[i].name;
  if (!meant)
    meant = base_nearest(name, names, ARRAY_COUNT(names));
  fprintf(d->out, "there is no command '%s'; ", name);
  if (meant)
    fprintf(d->out, "did you mean '%s'? ", meant);
  fprintf(d->out, "'help' lists them\n");
}

void commands_run(Debugger *d, const char *line)
{
  char copy[sizeof d->last], name[32];
  while (isspace((unsigned char)*line))
    line++;
  if (*line == '#')
    return;
  if (strlen(line) >= sizeof copy) {
    fprintf(d->out, "the command is too long\n");
    return;
  }
  strcpy(copy, *line ? line : d->last);
  for (size_t n = strlen(copy); n && isspace((unsigned char)copy[n - 1]);)
    copy[--n] = 0;
  strcpy(d->last, copy);
  size_t n = strcspn(copy, " \t/");
  if (n == 0)
    return;
  snprintf(name, sizeof name, "%.*s", (int)n, copy);
  const Command *c = find_command(name);
  const char *rest = copy + n;
  while (isspace((unsigned char)*rest))
    rest++;
  if (c)
    c->run(d, rest);
  else
    report_no_command(d, name);
}
