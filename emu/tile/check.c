/* The additional tests of --check: bounds of objects, memory that running operations still use,
 * element sizes and lengths of operations. Both engines call them. */
#include "emu/tile/tile.h"

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
    if (access->pc >= image->code_address && offset / 2 < image->code_words)
      bounds[offset / 2] = symbol_bounds(&image->symbols[access->symbol]);
  }
  return bounds;
}

void program_check_memory(Program *program)
{
  uint32_t n = program->image->n_classes;
  program->access_bounds = arena_many(program->arena, const Bounds *, n + 1);
  for (uint32_t i = 0; i < n; i++)
    program->access_bounds[i] = access_bounds(&program->classes[i], program->arena);
}

static bool is_outside(Bounds bounds, uint32_t address, unsigned bytes)
{
  return bounds.end && (address < bounds.start || address + bytes > bounds.end);
}

/* ---- memory that running operations use ------------------------------------------------------ */

typedef struct { int64_t low, end; } Span64;

/* All that the rest of the stream can touch. */
static Span64 stream_span(const VecRun *run, const VecStream *s)
{
  if (s->dimensions != 1 || s->circular)
    return (Span64){s->object.start, s->object.end ? s->object.end : PE_MEM_BYTES};
  int64_t first = s->address;
  int64_t last = first + ((int64_t)run->remaining - 1) * s->strides[0] * s->element_bytes;
  return first < last ? (Span64){first, last + s->element_bytes}
                      : (Span64){last, first + s->element_bytes};
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

FaultKind check_access(const Checked *c, MemoryAccess access, uint32_t *other)
{
  *other = 0;
  if (is_outside(access.object, access.address, access.bytes))
    return FAULT_OUT_OF_BOUNDS;
  for (unsigned i = 0; i < c->n; i++) {
    const VecRun *run = c->running[i];
    if (!disturbed_stream(run, access.address, access.bytes, access.store))
      continue;
    *other = run->pc;
    return access.store ? FAULT_WRITE_RACE : FAULT_READ_RACE;
  }
  return FAULT_COUNT;
}

FaultKind check_scalar(const Checked *c, const Program *program, const ClassCode *cls,
                       const Insn *insn, uint16_t pc, const Registers *regs, MemoryAccess *access,
                       uint32_t *other)
{
  if (!scalar_access(insn, regs, access))
    return FAULT_COUNT;
  access->object = program->access_bounds[cls->index][(pc - cls->image->code_address) / 2u];
  return check_access(c, *access, other);
}

FaultKind check_element(const Checked *c, const VecStream *s, bool store, uint32_t *other)
{
  return check_access(c, (MemoryAccess){s->address, s->element_bytes, store, s->object}, other);
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

void check_objects(VecRun *run, const ClassCode *cls, uint64_t cycle)
{
  run->started = (uint32_t)cycle;
  run->watched = true;
  VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const ImageSymbol *object =
        streams[i]->kind == VS_MEMORY ? class_object(cls, streams[i]->address) : NULL;
    if (object)
      streams[i]->object = symbol_bounds(object);
  }
}

bool check_stays_inside(const VecRun *run)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    if (s->kind != VS_MEMORY || !s->object.end)
      continue;
    Span64 span = stream_span(run, s);
    if (span.low < s->object.start || span.end > s->object.end)
      return false;
  }
  return true;
}

static bool has_length(const DsrState *dsr, const Machine *machine)
{
  DescKind kind = dsr->desc.kind;
  return kind != DESC_NONE && kind != DESC_FIFO && !(dsr->desc.flags & DESC_F_STEP) &&
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
