/* What names stand for where a tile has stopped: variables of its frames, globals, registers. */
#include "emu/debug/debug_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BITS_OF_BYTE = 8, PAIR_BYTES = 4 };

bool set_why(EvalContext *e, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(e->why, sizeof e->why, format, args);
  va_end(args);
  return false;
}

/* What the place of a local variable holds at the frame's pc; false: nowhere. */
static bool local_value(const EvalContext *e, const DebugLocal *local, EvalValue *v)
{
  const DebugType *type = image_debug_type(program_of(e)->image, local->type);
  const DebugRange *range = NULL;
  const uint16_t *r = e->frame->r;
  uint32_t pc = e->frame->is_top ? e->frame->pc : e->frame->pc - 1u;
  for (uint32_t i = 0; i < local->n_ranges; i++)
    if (pc >= local->ranges[i].first && pc < local->ranges[i].end)
      range = &local->ranges[i];
  *v = (EvalValue){.kind = EVAL_TYPED, .type = type, .in_memory = true};
  bool in_register = range && (range->place == PLACE_REGISTER ||
                               range->place == PLACE_AT_REGISTER);
  /* A call preserves the registers of what the code needs behind it. */
  if (!range || (in_register && !e->frame->is_top && e->frame->pc >= range->end))
    return false;
  uint32_t word = 0;
  if (in_register) {
    word = r[range->value];
    if (range->place == PLACE_REGISTER && type->bytes == PAIR_BYTES && range->value + 1 < GPR_COUNT)
      word |= (uint32_t)r[range->value + 1] << 16;
  }
  uint64_t bits = range->place == PLACE_CONSTANT ? range->value : word;
  uint16_t pointer = 0;
  switch (range->place) {
  case PLACE_FRAME:
    v->address = e->frame->sp + (uint32_t)range->value;
    return true;
  case PLACE_AT_REGISTER:
    v->address = word;
    return true;
  case PLACE_AT_FRAME:
    if (!read_bytes(e, e->frame->sp + (uint32_t)range->value, &pointer, sizeof pointer))
      return false;
    v->address = pointer;
    return true;
  case PLACE_REGISTER: case PLACE_CONSTANT: case PLACE_KIND_COUNT: default:
    v->in_memory = false;
    v->in_register = range->place == PLACE_REGISTER && e->frame->is_top;
    v->first_register = (uint8_t)range->value;
    for (unsigned i = 0; i < sizeof bits; i++)
      v->bytes[i] = (uint8_t)(bits >> i * BITS_OF_BYTE);
    return true;
  }
}

static bool is_behind(uint32_t line, uint32_t column, uint32_t than_line, uint32_t than_column)
{
  return line > than_line || (line == than_line && column >= than_column);
}

/* Does the frame stand in the text where the name can be seen? */
static bool is_declared(const EvalContext *e, const DebugLocal *local)
{
  const DebugFrame *f = e->frame;
  return f->line == 0 ||
         (is_behind(f->line, f->column, local->line, local->column) &&
          (local->last_line == 0 ||
           is_behind(local->last_line, local->last_column, f->line, f->column)));
}

static bool in_frame(const EvalContext *e, const DebugLocal *local)
{
  return local->inlined == e->frame->inlined && is_declared(e, local);
}

static bool is_hidden(const EvalContext *e, uint32_t index)
{
  const DebugFunction *f = e->frame->info;
  for (uint32_t i = index + 1; i < f->n_locals; i++)
    if (in_frame(e, &f->locals[i]) && strcmp(f->locals[i].name, f->locals[index].name) == 0)
      return true;
  return false;
}

void names_visit_locals(EvalContext *e, bool params, LocalVisit *visit, void *context)
{
  EvalValue value;
  for (uint32_t i = 0; e->frame && e->frame->info && i < e->frame->info->n_locals; i++) {
    const DebugLocal *local = &e->frame->info->locals[i];
    if (local->is_param == params && in_frame(e, local) && !is_hidden(e, i))
      visit(context, local, local_value(e, local, &value) ? &value : NULL);
  }
}

