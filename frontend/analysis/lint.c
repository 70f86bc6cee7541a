/* Warnings about a program that compiles: what is likely to be a mistake although the language
 * allows it.  Each checks one tile class after an analysis without errors.
 *
 * The rule for all: no false alarm on programs that work. So "can overlap" means that the second
 * operation starts after the first in the same run of a task, on every path to it; "no route" means
 * that no tile of the layout has one. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

/* ---- parameters without a binding ----------------------------------------------------------- */

static void warn_unbound_params(Sema *s, const ModuleInstance *m)
{
  for (size_t i = 0; i < arrlenu(m->decls); i++) {
    const Decl *d = &m->decls[i];
    if (!sema_param_is_open(s, m, d))
      continue;
    diag_param_unused(s->diags, d->name_span, sema_text(s, d->name));
    if (m->imported_at.off != 0)
      diag_imported_here(s->diags, m->imported_at, sema_text(s, m->path));
    else
      sema_note_command_line(s, m, d);
  }
}

/* What nothing uses is not evaluated, so a misspelled @import_module leaves its module out.  Checks
 * alone do evaluate it, and report an error. */
static void warn_unused_calls(Sema *s, const ModuleInstance *m)
{
  for (size_t i = 0; i < arrlenu(m->decls); i++)
    if (m->decls[i].state == DECL_UNRESOLVED)
      sema_warn_unknown_builtins(s, m->decls[i].node);
}

void lint_declarations(Sema *s)
{
  for (uint32_t i = 0; i < arrlenu(s->modules); i++) {
    if (sema_is_library(s, i))
      continue;
    warn_unbound_params(s, &s->modules[i]);
    lint_tasks(s, &s->modules[i]);
    if (!s->session->options->check)
      warn_unused_calls(s, &s->modules[i]);
  }
}

/* ---- the size that <memcpy/get_params> is given ---------------------------------------------- */

static void warn_of_size(Sema *s, const ModuleInstance *m, const char *name, uint32_t is)
{
  PoolId given = pool_is_none(m->params) ? POOL(NONE)
                                         : pool_field(s->pool, m->params, sema_name(s, name));
  int64_t number;
  if (pool_is_none(given))
    diag_memcpy_size_missing(s->diags, m->imported_at, name, is);
  else if (pool_int_value(s->pool, given, &number) && number != is)
    diag_memcpy_size(s->diags, m->imported_at, name, number, is);
}

/* The number in `.NAME = MODULE.get_params(NUMBER)`, MODULE being <memcpy/get_params>, in the
 * parameters of a tile; NULL if they are not written like that. */
static const NodeInt *fixed_column(Sema *s, const Node *params)
{
  if (params == NULL || params->kind != ND_STRUCT_INIT)
    return NULL;
  const NodeStructInit *fields = node_struct_init(params);
  for (uint32_t i = 0; i < fields->fields.count; i++) {
    const Node *value = node_field_init(fields->fields.at[i])->value;
    const NodeCall *call = value->kind == ND_CALL ? node_call(value) : NULL;
    if (call == NULL || call->args.count != 1 || call->args.at[0]->kind != ND_INT ||
        call->callee->kind != ND_MEMBER)
      continue;
    const NodeMember *callee = node_member(call->callee);
    const Decl *module = callee->base_expr->kind != ND_IDENT ? NULL
                           : sema_find_decl(s, MAIN_MODULE, node_ident(callee->base_expr)->name);
    if (module == NULL || pool_kind(s->pool, module->value) != PK_MODULE ||
        !str_eq(callee->name.text, sema_name(s, "get_params")))
      continue;
    uint32_t index = pool_key(s->pool, module->value).u.index;
    if (strcmp(sema_text(s, s->modules[index].path), "<memcpy/get_params>") == 0)
      return node_int(call->args.at[0]);
  }
  return NULL;
}

/* A call in a loop that gives every column the parameters of one: once for each call. */
static void warn_of_columns(Sema *s, const LayoutResult *layout)
{
  const Node *seen = NULL, *told = NULL;
  const NodeInt *fixed = NULL;
  for (uint32_t t = 0; t < layout->width * layout->height; t++) {
    const Node *params = layout->tiles[t].params_node;
    if (params != seen)
      fixed = fixed_column(s, params);
    seen = params;
    if (fixed == NULL || params == told || fixed->value == t % layout->width)
      continue;
    diag_memcpy_column(s->diags, fixed->head.span, t % layout->width, fixed->value);
    told = params;
  }
}

