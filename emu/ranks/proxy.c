/* Ranks: the engine of process 0, which stands for the engines of all processes.
 *
 * What the host gives to tiles of others waits in a message until an answer is needed or a run
 * starts.  What others say of their tiles is kept until something may have changed.
 *
 * The tiles of an engine are dealt out to all processes by rows, or all of them are of one process,
 * its home. */
#include "emu/ranks/ranks_internal.h"
#include "emu/reference/reference.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum {
  MESSAGE_MOST = 1 << 20,       /* bytes that wait */
  VIEW_TILES = 64, VIEWS = 64,  /* tiles shown at once, and how many such blocks are kept */
};

/* Tiles of another process, as inspected since the last change. */
typedef struct { uint32_t first, count; InspectRecord *tiles; } TilesView;

typedef struct {
  Engine base;
  EngineOps table;              /* engine_ranks with the name of the engine that runs */
  uint32_t number;              /* of the engine, in messages */
  unsigned home;                /* the process with all of its tiles; 0: each has some */
  Engine *own;                  /* the fast engine of this process; NULL: it has a home */
  RankPeers peers;
  uint32_t *cuts;               /* stb_ds */
  bool links_are_new;           /* the home does not have the gates as they are */
  bool runs;                    /* ranks_begin has started a run that has not been waited for */
  unsigned char *answer;        /* stb_ds: the last one */
  uint32_t *facts;              /* by tile; NULL: to be asked for */
  HostPort **ports;             /* by tile: words that others' tiles have sent */
  TilesView views[VIEWS];
  unsigned next_view;
  Registers registers;          /* the last that were asked for */
  EngineStats stats;
} RankEngine;

static const char *image_bytes; /* of the next engine */
static size_t n_image_bytes;
static bool *taken;             /* stb_ds: by number, there is such an engine */
static unsigned char **waiting; /* stb_ds: by process, what has not been sent yet */

bool ranks_are_busy(void)
{
  for (size_t i = 0; i < arrlenu(taken); i++)
    if (taken[i])
      return true;
  return false;
}

static uint32_t take_number(void)
{
  size_t number = 0;
  while (number < arrlenu(taken) && taken[number])
    number++;
  if (number == arrlenu(taken))
    arrput(taken, true);
  taken[number] = true;
  return (uint32_t)number;
}

void ranks_offer_image(const char *bytes, size_t n_bytes)
{
  image_bytes = bytes;
  n_image_bytes = n_bytes;
}

/* ---- asking ------------------------------------------------------------------------------- */

static unsigned owner_of(const RankEngine *e, uint32_t tile)
{
  uint32_t row = tile / e->base.program->image->width;
  unsigned owner = 0;
  while (!e->home && row >= e->cuts[owner + 1])
    owner++;
  return e->home ? e->home : owner;
}

static bool is_own(const RankEngine *e, uint32_t tile)
{
  return !e->home && (tile >= e->base.program->n_tiles || owner_of(e, tile) == 0);
}

/* The other process has a part of the engine. */
static bool takes_part(const RankEngine *e, unsigned process)
{
  return e->home ? process == e->home : process > 0;
}

static void send_waiting(unsigned to)
{
  if (to < arrlenu(waiting) && arrlenu(waiting[to])) {
    ranks_transport()->send(to, waiting[to], arrlenu(waiting[to]));
    arrsetlen(waiting[to], 0);
  }
}

static void send_all_waiting(void)
{
  for (unsigned i = 1; i < ranks_count(); i++)
    send_waiting(i);
}

static void put_ask(const RankEngine *e, unsigned to, Ask ask, const void *bytes)
{
  while (arrlenu(waiting) <= to)
    arrput(waiting, NULL);
  ask.engine = e->number;
  ask_put(&waiting[to], ask, bytes);
}

static void ask_later(RankEngine *e, unsigned to, Ask ask, const void *bytes)
{
  put_ask(e, to, ask, bytes);
  if (arrlenu(waiting[to]) > MESSAGE_MOST)
    send_waiting(to);
}

static void ask_all_later(RankEngine *e, Ask ask, const void *bytes)
{
  for (unsigned i = 1; i < ranks_count(); i++)
    if (takes_part(e, i))
      ask_later(e, i, ask, bytes);
}

