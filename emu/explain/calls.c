/* The calls that led to where a tile's main thread is: the return addresses on its stack. */
#include "emu/explain/explain_internal.h"

#include <string.h>

enum { RETURN_ADDRESS_BYTES = 2 };

const DebugFunction *calls_function(const ImageClass *cls, uint32_t pc)
{
  for (uint32_t i = 0; i < cls->n_functions; i++) {
    const ImageSymbol *s = &cls->symbols[cls->functions[i].symbol];
    if (pc >= s->address && pc - s->address < s->bytes)
      return &cls->functions[i];
  }
  return NULL;
}

/* A fault ends the tile's thread, which stands at the instruction. */
static bool has_faulted(Engine *engine, uint32_t tile, uint16_t pc)
{
  size_t n;
  const Fault *faults = engine->ops->faults(engine, &n);
  for (size_t i = 0; engine->stopped && i < n; i++)
    if (faults[i].tile == tile && faults[i].pc == pc)
      return true;
  return false;
}

/* Asks the engine only what it can find out from other processes. */
bool calls_top(Engine *engine, const Program *program, uint32_t tile, Call *call)
{
  const ClassCode *cls = program_class(program, tile);
  const Registers *registers = engine->ops->registers(engine, tile);
  InspectTile at;
  if (!cls || !registers)
    return false;
  uint32_t sp = registers->r[program->machine->sp_register];
  engine->ops->inspect(engine, tile, &at);
  const InspectThread *thread = &at.threads[MAIN_THREAD];
  if (thread->state == THREAD_IDLE && !has_faulted(engine, tile, thread->pc))
    return false;
  *call = (Call){.pc = thread->pc, .place = thread->pc, .sp = sp,
                 .info = calls_function(cls->image, thread->pc), .is_top = true};
  return true;
}

/* Bytes between the stack pointer and the function's return address, before the instruction. */
static uint32_t frame_bytes(const ClassCode *cls, const Call *call)
{
  const Insn *insn = class_insn(cls, call->pc);
  bool is_bare = call->is_top && (call->pc == cls->image->symbols[call->info->symbol].address ||
                                  (insn && insn->op == OP_ret));
  return is_bare ? 0 : call->info->frame_bytes;
}

bool calls_caller(Engine *engine, const Program *program, uint32_t tile, Call *call)
{
  const ClassCode *cls = program_class(program, tile);
  uint16_t back;
  if (!call->info || call->info->is_task)
    return false;
  uint32_t at = call->sp + frame_bytes(cls, call);
  if (!engine->ops->mem_read(engine, tile, at, &back, sizeof back) ||
      back < cls->image->code_address || back >= cls->code_end)
    return false;
  uint16_t place = (uint16_t)(back - 1);
  *call = (Call){.pc = back, .place = place, .sp = at + RETURN_ADDRESS_BYTES,
                 .info = calls_function(cls->image, place)};
  return true;
}

/* ---- out of the library ---------------------------------------------------------------------- */

static const char *file_of(const Program *program, uint32_t file)
{
  return file < program->image->n_files ? program->image->files[file] : "";
}

/* From the instruction out through what was inlined there; true: into the program's own code. */
static bool leave_library(const Program *program, const ImageClass *cls, uint16_t pc,
                          WayIntoLibrary *call)
{
  const ImageLine *at = image_line_at(cls, pc);
  if (!at)
    return false;
  const char *file = file_of(program, at->file);
  uint32_t line = at->line, parent = at->inlined_at;
  while (*file == '<') {
    call->module = file;
    if (parent >= cls->n_inlines)
      return false;
    const ImageInline *from = &cls->inlines[parent];
    file = file_of(program, from->file);
    line = from->line;
    parent = from->parent;
  }
  call->file = *file ? file : NULL;
  call->line = line;
  return true;
}

