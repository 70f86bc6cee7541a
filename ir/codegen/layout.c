/* The memory map of a class: data from address 0 (globals in module order, those of double words
 * first; then the descriptor pool, then the tile parameters), code behind it, the stack at the
 * top. */
#include "ir/codegen/codegen.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum { CODE_ALIGN = 2, WORD = 2, DOUBLE_WORD = 4, SHOWN_SYMBOLS = 5 };

static uint32_t align_up(uint32_t at, uint32_t align)
{
  return (at + align - 1) / align * align;
}

/* ---- globals at fixed addresses ------------------------------------------------------------- */

typedef struct { uint32_t first, end, global; } Fixed;

static int compare_fixed(const void *a, const void *b)
{
  const Fixed *x = a, *y = b;
  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->global < y->global ? -1 : x->global > y->global;
}

static Span global_span(const Cg *cg, const IrGlobal *g)
{
  return g->loc.raw ? cg->work->locs[g->loc.raw].span : (Span){0, 0};
}

static Fixed *collect_fixed(Cg *cg)
{
  Fixed *fixed = NULL;
  for (uint32_t i = 0; i < cg->work->n_globals; i++) {
    const IrGlobal *g = &cg->work->globals[i];
    if (!cg->globals[i].needed || !g->has_address)
      continue;
    Fixed f = {g->address, g->address + g->bytes, i};
    if (f.end > cg->machine->pe_mem_bytes || (g->align > 1 && g->address % 2)) {
      diag_ir_fixed_address(cg->diags, global_span(cg, g), g->name, g->address);
      cg->failed = true;
    }
    cg->globals[i].address = f.first;
    arrput(fixed, f);
  }
  if (fixed)
    qsort(fixed, arrlenu(fixed), sizeof *fixed, compare_fixed);
  for (size_t i = 0; i + 1 < arrlenu(fixed); i++)
    if (fixed[i].end > fixed[i + 1].first) {
      const IrGlobal *g = &cg->work->globals[fixed[i + 1].global];
      diag_ir_fixed_overlap(cg->diags, global_span(cg, g), g->name,
                            cg->work->globals[fixed[i].global].name, fixed[i + 1].first);
      cg->failed = true;
    }
  return fixed;
}

/* The first address from `at` on where `bytes` meet nothing fixed. */
static uint32_t find_room(const Fixed *fixed, uint32_t at, uint32_t bytes, uint32_t align)
{
  at = align_up(at, align);
  for (size_t i = 0; i < arrlenu(fixed); i++)
    if (at < fixed[i].end && at + bytes > fixed[i].first)
      at = align_up(fixed[i].end, align);
  return at;
}

/* ---- placing -------------------------------------------------------------------------------- */

/* Where free data goes: `at` is the first address that is not taken. */
typedef struct { const Fixed *fixed; uint32_t at; } Placing;

static uint32_t place_bytes(Placing *p, uint32_t bytes, uint32_t align)
{
  uint32_t address = find_room(p->fixed, p->at, bytes, align ? align : 1);
  p->at = address + bytes;
  return address;
}

/* Globals whose alignment is in [least, below).  Bytes begin with a word, too: copies of the host
 * and DSDs move words, and what is behind the last byte of one belongs to no other variable. */
static void place_globals(Cg *cg, Placing *p, uint32_t least, uint32_t below)
{
  for (uint32_t i = 0; i < cg->work->n_globals; i++) {
    const IrGlobal *g = &cg->work->globals[i];
    if (cg->globals[i].needed && !g->has_address && g->align >= least && g->align < below)
      cg->globals[i].address = place_bytes(p, g->bytes, g->align < WORD ? WORD : g->align);
  }
}

/* Double words first, so that arrays of them have no gaps between them. */
static uint32_t place_data(Cg *cg, const Fixed *fixed)
{
  Placing p = {fixed, 0};
  place_globals(cg, &p, DOUBLE_WORD, UINT32_MAX);
  place_globals(cg, &p, 0, DOUBLE_WORD);
  for (size_t i = 0; i < arrlenu(cg->pool); i++)
    cg->pool[i].address = place_bytes(&p, 2 * cg->pool[i].n_words, ir_type_align(IRT_DSD));
  for (uint32_t i = 0; i < cg->work->n_tile_params; i++) {
    IrType type = cg->work->tile_params[i];
    if (cg->tile_params[i].needed)
      cg->tile_params[i].address = place_bytes(&p, ir_type_bytes(type), ir_type_align(type));
  }
  return p.at;
}

