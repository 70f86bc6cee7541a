/* Steps, forward and back, and where the program stands. */
#include "emu/debug/debug_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

void debugger_open(Debugger *d, Timeline *timeline, FILE *out)
{
  *d = (Debugger){.timeline = timeline, .program = timeline_program(timeline), .out = out,
                  .last_tile = NO_TILE};
  while (d->tile + 1 < d->program->n_tiles && !program_class(d->program, d->tile))
    d->tile++;
  sources_warn(d->program, out);
}

void debugger_close(Debugger *d)
{
  while (arrlenu(d->breaks))
    stops_remove(d, d->breaks[0].number);
  arrfree(d->breaks);
  hmfree(d->beside);
  arrfree(d->others);
  follow_end(d);
  free(d->core);
}

/* ---- steps --------------------------------------------------------------------------------- */

/* An event of a microthread does not move the main thread. */
static bool is_of_main(const TraceEvent *event)
{
  return event->kind == EV_INST || event->kind == EV_TASK_START || event->kind == EV_LAUNCH ||
         (event->kind == EV_DONE && event->thread == MAIN_THREAD);
}

/* Is the main thread's next instruction another one than before the event, and about to issue?
 * Behind an operation that others may issue beside it is, behind any other when that is over. */
static bool main_arrives(Debugger *d, const TraceEvent *event)
{
  Engine *engine = timeline_engine(d->timeline);
  const Tile *core = engine->ops->tile(engine, event->tile, false);
  if (!is_of_main(event) || !core || !core->mem.cls || !core->running)
    return false;
  bool runs = core->threads[MAIN_THREAD].run != NULL, is_beside = frames_beside(core) != NULL;
  if (event->kind == EV_DONE && runs)
    return false;               /* the next one has issued: an event of its own */
  bool was_beside = d->beside && hmdel(d->beside, event->tile);   /* hmdel takes no map of NULL */
  if (is_beside)
    hmput(d->beside, event->tile, true);
  if ((runs && !is_beside) || (event->kind == EV_DONE && was_beside) ||
      (d->last_cycle == event->cycle && d->last_tile == event->tile))
    return false;
  d->last_cycle = event->cycle;
  d->last_tile = event->tile;
  return true;
}

/* Has the frame where the step began called this one?  Code of an inlined call
 * has the stack pointer of its caller. */
static bool is_called(const Debugger *d, uint32_t sp, uint32_t inlined)
{
  return sp < d->step_sp ||
         (sp == d->step_sp && inlined != d->step_inlined &&
          frames_is_inside(d->program, d->step_tile, inlined, d->step_inlined));
}

/* Is the instruction that comes next the first one of a line, in the frame where the step began or
 * one around it? */
static bool is_other_line(const Debugger *d, const Tile *core)
{
  const char *file;
  uint32_t line;
  uint32_t sp = core->regs.r[d->program->machine->sp_register];
  if (!frames_place(d->program, d->step_tile, core->pc, &file, &line))
    return false;
  if (d->step == STEP_OVER &&
      is_called(d, sp, frames_inlined_at(d->program, d->step_tile, core->pc)))
    return false;
  return line != d->step_line || file != d->step_file;
}

/* Is the instruction that comes next one of a caller of the frame that `finish` leaves? */
static bool has_left(const Debugger *d, const Tile *core)
{
  uint32_t sp = core->regs.r[d->program->machine->sp_register];
  uint32_t inlined = frames_inlined_at(d->program, d->step_tile, core->pc);
  return sp > d->step_sp ||
         (sp == d->step_sp && d->step_inlined != IMAGE_NO_INLINE &&
          !frames_is_inside(d->program, d->step_tile, inlined, d->step_inlined));
}

static bool ends_step(Debugger *d, const TraceEvent *event)
{
  Engine *engine = timeline_engine(d->timeline);
  const Tile *core = engine->ops->tile(engine, event->tile, false);
  bool starts = event->kind == EV_TASK_START || event->kind == EV_LAUNCH;
  if (event->tile != d->step_tile || !core || d->step == STEP_NONE)
    return false;
  if (d->step == STEP_TASK)
    return starts;
  if (d->step == STEP_INSTRUCTION)
    return event->kind == EV_INST;
  if (!d->arrives)
    return false;
  if (starts)
    return true;               /* the code that began the step has ended */
  if (d->step == STEP_OUT)
    return has_left(d, core);
  return is_other_line(d, core);
}

