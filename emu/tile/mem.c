/* Memory of one tile.  Most tiles of a wafer use a few hundred bytes, so a tile starts with its
 * static data and its stack only, and gets all of its 48 KB when it first stores anywhere else;
 * the program cannot see the difference.  Where an engine wants that, static data are those of the
 * class until the tile stores to them: scalar code, which mostly will, gets a copy with its first
 * load, so that it need not look whether the data are shared. */
#include "emu/tile/tile_internal.h"

#include <stdlib.h>
#include <string.h>

/* ABSENT: not in the compact form, so still zero.  BYTES: `at` counts from the first of the
 * bytes. */
typedef enum { PLACE_BYTES, PLACE_ABSENT, PLACE_CODE, PLACE_OUTSIDE } PlaceKind;
typedef struct { PlaceKind kind; uint32_t at; } Place;

static uint32_t stack_bytes(const ClassCode *cls)
{
  return cls->image->stack_top - cls->stack_low;
}

uint32_t mem_compact_bytes(const ClassCode *cls)
{
  return cls->image->static_bytes + stack_bytes(cls);
}

/* Fills `bytes` (mem_compact_bytes of them, zeroed) with the class' and the tile's initial data. */
static void mem_initialise(const Program *program, uint32_t tile, uint8_t *bytes)
{
  const Image *image = program->image;
  const ClassCode *cls = program_class(program, tile);
  /* An image may have no data of single tiles at all. */
  const uint8_t *blob = cls->n_copies ? image->tile_blobs + image->tile_blob_at[tile] : NULL;
  class_initialise(cls, bytes);
  for (uint32_t i = 0; i < cls->n_copies; i++) {
    const ImageTileSlot *slot = &cls->copies[i];
    memcpy(bytes + slot->address, blob + slot->offset, slot->bytes);
  }
}

/* ---- what was written ------------------------------------------------------------------------ */

static uint8_t *written_bits(const TileMem *mem) { return mem->bytes + PE_MEM_BYTES; }

static void mark_written(TileMem *mem, uint32_t address, uint32_t bytes)
{
  for (uint32_t i = address; mem->tracked && i < address + bytes; i++)
    written_bits(mem)[i / 8] |= (uint8_t)(1u << i % 8);
}

static void mark_unwritten(TileMem *mem, uint32_t address, uint32_t bytes)
{
  for (uint32_t i = address; i < address + bytes; i++)
    written_bits(mem)[i / 8] &= (uint8_t)~(1u << i % 8);
}

static bool is_written(const TileMem *mem, uint32_t address, uint32_t bytes)
{
  for (uint32_t i = address; i < address + bytes; i++)
    if (!(written_bits(mem)[i / 8] >> i % 8 & 1))
      return false;
  return true;
}

