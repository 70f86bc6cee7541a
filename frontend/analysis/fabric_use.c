/* What the code of one tile class sends and receives.
 *
 * Each function or task that something outside the code starts is a root.  From each root the walk
 * goes through the calls and notes, for each operation on the fabric, how many times one run of the
 * root does it: at least and at most, each 0, 1 or many.  Then the runs of the roots are counted:
 * the start of the program and each launch by the host run a root once, and a local task runs as
 * often as the one place that activates it. If the program stores a descriptor, loads it into a DSR
 * or passes it on, the walk loses it, and the traffic of its color becomes vague. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

/* Published programs give fabric DSDs the extent 1 where the other operand decides. */
enum { WALK_DEPTH = 24, WALK_CALLS = 4096, STANDS_FOR_ANY = 1 };
static const uint32_t ALL_COLORS = (1u << MAX_COLORS) - 1;

typedef struct {
  IrFuncId func;
  bool is_task;            /* a local task, which `id` names */
  uint8_t id;
  uint32_t start;          /* as in FabricUse */
  Times times;             /* for each start */
  bool is_certain, is_counted, is_counting;
} Root;

/* Where a task is activated: the places are counted, the last one is kept. */
typedef struct { unsigned n; uint32_t root; Times times; } Activation;

/* A use as one run of its root has it. */
typedef struct {
  uint32_t root;
  FabricUse use;
  uint32_t extent;         /* of an operand that describes more or less than is moved; 0: none */
} RootUse;

typedef struct {
  Sema *s;
  const IrModule *m;
  FabricUses *out;
  Times **block_times;     /* by function, then by block; NULL: not looked at */
  Root *roots;             /* stb_ds arrays */
  RootUse *uses;
  Activation activated[MAX_TASK_IDS];
  uint64_t unclear_tasks;  /* started in ways that are not counted */
  uint64_t held_tasks;     /* blocked at some time */
  unsigned calls;
  const bool **escapes;    /* by function; NULL: not looked at */
  bool *is_looked_at;
} UseWalk;

static Times times_product(Times a, Times b)
{
  unsigned least = a.least * b.least, most = a.most * b.most;
  return (Times){(uint8_t)(least > FABRIC_MANY ? FABRIC_MANY : least),
                 (uint8_t)(most > FABRIC_MANY ? FABRIC_MANY : most)};
}

