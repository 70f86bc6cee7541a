/* Parser of the text form: functions, blocks and instructions. */
#include "ir/read_internal.h"

/* ---- values and blocks ------------------------------------------------------------- */

static NumberEntry *find_number(NumberEntry *map, uint64_t number)
{
  NumberEntry *entry;
  HASH_FIND(hh, map, &number, sizeof number, entry);
  return entry;
}

static void enter_number(IrReader *r, NumberEntry **map, uint64_t number, uint32_t value)
{
  NumberEntry *entry = arena_new(r->arena, NumberEntry);
  entry->key = number;
  entry->value = value;
  HASH_ADD(hh, *map, key, sizeof entry->key, entry);
}

/* The id of %number; made, undefined, at its first mention. */
static IrValue value_numbered(IrReader *r, uint64_t number, Span span)
{
  const NumberEntry *known = find_number(r->values, number);
  if (known)
    return (IrValue){known->value};
  IrInsn none = {.dead = true};
  IrValue v = opt_add(r->m, r->f, &none);
  enter_number(r, &r->values, number, v.raw);
  while (arrlenu(r->first_use) <= v.raw)
    arrput(r->first_use, span);
  return v;
}

static bool define_value(IrReader *r, const IrToken *t, IrValue *v)
{
  *v = value_numbered(r, t->number, t->span);
  if (r->f->insns[v->raw].dead)
    return true;
  const char *name = arena_printf(diags_scratch(r->diags), "%%%" PRIu64, t->number);
  diag_ir_defined_twice(r->diags, t->span, "value", name);
  return false;
}

static bool read_value(IrReader *r, IrValue *v)
{
  const IrToken *t = rd_accept(r, T_VALUE);
  if (!t)
    return rd_expected(r, "a value");
  *v = value_numbered(r, t->number, t->span);
  return true;
}

/* Values up to what is no comma; stb_ds array. */
static bool read_values(IrReader *r, IrValue **values)
{
  do {
    IrValue v;
    if (!read_value(r, &v))
      return false;
    arrput(*values, v);
  } while (rd_accept_punct(r, ','));
  return true;
}

static bool is_label(const char *word)
{
  return word[0] == 'b' && rd_is_digit(word[1]) &&
         word[1 + strspn(word + 1, "0123456789")] == '\0';
}

static bool block_named(IrReader *r, const IrToken *t, uint32_t *block)
{
  if (is_label(t->text)) {
    const NumberEntry *entry = find_number(r->blocks, strtoull(t->text + 1, NULL, 10));
    if (entry) {
      *block = entry->value;
      return true;
    }
  }
  diag_ir_undefined(r->diags, t->span, "block", t->text);
  return false;
}

static bool read_target(IrReader *r, IrTarget *target)
{
  const IrToken *t = rd_accept(r, T_WORD);
  IrValue *args = NULL;
  if (!t)
    return rd_expected(r, "a block");
  bool ok = block_named(r, t, &target->block.raw);
  if (ok && rd_accept_punct(r, '('))
    ok = read_values(r, &args) && rd_expect_punct(r, ')');
  target->n_args = (uint32_t)arrlenu(args);
  target->args = arena_many(r->arena, IrValue, target->n_args);
  if (args)
    memcpy(target->args, args, sizeof *args * arrlenu(args));
  arrfree(args);
  return ok;
}

static bool read_block_param(IrReader *r, IrValue **params)
{
  const IrToken *t = rd_accept(r, T_VALUE);
  IrValue v;
  IrType type;
  if (!t)
    return rd_expected(r, "a parameter");
  if (!define_value(r, t, &v) || !rd_expect_punct(r, ':') || !rd_expect_type(r, &type))
    return false;
  IrInsn *insn = &r->f->insns[v.raw];
  *insn = (IrInsn){.op = IR_PARAM, .type = type};
  insn->u.param.block.raw = r->block;
  insn->u.param.index = (uint32_t)arrlenu(*params);
  arrput(*params, v);
  return true;
}

static bool read_block_params(IrReader *r)
{
  IrValue *params = NULL;
  bool ok = true;
  do
    ok = read_block_param(r, &params);
  while (ok && rd_accept_punct(r, ','));
  IrBlock *b = &r->f->blocks[r->block];
  b->n_params = (uint32_t)arrlenu(params);
  b->params = arena_many(r->arena, IrValue, b->n_params);
  if (params)
    memcpy(b->params, params, sizeof *params * arrlenu(params));
  arrfree(params);
  return ok && rd_expect_punct(r, ')');
}

