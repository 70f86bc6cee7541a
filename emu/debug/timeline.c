/* A timeline: an engine for the host, made of an engine that stops, and of a record of all that the
 * host has done.  Programs are deterministic, so the record and a cycle are a state: the way back
 * is a new engine that gets a state from before and the same input, and runs up to there. */
#include "emu/debug/debug_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

typedef enum {
  INPUT_LAUNCH, INPUT_POST, INPUT_WRITE, INPUT_REGISTER, INPUT_TAKE, INPUT_PHASE, INPUT_COLORS
} InputKind;

/* What the host has done before cycle `at`. */
typedef struct {
  uint64_t at;
  InputKind kind;
  uint32_t tile;
  uint32_t color;               /* or the address, the entry, the register's number */
  uint32_t word;                /* or the number of words or bytes */
  uint64_t cycle;
  uint8_t *bytes;               /* malloc */
} Input;

/* A type that the program does not have: a stretch of an array. */
typedef struct { DebugType type; uint32_t count; char *name; } Slice;

struct Timeline {
  Engine base;
  const EngineOps *inner_ops;
  Engine *inner;
  EngineOptions options;        /* of the inner engine */
  TraceSink sink;
  const TraceSink *user;        /* the host's own trace; NULL none */
  TraceSink *user_sink;
  TimelineFront front;
  uint32_t kinds, region[4];    /* that the front listens to */
  Input *inputs;                /* stb_ds, by cycle */
  size_t n_applied;             /* to the inner engine */
  Marks marks;
  Snapshot *origin;             /* where it begins; NULL: in cycle 0, as loaded */
  uint32_t host_colors;         /* as last recorded */
  uint32_t first_colors;        /* before the first input */
  uint64_t present;
  uint64_t limit;
  StandReason reason;
  bool standing;                /* control is to be asked before the run goes on */
  bool silent;                  /* no events for the front */
  bool travelled;               /* since it last stood at a fault */
  bool ended;                   /* the front has ended the run */
  atomic_int pause;
  Slice **slices;               /* stb_ds */
};

static const EngineOps engine_timeline;

/* ---- what the inner engine delivers -------------------------------------------------------- */

/* The host has seen what lies before the present. */
static void pass_on(Timeline *t, const TraceEvent *event)
{
  if (t->user_sink && event->cycle >= t->present && trace_wants(t->user, event->kind, event->cycle)
      && trace_covers(t->user, t->base.program, event->tile))
    t->user_sink->event(t->user_sink, event);
}

static bool in_region(const Timeline *t, uint32_t tile)
{
  uint32_t x = program_x(t->base.program, tile), y = program_y(t->base.program, tile);
  return x >= t->region[0] && x - t->region[0] < t->region[2] && y >= t->region[1] &&
         y - t->region[1] < t->region[3];
}

static void receive_event(TraceSink *sink, const TraceEvent *event)
{
  Timeline *t = sink->context;
  pass_on(t, event);
  if (!t->silent && (t->kinds >> event_trace_kind(event->kind) & 1) && in_region(t, event->tile) &&
      t->front.event(t->front.context, event))
    sink->stop = true;
}

static void receive_print(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  const Timeline *t = context;
  if (cycle >= t->present && t->base.options.print)
    t->base.options.print(t->base.options.print_context, cycle, tile, byte);
}

/* The union of what the host's trace and the front want. */
static void aim_sink(Timeline *t)
{
  const Image *image = t->base.program->image;
  t->sink.kinds = (t->user ? t->user->kinds : 0) | (t->silent ? 0 : t->kinds);
  t->sink.x = t->user ? 0 : (uint16_t)t->region[0];
  t->sink.y = t->user ? 0 : (uint16_t)t->region[1];
  t->sink.width = t->user ? image->width : (uint16_t)t->region[2];
  t->sink.height = t->user ? image->height : (uint16_t)t->region[3];
  t->sink.stop = false;
}

/* ---- input --------------------------------------------------------------------------------- */