static const Times *block_times(UseWalk *w, uint32_t func)
{
  if (!w->block_times[func])
    w->block_times[func] = block_times_find(&w->m->funcs[func], w->s->arena);
  return w->block_times[func];
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* What an action word that is known at compile time starts; false: it is not known. */
static bool known_action(const IrFunc *f, IrValue word, Action *action)
{
  const IrInsn *value = &f->insns[word.raw];
  return value->op == IR_const && action_decode((uint16_t)value->imm, action);
}

static bool apply_setting(const IrFunc *f, const IrInsn *set, KnownDesc *known)
{
  const IrInsn *value = &f->insns[set->args[1].raw];
  switch (set->field) {
  case DSRF_FLAGS:
    known->desc.flags |= (uint16_t)value->imm;
    return value->op == IR_const;
  case DSRF_DONE:                      /* if it is not known, any task may start: note_insn */
    if (!known_action(f, set->args[1], &known->desc.done))
      known->desc.done = (Action){0};
    return true;
  case DSRF_CONTROL: return known_action(f, set->args[1], &known->desc.on_control);
  case DSRF_BASE: case DSRF_BASE_ADD: case DSRF_STRIDE: return true;
  case DSRF_LENGTH:
    known->is_length_known = value->op == IR_const;
    known->desc.length = (uint16_t)value->imm;
    return true;
  default:
    known->is_length_known = false;
    return true;
  }
}

static bool known_behind_calls(const Sema *s, DsdSource from, KnownDesc *known)
{
  bool is_variable = lint_trace_dsd(s, &from);
  const IrInsn *insn = &from.f->insns[from.v.raw];
  const IrDesc *constant = lint_constant_dsd(s, from.f, from.v);
  bool is_known = constant != NULL;
  if (constant) {
    *known = (KnownDesc){constant->desc, constant->global, true, insn->op == IR_load};
  } else {
    const IrFunc *maker = from.f;
    from.v = insn->op == IR_dsd_set ? insn->args[0] : IR_NO_VALUE;
    is_known = insn->op == IR_dsd_set && known_behind_calls(s, from, known) &&
               apply_setting(maker, insn, known);
  }
  known->is_variable |= is_variable;
  return is_known;
}

/* The descriptor that a value is made of, with what is set on the way; false if it is not known. */
static bool known_descriptor(const Sema *s, const IrFunc *f, const CallWay *at, IrValue v,
                             KnownDesc *known)
{
  return known_behind_calls(s, (DsdSource){f, v, at, 0}, known);
}

/* The same of what a DSR holds; @map takes one in steps, so that one operation says little. */
static bool known_register(const Sema *s, DsrFile file, unsigned number, KnownDesc *known)
{
  const SoleLoad *sole = lint_sole_load(s, file, number);
  if (!sole)
    return false;
  bool is_known = sole->preset != NULL;
  if (is_known)
    *known = (KnownDesc){sole->preset->desc, sole->preset->global, true, false};
  else
    is_known = known_descriptor(s, sole->f, NULL, sole->load->args[0], known);
  return is_known && !(known->desc.flags & DESC_F_STEP);
}

static const bool *escapes_of(UseWalk *w, uint32_t func);

/* The walk follows a descriptor into a function that does nothing else with its parameter. */
static bool is_followed(UseWalk *w, const IrInsn *call, uint32_t arg)
{
  const bool *escapes = escapes_of(w, call->u.func.raw);
  return escapes && !escapes[w->m->funcs[call->u.func.raw].blocks[0].params[arg].raw];
}

static void mark_escapes(UseWalk *w, const IrFunc *f, const IrInsn *insn, bool *escapes)
{
  IrValue returned;
  KnownDesc known = {0};
  if (insn->dead || insn->op == IR_dsd_set || insn->op == IR_dsd_get ||
      (insn->op == IR_ret && !f->address_taken && lint_hands_back(f, &returned)) ||
      (insn->op == IR_store && lint_is_kept(w->s, f, insn)) ||
      (insn->op == IR_dsr_load &&
       known_register(w->s, (DsrFile)(insn->aux >> 16), insn->aux & 0xffff, &known)))
    return;
  bool is_vec = insn->op == IR_vec, is_call = insn->op == IR_call;
  for (uint32_t i = 0; i < insn->n_args && !is_vec; i++)
    escapes[insn->args[i].raw] |= !is_call || !ir_type_is_dsd(f->insns[insn->args[i].raw].type) ||
                                  !is_followed(w, insn, i);
  for (uint32_t t = 0; t < ir_target_count(insn); t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      escapes[insn->u.targets[t].args[i].raw] = true;
}

static bool mark_value(bool *escapes, IrValue v)
{
  bool is_new = !escapes[v.raw];
  escapes[v.raw] = true;
  return is_new;
}

/* Marks what an instruction's value, which escapes, is made of: a function may hand back what it
 * gets.  True if that is new. */
static bool mark_made_of(const Sema *s, const IrFunc *f, uint32_t i, bool *escapes)
{
  const IrInsn *insn = &f->insns[i];
  IrValue value = {i}, held = lint_held_value(s, f, value);
  if (insn->op == IR_dsd_set)
    return mark_value(escapes, insn->args[0]);
  bool is_new = !ir_value_eq(held, value) && mark_value(escapes, held);
  for (uint32_t a = 0; a < insn->n_args && insn->op == IR_call; a++)
    if (ir_type_is_dsd(f->insns[insn->args[a].raw].type))
      is_new |= mark_value(escapes, insn->args[a]);
  return is_new;
}

/* By value of the function: whether anything but operations and settings takes it. What a function
 * hands back is up to its callers, if no pointer leads to it. NULL: the function is being looked
 * at. */
static const bool *escapes_of(UseWalk *w, uint32_t func)
{
  if (w->escapes[func] || w->is_looked_at[func])
    return w->escapes[func];
  w->is_looked_at[func] = true;
  const IrFunc *f = &w->m->funcs[func];
  bool *escapes = arena_many(w->s->arena, bool, f->n_insns + 1);
  for (uint32_t i = 1; i < f->n_insns; i++)
    mark_escapes(w, f, &f->insns[i], escapes);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t i = f->n_insns; i-- > 1;)
      if (escapes[i] && !f->insns[i].dead)
        is_changed |= mark_made_of(w->s, f, i, escapes);
  }
  return w->escapes[func] = escapes;
}

