/* Fast engine, one step: operations between memory in the static data, values of registers and
 * fabric queues without special modes.  They run in a short loop. */
#include "emu/fast/step.h"

/* How many the next group has. */
static HOT unsigned plain_elements(const FastPlain *p)
{
  return p->unbounded || p->remaining >= p->width ? p->width : p->remaining;
}

/* ---- 16-bit elements in wavelets ----------------------------------------------------------- */

/* A wavelet has one or two. */
static HOT unsigned packed_shift(const FastPlain *p) { return p->per_wavelet >> 1; }

/* The next group's elements, as many as there are wavelets for; *cause: why it is none. */
static HOT unsigned packed_elements(const Visit *v, const FastPlain *p, StallCause *cause)
{
  const FastQueues *queues = v->tile->queues;
  unsigned elements = plain_elements(p), shift = packed_shift(p);
  *cause = STALL_NONE;
  if (p->input != NO_QUEUE) {
    const FastQueues *q = &queues[p->input];
    unsigned need = elements >> shift, have = need <= q->input.count ? need : q->input.count;
    while (have && !wavelet_seen(input_at(q, have - 1)->meta, v->turn.cycle))
      have--;
    if (have < need && (have == 0 || have < p->min_wavelets))
      *cause = STALL_INPUT;
    elements = have << shift;
  }
  if (p->output != NO_QUEUE && *cause == STALL_NONE &&
      queues[p->output].output.count + (elements >> shift) > v->engine->output_capacity[p->output])
    *cause = STALL_OUTPUT;
  return elements;
}

/* The wavelets that a group needs at least. */
static HOT unsigned least_wavelets(const FastPlain *p)
{
  if (p->min_wavelets <= 1)
    return 1;
  unsigned need = plain_elements(p) >> packed_shift(p);
  return p->min_wavelets < need ? p->min_wavelets : need;
}

/* Why that is none.  How many wavelets can be seen matters only if there has to be room for what
 * comes of them: later ones are seen later. */
static HOT StallCause packed_cause(const Visit *v, const FastPlain *p)
{
  StallCause cause;
  if (p->output != NO_QUEUE) {
    packed_elements(v, p, &cause);
    return cause;
  }
  if (p->input == NO_QUEUE)
    return STALL_NONE;
  const FastQueues *q = &v->tile->queues[p->input];
  unsigned least = least_wavelets(p);
  return q->input.count < least || !wavelet_seen(input_at(q, least - 1)->meta, v->turn.cycle)
           ? STALL_INPUT : STALL_NONE;
}

/* Not inlined where words are. */
static RARE StallCause packed_waits(const Visit *v, const FastPlain *p)
{
  return packed_cause(v, p);
}

/* ---- whether one can be done --------------------------------------------------------------- */

/* No control wavelets here: data at the head of the queue, and room for a result. */
static HOT StallCause plain_waits(const Visit *v, const FastPlain *p)
{
  const FastTile *t = v->tile;
  if (UNLIKELY(p->per_wavelet))
    return packed_waits(v, p);
  if (p->input != NO_QUEUE) {
    const FastQueues *q = &t->queues[p->input];
    if (!q->input.count || !wavelet_seen(input_at(q, 0)->meta, v->turn.cycle))
      return STALL_INPUT;
  }
  if (p->output != NO_QUEUE &&
      t->queues[p->output].output.count >= v->engine->output_capacity[p->output])
    return STALL_OUTPUT;
  return STALL_NONE;
}

/* ---- which operations are plain ------------------------------------------------------------ */

/* All elements lie in the buffer that the stream goes round, up to its end; or there is none. */
static bool stays_in_buffer(const VecStream *s, int64_t low, int64_t end)
{
  return !s->circular || (low >= s->wrap_base && end <= (int64_t)s->wrap_base + s->wrap_bytes);
}

