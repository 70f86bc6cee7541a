/* Loops that go on for ever although tiles are at work: each waits for what nothing will change.
 *
 * A tile that comes back to a state that it had before, while nothing comes to it or leaves it,
 * comes back to it again and again: a loop of one task or function, or local tasks that start one
 * another.  If all tiles at work do so and no other one can move, the run has no end.  A copy of
 * the engine finds out, a cycle at a time: the run itself stays where it has been cut short. */
#include "emu/explain/explain_internal.h"

#include <stdlib.h>
#include <string.h>

#include "stb_ds.h"

enum {
  ROUND_CYCLES = 1024,          /* of the longest round that is found */
  MOST_TILES = 4096,            /* a copy of more takes more time than the answer is worth */
  LOOK_CYCLES = 1 << 19,        /* to the first look of a run; it takes as long as some thousand */
};

/* What decides what a tile's main thread does next, besides memory. */
typedef struct {
  Registers registers;
  uint64_t active, blocked;     /* tasks */
  uint64_t wait;                /* cycles to its next instruction, or to the choice of a task */
  uint16_t pc;
  uint8_t paused;               /* microthreads */
  uint8_t task, task_id;        /* what runs or ran last: the next local task follows from it */
  bool running;
} Standing;

/* A main thread on its way back to where it was. */
typedef struct {
  EndlessLoop loop;
  Standing from;                /* where the round began */
  uint8_t *memory;              /* from then, taken at the first store; NULL: none so far */
  bool has_ended_task;          /* a task of the round has come to its end */
  bool is_back;
} Round;

static void endless_free_loop(EndlessLoop *loop)
{
  arrfree(loop->registers);
  arrfree(loop->variables);
}

void endless_free(EndlessLoop *loops)
{
  for (size_t i = 0; i < arrlenu(loops); i++)
    endless_free_loop(&loops[i]);
  arrfree(loops);
}

/* ---- what else can happen -------------------------------------------------------------------- */

/* Its main thread runs, or a task is about to start. */
static bool is_at_work(const Tile *t)
{
  return t->running ? !(t->vectors >> MAIN_THREAD & 1)
                    : t->mem.cls && tile_next_local(t) >= 0;
}

/* Something of the tile is due by itself. */
static bool is_due(Engine *engine, uint32_t tile, const Tile *t)
{
  const HostPort *host = engine->ops->host(engine, tile, false);
  return t->launch_pending || t->pending_due != NEVER ||
         (host && host_words_due(&host->posted, engine->ops->cycle(engine)) != NEVER);
}

