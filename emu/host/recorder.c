/* A recorder: an engine for the host, made of an engine and of a record of all its answers.  With
 * the record, a state in a file is enough to bring a run back: the host, a command line or a
 * script, begins again from the start and gets the same answers at once, up to the cycle of the
 * state.  From there on the engine runs. */
#include "emu/host/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>
#include <zlib.h>

typedef enum {
  ANSWER_INPUTS,                /* nothing: so many inputs of the host have come, with a checksum */
  ANSWER_SAME,                  /* so many questions had the usual answer */
  ANSWER_RUN,                   /* RunAnswer */
  ANSWER_PRINT,                 /* PrintedByte */
  ANSWER_READ,                  /* number of bytes, the bytes */
  ANSWER_WORDS,                 /* number of words, these, their cycles */
  ANSWER_COUNT,                 /* of unblocks */
  ANSWER_ELSEWHERE,             /* OtherRun: where a run of another wafer has ended for this one */
} AnswerKind;
typedef struct { uint32_t n, crc; } InputCount;
typedef struct {
  uint64_t limit, cycle;
  uint32_t status;
  EngineStats stats;
} RunAnswer;
typedef struct { uint64_t cycle; EngineStats stats; } OtherRun;
typedef struct { uint64_t cycle; uint32_t tile; uint8_t byte; } PrintedByte;
typedef struct { uint32_t kind, tile, color, word; uint64_t cycle; } HostInput;

/* Stands before the record in a file. */
typedef struct {
  uint64_t begun;               /* the run that goes on, if: */
  bool goes_on;
} RecordHead;

typedef struct {
  Engine base;
  EngineOps table;              /* engine_recorder with the name of the engine that runs */
  const EngineOps *ops;         /* of that */
  Engine *inner;
  EngineOptions options;        /* of the host */
  RecorderOptions own;
  unsigned char *answers;       /* stb_ds: AnswerKind and what belongs to it, one after the other */
  size_t last;                  /* where the last of it begins, if that is INPUTS or SAME */
  uint64_t next;                /* the cycle of the next state */
  RecordHead head;
  char *warning;                /* malloc; NULL: all states were written */
  bool closed;                  /* what the host still asks is no part of the run */
  /* while the answers come from the record */
  StateFile *from;              /* NULL: they do not, any more */
  StateReader record;
  InputCount inputs;            /* that are still to come, and the checksum that they will have */
  uint32_t crc, same;
  char *why;                    /* malloc: the host does something else, or the state is bad */
  EngineStats stats;
  uint32_t *unblocks;           /* by tile: the last answer */
} Recorder;

enum { NONE = -1 };

static const EngineOps engine_recorder;

static Recorder *recorder_of(const Engine *engine) { return (Recorder *)(uintptr_t)engine; }

/* ---- new answers ----------------------------------------------------------------------------- */

static void record_answer(Recorder *r, AnswerKind kind, const void *what, size_t n)
{
  uint8_t tag = (uint8_t)kind;
  if (r->closed)
    return;
  r->last = (size_t)NONE;
  state_put(&r->answers, &tag, sizeof tag);
  state_put(&r->answers, what, n);
}

/* Adds to the last record, if it is of this kind, or begins one. */
static void *record_more(Recorder *r, AnswerKind kind, const void *first, size_t n)
{
  size_t at = r->last;
  if (at == (size_t)NONE || r->answers[at] != kind) {
    at = arrlenu(r->answers);
    record_answer(r, kind, first, n);
    r->last = at;
  }
  return r->answers + at + 1;
}

static void record_same(Recorder *r)
{
  uint32_t n = 0;
  if (r->closed)
    return;
  void *at = record_more(r, ANSWER_SAME, &n, sizeof n);
  memcpy(&n, at, sizeof n);
  n++;
  memcpy(at, &n, sizeof n);
}

static uint32_t add_input(uint32_t crc, const HostInput *in, const void *bytes, size_t n)
{
  crc = (uint32_t)crc32_z(crc, (const unsigned char *)in, sizeof *in);
  return n ? (uint32_t)crc32_z(crc, bytes, n) : crc;
}

