/* States in files.  A header, then records with their lengths: the caller's, the run, the tiles; at
 * the end the checksum of all that.  A reader checks the whole file before it uses any of it. */
#include "emu/engine/engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "stb_ds.h"

#define MAGIC "WSESTATE"
enum { STATE_VERSION = 5, MAGIC_BYTES = 8, END_MARK = 0xffffffff };

typedef struct {
  char magic[MAGIC_BYTES];
  uint32_t version, form;       /* form: what the bytes of tiles mean */
  ImageMark image;
  uint64_t cycle;
  Timing timing;
  uint32_t n_tiles;
  bool check_reads;             /* memory has marks of what was written */
} StateHeader;

struct StateFile {
  FILE *in;
  const char *path;
  StatePart part;
  uint64_t bytes;               /* of the part, without the checksum */
  StateHeader header;
  unsigned char *extra;         /* stb_ds */
};

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct { FILE *out; uint32_t crc; } StateWriter;

static void write_bytes(StateWriter *w, const void *bytes, size_t n)
{
  if (n)
    fwrite(bytes, 1, n, w->out);
  w->crc = (uint32_t)crc32_z(w->crc, n ? bytes : (const void *)"", n);
}

/* `tag`: a tile, or END_MARK. */
static void write_record(StateWriter *w, uint32_t tag, const void *bytes, size_t n)
{
  uint64_t length = n;
  write_bytes(w, &tag, sizeof tag);
  write_bytes(w, &length, sizeof length);
  write_bytes(w, bytes, n);
}

static StateHeader header_of(const Program *program, ImageMark image)
{
  StateHeader header;
  memset(&header, 0, sizeof header);
  memcpy(header.magic, MAGIC, MAGIC_BYTES);
  header.version = STATE_VERSION;
  header.form = tile_state_form() ^ (uint32_t)sizeof(StateFabric) ^
                (uint32_t)sizeof(EngineTotals) << 16 ^ (uint32_t)sizeof(StateHeader) << 8;
  header.image = image;
  header.timing = program->timing;
  header.n_tiles = program->n_tiles;
  header.check_reads = program->check_reads;
  return header;
}

void state_file_write(FILE *out, Engine *engine, ImageMark image, const void *extra,
                      size_t n_extra)
{
  StateWriter w = {out, (uint32_t)crc32_z(0, NULL, 0)};
  StateHeader header = header_of(engine->program, image);
  unsigned char *bytes = NULL;
  header.cycle = engine->ops->cycle(engine);
  write_bytes(&w, &header, sizeof header);
  write_record(&w, 0, extra, n_extra);
  engine_run_put(engine, &bytes);
  write_record(&w, 0, bytes, arrlenu(bytes));
  for (uint32_t tile = 0; tile < engine->program->n_tiles; tile++) {
    if (!engine->ops->touched(engine, tile))
      continue;
    arrsetlen(bytes, 0);
    engine->ops->keeper->tile_out(engine, tile, &bytes);
    write_record(&w, tile, bytes, arrlenu(bytes));
  }
  write_record(&w, END_MARK, NULL, 0);
  fwrite(&w.crc, 1, sizeof w.crc, out);
  arrfree(bytes);
}

/* ---- checking -------------------------------------------------------------------------------- */

/* NULL: the checksum of the file is the one at its end. */
static const char *check_sum(StateFile *f)
{
  enum { CHUNK = 1 << 16 };
  unsigned char *chunk = base_malloc(CHUNK);
  uint32_t crc = (uint32_t)crc32_z(0, NULL, 0), expected = 0;
  uint64_t left = f->bytes;
  size_t got = 1;
  for (; left && got; left -= got) {
    got = fread(chunk, 1, left < CHUNK ? (size_t)left : CHUNK, f->in);
    crc = (uint32_t)crc32_z(crc, chunk, got);
  }
  free(chunk);
  if (left || fread(&expected, 1, sizeof expected, f->in) != sizeof expected)
    return "it cannot be read to its end";
  return crc == expected ? NULL : "it is damaged: its checksum does not match";
}

static const char *check_header(const StateHeader *found, const Program *program, ImageMark image)
{
  StateHeader own = header_of(program, image);
  if (memcmp(found->magic, STATE_CLUSTER_MAGIC, MAGIC_BYTES) == 0)
    return "it is of a cluster: give its file with --cluster";
  if (memcmp(found->magic, own.magic, MAGIC_BYTES) != 0)
    return "it is no state of a run";
  if (found->version != own.version || found->form != own.form)
    return "another version of the emulator has written it; that version can read it";
  if (found->image.crc != own.image.crc || found->image.bytes != own.image.bytes ||
      found->n_tiles != own.n_tiles)
    return "it is of another program, or of the program before it was compiled again";
  if (memcmp(&found->timing, &own.timing, sizeof own.timing) != 0)
    return "it is of a run with other times: give the same --timing";
  if (found->check_reads != own.check_reads)
    return found->check_reads ? "it is of a run with --check-reads: give that here, too"
                              : "it is of a run without --check-reads: leave that out here, too";
  return NULL;
}

