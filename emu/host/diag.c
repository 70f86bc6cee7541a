/* The emulator's messages to users, one typed function per row of diag.def. */
#include "emu/host/host.h"

#define DIAG_DEF "emu/host/diag.def"
#define DIAG_DEFINE
#include "ir/base/diag_rows.h"
