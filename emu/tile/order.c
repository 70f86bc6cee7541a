/* --check=order: what the program does with memory of operations in the background whose end it has
 * not waited for.  docs/emulator.md, "Looking for silent mistakes".
 *
 * A task knows of an end that has activated or unblocked it.  It may know of one by a wavelet that
 * has started it, or that one of its operations has taken, if that can have come because of the
 * end: the tile, or the operation itself, has sent something, or the wavelet is the host's.  What
 * a task knows, the later tasks of the tile do: it may have set a variable.  So what is found
 * depends on the order in which things have happened, and not on how long they took. */
#include "emu/tile/tile_internal.h"

#include <stdlib.h>

enum { WORD_BYTES = 2, MARK_BITS = 64 };

static TileOrder *order_of(Tile *t)
{
  if (!t->order) {
    t->order = base_malloc(sizeof *t->order);
    *t->order = (TileOrder){0};
  }
  return t->order;
}

/* ---- what is known --------------------------------------------------------------------------- */

static void drop_operation(TileOrder *o, unsigned i)
{
  o->n--;
  for (; i < o->n; i++)
    o->of[i] = o->of[i + 1];
}

static bool sends_wavelets(const VecRun *run) { return run->dest.kind == VS_FABOUT; }

static bool takes_wavelets(const VecRun *run)
{
  return run->src[0].kind == VS_FABIN || run->src[1].kind == VS_FABIN;
}

/* The tile may have sent something behind that cycle. */
static bool has_sent_since(const Tile *t, uint64_t cycle)
{
  for (unsigned bits = t->vectors; bits; bits &= bits - 1)
    if (sends_wavelets(t->threads[__builtin_ctz(bits)].run))
      return true;
  return t->order->sent > cycle;
}

/* The stream may be one of the host, which enters beside the router, and knows everything. */
static bool is_of_host(const Turn *turn, const VecStream *s)
{
  uint32_t tile = turn->tile->index;
  return s->kind == VS_FABIN && (!program_color(turn->program, tile, s->color) ||
                                 program_stream(turn->program, tile, s->color));
}

/* What the operation, which is over, has taken may have come because the other one has ended. */
static bool is_answer(const Turn *turn, const VecRun *run, const Background *b)
{
  if (b->ended == NEVER || !takes_wavelets(run))
    return false;
  return sends_wavelets(&b->run) || has_sent_since(turn->tile, b->ended) ||
         is_of_host(turn, &run->src[0]) || is_of_host(turn, &run->src[1]);
}

void order_start_main(Turn *turn, TaskKind kind, unsigned id)
{
  TileOrder *o = order_of(turn->tile);
  bool by_anything = kind != TASK_LOCAL;        /* a wavelet, maybe of the host, or the host */
  for (unsigned i = o->n; i-- > 0;)
    if (by_anything ? o->of[i].ended != NEVER : o->of[i].wakes >> id & 1)
      drop_operation(o, i);
}

void order_wake(Turn *turn, unsigned id)
{
  TileOrder *o = order_of(turn->tile);
  for (unsigned i = 0; i < o->n; i++)
    if (o->of[i].ended != NEVER)
      o->of[i].wakes |= UINT64_C(1) << id % MAX_TASK_IDS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool is_written(const VecRun *run, const VecStream *s)
{
  return s == &run->dest || (s == &run->src[0] ? run->zero_first : run->zero_second);
}

typedef struct { uint64_t bits[PE_MEM_BYTES / WORD_BYTES / MARK_BITS]; } MarkedWords;

static bool has_mark(const MarkedWords *marks, uint32_t word)
{
  return marks->bits[word / MARK_BITS] >> word % MARK_BITS & 1;
}

/* The memory of the operation's streams, of all or of those that it writes. */
static void mark_operation(MarkedWords *marks, const VecRun *run, bool written)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned k = 0; k < ARRAY_COUNT(streams); k++) {
    VecStream walk = *streams[k];
    if (walk.kind != VS_MEMORY || (written && !is_written(run, streams[k])))
      continue;
    for (uint32_t left = run->remaining; left; left--, vec_stream_advance(&walk))
      for (uint32_t at = walk.address; at < (uint32_t)walk.address + walk.element_bytes;
           at += WORD_BYTES)
        if (at < PE_MEM_BYTES)
          marks->bits[at / WORD_BYTES / MARK_BITS] |= UINT64_C(1) << at / WORD_BYTES % MARK_BITS;
  }
}