/* Our link to the host does not need it; the vendor's does. */
bool lint_memcpy_size(Sema *s)
{
  const LayoutResult *layout = s->session->layout;
  bool has_get_params = false;
  warn_of_columns(s, layout);
  lint_rows(s);
  for (size_t i = 0; i < arrlenu(s->modules); i++) {
    const ModuleInstance *m = &s->modules[i];
    if (strcmp(sema_text(s, m->path), "<memcpy/get_params>") != 0)
      continue;
    has_get_params = true;
    warn_of_size(s, m, "width", layout->width);
    warn_of_size(s, m, "height", layout->height);
  }
  return has_get_params;
}

/* Without them, too, our link works, and the vendor's does not. */
static void warn_memcpy_params(Sema *s, const ModuleInstance *m)
{
  bool has_none = pool_is_none(m->params) || pool_key(s->pool, m->params).u.aggregate.n == 0;
  if (has_none && strcmp(sema_text(s, m->path), "<memcpy/memcpy>") == 0)
    diag_memcpy_params_missing(s->diags, m->imported_at);
}

/* ---- modules of the library that begin with a call ------------------------------------------ */

#define FIRST_CALL(module, function, operation, size, blocks) {module, function, operation, size},
static const struct {
  const char *path, *first, *operation, *size;
} first_calls[] = {
#include "ir/machine/first_calls.def"
};

static bool is_called(Sema *s, uint32_t module, const char *function)
{
  StrId name = sema_name(s, function);
  for (size_t i = 0; i < arrlenu(s->funcs); i++)
    if (s->funcs[i].decl_module == module && str_eq(s->funcs[i].name, name) &&
        s->funcs[i].is_called)
      return true;
  return false;
}

static bool is_one(Sema *s, uint32_t module, const char *constant)
{
  const Decl *d = constant ? sema_find_decl(s, module, sema_name(s, constant)) : NULL;
  int64_t number;
  return d && d->state == DECL_DONE && pool_int_value(s->pool, d->value, &number) && number == 1;
}

static void warn_first_call(Sema *s, uint32_t module)
{
  const ModuleInstance *m = &s->modules[module];
  for (size_t i = 0; i < ARRAY_COUNT(first_calls); i++) {
    if (strcmp(sema_text(s, m->path), first_calls[i].path) != 0 ||
        !is_called(s, module, first_calls[i].operation) ||
        is_called(s, module, first_calls[i].first) || is_one(s, module, first_calls[i].size))
      continue;
    diag_first_call_missing(s->diags, m->imported_at, first_calls[i].path, first_calls[i].first);
    return;
  }
}

/* ---- colors without a route ----------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix)
{
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A color, or since SDK 2 the number of one under a name of the library's. */
static bool names_stream(Sema *s, StrId name, PoolId value, const char *prefix)
{
  PoolId type = pool_type_of(s->pool, value);
  bool is_named = has_prefix(sema_text(s, name), prefix ? prefix : "MEMCPY");
  return pool_eq(type, POOL(COLOR)) ? is_named || !prefix
                                    : is_named && type_is_int(s->pool, type);
}

/* The colors that <memcpy> gets; `prefix`: of the names that count, NULL: colors have any. */
static uint32_t colors_for_memcpy(Sema *s, const char *prefix)
{
  uint32_t colors = 0;
  for (size_t i = 0; i < arrlenu(s->modules); i++) {
    const ModuleInstance *m = &s->modules[i];
    if (!has_prefix(sema_text(s, m->path), "<memcpy/") || pool_is_none(m->params))
      continue;
    PoolKey params = pool_key(s->pool, m->params);
    PoolKey type = pool_key(s->pool, params.type);
    for (uint32_t k = 0; k < params.u.aggregate.n; k++) {
      PoolId value = params.u.aggregate.elems[k];
      int64_t color;
      if (names_stream(s, type.u.fields.fields[k].name, value, prefix) &&
          pool_int_value(s->pool, value, &color) && color >= 0 && color < MAX_COLORS)
        colors |= 1u << color;
    }
  }
  return colors;
}

/* Colors of streams are routed by the host's part of the fabric: those given to <memcpy>, and the
 * one that a host script's layout has for its streams. */
uint32_t lint_streamed_colors(Sema *s)
{
  const LayoutResult *layout = s->session->layout;
  uint32_t of_script = layout->n_streams > 0 ? 1u << layout->stream_color : 0;
  return of_script | colors_for_memcpy(s, NULL);
}

uint32_t lint_named_streams(Sema *s, bool to_tiles)
{
  return colors_for_memcpy(s, to_tiles ? "MEMCPYH2D" : "MEMCPYD2H");
}

