/* What stands in tile memory: globals, their initial data and their order. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

/* ---- names ---------------------------------------------------------------------------------- */

/* "memcpy" of "<memcpy/memcpy>" and "../lib/memcpy.csl". */
static const char *module_stem(Sema *s, uint32_t module)
{
  const char *path = sema_text(s, s->modules[module].path);
  const char *slash = strrchr(path, '/');
  const char *start = slash != NULL ? slash + 1 : path[0] == '<' ? path + 1 : path;
  size_t n = strcspn(start, ".>");
  char *stem = arena_copy_text(s->arena, start, n);
  for (char *p = stem; *p != 0; p++)
    if (!(*p == '_' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
          (*p >= 'A' && *p <= 'Z')))
      *p = '_';
  return stem;
}

/* Names of the main file stand alone, others after their module's; a number makes them unique. */
static const char *sema_ir_name(Sema *s, uint32_t module, StrId name)
{
  const char *text = sema_text(s, name);
  if (s->modules[module].parent != IR_NO_ID)
    text = arena_printf(s->arena, "%s.%s", module_stem(s, module), text);
  StrId id = str_intern_z(s->session->names, text);
  uint32_t n = 0;
  bool is_taken = pair_get(&s->own->ir_names, id.raw, &n);
  pair_put(&s->own->ir_names, id.raw, ++n);
  return sema_keep_text(s, is_taken ? arena_printf(s->arena, "%s.%u", text, n) : text);
}