static void apply_input(Timeline *t, const Input *in)
{
  const EngineOps *ops = t->inner_ops;
  uint32_t *words;
  switch (in->kind) {
  case INPUT_LAUNCH: ops->launch(t->inner, in->tile, (uint16_t)in->color); return;
  case INPUT_POST: ops->post(t->inner, in->tile, in->color, in->word, in->cycle); return;
  case INPUT_WRITE: ops->mem_write(t->inner, in->tile, in->color, in->bytes, in->word); return;
  case INPUT_REGISTER: ops->tile(t->inner, in->tile, true)->regs.r[in->color] = (uint16_t)in->word;
    return;
  case INPUT_PHASE: ops->phase_begin(t->inner); return;
  case INPUT_COLORS: t->base.program->host_out_colors = in->word; return;
  case INPUT_TAKE:
    words = base_malloc(sizeof *words * (in->word + 1u));
    ops->take(t->inner, in->tile, in->color, words, NULL, in->word);
    free(words);
    return;
  default: ICE("bad input %d", (int)in->kind);
  }
}

static void record_input(Timeline *t, Input in)
{
  in.at = t->inner_ops->cycle(t->inner);
  arrput(t->inputs, in);
  t->n_applied = arrlenu(t->inputs);
}

/* Colors that the host takes for its streams are set in the program. */
static void record_colors(Timeline *t)
{
  uint32_t now = t->base.program->host_out_colors;
  if (now == t->host_colors)
    return;
  t->host_colors = now;
  record_input(t, (Input){.kind = INPUT_COLORS, .word = now});
}

/* The engine goes to the cycle of an input even where nothing happens until then. */
static void apply_due(Timeline *t, uint64_t cycle)
{
  while (t->n_applied < arrlenu(t->inputs) && t->inputs[t->n_applied].at <= cycle) {
    const Input *in = &t->inputs[t->n_applied++];
    t->inner_ops->skip_to(t->inner, in->at);
    apply_input(t, in);
  }
}

/* ---- running ------------------------------------------------------------------------------- */

static void create_inner(Timeline *t)
{
  t->base.program->host_out_colors = t->first_colors;
  t->inner = t->inner_ops->create(t->base.program, &t->options);
  t->n_applied = 0;
  if (t->origin)
    snapshot_restore(t->origin, t->inner);
}

static uint64_t earlier_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool was_paused(Timeline *t)
{
  return atomic_exchange(&t->pause, 0) != 0;
}

/* Runs the inner engine up to `limit`, and keeps states on the way. */
static RunStatus run_with_marks(Timeline *t, uint64_t limit)
{
  Engine *inner = t->inner;
  inner->begun = inner->cycle;
  for (;;) {
    if (marks_next(&t->marks) <= inner->cycle)
      marks_pass(&t->marks, inner, t->n_applied);
    uint64_t next = marks_next(&t->marks);
    RunStatus status = engine_run(inner, earlier_of(limit, next));
    inner->continues = true;    /* the next part of this run */
    if (status != RUN_LIMIT || t->sink.stop || inner->cycle != next || next >= limit) {
      inner->continues = false;
      return status;
    }
  }
}

/* The same with the inputs that belong to the cycles on the way. */
static RunStatus run_inner(Timeline *t, uint64_t limit)
{
  for (;;) {
    bool more = t->n_applied < arrlenu(t->inputs);
    uint64_t next = more ? t->inputs[t->n_applied].at : UINT64_MAX;
    uint64_t end = earlier_of(limit, next);
    RunStatus status = run_with_marks(t, end);
    uint64_t now = t->inner_ops->cycle(t->inner);
    bool is_over = status == RUN_FAULT || status == RUN_INTERRUPTED || t->sink.stop;
    if (is_over || !more || now > limit || (status == RUN_LIMIT && end < next) || limit < next)
      return status;
    apply_due(t, next);
  }
}

static void sync_base(Timeline *t)
{
  t->base.cycle = t->inner->cycle;
  t->base.stopped = t->inner->stopped;
  t->base.quiet = t->inner->quiet;
}