unsigned debugger_frame(const Debugger *d, uint32_t tile)
{
  bool is_there = d->stop_tile == tile && d->stop_cycle == timeline_cycle(d->timeline);
  return is_there ? d->stop_frame : 0;
}

static void note_step(Debugger *d, StepKind step)
{
  DebugFrame frames[MOST_FRAMES];
  unsigned n = frames_find(d->timeline, d->tile, frames);
  d->step = step;
  d->step_tile = d->tile;
  d->step_file = "";
  d->step_line = 0;
  d->step_inlined = IMAGE_NO_INLINE;
  if (n) {
    unsigned number = step == STEP_OUT ? d->frame : debugger_frame(d, d->tile);
    const DebugFrame *f = &frames[number < n ? number : 0];
    d->step_file = f->file;
    d->step_line = f->line;
    Engine *engine = timeline_engine(d->timeline);
    const Registers *regs = engine->ops->registers(engine, d->tile);
    d->step_sp = regs ? regs->r[d->program->machine->sp_register] : 0;
    d->step_inlined = f->inlined;
    if (step == STEP_OUT && f->info)
      d->step_sp = f->inlined != IMAGE_NO_INLINE ? f->sp : f->sp + f->info->frame_bytes;
  }
}

/* One of several steps is over: the next one begins here. */
static bool was_last_step(Debugger *d)
{
  if (--d->steps_left == 0)
    return true;
  d->frame = 0;
  note_step(d, d->step);
  return false;
}

/* On the way back each line counts where it begins. */
static void note_line(Debugger *d)
{
  Engine *engine = timeline_engine(d->timeline);
  const Tile *core = engine->ops->tile(engine, d->step_tile, false);
  if (core && d->step != STEP_OUT)
    frames_place(d->program, d->step_tile, core->pc, &d->step_file, &d->step_line);
}

static BreakHit hit_at(const Debugger *d, unsigned number, uint32_t tile)
{
  return (BreakHit){number, stops_find(d, number)->kind, tile};
}

/* The program stops before the cycle with this frame of the selected tile. */
static void note_hit(Debugger *d, unsigned hit, uint64_t cycle, unsigned frame)
{
  const Break *b = stops_find(d, hit);
  d->frame = d->stop_frame = frame;
  d->stop_tile = d->tile;
  d->stop_cycle = cycle;
  d->hit = hit;
  d->hit_kind = b ? b->kind : BREAK_CODE;
  snprintf(d->hit_why, sizeof d->hit_why, "%s", b ? b->why : "");
}

/* On the way back: a place where it would stop, the last one up to now. */
static void note_found(Debugger *d, const TraceEvent *event, unsigned hit)
{
  bool is_first = !d->found || d->found_cycle != event->cycle + 1;
  if (is_first)
    arrsetlen(d->others, 0);
  if (!is_first && d->found_tile == d->tile) {  /* of several tiles, the selected one */
    if (hit)
      arrput(d->others, hit_at(d, hit, event->tile));
    return;
  }
  if (!is_first && d->found_break)
    arrput(d->others, hit_at(d, d->found_break, d->found_tile));
  d->found = true;
  d->found_cycle = event->cycle + 1;
  d->found_tile = event->tile;
  d->found_break = hit;
  d->found_frame = hit ? stops_find(d, hit)->frame : 0;
  d->hit_event = *event;
  d->steps_left = 1;
  if (!hit)
    note_line(d);
}

/* The program stops: of several places in one cycle, at the first. */
static void note_stop(Debugger *d, const TraceEvent *event, unsigned hit)
{
  if (d->hit) {
    if (hit)
      arrput(d->others, hit_at(d, hit, event->tile));
    return;
  }
  d->tile = event->tile;
  note_hit(d, hit, event->cycle + 1, hit ? stops_find(d, hit)->frame : 0);
  d->hit_event = *event;
}

