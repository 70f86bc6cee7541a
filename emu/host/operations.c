/* Host operations: what is posted to the tiles, when an operation counts as done, and in which
 * order operations go out. */
#include "emu/host/session_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum {
  SLICE_CYCLES = 1 << 14,       /* between looks at streams while the program runs */
  HALF_MASK = 0xffff, LAUNCH_ARG_BYTES = 4, WIDE_BYTES = 4, NARROW_BYTES = 2
};

static bool is_command(OperationKind kind)
{
  return kind == OPERATION_COPY_IN || kind == OPERATION_COPY_OUT || kind == OPERATION_LAUNCH;
}

/* ---- words to tiles --------------------------------------------------------------------- */

enum { MAX_BURST = COMMAND_WORDS + MAX_LAUNCH_ARGS };

/* The times in which the words of one burst reach the tiles of a channel. */
typedef struct { bool sent; uint64_t at[MAX_BURST]; } BurstTime;

static uint64_t channel_time(Session *s, unsigned channel)
{
  return host_channel_time(&s->channels[channel], &s->program->timing, session_cycle(s));
}

static void post(Session *s, uint32_t tile, unsigned color, uint32_t word, uint64_t at)
{
  if (!s->ops->post(s->engine, tile, color, word, at))
    ICE("tile %u takes no word on color %u", tile, color);
}

/* A command goes to all tiles of a channel at once and is charged to it once. */
static void post_burst(Session *s, BurstTime *times, uint32_t tile, const uint32_t *words,
                       unsigned n)
{
  unsigned channel = program_channel(s->program, tile);
  BurstTime *time = &times[channel];
  for (unsigned i = 0; i < n; i++) {
    if (!time->sent)
      time->at[i] = channel_time(s, channel);
    post(s, tile, s->program->machine->memcpy_command_color, words[i], time->at[i]);
  }
  time->sent = true;
}

static BurstTime *burst_times(Session *s)
{
  size_t size = sizeof(BurstTime) * arrlenu(s->channels);
  BurstTime *times = base_malloc(size);
  memset(times, 0, size);
  return times;
}

static void copy_command(const Session *s, const Operation *op, uint32_t tile, bool read,
                         uint32_t words[COMMAND_WORDS])
{
  const ImageBinding *b = session_binding(s, tile, op->transfer.target);
  CommandCode code = read ? (op->transfer.is_16bit ? COMMAND_READ_16 : COMMAND_READ_32)
                          : (op->transfer.is_16bit ? COMMAND_WRITE_16 : COMMAND_WRITE_32);
  host_command(code, b->address, op->transfer.elements,
               b->is_pointer ? COMMAND_FOLLOW_POINTER : 0, words);
}

static void issue_copy_in(Session *s, Operation *op)
{
  unsigned color = s->program->machine->memcpy_command_color;
  BurstTime *times = burst_times(s);
  uint32_t tile, words[COMMAND_WORDS];
  HostTiles tiles = host_tiles(&op->transfer);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    copy_command(s, op, tile, false, words);
    post_burst(s, times, tile, words, COMMAND_WORDS);
  }
  const uint32_t *from = op->from;
  tiles = host_tiles(&op->transfer);
  while (host_tiles_next(&tiles, s->program, &tile))
    for (uint32_t i = 0; i < op->transfer.elements; i++)
      post(s, tile, color, *from++, channel_time(s, program_channel(s->program, tile)));
  free(times);
}

static void expect_words(Operation *op)
{
  size_t tiles = host_tile_count(&op->transfer);
  op->missing = tiles * op->transfer.elements;
  op->received = base_malloc(sizeof *op->received * (tiles + 1));
  memset(op->received, 0, sizeof *op->received * tiles);
}

static void issue_copy_out(Session *s, Operation *op)
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

static void issue_stream_in(Session *s, Operation *op)
{
  uint32_t tile;
  const uint32_t *from = op->from;
  HostTiles tiles = host_tiles(&op->transfer);
  while (host_tiles_next(&tiles, s->program, &tile))
    for (uint32_t i = 0; i < op->transfer.elements; i++)
      post(s, tile, op->transfer.target, *from++,
           channel_time(s, program_channel(s->program, tile)));
}

