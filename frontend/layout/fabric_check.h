/* What fabric_check.c, which checks the routes and senders of a finished layout, and
 * fabric_arrivals.c, which checks what tiles receive, share. */
#ifndef FRONTEND_FABRIC_CHECK_H
#define FRONTEND_FABRIC_CHECK_H

#include "frontend/analysis/analysis.h"
#include "frontend/layout/layout_internal.h"

/* Tiles looked at in all searches: a bound on the time that strange layouts take. */
enum { MOST_STEPS = 1 << 20 };

/* A color configuration as this analysis sees it. */
typedef struct {
  PortMask always_rx, always_tx, ever_rx, ever_tx;
  bool is_fixed;           /* one position */
  bool has_filter;
} Route;

/* OPEN: it may change at run time. */
typedef enum { ROUTE_OPEN, ROUTE_NONE, ROUTE_KNOWN } RouteState;

typedef enum { RULE_SEND, RULE_RECEIVE, RULE_LINK, RULE_UNREAD, RULE_LENGTH, RULE_CONTROL,
               RULE_SWITCH, RULE_MEET, RULE_CIRCLE, RULE_FLOATS, RULE_CONVERTS, RULE_PACKED,
               RULE_INDEX, RULE_COUNT } Rule;

typedef struct { Rule rule; Span at; } Told;      /* a report that has been made */

typedef struct {
  Session *session;
  const Programs *programs;
  const LayoutResult *l;
  Arena *arena;
  const ImageColorSet *sets;
  Route *routes;           /* by configuration */
  uint32_t *kinds;         /* by tile: equal class and set */
  uint32_t *stamps;        /* by tile: the search that has been there */
  uint32_t stamp;
  uint32_t *stack;         /* stb_ds: tiles to go to */
  unsigned steps;
  uint32_t left_alone;     /* colors that something outside the layout uses, or that are swapped */
  uint32_t sent, routed;   /* by some tile */
  uint32_t told[RULE_COUNT];
  Told *told_at;           /* stb_ds */
  uint64_t entries;        /* of control wavelets that some tile sends */
  bool has_unknown_entries;
  uint32_t controlled;     /* colors on which some tile sends control wavelets */
  bool may_control_any;
} FabricCheck;

typedef struct { const FabricUse *use; uint32_t tile; } Sender;

/* ---- fabric_check.c: tiles and routes -------------------------------------------------------- */

/* What the tile's program sends and receives; a tile without one uses nothing. */
const FabricUses *fabric_uses_at(const FabricCheck *c, uint32_t tile);
/* The operation of a tile that sends the color for certain, else one that is likely to; NULL: none
 * does. */
const FabricUse *fabric_sending_use(const FabricUses *uses, unsigned color);
/* *route: of a state that is ROUTE_KNOWN. */
RouteState fabric_route_at(const FabricCheck *c, uint32_t tile, unsigned color,
                           const Route **route);
/* The tile that a port leads to; false: it lies outside. */
bool fabric_neighbour_at(const FabricCheck *c, uint32_t tile, Port port, uint32_t *other);
/* As the layout counts: paths of a host script may lie before its (0, 0), in the rectangle. */
const char *fabric_tile_text(const FabricCheck *c, uint32_t tile);
/* Where the tile's route is set or, if several places set such a route, where the tile gets its
 * code. */
Span fabric_route_span(const FabricCheck *c, uint32_t tile, unsigned color);
/* The layout of a host script has ports and painted positions in place of the settings of CSL. */
bool fabric_is_of_script(const FabricCheck *c);

/* ---- fabric_check.c: searches ---------------------------------------------------------------- */

/* One search at a time: it visits each tile once, in no particular order. */
void search_start(FabricCheck *c, uint32_t tile);
/* True if the tile is new to this search. */
bool search_visit(FabricCheck *c, uint32_t tile);
/* The next tile to go on from; false: there is none, or all searches have taken MOST_STEPS. */
bool search_next(FabricCheck *c, uint32_t *tile);

/* ---- fabric_check.c: reports ----------------------------------------------------------------- */

/* One report of a rule for each color and place: the others would mostly repeat it. */
bool fabric_may_tell(FabricCheck *c, Rule rule, unsigned color, Span at);
/* A mistake in what runs in every execution is an error. */
void fabric_raise_if_certain(const FabricCheck *c, bool is_certain);
void fabric_note_sender(const FabricCheck *c, const Sender *sender);

/* ---- fabric_arrivals.c ----------------------------------------------------------------------- */

/* Reports where what may come to the tile on a color that it receives does not fit what its
 * operations and its data task take: how much, of which type, and how it is packed. */
void fabric_check_arrivals(FabricCheck *c, uint32_t tile, unsigned color);

#endif
