/* Host actions of the command line, read and checked against the program before anything runs, so
 * that a misspelt name does not cost a simulation. */
#include "emu/host/session_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum {
  BITS_OF_BYTE = 8, BITS_OF_WORD = 32,
  MOST_BYTES_OF_BYTE = 2        /* of a file for a byte of a tile: 16-bit floats travel as f32 */
};

typedef struct {
  HostSession *session;
  Diags *diags;
  const Image *image;
  const HostAction *given;
  ActionStep *action;
} Parse;

/* Where `SYM[:N][@X,Y,W,H][=REST]` is split; absent parts are NULL. */
typedef struct { char *name, *count, *region, *rest; } Pieces;

static char *cut_at(char *text, char at)
{
  char *place = strchr(text, at);
  if (place)
    *place++ = 0;
  return place;
}

static Pieces split_text(const Parse *p)
{
  Pieces pieces = {arena_printf(session_arena(p->session), "%s", p->given->text), 0, 0, 0};
  pieces.rest = cut_at(pieces.name, '=');
  pieces.region = cut_at(pieces.name, '@');
  pieces.count = cut_at(pieces.name, ':');
  return pieces;
}

static const char *action_name(HostActionKind kind)
{
  static const char *const names[] = {
    [HOST_H2D] = "h2d", [HOST_LAUNCH] = "launch", [HOST_RUN] = "run", [HOST_D2H] = "d2h",
    [HOST_PRINT] = "print", [HOST_NOTHING] = "",
  };
  return names[kind];
}

static const Machine *machine_of(const Parse *p) { return session_program(p->session)->machine; }

static bool bad_syntax(const Parse *p, const char *expected)
{
  diag_action_syntax(p->diags, HOST_NOWHERE, action_name(p->given->kind), p->given->text, expected);
  session_usage(p->session);
  return false;
}

static const ImageExport *export_of(const Parse *p)
{
  return &p->image->exports[p->action->export_index];
}

static bool find_export(Parse *p, const char *name, bool function)
{
  int64_t found = session_export(p->session, name);
  if (found < 0)
    return false;
  p->action->export_index = (uint32_t)found;
  const ImageExport *export = export_of(p);
  if ((export->kind == EXPORT_FUNCTION) == function && export->kind != EXPORT_STREAM)
    return true;
  if (function)
    diag_symbol_is_data(p->diags, HOST_NOWHERE, name, export->type);
  else
    diag_symbol_is_function(p->diags, HOST_NOWHERE, name, export->type);
  session_usage(p->session);
  return false;
}

static bool parse_number(const char *text, uint32_t *value)
{
  char tail;
  return strspn(text, "0123456789") == strlen(text) && sscanf(text, "%9u%c", value, &tail) == 1;
}

/* The region given, else the whole rectangle. */
static bool set_region(Parse *p, const char *text, const char *expected)
{
  WseTransfer *r = &p->action->region;
  uint32_t given[4];
  *r = (WseTransfer){.width = p->image->width, .height = p->image->height};
  if (!text)
    return true;
  if (!host_parse_region(text, given))
    return bad_syntax(p, expected);
  *r = (WseTransfer){.x = given[0], .y = given[1], .width = given[2], .height = given[3]};
  if (host_region_ok(p->session, r))
    return true;
  session_usage(p->session);
  return false;
}

static bool find_tile_with(Parse *p, const WseTransfer *region, uint32_t *tile)
{
  HostTiles tiles = host_tiles(region);
  while (host_tiles_next(&tiles, session_program(p->session), tile))
    if (session_binding(p->session, *tile, p->action->export_index))
      return true;
  return false;
}

static bool some_tile_has(Parse *p)
{
  const Program *program = session_program(p->session);
  WseTransfer all = {.width = p->image->width, .height = p->image->height};
  uint32_t tile;
  if (find_tile_with(p, &p->action->region, &tile))
    return true;
  if (find_tile_with(p, &all, &tile))
    diag_region_lacks_symbol(p->diags, HOST_NOWHERE, export_of(p)->name, program_x(program, tile),
                             program_y(program, tile));
  else
    diag_symbol_nowhere(p->diags, HOST_NOWHERE, export_of(p)->name);
  session_usage(p->session);
  return false;
}

