/* What the files of frontend/layout offer each other alone. */
#ifndef FRONTEND_LAYOUT_INTERNAL_H
#define FRONTEND_LAYOUT_INTERNAL_H

#include "frontend/layout/layout.h"

/* ---- layout.c ------------------------------------------------------------------------------ */

/* Makes the tiles of the program's rectangle; a mistake in its place is reported at `span`. */
void layout_set_rectangle(Session *session, LayoutResult *layout, uint32_t width, uint32_t height,
                          Span span);

/* Warns of exports that no tile has, after programs without errors. */
void layout_check_exports(Session *session);

/* ---- class_share.c: classes with equal code -------------------------------------------------- */

typedef struct ClassTwins ClassTwins;
ClassTwins *class_twins_create(Arena *arena);
void class_twins_destroy(ClassTwins *twins);
/* The class that has been compiled of the same IR and configures the same colors; IMAGE_NO_CLASS:
 * there is none. */
uint32_t class_twin_find(ClassTwins *twins, const Programs *programs, const ProgramClass *class,
                         IrDigest digest);
void class_twin_add(ClassTwins *twins, IrDigest digest, uint32_t class);
/* Joins classes with equal code; the new number of each class that there was (free). */
uint32_t *classes_share(Session *session, Programs *programs);

/* ---- class_constants.c: numbers that have no place, for debuggers ---------------------------- */

/* What an integer is on the tile at (x, y) of the grid: first + x * per_x + y * per_y modulo 2^64,
 * and from `least` to `most`, which are less than MOST_OF_LAW from 0, on the tiles that have it. */
enum { LAW_BITS = 31 };
#define MOST_OF_LAW (INT64_C(1) << LAW_BITS)
typedef struct {
  bool holds;
  uint64_t first, per_x, per_y;
  int64_t least, most;
} PlaceLaw;
static inline bool law_can_have(int64_t value)
{
  return value < MOST_OF_LAW && value > -MOST_OF_LAW;
}
/* Those of the program that has been analysed; in the arena.  `laws`: of its symbolic parameters;
 * NULL: it has none. */
void class_constants_find(Sema *s, const PlaceLaw *laws, ProgramClass *class, Arena *arena);
/* Keeps them in an arena that lives longer. */
void class_constants_keep(ProgramClass *class, Arena *arena);
/* The tiles of both have the code of the first class, which keeps what is the same in both. */
void class_constants_join(ProgramClass *kept, const ProgramClass *other);

/* ---- class_colors.c -------------------------------------------------------------------------- */

/* Adds what its program configures itself to each tile's set of colors; false after reporting. */
bool class_colors_add(Session *session, const Programs *programs);

/* ---- fabric_stream.c, fabric_check.c: what tiles send to each other and to the host ---------- */

/* Warns of operations that pack what the host streams. */
void fabric_check_streams(Session *session, const Programs *programs);
/* Reports what cannot work in the finished layout; false after an error. */
bool fabric_check(Session *session, const Programs *programs);

#endif