static bool read_label(IrReader *r)
{
  const IrToken *t = rd_next(r);
  if (!block_named(r, t, &r->block))
    return false;
  const IrBlock *b = &r->f->blocks[r->block];
  if (b->n_params || b->n_insns) {
    diag_ir_defined_twice(r->diags, t->span, "block", t->text);
    return false;
  }
  if (rd_accept_punct(r, '(') && !read_block_params(r))
    return false;
  return rd_expect_punct(r, ':');
}

/* ---- instructions ------------------------------------------------------------------ */

/* An instruction being read; args is an stb_ds array. */
typedef struct {
  IrInsn insn;
  IrValue *args;
} InsnDraft;

static bool read_const(IrReader *r, InsnDraft *d)
{
  bool negative = rd_accept_punct(r, '-');
  const IrToken *t = rd_accept(r, T_NUMBER);
  if (!t)
    return rd_expected(r, "a number");
  uint64_t mask = opt_mask(d->insn.type);
  uint64_t most = negative ? mask / 2 + 1 : mask;
  if (!ir_type_bits(d->insn.type) || t->number > most) {
    diag_ir_not_in_type(r->diags, t->span, rd_token_text(r, t), ir_type_name(d->insn.type));
    return false;
  }
  d->insn.imm = (negative ? 0 - t->number : t->number) & mask;
  return true;
}

static bool read_address(IrReader *r, InsnDraft *d)
{
  int64_t offset;
  if (!rd_expect_symbol(r, T_GLOBAL, &d->insn.u.global.raw) ||
      !rd_accept_offset(r, INT64_MAX, &offset))
    return false;
  d->insn.imm = (uint64_t)offset;
  return true;
}

static bool read_alloca(IrReader *r, InsnDraft *d)
{
  return rd_expect_number(r, "a size in bytes", UINT32_MAX, &d->insn.imm) &&
         rd_expect_word(r, "align") &&
         rd_expect_u32(r, "an alignment", PE_MEM_BYTES, &d->insn.aux);
}

static bool read_sized(IrReader *r, InsnDraft *d)
{
  IrValue v;
  for (unsigned i = 0; i < (d->insn.op == IR_copy ? 2u : 1u); i++) {
    if (!read_value(r, &v) || !rd_expect_punct(r, ','))
      return false;
    arrput(d->args, v);
  }
  return rd_expect_word(r, "bytes") &&
         rd_expect_number(r, "a size in bytes", UINT32_MAX, &d->insn.imm);
}

static bool read_call(IrReader *r, InsnDraft *d)
{
  IrValue v;
  if (d->insn.op == IR_call) {
    if (!rd_expect_symbol(r, T_FUNC, &d->insn.u.func.raw))
      return false;
  } else {
    if (!read_value(r, &v))
      return false;
    arrput(d->args, v);
  }
  if (!rd_expect_punct(r, '('))
    return false;
  return rd_accept_punct(r, ')') || (read_values(r, &d->args) && rd_expect_punct(r, ')'));
}

static bool read_vec_arg(IrReader *r, InsnDraft *d, uint32_t *index)
{
  IrValue v;
  if (!read_value(r, &v))
    return false;
  *index = (uint32_t)arrlenu(d->args);
  arrput(d->args, v);
  return true;
}

static bool read_vec_operand(IrReader *r, InsnDraft *d, IrVecOperand *o)
{
  unsigned kind;
  if (!rd_expect_listed(r, IRW_vec_operand, "a kind of operand", &kind))
    return false;
  o->kind = (IrVecOperandKind)kind;
  if (o->kind == IRV_DSR ? !rd_dsr(r, &o->file, &o->number)
                         : !read_vec_arg(r, d, &o->arg))
    return false;
  const IrToken *name = rd_accept(r, T_TEXT);
  o->name = name ? name->text : NULL;
  return true;
}

