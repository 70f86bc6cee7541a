/* Operations that leave the variable below a DSD: the DSD was made for elements of another width,
 * or for fewer of them. */
#include "frontend/machine/dsd.h"

bool dsd_lies_in_constant(const Sema *s, Operand dsd)
{
  if (!dsd_is_comptime(s, dsd))
    return false;
  uint32_t number = pool_key(s->pool, dsd.value).u.dsd.desc.global.raw;
  if (number == IR_NO_ID)
    return false;
  const Global *g = &s->globals[number];
  if (g->decl == IR_NO_ID)
    return !pool_is_none(g->init);
  return s->modules[g->decl_module].decls[g->decl].kind == DECL_CONST;
}

uint32_t descriptor_length(const Descriptor *d)
{
  if (d->kind != DESC_MEM4D)
    return d->length;
  uint32_t n = 1;
  for (size_t i = 0; i < ARRAY_COUNT(d->lengths); i++)
    n *= d->lengths[i];
  return n;
}

/* Bytes from the first to behind the last element, counted from the start of the variable. */
typedef struct { int64_t first, end; } ByteRange;

static void reach_along(ByteRange *r, int64_t step_bytes, uint32_t count)
{
  int64_t way = step_bytes * ((int64_t)count - 1);
  *(way < 0 ? &r->first : &r->end) += way;
}

/* `count`: elements of a one-dimensional DSD; the others have their own lengths. */
static ByteRange reach_of(const Descriptor *d, unsigned bytes, uint32_t count)
{
  int64_t start = (int16_t)d->base;
  ByteRange r = {start, start + bytes};
  if (d->kind == DESC_MEM1D) {
    reach_along(&r, (int64_t)d->stride * bytes, count);
    return r;
  }
  /* A stride leads from where the loops inside end to where they begin again. */
  int64_t inside = 0;
  for (unsigned k = 0; k < ARRAY_COUNT(d->lengths); k++) {
    int64_t step = d->strides[k] * (int64_t)bytes + inside;
    reach_along(&r, step, d->lengths[k]);
    inside += step * (d->lengths[k] - 1);
  }
  return r;
}

static bool is_within(ByteRange r, int64_t bytes)
{
  return r.first >= 0 && r.end <= bytes;
}

/* Elements of the DSD that the operation surely reaches; 0: not known. */
static uint32_t reached_elements(const Descriptor *d, MovedElements moved)
{
  uint32_t own = descriptor_length(d);
  if (d->kind == DESC_MEM4D)
    return moved.count < own ? 0 : own;
  return moved.may_be_fewer && own < moved.count ? own : moved.count;
}

void dsd_warn_of_reach(Sema *s, Operand dsd, const char *op, unsigned bytes, MovedElements moved,
                       Span span)
{
  if (!dsd_is_comptime(s, dsd))
    return;
  PoolKey key = pool_key(s->pool, dsd.value);
  const IrDesc *desc = &key.u.dsd.desc;
  const Descriptor *d = &desc->desc;
  bool is_memory = d->kind == DESC_MEM1D || d->kind == DESC_MEM4D;
  if (!is_memory || ir_global_is_none(desc->global) || d->flags & DESC_F_INDEX)
    return;
  uint32_t own = descriptor_length(d), count = reached_elements(d, moved);
  uint32_t element = type_bytes(s->pool, (PoolId){key.u.dsd.element});
  uint32_t meant_bytes = dsd_has_elements_of(element) ? element : vec_elem_bytes(VE_I16);
  int64_t variable = type_bytes(s->pool, s->globals[desc->global.raw].type);
  if (count == 0 || is_within(reach_of(d, bytes, count), variable))
    return;
  if (!key.u.dsd.is_changed && !is_within(reach_of(d, meant_bytes, own), variable))
    return;            /* reported where the DSD is made */
  diag_operation_reach(s->diags, span, op, count, 8 * bytes, variable);
  if (count > own)
    diag_operation_reach_length(s->diags, span, own);
  else if (bytes != meant_bytes)
    diag_operation_reach_width(s->diags, span);
  else
    diag_operation_reach_change(s->diags, span);
}