static void issue_launch(Session *s, Operation *op)
{
  BurstTime *args = burst_times(s), *calls = burst_times(s);
  uint32_t words[MAX_BURST];
  if (!s->unblocks_expected) {
    s->unblocks_expected = base_malloc(sizeof(uint32_t) * s->program->n_tiles);
    memset(s->unblocks_expected, 0, sizeof(uint32_t) * s->program->n_tiles);
  }
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
}

static void issue(Session *s, Operation *op)
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
    issue_stream_in(s, op);
    op->state = OPERATION_DONE;      /* the words are on their way, in order */
    break;
  default: ICE("bad host operation %d", (int)op->kind);
  }
}

/* ---- words from tiles ------------------------------------------------------------------- */

/* Takes what has come for an operation; the engine hands words out at the channels' pace. */
static void collect_words(Session *s, Operation *op)
{
  unsigned color = op->kind == OPERATION_COPY_OUT ? s->program->machine->memcpy_result_color
                                                  : op->transfer.target;
  uint32_t tile, elements = op->transfer.elements;
  size_t index = 0;
  HostTiles tiles = host_tiles(&op->transfer);
  for (; host_tiles_next(&tiles, s->program, &tile); index++) {
    uint32_t *at = op->to + index * elements + op->received[index];
    size_t most = elements - op->received[index];
    size_t got = most ? s->ops->take(s->engine, tile, color, at, NULL, most) : 0;
    if (op->transfer.is_16bit && op->kind == OPERATION_COPY_OUT)
      for (size_t i = 0; i < got; i++)
        at[i] &= HALF_MASK;
    op->received[index] += (uint32_t)got;
    op->missing -= got;
  }
}

static size_t tiles_to_unblock(Session *s, const Operation *op)
{
  size_t missing = 0;
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++)
    if (session_binding(s, tile, op->function))
      missing += s->ops->unblock_count(s->engine, tile) < s->unblocks_expected[tile];
  return missing;
}

void session_collect(Session *s)
{
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    Operation *op = &s->operations[i];
    if (op->state == OPERATION_ISSUED && op->missing && op->received)
      collect_words(s, op);
  }
}

static void finish_operation(Session *s, Operation *op)
{
  op->state = OPERATION_DONE;
  free(op->received);
  op->received = NULL;
  while (s->first_open < arrlenu(s->operations) &&
         s->operations[s->first_open].state == OPERATION_DONE)
    s->first_open++;
}

/* Marks what is done; true if anything changed. */
static bool settle(Session *s, bool quiet)
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

/* Issues what may go out now; true if anything did.  A command waits for those before it, and a
 * copy to the host for a quiet fabric besides. */
static bool issue_ready(Session *s, bool quiet)
{
  bool issued = false, command_open = false;
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    Operation *op = &s->operations[i];
    bool command = is_command(op->kind);
    if (op->state == OPERATION_QUEUED &&
        !(command && (command_open || (op->kind == OPERATION_COPY_OUT && !quiet)))) {
      issue(s, op);
      issued = true;
    }
    command_open |= command && op->state != OPERATION_DONE;
  }
  return issued;
}

static const Operation *oldest_issued(const Session *s)
{
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++)
    if (s->operations[i].state == OPERATION_ISSUED)
      return &s->operations[i];
  return NULL;
}