static bool all_tiles_have(Parse *p)
{
  uint32_t tile;
  const Program *program = session_program(p->session);
  HostTiles tiles = host_tiles(&p->action->region);
  while (host_tiles_next(&tiles, program, &tile)) {
    if (!session_binding(p->session, tile, p->action->export_index)) {
      diag_tile_lacks_symbol(p->diags, HOST_NOWHERE, program_x(program, tile),
                             program_y(program, tile), export_of(p)->name);
      session_usage(p->session);
      return false;
    }
  }
  return true;
}

typedef struct { uint32_t least, most; } Extents;

/* Lengths of the arrays in the region, as far as they are known; 0: of none. */
static Extents region_extents(Parse *p)
{
  Extents found = {0, 0};
  uint32_t tile;
  HostTiles tiles = host_tiles(&p->action->region);
  while (host_tiles_next(&tiles, session_program(p->session), &tile)) {
    uint32_t own = session_tile_extent(p->session, tile, p->action->export_index);
    if (own > found.most)
      found.most = own;
    if (own && (found.least == 0 || own < found.least))
      found.least = own;
  }
  return found;
}

/* ---- data for the device ---------------------------------------------------------------- */

/* Elements for each tile from a total. */
static bool share_elements(Parse *p, uint64_t count)
{
  ActionStep *a = p->action;
  uint64_t tiles = host_tile_count(&a->region);
  Extents extents = region_extents(p);
  if (count % tiles) {
    diag_elements_uneven(p->diags, HOST_NOWHERE, count, tiles, export_of(p)->name);
    diag_elements_region(p->diags, HOST_NOWHERE, export_of(p)->name);
  } else if (extents.least && count / tiles > extents.least && count / tiles != extents.most) {
    diag_extent_exceeded(p->diags, HOST_NOWHERE, count / tiles, export_of(p)->name,
                         count / tiles > extents.most ? extents.most : extents.least);
  } else if (count / tiles > PE_MEM_BYTES) {
    diag_elements_too_many(p->diags, HOST_NOWHERE, count / tiles);
  } else {
    a->elements = (uint32_t)(count / tiles);
    a->region.elements = a->elements * action_words(export_of(p));
    a->own_extent = true;
    return true;
  }
  session_usage(p->session);
  return false;
}

/* What the command line may say for a value of this type. */
static const char *value_forms(Arena *arena, ElementType type)
{
  switch (type.element_class) {
  case 'b': return "true, false, 1 or 0";
  case 'f': return "a number in its range, inf or nan";
  default: return arena_printf(arena, "%" PRId64 " to %" PRIu64 ", decimal or with 0x",
                               element_least(type), element_most(type));
  }
}

static bool bad_value(const Parse *p, const char *text, size_t length, ElementType type)
{
  Arena *arena = session_arena(p->session);
  const char *name = element_type_text(arena, type, p->image->fp16);
  diag_value_bad(p->diags, HOST_NOWHERE, arena_copy_text(arena, text, length), name);
  diag_value_forms(p->diags, HOST_NOWHERE, name, value_forms(arena, type));
  session_usage(p->session);
  return false;
}

static bool parse_values(Parse *p, const char *text)
{
  const ImageExport *export = export_of(p);
  ElementType type = element_type_of_data(machine_of(p), export);
  for (const char *at = text;;) {
    size_t length = strcspn(at, ",");
    uint64_t bits;
    if (!element_parse(at, length, type, p->image->fp16, &bits))
      return bad_value(p, at, length, type);
    for (uint32_t k = 0; k < action_words(export); k++)
      arrput(p->action->words, (uint32_t)(bits >> k * BITS_OF_WORD));
    if (!at[length])
      return share_elements(p, arrlenu(p->action->words) / action_words(export));
    at += length + 1;
  }
}

/* An array's type must be the symbol's; 16-bit formats that numpy lacks travel as f32. */
static bool type_fits(const ImageExport *export, Fp16Format fp16, const NpyArray *array)
{
  char kind = export->element_class;
  if (kind == 'f')
    return array->kind == 'f' && (array->bytes == export->element_bytes ||
                                  (export->element_bytes == 2 && fp16 != FP16_F16 &&
                                   array->bytes == WIDE_BYTES)) &&
           !(array->bytes == 2 && fp16 != FP16_F16);
  if (kind == 'b')
    return array->bytes == 1 && array->kind != 'f';
  return array->bytes == export->element_bytes && (array->kind == 'i' || array->kind == 'u');
}

