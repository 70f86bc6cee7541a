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

/* ---- fabric_stream.c, fabric_check.c: what tiles send to each other and to the host ---------- */

/* Warns of operations that pack what the host streams. */
void fabric_check_streams(Session *session, const Programs *programs);
/* Reports what cannot work in the finished layout; false after an error. */
bool fabric_check(Session *session, const Programs *programs);

#endif
