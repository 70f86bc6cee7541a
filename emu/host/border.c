/* Ports at the border of the rectangle: words of the host pass sides of tiles there, as those of
 * other fabrics pass links. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"

#include <stb_ds.h>

_Static_assert((int)WSE_NORTH == (int)PORT_NORTH && (int)WSE_SOUTH == (int)PORT_SOUTH &&
               (int)WSE_EAST == (int)PORT_EAST && (int)WSE_WEST == (int)PORT_WEST,
               "sides are in the order of ports");

/* Words that come out never wait for the host. */
#define UNLIMITED UINT32_MAX

static uint32_t tile_of(const HostSession *s, const WsePort *port)
{
  return program_tile(s->program, port->x, port->y);
}

/* Why there can be no such port; NULL: there can. */
static const char *refuse_place(const HostSession *s, const WsePort *port)
{
  if (port->x >= s->image->width || port->y >= s->image->height)
    return "the program has no such tile";
  if ((unsigned)port->side > WSE_WEST)
    return "a tile has no such side";
  if (program_neighbour(s->program, tile_of(s, port), (Port)port->side) != (uint32_t)NO_TILE)
    return "that side is not at the border of the program's rectangle";
  if (port->color >= s->program->machine->colors)
    return "the machine has no such color";
  uint8_t inside = program_color_inside(s->program, tile_of(s, port), port->color,
                                        (Port)port->side);
  if (!program_color(s->program, tile_of(s, port), inside))
    return "the tile's router has no route for the color; set one with @set_color_config";
  return NULL;
}

static LinkGate *gate_at(EngineLinks *links, uint32_t tile, Port side)
{
  for (size_t i = 0; i < arrlenu(links->gates); i++)
    if (links->gates[i].tile == tile && links->gates[i].port == side)
      return &links->gates[i];
  LinkGate gate = {.tile = tile, .port = side, .rate_num = 1, .rate_den = 1};
  arrput(links->gates, gate);
  return &arrlast(links->gates);
}

static LinkIn *find_in(LinkGate *gate, uint8_t color)
{
  for (size_t i = 0; i < arrlenu(gate->ins); i++)
    if (gate->ins[i].color == color)
      return &gate->ins[i];
  return NULL;
}

static LinkOut *find_out(LinkGate *gate, uint8_t color)
{
  for (size_t i = 0; i < arrlenu(gate->outs); i++)
    if (gate->outs[i].color == color)
      return &gate->outs[i];
  return NULL;
}

static const char *add_port(HostSession *s, const WsePort *port)
{
  const char *why = refuse_place(s, port);
  if (why)
    return why;
  LinkGate *gate = gate_at(&s->border, tile_of(s, port), (Port)port->side);
  if (port->input ? find_in(gate, port->color) != NULL : find_out(gate, port->color) != NULL)
    return "another port is at the same place";
  if (port->input)
    arrput(gate->ins, ((LinkIn){.color = port->color}));
  else
    arrput(gate->outs, ((LinkOut){.color = port->color, .credits = UNLIMITED}));
  return NULL;
}

const char *session_border_refusal(const SessionOptions *o)
{
  if (o->n_ports == 0)
    return NULL;
  if (o->save_state || o->load_state || o->core)
    return "a state of the run is written or read";
  if (o->debugger)
    return "a debugger runs the program";
  if (o->member)
    return "the program is one of a cluster";
  return ranks_count() > 1 ? "several processes run the program" : NULL;
}

WseStatus session_border_open(HostSession *s)
{
  for (uint32_t i = 0; i < s->options.n_ports; i++) {
    const WsePort *port = &s->options.ports[i];
    const char *why = add_port(s, port);
    if (why) {
      diag_port_refused(s->diags, HOST_NOWHERE, port->x, port->y, port->color, why);
      return session_usage(s);
    }
  }
  links_sort(&s->border);
  return WSE_OK;
}

/* The port, or NULL after reporting that there is none of this number and direction. */
static const WsePort *port_of(HostSession *s, uint32_t number, bool input)
{
  const WsePort *port = number < s->options.n_ports ? &s->options.ports[number] : NULL;
  if (port && port->input == input)
    return port;
  diag_port_number(s->diags, HOST_NOWHERE, number, input ? "an input" : "an output");
  session_usage(s);
  return NULL;
}

static LinkGate *gate_of(HostSession *s, const WsePort *port)
{
  return links_gate(&s->border, tile_of(s, port), (Port)port->side);
}

WseStatus session_port_send(HostSession *s, uint32_t number, const uint32_t *words, size_t n,
                            bool control)
{
  WseStatus status = session_ended(s);
  const WsePort *port = status == WSE_OK ? port_of(s, number, true) : NULL;
  if (!port)
    return status == WSE_OK ? WSE_USAGE : status;
  LinkIn *in = find_in(gate_of(s, port), port->color);
  if (in->at)
    arrdeln(in->coming, 0, in->at);
  in->at = 0;
  arrsetlen(in->entered, 0);
  for (size_t i = 0; i < n; i++)
    arrput(in->coming, ((LinkWord){engine_cycle(s->engine), words[i], control}));
  return WSE_OK;
}

WseStatus session_port_take(HostSession *s, uint32_t number, uint32_t *words, size_t max, size_t *n)
{
  const WsePort *port = port_of(s, number, false);
  if (!port)
    return WSE_USAGE;
  LinkOut *out = find_out(gate_of(s, port), port->color);
  *n = arrlenu(out->sent) < max ? arrlenu(out->sent) : max;
  for (size_t i = 0; i < *n; i++)
    words[i] = out->sent[i].payload;
  if (*n)
    arrdeln(out->sent, 0, *n);
  return WSE_OK;
}

WseStatus session_port_left(HostSession *s, uint32_t number, size_t *n)
{
  const WsePort *port = port_of(s, number, true);
  if (!port)
    return WSE_USAGE;
  const LinkIn *in = find_in(gate_of(s, port), port->color);
  *n = arrlenu(in->coming) - in->at;
  return WSE_OK;
}