static bool is_symbol(const char *text)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  size_t first = strspn(text, letters);
  return first > 0 && text[first + strspn(text + first, "0123456789.$_abcdefghijklmnopqrstuvwxyz"
                                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == 0;
}

/* The value of `linkname` or `linksection` in its module. */
static PoolId attribute_value(Sema *s, uint32_t module, const Node *attribute)
{
  Frame frame = {.is_declaration = true};
  SavedWalk saved;
  sema_enter(s, &frame, walk_in(s, module), &saved);
  PoolId text = sema_comptime(s, attribute, POOL(COMPTIME_STRING));
  sema_leave(s, &saved);
  return text;
}

StrId sema_symbol(Sema *s, uint32_t module, StrId name, const Node *linkname)
{
  if (linkname == NULL)
    return name;
  PoolId text = attribute_value(s, module, linkname);
  return pool_kind(s->pool, text) == PK_STRING ? pool_key(s->pool, text).u.string : name;
}

/* The name that `linkname` gives, or that of the declaration. */
const char *sema_link_name(Sema *s, uint32_t module, StrId name, const Node *linkname)
{
  if (linkname == NULL)
    return sema_ir_name(s, module, name);
  PoolId text = attribute_value(s, module, linkname);
  uint32_t used;
  if (pool_kind(s->pool, text) == PK_STRING && is_symbol(value_text(s->pool, s->arena, text))) {
    StrId id = pool_key(s->pool, text).u.string;
    if (!pair_get(&s->own->ir_names, id.raw, &used)) {
      pair_put(&s->own->ir_names, id.raw, 1);
      return sema_text(s, id);
    }
    diag_linkname_twice(s->diags, linkname->span, sema_text(s, id));
  } else if (!pool_eq(text, POOL(POISON))) {
    diag_bad_linkname(s->diags, linkname->span, text);
  }
  return sema_ir_name(s, module, name);
}

bool sema_rename_symbol(Sema *s, const char **text, StrId name, Span at)
{
  const char *wanted = sema_text(s, name);
  uint32_t used;
  if (strcmp(*text, wanted) == 0)
    return true;
  if (!is_symbol(wanted)) {
    diag_bad_linkname(s->diags, at, pool_string(s->pool, name));
    return false;
  }
  if (pair_get(&s->own->ir_names, name.raw, &used)) {
    diag_linkname_twice(s->diags, at, wanted);
    return false;
  }
  pair_put(&s->own->ir_names, name.raw, 1);
  *text = wanted;
  return true;
}

StrId sema_section(Sema *s, uint32_t module, const Node *linksection)
{
  if (linksection == NULL)
    return STR_NONE;
  PoolId text = attribute_value(s, module, linksection);
  if (pool_kind(s->pool, text) == PK_STRING && value_text(s->pool, s->arena, text)[0] != 0)
    return pool_key(s->pool, text).u.string;
  if (!pool_eq(text, POOL(POISON)))
    diag_bad_linksection(s->diags, linksection->span, text);
  return STR_NONE;
}

bool sema_section_address(const Sema *s, StrId section, uint16_t *address)
{
  const OptionSection *sections = s->session->options->sections;
  for (size_t i = 0; !str_is_none(section) && i < arrlenu(sections); i++)
    if (strcmp(sections[i].name, sema_text(s, section)) == 0) {
      *address = sections[i].address;
      return true;
    }
  return false;
}

/* ---- globals -------------------------------------------------------------------------------- */

uint32_t sema_decl_global(Sema *s, Decl *d)
{
  if (d->global == IR_NO_ID) {
    uint32_t index = (uint32_t)(d - s->modules[d->module].decls);
    Global g = {.decl_module = d->module, .decl = index, .type = d->type, .ir = {IR_NO_ID},
                .init = d->value, .span = d->name_span};
    d->global = (uint32_t)arrlenu(s->globals);
    arrput(s->globals, g);
  }
  return d->global;
}

uint32_t sema_align(Sema *s, const Node *n, uint32_t align)
{
  int64_t wanted = 0;
  PoolId value = sema_comptime(s, n, POOL(NONE));
  bool is_good = pool_eq(value, POOL(POISON)) ||
                 (pool_int_value(s->pool, value, &wanted) && wanted > 0 && wanted <= INT16_MAX &&
                  (wanted & (wanted - 1)) == 0);
  if (!is_good)
    diag_bad_align(s->diags, n->span, value);
  return is_good && wanted > align ? (uint32_t)wanted : align;
}

static uint32_t wanted_align(Sema *s, const Decl *d, uint32_t align)
{
  if (d->node->kind != ND_VAR_DECL || node_var_decl(d->node)->align == NULL)
    return align;
  Frame frame = {.is_declaration = true};
  SavedWalk saved;
  sema_enter(s, &frame, walk_in(s, d->module), &saved);
  align = sema_align(s, node_var_decl(d->node)->align, align);
  sema_leave(s, &saved);
  return align;
}

IrGlobalId sema_global_ir(Sema *s, uint32_t global)
{
  if (!ir_global_is_none(s->globals[global].ir))
    return s->globals[global].ir;
  Global g = s->globals[global];
  const Decl *d = g.decl == IR_NO_ID ? NULL : &s->modules[g.decl_module].decls[g.decl];
  uint32_t align = type_align(s->pool, g.type);
  StrId name = d != NULL ? d->name : str_intern_z(s->session->names, "const");
  if (d != NULL)
    align = wanted_align(s, d, align);
  const NodeVarDecl *node =
      d != NULL && d->node->kind == ND_VAR_DECL ? node_var_decl(d->node) : NULL;
  const char *text = sema_link_name(s, d != NULL ? g.decl_module : 0, name,
                                    node != NULL ? node->linkname : NULL);
  if (node != NULL)
    s->globals[global].section = sema_section(s, g.decl_module, node->linksection);
  IrGlobalId ir = ir_global_add(s->ir, text, type_bytes(s->pool, g.type), align);
  IrGlobal *out = &s->ir->globals[ir.raw];
  out->type = sema_keep_text(s, type_text(s->pool, s->arena, g.type));
  out->debug_type = debug_type_of(s->session->debug_types, g.type);
  out->is_const = d == NULL || d->kind != DECL_VAR;
  if (d != NULL)
    out->loc = ir_loc_add(s->ir, d->name_span, IR_NO_LOC, NULL);
  s->globals[global].ir = ir;
  arrput(s->own->emitted, global);
  return ir;
}

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

void sema_fill_globals(Sema *s)
{
  while (s->own->next_global < arrlenu(s->own->emitted))
    fill_global(s, s->own->emitted[s->own->next_global++]);
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