/* The next record, which replaces *bytes (stb_ds); false: the file has none. */
static bool read_record(StateFile *f, uint32_t *tag, unsigned char **bytes)
{
  uint64_t length;
  if (fread(tag, 1, sizeof *tag, f->in) != sizeof *tag ||
      fread(&length, 1, sizeof length, f->in) != sizeof length || length > f->bytes)
    return false;
  arrsetlen(*bytes, 0);
  size_t n = (size_t)length;
  return n == 0 || fread(arraddnptr(*bytes, n), 1, n, f->in) == n;
}

static bool go_back(StateFile *f) { return fseeko(f->in, (off_t)f->part.begin, SEEK_SET) == 0; }

/* Stands at its begin then; NULL: it can be as long as it is. */
static const char *measure_file(StateFile *f)
{
  if (fseeko(f->in, 0, SEEK_END) != 0)
    return "it is no file with a length";
  uint64_t length = f->part.bytes ? f->part.bytes : (uint64_t)ftello(f->in);
  if (length < sizeof f->header + sizeof f->header.version)
    return "it is too short for a state of a run";
  f->bytes = length - sizeof(uint32_t);
  return go_back(f) ? NULL : strerror(errno);
}

static const char *check_file(StateFile *f, const Program *program, ImageMark image)
{
  uint32_t tag;
  const char *too_short = measure_file(f);
  if (too_short)
    return too_short;
  if (fread(&f->header, 1, sizeof f->header, f->in) != sizeof f->header)
    return strerror(errno);
  const char *wrong = check_header(&f->header, program, image);
  if (wrong)
    return wrong;
  wrong = go_back(f) ? check_sum(f) : strerror(errno);
  if (wrong)
    return wrong;
  off_t behind = (off_t)(f->part.begin + sizeof f->header);
  if (fseeko(f->in, behind, SEEK_SET) != 0 || !read_record(f, &tag, &f->extra))
    return "it is cut off";
  return NULL;
}

StateFile *state_file_open(const char *path, StatePart part, const Program *program,
                           ImageMark image, char **why)
{
  FILE *in = fopen(path, "rb");
  if (!in) {
    *why = base_print("%s", strerror(errno));
    return NULL;
  }
  StateFile *f = base_malloc(sizeof *f);
  *f = (StateFile){.in = in, .path = path, .part = part};
  const char *wrong = check_file(f, program, image);
  if (!wrong)
    return f;
  *why = base_print("%s", wrong);
  state_file_close(f);
  return NULL;
}

void state_file_close(StateFile *f)
{
  if (!f)
    return;
  fclose(f->in);
  arrfree(f->extra);
  free(f);
}

bool state_file_settings(const char *path, ImageMark image, Timing *timing, bool *check_reads)
{
  StateFile f = {.in = fopen(path, "rb")};
  if (!f.in)
    return false;
  bool is_whole = measure_file(&f) == NULL && check_sum(&f) == NULL;
  rewind(f.in);
  bool is_state = is_whole && fread(&f.header, sizeof f.header, 1, f.in) == 1 &&
                  memcmp(f.header.magic, MAGIC, MAGIC_BYTES) == 0 &&
                  f.header.version == STATE_VERSION && f.header.image.crc == image.crc &&
                  f.header.image.bytes == image.bytes &&
                  timing_set_all(timing, &f.header.timing);
  if (is_state)
    *check_reads = f.header.check_reads;
  fclose(f.in);
  return is_state;
}

uint64_t state_file_cycle(const StateFile *f) { return f->header.cycle; }

const unsigned char *state_file_extra(const StateFile *f, size_t *n)
{
  *n = arrlenu(f->extra);
  return f->extra;
}

/* ---- restoring ------------------------------------------------------------------------------- */

static bool skip_links(StateReader *in)
{
  EngineLinks links = {NULL};
  bool sound = links_get(&links, in);
  links_free(&links);
  return sound;
}

static bool restore_run(StateFile *f, Engine *engine, bool goes_on, unsigned char **bytes)
{
  uint32_t tag;
  if (!read_record(f, &tag, bytes))
    return false;
  StateReader in = {*bytes, *bytes + arrlenu(*bytes), false};
  if (!engine_run_get(engine, &in))
    return false;
  if (in.at != in.end && !goes_on && !engine->options.links && !skip_links(&in))
    return false;
  return in.at == in.end;
}

static bool restore_tiles(StateFile *f, Engine *engine, unsigned char **bytes)
{
  uint32_t tile;
  while (read_record(f, &tile, bytes)) {
    StateReader in = {*bytes, *bytes + arrlenu(*bytes), false};
    if (tile == (uint32_t)END_MARK)
      return true;
    if (tile >= engine->program->n_tiles || !engine->ops->keeper->tile_in(engine, tile, &in) ||
        in.at != in.end) {
      return false;
    }
  }
  return false;
}

static bool restore_state(StateFile *f, Engine *engine, bool goes_on, char **why)
{
  unsigned char *bytes = NULL;
  bool done = restore_run(f, engine, goes_on, &bytes) && restore_tiles(f, engine, &bytes);
  if (!done)
    *why = base_print("what it says of a tile at byte %lld cannot be", (long long)ftello(f->in));
  arrfree(bytes);
  return done;
}

bool state_file_restore(StateFile *f, Engine *engine, char **why)
{
  return restore_state(f, engine, true, why);
}

bool state_file_show(StateFile *f, Engine *engine, char **why)
{
  return restore_state(f, engine, false, why);
}