/* Makes the engine one that stands at the cycle or before it. */
static void go_near(Timeline *t, uint64_t cycle)
{
  const Mark *mark = marks_before(&t->marks, cycle);
  bool is_behind = cycle < timeline_cycle(t);
  if (!is_behind && (!mark || snapshot_cycle(mark->state) <= timeline_cycle(t)))
    return;
  t->inner_ops->destroy(t->inner);
  create_inner(t);
  if (!mark || snapshot_cycle(mark->state) <= t->inner->cycle)
    return;
  t->inner_ops->destroy(t->inner);
  t->inner = t->inner_ops->create(t->base.program, &t->options);
  snapshot_restore(mark->state, t->inner);
  t->n_applied = mark->n_applied;
}

static void run_silently(Timeline *t, uint64_t cycle)
{
  while (run_inner(t, cycle) == RUN_INTERRUPTED)
    was_paused(t);
  apply_due(t, cycle);
}

/* Who goes back often goes back again a little further: states on the last part of a long way, the
 * closer the nearer the end. */
static void run_and_mark(Timeline *t, uint64_t cycle)
{
  enum { LEAST_WAY = 1 << 11 };
  while (cycle - timeline_cycle(t) > LEAST_WAY) {
    uint64_t before = timeline_cycle(t);
    run_silently(t, before + (cycle - before) / 2);
    if (timeline_cycle(t) <= before || timeline_cycle(t) >= cycle)
      break;
    marks_set(&t->marks, t->inner, t->n_applied);
  }
  run_silently(t, cycle);
}

uint64_t timeline_mark(const Timeline *t, uint64_t cycle)
{
  const Mark *mark = cycle ? marks_before(&t->marks, cycle - 1) : NULL;
  uint64_t first = timeline_first(t);
  return mark && snapshot_cycle(mark->state) > first ? snapshot_cycle(mark->state) : first;
}

uint64_t timeline_first(const Timeline *t) { return t->origin ? snapshot_cycle(t->origin) : 0; }

void timeline_begin_here(Timeline *t)
{
  t->origin = snapshot_take(t->inner, NULL);
  sync_base(t);
  t->present = timeline_cycle(t);
  t->host_colors = t->first_colors = t->base.program->host_out_colors;
}

void timeline_busy(Timeline *t, bool begins)
{
  if (begins)
    pulse_begin(t->options.pulse);
  else
    pulse_end(t->options.pulse);
}

void timeline_travel(Timeline *t, uint64_t cycle)
{
  timeline_busy(t, true);
  cycle = earlier_of(cycle < timeline_first(t) ? timeline_first(t) : cycle, t->present);
  t->travelled = true;
  bool is_back = cycle < timeline_cycle(t);
  go_near(t, cycle);
  t->silent = true;
  aim_sink(t);
  if (is_back)
    run_and_mark(t, cycle);
  else
    run_silently(t, cycle);
  if (timeline_cycle(t) < cycle && cycle < t->present)
    t->inner_ops->skip_to(t->inner, cycle);
  t->silent = false;
  sync_base(t);
  timeline_busy(t, false);
}

StandReason timeline_replay(Timeline *t, uint64_t limit)
{
  limit = earlier_of(limit, t->present);
  aim_sink(t);
  timeline_busy(t, true);
  RunStatus status = run_inner(t, limit);
  timeline_busy(t, false);
  if (!t->sink.stop)
    apply_due(t, limit);
  sync_base(t);
  if (was_paused(t))
    return STAND_PAUSE;
  return t->sink.stop ? STAND_EVENT : status == RUN_FAULT ? STAND_FAULT : STAND_LIMIT;
}

static bool stand_still(Timeline *t, StandReason reason)
{
  t->reason = reason;
  t->standing = true;
  return true;
}

/* Does the run stop for the front? `status` and `limit` are of the host's run. */
static bool comes_to_stand(Timeline *t, RunStatus status, uint64_t limit)
{
  if (t->sink.stop)
    return stand_still(t, STAND_EVENT);
  if (was_paused(t))
    return stand_still(t, STAND_PAUSE);
  if (status == RUN_LIMIT && timeline_cycle(t) >= t->limit && t->limit < limit)
    return stand_still(t, STAND_LIMIT);
  return false;
}

/* A fault stands once; when the front goes on, the host hears of it. */
static bool ask_front(Timeline *t)
{
  t->standing = false;
  timeline_busy(t, false);
  if (!t->ended && !t->front.control(t->front.context, t))
    t->ended = true;
  timeline_busy(t, true);
  return !t->ended;
}