/* Whether all elements of a memory stream lie in the static data, aligned, one dimension. */
static bool is_plain_memory(const FastTile *t, const VecRun *run, const VecStream *s)
{
  const TileMem *mem = &t->core.mem;
  const ClassCode *cls = t->core.mem.cls;
  if (s->dimensions != 1 || run->unbounded || (s->address & 1) || !mem->bytes || mem->tracked)
    return false;
  int64_t first = s->address;
  int64_t last = first + ((int64_t)run->remaining - 1) * s->strides[0] * s->element_bytes;
  int64_t low = first < last ? first : last, high = first < last ? last : first;
  int64_t end = high + s->element_bytes;
  return stays_in_buffer(s, low, end) && low >= 0 && end <= cls->image->static_bytes &&
         (end <= cls->image->code_address || low >= (int64_t)cls->code_end);
}

/* Its groups are of whole wavelets, and all of one size where they depend on the room. */
static bool is_plain_packed(const VecRun *run, const VecStream *s)
{
  return !run->unbounded && run->width % s->per_wavelet == 0 &&
         run->remaining % s->per_wavelet == 0 &&
         (s->kind == VS_FABIN || s->min_wavelets == s->max_wavelets);
}

static bool is_plain_stream(const FastTile *t, const VecRun *run, const VecStream *s,
                            unsigned bytes)
{
  switch (s->kind) {
  case VS_NONE: case VS_VALUE: return true;
  case VS_MEMORY: return s->element_bytes == bytes && is_plain_memory(t, run, s);
  case VS_FABIN: case VS_FABOUT:
    return s->element_bytes == bytes && !s->picks &&
           !(s->flags & (DESC_F_INDEX | DESC_F_CONTROL | DESC_F_TRANSFORM)) &&
           (bytes == sizeof(uint32_t) ? s->max_wavelets == 1 : is_plain_packed(run, s));
  case VS_REGISTER: case VS_FIFO: default: return false;
  }
}

/* All its elements have one size, and none leaves anything to the next one. */
static bool is_plain_operation(const VecOpInfo *info)
{
  return vec_elem_bytes(info->dst) == vec_elem_bytes(info->src) && info->kind != VK_ADD &&
         info->kind != VK_ADDC;
}

/* src0 and src1 must not read one queue: each wavelet is one stream's. */
static bool is_plain(const FastTile *t, const VecRun *run)
{
  const VecOpInfo *info = &vecops[run->op];
  unsigned bytes = vec_elem_bytes(info->dst);
  bool both = run->src[0].kind == VS_FABIN && run->src[1].kind == VS_FABIN;
  return !both && !run->traps && !run->zero_first && !run->zero_second && !run->fold &&
         is_plain_operation(info) && is_plain_stream(t, run, &run->dest, bytes) &&
         is_plain_stream(t, run, &run->src[0], bytes) &&
         is_plain_stream(t, run, &run->src[1], bytes);
}

static void make_plain(const FastEngine *e, FastPlain *p, const VecRun *run)
{
  const VecStream *streams[PLAIN_STREAMS] = {&run->src[0], &run->src[1], &run->dest};
  *p = (FastPlain){
    .op = (uint8_t)vecops[run->op].kind, .width = run->width, .operation = (uint8_t)run->op,
    .unbounded = run->unbounded, .remaining = run->remaining, .scalar = run->scalar,
    .output_meta = wavelet_meta(0, run->dest.color, 0),
    .advance = run->dest.kind == VS_FABOUT && (run->dest.flags & DESC_F_ADVANCE),
    .input = NO_QUEUE, .output = run->dest.kind == VS_FABOUT ? run->dest.queue : NO_QUEUE,
    .both_memory = run->src[0].kind == VS_MEMORY && run->src[1].kind == VS_MEMORY,
    .one_bank = (uint8_t)vec_one_bank_waits(run, e->base.program->machine),
    .bytes = (uint8_t)vec_elem_bytes(vecops[run->op].dst),
  };
  for (uint16_t i = 0; i < PLAIN_STREAMS; i++) {
    p->address[i] = streams[i]->address;
    p->step[i] = (int16_t)(streams[i]->strides[0] * (int)p->bytes);
    if (streams[i]->kind == VS_MEMORY)
      p->memory |= (uint16_t)(1u << i);
    if (i < PLAIN_DEST)
      p->value[i] = streams[i]->kind == VS_VALUE ? streams[i]->value : 0;
    if (streams[i]->kind == VS_FABIN) {
      p->input = streams[i]->queue;
      p->input_stream = i;
    }
    if ((streams[i]->kind == VS_FABIN || streams[i]->kind == VS_FABOUT) &&
        p->bytes == sizeof(uint16_t)) {
      p->per_wavelet = streams[i]->per_wavelet;
      p->min_wavelets = i == PLAIN_DEST && p->input != NO_QUEUE ? p->min_wavelets
                                                                : streams[i]->min_wavelets;
    }
  }
}

