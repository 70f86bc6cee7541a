/* emu/fast: the engine for large fabrics and long runs; same results, cycles and events. */
#ifndef EMU_FAST_H
#define EMU_FAST_H

#include "emu/engine/engine.h"

extern const EngineOps engine_fast;

#endif
