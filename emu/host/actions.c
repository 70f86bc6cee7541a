/* Carries out the host actions of the command line, which actions_read.c has read. */
#include "emu/host/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum { VALUE_TEXT = 32, BITS_OF_BYTE = 8 };

/* ---- carrying out ----------------------------------------------------------------------- */

static WseStatus print_tile(HostSession *s, const ActionStep *a, uint32_t tile, bool *warned,
                            FILE *out)
{
  const Image *image = session_image(s);
  const ImageExport *export = &image->exports[a->export_index];
  const ImageBinding *binding = session_binding(s, tile, a->export_index);
  uint8_t bytes[PE_MEM_BYTES];
  unsigned width = export->element_bytes;
  uint32_t elements = action_elements(s, a, tile);
  if ((uint64_t)elements * width > sizeof bytes ||
      !session_peek(s, tile, binding, elements * width, bytes))
    return session_report_outside(s, tile, export->name);
  *warned = *warned || session_warn_read(s, a->export_index, tile, elements * width);
  fprintf(out, "%s@%u,%u:", export->name, program_x(session_program(s), tile),
          program_y(session_program(s), tile));
  for (uint32_t i = 0; i < elements; i++) {
    char text[VALUE_TEXT];
    uint64_t bits = 0;
    for (unsigned k = 0; k < width; k++)
      bits |= (uint64_t)bytes[i * width + k] << BITS_OF_BYTE * k;
    element_format(export->element_class, width, image->fp16, bits, text);
    fprintf(out, " %s", text);
  }
  fputc('\n', out);
  return WSE_OK;
}

static WseStatus print_variable(HostSession *s, const ActionStep *a, uint32_t tile, FILE *out)
{
  const Program *program = session_program(s);
  const ImageSymbol *symbol = action_variable(s, tile, a->variable);
  if (!symbol)
    return WSE_OK;
  const ImageClass *cls = program_class(program, tile)->image;
  const DebugType *type = variable_type(program->image, cls, (uint32_t)(symbol - cls->symbols));
  uint8_t bytes[PE_MEM_BYTES];
  size_t size;
  WseStatus status = session_read_symbol(s, tile, symbol->name, bytes, sizeof bytes, &size);
  if (status != WSE_OK)
    return status;
  fprintf(out, "%s@%u,%u: ", a->variable, program_x(program, tile), program_y(program, tile));
  variable_print(&(ValueStyle){program->image, cls, PE_MEM_BYTES}, type, bytes, out);
  fputc('\n', out);
  return WSE_OK;
}

static WseStatus do_print(HostSession *s, const ActionStep *a, FILE *out)
{
  uint32_t tile;
  bool warned = false;           /* for one tile, as copies */
  WseStatus status = WSE_OK;
  HostTiles tiles = host_tiles(&a->region);
  while (status == WSE_OK && host_tiles_next(&tiles, session_program(s), &tile))
    if (a->variable)
      status = print_variable(s, a, tile, out);
    else if (session_binding(s, tile, a->export_index))
      status = print_tile(s, a, tile, &warned, out);
  return status;
}

/* Words to an array of the symbol's type. */
static WseStatus save_array(HostSession *s, const ActionStep *a, const uint32_t *words)
{
  const ImageExport *export = &session_image(s)->exports[a->export_index];
  Fp16Format fp16 = session_image(s)->fp16;
  bool widened = export->element_class == 'f' && export->element_bytes == 2 && fp16 != FP16_F16;
  NpyArray array = {.kind = export->element_class, .n_dims = 3,
                    .bytes = widened ? WIDE_BYTES : export->element_bytes,
                    .shape = {a->region.height, a->region.width, a->elements}};
  size_t count = wse_transfer_words(&a->region);
  unsigned bytes = array.bytes / action_words(export);   /* of a word */
  array.data = base_malloc(count * bytes + 1);
  for (size_t i = 0; i < count; i++) {
    uint32_t word = widened ? fp16_to_fp32(fp16, (uint16_t)words[i]) : words[i];
    for (unsigned k = 0; k < bytes; k++)
      array.data[i * bytes + k] = (uint8_t)(word >> BITS_OF_BYTE * k);
  }
  bool ok = npy_write(a->file, &array);
  if (!ok)
    diag_output_unwritable(session_diags(s), HOST_NOWHERE, a->file, strerror(errno));
  npy_free(&array);
  return ok ? WSE_OK : session_usage(s);
}