/* e->answer becomes the answer. */
static void ask_now(RankEngine *e, unsigned to, Ask ask, const void *bytes)
{
  put_ask(e, to, ask, bytes);
  send_waiting(to);
  ranks_transport()->receive(to, &e->answer);
}

static bool ask_for_bool(RankEngine *e, uint32_t tile, Ask ask, const void *bytes)
{
  ask_now(e, owner_of(e, tile), ask, bytes);
  return e->answer[0];
}

/* Tiles may have changed: what others have said of them is no longer true. */
static void forget(RankEngine *e)
{
  free(e->facts);
  e->facts = NULL;
  for (unsigned i = 0; i < VIEWS; i++) {
    free(e->views[i].tiles);
    e->views[i] = (TilesView){0};
  }
}

/* The engine's own state is that of the own part, which knows all findings and the cycle. */
static void follow(RankEngine *e)
{
  if (!e->own)
    return;
  e->base.cycle = e->own->cycle;
  e->base.stopped = e->own->stopped;
}

/* ---- creation ----------------------------------------------------------------------------- */

static RankProgram program_to_send(const RankEngine *e)
{
  const EngineOptions *o = &e->base.options;
  RankProgram to;
  memset(&to, 0, sizeof to);
  to.timing = e->base.program->timing;
  to.host_out_colors = e->base.program->host_out_colors;
  to.check_reads = e->base.program->check_reads;
  to.checks_memory = e->base.program->memory_facts != NULL;
  to.prints = o->print != NULL;
  to.check = o->check;
  to.checks = o->checks;
  to.alone = e->home != 0;
  to.linked = o->links != NULL;
  to.is_reference = o->home.ops == &engine_reference;
  to.threads = o->threads;
  to.process_threads = o->home.threads;
  to.block = o->block;
  to.shuffle = o->shuffle;
  to.traced = o->trace != NULL;
  if (o->trace) {
    to.trace = *o->trace;
    to.trace.event = NULL;      /* pointers of this process */
    to.trace.context = NULL;
  }
  return to;
}

static void create_others(RankEngine *e)
{
  RankProgram to = program_to_send(e);
  unsigned char *bytes = NULL;
  state_put(&bytes, &to, sizeof to);
  if (to.linked)
    links_put(e->base.options.links, &bytes);
  state_put(&bytes, image_bytes, n_image_bytes);
  ask_all_later(e, (Ask){.kind = ASK_CREATE, .n_bytes = arrlenu(bytes)}, bytes);
  send_all_waiting();
  arrfree(bytes);
}

/* The process runs some rows, or has none of the tiles. */
static void create_own(RankEngine *e)
{
  EngineOptions own = e->base.options;
  if (e->home)
    return;
  e->cuts = rank_cuts_make(e->base.program);
  rank_peers_init(&e->peers, e->cuts);
  own.peers = &e->peers.peers;
  e->own = engine_fast.create(e->base.program, &own);
}

static Engine *rank_create(Program *program, const EngineOptions *options)
{
  RankEngine *e = base_zeroed(1, sizeof *e);
  e->table = engine_ranks;
  e->base = (Engine){.ops = &e->table, .program = program, .options = *options};
  e->home = options->home.process;
  if (e->home)
    e->table.name = options->home.ops->name;
  e->number = take_number();
  e->ports = base_zeroed(program->n_tiles + 1, sizeof *e->ports);
  create_others(e);
  create_own(e);
  return &e->base;
}

static void rank_destroy(Engine *base)
{
  RankEngine *e = (RankEngine *)base;
  ask_all_later(e, (Ask){.kind = ASK_DESTROY}, NULL);
  send_all_waiting();
  if (e->own)
    engine_fast.destroy(e->own);
  taken[e->number] = false;
  forget(e);
  for (uint32_t t = 0; t < base->program->n_tiles; t++) {
    if (e->ports[t])
      host_port_free(e->ports[t]);
    free(e->ports[t]);
  }
  rank_peers_free(&e->peers);
  arrfree(e->cuts);
  arrfree(e->answer);
  arrfree(base->faults);
  free(e->ports);
  free(e);
}