static uint32_t routed_colors(Sema *s)
{
  uint32_t colors = 0, n_sets;
  const ImageColorSet *sets = color_table_sets(s->session->layout->colors, s->arena, &n_sets);
  for (uint32_t i = 0; i < n_sets; i++)
    for (uint32_t k = 0; k < sets[i].n; k++)
      colors |= 1u << sets[i].uses[k].color;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (s->setup->local_color[c] || lint_code_may_set(s->ir, CFG_COLOR_ROUTES + c))
      colors |= 1u << c;
  return colors;
}

typedef struct { StrId name; bool found; } CallSearch;

static void search_call(void *context, Node *n)
{
  CallSearch *search = context;
  if (node_kind(n) == ND_BUILTIN_CALL && str_eq(node_builtin_call(n)->name.text, search->name))
    search->found = true;
  if (!search->found)
    node_visit_children(n, search_call, search);
}

/* Tiles of the same code may then have routes that this one has not. */
static bool has_routes_of_its_own(Sema *s)
{
  CallSearch search = {str_intern_z(s->session->names, "set_local_color_config"), false};
  for (uint32_t i = 0; i < arrlenu(s->modules); i++)
    if (!sema_is_library(s, i))
      for (uint32_t k = 0; k < s->modules[i].ast->decls.count; k++)
        search_call(&search, s->modules[i].ast->decls.at[k]);
  return search.found;
}

/* ---- operations that overlap ---------------------------------------------------------------- */

/* Where each queue, microthread, DSR and color was taken, and each task activated; IR_NO_LOC: it
 * was not.  Of `used`, a DSR is one that was loaded, and `armed` one that was loaded with a
 * descriptor whose operations run in the background and start a task at their end. */
typedef struct {
  IrLocId queue[2][MAX_QUEUES];
  IrLocId thread[MAX_MICROTHREADS];
  IrLocId color[MAX_COLORS];
  IrLocId task[MAX_TASK_IDS];
  IrLocId dsr[DSR_FILE_COUNT][MAX_DSRS];
  IrLocId armed[DSR_FILE_COUNT][MAX_DSRS];
} Uses;

/* What holds at a point on every way from the start of the function to it. */
typedef struct {
  bool is_reached;
  Uses running;            /* by operations in the background: nothing ends them in this run */
  Uses used;               /* by any operation */
} LintFlow;

/* What holds when a function returns from one call. */
typedef struct { CallWay place; LintFlow end; } CallEnd;

typedef struct {
  Sema *s;
  Arena *arena;            /* as long as the search */
  LintFlow *ends;          /* by function: what holds when it returns */
  uint8_t *state;          /* by function: 0 not looked at, 1 being looked at, 2 done */
  CallEnd **calls;         /* stb_ds: of functions that take descriptors, by call */
  const CallWay *at;       /* the call that is being looked at */
  bool reports;
} Overlaps;

static bool has_loc(IrLocId loc) { return !ir_loc_is_none(loc); }

static void keep_common(IrLocId *into, const IrLocId *other, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (!has_loc(other[i]))
      into[i] = IR_NO_LOC;
}

enum { USES = sizeof(Uses) / sizeof(IrLocId) };
static IrLocId *uses_flat(Uses *uses) { return (IrLocId *)uses; }
static const IrLocId *uses_flat_const(const Uses *uses) { return (const IrLocId *)uses; }

/* Joins what holds at the end of one block into the start of another; true if that changed. */
static bool flow_join(LintFlow *into, const LintFlow *from)
{
  if (!into->is_reached) {
    *into = *from;
    return true;
  }
  LintFlow before = *into;
  keep_common(uses_flat(&into->running), uses_flat_const(&from->running), USES);
  keep_common(uses_flat(&into->used), uses_flat_const(&from->used), USES);
  return memcmp(&before, into, sizeof before) != 0;
}

static Span loc_span(const Overlaps *o, IrLocId loc) { return o->s->ir->locs[loc.raw].span; }

static void report_queue(const Overlaps *o, int queue, IrLocId first, IrLocId second)
{
  if (!o->reports)
    return;
  diag_queue_shared(o->s->diags, loc_span(o, second), queue >= MAX_QUEUES ? "output" : "input",
                    (unsigned)queue % MAX_QUEUES);
  diag_started_here(o->s->diags, loc_span(o, first));
}