/* The types that fit, as numpy writes them. */
static const char *types_of(Arena *arena, const ImageExport *export, Fp16Format fp16)
{
  unsigned bytes = export->element_bytes;
  switch (export->element_class) {
  case 'f': return bytes == 2 && fp16 == FP16_F16 ? "f2" : "f4";
  case 'b': return "b1 or u1";
  default: return arena_printf(arena, "i%u or u%u", bytes, bytes);
  }
}

/* Word number `part` of an element. */
static uint32_t array_word(const NpyArray *array, uint64_t index, uint32_t part)
{
  uint32_t word = 0;
  for (unsigned i = 0; i < WIDE_BYTES && i < array->bytes; i++)
    word |= (uint32_t)array->data[index * array->bytes + part * WIDE_BYTES + i] << BITS_OF_BYTE * i;
  return word;
}

/* Element number `index`, as its bytes have it. */
static uint64_t array_element(const NpyArray *array, uint64_t index)
{
  uint64_t bits = 0;
  for (unsigned i = 0; i < array->bytes; i++)
    bits |= (uint64_t)array->data[index * array->bytes + i] << BITS_OF_BYTE * i;
  return bits;
}

/* An array may have numbers that are no values of the type: 2 for a bool, or 256 for a color. */
static bool holds_values(const Parse *p, const NpyArray *array, ElementType type)
{
  for (uint64_t i = 0; element_type_is_narrow(type) && i < array->count; i++) {
    uint64_t bits = array_element(array, i);
    if (!element_is_of_type(type, bits)) {
      char text[32];
      element_format(array->kind, array->bytes, p->image->fp16, bits, text);
      return bad_value(p, text, strlen(text), type);
    }
  }
  return true;
}

static bool array_fits(const Parse *p, const NpyArray *array, const char *path)
{
  const ImageExport *export = export_of(p);
  if (!type_fits(export, p->image->fp16, array)) {
    const char *type = arena_printf(session_arena(p->session), "%c%u", array->kind, array->bytes);
    diag_array_type(p->diags, HOST_NOWHERE, path, type, export->name,
                    types_of(session_arena(p->session), export, p->image->fp16));
  } else if (array->count == 0) {
    diag_array_empty(p->diags, HOST_NOWHERE, path, export->name);
  } else {
    return holds_values(p, array, element_type_of_data(machine_of(p), export));
  }
  session_usage(p->session);
  return false;
}

static bool load_array(Parse *p, const char *path)
{
  const ImageExport *export = export_of(p);
  char why[256];
  NpyArray array;
  uint64_t most_bytes = MOST_BYTES_OF_BYTE * PE_MEM_BYTES * host_tile_count(&p->action->region);
  if (!npy_read(path, most_bytes, &array, why, sizeof why)) {
    diag_array_unreadable(p->diags, HOST_NOWHERE, path, why);
    session_usage(p->session);
    return false;
  }
  bool ok = array_fits(p, &array, path) && share_elements(p, array.count);
  uint32_t each = action_words(export);
  for (uint64_t i = 0; ok && i < array.count * each; i++) {
    uint32_t word = array_word(&array, i / each, (uint32_t)(i % each));
    if (array.bytes > export->element_bytes)
      word = fp16_from_fp32(p->image->fp16, word);
    arrput(p->action->words, word);
  }
  npy_free(&array);
  return ok;
}

/* ---- one parser each -------------------------------------------------------------------- */

static const char h2d_form[] = "SYM[@X,Y,W,H]=FILE.npy or =V,V,...";
static const char d2h_form[] = "SYM[:N][@X,Y,W,H]=FILE.npy";
static const char print_form[] = "SYM[:N][@X,Y,W,H]";
static const char launch_form[] = "FN or FN(ARG,...)";

static void set_width(Parse *p)
{
  p->action->region.target = p->action->export_index;
  p->action->region.is_16bit = export_of(p)->element_bytes == 2;
}

