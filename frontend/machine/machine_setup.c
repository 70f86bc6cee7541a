/* The requests of a program's top-level comptime blocks to the machine, and their way into the
 * module: tasks, queues, DSR presets, configuration writes, exports.
 *
 * If the program names no queue (a synchronous fabric DSD without a queue, a data task on wse2),
 * the compiler chooses one when it has analysed the whole program: the lowest free queue, colors in
 * ascending order. Until then a descriptor says QUEUE_IMPLICIT. */
#include "frontend/machine/machine_internal.h"

#include <limits.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

static const char *direction_text(bool is_output)
{
  return is_output ? "output" : "input";
}

MachineSetup *setup_create(Arena *arena)
{
  return arena_new(arena, MachineSetup);
}

void setup_destroy(MachineSetup *setup)
{
  arrfree(setup->dsr_operations);
  arrfree(setup->dsrs);
  arrfree(setup->dsr_reloads);
  arrfree(setup->configs);
  arrfree(setup->exports);
  arrfree(setup->misbound);
  arrfree(setup->clashes);
  arrfree(setup->fifos);
  arrfree(setup->held);
  arrfree(setup->held_of_queues);
  arrfree(setup->payloads_told);
  arrfree(setup->data_task_queues);
  arrfree(setup->local_tasks);
  arrfree(setup->queues_needed);
  arrfree(setup->tasks_needed);
  arrfree(setup->dsrs_needed);
}

/* ---- queues ------------------------------------------------------------------------------ */

/* The link to the host takes its colors and ids itself. */
static bool is_memcpy_library(const Sema *s)
{
  static const char folder[] = "<memcpy/";
  const char *path = sema_text(s, s->modules[s->now.module].path);
  return strncmp(path, folder, sizeof folder - 1) == 0;
}

void setup_name_color(Sema *s, uint8_t color, Operand named)
{
  ColorName *known = &s->setup->color_names[color];
  if (!str_is_none(named.name) && (named.decl || str_is_none(known->name)))
    *known = (ColorName){.name = named.name, .is_declared = named.decl != NULL};
}

void setup_check_color(Sema *s, unsigned color, Span span)
{
  if (s->session->options->memcpy && (sema_machine(s)->memcpy_colors >> color & 1) &&
      !is_memcpy_library(s))
    diag_reserved_color(s->diags, span, color, "memcpy, which moves data for the host");
}

void setup_check_input_queue(Sema *s, unsigned queue, Span span)
{
  const Machine *m = sema_machine(s);
  if (s->session->options->memcpy && (m->memcpy_input_queues >> queue & 1) && !is_memcpy_library(s))
    diag_reserved_queue(s->diags, span, m->name, queue);
}

void setup_check_task_id(Sema *s, unsigned id, Span span)
{
  const Machine *m = sema_machine(s);
  const char *owner = id == m->timer_task ? "the timer" : NULL;
  if (!owner && s->session->options->memcpy && (m->memcpy_tasks >> id & 1) &&
      !is_memcpy_library(s))
    owner = "memcpy, which moves data for the host";
  if (owner)
    diag_reserved_task_id(s->diags, span, id, owner);
}

static void serve_color(QueueSlot *slot, uint8_t color)
{
  slot->colors |= 1u << color;
  if (slot->has_color)
    return;
  slot->has_color = true;
  slot->color = color;
}

static void warn_two_colors(Sema *s, bool is_output, unsigned queue, uint8_t color, Span span,
                            Span other)
{
  size_t mark = diags_mark(s->diags);
  diag_queue_two_colors(s->diags, span, direction_text(is_output), queue,
                        s->setup->queues[is_output][queue].color, color);
  diag_first_here(s->diags, other);
  const TakenDiags *taken = diags_take(s->diags, mark);
  if (taken)
    arrput(s->setup->held_of_queues, ((QueueMessages){is_output, queue, color, taken}));
}

/* A DSD and @initialize_queue name different colors: the queue changes between them, unless the
 * program binds it to the other color when it runs. `used`: colors of DSDs, a bit each. */
