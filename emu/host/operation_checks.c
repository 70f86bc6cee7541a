/* Whether an operation that a host program asks for can be carried out; what cannot is reported
 * before anything changes. */
#include "emu/host/session_internal.h"

#include <inttypes.h>
#include <string.h>

#include <stb_ds.h>

/* Colors and symbols are numbers to scripts, which mix them up. */
static void note_symbol(HostSession *s, uint32_t number)
{
  if (number < s->image->n_exports && s->image->exports[number].kind == EXPORT_DATA)
    diag_transfer_copies(s->diags, HOST_NOWHERE, number, s->image->exports[number].name);
}

static const char *const ways[2] = {"to", "from"};

/* Once for each color and way; a host script's layout has streams of its own. */
static void warn_unnamed(HostSession *s, uint32_t color, bool in)
{
  static const char *const names[2] = {"MEMCPYD2H_1 to MEMCPYD2H_4", "MEMCPYH2D_1 to MEMCPYH2D_4"};
  const uint32_t *named = s->image->named_streams;
  if (!s->image->names_streams || (named[in] | s->streams_told[in]) >> color & 1)
    return;
  s->streams_told[in] |= 1u << color;
  diag_stream_unnamed(s->diags, HOST_NOWHERE, color, ways[in], names[in]);
  if (named[!in] >> color & 1)
    diag_stream_other_way(s->diags, HOST_NOWHERE, color, ways[!in]);
  session_warn(s);
}

static WseStatus check_stream(HostSession *s, const WseTransfer *t, bool in)
{
  uint32_t tile;
  if (!s->image->memcpy) {
    diag_stream_needs_memcpy(s->diags, HOST_NOWHERE);
    return session_usage(s);
  }
  if (t->target >= s->program->machine->colors || !(s->program->host_out_colors >> t->target & 1)) {
    diag_stream_color(s->diags, HOST_NOWHERE, t->target);
    note_symbol(s, t->target);
    return session_usage(s);
  }
  HostTiles tiles = host_tiles(t);
  while (in && host_tiles_next(&tiles, s->program, &tile)) {
    const ClassCode *cls = program_class(s->program, tile);
    if (!cls || cls->image->data_queue[t->target] >= MAX_QUEUES) {
      diag_stream_no_queue(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                           program_y(s->program, tile), t->target);
      note_symbol(s, t->target);
      return session_usage(s);
    }
  }
  warn_unnamed(s, t->target, in);
  return WSE_OK;
}

/* Bytes from the address to the end of the variable it lies in; all of memory if in none. */
static uint32_t bytes_left(const ClassCode *cls, uint32_t address)
{
  for (uint32_t i = 0; i < cls->image->n_symbols; i++) {
    const ImageSymbol *symbol = &cls->image->symbols[i];
    if (!symbol->is_code && address >= symbol->address &&
        address < symbol->address + symbol->bytes)
      return symbol->address + symbol->bytes - address;
  }
  return PE_MEM_BYTES;
}

/* A script counts one word of 32 bits per element, and these have 16. */
static void note_width(HostSession *s, const WseTransfer *t)
{
  const ImageExport *export = &s->image->exports[t->target];
  if (!t->is_16bit && export->element_bytes == NARROW_BYTES)
    diag_copy_wide(s->diags, HOST_NOWHERE, export->name, export->type);
}

static const char *place_text(HostSession *s, uint32_t tile)
{
  return arena_printf(diags_scratch(s->diags), "%u,%u", program_x(s->program, tile),
                      program_y(s->program, tile));
}

/* Bytes behind the place where the export points now, if there are fewer than wanted; else that. */
static uint32_t bytes_there(HostSession *s, uint32_t tile, uint32_t export, uint32_t wanted)
{
  uint32_t address;
  const ImageBinding *binding = session_binding(s, tile, export);
  if (!binding || !session_data_address(s, tile, binding, &address))
    return wanted;
  uint32_t left = bytes_left(program_class(s->program, tile), address);
  return left < wanted ? left : wanted;
}

