/* What is checked of accesses and operations: bounds of objects, memory that running operations
 * still use, element sizes and lengths of operations. Both engines call it. */
#include "emu/tile/tile_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- objects --------------------------------------------------------------------------------- */

static Bounds symbol_bounds(const ImageSymbol *symbol)
{
  return (Bounds){symbol->address, (uint16_t)(symbol->address + symbol->bytes)};
}

static bool is_variable(const ImageSymbol *symbol)
{
  return !symbol->is_code && symbol->bytes && symbol->name && *symbol->name != '<';
}

const ImageSymbol *class_object(const ClassCode *cls, uint32_t address)
{
  for (uint32_t i = 0; i < cls->image->n_symbols; i++) {
    const ImageSymbol *s = &cls->image->symbols[i];
    if (is_variable(s) && address >= s->address && address - s->address < s->bytes)
      return s;
  }
  return NULL;
}

/* By word of code, of loads and stores whose object the compiler knows. */
static Bounds *access_bounds(const ClassCode *cls, Arena *arena)
{
  const ImageClass *image = cls->image;
  Bounds *bounds = arena_many(arena, Bounds, image->code_words + 1);
  for (uint32_t i = 0; i < image->n_accesses; i++) {
    const ImageAccess *access = &image->accesses[i];
    uint32_t offset = (uint32_t)access->pc - image->code_address;
    if (access->operand == 0 && access->pc >= image->code_address && offset / 2 < image->code_words)
      bounds[offset / 2] = symbol_bounds(&image->symbols[access->symbol]);
  }
  return bounds;
}

/* Those of operands of vector instructions. */
static OperandObject *operand_objects(const ImageClass *image, Arena *arena, uint32_t *count)
{
  OperandObject *objects = arena_many(arena, OperandObject, image->n_accesses + 1);
  for (uint32_t i = 0; i < image->n_accesses; i++) {
    const ImageAccess *access = &image->accesses[i];
    if (access->operand)
      objects[(*count)++] = (OperandObject){access->pc, (VecSlot)(access->operand - 1),
                                            symbol_bounds(&image->symbols[access->symbol])};
  }
  return objects;
}

static int compare_bounds(const void *a, const void *b)
{
  const Bounds *x = a, *y = b;
  return x->start != y->start ? x->start - y->start : x->end - y->end;
}

static MemoryFacts memory_facts(const ClassCode *cls, Arena *arena)
{
  const ImageClass *image = cls->image;
  Bounds *objects = arena_many(arena, Bounds, image->n_symbols + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < image->n_symbols; i++)
    if (is_variable(&image->symbols[i]))
      objects[n++] = symbol_bounds(&image->symbols[i]);
  qsort(objects, n, sizeof *objects, compare_bounds);
  bool apart = true;
  for (uint32_t i = 1; i < n; i++)
    apart &= objects[i - 1].end <= objects[i].start;
  uint32_t n_operands = 0;
  const OperandObject *operands = operand_objects(image, arena, &n_operands);
  return (MemoryFacts){access_bounds(cls, arena), objects, n, apart, operands, n_operands};
}

void program_check_memory(Program *program)
{
  uint32_t n = program->image->n_classes;
  MemoryFacts *facts = arena_many(program->arena, MemoryFacts, n + 1);
  for (uint32_t i = 0; i < n; i++)
    facts[i] = memory_facts(&program->classes[i], program->arena);
  program->memory_facts = facts;
}

Bounds check_variable(const MemoryFacts *facts, uint32_t address)
{
  const Bounds *last = facts->objects;      /* that starts there or before, if any does */
  for (uint32_t n = facts->n_objects, half; n > 1; n -= half) {
    half = n / 2;               /* then without a branch: no processor could guess it */
    last = last[half].start <= address ? last + half : last;
  }
  return facts->n_objects && last->start <= address && address < last->end ? *last : (Bounds){0};
}

