/* Descriptors (DSDs) as words in tile memory.  The layout is the comment in machine.h; as for
 * instructions, the encoder decodes what it wrote and compares. */
#include "ir/machine/machine.h"

#include <stdlib.h>
#include <string.h>

enum {
  DESC_KIND_MASK = 0xf,
  DESC_FLAGS_MASK = DESC_F_ASYNC | DESC_F_INDEX | DESC_F_CONTROL | DESC_F_ADVANCE | DESC_F_SAVE |
                    DESC_F_STEP | DESC_F_TRANSFORM | DESC_F_ZERO0 | DESC_F_ZERO1 | DESC_F_SCALAR,
  ACT_KIND_MASK = 7, ACT_ID_KIND_SHIFT = 3, ACT_ID_KIND_MASK = 3, ACT_ID_SHIFT = 8,
  ACT_UNUSED = 0xe0,
};

static const char *const desc_names[DESC_KIND_COUNT] = {
  [DESC_NONE] = "none",   [DESC_MEM1D] = "mem1d",   [DESC_MEM4D] = "mem4d",
  [DESC_CIRC] = "circular", [DESC_FABIN] = "fabin", [DESC_FABOUT] = "fabout",
  [DESC_FIFO] = "fifo",
};
static const char *const action_names[] = {"none", "activate", "unblock", "terminate"};

const char *descriptor_kind_name(DescKind kind)
{
  return (unsigned)kind < DESC_KIND_COUNT ? desc_names[kind] : "?";
}

unsigned descriptor_words(DescKind kind)
{
  const Machine *machine = machine_get(ARCH_WSE2);   /* the format is the same on both */
  return (kind == DESC_MEM4D ? machine->descriptor4_bytes : machine->descriptor_bytes) / 2;
}

/* ---- actions --------------------------------------------------------------------------------- */

uint16_t action_encode(Action action)
{
  Action back;
  uint16_t word = (uint16_t)((unsigned)action.kind | (unsigned)action.id_kind << ACT_ID_KIND_SHIFT |
                             (unsigned)action.id << ACT_ID_SHIFT);
  if (!action_decode(word, &back) || back.kind != action.kind || back.id_kind != action.id_kind ||
      back.id != action.id)
    ICE("no action of kind %d on %d %u", (int)action.kind, (int)action.id_kind, action.id);
  return word;
}

bool action_decode(uint16_t word, Action *action)
{
  unsigned kind = word & ACT_KIND_MASK, id_kind = word >> ACT_ID_KIND_SHIFT & ACT_ID_KIND_MASK;
  unsigned id = word >> ACT_ID_SHIFT;
  *action = (Action){.kind = ACT_NONE};
  if (kind > ACT_TERMINATE || id_kind >= ID_KIND_COUNT || (word & ACT_UNUSED))
    return false;
  bool names_id = kind == ACT_ACTIVATE || kind == ACT_UNBLOCK;
  if (!names_id && (id_kind || id))
    return false;
  if (kind == ACT_ACTIVATE && id_kind != ID_TASK)
    return false;
  if (names_id && id >= id_kind_limit((IdKind)id_kind))
    return false;
  *action = (Action){(ActionKind)kind, (IdKind)id_kind, (uint8_t)id};
  return true;
}

/* ---- descriptors ------------------------------------------------------------------------- */

static bool desc_equal(const Descriptor *a, const Descriptor *b)
{
  bool same = a->kind == b->kind && a->flags == b->flags && a->base == b->base &&
              a->length == b->length && a->stride == b->stride && a->wrap_base == b->wrap_base &&
              a->wrap_length == b->wrap_length && a->queue == b->queue && a->color == b->color &&
              a->priority == b->priority && a->priority_given == b->priority_given &&
              a->simd == b->simd && a->ut_given == b->ut_given && a->ut == b->ut &&
              a->done.kind == b->done.kind && a->done.id_kind == b->done.id_kind &&
              a->done.id == b->done.id && a->on_control.kind == b->on_control.kind &&
              a->on_control.id_kind == b->on_control.id_kind &&
              a->on_control.id == b->on_control.id;
  for (unsigned i = 0; i < ARRAY_COUNT(a->lengths); i++)
    same = same && a->lengths[i] == b->lengths[i] && a->strides[i] == b->strides[i];
  return same;
}

bool descriptor_equal(const Descriptor *a, const Descriptor *b)
{
  return desc_equal(a, b);
}

static void pack_fabric(const Descriptor *desc, uint16_t words[])
{
  words[DESC_W_QUEUE] = (uint16_t)(desc->queue | desc->color << DESC_COLOR_SHIFT);
  words[DESC_W_LENGTH] = desc->length;
  words[DESC_W_DONE] = action_encode(desc->done);
  words[DESC_W_ON_CONTROL] = action_encode(desc->on_control);
  words[DESC_W_MODES] = (uint16_t)((unsigned)desc->priority |
                                   (desc->priority_given ? DESC_M_PRIORITY_GIVEN : 0u) |
                                   (unsigned)desc->simd << DESC_M_SIMD_SHIFT |
                                   (unsigned)desc->ut << DESC_M_UT_SHIFT |
                                   (desc->ut_given ? DESC_M_UT_GIVEN : 0u));
}

