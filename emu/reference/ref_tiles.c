/* Reference engine: the tiles that something has reached. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

static void load_memory(RefEngine *engine, RefTile *tile, uint32_t index)
{
  const ClassCode *cls = program_class(engine->base.program, index);
  if (cls) {
    tile->core.mem.cls = cls;
    mem_touch(engine->base.program, index, &tile->core.mem);
  }
  tile_load(&tile->core, engine->base.program, index);
}

RefTile *touch_tile(RefEngine *engine, uint32_t index)
{
  RefTile *tile = engine->tiles[index];
  if (tile)
    return tile;
  tile = base_zeroed(1, sizeof *tile);
  engine->tiles[index] = tile;
  arrput(engine->touched, index);
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    const ImageColorConfig *config = program_color(engine->base.program, index, c);
    tile->colors[c] = config ? color_create(config) : NULL;
  }
  tile->first_color = MAX_COLORS - 1;     /* so that color 0 is visited first */
  tile->last_ramp_queue = MAX_QUEUES - 1;
  load_memory(engine, tile, index);
  return tile;
}

static void destroy_tile(RefTile *tile)
{
  for (unsigned i = 0; i < TILE_THREADS; i++)
    free(tile->core.threads[i].run);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    color_destroy(tile->colors[c]);
  free(tile->core.dsrs.own);
  tile_unload(&tile->core);
  host_port_free(&tile->host);
  free(tile);
}

void destroy_tiles(RefEngine *engine)
{
  for (size_t i = 0; i < arrlenu(engine->touched); i++)
    destroy_tile(engine->tiles[engine->touched[i]]);
  arrfree(engine->touched);
  free(engine->tiles);
}
