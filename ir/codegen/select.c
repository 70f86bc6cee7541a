/* Instruction selection: one function from SSA to machine instructions over virtual registers.
 *
 * Blocks and instructions are visited last to first, so that a value gets an instruction only if a
 * user needs the value: a value that its user folded (an immediate, an address, a comparison) costs
 * nothing. The code of one IR instruction is written forward into `scratch` and then put, reversed,
 * behind the rest. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* ---- memory --------------------------------------------------------------------------------- */

static Opcode load_op(IrType type)
{
  unsigned bytes = ir_type_bytes(type);
  return bytes == 1 ? OP_ld8u : bytes == 2 ? OP_ld16 : OP_ld32;
}

static Opcode store_op(IrType type)
{
  unsigned bytes = ir_type_bytes(type);
  return bytes == 1 ? OP_st8 : bytes == 2 ? OP_st16 : OP_st32;
}

static void select_load(Sel *s, IrValue v, const Addr *at, IrType type)
{
  sel_load(s, load_op(type), sel_result(s, v, 0), at, 0);
  if (type == IRT_I64)
    sel_load(s, OP_ld32, sel_result(s, v, 1), at, 4);
}

static Reg store_operand(Sel *s, IrValue v, unsigned part)
{
  return type_class(sel_type(s, v)) == CLASS_WORD ? sel_use_word(s, v) : sel_use_part(s, v, part);
}

static void select_store(Sel *s, const IrInsn *insn)
{
  Addr at = sel_address(s, insn->args[0]);
  IrType type = sel_type(s, insn->args[1]);
  at.object = sel_object(s, insn->args[0]);
  if (ir_type_is_dsd(type)) {
    dsd_store(s, &at, insn->args[1]);
    return;
  }
  sel_store(s, store_op(type), store_operand(s, insn->args[1], 0), &at, 0);
  if (type == IRT_I64)
    sel_store(s, OP_st32, store_operand(s, insn->args[1], 1), &at, 4);
}

typedef enum { IS_EVEN, IS_ODD, IS_UNKNOWN } Parity;

/* Objects start at even addresses unless they are made of bytes. */
static Parity parity_of(const Sel *s, const Addr *at)
{
  bool of_bytes = false, known = at->sym == SYM_GLOBAL || at->sym == SYM_FRAME;
  if (at->sym == SYM_GLOBAL)
    of_bytes = s->m->globals[at->sym_index].align < 2;
  if (at->sym == SYM_FRAME)
    of_bytes = at->base.raw && s->mf->slots[at->sym_index].of_bytes;
  if (at->imm % 2 != 0 || of_bytes)
    return IS_ODD;
  return known || ir_value_is_none(at->base) ? IS_EVEN : IS_UNKNOWN;
}

/* Tests at run time whether words can be moved. */
static void copy_unknown(Sel *s, const Addr *to, const Addr *from, uint32_t bytes)
{
  Reg p = sel_new_reg(s, CLASS_WORD), both = p, odd = sel_new_reg(s, CLASS_WORD);
  Addr source = {.reg = sel_new_reg(s, CLASS_WORD)}, dest = {.reg = p};
  uint32_t by_bytes = sel_new_label(s), done = sel_new_label(s);
  sel_lea(s, p, to);
  if (from) {
    sel_lea(s, source.reg, from);
    both = sel_new_reg(s, CLASS_WORD);
    sel_rrr(s, OP_or, both, p, source.reg);
  }
  sel_rri(s, OP_andi, odd, both, 1);
  sel_jump(s, OP_bnz, odd, REG_NONE, by_bytes);
  sel_copy_memory(s, &dest, from ? &source : NULL, bytes, false);
  sel_jump(s, OP_jmp, REG_NONE, REG_NONE, done);
  sel_label(s, by_bytes);
  sel_copy_memory(s, &dest, from ? &source : NULL, bytes, true);
  sel_label(s, done);
}

