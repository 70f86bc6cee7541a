/* Whether what comes to a tile fits what it takes.  The search goes upstream from a tile that
 * receives a color to all tiles that may send it. The checks compare the number of elements, their
 * type, and how they share wavelets. */
#include "frontend/layout/fabric_check.h"

#include <stdlib.h>

enum { SOURCES_SHOWN = 3 };

/* ---- how much arrives ------------------------------------------------------------------------ */

/* Of one start of the program or launch. */
typedef struct { uint32_t start, least, most; bool is_certain; } Amount;

typedef struct {
  bool is_open;            /* other wavelets may come, or how many is not known */
  bool is_mixed;           /* operations of several element sizes, or of several starts */
  bool is_packing_known;   /* all elements have 16 bits and travel in one way: */
  bool is_packed;          /* two per wavelet */
  unsigned n;
  uint8_t element_bytes;
  SimdMode simd;
  Amount amount;
  Sender sources[SOURCES_SHOWN];
} Total;

static bool packs_pairs(const FabricCheck *c, const FabricUse *use)
{
  bool packs = use->simd == SIMD_DEFAULT ? release_of(c->session) == SDK_2 : use->simd != SIMD_OFF;
  return use->may_pack && packs;
}

static void add_use(const FabricCheck *c, Total *t, const FabricUse *use, uint32_t tile)
{
  if (t->n > 0 && (use->start != t->amount.start || use->element_bytes != t->element_bytes ||
                   (use->element_bytes == 2 && use->simd != t->simd)))
    t->is_mixed = true;
  if (t->n == 0)
    t->amount.is_certain = t->is_packing_known = true;
  if (t->n < SOURCES_SHOWN)
    t->sources[t->n] = (Sender){use, tile};
  t->n++;
  t->element_bytes = use->element_bytes;
  t->simd = use->simd;
  bool is_packed = packs_pairs(c, use) && use->length > 1;
  t->is_packing_known &= use->may_pack && use->element_bytes == 2 &&
                         (t->is_packed == is_packed || t->n == 1);
  t->is_packed = is_packed;
  t->amount.start = use->start;
  t->amount.least += (uint32_t)use->least * use->length;
  t->amount.most += (uint32_t)use->most * use->length;
  t->amount.is_certain &= use->is_certain;
}

static void add_uses(const FabricCheck *c, Total *t, uint32_t tile, unsigned color, bool is_send)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  t->is_open |= ((is_send ? uses->vague_sends : uses->vague_receives) >> color & 1) != 0;
  for (uint32_t i = 0; i < uses->n; i++)
    if (uses->uses[i].color == color && uses->uses[i].is_send == is_send)
      add_use(c, t, &uses->uses[i], tile);
}

/* Goes on to the tiles that the tile may get the color from. */
static void go_upstream(FabricCheck *c, Total *t, uint32_t tile, unsigned color, const Route *route)
{
  for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
    uint32_t from;
    const Route *other;
    if (!(route->ever_rx & port_bit(p)))
      continue;
    if (!fabric_neighbour_at(c, tile, p, &from)) {
      t->is_open = true;
      continue;
    }
    RouteState state = fabric_route_at(c, from, color, &other);
    bool may_come = state == ROUTE_OPEN ||
                    (state == ROUTE_KNOWN && other->ever_tx & port_bit(port_opposite(p)));
    if (may_come && !search_visit(c, from))
      t->is_open = true;             /* two ways from one tile */
  }
}

/* All that may arrive at the tile. */
static Total find_arrivals(FabricCheck *c, uint32_t tile, unsigned color)
{
  Total t = {0};
  search_start(c, tile);
  while (search_next(c, &tile)) {
    const Route *route;
    RouteState state = fabric_route_at(c, tile, color, &route);
    if (state != ROUTE_KNOWN || !route->is_fixed)
      t.is_open = true;
    if (state != ROUTE_KNOWN)
      continue;
    if (route->ever_rx & port_bit(PORT_RAMP))
      add_uses(c, &t, tile, color, true);
    go_upstream(c, &t, tile, color, route);
  }
  t.is_open |= c->steps > MOST_STEPS;
  return t;
}

static void note_sources(const FabricCheck *c, const Total *sent)
{
  for (unsigned i = 0; i < sent->n && i < SOURCES_SHOWN; i++)
    fabric_note_sender(c, &sent->sources[i]);
}

static bool is_same_number(const Amount *a, const Amount *b)
{
  return a->start == b->start && a->least == a->most && b->least == b->most && a->most == b->most;
}

