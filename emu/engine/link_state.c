/* Gates as bytes: for states, and for processes that run fabrics whose links another one serves. */
#include "emu/engine/engine_internal.h"

#include "stb_ds.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static void put_count(size_t n, unsigned char **bytes)
{
  uint32_t count = (uint32_t)n;
  state_put(bytes, &count, sizeof count);
}

/* How many records of at least so many bytes come next. */
static size_t get_count(StateReader *in, size_t each)
{
  uint32_t n;
  return state_get_count(in, (uint32_t)((size_t)(in->end - in->at) / each), &n) ? n : 0;
}

static void put_cycles(const uint64_t *cycles, size_t from, unsigned char **bytes)
{
  size_t n = arrlenu(cycles) - from;
  put_count(n, bytes);
  state_put(bytes, n ? cycles + from : NULL, n * sizeof *cycles);
}

/* Returns how many it has appended. */
static size_t get_cycles(uint64_t **cycles, StateReader *in)
{
  size_t n = get_count(in, sizeof **cycles);
  for (size_t i = 0; i < n; i++) {
    uint64_t cycle;
    state_get(in, &cycle, sizeof cycle);
    arrput(*cycles, cycle);
  }
  return n;
}

static void put_words(const LinkWord *words, size_t from, unsigned char **bytes)
{
  put_count(arrlenu(words) - from, bytes);
  for (size_t i = from; i < arrlenu(words); i++) {
    state_put(bytes, &words[i].cycle, sizeof words[i].cycle);
    state_put(bytes, &words[i].payload, sizeof words[i].payload);
    state_put(bytes, &words[i].control, sizeof words[i].control);
  }
}

static void get_words(LinkWord **words, StateReader *in)
{
  LinkWord word = {0};
  size_t n = get_count(in, sizeof word.cycle + sizeof word.payload + sizeof word.control);
  for (size_t i = 0; i < n; i++) {
    state_get(in, &word.cycle, sizeof word.cycle);
    state_get(in, &word.payload, sizeof word.payload);
    state_get(in, &word.control, sizeof word.control);
    arrput(*words, word);
  }
}

/* ---- all of the gates ------------------------------------------------------------------------ */

static void put_gate(const LinkGate *gate, unsigned char **bytes)
{
  uint32_t port = gate->port;
  state_put(bytes, &gate->tile, sizeof gate->tile);
  state_put(bytes, &port, sizeof port);
  state_put(bytes, &gate->rate_num, sizeof gate->rate_num);
  state_put(bytes, &gate->rate_den, sizeof gate->rate_den);
  state_put(bytes, &gate->flow, sizeof gate->flow);
  put_count(arrlenu(gate->outs), bytes);
  for (size_t i = 0; i < arrlenu(gate->outs); i++) {
    const LinkOut *out = &gate->outs[i];
    state_put(bytes, &out->color, sizeof out->color);
    state_put(bytes, &out->refused, sizeof out->refused);
    state_put(bytes, &out->credits, sizeof out->credits);
    put_cycles(out->returns, out->at, bytes);
    put_words(out->sent, 0, bytes);
  }
  put_count(arrlenu(gate->ins), bytes);
  for (size_t i = 0; i < arrlenu(gate->ins); i++) {
    const LinkIn *in = &gate->ins[i];
    state_put(bytes, &in->color, sizeof in->color);
    put_words(in->coming, in->at, bytes);
    put_cycles(in->entered, 0, bytes);
  }
}

static void get_outs(LinkGate *gate, StateReader *in)
{
  size_t n = get_count(in, 1);
  for (size_t i = 0; i < n && !in->bad; i++) {
    LinkOut out = {0};
    state_get(in, &out.color, sizeof out.color);
    state_get(in, &out.refused, sizeof out.refused);
    state_get(in, &out.credits, sizeof out.credits);
    get_cycles(&out.returns, in);
    get_words(&out.sent, in);
    in->bad |= out.color >= MAX_COLORS;
    arrput(gate->outs, out);
  }
}

static void get_ins(LinkGate *gate, StateReader *in)
{
  size_t n = get_count(in, 1);
  for (size_t i = 0; i < n && !in->bad; i++) {
    LinkIn one = {0};
    state_get(in, &one.color, sizeof one.color);
    get_words(&one.coming, in);
    get_cycles(&one.entered, in);
    in->bad |= one.color >= MAX_COLORS;
    arrput(gate->ins, one);
  }
}

static void get_gate(EngineLinks *links, StateReader *in)
{
  LinkGate gate = {0};
  uint32_t port;
  state_get(in, &gate.tile, sizeof gate.tile);
  state_get(in, &port, sizeof port);
  state_get(in, &gate.rate_num, sizeof gate.rate_num);
  state_get(in, &gate.rate_den, sizeof gate.rate_den);
  state_get(in, &gate.flow, sizeof gate.flow);
  gate.port = (Port)port;
  get_outs(&gate, in);
  get_ins(&gate, in);
  in->bad |= port >= PORT_RAMP || !gate.rate_num || gate.flow.last_in > arrlenu(gate.ins);
  arrput(links->gates, gate);
}

