/* Frames, scopes, comptime variables, and the ways out of blocks.
 *
 * Locals and cells are stacks that all frames share; a frame sees its own part only.  A way out
 * (break, return, the end of a branch) is recorded with the IR block it left from and the value
 * it carries; where all ways meet, exits_join makes one operand of them. With one way out it emits
 * nothing, so that a known value stays known; comptime evaluation always takes one way and uses the
 * same mechanism without blocks. */
#include "frontend/sema/sema_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

/* ---- frames --------------------------------------------------------------------------------- */

WalkContext walk_in(const Sema *s, uint32_t module)
{
  WalkContext context = s->now;
  context.module = module;
  return context;
}

WalkContext walk_comptime_in(const Sema *s, uint32_t module)
{
  WalkContext context = walk_in(s, module);
  context.comptime = true;
  return context;
}

WalkContext walk_enter_comptime(Sema *s)
{
  WalkContext outer = s->now;
  s->now.comptime = true;
  return outer;
}

WalkContext walk_enter_run_time(Sema *s)
{
  WalkContext outer = s->now;
  s->now.comptime &= s->now.frame == NULL || s->now.frame->is_comptime;
  return outer;
}

void sema_enter(Sema *s, Frame *frame, WalkContext context, SavedWalk *saved)
{
  *saved = (SavedWalk){
      .context = s->now, .is_dead = s->is_dead, .b = s->b,
      .n_locals = (uint32_t)arrlenu(s->own->locals), .n_cells = (uint32_t)arrlenu(s->own->cells),
      .n_leaves = (uint32_t)arrlenu(s->own->leaves)};
  frame->up = s->now.frame;
  frame->first_local = frame->first_in_scope = saved->n_locals;
  frame->targets = NULL;
  frame->is_comptime = context.comptime;
  s->now = context;
  s->now.frame = frame;
  s->is_dead = false;
}

static uint32_t newest_local(const Sema *s, StrId name)
{
  return name.raw < arrlenu(s->own->newest) ? s->own->newest[name.raw] : 0;
}

static void set_newest(Sema *s, StrId name, uint32_t place)
{
  uint32_t **newest = &s->own->newest;
  size_t n = arrlenu(*newest);
  if (name.raw >= n) {
    size_t more = name.raw + 1 - n;
    memset(arraddnptr(*newest, more), 0, more * sizeof **newest);
  }
  (*newest)[name.raw] = place;
}

/* Keeps the first n; what they had hidden is seen again. */
static void drop_locals(Sema *s, uint32_t n)
{
  for (size_t i = arrlenu(s->own->locals); i > n; i--)
    set_newest(s, s->own->locals[i - 1].name, s->own->locals[i - 1].hidden);
  arrsetlen(s->own->locals, n);
}

void sema_leave(Sema *s, const SavedWalk *saved)
{
  s->now = saved->context;
  s->is_dead = saved->is_dead;
  s->b = saved->b;
  drop_locals(s, saved->n_locals);
  arrsetlen(s->own->cells, saved->n_cells);
  arrsetlen(s->own->leaves, saved->n_leaves);
}

/* ---- scopes --------------------------------------------------------------------------------- */

Scope scope_open(Sema *s, Span text)
{
  Scope scope = {s->now.frame->first_in_scope, s->now.frame->scope_end,
                 (uint32_t)arrlenu(s->own->locals), (uint32_t)arrlenu(s->own->cells),
                 (uint32_t)arrlenu(s->own->leaves)};
  s->now.frame->first_in_scope = scope.n_locals;
  s->now.frame->scope_end = text.off + text.len;
  return scope;
}

void scope_close(Sema *s, Scope scope)
{
  s->now.frame->first_in_scope = scope.first_in_scope;
  s->now.frame->scope_end = scope.scope_end;
  drop_locals(s, scope.n_locals);
  arrsetlen(s->own->cells, scope.n_cells);
  arrsetlen(s->own->leaves, scope.n_leaves);
}