static RunStatus timeline_run(Engine *base, uint64_t limit)
{
  Timeline *t = (Timeline *)base;
  bool told = false;
  record_colors(t);
  for (;;) {
    if (t->standing && !ask_front(t))
      return RUN_INTERRUPTED;
    aim_sink(t);
    RunStatus status = run_inner(t, earlier_of(limit, t->limit));
    uint64_t now = t->inner_ops->cycle(t->inner);
    t->present = now > t->present || status == RUN_QUIET ? now : t->present;
    sync_base(t);
    if (comes_to_stand(t, status, limit))
      continue;
    if (status != RUN_FAULT || (told && !t->travelled))
      return status;
    t->travelled = false;
    told = stand_still(t, STAND_FAULT);
  }
}

static void stand_at_end(Timeline *t)
{
  while (!t->ended) {
    stand_still(t, t->origin && t->inner->stopped ? STAND_FAULT : STAND_END);
    if (!ask_front(t))
      return;
    while (timeline_cycle(t) < t->present || t->n_applied < arrlenu(t->inputs)) {
      StandReason reason = timeline_replay(t, earlier_of(t->present, t->limit));
      bool at_end = timeline_cycle(t) >= t->present;
      if (reason == STAND_LIMIT && at_end)
        break;
      stand_still(t, reason == STAND_FAULT ? STAND_END : reason);
      if (reason == STAND_FAULT || !ask_front(t))
        break;
    }
  }
}

void timeline_end(Timeline *t)
{
  timeline_busy(t, true);
  stand_at_end(t);
  timeline_busy(t, false);
}

void timeline_pause(Timeline *t)
{
  atomic_store(&t->pause, 1);
}

void timeline_limit(Timeline *t, uint64_t cycle) { t->limit = cycle; }

void timeline_listen(Timeline *t, uint32_t kinds, const uint32_t region[4])
{
  t->kinds = kinds;
  memcpy(t->region, region, sizeof t->region);
}

/* ---- questions ----------------------------------------------------------------------------- */

Timeline *timeline_of(Engine *engine)
{
  return engine && engine->ops == &engine_timeline ? (Timeline *)engine : NULL;
}

Engine *timeline_engine(Timeline *t) { return t->inner; }
const Program *timeline_program(const Timeline *t) { return t->base.program; }
uint64_t timeline_cycle(const Timeline *t) { return t->inner_ops->cycle(t->inner); }
uint64_t timeline_present(const Timeline *t) { return t->present; }
StandReason timeline_reason(const Timeline *t) { return t->reason; }

/* FNV-1a over what programs can see. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
  const uint8_t *at = bytes;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t hash_tile(Timeline *t, uint32_t tile, uint64_t hash)
{
  InspectTile at;
  uint8_t memory[PE_MEM_BYTES];
  const ClassCode *cls = program_class(t->base.program, tile);
  t->inner_ops->tile(t->inner, tile, true);     /* engines reach a tile at different times */
  const Registers *regs = t->inner_ops->registers(t->inner, tile);
  t->inner_ops->inspect(t->inner, tile, &at);
  hash = hash_bytes(hash, &tile, sizeof tile);
  if (regs)
    hash = hash_bytes(hash, regs->r, sizeof regs->r);
  if (cls && t->inner_ops->mem_read(t->inner, tile, 0, memory, cls->image->static_bytes))
    hash = hash_bytes(hash, memory, cls->image->static_bytes);
  uint64_t words[] = {at.active, at.blocked, at.paused, at.wavelets_seen};
  hash = hash_bytes(hash, words, sizeof words);
  for (unsigned i = 0; i < TILE_THREADS; i++) {
    uint32_t thread[] = {at.threads[i].state, at.threads[i].pc,
                         at.threads[i].run ? at.threads[i].run->remaining : 0};
    hash = hash_bytes(hash, thread, sizeof thread);
  }
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    uint32_t queues[] = {at.input[q].count, at.input[q].count ? at.input[q].head.payload : 0,
                         at.output[q].count, at.output[q].count ? at.output[q].head.payload : 0};
    hash = hash_bytes(hash, queues, sizeof queues);
  }
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    uint32_t color[] = {at.colors[c].count, at.colors[c].position, at.colors[c].suspended,
                        at.colors[c].count ? at.colors[c].head.payload : 0};
    hash = hash_bytes(hash, color, sizeof color);
  }
  return hash;
}