static void report_thread(const Overlaps *o, int thread, IrLocId first, IrLocId second)
{
  if (!o->reports)
    return;
  diag_microthread_shared(o->s->diags, loc_span(o, second), (unsigned)thread);
  diag_microthread_of_queue(o->s->diags, loc_span(o, second));
  diag_started_here(o->s->diags, loc_span(o, first));
}

static void step_vec(const Overlaps *o, const IrFunc *f, const IrInsn *insn, LintFlow *flow)
{
  Taken taken;
  if (!has_loc(insn->loc) || !lint_taken_by(o->s, f, o->at, insn, &taken))
    return;
  if (taken.has_dsr && fabric_is_in_library(o->s, loc_span(o, insn->loc)))
    return;                  /* its modules order those by what they send, which no check sees */
  IrLocId *running = &flow->running.queue[0][0], *used = &flow->used.queue[0][0];
  bool is_reported = false;
  for (size_t i = 0; i < ARRAY_COUNT(taken.queue); i++) {
    int q = taken.queue[i];
    if (q < 0)
      continue;
    if (has_loc(running[q])) {
      report_queue(o, q, running[q], insn->loc);
      is_reported = true;
    }
    used[q] = insn->loc;
    if (taken.is_async)
      running[q] = insn->loc;
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (taken.colors >> c & 1)
      flow->used.color[c] = insn->loc;
  for (uint64_t ids = taken.tasks; ids; ids &= ids - 1)
    flow->used.task[__builtin_ctzll(ids)] = insn->loc;
  if (!taken.is_async || taken.thread < 0)
    return;
  IrLocId *thread = &flow->running.thread[taken.thread];
  if (has_loc(*thread) && !is_reported)
    report_thread(o, taken.thread, *thread, insn->loc);
  *thread = flow->used.thread[taken.thread] = insn->loc;
}

static void report_dsr(const Overlaps *o, unsigned file, unsigned number, IrLocId first,
                       IrLocId second)
{
  if (!o->reports)
    return;
  diag_dsr_shared(o->s->diags, loc_span(o, second), dsr_file_name((DsrFile)file), number);
  diag_started_here(o->s->diags, loc_span(o, first));
  diag_dsr_shared_help(o->s->diags, loc_span(o, second));
}

/* Loaded while an operation runs with it. */
static void step_dsr_load(const Overlaps *o, const IrFunc *f, const IrInsn *insn, LintFlow *flow)
{
  DsrFile file = (DsrFile)(insn->aux >> 16);
  uint32_t number = insn->aux & 0xffff;
  if (number >= MAX_DSRS || !has_loc(insn->loc))
    return;
  IrLocId *running = &flow->running.dsr[file][number];
  if (has_loc(*running))
    report_dsr(o, file, number, *running, insn->loc);
  Descriptor desc;
  bool is_armed = lint_known_descriptor(o->s, f, o->at, insn->args[0], &desc) &&
                  (desc.flags & DESC_F_ASYNC) && desc.done.kind != ACT_NONE;
  *running = IR_NO_LOC;
  flow->used.dsr[file][number] = insn->loc;
  flow->used.armed[file][number] = is_armed ? insn->loc : IR_NO_LOC;
}

/* The DSRs of an operation are in use until it ends. */
static void step_dsrs(const IrInsn *insn, LintFlow *flow)
{
  const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
  bool is_armed = false;
  for (size_t i = 0; i < ARRAY_COUNT(operands); i++)
    is_armed |= operands[i]->kind == IRV_DSR && operands[i]->number < MAX_DSRS &&
                has_loc(flow->used.armed[operands[i]->file][operands[i]->number]);
  for (size_t i = 0; i < ARRAY_COUNT(operands); i++)
    if (is_armed && operands[i]->kind == IRV_DSR && operands[i]->number < MAX_DSRS)
      flow->running.dsr[operands[i]->file][operands[i]->number] = insn->loc;
}

static void step_activate(const IrFunc *f, const IrInsn *insn, LintFlow *flow)
{
  const IrInsn *id = &f->insns[insn->args[0].raw];
  if (id->op == IR_const && has_loc(insn->loc))
    flow->used.task[id->imm % MAX_TASK_IDS] = insn->loc;
}

static const LintFlow *call_end(Overlaps *o, const IrFunc *f, const IrInsn *call);

/* The registers that a called function loads; of those of one operation, the first is reported. */
static void step_loads_of_call(const Overlaps *o, const Uses *end, LintFlow *flow)
{
  bool is_reported = false;
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    for (unsigned n = 0; n < MAX_DSRS; n++) {
      if (!has_loc(end->dsr[file][n]))
        continue;
      IrLocId *running = &flow->running.dsr[file][n];
      if (has_loc(*running) && !is_reported) {
        report_dsr(o, file, n, *running, end->dsr[file][n]);
        is_reported = true;
      }
      *running = IR_NO_LOC;
      flow->used.armed[file][n] = IR_NO_LOC;
    }
}

/* Does the operation at that place, in a called function, take a queue that another one has? */
static bool takes_queue_in_use(const Uses *end, const Uses *running, IrLocId operation)
{
  const IrLocId *queue = &running->queue[0][0], *taken = &end->queue[0][0];
  for (int q = 0; q < 2 * MAX_QUEUES; q++)
    if (has_loc(queue[q]) && ir_loc_eq(taken[q], operation))
      return true;
  return false;
}

/* One operation of a function that is called twice: the second call. */
static void note_second_call(const Overlaps *o, const IrInsn *call, IrLocId first, IrLocId second)
{
  const IrFunc *called = &o->s->ir->funcs[call->u.func.raw];
  const char *name = o->s->ir->locs[called->loc.raw].function;
  if (o->reports && ir_loc_eq(first, second) && has_loc(call->loc) && name)
    diag_called_here(o->s->diags, loc_span(o, call->loc), name);
}

/* The queues and the microthreads that a called function takes while another operation has them; of
 * those of one operation, the queue is reported. */
static void report_takes_of_call(const Overlaps *o, const IrInsn *call, const Uses *end,
                                 const Uses *running)
{
  const IrLocId *queue = &running->queue[0][0], *taken = &end->queue[0][0];
  for (int q = 0; q < 2 * MAX_QUEUES; q++)
    if (has_loc(queue[q]) && has_loc(taken[q])) {
      report_queue(o, q, queue[q], taken[q]);
      note_second_call(o, call, queue[q], taken[q]);
    }
  for (int t = 0; t < MAX_MICROTHREADS; t++)
    if (has_loc(running->thread[t]) && has_loc(end->thread[t]) &&
        !takes_queue_in_use(end, running, end->thread[t])) {
      report_thread(o, t, running->thread[t], end->thread[t]);
      note_second_call(o, call, running->thread[t], end->thread[t]);
    }
}

/* What the called function does on all its ways, it does here. */
static void step_call(Overlaps *o, const IrFunc *f, const IrInsn *call, LintFlow *flow)
{
  const LintFlow *end = call_end(o, f, call);
  if (end == NULL || !end->is_reached)
    return;
  const IrLocId *used = uses_flat_const(&end->used), *running = uses_flat_const(&end->running);
  IrLocId *here = uses_flat(&flow->running), *here_used = uses_flat(&flow->used);
  step_loads_of_call(o, &end->used, flow);
  report_takes_of_call(o, call, &end->used, &flow->running);
  for (int i = 0; i < USES; i++) {
    if (has_loc(used[i]))
      here_used[i] = used[i];
    if (has_loc(running[i]))
      here[i] = running[i];
  }
}

/* ---- loads that no operation sees ------------------------------------------------------------ */

/* The loads of a block, as long as nothing has read their registers; IR_NO_LOC: there is none. */
typedef struct { IrLocId at[DSR_FILE_COUNT][MAX_DSRS]; } FreshLoads;

static void forget_loads(FreshLoads *fresh)
{
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    for (unsigned n = 0; n < MAX_DSRS; n++)
      fresh->at[file][n] = IR_NO_LOC;
}

/* Both are written in the body of the function itself, at two places: inlined functions set
 * registers up for what may follow. */
static bool are_of_one_body(const Overlaps *o, IrLocId a, IrLocId b)
{
  const IrLoc *first = &o->s->ir->locs[a.raw], *second = &o->s->ir->locs[b.raw];
  return first->span.off != second->span.off && ir_loc_is_none(first->inlined_at) &&
         ir_loc_is_none(second->inlined_at);
}

static void fresh_load(const Overlaps *o, const IrInsn *insn, FreshLoads *fresh)
{
  DsrFile file = (DsrFile)(insn->aux >> 16);
  uint32_t number = insn->aux & 0xffff;
  if (number >= MAX_DSRS)
    return;
  IrLocId *before = &fresh->at[file][number];
  if (has_loc(*before) && has_loc(insn->loc) && o->reports &&
      are_of_one_body(o, *before, insn->loc)) {
    diag_dsr_reloaded(o->s->diags, loc_span(o, *before), dsr_file_name(file), number);
    diag_dsr_reload_here(o->s->diags, loc_span(o, insn->loc));
  }
  *before = insn->loc;
}

static void step_fresh(const Overlaps *o, const IrInsn *insn, FreshLoads *fresh)
{
  if (insn->op == IR_dsr_load) {
    fresh_load(o, insn, fresh);
  } else if (insn->op == IR_vec) {
    const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
    for (size_t i = 0; i < ARRAY_COUNT(operands); i++)
      if (operands[i]->kind == IRV_DSR && operands[i]->number < MAX_DSRS)
        fresh->at[operands[i]->file][operands[i]->number] = IR_NO_LOC;
  } else if (insn->op == IR_dsr_set || insn->op == IR_dsr_get || insn->op == IR_call) {
    forget_loads(fresh);
  }
}

static void step_block(Overlaps *o, const IrFunc *f, const IrBlock *block, LintFlow *flow)
{
  FreshLoads fresh;
  forget_loads(&fresh);
  for (uint32_t i = 0; i < block->n_insns; i++) {
    const IrInsn *insn = &f->insns[block->insns[i].raw];
    if (insn->dead)
      continue;
    step_fresh(o, insn, &fresh);
    if (insn->op == IR_vec) {
      step_vec(o, f, insn, flow);
      if (has_loc(insn->loc))
        step_dsrs(insn, flow);
    } else if (insn->op == IR_dsr_load)
      step_dsr_load(o, f, insn, flow);
    else if (insn->op == IR_activate)
      step_activate(f, insn, flow);
    else if (insn->op == IR_call)
      step_call(o, f, insn, flow);
  }
}

static bool loads_dsrs(const Uses *used)
{
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    for (unsigned n = 0; n < MAX_DSRS; n++)
      if (has_loc(used->dsr[file][n]))
        return true;
  return false;
}

static void copy_dsrs(Uses *into, const Uses *from)
{
  memcpy(into->dsr, from->dsr, sizeof into->dsr);
  memcpy(into->armed, from->armed, sizeof into->armed);
}

/* A way through the function that loads no DSR, such as one for vectors without elements, does not
 * speak against those that load some. */
static void join_end(LintFlow *end, const LintFlow *flow)
{
  LintFlow before = *end;
  flow_join(end, flow);
  if (!before.is_reached || loads_dsrs(&before.used) == loads_dsrs(&flow->used))
    return;
  const LintFlow *loading = loads_dsrs(&flow->used) ? flow : &before;
  copy_dsrs(&end->used, &loading->used);
  copy_dsrs(&end->running, &loading->running);
}

/* Blocks whose start has changed since they were looked at, in an order that has the way in of a
 * loop in front of it and the way out behind it.  A sweep goes through them, and begins where the
 * first one waits. */
typedef struct {
  const uint32_t *order;   /* of the blocks; how many, and by block its place there */
  uint32_t n_blocks, *place;
  bool *waits;             /* by place */
  uint32_t n_waiting;
  uint32_t at, next_sweep; /* the place that the sweep is at, and the first one of the next sweep */
} Sweep;

static Sweep begin_sweep(const IrFunc *f, Arena *arena)
{
  Sweep sweep = {.place = arena_many(arena, uint32_t, f->n_blocks)};
  sweep.order = ir_order_blocks(f, &sweep.n_blocks, arena);
  for (uint32_t i = 0; i < sweep.n_blocks; i++)
    sweep.place[sweep.order[i]] = i;
  sweep.waits = arena_many(arena, bool, sweep.n_blocks);
  return sweep;
}

static void let_wait(Sweep *sweep, uint32_t block)
{
  uint32_t place = sweep->place[block];
  sweep->n_waiting += !sweep->waits[place];
  sweep->waits[place] = true;
  if (place <= sweep->at && place < sweep->next_sweep)
    sweep->next_sweep = place;
}

/* Fills in what holds at the start of each block, and at the end of the function. */
static void solve_flow(Overlaps *o, const IrFunc *f, LintFlow *starts, LintFlow *end)
{
  const uint8_t *ways = lint_ways(o->s, f);
  Sweep sweep = begin_sweep(f, o->arena);
  starts[0].is_reached = true;
  let_wait(&sweep, 0);
  while (sweep.n_waiting > 0) {
    sweep.at = sweep.next_sweep;
    sweep.next_sweep = sweep.n_blocks;
    for (; sweep.at < sweep.n_blocks && sweep.n_waiting > 0; sweep.at++) {
      uint32_t b = sweep.order[sweep.at];
      const IrBlock *block = &f->blocks[b];
      if (!sweep.waits[sweep.at])
        continue;
      sweep.waits[sweep.at] = false;
      sweep.n_waiting--;
      if (block->n_insns == 0)
        continue;
      LintFlow flow = starts[b];
      step_block(o, f, block, &flow);
      const IrInsn *last = ir_last_insn(f, b);
      for (unsigned t = 0; t < ir_target_count(last); t++)
        if (ways[b] >> t & 1 && flow_join(&starts[last->u.targets[t].block.raw], &flow))
          let_wait(&sweep, last->u.targets[t].block.raw);
      if (last->op == IR_ret)
        join_end(end, &flow);
    }
  }
}

static bool has_operations(const IrFunc *f)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    IrOp op = f->insns[i].op;
    if (!f->insns[i].dead &&
        (op == IR_vec || op == IR_call || op == IR_activate || op == IR_dsr_load))
      return true;
  }
  return false;
}

