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

#endif
