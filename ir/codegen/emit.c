/* Encodes the code and writes its tables in the image: lines, operand names, symbols. */
#include "ir/codegen/codegen.h"

#include <ctype.h>
#include <string.h>

#include <stb_ds.h>

/* ---- instructions --------------------------------------------------------------------------- */

static uint8_t register_number(Reg r)
{
  if (r == REG_NONE)
    return 0;
  if (reg_is_virtual(r))
    ICE("a virtual register is left");
  return (uint8_t)(r < PAIR_BASE ? r : r - PAIR_BASE);
}

static VecOperand vec_operand(const MVecOperand *o, Reg r)
{
  if (o->kind == VOPND_DSR)
    return (VecOperand){VOPND_DSR, o->file, (uint8_t)o->number};
  if (o->kind == VOPND_REG)
    return (VecOperand){.kind = VOPND_REG, .number = register_number(r)};
  return (VecOperand){.kind = VOPND_NONE};
}

static VecOperands vec_operands(const MInsn *mi)
{
  return (VecOperands){
    .op = mi->vec->op,
    .dest = vec_operand(&mi->vec->dest, mi->r[0]),
    .src0 = vec_operand(&mi->vec->src0, mi->vec->folds ? mi->r[0] : mi->r[1]),
    .src1 = vec_operand(&mi->vec->src1, mi->r[2]),
    .has_scalar = mi->r[3] != REG_NONE,
    .scalar = register_number(mi->r[3]),
    .has_index = mi->r[4] != REG_NONE,
    .index = register_number(mi->r[4]),
    .priority = mi->vec->priority,
  };
}