/* aux: the alignment of what is copied if the front end knows it, else 0.  An odd number of
 * bytes is an object of bytes. */
static void select_copy(Sel *s, const IrInsn *insn)
{
  Addr to = sel_address(s, insn->args[0]), from = to;
  bool is_copy = insn->op == IR_copy;
  if (is_copy)
    from = sel_address(s, insn->args[1]);
  Parity x = parity_of(s, &to), y = parity_of(s, &from);
  bool by_bytes = insn->aux == 1 || insn->imm % 2 != 0 || x == IS_ODD || y == IS_ODD;
  const Addr *source = is_copy ? &from : NULL;
  if (!by_bytes && insn->aux == 0 && (x == IS_UNKNOWN || y == IS_UNKNOWN))
    copy_unknown(s, &to, source, (uint32_t)insn->imm);
  else
    sel_copy_memory(s, &to, source, (uint32_t)insn->imm, by_bytes);
}

/* ---- edges ---------------------------------------------------------------------------------- */

typedef struct {
  Reg to, from;            /* from REG_NONE: the value is a constant or address */
  IrValue value;
  unsigned part;
  RegClass cls;
  bool done;
} EdgeCopy;

static void add_edge_copy(Sel *s, EdgeCopy **copies, IrValue param, IrValue arg, unsigned part)
{
  const IrInsn *d = sel_def(s, arg);
  uint64_t bits;
  EdgeCopy copy = {.to = sel_result(s, param, part), .from = REG_NONE, .value = arg, .part = part,
                   .cls = type_class(d->type)};
  if (!sel_is_const(s, arg, &bits) && d->op != IR_global_addr && d->op != IR_func_addr &&
      d->op != IR_alloca)
    copy.from = copy.cls == CLASS_WORD ? sel_use_word(s, arg) : sel_use_part(s, arg, part);
  if (copy.from != copy.to)
    arrput(*copies, copy);
}

static bool is_source(const EdgeCopy *copies, size_t except)
{
  for (size_t i = 0; i < arrlenu(copies); i++)
    if (i != except && !copies[i].done && reg_id(copies[i].from) == copies[except].to)
      return true;
  return false;
}

static void emit_edge_copy(Sel *s, EdgeCopy *copy)
{
  if (copy->from == REG_NONE)
    sel_into_part(s, copy->to, copy->value, copy->part);
  else
    sel_copy(s, copy->cls, copy->to, copy->from);
  copy->done = true;
}

/* Every copy whose target nothing else still reads; false if there is none. */
static bool emit_free_copies(Sel *s, EdgeCopy *copies)
{
  bool any = false;
  for (size_t i = 0; i < arrlenu(copies); i++) {
    if (copies[i].done || is_source(copies, i))
      continue;
    emit_edge_copy(s, &copies[i]);
    any = true;
  }
  return any;
}

/* A cycle: what the first copy would overwrite is saved. */
static bool break_cycle(Sel *s, EdgeCopy *copies)
{
  for (size_t i = 0; i < arrlenu(copies); i++) {
    if (copies[i].done)
      continue;
    RegClass cls = s->mf->vregs[copies[i].to - FIRST_VREG].cls;
    Reg saved = sel_new_reg(s, cls);
    sel_copy(s, cls, saved, copies[i].to);
    for (size_t k = 0; k < arrlenu(copies); k++)
      if (reg_id(copies[k].from) == copies[i].to && copies[k].from != REG_NONE)
        copies[k].from = saved | (copies[k].from & (REG_LO | REG_HI));
    return true;
  }
  return false;
}

static bool edge_is_empty(const IrTarget *target)
{
  return target->n_args == 0;
}