/* One end packs two elements into each wavelet, the other one does not. */
static void check_packing(FabricCheck *c, uint32_t tile, unsigned color, const Total *taken,
                          const Total *sent)
{
  const FabricUse *use = taken->sources[0].use;
  if (!taken->is_packing_known || !sent->is_packing_known ||
      taken->is_packed == sent->is_packed ||
      !is_same_number(&taken->amount, &sent->amount) ||
      !fabric_may_tell(c, RULE_LENGTH, color, use->span))
    return;
  diag_packing_differs(c->session->diags, use->span, fabric_tile_text(c, tile),
                       taken->is_packed ? "two elements" : "one element", color,
                       sent->is_packed ? "two" : "one");
  note_sources(c, sent);
  diag_packing_help(c->session->diags, use->span);
  if (taken->simd == SIMD_DEFAULT || sent->simd == SIMD_DEFAULT)
    release_note(c->session);
}

/* Can the two be compared element by element? */
static bool is_alike(const Total *sent, const Total *taken)
{
  return sent->n == 0 || (sent->amount.start == taken->amount.start &&
                          sent->element_bytes == taken->element_bytes &&
                          (sent->element_bytes != 2 || sent->simd == taken->simd));
}

static unsigned hops_between(const FabricCheck *c, uint32_t a, uint32_t b)
{
  int width = (int)c->l->width, from = (int)a, to = (int)b;
  return (unsigned)(abs(from % width - to % width) + abs(from / width - to / width));
}

/* No way leads here from a tile that sends the color: where the nearest one sends it instead. */
static void note_sender_elsewhere(const FabricCheck *c, uint32_t tile, unsigned color)
{
  uint32_t found = tile;
  const Route *route, *of_found = NULL;
  for (uint32_t i = 0; i < c->l->width * c->l->height; i++)
    if (i != tile && fabric_sending_use(fabric_uses_at(c, i), color) &&
        fabric_route_at(c, i, color, &route) == ROUTE_KNOWN &&
        (!of_found || hops_between(c, tile, i) < hops_between(c, tile, found))) {
      found = i;
      of_found = route;
    }
  if (of_found)
    diag_sent_elsewhere(c->session->diags, fabric_route_span(c, found, color),
                        fabric_tile_text(c, found), color,
                        ports_text(c->arena, of_found->ever_tx));
}

static void report_lengths(FabricCheck *c, uint32_t tile, unsigned color, const Total *taken,
                           const Total *sent)
{
  Diags *diags = c->session->diags;
  Span at = taken->sources[0].use->span;
  const char *where = fabric_tile_text(c, tile);
  bool too_few = sent->amount.most < taken->amount.least;
  if (sent->n == 0) {
    diag_nothing_sent(diags, at, where, color);
  } else {
    unsigned here = too_few ? taken->amount.least : taken->amount.most;
    unsigned there = too_few ? sent->amount.most : sent->amount.least;
    diag_lengths_differ(diags, at, where,
                        arena_printf(c->arena, "%u element%s", here, here == 1 ? "" : "s"), color,
                        arena_printf(c->arena, "%u %s", there, there == 1 ? "is" : "are"));
  }
  fabric_raise_if_certain(c, too_few && taken->amount.is_certain);
  note_sources(c, sent);
  if (sent->n == 0)
    note_sender_elsewhere(c, tile, color);
  if (sent->n == 0 && fabric_is_of_script(c))
    diag_script_nothing_sent(diags, fabric_route_span(c, tile, color));
  if (sent->n > 0)
    diag_lengths_help(diags, at);
}

static void check_lengths(FabricCheck *c, uint32_t tile, unsigned color)
{
  const Route *route;
  if (c->told[RULE_LENGTH] >> color & 1 ||
      fabric_route_at(c, tile, color, &route) != ROUTE_KNOWN || route->has_filter)
    return;
  Total taken = {0};
  add_uses(c, &taken, tile, color, false);
  if (taken.is_open || taken.is_mixed || taken.n == 0)
    return;
  Total sent = find_arrivals(c, tile, color);
  if (sent.is_open || sent.is_mixed)
    return;
  check_packing(c, tile, color, &taken, &sent);
  bool too_few = sent.amount.most < taken.amount.least;
  bool too_many = sent.amount.least > taken.amount.most;
  if (is_alike(&sent, &taken) && (too_few || too_many) &&
      fabric_may_tell(c, RULE_LENGTH, color, taken.sources[0].use->span))
    report_lengths(c, tile, color, &taken, &sent);
}