static Insn to_insn(const Cg *cg, const MInsn *mi, const uint32_t *labels)
{
  uint32_t imm = (uint32_t)mi->imm + layout_symbol(cg, (SymKind)mi->sym, mi->sym_index);
  Insn out = {.op = (Opcode)mi->op, .imm = mi->op == OP_li32 ? imm : imm & 0xffff};
  InsnFormat format = insn_info[mi->op].format;
  if (format == FMT_VEC) {
    out.vec = vec_operands(mi);
    return out;
  }
  out.a = register_number(mi->r[0]);
  out.b = register_number(mi->r[1]);
  out.c = register_number(mi->r[2]);
  if (mi_is_jump(mi))
    *(format == FMT_RIJ ? &out.target : &out.imm) = labels[mi->target];
  if (format == FMT_DSRLD || format == FMT_DSRSET || format == FMT_DSRGET) {
    out.a = (uint8_t)mi->number;
    out.file = (DsrFile)mi->file;
    out.absolute = mi->absolute;
    out.xdsr = mi->xdsr;
    out.field = format == FMT_DSRLD ? (DsrField)0 : (DsrField)mi->field;
  }
  if (format == FMT_CTR || format == FMT_CTRA || mi->op == OP_blki || mi->op == OP_unblki)
    out.a = (uint8_t)mi->number;
  return out;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Two numbers of 64 bits, so that no padding is hashed where pointers have 32. */
typedef struct { uint64_t parent, function; } InlineKey;

typedef struct {
  Cg *cg;
  uint16_t *words;                /* stb_ds arrays */
  ImageLine *lines;
  ImageInline *inlines;
  ImageVecNames *names;
  ImageAssert *asserts;
  ImageAccess *accesses;
  struct { InlineKey key; uint32_t value; } *inline_by_key;   /* stb_ds */
  uint32_t *inline_of;            /* by location: index + 1, 0 not looked up yet */
  uint32_t *labels;
  uint32_t last_loc;
} Emitter;

FilePlace file_place(const Cg *cg, Span span)
{
  if (span.off == 0 || !cg->sources)
    return (FilePlace){0, 0, 0};
  SourceLoc at = source_locate(cg->sources, span.off);
  uint32_t file = source_file_of(cg->sources, span.off).raw;
  return (FilePlace){file ? file - 1 : 0, at.line, at.column};
}

/* The entry that says where the code at a location was inlined. */
static uint32_t inline_entry(Emitter *e, uint32_t loc)
{
  const IrLoc *l = &e->cg->work->locs[loc];
  if (ir_loc_is_none(l->inlined_at))
    return IMAGE_NO_INLINE;
  InlineKey key = {l->inlined_at.raw, (uintptr_t)l->function};
  ptrdiff_t at = hmgeti(e->inline_by_key, key);
  if (at >= 0)
    return e->inline_by_key[at].value;
  uint32_t parent = inline_entry(e, l->inlined_at.raw);
  FilePlace p = file_place(e->cg, e->cg->work->locs[l->inlined_at.raw].span);
  ImageInline entry = {p.file, p.line, p.column, parent, l->function ? l->function : ""};
  arrput(e->inlines, entry);
  uint32_t number = (uint32_t)arrlenu(e->inlines) - 1;
  hmput(e->inline_by_key, key, number);
  return number;
}

/* Finds the entry, if code has made one. */
static bool find_inline(void *context, uint32_t loc, uint32_t *number)
{
  Emitter *e = context;
  const IrLoc *l = &e->cg->work->locs[loc];
  *number = IMAGE_NO_INLINE;
  if (ir_loc_is_none(l->inlined_at))
    return true;
  InlineKey key = {l->inlined_at.raw, (uintptr_t)l->function};
  ptrdiff_t at = hmgeti(e->inline_by_key, key);
  if (at >= 0)
    *number = e->inline_by_key[at].value;
  return at >= 0;
}

static uint32_t inline_of(Emitter *e, uint32_t loc)
{
  if (ir_loc_is_none(e->cg->work->locs[loc].inlined_at))
    return IMAGE_NO_INLINE;
  if (e->inline_of[loc] == 0)
    e->inline_of[loc] = inline_entry(e, loc) + 1;
  return e->inline_of[loc] - 1;
}

static void put_line(Emitter *e, uint32_t pc, IrLocId loc)
{
  if (loc.raw == e->last_loc)
    return;
  e->last_loc = loc.raw;
  ImageLine row = {.pc = (uint16_t)pc, .inlined_at = IMAGE_NO_INLINE};
  if (loc.raw) {
    FilePlace p = file_place(e->cg, e->cg->work->locs[loc.raw].span);
    row = (ImageLine){(uint16_t)pc, p.file, p.line, p.column, inline_of(e, loc.raw)};
  }
  const ImageLine *last = arrlenu(e->lines) ? &arrlast(e->lines) : NULL;
  if (last && last->file == row.file && last->line == row.line && last->column == row.column &&
      last->inlined_at == row.inlined_at)
    return;
  arrput(e->lines, row);
}

static const char *text_or_empty(const char *text) { return text ? text : ""; }

static void put_names(Emitter *e, uint32_t pc, const MVec *vec)
{
  if (vec->dest.name || vec->src0.name || vec->src1.name)
    arrput(e->names, ((ImageVecNames){(uint16_t)pc, text_or_empty(vec->dest.name),
                                      text_or_empty(vec->src0.name),
                                      text_or_empty(vec->src1.name)}));
}

/* A blank, a tab or the end of a line. */
static bool is_blank(char c) { return isspace((unsigned char)c) != 0; }

/* The condition among the words of `@assert(condition)`; NULL: the words are others. */
static const char *condition_of(Arena *arena, const char *text, size_t length)
{
  static const char name[] = "@assert";
  const char *from = text + strlen(name), *end = text + length;
  if (length <= strlen(name) || memcmp(text, name, strlen(name)) != 0 || end[-1] != ')')
    return NULL;
  while (is_blank(*from))
    from++;
  if (*from++ != '(')
    return NULL;
  return arena_one_line(arena, from, end - 1);
}

/* The comment behind the call in its line, if it begins with a blank; else "". */
static const char *comment_behind(Arena *arena, const char *at, const char *end)
{
  while (at < end && (*at == ' ' || *at == ';'))
    at++;
  if (end - at < 4 || memcmp(at, "// ", 3) != 0)
    return "";
  const char *from = at + 3, *to = from;
  while (to < end && *to != '\n')
    to++;
  while (to > from && is_blank(to[-1]))
    to--;
  return arena_printf(arena, "%.*s", (int)(to - from), from);
}

/* elements: of the dimension that has the index; 0: the program's own assertion. */
static void put_assert(Emitter *e, uint32_t pc, IrLocId loc, uint32_t elements)
{
  Arena *kept = e->cg->kept;
  Span span = loc.raw ? e->cg->work->locs[loc.raw].span : (Span){0, 0};
  if (span.off == 0 || !e->cg->sources)
    return;
  FileId file = source_file_of(e->cg->sources, span.off);
  size_t length, start = span.off - source_base(e->cg->sources, file);
  const char *text = source_text(e->cg->sources, file, &length);
  if (start >= length || span.len > length - start)
    return;
  const char *at = text + start, *behind = at + span.len;
  ImageAssert assertion = {.pc = (uint16_t)pc};
  if (elements == 0) {
    assertion.condition = condition_of(kept, at, span.len);
    assertion.comment = comment_behind(kept, behind, text + length);
  } else {
    assertion.condition = arena_printf(kept, "index '%s' is from 0 to %u",
                                       arena_one_line(kept, at, behind), elements - 1);
    assertion.comment = "cslc --check-indices has put this assertion here";
  }
  if (assertion.condition)
    arrput(e->asserts, assertion);
}

uint32_t cg_symbol_of(const Cg *cg, uint32_t global)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < global; i++)
    n += cg->globals[i].needed;
  return n;
}

