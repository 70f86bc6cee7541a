/* emu/reference: the plain, obviously correct engine. */
#ifndef EMU_REFERENCE_H
#define EMU_REFERENCE_H

#include "emu/engine/engine.h"

extern const EngineOps engine_reference;

#endif