void links_put(const EngineLinks *links, unsigned char **bytes)
{
  put_count(arrlenu(links->gates), bytes);
  for (size_t i = 0; i < arrlenu(links->gates); i++)
    put_gate(&links->gates[i], bytes);
}

bool links_get(EngineLinks *links, StateReader *in)
{
  links_free(links);
  size_t n = get_count(in, sizeof(LinkFlow));
  for (size_t i = 0; i < n && !in->bad; i++)
    get_gate(links, in);
  return !in->bad;
}

static bool gates_are_alike(const LinkGate *a, const LinkGate *b)
{
  bool alike = a->tile == b->tile && a->port == b->port && a->rate_num == b->rate_num &&
               a->rate_den == b->rate_den && arrlenu(a->outs) == arrlenu(b->outs) &&
               arrlenu(a->ins) == arrlenu(b->ins);
  for (size_t i = 0; alike && i < arrlenu(a->outs); i++)
    alike = a->outs[i].color == b->outs[i].color;
  for (size_t i = 0; alike && i < arrlenu(a->ins); i++)
    alike = a->ins[i].color == b->ins[i].color;
  return alike;
}

bool links_are_alike(const EngineLinks *a, const EngineLinks *b)
{
  bool alike = arrlenu(a->gates) == arrlenu(b->gates);
  for (size_t i = 0; alike && i < arrlenu(a->gates); i++)
    alike = gates_are_alike(&a->gates[i], &b->gates[i]);
  return alike;
}

/* ---- from run to run ------------------------------------------------------------------------- */

void links_are_told(EngineLinks *links)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    for (size_t k = 0; k < arrlenu(gate->outs); k++)
      gate->outs[k].told = arrlenu(gate->outs[k].returns) - gate->outs[k].at;
    for (size_t k = 0; k < arrlenu(gate->ins); k++)
      gate->ins[k].told = arrlenu(gate->ins[k].coming) - gate->ins[k].at;
  }
}

void links_news_put(EngineLinks *links, unsigned char **bytes)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    const LinkGate *gate = &links->gates[i];
    for (size_t k = 0; k < arrlenu(gate->outs); k++)
      put_cycles(gate->outs[k].returns, gate->outs[k].at + gate->outs[k].told, bytes);
    for (size_t k = 0; k < arrlenu(gate->ins); k++)
      put_words(gate->ins[k].coming, gate->ins[k].at + gate->ins[k].told, bytes);
  }
  links_are_told(links);
}

bool links_news_get(EngineLinks *links, StateReader *in)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    for (size_t k = 0; k < arrlenu(gate->outs); k++)
      get_cycles(&gate->outs[k].returns, in);
    for (size_t k = 0; k < arrlenu(gate->ins); k++)
      get_words(&gate->ins[k].coming, in);
  }
  return !in->bad;
}

/* What has left, and how many places and words have been used for it; both lists then begin with
 * what is left. */
static void put_out_deeds(LinkOut *out, unsigned char **bytes)
{
  state_put(bytes, &out->credits, sizeof out->credits);
  state_put(bytes, &out->refused, sizeof out->refused);
  put_count(out->at, bytes);
  put_words(out->sent, 0, bytes);
  if (out->at)
    arrdeln(out->returns, 0, out->at);
  out->at = 0;
  arrsetlen(out->sent, 0);
}

static void get_out_deeds(LinkOut *out, StateReader *in)
{
  state_get(in, &out->credits, sizeof out->credits);
  state_get(in, &out->refused, sizeof out->refused);
  uint32_t used;
  state_get_count(in, (uint32_t)out->told, &used);
  out->at += used;
  out->told -= used;
  get_words(&out->sent, in);
}

static void put_in_deeds(LinkIn *one, unsigned char **bytes)
{
  put_cycles(one->entered, 0, bytes);
  if (one->at)
    arrdeln(one->coming, 0, one->at);
  one->at = 0;
  arrsetlen(one->entered, 0);
}

static void get_in_deeds(LinkIn *one, StateReader *in)
{
  size_t entered = get_cycles(&one->entered, in);
  in->bad |= entered > one->told;
  one->at += entered;
  one->told -= entered;
}

void links_deeds_put(EngineLinks *links, unsigned char **bytes)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    state_put(bytes, &gate->flow, sizeof gate->flow);
    for (size_t k = 0; k < arrlenu(gate->outs); k++)
      put_out_deeds(&gate->outs[k], bytes);
    for (size_t k = 0; k < arrlenu(gate->ins); k++)
      put_in_deeds(&gate->ins[k], bytes);
  }
}

bool links_deeds_get(EngineLinks *links, StateReader *in)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    state_get(in, &gate->flow, sizeof gate->flow);
    for (size_t k = 0; k < arrlenu(gate->outs); k++)
      get_out_deeds(&gate->outs[k], in);
    for (size_t k = 0; k < arrlenu(gate->ins); k++)
      get_in_deeds(&gate->ins[k], in);
  }
  return !in->bad;
}
