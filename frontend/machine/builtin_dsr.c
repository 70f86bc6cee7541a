/* Explicit data structure registers: their names (DSRs, extended DSRs, stride registers), and what
 * loads and changes them. This file checks extended DSRs and stride registers, and later phases do
 * not see them: a program loads a descriptor as a whole, and the compiler chooses the registers
 * behind a DSR. */
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"
#include "frontend/machine/dsd.h"

#include <stb_ds.h>
#include <string.h>

/* ---- names of registers ------------------------------------------------------------------ */

static Operand register_operand(Sema *s, const Node *n, PoolId type, DsrFile file, uint32_t count,
                                const char *what)
{
  int64_t number;
  Operand o = sema_comptime_operand(s, n, POOL(NONE));
  if (operand_is_poison(o) || !sema_number_in(s, o, 0, count - 1, what, n->span, &number))
    return operand_poison();
  PoolKey key = {.kind = PK_DSR, .type = type};
  key.u.dsr.file = file;
  key.u.dsr.number = (uint8_t)number;
  return operand_value(s, pool_get(s->pool, &key));
}

/* `dsr_fifo_dest` and `dsr_fifo_src1` name the register of a FIFO, by its number or by the register
 * of the file. */
static Operand fifo_register(Sema *s, const Node *n, PoolId type, DsrFile file)
{
  Operand o = sema_comptime_operand(s, n, POOL(NONE));
  PoolId plain = file == DSR_DEST ? POOL(DSR_DEST) : POOL(DSR_SRC1);
  if (operand_is_poison(o))
    return o;
  if (!type_is_dsr(o.type))
    return register_operand(s, n, type, file, sema_machine(s)->dsrs_per_file, "a DSR");
  if (!pool_eq(o.type, plain)) {
    diag_type_mismatch(s->diags, n->span, plain, o.type);
    return operand_poison();
  }
  PoolId value = sema_comptime_value(s, o, n->span);
  if (pool_eq(value, POOL(POISON)))
    return operand_poison();
  PoolKey key = pool_key(s->pool, value);
  key.type = type;
  return operand_value(s, pool_get(s->pool, &key));
}

Operand builtin_get_dsr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  static const struct { PoolId type; DsrFile file; bool is_fifo; } files[] = {
    {{POOL_RAW_DSR_DEST}, DSR_DEST, false}, {{POOL_RAW_DSR_SRC0}, DSR_SRC0, false},
    {{POOL_RAW_DSR_SRC1}, DSR_SRC1, false}, {{POOL_RAW_DSR_FIFO_DEST}, DSR_DEST, true},
    {{POOL_RAW_DSR_FIFO_SRC1}, DSR_SRC1, true}};
  const Node *number = call->args.at[1];
  PoolId type = sema_type_expr(s, call->args.at[0]);
  if (pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  for (size_t i = 0; i < ARRAY_COUNT(files); i++)
    if (pool_eq(type, files[i].type))
      return files[i].is_fifo ? fifo_register(s, number, type, files[i].file)
                              : register_operand(s, number, type, files[i].file,
                                                 sema_machine(s)->dsrs_per_file, "a DSR");
  diag_not_a_dsr_type(s->diags, call->args.at[0]->span, type);
  return operand_poison();
}

Operand builtin_get_xdsr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return register_operand(s, call->args.at[0], POOL(XDSR), DSR_DEST, sema_machine(s)->xdsrs,
                          "an XDSR");
}

Operand builtin_get_sr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return register_operand(s, call->args.at[0], POOL(SR), DSR_DEST,
                          sema_machine(s)->stride_registers, "a stride register");
}

/* ---- loading ----------------------------------------------------------------------------- */

static const PoolId dsr_types[] = {{POOL_RAW_DSR_DEST}, {POOL_RAW_DSR_SRC0}, {POOL_RAW_DSR_SRC1},
                                   {POOL_RAW_NONE}};
static const PoolId xdsr_types[] = {{POOL_RAW_XDSR}, {POOL_RAW_NONE}};

bool dsr_value_of(Sema *s, Operand o, Span span, const PoolId *types, const char *expected,
                  PoolKey *key)
{
  if (operand_is_poison(o))
    return false;
  while (!pool_is_none(*types) && !pool_eq(o.type, *types))
    types++;
  if (pool_is_none(*types)) {
    diag_not_a_dsr(s->diags, span, expected, o.type);
    return false;
  }
  PoolId value = sema_comptime_value(s, o, span);
  if (pool_eq(value, POOL(POISON)))
    return false;
  *key = pool_key(s->pool, value);
  return true;
}

