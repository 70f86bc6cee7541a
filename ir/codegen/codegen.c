/* The code generator's list of steps: the needed functions, one by one; then the map; then the
 * image. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* ---- what a function needs ------------------------------------------------------------------- */

static void need_symbols(Cg *cg, const MFunc *mf)
{
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    switch ((SymKind)mi->sym) {
    case SYM_GLOBAL:
      cg_need_global(cg, mi->sym_index);
      break;
    case SYM_FUNC:
      if (mi->op == OP_call)
        cg_need_func(cg, mi->sym_index);
      else
        cg_func_by_pointer(cg, mi->sym_index);
      break;
    case SYM_DESC:
      if (cg->pool[mi->sym_index].global != IR_NO_ID)
        cg_need_global(cg, cg->pool[mi->sym_index].global);
      break;
    case SYM_TILE_PARAM:
      cg->tile_params[mi->sym_index].needed = true;
      break;
    case SYM_NONE: case SYM_FRAME: case SYM_INCOMING: default:
      break;
    }
  }
}

/* ---- roots ---------------------------------------------------------------------------------- */

static void prepare_launch(Cg *cg)
{
  const IrModule *m = cg->given;
  uint32_t bytes = 0;
  bool any = false;
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    if (!m->bindings[i].is_func)
      continue;
    uint32_t own = cg_launch_bytes(&m->funcs[m->bindings[i].target]);
    bytes = own > bytes ? own : bytes;
    any = true;
  }
  if (!any)
    return;
  IrGlobalId id = ir_global_add(cg->work, "<launch arguments>", bytes, ir_type_align(IRT_I32));
  cg->launch_args = id.raw;
}

static void add_roots(Cg *cg)
{
  const IrModule *m = cg->given;
  for (uint32_t i = 0; i < m->n_tasks; i++)
    cg_need_func(cg, m->tasks[i].func.raw);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (m->teardown_handler[c] != IR_NO_ID) {
      cg_need_func(cg, m->teardown_handler[c]);
      cg->has_teardown = true;
    }
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++)
    if (m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES] != IR_NO_ID) {
      cg_need_func(cg, m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES]);
      cg->has_teardown = true;
    }
  if (cg->has_teardown) {
    cg->teardown_task = cg_teardown_stub(cg);
    cg_need_func(cg, cg->teardown_task);
  }
  for (uint32_t i = 0; i < cg->work->n_globals; i++)
    if (cg->work->globals[i].keep || i == cg->launch_args)
      cg_need_global(cg, i);
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    if (!ir_global_is_none(m->dsrs[i].desc.global))
      cg_need_global(cg, m->dsrs[i].desc.global.raw);
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    const IrBinding *b = &m->bindings[i];
    if (!b->is_func) {
      cg_need_global(cg, b->target);
      continue;
    }
    cg->stubs[i] = cg_launch_stub(cg, b->target);
    cg_func_by_pointer(cg, cg->stubs[i]);
  }
}

/* ---- functions ------------------------------------------------------------------------------ */

static void generate_func(Cg *cg, MFunc *mf)
{
  mf->ir = &cg->work->funcs[mf->id];
  mf->name = mf->ir->name;
  select_func(cg, mf);
  dsr_assign(cg, mf);
  mir_sweep(mf);
  keep_constants(cg, mf);
  variables_mark(mf);
  regalloc_func(cg, mf);
  variables_keep_parameters(mf);
  tidy_func(cg, mf);
  frame_func(cg, mf);
  need_symbols(cg, mf);
  for (size_t i = 0; i < arrlenu(mf->callees); i++)
    cg_need_func(cg, mf->callees[i]);
}

/* ---- the image ------------------------------------------------------------------------------ */

static uint16_t func_address(const Cg *cg, uint32_t func)
{
  return (uint16_t)layout_symbol(cg, SYM_FUNC, func);
}

static void put_tasks(const Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->given;
  ImageTask *tasks = arena_many(cg->kept, ImageTask, m->n_tasks + 1);
  for (uint32_t i = 0; i < m->n_tasks; i++) {
    const IrTask *t = &m->tasks[i];
    tasks[i] = (ImageTask){func_address(cg, t->func.raw), t->kind, t->id, t->arguments,
                           t->name ? t->name : ""};
  }
  image->n_tasks = m->n_tasks;
  image->tasks = tasks;
  if (cg->has_teardown)
    tasks[image->n_tasks++] =
      (ImageTask){.entry = func_address(cg, cg->teardown_task), .kind = TASK_LOCAL,
                  .id = (uint8_t)cg->machine->teardown_task, .name = "<teardown>"};
  for (unsigned c = 0; c < MAX_COLORS; c++)
    image->teardown_handler[c] =
      m->teardown_handler[c] == IR_NO_ID ? 0xffff : func_address(cg, m->teardown_handler[c]);
}

