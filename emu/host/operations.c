/* Host operations: the words that go to the tiles, the moment when an operation counts as done, and
 * the order of operations. */
#include "emu/host/session_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum {
  SLICE_CYCLES = 1 << 14,       /* between looks at streams while the program runs */
  MOST_IDLE_POLLS = 1000,       /* then session_is_done reports a deadlock */
  MOST_DONE_KEPT = 256,         /* operations that are done, before the list is cut */
  TAKE_WORDS = 256,             /* taken at a time where they do not lie together in the buffer */
  HALF_MASK = 0xffff
};

static bool is_command(OperationKind kind)
{
  return kind == OPERATION_COPY_IN || kind == OPERATION_COPY_OUT || kind == OPERATION_LAUNCH;
}

/* ---- words to tiles --------------------------------------------------------------------- */

enum { MAX_BURST = COMMAND_WORDS + MAX_LAUNCH_WORDS };

/* The times in which the words of one burst reach the tiles of a channel. */
typedef struct { bool sent; uint64_t at[MAX_BURST]; } BurstTime;

static uint64_t channel_time(HostSession *s, unsigned channel)
{
  return host_channel_time(&s->channels[channel], &s->program->timing, session_cycle(s));
}

static void post_at(HostSession *s, uint32_t tile, unsigned color, uint32_t word, uint64_t at)
{
  if (!s->ops->post(s->engine, tile, color, word, at))
    ICE("tile %u takes no word on color %u", tile, color);
  if (at > s->posted_until)
    s->posted_until = at;
}

/* A command is charged to a channel once; it reaches the tiles one after the other, as far as they
 * are from the place where the channel comes in. */
static void post_burst(HostSession *s, BurstTime *times, uint32_t tile, const uint32_t *words,
                       unsigned n)
{
  unsigned channel = program_channel(s->program, tile);
  BurstTime *time = &times[channel];
  uint64_t way = (uint64_t)program_command_routers(s->program, tile) * s->program->timing.hop;
  for (unsigned i = 0; i < n; i++) {
    if (!time->sent)
      time->at[i] = channel_time(s, channel);
    post_at(s, tile, s->program->machine->memcpy_command_color, words[i], time->at[i] + way);
  }
  time->sent = true;
}

static BurstTime *burst_times(HostSession *s)
{
  return base_zeroed(arrlenu(s->channels), sizeof(BurstTime));
}

static void copy_command(const HostSession *s, const Operation *op, uint32_t tile, bool read,
                         uint32_t words[COMMAND_WORDS])
{
  const ImageBinding *b = session_binding(s, tile, op->transfer.target);
  CommandCode code = read ? (op->transfer.is_16bit ? COMMAND_READ_16 : COMMAND_READ_32)
                          : (op->transfer.is_16bit ? COMMAND_WRITE_16 : COMMAND_WRITE_32);
  host_command(code, b->address, op->transfer.elements,
               b->is_pointer ? COMMAND_FOLLOW_POINTER : 0, words);
}

/* One word of the buffer goes to one tile, or as a broadcast to a row or column of tiles; a
 * channel is charged once for it. */
static void post_word(HostSession *s, const HostTiles *tiles, unsigned color, uint32_t word,
                      uint32_t column, uint32_t row)
{
  WseBroadcast broadcast = tiles->transfer->broadcast;
  uint32_t n = broadcast == WSE_SAME_IN_COLUMN ? tiles->rows
               : broadcast == WSE_SAME_IN_ROW  ? tiles->columns
                                               : 1;
  unsigned charged = UINT_MAX;
  uint64_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t tile = host_tiles_at(tiles, s->program,
                                  column + (broadcast == WSE_SAME_IN_ROW ? i : 0),
                                  row + (broadcast == WSE_SAME_IN_COLUMN ? i : 0));
    unsigned channel = program_channel(s->program, tile);
    if (channel != charged)
      at = channel_time(s, channel);
    charged = channel;
    post_at(s, tile, color, word, at);
  }
}