typedef struct { bool ok; DsrFile file; uint8_t number; } DsrArg;

static DsrArg dsr_arg(Sema *s, const Node *n)
{
  PoolKey key;
  if (!dsr_value_of(s, sema_rvalue(s, n, POOL(NONE)), n->span, dsr_types, "a DSR", &key))
    return (DsrArg){0};
  return (DsrArg){true, key.u.dsr.file, key.u.dsr.number};
}

static bool check_xdsr(Sema *s, const Node *n)
{
  PoolKey key;
  return dsr_value_of(s, sema_rvalue(s, n, POOL(NONE)), n->span, xdsr_types, "an XDSR", &key);
}

static bool is_fabric(DescKind kind) { return kind == DESC_FABIN || kind == DESC_FABOUT; }

static bool load_settings_fit(Sema *s, const OpSettings *set, DescKind kind)
{
  if (!set->is_given)
    return true;
  const char *bad = NULL;
  if (!is_fabric(kind) && (set->is_async || set->done.kind != ACT_NONE || set->has_ut ||
                           set->on_control.kind != ACT_NONE))
    bad = "'async', 'activate', 'unblock', 'on_control' and 'ut_id' are for fabric DSDs";
  else if (is_fabric(kind) && (set->flags & DESC_F_SAVE))
    bad = "'save_address' is for memory DSDs";
  if (bad)
    diag_load_setting(s->diags, set->span, bad);
  return !bad;
}

/* The DSD that is loaded; `kinds` has a bit for each DescKind that may be. */
static Operand loaded_dsd(Sema *s, const NodeBuiltinCall *call, const Node *n, unsigned kinds,
                          DescKind *kind)
{
  Operand o = sema_expr(s, n, POOL(NONE));
  StrId name = o.name;
  o = sema_load(s, o);
  if (operand_is_poison(o))
    return o;
  o.name = o.name.raw ? o.name : name;
  PoolId type = o.type;
  if (operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_FIFO) {
    *kind = DESC_FIFO;
    o = fifo_dsd(s, o);
  } else if (!dsd_kind_of(o.type, kind)) {
    *kind = DESC_NONE;
  }
  if (kinds >> *kind & 1)
    return o;
  dsd_report_argument(s, call, n->span, kinds, type);
  return operand_poison();
}

/* The last steps of all loads; `settings_node` NULL: none are given. */
static Operand load_dsr(Sema *s, DsrArg dsr, Operand dsd, DescKind kind, const Node *dsd_node,
                        const Node *settings_node, Span at)
{
  OpSettings set = {.ok = true};
  if (settings_node)
    set = op_settings_read(s, settings_node, true);
  if (!set.ok || operand_is_poison(dsd))
    return operand_poison();
  if ((kind == DESC_FABIN && dsr.file == DSR_DEST) ||
      (kind == DESC_FABOUT && dsr.file != DSR_DEST)) {
    diag_dsr_kind(s->diags, dsd_node->span, dsd.type, dsr_file_name(dsr.file));
    return operand_poison();
  }
  if (!load_settings_fit(s, &set, kind))
    return operand_poison();
  Operand loaded = op_settings_apply(s, &set, dsd, true, true);
  if (operand_is_poison(loaded))
    return loaded;
  setup_note_dsr_load(s, dsr.file, dsr.number, dsr_settings_of(&set), at);
  if (s->now.where == WHERE_TOP) {
    PoolId value = sema_comptime_value(s, loaded, at);
    if (pool_eq(value, POOL(POISON)))
      return operand_poison();
    setup_preset_dsr(s, dsr.file, dsr.number, pool_key(s->pool, value).u.dsd.desc, at);
    return operand_void();
  }
  setup_note_dsr_reload(s, dsr.file, dsr.number, at);
  ir_dsr_load(&s->b, dsr.file, dsr.number, sema_ir(s, loaded));
  return operand_void();
}

static const Node *optional_arg(const NodeBuiltinCall *call, uint32_t i)
{
  return i < call->args.count ? call->args.at[i] : NULL;
}

