/* What the files of emu/engine offer each other alone. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "emu/engine/engine.h"

/* ---- link_state.c: gates as bytes, between runs ---------------------------------------------- */

/* They are at the same tiles, with the same colors and rates. */
bool links_are_alike(const EngineLinks *a, const EngineLinks *b);

/* ---- host_words.c ---------------------------------------------------------------------------- */

/* Puts the word behind those of its color.  True if it is the first of its color that waits. */
bool host_words_post(HostWords *words, unsigned color, uint32_t word, uint64_t cycle);

/* ---- state.c: a tile's queues, router and host words as bytes ------------------------------- */

/* All but the tiles: totals, findings, words of tiles that the host has not taken yet, gates. */
void engine_run_put(Engine *engine, unsigned char **bytes);
/* False: the bytes are none. */
bool engine_run_get(Engine *engine, StateReader *in);

#endif