/* Elements of one byte are no transfer of the device: they are read and written directly. */
static WseStatus copy_bytes(HostSession *s, const ActionStep *a, const WseTransfer *region,
                            uint32_t *words, bool in)
{
  uint32_t tile;
  uint8_t bytes[PE_MEM_BYTES];
  size_t at = 0;
  HostTiles tiles = host_tiles(region);
  for (; host_tiles_next(&tiles, session_program(s), &tile); at += region->elements) {
    const ImageBinding *binding = session_binding(s, tile, a->export_index);
    for (uint32_t i = 0; in && i < region->elements; i++)
      bytes[i] = (uint8_t)words[at + i];
    if (!(in ? session_poke(s, tile, binding, region->elements, bytes)
             : session_peek(s, tile, binding, region->elements, bytes)))
      return session_report_outside(s, tile, session_image(s)->exports[a->export_index].name);
    for (uint32_t i = 0; !in && i < region->elements; i++)
      words[at + i] = bytes[i];
  }
  return WSE_OK;
}

static WseStatus copy_region(HostSession *s, const ActionStep *a, const WseTransfer *region,
                             uint32_t *words, bool in)
{
  if (session_image(s)->exports[a->export_index].element_bytes == 1)
    return copy_bytes(s, a, region, words, in);
  return in ? session_h2d(s, region, words, NULL) : session_d2h(s, region, words, NULL);
}

/* Words between the lines of the action's region and those of a part of it, which are shorter. */
static void move_lines(const ActionStep *a, const WseTransfer *part, uint32_t *whole,
                       uint32_t *words, bool in)
{
  size_t bytes = sizeof *words * part->elements;
  for (uint32_t y = part->y; y < part->y + part->height; y++)
    for (uint32_t x = part->x; x < part->x + part->width; x++, words += part->elements) {
      size_t line = (size_t)(y - a->region.y) * a->region.width + (x - a->region.x);
      uint32_t *other = whole + line * a->region.elements;
      memcpy(in ? words : other, in ? other : words, bytes);
    }
}

static WseStatus copy_part(HostSession *s, const ActionStep *a, const WseTransfer *part,
                           uint32_t *whole, bool in)
{
  uint32_t *words = base_malloc(sizeof *words * (wse_transfer_words(part) + 1));
  if (in)
    move_lines(a, part, whole, words, true);
  WseStatus status = copy_region(s, a, part, words, in);
  if (!in && status == WSE_OK)
    move_lines(a, part, whole, words, false);
  free(words);
  return status;
}

/* Words of a tile's line that its array has; 0 if `done` says that they are copied. */
static uint32_t words_left(HostSession *s, const ActionStep *a, const bool *done, uint32_t x,
                           uint32_t y)
{
  const WseTransfer *r = &a->region;
  if (done[(size_t)(y - r->y) * r->width + (x - r->x)])
    return 0;
  return action_elements(s, a, program_tile(session_program(s), x, y)) *
         action_words(&session_image(s)->exports[a->export_index]);
}

/* The tiles from (x, y) on, first to the right, then down, with as much to copy as this tile. */
static WseTransfer even_part(HostSession *s, const ActionStep *a, bool *done, uint32_t x,
                             uint32_t y)
{
  const WseTransfer *r = &a->region;
  WseTransfer part = *r;
  part.x = x, part.y = y, part.width = part.height = 0;
  part.elements = words_left(s, a, done, x, y);
  while (x + part.width < r->x + r->width &&
         words_left(s, a, done, x + part.width, y) == part.elements)
    part.width++;
  for (bool same = true; same && y + part.height < r->y + r->height; part.height += same)
    for (uint32_t i = 0; same && i < part.width; i++)
      same = words_left(s, a, done, x + i, y + part.height) == part.elements;
  for (uint32_t row = 0; row < part.height; row++)
    memset(&done[(size_t)(y - r->y + row) * r->width + (x - r->x)], true, part.width);
  return part;
}