bool names_find_local(EvalContext *e, const char *name, EvalValue *v, bool *known)
{
  *known = false;
  for (uint32_t i = e->frame && e->frame->info ? e->frame->info->n_locals : 0; i-- > 0;) {
    const DebugLocal *local = &e->frame->info->locals[i];
    if (strcmp(local->name, name) != 0 || !in_frame(e, local))
      continue;
    *known = true;
    return local_value(e, local, v);
  }
  return false;
}

bool names_is_held(const EvalContext *e, uint32_t address)
{
  DebugFrame frames[MOST_FRAMES];
  const ClassCode *cls = class_of(e);
  unsigned n = cls ? frames_find(e->timeline, e->tile, frames) : 0;
  for (unsigned i = 0; i < n; i++)
    for (uint32_t k = 0; frames[i].info && k < frames[i].info->n_held; k++) {
      const ImageSymbol *s = &cls->image->symbols[frames[i].info->held[k]];
      if (address >= s->address && address - s->address < s->bytes)
        return true;
    }
  return false;
}

/* The value that --params gave the layout's parameter; NULL: none. */
static const char *layout_parameter(const Image *image, const char *name)
{
  for (uint32_t i = 0; i < image->n_params; i++)
    if (strcmp(image->param_names[i], name) == 0)
      return image->param_values[i];
  return NULL;
}

const DebugConstant *names_constant(const ImageClass *class, const char *name)
{
  for (uint32_t i = 0; i < class->numbers.n_constants; i++)
    if (strcmp(class->numbers.constants[i].name, name) == 0)
      return &class->numbers.constants[i];
  return NULL;
}

/* The constant's bits on the tile of the context. */
static uint64_t constant_bits(const EvalContext *e, const DebugConstant *constant)
{
  const Image *image = program_of(e)->image;
  uint64_t bits = 0;
  switch (constant->kind) {
  case NUMBER_OF_PLACE:
    return constant->value + program_x(program_of(e), e->tile) * constant->per_x +
           program_y(program_of(e), e->tile) * constant->per_y;
  case NUMBER_OF_TILE:
    memcpy(&bits, image->tile_blobs + image->tile_blob_at[e->tile] + constant->value,
           image_debug_type(image, constant->type)->bytes);
    return bits;
  case NUMBER_OF_CLASS: case NUMBER_KIND_COUNT: default:
    return constant->value;
  }
}

static EvalValue constant_value(const EvalContext *e, const DebugConstant *constant)
{
  EvalValue v = {.kind = EVAL_TYPED,
                 .type = image_debug_type(program_of(e)->image, constant->type)};
  uint64_t bits = constant_bits(e, constant);
  if (v.type) {
    memcpy(v.bytes, &bits, sizeof bits);
  } else if (constant->is_float) {
    v.kind = EVAL_FLOAT;
    memcpy(&v.number, &bits, sizeof v.number);
  } else {
    v.kind = EVAL_INTEGER;
    v.integer = (int64_t)bits;
  }
  return v;
}

void names_visit_constants(const EvalContext *e, NameVisit *visit, void *context)
{
  const ClassCode *cls = class_of(e);
  for (uint32_t i = 0; cls && i < cls->image->numbers.n_constants; i++) {
    const DebugConstant *constant = &cls->image->numbers.constants[i];
    EvalValue value = constant_value(e, constant);
    visit(context, constant->name, &value);
  }
}

void names_visit_globals(const EvalContext *e, NameVisit *visit, void *context)
{
  const ClassCode *cls = class_of(e);
  EvalContext outside = *e;
  outside.frame = NULL;
  for (uint32_t i = 0; cls && i < cls->image->n_symbols; i++) {
    const ImageSymbol *symbol = &cls->image->symbols[i];
    EvalValue value;
    if (!symbol->is_code && *symbol->name != '<' && evaluate_text(&outside, symbol->name, &value))
      visit(context, symbol->name, &value);
  }
}

#define KNOWN_CONSTANTS "of constants and parameters, most numbers that the program uses are known"

