/* The front end's diagnostics: one typed function a row of diag.def. */
#include "frontend/frontend.h"

#define DIAG_DEF "frontend/diag.def"
#define DIAG_DEFINE
#include "ir/base/diag_rows.h"