const FirstCall *calls_first_for(const Program *program, uint32_t tile, unsigned data_task)
{
#define FIRST_CALL(module, function, operation, size, blocks) {{module, function}, blocks},
  static const struct { FirstCall call; bool blocks; } first_calls[] = {
#include "ir/machine/first_calls.def"
  };
  const ClassCode *cls = program_class(program, tile);
  const ImageTask *task = cls ? cls->data_task[data_task] : NULL;
  WayIntoLibrary way = {0};
  if (!task || leave_library(program, cls->image, task->entry, &way) || !way.module)
    return NULL;
  for (size_t i = 0; i < ARRAY_COUNT(first_calls); i++)
    if (first_calls[i].blocks && strcmp(first_calls[i].call.module, way.module) == 0)
      return &first_calls[i].call;
  return NULL;
}

enum { MOST_CALLS = 64 };

WayIntoLibrary calls_into_library(Engine *engine, const Program *program, uint32_t tile,
                                  uint32_t pc)
{
  const ClassCode *cls = program_class(program, tile);
  WayIntoLibrary call = {0};
  Call on_stack;
  if (!cls || pc == PC_RETURN || leave_library(program, cls->image, (uint16_t)pc, &call) ||
      !call.module || !calls_top(engine, program, tile, &on_stack) || on_stack.pc != pc)
    return call;
  for (unsigned n = 0; n < MOST_CALLS && calls_caller(engine, program, tile, &on_stack); n++)
    if (leave_library(program, cls->image, on_stack.place, &call))
      break;
  return call;
}

/* Functions of a class on the way from an instruction to the program's own code. */
typedef struct {
  const Program *program;
  const ClassCode *cls;
  const DebugFunction *functions[MOST_CALLS];
  uint32_t n_functions;
  WayIntoLibrary *ways;
  uint32_t n_ways, most;
} WaysBack;

static void add_function(WaysBack *back, uint32_t pc)
{
  const DebugFunction *function = calls_function(back->cls->image, pc);
  for (uint32_t i = 0; i < back->n_functions; i++)
    if (back->functions[i] == function)
      return;
  if (function && back->n_functions < MOST_CALLS)
    back->functions[back->n_functions++] = function;
}

static void add_way(WaysBack *back, WayIntoLibrary way)
{
  for (uint32_t i = 0; i < back->n_ways; i++)
    if (back->ways[i].line == way.line && strcmp(back->ways[i].file, way.file) == 0)
      return;
  if (back->n_ways < back->most)
    back->ways[back->n_ways++] = way;
}

/* Does the instruction call what stands at the address, or activate the task that does? */
static bool starts_code(const WaysBack *back, const Insn *insn, uint32_t address)
{
  const ImageClass *image = back->cls->image;
  if (insn->op == OP_call)
    return insn->imm == address;
  for (uint32_t i = 0; insn->op == OP_acti && i < image->n_tasks; i++)
    if (image->tasks[i].kind == TASK_LOCAL && image->tasks[i].id == insn->imm)
      return image->tasks[i].entry == address;
  return false;
}

/* All calls of one function, and all activations of one task. */
static void follow_calls(WaysBack *back, uint32_t address)
{
  const ClassCode *cls = back->cls;
  for (uint32_t pc = cls->image->code_address; pc < cls->code_end;) {
    const Insn *insn = class_insn(cls, pc);
    WayIntoLibrary way = {0};
    if (insn && starts_code(back, insn, address)) {
      if (leave_library(back->program, cls->image, (uint16_t)pc, &way))
        add_way(back, way);
      else
        add_function(back, pc);
    }
    pc += insn ? insn_words(insn->op) * 2u : 2u;
  }
}

uint32_t calls_that_reach(const Program *program, uint32_t tile, uint32_t pc, WayIntoLibrary *ways,
                          uint32_t most)
{
  WaysBack back = {.program = program, .cls = program_class(program, tile), .ways = ways,
                   .most = most};
  WayIntoLibrary at = {0};
  if (!back.cls || pc == PC_RETURN ||
      leave_library(program, back.cls->image, (uint16_t)pc, &at) || !at.module)
    return 0;
  add_function(&back, pc);
  for (uint32_t i = 0; i < back.n_functions; i++)
    follow_calls(&back, back.cls->image->symbols[back.functions[i]->symbol].address);
  return back.n_ways;
}
