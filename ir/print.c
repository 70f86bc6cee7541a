/* The text form of a module.  docs/ir.md describes it, read.c parses it back.
 *
 * The printer numbers values and blocks in its own order and adds a suffix to names that two
 * globals or two functions share; so the text does not depend on the history of the module. It also
 * prints a module that the verifier would refuse, to show what a bug looks like. */
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>

#include <stb_ds.h>

enum { DATA_ROW_BYTES = 32 };

typedef struct {
  const IrModule *m;
  FILE *out;
  bool locs;
  Arena *scratch;
  const char **global_names, **func_names;
  /* of the function being printed */
  const IrFunc *f;
  uint32_t *value_number, *block_number;   /* IR_NO_ID: not printed */
} IrPrinter;

/* ---- names and words --------------------------------------------------------------- */

static bool is_plain_name(const char *name)
{
  static const char digits[] = "0123456789";
  static const char plain[] = "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return *name && !strchr(digits, *name) && name[strspn(name, plain)] == '\0';
}

static void print_quoted(IrPrinter *p, const char *text)
{
  fputc('"', p->out);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      fprintf(p->out, "\\%c", *c);
    else if (*c < 0x20 || *c == 0x7f)
      fprintf(p->out, "\\x%02x", *c);
    else
      fputc(*c, p->out);
  }
  fputc('"', p->out);
}

static void print_name(IrPrinter *p, char sigil, const char *name)
{
  fputc(sigil, p->out);
  if (is_plain_name(name))
    fputs(name, p->out);
  else
    print_quoted(p, name);
}

static void print_global(IrPrinter *p, uint32_t id)
{
  if (id < p->m->n_globals)
    print_name(p, '$', p->global_names[id]);
  else
    fprintf(p->out, "$?%" PRIu32, id);
}

static void print_func(IrPrinter *p, uint32_t id)
{
  if (id < p->m->n_funcs)
    print_name(p, '@', p->func_names[id]);
  else
    fprintf(p->out, "@?%" PRIu32, id);
}

static void print_word(IrPrinter *p, IrWordList list, unsigned number)
{
  const char *word = ir_word(list, number);
  if (word)
    fputs(word, p->out);
  else
    fprintf(p->out, "?%u", number);
}

typedef struct { char *key; int value; } NameSet;   /* stb_ds string map */

/* Gives `name` a suffix if it is taken; enters it. */
static const char *unique_name(IrPrinter *p, const char *name, NameSet **taken)
{
  const char *result = name ? name : "";
  for (unsigned n = 2; shgeti(*taken, result) >= 0; n++)
    result = arena_printf(p->scratch, "%s#%u", name ? name : "", n);
  shput(*taken, (char *)result, 1);
  return result;
}

static void name_symbols(IrPrinter *p)
{
  NameSet *globals = NULL, *funcs = NULL;
  p->global_names = arena_many(p->scratch, const char *, p->m->n_globals);
  p->func_names = arena_many(p->scratch, const char *, p->m->n_funcs);
  for (uint32_t i = 0; i < p->m->n_globals; i++)
    p->global_names[i] = unique_name(p, p->m->globals[i].name, &globals);
  for (uint32_t i = 0; i < p->m->n_funcs; i++)
    p->func_names[i] = unique_name(p, p->m->funcs[i].name, &funcs);
  shfree(globals);
  shfree(funcs);
}

static void print_offset(IrPrinter *p, int64_t offset)
{
  if (offset)
    fprintf(p->out, " %c %" PRIu64, offset < 0 ? '-' : '+',
            offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset);
}

/* ---- descriptors ------------------------------------------------------------------- */

static void print_flags(IrPrinter *p, unsigned flags)
{
  fputs(", flags", p->out);
  for (unsigned bit = 1; bit && bit <= flags; bit <<= 1)
    if (flags & bit) {
      fputc(' ', p->out);
      print_word(p, IRW_desc_flag, bit);
    }
}

static void print_action(IrPrinter *p, const char *field, Action action)
{
  if (action.kind == ACT_NONE)
    return;
  fprintf(p->out, ", %s ", field);
  print_word(p, IRW_action, action.kind);
  fputc(' ', p->out);
  print_word(p, IRW_id_kind, action.id_kind);
  fprintf(p->out, " %u", action.id);
}

