/* Registers of a router that a program rewrites while it runs: routes, switch positions, the
 * current position, and whether a color is torn down.  Both engines read and write colors
 * through these functions; docs/isa.md lists the addresses.
 *
 * The layout of the two main words is visible in a public program (Cerebras/csl-examples,
 * spmv-hypersparse, allreduce2R1E).
 *   COLOR_ROUTES   bits 0-4 outputs of position 0, 5-9 its inputs (west, east, south, north,
 *                  ramp), 10 and 11 color swap (fixed: writes do not change them), 12-13 pop
 *                  mode, 14 torn down
 *   COLOR_SWITCH   three bits per position for the side that it changes (0 west, 1 east, 2 south,
 *                  3 north, 4 ramp, 5 invalid) and one that says which (1 input); bit 12 ring;
 *                  13-14 current position
 *   COLOR_SWITCH_BOTH (ours) the other side of positions that change both; 5: it is inherited
 * A position inherits what it does not change from the one before it.
 * FILTER_COUNTER, FILTER_LIMIT, FILTER_MAX, FILTER_OFF (ours) are a color's filter's. */
#include "emu/fabric/fabric.h"

enum {
  OUT_SHIFT = 0, IN_SHIFT = 5, SWAP_Y_BIT = 1 << 10, SWAP_X_BIT = 1 << 11,
  POP_SHIFT = 12, POP_MASK = 3, TORN_DOWN_BIT = 1 << 14,
  NIBBLE_BITS = 4, DIRECTION_MASK = 7, INPUT_BIT = 8, DIRECTION_INVALID = 5,
  RING_BIT = 1 << 12, POSITION_SHIFT = 13, POSITION_MASK = 3,
};

/* Registers number directions west, east, south, north, ramp. */
static const Port port_of[PORT_COUNT] = {PORT_WEST, PORT_EAST, PORT_SOUTH, PORT_NORTH, PORT_RAMP};

static unsigned mask_bits(PortMask ports)
{
  unsigned bits = 0;
  for (unsigned i = 0; i < PORT_COUNT; i++)
    if (ports & port_bit(port_of[i]))
      bits |= 1u << i;
  return bits;
}

static PortMask bits_mask(unsigned bits)
{
  PortMask ports = 0;
  for (unsigned i = 0; i < PORT_COUNT; i++)
    if (bits >> i & 1)
      ports |= port_bit(port_of[i]);
  return ports;
}

/* The lowest direction of a mask; a register holds one. */
static unsigned direction_bits(PortMask ports)
{
  for (unsigned i = 0; i < PORT_COUNT; i++)
    if (ports & port_bit(port_of[i]))
      return i;
  return DIRECTION_INVALID;
}

static unsigned nibble_shift(unsigned position) { return NIBBLE_BITS * (position - 1); }

/* The switch words that describe the positions of a configuration. */
static void describe_positions(RouterConfig *own)
{
  const ImageColorConfig *config = &own->config;
  ImagePosition before = config->positions[0];
  own->changes = own->others = 0;
  for (unsigned k = 1; k < MAX_SWITCH_POSITIONS; k++) {
    const ImagePosition *p = &config->positions[k];
    unsigned word = DIRECTION_INVALID, other = DIRECTION_INVALID;
    if (p->valid) {
      bool output = p->rx == before.rx && p->tx != before.tx;
      word = output ? direction_bits(p->tx) : direction_bits(p->rx) | INPUT_BIT;
      if (!output && p->tx != before.tx)
        other = direction_bits(p->tx);
      before = *p;
    }
    own->changes |= (uint16_t)(word << nibble_shift(k));
    own->others |= (uint16_t)(other << nibble_shift(k));
  }
}

