/* Marks: states that a timeline comes back to, so that the way back need not begin at cycle 0.
 * They are set while the program runs, at distances that keep their cost a small part of the run's,
 * and thinned out: the further back, the fewer. */
#include "emu/debug/debug_internal.h"

#include <time.h>

#include <stb_ds.h>

enum {
  MARKS_MOST = 48,
  FIRST_DISTANCE = 1 << 12,     /* cycles */
  COST_SHARE = 16,              /* of the time since the mark before, one part is for the next */
};
#define MEMORY_MOST ((size_t)256 << 20)

static double seconds_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

const Mark *marks_before(const Marks *m, uint64_t cycle)
{
  const Mark *found = NULL;
  for (size_t i = 0; i < arrlenu(m->all) && snapshot_cycle(m->all[i].state) <= cycle; i++)
    found = &m->all[i];
  return found;
}

static size_t memory_of(const Marks *m)
{
  size_t bytes = 0;
  for (size_t i = 0; i < arrlenu(m->all); i++)
    bytes += snapshot_bytes(m->all[i].state);
  return bytes;
}

/* Takes out the mark whose neighbours lie closest together, compared with how far back they are. */
static void thin_out(Marks *m)
{
  size_t n = arrlenu(m->all), worst = 0;
  uint64_t last = snapshot_cycle(m->all[n - 1].state);
  double least = 0;
  for (size_t i = 0; i + 1 < n; i++) {
    uint64_t before = i ? snapshot_cycle(m->all[i - 1].state) : 0;
    uint64_t after = snapshot_cycle(m->all[i + 1].state);
    double gap = (double)(after - before) / (double)(last - before + 1);
    if (i == 0 || gap < least) {
      least = gap;
      worst = i;
    }
  }
  snapshot_free(m->all[worst].state);
  arrdel(m->all, worst);
}

static size_t place_of(const Marks *m, uint64_t cycle)
{
  size_t i = 0;
  while (i < arrlenu(m->all) && snapshot_cycle(m->all[i].state) < cycle)
    i++;
  return i;
}

void marks_set(Marks *m, Engine *engine, size_t n_applied)
{
  uint64_t cycle = engine->ops->cycle(engine);
  size_t at = place_of(m, cycle);
  if (m->off || (at < arrlenu(m->all) && snapshot_cycle(m->all[at].state) == cycle &&
                 m->all[at].n_applied == n_applied))
    return;
  Mark mark = {.n_applied = n_applied};
  mark.state = snapshot_take(engine, at ? m->all[at - 1].state : NULL);
  arrins(m->all, at, mark);
  while (arrlenu(m->all) > 1 && (arrlenu(m->all) > MARKS_MOST || memory_of(m) > MEMORY_MOST))
    thin_out(m);
  m->off = memory_of(m) > MEMORY_MOST;          /* a single one is too large */
}

uint64_t marks_next(const Marks *m)
{
  return m->off ? UINT64_MAX : m->next ? m->next : FIRST_DISTANCE;
}

void marks_pass(Marks *m, Engine *engine, size_t n_applied)
{
  uint64_t cycle = engine->ops->cycle(engine);
  double start = seconds_now(), ran = start - m->set_at;
  marks_set(m, engine, n_applied);
  m->set_at = seconds_now();
  double cost = m->set_at - start;
  if (!m->distance)
    m->distance = FIRST_DISTANCE;
  if (cost * COST_SHARE > ran)
    m->distance *= 2;
  else if (cost * COST_SHARE * 4 < ran && m->distance > FIRST_DISTANCE)
    m->distance /= 2;
  m->next = cycle + m->distance;
}

void marks_free(Marks *m)
{
  for (size_t i = 0; i < arrlenu(m->all); i++)
    snapshot_free(m->all[i].state);
  arrfree(m->all);
}
