/* What the files of frontend/machine offer each other alone. */
#ifndef FRONTEND_MACHINE_INTERNAL_H
#define FRONTEND_MACHINE_INTERNAL_H

#include "frontend/machine/machine.h"

/* ---- machine_setup.c: requests of top-level comptime blocks --------------------------------- */

/* Reports call the color by the name that it has here: a declaration of the file rather than the
 * parameter of a function, which may stand for several. */
void setup_name_color(Sema *s, uint8_t color, Operand named);
/* Warn about resources that the system or the link to the host uses itself. */
void setup_check_input_queue(Sema *s, unsigned queue, Span span);
void setup_check_task_id(Sema *s, unsigned id, Span span);
/* A descriptor uses this queue, and for this color unless it is COLOR_OF_QUEUE. */
void setup_use_queue(Sema *s, bool is_output, uint8_t queue, uint8_t color, Span span);
/* @initialize_queue, whether before or after the descriptors that use the queue. */
void setup_initialize_queue(Sema *s, bool is_output, unsigned queue, QueueSlot given);
/* The DSR holds the descriptor when the program starts. */
void setup_preset_dsr(Sema *s, DsrFile file, uint8_t number, IrDesc desc, Span span);
/* Code, or the end of an operation, may unblock what the action names, or what the run decides. */
void setup_note_opened(Sema *s, Action action, IrValue run_time_id, Span at);

/* ---- dsr_settings.c ---------------------------------------------------------------------- */

/* The program loads the DSR when it runs.  The check warns if an import loses by another one's load
 * what it has loaded before the start and never loads again. */
void setup_note_dsr_reload(Sema *s, DsrFile file, uint8_t number, Span span);
void setup_check_dsr_presets(Sema *s);
/* "'PATH' imported here loads it `when`", unless it is the main file. */
void setup_note_dsr_loader(Sema *s, uint32_t module, const char *when);
/* A load gives the DSR these settings; an operation wants them from its DSRs. The check warns of
 * what no load gives; it comes when all of the program is known. */
void setup_note_dsr_load(Sema *s, DsrFile file, uint8_t number, uint8_t given, Span span);
void setup_note_dsr_operation(Sema *s, DsrOperation operation);
void setup_check_dsr_operations(Sema *s);

/* ---- builtin_id.c, builtin_task.c -------------------------------------------------------- */

/* An input or output queue; false after reporting that it is none. */
bool queue_operand(Sema *s, const Node *n, Operand *queue, bool *is_output);

static inline bool sema_at_top(const Sema *s)
{
  return s->ir != NULL && s->now.where == WHERE_TOP;
}
static inline bool sema_arch_is(const Sema *s, Arch arch)
{
  return s->session->options->arch == arch;
}
/* What a block, unblock or activation names. */
bool sema_action_target(Sema *s, Operand o, Span span, bool local_only, Action *action,
                        IrValue *run_time_id);
/* The error where a color stands and the machine has no task of its number. */
void sema_bad_color_target(Sema *s, Span span);

#endif