static void warn_other_colors(Sema *s, bool is_output, unsigned queue, uint32_t used, Span span,
                              Span other)
{
  const QueueSlot *slot = &s->setup->queues[is_output][queue];
  uint32_t more = used & ~(1u << slot->color | slot->refused);
  bool has_own = !is_output || s->session->options->arch == ARCH_WSE3;
  if (!slot->is_explicit || !slot->has_color || !has_own)
    return;
  for (uint8_t color = 0; more >> color; color++)
    if (more >> color & 1)
      warn_two_colors(s, is_output, queue, color, span, other);
}

/* The import of the program's own that the code at work belongs to. */
static uint32_t outermost_import(const Sema *s)
{
  uint32_t m = s->now.module;
  while (s->modules[m].parent != IR_NO_ID && sema_is_library(s, s->modules[m].parent))
    m = s->modules[m].parent;
  return m;
}

bool setup_is_first_clash(Sema *s)
{
  if (!sema_in_library(s))
    return true;
  uint32_t import = outermost_import(s);
  for (size_t i = 0; i < arrlenu(s->setup->clashes); i++)
    if (s->setup->clashes[i] == import)
      return false;
  arrput(s->setup->clashes, import);
  return true;
}

/* If there are two loads before the start, the second wins, and the first never serves anything. */
static void refuse_second_preset(Sema *s, const DsrPreset *first, const DsrPreset *second)
{
  diag_dsr_loaded_twice(s->diags, second->span, dsr_file_name(second->file),
                        second->number);
  if (first->span.off != second->span.off)
    diag_first_here(s->diags, first->span);
  if (first->module != second->module) {
    setup_note_dsr_loader(s, first->module, "first");
    setup_note_dsr_loader(s, second->module, "again");
  }
  diag_dsr_loaded_twice_help(s->diags, second->span);
}

void setup_preset_dsr(Sema *s, DsrFile file, uint8_t number, IrDesc desc, Span span)
{
  DsrPreset preset = {file, number, desc, span, s->now.module};
  for (size_t i = 0; i < arrlenu(s->setup->dsrs); i++) {
    const DsrPreset *other = &s->setup->dsrs[i];
    if (other->file != file || other->number != number)
      continue;
    if ((!ir_global_eq(other->desc.global, desc.global) ||
         !descriptor_equal(&other->desc.desc, &desc.desc)) && setup_is_first_clash(s))
      refuse_second_preset(s, other, &preset);
    return;
  }
  arrput(s->setup->dsrs, preset);
}

void setup_use_queue(Sema *s, bool is_output, uint8_t queue, uint8_t color, Span span)
{
  QueueSlot *slot = &s->setup->queues[is_output][queue];
  if (!slot->used)
    *slot = (QueueSlot){.used = true, .is_own = !sema_in_library(s), .span = span};
  if (color == COLOR_OF_QUEUE)
    return;
  serve_color(slot, color);
  if (color != slot->color)
    warn_other_colors(s, is_output, queue, 1u << color, span, slot->span);
}

void setup_initialize_queue(Sema *s, bool is_output, unsigned queue, QueueSlot given)
{
  QueueSlot *slot = &s->setup->queues[is_output][queue];
  QueueSlot old = *slot;
  *slot = given;
  slot->colors = old.colors;
  if (given.has_color)
    slot->colors |= 1u << given.color;
  else if (old.has_color)
    serve_color(slot, old.color);
  warn_other_colors(s, is_output, queue, slot->colors, given.span, old.span);
}

static unsigned queue_count(const Sema *s, bool is_output)
{
  return is_output ? sema_machine(s)->output_queues : sema_machine(s)->input_queues;
}

/* The queue that carries the color, or -1: the one that is initialised with it comes first. */
static int queue_of_color(const Sema *s, bool is_output, unsigned color)
{
  int found = -1;
  for (unsigned q = 0; q < queue_count(s, is_output); q++) {
    const QueueSlot *slot = &s->setup->queues[is_output][q];
    if (slot->is_explicit && slot->has_color && slot->color == color)
      return (int)q;
    if (found < 0 && (slot->colors >> color & 1))
      found = (int)q;
  }
  return found;
}