/* The positions that the words describe. */
static void derive_positions(RouterConfig *own)
{
  ImagePosition before = own->config.positions[0];
  for (unsigned k = 1; k < MAX_SWITCH_POSITIONS; k++) {
    unsigned word = own->changes >> nibble_shift(k), direction = word & DIRECTION_MASK;
    unsigned other = own->others >> nibble_shift(k) & DIRECTION_MASK;
    ImagePosition p = before;
    p.valid = direction < PORT_COUNT;
    if (p.valid) {
      PortMask side = port_bit(port_of[direction]);
      PortMask far = other < PORT_COUNT ? port_bit(port_of[other]) : 0;
      p.rx = word & INPUT_BIT ? side : far ? far : p.rx;
      p.tx = word & INPUT_BIT ? (far ? far : p.tx) : side;
      before = p;
    }
    own->config.positions[k] = p;
  }
}

void router_config_copy(RouterConfig *own, const ImageColorConfig *config)
{
  own->config = *config;
  describe_positions(own);
}

/* Registers that a color without a filter does not have. */
static bool is_filter(uint16_t base)
{
  return base == CFG_FILTER_COUNTER || base == CFG_FILTER_LIMIT || base == CFG_FILTER_MAX;
}

bool router_config_is(uint16_t base)
{
  return base == CFG_COLOR_ROUTES || base == CFG_COLOR_SWITCH || base == CFG_COLOR_SWITCH_BOTH ||
         base == CFG_FILTER_OFF || is_filter(base);
}

bool router_config_has(uint16_t base, const ImageColorConfig *config)
{
  return config && (!is_filter(base) || config->filter.kind != FILTER_NONE);
}

uint16_t router_config_read(uint16_t base, const ImageColorConfig *config,
                            const RouterConfig *own, RouterNow now)
{
  RouterConfig copy;
  if (!own) {
    router_config_copy(&copy, config);
    own = &copy;
  }
  const ImagePosition *first = &own->config.positions[0];
  unsigned word = own->others;
  if (base == CFG_COLOR_ROUTES)
    word = mask_bits(first->tx) << OUT_SHIFT | mask_bits(first->rx) << IN_SHIFT |
           (own->config.swap_y ? SWAP_Y_BIT : 0) | (own->config.swap_x ? SWAP_X_BIT : 0) |
           (unsigned)own->config.pop << POP_SHIFT | (now.suspended ? TORN_DOWN_BIT : 0);
  else if (base == CFG_FILTER_COUNTER)
    word = now.counter;
  else if (base == CFG_FILTER_LIMIT)
    word = now.limit;
  else if (base == CFG_FILTER_MAX)
    word = own->config.filter.max_counter;
  else if (base == CFG_FILTER_OFF)
    word = own->config.filter.off;
  else if (base == CFG_COLOR_SWITCH)
    word = own->changes | (own->config.ring ? RING_BIT : 0) |
           (unsigned)now.position << POSITION_SHIFT;
  return (uint16_t)word;
}

void router_config_write(uint16_t base, uint16_t value, RouterConfig *own, RouterNow *now)
{
  enum { POSITIONS_MASK = (1 << NIBBLE_BITS * (MAX_SWITCH_POSITIONS - 1)) - 1 };
  ImagePosition *first = &own->config.positions[0];
  switch ((int)base) {
  case CFG_COLOR_ROUTES:
    first->tx = bits_mask(value >> OUT_SHIFT);
    first->rx = bits_mask(value >> IN_SHIFT);
    own->config.pop = (PopMode)(value >> POP_SHIFT & POP_MASK);
    now->suspended = value & TORN_DOWN_BIT;
    break;
  case CFG_COLOR_SWITCH:
    own->changes = value & POSITIONS_MASK;
    own->config.ring = value & RING_BIT;
    now->position = (uint8_t)(value >> POSITION_SHIFT & POSITION_MASK);
    break;
  case CFG_COLOR_SWITCH_BOTH:
    own->others = value & POSITIONS_MASK;
    break;
  case CFG_FILTER_COUNTER:
    now->counter = value;
    return;
  case CFG_FILTER_LIMIT:
    now->limit = own->config.filter.limit1 = value;
    return;
  case CFG_FILTER_MAX:
    own->config.filter.max_counter = value;
    return;
  case CFG_FILTER_OFF:
    own->config.filter.off = value & 1;
    return;
  default:
    ICE("0x%04x is no register of a router", base);
  }
  derive_positions(own);
}