/* The phase that the next cycles belong to: the program's, unless nothing but copies go on. */
static void begin_phase(Session *s, const Operation *op)
{
  static const char *const verbs[] = {
    [OPERATION_COPY_IN] = "h2d", [OPERATION_COPY_OUT] = "d2h", [OPERATION_STREAM_IN] = "stream in",
    [OPERATION_STREAM_OUT] = "stream out", [OPERATION_LAUNCH] = "launch",
  };
  bool copy = op->kind == OPERATION_COPY_IN || op->kind == OPERATION_COPY_OUT;
  bool stream = op->kind == OPERATION_STREAM_IN || op->kind == OPERATION_STREAM_OUT;
  const char *name = op->kind == OPERATION_LAUNCH ? s->image->exports[op->function].name
                     : stream ? arena_printf(s->arena, "color %u", op->transfer.target)
                              : s->image->exports[op->transfer.target].name;
  session_phase(s, !copy || s->streaming, verbs[op->kind], name);
  s->phase_has_command = copy || op->kind == OPERATION_LAUNCH;
}

static Operation *find_operation(Session *s, WseTask task)
{
  return task >= 1 && task <= arrlenu(s->operations) ? &s->operations[task - 1] : NULL;
}

/* Nothing moves and nothing more can be issued. */
static WseStatus report_stuck(Session *s)
{
  IdleQuestion question = {.host = true};
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++) {
    const Operation *op = &s->operations[i];
    question.unblock_missing |= op->kind == OPERATION_LAUNCH && op->state == OPERATION_ISSUED;
    question.stream_short |= op->received != NULL;
  }
  return session_stuck(s, &question);
}

/* One step of progress: issue, run, settle. */
static WseStatus progress(Session *s)
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
  uint64_t limit = UINT64_MAX;
  for (size_t i = s->first_open; i < arrlenu(s->operations); i++)
    if (s->operations[i].kind == OPERATION_STREAM_OUT)
      limit = session_cycle(s) + SLICE_CYCLES;
  WseStatus status = session_step(s, limit, &quiet);
  if (status != WSE_OK)
    return status;
  bool changed = settle(s, quiet);
  s->quiet = quiet;
  s->streaming &= !quiet;
  changed |= issue_ready(s, quiet);
  if (quiet && !changed)
    return report_stuck(s);
  return WSE_OK;
}

WseStatus session_wait(Session *s, WseTask task)
{
  WseStatus status = session_ended(s);
  if (status != WSE_OK)
    return status;
  if (!find_operation(s, task)) {
    diag_task_number(s->diags, HOST_NOWHERE, task);
    return session_usage(s);
  }
  while (status == WSE_OK && find_operation(s, task)->state != OPERATION_DONE)
    status = progress(s);
  return status;
}

bool session_is_done(Session *s, WseTask task)
{
  Operation *op = find_operation(s, task);
  if (!op || s->ended || op->state == OPERATION_DONE)
    return true;
  return progress(s) != WSE_OK || find_operation(s, task)->state == OPERATION_DONE;
}

static WseStatus submit(Session *s, const Operation *op, WseTask *task)
{
  WseStatus status = session_start(s);
  if (status != WSE_OK)
    return status;
  Operation copy = *op;
  copy.id = arrlenu(s->operations) + 1;
  arrput(s->operations, copy);
  issue_ready(s, false);
  while (s->first_open < arrlenu(s->operations) &&
         s->operations[s->first_open].state == OPERATION_DONE)
    s->first_open++;
  if (task) {
    *task = copy.id;
    return WSE_OK;
  }
  return session_wait(s, copy.id);
}

/* An operation that was carried out on the spot, for a caller that wants a task. */
static WseStatus done_at_once(Session *s, OperationKind kind, WseTask *task)
{
  Operation op = {.id = arrlenu(s->operations) + 1, .kind = kind, .state = OPERATION_DONE};
  arrput(s->operations, op);
  if (s->first_open + 1 == arrlenu(s->operations))
    s->first_open++;
  if (task)
    *task = op.id;
  return WSE_OK;
}

/* ---- checks ----------------------------------------------------------------------------- */