static bool read_vec_role(IrReader *r, InsnDraft *d)
{
  IrVec *vec = d->insn.u.vec;
  const IrToken *role = rd_accept(r, T_WORD);
  if (!role || !rd_expect_punct(r, '='))
    return role ? false : rd_expected(r, "dest, src0, src1, factor, index or priority");
  if (strcmp(role->text, "dest") == 0)
    return read_vec_operand(r, d, &vec->dest);
  if (strcmp(role->text, "src0") == 0)
    return read_vec_operand(r, d, &vec->src0);
  if (strcmp(role->text, "src1") == 0)
    return read_vec_operand(r, d, &vec->src1);
  if (strcmp(role->text, "factor") == 0)
    return read_vec_arg(r, d, &vec->scalar);
  if (strcmp(role->text, "index") == 0)
    return read_vec_arg(r, d, &vec->index);
  if (strcmp(role->text, "priority") == 0) {
    unsigned priority;
    bool ok = rd_expect_listed(r, IRW_priority, "a priority", &priority);
    vec->priority = ok ? (uint8_t)(1 + priority) : 0;
    return ok;
  }
  rd_unknown_word(r, role->span, "operand of vector operations", role->text, NULL, 0);
  return false;
}

static bool read_vec(IrReader *r, InsnDraft *d)
{
  IrVec *vec = arena_new(r->arena, IrVec);
  const IrToken *t = rd_accept(r, T_WORD);
  if (!t)
    return rd_expected(r, "a vector operation");
  vec->scalar = vec->index = IR_NO_ID;
  d->insn.u.vec = vec;
  if (!vecop_from_name(t->text, &vec->op)) {
    const char *names[VEC_COUNT];
    for (int i = 0; i < VEC_COUNT; i++)
      names[i] = vecops[i].name;
    rd_unknown_word(r, t->span, "vector operation", t->text, names, VEC_COUNT);
    return false;
  }
  while (rd_accept_punct(r, ','))
    if (!read_vec_role(r, d))
      return false;
  return true;
}

static bool read_branch(IrReader *r, InsnDraft *d)
{
  IrValue v;
  unsigned n = d->insn.op == IR_cond_br ? 2 : 1;
  if (n == 2) {
    if (!read_value(r, &v) || !rd_expect_punct(r, ','))
      return false;
    arrput(d->args, v);
  }
  d->insn.u.targets = arena_many(r->arena, IrTarget, n);
  for (unsigned i = 0; i < n; i++)
    if ((i && !rd_expect_punct(r, ',')) || !read_target(r, &d->insn.u.targets[i]))
      return false;
  return true;
}

static bool read_field(IrReader *r, InsnDraft *d)
{
  const char *names[DSRF_COUNT];
  const IrToken *t = rd_accept(r, T_WORD);
  if (!t)
    return rd_expected(r, "a field of descriptors");
  for (int i = 0; i < DSRF_COUNT; i++) {
    names[i] = dsr_field_name((DsrField)i);
    if (strcmp(names[i], t->text) == 0) {
      d->insn.field = (uint8_t)i;
      return true;
    }
  }
  rd_unknown_word(r, t->span, "field of descriptors", t->text, names, DSRF_COUNT);
  return false;
}

static bool read_dsr_aux(IrReader *r, InsnDraft *d)
{
  DsrFile file;
  uint32_t number;
  if (!rd_dsr(r, &file, &number))
    return false;
  d->insn.aux = (uint32_t)file << 16 | number;
  return d->insn.op == IR_dsr_get || rd_expect_punct(r, ',');
}

/* The words between the operation's name and its values. */
static bool read_attributes(IrReader *r, InsnDraft *d)
{
  unsigned word;
  switch ((int)d->insn.op) {
  case IR_dsd_set:
  case IR_dsd_get: return read_field(r, d);
  case IR_dsr_set:
  case IR_dsr_get: return read_field(r, d) && read_dsr_aux(r, d);
  case IR_dsr_load: return read_dsr_aux(r, d);
  case IR_block:
  case IR_unblock:
    if (!rd_expect_listed(r, IRW_id_kind, "a kind of id", &word))
      return false;
    d->insn.aux = word;
    return true;
  case IR_queue_flush:
    if (!rd_expect_listed(r, IRW_direction, "a direction of queues", &word))
      return false;
    d->insn.aux = word;
    return true;
  case IR_counter:
    return rd_expect_number(r, "a counter word", COUNTER_WORDS - 1, &d->insn.imm) &&
           rd_expect_punct(r, ',');
  case IR_assert:
    return rd_peek(r)->kind != T_NUMBER ||
           (rd_expect_number(r, "a number of elements", PE_MEM_BYTES, &d->insn.imm) &&
            rd_expect_punct(r, ','));
  default: return true;
  }
}