/* Whether the operation's wavelets come and go by colors of their own, an element at a time. */
static bool is_stream(const Visit *v, const FastPlain *p, const VecRun *run)
{
  const FastTile *t = v->tile;
  bool enters = p->input != NO_QUEUE, leaves = p->output != NO_QUEUE;
  return (enters || leaves) && p->width == 1 && !p->per_wavelet && !p->unbounded &&
         !p->both_memory && !t->set->swaps &&
         (!enters || (p->in_slot != NO_SLOT && t->data_queue[p->in_color] == p->input)) &&
         (!leaves || (p->out_slot != NO_SLOT && !step_is_host_color(v, run->dest.color)));
}

static void make_stream(const Visit *v, FastPlain *p, const VecRun *run)
{
  const uint8_t *slot_of = v->tile->set->slot_of;
  p->in_color = p->input == NO_QUEUE ? NO_COLOR : run->src[p->input_stream].color;
  p->in_slot = p->in_color == NO_COLOR ? NO_SLOT : slot_of[p->in_color];
  p->out_slot = p->output == NO_QUEUE ? NO_SLOT : slot_of[run->dest.color];
  p->stream = is_stream(v, p, run);
  p->tries = 0;
}

/* Whether another plain operation works on a queue of this one: a hazard. */
static bool shares_queue(const FastTile *t, unsigned thread)
{
  const FastPlain *p = thread_plain(&t->core.threads[thread]);
  unsigned others = t->core.vectors & t->plain_threads & ~(1u << thread);
  for (; others; others &= others - 1) {
    const FastPlain *q = thread_plain(&t->core.threads[__builtin_ctz(others)]);
    if ((p->output != NO_QUEUE && p->output == q->output) ||
        (p->input != NO_QUEUE && p->input == q->input))
      return true;
  }
  return false;
}

/* Before the operation writes to memory. */
static HOT void own_results(FastTile *t, const FastPlain *p)
{
  if (p->memory & 1u << PLAIN_DEST)
    mem_own(&t->core.mem);
}

/* Makes the operation that has just started on the thread a plain one, if it can be. */
static bool plain_start(const Visit *v, unsigned thread)
{
  Thread *th = &v->tile->core.threads[thread];
  th->plain = !th->run->watched && is_plain(v->tile, th->run);
  if (th->plain) {
    make_plain(v->engine, thread_plain(th), th->run);
    make_stream(v, thread_plain(th), th->run);
    own_results(v->tile, thread_plain(th));
  }
  uint16_t bit = (uint16_t)(1u << thread);
  v->tile->held = v->tile->able = 0;
  v->tile->plain_threads = (uint16_t)((v->tile->plain_threads & ~bit) | (th->plain ? bit : 0));
  v->tile->shares |= th->plain && shares_queue(v->tile, thread);
  return th->plain;
}

/* ---- one group, plain operands ---------------------------------------------------------- */