typedef struct { const char *name; uint32_t bytes; Span span; bool is_frame; } Sized;

static int compare_sized(const void *a, const void *b)
{
  const Sized *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return strcmp(x->name, y->name);
}

static void report_too_large(Cg *cg, uint32_t data, uint32_t needed)
{
  Sized *list = NULL;
  for (uint32_t i = 0; i < cg->work->n_globals; i++)
    if (cg->globals[i].needed)
      arrput(list, ((Sized){cg->work->globals[i].name, cg->work->globals[i].bytes,
                             global_span(cg, &cg->work->globals[i]), false}));
  for (size_t i = 0; i < arrlenu(cg->funcs); i++) {
    const MFunc *f = cg->funcs[i];
    arrput(list, ((Sized){f->name, f->bytes, cg_func_span(cg, f->ir), false}));
    arrput(list, ((Sized){f->name, f->frame_bytes, cg_func_span(cg, f->ir), true}));
  }
  qsort(list, arrlenu(list), sizeof *list, compare_sized);
  Span nowhere = {0, 0};
  uint32_t memory = cg->machine->pe_mem_bytes;
  diag_ir_too_large(cg->diags, nowhere, memory, data, cg->code_bytes, cg->stack_bytes);
  diag_ir_too_large_by(cg->diags, nowhere, needed - memory);
  for (size_t i = 0; i < arrlenu(list) && i < SHOWN_SYMBOLS && list[i].bytes; i++)
    (list[i].is_frame ? diag_ir_large_frame : diag_ir_large_symbol)(cg->diags, list[i].span,
                                                                    list[i].name, list[i].bytes);
  arrfree(list);
}

static void size_code(Cg *cg)
{
  cg->code_bytes = 0;
  for (size_t i = 0; i < arrlenu(cg->funcs); i++) {
    MFunc *mf = cg->funcs[i];
    mf->bytes = 0;
    for (size_t k = 0; k < arrlenu(mf->code); k++)
      if (mf->code[k].op != MI_LABEL)
        mf->bytes += cg->machine->word_bytes * insn_words((Opcode)mf->code[k].op);
    cg->code_bytes += mf->bytes;
  }
}

bool layout_module(Cg *cg)
{
  Fixed *fixed = collect_fixed(cg);
  uint32_t at = place_data(cg, fixed);
  size_code(cg);
  cg->code_address = find_room(fixed, at, cg->code_bytes, CODE_ALIGN);
  cg->data_end = align_up(at, CODE_ALIGN);
  uint32_t top = cg->code_address + cg->code_bytes;
  if (arrlenu(fixed)) {
    uint32_t end = align_up(arrlast(fixed).end, CODE_ALIGN);
    cg->data_end = end > cg->data_end ? end : cg->data_end;
    top = end > top ? end : top;
  }
  arrfree(fixed);
  if (!cg->failed && top + cg->stack_bytes > cg->machine->pe_mem_bytes) {
    report_too_large(cg, cg->data_end, top + cg->stack_bytes);
    cg->failed = true;
  }
  uint32_t address = cg->code_address;
  for (size_t i = 0; i < arrlenu(cg->funcs); i++) {
    cg->funcs[i]->address = address;
    address += cg->funcs[i]->bytes;
  }
  return !cg->failed;
}

uint32_t layout_symbol(const Cg *cg, SymKind sym, uint32_t index)
{
  switch (sym) {
  case SYM_NONE: return 0;
  case SYM_GLOBAL: return cg->globals[index].address;
  case SYM_FUNC: return cg->funcs[cg->func_index[index] - 1]->address;
  case SYM_DESC: return cg->pool[index].address;
  case SYM_TILE_PARAM: return cg->tile_params[index].address;
  case SYM_FRAME: case SYM_INCOMING: default:
    ICE("symbol kind %d has no address", (int)sym);
  }
}

/* ---- initial data --------------------------------------------------------------------------- */

static void put_word(uint8_t *memory, uint32_t at, uint32_t word)
{
  memory[at] = (uint8_t)word;
  memory[at + 1] = (uint8_t)(word >> 8);
}

