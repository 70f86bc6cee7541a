/* Ranks: a process that serves process 0. */
#include "emu/ranks/ranks_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

typedef struct {
  Arena *arena;                 /* of the program */
  Program *program;
  RankPeers peers;
  TraceSink trace;
  Engine *engine;               /* NULL: process 0 has none */
  unsigned char *answer;        /* stb_ds */
} Servant;

/* Process 0 prints, and reports events. */
static void leave_byte(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  (void)context, (void)cycle, (void)tile, (void)byte;
}

static void leave_event(TraceSink *sink, const TraceEvent *event) { (void)sink, (void)event; }

static void make_engine(Servant *s, const RankProgram *from)
{
  s->trace = from->trace;
  s->trace.event = leave_event;
  uint32_t *cuts = rank_cuts_make(s->program);
  rank_peers_init(&s->peers, cuts);
  arrfree(cuts);
  EngineOptions options = {.check = from->check, .checks = from->checks,
                           .threads = from->threads, .shuffle = from->shuffle,
                           .block = from->block, .trace = from->traced ? &s->trace : NULL,
                           .print = from->prints ? leave_byte : NULL, .peers = &s->peers.peers};
  s->engine = engine_fast.create(s->program, &options);
}

static void create(Servant *s, const unsigned char *bytes, size_t n_bytes)
{
  RankProgram from;
  const char *reason = NULL;
  memcpy(&from, bytes, sizeof from);
  s->arena = arena_create("program");
  const Image *image = image_read(bytes + sizeof from, n_bytes - sizeof from, s->arena, &reason);
  s->program = image ? program_load(image, &from.timing, s->arena, &reason) : NULL;
  if (!s->program)
    ICE("a process cannot load the image that process 0 has: %s", reason ? reason : "unknown");
  s->program->check_reads = from.check_reads;
  if (from.checks_memory)
    program_check_memory(s->program);
  s->program->host_out_colors = from.host_out_colors;
  make_engine(s, &from);
}

static void destroy(Servant *s)
{
  if (!s->engine)
    return;
  engine_fast.destroy(s->engine);
  rank_peers_free(&s->peers);
  arena_destroy(s->arena);
  s->engine = NULL;
}

static void add_answer(Servant *s, const void *bytes, size_t n_bytes)
{
  if (n_bytes)
    memcpy(arraddnptr(s->answer, n_bytes), bytes, n_bytes);
}

static void answer_bool(Servant *s, bool value) { add_answer(s, &(unsigned char){value}, 1); }

/* A tile may be in the list more than once: the first time takes all its words. */
static void answer_sent_words(Servant *s)
{
  for (size_t i = 0; i < arrlenu(s->peers.sent); i++) {
    HostPort *host = engine_fast.host(s->engine, s->peers.sent[i], false);
    for (size_t k = 0; k < arrlenu(host->sent); k++)
      add_answer(s, &(SentWord){s->peers.sent[i], host->sent[k]}, sizeof(SentWord));
    arrsetlen(host->sent, 0);
  }
  arrsetlen(s->peers.sent, 0);
}

static void answer_facts(Servant *s)
{
  uint32_t width = s->program->image->width;
  for (uint32_t t = s->peers.peers.first_row * width; t < s->peers.peers.end_row * width; t++) {
    uint32_t fact = engine_fast.touched(s->engine, t) ? FACT_TOUCHED : 0;
    fact |= engine_fast.unblock_count(s->engine, t) << FACT_UNBLOCKS_SHIFT;
    add_answer(s, &fact, sizeof fact);
  }
}

static void answer_tiles(Servant *s, const Ask *ask)
{
  for (uint32_t i = 0; i < ask->a; i++) {
    InspectRecord record = inspect_record_make(s->engine, ask->tile + i);
    add_answer(s, &record, sizeof record);
  }
}

static void answer_read(Servant *s, const Ask *ask)
{
  unsigned char *bytes = base_malloc(ask->b + 1);
  if (engine_fast.mem_read(s->engine, ask->tile, (uint32_t)ask->a, bytes, (uint32_t)ask->b))
    add_answer(s, bytes, ask->b);
  free(bytes);
}

