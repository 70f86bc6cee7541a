/* States in memory.  The bytes of a tile are cut into pieces, and a snapshot shares those that are
 * equal with the one before it: idle tiles and most memory cost nothing again. */
#include "emu/engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

#include "stb_ds.h"

enum { PIECE_BYTES = 512 };

typedef struct { uint32_t users, n; unsigned char bytes[]; } Piece;
typedef struct { uint32_t tile, n; Piece **pieces; } TilePieces;

struct Snapshot {
  uint64_t cycle;
  unsigned char *run;           /* stb_ds: engine_run_put */
  TilePieces *tiles;            /* stb_ds, by tile */
};

static Piece *make_piece(const unsigned char *bytes, uint32_t n)
{
  Piece *piece = base_malloc(sizeof *piece + n);
  piece->users = 1;
  piece->n = n;
  memcpy(piece->bytes, bytes, n);
  return piece;
}

/* `before`: the piece in its place; NULL none. */
static Piece *share_piece(Piece *before, const unsigned char *bytes, uint32_t n)
{
  if (!before || before->n != n || memcmp(before->bytes, bytes, n) != 0)
    return make_piece(bytes, n);
  before->users++;
  return before;
}

static void keep_tile(Snapshot *s, uint32_t tile, const TilePieces *before,
                      const unsigned char *bytes)
{
  uint32_t length = (uint32_t)arrlenu(bytes);
  TilePieces kept = {.tile = tile, .n = (length + PIECE_BYTES - 1) / PIECE_BYTES};
  kept.pieces = base_malloc((kept.n + 1) * sizeof *kept.pieces);
  for (uint32_t i = 0; i < kept.n; i++) {
    uint32_t at = i * PIECE_BYTES, n = length - at < PIECE_BYTES ? length - at : PIECE_BYTES;
    kept.pieces[i] = share_piece(before && i < before->n ? before->pieces[i] : NULL, bytes + at, n);
  }
  arrput(s->tiles, kept);
}

Snapshot *snapshot_take(Engine *engine, const Snapshot *before)
{
  Snapshot *s = base_malloc(sizeof *s);
  unsigned char *bytes = NULL;
  size_t next = 0, n_before = before ? arrlenu(before->tiles) : 0;
  memset(s, 0, sizeof *s);
  s->cycle = engine->ops->cycle(engine);
  engine_run_put(engine, &s->run);
  for (uint32_t tile = 0; tile < engine->program->n_tiles; tile++) {
    if (!engine->ops->touched(engine, tile))
      continue;
    while (next < n_before && before->tiles[next].tile < tile)
      next++;
    bool known = next < n_before && before->tiles[next].tile == tile;
    arrsetlen(bytes, 0);
    engine->ops->keeper->tile_out(engine, tile, &bytes);
    keep_tile(s, tile, known ? &before->tiles[next] : NULL, bytes);
  }
  arrfree(bytes);
  return s;
}

void snapshot_free(Snapshot *s)
{
  for (size_t i = 0; s && i < arrlenu(s->tiles); i++) {
    for (uint32_t k = 0; k < s->tiles[i].n; k++)
      if (--s->tiles[i].pieces[k]->users == 0)
        free(s->tiles[i].pieces[k]);
    free(s->tiles[i].pieces);
  }
  if (s) {
    arrfree(s->tiles);
    arrfree(s->run);
  }
  free(s);
}

uint64_t snapshot_cycle(const Snapshot *s) { return s->cycle; }

size_t snapshot_bytes(const Snapshot *s)
{
  size_t bytes = arrlenu(s->run);
  for (size_t i = 0; i < arrlenu(s->tiles); i++) {
    const TilePieces *kept = &s->tiles[i];
    bytes += sizeof *kept + kept->n * sizeof *kept->pieces;
    for (uint32_t k = 0; k < kept->n; k++)
      bytes += (sizeof(Piece) + kept->pieces[k]->n) / kept->pieces[k]->users;
  }
  return bytes;
}

void snapshot_restore(const Snapshot *s, Engine *engine)
{
  unsigned char *bytes = NULL;
  StateReader in = {s->run, s->run + arrlenu(s->run), false};
  bool sound = engine_run_get(engine, &in);
  for (size_t i = 0; i < arrlenu(s->tiles) && sound; i++) {
    const TilePieces *kept = &s->tiles[i];
    arrsetlen(bytes, 0);
    for (uint32_t k = 0; k < kept->n; k++)
      state_put(&bytes, kept->pieces[k]->bytes, kept->pieces[k]->n);
    in = (StateReader){bytes, bytes + arrlenu(bytes), false};
    sound = engine->ops->keeper->tile_in(engine, kept->tile, &in) && in.at == in.end;
  }
  arrfree(bytes);
  if (!sound)
    ICE("a snapshot is not of this program");
}
