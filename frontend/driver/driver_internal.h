/* What the files of frontend/driver offer each other alone. */
#ifndef FRONTEND_DRIVER_INTERNAL_H
#define FRONTEND_DRIVER_INTERNAL_H

#include "frontend/driver/driver.h"

/* ---- output.c, driver.c: the end of a run -------------------------------------------------- */

/* Gathers the image of all classes and tiles. */
void image_make(Session *session, const Programs *programs, Image *image);
/* Writes a file, but for one that the program was read from; the exit code, after reporting. */
int output_write_file(const Session *session, const char *path, const void *bytes, size_t length);
/* Writes OUT.bin, or OUT/prog.bin and OUT/out.json; the exit code. */
int image_files_write(const Session *session, const Image *image);
/* A compile-time call of a library's function by another driver.  Strings and integers go in; a
 * string (malloc) or the integers of the result, an array's in order, come out. */
typedef struct { const char *text; int64_t number; } LibraryValue;   /* text NULL: the number */
typedef struct {
  const char *library, *function;            /* "<name>" */
  const char *binding_name;                  /* a parameter of the library; NULL: none */
  LibraryValue binding;
  const LibraryValue *args;
  uint32_t n_args;
  char *text;
  int64_t *numbers;                          /* stb_ds */
} LibraryCall;
/* False after reporting what is wrong. */
bool driver_call(const Options *options, SourceMap *sources, const char *source_stdlib,
                 LibraryCall *call);

#endif
