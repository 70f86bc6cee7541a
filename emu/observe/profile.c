/* Cycles by source line.  The main thread's time from one issue to the next belongs to the
 * instruction that was issued; a microthread's groups and waits belong to its operation. */
#include "emu/observe/page_internal.h"

#include "stb_ds.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What the main thread of a tile does since `since`.  MAIN_AWAITS: a state does not say which
 * instruction has been issued last, so the time to the next one counts for that. */
typedef enum { MAIN_IDLE, MAIN_STARTS, MAIN_AWAITS, MAIN_RUNS } MainState;
typedef struct {
  uint64_t since;
  ProfileRow *row;              /* MAIN_RUNS: of the instruction */
  ProfileRow *named;            /* the last one in the task with a line of source; NULL: none */
  uint8_t state;
} MainSpan;

struct Profile {
  const Program *program;
  uint64_t begin;               /* waits count from this cycle on */
  MainSpan *spans;              /* by tile */
  ProfileRow **cells;           /* by class, then word of code; NULL: never ran */
  ProfileRow *rows;             /* stb_ds */
};

Profile *profile_create(const Program *program)
{
  Profile *p = base_malloc(sizeof *p);
  *p = (Profile){.program = program};
  p->spans = base_zeroed(program->n_tiles, sizeof *p->spans);
  p->cells = base_zeroed(program->image->n_classes + 1u, sizeof(ProfileRow *));
  return p;
}

void profile_destroy(Profile *p)
{
  if (!p)
    return;
  for (uint32_t i = 0; i < p->program->image->n_classes; i++)
    free(p->cells[i]);
  free(p->cells);
  free(p->spans);
  arrfree(p->rows);
  free(p);
}

static void find_line(const Profile *p, const ImageClass *cls, uint16_t pc, ProfileRow *row)
{
  const ImageLine *line = image_line_at(cls, pc);
  bool known = line && line->file < p->program->image->n_files;
  row->file = known ? p->program->image->files[line->file] : "";
  row->line = known ? line->line : 0;
}

static ProfileRow *cell_at(Profile *p, uint32_t tile, uint16_t pc)
{
  const ClassCode *cls = program_class(p->program, tile);
  if (!p->cells[cls->index])
    p->cells[cls->index] = base_zeroed(cls->image->code_words + 1u, sizeof(ProfileRow));
  uint32_t word = (uint32_t)(pc - cls->image->code_address) / 2;
  ProfileRow *row =
      &p->cells[cls->index][word < cls->image->code_words ? word : cls->image->code_words];
  if (!row->file)
    find_line(p, cls->image, pc, row);
  return row;
}

/* What a function of the compiler does for the main thread belongs to the line that calls it. */
static ProfileRow *row_at(Profile *p, uint32_t tile, uint16_t pc, unsigned thread)
{
  ProfileRow *row = cell_at(p, tile, pc), *named = p->spans[tile].named;
  return row->line || thread || !named ? row : named;
}

static void close_span(MainSpan *span, uint64_t end)
{
  if (span->state == MAIN_RUNS)
    span->row->cycles += end - span->since;
  span->state = MAIN_IDLE;
}

/* The time before the instruction, which belongs to none before it. */
static void count_before(ProfileRow *row, const MainSpan *span, uint64_t now)
{
  if (span->state == MAIN_STARTS)
    row->start += now - span->since;
  if (span->state == MAIN_STARTS || span->state == MAIN_AWAITS)
    row->cycles += now - span->since;
}

static void note_issue(Profile *p, const TraceEvent *e)
{
  MainSpan *span = &p->spans[e->tile];
  ProfileRow *row = row_at(p, e->tile, e->pc, 0);
  count_before(row, span, e->cycle);
  close_span(span, e->cycle);
  *span = (MainSpan){e->cycle, row, row->line ? row : NULL, MAIN_RUNS};
  row->instructions++;
}

