/* What the files about DSDs share. */
#ifndef SEMA_DSD_H
#define SEMA_DSD_H

#include "frontend/machine/machine.h"

bool dsd_kind_of(PoolId type, DescKind *kind);
/* Reports that an argument of a builtin is none of these kinds, a bit for each DescKind. */
void dsd_report_argument(Sema *s, const NodeBuiltinCall *call, Span span, unsigned kinds,
                         PoolId found);
bool dsd_is_comptime(const Sema *s, Operand dsd);
/* The type of the elements that a DSD was made for; none if it is not known. */
PoolId dsd_element(const Sema *s, Operand dsd);
/* Is `element` of dsd_element a float of the run time? */
bool dsd_is_over_floats(const Sema *s, PoolId element);
/* Operations exist whose elements have this many bytes. */
static inline bool dsd_has_elements_of(uint32_t bytes)
{
  return bytes == vec_elem_bytes(VE_I16) || bytes == vec_elem_bytes(VE_F32);
}
/* "3", or "3 to 5". */
const char *dsd_range_text(const Sema *s, int64_t first, int64_t last);
/* Warns that elements `first` to `last` of an array of `count` are reached. */
void dsd_warn_bounds(Sema *s, Span at, int64_t first, int64_t last, int64_t count);
/* What a tensor access stands for; the address may be one of run time, the others are not. */
typedef struct {
  Operand base;
  PoolId offset, stride, extent;
} TensorParts;
/* False after reporting. */
bool tensor_parts(Sema *s, const NodeTensorAccess *n, TensorParts *parts);

/* The variables that DSDs were read from: globals, and locals of functions. */
enum { MOST_DSD_VARIABLES = 3 };
typedef struct { uint32_t n; DsdVariable at[MOST_DSD_VARIABLES]; } DsdVariables;
/* What a DSD that was read from a variable is if nothing writes the variable after its declaration;
 * the variable joins `from`.  Any other operand as it is. */
Operand dsd_presume(const Sema *s, Operand o, DsdVariables *from);
/* Messages since `mark` rest on that, or only on the type of the elements below the DSDs: they wait
 * until the whole program is known. */
typedef enum { REST_ON_VALUES, REST_ON_ELEMENTS } HeldFor;
void dsd_hold_messages(Sema *s, size_t mark, const DsdVariables *from, HeldFor held_for);

/* Is it known to lie in a constant?  Whatever names the constant has its value: what was written
 * to it would not be seen. */
bool dsd_lies_in_constant(const Sema *s, Operand dsd);
/* The comptime DSD with another descriptor. */
Operand dsd_with_desc(Sema *s, Operand dsd, IrDesc desc);
/* Elements that an operation moves; 0: not known.  A control wavelet may end it before. */
typedef struct { uint32_t count; bool may_be_fewer; } MovedElements;
/* Warns if an operation with elements of `bytes` leaves the variable below a comptime memory
 * DSD. */
void dsd_warn_of_reach(Sema *s, Operand dsd, const char *op, unsigned bytes, MovedElements moved,
                       Span span);
/* `.{ .high = true }` and the like; false after reporting. */
bool setting_priority(Sema *s, const Setting *field, Priority *priority);
/* `.{ .simd_off = true }` and the like; false after reporting.  Source: SDK 2.10, pages Release
 * Notes and Data Structure Descriptors.  A mode of the other machine gives a warning and means the
 * one that moves as many elements; ours. */
bool dsd_simd_mode(Sema *s, const Setting *field, SimdMode *mode);

/* Settings of an operation or of a DSR load: op_settings.c. */
typedef struct {
  bool ok, is_async, is_given;
  uint16_t flags;                /* DESC_F_SAVE, DESC_F_STEP */
  Action done, on_control;
  IrValue done_id;               /* run-time id of the action, or raw 0 */
  bool has_priority, has_ut;
  Priority priority;
  uint8_t ut;
  Operand index;
  bool has_index;
  Span span;
} OpSettings;
OpSettings op_settings_read(Sema *s, const Node *n, bool is_load);
/* Those of them that a load puts into a DSR: bits of DSR_SETTING_ASYNC and so on. */
uint8_t dsr_settings_of(const OpSettings *set);
/* A DSD with the settings in its descriptor. */
Operand op_settings_apply(Sema *s, const OpSettings *set, Operand dsd, bool with_done,
                          bool with_on_control);

/* A FIFO as an operand: a descriptor of its state block. */
Operand fifo_dsd(Sema *s, Operand fifo);
/* The register that an explicit DSR of one of the given types names; false after reporting.
 * `types` ends with a none. */
bool dsr_value_of(Sema *s, Operand o, Span span, const PoolId *types, const char *expected,
                  PoolKey *key);

#endif
