/* Ranks: a process that serves process 0. */
#include "emu/ranks/ranks_internal.h"
#include "emu/reference/reference.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

typedef struct {
  Arena *arena;                 /* of the program */
  Program *program;
  RankPeers peers;              /* if it has a part of the fabric */
  EngineLinks links;
  TraceSink trace;
  RankNote *notes;              /* stb_ds: of a fabric that it has alone */
  Engine *engine;
  unsigned char *answer;        /* stb_ds */
} Servant;

/* A run of a fabric that a process has alone. */
typedef struct { Servant *servant; uint64_t limit; RunStatus status; } AloneRun;

/* The process. */
typedef struct {
  Servant **servants;           /* stb_ds: by number of their engine; NULL: there is none */
  AloneRun *runs;               /* stb_ds: asked for in one message */
  unsigned threads;             /* for those */
  WorkCrew *crew;               /* NULL: there was no use for so many yet */
} RankServer;

/* ---- engines ------------------------------------------------------------------------------ */

/* Process 0 prints, and reports events, of parts of a fabric. */
static void leave_byte(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  (void)context, (void)cycle, (void)tile, (void)byte;
}

static void leave_event(TraceSink *sink, const TraceEvent *event) { (void)sink, (void)event; }

/* Process 0 gets those of a whole fabric after each run. */
static void keep_byte(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  RankNote note;
  memset(&note, 0, sizeof note);
  note.print.cycle = cycle, note.print.tile = tile, note.print.byte = byte;
  arrput(((Servant *)context)->notes, note);
}

static void keep_event(TraceSink *sink, const TraceEvent *event)
{
  RankNote note;
  memset(&note, 0, sizeof note);
  note.is_event = true;
  note.event = *event;
  arrput(((Servant *)sink->context)->notes, note);
}

static void make_engine(Servant *s, const RankProgram *from)
{
  s->trace = from->trace;
  s->trace.event = from->alone ? keep_event : leave_event;
  s->trace.context = s;
  EngineOptions options = {.check = from->check, .checks = from->checks,
                           .threads = from->threads, .shuffle = from->shuffle,
                           .block = from->block, .trace = from->traced ? &s->trace : NULL,
                           .links = from->linked ? &s->links : NULL, .print_context = s};
  if (from->prints)
    options.print = from->alone ? keep_byte : leave_byte;
  if (!from->alone) {
    uint32_t *cuts = rank_cuts_make(s->program);
    rank_peers_init(&s->peers, cuts);
    arrfree(cuts);
    options.peers = &s->peers.peers;
  }
  const EngineOps *ops = from->is_reference ? &engine_reference : &engine_fast;
  s->engine = ops->create(s->program, &options);
}

static void load_program(Servant *s, const RankProgram *from, StateReader *in)
{
  const char *reason = NULL;
  s->arena = arena_create("program");
  size_t length = (size_t)(in->end - in->at);
  uint8_t *bytes = memcpy(arena_many(s->arena, uint8_t, length), in->at, length);
  const Image *image = image_read(bytes, length, s->arena, &reason);
  s->program = image ? program_load(image, &from->timing, s->arena, &reason) : NULL;
  if (!s->program)
    ICE("a process cannot load the image that process 0 has: %s", reason ? reason : "unknown");
  s->program->check_reads = from->check_reads;
  if (from->checks_memory)
    program_check_memory(s->program);
  s->program->host_out_colors = from->host_out_colors;
}

static void set_threads(RankServer *server, unsigned threads)
{
  if (threads == server->threads)
    return;
  work_crew_destroy(server->crew);
  server->crew = NULL;
  server->threads = threads;
}

static void create(RankServer *server, uint32_t number, const unsigned char *bytes, size_t n_bytes)
{
  RankProgram from;
  StateReader in = {bytes, bytes + n_bytes, false};
  Servant *s = base_zeroed(1, sizeof *s);
  while (arrlenu(server->servants) <= number)
    arrput(server->servants, NULL);
  server->servants[number] = s;
  state_get(&in, &from, sizeof from);
  if (from.linked && !links_get(&s->links, &in))
    ICE("process 0 sends what no gates are");
  load_program(s, &from, &in);
  make_engine(s, &from);
  if (from.alone)
    set_threads(server, from.process_threads);
}

