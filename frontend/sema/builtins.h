/* Handlers of the rows of builtins.def, declared from the table; only the files that define them
 * and the driver, which puts the table together, include this. */
#ifndef BUILTINS_H
#define BUILTINS_H

#include "frontend/sema/sema.h"

/* Several rows share a handler: declaring it again is harmless. */
#define BUILTIN(name, least, most, where, archs, handler) BuiltinHandler builtin_##handler;
#include "frontend/builtins.def"


#endif
