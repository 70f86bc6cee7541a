/* What tile_class.c, which finds the classes of tiles, tile_groups.c, which forms the groups that
 * they come from, and tile_laws.c share. */
#ifndef FRONTEND_TILE_CLASS_H
#define FRONTEND_TILE_CLASS_H

#include "frontend/analysis/analysis.h"
#include "frontend/layout/layout_internal.h"

enum { NO_UNIT = UINT32_MAX };     /* of a tile without code */
enum { NO_PARAM = UINT32_MAX };
enum { NO_VARIANT = UINT32_MAX };
enum { NO_VALUE = UINT32_MAX };
enum { PARAM_VALUES = 1024 };      /* coordinates are below */
/* One file with parameters and content of variables; many tiles may have it. */
typedef struct {
  const LayoutTile *tile;  /* the first one of them */
  PoolId *leaves;          /* of the parameter struct: those without parts */
  PoolId *symbols;         /* what the group's symbolic parameters are here */
  uint64_t blob_at;
  uint32_t n_leaves;
  uint32_t group;          /* index */
  uint32_t variant;        /* NO_VARIANT until known */
} TileUnit;

typedef struct TreeNode {
  PoolId symbolic;         /* none: a leaf (variant known) or nothing yet */
  uint32_t variant;        /* NO_VARIANT: not a leaf */
  struct { uint32_t key; struct TreeNode *value; } *branches;   /* stb_ds, by outcome */
  uint32_t param;          /* the only one that `symbolic` is of; NO_PARAM: there are more */
  uint32_t passed;         /* by tiles, while it has no table */
  /* The branch by a value of `param`, PARAM_VALUES of them; NULL, all or one: not known yet. */
  struct TreeNode **by_param;
} TreeNode;

typedef struct {
  uint32_t *units;         /* stb_ds: indices */
  uint32_t n_leaves;
  uint32_t n_symbols;
  uint32_t *symbol_leaf;   /* leaf that each symbolic parameter is */
  PlaceLaw *laws;          /* what each of them is by the tile's place; for debuggers */
  PoolId params;           /* struct with symbolic parts */
  TreeNode *root;
} ClassGroup;

/* The analysis of one tile, which stands for its variant. */
typedef struct {
  struct TileEnv env;
  const ClassGroup *group;
  const TileUnit *unit;
  uint32_t *contents;        /* variables whose content the layout gives: index in s->globals */
} ClassAnalysis;

/* A value that tiles have in their data. */
typedef struct {
  PoolId symbolic;
  uint32_t param;          /* as in TreeNode */
  PoolId *by_param;        /* stb_ds: what it is by a value of `param`; none: not known yet */
} TileValue;
/* A stretch of a tile's data: TileValue number `value`, or, if that is NO_VALUE, content number
 * `content` of the unit. */
typedef struct { uint32_t value; union { uint32_t bytes, content; } u; } BlobPart;
/* The outcome of an analysis. */
typedef struct {
  BlobPart *parts;         /* stb_ds: the tiles' own data */
  uint32_t class;
} Variant;

struct Classes {
  Session *session;
  Programs *programs;
  TileUnit *units;             /* stb_ds arrays */
  uint32_t *unit_of_tile;
  ClassGroup *groups;
  /* An element of an array is a constant where the array is, and a word of the tile where it is a
   * parameter of its own: slower, but one class serves many tiles.  So arrays are whole unless
   * that makes too many groups. */
  bool splits_arrays;
  Variant *variants;           /* stb_ds, and so the next two */
  TileValue *values;
  struct { uint32_t key; uint32_t value; } *value_of;      /* by PoolId.raw */
  ClassTwins *twins;
  UnusedDecl *unused;          /* stb_ds maps; of a check alone */
  NotedNeeds noted;
  Sema *evaluator;         /* computes symbolic values */
  Arena *arena;
  /* All analyses use them in turn, the second for the IR.  ir_arena NULL: the next analysis makes
   * it. */
  Arena *analysis_arena, *ir_arena;
  ClassTaker *take;
  void *context;           /* for it */
};

static inline TreeNode *new_node(Arena *arena)
{
  TreeNode *node = arena_new(arena, TreeNode);
  node->variant = NO_VARIANT;
  return node;
}

/* ---- tile_groups.c --------------------------------------------------------------------------- */

/* The units of all tiles. */
void tile_units_collect(Classes *c);
/* The groups of all units, with arrays whole unless that makes too many of them. */
void tile_groups_form(Classes *c);
/* Chooses the symbolic parameters of a group and makes the struct that the analysis sees. */
void tile_group_prepare(Classes *c, uint32_t group);

/* ---- tile_laws.c ----------------------------------------------------------------------------- */

/* The laws of all groups. */
void tile_laws_find(Classes *c);

#endif