static int free_queue(const Sema *s, bool is_output)
{
  for (unsigned q = 0; q < queue_count(s, is_output); q++)
    if (!s->setup->queues[is_output][q].used)
      return (int)q;
  return -1;
}

/* The queue that one more color of wse2 shares: one that the compiler has chosen before one that
 * the program names, then the one with the fewest colors, then the lowest. */
static unsigned shared_queue(const Sema *s, bool is_output)
{
  unsigned best = 0, fewest = UINT_MAX;
  for (unsigned q = 0; q < queue_count(s, is_output); q++) {
    const QueueSlot *slot = &s->setup->queues[is_output][q];
    bool is_memcpys = slot->colors & (uint32_t)sema_machine(s)->memcpy_colors;
    unsigned n = (unsigned)__builtin_popcount(slot->colors);
    n += slot->is_chosen && !is_memcpys ? 0 : MAX_COLORS;
    if (n >= fewest)
      continue;
    best = q;
    fewest = n;
  }
  return best;
}

static void choose_queue(Sema *s, bool is_output, uint8_t color)
{
  if (queue_of_color(s, is_output, color) >= 0)
    return;
  Span span = s->setup->implicit_span[is_output][color];
  if (s->session->options->arch == ARCH_WSE3) {
    diag_queue_not_given(s->diags, span, direction_text(is_output), (unsigned)color);
    return;
  }
  int q = free_queue(s, is_output);
  if (q >= 0)
    s->setup->queues[is_output][q] = (QueueSlot){.used = true, .is_chosen = true, .span = span};
  serve_color(&s->setup->queues[is_output][q < 0 ? shared_queue(s, is_output) : (unsigned)q],
              color);
}

/* Whether the queue of a data task has a color shows in the classes of all tiles: a tile that gets
 * nothing needs none. */
static void note_task_queue(Sema *s, const TaskSlot *task, unsigned id)
{
  const TakenDiags *taken = NULL;
  if (!s->setup->queues[0][id].is_explicit) {
    size_t mark = diags_mark(s->diags);
    diag_data_task_queue(s->diags, task->span, sema_text(s, task->name), id);
    taken = diags_take(s->diags, mark);
  }
  uint64_t key = (uint64_t)task->span.off * MAX_TASK_IDS + id;
  arrput(s->setup->data_task_queues, ((NotedNeed){key, taken}));
}

/* Data tasks listen to a queue: their color's on wse2, the one of their number on wse3.  A wse2
 * color that is unblocked without a data task waits for control wavelets, in a queue as well. */
static void need_task_queues(Sema *s)
{
  for (uint8_t id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = &s->setup->tasks[id];
    bool control_only = s->session->options->arch == ARCH_WSE2 && task->kind == TASK_NONE &&
                        id < sema_machine(s)->colors && (s->setup->unblocked.first >> id & 1);
    if (control_only)
      s->setup->implicit[0] |= 1u << id;
    if (task->kind != TASK_DATA)
      continue;
    if (s->session->options->arch == ARCH_WSE2) {
      s->setup->implicit[0] |= 1u << id;
      s->setup->implicit_span[0][id] = task->span;
    } else if (!diags_error_count(s->diags)) {
      note_task_queue(s, task, id);
    }
  }
}

/* A task that could not be bound has its error already. */
static void check_activated(Sema *s)
{
  if (diags_error_count(s->diags))
    return;
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    if ((s->setup->active >> id & 1) && s->setup->tasks[id].kind != TASK_LOCAL &&
        id != sema_machine(s)->teardown_task)
      diag_activated_nobody(s->diags, s->setup->active_span[id], id);
}

/* All handlers run in one task, which the compiler makes. */
static void check_handler_task(Sema *s)
{
  unsigned id = sema_machine(s)->teardown_task;
  const TaskSlot *task = &s->setup->tasks[id];
  bool has_handlers = false;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    has_handlers |= s->setup->teardown_handler[c] != 0;
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++)
    has_handlers |= s->setup->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES] != 0;
  if (has_handlers && task->kind != TASK_NONE)
    diag_handler_task_taken(s->diags, task->span, sema_text(s, task->name), id);
}