/* Words leave the host as they lie in its buffer. */
static void post_words(HostSession *s, const Operation *op, unsigned color)
{
  const uint32_t *from = op->from;
  HostTiles tiles = host_tiles(&op->transfer);
  HostShape shape = host_shape(&op->transfer);
  if (shape.order == WSE_ROW_MAJOR) {
    for (uint32_t row = 0; row < shape.rows; row++)
      for (uint32_t column = 0; column < shape.columns; column++)
        for (uint32_t i = 0; i < shape.elements; i++)
          post_word(s, &tiles, color, *from++, column, row);
    return;
  }
  for (uint32_t i = 0; i < shape.elements; i++)
    for (uint32_t column = 0; column < shape.columns; column++)
      for (uint32_t row = 0; row < shape.rows; row++)
        post_word(s, &tiles, color, *from++, column, row);
}

static void issue_copy_in(HostSession *s, Operation *op)
{
  BurstTime *times = burst_times(s);
  uint32_t tile, words[COMMAND_WORDS];
  HostTiles tiles = host_tiles(&op->transfer);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    copy_command(s, op, tile, false, words);
    post_burst(s, times, tile, words, COMMAND_WORDS);
  }
  free(times);
  post_words(s, op, s->program->machine->memcpy_command_color);
}

static void expect_words(Operation *op)
{
  size_t tiles = host_tile_count(&op->transfer);
  op->missing = tiles * op->transfer.elements;
  op->received = base_zeroed(tiles, sizeof *op->received);
}

static void issue_copy_out(HostSession *s, Operation *op)
{
  BurstTime *times = burst_times(s);
  uint32_t tile, words[COMMAND_WORDS];
  HostTiles tiles = host_tiles(&op->transfer);
  expect_words(op);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    copy_command(s, op, tile, true, words);
    post_burst(s, times, tile, words, COMMAND_WORDS);
  }
  free(times);
}

static void issue_launch(HostSession *s, Operation *op)
{
  BurstTime *args = burst_times(s), *calls = burst_times(s);
  uint32_t words[MAX_BURST];
  if (!s->unblocks_expected)
    s->unblocks_expected = base_zeroed(s->program->n_tiles, sizeof *s->unblocks_expected);
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    const ImageBinding *b = session_binding(s, tile, op->function);
    if (!b)
      continue;
    if (op->n_args) {
      const ClassCode *cls = program_class(s->program, tile);
      host_command(COMMAND_WRITE_32, cls->image->launch_args, op->n_args, 0, words);
      memcpy(words + COMMAND_WORDS, op->args, op->n_args * sizeof *words);
      post_burst(s, args, tile, words, COMMAND_WORDS + op->n_args);
    }
    host_command(COMMAND_LAUNCH, b->address, 0, 0, words);
    post_burst(s, calls, tile, words, COMMAND_WORDS);
    s->unblocks_expected[tile]++;
  }
  free(args);
  free(calls);
  op->missing = 1;      /* until a caller looks */
}

static void issue_operation(HostSession *s, Operation *op)
{
  op->state = OPERATION_ISSUED;
  s->quiet = false;
  s->streaming |= op->kind == OPERATION_STREAM_IN || op->kind == OPERATION_STREAM_OUT;
  switch (op->kind) {
  case OPERATION_COPY_IN: issue_copy_in(s, op); break;
  case OPERATION_COPY_OUT: issue_copy_out(s, op); break;
  case OPERATION_STREAM_OUT: expect_words(op); break;
  case OPERATION_LAUNCH: issue_launch(s, op); break;
  case OPERATION_STREAM_IN:
    post_words(s, op, op->transfer.target);
    op->state = OPERATION_DONE;      /* the words are on their way, in order */
    break;
  default: ICE("bad host operation %d", (int)op->kind);
  }
}

/* ---- words from tiles ------------------------------------------------------------------- */

