/* The trace as JSON trace events, which ui.perfetto.dev and chrome://tracing read. The writer keeps
 * only open events, so a run may have any length. */
#include "emu/observe/observe.h"

#include "stb_ds.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

enum {
  THREADS = 1 + MAX_MICROTHREADS,
  ROUTER_TRACK = 100,           /* instants of a tile's switches and tasks */
  BUCKET_CYCLES = 16,           /* counters of links: wavelets in so many cycles */
};

/* `serial`: of all operations, from 1 on.  `senders`: by input queue, the serial of the operation
 * that has sent what was taken last. */
typedef struct {
  bool open;
  uint64_t since, busy;         /* busy: to this cycle with the bank conflict of its last group */
  uint16_t pc;
  uint32_t serial, senders[MAX_QUEUES];
} OpenSpan;

typedef struct { bool open; uint64_t since; StallCause cause; } OpenWait;

/* Where a wavelet was sent; serial 0: not by an operation of the trace. */
typedef struct {
  uint64_t cycle;
  uint32_t tile, serial;
  uint8_t thread;
} SentBy;

/* A wavelet that has left its input queue, until its taker is known. */
typedef struct { uint64_t cycle, number; uint32_t tile; } TakenWord;

typedef struct {
  bool named;                   /* its names are written */
  bool task_open;
  OpenSpan operations[THREADS];
  OpenWait waits[THREADS];
  uint64_t bucket[PORT_COUNT];
  uint32_t moves[PORT_COUNT];   /* in that bucket */
  uint8_t held[2][MAX_QUEUES];
} TileTrack;

struct Perfetto {
  const Program *program;
  const TraceSink *limits;
  uint64_t begin;               /* no span begins before */
  FILE *out;
  TileTrack **tiles;            /* NULL: nothing happened there */
  SentBy *sent;                 /* stb_ds, by number; small beside its lines in the file */
  TraceEvent group;             /* the last one: the pushes and pops behind it are its own */
  TakenWord taken;
  uint32_t operations, arrows;
  bool any;
};

Perfetto *perfetto_create(const Program *program, const TraceSink *limits, FILE *out)
{
  Perfetto *p = base_malloc(sizeof *p);
  *p = (Perfetto){.program = program, .limits = limits, .begin = limits->first_cycle, .out = out};
  p->tiles = base_zeroed(program->n_tiles, sizeof(TileTrack *));
  fprintf(out, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"unit\": \"1 us is 1 cycle\"}, "
               "\"traceEvents\": [");
  return p;
}

void perfetto_destroy(Perfetto *p)
{
  if (!p)
    return;
  for (uint32_t t = 0; t < p->program->n_tiles; t++)
    free(p->tiles[t]);
  free(p->tiles);
  arrfree(p->sent);
  free(p);
}

/* ---- one JSON object ------------------------------------------------------------------------- */

static void write_object(Perfetto *p, json_t *object)
{
  char *text = json_dumps(object, JSON_COMPACT);
  if (!text)
    base_out_of_memory(0, "a line of the trace");
  fprintf(p->out, "%s\n%s", p->any ? "," : "", text);
  p->any = true;
  free(text);
  json_decref(object);
}

static json_t *make_entry(const char *phase, uint32_t tile, unsigned track, const char *name,
                          uint64_t cycle)
{
  return json_pack("{s:s, s:I, s:i, s:o, s:I}", "ph", phase, "pid", (json_int_t)tile, "tid",
                   (int)track, "name", base_json_text(name), "ts", (json_int_t)cycle);
}

static void write_name(Perfetto *p, const char *what, uint32_t tile, unsigned track,
                       const char *name)
{
  json_t *object = make_entry("M", tile, track, what, 0);
  json_object_set_new(object, "args", json_pack("{s:s}", "name", name));
  write_object(p, object);
}

static TileTrack *track_of(Perfetto *p, uint32_t tile)
{
  if (!p->tiles[tile])
    p->tiles[tile] = base_zeroed(1, sizeof(TileTrack));
  return p->tiles[tile];
}

static TileTrack *named_track_of(Perfetto *p, uint32_t tile)
{
  char name[32];
  TileTrack *track = track_of(p, tile);
  if (track->named)
    return track;
  track->named = true;
  snprintf(name, sizeof name, "P%u.%u", program_x(p->program, tile), program_y(p->program, tile));
  write_name(p, "process_name", tile, 0, name);
  write_name(p, "thread_name", tile, 0, "main thread");
  for (unsigned i = 1; i < THREADS; i++) {
    snprintf(name, sizeof name, "microthread %u", i - 1);
    write_name(p, "thread_name", tile, i, name);
  }
  write_name(p, "thread_name", tile, ROUTER_TRACK, "tasks and switches");
  return track;
}