/* The bits of a number known at compile time, as memory would have them; false: it is none. */
static bool known_bits(const Sema *s, PoolId value, uint64_t *bits)
{
  PoolKey k = pool_key(s->pool, value);
  if (type_ir(s->pool, k.type) == IRT_VOID)
    return false;
  if (k.kind == PK_INT)
    *bits = value_int_bits(s->pool, value);
  else if (k.kind == PK_FLOAT)
    *bits = k.u.floating.bits;
  else if (k.kind == PK_BOOL_VALUE)
    *bits = pool_eq(value, POOL(TRUE));
  else
    return false;
  return true;
}

/* Tells debuggers of a name that stands for something at run time, or for a number. */
static void add_debug_local(Sema *s, Name name, const Operand *o, Span declaration)
{
  if (!s->session->options->debug || !sema_emits(s) || s->now.frame == NULL)
    return;
  IrLocal local = {.name = sema_text(s, name.text), .value = o->ir,
                   .in_memory = o->kind == OPR_MEMORY,
                   .is_param = s->now.frame->scope_end == 0};
  local.is_known = o->kind == OPR_COMPTIME && known_bits(s, o->value, &local.bits);
  bool is_place = (o->kind == OPR_RUNTIME || o->kind == OPR_MEMORY) && o->ir.raw && !o->is_global &&
                  o->offset == 0 && pool_is_none(o->packed) &&
                  type_bytes(s->pool, o->type) > 0;
  if (!is_place && !local.is_known)
    return;
  local.type = debug_type_of(s->session->debug_types, o->type);
  Span seen = {declaration.off + declaration.len, 0};
  if (s->now.frame->scope_end > seen.off)
    seen.len = s->now.frame->scope_end - seen.off;
  local.loc = ir_loc_add(s->ir, seen, s->now.frame->inlined_at, s->now.frame->ir_name);
  ir_local_add(s->ir, s->b.func, local);
}

/* A number says what it is, and so does the name of a value such as `true` or `.red`. */
static bool is_literal(const char *text, uint32_t length)
{
  size_t first = length && *text == '-';
  return length <= first || isdigit((unsigned char)text[first]) || text[first] == '\'' ||
         text[first] == '"' || text[first] == '.' ||
         (length == 4 && memcmp(text, "true", 4) == 0) ||
         (length == 5 && memcmp(text, "false", 5) == 0);
}

const char *scope_asserted_text(Sema *s, Span text)
{
  size_t length;
  FileId file = source_file_of(s->session->sources, text.off);
  if (file_is_none(file))
    return NULL;
  const char *at = source_text(s->session->sources, file, &length) +
                   (text.off - source_base(s->session->sources, file));
  if (is_literal(at, text.len))
    return NULL;
  const char *line = arena_one_line(s->arena, at, at + text.len);
  return sema_text(s, str_intern(s->session->names, line, strlen(line)));
}

void scope_note_asserted(Sema *s, Span text, IrValue value, PoolId type)
{
  if (!s->session->options->debug || !sema_emits(s) || s->now.frame == NULL)
    return;
  IrLocal local = {.name = scope_asserted_text(s, text), .value = value, .loc = s->b.loc,
                   .type = debug_type_of(s->session->debug_types, type), .is_asserted = true};
  if (local.name)
    ir_local_add(s->ir, s->b.func, local);
}

bool scope_is_int_name(const char *text, unsigned long *bits)
{
  *bits = 0;
  if (text[0] != 'i' && text[0] != 'u')
    return false;
  size_t digits = strspn(text + 1, "0123456789");
  if (digits == 0 || text[1 + digits] != 0 ||
      (text[1] == '0' && digits > 1))
    return false;
  *bits = strtoul(text + 1, NULL, 10);
  return true;
}