/* ---- runs --------------------------------------------------------------------------------- */

/* For what a tile of another process has sent. */
static HostPort *port_of(RankEngine *e, uint32_t tile)
{
  if (!e->ports[tile]) {
    e->ports[tile] = base_malloc(sizeof(HostPort));
    *e->ports[tile] = (HostPort){0};
  }
  return e->ports[tile];
}

static void take_sent_word(RankEngine *e, SentWord sent)
{
  arrput(port_of(e, sent.tile)->sent, sent.word);
}

static void take_sent_words(RankEngine *e)
{
  for (size_t at = 0; at < arrlenu(e->answer); at += sizeof(SentWord)) {
    SentWord sent;
    memcpy(&sent, e->answer + at, sizeof sent);
    take_sent_word(e, sent);
  }
}

/* All processes with a part of it run it together. */
static RunStatus run_together(RankEngine *e, uint64_t limit)
{
  Engine *base = &e->base;
  RunPart part = {base->begun, base->continues};
  e->own->continues = part.continues;
  e->own->begun = part.begun;
  ask_all_later(e, (Ask){.kind = ASK_RUN, .a = limit, .b = base->program->host_out_colors,
                         .n_bytes = sizeof part}, &part);
  send_all_waiting();
  RunStatus status = engine_fast.run(e->own, limit);
  arrsetlen(e->peers.sent, 0);  /* own tiles keep their words */
  for (unsigned i = 1; i < ranks_count(); i++) {
    ranks_transport()->receive(i, &e->answer);
    take_sent_words(e);
  }
  follow(e);
  return status;
}

/* The home gets all of the gates, or only what is new there. */
static void put_run(RankEngine *e, uint64_t limit)
{
  EngineLinks *links = e->base.options.links;
  unsigned char *bytes = NULL;
  if (e->links_are_new) {
    links_put(links, &bytes);
    put_ask(e, e->home, (Ask){.kind = ASK_LINKS, .n_bytes = arrlenu(bytes)}, bytes);
    links_are_told(links);
    e->links_are_new = false;
  }
  arrsetlen(bytes, 0);
  if (links)
    links_news_put(links, &bytes);
  put_ask(e, e->home, (Ask){.kind = ASK_RUN_ALONE, .a = limit, .n_bytes = arrlenu(bytes),
                            .b = e->base.program->host_out_colors}, bytes);
  arrfree(bytes);
  e->runs = true;
}

/* All that wait for a process are in one message, so that its threads can share them. */
static void begin_runs(Engine *const *engines, size_t n, uint64_t limit)
{
  for (size_t i = 0; i < n; i++)
    put_run((RankEngine *)engines[i], limit);
  send_all_waiting();
}

EngineHomes ranks_homes(void) { return (EngineHomes){ranks_count(), begin_runs}; }

static void take_note(const Engine *base, const RankNote *note)
{
  const EngineOptions *o = &base->options;
  if (note->is_event)
    o->trace->event(o->trace, &note->event);
  else
    o->print(o->print_context, note->print.cycle, note->print.tile, note->print.byte);
}

/* What the home says is so here, too, and observers get what has happened. */
static RunStatus take_report(RankEngine *e, AloneReport *report)
{
  Engine *base = &e->base;
  base->cycle = report->cycle;
  base->last_change = report->last_change;
  base->stopped = report->stopped;
  base->quiet = report->quiet;
  arrfree(base->faults);
  base->faults = report->faults;
  report->faults = NULL;
  for (size_t i = 0; i < arrlenu(report->notes); i++)
    take_note(base, &report->notes[i]);
  for (size_t i = 0; i < arrlenu(report->sent); i++)
    take_sent_word(e, report->sent[i]);
  return report->status;
}

static RunStatus run_at_home(RankEngine *e, uint64_t limit)
{
  if (!e->runs)
    begin_runs(&(Engine *){&e->base}, 1, limit);
  e->runs = false;
  ranks_transport()->receive(e->home, &e->answer);
  StateReader in = {e->answer, e->answer + arrlenu(e->answer), false};
  AloneReport report = alone_report_get(&in);
  if (e->base.options.links)
    links_deeds_get(e->base.options.links, &in);
  if (in.bad || in.at != in.end)
    ICE("process %u says what no run does", e->home);
  RunStatus status = take_report(e, &report);
  alone_report_free(&report);
  return status;
}

