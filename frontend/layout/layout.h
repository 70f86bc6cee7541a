/* The layout: the program of each tile, its colors and routes, and the classes of tiles that share
 * a compiled program.
 *
 * Reading order: layout.c, builtin_layout.c, regions.h, regions_read.c, bound_params.c, lanes.c,
 * regions_route.c, tile_class.h, tile_groups.c, tile_laws.c, tile_class.c, class_share.c,
 * class_constants.c, class_colors.c, layout_internal.h, fabric_stream.c, fabric_check.h,
 * fabric_check.c, fabric_arrivals.c. */
#ifndef FRONTEND_LAYOUT_H
#define FRONTEND_LAYOUT_H

#include "frontend/machine/machine.h"

/* ---- layout.c ------------------------------------------------------------------------------ */

/* An integer of the command line, as the language writes it; false if the text is none. */
bool layout_read_integer(const char *text, mpz_t number);

/* Evaluates the layout block of the main file, or the layout of --layout-json; false after
 * reporting. */
bool layout_evaluate(Session *session);
void layout_print(const Session *session, FILE *out);
/* A line for each switch position of each color of each tile. */
void layout_print_routes(const Session *session, FILE *out);

/* ---- tile_class.c: programs ---------------------------------------------------------------- */

typedef struct {
  const char *source;                    /* the file */
  IrModule *ir;                          /* in an arena of its own; NULL: gone */
  CodegenResult code;
  uint32_t n_local_colors;
  ImageColorUse local_colors[MAX_COLORS];
  Span local_spans[MAX_COLORS];
  uint32_t routed;                       /* as in MachineSetup */
  Span filter_spans[MAX_COLORS];         /* as in MachineSetup */
  const struct FabricUses *fabric;       /* analysis.h */
  uint32_t n_constants;
  const DebugConstant *constants;        /* for debuggers */
} ProgramClass;
typedef struct Classes Classes;      /* the classes of the tiles, while the search runs */
typedef struct {
  ProgramClass *classes;         /* stb_ds */
  uint32_t *tile_class;          /* width * height; IMAGE_NO_CLASS */
  uint64_t *tile_blob_at;
  uint8_t *blobs;                /* stb_ds */
  Classes *discovery;
} Programs;
/* Takes each class whose analysis has found no error, unless one with the same IR has been taken.
 * The IR is gone afterwards, unless --emit=ir prints it.  False: the class has no code, so the next
 * one with the same IR is taken, too. */
typedef bool ClassTaker(void *context, ProgramClass *class);
/* Analyses the layout's programs and finds the classes of tiles, with their IR and the tiles' own
 * data; false after reporting. */
bool classes_find(Session *session, Programs *programs, ClassTaker *take, void *context);
/* When every class has its code: joins classes with equal code, gives each tile its class, and
 * checks the colors that programs configure themselves; false after reporting. */
bool classes_settle(Session *session, Programs *programs);
void programs_free(Programs *programs);

#endif