Operand builtin_load_to_dsr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  enum { KINDS = 1 << DESC_MEM1D | 1 << DESC_MEM4D | 1 << DESC_FABIN | 1 << DESC_FABOUT |
                 1 << DESC_FIFO };
  DescKind kind;
  DsrArg dsr = dsr_arg(s, call->args.at[0]);
  Operand dsd = loaded_dsd(s, call, call->args.at[1], KINDS, &kind);
  if (!operand_is_poison(dsd) && kind == DESC_MEM4D)
    release_sign_here(s, SIGN_MEM4D_LOAD, at);
  return dsr.ok ? load_dsr(s, dsr, dsd, kind, call->args.at[1], optional_arg(call, 2), at)
            : operand_poison();
}

Operand builtin_load_to_dsr_xdsr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  DescKind kind;
  DsrArg dsr = dsr_arg(s, call->args.at[0]);
  bool ok = check_xdsr(s, call->args.at[1]) && dsr.ok;
  Operand dsd = loaded_dsd(s, call, call->args.at[2], 1 << DESC_CIRC, &kind);
  return ok ? load_dsr(s, dsr, dsd, kind, call->args.at[2], optional_arg(call, 3), at)
            : operand_poison();
}

/* Strides that have no place in the DSR itself: those of the outer dimensions; an innermost stride
 * of 1 makes room for one of them.  A DSD that is not known may need them all. */
static uint32_t stride_registers_of(Sema *s, Operand dsd)
{
  enum { MOST = 3 };
  if (!dsd_is_comptime(s, dsd))
    return MOST;
  Descriptor d = pool_key(s->pool, dsd.value).u.dsd.desc.desc;
  uint32_t dims = ARRAY_COUNT(d.lengths);
  while (dims > 1 && d.lengths[dims - 1] == 1)
    dims--;
  return dims - 1 - (dims > 1 && d.strides[0] == 1);
}

/* The number of registers in the tuple; false after reporting. */
static bool stride_registers(Sema *s, const Node *n, uint32_t *count)
{
  PoolId tuple = sema_comptime(s, n, POOL(NONE));
  if (pool_eq(tuple, POOL(POISON)))
    return false;
  PoolId type = pool_type_of(s->pool, tuple);
  PoolKey key = pool_key(s->pool, tuple);
  bool ok = pool_kind(s->pool, type) == PK_STRUCT_TYPE && key.kind == PK_AGGREGATE;
  *count = ok ? key.u.aggregate.n : 0;
  for (uint32_t i = 0; i < *count; i++)
    ok &= pool_eq(pool_type_of(s->pool, pool_key(s->pool, tuple).u.aggregate.elems[i]), POOL(SR));
  if (!ok)
    diag_not_a_dsr(s->diags, n->span, "a tuple of stride registers", type);
  return ok;
}

Operand builtin_load_to_dsr_xdsr_sr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  DescKind kind;
  uint32_t given;
  DsrArg dsr = dsr_arg(s, call->args.at[0]);
  bool ok = check_xdsr(s, call->args.at[1]) && dsr.ok;
  ok &= stride_registers(s, call->args.at[2], &given);
  Operand dsd = loaded_dsd(s, call, call->args.at[3], 1 << DESC_MEM4D, &kind);
  if (!ok || operand_is_poison(dsd))
    return operand_poison();
  uint32_t needed = stride_registers_of(s, dsd);
  if (given != needed) {
    diag_stride_registers(s->diags, call->args.at[2]->span, needed, given);
    return operand_poison();
  }
  return load_dsr(s, dsr, dsd, kind, call->args.at[3], optional_arg(call, 4), at);
}

/* ---- changing ---------------------------------------------------------------------------- */

Operand builtin_set_dsr_base_addr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  DsrArg dsr = dsr_arg(s, call->args.at[0]);
  Operand base = sema_expr(s, call->args.at[1], POOL(NONE));
  if (operand_is_poison(base))
    return base;
  base = sema_pointer_of(s, base, call->args.at[1]->span);
  if (!dsr.ok || operand_is_poison(base))
    return operand_poison();
  IrValue word = ir_unary(&s->b, IR_bitcast, IRT_I16, sema_ir(s, base));
  ir_dsr_set(&s->b, dsr.file, dsr.number, DSRF_BASE, word);
  return operand_void();
}

Operand builtin_set_dsr_length(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  DsrArg dsr = dsr_arg(s, call->args.at[0]);
  Operand length = sema_arg(s, call->args.at[1], POOL(U16));
  if (!dsr.ok || operand_is_poison(length))
    return operand_poison();
  ir_dsr_set(&s->b, dsr.file, dsr.number, DSRF_LENGTH, sema_ir(s, length));
  return operand_void();
}
