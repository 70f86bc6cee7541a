/* The state of an engine as bytes: what all engines have to say of a tile's queues and router in
 * one form, so that a state goes from any engine, with any number of threads and processes, to any
 * other. */
#include "emu/engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

#include "stb_ds.h"

/* ---- queues and routers ---------------------------------------------------------------------- */

static void wavelets_put(const StateWavelet *at, unsigned n, unsigned char **bytes)
{
  uint32_t count = n;
  state_put(bytes, &count, sizeof count);
  state_put(bytes, at, n * sizeof *at);
}

static unsigned wavelets_get(StateWavelet at[STATE_WAVELETS], StateReader *in)
{
  uint32_t n;
  if (!state_get_count(in, STATE_WAVELETS, &n))
    return 0;
  state_get(in, at, n * sizeof *at);
  for (uint32_t i = 0; i < n; i++)
    in->bad |= at[i].color >= MAX_COLORS || at[i].from >= PORT_COUNT;
  return n;
}

static bool is_queue_used(const StateQueue *q)
{
  return q->n || q->use.elements || q->use.pc;
}

static void queues_put(const StateQueue queues[MAX_QUEUES], unsigned char **bytes)
{
  uint16_t used = 0;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    used |= (uint16_t)(is_queue_used(&queues[q]) ? 1u << q : 0);
  state_put(bytes, &used, sizeof used);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    if (!(used >> q & 1))
      continue;
    state_put(bytes, &queues[q].use, sizeof queues[q].use);
    wavelets_put(queues[q].at, queues[q].n, bytes);
  }
}

static void queues_get(StateQueue queues[MAX_QUEUES], const Program *program, bool output,
                       StateReader *in)
{
  uint16_t used;
  state_get(in, &used, sizeof used);
  for (unsigned q = 0; q < MAX_QUEUES && !in->bad; q++) {
    if (!(used >> q & 1))
      continue;
    state_get(in, &queues[q].use, sizeof queues[q].use);
    queues[q].n = wavelets_get(queues[q].at, in);
    unsigned room = output ? output_capacity(program, q) : input_capacity(program, q);
    in->bad |= queues[q].n > room + 1;
  }
}

/* Without the padding. */
static void move_put(const SwitchMove *moved, unsigned char **bytes)
{
  const uint8_t small[] = {moved->cycle_high, moved->mover, moved->from};
  state_put(bytes, small, sizeof small);
  state_put(bytes, &moved->cycle_low, sizeof moved->cycle_low);
}

static void move_get(SwitchMove *moved, StateReader *in)
{
  uint8_t small[3];
  state_get(in, small, sizeof small);
  state_get(in, &moved->cycle_low, sizeof moved->cycle_low);
  moved->cycle_high = small[0], moved->mover = small[1], moved->from = small[2];
  in->bad |= moved->mover > MOVED_BY_ADVANCE || moved->from >= PORT_COUNT;
}

static void color_put(const StateColor *c, unsigned char **bytes)
{
  const bool flags[] = {c->configured, c->suspended, c->rewritten};
  const uint8_t positions[] = {c->rx, c->tx};
  state_put(bytes, flags, sizeof flags);
  state_put(bytes, positions, sizeof positions);
  move_put(&c->moved, bytes);
  state_put(bytes, &c->filter, sizeof c->filter);
  if (c->rewritten)
    state_put(bytes, &c->own, sizeof c->own);
  wavelets_put(c->at, c->n, bytes);
}

static void color_get(StateColor *c, StateReader *in)
{
  bool flags[3];
  uint8_t positions[2];
  state_get(in, flags, sizeof flags);
  state_get(in, positions, sizeof positions);
  move_get(&c->moved, in);
  state_get(in, &c->filter, sizeof c->filter);
  c->configured = flags[0], c->suspended = flags[1], c->rewritten = flags[2];
  c->rx = positions[0], c->tx = positions[1];
  if (c->rewritten)
    state_get(in, &c->own, sizeof c->own);
  in->bad |= !c->configured || c->rx >= ARRAY_COUNT(c->own.config.positions) ||
             c->tx >= ARRAY_COUNT(c->own.config.positions);
  c->n = wavelets_get(c->at, in);
}