/* Reports, and what holds at the end of the function, for what the calls at `at` give it. */
static void find_end(Overlaps *o, const IrFunc *f, const CallWay *at, LintFlow *end)
{
  if (f->n_blocks == 0 || !has_operations(f))
    return;
  bool reported = o->reports;
  const CallWay *outer = o->at;
  LintFlow *starts = arena_many(o->arena, LintFlow, f->n_blocks);
  o->reports = false;
  o->at = at;
  solve_flow(o, f, starts, end);
  o->reports = true;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    if (starts[b].is_reached)
      step_block(o, f, &f->blocks[b], &starts[b]);
  o->reports = reported;
  o->at = outer;
}

/* NULL for a function that calls itself: the code generator refuses it. */
static const LintFlow *function_end(Overlaps *o, uint32_t func)
{
  if (o->state[func] == 0) {
    o->state[func] = 1;
    find_end(o, &o->s->ir->funcs[func], NULL, &o->ends[func]);
    o->state[func] = 2;
  }
  return o->state[func] == 2 ? &o->ends[func] : NULL;
}

/* Beyond these calls, descriptors that functions take are not known. */
enum { MOST_CALLS_APART = 256 };

/* Does the function call itself, perhaps through others, where it is being looked at? */
static bool is_within(const CallWay *at, uint32_t func)
{
  while (at && at->call->u.func.raw != func)
    at = at->outer;
  return at != NULL;
}