static bool read_operands(IrReader *r, InsnDraft *d)
{
  switch ((int)d->insn.op) {
  case IR_const: return read_const(r, d);
  case IR_global_addr: return read_address(r, d);
  case IR_func_addr: return rd_expect_symbol(r, T_FUNC, &d->insn.u.func.raw);
  case IR_tile_param:
  case IR_trap: return rd_expect_number(r, "a number", UINT32_MAX, &d->insn.imm);
  case IR_dsd_const:
    d->insn.u.desc = arena_new(r->arena, IrDesc);
    return rd_desc(r, d->insn.u.desc);
  case IR_alloca: return read_alloca(r, d);
  case IR_copy:
  case IR_zero: return read_sized(r, d);
  case IR_call:
  case IR_call_ptr: return read_call(r, d);
  case IR_vec: return read_vec(r, d);
  case IR_br:
  case IR_cond_br: return read_branch(r, d);
  default:
    if (!read_attributes(r, d))
      return false;
    return rd_peek(r)->first || rd_peek(r)->kind != T_VALUE || read_values(r, &d->args);
  }
}

static bool op_named(IrReader *r, const IrToken *t, const char *name, IrOp *op)
{
  const char *names[IR_OP_COUNT];
  if (ir_op_from_name(name, op))
    return true;
  for (int i = 0; i < IR_OP_COUNT; i++)
    names[i] = ir_ops[i].name;
  rd_unknown_word(r, t->span, "operation", name, names, IR_OP_COUNT);
  return false;
}

/* NAME or NAME.TYPE; the result's type, if the row of ops.def gives it. */
static bool read_op(IrReader *r, IrInsn *insn)
{
  const IrToken *t = rd_next(r);
  if (t->kind != T_WORD) {
    r->at -= t->kind != T_END;
    return rd_expected(r, "an operation");
  }
  const char *dot = strchr(t->text, '.');
  const char *name = dot ? arena_copy_text(r->arena, t->text, (size_t)(dot - t->text)) : t->text;
  if (!op_named(r, t, name, &insn->op))
    return false;
  const IrOpInfo *info = &ir_ops[insn->op];
  if (info->result_rule != IRRES_EXPLICIT) {
    insn->type = info->result_rule == IRRES_BOOL  ? IRT_BOOL
                 : info->result_rule == IRRES_PTR ? IRT_PTR
                 : info->result_rule == IRRES_DSD ? IRT_DSD
                                                  : IRT_VOID;
    if (dot)
      diag_ir_suffix(r->diags, t->span, info->name);
    return !dot;
  }
  if (dot)
    return rd_type_named(r, dot + 1, t->span, &insn->type);
  bool may_lack = info->operand_rule == IROPND_CALL || info->operand_rule == IROPND_CALL_PTR;
  if (!may_lack)
    diag_ir_no_suffix(r->diags, t->span, info->name);
  return may_lack;
}

static bool place_insn(IrReader *r, InsnDraft *d, const IrToken *result)
{
  IrValue v;
  d->insn.n_args = (uint32_t)arrlenu(d->args);
  d->insn.args = arena_many(r->arena, IrValue, d->insn.n_args);
  if (d->args)
    memcpy(d->insn.args, d->args, sizeof *d->args * arrlenu(d->args));
  if (result) {
    if (!define_value(r, result, &v))
      return false;
    r->f->insns[v.raw] = d->insn;
  } else {
    v = opt_add(r->m, r->f, &d->insn);
  }
  IrBlock *b = &r->f->blocks[r->block];
  opt_insert(r->m, b, b->n_insns, v);
  return true;
}

static bool read_insn(IrReader *r, InsnDraft *d)
{
  const IrToken *start = rd_peek(r), *result = NULL;
  if (start->kind == T_VALUE) {
    result = rd_next(r);
    if (!rd_expect_punct(r, '=') || rd_peek(r)->first)
      return rd_peek(r)->first ? rd_expected(r, "an operation") : false;
  }
  const IrToken *op = rd_peek(r);
  if (!read_op(r, &d->insn))
    return false;
  if (!result != (d->insn.type == IRT_VOID)) {
    if (result)
      diag_ir_no_result(r->diags, op->span, ir_ops[d->insn.op].name);
    else
      diag_ir_result_unnamed(r->diags, op->span, ir_ops[d->insn.op].name);
    return false;
  }
  if (!rd_accept_loc(r, &d->insn.loc) || !read_operands(r, d) || !rd_accept_loc(r, &d->insn.loc))
    return false;
  if (r->block == IR_NO_ID) {
    diag_ir_no_block(r->diags, start->span);
    return false;
  }
  return place_insn(r, d, result) && rd_finish_line(r);
}