/* Data and code are initialised from the start, except variables without a value. */
static void touch_tracked(const Program *program, uint32_t tile, TileMem *mem)
{
  const ImageClass *image = mem->cls->image;
  mem->bytes = base_zeroed(PE_MEM_BYTES + PE_MEM_BYTES / 8, 1);
  mem->full = mem->tracked = true;
  mem->lent = mem->shared = false;
  mem_initialise(program, tile, mem->bytes);
  mark_written(mem, 0, image->static_bytes);
  mark_written(mem, image->code_address, mem->cls->code_end - image->code_address);
  for (uint32_t i = 0; i < image->n_symbols; i++)
    if (image->symbols[i].unset)
      mark_unwritten(mem, image->symbols[i].address, image->symbols[i].bytes);
  for (uint32_t i = 0; i < image->n_tile_slots; i++)
    mark_written(mem, image->tile_slots[i].address, image->tile_slots[i].bytes);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void mem_touch(const Program *program, uint32_t tile, TileMem *mem)
{
  if (mem->bytes || !mem->cls)
    return;
  if (program->check_reads) {
    touch_tracked(program, tile, mem);
    return;
  }
  mem->bytes = base_zeroed(mem_compact_bytes(mem->cls), 1);
  mem->full = mem->lent = mem->shared = false;
  mem_initialise(program, tile, mem->bytes);
}

void mem_lend(const Program *program, uint32_t tile, TileMem *mem, uint8_t *bytes)
{
  if (program->check_reads) {
    touch_tracked(program, tile, mem);
    return;
  }
  mem->bytes = bytes;
  mem->full = false;
  mem->lent = true;
  mem->shared = mem->cls->initial != NULL;
  if (!mem->shared)
    mem_initialise(program, tile, bytes);
}

void mem_unshare(TileMem *mem)
{
  memcpy(mem->bytes, mem->cls->initial, mem->cls->image->static_bytes);
  mem->shared = false;
}

void mem_free(TileMem *mem)
{
  if (!mem->lent)
    free(mem->bytes);
  mem->bytes = NULL;
  mem->full = mem->lent = mem->tracked = mem->shared = false;
}

static void mem_grow(TileMem *mem)
{
  const ClassCode *cls = mem->cls;
  uint8_t *all = base_zeroed(PE_MEM_BYTES, 1);
  memcpy(all, mem_static(mem), cls->image->static_bytes);
  memcpy(all + cls->stack_low, mem->bytes + cls->image->static_bytes, stack_bytes(cls));
  if (!mem->lent)
    free(mem->bytes);
  mem->bytes = all;
  mem->full = true;
  mem->lent = mem->shared = false;
}

MemBytes mem_bytes(const TileMem *mem)
{
  uint32_t bytes = mem->tracked ? PE_MEM_BYTES + PE_MEM_BYTES / 8
                   : mem->full  ? PE_MEM_BYTES
                   : mem->bytes ? mem_compact_bytes(mem->cls)
                                : 0;
  return (MemBytes){mem->bytes, bytes};
}

void mem_widen(TileMem *mem)
{
  if (!mem->full)
    mem_grow(mem);
}

/* Where `bytes` bytes from `address` lie, if they lie in one place that exists. */
static Place mem_place(const TileMem *mem, uint32_t address, uint32_t bytes)
{
  const ImageClass *image = mem->cls->image;
  uint64_t end = (uint64_t)address + bytes;
  if (end > PE_MEM_BYTES)
    return (Place){PLACE_OUTSIDE, 0};
  if (address < mem->cls->code_end && end > image->code_address)
    return (Place){PLACE_CODE, 0};
  if (mem->full || end <= image->static_bytes)
    return (Place){PLACE_BYTES, address};
  if (address >= mem->cls->stack_low && end <= image->stack_top)
    return (Place){PLACE_BYTES, image->static_bytes + (address - mem->cls->stack_low)};
  return (Place){PLACE_ABSENT, 0};
}

/* What is to be read at a place of bytes. */
static const uint8_t *bytes_at(const TileMem *mem, Place place)
{
  bool is_static = place.at < mem->cls->image->static_bytes;
  return (is_static ? mem_static(mem) : mem->bytes) + place.at;
}

static uint8_t code_byte(const ClassCode *cls, uint32_t address)
{
  uint32_t offset = address - cls->image->code_address;
  return (uint8_t)(cls->image->code[offset / 2] >> (offset % 2 * 8));
}

static FaultKind mem_check(uint32_t address, unsigned bytes)
{
  return bytes > 1 && (address & 1) ? FAULT_ALIGNMENT : FAULT_COUNT;
}

static uint8_t any_byte(const TileMem *mem, uint32_t address)
{
  Place place = mem_place(mem, address, 1);
  if (place.kind == PLACE_BYTES)
    return *bytes_at(mem, place);
  return place.kind == PLACE_CODE ? code_byte(mem->cls, address) : 0;
}

static uint32_t load_bytes(const uint8_t *at, unsigned bytes)
{
  switch (bytes) {
  case 1: return at[0];
  case 2: return at[0] | (uint32_t)at[1] << 8;
  default: return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
  }
}

const uint8_t *mem_data(const TileMem *mem, uint32_t address, unsigned bytes)
{
  Place place = mem_place(mem, address, bytes);
  return place.kind == PLACE_BYTES && !mem->tracked ? bytes_at(mem, place) : NULL;
}

FaultKind mem_load(const TileMem *mem, uint32_t address, unsigned bytes, uint32_t *value)
{
  FaultKind fault = mem_check(address, bytes);
  if (fault != FAULT_COUNT)
    return fault;
  *value = 0;
  Place place = mem_place(mem, address, bytes);
  if (place.kind == PLACE_OUTSIDE)
    return FAULT_ADDRESS;
  if (place.kind == PLACE_BYTES)
    *value = load_bytes(bytes_at(mem, place), bytes);
  for (unsigned i = 0; place.kind != PLACE_BYTES && i < bytes; i++)
    *value |= (uint32_t)any_byte(mem, address + i) << 8 * i;
  return mem->tracked && !is_written(mem, address, bytes) ? FAULT_UNWRITTEN : FAULT_COUNT;
}

/* A place that can be written, in the tile's own bytes; grows the memory if need be. */
static Place mem_writable(TileMem *mem, uint32_t address, uint32_t bytes)
{
  Place place = mem_place(mem, address, bytes);
  if (place.kind == PLACE_ABSENT) {
    mem_grow(mem);
    place = mem_place(mem, address, bytes);
  }
  if (place.kind == PLACE_BYTES && place.at < mem->cls->image->static_bytes)
    mem_own(mem);
  return place;
}

FaultKind mem_store(TileMem *mem, uint32_t address, unsigned bytes, uint32_t value)
{
  FaultKind fault = mem_check(address, bytes);
  if (fault != FAULT_COUNT)
    return fault;
  Place place = mem_writable(mem, address, bytes);
  if (place.kind == PLACE_OUTSIDE)
    return FAULT_ADDRESS;
  if (place.kind == PLACE_CODE)
    return FAULT_CODE_STORE;
  for (unsigned i = 0; i < bytes; i++)
    mem->bytes[place.at + i] = (uint8_t)(value >> 8 * i);
  mark_written(mem, address, bytes);
  return FAULT_COUNT;
}

/* Copies what bytes `first` to before `end` of the memory, which `from` holds, have of the `bytes`
 * bytes from `address`. */
static void copy_part(uint8_t *out, uint32_t address, uint32_t bytes, const uint8_t *from,
                      uint32_t first, uint32_t end)
{
  uint32_t begin = first > address ? first : address;
  uint32_t stop = end < address + bytes ? end : address + bytes;
  if (begin < stop)
    memcpy(out + (begin - address), from + (begin - first), stop - begin);
}

/* The same from several places; what no place holds is 0. */
static void read_places(const TileMem *mem, uint32_t address, uint8_t *out, uint32_t bytes)
{
  const ClassCode *cls = mem->cls;
  const ImageClass *image = cls->image;
  memset(out, 0, bytes);
  copy_part(out, address, bytes, mem_static(mem), 0,
            mem->full ? PE_MEM_BYTES : image->static_bytes);
  if (!mem->full)
    copy_part(out, address, bytes, mem->bytes + image->static_bytes, cls->stack_low,
              image->stack_top);
  uint32_t code = address > image->code_address ? address : image->code_address;
  uint32_t end = address + bytes < cls->code_end ? address + bytes : cls->code_end;
  for (; code < end; code++)
    out[code - address] = code_byte(cls, code);
}

bool mem_host_read(const TileMem *mem, uint32_t address, void *to, uint32_t bytes)
{
  uint8_t *out = to;
  if (bytes == 0)
    return true;
  Place place = mem_place(mem, address, bytes);
  if (place.kind == PLACE_OUTSIDE)
    return false;
  if (place.kind == PLACE_BYTES) {
    memcpy(out, bytes_at(mem, place), bytes);
    return true;
  }
  read_places(mem, address, out, bytes);
  return true;
}

bool mem_host_write(TileMem *mem, uint32_t address, const void *from, uint32_t bytes)
{
  if (bytes == 0)
    return true;
  Place place = mem_writable(mem, address, bytes);
  if (place.kind != PLACE_BYTES)
    return false;
  memcpy(mem->bytes + place.at, from, bytes);
  mark_written(mem, address, bytes);
  return true;
}