/* A task of the program's own may take the place of the handlers, and one of them may be what an
 * error is about. */
static void check_flushed_queues(Sema *s)
{
  const MachineSetup *setup = s->setup;
  if (setup->tasks[sema_machine(s)->teardown_task].kind != TASK_NONE ||
      diags_error_count(s->diags) > 0)
    return;
  for (unsigned is_output = 0; is_output < 2; is_output++)
    for (unsigned q = 0; q < MAX_QUEUES; q++) {
      Span at = setup->flushed_span[is_output][q];
      if (at.off == 0 || setup->empty_handler[is_output][q] != 0)
        continue;
      diag_flush_without_handler(s->diags, at, is_output ? "output" : "input", q);
      diag_empty_handler_form(s->diags, at);
    }
}

static bool config_reaches_ramp(const ImageColorConfig *config)
{
  for (unsigned i = 0; i < MAX_SWITCH_POSITIONS; i++)
    if ((i == 0 || config->positions[i].valid) && (config->positions[i].tx & port_bit(PORT_RAMP)))
      return true;
  return false;
}

/* Is the color routed to the ramp of this program's tiles, or of any tile in the layout? */
static bool reaches_ramp(Sema *s, uint8_t color)
{
  uint32_t n_configs, n_sets;
  const LayoutResult *layout = s->session->layout;
  const ImageColorConfig *configs = color_table_configs(layout->colors, &n_configs);
  if (s->setup->local_color[color])
    return config_reaches_ramp(&configs[s->setup->local_color[color] - 1]);
  const ImageColorSet *sets = color_table_sets(layout->colors, s->arena, &n_sets);
  for (uint32_t i = 0; i < n_sets; i++)
    for (uint32_t k = 0; k < sets[i].n; k++)
      if (sets[i].uses[k].color == color && config_reaches_ramp(&configs[sets[i].uses[k].config]))
        return true;
  return false;
}

void setup_note_opened(Sema *s, Action action, IrValue run_time_id, Span at)
{
  if (!ir_value_is_none(run_time_id)) {
    s->setup->unblocked.later = UINT64_MAX;
  } else if (action.id_kind == ID_TASK) {
    s->setup->unblocked.later |= UINT64_C(1) << action.id;
    s->setup->unblocked.later_span[action.id] = at;
  }
}

/* The program means the color, not a local task of its number. */
static void warn_without_queue(Sema *s, uint8_t color)
{
  Span at = s->setup->unblocked.later_span[color];
  if (at.off == 0 || s->setup->tasks[color].kind == TASK_LOCAL)
    return;
  diag_color_without_queue(s->diags, at, color);
  diag_color_without_queue_help(s->diags, at);
}

/* wse2: a local task's id and the color of the same number share a blocked bit, so a color with a
 * local task of its number is open to control wavelets although the program has not unblocked it. A
 * public program relies on it (Cerebras/csl-examples, spmv-hypersparse). Others become open in the
 * run, which may also give them their route to the ramp. The queues that are left over serve all of
 * these colors, if the program has control tasks at all. */
static void serve_colors_of_control_tasks(Sema *s)
{
  bool has_control = false;
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    has_control |= s->setup->tasks[id].kind == TASK_CONTROL;
  if (!has_control || s->session->options->arch != ARCH_WSE2)
    return;
  for (uint8_t c = 0; c < MAX_COLORS; c++) {
    int q = free_queue(s, false);
    bool is_opened = s->setup->unblocked.later >> c & 1;
    bool may_come = reaches_ramp(s, c) || (is_opened && (s->setup->routed >> c & 1));
    if (!(is_opened || s->setup->tasks[c].kind == TASK_LOCAL) || !may_come ||
        queue_of_color(s, false, c) >= 0)
      continue;
    if (q < 0) {
      warn_without_queue(s, c);
      continue;
    }
    s->setup->queues[0][q] =
      (QueueSlot){.used = true, .is_chosen = true, .span = s->setup->tasks[c].span};
    serve_color(&s->setup->queues[0][q], c);
  }
}