/* What holds behind a call; NULL: it is not known.  A function that takes descriptors is looked at
 * for each call. */
static const LintFlow *call_end(Overlaps *o, const IrFunc *f, const IrInsn *call)
{
  const IrFunc *called = &o->s->ir->funcs[call->u.func.raw];
  if (is_within(o->at, call->u.func.raw))
    return NULL;
  for (size_t i = 0; i < arrlenu(o->calls); i++)
    if (o->calls[i]->place.call == call && o->calls[i]->place.outer == o->at)
      return &o->calls[i]->end;
  if (!lint_takes_dsds(called) || arrlenu(o->calls) >= MOST_CALLS_APART)
    return function_end(o, call->u.func.raw);
  CallEnd *apart = arena_new(o->arena, CallEnd);
  apart->place = (CallWay){o->at, f, call};
  arrput(o->calls, apart);
  find_end(o, called, &apart->place, &apart->end);
  return &apart->end;
}

/* ---- what an operation that always runs needs ------------------------------------------------ */

/* Only operations on every way through their function count: others may be for other tiles. */
static void warn_unrouted(const Overlaps *o, const Uses *used, uint32_t known)
{
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (has_loc(used->color[c]) && !(known >> c & 1) && !has_routes_of_its_own(o->s)) {
      diag_color_without_route(o->s->diags, loc_span(o, used->color[c]), c);
      if (sema_machine(o->s)->memcpy_colors >> c & 1)
        diag_memcpy_flag(o->s->diags, loc_span(o, used->color[c]));
    }
}