/* False, with the first tile whose program has the name. */
static bool name_is_elsewhere(EvalContext *e, const char *name)
{
  const Program *program = program_of(e);
  const ClassCode *last = NULL;
  for (uint32_t tile = 0; tile < program->n_tiles; tile++) {
    const ClassCode *cls = program_class(program, tile);
    if (cls && cls != last && class_symbol(cls->image, name))
      return set_why(e, "tile %u,%u has '%s', and this tile has not; 'tile %u,%u' selects it",
                     program_x(program, tile), program_y(program, tile), name,
                     program_x(program, tile), program_y(program, tile));
    last = cls;
  }
  const char *value = layout_parameter(program->image, name);
  if (!value)
    return set_why(e, "there is no '%s' here; " KNOWN_CONSTANTS, name);
  return set_why(e, "there is no '%s' here; " KNOWN_CONSTANTS "; the layout was compiled with "
                 "%s = %s", name, name, value);
}

bool names_find(EvalContext *e, const char *name, EvalValue *v)
{
  bool known;
  const ClassCode *cls = class_of(e);
  if (names_find_local(e, name, v, &known))
    return true;
  if (known)
    return set_why(e, "'%s' has no place here: the code does not need it any more, or not yet",
                   name);
  const ImageSymbol *s = cls ? class_symbol(cls->image, name) : NULL;
  const DebugConstant *constant = cls && !s ? names_constant(cls->image, name) : NULL;
  if (constant) {
    *v = constant_value(e, constant);
    return true;
  }
  if (!s)
    return name_is_elsewhere(e, name);
  char *choices = class_name_choices(cls->image, name);
  if (choices) {
    set_why(e, "several variables have the name '%s': %s", name, choices);
    free(choices);
    return false;
  }
  if (s->is_code) {
    *v = (EvalValue){.kind = EVAL_INTEGER, .integer = s->address};
    return true;
  }
  const DebugType *type = variable_type(program_of(e)->image, cls->image,
                                        (uint32_t)(s - cls->image->symbols));
  if (!type)
    return set_why(e, "the type of '%s' is not known: was it compiled with -g0?", name);
  *v = (EvalValue){.kind = EVAL_TYPED, .type = type, .in_memory = true, .address = s->address,
                   .is_held = names_is_held(e, s->address)};
  return true;
}

static bool find_in_enum(const DebugType *type, const char *member, EvalValue *v)
{
  for (uint32_t i = 0; i < type->n_members; i++) {
    if (strcmp(type->members[i].name, member) != 0)
      continue;
    *v = (EvalValue){.kind = EVAL_TYPED, .type = type};
    memcpy(v->bytes, &type->members[i].value, sizeof type->members[i].value);
    return true;
  }
  return false;
}

bool names_find_member(EvalContext *e, const char *type, const char *member, EvalValue *v)
{
  const Image *image = program_of(e)->image;
  for (uint32_t i = 0; i < image->n_debug_types; i++) {
    const DebugType *t = &image->debug_types[i];
    if (t->kind != DT_ENUM || strcmp(t->name, type) != 0)
      continue;
    if (find_in_enum(t, member, v))
      return true;
    set_why(e, "the enum '%s' has no member '%s'", type, member);
  }
  return false;
}

bool names_find_register(EvalContext *e, const char *name, EvalValue *v)
{
  Engine *engine = timeline_engine(e->timeline);
  const Registers *regs = engine->ops->registers(engine, e->tile);
  const Tile *core = engine->ops->tile(engine, e->tile, false);
  unsigned number;
  char tail;
  *v = (EvalValue){.kind = EVAL_INTEGER};
  if (strcmp(name, "cycle") == 0)
    v->integer = (int64_t)timeline_cycle(e->timeline);
  else if (strcmp(name, "x") == 0)
    v->integer = program_x(program_of(e), e->tile);
  else if (strcmp(name, "y") == 0)
    v->integer = program_y(program_of(e), e->tile);
  else if (strcmp(name, "pc") == 0)
    v->integer = core ? core->pc : 0;
  else if (strcmp(name, "sp") == 0)
    v->integer = regs ? regs->r[program_of(e)->machine->sp_register] : 0;
  else if (sscanf(name, "r%2u%c", &number, &tail) == 1 && number < GPR_COUNT)
    v->integer = regs ? regs->r[number] : 0;
  else
    return set_why(e, "there is no register '$%s'; there are $r0 to $r15, $pc, $sp, $cycle, $x, $y",
                name);
  return true;
}