static void print_4d(IrPrinter *p, const Descriptor *d)
{
  fputs(", lengths", p->out);
  for (unsigned i = 0; i < ARRAY_COUNT(d->lengths); i++)
    fprintf(p->out, " %u", d->lengths[i]);
  fputs(", strides", p->out);
  for (unsigned i = 0; i < ARRAY_COUNT(d->strides); i++)
    fprintf(p->out, " %d", d->strides[i]);
}

/* KIND(base PLACE, field value, ...): fields that are zero are left out. */
static void print_desc(IrPrinter *p, const IrDesc *desc)
{
  const Descriptor *d = &desc->desc;
  print_word(p, IRW_desc_kind, d->kind);
  fputs("(base ", p->out);
  if (!ir_global_is_none(desc->global)) {
    print_global(p, desc->global.raw);
    print_offset(p, d->base);
  } else {
    fprintf(p->out, "%u", d->base);
  }
  if (d->length)
    fprintf(p->out, ", length %u", d->length);
  if (d->stride)
    fprintf(p->out, ", stride %d", d->stride);
  if (d->kind == DESC_MEM4D)
    print_4d(p, d);
  if (d->wrap_base || d->wrap_length)
    fprintf(p->out, ", wrap %u %u", d->wrap_base, d->wrap_length);
  if (d->kind == DESC_FABIN || d->kind == DESC_FABOUT)
    fprintf(p->out, ", queue %u, color %u", d->queue, d->color);
  if (d->flags)
    print_flags(p, d->flags);
  print_action(p, "done", d->done);
  print_action(p, "on_control", d->on_control);
  if (d->priority_given) {
    fputs(", priority ", p->out);
    print_word(p, IRW_priority, d->priority);
  }
  if (d->simd != SIMD_DEFAULT) {
    fputs(", simd ", p->out);
    print_word(p, IRW_simd, d->simd);
  }
  if (d->ut_given)
    fprintf(p->out, ", ut %u", d->ut);
  fputc(')', p->out);
}

/* ---- globals ----------------------------------------------------------------------- */

static bool is_zero(const uint8_t *bytes, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (bytes[i])
      return false;
  return true;
}

static void print_data(IrPrinter *p, const IrGlobal *g)
{
  for (uint32_t at = 0; g->init && at < g->bytes; at += DATA_ROW_BYTES) {
    uint32_t n = g->bytes - at < DATA_ROW_BYTES ? g->bytes - at : DATA_ROW_BYTES;
    if (is_zero(g->init + at, n))
      continue;
    fprintf(p->out, "  data %" PRIu32 " \"", at);
    for (uint32_t i = 0; i < n; i++)
      fprintf(p->out, "%02x", g->init[at + i]);
    fputs("\"\n", p->out);
  }
  for (uint32_t i = 0; i < g->n_relocs; i++) {
    const IrReloc *r = &g->relocs[i];
    fprintf(p->out, "  reloc %" PRIu32 " ", r->offset);
    if (r->is_func)
      print_func(p, r->target);
    else
      print_global(p, r->target);
    print_offset(p, r->addend);
    fputc('\n', p->out);
  }
}

static void print_loc(IrPrinter *p, IrLocId loc)
{
  if (p->locs && loc.raw)
    fprintf(p->out, " !%" PRIu32, loc.raw);
}

static void print_global_decl(IrPrinter *p, uint32_t id)
{
  const IrGlobal *g = &p->m->globals[id];
  fputs("global ", p->out);
  print_global(p, id);
  fprintf(p->out, " bytes %" PRIu32 " align %" PRIu32, g->bytes, g->align);
  if (g->type && *g->type) {
    fputs(" type ", p->out);
    print_quoted(p, g->type);
  }
  if (g->has_address)
    fprintf(p->out, " address %u", g->address);
  if (g->extent)
    fprintf(p->out, " extent %u", g->extent);
  fputs(g->is_const ? " const" : "", p->out);
  fputs(g->unset ? " unset" : "", p->out);
  fputs(g->keep ? " keep" : "", p->out);
  print_loc(p, g->loc);
  if (g->n_relocs || (g->init && !is_zero(g->init, g->bytes))) {
    fputs(" {\n", p->out);
    print_data(p, g);
    fputc('}', p->out);
  }
  fputc('\n', p->out);
}

/* ---- machine set-up ---------------------------------------------------------------- */