static bool element_width_ok(Parse *p)
{
  const ImageExport *export = export_of(p);
  if (export->element_bytes != 1 || !p->image->memcpy)
    return true;
  diag_element_width(p->diags, HOST_NOWHERE, export->name, BITS_OF_BYTE);
  session_usage(p->session);
  return false;
}

/* A line is as long as the longest array.  What it has for a shorter one beyond its end must be 0,
 * as d2h writes it. */
static bool nothing_is_lost(Parse *p)
{
  const ActionStep *a = p->action;
  const Program *program = session_program(p->session);
  uint32_t tile;
  HostTiles tiles = host_tiles(&a->region);
  for (size_t line = 0; host_tiles_next(&tiles, program, &tile); line += a->region.elements) {
    uint32_t own = action_elements(p->session, a, tile);
    for (uint32_t i = own * action_words(export_of(p)); i < a->region.elements; i++)
      if (a->words[line + i]) {
        const char *place = arena_printf(diags_scratch(p->diags), "(%u, %u)",
                                         program_x(program, tile), program_y(program, tile));
        diag_values_behind_end(p->diags, HOST_NOWHERE, a->elements, export_of(p)->name, place, own);
        session_usage(p->session);
        return false;
      }
  }
  return true;
}

static bool parse_h2d(Parse *p)
{
  Pieces pieces = split_text(p);
  if (!pieces.rest || !*pieces.rest || pieces.count)
    return bad_syntax(p, h2d_form);
  if (!find_export(p, pieces.name, false) || !set_region(p, pieces.region, h2d_form) ||
      !all_tiles_have(p) || !element_width_ok(p))
    return false;
  set_width(p);
  bool ok = file_has_ending(pieces.rest, ".npy") ? load_array(p, pieces.rest)
                                       : parse_values(p, pieces.rest);
  return ok && nothing_is_lost(p);
}

static bool known_extent(Parse *p, const char *count, const char *form)
{
  p->action->elements = region_extents(p).most;
  p->action->own_extent = !count;
  if (count && (!parse_number(count, &p->action->elements) || p->action->elements == 0))
    return bad_syntax(p, form);
  if (p->action->elements > PE_MEM_BYTES) {
    diag_elements_too_many(p->diags, HOST_NOWHERE, p->action->elements);
  } else if (p->action->elements == 0) {
    diag_extent_unknown(p->diags, HOST_NOWHERE, export_of(p)->name);
  } else {
    return true;
  }
  session_usage(p->session);
  return false;
}

static bool parse_d2h(Parse *p)
{
  Pieces pieces = split_text(p);
  if (!pieces.rest || !file_has_ending(pieces.rest, ".npy"))
    return bad_syntax(p, d2h_form);
  if (!find_export(p, pieces.name, false) || !set_region(p, pieces.region, d2h_form) ||
      !all_tiles_have(p) || !element_width_ok(p) || !known_extent(p, pieces.count, d2h_form))
    return false;
  set_width(p);
  p->action->region.elements = p->action->elements * action_words(export_of(p));
  p->action->file = pieces.rest;
  return true;
}

static bool is_exported(const Image *image, const char *name)
{
  for (uint32_t i = 0; i < image->n_exports; i++)
    if (strcmp(image->exports[i].name, name) == 0)
      return true;
  return false;
}

const ImageSymbol *action_variable(const HostSession *s, uint32_t tile, const char *name)
{
  const ClassCode *cls = program_class(session_program(s), tile);
  const ImageSymbol *symbol = cls ? class_symbol(cls->image, name) : NULL;
  return symbol && variable_type(session_image(s), cls->image,
                                 (uint32_t)(symbol - cls->image->symbols))
             ? symbol : NULL;
}

/* A program calls an import by its constant, symbols by their file: is "constant.member" such a
 * name?  After reporting. */
static bool is_import_name(Parse *p, const char *name)
{
  const Program *program = session_program(p->session);
  const char *member = strrchr(name, '.');
  const ClassCode *last = NULL;
  bool found = false;
  for (uint32_t tile = 0; member && !found && tile < program->n_tiles; tile++) {
    const ClassCode *cls = program_class(program, tile);
    unsigned count = 0;
    char *names = cls && cls != last ? class_variables_named(cls->image, member + 1, &count) : NULL;
    last = cls;
    found = count > 0;
    if (found)
      diag_variable_of_import(p->diags, HOST_NOWHERE, name, names);
    free(names);
  }
  if (found)
    session_usage(p->session);
  return found;
}