static void run(Servant *s, const Ask *ask, const unsigned char *bytes)
{
  RunPart part;
  memcpy(&part, bytes, sizeof part);
  s->engine->continues = part.continues;
  s->engine->begun = part.begun;
  s->program->host_out_colors = (uint32_t)ask->b;
  engine_fast.run(s->engine, ask->a);
  answer_sent_words(s);
}

/* ---- states ----------------------------------------------------------------------------- */

static void answer_totals(Servant *s)
{
  EngineTotals totals;
  memset(&totals, 0, sizeof totals);
  engine_fast.keeper->totals_out(s->engine, &totals);
  totals_put(&totals, &s->answer);
  totals_free(&totals);
}

static void set_totals(Servant *s, const Ask *ask, const unsigned char *bytes)
{
  EngineTotals totals;
  StateReader in = {bytes, bytes + ask->n_bytes, false};
  s->program->host_out_colors = (uint32_t)ask->b;
  if (!totals_get(&totals, s->program, &in))
    ICE("process 0 sends what no state is");
  engine_fast.keeper->totals_in(s->engine, &totals);
  totals_free(&totals);
}

static void answer_tile_in(Servant *s, const Ask *ask, const unsigned char *bytes)
{
  StateReader in = {bytes, bytes + ask->n_bytes, false};
  answer_bool(s, engine_fast.keeper->tile_in(s->engine, ask->tile, &in) && in.at == in.end);
}

/* Returns whether an answer is expected. */
static bool serve(Servant *s, const Ask *ask, const unsigned char *bytes)
{
  const Registers *registers;
  switch ((AskKind)ask->kind) {
  case ASK_CREATE: create(s, bytes, ask->n_bytes); return false;
  case ASK_DESTROY: case ASK_LEAVE: destroy(s); return false;
  case ASK_SKIP: engine_fast.skip_to(s->engine, ask->a); return false;
  case ASK_PHASE: engine_fast.phase_begin(s->engine); return false;
  case ASK_POST:
    engine_fast.post(s->engine, ask->tile, (unsigned)(ask->a >> 32), (uint32_t)ask->a, ask->b);
    return false;
  case ASK_RUN: run(s, ask, bytes); return true;
  case ASK_LAUNCH:
    answer_bool(s, engine_fast.launch(s->engine, ask->tile, (uint16_t)ask->a));
    return true;
  case ASK_WRITE:
    answer_bool(s, engine_fast.mem_write(s->engine, ask->tile, (uint32_t)ask->a, bytes,
                                         (uint32_t)ask->n_bytes));
    return true;
  case ASK_READ: answer_read(s, ask); return true;
  case ASK_REGISTERS:
    registers = engine_fast.registers(s->engine, ask->tile);
    add_answer(s, registers, registers ? sizeof *registers : 0);
    return true;
  case ASK_INSPECT: answer_tiles(s, ask); return true;
  case ASK_FACTS: answer_facts(s); return true;
  case ASK_STATS: add_answer(s, engine_fast.stats(s->engine), sizeof(EngineStats)); return true;
  case ASK_TOTALS: answer_totals(s); return true;
  case ASK_TOTALS_IN: set_totals(s, ask, bytes); return false;
  case ASK_TILE_OUT: engine_fast.keeper->tile_out(s->engine, ask->tile, &s->answer); return true;
  case ASK_TILE_IN: answer_tile_in(s, ask, bytes); return true;
  }
  ICE("process 0 asks for what no process can do: %u", ask->kind);
}

int ranks_serve(void)
{
  Servant s = {0};
  unsigned char *message = NULL;
  for (bool leaves = false; !leaves;) {
    ranks_transport()->receive(0, &message);
    Ask ask;
    const unsigned char *bytes;
    for (size_t at = 0; ask_take(message, &at, &ask, &bytes); leaves |= ask.kind == ASK_LEAVE) {
      arrsetlen(s.answer, 0);
      if (serve(&s, &ask, bytes))
        ranks_transport()->send(0, s.answer, arrlenu(s.answer));
    }
  }
  arrfree(s.answer);
  arrfree(message);
  ranks_leave();
  return 0;
}