static bool is_about(const QueueMessages *held, const Descriptor *d)
{
  return d->kind == (held->is_output ? DESC_FABOUT : DESC_FABIN) && d->queue == held->queue &&
         d->color == held->color;
}

static bool func_has_dsd(const Sema *s, const IrFunc *f, const QueueMessages *held)
{
  const uint8_t *ways = lint_ways(s, f);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && ways[b]; i++) {
      const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
      if (!insn->dead && insn->op == IR_dsd_const && is_about(held, &insn->u.desc->desc))
        return true;
    }
  return false;
}

/* Does what runs on the tile, a variable or a register have such a DSD? */
static bool tile_has_dsd(Sema *s, const QueueMessages *held, const bool *runs)
{
  bool has = s->setup->stored_dsds[held->is_output][held->color] > 0;
  for (size_t i = 0; i < arrlenu(s->setup->dsrs) && !has; i++)
    has = is_about(held, &s->setup->dsrs[i].desc.desc);
  for (uint32_t f = 0; f < s->ir->n_funcs && !has; f++)
    has = runs[f] && func_has_dsd(s, &s->ir->funcs[f], held);
  return has;
}

void lint_queue_colors(Sema *s)
{
  bool knows_all = diags_error_count(s->diags) == 0 && arrlenu(s->setup->held_of_queues) > 0;
  const bool *runs = knows_all ? lint_running_functions(s, NULL) : NULL;
  for (size_t i = 0; i < arrlenu(s->setup->held_of_queues); i++) {
    const QueueMessages *held = &s->setup->held_of_queues[i];
    if (!lint_code_may_bind(s, held->is_output, held->queue) &&
        (!knows_all || tile_has_dsd(s, held, runs)))
      diags_put_back(s->diags, held->taken);
  }
}