static void read_body_line(IrReader *r)
{
  InsnDraft d = {0};
  size_t start = r->at;
  bool labels = rd_peek(r)->kind == T_WORD && is_label(rd_peek(r)->text);
  bool ok = labels ? read_label(r) && rd_finish_line(r) : read_insn(r, &d);
  arrfree(d.args);
  if (!ok)
    rd_recover(r, start);
}

/* ---- functions --------------------------------------------------------------------- */

/* Makes the blocks of the labels up to the closing brace, so that branches know them. */
static void find_labels(IrReader *r)
{
  for (size_t i = r->at; r->tokens[i].kind != T_END; i++) {
    const IrToken *t = &r->tokens[i];
    if (!t->first)
      continue;
    if (t->kind == T_PUNCT && *t->text == '}')
      return;
    if (t->kind != T_WORD || !is_label(t->text))
      continue;
    uint64_t number = strtoull(t->text + 1, NULL, 10);
    if (find_number(r->blocks, number))
      continue;
    uint32_t block = r->blocks ? ir_block_add(r->m, r->func).raw : 0;
    enter_number(r, &r->blocks, number, block);
  }
}

static void check_defined(IrReader *r)
{
  for (const NumberEntry *e = r->values; e; e = e->hh.next) {
    if (!r->f->insns[e->value].dead)
      continue;
    const char *name = arena_printf(diags_scratch(r->diags), "%%%" PRIu64, e->key);
    diag_ir_undefined(r->diags, r->first_use[e->value], "value", name);
  }
}

/* The result of dsd_set is of its operand's type, which may stand further down. */
static void settle_dsd_types(IrReader *r)
{
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < r->f->n_insns; i++) {
      IrInsn *insn = &r->f->insns[i];
      if (insn->op != IR_dsd_set || insn->dead || !insn->n_args || insn->type == IRT_DSD4 ||
          r->f->insns[insn->args[0].raw].type != IRT_DSD4)
        continue;
      insn->type = IRT_DSD4;
      changed = true;
    }
  }
}

static bool read_signature(IrReader *r)
{
  IrType *params = NULL, type;
  bool ok = rd_expect_punct(r, '(');
  if (ok && !rd_accept_punct(r, ')')) {
    do {
      ok = rd_expect_type(r, &type);
      if (ok)
        arrput(params, type);
    } while (ok && rd_accept_punct(r, ','));
    ok = ok && rd_expect_punct(r, ')');
  }
  r->f->n_params = (uint32_t)arrlenu(params);
  r->f->params = arena_many(r->arena, IrType, r->f->n_params);
  if (params)
    memcpy(r->f->params, params, sizeof *params * arrlenu(params));
  arrfree(params);
  return ok && rd_expect_type(r, &r->f->result);
}

static bool read_function_head(IrReader *r)
{
  if (!read_signature(r))
    return false;
  while (!rd_peek(r)->first && rd_peek(r)->kind == T_WORD) {
    if (rd_accept_word(r, "task"))
      r->f->is_task = true;
    else if (rd_accept_word(r, "inline"))
      r->f->inlining = IR_INLINING_ALWAYS;
    else if (rd_accept_word(r, "noinline"))
      r->f->inlining = IR_INLINING_NEVER;
    else if (rd_accept_word(r, "address_taken"))
      r->f->address_taken = true;
    else
      return rd_expected(r, "task, inline, noinline, address_taken or '{'");
  }
  return rd_accept_loc(r, &r->f->loc) && rd_expect_punct(r, '{') && rd_finish_line(r);
}

bool rd_function(IrReader *r)
{
  const IrToken *name = rd_peek(r);
  if (!rd_expect_symbol(r, T_FUNC, &r->func.raw) ||
      !rd_claim(r, &r->func_done[r->func.raw], "function", name))
    return false;
  r->f = &r->m->funcs[r->func.raw];
  r->block = IR_NO_ID;
  if (!read_function_head(r))
    return false;
  find_labels(r);
  while (rd_peek(r)->kind != T_END && !(rd_peek(r)->kind == T_PUNCT && *rd_peek(r)->text == '}'))
    read_body_line(r);
  check_defined(r);
  settle_dsd_types(r);
  HASH_CLEAR(hh, r->values);
  HASH_CLEAR(hh, r->blocks);
  arrfree(r->first_use);
  return rd_expect_close(r);
}
