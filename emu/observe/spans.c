/* What tiles do over time: tasks, vector operations and waits, each from a cycle to a cycle.  A
 * tile keeps a bounded number of them: its first ones and its last ones. */
#include "emu/observe/page_internal.h"

#include <stdlib.h>

enum {
  SPANS = 1 << 19,
  MOST_OF_TILE = 1 << 16,
  TILES_ALL = 4096, /* up to so many tiles, all have a time line */
  LATTICE = 32,     /* else so many columns and rows */
  NO_LINE = 0xffffffff,
  SUBJECT_SHIFT = 8,
};

typedef enum { SPAN_TASK, SPAN_OPERATION, SPAN_WAIT } SpanKind;

typedef struct {
  uint64_t from, to;
  uint16_t subject; /* task: kind and id; operation: pc; wait: cause */
  uint8_t kind, thread;
  bool open; /* it had not ended when the run did */
} TimeSpan;

typedef struct {
  bool open;
  uint64_t since, busy; /* busy: to this cycle with the bank conflict of its last group */
  uint16_t subject;
} OpenPart;

typedef struct {
  uint32_t tile, n;
  uint64_t seen;
  TimeSpan *spans; /* n; those behind the first half are a ring */
  OpenPart task, operations[TILE_THREADS], waits[TILE_THREADS];
} TimeLine;

struct Spans {
  const Program *program;
  uint64_t begin;          /* no span begins before */
  uint32_t n_lines, most; /* most of a tile */
  uint32_t *line_of;      /* by tile; NO_LINE: it has none */
  TimeLine *lines;
};

/* Whether a coordinate is on the lattice: the first, the last, and even distances between. */
static bool is_chosen(uint32_t at, uint32_t size)
{
  if (size <= LATTICE || at + 1 == size)
    return true;
  uint32_t nearest = (uint32_t)((uint64_t)at * (LATTICE - 1) / (size - 1));
  return (uint64_t)nearest * (size - 1) / (LATTICE - 1) == at ||
         (uint64_t)(nearest + 1) * (size - 1) / (LATTICE - 1) == at;
}

static void choose_tiles(Spans *s)
{
  const Image *image = s->program->image;
  bool all = s->program->n_tiles <= TILES_ALL;
  for (uint32_t t = 0; t < s->program->n_tiles; t++) {
    bool chosen = program_class(s->program, t) &&
                  (all || (is_chosen(program_x(s->program, t), image->width) &&
                           is_chosen(program_y(s->program, t), image->height)));
    s->line_of[t] = chosen ? s->n_lines++ : NO_LINE;
  }
}

Spans *spans_create(const Program *program)
{
  Spans *s = base_malloc(sizeof *s);
  *s = (Spans){.program = program};
  s->line_of = base_malloc(sizeof *s->line_of * program->n_tiles);
  choose_tiles(s);
  s->most = s->n_lines ? SPANS / s->n_lines : 0;
  s->most = (s->most < MOST_OF_TILE ? s->most : MOST_OF_TILE) & ~1u;
  s->lines = base_zeroed(s->n_lines + 1u, sizeof *s->lines);
  for (uint32_t t = 0; t < program->n_tiles; t++)
    if (s->line_of[t] != NO_LINE)
      s->lines[s->line_of[t]].tile = t;
  return s;
}

void spans_destroy(Spans *s)
{
  if (!s)
    return;
  for (uint32_t i = 0; i < s->n_lines; i++)
    free(s->lines[i].spans);
  free(s->lines);
  free(s->line_of);
  free(s);
}

static void add_span(const Spans *s, TimeLine *line, TimeSpan span)
{
  if (line->seen >= s->most) {
    line->spans[s->most / 2 + line->seen++ % (s->most / 2)] = span;
    return;
  }
  if ((line->n & (line->n - 1)) == 0)
    line->spans = base_realloc(line->spans, (line->n ? 2u * line->n : 1u) * sizeof *line->spans);
  line->spans[line->n++] = span;
  line->seen++;
}