/* Takes what a tile has sent for an operation, at most what it still lacks. */
static uint32_t take_words(HostSession *s, Operation *op, uint32_t tile, unsigned color,
                           const HostRun *run, uint32_t received)
{
  uint32_t words[TAKE_WORDS], start = received, elements = op->transfer.elements;
  bool halves = op->transfer.is_16bit && op->kind == OPERATION_COPY_OUT;
  while (received < elements) {
    size_t most = elements - received < TAKE_WORDS ? elements - received : TAKE_WORDS;
    size_t got = s->ops->take(s->engine, tile, color, words, NULL, most);
    for (size_t i = 0; i < got; i++)
      op->to[run->first + (received + i) * run->stride] = halves ? words[i] & HALF_MASK : words[i];
    received += (uint32_t)got;
    if (got < most)
      break;
  }
  return received - start;
}

/* Takes what has come for an operation; the engine hands words out at the channels' pace. */
static void collect_words(HostSession *s, Operation *op)
{
  unsigned color = op->kind == OPERATION_COPY_OUT ? s->program->machine->memcpy_result_color
                                                  : op->transfer.target;
  uint32_t tile, *received = op->received;
  HostTiles tiles = host_tiles(&op->transfer);
  HostShape shape = host_shape(&op->transfer);
  for (; host_tiles_next(&tiles, s->program, &tile); received++) {
    HostRun run = host_shape_run(&shape, tiles.column, tiles.row);
    uint32_t got = take_words(s, op, tile, color, &run, *received);
    *received += got;
    op->missing -= got;
  }
}

static size_t tiles_to_unblock(HostSession *s, const Operation *op)
{
  size_t missing = 0;
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++)
    if (session_binding(s, tile, op->function))
      missing += s->ops->unblock_count(s->engine, tile) < s->unblocks_expected[tile];
  return missing;
}

void session_collect(HostSession *s)
{
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    Operation *op = &s->operations[i];
    if (op->state == OPERATION_ISSUED && op->missing && op->received)
      collect_words(s, op);
  }
}

static void skip_done(HostSession *s)
{
  while (s->first_open < arrlenu(s->operations) &&
         s->operations[s->first_open].state == OPERATION_DONE)
    s->first_open++;
}

static void finish_operation(HostSession *s, Operation *op)
{
  op->state = OPERATION_DONE;
  free(op->received);
  op->received = NULL;
  skip_done(s);
}

/* Marks what is done; true if anything changed. */
static bool settle_operations(HostSession *s, bool quiet)
{
  bool changed = false;
  session_collect(s);
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    Operation *op = &s->operations[i];
    if (op->state != OPERATION_ISSUED)
      continue;
    if (op->kind == OPERATION_LAUNCH)
      op->missing = tiles_to_unblock(s, op);
    bool streams = op->kind == OPERATION_STREAM_OUT;
    if (op->missing == 0 && (quiet || streams)) {
      finish_operation(s, op);
      changed = true;
    }
  }
  return changed;
}

/* ---- order ------------------------------------------------------------------------------ */

/* Whether a command waits for a quiet fabric: a copy to the host does, and what follows a stream to
 * the tiles that a caller has waited for. */
static bool needs_quiet(const HostSession *s, const Operation *op)
{
  return is_command(op->kind) && (op->kind == OPERATION_COPY_OUT || s->stream_settles);
}

/* Issues what may go out now; true if anything did. A command waits for those before it, some also
 * for a quiet fabric. */
static bool issue_ready(HostSession *s, bool quiet)
{
  bool issued = false, command_open = false;
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    Operation *op = &s->operations[i];
    bool command = is_command(op->kind);
    if (op->state == OPERATION_QUEUED && !(command && command_open) &&
        (quiet || !needs_quiet(s, op))) {
      issue_operation(s, op);
      issued = true;
    }
    command_open |= command && op->state != OPERATION_DONE;
  }
  return issued;
}

static const Operation *oldest_issued(const HostSession *s)
{
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++)
    if (s->operations[i].state == OPERATION_ISSUED)
      return &s->operations[i];
  return NULL;
}