/* An address without a register lies in its variable, but where the optimiser has put a number for
 * an index that a loop computes. */
static bool may_leave_object(const Cg *cg, const MInsn *mi, const Insn *insn)
{
  uint32_t start = cg->globals[mi->object - 1].address;
  uint32_t end = start + cg->work->globals[mi->object - 1].bytes;
  return mi->r[1] != REG_NONE || insn->imm < start ||
         insn->imm + insn_access_bytes(insn->op) > end;
}

/* `object`: 1 + a global, or 0. */
static void put_object(Emitter *e, uint32_t pc, unsigned operand, uint32_t object)
{
  if (object && e->cg->globals[object - 1].needed)
    arrput(e->accesses, ((ImageAccess){(uint16_t)pc, (uint8_t)operand,
                                       cg_symbol_of(e->cg, object - 1)}));
}

static void put_access(Emitter *e, uint32_t pc, const MInsn *mi, const Insn *insn)
{
  if (mi->object && may_leave_object(e->cg, mi, insn))
    put_object(e, pc, 0, mi->object);
  if (mi->vec) {
    put_object(e, pc, 1 + VSLOT_DEST, mi->vec->dest.object);
    put_object(e, pc, 1 + VSLOT_SRC0, mi->vec->src0.object);
    put_object(e, pc, 1 + VSLOT_SRC1, mi->vec->src1.object);
  }
}

static void emit_func(Emitter *e, const MFunc *mf)
{
  uint32_t pc = mf->address;
  e->labels = base_realloc(e->labels, sizeof *e->labels * (mf->n_labels + 1));
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    if (mf->code[i].op == MI_LABEL)
      e->labels[mf->code[i].target] = pc;
    else
      pc += 2 * insn_words((Opcode)mf->code[i].op);
  }
  pc = mf->address;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL)
      continue;
    Insn insn = to_insn(e->cg, mi, e->labels);
    uint16_t words[3];
    unsigned n = insn_encode(&insn, words);
    put_line(e, pc, mi->loc);
    if (mi->op == OP_vec)
      put_names(e, pc, mi->vec);
    if (mi->op == OP_assert)
      put_assert(e, pc, mi->loc, mi->number);
    put_access(e, pc, mi, &insn);
    for (unsigned k = 0; k < n; k++)
      arrput(e->words, words[k]);
    pc += 2 * n;
  }
}

