/* A cluster as it runs: the gates of its wafers, and all engines block by block. */
#include "emu/cluster/cluster_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* ---- gates ----------------------------------------------------------------------------------- */

uint32_t cluster_tile(const Program *program, const ClusterEnd *end)
{
  uint32_t right = program->image->width - 1, low = program->image->height - 1;
  switch (end->edge) {
  case PORT_NORTH: return program_tile(program, end->at, 0);
  case PORT_SOUTH: return program_tile(program, end->at, low);
  case PORT_EAST: return program_tile(program, right, end->at);
  case PORT_WEST: case PORT_RAMP: case PORT_COUNT: default:
    return program_tile(program, 0, end->at);
  }
}

static bool end_fits(const Program *program, const ClusterEnd *end)
{
  bool side = end->edge == PORT_EAST || end->edge == PORT_WEST;
  return end->at < (side ? program->image->height : program->image->width);
}

static const char *end_text(const Cluster *c, const ClusterLink *link, const ClusterEnd *end,
                            Arena *arena)
{
  return arena_printf(arena, "the link '%s' ends at the %s edge of wafer '%s' at %u", link->name,
                      cluster_edge_name(end->edge), c->plan->wafers[end->wafer].name, end->at);
}

/* The router of the gate knows the color. */
static bool color_is_known(const Program *program, const LinkGate *gate, uint8_t color)
{
  uint8_t inside = program_color_inside(program, gate->tile, color, gate->port);
  return program_color(program, gate->tile, inside) != NULL;
}

static bool add_channels(const Cluster *c, const ClusterLink *link, unsigned end,
                         const Program *program, LinkGate *gate, Arena *arena, const char **why)
{
  for (size_t i = 0; i < arrlenu(link->channels); i++) {
    const ClusterChannel *channel = &link->channels[i];
    uint8_t color = channel->colors[end];
    if (!color_is_known(program, gate, color)) {
      *why = arena_printf(arena, "%s, and the router of tile %u,%u has no route for color %u; set "
                          "one with @set_color_config", end_text(c, link, &link->ends[end], arena),
                          program_x(program, gate->tile), program_y(program, gate->tile), color);
      return false;
    }
    if (channel->from == end)
      arrput(gate->outs, ((LinkOut){.color = color, .credits = channel->credits}));
    else
      arrput(gate->ins, ((LinkIn){.color = color}));
  }
  return true;
}

static bool add_gate(const Cluster *c, const ClusterLink *link, unsigned end,
                     const Program *program, EngineLinks *links, Arena *arena, const char **why)
{
  const ClusterEnd *place = &link->ends[end];
  if (!end_fits(program, place)) {
    *why = arena_printf(arena, "%s, but the program has %u x %u tiles",
                        end_text(c, link, place, arena), program->image->width,
                        program->image->height);
    return false;
  }
  LinkGate gate = {.tile = cluster_tile(program, place), .port = place->edge,
                   .rate_num = link->rate_num, .rate_den = link->rate_den};
  bool ok = add_channels(c, link, end, program, &gate, arena, why);
  arrput(links->gates, gate);
  return ok;
}

/* Cycles are common to all wafers, so they are of one machine. */
static bool is_same_machine(const Cluster *c, unsigned wafer, const Program *program, Arena *arena,
                            const char **why)
{
  for (size_t i = 0; i < arrlenu(c->plan->wafers); i++) {
    const Program *other = c->fabrics[i].program;
    if (other && other->machine != program->machine) {
      *why = arena_printf(arena, "the program of wafer '%s' is for %s and that of wafer '%s' for "
                          "%s; compile both with the same --arch",
                          c->plan->wafers[wafer].name, program->machine->name,
                          c->plan->wafers[i].name, other->machine->name);
      return false;
    }
  }
  return true;
}

