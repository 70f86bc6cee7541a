/* Stack frames and the depth of the stack.
 *
 * The stack grows down; a call pushes its return address.  In a function the stack pointer does
 * not move, so that everything is at a fixed offset from it:
 *   outgoing arguments | slots | saved registers | return address | incoming arguments */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

enum { RETURN_ADDRESS_BYTES = 2, SAVED_BYTES = 2 };

/* ---- one function --------------------------------------------------------------------------- */

static void place_slots(MFunc *mf)
{
  bool *used = base_zeroed(arrlenu(mf->slots), sizeof *used);
  for (size_t i = 0; i < arrlenu(mf->code); i++)
    if (mf->code[i].sym == SYM_FRAME && !mf->code[i].dead)
      used[mf->code[i].sym_index] = true;
  uint32_t at = mf->outgoing_bytes;
  for (size_t i = 0; i < arrlenu(mf->slots); i++) {
    mf->slots[i].offset = at;
    mf->slots[i].used = used[i];
    if (used[i])
      at += mf->slots[i].bytes;
  }
  mf->frame_bytes = at;
  free(used);
}

static void put_save(Cg *cg, MInsn **out, Opcode op, unsigned r, uint32_t offset, IrLocId loc)
{
  MInsn mi = {.op = (uint16_t)op, .imm = (int32_t)offset, .loc = loc,
              .r = {r, cg->machine->sp_register, REG_NONE, REG_NONE, REG_NONE}};
  arrput(*out, mi);
}

static void move_sp(Cg *cg, MInsn **out, int32_t by, IrLocId loc)
{
  Reg sp = cg->machine->sp_register;
  MInsn mi = {.op = OP_addi, .imm = by, .loc = loc, .r = {sp, sp, REG_NONE, REG_NONE, REG_NONE}};
  if (by)
    arrput(*out, mi);
}

static void save_registers(Cg *cg, const MFunc *mf, MInsn **out, Opcode op, IrLocId loc)
{
  uint32_t at = mf->frame_bytes;
  for (unsigned r = 0; r < GPR_COUNT; r++) {
    if (!(mf->saved >> r & 1))
      continue;
    at -= SAVED_BYTES;
    put_save(cg, out, op, r, at, loc);
  }
}

void frame_func(Cg *cg, MFunc *mf)
{
  place_slots(mf);
  mf->frame_bytes += SAVED_BYTES * (uint32_t)__builtin_popcount(mf->saved);
  MInsn *out = NULL;
  bool entered = false;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    MInsn mi = mf->code[i];
    if (mi.dead)
      continue;
    if (mi.sym == SYM_FRAME)
      mi.imm += (int32_t)mf->slots[mi.sym_index].offset;
    if (mi.sym == SYM_INCOMING)
      mi.imm += (int32_t)(mf->frame_bytes + RETURN_ADDRESS_BYTES);
    if (mi.sym == SYM_FRAME || mi.sym == SYM_INCOMING)
      mi.sym = SYM_NONE;
    if (mi.op == OP_ret) {
      save_registers(cg, mf, &out, OP_ld16, mi.loc);
      move_sp(cg, &out, (int32_t)mf->frame_bytes, mi.loc);
    }
    arrput(out, mi);
    if (!entered && mi.op == MI_LABEL) {
      entered = true;
      move_sp(cg, &out, -(int32_t)mf->frame_bytes, mf->ir->loc);
      save_registers(cg, mf, &out, OP_st16, mf->ir->loc);
    }
  }
  arrfree(mf->code);
  mf->code = out;
}

/* ---- depth over the call graph -------------------------------------------------------------- */

/* Strongly connected components by Tarjan's algorithm, calls through pointers included.  How deep
 * recursion goes is known at run time only, and a cycle that needs a call through a pointer may be
 * one of signatures only: each function of a cycle is taken to be active once. */
typedef struct {
  Cg *cg;
  uint32_t n;
  uint32_t *number, *low, *component;   /* number 0: not visited */
  uint32_t *stack;                      /* stb_ds */
  bool *on_stack;
  uint32_t counter, n_components;
  uint32_t *depth;                      /* of components, bytes */
} Graph;