/* Colors that stand for tasks.  A data task on a color that never reaches the tile is started by
 * the program only: it becomes a local task, and its parameters stay unset. What could not be bound
 * has its error already. */
static void settle_task_colors(Sema *s)
{
  bool wse2 = s->session->options->arch == ARCH_WSE2;
  bool may_be_missing = s->setup->binds_by_color && diags_error_count(s->diags);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    TaskSlot *task = &s->setup->tasks[id];
    Span span = s->setup->color_span[id];
    bool is_named = span.off != 0;
    if (task->kind == TASK_DATA && task->by_color && (task->is_activated || is_named) && wse2 &&
        !reaches_ramp(s, (uint8_t)id)) {
      task->kind = TASK_LOCAL;
      task->arguments = 0;
    }
    bool is_bound = task->kind == TASK_LOCAL && task->by_color;
    if (is_named && !is_bound && !may_be_missing)
      sema_bad_color_target(s, span);
  }
}

static void choose_queues(Sema *s, uint32_t colors)
{
  for (int is_output = 0; is_output < 2; is_output++)
    for (uint8_t color = 0; color < MAX_COLORS; color++)
      if (s->setup->implicit[is_output] & colors & 1u << color)
        choose_queue(s, is_output, color);
}

/* The link to the host comes first: it has queue 0 unless the program has taken that. */
void setup_choose_queues(Sema *s)
{
  uint32_t memcpy_colors = (uint32_t)sema_machine(s)->memcpy_colors;
  settle_task_colors(s);
  need_task_queues(s);
  check_activated(s);
  check_handler_task(s);
  check_flushed_queues(s);
  setup_check_dsr_operations(s);
  setup_check_dsr_presets(s);
  choose_queues(s, memcpy_colors);
  choose_queues(s, ~memcpy_colors);
  serve_colors_of_control_tasks(s);
}

IrDesc setup_resolve(Sema *s, IrDesc desc)
{
  Descriptor *d = &desc.desc;
  bool is_output = d->kind == DESC_FABOUT;
  if (!is_output && d->kind != DESC_FABIN)
    return desc;
  if (d->queue == QUEUE_IMPLICIT) {
    int q = queue_of_color(s, is_output, d->color);
    d->queue = (uint8_t)(q < 0 ? 0 : q);   /* none: has been reported */
  }
  const QueueSlot *slot = &s->setup->queues[is_output][d->queue];
  if (d->color == COLOR_OF_QUEUE && slot->has_color)
    d->color = slot->color;
  return desc;
}

uint64_t setup_task_of(Action action, ActionKind kind)
{
  bool names_one = action.kind == kind && action.id_kind == ID_TASK;
  return names_one ? UINT64_C(1) << action.id % MAX_TASK_IDS : 0;
}

uint64_t setup_started_task(Action action) { return setup_task_of(action, ACT_ACTIVATE); }

static uint64_t task_of_setting(uint16_t setting, ActionKind kind)
{
  Action action = {0};
  return action_decode(setting, &action) ? setup_task_of(action, kind) : 0;
}

uint64_t setup_tasks_beside_code(const Sema *s, ActionKind kind)
{
  const MachineSetup *setup = s->setup;
  uint64_t tasks = setup->stored_tasks[kind];
  for (uint32_t i = 0; i < s->ir->n_dsrs; i++) {
    const Descriptor *d = &s->ir->dsrs[i].desc.desc;
    tasks |= setup_task_of(d->done, kind) | setup_task_of(d->on_control, kind);
  }
  for (size_t i = 0; i < arrlenu(setup->fifos); i++)
    tasks |= task_of_setting(setup->fifos[i].push, kind) |
             task_of_setting(setup->fifos[i].pop, kind);
  return tasks;
}

IrDesc setup_stored_desc(Sema *s, IrDesc stored)
{
  IrDesc desc = setup_resolve(s, stored);
  const Descriptor *d = &desc.desc;
  if (d->kind == DESC_FABIN || d->kind == DESC_FABOUT) {
    if (d->color < MAX_COLORS)
      s->setup->stored_dsds[d->kind == DESC_FABOUT][d->color]++;
    for (ActionKind kind = ACT_ACTIVATE; kind <= ACT_UNBLOCK; kind++)
      s->setup->stored_tasks[kind] |=
        setup_task_of(d->done, kind) | setup_task_of(d->on_control, kind);
  }
  return desc;
}