void fabric_put(const StateFabric *fabric, unsigned char **bytes)
{
  queues_put(fabric->queues[0], bytes);
  queues_put(fabric->queues[1], bytes);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (fabric->colors[c].configured)
      color_put(&fabric->colors[c], bytes);
  state_put(bytes, &fabric->first_color, sizeof fabric->first_color);
  state_put(bytes, &fabric->last_ramp_queue, sizeof fabric->last_ramp_queue);
}

bool fabric_get(StateFabric *fabric, const Program *program, uint32_t tile, StateReader *in)
{
  memset(fabric, 0, sizeof *fabric);
  queues_get(fabric->queues[0], program, false, in);
  queues_get(fabric->queues[1], program, true, in);
  for (unsigned c = 0; c < MAX_COLORS && !in->bad; c++)
    if (program_color(program, tile, c))
      color_get(&fabric->colors[c], in);
  state_get(in, &fabric->first_color, sizeof fabric->first_color);
  state_get(in, &fabric->last_ramp_queue, sizeof fabric->last_ramp_queue);
  in->bad |= fabric->first_color >= MAX_COLORS || fabric->last_ramp_queue >= MAX_QUEUES;
  return !in->bad;
}

/* ---- lists ------------------------------------------------------------------------------------*/

static void list_put(const void *list, uint32_t n, size_t each, unsigned char **bytes)
{
  state_put(bytes, &n, sizeof n);
  state_put(bytes, list, n * each);
}

/* How many records of so many bytes come next. */
static uint32_t list_get(StateReader *in, size_t each)
{
  uint32_t n, most = (uint32_t)((size_t)(in->end - in->at) / each);
  state_get_count(in, most, &n);
  return n;
}

/* ---- the host's words ------------------------------------------------------------------------ */

void host_words_put(const HostWords *words, unsigned char **bytes)
{
  uint32_t lanes = words ? (uint32_t)arrlenu(words->lanes) : 0;
  state_put(bytes, &lanes, sizeof lanes);
  for (uint32_t i = 0; i < lanes; i++) {
    const HostLane *lane = &words->lanes[i];
    uint32_t n = (uint32_t)(arrlenu(lane->words) - lane->at);
    state_put(bytes, &lane->color, sizeof lane->color);
    state_put(bytes, &n, sizeof n);
    state_put(bytes, lane->words + lane->at, n * sizeof *lane->words);
  }
}

/* Words keep their order among those of all colors, so they are posted by their numbers. */
static int compare_numbers(const void *a, const void *b)
{
  const PostedWord *x = a, *y = b;
  return x->number < y->number ? -1 : x->number > y->number;
}

typedef struct { PostedWord word; uint8_t color; } LaneWord;    /* the word first: it is compared */

bool host_words_get(Engine *engine, uint32_t tile, StateReader *in)
{
  LaneWord *all = NULL;
  uint32_t lanes, n;
  state_get_count(in, MAX_COLORS, &lanes);
  for (uint32_t i = 0; i < lanes && !in->bad; i++) {
    LaneWord one;
    memset(&one, 0, sizeof one);
    state_get(in, &one.color, sizeof one.color);
    if (one.color >= MAX_COLORS)
      in->bad = true;
    n = list_get(in, sizeof one.word);
    for (uint32_t k = 0; k < n && !in->bad; k++) {
      state_get(in, &one.word, sizeof one.word);
      arrput(all, one);
    }
  }
  if (arrlenu(all))
    qsort(all, arrlenu(all), sizeof *all, compare_numbers);
  for (size_t i = 0; i < arrlenu(all) && !in->bad; i++)
    in->bad |= !engine->ops->post(engine, tile, all[i].color, all[i].word.word,
                                  all[i].word.cycle);
  arrfree(all);
  return !in->bad;
}

/* ---- all but the tiles ----------------------------------------------------------------------- */

static uint32_t sent_count(Engine *engine, uint32_t tile)
{
  bool touched = engine->ops->touched(engine, tile);
  const HostPort *host = touched ? engine->ops->host(engine, tile, false) : NULL;
  return host ? (uint32_t)arrlenu(host->sent) : 0;
}

