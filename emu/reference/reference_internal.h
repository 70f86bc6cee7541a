/* The reference engine's own header: how it keeps queues and routers.
 *
 * The engine is plain: in each cycle it visits every tile that anything has ever reached, whether
 * that tile has something to do or not, and it runs one cycle after the other.  (Nothing can happen
 * at a tile that nothing has reached; to keep those would take the memory of a wafer.)
 *
 * A cycle has three parts.  Begin: actions that are due change their own tile's task bits.
 * Plan: every tile writes down what it will do, into its own RefPlan; all other state is only
 * read, so the order in which tiles are visited cannot matter.  Commit: the plans are carried out;
 * what crosses a tile border is first put aside at the receiver (ColorState `arriving`) and taken
 * in when all senders are through. */
#ifndef REFERENCE_INTERNAL_H
#define REFERENCE_INTERNAL_H

#include "emu/reference/reference.h"

enum { REF_RING = 16 };         /* a power of two; more than any queue with its ramp stages */

typedef struct {
  uint32_t payload;
  uint8_t color;
  Port from;                    /* router slots: the port it came in by */
  bool control;
  bool kept;                    /* a control wavelet that has ended an operation */
  bool advance;                 /* its entry into the local router advances the switch */
  uint64_t visible;             /* first cycle in which its holder can see it */
} Wavelet;

typedef struct { Wavelet at[REF_RING]; uint8_t head, count; } Ring;

/* One color of one router. */
typedef struct {
  const ImageColorConfig *config;   /* as loaded, or that of `own` */
  RouterConfig *own;            /* NULL: the registers were never written */
  Ring slots;
  uint8_t rx_position, tx_position;  /* equal except while a wavelet with `advance` is inside */
  bool suspended;               /* torn down */
  bool has_switch;              /* by the layout */
  SwitchMove moved;             /* of such a color */
  FilterState filter;
  PortMask arrivals;            /* this cycle, by port; empty between cycles */
  Wavelet arriving[PORT_COUNT];
} ColorState;

typedef struct {
  uint8_t color;
  PortMask to;
  bool counted;                 /* by the filter */
} PlannedMove;

typedef struct {
  TilePlan tile;
  uint8_t n_moves;
  PlannedMove moves[MAX_COLORS];
  uint8_t ramp_queue;           /* output queue whose head enters the router; NO_QUEUE none */
  uint8_t host_queue;           /* output queue whose head could go to the host */
  bool host_out;
  HostLane *host_in;            /* whose word enters; NULL none */
} RefPlan;

typedef struct { Ring ring; QueueUse use; } RefQueue;

typedef struct {
  Tile core;
  RefQueue input[MAX_QUEUES], output[MAX_QUEUES];
  ColorState *colors[MAX_COLORS];  /* NULL: not configured */
  uint8_t first_color;          /* served first in the last cycle with a move */
  uint8_t last_ramp_queue;
  HostPort host;
  RefPlan plan;
} RefTile;

typedef struct { HostOut out; uint32_t chosen; } RefChannel;

typedef struct {
  Engine base;
  RefTile **tiles;              /* NULL: as loaded */
  uint32_t *touched;            /* stb_ds: those that are not, in any order */
  RefChannel *channels;
  LinkIn **entering;            /* by gate: whose word enters in this cycle; NULL none */
  TileLog log;
  bool changed;                 /* something, in this cycle; the wait of an operation does not
                                   count */
} RefEngine;

/* ref_queues.c */
const Wavelet *ring_peek(const Ring *ring, unsigned index);
void ring_push(Ring *ring, Wavelet wavelet);
Wavelet ring_pop(Ring *ring);
RefTile *tile_of_turn(const Turn *turn);
extern const TilePort reference_port;

/* ref_router.c */
ColorState *color_create(const ImageColorConfig *config);
void color_destroy(ColorState *state);      /* NULL: does nothing */
void router_plan(RefEngine *engine, Turn *turn, RefPlan *plan);
void router_commit(RefEngine *engine, Turn *turn, const RefPlan *plan);
/* Whether a word of a link can enter, as LinkAccepts. */
bool router_accepts_link(const Engine *engine, uint32_t tile, uint8_t color, Port port);
/* Lets the words of engine->entering into the routers. */
void router_take_links(RefEngine *engine);
/* Takes in what all senders have put aside for the tile. */
void router_take_in(Turn *turn);

/* ref_tiles.c */
RefTile *touch_tile(RefEngine *engine, uint32_t tile);
void destroy_tiles(RefEngine *engine);

/* reference.c */
Turn start_turn(RefEngine *engine, RefTile *tile);
unsigned channel_count(const RefEngine *engine);

/* ref_state.c */
extern const EngineKeeper reference_keeper;

#endif