static void print_tile_parts(IrPrinter *p)
{
  const IrModule *m = p->m;
  for (uint32_t i = 0; i < m->n_tile_params; i++)
    fprintf(p->out, "tile_param %s\n", ir_type_name(m->tile_params[i]));
  for (uint32_t i = 0; i < m->n_tile_slots; i++) {
    const IrTileSlot *s = &m->tile_slots[i];
    if (s->is_param) {
      fprintf(p->out, "tile_slot param %" PRIu32 "\n", s->index);
      continue;
    }
    fputs("tile_slot ", p->out);
    print_global(p, s->index);
    fprintf(p->out, " offset %" PRIu32 " bytes %" PRIu32 "\n", s->offset, s->bytes);
  }
}

static void print_tasks(IrPrinter *p)
{
  for (uint32_t i = 0; i < p->m->n_tasks; i++) {
    const IrTask *t = &p->m->tasks[i];
    fputs("task ", p->out);
    print_word(p, IRW_task_kind, t->kind);
    fprintf(p->out, " %u ", t->id);
    print_func(p, t->func.raw);
    fprintf(p->out, " arguments %u", t->arguments);
    if (t->name) {
      fputc(' ', p->out);
      print_quoted(p, t->name);
    }
    fputc('\n', p->out);
  }
}

static void print_queue(IrPrinter *p, unsigned direction, unsigned number)
{
  const ImageQueue *q = direction ? &p->m->output[number] : &p->m->input[number];
  const char *name = p->m->queue_names[direction][number];
  if (!q->used && !name)
    return;
  fputs("queue ", p->out);
  print_word(p, IRW_direction, direction);
  fprintf(p->out, " %u", number);
  if (q->used) {
    fprintf(p->out, " color %u priority ", q->color);
    print_word(p, IRW_priority, q->priority);
    fputs(q->implicit ? " implicit" : "", p->out);
  }
  if (name) {
    fputc(' ', p->out);
    print_quoted(p, name);
  }
  fputc('\n', p->out);
}

static void print_colors(IrPrinter *p)
{
  const IrModule *m = p->m;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (m->color_names[c]) {
      fprintf(p->out, "color %u ", c);
      print_quoted(p, m->color_names[c]);
      fputc('\n', p->out);
    }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (m->data_queue[c] != 0xff)
      fprintf(p->out, "data_queue %u %u\n", c, m->data_queue[c]);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (m->teardown_handler[c] != IR_NO_ID) {
      fprintf(p->out, "teardown %u ", c);
      print_func(p, m->teardown_handler[c]);
      fputc('\n', p->out);
    }
  for (unsigned output = 0; output < 2; output++)
    for (unsigned q = 0; q < MAX_QUEUES; q++)
      if (m->empty_handler[output][q] != IR_NO_ID) {
        fprintf(p->out, "empty %s %u ", output ? "output" : "input", q);
        print_func(p, m->empty_handler[output][q]);
        fputc('\n', p->out);
      }
}

static void print_binding(IrPrinter *p, const IrBinding *b)
{
  fprintf(p->out, "binding %" PRIu32 " ", b->export_index);
  if (b->is_func)
    print_func(p, b->target);
  else
    print_global(p, b->target);
  fputs(b->is_pointer ? " pointer" : "", p->out);
  if (b->extent)
    fprintf(p->out, " extent %u", b->extent);
  fputc('\n', p->out);
}

static void print_dsr(IrPrinter *p, unsigned file, uint32_t number)
{
  print_word(p, IRW_dsr_file, file);
  if (number >= IR_VIRTUAL_DSR)
    fprintf(p->out, "[v%" PRIu32 "]", number - IR_VIRTUAL_DSR);
  else
    fprintf(p->out, "[%" PRIu32 "]", number);
}

static void print_machine(IrPrinter *p)
{
  const IrModule *m = p->m;
  print_colors(p);
  for (unsigned direction = 0; direction < 2; direction++)
    for (unsigned q = 0; q < MAX_QUEUES; q++)
      print_queue(p, direction, q);
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    fputs("dsr ", p->out);
    print_dsr(p, m->dsrs[i].file, m->dsrs[i].number);
    fputc(' ', p->out);
    print_desc(p, &m->dsrs[i].desc);
    fputc('\n', p->out);
  }
  for (uint32_t i = 0; i < m->n_configs; i++)
    fprintf(p->out, "config %u %u\n", m->configs[i].address, m->configs[i].value);
  if (m->active)
    fprintf(p->out, "active 0x%" PRIx64 "\n", m->active);
  if (m->blocked)
    fprintf(p->out, "blocked 0x%" PRIx64 "\n", m->blocked);
  if (m->paused)
    fprintf(p->out, "paused 0x%x\n", m->paused);
  if (m->separate_control)
    fprintf(p->out, "separate_control\n");
  print_tasks(p);
  for (uint32_t i = 0; i < m->n_bindings; i++)
    print_binding(p, &m->bindings[i]);
}