static void open_part(OpenPart *part, uint64_t since, unsigned subject)
{
  if (!part->open)
    *part = (OpenPart){.open = true, .since = since, .subject = (uint16_t)subject};
}

static void close_part(const Spans *s, TimeLine *line, OpenPart *part, SpanKind kind,
                       unsigned thread, uint64_t to)
{
  to = to > part->busy ? to : part->busy;
  if (part->open)
    add_span(s, line, (TimeSpan){part->since, to, part->subject, kind, (uint8_t)thread, false});
  part->open = false;
}

static void stall_event(const Spans *s, TimeLine *line, const TraceEvent *e)
{
  bool bank = e->id == STALL_BANK; /* reported in advance */
  uint64_t from = bank ? e->cycle + 1 : e->cycle - e->payload;
  line->waits[e->thread].open = false;
  open_part(&line->operations[e->thread], bank ? e->cycle : from, e->pc);
  line->operations[e->thread].busy = from + e->payload;
  uint64_t shown_from = from > s->begin ? from : s->begin, to = from + e->payload;
  if (shown_from < to)
    add_span(s, line, (TimeSpan){shown_from, to, e->id, SPAN_WAIT, e->thread, false});
}

static void take_up_line(TimeLine *line, const InspectTile *at, uint64_t cycle)
{
  const InspectThread *main = &at->threads[0];
  if (main->state != THREAD_IDLE)
    open_part(&line->task, cycle, (unsigned)main->task << SUBJECT_SHIFT | main->task_id);
  for (unsigned i = 0; i < TILE_THREADS; i++) {
    const InspectThread *thread = &at->threads[i];
    if (thread->state != THREAD_VECTOR)
      continue;
    open_part(&line->operations[i], cycle, thread->pc);
    if (thread->stalled != STALL_NONE)
      open_part(&line->waits[i], cycle, thread->stalled);
  }
}

void spans_take_up(Spans *s, Engine *engine)
{
  InspectTile at;
  s->begin = engine->ops->cycle(engine);
  for (uint32_t i = 0; i < s->n_lines; i++) {
    TimeLine *line = &s->lines[i];
    if (!engine->ops->touched(engine, line->tile))
      continue;
    engine->ops->inspect(engine, line->tile, &at);
    take_up_line(line, &at, s->begin);
  }
}

void spans_event(Spans *s, const TraceEvent *e)
{
  if (s->line_of[e->tile] == NO_LINE)
    return;
  TimeLine *line = &s->lines[s->line_of[e->tile]];
  switch (e->kind) {
  case EV_TASK_START:
    close_part(s, line, &line->task, SPAN_TASK, 0, e->cycle);
    open_part(&line->task, e->cycle, (unsigned)e->task << SUBJECT_SHIFT | e->id);
    break;
  case EV_TASK_END:
    close_part(s, line, &line->task, SPAN_TASK, 0, e->cycle + 1);
    break;
  case EV_GROUP:
    open_part(&line->operations[e->thread], e->cycle, e->pc);
    break;
  case EV_DONE:
    close_part(s, line, &line->operations[e->thread], SPAN_OPERATION, e->thread, e->cycle + 1);
    break;
  case EV_WAIT:
    open_part(&line->operations[e->thread], e->cycle, e->pc);
    line->waits[e->thread].open = false;
    open_part(&line->waits[e->thread], e->cycle, e->id);
    break;
  case EV_STALL:
    stall_event(s, line, e);
    break;
  case EV_ACTIVATE:
  case EV_BLOCK:
  case EV_UNBLOCK:
  case EV_INST:
  case EV_WAVELET:
  case EV_SWITCH:
  case EV_ROUTE:
  case EV_PUSH:
  case EV_POP:
  case EV_HOST_IN:
  case EV_HOST_OUT:
  case EV_LAUNCH:
  case EV_COUNT:
  default:
    break;
  }
}

