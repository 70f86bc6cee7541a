/* Section `debug` of an image: what a debugger knows of the program's variables. */
#include "ir/machine/image_format.h"

#include <inttypes.h>

/* ---- fields ------------------------------------------------------------------------------ */

static void code_dimension(Codec *c, uint32_t *n)
{
  code_u32(c, n);
}

static void code_member(Codec *c, DebugMember *member)
{
  code_string(c, &member->name);
  code_u32(c, &member->type);
  code_u32(c, &member->bit);
  code_u64(c, &member->value);
}

static void code_type(Codec *c, DebugType *type)
{
  CODE_ENUM(c, type->kind, DT_KIND_COUNT, "kind of type");
  code_string(c, &type->name);
  code_u32(c, &type->bytes);
  code_u32(c, &type->bits);
  code_u32(c, &type->of);
  CODE_LIST(c, uint32_t, type->dims, type->n_dims, code_dimension, "dimensions");
  CODE_LIST(c, DebugMember, type->members, type->n_members, code_member, "members");
}

/* The number of a type or a symbol. */
static void code_number(Codec *c, uint32_t *number)
{
  code_u32(c, number);
}

static void code_range(Codec *c, DebugRange *range)
{
  code_u16(c, &range->first);
  code_u16(c, &range->end);
  CODE_ENUM(c, range->place, PLACE_KIND_COUNT, "kind of place");
  code_u64(c, &range->value);
}

static void code_local(Codec *c, DebugLocal *local)
{
  code_string(c, &local->name);
  code_u32(c, &local->type);
  code_bool(c, &local->is_param, "yes or no (parameter)");
  code_u32(c, &local->file);
  code_u32(c, &local->line);
  code_u16(c, &local->column);
  code_u32(c, &local->last_line);
  code_u16(c, &local->last_column);
  code_u32(c, &local->inlined);
  CODE_LIST(c, DebugRange, local->ranges, local->n_ranges, code_range, "places");
}

static void code_function(Codec *c, DebugFunction *function)
{
  code_u32(c, &function->symbol);
  code_u16(c, &function->frame_bytes);
  code_bool(c, &function->is_task, "yes or no (task)");
  code_u16(c, &function->saved);
  code_u32(c, &function->line);
  CODE_LIST(c, DebugLocal, function->locals, function->n_locals, code_local, "local variables");
  CODE_LIST(c, uint32_t, function->held, function->n_held, code_number, "globals held elsewhere");
}

static void code_asserted(Codec *c, ImageAsserted *side)
{
  code_u16(c, &side->pc);
  code_string(c, &side->text);
  code_u32(c, &side->type);
  CODE_ENUM(c, side->place, ASSERTED_KIND_COUNT, "kind of place");
  code_u8(c, &side->reg);
  code_u64(c, &side->value);
}

static void code_constant(Codec *c, DebugConstant *constant)
{
  code_string(c, &constant->name);
  code_u32(c, &constant->type);
  code_bool(c, &constant->is_float, "yes or no (float)");
  CODE_ENUM(c, constant->kind, NUMBER_KIND_COUNT, "kind of number");
  code_u64(c, &constant->value);
  code_u64(c, &constant->per_x);
  code_u64(c, &constant->per_y);
}

static void code_class_debug(Codec *c, ImageClass *class)
{
  CODE_LIST(c, uint32_t, class->symbol_types, class->n_symbol_types, code_number,
            "types of symbols");
  CODE_LIST(c, DebugFunction, class->functions, class->n_functions, code_function, "functions");
  ImageNumbers *numbers = &class->numbers;
  CODE_LIST(c, ImageAsserted, numbers->asserted, numbers->n_asserted, code_asserted,
            "values of assertions");
  CODE_LIST(c, DebugConstant, numbers->constants, numbers->n_constants, code_constant, "constants");
}