bool debugger_event(void *context, const TraceEvent *event)
{
  Debugger *d = context;
  BreakHit *more = NULL;
  bool follows = d->follow && follow_event(d, event);
  if (d->catching_up)
    return false;
  d->arrives = main_arrives(d, event);
  unsigned hit = stops_hit(d, event, &more);
  bool stepped = !hit && ends_step(d, event) && was_last_step(d);
  if (!hit && !stepped)
    return follows;
  if (d->searching)
    note_found(d, event, hit);
  else
    note_stop(d, event, hit);
  for (size_t i = 0; i < arrlenu(more); i++)
    arrput(d->others, more[i]);
  arrfree(more);
  return !d->searching;
}

void debugger_go(Debugger *d, StepKind step, uint64_t count)
{
  follow_end(d);
  d->follow = d->next_follow;
  d->next_follow = NULL;
  note_step(d, step);
  d->steps_left = count ? count : 1;
  d->stops_left = step == STEP_NONE ? d->steps_left : 1;
  stops_forget_hit(d);
  d->last_tile = NO_TILE;
  d->go = true;
  timeline_limit(d->timeline, UINT64_MAX);
  stops_arm(d);
}

/* ---- back ---------------------------------------------------------------------------------- */

/* The line in which the step's tile stands: it has begun before. */
static void note_begun_line(Debugger *d)
{
  DebugFrame frames[MOST_FRAMES];
  unsigned n = frames_find(d->timeline, d->step_tile, frames), i = 0;
  while (d->step == STEP_OVER && i + 1 < n && is_called(d, frames[i].sp, frames[i].inlined))
    i++;
  d->step_line = n ? frames[i].line : 0;
  d->step_file = n ? frames[i].file : "";
}

/* Notes where it would have stopped last in the cycles from `first` on and before `end`; false: it
 * was paused on the way. */
static bool search_part(Debugger *d, uint64_t first, uint64_t end)
{
  timeline_travel(d->timeline, first);
  d->searching = true;
  d->steps_left = 1;
  d->last_tile = NO_TILE;
  note_begun_line(d);
  if (first == timeline_first(d->timeline))
    d->step_line = 0, d->step_file = "";
  stops_arm(d);
  bool is_whole = timeline_replay(d->timeline, end) != STAND_PAUSE;
  d->searching = false;
  return is_whole;
}

/* The same for all cycles before `until`, from the end on. */
static bool search_back(Debugger *d, uint64_t until)
{
  bool is_whole;
  d->found = false;
  timeline_busy(d->timeline, true);
  do {
    uint64_t first = timeline_mark(d->timeline, until);
    is_whole = search_part(d, first, until);
    until = first;
  } while (is_whole && !d->found && until > timeline_first(d->timeline));
  timeline_busy(d->timeline, false);
  return is_whole;
}

BackResult debugger_go_back(Debugger *d, StepKind step)
{
  uint64_t now = timeline_cycle(d->timeline);
  uint32_t tile = d->tile;
  follow_end(d);
  note_step(d, step);
  stops_forget_hit(d);
  if (now == timeline_first(d->timeline))
    return BACK_START;
  bool is_whole = search_back(d, now - 1);
  d->step = STEP_NONE;
  timeline_travel(d->timeline, !is_whole ? now : d->found ? d->found_cycle : 0);
  if (!is_whole)
    return BACK_PAUSED;
  d->tile = d->found ? d->found_tile : tile;
  note_hit(d, d->found ? d->found_break : 0, d->found_cycle, d->found ? d->found_frame : 0);
  return d->found ? BACK_FOUND : BACK_START;
}

/* ---- where it stands ----------------------------------------------------------------------- */

static void drop_temporary(Debugger *d, unsigned number)
{
  const Break *b = stops_find(d, number);
  if (b && b->temporary)
    stops_remove(d, number);
}

static void select_tile(Debugger *d, uint32_t tile)
{
  d->tile = tile;
  d->frame = 0;
}

/* Where nothing moves any more, a tile that waits says more than one at rest. */
static void select_waiting(Debugger *d)
{
  DebugFrame frames[MOST_FRAMES];
  uint32_t tile = 0;
  if (frames_find(d->timeline, d->tile, frames))
    return;
  while (tile < d->program->n_tiles && !frames_find(d->timeline, tile, frames))
    tile++;
  if (tile < d->program->n_tiles)
    select_tile(d, tile);
}