/* The phase that the next cycles belong to: the program's, unless nothing but copies go on. */
static void begin_phase(HostSession *s, const Operation *op)
{
  static const char *const verbs[] = {
    [OPERATION_COPY_IN] = "h2d", [OPERATION_COPY_OUT] = "d2h", [OPERATION_STREAM_IN] = "stream in",
    [OPERATION_STREAM_OUT] = "stream out", [OPERATION_LAUNCH] = "launch",
  };
  bool copy = op->kind == OPERATION_COPY_IN || op->kind == OPERATION_COPY_OUT;
  bool stream = op->kind == OPERATION_STREAM_IN || op->kind == OPERATION_STREAM_OUT;
  char color[32];
  snprintf(color, sizeof color, "color %u", op->transfer.target);
  const char *name = op->kind == OPERATION_LAUNCH ? s->image->exports[op->function].name
                     : stream                     ? color
                                                  : s->image->exports[op->transfer.target].name;
  session_phase(s, !copy || s->streaming, verbs[op->kind], name);
  s->phase_has_command = copy || op->kind == OPERATION_LAUNCH;
}

/* NULL: it is done and forgotten, or there never was one. */
static Operation *find_operation(HostSession *s, WseTask task)
{
  bool kept = task >= s->first_id && task - s->first_id < arrlenu(s->operations);
  return kept ? &s->operations[task - s->first_id] : NULL;
}

static bool is_known(const HostSession *s, WseTask task)
{
  return task >= 1 && task < s->first_id + arrlenu(s->operations);
}

static bool is_done(HostSession *s, WseTask task)
{
  const Operation *op = find_operation(s, task);
  return !op || op->state == OPERATION_DONE;
}

/* Whether any tile takes words of a color that belongs to the host alone. */
static bool takes_streams(const HostSession *s)
{
  const Machine *machine = s->program->machine;
  for (uint32_t c = 0; c < s->image->n_classes; c++)
    for (unsigned color = 0; color < machine->colors; color++)
      if ((s->program->host_out_colors >> color & 1) && color != machine->memcpy_command_color &&
          color != machine->memcpy_result_color &&
          s->image->classes[c].data_queue[color] < MAX_QUEUES)
        return true;
  return false;
}

/* A launch that stands still on every tile may go on with a stream that the host sends next. */
static bool is_delivered(const HostSession *s, const Operation *op)
{
  return op && op->kind == OPERATION_LAUNCH && op->state == OPERATION_ISSUED && takes_streams(s);
}

static const char *why_launch(HostSession *s, const Operation *op)
{
  Engine *shown = session_shown(s);
  uint32_t first = UINT32_MAX, n = 0, missing = 0;
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    bool is_missing = session_binding(s, tile, op->function) &&
                      shown->ops->unblock_count(shown, tile) < s->unblocks_expected[tile];
    n += session_binding(s, tile, op->function) != NULL;
    missing += is_missing;
    if (is_missing && first == UINT32_MAX)
      first = tile;
  }
  return arena_printf(
      diags_scratch(s->diags), "'%s' was launched and %u of %u tiles, the first at P%u.%u, have "
      "not unblocked the command stream: every tile must call unblock_cmd_stream() once per launch",
      s->image->exports[op->function].name, missing, n, program_x(s->program, first),
      program_y(s->program, first));
}

/* A tile of a stream to the host that receives on its color, which is then that of a stream to the
 * tiles; NO_TILE: there is none. */
static uint32_t receiver_of(HostSession *s, const WseTransfer *t)
{
  uint32_t tile;
  HostTiles tiles = host_tiles(t);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    const ClassCode *cls = program_class(s->program, tile);
    if (cls && cls->image->data_queue[t->target] < MAX_QUEUES)
      return tile;
  }
  return NO_TILE;
}

