/* The frames of a tile's main thread, inlined calls included. */
#include "emu/debug/debug_internal.h"

#include <string.h>

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

uint32_t frames_inlined_at(const Program *program, uint32_t tile, uint32_t pc)
{
  const ClassCode *cls = program_class(program, tile);
  const ImageLine *row = cls ? image_line_at(cls->image, (uint16_t)pc) : NULL;
  return row ? row->inlined_at : (uint32_t)IMAGE_NO_INLINE;
}

bool frames_is_inside(const Program *program, uint32_t tile, uint32_t call, uint32_t outer)
{
  const ImageClass *image = program_class(program, tile)->image;
  while (call != outer && call < image->n_inlines)
    call = image->inlines[call].parent;
  return call == outer || outer == (uint32_t)IMAGE_NO_INLINE;
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

const VecRun *frames_beside(const Tile *core)
{
  return core && core->overlaps ? core->threads[MAIN_THREAD].run : NULL;
}

unsigned frames_find(Timeline *timeline, uint32_t tile, DebugFrame frames[MOST_FRAMES])
{
  Engine *engine = timeline_engine(timeline);
  const Program *program = timeline_program(timeline);
  const ClassCode *cls = program_class(program, tile);
  unsigned n = 0;
  Call call;
  if (!calls_top(engine, program, tile, &call))
    return 0;
  uint16_t r[GPR_COUNT];
  const Tile *core = engine->ops->tile(engine, tile, false);
  memcpy(r, core->regs.r, sizeof r);
  if (frames_beside(core)) {
    call.pc = call.place = core->pc;
    call.info = calls_function(cls->image, core->pc);
  }
  while (n < MOST_FRAMES) {
    DebugFrame base = {.pc = call.pc, .sp = call.sp, .info = call.info, .is_top = call.is_top};
    memcpy(base.r, r, sizeof r);
    n += add_frames(program, cls, base, call.place, frames + n, MOST_FRAMES - n);
    Call of = call;
    if (!calls_caller(engine, program, tile, &call))
      return n;
    restore_registers(engine, tile, cls, of.info, of.pc, of.sp, r);
  }
  return n;
}