PoolId scope_predeclared_type(Sema *s, StrId name)
{
  uint32_t known;
  if (pair_get(&s->own->types, name.raw, &known))
    return (PoolId){known};
  const char *text = sema_text(s, name);
  unsigned long bits;
  if (!scope_is_int_name(text, &bits) || bits > TYPE_INT_MAX_BITS)
    return POOL(NONE);
  PoolId type = pool_int_type(s->pool, text[0] == 'i', (unsigned)bits);
  pair_put(&s->own->types, name.raw, type.raw);
  return type;
}

/* Types of the language itself.  Names of the machine's types, as `color`, and of integers of other
 * widths are free: parameters of public and own modules have them. */
static bool is_type_of_language(PoolId type)
{
  switch (type.raw) {
  case POOL_RAW_VOID:
  case POOL_RAW_BOOL:
  case POOL_RAW_TYPE:
  case POOL_RAW_COMPTIME_INT:
  case POOL_RAW_COMPTIME_FLOAT:
  case POOL_RAW_COMPTIME_STRING:
  case POOL_RAW_F16:
  case POOL_RAW_BF16:
  case POOL_RAW_CB16:
  case POOL_RAW_F32: return true;
  default: return pool_is_machine_int(type);
  }
}

bool scope_is_reserved(Sema *s, StrId name)
{
  return is_type_of_language(scope_predeclared_type(s, name));
}

void scope_check_name(Sema *s, StrId name, Span span)
{
  if (scope_is_reserved(s, name))
    diag_name_of_type(s->diags, span, sema_text(s, name));
}

static bool add_local(Sema *s, Name name, const Operand *o, const Node *type, const Node *init,
                      bool is_given)
{
  scope_check_name(s, name.text, name.span);
  uint32_t newest = newest_local(s, name.text);
  if (newest > s->now.frame->first_in_scope) {
    diag_redeclared(s->diags, name.span, sema_text(s, name.text));
    diag_declared_here(s->diags, s->own->locals[newest - 1].span, sema_text(s, name.text));
    return false;
  }
  add_debug_local(s, name, o, init ? init->span : name.span);
  Local local = {.name = name.text, .span = name.span, .o = *o, .is_given = is_given, .type = type,
                 .init = init, .hidden = newest};
  local.o.name = name.text;
  arrput(s->own->locals, local);
  set_newest(s, name.text, (uint32_t)arrlenu(s->own->locals));
  const SemaListener *listener = s->session->listener;
  if (listener)
    listener->on_expression(listener->data, s, NULL, name.span, &local.o);
  return true;
}

bool scope_add(Sema *s, Name name, Operand o, const Node *type)
{
  return add_local(s, name, &o, type, NULL, true);
}

bool scope_add_declared(Sema *s, Name name, Operand o, const Node *type, const Node *init)
{
  return add_local(s, name, &o, type, init, init == NULL);
}

Local *scope_find(Sema *s, StrId name)
{
  if (s->now.frame == NULL)
    return NULL;
  uint32_t newest = newest_local(s, name);
  if (newest <= s->now.frame->first_local)
    return NULL;
  replay_use(s, newest - 1);
  return &s->own->locals[newest - 1];
}

/* ---- memoised subtrees ---------------------------------------------------------------------- */

Memo *memo_of(Sema *s, const Node *n)
{
  Memo *table = s->own->memos[s->now.module];
  return table != NULL ? &table[n->index] : NULL;
}

void memo_put(Sema *s, const Node *n, PoolId want, PoolId value)
{
  Memo **table = &s->own->memos[s->now.module];
  if (*table == NULL)
    *table = base_zeroed(s->modules[s->now.module].ast->node_count + 1, sizeof **table);
  (*table)[n->index] = (Memo){want, value, s->now.comptime};
}

bool is_memoised(const Node *n)
{
  return n->kind == ND_STRUCT_INIT || n->kind == ND_LIST_INIT || n->kind == ND_BINARY ||
         n->kind == ND_UNARY || n->kind == ND_FLOAT;
}