EngineLinks *cluster_gates(ClusterMember member, const Program *program, Arena *arena,
                           const char **why)
{
  Cluster *c = member.cluster;
  ClusterFabric *fabric = &c->fabrics[member.wafer];
  if (!is_same_machine(c, member.wafer, program, arena, why))
    return NULL;
  for (size_t i = 0; i < arrlenu(c->plan->links); i++) {
    const ClusterLink *link = &c->plan->links[i];
    for (unsigned end = 0; end < 2; end++)
      if (link->ends[end].wafer == member.wafer &&
          !add_gate(c, link, end, program, &fabric->links, arena, why))
        return NULL;
  }
  links_sort(&fabric->links);
  fabric->program = program;
  return &fabric->links;
}

static LinkGate *gate_of(const Cluster *c, const ClusterEnd *end)
{
  const ClusterFabric *fabric = &c->fabrics[end->wafer];
  return links_gate(&fabric->links, cluster_tile(fabric->program, end), end->edge);
}

LinkOut *cluster_out(const Cluster *c, const ClusterLink *link, const ClusterChannel *channel)
{
  LinkGate *gate = gate_of(c, &link->ends[channel->from]);
  for (size_t i = 0; i < arrlenu(gate->outs); i++)
    if (gate->outs[i].color == channel->colors[channel->from])
      return &gate->outs[i];
  ICE("a channel of link %s has no sending end", link->name);
}

LinkIn *cluster_in(const Cluster *c, const ClusterLink *link, const ClusterChannel *channel)
{
  LinkGate *gate = gate_of(c, &link->ends[!channel->from]);
  for (size_t i = 0; i < arrlenu(gate->ins); i++)
    if (gate->ins[i].color == channel->colors[!channel->from])
      return &gate->ins[i];
  ICE("a channel of link %s has no receiving end", link->name);
}

/* ---- the group ------------------------------------------------------------------------------- */

/* Neighbours in the plan are often on one process, and processes have the same number of wafers, or
 * one more. */
unsigned cluster_process(ClusterMember member)
{
  const Cluster *c = member.cluster;
  size_t wafers = arrlenu(c->plan->wafers);
  size_t used = c->homes.count < wafers ? c->homes.count : wafers;
  return (unsigned)(member.wafer * used / wafers);
}

unsigned cluster_sharers(ClusterMember member)
{
  unsigned n = 0;
  for (unsigned i = 0; i < arrlenu(member.cluster->plan->wafers); i++)
    n += cluster_process((ClusterMember){member.cluster, i}) == cluster_process(member);
  return n;
}

Cluster *cluster_create(const ClusterPlan *plan, unsigned threads, const EngineHomes *homes)
{
  Cluster *c = base_zeroed(1, sizeof *c);
  c->plan = plan;
  c->homes = *homes;
  c->fabrics = base_zeroed(arrlenu(plan->wafers) + 1, sizeof *c->fabrics);
  for (unsigned i = 0; i < arrlenu(plan->wafers); i++)
    if (cluster_process((ClusterMember){c, i}) == 0)
      arrput(c->here, i);
    else
      arrput(c->away, i);
  size_t here = arrlenu(c->here);
  c->threads = threads < here ? threads : (unsigned)here;
  c->lookahead = MOST_BLOCK;
  for (size_t i = 0; i < arrlenu(plan->links); i++)
    if (plan->links[i].latency < c->lookahead)
      c->lookahead = plan->links[i].latency;
  return c;
}

void cluster_destroy(Cluster *c)
{
  if (!c)
    return;
  work_crew_destroy(c->crew);
  for (size_t i = 0; i < arrlenu(c->plan->wafers); i++)
    links_free(&c->fabrics[i].links);
  arrfree(c->here);
  arrfree(c->away);
  free(c->fabrics);
  free(c);
}

void cluster_join(ClusterMember member, Engine *engine)
{
  member.cluster->fabrics[member.wafer].engine = engine;
}

bool cluster_has_stopped(ClusterMember member)
{
  const Engine *engine = member.cluster->fabrics[member.wafer].engine;
  return engine && engine->stopped;
}

/* ---- the run --------------------------------------------------------------------------------- */

static size_t fabric_count(const Cluster *c) { return arrlenu(c->plan->wafers); }