static void fill_global(const Cg *cg, uint8_t *memory, uint32_t i)
{
  const IrGlobal *g = &cg->work->globals[i];
  uint8_t *data = memory + cg->globals[i].address;
  if (g->init)
    memcpy(data, g->init, g->bytes);
  for (uint32_t k = 0; k < g->n_relocs; k++) {
    const IrReloc *r = &g->relocs[k];
    uint32_t to = layout_symbol(cg, r->is_func ? SYM_FUNC : SYM_GLOBAL, r->target);
    put_word(data, r->offset, to + (uint32_t)r->addend);
  }
}

void layout_desc_words(const Cg *cg, const PoolDesc *desc, uint16_t words[12])
{
  memcpy(words, desc->words, sizeof desc->words);
  if (desc->global == IR_NO_ID)
    return;
  uint16_t base = (uint16_t)cg->globals[desc->global].address;
  words[1] = (uint16_t)(words[1] + base);
  if ((words[0] & DESC_KIND_BITS) == DESC_CIRC)   /* its first address too */
    words[4] = (uint16_t)(words[4] + base);
}

static void fill_memory(const Cg *cg, uint8_t *memory)
{
  for (uint32_t i = 0; i < cg->work->n_globals; i++)
    if (cg->globals[i].needed)
      fill_global(cg, memory, i);
  for (size_t i = 0; i < arrlenu(cg->pool); i++) {
    uint16_t words[12];
    layout_desc_words(cg, &cg->pool[i], words);
    for (unsigned k = 0; k < cg->pool[i].n_words; k++)
      put_word(memory, cg->pool[i].address + 2 * k, words[k]);
  }
}

enum { SEGMENT_GAP_BYTES = 16 };   /* so many zeros end a segment */

/* Stretches from `at` to `end` that do not start as zeros. */
static void find_segments(const Cg *cg, const uint8_t *memory, uint32_t at, uint32_t end,
                          ImageSegment **list)
{
  while (at < end) {
    if (memory[at] == 0) {
      at++;
      continue;
    }
    uint32_t last = at;
    for (uint32_t i = at; i < end && i - last <= SEGMENT_GAP_BYTES; i++)
      last = memory[i] ? i : last;
    uint32_t bytes = last + 1 - at;
    uint8_t *data = arena_many(cg->kept, uint8_t, bytes);
    memcpy(data, memory + at, bytes);
    arrput(*list, ((ImageSegment){(uint16_t)at, (uint16_t)bytes, data}));
    at = last + 1;
  }
}

static void make_segments(const Cg *cg, const uint8_t *memory, ImageClass *image)
{
  ImageSegment *list = NULL;
  uint32_t before = cg->code_address < cg->data_end ? cg->code_address : cg->data_end;
  find_segments(cg, memory, 0, before, &list);
  find_segments(cg, memory, cg->code_address + cg->code_bytes, cg->data_end, &list);
  image->n_segments = (uint32_t)arrlenu(list);
  ImageSegment *segments = arena_many(cg->kept, ImageSegment, image->n_segments);
  if (list)
    memcpy(segments, list, sizeof *list * arrlenu(list));
  image->segments = segments;
  arrfree(list);
}

static void make_tile_slots(const Cg *cg, ImageClass *image)
{
  const IrModule *m = cg->work;
  ImageTileSlot *slots = arena_many(cg->kept, ImageTileSlot, m->n_tile_slots);
  uint32_t n = 0, offset = 0;
  for (uint32_t i = 0; i < m->n_tile_slots; i++) {
    const IrTileSlot *s = &m->tile_slots[i];
    const Placement *place = s->is_param ? &cg->tile_params[s->index] : &cg->globals[s->index];
    uint32_t bytes = s->is_param ? ir_type_bytes(s->type) : s->bytes;
    uint32_t at = place->address + (s->is_param ? 0 : s->offset);
    if (place->needed)   /* what the code does not use stays in the blob, for all tiles alike */
      slots[n++] = (ImageTileSlot){(uint16_t)at, (uint16_t)bytes, (uint16_t)offset};
    offset += bytes;
  }
  image->n_tile_slots = n;
  image->tile_slots = slots;
  image->tile_blob_bytes = offset;
}

void layout_data(const Cg *cg, ImageClass *image)
{
  uint8_t *memory = base_zeroed(cg->machine->pe_mem_bytes, 1);
  fill_memory(cg, memory);
  make_segments(cg, memory, image);
  free(memory);
  make_tile_slots(cg, image);
}
