/* Making operands. */
#include "frontend/sema/sema_internal.h"

Operand operand_poison(void)
{
  return (Operand){.kind = OPR_POISON, .type = POOL(POISON_TYPE), .value = POOL(POISON)};
}

Operand operand_void(void)
{
  return (Operand){.kind = OPR_COMPTIME, .type = POOL(VOID), .value = POOL(VOID_VALUE)};
}

Operand operand_value(Sema *s, PoolId value)
{
  if (pool_eq(value, POOL(POISON)) || pool_is_none(value))
    return operand_poison();
  return (Operand){.kind = OPR_COMPTIME, .type = pool_type_of(s->pool, value), .value = value};
}

Operand operand_runtime(IrValue ir, PoolId type)
{
  return (Operand){.kind = OPR_RUNTIME, .type = type, .ir = ir};
}

Operand operand_place(IrValue address, PoolId type, bool is_const)
{
  return (Operand){.kind = OPR_MEMORY, .type = type, .ir = address, .is_const = is_const};
}

Operand operand_global(uint32_t global, int64_t offset, PoolId type, bool is_const)
{
  return (Operand){.kind = OPR_MEMORY, .type = type, .is_global = true, .global = global,
                   .offset = offset, .is_const = is_const};
}

bool value_is_true(PoolId value)
{
  return pool_eq(value, POOL(TRUE));
}