/* A name that is not exported may be a variable of a program, printed by its type. */
static bool parse_variable(Parse *p, const Pieces *pieces, bool *found)
{
  const Program *program = session_program(p->session);
  *found = false;
  if (is_exported(p->image, pieces->name))
    return true;
  if (!set_region(p, pieces->region, print_form))
    return false;
  uint32_t tile;
  const ClassCode *last = NULL;
  HostTiles tiles = host_tiles(&p->action->region);
  while (host_tiles_next(&tiles, program, &tile)) {
    const ClassCode *cls = program_class(program, tile);
    if (cls == last)
      continue;
    last = cls;
    if (!action_variable(p->session, tile, pieces->name))
      continue;
    if (!session_name_is_clear(p->session, tile, pieces->name))
      return *found = false;
    *found = true;
  }
  if (!*found && is_import_name(p, pieces->name))
    return false;
  if (*found && pieces->count) {
    diag_variable_count(p->diags, HOST_NOWHERE, pieces->name);
    session_usage(p->session);
    *found = false;
    return false;
  }
  if (*found)
    p->action->variable = pieces->name;
  return true;
}

static bool parse_print(Parse *p)
{
  Pieces pieces = split_text(p);
  bool is_variable;
  if (pieces.rest)
    return bad_syntax(p, print_form);
  if (!parse_variable(p, &pieces, &is_variable) || is_variable)
    return is_variable;
  return find_export(p, pieces.name, false) && set_region(p, pieces.region, print_form) &&
         some_tile_has(p) && known_extent(p, pieces.count, print_form);
}

static bool parse_argument(Parse *p, const char *text, size_t length)
{
  const ImageExport *export = export_of(p);
  ActionStep *a = p->action;
  unsigned i = a->n_args++;
  if (i >= export->n_params)
    return true;                 /* counted only: the caller says how many there may be */
  ElementType type = element_type_of_param(machine_of(p), export, i);
  uint64_t bits;
  if (element_parse(text, length, type, p->image->fp16, &bits)) {
    a->args[a->n_arg_words++] = (uint32_t)bits;
    if (export->param_bytes[i] > LAUNCH_WORD_BYTES)
      a->args[a->n_arg_words++] = (uint32_t)(bits >> 8 * LAUNCH_WORD_BYTES);
    return true;
  }
  return bad_value(p, text, length, type);
}

static bool parse_launch(Parse *p)
{
  char *name = arena_printf(session_arena(p->session), "%s", p->given->text);
  char *args = cut_at(name, '(');
  size_t length = args ? strlen(args) : 0;
  if (args && (length == 0 || args[length - 1] != ')'))
    return bad_syntax(p, launch_form);
  if (args)
    args[length - 1] = 0;
  if (!find_export(p, name, true))
    return false;
  for (char *at = args, *next; at && *args; at = next) {
    next = cut_at(at, ',');
    if (!parse_argument(p, at, strlen(at)))
      return false;
  }
  const ImageExport *export = export_of(p);
  if (p->action->n_args != export->n_params) {
    diag_argument_count(p->diags, HOST_NOWHERE, export->name, export->n_params, p->action->n_args,
                        export->type);
    session_usage(p->session);
    return false;
  }
  p->action->region = (WseTransfer){.width = p->image->width, .height = p->image->height};
  return some_tile_has(p);
}

static bool parse_action(Parse *p)
{
  switch (p->given->kind) {
  case HOST_H2D: return parse_h2d(p);
  case HOST_LAUNCH: return parse_launch(p);
  case HOST_RUN: return true;
  case HOST_D2H: return parse_d2h(p);
  case HOST_PRINT: return parse_print(p);
  case HOST_NOTHING: return true;
  default: ICE("bad host action %d", (int)p->given->kind);
  }
}

bool action_read(HostSession *session, const HostAction *given, ActionStep *action)
{
  Parse p = {session, session_diags(session), session_image(session), given, action};
  action->kind = given->kind;
  return parse_action(&p);
}
