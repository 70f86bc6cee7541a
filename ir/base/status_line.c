/* A line on a terminal that says what a long operation is doing: it comes after a few seconds,
 * changes, and is gone when the operation has ended. */
#include "ir/base/base.h"

#include <stdarg.h>
#include <unistd.h>

enum { COLUMNS = 80 };          /* a line that a terminal breaks cannot be erased as one */
static const double line_seconds = 0.5;

FILE *status_line_terminal(void) { return isatty(STDERR_FILENO) ? stderr : NULL; }

void status_line_begin(StatusLine *line, FILE *out, double silent)
{
  status_line_end(line);
  *line = (StatusLine){.out = out, .silent = silent, .begun = out ? base_seconds() : 0};
}

bool status_line_is_due(const StatusLine *line)
{
  if (!line->out)
    return false;
  double now = base_seconds();
  double apart = line->silent < line_seconds ? line->silent : line_seconds;
  return now - line->begun >= line->silent && now - line->shown_at >= apart;
}

void status_line_show(StatusLine *line, const char *format, ...)
{
  char text[COLUMNS];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  fprintf(line->out, "\r\033[K%s", text);
  fflush(line->out);
  line->shown_at = base_seconds();
  line->is_shown = true;
}

void status_line_hide(StatusLine *line)
{
  if (!line->is_shown)
    return;
  fputs("\r\033[K", line->out);
  fflush(line->out);
  line->is_shown = false;
}

void status_line_end(StatusLine *line)
{
  status_line_hide(line);
  line->out = NULL;
}
