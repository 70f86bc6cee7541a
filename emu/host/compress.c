/* Streams that compress what is written to them, for traces. */
#include "emu/host/host.h"
#include "ir/base/platform.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum {
  BUFFER_BYTES = 1 << 16,
  GZIP_WINDOW = MAX_WBITS + 16,  /* zlib's sign for gzip's header */
  GZIP_MEMORY = 8,               /* zlib's default */
};

typedef struct {
  FILE *out;
  z_stream gzip;
  ZSTD_CStream *zstd;           /* NULL: gzip */
  bool failed;                  /* some bytes are lost */
  char buffer[BUFFER_BYTES];
} Compressor;

/* Each takes `size` bytes, and all that is left inside if `ends`.  False: some could not be
 * written. */
static bool put_gzip(Compressor *c, const char *bytes, size_t size, bool ends)
{
  c->gzip.next_in = (Bytef *)(uintptr_t)bytes;
  c->gzip.avail_in = (uInt)size;
  do {
    c->gzip.next_out = (Bytef *)c->buffer;
    c->gzip.avail_out = sizeof c->buffer;
    if (deflate(&c->gzip, ends ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
      return false;
    size_t n = sizeof c->buffer - c->gzip.avail_out;
    if (fwrite(c->buffer, 1, n, c->out) != n)
      return false;
  } while (c->gzip.avail_out == 0);
  return true;
}

static bool put_zstd(Compressor *c, const char *bytes, size_t size, bool ends)
{
  ZSTD_inBuffer in = {.src = bytes, .size = size};
  size_t left;
  do {
    ZSTD_outBuffer out = {.dst = c->buffer, .size = sizeof c->buffer};
    left = ZSTD_compressStream2(c->zstd, &out, &in, ends ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left) || fwrite(c->buffer, 1, out.pos, c->out) != out.pos)
      return false;
  } while (in.pos < in.size || (ends && left));
  return true;
}

static bool put_compressed(Compressor *c, const char *bytes, size_t size, bool ends)
{
  if (!c->failed)
    c->failed = !(c->zstd ? put_zstd(c, bytes, size, ends) : put_gzip(c, bytes, size, ends));
  return !c->failed;
}

static ptrdiff_t write_compressed(void *cookie, const char *bytes, size_t size)
{
  return put_compressed(cookie, bytes, size, false) ? (ptrdiff_t)size : 0;
}

static int close_compressed(void *cookie)
{
  Compressor *c = cookie;
  bool whole = put_compressed(c, NULL, 0, true);
  if (c->zstd)
    ZSTD_freeCStream(c->zstd);
  else
    deflateEnd(&c->gzip);
  free(c);
  return whole ? 0 : EOF;
}

static bool start_compressor(Compressor *c, bool zstd)
{
  if (zstd)
    return (c->zstd = ZSTD_createCStream()) != NULL;
  return deflateInit2(&c->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                      Z_DEFAULT_STRATEGY) == Z_OK;
}

FILE *compressed_open(FILE *out, const char *path)
{
  bool zstd = file_has_ending(path, ".zst");
  if (!zstd && !file_has_ending(path, ".gz"))
    return NULL;
  Compressor *c = base_malloc(sizeof *c);
  *c = (Compressor){.out = out};
  FILE *stream = start_compressor(c, zstd)
                     ? platform_open_stream(c, write_compressed, close_compressed) : NULL;
  if (!stream)
    base_out_of_memory(sizeof *c, "a compressed file");
  return stream;
}