static void emit_edge(Sel *s, const IrTarget *target, bool with_dsds)
{
  if (with_dsds)
    dsd_edge(s, target);
  const IrBlock *block = &s->f->blocks[target->block.raw];
  EdgeCopy *copies = NULL;
  for (uint32_t i = 0; i < target->n_args; i++) {
    IrType type = sel_type(s, target->args[i]);
    if (ir_type_is_dsd(type))
      continue;
    add_edge_copy(s, &copies, block->params[i], target->args[i], 0);
    if (type == IRT_I64)
      add_edge_copy(s, &copies, block->params[i], target->args[i], 1);
  }
  while (emit_free_copies(s, copies) || break_cycle(s, copies))
    ;
  arrfree(copies);
}

static void jump_to(Sel *s, IrBlockId block, uint32_t next)
{
  if (s->order_of[block.raw] != next)
    sel_jump(s, OP_jmp, REG_NONE, REG_NONE, block.raw);
}

/* The block's label has the block's number.  `next` is the place of the block behind. */
static void select_cond_br(Sel *s, const IrInsn *insn, uint32_t next)
{
  const IrTarget *yes = &insn->u.targets[0], *no = &insn->u.targets[1];
  bool early_yes = dsd_edge_comes_early(s, yes, no);
  bool early_no = !early_yes && dsd_edge_comes_early(s, no, yes);
  if (early_yes || early_no)       /* a loop then ends with the branch, not with a jump behind it */
    dsd_edge(s, early_yes ? yes : no);
  if (edge_is_empty(yes) && (!edge_is_empty(no) || s->order_of[yes->block.raw] != next)) {
    sel_branch(s, insn->args[0], true, yes->block.raw);
    emit_edge(s, no, !early_no);
    jump_to(s, no->block, next);
  } else if (edge_is_empty(no)) {
    sel_branch(s, insn->args[0], false, no->block.raw);
    emit_edge(s, yes, !early_yes);
    jump_to(s, yes->block, next);
  } else {
    bool yes_first = s->order_of[no->block.raw] == next;
    const IrTarget *first = yes_first ? yes : no, *second = yes_first ? no : yes;
    uint32_t other = sel_new_label(s);
    sel_branch(s, insn->args[0], !yes_first, other);
    emit_edge(s, first, yes_first ? !early_yes : !early_no);
    sel_jump(s, OP_jmp, REG_NONE, REG_NONE, first->block.raw);
    sel_label(s, other);
    emit_edge(s, second, yes_first ? !early_no : !early_yes);
    jump_to(s, second->block, next);
  }
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void select_select(Sel *s, IrValue v, const IrInsn *insn)
{
  unsigned parts = insn->type == IRT_I64 ? 2 : 1;
  uint32_t done = sel_new_label(s);
  for (unsigned i = 0; i < parts; i++)
    sel_into_part(s, sel_result(s, v, i), insn->args[1], i);
  sel_branch(s, insn->args[0], true, done);
  for (unsigned i = 0; i < parts; i++)
    sel_into_part(s, sel_result(s, v, i), insn->args[2], i);
  sel_label(s, done);
}

/* activate, block, unblock: the id as an immediate where it is constant. */
static void select_id_op(Sel *s, const IrInsn *insn, Opcode by_reg, Opcode by_imm)
{
  uint64_t id;
  if (sel_is_const(s, insn->args[0], &id)) {
    MInsn *mi = sel_emit(s, by_imm);
    mi->imm = (int32_t)id;
    mi->number = insn->aux;
  } else {
    sel_rri(s, by_reg, sel_use_word(s, insn->args[0]), REG_NONE, (int32_t)insn->aux);
  }
}

static void select_config(Sel *s, IrValue v, const IrInsn *insn)
{
  uint64_t address;
  bool is_get = insn->op == IR_get_config;
  bool known = sel_is_const(s, insn->args[0], &address);
  Reg r = is_get ? sel_result(s, v, 0) : sel_use_word(s, insn->args[1]);
  if (known)
    sel_rri(s, is_get ? OP_ldcfgi : OP_stcfgi, r, REG_NONE, (int32_t)address);
  else
    sel_rr(s, is_get ? OP_ldcfg : OP_stcfg, r, sel_use_word(s, insn->args[0]));
}

static void emit_counter(Sel *s, IrValue address, unsigned word)
{
  Addr at = sel_address(s, address);
  Reg base = sel_base(s, &at);
  MInsn *mi = sel_emit(s, base == REG_NONE ? OP_stctra : OP_stctr);
  mi->number = word;
  if (base != REG_NONE)
    mi->r[1] = base;
  mi->imm = at.imm;
  mi->sym = (uint8_t)at.sym;
  mi->sym_index = at.sym_index;
}

/* The word of the counters that a register address means; -1 none. */
static int counter_word(uint64_t address)
{
  const ConfigRegInfo *reg = config_reg_at((uint16_t)address);
  if (!reg || (reg->address != CFG_TSC_COUNTER && reg->address != CFG_PERF_COUNTER))
    return -1;
  return (int)(address - reg->address) +
         (reg->address == CFG_PERF_COUNTER ? config_reg_at(CFG_TSC_COUNTER)->count : 0);
}

static bool is_reader(const IrInsn *insn, IrValue v)
{
  for (uint32_t i = 0; i < insn->n_args; i++)
    if (ir_value_eq(insn->args[i], v))
      return true;
  uint32_t n = ir_target_count(insn);
  for (unsigned t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      if (ir_value_eq(insn->u.targets[t].args[i], v))
        return true;
  return false;
}

static unsigned count_readers(const Sel *s, IrValue v)
{
  unsigned n = 0;
  for (uint32_t b = 0; b < s->f->n_blocks; b++)
    for (uint32_t i = 0; i < s->f->blocks[b].n_insns; i++)
      n += is_reader(sel_def(s, s->f->blocks[b].insns[i]), v);
  return n;
}

/* A word of a counter goes straight to memory: a store of a configuration register's value, if
 * nothing else reads the value and nothing between the two could see the difference. */
static bool fuse_counter(Sel *s, const IrInsn *store)
{
  IrValue value = store->args[1];
  const IrInsn *get = sel_def(s, value);
  uint64_t address;
  if (get->op != IR_get_config || !sel_is_const(s, get->args[0], &address) ||
      counter_word(address) < 0 || s->demanded[value.raw] || count_readers(s, value) != 1)
    return false;
  const IrBlock *block = &s->f->blocks[s->block_of[value.raw]];
  for (uint32_t i = s->position[value.raw]; i < block->n_insns; i++) {
    const IrInsn *between = sel_def(s, block->insns[i]);
    if (between == store) {
      s->fused[value.raw] = true;
      emit_counter(s, store->args[0], (unsigned)counter_word(address));
      return true;
    }
    if (!between->dead && !ir_op_is_pure(between->op))
      return false;
  }
  return false;
}

static void select_tile_param(Sel *s, IrValue v, const IrInsn *insn)
{
  Addr at = {.sym = SYM_TILE_PARAM, .sym_index = (uint32_t)insn->imm};
  select_load(s, v, &at, insn->type);
}

static void select_const(Sel *s, IrValue v, const IrInsn *insn)
{
  for (unsigned part = 0; part < (insn->type == IRT_I64 ? 2u : 1u); part++)
    sel_into_part(s, sel_result(s, v, part), v, part);
}

/* The operations on machine state. */
static void select_machine_op(Sel *s, IrValue v, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_activate:
    select_id_op(s, insn, OP_act, OP_acti);
    break;
  case IR_block:
    select_id_op(s, insn, OP_blk, OP_blki);
    break;
  case IR_unblock:
    select_id_op(s, insn, OP_unblk, OP_unblki);
    break;
  case IR_get_config:
  case IR_set_config:
    select_config(s, v, insn);
    break;
  case IR_queue_flush:
    sel_rri(s, OP_qflush, sel_use_word(s, insn->args[0]), REG_NONE, (int32_t)insn->aux);
    break;
  case IR_random16:
    sel_rr(s, OP_rnd, sel_result(s, v, 0), REG_NONE);
    break;
  case IR_set_prng:
    sel_rr(s, OP_prng, sel_use_word(s, insn->args[0]), REG_NONE);
    break;
  case IR_counter:
    emit_counter(s, insn->args[0], (unsigned)insn->imm);
    break;
  case IR_assert:
    sel_rr(s, OP_assert, sel_use(s, insn->args[0]), REG_NONE)->number = (uint32_t)insn->imm;
    break;
  default:
    ICE("no selection for %s", ir_ops[insn->op].name);
  }
}

static void select_terminator(Sel *s, const IrInsn *insn, uint32_t next)
{
  switch ((int)insn->op) {
  case IR_br:
    emit_edge(s, insn->u.targets, true);
    jump_to(s, insn->u.targets[0].block, next);
    break;
  case IR_cond_br:
    select_cond_br(s, insn, next);
    break;
  case IR_ret:
    sel_ret(s, insn);
    break;
  case IR_trap:
    sel_emit(s, OP_trap)->imm = (int32_t)insn->imm;
    break;
  default:
    ICE("no terminator: %s", ir_ops[insn->op].name);
  }
}

static void select_address_value(Sel *s, IrValue v, const IrInsn *insn)
{
  Addr at = sel_address(s, v);
  if (ir_value_eq(at.base, v)) {   /* base and index both vary */
    Reg base = sel_use(s, insn->args[0]), index = sel_use_word(s, insn->args[1]);
    sel_rrr(s, OP_add, sel_result(s, v, 0), base, index);
    return;
  }
  sel_lea(s, sel_result(s, v, 0), &at);
}

static void select_value(Sel *s, IrValue v, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_const:
    select_const(s, v, insn);
    break;
  case IR_global_addr: case IR_func_addr: case IR_alloca: case IR_ptr_add:
    select_address_value(s, v, insn);
    break;
  case IR_tile_param:
    select_tile_param(s, v, insn);
    break;
  case IR_load: {
    Addr at = sel_address(s, insn->args[0]);
    at.object = sel_object(s, insn->args[0]);
    select_load(s, v, &at, insn->type);
    break;
  }
  case IR_store:
    if (!fuse_counter(s, insn))
      select_store(s, insn);
    break;
  case IR_copy: case IR_zero:
    select_copy(s, insn);
    break;
  case IR_select:
    select_select(s, v, insn);
    break;
  case IR_call: case IR_call_ptr:
    sel_call(s, v, insn);
    break;
  case IR_dsd_get:
    dsd_get(s, v, insn);
    break;
  case IR_dsr_load: case IR_dsr_set: case IR_dsr_get:
    dsd_load_dsr(s, insn);
    if (insn->op == IR_dsr_get)
      arrlast(s->scratch).r[1] = sel_result(s, v, 0);
    break;
  case IR_vec:
    dsd_vec(s, v, insn);
    break;
  case IR_eq: case IR_ne: case IR_slt: case IR_sle: case IR_ult: case IR_ule:
  case IR_feq: case IR_flt: case IR_fle:
    sel_compare(s, v, insn);
    break;
  case IR_trunc: case IR_sext: case IR_zext: case IR_fptosi: case IR_fptoui: case IR_sitofp:
  case IR_uitofp: case IR_fpext: case IR_fptrunc: case IR_bitcast:
    sel_convert(s, v, insn);
    break;
  case IR_activate: case IR_block: case IR_unblock: case IR_get_config: case IR_set_config:
  case IR_queue_flush: case IR_random16: case IR_set_prng: case IR_counter: case IR_assert:
    select_machine_op(s, v, insn);
    break;
  default:
    sel_arith(s, v, insn);
    break;
  }
}

