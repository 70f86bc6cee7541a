/* What no variable shows: registers, descriptors, queues, FIFOs, tasks, the router. */
#include "emu/dap/dap_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

typedef struct {
  DapServer *s;
  Engine *engine;
  uint32_t tile;
  InspectTile at;
  Report report;
  json_t *list;
  char *text; /* of the value that is written */
  size_t length;
} Looking;

/* ---- help ------------------------------------------------------------------------------------ */

static void add_row(Looking *l, const char *name, const char *value)
{
  json_array_append_new(l->list, json_pack("{s:o,s:o,s:i}", "name", base_json_text(name), "value",
                                           base_json_text(value), "variablesReference", 0));
}

/* What is written to report.out between these two is a text. */
static void begin_text(Looking *l)
{
  l->report.out = base_text_open(&l->text, &l->length);
}

static char *end_text(Looking *l)
{
  base_text_close(l->report.out, &l->text);
  return l->text;
}

static void end_row(Looking *l, const char *name)
{
  add_row(l, name, end_text(l));
  free(l->text);
}

/* ---- registers ------------------------------------------------------------------------------- */

static void list_registers(Looking *l)
{
  const Registers *regs = l->engine->ops->registers(l->engine, l->tile);
  const Tile *core = l->engine->ops->tile(l->engine, l->tile, false);
  char name[16], value[64];
  for (unsigned i = 0; regs && i < GPR_COUNT; i++) {
    snprintf(name, sizeof name, "r%u", i);
    snprintf(value, sizeof value, "0x%04x (%d)", regs->r[i], (int16_t)regs->r[i]);
    add_row(l, name, value);
  }
  if (!regs || !core)
    return;
  snprintf(value, sizeof value, "0x%04x", core->pc);
  add_row(l, "pc", value);
  add_row(l, "carry", regs->carry ? "1" : "0");
}

static void list_descriptors(Looking *l)
{
  const Tile *core = l->engine->ops->tile(l->engine, l->tile, false);
  char name[32], value[256];
  for (unsigned f = 0; core && core->mem.cls && f < DSR_FILE_COUNT; f++)
    for (unsigned i = 0; i < MAX_DSRS; i++) {
      if (!dsr_is_named(core->dsrs, (DsrFile)f, i))
        continue;
      descriptor_print(&dsr_at(core->dsrs, (DsrFile)f, i)->desc, NULL, value, sizeof value);
      snprintf(name, sizeof name, "%s[%u]", dsr_file_name((DsrFile)f), i);
      add_row(l, name, value);
    }
}

/* ---- queues and FIFOs ------------------------------------------------------------------------ */

static void list_queues(Looking *l)
{
  const ClassCode *cls = program_class(l->s->debugger.program, l->tile);
  for (unsigned i = 0; i < 2 * MAX_QUEUES; i++) {
    bool is_output = i >= MAX_QUEUES;
    const InspectQueue *q = is_output ? &l->at.output[i - MAX_QUEUES] : &l->at.input[i];
    const ImageQueue *set = !cls        ? NULL
                            : is_output ? &cls->image->output[i - MAX_QUEUES]
                                        : &cls->image->input[i];
    if (!q->count && !queue_use_is_any(q->use) && !(set && set->used))
      continue;
    begin_text(l);
    report_queue(&l->report, l->tile, is_output, i % MAX_QUEUES);
    char *name = base_print("%s", end_text(l));
    free(l->text);
    begin_text(l);
    fprintf(l->report.out, "%u of %u", q->count, q->capacity);
    if (q->count) {
      fprintf(l->report.out, ", the first 0x%08x%s of ", q->head.payload,
              q->head.control ? " (control)" : "");
      report_color(&l->report, l->tile, q->head.color);
    }
    if (queue_use_is_any(q->use)) {
      fprintf(l->report.out, ", used last for ");
      report_use(&l->report, l->tile, q->use);
    }
    end_row(l, name);
    free(name);
  }
}

/* The name of the variable that the address lies in; "": none. */
static const char *symbol_at(const ImageClass *cls, uint32_t address)
{
  for (uint32_t i = 0; i < cls->n_symbols; i++) {
    const ImageSymbol *symbol = &cls->symbols[i];
    if (!symbol->is_code && address >= symbol->address && address - symbol->address < symbol->bytes)
      return symbol->name;
  }
  return "";
}

static void add_fifo(Looking *l, const ImageClass *cls, uint32_t state)
{
  enum { FIRST, CAPACITY, READ, WRITE, HELD, WORDS };
  uint16_t words[WORDS];
  if (!l->engine->ops->mem_read(l->engine, l->tile, state, words, sizeof words))
    return;
  char *name = base_print("0x%04x %s", state, symbol_at(cls, words[FIRST]));
  char *value = base_print("%u of %u, read at %u, written at %u", words[HELD], words[CAPACITY],
                           words[READ], words[WRITE]);
  add_row(l, name, value);
  free(name);
  free(value);
}