/* Words that the host has not taken: by tile, up to one that does not exist. */
static void sent_put(Engine *engine, unsigned char **bytes)
{
  for (uint32_t tile = 0; tile < engine->program->n_tiles; tile++) {
    uint32_t n = sent_count(engine, tile);
    if (!n)
      continue;
    state_put(bytes, &tile, sizeof tile);
    state_put(bytes, &n, sizeof n);
    state_put(bytes, engine->ops->host(engine, tile, false)->sent, n * sizeof(HostWord));
  }
  uint32_t end = NO_TILE;
  state_put(bytes, &end, sizeof end);
}

static void sent_get(Engine *engine, StateReader *in)
{
  for (;;) {
    uint32_t tile, n;
    state_get(in, &tile, sizeof tile);
    if (in->bad || tile == (uint32_t)NO_TILE)
      return;
    n = list_get(in, sizeof(HostWord));
    if (tile >= engine->program->n_tiles)
      in->bad = true;
    for (uint32_t i = 0; i < n && !in->bad; i++) {
      HostWord word;
      state_get(in, &word, sizeof word);
      arrput(engine->ops->host(engine, tile, true)->sent, word);
    }
  }
}

void totals_put(const EngineTotals *totals, unsigned char **bytes)
{
  EngineTotals bare = *totals;
  bare.channels = NULL;
  bare.faults = NULL;
  state_put(bytes, &bare, sizeof bare);
  list_put(totals->channels, (uint32_t)arrlenu(totals->channels), sizeof *totals->channels, bytes);
  list_put(totals->faults, (uint32_t)arrlenu(totals->faults), sizeof *totals->faults, bytes);
}

void totals_free(EngineTotals *totals)
{
  arrfree(totals->channels);
  arrfree(totals->faults);
}

void engine_run_put(Engine *engine, unsigned char **bytes)
{
  EngineTotals totals;
  memset(&totals, 0, sizeof totals);
  engine->ops->keeper->totals_out(engine, &totals);
  totals_put(&totals, bytes);
  totals_free(&totals);
  state_put(bytes, &engine->program->host_out_colors, sizeof engine->program->host_out_colors);
  sent_put(engine, bytes);
  if (engine->options.links)
    links_put(engine->options.links, bytes);
}

static void channels_get(const Program *program, EngineTotals *totals, StateReader *in)
{
  uint32_t n = list_get(in, sizeof(HostOut));
  in->bad |= n != (program->image->channels ? program->image->channels : 1);
  for (uint32_t i = 0; i < n && !in->bad; i++) {
    HostOut channel;
    state_get(in, &channel, sizeof channel);
    in->bad |= channel.last_tile >= program->n_tiles;
    arrput(totals->channels, channel);
  }
}

static void faults_get(const Program *program, EngineTotals *totals, StateReader *in)
{
  uint32_t n = list_get(in, sizeof(Fault));
  for (uint32_t i = 0; i < n && !in->bad; i++) {
    Fault fault;
    state_get(in, &fault, sizeof fault);
    in->bad |= (unsigned)fault.kind >= FAULT_COUNT || fault.tile >= program->n_tiles;
    arrput(totals->faults, fault);
  }
}

bool totals_get(EngineTotals *totals, const Program *program, StateReader *in)
{
  state_get(in, totals, sizeof *totals);
  totals->channels = NULL;
  totals->faults = NULL;
  channels_get(program, totals, in);
  faults_get(program, totals, in);
  return !in->bad;
}

/* The gates must be those of the engine. */
static void gates_get(EngineLinks *own, StateReader *in)
{
  EngineLinks found = {0};
  if (links_get(&found, in) && links_are_alike(own, &found)) {
    LinkGate *old = own->gates;
    own->gates = found.gates;
    found.gates = old;
  } else {
    in->bad = true;
  }
  links_free(&found);
}

bool engine_run_get(Engine *engine, StateReader *in)
{
  EngineTotals totals;
  bool sound = totals_get(&totals, engine->program, in);
  state_get(in, &engine->program->host_out_colors, sizeof engine->program->host_out_colors);
  if (sound && !in->bad) {
    engine->ops->keeper->totals_in(engine, &totals);
    sent_get(engine, in);
    if (engine->options.links)
      gates_get(engine->options.links, in);
  }
  totals_free(&totals);
  return !in->bad;
}