/* ---- what is not known exactly --------------------------------------------------------------- */

static uint32_t color_bit(unsigned color) { return color < MAX_COLORS ? 1u << color : 0; }

/* Elements with a mark become control wavelets, with any entry. */
static bool may_mark(const Descriptor *d)
{
  return d->kind == DESC_FABOUT && (d->flags & DESC_F_TRANSFORM) != 0;
}

static void lose_descriptor(UseWalk *w, const Descriptor *d)
{
  w->unclear_tasks |= setup_started_task(d->done) | setup_started_task(d->on_control);
  uint32_t bit = color_bit(d->color);
  if (d->kind == DESC_FABOUT) {
    w->out->sends |= bit;
    w->out->vague_sends |= bit;
    w->out->unknown_sends |= bit;
    w->out->vague_control |= (d->flags & DESC_F_CONTROL) != 0 || may_mark(d);
  } else if (d->kind == DESC_FABIN) {
    w->out->receives |= bit;
    w->out->vague_receives |= bit;
    w->out->unknown_receives |= bit;
    w->out->operations |= bit;
  }
}

static void lose_everything(FabricUses *out)
{
  out->sends = out->receives = out->vague_sends = out->vague_receives = ALL_COLORS;
  out->operations = out->reroutes = ALL_COLORS;
  out->unknown_sends = out->unknown_receives = ALL_COLORS;
  out->vague_control = true;
}

static bool in_array(uint32_t address, uint32_t base, unsigned *color)
{
  *color = address - base;
  return address >= base && address < base + MAX_COLORS;
}

static void note_register(FabricUses *out, uint32_t address)
{
  unsigned color;
  if (in_array(address, CFG_COLOR_ROUTES, &color) || in_array(address, CFG_COLOR_SWITCH, &color) ||
      in_array(address, CFG_COLOR_SWITCH_BOTH, &color))
    out->reroutes |= color_bit(color);
  else if (in_array(address, CFG_FILTER_COUNTER, &color) ||
           in_array(address, CFG_FILTER_LIMIT, &color) || in_array(address, CFG_FILTER_MAX, &color))
    out->vague_receives |= color_bit(color);
  else if (address >= CFG_INPUT_QUEUE && address < CFG_OUTPUT_QUEUE + MAX_QUEUES)
    lose_everything(out);
}

static void note_set_config(UseWalk *w, const IrFunc *f, const IrInsn *insn)
{
  const IrInsn *address = &f->insns[insn->args[0].raw];
  if (address->op == IR_const)
    note_register(w->out, (uint32_t)address->imm);
  else
    lose_everything(w->out);
}

static void note_insn(UseWalk *w, const IrFunc *f, uint32_t i, bool escapes)
{
  const IrInsn *insn = &f->insns[i];
  Action action;
  KnownDesc known = {0};
  if (insn->op == IR_set_config) {
    note_set_config(w, f, insn);
  } else if (escapes && insn->op == IR_call && ir_type_is_dsd(insn->type)) {
    if (known_descriptor(w->s, f, NULL, (IrValue){i}, &known))
      lose_descriptor(w, &known.desc);
  } else if (escapes && lint_constant_dsd(w->s, f, (IrValue){i})) {
    lose_descriptor(w, &lint_constant_dsd(w->s, f, (IrValue){i})->desc);
  } else if (insn->op == IR_dsd_set && (insn->field == DSRF_DONE || insn->field == DSRF_CONTROL)) {
    if (!known_action(f, insn->args[1], &action))
      w->unclear_tasks |= lint_tasks_of_words(w->s, f, insn->args[1], ACT_ACTIVATE, UINT64_MAX);
    else if (escapes)
      w->unclear_tasks |= setup_started_task(action);
  } else if (insn->op == IR_dsr_set &&
             (insn->field == DSRF_DONE || insn->field == DSRF_CONTROL)) {
    w->unclear_tasks = UINT64_MAX;
  } else if (insn->op == IR_activate && f->insns[insn->args[0].raw].op != IR_const) {
    w->unclear_tasks |= lint_possible_ids(w->s, f, insn->args[0], UINT64_MAX);
  } else if (insn->op == IR_block) {
    w->held_tasks |= lint_possible_ids(w->s, f, insn->args[0], UINT64_MAX);
  }
}