static HOT uint32_t plain_read(const FastTile *t, FastPlain *p, unsigned k)
{
  uint32_t value = p->value[k];
  if (p->memory & 1u << k) {
    memcpy(&value, mem_static(&t->core.mem) + p->address[k], sizeof value);
    p->address[k] = (uint16_t)(p->address[k] + p->step[k]);
  }
  return value;
}

static HOT Fp16Format fp16_of(const Visit *v) { return v->engine->base.program->image->fp16; }

static HOT uint32_t plain_operate(const Visit *v, const FastPlain *p, uint32_t a, uint32_t b)
{
  bool carry = false;               /* no 32-bit operation has one */
  switch ((int)p->op) {
  case VK_MOV: return b;
  case VK_FADD: return fp32_add(a, b);
  case VK_FMUL: return fp32_mul(a, b);
  case VK_FMAC: return fp32_fma(b, p->scalar, a);
  default:
    return vec_element((VecOp)p->operation, fp16_of(v), a, b, p->scalar, &carry);
  }
}

static HOT void plain_write(Visit *v, FastPlain *p, uint32_t value, bool last)
{
  if (p->output != NO_QUEUE) {
    uint32_t flags = last && p->advance ? META_ADVANCE : 0;
    uint32_t meta = (v->output_visible & STAMP_MASK) | p->output_meta | flags;
    output_push(v, p->output, (FastWavelet){value, meta});
  } else if (p->memory & 1u << PLAIN_DEST) {
    uint16_t address = p->address[PLAIN_DEST];
    memcpy(v->tile->core.mem.bytes + address, &value, sizeof value);
    p->address[PLAIN_DEST] = (uint16_t)(address + p->step[PLAIN_DEST]);
  }
}

/* Cycles that the next group waits for a bank. */
static HOT unsigned plain_conflict(const FastEngine *e, const FastPlain *p)
{
  if (!p->both_memory)
    return 0;
  unsigned apart = p->address[PLAIN_SRC0] ^ p->address[PLAIN_SRC1];
  unsigned waits = p->one_bank ? p->one_bank : !(apart & e->bank_mask);
  return waits * e->timing->bank_conflict;
}

static RARE void plain_finish(Visit *v, unsigned thread, unsigned extra)
{
  Thread *th = &v->tile->core.threads[thread];
  plain_sync(th);
  vector_end(&v->turn, thread, extra);
}

static HOT void plain_element(Visit *v, FastPlain *p, bool last)
{
  uint32_t a = plain_read(v->tile, p, PLAIN_SRC0), b = plain_read(v->tile, p, PLAIN_SRC1);
  plain_write(v, p, plain_operate(v, p, a, b), last);
}


/* ---- many elements between variables ------------------------------------------------------ */

/* Every element of a source can be read before the first result is written: the source is not in
 * memory, is where the results go, element by element, or lies apart from them.  With a stride of 0
 * each element is the result before it. */
static bool reads_first(const FastPlain *p, unsigned k, unsigned n)
{
  int a = p->address[k], b = p->address[PLAIN_DEST];
  int a_last = a + (int)(n - 1) * p->step[k], b_last = b + (int)(n - 1) * p->step[PLAIN_DEST];
  if (!(p->memory & 1u << k) || (a == b && p->step[k] == p->step[PLAIN_DEST] && p->step[k] != 0))
    return true;
  int a_low = a < a_last ? a : a_last, a_high = a < a_last ? a_last : a;
  int b_low = b < b_last ? b : b_last, b_high = b < b_last ? b_last : b;
  return a_high + (int)p->bytes <= b_low || b_high + (int)p->bytes <= a_low;
}

/* The next `n` elements of a stream of a plain operation in memory. */
static inline Bounds plain_bounds(const FastPlain *p, unsigned k, uint32_t n)
{
  int first = p->address[k], last = first + ((int)n - 1) * p->step[k];
  return (Bounds){(uint16_t)(first < last ? first : last),
                  (uint16_t)((first < last ? last : first) + p->bytes)};
}

