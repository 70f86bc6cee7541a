/* What an evaluation leaves to the IR: the initial data of globals, the code of functions that need
 * some, and the order of globals in tile memory. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

/* ---- initial data --------------------------------------------------------------------------- */

typedef struct {
  Sema *s;
  uint32_t global;         /* IrGlobalId.raw */
  uint32_t size;
  uint8_t *bytes;
  IrReloc *relocs;         /* stb_ds */
  Span span;               /* of the global, for messages */
} Data;

static void put_word(Data *d, uint32_t at, uint64_t bits, uint32_t n)
{
  for (uint32_t i = 0; i < n && at + i < d->size; i++)
    d->bytes[at + i] = (uint8_t)(bits >> 8 * i);
}

static void put_reloc(Data *d, uint32_t at, bool is_func, uint32_t target, int64_t addend)
{
  IrReloc r = {.offset = at, .is_func = is_func, .target = target, .addend = (int32_t)addend};
  arrput(d->relocs, r);
}

static void put_desc(Data *d, uint32_t at, const PoolKey *k)
{
  enum { BASE_WORD = 1, WRAP_WORD = 4, WORD_BYTES = 2 };
  uint16_t words[12];
  const IrDesc resolved = d->s->session->builtins->stored_desc(d->s, k->u.dsd.desc);
  const Descriptor *desc = &resolved.desc;
  unsigned n = descriptor_encode(desc, words);
  for (unsigned i = 0; i < n; i++)
    put_word(d, at + WORD_BYTES * i, words[i], WORD_BYTES);
  if (ir_global_is_none(k->u.dsd.desc.global))
    return;
  uint32_t target = sema_global_ir(d->s, k->u.dsd.desc.global.raw).raw;
  put_reloc(d, at + WORD_BYTES * BASE_WORD, false, target, desc->base);
  if (desc->kind == DESC_CIRC)
    put_reloc(d, at + WORD_BYTES * WRAP_WORD, false, target, desc->wrap_base);
}

static void put_pointer(Data *d, uint32_t at, const PoolKey *k)
{
  if (k->u.pointer.base_kind == PTR_GLOBAL)
    put_reloc(d, at, false, sema_global_ir(d->s, k->u.pointer.base).raw, k->u.pointer.offset);
  else if (k->u.pointer.base_kind == PTR_INTEGER)
    put_word(d, at, (uint16_t)k->u.pointer.offset, 2);
  else
    diag_cell_address(d->s->diags, d->span);
}

static void put_value(Data *d, uint32_t at, PoolId value, PoolId type);

static void put_bits(Data *d, uint32_t at, uint32_t first, uint64_t bits, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (bits >> i & 1)
      d->bytes[at + (first + i) / 8] |= (uint8_t)(1u << (first + i) % 8);
}

/* The low n bits of an integer that has more than put_bits takes. */
static void put_wide(Data *d, uint32_t at, uint32_t first, PoolId value, uint32_t n)
{
  mpz_t big;
  mpz_init(big);
  pool_mpz(d->s->pool, value, big);
  for (uint32_t i = 0; i < n; i++)
    put_bits(d, at, first + i, (uint64_t)mpz_tstbit(big, i), 1);
  mpz_clear(big);
}