static bool is_wanted(const Sel *s, IrValue v, const IrInsn *insn)
{
  if (insn->op == IR_alloca)
    return s->demanded[v.raw];
  if (s->fused[v.raw])
    return false;
  return s->demanded[v.raw] || ir_op_is(insn->op, IRE_WRITES | IRE_SIDE | IRE_STALLS | IRE_TERM);
}

static void keep_scratch(Sel *s)
{
  for (size_t i = arrlenu(s->scratch); i-- > 0;)
    arrput(s->reversed, s->scratch[i]);
  arrsetlen(s->scratch, 0);
}

static void select_block(Sel *s, uint32_t place)
{
  uint32_t id = s->order[place];
  const IrBlock *block = &s->f->blocks[id];
  for (uint32_t i = block->n_insns; i-- > 0;) {
    IrValue v = block->insns[i];
    const IrInsn *insn = sel_def(s, v);
    if (insn->dead || !is_wanted(s, v, insn))
      continue;
    s->loc = insn->loc;
    if (ir_op_is(insn->op, IRE_TERM))
      select_terminator(s, insn, place + 1);
    else if (ir_type_is_dsd(insn->type) && !ir_op_is(insn->op, IRE_SIDE))
      dsd_select(s, v, insn);
    else
      select_value(s, v, insn);
    keep_scratch(s);
  }
  if (place == 0) {
    s->loc = s->f->loc;
    sel_entry(s);
  }
  keep_scratch(s);
  sel_label(s, id);
  arrlast(s->scratch).starts_block = true;
  keep_scratch(s);
}