/* `n` elements of `bytes` bytes each, by a step in memory. */
static HOT void copy_elements(uint8_t *to, int to_step, const uint8_t *from, int from_step,
                              unsigned n, size_t bytes)
{
  if (to_step == (int)bytes && from_step == (int)bytes) {
    memcpy(to, from, n * bytes);
    return;
  }
  for (unsigned i = 0; i < n; i++)
    memcpy(to + (ptrdiff_t)i * to_step, from + (ptrdiff_t)i * from_step, bytes);
}

/* The next `n` elements of `bytes` bytes each of a source that is no queue, as they are now. */
static HOT void plain_source(const FastTile *t, const FastPlain *p, unsigned k, void *to,
                             unsigned n, size_t bytes)
{
  if (p->memory & 1u << k)
    copy_elements(to, (int)bytes, mem_static(&t->core.mem) + p->address[k], p->step[k], n, bytes);
  else
    copy_elements(to, (int)bytes, (const uint8_t *)&p->value[k], 0, n, bytes);
}

/* Those that most programs use have a loop of their own. */
static HOT void plain_operate_halves(const Visit *v, const FastPlain *p, uint16_t *a,
                                     const uint16_t *b, unsigned n)
{
  bool carry = false;               /* no plain operation has one */
  if (p->op == VK_MOV)
    memcpy(a, b, n * sizeof *a);
  else if (p->op == VK_FMAC)
    fp16_fma_all(fp16_of(v), b, (uint16_t)p->scalar, a, n);
  else
    for (unsigned i = 0; i < n; i++)
      a[i] = (uint16_t)vec_element((VecOp)p->operation, fp16_of(v), a[i], b[i], p->scalar,
                                   &carry);
}

/* Each operation has a loop of its own. */
static HOT void plain_operate_words(const Visit *v, const FastPlain *p, uint32_t *a,
                                    const uint32_t *b, unsigned n)
{
  switch ((int)p->op) {
  case VK_MOV:
    memcpy(a, b, n * sizeof *a);
    break;
  case VK_FADD:
    fp32_add_all(a, b, n);
    break;
  case VK_FMUL:
    for (unsigned i = 0; i < n; i++)
      a[i] = fp32_mul(a[i], b[i]);
    break;
  case VK_FMAC:
    fp32_fma_all(b, p->scalar, a, n);
    break;
  default:
    for (unsigned i = 0; i < n; i++)
      a[i] = plain_operate(v, p, a[i], b[i]);
    break;
  }
}

static HOT void plain_words_apart(Visit *v, const FastPlain *p, unsigned n)
{
  const FastTile *t = v->tile;
  uint32_t a[AHEAD_ELEMENTS], b[AHEAD_ELEMENTS];
  plain_source(t, p, PLAIN_SRC0, a, n, sizeof *a);
  plain_source(t, p, PLAIN_SRC1, b, n, sizeof *b);
  plain_operate_words(v, p, a, b, n);
  copy_elements(t->core.mem.bytes + p->address[PLAIN_DEST], p->step[PLAIN_DEST],
                (const uint8_t *)a, sizeof *a, n, sizeof *a);
}

static HOT void plain_halves_apart(Visit *v, const FastPlain *p, unsigned n)
{
  const FastTile *t = v->tile;
  uint16_t a[AHEAD_ELEMENTS], b[AHEAD_ELEMENTS];
  plain_source(t, p, PLAIN_SRC0, a, n, sizeof *a);
  plain_source(t, p, PLAIN_SRC1, b, n, sizeof *b);
  plain_operate_halves(v, p, a, b, n);
  copy_elements(t->core.mem.bytes + p->address[PLAIN_DEST], p->step[PLAIN_DEST],
                (const uint8_t *)a, sizeof *a, n, sizeof *a);
}