/* So much of it as the limits of the trace leave. */
static void write_span(Perfetto *p, uint32_t tile, unsigned thread, const char *name,
                       uint64_t from, uint64_t to)
{
  from = from > p->begin ? from : p->begin;
  to = to > p->limits->last_cycle ? p->limits->last_cycle + 1 : to;
  if (from >= to)
    return;
  json_t *object = make_entry("X", tile, thread, name, from);
  json_object_set_new(object, "dur", json_integer((json_int_t)(to - from)));
  write_object(p, object);
}

static void write_counter(Perfetto *p, uint32_t tile, const char *name, uint64_t cycle,
                          unsigned value)
{
  json_t *object = make_entry("C", tile, 0, name, cycle);
  json_object_set_new(object, "args", json_pack("{s:i}", "wavelets", (int)value));
  write_object(p, object);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void write_task(Perfetto *p, uint32_t tile, TaskKind kind, unsigned id, bool starts,
                       uint64_t cycle)
{
  char name[256];
  snprintf(name, sizeof name, "%s %u %s", task_kind_name(kind), id,
           program_task_name(p->program, tile, kind, id));
  write_object(p, make_entry(starts ? "B" : "E", tile, 0, name, cycle));
}

static void task_event(Perfetto *p, TileTrack *t, const TraceEvent *e)
{
  bool start = e->kind == EV_TASK_START;
  if (start || t->task_open)
    write_task(p, e->tile, e->task, e->id, start, e->cycle + !start);
  t->task_open = start;
}

static void put_instant(Perfetto *p, const TraceEvent *e)
{
  char line[512];
  trace_format(p->program, e, line, sizeof line);
  const char *fields = strchr(line, ' ');
  fields = fields ? strchr(fields + 1, ' ') : NULL;   /* behind cycle and tile */
  json_t *object = make_entry("i", e->tile, ROUTER_TRACK, fields ? fields + 1 : line, e->cycle);
  json_object_set_new(object, "s", json_string("t"));
  write_object(p, object);
}

static void operation_name(const Perfetto *p, uint32_t tile, uint16_t pc, char *name, size_t size)
{
  const ClassCode *cls = program_class(p->program, tile);
  const Insn *insn = cls ? class_insn(cls, pc) : NULL;
  char place[200];
  program_location(p->program, tile, pc, place, sizeof place);
  snprintf(name, size, "%s %s", insn && insn->op == OP_vec ? vecops[insn->vec.op].name : "?",
           place);
}

static OpenSpan *open_operation(Perfetto *p, TileTrack *t, unsigned thread, uint16_t pc,
                                uint64_t since)
{
  OpenSpan *span = &t->operations[thread];
  if (!span->open)
    *span = (OpenSpan){.open = true, .since = since, .pc = pc, .serial = ++p->operations};
  return span;
}

static void close_operation(Perfetto *p, TileTrack *t, uint32_t tile, unsigned thread,
                            uint64_t end)
{
  char name[256];
  OpenSpan *span = &t->operations[thread];
  if (!span->open)
    return;
  operation_name(p, tile, span->pc, name, sizeof name);
  write_span(p, tile, thread, name, span->since, end > span->busy ? end : span->busy);
  span->open = false;
}

static void write_wait(Perfetto *p, uint32_t tile, unsigned thread, StallCause cause,
                       uint64_t from, uint64_t to)
{
  char name[64];
  snprintf(name, sizeof name, "waits: %s", stall_name(cause));
  write_span(p, tile, thread, name, from, to);
}

static void wait_event(Perfetto *p, TileTrack *t, const TraceEvent *e)
{
  open_operation(p, t, e->thread, e->pc, e->cycle);
  t->waits[e->thread] = (OpenWait){true, e->cycle, (StallCause)e->id};
}

static bool has_kind(const Perfetto *p, TraceKind kind)
{
  return p->limits->kinds >> kind & 1;
}

/* Without the kind `inst`, what is known of an operation is where it waits. */
static void stall_event(Perfetto *p, TileTrack *t, const TraceEvent *e)
{
  bool bank = e->id == STALL_BANK;      /* reported in advance */
  uint64_t from = bank ? e->cycle + 1 : e->cycle - e->payload, to = from + e->payload;
  OpenSpan *span = open_operation(p, t, e->thread, e->pc, bank ? e->cycle : from);
  span->busy = to;
  if (!has_kind(p, TRACE_INST))
    close_operation(p, t, e->tile, e->thread, to);
  write_wait(p, e->tile, e->thread, (StallCause)e->id, from, to);
  t->waits[e->thread].open = false;
}

static void link_name(unsigned port, char name[32])
{
  snprintf(name, 32, "link %s", port_name((Port)port));
}

static void close_bucket(Perfetto *p, TileTrack *t, uint32_t tile, unsigned port)
{
  char name[32];
  if (t->moves[port] == 0)
    return;
  link_name(port, name);
  write_counter(p, tile, name, t->bucket[port] * BUCKET_CYCLES, t->moves[port]);
  write_counter(p, tile, name, (t->bucket[port] + 1) * BUCKET_CYCLES, 0);
  t->moves[port] = 0;
}

static void wavelet_event(Perfetto *p, TileTrack *t, const TraceEvent *e)
{
  for (unsigned port = 0; port < PORT_COUNT; port++) {
    if (!(e->to >> port & 1))
      continue;
    if (t->bucket[port] != e->cycle / BUCKET_CYCLES)
      close_bucket(p, t, e->tile, port);
    t->bucket[port] = e->cycle / BUCKET_CYCLES;
    t->moves[port]++;
  }
}

/* What the event's queue holds after it. */
static unsigned count_queue(TileTrack *t, const TraceEvent *e)
{
  uint8_t *held = &t->held[e->output][e->queue];
  *held = (uint8_t)(e->kind == EV_PUSH ? *held + 1 : *held - (*held > 0));
  return *held;
}

static void queue_event(Perfetto *p, TileTrack *t, const TraceEvent *e)
{
  char name[32];
  snprintf(name, sizeof name, "%s queue %u", e->output ? "output" : "input", e->queue);
  write_counter(p, e->tile, name, e->cycle, count_queue(t, e));
}

void perfetto_count(Perfetto *p, const TraceEvent *e)
{
  if (e->kind == EV_PUSH || e->kind == EV_POP)
    count_queue(track_of(p, e->tile), e);
}

/* Tasks, operations and waits that are under way. */
static void take_up_threads(Perfetto *p, uint32_t tile, const InspectTile *at)
{
  TileTrack *track = named_track_of(p, tile);
  const InspectThread *main = &at->threads[0];
  if (has_kind(p, TRACE_TASK) && main->state != THREAD_IDLE && main->task != TASK_NONE) {
    write_task(p, tile, main->task, main->task_id, true, p->begin);
    track->task_open = true;
  }
  for (unsigned i = 0; i < THREADS; i++) {
    const InspectThread *thread = &at->threads[i];
    bool waits = has_kind(p, TRACE_STALL) && thread->stalled != STALL_NONE;
    if (thread->state != THREAD_VECTOR || !(waits || has_kind(p, TRACE_INST)))
      continue;
    open_operation(p, track, i, thread->pc, p->begin);
    if (waits)
      track->waits[i] = (OpenWait){true, p->begin, thread->stalled};
  }
}

void perfetto_take_up(Perfetto *p, Engine *engine)
{
  InspectTile at;
  const TraceSink *limits = p->limits;
  uint64_t now = engine->ops->cycle(engine);
  bool has_begun = now >= limits->first_cycle && now <= limits->last_cycle;
  p->begin = now > p->begin ? now : p->begin;
  for (uint32_t tile = 0; tile < p->program->n_tiles; tile++) {
    if (!engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &at);
    if (has_begun && trace_covers(limits, p->program, tile))
      take_up_threads(p, tile, &at);
    TileTrack *track = track_of(p, tile);
    for (unsigned q = 0; q < MAX_QUEUES; q++) {
      track->held[0][q] = at.input[q].count;
      track->held[1][q] = at.output[q].count;
    }
  }
}

/* ---- arrows ---------------------------------------------------------------------------------- */

static bool is_of_group(const Perfetto *p, const TraceEvent *e)
{
  return p->group.kind == EV_GROUP && p->group.tile == e->tile && p->group.cycle == e->cycle;
}

static void note_sender(Perfetto *p, const TileTrack *t, const TraceEvent *e, uint64_t number)
{
  if (!is_of_group(p, e))
    return;
  while (arrlenu(p->sent) <= number)
    arrput(p->sent, ((SentBy){0}));
  p->sent[number] = (SentBy){e->cycle, e->tile, t->operations[p->group.thread].serial,
                             p->group.thread};
}

static const SentBy *sender_of(const Perfetto *p, uint64_t number)
{
  return number < arrlenu(p->sent) && p->sent[number].serial ? &p->sent[number] : NULL;
}

static void write_arrow(Perfetto *p, const SentBy *from, uint32_t tile, unsigned thread,
                        uint64_t cycle)
{
  for (unsigned end = 0; end < 2; end++) {
    json_t *object = end ? make_entry("f", tile, thread, "wavelet", cycle)
                         : make_entry("s", from->tile, from->thread, "wavelet", from->cycle);
    json_object_set_new(object, "cat", json_string("wavelet"));
    json_object_set_new(object, "id", json_integer(p->arrows));
    if (end)
      json_object_set_new(object, "bp", json_string("e"));
    write_object(p, object);
  }
  p->arrows++;
}

/* An operation takes a wavelet: an arrow, unless the last one of the queue had the same sender. */
static void take_by_group(Perfetto *p, TileTrack *t, const TraceEvent *e, const SentBy *from)
{
  OpenSpan *span = &t->operations[p->group.thread];
  if (!span->open || span->senders[e->queue] == from->serial)
    return;
  span->senders[e->queue] = from->serial;
  write_arrow(p, from, e->tile, p->group.thread, e->cycle);
}

static void wavelet_moves(Perfetto *p, TileTrack *t, const TraceEvent *e, uint64_t number)
{
  const SentBy *from = sender_of(p, number);
  if (e->kind == EV_PUSH && e->output && number)
    note_sender(p, t, e, number);
  else if (e->kind == EV_POP && !e->output && from && is_of_group(p, e))
    take_by_group(p, t, e, from);
  else if (e->kind == EV_POP && !e->output)
    p->taken = (TakenWord){e->cycle, number, e->tile};
}

/* A task that a wavelet has started: its pop came just before. */
static void arrow_to_task(Perfetto *p, const TraceEvent *e)
{
  const SentBy *from = sender_of(p, p->taken.number);
  if (from && p->taken.tile == e->tile && p->taken.cycle == e->cycle && e->task != TASK_LOCAL)
    write_arrow(p, from, e->tile, 0, e->cycle);
  p->taken.number = 0;
}

void perfetto_event(Perfetto *p, const TraceEvent *e, uint64_t number)
{
  TileTrack *t = named_track_of(p, e->tile);
  switch (e->kind) {
  case EV_TASK_START:
    task_event(p, t, e);
    arrow_to_task(p, e);
    break;
  case EV_TASK_END: task_event(p, t, e); break;
  case EV_GROUP:
    open_operation(p, t, e->thread, e->pc, e->cycle);
    p->group = *e;
    break;
  case EV_DONE: close_operation(p, t, e->tile, e->thread, e->cycle + 1); break;
  case EV_WAIT: wait_event(p, t, e); break;
  case EV_STALL: stall_event(p, t, e); break;
  case EV_WAVELET: wavelet_event(p, t, e); break;
  case EV_PUSH: case EV_POP:
    queue_event(p, t, e);
    wavelet_moves(p, t, e, number);
    break;
  case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK: case EV_SWITCH: case EV_ROUTE: case EV_HOST_IN:
  case EV_HOST_OUT: case EV_LAUNCH:
    put_instant(p, e);
    break;
  case EV_INST: case EV_COUNT: default:
    break;
  }
}

void perfetto_finish(Perfetto *p, uint64_t cycle, bool partial)
{
  if (cycle > p->limits->last_cycle)
    cycle = p->limits->last_cycle + 1;
  for (uint32_t tile = 0; tile < p->program->n_tiles; tile++) {
    TileTrack *t = p->tiles[tile];
    for (unsigned i = 0; t && i < THREADS; i++) {
      close_operation(p, t, tile, i, cycle);
      if (t->waits[i].open)
        write_wait(p, tile, i, t->waits[i].cause, t->waits[i].since, cycle);
    }
    for (unsigned port = 0; t && port < PORT_COUNT; port++)
      close_bucket(p, t, tile, port);
    if (t && t->task_open)
      write_object(p, make_entry("E", tile, 0, "end of the run", cycle));
  }
  if (partial) {
    json_t *instant = make_entry("i", 0, 0, "the run has not come to its end", cycle);
    json_object_set_new(instant, "s", json_string("g"));
    write_object(p, instant);
  }
  fprintf(p->out, "\n]}\n");
}