uint32_t check_operands_from(const MemoryFacts *facts, uint16_t pc)
{
  uint32_t low = 0, high = facts->n_operands;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (facts->operands[middle].pc < pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Bounds check_operand(const MemoryFacts *facts, uint16_t pc, VecSlot slot, uint32_t address)
{
  for (uint32_t i = check_operands_from(facts, pc);
       i < facts->n_operands && facts->operands[i].pc == pc; i++)
    if (facts->operands[i].slot == slot)
      return facts->operands[i].object;
  return check_variable(facts, address);
}

/* ---- memory that running operations use ------------------------------------------------------ */

typedef struct { int64_t low, end; } Span64;

/* Whether a walk in several dimensions has begun. */
static bool is_inside_walk(const VecStream *s)
{
  for (unsigned k = 0; k + 1u < s->dimensions; k++)
    if (s->index[k])
      return true;
  return false;
}

/* The part ahead in a buffer that the stream goes round; all of it if the stream passes the end.
 * The first element lies where the descriptor says, which may be outside. */
static Span64 circular_span(const VecRun *run, const VecStream *s)
{
  int64_t low = s->wrap_base, end = low + s->wrap_bytes, next = s->address + s->element_bytes;
  int64_t way = ((int64_t)run->remaining - 1) * s->strides[0] * s->element_bytes;
  bool stays = s->dimensions == 1 && way >= 0 && s->address >= low && next + way <= end;
  if (stays || run->remaining == 1)
    return (Span64){s->address, next + way};
  return (Span64){s->address < low ? s->address : low, next > end ? next : end};
}

/* All that the rest of the stream can touch. */
static Span64 stream_span(const VecRun *run, const VecStream *s)
{
  if (s->circular && s->wrap_bytes)
    return circular_span(run, s);
  if (s->dimensions == 1 && run->remaining) {   /* mostly */
    int64_t way = ((int64_t)run->remaining - 1) * s->strides[0] * s->element_bytes;
    return (Span64){s->address + (way < 0 ? way : 0),
                    s->address + (way < 0 ? 0 : way) + s->element_bytes};
  }
  if (is_inside_walk(s))
    return (Span64){s->object.start, s->object.end ? s->object.end : PE_MEM_BYTES};
  int64_t low = s->address, high = s->address, left = run->remaining, wound = 0;
  for (unsigned k = 0; k < s->dimensions && left > 0; k++) {
    bool is_last = k + 1u == s->dimensions;
    int64_t turns = is_last || left < s->lengths[k] ? left : s->lengths[k];
    int64_t step = s->strides[k] + wound;         /* from one turn of this loop to the next */
    int64_t way = (turns - 1) * step * s->element_bytes;
    *(way < 0 ? &low : &high) += way;
    wound += (turns - 1) * step;
    left = is_last || turns == 0 ? 0 : (left + turns - 1) / turns;
  }
  return (Span64){low, high + s->element_bytes};
}

/* Whether one of the elements that are still to come lies there. */
static bool stream_needs(const VecRun *run, const VecStream *s, uint32_t address, unsigned bytes)
{
  if (s->kind != VS_MEMORY || run->unbounded)
    return false;
  Span64 span = stream_span(run, s);
  if ((int64_t)address + bytes <= span.low || (int64_t)address >= span.end)
    return false;
  VecStream walk = *s;
  for (uint32_t left = run->remaining; left; left--) {
    if (walk.address < address + bytes && address < (uint32_t)walk.address + walk.element_bytes)
      return true;
    vec_stream_advance(&walk);
  }
  return false;
}

/* What of the operation is disturbed by an access; NULL: nothing. */
static const VecStream *disturbed_stream(const VecRun *run, uint32_t address, unsigned bytes,
                                         bool store)
{
  if (stream_needs(run, &run->dest, address, bytes))
    return &run->dest;
  for (unsigned k = 0; store && k < ARRAY_COUNT(run->src); k++)
    if (stream_needs(run, &run->src[k], address, bytes))
      return &run->src[k];
  return NULL;
}

void check_add(Checked *c, const VecRun *run, const VecRun *later)
{
  if (!later || (int32_t)(later->started - run->started) > 0)
    c->running[c->n++] = run;
}

const VecRun *check_race(const Checked *c, const MemoryAccess *access)
{
  for (unsigned i = 0; i < c->n; i++)
    if (disturbed_stream(c->running[i], access->address, access->bytes, access->store))
      return c->running[i];
  return NULL;
}

bool check_finds_access(const Program *program, const ClassCode *cls, const Insn *insn,
                        uint16_t pc, const Registers *regs, MemoryAccess *access)
{
  if (!scalar_access(insn, regs, access))
    return false;
  const Bounds *accesses = program->memory_facts[cls->index].accesses;
  access->object = accesses[(pc - cls->image->code_address) / 2u];
  return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The bytes of the elements of an array, or of a scalar; 0: neither. */
static unsigned type_bytes(const char *type)
{
  static const struct { const char *name; unsigned bytes; } types[] = {
    {"f32", 4}, {"i32", 4}, {"u32", 4}, {"f16", 2}, {"bf16", 2}, {"cb16", 2}, {"i16", 2},
    {"u16", 2}, {"i8", 1}, {"u8", 1}, {"i64", 8}, {"u64", 8},
  };
  const char *last = strrchr(type, ']');
  for (size_t i = 0; i < ARRAY_COUNT(types); i++)
    if (strcmp(last ? last + 1 : type, types[i].name) == 0)
      return types[i].bytes;
  return 0;
}

static bool spans_meet(Span64 a, Span64 b) { return a.low < b.end && b.low < a.end; }

/* The variables of the operands that the code names, by VecSlot; a bit for each that it does. */
static unsigned find_named(const MemoryFacts *facts, uint16_t pc, VecStream *streams[])
{
  unsigned named = 0;
  for (uint32_t i = check_operands_from(facts, pc);
       i < facts->n_operands && facts->operands[i].pc == pc; i++) {
    streams[facts->operands[i].slot]->object = facts->operands[i].object;
    named |= 1u << facts->operands[i].slot;
  }
  return named;
}

/* So much of it as is memory. */
static Bounds span_bounds(Span64 span)
{
  return (Bounds){span.low < 0 ? 0 : span.low > UINT16_MAX ? UINT16_MAX : (uint16_t)span.low,
                  span.end < 0 ? 0 : span.end > UINT16_MAX ? UINT16_MAX : (uint16_t)span.end};
}

static void widen_bounds(Bounds *busy, Bounds span)
{
  busy->start = !busy->end || span.start < busy->start ? span.start : busy->start;
  busy->end = span.end > busy->end ? span.end : busy->end;
}

void check_objects(VecRun *run, const MemoryFacts *facts)
{
  VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  unsigned named = find_named(facts, run->pc, streams);
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    VecStream *s = streams[i];
    if (s->kind != VS_MEMORY)
      continue;
    if (!(named >> i & 1))
      s->object = check_variable(facts, s->address);
    Span64 span = stream_span(run, s);
    run->watched |= s->object.end && (span.low < s->object.start || span.end > s->object.end);
  }
}

bool check_begin(VecRun *run, BusyMemory *busy, uint64_t cycle)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  bool meets = false, widens = run->async && !run->unbounded;
  BusyMemory before = *busy;
  run->started = (uint32_t)cycle;
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    if (s->kind != VS_MEMORY)
      continue;
    Bounds others = i == 0 ? before.used : before.written;
    Span64 span = stream_span(run, s);
    meets |= spans_meet(span, (Span64){others.start, others.end});
    if (widens)
      widen_bounds(&busy->used, span_bounds(span));
    if (widens && i == 0)
      widen_bounds(&busy->written, span_bounds(span));
  }
  return meets;
}