/* One transfer for each rectangle of tiles whose arrays are equally long. */
static WseStatus copy_array(HostSession *s, const ActionStep *a, uint32_t *words, bool in)
{
  const WseTransfer *r = &a->region;
  bool *done = base_zeroed((size_t)r->width * r->height, sizeof *done);
  WseStatus status = WSE_OK;
  for (uint32_t y = r->y; y < r->y + r->height; y++)
    for (uint32_t x = r->x; x < r->x + r->width && status == WSE_OK; x++)
      if (words_left(s, a, done, x, y)) {
        WseTransfer part = even_part(s, a, done, x, y);
        bool is_whole = part.width == r->width && part.height == r->height &&
                        part.elements == r->elements;
        status = is_whole ? copy_region(s, a, r, words, in) : copy_part(s, a, &part, words, in);
      }
  free(done);
  return status;
}

static WseStatus do_d2h(HostSession *s, const ActionStep *a)
{
  uint32_t *words = base_zeroed(wse_transfer_words(&a->region) + 1, sizeof *words);
  WseStatus status = copy_array(s, a, words, false);
  if (status == WSE_OK)
    status = save_array(s, a, words);
  free(words);
  return status;
}

/* ---- all of them ------------------------------------------------------------------------- */

struct HostSteps {
  HostSession *session;
  size_t n;
  ActionStep *steps;
};

HostSteps *host_steps_create(HostSession *session, const HostAction *actions)
{
  HostSteps *all = base_malloc(sizeof *all);
  *all = (HostSteps){session, arrlenu(actions), NULL};
  all->steps = base_zeroed(all->n + 1, sizeof *all->steps);
  for (size_t i = 0; i < all->n; i++) {
    if (!action_read(session, &actions[i], &all->steps[i])) {
      host_steps_destroy(all);
      return NULL;
    }
  }
  return all;
}

void host_steps_destroy(HostSteps *all)
{
  for (size_t i = 0; all && i < all->n; i++)
    arrfree(all->steps[i].words);
  if (all)
    free(all->steps);
  free(all);
}

static bool launches_after(const HostSteps *all, size_t at)
{
  for (size_t i = at + 1; i < all->n; i++)
    if (all->steps[i].kind == HOST_LAUNCH)
      return true;
  return false;
}

WseStatus host_step_begin(HostSteps *all, size_t at)
{
  ActionStep *a = &all->steps[at];
  HostSession *s = all->session;
  session_expect_launches(s, launches_after(all, at));
  if (a->kind == HOST_LAUNCH)
    return session_launch_begin(s, a->export_index, a->args, a->n_arg_words, &a->task);
  if ((a->kind == HOST_D2H || a->kind == HOST_PRINT) && !session_has_run(s))
    return session_run(s, 0);
  return WSE_OK;
}

WseStatus host_step_end(HostSteps *all, size_t at, FILE *out)
{
  const ActionStep *a = &all->steps[at];
  HostSession *s = all->session;
  switch (a->kind) {
  case HOST_H2D: return copy_array(s, a, a->words, true);
  case HOST_LAUNCH: return session_launch_end(s, a->task);
  case HOST_RUN: return session_run(s, 0);
  case HOST_D2H: return do_d2h(s, a);
  case HOST_PRINT: return do_print(s, a, out);
  case HOST_NOTHING: return WSE_OK;
  default: ICE("bad host action %d", (int)a->kind);
  }
}

/* A run that has stopped shows what it was asked to print: memory as it stands. */
static void print_rest(HostSteps *all, size_t from, FILE *out)
{
  for (size_t i = from; i < all->n; i++)
    if (all->steps[i].kind == HOST_PRINT)
      do_print(all->session, &all->steps[i], out);
  fflush(out);
}

WseStatus host_carry_out(HostSession *session, const HostOptions *options, FILE *out)
{
  HostSteps *all = host_steps_create(session, options->actions);
  WseStatus status = all ? WSE_OK : WSE_USAGE;
  size_t done = 0;
  for (; all && done < all->n && status == WSE_OK; done += status == WSE_OK) {
    status = host_step_begin(all, done);
    if (status == WSE_OK)
      status = host_step_end(all, done, out);
    fflush(out);
  }
  if (status == WSE_OK)
    status = session_finish(session);
  else if (status == WSE_CYCLE_LIMIT && options->session.stop)
    print_rest(all, done, out);
  host_steps_destroy(all);
  return status;
}
