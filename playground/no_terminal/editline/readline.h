/* The part of libedit that wse-dbg uses, for a system without terminals. There the
 * debugger reads its commands from files. */
#ifndef EDITLINE_READLINE_H
#define EDITLINE_READLINE_H

#include <stddef.h>

typedef char *CompletionEntry(const char *text, int state);
static CompletionEntry *rl_completion_entry_function;

static inline char *readline(const char *prompt)
{
  (void)prompt, (void)rl_completion_entry_function;
  return NULL;
}

static inline int add_history(const char *line)
{
  (void)line;
  return 0;
}

#endif