static void report_read(HostSession *s, uint32_t export, uint32_t tile, uint32_t bytes,
                        uint32_t there)
{
  diag_read_too_long(s->diags, HOST_NOWHERE, bytes, s->image->exports[export].name,
                     place_text(s, tile), there);
}

bool session_warn_read(HostSession *s, uint32_t export, uint32_t tile, uint32_t bytes)
{
  uint32_t there = bytes_there(s, tile, export, bytes);
  if (there == bytes)
    return false;
  report_read(s, export, tile, bytes, there);
  session_warn(s);
  return true;
}

/* Whether the elements fit where the export points now; later if a launch may still aim it
 * elsewhere.  Reading on harms nothing and existing programs do it: a warning, for one tile. */
static WseStatus check_size(HostSession *s, const WseTransfer *t, uint32_t tile, bool in,
                            bool *warned)
{
  uint32_t bytes = t->elements * (t->is_16bit ? NARROW_BYTES : WIDE_BYTES);
  uint32_t there = bytes_there(s, tile, t->target, bytes);
  if (s->first_open < arrlenu(s->operations) || there == bytes)
    return WSE_OK;
  if (!in) {
    if (!*warned) {
      report_read(s, t->target, tile, bytes, there);
      note_width(s, t);
      session_warn(s);
    }
    *warned = true;
    return WSE_OK;
  }
  diag_copy_too_long(s->diags, HOST_NOWHERE, bytes, s->image->exports[t->target].name,
                     place_text(s, tile), there);
  note_width(s, t);
  return session_usage(s);
}

static bool is_pointer(const ImageExport *export)
{
  return export->type[0] == '[' || export->type[0] == '*';
}

/* `mutable` of a pointer says only whether the program may point it elsewhere. */
static bool is_constant(const ImageExport *export)
{
  if (!is_pointer(export))
    return !export->is_mutable;
  return strstr(export->type, "]const ") || strncmp(export->type, "*const ", 7) == 0;
}

/* The words of the transfer are not the elements of the symbol. */
static void warn_of_width(HostSession *s, const WseTransfer *t, const ImageExport *export)
{
  if (t->is_16bit && export->element_bytes == WIDE_BYTES) {
    diag_copy_narrow(s->diags, HOST_NOWHERE, export->name, export->type);
    session_warn(s);
  }
  bool is_scalar = t->elements == 1 && !is_pointer(export);
  if (export->element_bytes == 1 && !is_scalar) {
    diag_copy_bytes(s->diags, HOST_NOWHERE, export->name, export->type);
    session_warn(s);
  }
}

static WseStatus check_symbol(HostSession *s, const WseTransfer *t, bool in)
{
  bool warned = false;
  if (t->target >= s->image->n_exports) {
    diag_symbol_number(s->diags, HOST_NOWHERE, t->target);
    if (t->target < s->program->machine->colors)
      diag_transfer_streams(s->diags, HOST_NOWHERE, t->target);
    return session_usage(s);
  }
  const ImageExport *export = &s->image->exports[t->target];
  if (export->kind != EXPORT_DATA) {
    diag_symbol_is_function(s->diags, HOST_NOWHERE, export->name, export->type);
    if (t->target < s->program->machine->colors && s->program->host_out_colors >> t->target & 1)
      diag_transfer_streams(s->diags, HOST_NOWHERE, t->target);
    return session_usage(s);
  }
  if (in && is_constant(export)) {
    diag_symbol_is_const(s->diags, HOST_NOWHERE, export->name, export->type);
    diag_export_variable(s->diags, HOST_NOWHERE, export->name);
    return session_usage(s);
  }
  warn_of_width(s, t, export);
  uint32_t tile;
  HostTiles tiles = host_tiles(t);
  while (host_tiles_next(&tiles, s->program, &tile)) {
    const ImageBinding *binding = session_binding(s, tile, t->target);
    if (binding && check_size(s, t, tile, in, &warned) != WSE_OK)
      return WSE_USAGE;
    if (!binding) {
      diag_tile_lacks_symbol(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                             program_y(s->program, tile), export->name);
      return session_usage(s);
    }
  }
  return WSE_OK;
}