void debugger_stand(Debugger *d)
{
  size_t n;
  Engine *engine = timeline_engine(d->timeline);
  const Fault *faults = engine->ops->faults(engine, &n);
  bool is_past = timeline_cycle(d->timeline) < timeline_present(d->timeline);
  if (timeline_reason(d->timeline) == STAND_FAULT && n)
    select_tile(d, faults[n - 1].tile);
  else if (timeline_reason(d->timeline) == STAND_END && !is_past)
    select_waiting(d);
  drop_temporary(d, d->hit);
  for (size_t i = 0; i < arrlenu(d->others); i++)
    drop_temporary(d, d->others[i].number);
  d->step = STEP_NONE;
}

bool debugger_passes(Debugger *d)
{
  if (!d->hit || d->stops_left <= 1)
    return false;
  debugger_go(d, STEP_NONE, d->stops_left - 1);
  return true;
}

static const char *break_word(BreakKind kind)
{
  return kind == BREAK_WATCH ? "watchpoint" : "breakpoint";
}

/* The other places of the cycle, a line for each breakpoint. */
static void print_others(Debugger *d)
{
  enum { MOST_TILES = 8 };
  for (size_t i = 0; i < arrlenu(d->others); i++) {
    const BreakHit *first = &d->others[i];
    size_t n = 0, before = 0;
    for (size_t k = 0; k < i; k++)
      before += d->others[k].number == first->number;
    for (size_t k = i; before == 0 && k < arrlenu(d->others); k++) {
      uint32_t tile = d->others[k].tile;
      if (d->others[k].number != first->number || ++n > MOST_TILES)
        continue;
      if (n == 1)
        fprintf(d->out, "  also %s %u at", break_word(first->kind), first->number);
      fprintf(d->out, "%s P%u.%u", n == 1 ? "" : ",", program_x(d->program, tile),
              program_y(d->program, tile));
    }
    if (n > MOST_TILES)
      fprintf(d->out, " and %zu more", n - MOST_TILES);
    if (n)
      fputc('\n', d->out);
  }
}

static void print_reason(Debugger *d)
{
  size_t n;
  Engine *engine = timeline_engine(d->timeline);
  const Fault *faults = engine->ops->faults(engine, &n);
  bool is_past = timeline_cycle(d->timeline) < timeline_present(d->timeline);
  follow_print(d);
  if (d->hit) {
    fprintf(d->out, "%s %u, ", break_word(d->hit_kind), d->hit);
    if (*d->hit_why)
      fprintf(d->out, "its condition has no value (%s), ", d->hit_why);
  } else if (timeline_reason(d->timeline) == STAND_FAULT && !is_past && n)
    fault_print(d->program, engine, &faults[n - 1], d->out);
  else if (timeline_reason(d->timeline) == STAND_END && !is_past)
    fprintf(d->out, "the run is over, ");
}

/* What the line before has begun may not be over. */
static void print_beside(Debugger *d)
{
  Engine *engine = timeline_engine(d->timeline);
  const VecRun *run = frames_beside(engine->ops->tile(engine, d->tile, false));
  const char *file;
  uint32_t line;
  if (!run)
    return;
  if (frames_place(d->program, d->tile, run->pc, &file, &line))
    fprintf(d->out, ", beside its operation at %s:%u", file, line);
  else
    fprintf(d->out, ", beside its operation at pc 0x%04x", run->pc);
}

void debugger_print_stand(Debugger *d)
{
  DebugFrame frames[MOST_FRAMES];
  unsigned n = frames_find(d->timeline, d->tile, frames);
  const DebugFrame *f = &frames[d->frame < n ? d->frame : 0];
  print_reason(d);
  fprintf(d->out, "cycle %" PRIu64 ", P%u.%u", timeline_cycle(d->timeline),
          program_x(d->program, d->tile), program_y(d->program, d->tile));
  if (!n)
    fprintf(d->out, ": main thread is idle");
  else if (*f->file)
    fprintf(d->out, ": %s at %s:%u", f->function, f->file, f->line);
  else
    fprintf(d->out, ": %s at pc 0x%04x", f->function, f->pc);
  print_beside(d);
  fputc('\n', d->out);
  if (!d->hit || d->tile != d->stop_tile)
    return;
  stops_print_change(d, d->hit);
  print_others(d);
}