static WseStatus check_stream(Session *s, const WseTransfer *t, bool in)
{
  uint32_t tile;
  if (!s->image->memcpy) {
    diag_stream_needs_memcpy(s->diags, HOST_NOWHERE);
    return session_usage(s);
  }
  if (t->target >= s->program->machine->colors || !(s->program->host_out_colors >> t->target & 1)) {
    diag_stream_color(s->diags, HOST_NOWHERE, t->target);
    return session_usage(s);
  }
  HostTiles tiles = host_tiles(t);
  while (in && host_tiles_next(&tiles, s->program, &tile)) {
    const ClassCode *cls = program_class(s->program, tile);
    if (!cls || cls->image->data_queue[t->target] >= MAX_QUEUES) {
      diag_stream_no_queue(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                           program_y(s->program, tile), t->target);
      return session_usage(s);
    }
  }
  return WSE_OK;
}

static WseStatus check_symbol(Session *s, const WseTransfer *t)
{
  if (t->target >= s->image->n_exports) {
    diag_symbol_number(s->diags, HOST_NOWHERE, t->target);
    return session_usage(s);
  }
  const ImageExport *export = &s->image->exports[t->target];
  if (export->kind != EXPORT_DATA) {
    diag_symbol_is_function(s->diags, HOST_NOWHERE, export->name, export->type);
    return session_usage(s);
  }
  uint32_t tile;
  HostTiles tiles = host_tiles(t);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    if (!session_binding(s, tile, t->target)) {
      diag_tile_lacks_symbol(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                             program_y(s->program, tile), export->name);
      return session_usage(s);
    }
  }
  return WSE_OK;
}

static WseStatus check_transfer(Session *s, const WseTransfer *t, bool in)
{
  WseStatus status = session_ended(s);
  if (status != WSE_OK)
    return status;
  if (!host_region_ok(s, t))
    return session_usage(s);
  if (t->streaming)
    return check_stream(s, t, in);
  if ((uint64_t)t->elements * (t->is_16bit ? NARROW_BYTES : WIDE_BYTES) > PE_MEM_BYTES) {
    diag_elements_too_many(s->diags, HOST_NOWHERE, t->elements);
    return session_usage(s);
  }
  return check_symbol(s, t);
}

/* ---- copies without memcpy -------------------------------------------------------------- */

/* The elements of one tile, packed as they lie in its memory. */
static bool copy_tile(Session *s, const WseTransfer *t, uint32_t tile, const uint32_t *in,
                      uint32_t *out)
{
  const ImageBinding *b = session_binding(s, tile, t->target);
  unsigned width = t->is_16bit ? NARROW_BYTES : WIDE_BYTES;
  uint8_t bytes[PE_MEM_BYTES];
  for (uint32_t i = 0; in && i < t->elements; i++)
    for (unsigned k = 0; k < width; k++)
      bytes[i * width + k] = (uint8_t)(in[i] >> 8 * k);
  if (in)
    return session_poke(s, tile, b, t->elements * width, bytes);
  if (!session_peek(s, tile, b, t->elements * width, bytes))
    return false;
  for (uint32_t i = 0; i < t->elements; i++) {
    out[i] = 0;
    for (unsigned k = 0; k < width; k++)
      out[i] |= (uint32_t)bytes[i * width + k] << 8 * k;
  }
  return true;
}

static WseStatus copy_directly(Session *s, const WseTransfer *t, const uint32_t *in, uint32_t *out,
                               WseTask *task)
{
  uint32_t tile;
  size_t at = 0;
  HostTiles tiles = host_tiles(t);
  for (; host_tiles_next(&tiles, s->program, &tile); at += t->elements) {
    if (!copy_tile(s, t, tile, in ? in + at : NULL, in ? NULL : out + at)) {
      diag_memory_outside(s->diags, HOST_NOWHERE, s->image->exports[t->target].name,
                          program_x(s->program, tile), program_y(s->program, tile));
      return session_usage(s);
    }
  }
  return done_at_once(s, in ? OPERATION_COPY_IN : OPERATION_COPY_OUT, task);
}