/* ---- preparation ---------------------------------------------------------------------------- */

static void order_blocks(Sel *s)
{
  uint32_t n = s->f->n_blocks;
  s->order = ir_order_blocks(s->f, &s->n_order, s->pass);
  s->order_of = arena_many(s->pass, uint32_t, n);
  memset(s->order_of, 0xff, sizeof *s->order_of * n);
  for (uint32_t i = 0; i < s->n_order; i++)
    s->order_of[s->order[i]] = i;
}

static void add_alloca(Sel *s, IrValue v, const IrInsn *insn)
{
  uint32_t slot = sel_new_slot(s, (uint32_t)insn->imm);
  s->mf->slots[slot].of_bytes = insn->aux < 2;
  s->frame_slot[v.raw] = slot + 1;
}

static void number_values(Sel *s)
{
  uint32_t n = s->f->n_insns + 1;
  s->vreg = arena_many(s->pass, Reg, n);
  s->demanded = arena_many(s->pass, bool, n);
  s->fused = arena_many(s->pass, bool, n);
  s->block_of = arena_many(s->pass, uint32_t, n);
  s->position = arena_many(s->pass, uint32_t, n);
  s->frame_slot = arena_many(s->pass, uint32_t, n);
  s->anchored = arena_many(s->pass, bool, n);
  for (uint32_t b = 0; b < s->f->n_blocks; b++)
    for (uint32_t i = 0; i < s->f->blocks[b].n_insns; i++) {
      IrValue v = s->f->blocks[b].insns[i];
      const IrInsn *insn = sel_def(s, v);
      s->block_of[v.raw] = b;
      s->position[v.raw] = i + 1;   /* 0 is where parameters are */
      if (insn->op == IR_alloca)
        add_alloca(s, v, insn);
    }
}

void select_func(Cg *cg, MFunc *mf)
{
  Sel s = {.cg = cg, .mf = mf, .m = cg->work, .f = mf->ir, .pass = arena_create("selection"),
           .hidden = REG_NONE};
  mf->n_labels = mf->ir->n_blocks;
  arrput(mf->temps, ((DsrTemp){0}));
  number_values(&s);
  order_blocks(&s);
  dsd_plan(&s);
  if (mf->ir->result == IRT_I64 || ir_type_is_dsd(mf->ir->result))
    s.hidden = sel_new_reg(&s, CLASS_WORD);
  for (uint32_t place = s.n_order; place-- > 0;)
    select_block(&s, place);
  for (size_t i = arrlenu(s.reversed); i-- > 0;)
    arrput(mf->code, s.reversed[i]);
  if (cg->options->debug)
    variables_find(&s);
  arrfree(s.reversed);
  arrfree(s.scratch);
  arena_destroy(s.pass);
}