/* ---- functions --------------------------------------------------------------------- */

static const IrInsn *insn_of(const IrPrinter *p, IrValue v)
{
  return v.raw < p->f->n_insns ? &p->f->insns[v.raw] : NULL;
}

static void number_function(IrPrinter *p)
{
  const IrFunc *f = p->f;
  uint32_t values = 0, blocks = 0;
  p->value_number = arena_many(p->scratch, uint32_t, f->n_insns);
  p->block_number = arena_many(p->scratch, uint32_t, f->n_blocks);
  memset(p->value_number, 0xff, sizeof(uint32_t) * f->n_insns);
  memset(p->block_number, 0xff, sizeof(uint32_t) * f->n_blocks);
  for (uint32_t i = 0; i < f->n_blocks; i++) {
    const IrBlock *b = &f->blocks[i];
    if (!b->n_insns && i)
      continue;
    p->block_number[i] = blocks++;
    for (uint32_t k = 0; k < b->n_params; k++)
      if (insn_of(p, b->params[k]))
        p->value_number[b->params[k].raw] = values++;
    for (uint32_t k = 0; k < b->n_insns; k++) {
      const IrInsn *insn = insn_of(p, b->insns[k]);
      if (insn && insn->type != IRT_VOID)
        p->value_number[b->insns[k].raw] = values++;
    }
  }
}

static void print_value(IrPrinter *p, IrValue v)
{
  if (v.raw < p->f->n_insns && p->value_number[v.raw] != IR_NO_ID)
    fprintf(p->out, "%%%" PRIu32, p->value_number[v.raw]);
  else
    fprintf(p->out, "%%?%" PRIu32, v.raw);
}

static void print_values(IrPrinter *p, const IrValue *values, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    fputs(i ? ", " : "", p->out);
    print_value(p, values[i]);
  }
}

static void print_target(IrPrinter *p, const IrTarget *t)
{
  if (t->block.raw < p->f->n_blocks && p->block_number[t->block.raw] != IR_NO_ID)
    fprintf(p->out, "b%" PRIu32, p->block_number[t->block.raw]);
  else
    fprintf(p->out, "b?%" PRIu32, t->block.raw);
  if (t->n_args) {
    fputc('(', p->out);
    print_values(p, t->args, t->n_args);
    fputc(')', p->out);
  }
}

static void print_const(IrPrinter *p, const IrInsn *insn)
{
  switch (insn->type) {
  case IRT_F16:
    fprintf(p->out, " 0x%04" PRIx64 " ; %.6g", insn->imm,
            fp16_to_double(p->m->fp16, (uint16_t)insn->imm));
    return;
  case IRT_F32:
    fprintf(p->out, " 0x%08" PRIx64 " ; %.9g", insn->imm, fp32_to_double((uint32_t)insn->imm));
    return;
  case IRT_I8:
  case IRT_I16:
  case IRT_I32:
  case IRT_I64: {
    unsigned unused = 64 - ir_type_bits(insn->type);
    fprintf(p->out, " %" PRId64, (int64_t)(insn->imm << unused) >> unused);
    return;
  }
  case IRT_VOID:
  case IRT_BOOL:
  case IRT_PTR:
  case IRT_DSD:
  case IRT_DSD4:
  case IRT_COUNT: fprintf(p->out, " %" PRIu64, insn->imm); return;
  }
}

static void print_vec_arg(IrPrinter *p, const IrInsn *insn, uint32_t index)
{
  if (index < insn->n_args)
    print_value(p, insn->args[index]);
  else
    fputs("%?", p->out);
}

