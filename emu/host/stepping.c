/* Snapshots, steps and stop conditions of a session, for programs that use the library.  The engine
 * runs cycle by cycle here, and each condition is looked at between two cycles: that needs no
 * events, and a session that does not step pays nothing for it. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* ---- snapshots ----------------------------------------------------------------------------- */

/* Why the session cannot go back or step; NULL: it can. */
static const char *refusal_of(const HostSession *s, bool steps)
{
  if (!steps && s->first_open < arrlenu(s->operations))
    return "copies or launches are still on their way: wait for them first";
  if (s->options.debugger)
    return "a debugger runs the program";
  if (ranks_count() > 1 || s->options.member)
    return "the program runs on several processes or wafers";
  return session_is_recorded(s) ? "its states are recorded for --load-state" : NULL;
}

/* `steps`: operations may be on their way. */
static WseStatus check_stepping(HostSession *s, bool steps)
{
  if (!refusal_of(s, steps))
    return WSE_OK;
  diag_step_refuse(s->diags, HOST_NOWHERE, refusal_of(s, steps));
  return session_usage(s);
}

struct SessionSnapshot {
  HostSession *owner;           /* NULL: it has ended */
  Snapshot *state;
};

static WseStatus check_snapshot(HostSession *s, const SessionSnapshot *snapshot)
{
  WseStatus status = check_stepping(s, false);
  if (status != WSE_OK || !snapshot || snapshot->owner == s)
    return status;
  diag_snapshot_of_other(s->diags, HOST_NOWHERE);
  return session_usage(s);
}

WseStatus session_snapshot(HostSession *s, const SessionSnapshot *before,
                           SessionSnapshot **snapshot)
{
  *snapshot = NULL;
  WseStatus status = check_snapshot(s, before);
  if (status != WSE_OK)
    return status;
  *snapshot = base_malloc(sizeof **snapshot);
  **snapshot = (SessionSnapshot){s, snapshot_take(s->engine, before ? before->state : NULL)};
  arrput(s->snapshots, *snapshot);
  return WSE_OK;
}

uint64_t session_snapshot_cycle(const SessionSnapshot *snapshot)
{
  return snapshot_cycle(snapshot->state);
}

void session_snapshot_free(SessionSnapshot *snapshot)
{
  if (!snapshot)
    return;
  SessionSnapshot **all = snapshot->owner ? snapshot->owner->snapshots : NULL;
  for (size_t i = 0; i < arrlenu(all); i++)
    if (all[i] == snapshot) {
      arrdelswap(all, i);
      break;
    }
  snapshot_free(snapshot->state);
  free(snapshot);
}

void session_leave_snapshots(HostSession *s)
{
  for (size_t i = 0; i < arrlenu(s->snapshots); i++)
    s->snapshots[i]->owner = NULL;
  arrfree(s->snapshots);
}

WseStatus session_go_back(HostSession *s, const SessionSnapshot *snapshot)
{
  WseStatus status = check_snapshot(s, snapshot);
  if (status != WSE_OK)
    return status;
  EngineOptions options = s->engine->options;
  s->ops->destroy(s->engine);
  s->engine = s->ops->create(s->program, &options);
  snapshot_restore(snapshot->state, s->engine);
  atomic_store(&s->interrupt, 0);
  s->ended = s->finishing = s->quiet = false;
  s->hazards_told = 0;
  session_phase(s, true, "restored", "");
  return WSE_OK;
}

/* ---- what is looked at between two cycles --------------------------------------------------- */

typedef struct {
  const Tile *tile;
  uint64_t issues;
  bool running;
  const char *file;
  uint32_t line;
} TileView;

static TileView view_tile(HostSession *s, uint32_t tile)
{
  const Tile *t = s->ops->tile(s->engine, tile, true);
  TileView view = {.tile = t, .issues = t->issues, .running = t->running, .file = ""};
  if (t->running && !t->threads[MAIN_THREAD].run)
    frames_place(s->program, tile, t->pc, &view.file, &view.line);
  return view;
}

static bool begins_line(const TileView *before, const TileView *now)
{
  return now->line && (now->line != before->line || now->file != before->file ||
                       (now->running && !before->running));
}

static bool is_step_done(WseStep unit, const TileView *before, const TileView *now)
{
  switch (unit) {
  case WSE_STEP_CYCLE: return true;
  case WSE_STEP_INSTRUCTION: return now->issues != before->issues;
  case WSE_STEP_LINE: return begins_line(before, now);
  case WSE_STEP_TASK: return now->running && !before->running;
  default: return true;
  }
}

/* One cycle; *over: nothing more happens. */
static WseStatus run_cycle(HostSession *s, bool *over)
{
  uint64_t before = session_cycle(s);
  WseStatus status = session_run(s, 1);
  *over = status == WSE_OK && s->quiet && session_cycle(s) <= before;
  return status;
}