/* ---- answers of the record ------------------------------------------------------------------- */

static bool is_at_end(const Recorder *r)
{
  return r->record.at == r->record.end && r->inputs.n == 0 && r->same == 0;
}

/* Those of the wafers that run together, itself included. */
static Recorder **group_of(Recorder *r)
{
  Recorder **group = NULL;
  Engine *const *all = r->own.states ? cluster_states_recorders(r->own.states) : NULL;
  for (size_t i = 0; i < arrlenu(all); i++)
    arrput(group, recorder_of(all[i]));
  if (!all)
    arrput(group, r);
  return group;
}

/* From now on the engine runs, in the state of the file. */
static void go_live(Recorder *r)
{
  size_t n;
  const unsigned char *all = state_file_extra(r->from, &n);
  state_put(&r->answers, all + sizeof r->head, n - sizeof r->head);
  char *why = NULL;
  if (!state_file_restore(r->from, r->inner, &why)) {
    free(r->why);
    r->why = why;
  } else {
    r->own.restored(r->own.context, r->inner);
  }
  state_file_close(r->from);
  r->from = NULL;
  r->base.cycle = r->inner->cycle;
  if (r->own.states)
    cluster_resume(r->own.member->cluster, cluster_states_cycle(r->own.states));
}

static void diverge(Recorder *r)
{
  if (!r->why)
    r->why = base_print("the host does something else than in the run that has written it: use the "
                        "same program, arguments and input files");
}

/* The next record, if it is of this kind. */
static bool replay(Recorder *r, AnswerKind kind, void *to, size_t n)
{
  uint8_t tag = 0;
  StateReader at = r->record;
  if (r->why || r->inputs.n || r->same)
    return diverge(r), false;
  state_get(&at, &tag, sizeof tag);
  if (at.bad || tag != kind)
    return diverge(r), false;
  state_get(&at, to, n);
  r->record = at;
  return !at.bad;
}

static bool next_is(const Recorder *r, AnswerKind kind)
{
  return !r->inputs.n && r->record.at < r->record.end && *r->record.at == kind;
}

static void print_again(Recorder *r)
{
  PrintedByte printed;
  while (!r->why && next_is(r, ANSWER_PRINT) && replay(r, ANSWER_PRINT, &printed, sizeof printed))
    if (r->options.print)
      r->options.print(r->options.print_context, printed.cycle, printed.tile, printed.byte);
}

/* Before a run: the wafers that run with this one go on from their states, too. */
static void go_live_together(Recorder *r)
{
  Recorder **group = group_of(r);
  for (size_t i = 0; i < arrlenu(group); i++) {
    Recorder *other = group[i];
    if (other->from)
      print_again(other);
    if (other->from && is_at_end(other))
      go_live(other);
    else if (other->from)
      diverge(r);
    if (other->why && !r->why)
      r->why = base_print("%s", other->why);
  }
  arrfree(group);
}

/* Whether the answer comes from the record; at its end the engine goes on. */
static bool is_replayed(Recorder *r)
{
  if (r->why)
    return true;
  if (r->from && is_at_end(r))
    go_live(r);
  return r->from != NULL || r->why;
}