static void resolve_code(Sema *s)
{
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    for (uint32_t i = 1; i < s->ir->funcs[f].n_insns; i++) {
      IrInsn *insn = &s->ir->funcs[f].insns[i];
      if (insn->op == IR_dsd_const)
        *insn->u.desc = setup_resolve(s, *insn->u.desc);
    }
}

void setup_join_control_tasks(Sema *s)
{
  MachineSetup *setup = s->setup;
  for (unsigned id = 0; id < MAX_TASK_IDS && !setup->separate_control; id++) {
    TaskSlot *common = &setup->tasks[id], *control = &setup->control_tasks[id];
    if (control->kind != TASK_NONE && common->kind != TASK_NONE) {
      diag_task_id_taken(s->diags, control->span, id, sema_text(s, common->name));
      diag_first_here(s->diags, common->span);
    } else if (control->kind != TASK_NONE)
      *common = *control;
    *control = (TaskSlot){0};
  }
}

/* ---- what the program refers to ---------------------------------------------------------- */

/* The host copies words: a single byte that it sees gets a byte of zeros behind it. */
static void reference_export(Sema *s, const ExportedSymbol *export)
{
  enum { WORD_BYTES = 2 };
  if (export->is_func) {
    sema_func_ir(s, export->target);
    return;
  }
  IrGlobalId id = sema_global_ir(s, export->target);
  IrGlobal *g = &s->ir->globals[id.raw];
  if (g->bytes < WORD_BYTES)
    g->bytes = g->align = WORD_BYTES;
}

void setup_reference(Sema *s)
{
  MachineSetup *setup = s->setup;
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    for (unsigned own = 0; own < 2; own++) {
      const TaskSlot *slot = own ? &setup->control_tasks[id] : &setup->tasks[id];
      if (slot->kind != TASK_NONE)
        sema_func_ir(s, slot->func);
      if (slot->alternate)
        sema_func_ir(s, slot->alternate - 1);
    }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (setup->teardown_handler[c])
      sema_func_ir(s, setup->teardown_handler[c] - 1);
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++)
    if (setup->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES])
      sema_func_ir(s, setup->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES] - 1);
  for (size_t i = 0; i < arrlenu(setup->exports); i++)
    reference_export(s, &setup->exports[i]);
  for (size_t i = 0; i < arrlenu(setup->dsrs); i++)
    if (!ir_global_is_none(setup->dsrs[i].desc.global))
      sema_global_ir(s, setup->dsrs[i].desc.global.raw);
}

/* ---- into the module --------------------------------------------------------------------- */

static IrFuncId entered_func(Sema *s, uint32_t func)
{
  IrFuncId id = sema_func_ir(s, func);
  s->ir->funcs[id.raw].address_taken = true;
  return id;
}