void code_debug(Codec *c, Image *image)
{
  CODE_LIST(c, DebugType, image->debug_types, image->n_debug_types, code_type, "types");
  ImageClass *classes = (ImageClass *)image->classes;
  for (uint32_t i = 0; i < image->n_classes && !c->reason; i++)
    code_class_debug(c, &classes[i]);
}

/* ---- conditions -------------------------------------------------------------------------- */

typedef struct { const Image *image; Arena *arena; } DebugCheck;

static bool has_fields(const DebugType *type)
{
  return type->kind == DT_STRUCT || type->kind == DT_UNION || type->kind == DT_PACKED;
}

static bool refers_back(uint32_t number, uint32_t type)
{
  return type <= number;
}

static const char *check_members(const DebugCheck *k, uint32_t number, const DebugType *type)
{
  for (uint32_t i = 0; has_fields(type) && i < type->n_members; i++) {
    const DebugMember *m = &type->members[i];
    if (m->type == DEBUG_NO_TYPE || !refers_back(number, m->type))
      return "has a field without a type before it";
    const DebugType *of = image_debug_type(k->image, m->type);
    uint64_t bits = type->kind == DT_PACKED ? of->bits : (uint64_t)of->bytes * 8;
    if (m->bit + bits > (uint64_t)type->bytes * 8)
      return "has a field outside itself";
    if (type->kind != DT_PACKED && m->bit % 8)
      return "has a field that starts inside a byte";
  }
  return NULL;
}

static const char *check_array(const DebugCheck *k, const DebugType *type)
{
  const DebugType *of = image_debug_type(k->image, type->of);
  uint64_t bytes = of ? of->bytes : 0;
  if (!of || type->n_dims == 0 || type->n_dims > DEBUG_MAX_DIMS)
    return "is an array without elements or dimensions";
  for (uint32_t i = 0; i < type->n_dims; i++)
    if (type->dims[i] && bytes > UINT32_MAX / type->dims[i])
      return "is an array that is too large";
    else
      bytes *= type->dims[i];
  return bytes == type->bytes ? NULL : "is an array of another size than its elements";
}

static const char *check_type(const DebugCheck *k, uint32_t number)
{
  const DebugType *type = &k->image->debug_types[number];
  const DebugType *of = image_debug_type(k->image, type->of);
  if (type->of > k->image->n_debug_types)
    return "refers to a type that does not exist";
  if (type->kind != DT_POINTER && !refers_back(number, type->of))
    return "refers to a type behind it";
  if (type->bits > (uint64_t)type->bytes * 8)
    return "has more bits than bytes";
  if (type->kind == DT_ARRAY)
    return check_array(k, type);
  if (type->kind == DT_ENUM && (!of || (of->kind != DT_SIGNED && of->kind != DT_UNSIGNED)))
    return "is an enum without an integer";
  if ((type->kind == DT_FLOAT16 && type->bits != 16) ||
      (type->kind == DT_FLOAT32 && type->bits != 32))
    return "is a float of another size";
  return check_members(k, number, type);
}

static const char *check_range(const DebugRange *range)
{
  bool in_register = range->place == PLACE_REGISTER || range->place == PLACE_AT_REGISTER;
  bool in_frame = range->place == PLACE_FRAME || range->place == PLACE_AT_FRAME;
  if (range->first >= range->end)
    return "has a local variable with an empty place";
  if (in_register && range->value >= GPR_COUNT)
    return "has a local variable in a register that does not exist";
  return in_frame && range->value >= PE_MEM_BYTES ? "has a local variable outside memory" : NULL;
}

static const char *check_local(const DebugCheck *k, const ImageClass *class,
                               const DebugLocal *local)
{
  const char *fault = NULL;
  if (local->type == DEBUG_NO_TYPE || local->type > k->image->n_debug_types)
    return "has a local variable with a type that does not exist";
  if (local->file >= k->image->n_files)
    return "has a local variable of a file that does not exist";
  if (local->inlined != IMAGE_NO_INLINE && local->inlined >= class->n_inlines)
    return "has a local variable of a call that does not exist";
  for (uint32_t i = 0; i < local->n_ranges && !fault; i++)
    fault = check_range(&local->ranges[i]);
  return fault;
}