WseStatus session_h2d(Session *s, const WseTransfer *transfer, const uint32_t *words,
                      WseTask *task)
{
  WseStatus status = check_transfer(s, transfer, true);
  if (status != WSE_OK)
    return status;
  if (transfer->elements == 0)
    return done_at_once(s, OPERATION_COPY_IN, task);
  if (!s->image->memcpy)
    return copy_directly(s, transfer, words, NULL, task);
  Operation op = {.kind = transfer->streaming ? OPERATION_STREAM_IN : OPERATION_COPY_IN,
                  .transfer = *transfer, .from = words};
  return submit(s, &op, task);
}

WseStatus session_d2h(Session *s, const WseTransfer *transfer, uint32_t *words, WseTask *task)
{
  WseStatus status = check_transfer(s, transfer, false);
  if (status != WSE_OK)
    return status;
  if (transfer->elements == 0)
    return done_at_once(s, OPERATION_COPY_OUT, task);
  if (!s->image->memcpy)
    return copy_directly(s, transfer, NULL, words, task);
  Operation op = {.kind = transfer->streaming ? OPERATION_STREAM_OUT : OPERATION_COPY_OUT,
                  .transfer = *transfer, .to = words};
  return submit(s, &op, task);
}

/* ---- launches --------------------------------------------------------------------------- */

static WseStatus check_launch(Session *s, uint32_t function, uint32_t n_args)
{
  WseStatus status = session_ended(s);
  if (status != WSE_OK)
    return status;
  if (function >= s->image->n_exports) {
    diag_symbol_number(s->diags, HOST_NOWHERE, function);
    return session_usage(s);
  }
  const ImageExport *export = &s->image->exports[function];
  if (export->kind != EXPORT_FUNCTION) {
    diag_symbol_is_data(s->diags, HOST_NOWHERE, export->name, export->type);
    return session_usage(s);
  }
  if (n_args != export->n_params) {
    diag_argument_count(s->diags, HOST_NOWHERE, export->name, export->n_params, n_args);
    return session_usage(s);
  }
  for (uint32_t c = 0; c < s->image->n_classes; c++)
    if (s->bindings[(size_t)c * s->image->n_exports + function])
      return WSE_OK;
  diag_symbol_nowhere(s->diags, HOST_NOWHERE, export->name);
  return session_usage(s);
}

/* Without memcpy the engine calls the function itself; arguments are put in place at no cost. */
static WseStatus launch_directly(Session *s, uint32_t function, const uint32_t *args,
                                 uint32_t n_args, WseTask *task)
{
  uint8_t bytes[MAX_LAUNCH_ARGS * LAUNCH_ARG_BYTES];
  for (uint32_t i = 0; i < n_args; i++)
    for (unsigned k = 0; k < LAUNCH_ARG_BYTES; k++)
      bytes[i * LAUNCH_ARG_BYTES + k] = (uint8_t)(args[i] >> 8 * k);
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    const ImageBinding *b = session_binding(s, tile, function);
    if (!b)
      continue;
    const ClassCode *cls = program_class(s->program, tile);
    if ((n_args && !s->ops->mem_write(s->engine, tile, cls->image->launch_args, bytes,
                                      n_args * LAUNCH_ARG_BYTES)) ||
        !s->ops->launch(s->engine, tile, b->address))
      ICE("tile %u cannot be launched", tile);
  }
  session_phase(s, true, "launch", s->image->exports[function].name);
  s->phase_has_command = false;
  WseStatus status = session_until_quiet(s);
  if (status == WSE_OK)
    status = session_stuck(s, &(IdleQuestion){.host = s->more_launches});
  return status == WSE_OK ? done_at_once(s, OPERATION_LAUNCH, task) : status;
}

WseStatus session_launch(Session *s, uint32_t function, const uint32_t *args, uint32_t n_args,
                         WseTask *task)
{
  WseStatus status = check_launch(s, function, n_args);
  if (status != WSE_OK)
    return status;
  if (!s->image->memcpy)
    return launch_directly(s, function, args, n_args, task);
  Operation op = {.kind = OPERATION_LAUNCH, .function = function, .n_args = n_args};
  memcpy(op.args, args, n_args * sizeof *args);
  return submit(s, &op, task);
}
