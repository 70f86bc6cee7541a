/* Fast engine: what microthreads do while the main thread works ahead of its cycle (ahead.c). */
#include "emu/fast/step.h"

/* What they do: memory that they touch, output queues that they send to, descriptors that they keep
 * their places in; whether one of them ranks above the main thread. */
typedef struct FastBeside {
  ScalarFences fences;
  unsigned outputs, n_dsrs;
  uint8_t dsrs[MAX_MICROTHREADS * PLAIN_STREAMS];
  bool preempts;
} FastBeside;

/* The operation keeps its place in the stream's descriptor when it is over. */
static inline bool keeps_place(const VecStream *s)
{
  return s->from_dsr && (s->flags & (DESC_F_SAVE | DESC_F_STEP));
}

/* False: no room. */
static inline bool add_fence(ScalarFences *fences, Bounds at, bool written)
{
  if (fences->n == SCALAR_FENCES)
    return false;
  fences->of[fences->n].at = at;
  fences->of[fences->n++].written = written;
  return true;
}

static inline bool add_plain(FastBeside *beside, const FastPlain *p)
{
  if (p->output != NO_QUEUE)
    beside->outputs |= 1u << p->output;
  for (unsigned k = 0; p->remaining && k < PLAIN_STREAMS; k++)
    if ((p->memory & 1u << k) &&
        !add_fence(&beside->fences, plain_bounds(p, k, p->remaining), k == PLAIN_DEST))
      return false;
  return true;
}

/* False: the stream touches what the main thread may touch. */
static inline bool add_stream(FastBeside *beside, const VecRun *run, const VecStream *s)
{
  bool written = s == &run->dest || (s == &run->src[0] ? run->zero_first : run->zero_second);
  switch (s->kind) {
  case VS_NONE: case VS_VALUE: case VS_FABIN:
    return true;
  case VS_FABOUT:
    beside->outputs |= 1u << s->queue;
    return true;
  case VS_MEMORY:
    return !run->unbounded && add_fence(&beside->fences, check_span(run, s), written);
  case VS_REGISTER: case VS_FIFO: default:
    return false;
  }
}

static inline bool add_thread(FastBeside *beside, const Tile *core, const Thread *th)
{
  const VecRun *run = th->run;
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    if (keeps_place(s))
      beside->dsrs[beside->n_dsrs++] = core->dsrs.map->place[s->file][s->number];
    if (!th->plain && !add_stream(beside, run, s))
      return false;
  }
  return !th->plain || add_plain(beside, thread_plain(th));
}

/* False: they do more than that. */
static inline bool finds_beside(const FastTile *t, FastBeside *beside)
{
  const Tile *core = &t->core;
  beside->fences.n = beside->outputs = beside->n_dsrs = 0;
  beside->preempts = false;
  for (unsigned bits = core->vectors & ~(1u << MAIN_THREAD); bits; bits &= bits - 1) {
    unsigned thread = (unsigned)__builtin_ctz(bits), level = thread_level(core, thread);
    const Thread *th = &core->threads[thread];
    if (level == core->main_level || th->run->watched || th->run->traps ||
        !add_thread(beside, core, th))
      return false;
    beside->preempts |= level > core->main_level;
  }
  return true;
}

/* ---- the main thread beside them ----------------------------------------------------------- */

/* No memory that is used beside the operation gets in its way during the next `n` elements. */
static bool is_unfenced(const FastBeside *beside, const FastPlain *p, uint32_t n)
{
  for (unsigned k = 0; beside && n && k < PLAIN_STREAMS; k++) {
    Bounds at = plain_bounds(p, k, n);
    if ((p->memory & 1u << k) &&
        scalar_is_fenced(&beside->fences, at.start, at.end, k == PLAIN_DEST))
      return false;
  }
  return true;
}

/* What microthreads do beside the main thread, for the visit; no microthread: NULL.  False: they
 * may do more than take their turns. */
static bool looks_beside(Visit *v, FastBeside *beside)
{
  const FastTile *t = v->tile;
  v->beside = NULL;
  if (!(t->core.vectors & ~(1u << MAIN_THREAD)))
    return true;
  v->beside = beside;
  return finds_beside(t, beside);
}