/* What a stream to the host is called. */
static const char *stream_text(HostSession *s, const WseTransfer *t)
{
  uint32_t tile = 0;
  HostTiles tiles = host_tiles(t);
  bool is_one = host_tile_count(t) == 1 && host_tiles_next(&tiles, s->program, &tile);
  const ImageStream *stream = is_one ? program_stream(s->program, tile, t->target) : NULL;
  return stream ? arena_printf(diags_scratch(s->diags), "the stream '%s' to the host", stream->name)
                : arena_printf(diags_scratch(s->diags), "a stream to the host on color %u",
                               t->target);
}

static const char *why_missing(HostSession *s, const Operation *op)
{
  bool streams = op->kind == OPERATION_STREAM_OUT;
  uint32_t receiver = streams ? receiver_of(s, &op->transfer) : NO_TILE;
  size_t all = host_tile_count(&op->transfer) * op->transfer.elements;
  const char *what = streams ? stream_text(s, &op->transfer)
                             : arena_printf(diags_scratch(s->diags), "a copy of '%s' to the host",
                                            s->image->exports[op->transfer.target].name);
  const char *hint = receiver == NO_TILE ? "" : arena_printf(
    diags_scratch(s->diags), "; P%u.%u receives on this color, so it is one of "
    "streams to the tiles", program_x(s->program, receiver),
    program_y(s->program, receiver));
  return arena_printf(diags_scratch(s->diags), "%s has got only %zu of its %zu words%s", what,
                      all - op->missing, all, hint);
}

/* The tiles that the stream waits for. */
static void add_short_colors(const HostSession *s, const Operation *op, uint32_t *short_colors)
{
  const uint32_t *received = op->received;
  uint32_t tile;
  HostTiles tiles = host_tiles(&op->transfer);
  for (; host_tiles_next(&tiles, s->program, &tile); received++)
    if (*received < op->transfer.elements)
      short_colors[tile] |= 1u << op->transfer.target;
}

/* By tile, the function whose launch is not over: a tile carries out its launches in order. */
static uint32_t *open_launches(HostSession *s)
{
  Engine *shown = session_shown(s);
  uint32_t *launched = base_malloc(sizeof *launched * s->program->n_tiles);
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    uint32_t open = s->unblocks_expected
                      ? s->unblocks_expected[tile] - shown->ops->unblock_count(shown, tile) : 0;
    launched[tile] = UINT32_MAX;
    for (size_t i = arrlenu(s->operations); i-- > s->first_open && open;) {
      const Operation *op = &s->operations[i];
      if (op->kind == OPERATION_LAUNCH && op->state == OPERATION_ISSUED &&
          session_binding(s, tile, op->function) && --open == 0)
        launched[tile] = op->function;
    }
  }
  return launched;
}

const char *session_ask(HostSession *s, IdleQuestion *question)
{
  uint32_t *short_colors = base_zeroed(s->program->n_tiles, sizeof *short_colors);
  const char *why = NULL;
  *question = (IdleQuestion){.host = s->image->memcpy || s->more_launches,
                             .unblocks_expected = s->unblocks_expected,
                             .short_colors = short_colors, .launched = open_launches(s)};
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    const Operation *op = &s->operations[i];
    if (op->state != OPERATION_ISSUED || op->missing == 0)
      continue;
    question->unblock_missing |= op->kind == OPERATION_LAUNCH;
    question->stream_short |= op->received != NULL;
    if (op->kind == OPERATION_STREAM_OUT && op->received)
      add_short_colors(s, op, short_colors);
    if (!why)
      why = op->kind == OPERATION_LAUNCH ? why_launch(s, op) : why_missing(s, op);
  }
  return why;
}

void session_asked(IdleQuestion *question)
{
  free((uint32_t *)question->short_colors);
  free((uint32_t *)question->launched);
}

/* Nothing changes and nothing more can be issued. */
static WseStatus report_stuck(HostSession *s)
{
  IdleQuestion question;
  const char *why = session_ask(s, &question);
  WseStatus status = session_stuck(s, &question, why);
  session_asked(&question);
  return status;
}