static RunStatus rank_run(Engine *base, uint64_t limit)
{
  RankEngine *e = (RankEngine *)base;
  forget(e);
  return e->home ? run_at_home(e, limit) : run_together(e, limit);
}

static void rank_skip_to(Engine *base, uint64_t cycle)
{
  RankEngine *e = (RankEngine *)base;
  ask_all_later(e, (Ask){.kind = ASK_SKIP, .a = cycle}, NULL);
  if (e->own)
    engine_fast.skip_to(e->own, cycle);
  else
    base->cycle = cycle;
  follow(e);
}

static void rank_phase_begin(Engine *base)
{
  RankEngine *e = (RankEngine *)base;
  ask_all_later(e, (Ask){.kind = ASK_PHASE}, NULL);
  if (e->own)
    engine_fast.phase_begin(e->own);
}

static const Fault *rank_faults(const Engine *base, size_t *count)
{
  const RankEngine *e = (const RankEngine *)base;
  return e->own ? engine_fast.faults(e->own, count) : engine_faults(base, count);
}

static const EngineStats *rank_stats(const Engine *base)
{
  RankEngine *e = (RankEngine *)(uintptr_t)base;
  e->stats = e->own ? *engine_fast.stats(e->own) : (EngineStats){.first_event = NEVER};
  for (unsigned i = 1; i < ranks_count(); i++) {
    EngineStats add;
    if (!takes_part(e, i))
      continue;
    ask_now(e, i, (Ask){.kind = ASK_STATS}, NULL);
    memcpy(&add, e->answer, sizeof add);
    engine_stats_add(&e->stats, &add);
  }
  return &e->stats;
}

/* ---- the host's ways to a tile ------------------------------------------------------------ */

static bool rank_mem_read(Engine *base, uint32_t tile, uint32_t address, void *to, uint32_t bytes)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile))
    return engine_fast.mem_read(e->own, tile, address, to, bytes);
  ask_now(e, owner_of(e, tile), (Ask){.kind = ASK_READ, .tile = tile, .a = address, .b = bytes},
          NULL);
  if (arrlenu(e->answer) != bytes)
    return false;
  if (bytes)
    memcpy(to, e->answer, bytes);
  return bytes > 0;
}

static bool rank_mem_write(Engine *base, uint32_t tile, uint32_t address, const void *from,
                           uint32_t bytes)
{
  RankEngine *e = (RankEngine *)base;
  forget(e);
  if (is_own(e, tile))
    return engine_fast.mem_write(e->own, tile, address, from, bytes);
  return ask_for_bool(e, tile, (Ask){.kind = ASK_WRITE, .tile = tile, .a = address,
                                     .n_bytes = bytes}, from);
}

static bool rank_launch(Engine *base, uint32_t tile, uint16_t entry)
{
  RankEngine *e = (RankEngine *)base;
  forget(e);
  if (is_own(e, tile))
    return engine_fast.launch(e->own, tile, entry);
  return ask_for_bool(e, tile, (Ask){.kind = ASK_LAUNCH, .tile = tile, .a = entry}, NULL);
}

static bool rank_post(Engine *base, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile))
    return engine_fast.post(e->own, tile, color, word, cycle);
  if (tile >= base->program->n_tiles || !program_class(base->program, tile) ||
      color >= MAX_COLORS)
    return false;
  ask_later(e, owner_of(e, tile),
            (Ask){.kind = ASK_POST, .tile = tile, .a = (uint64_t)color << 32 | word, .b = cycle},
            NULL);
  return true;
}

static size_t rank_take(Engine *base, uint32_t tile, unsigned color, uint32_t *words,
                        uint64_t *cycles, size_t max)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile))
    return engine_fast.take(e->own, tile, color, words, cycles, max);
  return host_port_take(e->ports[tile], color, words, cycles, max);
}

/* ---- looking at tiles --------------------------------------------------------------------- */