/* ---- floats of two widths -------------------------------------------------------------------- */

typedef bool UseTest(const FabricCheck *c, const FabricUse *use, unsigned bits);

static bool sends_other_floats(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  (void)c;
  return use->float_bits != 0 && use->float_bits != bits;
}

/* Goes upstream to the next tile that may send the color; false: there is none left. */
static bool next_source(FabricCheck *c, uint32_t *tile, unsigned color)
{
  Total unused = {0};
  while (search_next(c, tile)) {
    const Route *route;
    if (fabric_route_at(c, *tile, color, &route) != ROUTE_KNOWN)
      continue;
    go_upstream(c, &unused, *tile, color, route);
    if (route->ever_rx & port_bit(PORT_RAMP))
      return true;
  }
  return false;
}

/* An operation of the tiles upstream that sends data and passes the test; use NULL: none. */
static Sender find_upstream(FabricCheck *c, uint32_t tile, unsigned color, UseTest *test,
                            unsigned bits)
{
  search_start(c, tile);
  while (next_source(c, &tile, color)) {
    const FabricUses *uses = fabric_uses_at(c, tile);
    for (uint32_t i = 0; i < uses->n; i++) {
      const FabricUse *use = &uses->uses[i];
      if (use->is_send && !use->is_control && use->color == color && test(c, use, bits))
        return (Sender){use, tile};
    }
  }
  return (Sender){NULL, 0};
}

/* May an operation that passes the test send to the tile?  One with an unknown descriptor may. */
static bool may_come(FabricCheck *c, uint32_t tile, unsigned color, UseTest *test, unsigned bits)
{
  if (find_upstream(c, tile, color, test, bits).use)
    return true;
  search_start(c, tile);
  while (next_source(c, &tile, color))
    if (fabric_uses_at(c, tile)->unknown_sends >> color & 1)
      return true;
  return false;
}

/* Has nothing been said of the color by this rule, and may wavelets come to the tile's own ramp? */
static bool is_to_check(FabricCheck *c, Rule rule, uint32_t tile, unsigned color)
{
  const Route *route;
  return !(c->told[rule] >> color & 1) && fabric_route_at(c, tile, color, &route) == ROUTE_KNOWN &&
         route->ever_tx & port_bit(PORT_RAMP);
}

/* A move whose array is not known, such as one behind a pointer, may be one of floats. */
static bool may_move_floats(const FabricUse *use, unsigned bits)
{
  return use->float_bits == bits || (use->float_bits == 0 && use->element_bytes * 8 == bits);
}

static bool may_send_these_floats(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  (void)c;
  return may_move_floats(use, bits);
}

static bool may_take_floats(const FabricUses *uses, unsigned color, unsigned bits)
{
  bool takes = uses->task_floats[color] == bits || uses->unknown_receives >> color & 1;
  for (uint32_t i = 0; i < uses->n; i++) {
    const FabricUse *use = &uses->uses[i];
    takes |= !use->is_send && use->color == color && may_move_floats(use, bits);
  }
  return takes;
}

/* If a color carries floats of both widths, and the tile takes both, it does so by turns. */
static void check_float(FabricCheck *c, uint32_t tile, unsigned color, unsigned bits, Span at)
{
  if (bits == 0 || !is_to_check(c, RULE_FLOATS, tile, color))
    return;
  Sender sender = find_upstream(c, tile, color, sends_other_floats, bits);
  if (!sender.use || (may_take_floats(fabric_uses_at(c, tile), color, sender.use->float_bits) &&
                      may_come(c, tile, color, may_send_these_floats, bits)))
    return;
  if (!fabric_may_tell(c, RULE_FLOATS, color, at))
    return;
  diag_floats_differ(c->session->diags, at, fabric_tile_text(c, tile), color, bits,
                     sender.use->float_bits);
  fabric_note_sender(c, &sender);
  diag_floats_help(c->session->diags, at);
}

static bool sends_no_singles(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  (void)c;
  return use->float_bits != bits;
}

/* Bits of the numbers that an operation takes, if floats of another width cannot be meant for it;
 * 0: unknown.  Integers of 16 bits take the lower half of each wavelet.  One alone may be a header,
 * and so may all if something besides floats of 32 bits comes. */
static unsigned number_bits(FabricCheck *c, uint32_t tile, const FabricUse *use)
{
  if (use->float_bits != 0 || use->element_bytes != 2 || use->length <= 1 || packs_pairs(c, use) ||
      may_come(c, tile, use->color, sends_no_singles, 32))
    return use->float_bits;
  return 16;
}