static void note_code(UseWalk *w)
{
  for (uint32_t n = 0; n < w->m->n_funcs; n++) {
    const IrFunc *f = &w->m->funcs[n];
    const bool *escapes = escapes_of(w, n);
    for (uint32_t i = 1; i < f->n_insns; i++)
      if (!f->insns[i].dead)
        note_insn(w, f, i, escapes[i]);
  }
}

/* Descriptors in variables that the program may change, or take out in ways that are not seen. */
static void note_stored(UseWalk *w)
{
  const MachineSetup *setup = w->s->setup;
  uint32_t constant[2][MAX_COLORS] = {0};
  for (uint32_t g = 0; g < w->m->n_globals; g++) {
    const IrDesc *desc = setup->constant_dsds[g];
    if (desc && is_fabric_desc(&desc->desc) && desc->desc.color < MAX_COLORS)
      constant[desc->desc.kind == DESC_FABOUT][desc->desc.color]++;
  }
  for (int is_output = 0; is_output < 2; is_output++)
    for (uint8_t c = 0; c < MAX_COLORS; c++)
      if (setup->stored_dsds[is_output][c] > constant[is_output][c])
        lose_descriptor(w, &(Descriptor){.kind = is_output ? DESC_FABOUT : DESC_FABIN, .color = c});
}

static void note_setup(UseWalk *w)
{
  note_stored(w);
  w->unclear_tasks |= setup_tasks_beside_code(w->s, ACT_ACTIVATE);
  KnownDesc known = {0};
  for (uint32_t i = 0; i < w->m->n_dsrs; i++)
    if (!known_register(w->s, w->m->dsrs[i].file, w->m->dsrs[i].number, &known))
      lose_descriptor(w, &w->m->dsrs[i].desc.desc);
  for (uint32_t i = 0; i < w->m->n_configs; i++)
    note_register(w->out, w->m->configs[i].address);
}

/* Does the code convert the parameter's value, an integer, to a float? */
static bool converts_to_float(const IrFunc *f, IrValue param)
{
  for (uint32_t v = 1; v < f->n_insns; v++) {
    const IrInsn *insn = &f->insns[v];
    bool converts = !insn->dead && (insn->op == IR_sitofp || insn->op == IR_uitofp);
    if (converts && ir_value_eq(insn->args[0], param))
      return true;
  }
  return false;
}

static void note_data_task(UseWalk *w, const IrTask *task)
{
  const IrModule *m = w->m;
  unsigned color = m->arch == ARCH_WSE3 ? m->input[task->id % MAX_QUEUES].color : task->id;
  w->out->receives |= color_bit(color);
  w->out->vague_receives |= color_bit(color);
  if (color >= MAX_COLORS)
    return;
  const IrFunc *f = &m->funcs[task->func.raw];
  for (uint32_t i = 0; i < f->n_params; i++)
    if (ir_type_is_float(f->params[i]))
      w->out->task_floats[color] = (uint8_t)(8 * ir_type_bytes(f->params[i]));
  if (f->n_params == 1 && ir_type_bytes(f->params[0]) <= 2)
    w->out->half_tasks |= color_bit(color);
  if (f->n_params == 2 && !ir_type_is_float(f->params[0]) && ir_type_is_float(f->params[1]))
    w->out->high_float_tasks |= color_bit(color);
  if (f->n_params == 1 && f->params[0] == IRT_I32 && converts_to_float(f, f->blocks[0].params[0]))
    w->out->converting_tasks |= color_bit(color);
  w->out->task_span[color] = w->s->setup->tasks[task->id].span;
}

static void note_tasks(UseWalk *w)
{
  const IrModule *m = w->m;
  for (uint32_t i = 0; i < m->n_tasks; i++) {
    const IrTask *task = &m->tasks[i];
    if (task->kind == TASK_DATA) {
      note_data_task(w, task);
    } else if (task->kind == TASK_CONTROL) {
      w->out->control_tasks |= UINT64_C(1) << task->id;
      const TaskSlot *slot = m->separate_control ? &w->s->setup->control_tasks[task->id]
                                                 : &w->s->setup->tasks[task->id];
      w->out->control_span[task->id] = slot->span;
    }
  }
}