/* Whether all tiles have done what the oldest open command asks, so that the host waits for
 * nothing but a quiet fabric. */
static bool waits_for_quiet(const HostSession *s)
{
  if (session_cycle(s) < s->posted_until)
    return false;
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    const Operation *op = &s->operations[i];
    if (is_command(op->kind) && op->state != OPERATION_DONE)
      return op->state == OPERATION_ISSUED ? op->missing == 0 : needs_quiet(s, op);
  }
  return false;
}

/* One step of progress: issue, run, settle.  *idle: nothing can change any more and nothing can be
 * issued.  Tiles that never rest, by a task that activates itself, hold the host up for a while
 * only. */
static WseStatus make_progress(HostSession *s, bool *idle)
{
  bool quiet = false;
  issue_ready(s, s->quiet);
  const Operation *oldest = oldest_issued(s);
  if (oldest) {
    begin_phase(s, oldest);
  } else {                         /* words of streams are under way, or tiles at work */
    session_phase(s, true, "run", "");
    s->phase_has_command = false;
  }
  uint64_t start = session_cycle(s), limit = start + SESSION_PATIENCE_CYCLES;
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++)
    if (s->operations[i].kind == OPERATION_STREAM_OUT)
      limit = start + SLICE_CYCLES;
  bool waits = waits_for_quiet(s);
  *idle = false;
  WseStatus status = session_step(s, limit, &quiet);
  if (status != WSE_OK)
    return status;
  bool goes_on = quiet || (waits && session_cycle(s) - start >= SESSION_PATIENCE_CYCLES);
  bool changed = settle_operations(s, goes_on);
  s->quiet = quiet;
  s->streaming &= !quiet;
  changed |= issue_ready(s, goes_on);
  s->stream_settles &= !goes_on;
  *idle = (quiet || s->loops) && !changed;
  return WSE_OK;
}

/* With `all`, launches that are only delivered are waited for like everything else. */
static WseStatus wait_for(HostSession *s, WseTask task, bool all)
{
  WseStatus status = WSE_OK;
  while (status == WSE_OK && !is_done(s, task)) {
    bool idle;
    status = make_progress(s, &idle);
    if (status != WSE_OK || !idle || is_done(s, task))
      continue;
    if (!all && is_delivered(s, find_operation(s, task)))
      return WSE_OK;
    status = report_stuck(s);
    if (status == WSE_OK)
      ICE("an operation of the host stands still, and nothing holds it up");
  }
  return status;
}

WseStatus session_wait(HostSession *s, WseTask task)
{
  WseStatus status = session_ended(s);
  if (status != WSE_OK)
    return status;
  if (!is_known(s, task)) {
    diag_task_number(s->diags, HOST_NOWHERE, task);
    return session_usage(s);
  }
  const Operation *op = find_operation(s, task);
  s->stream_settles |= op && op->kind == OPERATION_STREAM_IN;
  return wait_for(s, task, false);
}

WseStatus session_drain(HostSession *s)
{
  WseStatus status = WSE_OK;
  for (size_t i = s->first_open; status == WSE_OK && i < arrlenu(s->operations); i++)
    status = wait_for(s, s->operations[i].id, true);
  return status;
}

bool session_is_done(HostSession *s, WseTask task)
{
  bool idle;
  if (session_ended(s) != WSE_OK || is_done(s, task) || make_progress(s, &idle) != WSE_OK)
    return true;
  if (is_done(s, task) || (idle && is_delivered(s, find_operation(s, task))))
    return true;
  if (!idle)
    s->idle_polls = 0;
  else if (++s->idle_polls == MOST_IDLE_POLLS)
    return report_stuck(s) != WSE_OK;
  return false;
}

/* Appends an operation and gives it its number. */
static WseTask append_operation(HostSession *s, const Operation *op)
{
  if (s->first_open >= MOST_DONE_KEPT) {
    arrdeln(s->operations, 0, s->first_open);
    s->first_id += s->first_open;
    s->first_open = 0;
  }
  Operation copy = *op;
  copy.id = s->first_id + arrlenu(s->operations);
  arrput(s->operations, copy);
  s->idle_polls = 0;
  return copy.id;
}