static bool streams_meet(const VecRun *run, const VecStream *s, const VecRun *other,
                         const VecStream *others)
{
  return s->kind == VS_MEMORY && others->kind == VS_MEMORY && !other->unbounded &&
         (run->unbounded || spans_meet(stream_span(run, s), stream_span(other, others)));
}

/* One of them writes what the other one still uses. */
static bool runs_meet(const VecRun *run, const VecRun *other)
{
  return streams_meet(run, &run->dest, other, &other->dest) ||
         streams_meet(run, &run->src[0], other, &other->dest) ||
         streams_meet(run, &run->src[1], other, &other->dest) ||
         streams_meet(run, &run->dest, other, &other->src[0]) ||
         streams_meet(run, &run->dest, other, &other->src[1]);
}

bool check_meets(const Checked *earlier, const VecRun *run)
{
  for (unsigned i = 0; i < earlier->n; i++)
    if (runs_meet(run, earlier->running[i]))
      return true;
  return false;
}

Bounds check_span(const VecRun *run, const VecStream *s)
{
  return s->kind == VS_MEMORY ? span_bounds(stream_span(run, s)) : (Bounds){0};
}

/* As for the compiler, one wavelet on the fabric stands for as many as there are, and the place of
 * one number for any. */
static bool has_length(const DsrState *dsr, const Machine *machine)
{
  DescKind kind = dsr->desc.kind;
  bool is_any = (kind == DESC_FABIN || kind == DESC_FABOUT) && dsr_length(&dsr->desc) == 1;
  return kind != DESC_NONE && kind != DESC_FIFO && !is_any &&
         !(dsr->desc.flags & (DESC_F_STEP | DESC_F_SCALAR)) &&
         dsr_length(&dsr->desc) != machine->unbounded_length;
}

/* Another operand has a length of its own that is not that of the operation. */
static bool lengths_differ(const VecRun *run, const VecOperands *vec,
                           Dsrs dsrs, const Machine *machine,
                           uint32_t *length)
{
  const VecOperand *operands[] = {&vec->dest, &vec->src0, &vec->src1};
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++) {
    if (operands[i]->kind != VOPND_DSR)
      continue;
    const DsrState *dsr = dsr_at(dsrs, operands[i]->file, operands[i]->number);
    if ((dsr->desc.flags & DESC_F_STEP) || run->unbounded)
      return false;
    *length = dsr_length(&dsr->desc);
    if (has_length(dsr, machine) && *length != run->length)
      return true;
  }
  return false;
}

FaultKind check_operation(unsigned checks, const VecRun *run, const VecOperands *vec,
                          const ClassCode *cls,
                          Dsrs dsrs, const Machine *machine,
                          uint32_t *value)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  bool computes = (checks & CHECKS_TASKS) && vecops[run->op].kind != VK_MOV;
  for (unsigned i = 0; computes && i < ARRAY_COUNT(streams); i++) {
    const ImageSymbol *object =
        streams[i]->kind == VS_MEMORY ? class_object(cls, streams[i]->address) : NULL;
    unsigned bytes = object ? type_bytes(object->type) : 0;
    *value = streams[i]->address;
    if (bytes && bytes != streams[i]->element_bytes)
      return FAULT_ELEMENT_SIZE;
  }
  bool differ = (checks & CHECKS_LENGTHS) && lengths_differ(run, vec, dsrs, machine, value);
  return differ ? FAULT_LENGTHS : FAULT_COUNT;
}