WseStatus session_step_tile(HostSession *s, uint32_t tile, WseStep unit, uint64_t count,
                            uint64_t most_cycles, bool *reached)
{
  WseStatus status = check_stepping(s, true);
  TileView before;
  bool over = false;
  *reached = false;
  if (status == WSE_OK)
    status = session_ended(s);
  if (status != WSE_OK)
    return status;
  before = view_tile(s, tile);
  for (uint64_t i = 0; i < most_cycles && count && status == WSE_OK && !over; i++) {
    status = run_cycle(s, &over);
    TileView now = view_tile(s, tile);
    count -= !over && is_step_done(unit, &before, &now);
    if (unit != WSE_STEP_LINE || now.line || !now.running)
      before = now;             /* a line goes on while its operation runs */
  }
  *reached = count == 0;
  return status;
}

/* ---- stop conditions ------------------------------------------------------------------------ */

typedef struct {
  uint32_t tile, address, bytes;
  uint8_t *old;                 /* malloc: WSE_STOP_CHANGE */
  TileView before;
} Watched;

static WseStatus begin_watch(HostSession *s, const WseStop *stop, Watched *w)
{
  w->tile = program_tile(s->program, stop->x, stop->y);
  w->before = view_tile(s, w->tile);
  if (stop->kind != WSE_STOP_CHANGE)
    return WSE_OK;
  const ImageSymbol *symbol = session_symbol(s, w->tile, stop->name ? stop->name : "");
  if (!symbol)
    return WSE_USAGE;
  w->address = symbol->address;
  w->bytes = symbol->bytes;
  w->old = base_malloc(w->bytes + 1u);
  s->ops->mem_read(s->engine, w->tile, w->address, w->old, w->bytes);
  return WSE_OK;
}

static bool has_changed(HostSession *s, Watched *w)
{
  uint8_t *now = base_malloc(w->bytes + 1u);
  bool changed = s->ops->mem_read(s->engine, w->tile, w->address, now, w->bytes) &&
                 memcmp(now, w->old, w->bytes) != 0;
  free(w->old);
  w->old = now;
  return changed;
}

static bool starts_task(const HostSession *s, const Watched *w, const TileView *now,
                        const char *name)
{
  if (!now->running || w->before.running)
    return false;
  const char *task = program_task_name(s->program, w->tile, (TaskKind)now->tile->task,
                                       now->tile->task_id);
  return !name || strcmp(task, name) == 0;
}

static bool is_reached(HostSession *s, const WseStop *stop, Watched *w)
{
  TileView now = view_tile(s, w->tile);
  bool reached = false;
  switch (stop->kind) {
  case WSE_STOP_LINE:
    reached = now.line == stop->line && begins_line(&w->before, &now) &&
              (!stop->name || file_is_named(now.file, stop->name));
    break;
  case WSE_STOP_TASK: reached = starts_task(s, w, &now, stop->name); break;
  case WSE_STOP_CHANGE: reached = has_changed(s, w); break;
  default: break;
  }
  w->before = now;
  return reached;
}

WseStatus session_run_until(HostSession *s, const WseStop *stops, size_t n, uint64_t most_cycles,
                            size_t *which)
{
  WseStatus status = check_stepping(s, true);
  if (status == WSE_OK)
    status = session_ended(s);
  Watched *watched = base_zeroed(n + 1, sizeof *watched);
  bool over = false;
  *which = n;
  for (size_t k = 0; k < n && status == WSE_OK; k++)
    status = begin_watch(s, &stops[k], &watched[k]);
  for (uint64_t i = 0; i < most_cycles && status == WSE_OK && *which == n && !over; i++) {
    status = run_cycle(s, &over);
    for (size_t k = n; k-- > 0;)
      if (is_reached(s, &stops[k], &watched[k]))
        *which = k;             /* the first of several */
  }
  for (size_t k = 0; k < n; k++)
    free(watched[k].old);
  free(watched);
  return status;
}

/* ---- registers ------------------------------------------------------------------------------ */

/* A general register by its name, "r0" on, or "sp"; -1: none has it. */
static int register_number(const HostSession *s, const char *name)
{
  char tail;
  unsigned number;
  if (strcmp(name, "sp") == 0)
    return (int)s->program->machine->sp_register;
  if (sscanf(name, "r%2u%c", &number, &tail) != 1 || number >= GPR_COUNT)
    return -1;
  return (int)number;
}

WseStatus session_register(HostSession *s, uint32_t tile, const char *name, uint16_t *value,
                           bool write)
{
  WseStatus status = check_stepping(s, true);
  if (status != WSE_OK)
    return status;
  Tile *t = s->ops->tile(s->engine, tile, true);
  int number = register_number(s, name);
  bool is_pc = strcmp(name, "pc") == 0;
  if (!t->mem.cls || (number < 0 && !is_pc) || (is_pc && write)) {
    diag_register_unknown(s->diags, HOST_NOWHERE, name);
    return session_usage(s);
  }
  if (write)
    t->regs.r[number] = *value;
  else
    *value = is_pc ? t->pc : t->regs.r[number];
  return WSE_OK;
}