/* ---- the walk from a root -------------------------------------------------------------------- */

bool fabric_is_in_library(const Sema *s, Span span)
{
  const Session *session = s->session;
  return files_is_standard(session->files, source_file_of(session->sources, span.off));
}

Span fabric_user_span(const Sema *s, IrLocId loc)
{
  Span span = s->ir->locs[loc.raw].span;
  while (!ir_loc_is_none(loc)) {
    span = s->ir->locs[loc.raw].span;
    if (!fabric_is_in_library(s, span))
      break;
    loc = s->ir->locs[loc.raw].inlined_at;
  }
  return span;
}

static void note_activation(UseWalk *w, unsigned id, uint32_t root, Times times)
{
  Activation *a = &w->activated[id % MAX_TASK_IDS];
  a->n++;
  a->root = root;
  a->times = times;
}

void fabric_read_operands(const Sema *s, const IrFunc *f, const CallWay *at, const IrInsn *insn,
                          Operands *o)
{
  const IrVec *vec = insn->u.vec;
  *o = (Operands){.operand = {&vec->src0, &vec->src1, &vec->dest},
                  .unbounded_length = sema_machine(s)->unbounded_length};
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++) {
    const IrVecOperand *operand = o->operand[i];
    if (operand->kind == IRV_DSD)
      o->is_known[i] = known_descriptor(s, f, at, insn->args[operand->arg], &o->known[i]);
    else if (operand->kind == IRV_DSR)
      o->is_known[i] = known_register(s, operand->file, operand->number, &o->known[i]);
  }
}

uint16_t fabric_operation_length(const Operands *o)
{
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++) {
    IrVecOperandKind kind = o->operand[i]->kind;
    if (kind != IRV_DSD && kind != IRV_DSR)
      continue;
    if (!o->is_known[i] || !o->known[i].is_length_known)
      return 0;
    uint32_t n = descriptor_length(&o->known[i].desc);
    if (n > 0)
      return n < o->unbounded_length ? (uint16_t)n : 0;
  }
  return 0;
}

/* The mode of all fabric operands: one without SIMD decides. */
static SimdMode operation_simd(const Operands *o, SimdMode own)
{
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++)
    if (o->is_known[i] && is_fabric_desc(&o->known[i].desc) && o->known[i].desc.simd == SIMD_OFF)
      return SIMD_OFF;
  return own;
}

/* Is one mode that of all fabric operands, and has each wavelet room for two elements? */
static bool may_pack(const Operands *o)
{
  SimdMode mode = SIMD_COUNT;
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++) {
    IrVecOperandKind kind = o->operand[i]->kind;
    const Descriptor *d = &o->known[i].desc;
    if (o->operand[i]->is_memory)
      continue;
    if (kind != IRV_DSD && kind != IRV_DSR)
      continue;
    if (!o->is_known[i])
      return false;
    if (!is_fabric_desc(d))
      continue;
    if ((mode != SIMD_COUNT && d->simd != mode) || d->flags & (DESC_F_INDEX | DESC_F_CONTROL))
      return false;
    mode = d->simd;
  }
  return true;
}

/* Does the operation end in memory?  What it passes on may be taken apart elsewhere. */
static bool is_beside_memory(const Operands *o)
{
  unsigned n_others = 0;
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++)
    n_others += o->operand[i]->kind == IRV_DSD && !o->operand[i]->is_memory;
  return n_others == 1;
}

/* The length of a fabric operand that is not what the operation moves; 0: there is none.  Memory
 * may have room for more.  Where a variable gives one of them, published programs rely on it that
 * the first source decides. */
static uint32_t differing_extent(const Operands *o, uint16_t length)
{
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++)
    if (o->is_known[i] && o->known[i].is_variable)
      return 0;
  for (size_t i = 0; i < ARRAY_COUNT(o->operand) && length > 0; i++) {
    const KnownDesc *known = &o->known[i];
    bool is_given = o->is_known[i] && known->is_length_known && is_fabric_desc(&known->desc);
    uint32_t n = is_given ? descriptor_length(&known->desc) : 0;
    if (n > STANDS_FOR_ANY && n != length && n < o->unbounded_length)
      return n;
  }
  return 0;
}