/* True: the question had the usual answer. */
static bool replay_same(Recorder *r)
{
  if (!r->same && next_is(r, ANSWER_SAME))
    replay(r, ANSWER_SAME, &r->same, sizeof r->same);
  if (!r->same)
    return false;
  r->same--;
  return true;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* True: the engine has had it already. */
static bool has_had(Recorder *r, HostInput in, const void *bytes, size_t n)
{
  if (!is_replayed(r)) {
    InputCount inputs = {0, (uint32_t)crc32_z(0, NULL, 0)};
    if (r->closed)
      return false;
    void *at = record_more(r, ANSWER_INPUTS, &inputs, sizeof inputs);
    memcpy(&inputs, at, sizeof inputs);
    inputs.n++;
    inputs.crc = add_input(inputs.crc, &in, bytes, n);
    memcpy(at, &inputs, sizeof inputs);
    return false;
  }
  if (r->inputs.n == 0) {
    r->crc = (uint32_t)crc32_z(0, NULL, 0);
    if (!replay(r, ANSWER_INPUTS, &r->inputs, sizeof r->inputs))
      return true;
  }
  r->crc = add_input(r->crc, &in, bytes, n);
  if (--r->inputs.n == 0 && r->crc != r->inputs.crc)
    diverge(r);
  return true;
}

/* ---- states -------------------------------------------------------------------------------- */

static void note_unwritten(Recorder *r, const char *why)
{
  free(r->warning);
  r->warning = base_print("%s", why);
}

void recorder_write(Engine *engine, FILE *out)
{
  Recorder *r = recorder_of(engine);
  unsigned char *extra = NULL;
  RecordHead head;
  memset(&head, 0, sizeof head);
  head.begun = r->head.begun;
  head.goes_on = r->head.goes_on;
  state_put(&extra, &head, sizeof head);
  state_put(&extra, r->answers, arrlenu(r->answers));
  state_file_write(out, r->inner, r->own.image, extra, arrlenu(extra));
  arrfree(extra);
}

/* There is more to write than the state that the run has gone on from. */
static bool has_live_one(Recorder *r)
{
  Recorder **group = group_of(r);
  bool any = false, all = true;
  for (size_t i = 0; i < arrlenu(group); i++) {
    any |= !group[i]->from;
    all &= !group[i]->why;
  }
  arrfree(group);
  return any && all;
}

void recorder_save(Engine *engine)
{
  Recorder *r = recorder_of(engine);
  FileOut out;
  const char *why;
  if (!r->own.path || !has_live_one(r))
    return;
  go_live_together(r);
  if (!file_out_open(&out, r->own.path)) {
    note_unwritten(r, strerror(errno));
    return;
  }
  if (r->own.states)
    cluster_states_write(r->own.states, out.stream);
  else
    recorder_write(engine, out.stream);
  if (!file_out_finish(&out, &why))
    note_unwritten(r, why);
}

char *recorder_warning(Engine *engine)
{
  Recorder *r = recorder_of(engine);
  char *text = r->warning;
  r->warning = NULL;
  return text;
}

void recorder_close(Engine *engine)
{
  Recorder **group = group_of(recorder_of(engine));
  for (size_t i = 0; i < arrlenu(group); i++)
    group[i]->closed = true;
  arrfree(group);
}

const char *recorder_why(const Engine *engine) { return recorder_of(engine)->why; }

/* ---- runs ---------------------------------------------------------------------------------- */

static void sync_base(Recorder *r)
{
  r->base.cycle = r->inner->cycle;
  r->base.stopped = r->inner->stopped;
  r->base.quiet = r->inner->quiet;
}

static void note_other_run(Recorder *r)
{
  OtherRun run;
  memset(&run, 0, sizeof run);
  run.cycle = r->base.cycle;
  run.stats = *r->ops->stats(r->inner);
  record_answer(r, ANSWER_ELSEWHERE, &run, sizeof run);
}

static bool repeat_other_run(Recorder *r)
{
  OtherRun run;
  if (!replay(r, ANSWER_ELSEWHERE, &run, sizeof run))
    return false;
  r->base.cycle = run.cycle;
  r->stats = run.stats;
  return true;
}

/* A wafer's run is one of all: time has passed for each, and each may have printed. */
static void note_run_of(Recorder *r)
{
  Recorder **group = group_of(r);
  for (size_t i = 0; i < arrlenu(group); i++) {
    sync_base(group[i]);
    if (group[i] != r)
      note_other_run(group[i]);
  }
  arrfree(group);
}

static void repeat_run_of(Recorder *r)
{
  Recorder **group = group_of(r);
  for (size_t i = 0; i < arrlenu(group); i++) {
    Recorder *other = group[i];
    if (other == r || !other->from)
      continue;
    print_again(other);
    if (!repeat_other_run(other) && !r->why)
      diverge(r);
  }
  arrfree(group);
}

/* Alone or with the other wafers, up to the end of the part, or somewhat behind it. */
static RunStatus run_part(Recorder *r, uint64_t part, uint64_t limit)
{
  ClusterStretch stretch = {r->head.begun, part, limit};
  return r->own.member ? cluster_run(*r->own.member, stretch) : engine_run(r->inner, part);
}

/* In parts, between which states are written. */
static RunStatus run_in_parts(Recorder *r, uint64_t limit)
{
  Engine *inner = r->inner;
  const TraceSink *trace = r->options.trace;
  uint64_t every = r->own.every;
  inner->begun = r->head.begun;
  inner->continues = true;
  for (;;) {
    if (every && r->next <= inner->cycle)
      r->next = inner->cycle / every * every + every;
    bool is_part = every && r->next < limit;
    RunStatus status = run_part(r, is_part ? r->next : limit, limit);
    bool is_over = !is_part || inner->cycle < r->next || inner->cycle >= limit;
    if (status != RUN_LIMIT || is_over || (trace && trace->stop))
      return status;
    recorder_save(&r->base);
  }
}

/* The run goes on after this if a state is written, until the host has the answer. */
static RunStatus run_live(Recorder *r, uint64_t limit)
{
  go_live_together(r);
  if (r->why)
    return RUN_INTERRUPTED;
  if (!r->head.goes_on)
    r->head.begun = r->inner->cycle;
  r->head.goes_on = true;
  RunStatus status = run_in_parts(r, limit);
  r->inner->continues = false;
  sync_base(r);
  if (status == RUN_INTERRUPTED)
    return status;
  note_run_of(r);
  RunAnswer answer;
  memset(&answer, 0, sizeof answer);
  answer.limit = limit;
  answer.cycle = r->base.cycle;
  answer.status = status;
  answer.stats = *r->ops->stats(r->inner);
  record_answer(r, ANSWER_RUN, &answer, sizeof answer);
  r->head.goes_on = false;
  return status;
}

/* What note_run_of and the run itself have recorded last: the run is not over. */
static void forget_run_of(Recorder *r)
{
  Recorder **group = group_of(r);
  for (size_t i = 0; i < arrlenu(group) && !r->why; i++) {
    size_t bytes = 1 + (group[i] == r ? sizeof(RunAnswer) : sizeof(OtherRun));
    arrsetlen(group[i]->answers, arrlenu(group[i]->answers) - bytes);
  }
  arrfree(group);
}

/* A run that had reached its limit, the last of the record, goes on to a later one. */
static bool continues_limit(Recorder *r, const RunAnswer *answer, uint64_t limit)
{
  if (answer->status != RUN_LIMIT || limit <= answer->limit || !is_at_end(r))
    return false;
  go_live_together(r);
  forget_run_of(r);
  return true;
}

static RunStatus record_run(Engine *base, uint64_t limit)
{
  Recorder *r = recorder_of(base);
  RunAnswer answer;
  if (!r->why && r->from)
    print_again(r);
  if (!is_replayed(r))
    return run_live(r, limit);
  if (!replay(r, ANSWER_RUN, &answer, sizeof answer))
    return RUN_INTERRUPTED;
  r->stats = answer.stats;
  base->cycle = answer.cycle;
  repeat_run_of(r);
  if (continues_limit(r, &answer, limit) && !r->why) {
    r->head.goes_on = true;     /* since the beginning that it had */
    return run_live(r, limit);
  }
  if (answer.status == RUN_LIMIT ? answer.limit != limit : answer.cycle > limit)
    diverge(r);
  return r->why ? RUN_INTERRUPTED : (RunStatus)answer.status;
}

static void record_print(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  Recorder *r = context;
  PrintedByte printed;
  memset(&printed, 0, sizeof printed);
  printed.cycle = cycle, printed.tile = tile, printed.byte = byte;
  record_answer(r, ANSWER_PRINT, &printed, sizeof printed);
  r->options.print(r->options.print_context, cycle, tile, byte);
}

/* ---- questions with answers in the record -------------------------------------------------- */

static bool record_read(Engine *base, uint32_t tile, uint32_t address, void *to, uint32_t bytes)
{
  Recorder *r = recorder_of(base);
  uint32_t n = 0;
  if (is_replayed(r)) {
    memset(to, 0, bytes);
    if (!replay(r, ANSWER_READ, &n, sizeof n) || n > bytes)
      return false;
    state_get(&r->record, to, n);
    return n == bytes;
  }
  bool read = r->ops->mem_read(r->inner, tile, address, to, bytes);
  if (r->closed)
    return read;
  n = read ? bytes : 0;
  record_answer(r, ANSWER_READ, &n, sizeof n);
  state_put(&r->answers, to, n);
  return read;
}

static size_t record_take(Engine *base, uint32_t tile, unsigned color, uint32_t *words,
                          uint64_t *cycles, size_t max)
{
  Recorder *r = recorder_of(base);
  uint32_t n = 0;
  if (is_replayed(r)) {
    if (replay_same(r) || !replay(r, ANSWER_WORDS, &n, sizeof n) || n > max)
      return 0;
    state_get(&r->record, words, n * sizeof *words);
    for (uint32_t i = 0; i < n; i++) {
      uint64_t cycle;
      state_get(&r->record, &cycle, sizeof cycle);
      if (cycles)
        cycles[i] = cycle;
    }
    return n;
  }
  uint64_t *at = base_malloc((max + 1) * sizeof *at);
  n = (uint32_t)r->ops->take(r->inner, tile, color, words, at, max);
  if (n) {
    record_answer(r, ANSWER_WORDS, &n, sizeof n);
    state_put(&r->answers, words, n * sizeof *words);
    state_put(&r->answers, at, n * sizeof *at);
  } else {
    record_same(r);
  }
  if (cycles)
    memcpy(cycles, at, n * sizeof *at);
  free(at);
  return n;
}

static uint32_t record_unblocks(Engine *base, uint32_t tile)
{
  Recorder *r = recorder_of(base);
  if (!r->unblocks)
    r->unblocks = base_zeroed(base->program->n_tiles, sizeof *r->unblocks);
  if (is_replayed(r)) {
    if (!replay_same(r))
      replay(r, ANSWER_COUNT, &r->unblocks[tile], sizeof r->unblocks[tile]);
    return r->unblocks[tile];
  }
  uint32_t count = r->ops->unblock_count(r->inner, tile);
  if (count == r->unblocks[tile])
    record_same(r);
  else
    record_answer(r, ANSWER_COUNT, &count, sizeof count);
  return r->unblocks[tile] = count;
}

static const EngineStats *record_stats(const Engine *base)
{
  Recorder *r = recorder_of(base);
  return is_replayed(r) ? &r->stats : r->ops->stats(r->inner);
}

/* ---- inputs of the host -------------------------------------------------------------------- */

static bool record_write(Engine *base, uint32_t tile, uint32_t address, const void *from,
                         uint32_t bytes)
{
  Recorder *r = recorder_of(base);
  HostInput in = {.kind = 1, .tile = tile, .color = address, .word = bytes};
  return has_had(r, in, from, bytes) || r->ops->mem_write(r->inner, tile, address, from, bytes);
}

static bool record_launch(Engine *base, uint32_t tile, uint16_t entry)
{
  Recorder *r = recorder_of(base);
  HostInput in = {.kind = 2, .tile = tile, .color = entry};
  return has_had(r, in, NULL, 0) || r->ops->launch(r->inner, tile, entry);
}

static bool record_post(Engine *base, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle)
{
  Recorder *r = recorder_of(base);
  HostInput in = {.kind = 3, .tile = tile, .color = color, .word = word, .cycle = cycle};
  return has_had(r, in, NULL, 0) || r->ops->post(r->inner, tile, color, word, cycle);
}

static void record_phase(Engine *base)
{
  Recorder *r = recorder_of(base);
  HostInput in = {.kind = 4};
  if (!has_had(r, in, NULL, 0)) {
    r->ops->phase_begin(r->inner);
    return;
  }
  r->stats.first_event = NEVER;
  r->stats.last_event = 0;
}

static void record_skip(Engine *base, uint64_t cycle)
{
  Recorder *r = recorder_of(base);
  HostInput in = {.kind = 5, .cycle = cycle};
  if (!has_had(r, in, NULL, 0))
    r->ops->skip_to(r->inner, cycle);
  base->cycle = cycle > base->cycle ? cycle : base->cycle;
}

/* ---- questions for reports, which the record does not answer: the run is as at its start ---- */

static Engine *shown_engine(const Engine *base)
{
  Recorder *r = recorder_of(base);
  is_replayed(r);
  return r->inner;
}

bool recorder_replays(Engine *engine) { return is_replayed(recorder_of(engine)); }

Engine *recorder_shown(Engine *engine) { return shown_engine(engine); }
Engine *recorder_inner(Engine *engine) { return recorder_of(engine)->inner; }

static const EngineOps *ops_of(const Engine *base) { return recorder_of(base)->ops; }

static const Fault *show_faults(const Engine *base, size_t *count)
{
  return ops_of(base)->faults(shown_engine(base), count);
}

static void show_tile(Engine *base, uint32_t tile, InspectTile *out)
{
  ops_of(base)->inspect(shown_engine(base), tile, out);
}

static bool is_touched(const Engine *base, uint32_t tile)
{
  Engine *inner = shown_engine(base);
  return !recorder_of(base)->from && ops_of(base)->touched(inner, tile);
}

static const Registers *show_registers(Engine *base, uint32_t tile)
{
  return ops_of(base)->registers(shown_engine(base), tile);
}

static Tile *find_tile(Engine *base, uint32_t tile, bool touch)
{
  return ops_of(base)->tile(shown_engine(base), tile, touch);
}

static HostPort *find_host(Engine *base, uint32_t tile, bool create)
{
  return ops_of(base)->host(shown_engine(base), tile, create);
}

static void wake_tile(Engine *base, uint32_t tile, uint64_t cycle)
{
  ops_of(base)->wake(shown_engine(base), tile, cycle);
}

/* ---- the interface of an engine ------------------------------------------------------------ */

static void begin_replay(Recorder *r, StateFile *from)
{
  size_t n;
  const unsigned char *record = state_file_extra(from, &n);
  r->record = (StateReader){record, record + n, false};
  r->from = from;
  state_get(&r->record, &r->head, sizeof r->head);
  if (r->record.bad)
    r->why = base_print("it has no record of the host, so that only a debugger can open it");
}

Engine *recorder_create(const EngineOps *inner, Program *program, const EngineOptions *options,
                        const RecorderOptions *own, StateFile *from)
{
  Recorder *r = base_zeroed(1, sizeof *r);
  r->table = engine_recorder;
  r->base = (Engine){.ops = &r->table, .program = program, .options = *options};
  r->base.options.pulse = NULL;         /* of the inner engine */
  r->ops = inner;
  r->options = *options;
  r->own = *own;
  r->last = (size_t)NONE;
  r->stats.first_event = NEVER;
  EngineOptions of_inner = *options;
  if (options->print) {
    of_inner.print = record_print;
    of_inner.print_context = r;
  }
  r->inner = inner->create(program, &of_inner);
  r->table.name = r->inner->ops->name;
  sync_base(r);
  if (from)
    begin_replay(r, from);
  if (own->states)
    cluster_states_add(own->states, &r->base);
  return &r->base;
}

static Engine *refuse_create(Program *program, const EngineOptions *options)
{
  (void)program, (void)options;
  ICE("a recorder is made by recorder_create");
}

static void record_destroy(Engine *base)
{
  Recorder *r = recorder_of(base);
  r->ops->destroy(r->inner);
  state_file_close(r->from);
  arrfree(r->answers);
  free(r->unblocks);
  free(r->why);
  free(r->warning);
  free(r);
}

static const EngineOps engine_recorder = {
  .name = "recorder",
  .create = refuse_create,
  .destroy = record_destroy,
  .run = record_run,
  .cycle = engine_cycle,
  .skip_to = record_skip,
  .stats = record_stats,
  .phase_begin = record_phase,
  .faults = show_faults,
  .inspect = show_tile,
  .touched = is_touched,
  .registers = show_registers,
  .mem_read = record_read,
  .mem_write = record_write,
  .launch = record_launch,
  .post = record_post,
  .take = record_take,
  .unblock_count = record_unblocks,
  .tile = find_tile,
  .host = find_host,
  .wake = wake_tile,
};