static void warn_unmet(const Overlaps *o, const Uses *used)
{
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    if (has_loc(used->task[id]))
      lint_warn_unbound(o->s, loc_span(o, used->task[id]), id);
  for (int is_output = 0; is_output < 2; is_output++)
    for (unsigned q = 0; q < MAX_QUEUES; q++)
      if (has_loc(used->queue[is_output][q]))
        lint_warn_uninitialized(o->s, loc_span(o, used->queue[is_output][q]), is_output, q);
}

/* ---- a counter that nothing starts ----------------------------------------------------------- */

/* Is it the register, or may it be? */
static bool is_register(const IrFunc *f, const IrInsn *insn, uint32_t first, bool perhaps)
{
  const IrInsn *address = &f->insns[insn->args[0].raw];
  if (address->op != IR_const)
    return perhaps;
  const ConfigRegInfo *reg = config_reg_at((uint16_t)address->imm);
  return reg && reg->address == first;
}

/* The first instruction that reads the timestamp counter; NULL: none, or another may start it. */
static const IrInsn *read_of_stopped_counter(const IrModule *ir)
{
  const IrInsn *first = NULL;
  for (uint32_t i = 0; i < ir->n_configs; i++)
    if (ir->configs[i].address == CFG_TSC_CONTROL)
      return NULL;
  for (uint32_t n = 0; n < ir->n_funcs; n++) {
    const IrFunc *f = &ir->funcs[n];
    for (uint32_t i = 1; i < f->n_insns; i++) {
      const IrInsn *insn = &f->insns[i];
      if (insn->op == IR_set_config && is_register(f, insn, CFG_TSC_CONTROL, true))
        return NULL;
      if (!first && insn->op == IR_get_config && is_register(f, insn, CFG_TSC_COUNTER, false))
        first = insn;
    }
  }
  return first;
}

static void warn_stopped_counter(Sema *s)
{
  const IrInsn *read = read_of_stopped_counter(s->ir);
  if (read)
    diag_counter_stopped(s->diags, fabric_user_span(s, read->loc));
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Of operations and tasks: of what runs. */
static void warn_of_running(Sema *s)
{
  Overlaps o = {.s = s, .arena = arena_create("operations that overlap")};
  o.ends = arena_many(o.arena, LintFlow, s->ir->n_funcs + 1);
  o.state = arena_many(o.arena, uint8_t, s->ir->n_funcs + 1);
  uint32_t known = routed_colors(s) | lint_streamed_colors(s);
  if (s->session->options->memcpy)
    known |= (uint32_t)sema_machine(s)->memcpy_colors;
  const bool *runs = lint_running_functions(s, NULL);
  for (uint32_t f = 0; f < s->ir->n_funcs; f++) {
    function_end(&o, f);
    if (!runs[f])
      continue;
    lint_note_needs(s, &s->ir->funcs[f]);
    if (!s->ir->funcs[f].address_taken)      /* what calls always do, their callers do */
      continue;
    if (s->session->layout->has_block)
      warn_unrouted(&o, &o.ends[f].used, known);
    warn_unmet(&o, &o.ends[f].used);
  }
  arrfree(o.calls);
  arena_destroy(o.arena);
}

void lint_operations(Sema *s)
{
  warn_of_running(s);
  lint_note_local_tasks(s);
  warn_stopped_counter(s);
  for (uint32_t i = 0; i < arrlenu(s->modules); i++) {
    warn_first_call(s, i);
    warn_memcpy_params(s, &s->modules[i]);
  }
}