/* What changes if anything does besides scalar instructions and starts of tasks. */
static bool has_moved(const EngineStats *before, const EngineStats *now)
{
  return now->groups != before->groups || now->wavelets != before->wavelets ||
         memcmp(now->hops, before->hops, sizeof now->hops) != 0;
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Tiles begin at different instructions of equal loops, so the lists are in order of addresses. */
static void add_register(EndlessLoop *loop, uint16_t address)
{
  size_t at = 0;
  while (at < arrlenu(loop->registers) && loop->registers[at] < address)
    at++;
  if (at == arrlenu(loop->registers) || loop->registers[at] != address)
    arrins(loop->registers, at, address);
}

static void add_variable(EndlessLoop *loop, const ImageSymbol *variable)
{
  size_t at = 0;
  while (at < arrlenu(loop->variables) && loop->variables[at]->address < variable->address)
    at++;
  if (at == arrlenu(loop->variables) || loop->variables[at] != variable)
    arrins(loop->variables, at, variable);
}

/* False: its value comes from the time or from chance, which are no part of a round. */
static bool reads_register(EndlessLoop *loop, uint32_t address)
{
  const ConfigRegInfo *reg = config_reg_at((uint16_t)address);
  if (!reg)
    return false;
  switch ((int)reg->address) {
  case CFG_TSC_COUNTER: case CFG_PERF_COUNTER: case CFG_PRNG_STATE: return false;
  default: add_register(loop, (uint16_t)address); return true;
  }
}

static bool reads_or_stores(Engine *engine, Round *round, const MemoryAccess *access)
{
  const ClassCode *cls = program_class(engine->program, round->loop.tile);
  if (access->address >= PE_MEM_BYTES)      /* a register, which has an address there, too */
    return !access->store && reads_register(&round->loop, access->address / 2);
  if (!access->store) {
    const ImageSymbol *variable = class_object(cls, access->address);
    if (variable)
      add_variable(&round->loop, variable);
  } else if (!round->memory) {
    round->memory = base_malloc(PE_MEM_BYTES);
    return engine->ops->mem_read(engine, round->loop.tile, 0, round->memory, PE_MEM_BYTES);
  }
  return true;
}

/* Whether the instruction, which comes next, only makes registers, memory and the state of tasks of
 * what these and the configuration hold. */
static bool notes_instruction(Engine *engine, Round *round, const Tile *t)
{
  const Insn *insn = class_insn(program_class(engine->program, round->loop.tile), t->pc);
  MemoryAccess access = {0};
  if (!insn)
    return false;
  switch ((int)insn->op) {
  case OP_ldcfgi: return reads_register(&round->loop, insn->imm);
  case OP_ldcfg: return reads_register(&round->loop, t->regs.r[insn->b]);
  case OP_act: case OP_acti: case OP_blk: case OP_blki: case OP_unblk: case OP_unblki: return true;
  case OP_endtask: round->has_ended_task = true; return true;
  case OP_prng: return false;
  default: break;
  }
  switch (insn_info[insn->op].cost) {
  case COST_LOAD: case COST_STORE:
    return scalar_access(insn, &t->regs, &access) && reads_or_stores(engine, round, &access);
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV: case COST_JUMP:
  case COST_BRANCH: case COST_RETURN:
    return true;
  case COST_CALL:
    access = (MemoryAccess){.store = true};
    return reads_or_stores(engine, round, &access);
  case COST_ENDTASK: case COST_DSR_LOAD: case COST_DSR_UPDATE: case COST_VECTOR: case COST_CONFIG:
  case COST_COUNTER: case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

static bool registers_equal(const Registers *a, const Registers *b)
{
  return memcmp(a->r, b->r, sizeof a->r) == 0 && a->carry == b->carry &&
         a->vector_carry == b->vector_carry && a->vstat == b->vstat && a->traps == b->traps;
}

static bool memory_is_back(Engine *engine, const Round *round)
{
  uint8_t *now = round->memory ? base_malloc(PE_MEM_BYTES) : NULL;
  bool same = !now || (engine->ops->mem_read(engine, round->loop.tile, 0, now, PE_MEM_BYTES) &&
                       memcmp(now, round->memory, PE_MEM_BYTES) == 0);
  free(now);
  return same;
}

static Standing place_of(const Engine *engine, const Tile *t)
{
  uint64_t now = engine->ops->cycle(engine);
  return (Standing){.registers = t->regs, .active = t->active, .blocked = t->blocked,
                    .wait = t->ready > now ? t->ready - now : 0, .pc = t->pc,
                    .paused = t->paused, .task = t->task, .task_id = t->task_id,
                    .running = t->running};
}

static bool places_equal(const Standing *a, const Standing *b)
{
  return a->pc == b->pc && a->wait == b->wait && a->running == b->running && a->task == b->task &&
         a->task_id == b->task_id && a->active == b->active && a->blocked == b->blocked &&
         a->paused == b->paused && registers_equal(&a->registers, &b->registers);
}

/* Between two cycles: takes in what the main thread does next; false: the round is none. */
static bool takes_in(Engine *engine, Round *round, const Tile *t, uint64_t wait)
{
  if (!is_at_work(t))
    return false;
  if (!t->running)
    return true;
  if (round->has_ended_task && t->task != TASK_LOCAL)
    return false;                       /* a wavelet has started it, and is gone */
  return wait || notes_instruction(engine, round, t);
}

/* Looks at the tile between two cycles; false: the round is none. */
static bool goes_on(Engine *engine, Round *round)
{
  const Tile *t = engine->ops->tile(engine, round->loop.tile, false);
  Standing at = place_of(engine, t);
  if (round->has_ended_task && t->running)
    round->loop.tasks |= UINT64_C(1) << t->task_id;
  round->is_back = places_equal(&at, &round->from) && memory_is_back(engine, round);
  return round->is_back || takes_in(engine, round, t, at.wait);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The main threads at work; NULL: none, or something else is due. */
static Round *begin_rounds(Engine *engine)
{
  Round *rounds = NULL;
  for (uint32_t tile = 0; tile < engine->program->n_tiles; tile++) {
    const Tile *t = engine->ops->touched(engine, tile) ? engine->ops->tile(engine, tile, false)
                                                       : NULL;
    if (t && is_due(engine, tile, t)) {
      arrfree(rounds);
      return NULL;
    }
    if (!t || !is_at_work(t))
      continue;
    arrput(rounds, ((Round){.loop = {.tile = tile}, .from = place_of(engine, t),
                            .has_ended_task = !t->running}));
  }
  return rounds;
}

static bool step_rounds(Engine *engine, Round *rounds, const EngineStats *before)
{
  bool all_back = false;
  for (size_t i = 0; i < arrlenu(rounds); i++)
    if (!takes_in(engine, &rounds[i], engine->ops->tile(engine, rounds[i].loop.tile, false),
                  rounds[i].from.wait))
      return false;
  for (unsigned step = 0; step < ROUND_CYCLES && !all_back; step++) {
    uint64_t now = engine->ops->cycle(engine);
    if (engine->ops->run(engine, now + 1) != RUN_LIMIT ||
        has_moved(before, engine->ops->stats(engine)))
      return false;
    all_back = true;
    for (size_t i = 0; i < arrlenu(rounds); i++) {
      if (!rounds[i].is_back && !goes_on(engine, &rounds[i]))
        return false;
      all_back &= rounds[i].is_back;
    }
  }
  return all_back;
}

/* Wavelets in the input queues. */
static unsigned queued_at(const InspectTile *state)
{
  unsigned n = 0;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    n += state->input[q].count;
  return n;
}

/* The wavelets in input queues, and those that have come there since the start, of all tiles. */
typedef struct { uint64_t queued, seen; } Arrivals;

static Arrivals arrivals_of(Engine *engine)
{
  Arrivals sum = {0};
  InspectTile state;
  for (uint32_t tile = 0; tile < engine->program->n_tiles; tile++) {
    if (!engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &state);
    sum.queued += queued_at(&state);
    sum.seen += state.wavelets_seen;
  }
  return sum;
}

/* Nothing has moved since `stats` and `before`, and nothing moves for a while: what is on its way
 * may take longer than the shortest rounds. */
static bool stays_still(Engine *engine, const EngineStats *stats, Arrivals before)
{
  uint64_t limit = engine->ops->cycle(engine) + ROUND_CYCLES;
  RunStatus status = engine->ops->run(engine, limit);
  Arrivals now = arrivals_of(engine);
  return status == RUN_LIMIT && !has_moved(stats, engine->ops->stats(engine)) &&
         now.queued == before.queued && now.seen == before.seen;
}

static bool has_few_tiles(const Engine *engine)
{
  unsigned n = 0;
  for (uint32_t tile = 0; tile < engine->program->n_tiles && n <= MOST_TILES; tile++)
    n += engine->ops->touched(engine, tile);
  return n <= MOST_TILES;
}

EndlessLoop *endless_find(Engine *engine, bool *is_still)
{
  EndlessLoop *loops = NULL;
  *is_still = false;
  if (!has_few_tiles(engine))
    return NULL;
  Snapshot *state = snapshot_take(engine, NULL);
  Engine *copy = engine->ops->create(engine->program, &(EngineOptions){.check = CHECK_OFF});
  snapshot_restore(state, copy);
  snapshot_free(state);
  EngineStats before = *copy->ops->stats(copy);
  Arrivals arrivals = arrivals_of(copy);
  Round *rounds = begin_rounds(copy);
  bool is_endless = arrlenu(rounds) && step_rounds(copy, rounds, &before);
  *is_still = arrlenu(rounds) && stays_still(copy, &before, arrivals);
  for (size_t i = 0; i < arrlenu(rounds); i++) {
    free(rounds[i].memory);
    if (is_endless && *is_still)
      arrput(loops, rounds[i].loop);
    else
      endless_free_loop(&rounds[i].loop);
  }
  arrfree(rounds);
  copy->ops->destroy(copy);
  return loops;
}

/* ---- when to look ---------------------------------------------------------------------------- */

uint64_t endless_watch_due(EndlessWatch *watch, const Engine *engine)
{
  uint64_t now = engine->ops->cycle(engine);
  if (!watch->due)
    *watch = (EndlessWatch){.due = now + LOOK_CYCLES, .wait = LOOK_CYCLES,
                            .stats = *engine->ops->stats(engine)};
  return watch->due > now ? watch->due : now + 1;
}

EndlessLoop *endless_watch_look(EndlessWatch *watch, const Engine *engine, Engine *shown)
{
  const EngineStats *stats = engine->ops->stats(engine);
  bool moves = has_moved(&watch->stats, stats), is_still;
  watch->stats = *stats;
  watch->due = engine->ops->cycle(engine) + (moves ? LOOK_CYCLES : watch->wait);
  watch->wait = moves ? LOOK_CYCLES : 2 * watch->wait;
  return moves ? NULL : endless_find(shown, &is_still);
}
