/* Handlers of the rows of builtins.def, declared from the table; included by the files that
 * define them (sema_builtin*.c, sema_dsd*.c) and by nobody else. */
#ifndef BUILTINS_H
#define BUILTINS_H

#include "frontend/sema/sema.h"

/* Several rows share a handler: declaring it again is harmless. */
#define BUILTIN(name, least, most, where, archs, handler) BuiltinHandler builtin_##handler;
#include "frontend/builtins.def"

void builtins_intern(Session *session);
/* What a builtin that yields nothing returns. */
Operand builtin_void(void);
/* May the host call a function, or read and write a variable, of this type? */
bool sema_is_exportable(Sema *s, PoolId type);

#endif