/* Runs a wafer to the end of the block, or waits for the process that does. */
static void run_fabric(Cluster *c, unsigned wafer)
{
  ClusterFabric *fabric = &c->fabrics[wafer];
  fabric->status = fabric->engine->ops->run(fabric->engine, c->end);
}

static void run_piece(void *context, size_t number)
{
  Cluster *c = context;
  run_fabric(c, c->here[number]);
}

static void begin_away(Cluster *c)
{
  Engine **engines = NULL;
  for (size_t i = 0; i < arrlenu(c->away); i++)
    arrput(engines, c->fabrics[c->away[i]].engine);
  c->homes.begin(engines, arrlenu(engines), c->end);
  arrfree(engines);
}

/* Within a block no wafer matters to another one: they may run in any order, anywhere. */
static void run_all(Cluster *c)
{
  size_t here = arrlenu(c->here);
  if (arrlenu(c->away))
    begin_away(c);
  if (c->threads > 1 && !c->crew)
    c->crew = work_crew_create(c->threads, run_piece, c);
  if (c->crew)
    work_crew_run(c->crew, here);
  for (size_t i = 0; !c->crew && i < here; i++)
    run_fabric(c, c->here[i]);
  for (size_t i = 0; i < arrlenu(c->away); i++)
    run_fabric(c, c->away[i]);
}

/* Words and credits of the block go to the other ends.  True: there were some. */
static bool pass_all(Cluster *c)
{
  bool any = false;
  for (size_t i = 0; i < arrlenu(c->plan->links); i++) {
    const ClusterLink *link = &c->plan->links[i];
    for (size_t k = 0; k < arrlenu(link->channels); k++) {
      const ClusterChannel *channel = &link->channels[k];
      any |= links_pass(cluster_out(c, link, channel), cluster_in(c, link, channel),
                        link->latency);
    }
  }
  return any;
}

/* All engines that run are at this cycle: those that were quiet before it, and those that have been
 * asked about cycles behind it in which nothing happened. */
static void meet_at(Cluster *c, uint64_t now)
{
  c->now = now;
  for (size_t i = 0; i < fabric_count(c); i++) {
    Engine *engine = c->fabrics[i].engine;
    if (engine->stopped)
      continue;
    engine->ops->skip_to(engine, now);
    engine->cycle = now;
  }
}

static bool all_have(const Cluster *c, RunStatus status)
{
  for (size_t i = 0; i < fabric_count(c); i++)
    if (c->fabrics[i].status != status)
      return false;
  return true;
}

static bool one_has(const Cluster *c, RunStatus status)
{
  for (size_t i = 0; i < fabric_count(c); i++)
    if (c->fabrics[i].status == status)
      return true;
  return false;
}

/* The cycle after the last one in which anything has changed anywhere; not before the run. */
static uint64_t quiet_since(const Cluster *c, uint64_t floor)
{
  for (size_t i = 0; i < fabric_count(c); i++)
    if (c->fabrics[i].engine->last_change > floor)
      floor = c->fabrics[i].engine->last_change;
  return floor;
}

/* The pulses of the wafers that this process runs: between blocks. */
static void look_at_wafers(Cluster *c)
{
  for (size_t i = 0; i < arrlenu(c->here); i++) {
    ClusterFabric *fabric = &c->fabrics[c->here[i]];
    Pulse *pulse = fabric->engine->options.pulse;
    if (pulse && c->now >= fabric->look)
      fabric->look = c->now + pulse_look(pulse, fabric->engine);
  }
}

/* A run of one wafer is one of all: each pulse sees it begin and end, whichever host has asked. */
static void begin_pulses(Cluster *c)
{
  for (size_t i = 0; i < arrlenu(c->here); i++) {
    ClusterFabric *fabric = &c->fabrics[c->here[i]];
    fabric->look = c->now;
    pulse_begin(fabric->engine->options.pulse);
  }
}

static void end_pulses(Cluster *c)
{
  for (size_t i = 0; i < arrlenu(c->here); i++)
    pulse_end(c->fabrics[c->here[i]].engine->options.pulse);
}

