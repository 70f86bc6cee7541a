/* The tables of ops.def and of the types, and questions about them. */
#include "ir/ir.h"

#include <string.h>

/* The columns of ops.def name the enumerators without their prefixes. */
#define PURE IRE_PURE
#define COMMUTES IRE_COMMUTES
#define READS IRE_READS
#define WRITES IRE_WRITES
#define SIDE IRE_SIDE
#define STALLS IRE_STALLS
#define TERM IRE_TERM
const IrOpInfo ir_ops[IR_OP_COUNT] = {
#define IR_OP(name, operands, result, effects)                                                  \
  [IR_##name] = {#name, IROPND_##operands, IRRES_##result, effects},
#include "ir/ops.def"
};

/* Descriptors are as large on every machine; the row of machine.def is the home of the size. */
enum {
#define MACHINE(field, wse2, wse3, source) WSE2_##field = (wse2), WSE3_##field = (wse3),
#define MACHINE_LIST(field, count, wse2, wse3, source)
#define MACHINE_MASK(field, wse2, wse3, source)
#include "ir/machine/machine.def"
};
_Static_assert((int)WSE2_descriptor_bytes == (int)WSE3_descriptor_bytes, "ir_type_bytes");
_Static_assert((int)WSE2_descriptor4_bytes == (int)WSE3_descriptor4_bytes, "ir_type_bytes");

static const struct {
  const char *name;
  unsigned bytes, align, bits;
} types[IRT_COUNT] = {
  [IRT_VOID] = {"void", 0, 1, 0},
  [IRT_BOOL] = {"bool", 1, 1, 1},
  [IRT_I8] = {"i8", 1, 1, 8},
  [IRT_I16] = {"i16", 2, 2, 16},
  [IRT_I32] = {"i32", 4, 4, 32},
  [IRT_I64] = {"i64", 8, 4, 64},
  [IRT_F16] = {"f16", 2, 2, 16},
  [IRT_F32] = {"f32", 4, 4, 32},
  [IRT_PTR] = {"ptr", 2, 2, 16},
  [IRT_DSD] = {"dsd", WSE2_descriptor_bytes, 2, 0},
  [IRT_DSD4] = {"dsd4", WSE2_descriptor4_bytes, 2, 0},
};

const char *ir_type_name(IrType type)
{
  return types[type].name;
}

unsigned ir_type_bytes(IrType type)
{
  return types[type].bytes;
}

unsigned ir_type_align(IrType type)
{
  return types[type].align;
}

unsigned ir_type_bits(IrType type)
{
  return types[type].bits;
}

bool ir_type_from_name(const char *name, IrType *type)
{
  for (int t = 0; t < IRT_COUNT; t++)
    if (strcmp(types[t].name, name) == 0) {
      *type = (IrType)t;
      return true;
    }
  return false;
}

bool ir_op_from_name(const char *name, IrOp *op)
{
  for (int i = 0; i < IR_OP_COUNT; i++)
    if (strcmp(ir_ops[i].name, name) == 0) {
      *op = (IrOp)i;
      return true;
    }
  return false;
}

/* ---- words of the text form -------------------------------------------------------------- */

static const struct {
  IrWordList list;
  unsigned number;
  const char *word;
} words[] = {
#define IR_WORD(list, enumerator, word) {IRW_##list, enumerator, #word},
#include "ir/text.def"
};

const char *ir_word(IrWordList list, unsigned number)
{
  for (size_t i = 0; i < ARRAY_COUNT(words); i++)
    if (words[i].list == list && words[i].number == number)
      return words[i].word;
  return NULL;
}

bool ir_word_number(IrWordList list, const char *word, unsigned *number)
{
  for (size_t i = 0; i < ARRAY_COUNT(words); i++)
    if (words[i].list == list && strcmp(words[i].word, word) == 0) {
      *number = words[i].number;
      return true;
    }
  return false;
}