/* A value among the bits of a packed object. */
static void put_packed(Data *d, uint32_t at, uint32_t bit, PoolId value, PoolId type)
{
  Sema *s = d->s;
  value = sema_force(s, value, d->span);  /* tiles differ in whole objects only */
  PoolKey k = pool_key(s->pool, value), t = pool_key(s->pool, type);
  uint32_t n = type_bits(s->pool, type);
  switch ((int)k.kind) {
  case PK_BOOL_VALUE:
    put_bits(d, at, bit, value_is_true(value), n);
    return;
  case PK_INT:
    if (n > TYPE_SCALAR_MAX_BITS)
      put_wide(d, at, bit, value, n);
    else
      put_bits(d, at, bit, value_int_bits(s->pool, value), n);
    return;
  case PK_FLOAT:
    put_bits(d, at, bit, k.u.floating.bits, n);
    return;
  case PK_AGGREGATE:
    if (t.kind == PK_UNION_TYPE)
      put_packed(d, at, bit, k.u.aggregate.elems[1], pool_type_of(s->pool, k.u.aggregate.elems[1]));
    for (uint32_t i = 0; t.kind == PK_STRUCT_TYPE && i < k.u.aggregate.n; i++)
      put_packed(d, at, bit + type_field_bit(s->pool, type, i), k.u.aggregate.elems[i],
                 t.u.fields.fields[i].type);
    return;
  default:
    if (bit % 8 == 0)
      put_value(d, at + bit / 8, value, type);
    else
      diag_packed_pointer(s->diags, d->span);
    return;
  }
}

/* An element of one machine number of `bytes`; false: it takes more than a word of bits. */
static bool put_number(Data *d, uint32_t at, PoolId value, uint32_t bytes)
{
  const Pool *pool = d->s->pool;
  switch ((int)pool_kind(pool, value)) {
  case PK_INT:
    put_word(d, at, value_int_bits(pool, value), bytes);
    return true;
  case PK_FLOAT:
    put_word(d, at, pool_key(pool, value).u.floating.bits, bytes);
    return true;
  default:
    return false;
  }
}

/* What an element's type says is found once: arrays are what fills the memory of a tile. */
static void put_elements(Data *d, uint32_t at, const PoolKey *k, PoolId element)
{
  Pool *pool = d->s->pool;
  uint32_t each = type_bytes(pool, element);
  bool is_wide = type_is_wide(pool, element);
  for (uint32_t i = 0; i < k->u.aggregate.n; i++)
    if (is_wide || !put_number(d, at + each * i, k->u.aggregate.elems[i], each))
      put_value(d, at + each * i, k->u.aggregate.elems[i], element);
}

static void put_parts(Data *d, uint32_t at, const PoolKey *k, PoolId type)
{
  Pool *pool = d->s->pool;
  PoolKey t = pool_key(pool, type);
  if (t.kind != PK_ARRAY_TYPE && t.u.fields.layout == LAYOUT_PACKED) {
    put_packed(d, at, 0, pool_get(pool, k), type);
    return;
  }
  if (t.kind == PK_UNION_TYPE) {
    put_value(d, at, k->u.aggregate.elems[1], pool_type_of(pool, k->u.aggregate.elems[1]));
    return;
  }
  if (t.kind == PK_ARRAY_TYPE) {
    put_elements(d, at, k, t.u.array.element);
    return;
  }
  for (uint32_t i = 0; i < k->u.aggregate.n; i++)
    if (pool_is_none(t.u.fields.fields[i].known))
      put_value(d, at + type_field_offset(pool, type, i), k->u.aggregate.elems[i],
                t.u.fields.fields[i].type);
}

static void put_value(Data *d, uint32_t at, PoolId value, PoolId type)
{
  Sema *s = d->s;
  if (type_is_wide(s->pool, type))
    value = sema_force(s, value, d->span);
  PoolKey k = pool_key(s->pool, value);
  switch ((int)k.kind) {
  case PK_BOOL_VALUE:
    put_word(d, at, value_is_true(value), 1);
    return;
  case PK_INT:
    if (type_is_wide(s->pool, type))
      put_wide(d, at, 0, value, type_bytes(s->pool, type) * 8);
    else
      put_word(d, at, value_int_bits(s->pool, value), type_bytes(s->pool, type));
    return;
  case PK_FLOAT:
    put_word(d, at, k.u.floating.bits, type_bytes(s->pool, type));
    return;
  case PK_AGGREGATE:
    put_parts(d, at, &k, type);
    return;
  case PK_POINTER:
    put_pointer(d, at, &k);
    return;
  case PK_FUNC: {
    IrFuncId func = sema_func_ir(s, k.u.index);
    s->ir->funcs[func.raw].address_taken = true;
    put_reloc(d, at, true, func.raw, 0);
    return;
  }
  case PK_DSD:
    put_desc(d, at, &k);
    return;
  case PK_RANGE: {
    PoolId element = pool_key(s->pool, type).u.array.element;
    uint32_t each = type_bytes(s->pool, element);
    put_value(d, at, k.u.range.start, element);
    put_value(d, at + each, k.u.range.stop, element);
    put_value(d, at + 2 * each, k.u.range.step, element);
    return;
  }
  case PK_SYMBOLIC: {
    TileLeaf leaf = {d->global, at, value};
    arrput(s->own->tile_data, leaf);
    return;
  }
  case PK_VOID_VALUE:
  case PK_POISON:
    return;
  default:
    ICE("a value of type %s in tile memory", type_text(s->pool, s->arena, k.type));
  }
}

