/* Findings about a program: which of them count, and their order. */
#include "emu/machine/program.h"

#include "stb_ds.h"

#define FAULT(name, group, text) #name,
static const char *const names[] = {
#include "emu/machine/faults.def"
};

const char *fault_name(FaultKind kind)
{
  return (unsigned)kind < FAULT_COUNT ? names[kind] : "?";
}

typedef enum {
  GROUP_HARD, GROUP_HAZARD, GROUP_TASKS, GROUP_MEMORY, GROUP_LENGTHS, GROUP_ORDER, GROUP_EDGE,
  GROUP_LOST, GROUP_LEFT
} FaultGroup;
#define FAULT(name, group, text) GROUP_##group,
static const uint8_t groups[] = {
#include "emu/machine/faults.def"
};

CheckLevel fault_level(FaultKind kind, CheckLevel check, unsigned checks)
{
  CheckLevel asked = check == CHECK_WARN ? CHECK_WARN : CHECK_ERROR;
  switch ((FaultGroup)groups[kind]) {
  case GROUP_HAZARD: return check;
  case GROUP_TASKS: return checks & CHECKS_TASKS ? asked : CHECK_OFF;
  case GROUP_MEMORY:
    return checks & CHECKS_MEMORY ? asked : check == CHECK_OFF ? check : CHECK_WARN;
  case GROUP_LENGTHS: return checks & CHECKS_LENGTHS ? asked : CHECK_OFF;
  case GROUP_ORDER: return checks & CHECKS_ORDER ? asked : CHECK_OFF;
  case GROUP_EDGE: case GROUP_LOST:
    return checks & CHECKS_STRICT ? asked : check == CHECK_OFF ? check : CHECK_WARN;
  case GROUP_LEFT: return check == CHECK_OFF ? check : CHECK_WARN;
  case GROUP_HARD: default: return CHECK_ERROR;
  }
}

enum { MOST_WARNINGS = 1024 };

/* Findings about memory are equal if they concern one variable, or one operation that a race
 * disturbs: a loop that the compiler unrolls has many places. */
static bool is_same_finding(const Fault *a, const Fault *b)
{
  if (a->kind != b->kind || groups[a->kind] == GROUP_EDGE)
    return a->kind == b->kind;
  if (groups[a->kind] == GROUP_MEMORY || groups[a->kind] == GROUP_ORDER)
    return a->tile == b->tile && a->value2 == b->value2;
  return a->tile == b->tile && a->pc == b->pc && a->color == b->color;
}

/* It was there before: at the same place, or anywhere if the run reports it once. */
static bool was_found(const Fault *all, const Fault *fault)
{
  for (size_t i = 0; i < arrlenu(all); i++)
    if (is_same_finding(&all[i], fault))
      return true;
  return false;
}

bool faults_collect(Fault **all, const Fault *found, size_t count, CheckLevel check,
                    unsigned checks)
{
  bool ends = false;
  for (size_t i = 0; i < count; i++) {
    const Fault *fault = &found[i];
    CheckLevel level = fault_level(fault->kind, check, checks);
    if (ends && fault->cycle > arrlast(*all).cycle)
      break;
    if (level == CHECK_OFF || (i && fault_compare(fault, fault - 1) == 0) ||
        (level == CHECK_WARN && arrlenu(*all) >= MOST_WARNINGS) ||
        (groups[fault->kind] != GROUP_HARD && was_found(*all, fault)))
      continue;
    arrput(*all, *fault);
    ends |= level == CHECK_ERROR;
  }
  return ends;
}

int fault_compare(const void *a, const void *b)
{
  const Fault *x = a, *y = b;
  uint64_t kx[] = {x->cycle, x->tile, (uint64_t)x->kind, x->color, x->pc, x->value};
  uint64_t ky[] = {y->cycle, y->tile, (uint64_t)y->kind, y->color, y->pc, y->value};
  for (size_t i = 0; i < ARRAY_COUNT(kx); i++)
    if (kx[i] != ky[i])
      return kx[i] < ky[i] ? -1 : 1;
  return 0;
}