/* The first element of the stream that has a mark; false: none. */
static bool find_marked(const MarkedWords *marks, const VecRun *run, const VecStream *s,
                        uint32_t *address)
{
  VecStream walk = *s;
  for (uint32_t left = run->remaining; left; left--, vec_stream_advance(&walk))
    for (*address = walk.address; *address < (uint32_t)walk.address + walk.element_bytes;
         *address += WORD_BYTES)
      if (*address < PE_MEM_BYTES && has_mark(marks, *address / WORD_BYTES))
        return true;
  return false;
}

/* ---- accesses -------------------------------------------------------------------------------- */

const VecRun *order_disturbed(const Tile *t, const MemoryAccess *access)
{
  const TileOrder *o = t->order;
  Checked one = {.n = 1};
  for (unsigned i = 0; o && i < o->n; i++) {
    one.running[0] = &o->of[i].run;
    if (check_race(&one, access))
      return &o->of[i].run;
  }
  return NULL;
}

/* What the operation that starts reads, or with `store` writes, of another one's memory. */
static bool report_meeting(Turn *turn, const VecRun *run, const VecRun *other, bool store)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  MarkedWords marks = {{0}};
  uint32_t address;
  mark_operation(&marks, other, !store);
  for (unsigned k = 0; k < ARRAY_COUNT(streams); k++) {
    if (streams[k]->kind != VS_MEMORY || is_written(run, streams[k]) != store ||
        !find_marked(&marks, run, streams[k], &address))
      continue;
    turn_fault(turn, (Fault){.kind = store ? FAULT_WRITE_UNWAITED : FAULT_READ_UNWAITED,
                             .color = NO_COLOR, .pc = run->pc, .value = address,
                             .value2 = other->pc});
    return true;
  }
  return false;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* What comes goes into memory as it is, and the other operation sends from there: each element may
 * come because the one that was there has gone. */
static bool is_exchange(const VecRun *run, const VecRun *other)
{
  return takes_wavelets(run) && sends_wavelets(other) && run->src[0].kind != VS_MEMORY &&
         run->src[1].kind != VS_MEMORY;
}

static void add_operation(TileOrder *o, const VecRun *run)
{
  if (o->n == MOST_BACKGROUND)
    drop_operation(o, 0);
  o->of[o->n++] = (Background){.run = *run, .ended = NEVER};
}

void order_start(Turn *turn, const VecRun *run)
{
  TileOrder *o = order_of(turn->tile);
  Checked one = {.n = 1};
  for (unsigned i = 0; !run->unbounded && i < o->n; i++) {
    const VecRun *other = &o->of[i].run;
    one.running[0] = other;
    if (check_meets(&one, run) && !is_exchange(run, other) &&
        (report_meeting(turn, run, other, true) || report_meeting(turn, run, other, false)))
      break;
  }
  if (run->async && !run->unbounded)
    add_operation(o, run);
}

/* It has ended in the background, and wakes a task or none. */
static void end_in_background(Turn *turn, const VecRun *run, Action action)
{
  TileOrder *o = turn->tile->order;
  bool wakes = action.kind == ACT_ACTIVATE || action.kind == ACT_UNBLOCK;
  uint64_t task = wakes ? UINT64_C(1) << action.id % MAX_TASK_IDS : 0;
  for (unsigned i = 0; i < o->n; i++) {
    Background *b = &o->of[i];
    bool is_this = b->ended == NEVER && b->run.microthread == run->microthread;
    if (is_this)
      b->ended = turn->cycle;
    if (is_this || is_answer(turn, run, b))
      b->wakes |= task;
  }
}

void order_end(Turn *turn, const VecRun *run, Action action)
{
  TileOrder *o = order_of(turn->tile);
  if (sends_wavelets(run))
    o->sent = turn->cycle;
  if (run->async)
    end_in_background(turn, run, action);
  for (unsigned i = o->n; !run->async && i-- > 0;)
    if (is_answer(turn, run, &o->of[i]))
      drop_operation(o, i);
}

void order_free(Tile *t)
{
  free(t->order);
  t->order = NULL;
}