/* ---- into the page --------------------------------------------------------------------------- */

static void end_part(const Spans *s, TimeLine *line, const OpenPart *part, SpanKind kind,
                     unsigned thread, uint64_t to)
{
  if (part->open && part->since < to)
    add_span(s, line, (TimeSpan){part->since, to, part->subject, kind, (uint8_t)thread, true});
}

static void end_line(const Spans *s, TimeLine *line, uint64_t cycle)
{
  end_part(s, line, &line->task, SPAN_TASK, 0, cycle);
  for (unsigned i = 0; i < TILE_THREADS; i++) {
    end_part(s, line, &line->operations[i], SPAN_OPERATION, i, cycle);
    end_part(s, line, &line->waits[i], SPAN_WAIT, i, cycle);
  }
}

static int by_start(const void *a, const void *b)
{
  const TimeSpan *x = a, *y = b;
  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  if (x->to != y->to)
    return x->to > y->to ? -1 : 1;
  return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                            : (x->thread > y->thread) - (x->thread < y->thread);
}

enum { FIELD_FROM, FIELD_LENGTH, FIELD_KIND, FIELD_SUBJECT, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"span.from", "span.length", "span.kind",
                                                     "span.subject"};
enum { KIND_THREAD_SHIFT = 2, KIND_OPEN_SHIFT = 6 };

static uint64_t field_of(const TimeLine *line, uint32_t i, unsigned field)
{
  const TimeSpan *span = &line->spans[i];
  switch (field) {
  case FIELD_FROM:
    return i ? span->from - line->spans[i - 1].from : span->from;
  case FIELD_LENGTH:
    return span->to - span->from;
  case FIELD_KIND:
    return (unsigned)span->kind | (unsigned)span->thread << KIND_THREAD_SHIFT |
           (unsigned)span->open << KIND_OPEN_SHIFT;
  case FIELD_SUBJECT:
  default:
    return span->subject;
  }
}

/* Of each tile in turn: its number, how many spans follow, and how many are left out. */
static bool pack_lines(const Spans *s, Pack *pack)
{
  uint64_t *heads = base_malloc(sizeof *heads * 3 * (s->n_lines + 1u)), *at = heads;
  for (uint32_t i = 0; i < s->n_lines; i++) {
    *at++ = s->lines[i].tile;
    *at++ = s->lines[i].n;
    *at++ = s->lines[i].seen - s->lines[i].n;
  }
  bool fits = pack_numbers(pack, "span.tiles", heads, 3 * (size_t)s->n_lines);
  free(heads);
  return fits;
}

static bool pack_field(const Spans *s, Pack *pack, unsigned field, size_t count)
{
  uint64_t *numbers = base_malloc(sizeof *numbers * (count + 1)), *at = numbers;
  for (uint32_t l = 0; l < s->n_lines; l++)
    for (uint32_t i = 0; i < s->lines[l].n; i++)
      *at++ = field_of(&s->lines[l], i, field);
  bool fits = pack_numbers(pack, field_names[field], numbers, count);
  free(numbers);
  return fits;
}

void spans_pack(Spans *s, uint64_t cycle, Pack *pack, json_t *top)
{
  size_t count = 0, before = pack_bytes(pack);
  for (uint32_t l = 0; l < s->n_lines; l++) {
    TimeLine *line = &s->lines[l];
    end_line(s, line, cycle);
    if (line->n)
      qsort(line->spans, line->n, sizeof *line->spans, by_start);
    count += line->n;
  }
  bool fits = pack_lines(s, pack);
  for (unsigned field = 0; fits && field < FIELD_COUNT; field++)
    fits = pack_field(s, pack, field, count);
  if (!fits)
    pack_shrink(pack, before);
  json_object_set_new(top, "time_lines", json_integer(fits ? (json_int_t)s->n_lines : 0));
}