/* The one word that the operation sends, if it is known. */
static bool sent_word(const UseWalk *w, const IrFunc *f, const IrInsn *insn, uint64_t *word)
{
  const IrVecOperand *source = &insn->u.vec->src1;
  return insn->u.vec->op == VEC_mov32 && source->kind == IRV_SCALAR &&
         fabric_known_value(w->m, f, insn->args[source->arg], w->s->arena, word);
}

static void note_single(UseWalk *w, unsigned color, const char *name, IrLocId loc)
{
  w->out->singles |= color_bit(color);
  if (color >= MAX_COLORS)
    return;
  w->out->single_name[color] = name;
  w->out->single_span[color] = fabric_user_span(w->s, loc);
}

/* The register of a step of @map, which is loaded before its loop. */
static void note_step(UseWalk *w, const IrFunc *f, const CallWay *at, const IrInsn *insn)
{
  const IrVecOperand *source = &insn->u.vec->src1;
  if (source->kind != IRV_DSR || source->number < IR_VIRTUAL_DSR ||
      vec_elem_bytes(vecops[insn->u.vec->op].src) != 2)
    return;
  for (uint32_t v = 1; v < f->n_insns; v++) {
    const IrInsn *load = &f->insns[v];
    KnownDesc known = {0};
    if (!load->dead && load->op == IR_dsr_load && load->aux >> 16 == (uint32_t)source->file &&
        (load->aux & 0xffff) == source->number &&
        known_descriptor(w->s, f, at, load->args[0], &known) && known.desc.kind == DESC_FABIN)
      note_single(w, known.desc.color, "@map", insn->loc);
  }
}

/* ---- floats ---------------------------------------------------------------------------------- */

static bool has_f32_elements(const IrModule *m, IrGlobalId global)
{
  const char *type = ir_global_is_none(global) ? NULL : m->globals[global.raw].type;
  const char *behind = type ? strrchr(type, ']') : NULL;
  return behind && strcmp(behind, "]f32") == 0;
}

/* The operand's numbers are f32, and no words that @fmovs moves as if they were. */
static bool is_f32_operand(const Sema *s, const IrFunc *f, const IrInsn *vec,
                           const IrVecOperand *o)
{
  if (o->kind != IRV_DSD && o->kind != IRV_SCALAR)
    return false;
  if (o->kind == IRV_SCALAR)
    return f->insns[vec->args[o->arg].raw].op != IR_bitcast;
  const IrDesc *desc = lint_first_dsd(s, f, vec->args[o->arg]);
  return desc && desc->desc.kind == DESC_MEM1D && has_f32_elements(s->ir, desc->global);
}

/* Bits of the floats that a vector operation sends or receives; 0: they are no floats, or may be
 * other numbers, since @fmovs moves any words. */
static uint8_t float_bits(const Sema *s, const IrFunc *f, const IrInsn *vec, bool is_send)
{
  const VecOpInfo *op = &vecops[vec->u.vec->op];
  VecElem elem = is_send ? op->dst : op->src;
  if (!is_send && op->sources > 1 && op->dst != op->src)
    return 0;                          /* its sources differ in width */
  if (elem == VE_F16)
    return 16;
  if (elem != VE_F32)
    return 0;
  const IrVecOperand *other = is_send ? &vec->u.vec->src1 : &vec->u.vec->dest;
  return op->kind != VK_MOV || is_f32_operand(s, f, vec, other) ? 32 : 0;
}

/* ---- uses ------------------------------------------------------------------------------------ */

static bool is_told_of(const Sema *s, Span at)
{
  bool is_told = false;
  for (size_t i = 0; i < arrlenu(s->setup->payloads_told); i++)
    is_told |= s->setup->payloads_told[i].off == at.off;
  return is_told;
}