static void pack_words(const Descriptor *desc, uint16_t words[])
{
  words[0] = (uint16_t)((unsigned)desc->kind | desc->flags);
  switch (desc->kind) {
  case DESC_MEM1D:
    words[1] = desc->base;
    words[2] = desc->length;
    words[3] = (uint16_t)desc->stride;
    break;
  case DESC_MEM4D:
    words[1] = desc->base;
    for (unsigned i = 0; i < ARRAY_COUNT(desc->lengths); i++) {
      words[2 + 2 * i] = desc->lengths[i];
      words[3 + 2 * i] = (uint16_t)desc->strides[i];
    }
    break;
  case DESC_CIRC:
    words[1] = desc->base;
    words[2] = desc->length;
    words[3] = (uint16_t)desc->stride;
    words[4] = desc->wrap_base;
    words[5] = desc->wrap_length;
    break;
  case DESC_FABIN: case DESC_FABOUT:
    pack_fabric(desc, words);
    break;
  case DESC_FIFO:
    words[1] = desc->base;
    words[2] = desc->length;
    break;
  case DESC_NONE: case DESC_KIND_COUNT: default:
    break;    /* the caller's check refuses it */
  }
}

unsigned descriptor_encode(const Descriptor *desc, uint16_t words[12])
{
  Descriptor back;
  unsigned count = descriptor_words(desc->kind);
  memset(words, 0, count * sizeof *words);
  pack_words(desc, words);
  if (!descriptor_decode(words, count, &back) || !desc_equal(desc, &back)) {
    char text[160];
    descriptor_print(desc, NULL, text, sizeof text);
    ICE("cannot encode descriptor '%s': a field is out of range or not part of its kind", text);
  }
  return count;
}

static bool unpack_fabric(const uint16_t *words, Descriptor *desc)
{
  unsigned modes = words[DESC_W_MODES];
  desc->queue = words[DESC_W_QUEUE] & DESC_QUEUE_MASK;
  desc->color = words[DESC_W_QUEUE] >> DESC_COLOR_SHIFT & DESC_COLOR_MASK;
  desc->length = words[DESC_W_LENGTH];
  desc->priority = (Priority)(modes & DESC_M_PRIORITY_MASK);
  desc->priority_given = modes & DESC_M_PRIORITY_GIVEN;
  desc->simd = (SimdMode)(modes >> DESC_M_SIMD_SHIFT & DESC_M_SIMD_MASK);
  desc->ut = (uint8_t)(modes >> DESC_M_UT_SHIFT & DESC_M_UT_MASK);
  desc->ut_given = modes & DESC_M_UT_GIVEN;
  return (words[DESC_W_QUEUE] & DESC_QUEUE_UNUSED) == 0 && desc->queue < MAX_QUEUES &&
         (desc->color < MAX_COLORS || desc->color == COLOR_OF_QUEUE) && desc->simd < SIMD_COUNT &&
         action_decode(words[DESC_W_DONE], &desc->done) &&
         action_decode(words[DESC_W_ON_CONTROL], &desc->on_control) &&
         (modes & DESC_M_UNUSED) == 0 && desc->priority < PRIO_COUNT &&
         (desc->priority_given || desc->priority == PRIO_LOW) && desc->ut < MAX_MICROTHREADS &&
         (desc->ut_given || desc->ut == 0);
}

/* Reads the words of desc->kind; returns how many carry something, 0 if they are wrong. */
static unsigned unpack_words(const uint16_t *words, Descriptor *desc)
{
  switch (desc->kind) {
  case DESC_MEM1D:
    desc->base = words[1];
    desc->length = words[2];
    desc->stride = (int16_t)words[3];
    return 4;
  case DESC_MEM4D:
    desc->base = words[1];
    for (unsigned i = 0; i < ARRAY_COUNT(desc->lengths); i++) {
      desc->lengths[i] = words[2 + 2 * i];
      desc->strides[i] = (int16_t)words[3 + 2 * i];
    }
    return 10;
  case DESC_CIRC:
    desc->base = words[1];
    desc->length = words[2];
    desc->stride = (int16_t)words[3];
    desc->wrap_base = words[4];
    desc->wrap_length = words[5];
    return 6;
  case DESC_FABIN: case DESC_FABOUT:
    return unpack_fabric(words, desc) ? 6 : 0;
  case DESC_FIFO:
    desc->base = words[1];
    desc->length = words[2];
    return 3;
  case DESC_NONE: case DESC_KIND_COUNT: default:
    return 0;
  }
}