static void print_vec_operand(IrPrinter *p, const IrInsn *insn, const char *role,
                              const IrVecOperand *o)
{
  if (o->kind == IRV_NONE)
    return;
  fprintf(p->out, ", %s = ", role);
  print_word(p, IRW_vec_operand, o->kind);
  fputc(' ', p->out);
  if (o->kind == IRV_DSR)
    print_dsr(p, o->file, o->number);
  else
    print_vec_arg(p, insn, o->arg);
  if (o->name) {
    fputc(' ', p->out);
    print_quoted(p, o->name);
  }
}

static void print_vec(IrPrinter *p, const IrInsn *insn)
{
  const IrVec *v = insn->u.vec;
  fprintf(p->out, " %s", v->op < VEC_COUNT ? vecops[v->op].name : "?");
  print_vec_operand(p, insn, "dest", &v->dest);
  print_vec_operand(p, insn, "src0", &v->src0);
  print_vec_operand(p, insn, "src1", &v->src1);
  if (v->scalar != IR_NO_ID) {
    fputs(", factor = ", p->out);
    print_vec_arg(p, insn, v->scalar);
  }
  if (v->index != IR_NO_ID) {
    fputs(", index = ", p->out);
    print_vec_arg(p, insn, v->index);
  }
  if (v->priority) {
    fputs(", priority = ", p->out);
    print_word(p, IRW_priority, v->priority - 1u);
  }
}

static void print_args(IrPrinter *p, const IrInsn *insn)
{
  if (!insn->n_args)
    return;
  fputc(' ', p->out);
  print_values(p, insn->args, insn->n_args);
}

static void print_call(IrPrinter *p, const IrInsn *insn)
{
  uint32_t first = insn->op == IR_call_ptr ? 1 : 0;
  fputc(' ', p->out);
  if (insn->op == IR_call)
    print_func(p, insn->u.func.raw);
  else if (insn->n_args)
    print_value(p, insn->args[0]);
  fputc('(', p->out);
  if (insn->n_args > first)
    print_values(p, insn->args + first, insn->n_args - first);
  fputc(')', p->out);
}

static void print_branch(IrPrinter *p, const IrInsn *insn)
{
  print_args(p, insn);
  fputs(insn->n_args ? ", " : " ", p->out);
  print_target(p, &insn->u.targets[0]);
  if (insn->op == IR_cond_br) {
    fputs(", ", p->out);
    print_target(p, &insn->u.targets[1]);
  }
}

/* The words that stand between the operation's name and its values. */
static void print_attributes(IrPrinter *p, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_dsd_set:
  case IR_dsd_get: fprintf(p->out, " %s", dsr_field_name((DsrField)insn->field)); break;
  case IR_dsr_set:
  case IR_dsr_get: fprintf(p->out, " %s", dsr_field_name((DsrField)insn->field)); /* fall through */
  case IR_dsr_load:
    fputc(' ', p->out);
    print_dsr(p, insn->aux >> 16, insn->aux & 0xffff);
    fputs(insn->n_args ? "," : "", p->out);
    break;
  case IR_block:
  case IR_unblock:
    fputc(' ', p->out);
    print_word(p, IRW_id_kind, insn->aux);
    break;
  case IR_queue_flush:
    fputc(' ', p->out);
    print_word(p, IRW_direction, insn->aux);
    break;
  case IR_counter: fprintf(p->out, " %" PRIu64 ",", insn->imm); break;
  case IR_assert:
    if (insn->imm)
      fprintf(p->out, " %" PRIu64 ",", insn->imm);
    break;
  default: break;
  }
}

static void print_operands(IrPrinter *p, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_const: print_const(p, insn); break;
  case IR_global_addr:
    fputc(' ', p->out);
    print_global(p, insn->u.global.raw);
    print_offset(p, (int64_t)insn->imm);
    break;
  case IR_func_addr:
    fputc(' ', p->out);
    print_func(p, insn->u.func.raw);
    break;
  case IR_tile_param:
  case IR_trap: fprintf(p->out, " %" PRIu64, insn->imm); break;
  case IR_dsd_const:
    fputc(' ', p->out);
    print_desc(p, insn->u.desc);
    break;
  case IR_alloca: fprintf(p->out, " %" PRIu64 " align %" PRIu32, insn->imm, insn->aux); break;
  case IR_copy:
  case IR_zero:
    print_args(p, insn);
    fprintf(p->out, ", bytes %" PRIu64, insn->imm);
    break;
  case IR_call:
  case IR_call_ptr: print_call(p, insn); break;
  case IR_vec: print_vec(p, insn); break;
  case IR_br:
  case IR_cond_br: print_branch(p, insn); break;
  default:
    print_attributes(p, insn);
    print_args(p, insn);
    break;
  }
}