uint64_t timeline_hash(Timeline *t)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325), cycle = timeline_cycle(t);
  hash = hash_bytes(hash, &cycle, sizeof cycle);
  for (uint32_t i = 0; i < t->base.program->n_tiles; i++)
    hash = hash_tile(t, i, hash);
  return hash;
}

/* ---- the interface of an engine ------------------------------------------------------------ */

Engine *timeline_create(const EngineOps *inner, Program *program, const EngineOptions *options,
                        TimelineFront front)
{
  Timeline *t = base_zeroed(1, sizeof *t);
  t->base = (Engine){.ops = &engine_timeline, .program = program, .options = *options};
  t->base.options.pulse = NULL;         /* of the inner engine */
  t->inner_ops = inner;
  t->front = front;
  t->user_sink = options->trace;
  t->user = options->trace;
  t->sink = trace_sink(program, 0, receive_event, t);
  t->options = *options;
  t->options.trace = &t->sink;
  t->options.interrupt = &t->pause;
  t->options.print = receive_print;
  t->options.print_context = t;
  t->region[2] = program->image->width;
  t->region[3] = program->image->height;
  t->first_colors = t->host_colors = program->host_out_colors;
  t->limit = UINT64_MAX;
  stand_still(t, STAND_START);
  create_inner(t);
  sync_base(t);
  return &t->base;
}

static Engine *refuse_create(Program *program, const EngineOptions *options)
{
  (void)program, (void)options;
  ICE("a timeline is made by timeline_create");
}

static void destroy_timeline(Engine *base)
{
  Timeline *t = (Timeline *)base;
  t->inner_ops->destroy(t->inner);
  marks_free(&t->marks);
  snapshot_free(t->origin);
  for (size_t i = 0; i < arrlenu(t->inputs); i++)
    free(t->inputs[i].bytes);
  arrfree(t->inputs);
  for (size_t i = 0; i < arrlenu(t->slices); i++) {
    free(t->slices[i]->name);
    free(t->slices[i]);
  }
  arrfree(t->slices);
  free(t);
}

static Engine *inner_of(const Engine *base) { return ((const Timeline *)base)->inner; }
static const EngineOps *ops_of(const Engine *base) { return ((const Timeline *)base)->inner_ops; }

static uint64_t show_cycle(const Engine *base) { return ops_of(base)->cycle(inner_of(base)); }

static void skip_time(Engine *base, uint64_t cycle)
{
  Timeline *t = (Timeline *)base;
  ops_of(base)->skip_to(t->inner, cycle);
  t->present = show_cycle(base);
  sync_base(t);
}

static const EngineStats *show_stats(const Engine *base)
{
  return ops_of(base)->stats(inner_of(base));
}

static void begin_phase(Engine *base)
{
  ops_of(base)->phase_begin(inner_of(base));
  record_input((Timeline *)base, (Input){.kind = INPUT_PHASE});
}

static const Fault *show_faults(const Engine *base, size_t *count)
{
  return ops_of(base)->faults(inner_of(base), count);
}

static void show_tile(Engine *base, uint32_t tile, InspectTile *out)
{
  ops_of(base)->inspect(inner_of(base), tile, out);
}

static bool is_touched(const Engine *base, uint32_t tile)
{
  return ops_of(base)->touched(inner_of(base), tile);
}

static const Registers *show_registers(Engine *base, uint32_t tile)
{
  return ops_of(base)->registers(inner_of(base), tile);
}

static bool read_memory(Engine *base, uint32_t tile, uint32_t address, void *to, uint32_t bytes)
{
  return ops_of(base)->mem_read(inner_of(base), tile, address, to, bytes);
}

static bool write_memory(Engine *base, uint32_t tile, uint32_t address, const void *from,
                         uint32_t bytes)
{
  if (!ops_of(base)->mem_write(inner_of(base), tile, address, from, bytes))
    return false;
  uint8_t *copy = base_malloc(bytes + 1u);
  if (bytes)
    memcpy(copy, from, bytes);
  record_input((Timeline *)base, (Input){.kind = INPUT_WRITE, .tile = tile, .color = address,
                                         .word = bytes, .bytes = copy});
  return true;
}