/* A multiply-add to the elements of a row, of one that lies apart or is the same: mostly. */
static HOT bool is_row_fma(const FastPlain *p)
{
  return p->op == VK_FMAC && p->memory == (1u << PLAIN_STREAMS) - 1 &&
         p->step[PLAIN_SRC0] == p->bytes && p->step[PLAIN_SRC1] == p->bytes &&
         p->step[PLAIN_DEST] == p->bytes;
}

static HOT bool is_in_place(const FastPlain *p, unsigned n)
{
  int a = p->address[PLAIN_SRC1], c = p->address[PLAIN_DEST], size = (int)(n * p->bytes);
  return p->address[PLAIN_SRC0] == c && ((a | c) & (p->bytes - 1)) == 0 &&
         (a == c || a >= c + size || c >= a + size);
}

static HOT void plain_fma_in_place(Visit *v, const FastPlain *p, unsigned n)
{
  void *a = v->tile->core.mem.bytes + p->address[PLAIN_SRC1];
  void *c = v->tile->core.mem.bytes + p->address[PLAIN_DEST];
  if (p->bytes == sizeof(uint32_t))
    fp32_fma_all(a, p->scalar, c, n);
  else
    fp16_fma_all(fp16_of(v), a, (uint16_t)p->scalar, c, n);
}

/* All streams in memory are `n` elements further. */
static HOT void plain_advance(FastPlain *p, unsigned n)
{
  for (unsigned k = 0; k < PLAIN_STREAMS; k++)
    if (p->memory & 1u << k)
      p->address[k] = (uint16_t)(p->address[k] + (int)n * p->step[k]);
}

static HOT void plain_elements_apart(Visit *v, FastPlain *p, unsigned n)
{
  if (p->bytes == sizeof(uint32_t))
    plain_words_apart(v, p, n);
  else
    plain_halves_apart(v, p, n);
  plain_advance(p, n);
}

/* Computes the next `n` elements, at most AHEAD_ELEMENTS, of an operation between variables. */
static void plain_elements_all(Visit *v, FastPlain *p, unsigned n)
{
  if (is_row_fma(p) && is_in_place(p, n)) {
    plain_fma_in_place(v, p, n);
    plain_advance(p, n);
    return;
  }
  bool apart = reads_first(p, PLAIN_SRC0, n) && reads_first(p, PLAIN_SRC1, n);
  for (unsigned step = apart ? n : 1; n; n -= step)
    plain_elements_apart(v, p, step);
}

/* ---- a group ------------------------------------------------------------------------------ */

/* With 32-bit elements, an operation with a fabric operand does one element per group, so that all
 * groups after the first are between memory and memory, where no caller asks for the last. */
static HOT void plain_words(Visit *v, FastPlain *p, unsigned elements, bool last)
{
  if (p->input != NO_QUEUE)
    p->value[p->input_stream] = input_take(v, p->input).payload;
  plain_element(v, p, last);
  for (unsigned left = elements; UNLIKELY(left > 1); left--)
    plain_element(v, p, false);
}

static HOT uint16_t packed_read(const FastTile *t, FastPlain *p, unsigned k, uint32_t wavelet,
                                unsigned phase)
{
  uint16_t value = (uint16_t)p->value[k];
  if (p->memory & 1u << k) {
    memcpy(&value, mem_static(&t->core.mem) + p->address[k], sizeof value);
    p->address[k] = (uint16_t)(p->address[k] + p->step[k]);
  } else if (p->input != NO_QUEUE && p->input_stream == k) {
    value = (uint16_t)(wavelet >> phase * HALF_BITS);
  }
  return value;
}