static void report_value(HostSession *s, const ImageExport *export, ElementType type, uint64_t word)
{
  Arena *arena = diags_scratch(s->diags);
  bool is_half = type.bytes > WIDE_BYTES;
  char text[32];
  element_format(type.element_class, is_half ? WIDE_BYTES : type.bytes, s->image->fp16, word, text);
  const char *range = arena_printf(arena, "%s%s (%" PRId64 " to %" PRIu64 ")",
                                   is_half ? "the upper half of " : "",
                                   element_type_text(arena, type, s->image->fp16),
                                   element_least(type), element_most(type));
  diag_copy_beyond(s->diags, HOST_NOWHERE, export->name, export->type, text, range);
  session_warn(s);
}

/* Numbers that the type of the elements does not have; of 64 bits the upper half shows it.  A copy
 * moves words, whatever they stand for. */
static void warn_of_values(HostSession *s, const WseTransfer *t, const uint32_t *words)
{
  const ImageExport *export = &s->image->exports[t->target];
  ElementType type = element_type_of_data(s->program->machine, export);
  unsigned bytes = t->is_16bit ? NARROW_BYTES : WIDE_BYTES;
  unsigned parts = type.bytes > WIDE_BYTES ? type.bytes / WIDE_BYTES : 1;
  HostShape shape = host_shape(t);
  size_t tiles = (size_t)shape.rows * shape.columns;
  size_t each = shape.order == WSE_COL_MAJOR ? tiles : 1;       /* words from element to element */
  if (!element_type_is_narrow(type) || type.bytes != bytes * parts)
    return;
  for (size_t i = 0; i < tiles * shape.elements; i++) {
    size_t part = i / each % shape.elements % parts;
    uint64_t bits = words[i] & (UINT32_MAX >> 8 * (WIDE_BYTES - bytes));
    if (parts > 1)
      bits = part ? bits << 8 * WIDE_BYTES : 0;
    if (element_is_of_type(type, bits))
      continue;
    report_value(s, export, type, parts > 1 ? words[i] : bits);
    return;
  }
}

void session_check_values(HostSession *s, const WseTransfer *t, const uint32_t *words)
{
  if (!t->streaming && s->image->exports[t->target].kind == EXPORT_DATA)
    warn_of_values(s, t, words);
}

WseStatus session_check_transfer(HostSession *s, const WseTransfer *t, bool in)
{
  WseStatus status = session_ended(s);
  if (status != WSE_OK)
    return status;
  if (!host_region_ok(s, t))
    return session_usage(s);
  if (!in && t->broadcast != WSE_EACH_TILE) {
    diag_broadcast_to_host(s->diags, HOST_NOWHERE);
    return session_usage(s);
  }
  if (t->streaming)
    return check_stream(s, t, in);
  if ((uint64_t)t->elements * (t->is_16bit ? NARROW_BYTES : WIDE_BYTES) > PE_MEM_BYTES) {
    diag_elements_too_many(s->diags, HOST_NOWHERE, t->elements);
    return session_usage(s);
  }
  return check_symbol(s, t, in);
}

WseStatus session_check_launch(HostSession *s, uint32_t function, uint32_t n_args)
{
  WseStatus status = session_ended(s);
  if (status != WSE_OK)
    return status;
  if (function >= s->image->n_exports) {
    diag_symbol_number(s->diags, HOST_NOWHERE, function);
    return session_usage(s);
  }
  const ImageExport *export = &s->image->exports[function];
  if (export->kind != EXPORT_FUNCTION) {
    diag_symbol_is_data(s->diags, HOST_NOWHERE, export->name, export->type);
    return session_usage(s);
  }
  uint32_t words = image_launch_words(export);
  if (n_args != words) {
    if (words == export->n_params)
      diag_argument_count(s->diags, HOST_NOWHERE, export->name, words, n_args, export->type);
    else
      diag_argument_words(s->diags, HOST_NOWHERE, export->name, words, n_args, export->type);
    return session_usage(s);
  }
  for (uint32_t c = 0; c < s->image->n_classes; c++)
    if (s->bindings[(size_t)c * s->image->n_exports + function])
      return WSE_OK;
  diag_symbol_nowhere(s->diags, HOST_NOWHERE, export->name);
  return session_usage(s);
}
