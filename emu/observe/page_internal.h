/* What the files of the page share, among themselves and with the profile.
 *
 * The page is a container of numbers and JSON, which the application in viewer/ shows.  Its size is
 * bounded whatever runs: counts are kept in a pyramid over space and time, time lines and ways of
 * wavelets are samples, and each sample says what it leaves out.
 *
 * Reading order: channels.def, pack, pyramid, spans, ways, turns, describe, page. */
#ifndef PAGE_INTERNAL_H
#define PAGE_INTERNAL_H

#include "emu/observe/observe.h"

#include <jansson.h>

typedef enum {
#define CHANNEL(name, combine, unit, text) CHANNEL_##name,
#include "emu/observe/channels.def"
  CHANNEL_COUNT
} Channel;

/* ---- profile.c ------------------------------------------------------------------------------- */

/* Cycles of threads at one source line.  `cycles` is all: what remains of it without groups,
 * stalls and start is the issue of instructions and their latency. */
typedef struct {
  const char *file;             /* "" without debug information */
  uint32_t line;
  uint64_t cycles, instructions, groups, elements, start;
  uint64_t stalls[STALL_COUNT];
} ProfileRow;
/* Most cycles first; valid as long as the profile. */
const ProfileRow *profile_rows(const Profile *profile, size_t *count);

/* ---- pack.c: the container ---------------------------------------------------------------------
 *
 * "WSEVIEW1", the length of the JSON as four bytes, low first, the JSON, then the arrays. JSON and
 * arrays are compressed each by itself (zlib).  The JSON's `arrays` gives of each array `at`, its
 * offset behind the JSON, `bytes`, and `count`, its numbers: LEB128 each. */
typedef struct Pack Pack;
Pack *pack_create(size_t most_bytes);
void pack_destroy(Pack *pack);
/* False, and nothing is added, if the array does not fit. */
bool pack_numbers(Pack *pack, const char *name, const uint64_t *numbers, size_t count);
size_t pack_bytes(const Pack *pack);
/* Takes back the arrays that were added since the pack had so many bytes. */
void pack_shrink(Pack *pack, size_t bytes);
/* The container, `top` with the list of arrays added; as base64: in lines of text. */
void pack_write(Pack *pack, json_t *top, bool base64, FILE *out);

/* ---- pyramid.c: counts over space and time --------------------------------------------------- */

typedef struct Pyramid Pyramid;
/* sampled: by pyramid_sample alone; else by the three after it. */
Pyramid *pyramid_create(const Program *program, bool sampled);
void pyramid_destroy(Pyramid *pyramid);
void pyramid_add(Pyramid *pyramid, Channel channel, uint32_t tile, uint64_t cycle, uint64_t value);
/* One for each cycle from `from` on and before `to`. */
void pyramid_add_cycles(Pyramid *pyramid, Channel channel, uint32_t tile, uint64_t from,
                        uint64_t to);
/* The value holds from `from` up to and including `to`. */
void pyramid_hold(Pyramid *pyramid, Channel channel, uint32_t tile, uint64_t from, uint64_t to,
                  uint64_t value);
/* The tiles have counted so much before `cycle`, which is not before that of an earlier call; waits
 * are counted where they end.  Returns the cycle of the next sample. */
uint64_t pyramid_sample(Pyramid *pyramid, const TileCounts *counts, uint64_t cycle);
void pyramid_last_sample(Pyramid *pyramid, const TileCounts *counts, uint64_t cycle);
/* Adds its levels, the coarsest first, and their description as `levels`.  What does not fit is
 * kept with fewer steps of time, or not at all. */
void pyramid_pack(Pyramid *pyramid, Pack *pack, json_t *top);

/* ---- spans.c: time lines of tiles ------------------------------------------------------------ */

typedef struct Spans Spans;
/* All tiles of a small program have one, and else tiles in even distances. */
Spans *spans_create(const Program *program);
void spans_destroy(Spans *spans);
/* What goes on where the engine stands begins there. */
void spans_take_up(Spans *spans, Engine *engine);
void spans_event(Spans *spans, const TraceEvent *event);
/* What is open ends at `cycle`. */
void spans_pack(Spans *spans, uint64_t cycle, Pack *pack, json_t *top);

/* ---- ways.c: ways of wavelets ---------------------------------------------------------------- */

typedef struct Ways Ways;
/* After so many events of wavelets, the ways end where they are. */
Ways *ways_create(const Program *program, uint64_t most_events);
/* From the cycle on where the engine stands: of wavelets that are sent from then on. */
void ways_take_up(Ways *ways, Engine *engine);
bool ways_are_over(const Ways *ways);
void ways_destroy(Ways *ways);
/* True: they are over from now on. */
bool ways_event(Ways *ways, const TraceEvent *event);
/* `ways_until`: the cycle in which they ended before the run did. */
void ways_pack(Ways *ways, Pack *pack, json_t *top);

/* ---- turns.c: routes that change ------------------------------------------------------------- */

typedef struct Turns Turns;
Turns *turns_create(const Program *program);
void turns_destroy(Turns *turns);
/* From the cycle on where the engine stands, with the routes that have changed before. */
void turns_take_up(Turns *turns, Engine *engine);
void turns_event(Turns *turns, const TraceEvent *event);
/* `turn_cycles`: the length of a stretch of time, of which the last change is kept; 0: there was no
 * room for them. */
void turns_pack(Turns *turns, Pack *pack, json_t *top);

/* ---- describe.c: the program, its sources and what was found --------------------------------- */

/* sampled: those that an engine counts. */
json_t *describe_channels(bool sampled);
json_t *describe_classes(const Program *program);
/* Adds class and routes of each tile as arrays; returns the routes by number. */
json_t *describe_routes(const Program *program, Pack *pack);
/* Lines with their cycles, and the text of their files. */
json_t *describe_sources(const Profile *profile, const char *program_path);
json_t *describe_findings(const Program *program, Engine *engine);

#endif