PoolId value_at_hand(Sema *s, const Node *n, PoolId want, bool comptime)
{
  if (s->session->listener != NULL)
    return POOL(NONE);
  if (n->kind == ND_IDENT) {
    const Local *local = scope_find(s, node_ident(n)->name);
    if (local != NULL) {
      s->own->local_uses++;
      return local->o.kind == OPR_COMPTIME ? local->o.value : POOL(NONE);
    }
    const Memo *constant = memo_of(s, n);
    return constant != NULL ? constant->value : POOL(NONE);
  }
  const Memo *memo = is_memoised(n) ? memo_of(s, n) : NULL;
  return memo != NULL && pool_eq(memo->want, want) && (comptime || !memo->comptime)
             ? memo->value : POOL(NONE);
}

/* ---- cells ---------------------------------------------------------------------------------- */

Operand cell_make(Sema *s, PoolId type, PoolId value, bool is_const)
{
  uint32_t n = type_leaf_count(s->pool, type);
  Cell cell = {.type = type, .first = (uint32_t)arrlenu(s->own->leaves), .n = n,
               .serial = ++s->own->next_serial, .depth = s->now.run_time_depth,
               .is_const = is_const};
  PoolId *leaves = arraddnptr(s->own->leaves, n);
  if (pool_is_none(value))
    memset(leaves, 0, n * sizeof *leaves);
  else
    value_to_leaves(s->pool, type, value, leaves);
  arrput(s->own->cells, cell);
  return (Operand){.kind = OPR_CELL, .type = type, .cell = (uint32_t)arrlenu(s->own->cells) - 1,
                   .is_const = is_const};
}

/* ---- maps ----------------------------------------------------------------------------------- */

static uint32_t pair_slot(const PairMap *map, uint64_t key)
{
  uint64_t h = key * 0x9e3779b97f4a7c15u;
  uint32_t at = (uint32_t)(h >> 32) & (map->size - 1);
  while (map->at[at].value != 0 && map->at[at].key != key)
    at = (at + 1) & (map->size - 1);
  return at;
}

bool pair_get(const PairMap *map, uint64_t key, uint32_t *value)
{
  if (map->size == 0)
    return false;
  uint32_t found = map->at[pair_slot(map, key)].value;
  if (found != 0)
    *value = found - 1;
  return found != 0;
}

static void pair_grow(PairMap *map)
{
  PairMap old = *map;
  map->size = old.size == 0 ? 64 : old.size * 2;
  map->at = base_zeroed(map->size, sizeof *map->at);
  for (uint32_t i = 0; i < old.size; i++)
    if (old.at[i].value != 0)
      map->at[pair_slot(map, old.at[i].key)] = old.at[i];
  free(old.at);
}

void pair_put(PairMap *map, uint64_t key, uint32_t value)
{
  if (map->n * 2 >= map->size)
    pair_grow(map);
  Pair *pair = &map->at[pair_slot(map, key)];
  map->n += pair->value == 0;
  *pair = (Pair){key, value + 1};
}

void pair_free(PairMap *map)
{
  free(map->at);
  *map = (PairMap){0};
}

/* ---- declarations --------------------------------------------------------------------------- */

Decl *sema_find_decl(Sema *s, uint32_t module, StrId name)
{
  if (module >= arrlenu(s->modules))
    return NULL;
  ModuleInstance *m = &s->modules[module];
  uint32_t at;
  return pair_get(&m->by_name, name.raw, &at) ? &m->decls[at] : NULL;
}

StrId sema_color_name(const Sema *s, unsigned color)
{
  const ModuleInstance *main = &s->modules[MAIN_MODULE];
  for (size_t i = 0; i < arrlenu(main->decls); i++) {
    const Decl *d = &main->decls[i];
    int64_t number;
    if (d->state == DECL_DONE && d->kind != DECL_VAR && pool_eq(d->type, POOL(COLOR)) &&
        pool_int_value(s->pool, d->value, &number) && number == (int64_t)color)
      return d->name;
  }
  return STR_NONE;
}
