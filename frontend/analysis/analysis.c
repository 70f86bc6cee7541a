/* All warnings about the program of a tile class. */
#include "frontend/analysis/analysis_internal.h"

void lint_program(Sema *s)
{
  lint_variables(s);
  lint_operations(s);
  lint_pointers(s);
  lint_declarations(s);
  lint_endless(s);
  lint_fifos(s);
  lint_unblocks(s);
  lint_controls(s);
  lint_launches(s);
  lint_locals(s);
  lint_loops(s);
  lint_bounds(s);
}