static void note_wait(Profile *p, const TraceEvent *e)
{
  ProfileRow *row = row_at(p, e->tile, e->pc, e->thread);
  uint64_t most = e->id == STALL_BANK ? e->payload : e->cycle - p->begin;
  uint64_t waited = e->payload < most ? e->payload : most;
  row->stalls[e->id] += waited;
  row->cycles += e->thread ? waited : 0;
}

void profile_take_up(Profile *p, Engine *engine)
{
  InspectTile at;
  p->begin = engine->ops->cycle(engine);
  for (uint32_t tile = 0; tile < p->program->n_tiles; tile++) {
    if (!program_class(p->program, tile) || !engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &at);
    if (at.threads[0].state == THREAD_VECTOR)
      p->spans[tile] = (MainSpan){.since = p->begin, .state = MAIN_RUNS,
                                  .row = row_at(p, tile, at.threads[0].pc, 0)};
    else if (at.threads[0].state == THREAD_RUNNING)
      p->spans[tile] = (MainSpan){.since = p->begin, .state = MAIN_AWAITS};
  }
}

void profile_event(Profile *p, const TraceEvent *e)
{
  ProfileRow *row;
  switch (e->kind) {
  case EV_TASK_START: case EV_LAUNCH:   /* a launched function ends without an event */
    close_span(&p->spans[e->tile], p->spans[e->tile].since + 1);
    p->spans[e->tile] = (MainSpan){.since = e->cycle, .state = MAIN_STARTS};
    break;
  case EV_TASK_END:
    close_span(&p->spans[e->tile], e->cycle + 1);
    break;
  case EV_INST:
    note_issue(p, e);
    break;
  case EV_GROUP:
    row = row_at(p, e->tile, e->pc, e->thread);
    row->groups++;
    row->elements += e->count;
    row->cycles += e->thread != 0;
    break;
  case EV_STALL:
    note_wait(p, e);
    break;
  case EV_DONE: case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK: case EV_WAVELET:
  case EV_SWITCH: case EV_ROUTE: case EV_WAIT: case EV_PUSH: case EV_POP: case EV_HOST_IN:
  case EV_HOST_OUT: case EV_COUNT: default:
    break;
  }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void finish_tile(Profile *p, Engine *engine, uint32_t tile, uint64_t now)
{
  InspectTile t;
  engine->ops->inspect(engine, tile, &t);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t.threads[i];
    if (thread->state != THREAD_VECTOR || thread->stalled == STALL_NONE)
      continue;
    ProfileRow *row = row_at(p, tile, thread->pc, i);
    uint64_t since = thread->stalled_since > p->begin ? thread->stalled_since : p->begin;
    uint64_t waited = now > since ? now - since : 0;
    row->stalls[thread->stalled] += waited;
    row->cycles += i ? waited : 0;
  }
  MainSpan *span = &p->spans[tile];
  bool goes_on = t.threads[0].state != THREAD_IDLE && now > span->since;
  if (goes_on)
    count_before(row_at(p, tile, t.threads[0].pc, 0), span, now);
  close_span(span, goes_on ? now : span->since + 1);
}

static void add_cell(Profile *p, const ProfileRow *from)
{
  size_t i = 0;
  while (i < arrlenu(p->rows) &&
         (p->rows[i].line != from->line || strcmp(p->rows[i].file, from->file) != 0))
    i++;
  if (i == arrlenu(p->rows))
    arrput(p->rows, ((ProfileRow){.file = from->file, .line = from->line}));
  ProfileRow *row = &p->rows[i];
  row->cycles += from->cycles;
  row->instructions += from->instructions;
  row->groups += from->groups;
  row->elements += from->elements;
  row->start += from->start;
  for (unsigned k = 0; k < STALL_COUNT; k++)
    row->stalls[k] += from->stalls[k];
}

static void add_class(Profile *p, uint32_t index)
{
  const ImageClass *cls = &p->program->image->classes[index];
  for (uint32_t word = 0; p->cells[index] && word < cls->code_words; word++) {
    const ProfileRow *from = &p->cells[index][word];
    if (from->cycles || from->instructions || from->groups)
      add_cell(p, from);
  }
}