/* The elements of a wavelet.  Returns what they are as one, if they go to a queue. */
static HOT uint32_t packed_wavelet(Visit *v, FastPlain *p)
{
  FastTile *t = v->tile;
  bool carry = false;               /* no plain operation has one */
  uint32_t in = p->input == NO_QUEUE ? 0 : input_at(&t->queues[p->input], 0)->payload;
  uint32_t out = 0;
  for (unsigned phase = 0; phase < p->per_wavelet; phase++) {
    uint16_t a = packed_read(t, p, PLAIN_SRC0, in, phase);
    uint16_t b = packed_read(t, p, PLAIN_SRC1, in, phase);
    if (phase + 1u == p->per_wavelet && p->input != NO_QUEUE)
      input_take(v, p->input);
    if (p->op != VK_MOV)
      b = (uint16_t)vec_element((VecOp)p->operation, fp16_of(v), a, b, p->scalar, &carry);
    out |= (uint32_t)b << phase * HALF_BITS;
    if (!(p->memory & 1u << PLAIN_DEST))
      continue;
    memcpy(t->core.mem.bytes + p->address[PLAIN_DEST], &b, sizeof b);
    p->address[PLAIN_DEST] = (uint16_t)(p->address[PLAIN_DEST] + p->step[PLAIN_DEST]);
  }
  return out;
}

/* Pairs of a queue go to a row of memory as they are. */
static HOT bool is_packed_row(const FastPlain *p)
{
  return p->op == VK_MOV && p->per_wavelet == 2 && p->input != NO_QUEUE &&
         (p->memory & 1u << PLAIN_DEST) && p->step[PLAIN_DEST] == (int)sizeof(uint16_t);
}

static HOT void packed_to_row(Visit *v, FastPlain *p, unsigned wavelets)
{
  input_take_all(v, p->input, v->tile->core.mem.bytes + p->address[PLAIN_DEST], wavelets);
  p->address[PLAIN_DEST] = (uint16_t)(p->address[PLAIN_DEST] + wavelets * sizeof(uint32_t));
}

static HOT void packed_group(Visit *v, FastPlain *p, unsigned elements, bool last)
{
  if (is_packed_row(p)) {
    packed_to_row(v, p, elements / p->per_wavelet);
    return;
  }
  for (unsigned left = elements / p->per_wavelet; left; left--) {
    uint32_t value = packed_wavelet(v, p);
    if (p->output != NO_QUEUE)
      plain_write(v, p, value, last && left == 1);
  }
}

/* Not inlined where groups are. */
static RARE void plain_halves(Visit *v, FastPlain *p, unsigned elements, bool last)
{
  if (p->per_wavelet)
    packed_group(v, p, elements, last);
  else
    plain_elements_all(v, p, elements);
}

/* Likewise: the elements of the group that can be done now. */
static RARE unsigned packed_now(const Visit *v, const FastPlain *p)
{
  StallCause cause;
  return packed_elements(v, p, &cause);
}

static HOT void plain_group(Visit *v, unsigned thread)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[thread];
  FastPlain *p = thread_plain(th);
  unsigned extra = plain_conflict(v->engine, p);
  unsigned elements = UNLIKELY(p->per_wavelet) ? packed_now(v, p) : plain_elements(p);
  bool last_group = !p->unbounded && elements == p->remaining;
  bool in_memory = p->input == NO_QUEUE && p->output == NO_QUEUE && !p->unbounded;
  EngineStats *stats = &v->worker->log.stats;
  EVENT(v, .kind = EV_GROUP, .pc = th->run->pc, .thread = (uint8_t)thread,
        .count = (uint16_t)elements);
  if (FAST_TRACED && extra)
    EVENT(v, .kind = EV_STALL, .pc = th->run->pc, .id = STALL_BANK, .thread = (uint8_t)thread,
          .payload = extra);
  if (UNLIKELY(p->bytes != sizeof(uint32_t)))
    plain_halves(v, p, elements, last_group);
  else
    plain_words(v, p, elements, last_group);
  stats->groups++;
  stats->elements += elements;
  stats->stalls[STALL_BANK] += extra;
  if (!p->unbounded)
    p->remaining -= elements;
  th->ready = v->turn.cycle + 1 + extra +
              vec_rest(v->engine->timing, in_memory, p->remaining, elements, extra);
  if (UNLIKELY(last_group))
    plain_finish(v, thread, extra);
}
