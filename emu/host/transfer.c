/* Geometry of transfers, and the command words that travel before their data. */
#include "emu/host/host.h"


void host_command(CommandCode code, uint32_t address, uint32_t count, uint32_t flags,
                  uint32_t words[COMMAND_WORDS])
{
  words[0] = (uint32_t)code | address << HALF_BITS;
  words[1] = count | flags << HALF_BITS;
}

static uint32_t step_of(uint32_t given)
{
  return given ? given : 1;
}

HostTiles host_tiles(const WseTransfer *transfer)
{
  HostTiles tiles = {.transfer = transfer};
  if (transfer->width && transfer->height) {
    tiles.columns = 1 + (transfer->width - 1) / step_of(transfer->x_step);
    tiles.rows = 1 + (transfer->height - 1) / step_of(transfer->y_step);
  }
  return tiles;
}

uint32_t host_tiles_at(const HostTiles *tiles, const Program *program, uint32_t column,
                       uint32_t row)
{
  const WseTransfer *t = tiles->transfer;
  return program_tile(program, t->x + column * step_of(t->x_step), t->y + row * step_of(t->y_step));
}

bool host_tiles_next(HostTiles *tiles, const Program *program, uint32_t *tile)
{
  if (tiles->columns == 0 || tiles->next == (uint64_t)tiles->rows * tiles->columns)
    return false;
  tiles->column = (uint32_t)(tiles->next % tiles->columns);
  tiles->row = (uint32_t)(tiles->next / tiles->columns);
  tiles->next++;
  *tile = host_tiles_at(tiles, program, tiles->column, tiles->row);
  return true;
}

size_t host_tile_count(const WseTransfer *transfer)
{
  HostTiles tiles = host_tiles(transfer);
  return (size_t)tiles.columns * tiles.rows;
}

HostShape host_shape(const WseTransfer *transfer)
{
  HostTiles tiles = host_tiles(transfer);
  return (HostShape){
    .rows = tiles.rows && transfer->broadcast == WSE_SAME_IN_COLUMN ? 1 : tiles.rows,
    .columns = tiles.columns && transfer->broadcast == WSE_SAME_IN_ROW ? 1 : tiles.columns,
    .elements = transfer->elements, .order = transfer->order,
  };
}

HostRun host_shape_run(const HostShape *shape, uint32_t column, uint32_t row)
{
  size_t tiles = (size_t)shape->rows * shape->columns;
  if (row >= shape->rows)
    row = 0;
  if (column >= shape->columns)
    column = 0;
  if (shape->order == WSE_COL_MAJOR)
    return (HostRun){(size_t)column * shape->rows + row, tiles};
  return (HostRun){((size_t)row * shape->columns + column) * shape->elements, 1};
}

bool host_region_ok(HostSession *session, const WseTransfer *t)
{
  const Image *image = session_image(session);
  bool is_empty = !t->width || !t->height;
  bool fits = !is_empty && (uint64_t)t->x + t->width <= image->width &&
              (uint64_t)t->y + t->height <= image->height;
  if (!fits) {
    const char *text = arena_printf(diags_scratch(session_diags(session)), "%u,%u,%u,%u", t->x,
                                    t->y, t->width, t->height);
    if (is_empty)
      diag_region_empty(session_diags(session), HOST_NOWHERE, text);
    else
      diag_region_outside(session_diags(session), HOST_NOWHERE, text, image->width,
                          image->height);
  }
  return fits;
}
