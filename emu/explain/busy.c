/* What tiles are at when a run is cut short: the places of main threads that have not ended, and
 * the tasks that are about to start.  Tiles at the same place are one entry. */
#include "emu/explain/explain_internal.h"

#include <stdlib.h>
#include <stb_ds.h>

enum { OTHERS_SHOWN = 8 };

/* By what tiles are at: the first of them, and others like it. */
typedef struct {
  char *key;
  uint32_t n, tiles[1 + OTHERS_SHOWN];
} BusyTiles;

unsigned busy_task(const Program *program, uint32_t tile, const InspectTile *at)
{
  const ClassCode *cls = program_class(program, tile);
  for (unsigned id = 0; cls && id < MAX_TASK_IDS; id++)
    if (cls->local_task[id] && (at->active & ~at->blocked) >> id & 1)
      return id;
  return MAX_TASK_IDS;
}

/* What a tile is at; false: nothing that has not ended, or no endless loop where there are any. */
static bool print_business(Report *r, uint32_t tile)
{
  const InspectTile *at = report_look(r, tile);
  const InspectThread *thread = &at->threads[0];
  const EndlessLoop *loop = report_loop_of(r, tile);
  if (r->loops && !loop)
    return false;
  if (loop && loop->tasks) {
    report_rounds(r, loop);
    return true;
  }
  if (thread->state != THREAD_IDLE) {
    report_thread(r, tile, 0, thread);
    if (thread->task == TASK_LOCAL)
      report_activation(r, tile, thread->task_id);
    return true;
  }
  unsigned id = busy_task(r->program, tile, at);
  if (id == MAX_TASK_IDS)
    return false;
  report_task(r, tile, TASK_LOCAL, id);
  fprintf(r->out, " is about to start");
  report_activation(r, tile, id);
  return true;
}

static BusyTiles *busy_tiles(Report *r)
{
  BusyTiles *found = NULL;
  sh_new_strdup(found);
  for (uint32_t t = 0; t < r->program->n_tiles; t++) {
    if (!r->engine->ops->touched(r->engine, t))
      continue;
    char *text = NULL;
    size_t size;
    r->out = base_text_open(&text, &size);
    bool is_busy = print_business(r, t);
    base_text_close(r->out, &text);
    if (is_busy) {
      if (shgeti(found, text) < 0)
        shputs(found, ((BusyTiles){.key = text}));
      ptrdiff_t at = shgeti(found, text);
      BusyTiles *entry = &found[at];
      if (entry->n < ARRAY_COUNT(entry->tiles))
        entry->tiles[entry->n] = t;
      entry->n++;
    }
    free(text);
  }
  return found;
}

static void print_others(const Report *r, const BusyTiles *entry)
{
  if (entry->n == 1)
    return;
  fprintf(r->out, "  likewise at ");
  for (uint32_t i = 1; i < entry->n && i < ARRAY_COUNT(entry->tiles); i++) {
    fprintf(r->out, "%s", i > 1 ? ", " : "");
    report_tile(r, entry->tiles[i]);
  }
  if (entry->n > ARRAY_COUNT(entry->tiles))
    fprintf(r->out, " and %u more", entry->n - (unsigned)ARRAY_COUNT(entry->tiles));
  fprintf(r->out, "\n");
}

static bool has_rounds(const EndlessLoop *loops)
{
  bool has = false;
  for (size_t i = 0; i < arrlenu(loops); i++)
    has |= loops[i].tasks != 0;
  return has;
}

void busy_report(Engine *engine, const Program *program, const EndlessLoop *loops, unsigned most,
                 FILE *out)
{
  Report r = report_create(engine, program, out);
  r.loops = loops;
  BusyTiles *found = busy_tiles(&r);
  r.out = out;
  for (ptrdiff_t i = 0; i < shlen(found) && i < (ptrdiff_t)most; i++) {
    fprintf(out, "  ");
    report_tile(&r, found[i].tiles[0]);
    fprintf(out, " %s\n", found[i].key);
    print_others(&r, &found[i]);
  }
  if (shlen(found) > (ptrdiff_t)most)
    fprintf(out, "  and %td more places\n", shlen(found) - (ptrdiff_t)most);
  if (loops && has_rounds(loops))
    fprintf(out, "  help: nothing else can happen in the program any more, so nothing ends the "
                 "rounds: see what is to change what they read, or let them end by themselves\n");
  else if (loops)
    fprintf(out, "  help: nothing else can happen in the program any more, so nothing ends the "
                 "loop; another task of the tile starts only when this one has ended\n");
  else if (shlen(found))
    fprintf(out, "  help: if this is an end that never comes, look at what the loop's condition "
                 "reads, or at the tasks that activate each other; --trace=task shows them\n");
  shfree(found);
}