static void note_use(UseWalk *w, const IrFunc *f, const IrInsn *insn, const Operands *o, size_t i,
                     uint32_t root, Times times)
{
  const Descriptor *d = &o->known[i].desc;
  const VecOpInfo *op = &vecops[insn->u.vec->op];
  uint64_t word = 0;
  bool has_word = d->kind == DESC_FABOUT && sent_word(w, f, insn, &word);
  RootUse use = {.root = root};
  use.use = (FabricUse){
    .is_send = d->kind == DESC_FABOUT, .is_control = (d->flags & DESC_F_CONTROL) != 0,
    .color = d->color, .simd = operation_simd(o, d->simd), .least = times.least, .most = times.most,
    .element_bytes = (uint8_t)vec_elem_bytes(d->kind == DESC_FABOUT ? op->dst : op->src),
    .float_bits = float_bits(w->s, f, insn, d->kind == DESC_FABOUT),
    .has_index = (d->flags & DESC_F_INDEX) != 0,
    .may_pack = may_pack(o), .is_beside_memory = is_beside_memory(o),
    .length = d->on_control.kind == ACT_NONE ? fabric_operation_length(o) : 0,
    .has_payload = has_word, .payload = (uint32_t)word,
    .span = fabric_user_span(w->s, insn->loc)};
  use.use.is_told = is_told_of(w->s, use.use.span);
  use.extent = differing_extent(o, use.use.length);
  if (d->color < MAX_COLORS)
    arrput(w->uses, use);
  if (!use.use.is_send && use.use.element_bytes == 2 && use.use.length == 1 &&
      use.use.most == FABRIC_MANY)
    note_single(w, d->color, "operation", insn->loc);
  w->out->vague_control |= may_mark(d);
}

static void walk_vec(UseWalk *w, const IrFunc *f, const CallWay *at, const IrInsn *insn,
                     uint32_t root, Times times)
{
  Operands o;
  fabric_read_operands(w->s, f, at, insn, &o);
  note_step(w, f, at, insn);
  for (size_t i = 0; i < ARRAY_COUNT(o.operand); i++) {
    const Descriptor *d = &o.known[i].desc;
    if (!o.is_known[i] || !is_fabric_desc(d))
      continue;
    note_use(w, f, insn, &o, i, root, times);
    Times perhaps = {0, times.most};
    if (setup_started_task(d->done))
      note_activation(w, d->done.id, root, times);
    if (setup_started_task(d->on_control))
      note_activation(w, d->on_control.id, root, perhaps);
  }
}

static void walk_function(UseWalk *w, uint32_t func, const CallWay *at, uint32_t root, Times times,
                          unsigned depth)
{
  const IrFunc *f = &w->m->funcs[func];
  if (depth == WALK_DEPTH || ++w->calls > WALK_CALLS) {
    lose_everything(w->out);
    w->unclear_tasks = UINT64_MAX;
    return;
  }
  const Times *blocks = block_times(w, func);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
      Times here = times_product(times, blocks[b]);
      if (insn->dead)
        continue;
      if (insn->op == IR_vec)
        walk_vec(w, f, at, insn, root, here);
      else if (insn->op == IR_call)
        walk_function(w, insn->u.func.raw, &(CallWay){at, f, insn}, root, here, depth + 1);
      else if (insn->op == IR_activate && f->insns[insn->args[0].raw].op == IR_const)
        note_activation(w, (unsigned)f->insns[insn->args[0].raw].imm, root, here);
    }
}

/* ---- roots ----------------------------------------------------------------------------------- */

static bool has_root(const UseWalk *w, uint32_t func)
{
  for (size_t i = 0; i < arrlenu(w->roots); i++)
    if (w->roots[i].func.raw == func)
      return true;
  return false;
}

static void find_roots(UseWalk *w)
{
  const IrModule *m = w->m;
  uint32_t teardown_task = machine_get(m->arch)->teardown_task;
  for (uint32_t i = 0; i < m->n_tasks; i++) {
    bool is_local = m->tasks[i].kind == TASK_LOCAL && m->tasks[i].id != teardown_task;
    Root root = {.func = m->tasks[i].func, .is_task = is_local, .id = m->tasks[i].id,
                 .start = FABRIC_ANY_TIME, .times = {0, FABRIC_MANY}, .is_counted = !is_local};
    arrput(w->roots, root);
  }
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    Root root = {.func = {m->bindings[i].target}, .start = 1 + m->bindings[i].export_index,
                 .times = {1, 1}, .is_counted = true};
    if (m->bindings[i].is_func)
      arrput(w->roots, root);
  }
  for (uint32_t f = 0; f < m->n_funcs; f++) {
    Root root = {.func = {f}, .start = FABRIC_ANY_TIME, .times = {0, FABRIC_MANY},
                 .is_counted = true};
    if (m->funcs[f].address_taken && !has_root(w, f))
      arrput(w->roots, root);
  }
}

