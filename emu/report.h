/* What reports share (report.c): names and places as text, and the way back from a wavelet to
 * whoever sent it.  Only fault.c, deadlock*.c and dump.c include it. */
#ifndef REPORT_H
#define REPORT_H

#include "emu/emu.h"

typedef struct {
  Engine *engine;
  const Program *program;
  FILE *out;
  InspectTile at;               /* of the tile looked at last */
  uint32_t at_tile;             /* NO_TILE: none yet */
  bool anonymous;               /* tiles are not named */
} Report;

Report report_create(Engine *engine, const Program *program, FILE *out);
/* Valid until the next look at another tile. */
const InspectTile *report_look(Report *report, uint32_t tile);

/* Text to report->out. */
void report_tile(const Report *report, uint32_t tile);           /* P1.0 */
void report_named(const Report *report, const char *what, unsigned number, const char *name);
void report_color(const Report *report, uint32_t tile, unsigned color);
void report_queue(const Report *report, uint32_t tile, bool output, unsigned queue);
void report_task(const Report *report, uint32_t tile, TaskKind kind, unsigned id);
void report_place(const Report *report, uint32_t tile, uint32_t pc);   /* at pe.csl:3 */
/* The same for what was inlined: where the outermost function has called it. */
void report_outer_place(const Report *report, uint32_t tile, uint32_t pc);
void report_thread_name(const Report *report, uint32_t tile, unsigned thread,
                        const InspectThread *state);
/* The thread, what it waits for, and where. */
void report_thread(const Report *report, uint32_t tile, unsigned thread,
                   const InspectThread *state);
/* "N elements at pe.csl:3" of a queue's last use. */
void report_use(const Report *report, uint32_t tile, QueueUse use);
/* The source name of a vector instruction's operand: 0 dest, 1 src0, 2 src1; "" if unknown. */
const char *report_operand(const Program *program, uint32_t tile, uint32_t pc, unsigned stream);
/* The stream that a thread waits for, STALL_INPUT and STALL_OUTPUT. */
const VecStream *report_waiting(const InspectThread *state);

/* Inputs of a color in any position of its switch. */
PortMask report_inputs(const ImageColorConfig *config);
/* Who has sent what came into a tile's router by a port on a color: the nearest tile against the
 * routes that has sent on it, and its queue's last use. */
typedef struct {
  uint32_t tile;
  uint8_t queue;
  QueueUse use;
} Origin;
bool report_origin(Report *report, uint32_t tile, Port port, unsigned color, Origin *origin);

#endif
