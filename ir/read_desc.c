/* Parser of the text form: descriptors and DSRs. */
#include "ir/read_internal.h"

/* ---- descriptors ------------------------------------------------------------------- */

static bool read_base(IrReader *r, IrDesc *d)
{
  d->global.raw = IR_NO_ID;
  if (rd_peek(r)->kind != T_GLOBAL)
    return rd_expect_u16(r, "a byte address", UINT16_MAX, &d->desc.base);
  if (!rd_expect_symbol(r, T_GLOBAL, &d->global.raw))
    return false;
  return !rd_accept_punct(r, '+') ||
         rd_expect_u16(r, "an offset in bytes", UINT16_MAX, &d->desc.base);
}

static bool read_flags(IrReader *r, Descriptor *d)
{
  do {
    unsigned flag;
    if (!rd_expect_listed(r, IRW_desc_flag, "a flag of descriptors", &flag))
      return false;
    d->flags |= (uint16_t)flag;
  } while (!rd_peek(r)->first && rd_peek(r)->kind == T_WORD);
  return true;
}

static bool read_action(IrReader *r, Action *action)
{
  unsigned kind, id_kind;
  if (!rd_expect_listed(r, IRW_action, "an action", &kind) ||
      !rd_expect_listed(r, IRW_id_kind, "a kind of id", &id_kind) ||
      !rd_expect_u8(r, "an id", UINT8_MAX, &action->id))
    return false;
  action->kind = (ActionKind)kind;
  action->id_kind = (IdKind)id_kind;
  return true;
}

static bool read_lengths(IrReader *r, Descriptor *d)
{
  for (unsigned i = 0; i < ARRAY_COUNT(d->lengths); i++)
    if (!rd_expect_u16(r, "a length", UINT16_MAX, &d->lengths[i]))
      return false;
  return true;
}

static bool read_strides(IrReader *r, Descriptor *d)
{
  for (unsigned i = 0; i < ARRAY_COUNT(d->strides); i++)
    if (!rd_expect_i16(r, "a stride", &d->strides[i]))
      return false;
  return true;
}

static bool read_priority(IrReader *r, Descriptor *d)
{
  unsigned priority;
  if (!rd_expect_listed(r, IRW_priority, "a priority", &priority))
    return false;
  d->priority = (Priority)priority;
  return d->priority_given = true;
}

static bool read_simd(IrReader *r, Descriptor *d)
{
  unsigned mode;
  if (!rd_expect_listed(r, IRW_simd, "a SIMD mode", &mode))
    return false;
  d->simd = (SimdMode)mode;
  return true;
}

static bool read_desc_field(IrReader *r, Descriptor *d)
{
  if (rd_accept_word(r, "length"))
    return rd_expect_u16(r, "a length", UINT16_MAX, &d->length);
  if (rd_accept_word(r, "stride"))
    return rd_expect_i16(r, "a stride", &d->stride);
  if (rd_accept_word(r, "lengths"))
    return read_lengths(r, d);
  if (rd_accept_word(r, "strides"))
    return read_strides(r, d);
  if (rd_accept_word(r, "wrap"))
    return rd_expect_u16(r, "a byte address", UINT16_MAX, &d->wrap_base) &&
           rd_expect_u16(r, "a length", UINT16_MAX, &d->wrap_length);
  if (rd_accept_word(r, "queue"))
    return rd_expect_u8(r, "a queue", MAX_QUEUES - 1, &d->queue);
  if (rd_accept_word(r, "color"))
    return rd_expect_u8(r, "a color", UINT8_MAX, &d->color);
  if (rd_accept_word(r, "flags"))
    return read_flags(r, d);
  if (rd_accept_word(r, "done"))
    return read_action(r, &d->done);
  if (rd_accept_word(r, "on_control"))
    return read_action(r, &d->on_control);
  if (rd_accept_word(r, "priority"))
    return read_priority(r, d);
  if (rd_accept_word(r, "simd"))
    return read_simd(r, d);
  if (rd_accept_word(r, "ut")) {
    d->ut_given = true;
    return rd_expect_u8(r, "a microthread", MAX_MICROTHREADS - 1, &d->ut);
  }
  return rd_expected(r, "a field of the descriptor");
}

bool rd_desc(IrReader *r, IrDesc *d)
{
  unsigned kind;
  *d = (IrDesc){.global = {IR_NO_ID}};
  if (!rd_expect_listed(r, IRW_desc_kind, "a kind of descriptor", &kind))
    return false;
  d->desc.kind = (DescKind)kind;
  if (!rd_expect_punct(r, '(') || !rd_expect_word(r, "base") || !read_base(r, d))
    return false;
  while (rd_accept_punct(r, ','))
    if (!read_desc_field(r, &d->desc))
      return false;
  return rd_expect_punct(r, ')');
}

bool rd_dsr(IrReader *r, DsrFile *file, uint32_t *number)
{
  unsigned word;
  if (!rd_expect_listed(r, IRW_dsr_file, "a DSR file", &word) || !rd_expect_punct(r, '['))
    return false;
  *file = (DsrFile)word;
  const IrToken *t = rd_peek(r);
  if (t->kind == T_WORD && t->text[0] == 'v' && rd_is_digit(t->text[1])) {
    uint64_t n = strtoull(t->text + 1, NULL, 10);
    if (n > UINT16_MAX - IR_VIRTUAL_DSR) {
      diag_ir_out_of_range(r->diags, t->span, "a virtual DSR", n, UINT16_MAX - IR_VIRTUAL_DSR);
      return false;
    }
    *number = (uint32_t)n + IR_VIRTUAL_DSR;
    rd_next(r);
  } else if (!rd_expect_u32(r, "a DSR", MAX_DSRS - 1, number)) {
    return false;
  }
  return rd_expect_punct(r, ']');
}