/* Before the first host action with memcpy: the tiles' own start is over and they wait for
 * commands, so that its cycles are not mixed with those of the action; unless they never rest. */
static WseStatus start_tiles(HostSession *s)
{
  if (s->started || !s->image->memcpy)
    return WSE_OK;
  session_phase(s, true, "start", "");
  s->phase_has_command = false;
  bool quiet;
  WseStatus status = session_step(s, session_cycle(s) + SESSION_PATIENCE_CYCLES, &quiet);
  if (status == WSE_OK)
    session_collect(s);
  return status;
}

static WseStatus submit_operation(HostSession *s, const Operation *op, WseTask *task)
{
  WseStatus status = start_tiles(s);
  if (status != WSE_OK)
    return status;
  WseTask id = append_operation(s, op);
  issue_ready(s, false);
  skip_done(s);
  if (!task)
    return session_wait(s, id);
  *task = id;
  return WSE_OK;
}

/* An operation that was carried out on the spot, for a caller that wants a task. */
static WseStatus done_at_once(HostSession *s, OperationKind kind, WseTask *task)
{
  WseTask id = append_operation(s, &(Operation){.kind = kind, .state = OPERATION_DONE});
  skip_done(s);
  if (task)
    *task = id;
  return WSE_OK;
}

/* ---- copies without memcpy -------------------------------------------------------------- */

/* The elements of one tile, packed as they lie in its memory. */
static bool copy_tile(HostSession *s, const WseTransfer *t, uint32_t tile, const HostRun *run,
                      const uint32_t *in, uint32_t *out)
{
  const ImageBinding *b = session_binding(s, tile, t->target);
  unsigned width = t->is_16bit ? NARROW_BYTES : WIDE_BYTES;
  uint8_t bytes[PE_MEM_BYTES];
  for (uint32_t i = 0; in && i < t->elements; i++)
    for (unsigned k = 0; k < width; k++)
      bytes[i * width + k] = (uint8_t)(in[run->first + i * run->stride] >> 8 * k);
  if (in)
    return session_poke(s, tile, b, t->elements * width, bytes);
  if (!session_peek(s, tile, b, t->elements * width, bytes))
    return false;
  for (uint32_t i = 0; i < t->elements; i++) {
    uint32_t word = 0;
    for (unsigned k = 0; k < width; k++)
      word |= (uint32_t)bytes[i * width + k] << 8 * k;
    out[run->first + i * run->stride] = word;
  }
  return true;
}

static WseStatus copy_directly(HostSession *s, const WseTransfer *t, const uint32_t *in,
                               uint32_t *out, WseTask *task)
{
  uint32_t tile;
  HostTiles tiles = host_tiles(t);
  HostShape shape = host_shape(t);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    HostRun run = host_shape_run(&shape, tiles.column, tiles.row);
    if (!copy_tile(s, t, tile, &run, in, out))
      return session_report_outside(s, tile, s->image->exports[t->target].name);
  }
  return done_at_once(s, in ? OPERATION_COPY_IN : OPERATION_COPY_OUT, task);
}

WseStatus session_h2d(HostSession *s, const WseTransfer *transfer, const uint32_t *words,
                      WseTask *task)
{
  WseStatus status = session_check_transfer(s, transfer, true);
  if (status != WSE_OK)
    return status;
  if (transfer->elements == 0)
    return done_at_once(s, OPERATION_COPY_IN, task);
  session_check_values(s, transfer, words);
  if (!s->image->memcpy)
    return copy_directly(s, transfer, words, NULL, task);
  Operation op = {.kind = transfer->streaming ? OPERATION_STREAM_IN : OPERATION_COPY_IN,
                  .transfer = *transfer, .from = words};
  return submit_operation(s, &op, task);
}