static uint32_t fact_of(RankEngine *e, uint32_t tile)
{
  uint32_t width = e->base.program->image->width;
  if (!e->facts) {
    e->facts = base_malloc((e->base.program->n_tiles + 1) * sizeof *e->facts);
    for (unsigned i = 1; i < ranks_count(); i++) {
      if (!takes_part(e, i))
        continue;
      ask_now(e, i, (Ask){.kind = ASK_FACTS}, NULL);
      if (arrlenu(e->answer))
        memcpy(&e->facts[e->home ? 0 : e->cuts[i] * width], e->answer, arrlenu(e->answer));
    }
  }
  return e->facts[tile];
}

static bool rank_touched(const Engine *base, uint32_t tile)
{
  RankEngine *e = (RankEngine *)(uintptr_t)base;
  return is_own(e, tile) ? engine_fast.touched(e->own, tile) : fact_of(e, tile) & FACT_TOUCHED;
}

static uint32_t rank_unblock_count(Engine *base, uint32_t tile)
{
  RankEngine *e = (RankEngine *)base;
  return is_own(e, tile) ? engine_fast.unblock_count(e->own, tile)
                         : fact_of(e, tile) >> FACT_UNBLOCKS_SHIFT;
}

static const Registers *rank_registers(Engine *base, uint32_t tile)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile))
    return engine_fast.registers(e->own, tile);
  ask_now(e, owner_of(e, tile), (Ask){.kind = ASK_REGISTERS, .tile = tile}, NULL);
  if (!arrlenu(e->answer))
    return NULL;
  memcpy(&e->registers, e->answer, sizeof e->registers);
  return &e->registers;
}

/* Shows tiles from this one on, as many as the process has. */
static const TilesView *view_make(RankEngine *e, uint32_t tile)
{
  uint32_t end = e->home ? e->base.program->n_tiles
                         : e->cuts[owner_of(e, tile) + 1] * e->base.program->image->width;
  TilesView *view = &e->views[e->next_view++ % VIEWS];
  free(view->tiles);
  *view = (TilesView){tile, end - tile < VIEW_TILES ? end - tile : VIEW_TILES, NULL};
  ask_now(e, owner_of(e, tile), (Ask){.kind = ASK_INSPECT, .tile = tile, .a = view->count}, NULL);
  view->tiles = base_malloc(view->count * sizeof *view->tiles);
  memcpy(view->tiles, e->answer, view->count * sizeof *view->tiles);
  for (uint32_t i = 0; i < view->count; i++)
    inspect_record_link(&view->tiles[i]);
  return view;
}

static const TilesView *view_of(RankEngine *e, uint32_t tile)
{
  for (unsigned i = 0; i < VIEWS; i++)
    if (e->views[i].tiles && tile - e->views[i].first < e->views[i].count)
      return &e->views[i];
  return view_make(e, tile);
}

static void rank_inspect(Engine *base, uint32_t tile, InspectTile *out)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile)) {
    engine_fast.inspect(e->own, tile, out);
    return;
  }
  const TilesView *view = view_of(e, tile);
  *out = view->tiles[tile - view->first].tile;
}

static Tile *rank_tile(Engine *base, uint32_t tile, bool touch)
{
  RankEngine *e = (RankEngine *)base;
  return is_own(e, tile) ? engine_fast.tile(e->own, tile, touch) : NULL;
}

static HostPort *rank_host(Engine *base, uint32_t tile, bool create)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile))
    return engine_fast.host(e->own, tile, create);
  return create ? port_of(e, tile) : e->ports[tile];
}

static void rank_wake(Engine *base, uint32_t tile, uint64_t cycle)
{
  (void)base, (void)tile, (void)cycle;
  ICE("tiles are woken by the engine that has them");
}

/* ---- states ------------------------------------------------------------------------------- */

static void totals_of(RankEngine *e, unsigned process, EngineTotals *totals)
{
  ask_now(e, process, (Ask){.kind = ASK_TOTALS}, NULL);
  StateReader in = {e->answer, e->answer + arrlenu(e->answer), false};
  if (!totals_get(totals, e->base.program, &in))
    ICE("a process sends what no state is");
}

static void home_totals_out(RankEngine *e, EngineTotals *totals)
{
  totals_free(totals);
  totals_of(e, e->home, totals);
}