/* Blocks are counted from where the run has begun: so its parts, and a run that goes on from a
 * state, have the same ones. */
static uint64_t block_end(const Cluster *c, const ClusterStretch *stretch)
{
  uint64_t done = (c->now - stretch->begun) % c->lookahead;
  uint64_t left = c->lookahead - done;
  return stretch->limit - c->now < left ? stretch->limit : c->now + left;
}

/* `interrupt`: for wafers of other processes, which do not see it. */
static RunStatus run_blocks(Cluster *c, const ClusterStretch *stretch, const atomic_int *interrupt)
{
  for (;;) {
    look_at_wafers(c);
    c->end = block_end(c, stretch);
    run_all(c);
    bool passed = pass_all(c);
    if (one_has(c, RUN_FAULT) || one_has(c, RUN_INTERRUPTED) || engine_interrupted(interrupt)) {
      meet_at(c, c->end);
      return one_has(c, RUN_FAULT) ? RUN_FAULT : RUN_INTERRUPTED;
    }
    if (!passed && all_have(c, RUN_QUIET)) {
      meet_at(c, quiet_since(c, stretch->begun));
      return RUN_QUIET;
    }
    c->now = c->end;
    if (c->now >= stretch->limit || c->now >= stretch->part) {
      meet_at(c, c->now);
      return RUN_LIMIT;
    }
  }
}

const char *cluster_stopped_wafer(const Cluster *c)
{
  for (size_t i = 0; i < fabric_count(c); i++)
    if (c->fabrics[i].engine && c->fabrics[i].engine->stopped)
      return c->plan->wafers[i].name;
  return NULL;
}

void cluster_note_end(ClusterMember member, const char *why)
{
  Cluster *c = member.cluster;
  if (c->first_end.why || (cluster_stopped_wafer(c) && !cluster_has_stopped(member)))
    return;
  c->first_end = (ClusterWaferEnd){why, cluster_wafer_name(member), c->now};
}

ClusterWaferEnd cluster_end_elsewhere(ClusterMember member)
{
  const Cluster *c = member.cluster;
  bool is_own = c->first_end.why && strcmp(c->first_end.wafer, cluster_wafer_name(member)) == 0;
  return is_own ? (ClusterWaferEnd){0} : c->first_end;
}

void cluster_resume(Cluster *c, uint64_t cycle) { c->now = cycle; }

uint64_t cluster_cycle(const Cluster *c) { return c->now; }

void cluster_note_action(ClusterMember member, const char *action)
{
  member.cluster->action = action;
  member.cluster->acts = member.wafer;
}

double cluster_seconds(ClusterMember member) { return member.cluster->seconds; }

const char *cluster_wafer_name(ClusterMember member)
{
  return member.cluster->plan->wafers[member.wafer].name;
}

const char *cluster_action(const Cluster *c, const char **wafer)
{
  *wafer = c->plan->wafers[c->acts].name;
  return c->action;
}

uint64_t cluster_active_tile_cycles(const Cluster *c)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < fabric_count(c); i++) {
    const Engine *engine = c->fabrics[i].engine;
    sum += engine->ops->stats(engine)->active_tile_cycles;
  }
  return sum;
}

RunStatus cluster_run(ClusterMember member, ClusterStretch stretch)
{
  Cluster *c = member.cluster;
  for (size_t i = 0; i < fabric_count(c); i++)
    if (c->fabrics[i].engine->stopped)
      return cluster_has_stopped(member) ? RUN_FAULT : RUN_ELSEWHERE;
  if (c->now >= stretch.limit)
    return RUN_LIMIT;
  begin_pulses(c);
  const Engine *own = c->fabrics[member.wafer].engine;
  double start = base_seconds();
  RunStatus status = run_blocks(c, &stretch, own->options.interrupt);
  c->seconds += base_seconds() - start;
  end_pulses(c);
  return status == RUN_FAULT && !cluster_has_stopped(member) ? RUN_ELSEWHERE : status;
}
