/* emu/observe: everything made from a run's events and from an engine's state. Nothing here is part
 * of the machine: an observer receives the events that the engine delivers anyway, and a run
 * without observers has none.
 *
 * Reading order: profile, journeys, perfetto, simlog, watch, stop, page, dump. */
#ifndef OBSERVE_H
#define OBSERVE_H

#include "emu/explain/explain.h"

/* ---- profile.c: cycles by source line and by cause of waiting -------------------------------- */

typedef struct Profile Profile;
enum { PROFILE_KINDS = 1 << TRACE_TASK | 1 << TRACE_INST | 1 << TRACE_STALL | 1 << TRACE_HOST };
Profile *profile_create(const Program *program);
void profile_destroy(Profile *profile);   /* NULL: does nothing */
/* take_up of an observer: it begins in the middle of a run, where the engine stands.  Here, waits
 * count from there on. */
void profile_take_up(Profile *profile, Engine *engine);
void profile_event(Profile *profile, const TraceEvent *event);
/* Adds what is still in progress; no events may follow. */
void profile_finish(Profile *profile, Engine *engine);
void profile_print(const Profile *profile, FILE *out);
/* The same for programs: {"cycles", "tiles", "lines": [{"file", "line", ...}]}, and "partial": true
 * for a run that was cut short. */
void profile_print_json(const Profile *profile, bool is_partial, FILE *out);

/* ---- journeys.c: wavelets have numbers ------------------------------------------------------- */

/* Numbers wavelets from 1 on, in the order in which tiles and the host send them; the copies of a
 * multicast share the number.  It must get all events of its kinds, from the start of the run. */
typedef struct Journeys Journeys;
enum { JOURNEY_KINDS = 1 << TRACE_WAVELET | 1 << TRACE_QUEUE | 1 << TRACE_HOST };
Journeys *journeys_create(const Program *program);
void journeys_destroy(Journeys *journeys);
/* Instead of the start, from a cycle on: gives numbers to the wavelets that are under way where the
 * engine stands, and returns the last of them. */
uint64_t journeys_take_up(Journeys *journeys, Engine *engine);
/* How many copies of a wavelet are under way. */
size_t journeys_copies(const Journeys *journeys, uint64_t number);
/* The number of the event's wavelet; 0: the event has none. */
uint64_t journeys_event(Journeys *journeys, const TraceEvent *event);

/* ---- perfetto.c: a trace for ui.perfetto.dev ------------------------------------------------- */

/* JSON trace events, written as they come: a process for each tile, a track for each of its
 * threads, counters for links and queues.  A microsecond stands for a cycle. */
typedef struct Perfetto Perfetto;
/* `limits`: of the events that it gets. */
Perfetto *perfetto_create(const Program *program, const TraceSink *limits, FILE *out);
/* `number`: of the event's wavelet, 0 none.  Numbers make arrows from the operation that sends to
 * the operation or task that takes, one for each pair of them and queue. */
void perfetto_event(Perfetto *perfetto, const TraceEvent *event, uint64_t number);
/* For an event that is not shown: how full queues are depends on it. */
void perfetto_count(Perfetto *perfetto, const TraceEvent *event);
void perfetto_take_up(Perfetto *perfetto, Engine *engine);
/* Ends what is open at `cycle`, and the file's text. `partial`: the run was cut short; an instant
 * at its end says so. */
void perfetto_finish(Perfetto *perfetto, uint64_t cycle, bool partial);
void perfetto_destroy(Perfetto *perfetto);

/* ---- simlog.c: a trace in the form of the log of the vendor's simulator ---------------------- */

/* Lines for the events of `kinds`: TRACE_WAVELET (its `landing`), TRACE_INST (`inst_trace`),
 * TRACE_SWITCH (`router`), TRACE_QUEUE (wavelets into and out of output queues), TRACE_STALL (where
 * waits begin).  It needs the events of SIMLOG_KINDS, of which those that are not wanted give no
 * line, and the numbers of their wavelets. */
typedef struct SimLog SimLog;
enum { SIMLOG_KINDS = JOURNEY_KINDS | 1 << TRACE_TASK };
SimLog *simlog_create(const Program *program, uint32_t kinds, FILE *out);
void simlog_event(SimLog *log, const TraceEvent *event, uint64_t number, bool is_wanted);
void simlog_finish(SimLog *log);
void simlog_destroy(SimLog *log);