static void check_floats(FabricCheck *c, uint32_t tile, unsigned color)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  check_float(c, tile, color, uses->task_floats[color], uses->task_span[color]);
  for (uint32_t i = 0; i < uses->n; i++) {
    const FabricUse *use = &uses->uses[i];
    if (!use->is_send && use->color == color)
      check_float(c, tile, color, number_bits(c, tile, use), use->span);
  }
}

/* ---- floats for a task that takes integers --------------------------------------------------- */

static bool sends_singles(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  return !sends_no_singles(c, use, bits);
}

static void check_converting_task(FabricCheck *c, uint32_t tile, unsigned color)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  if (!(uses->converting_tasks >> color & 1) || !is_to_check(c, RULE_CONVERTS, tile, color) ||
      may_come(c, tile, color, sends_no_singles, 32))
    return;
  Sender sender = find_upstream(c, tile, color, sends_singles, 32);
  Span at = uses->task_span[color];
  if (!sender.use || !fabric_may_tell(c, RULE_CONVERTS, color, at))
    return;
  diag_floats_as_integers(c->session->diags, at, fabric_tile_text(c, tile), color);
  fabric_note_sender(c, &sender);
  diag_floats_as_integers_help(c->session->diags, at);
}

/* ---- two elements per wavelet for a task of one ---------------------------------------------- */

static bool sends_two_each(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  return packs_pairs(c, use) && 8u * use->element_bytes == bits && use->length != 1;
}

static void check_half_task(FabricCheck *c, uint32_t tile, unsigned color)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  if (!(uses->half_tasks >> color & 1) || !is_to_check(c, RULE_PACKED, tile, color))
    return;
  Sender sender = find_upstream(c, tile, color, sends_two_each, 16);
  Span at = uses->task_span[color];
  if (!sender.use || !fabric_may_tell(c, RULE_PACKED, color, at))
    return;
  diag_packed_for_task(c->session->diags, at, fabric_tile_text(c, tile), color);
  fabric_note_sender(c, &sender);
  diag_packed_help(c->session->diags, at);
  if (sender.use->simd == SIMD_DEFAULT)
    release_note(c->session);
}

static bool sends_singly(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  return !sends_two_each(c, use, bits);
}

static void check_singles(FabricCheck *c, uint32_t tile, unsigned color)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  if (!(uses->singles >> color & 1) || !is_to_check(c, RULE_PACKED, tile, color) ||
      may_come(c, tile, color, sends_singly, 16))
    return;
  Sender sender = find_upstream(c, tile, color, sends_two_each, 16);
  Span at = uses->single_span[color];
  if (!sender.use || !fabric_may_tell(c, RULE_PACKED, color, at))
    return;
  diag_packed_for_single(c->session->diags, at, uses->single_name[color], fabric_tile_text(c, tile),
                         color);
  fabric_note_sender(c, &sender);
  diag_packed_for_single_help(c->session->diags, at);
  if (sender.use->simd == SIMD_DEFAULT)
    release_note(c->session);
}

/* ---- an index where the task takes a float --------------------------------------------------- */

static bool sends_floats_with_index(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  (void)c;
  return use->has_index && use->float_bits == bits;
}

static bool sends_anything_else(const FabricCheck *c, const FabricUse *use, unsigned bits)
{
  return !use->is_control && !sends_floats_with_index(c, use, bits);
}

static void check_index(FabricCheck *c, uint32_t tile, unsigned color)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  if (!(uses->high_float_tasks >> color & 1) || !is_to_check(c, RULE_INDEX, tile, color) ||
      may_come(c, tile, color, sends_anything_else, 16))
    return;
  Sender sender = find_upstream(c, tile, color, sends_floats_with_index, 16);
  Span at = uses->task_span[color];
  if (!sender.use || !fabric_may_tell(c, RULE_INDEX, color, at))
    return;
  diag_index_as_data(c->session->diags, at, fabric_tile_text(c, tile), color);
  fabric_note_sender(c, &sender);
  diag_index_as_data_help(c->session->diags, at);
}

/* ---- all ------------------------------------------------------------------------------------- */

void fabric_check_arrivals(FabricCheck *c, uint32_t tile, unsigned color)
{
  check_lengths(c, tile, color);
  check_floats(c, tile, color);
  check_converting_task(c, tile, color);
  check_half_task(c, tile, color);
  check_singles(c, tile, color);
  check_index(c, tile, color);
}
