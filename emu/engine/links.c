/* Links to other fabrics: the colors of gates, credits and rates; engine.h has the rules. */
#include "emu/engine/engine.h"

#include "stb_ds.h"

#include <stdlib.h>

/* ---- gates ----------------------------------------------------------------------------------- */

static int compare_gates(const void *a, const void *b)
{
  const LinkGate *x = a, *y = b;
  if (x->tile != y->tile)
    return x->tile < y->tile ? -1 : 1;
  return x->port < y->port ? -1 : x->port > y->port;
}

void links_sort(EngineLinks *links)
{
  if (arrlenu(links->gates))
    qsort(links->gates, arrlenu(links->gates), sizeof *links->gates, compare_gates);
}

LinkGate *links_gate(const EngineLinks *links, uint32_t tile, Port port)
{
  LinkGate wanted = {.tile = tile, .port = port};
  size_t n = arrlenu(links->gates);
  return n ? bsearch(&wanted, links->gates, n, sizeof wanted, compare_gates) : NULL;
}

bool links_touch(const EngineLinks *links, uint32_t tile)
{
  for (unsigned port = 0; links && port < PORT_RAMP; port++)
    if (links_gate(links, tile, (Port)port))
      return true;
  return false;
}

void links_free(EngineLinks *links)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    for (size_t k = 0; k < arrlenu(gate->outs); k++) {
      arrfree(gate->outs[k].returns);
      arrfree(gate->outs[k].sent);
    }
    for (size_t k = 0; k < arrlenu(gate->ins); k++) {
      arrfree(gate->ins[k].coming);
      arrfree(gate->ins[k].entered);
    }
    arrfree(gate->outs);
    arrfree(gate->ins);
  }
  arrfree(links->gates);
}

/* ---- between runs ---------------------------------------------------------------------------- */

bool links_pass(LinkOut *out, LinkIn *in, uint64_t latency)
{
  bool any = arrlenu(out->sent) || arrlenu(in->entered);
  if (in->at) {
    arrdeln(in->coming, 0, in->at);
    in->at = 0;
  }
  for (size_t i = 0; i < arrlenu(out->sent); i++) {
    LinkWord word = out->sent[i];
    word.cycle += latency;
    arrput(in->coming, word);
  }
  if (out->at) {
    arrdeln(out->returns, 0, out->at);
    out->at = 0;
  }
  for (size_t i = 0; i < arrlenu(in->entered); i++)
    arrput(out->returns, in->entered[i] + latency);
  arrsetlen(out->sent, 0);
  arrsetlen(in->entered, 0);
  return any;
}

/* ---- leaving --------------------------------------------------------------------------------- */

static LinkOut *out_of_color(const LinkGate *gate, uint8_t color)
{
  for (size_t i = 0; gate && i < arrlenu(gate->outs); i++)
    if (gate->outs[i].color == color)
      return &gate->outs[i];
  return NULL;
}

static uint64_t gate_free(const LinkGate *gate)
{
  return (gate->flow.free_at + gate->rate_num - 1) / gate->rate_num;
}

/* The first cycle from `now` on in which a word of the color can leave. */
static uint64_t out_due(const LinkGate *gate, const LinkOut *out, uint64_t now)
{
  uint64_t due = out->credits ? now
                 : out->at < arrlenu(out->returns) ? out->returns[out->at] : UINT64_MAX;
  due = due < now ? now : due;
  return due > gate_free(gate) ? due : gate_free(gate);
}

bool links_have_room(EngineLinks *links, uint32_t tile, Port port, uint8_t color, uint64_t cycle)
{
  const LinkGate *gate = links ? links_gate(links, tile, port) : NULL;
  LinkOut *out = out_of_color(gate, color);
  if (!out || out_due(gate, out, cycle) <= cycle)
    return true;
  out->refused = true;
  return false;
}

bool links_send(EngineLinks *links, uint32_t tile, Port port, uint8_t color, LinkWord word)
{
  LinkGate *gate = links ? links_gate(links, tile, port) : NULL;
  LinkOut *out = out_of_color(gate, color);
  if (!out)
    return false;
  if (out->credits)
    out->credits--;
  else
    out->at++;                  /* a place that has come back */
  out->refused = false;
  arrput(out->sent, word);
  /* A gate that has been free for less than a cycle keeps the fraction: it belongs to its rate. */
  uint64_t now = word.cycle * gate->rate_num;
  bool busy = gate->flow.free_at + gate->rate_num > now;
  gate->flow.free_at = (busy ? gate->flow.free_at : now) + gate->rate_den;
  if (gate->flow.words_out++ == 0)
    gate->flow.first_out = word.cycle;
  gate->flow.last_out = word.cycle;
  return true;
}

/* ---- entering -------------------------------------------------------------------------------- */

static const LinkWord *in_head(const LinkIn *in)
{
  return in->at < arrlenu(in->coming) ? &in->coming[in->at] : NULL;
}

LinkIn *links_entering(LinkGate *gate, const Engine *engine, uint64_t cycle, LinkAccepts *accepts)
{
  size_t n = arrlenu(gate->ins);
  for (size_t k = 1; k <= n; k++) {
    LinkIn *in = &gate->ins[(gate->flow.last_in + k) % n];
    const LinkWord *head = in_head(in);
    if (head && head->cycle <= cycle && accepts(engine, gate->tile, in->color, gate->port))
      return in;
  }
  return NULL;
}

LinkWord links_enter(LinkGate *gate, LinkIn *in, uint64_t cycle)
{
  gate->flow.last_in = (size_t)(in - gate->ins);
  arrput(in->entered, cycle);
  return in->coming[in->at++];
}

/* ---- waiting --------------------------------------------------------------------------------- */

static uint64_t in_due(const LinkGate *gate, const LinkIn *in, const Engine *engine, uint64_t now,
                       LinkAccepts *accepts)
{
  const LinkWord *head = in_head(in);
  if (!head)
    return UINT64_MAX;
  if (head->cycle > now)
    return head->cycle;
  return accepts(engine, gate->tile, in->color, gate->port) ? now : UINT64_MAX;
}

uint64_t links_due(const EngineLinks *links, const Engine *engine, uint64_t now,
                   LinkAccepts *accepts)
{
  uint64_t due = UINT64_MAX;
  for (size_t i = 0; links && i < arrlenu(links->gates); i++) {
    const LinkGate *gate = &links->gates[i];
    for (size_t k = 0; k < arrlenu(gate->outs); k++) {
      uint64_t at = gate->outs[k].refused ? out_due(gate, &gate->outs[k], now) : UINT64_MAX;
      due = at < due ? at : due;
    }
    for (size_t k = 0; k < arrlenu(gate->ins); k++) {
      uint64_t at = in_due(gate, &gate->ins[k], engine, now, accepts);
      due = at < due ? at : due;
    }
  }
  return due;
}

uint32_t links_wake(EngineLinks *links, size_t *at, uint64_t now)
{
  for (; links && *at < arrlenu(links->gates); ++*at) {
    LinkGate *gate = &links->gates[*at];
    bool wakes = false;
    for (size_t k = 0; k < arrlenu(gate->outs); k++)
      if (gate->outs[k].refused && out_due(gate, &gate->outs[k], now) <= now) {
        gate->outs[k].refused = false;
        wakes = true;
      }
    if (wakes)
      return links->gates[(*at)++].tile;
  }
  return NO_TILE;
}