static void put_dsrs(Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->given;
  ImageDsr *dsrs = arena_many(cg->kept, ImageDsr, m->n_dsrs);
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    const IrDsrInit *d = &m->dsrs[i];
    PoolDesc desc = {.global = d->desc.global.raw};
    desc.n_words = descriptor_encode(&d->desc.desc, desc.words);
    dsrs[i] = (ImageDsr){.file = d->file, .number = d->number};
    if (d->desc.desc.kind == DESC_MEM4D || d->desc.desc.kind == DESC_CIRC)
      dsrs[i].xdsr = (uint8_t)dsr_xdsr(cg, d->file, d->number, false, d->span);
    layout_desc_words(cg, &desc, dsrs[i].words);
  }
  image->n_dsrs = m->n_dsrs;
  image->dsrs = dsrs;
}

static void put_bindings(const Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->given;
  ImageBinding *list = arena_many(cg->kept, ImageBinding, m->n_bindings);
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    const IrBinding *b = &m->bindings[i];
    uint32_t address = b->is_func ? func_address(cg, cg->stubs[i]) : cg->globals[b->target].address;
    list[i] = (ImageBinding){b->export_index, true, (uint16_t)address, b->is_pointer, b->extent};
  }
  image->n_bindings = m->n_bindings;
  image->bindings = list;
}

static void put_setup(const Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->given;
  image->active = m->active;
  image->blocked = m->blocked;
  image->paused = m->paused;
  image->separate_control = m->separate_control;
  memcpy(image->input, m->input, sizeof image->input);
  memcpy(image->output, m->output, sizeof image->output);
  memcpy(image->data_queue, m->data_queue, sizeof image->data_queue);
  image->n_configs = m->n_configs;
  ImageConfig *configs = arena_many(cg->kept, ImageConfig, m->n_configs);
  if (m->n_configs)
    memcpy(configs, m->configs, sizeof *configs * m->n_configs);
  image->configs = configs;
  memcpy(image->color_names, m->color_names, sizeof image->color_names);
  memcpy(image->queue_names, m->queue_names, sizeof image->queue_names);
  image->source = m->source;
}

static void make_image(Cg *cg, CodegenResult *result)
{
  ImageClass *image = &result->image;
  *result = (CodegenResult){.sources = cg->sources};
  put_setup(cg, image);
  layout_data(cg, image);
  emit_module(cg, image);
  put_tasks(cg, image);
  put_dsrs(cg, image);
  put_bindings(cg, image);
  image->static_bytes = (uint16_t)cg->data_end;
  image->stack_top = (uint16_t)cg->machine->pe_mem_bytes;
  image->stack_bytes = (uint16_t)cg->stack_bytes;
  image->start_entry = cg->start == IR_NO_ID ? 0xffff : func_address(cg, cg->start);
  if (cg->launch_args != IR_NO_ID)
    image->launch_args = (uint16_t)cg->globals[cg->launch_args].address;
  result->code_bytes = cg->code_bytes;
  result->data_bytes = cg->data_end;
  result->stack_bytes = cg->stack_bytes;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* The module with room for functions, globals and locations of ours. */
static IrModule *working_copy(const IrModule *m, Arena *arena)
{
  IrModule *copy = arena_new(arena, IrModule);
  *copy = *m;
  copy->arena = arena;
  copy->cap_funcs = copy->n_funcs;
  copy->cap_globals = copy->n_globals;
  copy->cap_locs = copy->n_locs;
  return copy;
}

static void free_func(MFunc *mf)
{
  arrfree(mf->code);
  arrfree(mf->vregs);
  arrfree(mf->slots);
  arrfree(mf->homes);
  arrfree(mf->mark_sets);
  arrfree(mf->temps);
  arrfree(mf->callees);
  arrfree(mf->pointer_calls);
}

static void free_all(Cg *cg)
{
  for (size_t i = 0; i < arrlenu(cg->funcs); i++)
    free_func(cg->funcs[i]);
  arrfree(cg->funcs);
  arrfree(cg->func_index);
  arrfree(cg->func_by_pointer);
  arrfree(cg->pool);
  dsr_free(cg);
}

bool codegen_module(const IrModule *m, const CodegenOptions *options, const SourceMap *sources,
                    Arena *arena, Diags *diags, CodegenResult *result)
{
  Arena *scratch = arena_create("code of a module");
  Cg cg = {.given = m, .work = working_copy(m, scratch), .options = options, .sources = sources,
           .machine = machine_get(m->arch), .arena = scratch, .kept = arena, .diags = diags,
           .launch_args = IR_NO_ID, .start = IR_NO_ID};
  prepare_launch(&cg);
  cg.globals = arena_many(scratch, Placement, cg.work->n_globals);
  cg.tile_params = arena_many(scratch, Placement, m->n_tile_params);
  cg.stubs = arena_many(scratch, uint32_t, m->n_bindings);
  dsr_plan(&cg);
  add_roots(&cg);
  for (size_t i = 0; i < arrlenu(cg.funcs); i++)   /* grows */
    generate_func(&cg, cg.funcs[i]);
  if (arrlenu(cg.presets)) {
    cg.start = cg_start_stub(&cg);
    generate_func(&cg, cg_need_func(&cg, cg.start));
  }
  stack_measure(&cg);
  bool ok = !cg.failed && layout_module(&cg);
  if (ok)
    make_image(&cg, result);
  ok = ok && !cg.failed;
  free_all(&cg);
  arena_destroy(scratch);
  return ok;
}