static bool same_signature(const Signature *a, const IrFunc *f)
{
  return a->result == f->result && a->n_params == f->n_params &&
         (a->n_params == 0 || memcmp(a->params, f->params, sizeof *a->params * a->n_params) == 0);
}

/* Indices of all functions that one may call; an stb_ds array. */
static uint32_t *callees_of(const Cg *cg, const MFunc *mf)
{
  uint32_t *list = NULL;
  for (size_t i = 0; i < arrlenu(mf->callees); i++)
    arrput(list, cg->func_index[mf->callees[i]] - 1);
  for (size_t i = 0; i < arrlenu(mf->pointer_calls); i++)
    for (uint32_t k = 0; k < arrlenu(cg->funcs); k++)
      if (cg->func_by_pointer[cg->funcs[k]->id] &&
          same_signature(&mf->pointer_calls[i], cg->funcs[k]->ir))
        arrput(list, k);
  return list;
}

static void close_component(Graph *g, uint32_t root)
{
  uint32_t own = 0, below = 0, v;
  size_t first = arrlenu(g->stack);
  do {
    v = g->stack[--first];
    g->component[v] = g->n_components + 1;
    own += g->cg->funcs[v]->frame_bytes + RETURN_ADDRESS_BYTES;
  } while (v != root);
  for (size_t i = first; i < arrlenu(g->stack); i++) {
    uint32_t *list = callees_of(g->cg, g->cg->funcs[g->stack[i]]);
    for (size_t k = 0; k < arrlenu(list); k++)
      if (g->component[list[k]] != g->n_components + 1 &&
          g->depth[g->component[list[k]]] > below)
        below = g->depth[g->component[list[k]]];
    arrfree(list);
    g->on_stack[g->stack[i]] = false;
  }
  arrsetlen(g->stack, first);
  g->depth[++g->n_components] = own + below;
}

/* Recursive in the number of functions that call each other in a chain, which code size bounds. */
static void visit_func(Graph *g, uint32_t v)
{
  g->number[v] = g->low[v] = ++g->counter;
  arrput(g->stack, v);
  g->on_stack[v] = true;
  uint32_t *list = callees_of(g->cg, g->cg->funcs[v]);
  for (size_t i = 0; i < arrlenu(list); i++) {
    uint32_t to = list[i];
    if (g->number[to] == 0)
      visit_func(g, to);
    uint32_t reach = g->number[to] > g->number[v] ? g->low[to] : g->number[to];
    if (g->on_stack[to] && reach < g->low[v])
      g->low[v] = reach;
  }
  arrfree(list);
  if (g->low[v] == g->number[v])
    close_component(g, v);
}

void stack_measure(Cg *cg)
{
  Arena *arena = arena_create("stack depth");
  uint32_t n = (uint32_t)arrlenu(cg->funcs);
  Graph g = {.cg = cg, .n = n};
  g.number = arena_many(arena, uint32_t, n + 1);
  g.low = arena_many(arena, uint32_t, n + 1);
  g.component = arena_many(arena, uint32_t, n + 1);
  g.depth = arena_many(arena, uint32_t, n + 2);
  g.on_stack = arena_many(arena, bool, n + 1);
  for (uint32_t v = 0; v < n; v++)
    if (g.number[v] == 0)
      visit_func(&g, v);
  for (uint32_t v = 0; v < n; v++) {
    cg->funcs[v]->depth_bytes = g.depth[g.component[v]];
    if (cg->funcs[v]->depth_bytes > cg->stack_bytes)
      cg->stack_bytes = cg->funcs[v]->depth_bytes;
  }
  arrfree(g.stack);
  arena_destroy(arena);
  if (cg->stack_bytes < cg->options->stack_minimum_bytes)
    cg->stack_bytes = cg->options->stack_minimum_bytes;
  cg->stack_bytes = (cg->stack_bytes + 3) & ~3u;
}
