/* The frames of a tile's main thread, inlined calls included. */
#include "emu/debug/debug.h"

#include <string.h>

enum { RETURN_ADDRESS_BYTES = 2 };

const DebugFunction *frames_function(const ImageClass *cls, uint32_t pc)
{
  for (uint32_t i = 0; i < cls->n_functions; i++) {
    const ImageSymbol *s = &cls->symbols[cls->functions[i].symbol];
    if (pc >= s->address && pc - s->address < s->bytes)
      return &cls->functions[i];
  }
  return NULL;
}

static const char *file_name(const Image *image, uint32_t file)
{
  return file < image->n_files ? image->files[file] : "";
}

bool frames_place(const Program *program, uint32_t tile, uint32_t pc, const char **file,
                  uint32_t *line)
{
  const ClassCode *cls = program_class(program, tile);
  const ImageLine *row = cls ? image_line_at(cls->image, (uint16_t)pc) : NULL;
  *file = row ? file_name(program->image, row->file) : "";
  *line = row ? row->line : 0;
  return row != NULL;
}

bool frames_names_file(const char *path, const char *name)
{
  size_t n = strlen(path), m = strlen(name);
  return m > 0 && m <= n && strcmp(path + n - m, name) == 0 && (m == n || path[n - m - 1] == '/');
}

/* Bytes between the stack pointer and the function's return address, before the instruction. */
static uint32_t frame_bytes(const ClassCode *cls, const DebugFunction *f, uint32_t pc)
{
  const Insn *insn = class_insn(cls, pc);
  if (!f || pc == cls->image->symbols[f->symbol].address || (insn && insn->op == OP_ret))
    return 0;
  return f->frame_bytes;
}

/* Gives the registers the values that the function will give them back; not where it has not saved
 * them yet, or has given them back. */
static void restore_registers(Engine *engine, uint32_t tile, const ClassCode *cls,
                              const DebugFunction *f, uint32_t pc, uint32_t sp,
                              uint16_t r[GPR_COUNT])
{
  uint32_t at = sp + f->frame_bytes, next = cls->image->symbols[f->symbol].address;
  const Insn *insn = class_insn(cls, pc);
  if (insn && insn->op == OP_ret)
    return;
  next += 2 * insn_words(OP_addi);
  for (unsigned i = 0; i < GPR_COUNT; i++) {
    if (!(f->saved >> i & 1))
      continue;
    at -= sizeof r[i];
    if (pc > next)
      engine->ops->mem_read(engine, tile, at, &r[i], sizeof r[i]);
    next += 2 * insn_words(OP_st16);
  }
}

/* The frames of the calls that were inlined here, and that of the function itself. */
static unsigned add_frames(const Program *program, const ClassCode *cls, DebugFrame base,
                           uint32_t look_at, DebugFrame *out, unsigned room)
{
  const ImageClass *image = cls->image;
  const ImageLine *row = image_line_at(image, (uint16_t)look_at);
  uint32_t inlined = row ? row->inlined_at : (uint32_t)IMAGE_NO_INLINE;
  unsigned n = 0;
  base.file = row ? file_name(program->image, row->file) : "";
  base.line = row ? row->line : 0;
  base.column = row ? row->column : 0;
  for (; n < room; n++) {
    bool is_inlined = inlined < image->n_inlines;
    out[n] = base;
    out[n].inlined = is_inlined ? inlined : (uint32_t)IMAGE_NO_INLINE;
    out[n].function = is_inlined ? image->inlines[inlined].function
                      : base.info ? image->symbols[base.info->symbol].name : "?";
    if (!is_inlined)
      return n + 1;
    base.file = file_name(program->image, image->inlines[inlined].file);
    base.line = image->inlines[inlined].line;
    base.column = image->inlines[inlined].column;
    inlined = image->inlines[inlined].parent;
  }
  return n;
}

/* A fault ends the tile's thread, which stands at the instruction. */
static bool has_faulted(Engine *engine, uint32_t tile, const Tile *core)
{
  size_t n;
  const Fault *faults = engine->ops->faults(engine, &n);
  return n && engine->stopped && faults[n - 1].tile == tile && faults[n - 1].pc == core->pc;
}

unsigned frames_find(Timeline *timeline, uint32_t tile, DebugFrame frames[MOST_FRAMES])
{
  Engine *engine = timeline_engine(timeline);
  const Program *program = timeline_program(timeline);
  const ClassCode *cls = program_class(program, tile);
  const Tile *core = engine->ops->tile(engine, tile, false);
  unsigned n = 0;
  if (!cls || !core || !(core->running || has_faulted(engine, tile, core)))
    return 0;
  uint32_t pc = core->threads[MAIN_THREAD].run ? core->threads[MAIN_THREAD].run->pc : core->pc;
  uint32_t sp = core->regs.r[program->machine->sp_register];
  uint16_t r[GPR_COUNT];
  memcpy(r, core->regs.r, sizeof r);
  for (bool is_top = true; n < MOST_FRAMES; is_top = false) {
    uint32_t look_at = is_top ? pc : pc - 1;
    const DebugFunction *f = frames_function(cls->image, look_at);
    uint32_t bytes = is_top ? frame_bytes(cls, f, pc) : f ? f->frame_bytes : 0;
    DebugFrame base = {.pc = (uint16_t)pc, .sp = sp, .info = f, .is_top = is_top};
    memcpy(base.r, r, sizeof r);
    n += add_frames(program, cls, base, look_at, frames + n, MOST_FRAMES - n);
    uint16_t back;
    if (!f || f->is_task ||
        !engine->ops->mem_read(engine, tile, sp + bytes, &back, sizeof back) ||
        back < cls->image->code_address || back >= cls->code_end)
      return n;
    restore_registers(engine, tile, cls, f, pc, sp, r);
    sp += bytes + RETURN_ADDRESS_BYTES;
    pc = back;
  }
  return n;
}