/* A task that calls one of the two, by a counter in memory. */
static IrFuncId rotating_task(Sema *s, const TaskSlot *slot)
{
  IrModule *m = s->ir;
  const char *name = sema_keep_text(s, arena_printf(s->arena, "%s.rotating",
                                                    sema_text(s, slot->name)));
  IrFuncId main_func = sema_func_ir(s, slot->func), other = sema_func_ir(s, slot->alternate - 1);
  m->funcs[main_func.raw].is_task = m->funcs[other.raw].is_task = false;
  uint32_t n = m->funcs[main_func.raw].n_params;
  IrFuncId id = ir_func_add(m, name, IRT_VOID, m->funcs[main_func.raw].params, n);
  m->funcs[id.raw].is_task = m->funcs[id.raw].address_taken = true;
  m->funcs[id.raw].loc = m->funcs[main_func.raw].loc;
  const char *runs_name = sema_keep_text(s, arena_printf(s->arena, "%s.runs", name));
  IrGlobalId counter = ir_global_add(m, runs_name, 2, 2);
  m->globals[counter.raw].init = arena_many(m->arena, uint8_t, 2);
  memcpy(m->globals[counter.raw].init, (uint8_t[]){(uint8_t)slot->init, slot->init >> 8}, 2);
  IrBuilder b = {.module = m, .func = id, .loc = m->funcs[id.raw].loc};
  IrBlockId first = ir_block_add(m, id), second = ir_block_add(m, id);
  const IrValue *params = m->funcs[id.raw].blocks[0].params;
  IrValue runs = ir_load(&b, IRT_I16, ir_global_addr(&b, counter, 0));
  IrValue more = ir_binary(&b, IR_ult, IRT_BOOL, runs, ir_const(&b, IRT_I16, slot->limit));
  ir_cond_br(&b, more, first, NULL, 0, second, NULL, 0);
  b.block = first;
  ir_store(&b, ir_global_addr(&b, counter, 0),
           ir_binary(&b, IR_add, IRT_I16, runs, ir_const(&b, IRT_I16, 1)));
  ir_call(&b, main_func, params, n);
  ir_ret(&b, IR_NO_VALUE);
  b.block = second;
  ir_store(&b, ir_global_addr(&b, counter, 0), ir_const(&b, IRT_I16, 0));
  ir_call(&b, other, params, m->funcs[other.raw].n_params);
  ir_ret(&b, IR_NO_VALUE);
  return id;
}

static void fill_tasks(Sema *s)
{
  IrModule *m = s->ir;
  const Machine *machine = sema_machine(s);
  m->tasks = arena_many(m->arena, IrTask, 2 * MAX_TASK_IDS);
  m->blocked = s->setup->blocked;
  for (uint8_t id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *slot = &s->setup->tasks[id];
    uint64_t bit = (uint64_t)1 << id;
    IrFuncId func = {0};
    if (slot->kind != TASK_NONE)
      func = slot->alternate ? rotating_task(s, slot) : entered_func(s, slot->func);
    if (slot->kind != TASK_NONE)
      m->tasks[m->n_tasks++] = (IrTask){func, slot->kind, id, slot->arguments,
                                        sema_text(s, slot->name)};
    else if (id < machine->data_task_ids && !(s->setup->unblocked.first & bit))
      m->blocked |= bit;   /* no task listens: wavelets wait for DSD operations */
  }
  for (uint8_t id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *slot = &s->setup->control_tasks[id];
    if (slot->kind != TASK_NONE)
      m->tasks[m->n_tasks++] = (IrTask){entered_func(s, slot->func), slot->kind, id,
                                        slot->arguments, sema_text(s, slot->name)};
  }
  m->separate_control = s->setup->separate_control;
  m->active = s->setup->active;
  m->paused = s->setup->paused;
}

/* Where each color arrives.  On wse3 a queue is bound to one color at a time. */
static void fill_arrivals(Sema *s, unsigned q)
{
  const QueueSlot *slot = &s->setup->queues[0][q];
  bool wse3 = s->session->options->arch == ARCH_WSE3;
  uint32_t colors = wse3 ? 1u << slot->color : slot->colors;
  for (uint8_t c = 0; c < MAX_COLORS; c++)
    if ((colors >> c & 1) && (unsigned)queue_of_color(s, false, c) == q)
      s->ir->data_queue[c] = (uint8_t)q;
}

/* On wse3 the program initialises every queue.  On wse2 an output queue needs no color, and a DSD
 * that names a color gives it to its input queue. */
bool setup_queue_is_initialised(const Sema *s, bool is_output, unsigned queue)
{
  const QueueSlot *slot = &s->setup->queues[is_output][queue];
  return slot->is_explicit ||
         (s->session->options->arch == ARCH_WSE2 && (is_output || slot->has_color));
}

