/* emu/fabric: what a router does, in both engines. */
#ifndef EMU_FABRIC_H
#define EMU_FABRIC_H

#include "emu/machine/program.h"

/* ---- router_config.c: registers of a router that a program rewrites --------------------- */

/* A color whose registers were written has a configuration of its own. */
typedef struct {
  ImageColorConfig config;
  uint16_t changes, others;     /* the words of the positions behind the first */
} RouterConfig;
typedef struct { uint8_t position; bool suspended; uint16_t counter, limit; } RouterNow;
/* Starts a color's own configuration as a copy. */
void router_config_copy(RouterConfig *own, const ImageColorConfig *config);
/* Is the row of config_regs.def at `base` one of a router's, an array by color? */
bool router_config_is(uint16_t base);
/* Whether a color has the register.  `config` NULL: the tile does not know the color. */
bool router_config_has(uint16_t base, const ImageColorConfig *config);
/* `own` NULL: the color is as loaded. */
uint16_t router_config_read(uint16_t base, const ImageColorConfig *config,
                            const RouterConfig *own, RouterNow now);
/* In effect from the cycle after the write's issue. */
void router_config_write(uint16_t base, uint16_t value, RouterConfig *own, RouterNow *now);

/* ---- switch.c: switches and filters of colors ------------------------------------------------ */

/* Has the layout given the color more positions than the first? */
bool switch_is_there(const ImageColorConfig *config);
/* What has last moved a switch, for reports: a control wavelet, or the end of an operation with
 * .advance_switch, whose last wavelet has come by the ramp. */
typedef enum { MOVED_NEVER, MOVED_BY_COMMAND, MOVED_BY_ADVANCE } SwitchMover;
typedef struct {
  uint32_t cycle_low;           /* small, as there is one per color and tile: see the next two */
  uint8_t cycle_high, mover, from;
} SwitchMove;
enum { SWITCH_CYCLE_BITS = 32 };
static inline uint64_t switch_move_cycle(SwitchMove m)
{
  return (uint64_t)m.cycle_high << SWITCH_CYCLE_BITS | m.cycle_low;
}
static inline SwitchMove switch_move(uint64_t cycle, SwitchMover mover, unsigned from)
{
  return (SwitchMove){(uint32_t)cycle, (uint8_t)(cycle >> SWITCH_CYCLE_BITS), (uint8_t)mover,
                      (uint8_t)from};
}
unsigned switch_advanced(const ImageColorConfig *config, unsigned position);
/* The inputs that are open when a wavelet in the router's slots has been carried out, *position
 * being its place then.  What follows a command must not slip in through an input that the command
 * is about to close. */
PortMask switch_leaves_open(const ImageColorConfig *config, unsigned *position, uint32_t payload,
                            bool control);
/* A control wavelet's first command: the positions and the payload that goes on.  The outputs were
 * chosen before, so the order is route, command, pop (docs/cycle-model.md). */
typedef struct { uint8_t rx, tx; bool tears_down; uint32_t payload; } SwitchStep;
SwitchStep switch_execute(const ImageColorConfig *config, unsigned rx, unsigned tx,
                          uint32_t payload);

typedef struct { uint16_t counter, limit1; bool limit2_used, off; } FilterState;
FilterState filter_start(const ImageFilter *filter);
/* A wavelet that the filter counts has moved. */
void filter_step(FilterState *now, const ImageFilter *filter);
/* Outputs of a wavelet, `to` being the current position's: without the ramp if the command or the
 * filter says so.  *counted: by the filter. */
PortMask router_outputs(const ImageFilter *filter, const FilterState *now, PortMask to,
                        uint32_t payload, bool control, bool *counted);

#endif
