/* The driver: the command line, the phases of a run in their order, and the files that it writes.
 *
 * Reading order: options.def, options.c, driver.c, builtin_table.c, output.c, cslc_main.c,
 * wse_model_main.c. */
#ifndef FRONTEND_DRIVER_H
#define FRONTEND_DRIVER_H

#include "frontend/layout/layout.h"

/* ---- options.c: the command line ----------------------------------------------------------- */

/* Fills `options` from the command line, which becomes a source text of its own, so that
 * bindings have places; strings live in argv and `arena`.  OPTIONS_GO_ON, or the exit code to
 * end with after what was printed (help: 0, refused: 1, wrong usage: 2). */
#define OPTIONS_GO_ON (-1)
int options_parse(Options *options, Arena *arena, SourceMap *sources, int argc, char **argv);
void options_free(Options *options);

/* ---- output.c, driver.c: the end of a run -------------------------------------------------- */

/* Compiles as the options say and returns the exit code; `source_stdlib` is where the standard
 * library is when it is not installed. */
int driver_run(const Options *options, SourceMap *sources, const char *source_stdlib);
/* A program that was checked (options->check), kept for questions about it. */
typedef struct CheckedProgram CheckedProgram;
CheckedProgram *driver_check(const Options *options, SourceMap *sources, const char *source_stdlib,
                             const SemaListener *listener);
Session *checked_session(CheckedProgram *program);
void checked_close(CheckedProgram *program);

/* ---- builtin_table.c ----------------------------------------------------------------------- */

/* Interns the names; the caller does this before it reads any source, so that their ids are
 * small. */
const BuiltinTable *builtin_table_create(Arena *arena, StrTable *names);

#endif