/* ---- symbols -------------------------------------------------------------------------------- */

static void put_symbols(const Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->work;
  uint32_t n = 0;
  ImageSymbol *list = arena_many(cg->kept, ImageSymbol, m->n_globals + arrlenu(cg->funcs) +
                                                          arrlenu(cg->pool) + m->n_tile_params);
  for (uint32_t i = 0; i < m->n_globals; i++)
    if (cg->globals[i].needed)
      list[n++] = (ImageSymbol){m->globals[i].name, (uint16_t)cg->globals[i].address,
                                m->globals[i].bytes, text_or_empty(m->globals[i].type), false,
                                m->globals[i].unset};
  for (size_t i = 0; i < arrlenu(cg->pool); i++)
    list[n++] = (ImageSymbol){arena_printf(cg->kept, "<descriptor>.%zu", i),
                              (uint16_t)cg->pool[i].address, 2 * cg->pool[i].n_words, "", false,
                              false};
  for (uint32_t i = 0; i < m->n_tile_params; i++)
    if (cg->tile_params[i].needed)
      list[n++] = (ImageSymbol){arena_printf(cg->kept, "<tile parameter>.%u", i),
                                (uint16_t)cg->tile_params[i].address,
                                ir_type_bytes(m->tile_params[i]), "", false, false};
  for (size_t i = 0; i < arrlenu(cg->funcs); i++)
    list[n++] = (ImageSymbol){cg->funcs[i]->name, (uint16_t)cg->funcs[i]->address,
                              cg->funcs[i]->bytes, "", true, false};
  image->n_symbols = n;
  image->symbols = list;
}

/* The globals come first among the symbols. */
static void put_symbol_types(const Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->work;
  if (!cg->options->debug)
    return;
  uint32_t *types = arena_many(cg->kept, uint32_t, image->n_symbols), n = 0;
  for (uint32_t i = 0; i < m->n_globals; i++)
    if (cg->globals[i].needed)
      types[n++] = m->globals[i].debug_type;
  image->n_symbol_types = image->n_symbols;
  image->symbol_types = types;
}

/* Copies an stb_ds array into the arena that stays and frees it. */
#define KEEP(cg, field, count, type, array)                                                     \
  do {                                                                                          \
    type *kept_ = arena_many((cg)->kept, type, arrlenu(array));                                \
    if (arrlenu(array))                                                                         \
      memcpy(kept_, (array), sizeof *(array) * arrlenu(array));                                 \
    (count) = (uint32_t)arrlenu(array);                                                         \
    (field) = kept_;                                                                            \
    arrfree(array);                                                                             \
  } while (0)

void emit_module(Cg *cg, ImageClass *image)
{
  Emitter e = {.cg = cg, .last_loc = IR_NO_ID,
               .inline_of = arena_many(cg->arena, uint32_t, cg->work->n_locs + 1)};
  for (size_t i = 0; i < arrlenu(cg->funcs); i++)
    emit_func(&e, cg->funcs[i]);
  image->code_address = (uint16_t)cg->code_address;
  KEEP(cg, image->code, image->code_words, uint16_t, e.words);
  KEEP(cg, image->lines, image->n_lines, ImageLine, e.lines);
  KEEP(cg, image->inlines, image->n_inlines, ImageInline, e.inlines);
  KEEP(cg, image->vec_names, image->n_vec_names, ImageVecNames, e.names);
  KEEP(cg, image->asserts, image->n_asserts, ImageAssert, e.asserts);
  KEEP(cg, image->accesses, image->n_accesses, ImageAccess, e.accesses);
  put_symbols(cg, image);
  put_symbol_types(cg, image);
  if (cg->options->debug) {
    variables_emit(cg, find_inline, &e, image);
    asserted_emit(cg, image);
  }
  hmfree(e.inline_by_key);
  free(e.labels);
}