/* ---- watch.c: one wavelet from its sender to every taker ------------------------------------- */

typedef struct {
  uint32_t tile;                /* that sends it */
  uint8_t color;
  uint64_t number;              /* of what the tile sends on the color; 0: the first */
  unsigned place;               /* among several that are watched, from 1; 0: it is the only one */
} WatchSpec;
typedef struct Watch Watch;
enum { WATCH_KINDS = 1 << TRACE_WAVELET | 1 << TRACE_QUEUE | 1 << TRACE_INST | 1 << TRACE_TASK |
                     1 << TRACE_HOST };
Watch *watch_create(const Program *program, WatchSpec spec, FILE *out);
void watch_destroy(Watch *watch);
void watch_take_up(Watch *watch, Engine *engine);
void watch_event(Watch *watch, const TraceEvent *event);
/* Says where the copies without a taker are, or that the wavelet was never sent. */
void watch_finish(Watch *watch);

/* ---- stop.c: where a run is to stop ---------------------------------------------------------- */

typedef struct {
  bool by_cycle, by_line, by_tile;
  uint64_t cycle;               /* by_cycle: before it runs */
  char file[256];               /* by_line: the end of the file's path */
  uint32_t line;
  uint32_t x, y;                /* by_tile, alone or with a line */
} StopSpec;
/* "CYCLE", "X,Y", "FILE:LINE" or "FILE:LINE@X,Y". */
bool stop_parse(const char *text, StopSpec *spec);
/* The line with instructions that is nearest to the spec's in its file; 0: the file has none. */
uint32_t stop_line_near(const Program *program, const StopSpec *spec);
/* An instruction that the spec names was issued. */
bool stop_matches(const Program *program, const StopSpec *spec, const TraceEvent *event);

/* ---- page.c: the run as one page of HTML ----------------------------------------------------- */

typedef struct Page Page;
typedef struct {
  const char *title;            /* the path of the program */
  const char *wafer;            /* its name in a cluster; NULL: it is no part of one */
  const char *statistics;       /* JSON */
  const char *honesty;
  const char *findings;         /* what the run has ended with; "" or NULL: nothing */
  bool data_only;               /* without the application: what its mount(element, data) takes */
} PageTexts;
/* What the page of a run is made of.  Events of every wavelet make the run of a large program many
 * times as long; counts that the engine keeps of each tile cost little. */
enum { PAGE_MOST_TILES_OF_EVENTS = 4096 };
typedef enum {
  PAGE_OF_COUNTS,               /* counts; of the events those of switches alone */
  PAGE_OF_TASKS,                /* counts; events of tasks and instructions, for time lines and
                                   cycles of lines; events of wavelets until there are many */
  PAGE_OF_EVENTS,               /* all events and no counts; also how full queues are */
} PageDetail;
Page *page_create(const Program *program, PageDetail detail);
/* Counts that the engine is to fill, and a pulse that looks at them; NULL: the page has none. */
TileCounts *page_counts(Page *page);
Pulse *page_pulse(Page *page);
void page_destroy(Page *page);
void page_take_up(Page *page, Engine *engine);
/* The events that the page needs from here on. */
uint32_t page_kinds(const Page *page);
/* True: the page needs fewer events from now on. */
bool page_event(Page *page, const TraceEvent *event);
/* Keeps why nothing can move, for the page; a later call replaces it. */
void page_note_waits(Page *page, Engine *engine, const IdleQuestion *question);
/* No events may follow. */
void page_write(Page *page, const Profile *profile, Engine *engine, const PageTexts *texts,
                FILE *out);

/* ---- dump.c: all of a tile's state ----------------------------------------------------------- */

/* Registers, descriptors' operations, tasks, queues, router and memory of a tile. */
void dump_tile(Engine *engine, const Program *program, uint32_t tile, FILE *out);
/* Parts of it: registers; queues and router. */
void dump_registers(Engine *engine, const Program *program, uint32_t tile, FILE *out);
void dump_wavelets(Engine *engine, const Program *program, uint32_t tile, FILE *out);

#endif