static const char *check_functions(const DebugCheck *k, const ImageClass *class)
{
  const char *fault = NULL;
  for (uint32_t i = 0; i < class->n_functions; i++) {
    const DebugFunction *f = &class->functions[i];
    if (f->symbol >= class->n_symbols || !class->symbols[f->symbol].is_code)
      return "has a function that is no symbol of code";
    if (f->frame_bytes < 2 * __builtin_popcount(f->saved))
      return "has a function whose frame is too small for the registers it saves";
    for (uint32_t n = 0; n < f->n_locals && !fault; n++)
      fault = check_local(k, class, &f->locals[n]);
    for (uint32_t n = 0; n < f->n_held; n++)
      if (f->held[n] >= class->n_symbols)
        return "has a function that holds a symbol that does not exist";
  }
  return fault;
}

static const char *check_asserted(const DebugCheck *k, const ImageAsserted *side)
{
  const DebugType *type = image_debug_type(k->image, side->type);
  if (!type)
    return "has an assertion about a type that does not exist";
  if (type->bytes > sizeof side->value)
    return "has an assertion about a value that no register holds";
  bool needs_register = side->place == ASSERTED_REGISTER ||
                        (side->place == ASSERTED_MEMORY && side->reg != ASSERTED_NO_BASE);
  return needs_register && side->reg >= GPR_COUNT
             ? "has an assertion about a register that does not exist" : NULL;
}

static const char *check_constant(const DebugCheck *k, const ImageClass *class,
                                  const DebugConstant *constant)
{
  const DebugType *type = image_debug_type(k->image, constant->type);
  if (constant->type != DEBUG_NO_TYPE && !type)
    return "has a constant with a type that does not exist";
  if (type && type->bytes > sizeof constant->value)
    return "has a constant that is no number";
  if (constant->kind == NUMBER_OF_TILE &&
      (!type || constant->value > class->tile_blob_bytes ||
       type->bytes > class->tile_blob_bytes - constant->value))
    return "has a constant outside the tile's own data";
  return NULL;
}

static const char *check_class(const DebugCheck *k, const ImageClass *class)
{
  if (class->n_symbol_types && class->n_symbol_types != class->n_symbols)
    return "has not as many types as symbols";
  for (uint32_t i = 0; i < class->n_symbol_types; i++) {
    uint32_t type = class->symbol_types[i];
    if (type > k->image->n_debug_types)
      return "has a symbol with a type that does not exist";
    if (type && image_debug_type(k->image, type)->bytes > class->symbols[i].bytes)
      return "has a symbol that is smaller than its type";
  }
  for (uint32_t i = 0; i < class->numbers.n_asserted; i++) {
    const char *fault = check_asserted(k, &class->numbers.asserted[i]);
    if (fault)
      return fault;
  }
  for (uint32_t i = 0; i < class->numbers.n_constants; i++) {
    const char *fault = check_constant(k, class, &class->numbers.constants[i]);
    if (fault)
      return fault;
  }
  return check_functions(k, class);
}

const char *image_check_debug(const Image *image, Arena *arena)
{
  DebugCheck k = {image, arena};
  for (uint32_t i = 0; i < image->n_debug_types; i++) {
    const char *fault = check_type(&k, i);
    if (fault)
      return arena_printf(arena, "section 'debug' is wrong: type %" PRIu32 " %s", i, fault);
  }
  for (uint32_t i = 0; i < image->n_classes; i++) {
    const char *fault = check_class(&k, &image->classes[i]);
    if (fault)
      return arena_printf(arena, "section 'debug' is wrong: class %" PRIu32 " %s", i, fault);
  }
  return NULL;
}

const DebugType *image_debug_type(const Image *image, uint32_t type)
{
  return type && type <= image->n_debug_types ? &image->debug_types[type - 1] : NULL;
}