static int more_cycles(const void *a, const void *b)
{
  const ProfileRow *x = a, *y = b;
  if (x->cycles != y->cycles)
    return x->cycles > y->cycles ? -1 : 1;
  int names = strcmp(x->file, y->file);
  return names ? names : (x->line > y->line) - (x->line < y->line);
}

void profile_finish(Profile *p, Engine *engine)
{
  for (uint32_t t = 0; t < p->program->n_tiles; t++)
    if (program_class(p->program, t) && engine->ops->touched(engine, t))
      finish_tile(p, engine, t, engine->ops->cycle(engine));
  for (uint32_t i = 0; i < p->program->image->n_classes; i++)
    add_class(p, i);
  if (arrlenu(p->rows))
    qsort(p->rows, arrlenu(p->rows), sizeof *p->rows, more_cycles);
}

const ProfileRow *profile_rows(const Profile *p, size_t *count)
{
  *count = arrlenu(p->rows);
  return p->rows;
}

static uint64_t count_cycles(const Profile *p)
{
  uint64_t all = 0;
  for (size_t i = 0; i < arrlenu(p->rows); i++)
    all += p->rows[i].cycles;
  return all;
}

void profile_print(const Profile *p, FILE *out)
{
  uint64_t all = count_cycles(p);
  fprintf(out, "profile: %llu cycles of threads on %u tiles, by source line; of them waiting, by "
               "cause\n%12s %6s %10s %10s %10s", (unsigned long long)all, p->program->n_tiles,
          "cycles", "share", "instrs", "groups", "elements");
  for (unsigned k = STALL_NONE + 1; k < STALL_COUNT; k++)
    fprintf(out, " %9s", stall_name((StallCause)k));
  fprintf(out, " %9s  line\n", "start");
  for (size_t i = 0; i < arrlenu(p->rows); i++) {
    const ProfileRow *row = &p->rows[i];
    fprintf(out, "%12llu %5.1f%% %10llu %10llu %10llu", (unsigned long long)row->cycles,
            all ? 100.0 * (double)row->cycles / (double)all : 0,
            (unsigned long long)row->instructions, (unsigned long long)row->groups,
            (unsigned long long)row->elements);
    for (unsigned k = STALL_NONE + 1; k < STALL_COUNT; k++)
      fprintf(out, " %9llu", (unsigned long long)row->stalls[k]);
    fprintf(out, " %9llu  ", (unsigned long long)row->start);
    if (row->line)
      fprintf(out, "%s:%u\n", row->file, row->line);
    else
      fputs("(no source)\n", out);
  }
}

static json_t *describe_row(const ProfileRow *row)
{
  json_t *stalls = json_object();
  for (unsigned k = STALL_NONE + 1; k < STALL_COUNT; k++)
    json_object_set_new(stalls, stall_name((StallCause)k),
                        json_integer((json_int_t)row->stalls[k]));
  return json_pack("{s:o, s:i, s:I, s:I, s:I, s:I, s:I, s:o}", "file", base_json_text(row->file),
                   "line", (int)row->line, "cycles", (json_int_t)row->cycles,
                   "instructions", (json_int_t)row->instructions, "groups",
                   (json_int_t)row->groups, "elements", (json_int_t)row->elements, "start",
                   (json_int_t)row->start, "stalls", stalls);
}

void profile_print_json(const Profile *p, bool is_partial, FILE *out)
{
  json_t *lines = json_array();
  for (size_t i = 0; i < arrlenu(p->rows); i++)
    json_array_append_new(lines, describe_row(&p->rows[i]));
  json_t *top = json_pack("{s:I, s:I, s:o}", "cycles", (json_int_t)count_cycles(p), "tiles",
                          (json_int_t)p->program->n_tiles, "lines", lines);
  if (is_partial)
    json_object_set_new(top, "partial", json_true());
  json_dumpf(top, out, JSON_INDENT(1));
  fputc('\n', out);
  json_decref(top);
}
