/* A layout that a host script made (--layout-json): regions of tiles that run one program each,
 * ports on their edges, connections between ports, streams to and from the host.  The format is in
 * docs/layout-json.md; regions_read.c reads it, regions_route.c chooses paths and colors. */
#ifndef FRONTEND_REGIONS_H
#define FRONTEND_REGIONS_H

#include "frontend/layout/layout.h"

typedef struct { uint32_t x, y, width, height; } RegionRect;
/* Switch positions 0 to n - 1. */
typedef struct { uint32_t n; PortMask rx[MAX_SWITCH_POSITIONS], tx[MAX_SWITCH_POSITIONS]; }
  RegionRoutes;

enum { REGION_COLOR_OPEN = -1 };
/* Each element of these structs has the place that messages about it show: the line of the host
 * script that made it, or what the element is part of.  value: REGION_COLOR_OPEN until one is
 * chosen. */
typedef struct { const char *name; Span span; int64_t value; } RegionColor;
/* Rectangles of paints and parameters are relative to the region. */
typedef struct { Span span; RegionRect rect; uint32_t color; RegionRoutes routes; } RegionPaint;
typedef struct {
  Span span;
  RegionRect rect;
  const char *name;
  bool is_color;
  uint32_t color;
  PoolId value;                /* unless it is a color */
} RegionParam;
/* Initial content of a variable: a row-major matrix, a block of it for each tile. */
typedef struct {
  Span span;
  const char *name;
  const char *bytes;
  uint32_t columns, rows, element_bytes;
  HostElements elements;
} RegionSymbol;
typedef struct {
  const char *name, *source;
  Span span, placed;           /* placed: where the script says where it lies */
  RegionRect rect;             /* in the layout */
  uint32_t n_params, n_paints, n_symbols;
  RegionParam *params;
  RegionPaint *paints;
  RegionSymbol *symbols;
} Region;
typedef struct {
  const char *name;
  Span span;
  uint32_t region, color;
  Port edge;
  uint32_t first, count;       /* tiles of the edge, from the west or north */
  bool is_output;
  int64_t size;                /* wavelets */
  RegionRoutes routes;         /* the other side of each position is the edge */
  bool is_joined;
} RegionPort;
typedef struct { Span span; uint32_t from, to; } RegionConnection;   /* ports */
typedef struct {
  const char *name;
  Span span;
  uint32_t port;
  bool has_place;
  uint32_t x, y;               /* of the tile that stands for the host; chosen unless given */
} RegionStream;

typedef struct {
  Session *session;
  Span span;                   /* of the script's compilation, or the file */
  uint32_t n_colors, n_regions, n_ports, n_connections, n_streams;
  RegionColor *colors;
  Region *regions;
  RegionPort *ports;
  RegionConnection *connections;
  RegionStream *streams;
} RegionLayout;

/* ---- bound_params.c: the parameters of a main file, as they are set ---------------------- */

/* The file's declaration of the parameter; NULL: it has none of the name. */
const Node *param_find(const Session *session, const Ast *ast, const char *name);
/* STR_NONE: it declares something else.  `color NAME;` of old releases is a parameter, too. */
StrId param_name_of(const Node *decl);
bool param_has_type(const Session *session, const Node *decl, const char *type);
/* The name of the parameter's type if it has the number, which is finite, only as an infinity;
 * NULL: it has it, or is none of floats. */
const char *param_type_too_narrow(const Session *session, const Node *decl, double number);

typedef struct { PoolField *fields; PoolId *values; uint32_t n; } BoundParams;
/* Room for `most` of them. */
BoundParams bound_params_create(Arena *arena, size_t most);
/* A parameter set again has the later value. */
void bound_params_set(Session *session, BoundParams *bound, const char *name, PoolId value);
/* The struct to import the file with. */
PoolId bound_params_value(Session *session, const BoundParams *bound);

/* ---- lanes.c ------------------------------------------------------------------------------ */

typedef struct {
  uint32_t width, height;
  const bool *is_closed;       /* by tile: no path may take it */
  uint32_t n;
  const uint32_t *starts, *goals;   /* tiles, n each */
  uint32_t start_step, goal_step;   /* from each to the next */
  uint32_t start_ahead, goal_ahead; /* away from the region; these steps may be negative */
} LaneSearch;
/* By tile of a path: the tile before it + 1, its own at a start; NULL if it finds no paths. */
const uint32_t *lanes_find(Arena *arena, const LaneSearch *search);

/* ---- regions_read.c, regions_route.c ------------------------------------------------------ */

/* Reads and checks the file; false after reporting. */
bool regions_read(RegionLayout *layout);
/* Sets the rectangle, the tiles' programs, parameters and colors; false after reporting. */
bool regions_route(RegionLayout *layout, LayoutResult *result);

#endif
