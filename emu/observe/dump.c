/* A tile's state as text: threads, registers, tasks, queues, router, memory with its names. */
#include "emu/explain/explain.h"
#include "emu/observe/observe.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_A_LINE = 16, WORDS_A_LINE = 8, MOST_ELEMENTS = 64 };

static void print_threads(Report *r, uint32_t tile)
{
  InspectTile t = *report_look(r, tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    if (t.threads[i].state == THREAD_IDLE)
      continue;
    fprintf(r->out, "  ");
    report_thread(r, tile, i, &t.threads[i]);
    fprintf(r->out, "\n");
  }
  if (t.threads[0].state == THREAD_IDLE)
    fprintf(r->out, "  main thread is idle\n");
}

static void print_registers(Report *r, uint32_t tile)
{
  const Registers *regs = r->engine->ops->registers(r->engine, tile);
  if (!regs)
    return;
  for (unsigned i = 0; i < GPR_COUNT; i++)
    fprintf(r->out, "%s r%u 0x%04x%s", i % WORDS_A_LINE ? "" : "  registers:", i, regs->r[i],
            i % WORDS_A_LINE == WORDS_A_LINE - 1 ? "\n" : "");
  fprintf(r->out, "  carry %u, last operation %s\n", regs->carry,
          regs->vstat ? "completed" : "not completed");
}

static void print_task_ids(Report *r, uint32_t tile, const char *what, uint64_t ids)
{
  const ClassCode *cls = program_class(r->program, tile);
  bool any = false;
  for (unsigned id = 0; cls && id < MAX_TASK_IDS; id++) {
    if (!(ids >> id & 1) || (!cls->local_task[id] && !cls->data_task[id]))
      continue;
    fprintf(r->out, "%s", any ? ", " : what);
    report_task(r, tile, cls->local_task[id] ? TASK_LOCAL : TASK_DATA, id);
    any = true;
  }
  if (any)
    fprintf(r->out, "\n");
}

static void print_queues(Report *r, uint32_t tile)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++) {
    bool output = q >= MAX_QUEUES;
    const InspectQueue *queue = output ? &t->output[q - MAX_QUEUES] : &t->input[q];
    if (queue->count == 0 && !queue_use_is_any(queue->use))
      continue;
    fprintf(r->out, "  ");
    report_queue(r, tile, output, q % MAX_QUEUES);
    fprintf(r->out, ": %u of %u", queue->count, queue->capacity);
    if (queue->count) {
      fprintf(r->out, ", the first 0x%08x%s of ", queue->head.payload,
              queue->head.control ? " (control)" : "");
      report_color(r, tile, queue->head.color);
    }
    if (queue_use_is_any(queue->use)) {
      fprintf(r->out, ", used last for ");
      report_use(r, tile, queue->use);
    }
    fprintf(r->out, "\n");
  }
}

static void print_mask(const Report *r, PortMask ports)
{
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (ports >> p & 1)
      fprintf(r->out, " %s", port_name((Port)p));
  if (!ports)
    fprintf(r->out, " nothing");
}

static void print_router(Report *r, uint32_t tile)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    const InspectColor *color = &t->colors[c];
    if (!color->configured)
      continue;
    fprintf(r->out, "  ");
    report_color(r, tile, c);
    fprintf(r->out, ": from");
    print_mask(r, color->rx);
    fprintf(r->out, " to");
    print_mask(r, color->tx);
    fprintf(r->out, ", position %u%s", color->position, color->suspended ? ", torn down" : "");
    if (color->count)
      fprintf(r->out, ", holds %u, the first 0x%08x%s from %s", color->count, color->head.payload,
              color->head.control ? " (control)" : "", port_name(color->head_from));
    fprintf(r->out, "\n");
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool all_zero(const uint8_t *bytes, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if (bytes[i])
      return false;
  return true;
}