bool timeline_is_past(const Timeline *t)
{
  return timeline_cycle(t) < t->present || t->n_applied < arrlenu(t->inputs);
}

bool timeline_write(Timeline *t, uint32_t tile, uint32_t address, const void *from, uint32_t bytes)
{
  return !timeline_is_past(t) && write_memory(&t->base, tile, address, from, bytes);
}

bool timeline_write_register(Timeline *t, uint32_t tile, unsigned number, uint16_t value)
{
  Tile *core = timeline_is_past(t) ? NULL : t->inner_ops->tile(t->inner, tile, false);
  if (!core)
    return false;
  core->regs.r[number] = value;
  record_input(t, (Input){.kind = INPUT_REGISTER, .tile = tile, .color = number, .word = value});
  return true;
}

static bool launch_function(Engine *base, uint32_t tile, uint16_t entry)
{
  if (!ops_of(base)->launch(inner_of(base), tile, entry))
    return false;
  record_input((Timeline *)base, (Input){.kind = INPUT_LAUNCH, .tile = tile, .color = entry});
  return true;
}

static bool post_word(Engine *base, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle)
{
  if (!ops_of(base)->post(inner_of(base), tile, color, word, cycle))
    return false;
  record_input((Timeline *)base, (Input){.kind = INPUT_POST, .tile = tile, .color = color,
                                         .word = word, .cycle = cycle});
  return true;
}

static size_t take_words(Engine *base, uint32_t tile, unsigned color, uint32_t *words,
                         uint64_t *cycles, size_t max)
{
  size_t taken = ops_of(base)->take(inner_of(base), tile, color, words, cycles, max);
  if (taken)
    record_input((Timeline *)base, (Input){.kind = INPUT_TAKE, .tile = tile, .color = color,
                                           .word = (uint32_t)taken});
  return taken;
}

static uint32_t count_unblocks(Engine *base, uint32_t tile)
{
  return ops_of(base)->unblock_count(inner_of(base), tile);
}

static Tile *find_tile(Engine *base, uint32_t tile, bool touch)
{
  return ops_of(base)->tile(inner_of(base), tile, touch);
}

static HostPort *find_host(Engine *base, uint32_t tile, bool create)
{
  return ops_of(base)->host(inner_of(base), tile, create);
}

static void wake_tile(Engine *base, uint32_t tile, uint64_t cycle)
{
  ops_of(base)->wake(inner_of(base), tile, cycle);
}

static const EngineOps engine_timeline = {
  .name = "timeline",
  .create = refuse_create,
  .destroy = destroy_timeline,
  .run = timeline_run,
  .cycle = show_cycle,
  .skip_to = skip_time,
  .stats = show_stats,
  .phase_begin = begin_phase,
  .faults = show_faults,
  .inspect = show_tile,
  .touched = is_touched,
  .registers = show_registers,
  .mem_read = read_memory,
  .mem_write = write_memory,
  .launch = launch_function,
  .post = post_word,
  .take = take_words,
  .unblock_count = count_unblocks,
  .tile = find_tile,
  .host = find_host,
  .wake = wake_tile,
};

/* ---- types ----------------------------------------------------------------------------------- */

const DebugType *timeline_slice(Timeline *t, uint32_t of, uint32_t count)
{
  for (size_t i = 0; i < arrlenu(t->slices); i++)
    if (t->slices[i]->type.of == of && t->slices[i]->count == count)
      return &t->slices[i]->type;
  const DebugType *element = image_debug_type(t->base.program->image, of);
  Slice *s = base_malloc(sizeof *s);
  s->count = count;
  s->name = base_print("[%u]%s", count, element->name);
  s->type = (DebugType){.kind = DT_ARRAY, .name = s->name, .bytes = count * element->bytes,
                        .bits = 8 * count * element->bytes, .of = of, .n_dims = 1,
                        .dims = &s->count};
  arrput(t->slices, s);
  return &s->type;
}