/* How often a root runs.  A local task that one place activates runs as often as that place; with
 * more of them it runs, but its runs are not counted. */
static const Root *count_root(UseWalk *w, uint32_t index)
{
  Root *r = &w->roots[index];
  if (r->is_counted)
    return r;
  r->is_counted = true;
  r->is_counting = true;
  uint64_t bit = UINT64_C(1) << r->id % MAX_TASK_IDS;
  const Activation *a = &w->activated[r->id % MAX_TASK_IDS];
  bool is_active = (w->m->active & bit) != 0;
  const Root *by = a->n > 0 && !w->roots[a->root].is_counting ? count_root(w, a->root) : NULL;
  if (is_active) {
    bool is_clear = a->n == 0 && !(w->unclear_tasks & bit);
    r->start = is_clear ? FABRIC_AT_START : FABRIC_ANY_TIME;
    r->times = (Times){1, is_clear ? 1 : FABRIC_MANY};
    r->is_certain = !((w->m->blocked | w->held_tasks) & bit);
  } else if (by && a->n == 1 && !(w->unclear_tasks & bit)) {
    r->start = by->start;
    r->times = times_product(by->times, a->times);
    r->is_certain = by->is_certain && a->times.least > 0 &&
                    !((w->m->blocked | w->held_tasks) & bit);
  } else if (a->n == 0 && !(w->unclear_tasks & bit)) {
    r->times = (Times){0, 0};   /* never */
  }
  r->is_counting = false;
  return r;
}

static void add_use(UseWalk *w, const RootUse *found)
{
  const Root *root = count_root(w, found->root);
  FabricUse use = found->use;
  Times times = times_product(root->times, (Times){use.least, use.most});
  uint32_t bit = color_bit(use.color);
  use.least = times.least;
  use.most = times.most;
  use.start = root->start;
  use.is_certain = root->is_certain && use.least > 0;
  if (use.most == 0)
    return;
  if (found->extent > 0)
    diag_extents_differ(w->s->diags, use.span, found->extent, (unsigned)use.length);
  bool is_vague = use.start == FABRIC_ANY_TIME || use.most == FABRIC_MANY || use.length == 0 ||
                  use.is_control;
  *(use.is_send ? &w->out->sends : &w->out->receives) |= bit;
  if (is_vague)
    *(use.is_send ? &w->out->vague_sends : &w->out->vague_receives) |= bit;
  if (!use.is_send)
    w->out->operations |= bit;
  FabricUse *uses = (FabricUse *)(uintptr_t)w->out->uses;
  uses[w->out->n++] = use;
}

const FabricUses *fabric_uses(Sema *s)
{
  UseWalk w = {.s = s, .m = s->ir};
  w.out = arena_new(s->arena, FabricUses);
  w.block_times = arena_many(s->arena, Times *, s->ir->n_funcs + 1);
  w.escapes = arena_many(s->arena, const bool *, s->ir->n_funcs + 1);
  w.is_looked_at = arena_many(s->arena, bool, s->ir->n_funcs + 1);
  w.out->streamed = lint_streamed_colors(s);
  note_code(&w);
  note_setup(&w);
  note_tasks(&w);
  find_roots(&w);
  for (uint32_t r = 0; r < arrlenu(w.roots); r++)
    walk_function(&w, w.roots[r].func.raw, NULL, r, (Times){1, 1}, 0);
  w.out->uses = arena_many(s->arena, FabricUse, arrlenu(w.uses) + 1);
  for (size_t i = 0; i < arrlenu(w.uses); i++)
    add_use(&w, &w.uses[i]);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    if (w.activated[id].n > 0)
      w.out->started_tasks |= UINT64_C(1) << id;
  w.out->started_tasks |= w.unclear_tasks | s->ir->active;
  arrfree(w.roots);
  arrfree(w.uses);
  return w.out;
}

const FabricUses *fabric_uses_keep(const FabricUses *uses, Arena *arena)
{
  FabricUses *kept = arena_new(arena, FabricUses);
  FabricUse *list = arena_many(arena, FabricUse, uses->n + 1);
  if (uses->n)
    memcpy(list, uses->uses, uses->n * sizeof *list);
  *kept = *uses;
  kept->uses = list;
  return kept;
}
