/* The diagnostics of the layer ir: diag.def as functions. */
#include "ir/ir.h"

#define DIAG_DEF "ir/diag.def"
#define DIAG_DEFINE
#define DIAG_TABLE ir_diag_rows
#include "ir/base/diag_rows.h"
