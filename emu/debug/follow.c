/* The way of a wavelet: forward to the tiles that take it, and back to where it was sent.  Journeys
 * number wavelets from the events of a run; they may begin in any cycle, because what is under way
 * then can be read from the tiles. */
#include "emu/debug/debug_internal.h"
#include "emu/observe/observe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

struct Follow {
  Journeys *journeys;
  uint64_t known;               /* wavelets under way at the begin have numbers up to it */
  uint64_t number;              /* of the wavelet; 0: it has not come yet */
  bool by_event;                /* it is the wavelet of `event`; else the tile's next or last one */
  TraceEvent event;             /* where it was seen */
  uint32_t tile;
  bool backward;
  uint64_t sought;              /* backward: the number of the wavelet whose birth is looked for */
  TraceEvent birth;
  uint64_t stands_at;           /* forward: what happens before is known */
  uint32_t *taken;              /* stb_ds, forward: tiles that have taken it in cycle taken_at */
  uint64_t taken_at;
  size_t left;                  /* copies that are still on their way */
  bool is_lost;                 /* the last copy has left the tiles */
  bool stopped;                 /* the run stands because of it */
};

/* ---- begin and end ------------------------------------------------------------------------- */

static Follow *create_follow(Debugger *d)
{
  Follow *f = base_malloc(sizeof *f);
  *f = (Follow){.tile = d->tile};
  return f;
}

static void free_follow(Follow *f)
{
  journeys_destroy(f->journeys);
  arrfree(f->taken);
  free(f);
}

void follow_end(Debugger *d)
{
  if (d->follow)
    free_follow(d->follow);
  d->follow = NULL;
}

/* From the cycle on where the timeline stands. */
static void begin_journeys(Debugger *d, Follow *f)
{
  journeys_destroy(f->journeys);
  f->journeys = journeys_create(d->program);
  f->known = journeys_take_up(f->journeys, timeline_engine(d->timeline));
  f->number = 0;
}

static void listen_to_all(Debugger *d, uint32_t kinds)
{
  const Image *image = d->program->image;
  timeline_listen(d->timeline, kinds, (uint32_t[]){0, 0, image->width, image->height});
}

/* ---- at an event --------------------------------------------------------------------------- */

static bool is_same_event(const TraceEvent *a, const TraceEvent *b)
{
  return a->cycle == b->cycle && a->tile == b->tile && a->kind == b->kind &&
         a->color == b->color && a->from == b->from && a->to == b->to && a->queue == b->queue &&
         a->payload == b->payload && a->control == b->control;
}

static bool is_sent(const TraceEvent *event)
{
  return (event->kind == EV_PUSH && event->output) || event->kind == EV_HOST_IN;
}

static bool is_taken(const TraceEvent *event)
{
  return event->kind == EV_POP && !event->output;
}

/* Is this the wavelet that was asked for? */
static bool is_wanted(const Follow *f, const TraceEvent *event)
{
  if (f->by_event)
    return is_same_event(&f->event, event);
  return event->tile == f->tile &&
         (f->backward ? is_taken(event) : event->kind == EV_PUSH && event->output);
}

static bool note_step_of_it(Follow *f, const TraceEvent *event)
{
  bool ends = event->kind == EV_HOST_OUT || (event->kind == EV_WAVELET &&
                                             !(event->to >> PORT_RAMP & 1));
  f->left = journeys_copies(f->journeys, f->number);
  if (is_taken(event)) {
    if (f->taken_at != event->cycle)
      arrsetlen(f->taken, 0);
    f->taken_at = event->cycle;
    arrput(f->taken, event->tile);
  } else if (ends && f->left == 0) {
    f->is_lost = true;
  } else {
    return false;
  }
  return event->cycle >= f->stands_at;
}

static void note_wanted(Follow *f, const TraceEvent *event, uint64_t number)
{
  f->number = number;
  if (!f->by_event)
    f->event = *event;
}

bool follow_event(Debugger *d, const TraceEvent *event)
{
  Follow *f = d->follow;
  uint64_t number = journeys_event(f->journeys, event);
  if (!number)
    return false;
  if (f->backward && number == f->sought && is_sent(event))
    f->birth = *event;
  if (is_wanted(f, event) && (f->backward || !f->number))
    note_wanted(f, event, number);
  if (f->backward || number != f->number || !note_step_of_it(f, event))
    return false;
  d->tile = arrlenu(f->taken) ? f->taken[0] : event->tile;
  d->frame = 0;
  d->followed = f->event;
  d->followed_to = event->cycle + 1;
  return f->stopped = true;
}

/* ---- forward ------------------------------------------------------------------------------- */

static void print_wavelet(const Debugger *d, const TraceEvent *event)
{
  fprintf(d->out, "wavelet 0x%08x%s of color %u", event->payload,
          event->control ? " (control)" : "", event->color);
  const char *name = program_color_name(d->program, event->tile, event->color);
  if (*name)
    fprintf(d->out, " '%s'", name);
}

static bool stands_at_wavelet(const Debugger *d)
{
  return d->hit && d->hit_kind == BREAK_WAVELET;
}

/* What the command is about: the wavelet of the stop, the one that it has followed so far, or the
 * next one that the tile sends. */