static void print_insn(IrPrinter *p, IrValue v)
{
  const IrInsn *insn = insn_of(p, v);
  fputs("  ", p->out);
  if (!insn || insn->op >= IR_OP_COUNT) {
    fprintf(p->out, "?%" PRIu32 "\n", v.raw);
    return;
  }
  if (insn->type != IRT_VOID) {
    print_value(p, v);
    fputs(" = ", p->out);
  }
  fputs(ir_ops[insn->op].name, p->out);
  if (ir_ops[insn->op].result_rule == IRRES_EXPLICIT && insn->type != IRT_VOID)
    fprintf(p->out, ".%s", ir_type_name(insn->type));
  if (p->locs && insn->loc.raw && insn->op == IR_const) {
    /* The value of a float stands in a comment, so the place goes before it. */
    print_loc(p, insn->loc);
    print_operands(p, insn);
  } else {
    print_operands(p, insn);
    print_loc(p, insn->loc);
  }
  fputs(insn->dead ? " ; removed\n" : "\n", p->out);
}

static void print_block(IrPrinter *p, uint32_t id)
{
  const IrBlock *b = &p->f->blocks[id];
  fprintf(p->out, "b%" PRIu32, p->block_number[id]);
  for (uint32_t i = 0; i < b->n_params; i++) {
    fputs(i ? ", " : "(", p->out);
    print_value(p, b->params[i]);
    const IrInsn *param = insn_of(p, b->params[i]);
    fprintf(p->out, ": %s", param ? ir_type_name(param->type) : "?");
  }
  fputs(b->n_params ? "):\n" : ":\n", p->out);
  for (uint32_t i = 0; i < b->n_insns; i++)
    print_insn(p, b->insns[i]);
}

static void print_function(IrPrinter *p, uint32_t id)
{
  static const char *const inlining[] = {"", " inline", " noinline"};
  const IrFunc *f = &p->m->funcs[id];
  p->f = f;
  number_function(p);
  fputs("\nfunc ", p->out);
  print_func(p, id);
  fputc('(', p->out);
  for (uint32_t i = 0; i < f->n_params; i++)
    fprintf(p->out, "%s%s", i ? ", " : "", ir_type_name(f->params[i]));
  fprintf(p->out, ") %s", ir_type_name(f->result));
  fputs(f->is_task ? " task" : "", p->out);
  fputs(inlining[f->inlining], p->out);
  fputs(f->address_taken ? " address_taken" : "", p->out);
  print_loc(p, f->loc);
  fputs(" {\n", p->out);
  for (uint32_t i = 0; i < f->n_blocks; i++)
    if (p->block_number[i] != IR_NO_ID)
      print_block(p, i);
  fputs("}\n", p->out);
}

/* ---- module ------------------------------------------------------------------------ */

static void print_locs(IrPrinter *p)
{
  for (uint32_t i = 1; p->locs && i < p->m->n_locs; i++) {
    const IrLoc *l = &p->m->locs[i];
    fprintf(p->out, "loc %" PRIu32 " %" PRIu32 " %" PRIu32, i, l->span.off, l->span.len);
    if (l->inlined_at.raw)
      fprintf(p->out, " at %" PRIu32, l->inlined_at.raw);
    if (l->function) {
      fputc(' ', p->out);
      print_quoted(p, l->function);
    }
    fputc('\n', p->out);
  }
}

void ir_print_with(const IrModule *m, const IrPrintOptions *options, FILE *out)
{
  IrPrinter p = {.m = m, .out = out, .locs = options->locs, .scratch = arena_create("print")};
  name_symbols(&p);
  fprintf(out, "module %s %s ", machine_get(m->arch)->name, fp16_name(m->fp16));
  print_quoted(&p, m->source ? m->source : "");
  fputc('\n', out);
  print_locs(&p);
  print_tile_parts(&p);
  for (uint32_t i = 0; i < m->n_globals; i++)
    print_global_decl(&p, i);
  print_machine(&p);
  for (uint32_t i = 0; i < m->n_funcs; i++)
    print_function(&p, i);
  arena_destroy(p.scratch);
}

void ir_print(const IrModule *m, FILE *out)
{
  ir_print_with(m, &(IrPrintOptions){0}, out);
}
