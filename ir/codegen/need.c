/* The contents of the image: functions and globals enter when something refers to them. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

static void grow_func_tables(Cg *cg)
{
  while (arrlenu(cg->func_index) < cg->work->n_funcs) {
    arrput(cg->func_index, 0);
    arrput(cg->func_by_pointer, false);
  }
}

MFunc *cg_need_func(Cg *cg, uint32_t func)
{
  grow_func_tables(cg);
  if (cg->func_index[func] == 0) {
    MFunc *mf = arena_new(cg->arena, MFunc);
    mf->id = func;
    arrput(cg->funcs, mf);
    cg->func_index[func] = (uint32_t)arrlenu(cg->funcs);
  }
  return cg->funcs[cg->func_index[func] - 1];
}

void cg_func_by_pointer(Cg *cg, uint32_t func)
{
  cg_need_func(cg, func);
  cg->func_by_pointer[func] = true;
}

void cg_need_global(Cg *cg, uint32_t global)
{
  if (cg->globals[global].needed)
    return;
  cg->globals[global].needed = true;
  const IrGlobal *g = &cg->work->globals[global];
  for (uint32_t i = 0; i < g->n_relocs; i++) {
    if (g->relocs[i].is_func)
      cg_func_by_pointer(cg, g->relocs[i].target);
    else
      cg_need_global(cg, g->relocs[i].target);
  }
}

uint32_t cg_pool_desc(Cg *cg, const PoolDesc *desc)
{
  for (size_t i = 0; i < arrlenu(cg->pool); i++)
    if (cg->pool[i].n_words == desc->n_words && cg->pool[i].global == desc->global &&
        memcmp(cg->pool[i].words, desc->words, 2 * desc->n_words) == 0)
      return (uint32_t)i;
  arrput(cg->pool, *desc);
  return (uint32_t)arrlenu(cg->pool) - 1;
}

Span cg_func_span(const Cg *cg, const IrFunc *f)
{
  return f->loc.raw ? cg->work->locs[f->loc.raw].span : (Span){0, 0};
}