static void choose_wavelet(const Debugger *d, Follow *f)
{
  bool goes_on = d->followed_to && d->followed_to == timeline_cycle(d->timeline) && !d->hit;
  f->by_event = stands_at_wavelet(d) || goes_on;
  if (f->by_event)
    f->event = goes_on ? d->followed : d->hit_event;
}

/* Numbers wavelets from `first` on, up to `end`; false: it was paused on the way. */
static bool number_wavelets(Debugger *d, Follow *f, uint64_t first, uint64_t end)
{
  timeline_travel(d->timeline, first);
  begin_journeys(d, f);
  d->follow = f;
  d->catching_up = true;
  listen_to_all(d, JOURNEY_KINDS);
  timeline_replay(d->timeline, end);
  d->catching_up = false;
  d->follow = NULL;
  return timeline_cycle(d->timeline) >= end;
}

static bool is_over(const Follow *f)
{
  return f->is_lost || (arrlenu(f->taken) && f->left == 0);
}

bool follow_forward(Debugger *d)
{
  uint64_t now = timeline_cycle(d->timeline);
  Follow *f = create_follow(d);
  choose_wavelet(d, f);
  follow_end(d);
  f->stands_at = now;
  bool is_whole = number_wavelets(d, f, f->by_event ? f->event.cycle : now, now);
  if (!is_whole || (f->by_event && (!f->number || is_over(f)))) {
    if (is_whole)
      print_wavelet(d, &f->event);
    fprintf(d->out, is_whole ? ": all of its copies have arrived\n" : "paused\n");
    timeline_travel(d->timeline, now);
    free_follow(f);
    return false;
  }
  arrsetlen(f->taken, 0);
  d->next_follow = f;
  return true;
}

void follow_listen(const Debugger *d, uint32_t *kinds, uint32_t region[4])
{
  const Image *image = d->program->image;
  if (!d->follow)
    return;
  *kinds |= JOURNEY_KINDS;
  memcpy(region, ((uint32_t[]){0, 0, image->width, image->height}), 4 * sizeof *region);
}

bool follow_print(const Debugger *d)
{
  const Follow *f = d->follow;
  if (!f || !f->stopped)
    return false;
  for (size_t i = 0; i < arrlenu(f->taken); i++)
    fprintf(d->out, "%sP%u.%u", i ? ", " : "", program_x(d->program, f->taken[i]),
            program_y(d->program, f->taken[i]));
  fprintf(d->out, f->is_lost                ? "out of the tiles goes "
                  : arrlenu(f->taken) > 1 ? " take "
                                          : " takes ");
  print_wavelet(d, &f->event);
  if (f->left)
    fprintf(d->out, ", %zu more on the way", f->left);
  fprintf(d->out, "; ");
  return true;
}

/* ---- back ---------------------------------------------------------------------------------- */

/* Finds where the wavelet was sent: looks at ever earlier parts of the run, until one has it from
 * its begin.  False: paused. */
static bool find_birth(Debugger *d, Follow *f, uint64_t end)
{
  uint64_t first = end, start = timeline_first(d->timeline);
  while (!f->sought && first > start) {
    first = timeline_mark(d->timeline, first);
    if (!number_wavelets(d, f, first, end))
      return false;
    if (f->number && !f->by_event) {
      f->by_event = true;
      end = f->event.cycle + 1;
    }
    f->sought = f->number > f->known ? f->number : 0;
  }
  return !f->sought || number_wavelets(d, f, first, end);
}

static void print_birth(Debugger *d, const TraceEvent *birth)
{
  Engine *engine = timeline_engine(d->timeline);
  Report r = report_create(engine, d->program, d->out);
  if (birth->kind == EV_HOST_IN)
    fprintf(d->out, "the host has sent ");
  else
    fprintf(d->out, "P%u.%u has sent ", program_x(d->program, birth->tile),
            program_y(d->program, birth->tile));
  print_wavelet(d, birth);
  const InspectTile *at = report_look(&r, birth->tile);
  if (birth->kind == EV_PUSH && queue_use_is_any(at->output[birth->queue].use)) {
    fprintf(d->out, ", one of ");
    report_use(&r, birth->tile, at->output[birth->queue].use);
  }
  fprintf(d->out, "; ");
}

void follow_back(Debugger *d)
{
  uint64_t now = timeline_cycle(d->timeline);
  Follow *f = create_follow(d);
  choose_wavelet(d, f);
  f->backward = true;
  follow_end(d);
  timeline_busy(d->timeline, true);
  bool is_whole = find_birth(d, f, f->by_event ? f->event.cycle + 1 : now);
  bool is_found = is_whole && f->sought;
  timeline_travel(d->timeline, is_found ? f->birth.cycle + 1 : now);
  timeline_busy(d->timeline, false);
  stops_forget_hit(d);
  if (is_found) {
    d->followed = f->birth;
    d->followed_to = f->birth.cycle + 1;
    d->tile = f->birth.tile;
    d->frame = 0;
    print_birth(d, &f->birth);
  } else if (is_whole) {
    fprintf(d->out, f->number ? "the wavelet was under way at the start\n"
                              : "the tile has not taken a wavelet yet\n");
  } else {
    fprintf(d->out, "paused, ");
  }
  free_follow(f);
}