/* Bytes of a range, lines of zeros left out. */
static void print_bytes(const Report *r, uint32_t tile, uint32_t address, uint32_t bytes)
{
  uint8_t line[BYTES_A_LINE];
  bool skipped = false;
  for (uint32_t at = 0; at < bytes; at += BYTES_A_LINE) {
    uint32_t n = bytes - at < BYTES_A_LINE ? bytes - at : BYTES_A_LINE;
    if (!r->engine->ops->mem_read(r->engine, tile, address + at, line, n))
      return;
    if (all_zero(line, n) && at) {
      skipped = true;
      continue;
    }
    if (skipped)
      fprintf(r->out, "      ... zeros\n");
    skipped = false;
    fprintf(r->out, "    0x%04x:", address + at);
    for (uint32_t i = 0; i < n; i++)
      fprintf(r->out, "%s%02x", i % 2 ? "" : " ", line[i]);
    fprintf(r->out, "\n");
  }
  if (skipped)
    fprintf(r->out, "      ... zeros to the end\n");
}

static int by_address(const void *a, const void *b)
{
  const ImageSymbol *x = *(const ImageSymbol *const *)a, *y = *(const ImageSymbol *const *)b;
  return (x->address > y->address) - (x->address < y->address);
}

/* A variable with its value, or with its bytes if its type is not known. */
static void print_variable(const Report *r, uint32_t tile, const ImageClass *cls,
                           const ImageSymbol *symbol)
{
  const Image *image = r->program->image;
  const DebugType *type = variable_type(image, cls, (uint32_t)(symbol - cls->symbols));
  uint8_t bytes[PE_MEM_BYTES];
  fprintf(r->out, "  %s: %s", symbol->name, symbol->type);
  if (!type || type->kind == DT_OPAQUE || type->bytes > sizeof bytes ||
      !r->engine->ops->mem_read(r->engine, tile, symbol->address, bytes, type->bytes)) {
    fputc('\n', r->out);
    print_bytes(r, tile, symbol->address, symbol->bytes);
    return;
  }
  fputs(" = ", r->out);
  variable_print(&(ValueStyle){image, cls, MOST_ELEMENTS}, type, bytes, r->out);
  fputc('\n', r->out);
}

static void print_memory(Report *r, uint32_t tile)
{
  const ImageClass *cls = program_class(r->program, tile)->image;
  const ImageSymbol **symbols = base_malloc(sizeof *symbols * (cls->n_symbols + 1u));
  size_t n = 0;
  for (uint32_t i = 0; i < cls->n_symbols; i++)
    if (!cls->symbols[i].is_code && cls->symbols[i].bytes)
      symbols[n++] = &cls->symbols[i];
  qsort(symbols, n, sizeof *symbols, by_address);
  for (size_t i = 0; i < n; i++)
    print_variable(r, tile, cls, symbols[i]);
  free(symbols);
  const Registers *regs = r->engine->ops->registers(r->engine, tile);
  uint32_t sp = regs ? regs->r[r->program->machine->sp_register] : cls->stack_top;
  if (sp < cls->stack_top && sp >= cls->code_address) {
    fprintf(r->out, "  stack, from 0x%04x\n", sp);
    print_bytes(r, tile, sp, cls->stack_top - sp);
  }
}

void dump_registers(Engine *engine, const Program *program, uint32_t tile, FILE *out)
{
  Report r = report_create(engine, program, out);
  print_registers(&r, tile);
}

void dump_wavelets(Engine *engine, const Program *program, uint32_t tile, FILE *out)
{
  Report r = report_create(engine, program, out);
  print_queues(&r, tile);
  print_router(&r, tile);
}

void dump_tile(Engine *engine, const Program *program, uint32_t tile, FILE *out)
{
  Report r = report_create(engine, program, out);
  const InspectTile *t = report_look(&r, tile);
  uint64_t active = t->active, blocked = t->blocked;
  report_tile(&r, tile);
  fprintf(out, " before cycle %llu%s\n", (unsigned long long)engine->ops->cycle(engine),
          t->has_code ? "" : ", a tile without code");
  if (t->has_code) {
    print_threads(&r, tile);
    print_registers(&r, tile);
    print_task_ids(&r, tile, "  activated: ", active);
    print_task_ids(&r, tile, "  blocked: ", blocked);
    print_queues(&r, tile);
  }
  print_router(&r, tile);
  if (program_class(program, tile))
    print_memory(&r, tile);
}