static void rank_totals_out(Engine *base, EngineTotals *totals)
{
  RankEngine *e = (RankEngine *)base;
  if (e->home) {
    home_totals_out(e, totals);
    return;
  }
  engine_fast.keeper->totals_out(e->own, totals);
  for (unsigned i = 1; i < ranks_count(); i++) {
    EngineTotals of_other;
    totals_of(e, i, &of_other);
    engine_stats_add(&totals->stats, &of_other.stats);
    if (of_other.last_change > totals->last_change)
      totals->last_change = of_other.last_change;
    totals_free(&of_other);
  }
}

static void follow_totals(RankEngine *e, const EngineTotals *totals)
{
  Engine *base = &e->base;
  base->cycle = totals->cycle;
  base->last_change = totals->last_change;
  base->stopped = totals->stopped;
  base->quiet = totals->quiet;
  for (size_t i = 0; i < arrlenu(totals->faults); i++)
    arrput(base->faults, totals->faults[i]);
}

/* What has been counted is counted here, or at home. */
static void rank_totals_in(Engine *base, const EngineTotals *totals)
{
  RankEngine *e = (RankEngine *)base;
  unsigned char *bytes = NULL;
  EngineTotals of_others = *totals;
  if (!e->home)
    of_others.stats = (EngineStats){.first_event = NEVER};
  totals_put(&of_others, &bytes);
  ask_all_later(e, (Ask){.kind = ASK_TOTALS_IN, .b = base->program->host_out_colors,
                         .n_bytes = arrlenu(bytes)}, bytes);
  arrfree(bytes);
  e->links_are_new = base->options.links != NULL;
  if (e->own)
    engine_fast.keeper->totals_in(e->own, totals);
  else
    follow_totals(e, totals);
  forget(e);
  follow(e);
}

static void rank_tile_out(Engine *base, uint32_t tile, unsigned char **bytes)
{
  RankEngine *e = (RankEngine *)base;
  if (is_own(e, tile)) {
    engine_fast.keeper->tile_out(e->own, tile, bytes);
    return;
  }
  ask_now(e, owner_of(e, tile), (Ask){.kind = ASK_TILE_OUT, .tile = tile}, NULL);
  state_put(bytes, e->answer, arrlenu(e->answer));
}

/* The process has the row, or one beside it: then it keeps a copy of the tile. */
static bool has_row(const RankEngine *e, unsigned process, uint32_t row)
{
  if (e->home)
    return process == e->home;
  uint32_t first = e->cuts[process], end = e->cuts[process + 1];
  return first < end && row + 1 >= first && row <= end;
}

static bool rank_tile_in(Engine *base, uint32_t tile, StateReader *in)
{
  RankEngine *e = (RankEngine *)base;
  uint32_t row = tile / base->program->image->width;
  StateReader copy = *in;
  size_t n = (size_t)(in->end - in->at);
  bool sound = !has_row(e, 0, row) ||
               (engine_fast.keeper->tile_in(e->own, tile, &copy) && copy.at == copy.end);
  for (unsigned i = 1; i < ranks_count() && sound; i++)
    if (has_row(e, i, row)) {
      ask_now(e, i, (Ask){.kind = ASK_TILE_IN, .tile = tile, .n_bytes = n}, in->at);
      sound = e->answer[0];
    }
  in->at = in->end;
  return sound;
}

static const EngineKeeper rank_keeper = {
  rank_totals_out, rank_totals_in, rank_tile_out, rank_tile_in
};

const EngineOps engine_ranks = {
  .name = "fast",               /* what runs the tiles */
  .create = rank_create,
  .destroy = rank_destroy,
  .run = rank_run,
  .cycle = engine_cycle,
  .skip_to = rank_skip_to,
  .stats = rank_stats,
  .phase_begin = rank_phase_begin,
  .faults = rank_faults,
  .inspect = rank_inspect,
  .touched = rank_touched,
  .registers = rank_registers,
  .mem_read = rank_mem_read,
  .mem_write = rank_mem_write,
  .launch = rank_launch,
  .post = rank_post,
  .take = rank_take,
  .unblock_count = rank_unblock_count,
  .tile = rank_tile,
  .host = rank_host,
  .wake = rank_wake,
  .keeper = &rank_keeper,
};
