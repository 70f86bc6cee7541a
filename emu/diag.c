/* The emulator's messages to users, one typed function a row of diag.def. */
#include "emu/emu.h"

#define DIAG_DEF "emu/diag.def"
#define DIAG_DEFINE
#include "ir/base/diag_rows.h"