static void fill_queues(Sema *s)
{
  IrModule *m = s->ir;
  memset(m->data_queue, 0xff, sizeof m->data_queue);
  for (int is_output = 0; is_output < 2; is_output++)
    for (unsigned q = 0; q < MAX_QUEUES; q++) {
      const QueueSlot *slot = &s->setup->queues[is_output][q];
      ImageQueue *queue = is_output ? &m->output[q] : &m->input[q];
      if (slot->name.raw)
        m->queue_names[is_output][q] = sema_text(s, slot->name);
      if (!slot->used || !setup_queue_is_initialised(s, is_output, q))
        continue;
      *queue = (ImageQueue){true, slot->color, slot->priority, !slot->is_explicit};
      if (!is_output)
        fill_arrivals(s, q);
      bool is_bound_by_dsd = !is_output && !slot->is_explicit && !slot->is_chosen;
      if (is_bound_by_dsd && slot->is_own)
        release_sign(s->session, SIGN_IMPLICIT_QUEUE, slot->span);
    }
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    StrId name = s->setup->color_names[c].name;
    StrId declared = sema_color_name(s, c);
    if (!s->setup->color_names[c].is_declared && !str_is_none(declared))
      name = declared;
    if (str_is_none(name))
      name = s->session->layout->color_names[c].name;
    if (name.raw)
      m->color_names[c] = sema_text(s, name);
  }
}

static void fill_dsrs(Sema *s)
{
  IrModule *m = s->ir;
  m->n_dsrs = (uint32_t)arrlenu(s->setup->dsrs);
  m->dsrs = arena_many(m->arena, IrDsrInit, m->n_dsrs + 1);
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    const DsrPreset *preset = &s->setup->dsrs[i];
    IrDesc desc = setup_resolve(s, preset->desc);
    if (!ir_global_is_none(desc.global))
      desc.global = sema_global_ir(s, desc.global.raw);
    m->dsrs[i] = (IrDsrInit){preset->file, preset->number, desc, preset->span};
  }
}

static uint32_t export_index(const Sema *s, StrId name)
{
  const LayoutExport *exports = s->session->layout->exports;
  for (uint32_t i = 0; i < arrlenu(exports); i++)
    if (str_eq(exports[i].name, name))
      return i;
  ICE("export without a declaration");
}

static int compare_bindings(const void *a, const void *b)
{
  const IrBinding *x = a, *y = b;
  return x->export_index < y->export_index ? -1 : x->export_index > y->export_index;
}

/* In the order of the layout's names, not in the program's order of exports. */
static void fill_exports(Sema *s)
{
  IrModule *m = s->ir;
  m->n_bindings = (uint32_t)arrlenu(s->setup->exports);
  m->bindings = arena_many(m->arena, IrBinding, m->n_bindings + 1);
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    const ExportedSymbol *e = &s->setup->exports[i];
    IrBinding *b = &m->bindings[i];
    b->export_index = export_index(s, e->name);
    s->session->layout->exports[b->export_index].has_symbol = true;
    b->is_func = e->is_func;
    b->extent = (uint16_t)e->extent;
    if (e->is_func) {
      b->target = entered_func(s, e->target).raw;
      continue;
    }
    b->target = sema_global_ir(s, e->target).raw;
    b->is_pointer = pool_kind(s->pool, e->type) == PK_POINTER_TYPE;
    m->globals[b->target].keep = true;
    m->globals[b->target].extent = b->is_pointer ? b->extent : 0;
  }
  qsort(m->bindings, m->n_bindings, sizeof *m->bindings, compare_bindings);
}

void setup_finish(Sema *s)
{
  IrModule *m = s->ir;
  resolve_code(s);
  fill_tasks(s);
  fill_queues(s);
  fill_dsrs(s);
  fill_exports(s);
  m->n_configs = (uint32_t)arrlenu(s->setup->configs);
  m->configs = arena_many(m->arena, ImageConfig, m->n_configs + 1);
  if (m->n_configs)
    memcpy(m->configs, s->setup->configs, m->n_configs * sizeof *m->configs);
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    uint32_t handler = s->setup->teardown_handler[c];
    m->teardown_handler[c] = handler ? entered_func(s, handler - 1).raw : IR_NO_ID;
  }
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++) {
    uint32_t handler = s->setup->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES];
    m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES] =
        handler ? entered_func(s, handler - 1).raw : IR_NO_ID;
  }
}
