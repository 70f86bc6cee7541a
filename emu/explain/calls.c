/* The calls that led to where a tile's main thread is: the return addresses on its stack. */
#include "emu/explain/explain.h"

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