/* Those that a DSR describes. */
static void list_fifos(Looking *l)
{
  const Tile *core = l->engine->ops->tile(l->engine, l->tile, false);
  uint32_t *seen = NULL;
  for (unsigned f = 0; core && core->mem.cls && f < DSR_FILE_COUNT; f++)
    for (unsigned i = 0; i < MAX_DSRS; i++) {
      if (!dsr_is_named(core->dsrs, (DsrFile)f, i))
        continue;
      const Descriptor *desc = &dsr_at(core->dsrs, (DsrFile)f, i)->desc;
      bool is_new = desc->kind == DESC_FIFO;
      for (size_t k = 0; k < arrlenu(seen); k++)
        is_new &= seen[k] != desc->base;
      if (!is_new)
        continue;
      arrput(seen, desc->base);
      add_fifo(l, core->mem.cls->image, desc->base);
    }
  arrfree(seen);
}

/* ---- tasks and threads ----------------------------------------------------------------------- */

static void list_threads(Looking *l)
{
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    char name[32];
    if (l->at.threads[i].state == THREAD_IDLE)
      continue;
    snprintf(name, sizeof name, i ? "microthread %u" : "main thread", i ? i - 1 : 0);
    begin_text(l);
    report_thread(&l->report, l->tile, i, &l->at.threads[i]);
    end_row(l, name);
  }
}

static void list_tasks(Looking *l)
{
  const ClassCode *cls = program_class(l->s->debugger.program, l->tile);
  for (unsigned id = 0; cls && id < MAX_TASK_IDS; id++) {
    if (!cls->local_task[id] && !cls->data_task[id])
      continue;
    TaskKind kind = cls->local_task[id] ? TASK_LOCAL : TASK_DATA;
    bool is_active = l->at.active >> id & 1, is_blocked = l->at.blocked >> id & 1;
    begin_text(l);
    report_task(&l->report, l->tile, kind, id);
    char *name = base_print("%s", end_text(l));
    free(l->text);
    add_row(l, name,
            is_active    ? is_blocked ? "activated, blocked" : "activated"
            : is_blocked ? "blocked"
                         : "not activated");
    free(name);
  }
  list_threads(l);
}

/* ---- router ---------------------------------------------------------------------------------- */

static void print_ports(const Looking *l, const char *word, PortMask ports)
{
  fputs(word, l->report.out);
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (ports >> p & 1)
      fprintf(l->report.out, " %s", port_name((Port)p));
  if (!ports)
    fputs(" nothing", l->report.out);
}

static void list_router(Looking *l)
{
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    const InspectColor *color = &l->at.colors[c];
    if (!color->configured)
      continue;
    begin_text(l);
    report_color(&l->report, l->tile, c);
    char *name = base_print("%s", end_text(l));
    free(l->text);
    begin_text(l);
    print_ports(l, "from", color->rx);
    print_ports(l, " to", color->tx);
    fprintf(l->report.out, ", position %u%s", color->position,
            color->suspended ? ", torn down" : "");
    if (color->count)
      fprintf(l->report.out, ", holds %u, the first 0x%08x%s from %s", color->count,
              color->head.payload, color->head.control ? " (control)" : "",
              port_name(color->head_from));
    end_row(l, name);
    free(name);
  }
  char *seen = base_print("%llu", (unsigned long long)l->at.wavelets_seen);
  add_row(l, "wavelets taken into input queues", seen);
  free(seen);
}

void machine_list(DapServer *s, ScopeKind kind, uint32_t tile, json_t *list)
{
  Looking *l = base_zeroed(1, sizeof *l);
  l->s = s;
  l->engine = timeline_engine(s->debugger.timeline);
  l->tile = tile;
  l->list = list;
  l->report = report_create(l->engine, s->debugger.program, NULL);
  l->engine->ops->inspect(l->engine, tile, &l->at);
  switch (kind) {
  case SCOPE_REGISTERS:
    list_registers(l);
    break;
  case SCOPE_DSRS:
    list_descriptors(l);
    break;
  case SCOPE_QUEUES:
    list_queues(l);
    break;
  case SCOPE_FIFOS:
    list_fifos(l);
    break;
  case SCOPE_TASKS:
    list_tasks(l);
    break;
  case SCOPE_ROUTER:
    list_router(l);
    break;
  case SCOPE_ARGUMENTS:
  case SCOPE_LOCALS:
  case SCOPE_GLOBALS:
  case SCOPE_CONSTANTS:
  case SCOPE_VALUE:
  default:
    ICE("scope %d is not the machine's", (int)kind);
  }
  free(l);
}