/* Elements of the array that a pointer variable was initialised from. */
static uint16_t pointer_extent(Sema *s, PoolId init)
{
  PoolKey k = pool_key(s->pool, init);
  if (k.kind != PK_POINTER || k.u.pointer.base_kind != PTR_GLOBAL || k.u.pointer.offset != 0)
    return 0;
  PoolId type = s->globals[k.u.pointer.base].type;
  if (pool_kind(s->pool, type) != PK_ARRAY_TYPE)
    return 1;
  uint64_t n = type_element_count(s->pool, type);
  return n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
}

static bool is_all_zero(const uint8_t *bytes, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

static void fill_global(Sema *s, uint32_t index)
{
  Global g = s->globals[index];
  uint32_t size = s->ir->globals[g.ir.raw].bytes;
  s->ir->globals[g.ir.raw].unset = pool_is_none(g.init) && g.decl != IR_NO_ID;
  if (pool_is_none(g.init) || size == 0 || size > PE_MEM_BYTES)
    return;                       /* too large: code generation says by how much */
  Data d = {.s = s, .global = g.ir.raw, .size = size, .span = g.span};
  d.bytes = arena_alloc(s->ir->arena, size, 8);
  put_value(&d, 0, g.init, g.type);
  IrGlobal *out = &s->ir->globals[g.ir.raw];
  out->init = is_all_zero(d.bytes, size) && arrlenu(d.relocs) == 0 ? NULL : d.bytes;
  out->n_relocs = (uint32_t)arrlenu(d.relocs);
  if (out->n_relocs > 0) {
    out->relocs = arena_many(s->ir->arena, IrReloc, out->n_relocs);
    memcpy(out->relocs, d.relocs, out->n_relocs * sizeof *out->relocs);
  }
  out->extent = pointer_extent(s, g.init);
  arrfree(d.relocs);
}

static void fill_globals(Sema *s)
{
  while (s->own->next_global < arrlenu(s->own->emitted))
    fill_global(s, s->own->emitted[s->own->next_global++]);
}

/* ---- code ----------------------------------------------------------------------------------- */

static void declare_params(Sema *s, const FuncInstance *f, const NodeFnDecl *fn,
                           const PoolKey *type, uint32_t first)
{
  IrFunc *ir = &s->ir->funcs[f->ir.raw];
  for (uint32_t i = 0; i < type->u.fn_type.n; i++) {
    Name name = node_param(fn->params.at[i])->name;
    PoolId t = type->u.fn_type.params[i];
    Operand o;
    if (param_is_bound(f, i)) {
      o = operand_value(s, f->bound[i]);
    } else {
      IrValue v = ir->blocks[0].params[first++];
      o = type_ir(s->pool, t) != IRT_VOID ? operand_runtime(v, t) : operand_place(v, t, true);
      if (fn->is_task && packed_param_ir(s, t) != IRT_VOID) {
        o = operand_place(sema_temp(s, t).ir, t, true);
        ir_store(&s->b, o.ir, v);
      }
      if (f->known != NULL)
        o.value = f->known[i];
    }
    if (name_is_given(name))
      scope_add(s, name, o, node_param(fn->params.at[i])->type);
  }
}

static void sema_compile_func(Sema *s, uint32_t func)
{
  FuncInstance f = s->funcs[func];
  const NodeFnDecl *fn = node_fn_decl(f.node);
  if (f.compiled)
    return;
  s->funcs[func].compiled = true;
  if (fn->body == NULL) {
    diag_no_body(s->diags, fn->name.span, sema_text(s, f.name));
    return;
  }
  PoolKey type = pool_key(s->pool, f.type);
  bool in_memory = returns_in_memory(s, type.u.fn_type.result);
  Frame frame = {.name = f.name, .is_function = true, .is_emitted = true,
                 .func = func,
                 .result = type.u.fn_type.result, .ir_name = s->ir->funcs[f.ir.raw].name};
  SavedWalk saved;
  sema_enter(s, &frame, (WalkContext){.where = WHERE_RUNTIME, .module = f.decl_module}, &saved);
  s->b = (IrBuilder){.module = s->ir, .func = f.ir, .block = {0}};
  if (in_memory)
    frame.result_address = s->ir->funcs[f.ir.raw].blocks[0].params[0];
  sema_at(s, fn->name.span);
  declare_params(s, &f, fn, &type, in_memory);
  Target target;
  target_push(s, &target, TARGET_FN, (Name){{0}, {0, 0}}, frame.result);
  /* Loops may not branch to the entry. */
  IrBlockId body = ir_block_add(s->ir, f.ir);
  ir_br(&s->b, body, NULL, 0);
  s->b.block = body;
  sema_block(s, fn->body, POOL(VOID));
  target_pop(s, &target);
  if (!s->is_dead && !s->is_refuted && !pool_eq(frame.result, POOL(VOID)))
    diag_missing_return(s->diags, fn->name.span, sema_text(s, f.name),
                        frame.result);
  if (!s->is_dead && pool_eq(frame.result, POOL(VOID))) {
    sema_at(s, (Span){fn->body->span.off + fn->body->span.len - 1, 1});
    ir_ret(&s->b, IR_NO_VALUE);
  }
  sema_leave(s, &saved);
}

void sema_compile_pending(Sema *s)
{
  if (s->ir == NULL)
    return;
  do {
    while (s->own->next_pending < arrlenu(s->own->pending) && !s->is_refuted)
      sema_compile_func(s, s->own->pending[s->own->next_pending++]);
    fill_globals(s);
  } while (s->own->next_pending < arrlenu(s->own->pending) && !s->is_refuted);
}

/* ---- the memory map ------------------------------------------------------------------------- */

typedef struct { uint32_t module, decl, old; } GlobalPlace;

static int compare_places(const void *a, const void *b)
{
  const GlobalPlace *x = a, *y = b;
  if (x->module != y->module)
    return x->module < y->module ? -1 : 1;
  if (x->decl != y->decl)
    return x->decl < y->decl ? -1 : 1;
  return x->old < y->old ? -1 : x->old > y->old;
}

static void renumber_globals(IrModule *m, const uint32_t *new_of)
{
  for (uint32_t f = 0; f < m->n_funcs; f++)
    for (uint32_t i = 1; i < m->funcs[f].n_insns; i++) {
      IrInsn *insn = &m->funcs[f].insns[i];
      if (insn->op == IR_global_addr)
        insn->u.global.raw = new_of[insn->u.global.raw];
      else if (insn->op == IR_dsd_const && !ir_global_is_none(insn->u.desc->global))
        insn->u.desc->global.raw = new_of[insn->u.desc->global.raw];
    }
  for (uint32_t g = 0; g < m->n_globals; g++)
    for (uint32_t i = 0; i < m->globals[g].n_relocs; i++)
      if (!m->globals[g].relocs[i].is_func)
        m->globals[g].relocs[i].target = new_of[m->globals[g].relocs[i].target];
  for (uint32_t i = 0; i < m->n_tile_slots; i++)
    if (!m->tile_slots[i].is_param)
      m->tile_slots[i].index = new_of[m->tile_slots[i].index];
  for (uint32_t i = 0; i < m->n_bindings; i++)
    if (!m->bindings[i].is_func)
      m->bindings[i].target = new_of[m->bindings[i].target];
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    if (!ir_global_is_none(m->dsrs[i].desc.global))
      m->dsrs[i].desc.global.raw = new_of[m->dsrs[i].desc.global.raw];
}

/* Declaration order, main file first, then the imports; what has no declaration comes last. */
static void order_globals(Sema *s)
{
  IrModule *m = s->ir;
  GlobalPlace *places = arena_many(s->arena, GlobalPlace, m->n_globals + 1);
  for (uint32_t i = 0; i < m->n_globals; i++)
    places[i] = (GlobalPlace){IR_NO_ID, IR_NO_ID, i};
  for (size_t i = 0; i < arrlenu(s->globals); i++) {
    const Global *g = &s->globals[i];
    if (!ir_global_is_none(g->ir) && g->decl != IR_NO_ID) {
      places[g->ir.raw].module = g->decl_module;
      places[g->ir.raw].decl = g->decl;
    }
  }
  qsort(places, m->n_globals, sizeof *places, compare_places);
  uint32_t *new_of = arena_many(s->arena, uint32_t, m->n_globals + 1);
  IrGlobal *globals = arena_many(s->arena, IrGlobal, m->n_globals + 1);
  for (uint32_t i = 0; i < m->n_globals; i++) {
    new_of[places[i].old] = i;
    globals[i] = m->globals[places[i].old];
  }
  memcpy(m->globals, globals, m->n_globals * sizeof *globals);
  renumber_globals(m, new_of);
  for (size_t i = 0; i < arrlenu(s->globals); i++)
    if (!ir_global_is_none(s->globals[i].ir))
      s->globals[i].ir.raw = new_of[s->globals[i].ir.raw];
  for (size_t i = 0; i < arrlenu(s->own->tile_data); i++)
    s->own->tile_data[i].global = new_of[s->own->tile_data[i].global];
}

/* Globals of a section with an address follow one another from there, in the order they have. */
static void place_sections(Sema *s)
{
  IrModule *m = s->ir;
  uint32_t n = (uint32_t)arrlenu(s->session->options->sections);
  uint32_t *next = arena_many(s->arena, uint32_t, n + 1);
  StrId *section_of = arena_many(s->arena, StrId, m->n_globals + 1);
  for (size_t i = 0; i < arrlenu(s->globals); i++)
    if (!ir_global_is_none(s->globals[i].ir))
      section_of[s->globals[i].ir.raw] = s->globals[i].section;
  for (uint32_t i = 0; i < n; i++)
    next[i] = s->session->options->sections[i].address;
  for (uint32_t g = 0; g < m->n_globals; g++)
    for (uint32_t i = 0; !str_is_none(section_of[g]) && i < n; i++) {
      IrGlobal *out = &m->globals[g];
      if (strcmp(s->session->options->sections[i].name, sema_text(s, section_of[g])) != 0)
        continue;
      s->session->sections_found[i] = true;
      next[i] = (next[i] + out->align - 1) / out->align * out->align;
      out->has_address = true;
      out->address = next[i] > UINT16_MAX ? UINT16_MAX : (uint16_t)next[i];
      next[i] += out->bytes;
      break;
    }
}

void sema_finish(Sema *s)
{
  if (s->ir == NULL)
    return;
  sema_compile_pending(s);
  if (s->ir->n_globals > 1)
    order_globals(s);
  if (arrlenu(s->session->options->sections) > 0)
    place_sections(s);
  for (size_t i = 0; i < arrlenu(s->own->tile_data); i++) {
    TileLeaf leaf = s->own->tile_data[i];
    tile_env_initial_data(s, (IrGlobalId){leaf.global}, leaf.offset, leaf.value);
  }
}