bool descriptor_decode(const uint16_t *words, size_t available, Descriptor *desc)
{
  *desc = (Descriptor){.kind = DESC_NONE};
  if (available == 0)
    return false;
  unsigned kind = words[0] & DESC_KIND_MASK, flags = words[0] & ~(unsigned)DESC_KIND_MASK;
  if (kind >= DESC_KIND_COUNT || (flags & ~(unsigned)DESC_FLAGS_MASK))
    return false;
  unsigned count = descriptor_words((DescKind)kind);
  if (available < count)
    return false;
  desc->kind = (DescKind)kind;
  desc->flags = (uint16_t)flags;
  unsigned used = unpack_words(words, desc);
  for (unsigned i = used; i < count; i++)
    if (words[i])
      used = 0;
  if (used == 0)
    *desc = (Descriptor){.kind = DESC_NONE};
  return used != 0;
}

/* ---- text -------------------------------------------------------------------------------- */

static void print_action(FILE *out, const char *what, Action action)
{
  if (action.kind == ACT_NONE || (unsigned)action.kind >= ARRAY_COUNT(action_names))
    return;
  fprintf(out, " %s=%s", what, action_names[action.kind]);
  if (action.kind != ACT_TERMINATE)
    fprintf(out, ":%s:%u", id_kind_name(action.id_kind), action.id);
}

const char *priority_name(Priority priority)
{
  static const char *const names[PRIO_COUNT] = {"low", "medium", "high"};
  return (unsigned)priority < PRIO_COUNT ? names[priority] : "?";
}

static void print_fabric(FILE *out, const Descriptor *desc)
{
  static const char *const modes[] = {"default", "32", "64", "32_or_64", "off"};
  fprintf(out, " queue=%u", desc->queue);
  if (desc->color != COLOR_OF_QUEUE)
    fprintf(out, " color=%u", desc->color);
  fprintf(out, " length=%u", desc->length);
  print_action(out, "done", desc->done);
  print_action(out, "on_control", desc->on_control);
  if (desc->priority_given)
    fprintf(out, " priority=%s", priority_name(desc->priority));
  if (desc->simd != SIMD_DEFAULT && (unsigned)desc->simd < ARRAY_COUNT(modes))
    fprintf(out, " simd=%s", modes[desc->simd]);
  if (desc->ut_given)
    fprintf(out, " ut=%u", desc->ut);
}

static void print_address(FILE *out, const char *what, const char *variable, uint16_t address)
{
  if (!variable)
    fprintf(out, " %s=0x%04x", what, address);
  else if (*variable && address)
    fprintf(out, " %s=%s%+d", what, variable, (int16_t)address);
  else if (*variable)
    fprintf(out, " %s=%s", what, variable);
}

static void print_fields(FILE *out, const Descriptor *desc, const char *variable)
{
  switch (desc->kind) {
  case DESC_MEM1D:
    print_address(out, "base", variable, desc->base);
    fprintf(out, " length=%u stride=%d", desc->length, desc->stride);
    break;
  case DESC_MEM4D:
    print_address(out, "base", variable, desc->base);
    for (unsigned i = 0; i < ARRAY_COUNT(desc->lengths); i++)
      fprintf(out, " %ux%+d", desc->lengths[i], desc->strides[i]);
    break;
  case DESC_CIRC:
    print_address(out, "base", variable, desc->base);
    fprintf(out, " length=%u stride=%d", desc->length, desc->stride);
    print_address(out, "wrap", variable, desc->wrap_base);
    fprintf(out, " wrap_length=%u", desc->wrap_length);
    break;
  case DESC_FABIN: case DESC_FABOUT:
    print_fabric(out, desc);
    break;
  case DESC_FIFO:
    print_address(out, "state", variable, desc->base);
    fprintf(out, " length=%u", desc->length);
    break;
  case DESC_NONE: case DESC_KIND_COUNT: default:
    break;
  }
}

void descriptor_print(const Descriptor *desc, const char *variable, char *text, size_t size)
{
  static const struct { uint16_t flag; const char *name; } flags[] = {
    {DESC_F_ASYNC, "async"},     {DESC_F_INDEX, "index"},         {DESC_F_CONTROL, "control"},
    {DESC_F_ADVANCE, "advance"}, {DESC_F_SAVE, "save"},           {DESC_F_STEP, "step"},
    {DESC_F_TRANSFORM, "transform"}, {DESC_F_ZERO0, "zero0"},     {DESC_F_ZERO1, "zero1"},
    {DESC_F_SCALAR, "scalar"},
  };
  char *whole = NULL;
  size_t length = 0;
  FILE *out = base_text_open(&whole, &length);
  fprintf(out, "%s", descriptor_kind_name(desc->kind));
  print_fields(out, desc, variable);
  for (size_t i = 0; i < ARRAY_COUNT(flags); i++)
    if (desc->flags & flags[i].flag)
      fprintf(out, " %s", flags[i].name);
  base_text_close(out, &whole);
  snprintf(text, size, "%s", whole);
  free(whole);
}