static void destroy(RankServer *server, uint32_t number)
{
  Servant *s = server->servants[number];
  s->engine->ops->destroy(s->engine);
  rank_peers_free(&s->peers);
  links_free(&s->links);
  arena_destroy(s->arena);
  arrfree(s->notes);
  arrfree(s->answer);
  free(s);
  server->servants[number] = NULL;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void add_answer(Servant *s, const void *bytes, size_t n_bytes)
{
  if (n_bytes)
    memcpy(arraddnptr(s->answer, n_bytes), bytes, n_bytes);
}

static void answer_bool(Servant *s, bool value) { add_answer(s, &(unsigned char){value}, 1); }

/* Appends the words that the tile has sent to the host. */
static void take_sent(Servant *s, uint32_t tile, SentWord **sent)
{
  HostPort *host = s->engine->ops->host(s->engine, tile, false);
  for (size_t k = 0; host && k < arrlenu(host->sent); k++) {
    SentWord one;
    memset(&one, 0, sizeof one);
    one.tile = tile;
    one.word = host->sent[k];
    arrput(*sent, one);
  }
  if (host)
    arrsetlen(host->sent, 0);
}

/* A tile may be in the list more than once: the first time takes all its words. */
static void answer_sent_words(Servant *s)
{
  SentWord *sent = NULL;
  for (size_t i = 0; i < arrlenu(s->peers.sent); i++)
    take_sent(s, s->peers.sent[i], &sent);
  arrsetlen(s->peers.sent, 0);
  add_answer(s, sent, arrlenu(sent) * sizeof *sent);
  arrfree(sent);
}

static void answer_facts(Servant *s)
{
  const EngineOps *ops = s->engine->ops;
  const Peers *part = s->engine->options.peers;
  uint32_t width = s->program->image->width;
  uint32_t end = part ? part->end_row * width : s->program->n_tiles;
  for (uint32_t t = part ? part->first_row * width : 0; t < end; t++) {
    uint32_t fact = ops->touched(s->engine, t) ? FACT_TOUCHED : 0;
    fact |= ops->unblock_count(s->engine, t) << FACT_UNBLOCKS_SHIFT;
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
  if (s->engine->ops->mem_read(s->engine, ask->tile, (uint32_t)ask->a, bytes, (uint32_t)ask->b))
    add_answer(s, bytes, ask->b);
  free(bytes);
}

/* Together with the other processes. */
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

/* ---- runs of fabrics that the process has alone --------------------------------------------- */

/* The run waits for those that the same message asks for. */
static void plan_run(RankServer *server, Servant *s, const Ask *ask, const unsigned char *bytes)
{
  StateReader in = {bytes, bytes + ask->n_bytes, false};
  s->program->host_out_colors = (uint32_t)ask->b;
  if (s->engine->options.links && !links_news_get(&s->links, &in))
    ICE("process 0 sends what no news of links are");
  arrput(server->runs, ((AloneRun){.servant = s, .limit = ask->a}));
}

static void run_alone(void *context, size_t number)
{
  AloneRun *run = &((RankServer *)context)->runs[number];
  Engine *engine = run->servant->engine;
  run->status = engine->ops->run(engine, run->limit);
}

static void answer_report(Servant *s, RunStatus status)
{
  AloneReport report;
  memset(&report, 0, sizeof report);
  report.status = status;
  report.stopped = s->engine->stopped;
  report.quiet = s->engine->quiet;
  report.cycle = s->engine->cycle;
  report.last_change = s->engine->last_change;
  report.faults = s->engine->faults;
  report.notes = s->notes;
  for (uint32_t t = 0; s->program->host_out_colors && t < s->program->n_tiles; t++)
    if (s->engine->ops->touched(s->engine, t))
      take_sent(s, t, &report.sent);
  alone_report_put(&report, &s->answer);
  if (s->engine->options.links)
    links_deeds_put(&s->links, &s->answer);
  arrfree(report.sent);
  arrsetlen(s->notes, 0);
}

static void answer_now(Servant *s)
{
  ranks_transport()->send(0, s->answer, arrlenu(s->answer));
  arrsetlen(s->answer, 0);
}

static void run_planned(RankServer *server)
{
  size_t n = arrlenu(server->runs);
  if (n > 1 && server->threads > 1 && !server->crew)
    server->crew = work_crew_create(server->threads, run_alone, server);
  if (n > 1 && server->crew)
    work_crew_run(server->crew, n);
  else
    for (size_t i = 0; i < n; i++)
      run_alone(server, i);
  for (size_t i = 0; i < n; i++) {
    answer_report(server->runs[i].servant, server->runs[i].status);
    answer_now(server->runs[i].servant);
  }
  arrsetlen(server->runs, 0);
}

static void set_links(Servant *s, const Ask *ask, const unsigned char *bytes)
{
  StateReader in = {bytes, bytes + ask->n_bytes, false};
  if (!links_get(&s->links, &in))
    ICE("process 0 sends what no gates are");
}

static void skip_to(Servant *s, uint64_t cycle)
{
  s->engine->ops->skip_to(s->engine, cycle);
  if (!s->engine->options.peers)
    s->engine->cycle = cycle;
}

/* ---- states ----------------------------------------------------------------------------- */

static void answer_totals(Servant *s)
{
  EngineTotals totals;
  memset(&totals, 0, sizeof totals);
  s->engine->ops->keeper->totals_out(s->engine, &totals);
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
  s->engine->ops->keeper->totals_in(s->engine, &totals);
  totals_free(&totals);
}

static void answer_tile_in(Servant *s, const Ask *ask, const unsigned char *bytes)
{
  StateReader in = {bytes, bytes + ask->n_bytes, false};
  answer_bool(s, s->engine->ops->keeper->tile_in(s->engine, ask->tile, &in) && in.at == in.end);
}

/* ---- serving ------------------------------------------------------------------------------ */

/* Returns whether an answer is expected. */
static bool serve(RankServer *server, const Ask *ask, const unsigned char *bytes)
{
  Servant *s = ask->engine < arrlenu(server->servants) ? server->servants[ask->engine] : NULL;
  Engine *engine = s ? s->engine : NULL;
  const EngineOps *ops = s ? engine->ops : NULL;
  const Registers *registers;
  switch ((AskKind)ask->kind) {
  case ASK_CREATE: create(server, ask->engine, bytes, ask->n_bytes); return false;
  case ASK_DESTROY: destroy(server, ask->engine); return false;
  case ASK_LEAVE: return false;
  case ASK_LINKS: set_links(s, ask, bytes); return false;
  case ASK_RUN_ALONE: plan_run(server, s, ask, bytes); return false;
  case ASK_SKIP: skip_to(s, ask->a); return false;
  case ASK_PHASE: ops->phase_begin(engine); return false;
  case ASK_POST:
    ops->post(engine, ask->tile, (unsigned)(ask->a >> 32), (uint32_t)ask->a, ask->b);
    return false;
  case ASK_RUN: run(s, ask, bytes); return true;
  case ASK_LAUNCH:
    answer_bool(s, ops->launch(engine, ask->tile, (uint16_t)ask->a));
    return true;
  case ASK_WRITE:
    answer_bool(s, ops->mem_write(engine, ask->tile, (uint32_t)ask->a, bytes,
                                  (uint32_t)ask->n_bytes));
    return true;
  case ASK_READ: answer_read(s, ask); return true;
  case ASK_REGISTERS:
    registers = ops->registers(engine, ask->tile);
    add_answer(s, registers, registers ? sizeof *registers : 0);
    return true;
  case ASK_INSPECT: answer_tiles(s, ask); return true;
  case ASK_FACTS: answer_facts(s); return true;
  case ASK_STATS: add_answer(s, ops->stats(engine), sizeof(EngineStats)); return true;
  case ASK_TOTALS: answer_totals(s); return true;
  case ASK_TOTALS_IN: set_totals(s, ask, bytes); return false;
  case ASK_TILE_OUT: ops->keeper->tile_out(engine, ask->tile, &s->answer); return true;
  case ASK_TILE_IN: answer_tile_in(s, ask, bytes); return true;
  }
  ICE("process 0 asks for what no process can do: %u", ask->kind);
}

static void serve_message(RankServer *server, const unsigned char *message, bool *leaves)
{
  Ask ask;
  const unsigned char *bytes;
  for (size_t at = 0; ask_take(message, &at, &ask, &bytes);) {
    if (serve(server, &ask, bytes))
      answer_now(server->servants[ask.engine]);
    *leaves |= ask.kind == ASK_LEAVE;
  }
  run_planned(server);
}

int ranks_serve(void)
{
  RankServer server = {0};
  unsigned char *message = NULL;
  for (bool leaves = false; !leaves;) {
    ranks_transport()->receive(0, &message);
    serve_message(&server, message, &leaves);
  }
  for (uint32_t i = 0; i < arrlenu(server.servants); i++)
    if (server.servants[i])
      destroy(&server, i);
  work_crew_destroy(server.crew);
  arrfree(server.servants);
  arrfree(server.runs);
  arrfree(message);
  ranks_leave();
  return 0;
}