WseStatus session_d2h(HostSession *s, const WseTransfer *transfer, uint32_t *words, WseTask *task)
{
  WseStatus status = session_check_transfer(s, transfer, false);
  if (status != WSE_OK)
    return status;
  if (transfer->elements == 0)
    return done_at_once(s, OPERATION_COPY_OUT, task);
  if (!s->image->memcpy)
    return copy_directly(s, transfer, NULL, words, task);
  Operation op = {.kind = transfer->streaming ? OPERATION_STREAM_OUT : OPERATION_COPY_OUT,
                  .transfer = *transfer, .to = words};
  return submit_operation(s, &op, task);
}

/* ---- launches --------------------------------------------------------------------------- */

static WseStatus run_until_quiet(HostSession *s)
{
  bool quiet;
  WseStatus status = session_step(s, UINT64_MAX, &quiet);
  if (status == WSE_OK)
    session_collect(s);
  return status;
}

/* A tile keeps one launch that it has not begun. */
static bool check_launch_fits(HostSession *s, uint32_t function)
{
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    const Tile *t = s->ops->tile(s->engine, tile, false);
    if (t && t->launch_pending && session_binding(s, tile, function)) {
      diag_launch_waits(s->diags, HOST_NOWHERE, s->image->exports[function].name,
                        program_x(s->program, tile), program_y(s->program, tile));
      return false;
    }
  }
  return true;
}

/* Without memcpy the engine calls the function itself; arguments are put in place at no cost. */
static void deliver_launch(HostSession *s, uint32_t function, const uint32_t *args,
                           uint32_t n_args)
{
  uint8_t bytes[MAX_LAUNCH_WORDS * LAUNCH_WORD_BYTES];
  for (uint32_t i = 0; i < n_args; i++)
    for (unsigned k = 0; k < LAUNCH_WORD_BYTES; k++)
      bytes[i * LAUNCH_WORD_BYTES + k] = (uint8_t)(args[i] >> 8 * k);
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    const ImageBinding *b = session_binding(s, tile, function);
    if (!b)
      continue;
    const ClassCode *cls = program_class(s->program, tile);
    if ((n_args && !s->ops->mem_write(s->engine, tile, cls->image->launch_args, bytes,
                                      n_args * LAUNCH_WORD_BYTES)) ||
        !s->ops->launch(s->engine, tile, b->address))
      ICE("tile %u cannot be launched", tile);
  }
  session_phase(s, true, "launch", s->image->exports[function].name);
  s->phase_has_command = false;
}

WseStatus session_launch_begin(HostSession *s, uint32_t function, const uint32_t *args,
                               uint32_t n_args, WseTask *task)
{
  WseStatus status = session_check_launch(s, function, n_args);
  if (status != WSE_OK)
    return status;
  if (!s->image->memcpy) {
    if (!check_launch_fits(s, function))
      return session_usage(s);
    deliver_launch(s, function, args, n_args);
    return done_at_once(s, OPERATION_LAUNCH, task);
  }
  Operation op = {.kind = OPERATION_LAUNCH, .function = function, .n_args = n_args};
  if (n_args)
    memcpy(op.args, args, n_args * sizeof *args);
  return submit_operation(s, &op, task);
}

WseStatus session_launch_end(HostSession *s, WseTask task)
{
  if (s->image->memcpy)
    return session_wait(s, task);
  WseStatus status = run_until_quiet(s);
  return status == WSE_OK ? session_stuck(s, &(IdleQuestion){.host = s->more_launches}, NULL)
                          : status;
}

WseStatus session_launch(HostSession *s, uint32_t function, const uint32_t *args, uint32_t n_args,
                         WseTask *task)
{
  WseTask own;
  WseStatus status = session_launch_begin(s, function, args, n_args, &own);
  if (status == WSE_OK && task)
    *task = own;
  /* Without memcpy a launch is over on return, with a task or without. */
  return status == WSE_OK && !(task && s->image->memcpy) ? session_launch_end(s, own) : status;
}
