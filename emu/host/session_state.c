/* The basis of a session: the options it was opened with, its error, what tiles print,
 * the exports of tiles. */
#include "emu/host/session_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum { NAMES_IN_NOTE = 12 };

/* ---- errors ---------------------------------------------------------------------------------- */

HostSession *session_create(void)
{
  HostSession *s = base_malloc(sizeof *s);
  *s = (HostSession){.sources = source_map_create(), .first_id = 1};
  s->diags = diags_create(s->sources);
  s->arena = arena_create("emulated program");
  s->error = (WseError){.status = WSE_OK, .message = "", .x = -1, .y = -1};
  return s;
}

const WseError *session_error(const HostSession *s) { return &s->error; }
Diags *session_diags(HostSession *s) { return s->diags; }
Timeline *session_timeline(HostSession *s) { return timeline_of(s->engine); }
const Image *session_image(const HostSession *s) { return s->image; }
Program *session_program(const HostSession *s) { return s->program; }
Arena *session_arena(const HostSession *s) { return s->arena; }
uint64_t session_cycle(const HostSession *s) { return s->engine ? s->ops->cycle(s->engine) : 0; }
bool session_has_run(const HostSession *s) { return s->started; }
void session_expect_launches(HostSession *s, bool more) { s->more_launches = more; }

WseStatus session_fail(HostSession *s, WseStatus status, char *text)
{
  free(s->error_text);
  s->error_text = text;
  s->error = (WseError){.status = status, .message = text, .cycle = session_cycle(s),
                        .x = -1, .y = -1};
  return status;
}

void session_fail_as(HostSession *s, const WseError *other, const char *name)
{
  session_fail(s, other->status, base_print("%s: %s", name, other->message));
}

static void print_line(HostSession *s, uint64_t cycle, uint32_t tile)
{
  FILE *out = s->options.print_out;
  progress_hide(s);
  fprintf(out, "@%" PRIu64 " ", cycle);
  if (!s->options.print_bare)
    fprintf(out, "P%u.%u: ", program_x(s->program, tile), program_y(s->program, tile));
  fwrite(s->prints[tile], 1, arrlenu(s->prints[tile]), out);
  putc('\n', out);
  s->printed = true;
  arrsetlen(s->prints[tile], 0);
}

void session_print(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  HostSession *s = context;
  if (!s->prints)
    s->prints = base_zeroed(s->program->n_tiles, sizeof *s->prints);
  if (byte == '\n')
    print_line(s, cycle, tile);
  else
    arrput(s->prints[tile], (char)byte);
}

/* A tile that stopped in the middle of a line may have said there why. */
void session_print_rest(HostSession *s)
{
  for (uint32_t tile = 0; s->prints && tile < s->program->n_tiles; tile++)
    if (arrlenu(s->prints[tile]))
      print_line(s, session_cycle(s), tile);
}

void session_unasked(HostSession *s, UnaskedWords unasked[MAX_COLORS])
{
  memset(unasked, 0, MAX_COLORS * sizeof *unasked);
  for (uint32_t tile = 0; tile < s->program->n_tiles; tile++) {
    const HostPort *host = s->ops->host(s->engine, tile, false);
    for (size_t i = 0; host && i < arrlenu(host->sent); i++) {
      UnaskedWords *color = &unasked[host->sent[i].color];
      if (color->words++ == 0)
        color->tile = tile;
    }
  }
}

uint64_t session_unasked_of(HostSession *s, const ImageStream *stream)
{
  uint64_t words = 0;
  const HostPort *host = s->ops->host(s->engine, stream->tile, false);
  for (size_t i = 0; host && i < arrlenu(host->sent); i++)
    words += host->sent[i].color == stream->color;
  return words;
}

void session_flush(HostSession *s)
{
  if (s->printed)
    fflush(s->options.print_out);
  if (s->options.trace_out)
    fflush(s->options.trace_out);
  s->printed = false;
}

void session_end_trace(HostSession *s)
{
  session_flush(s);
  s->options.trace_out = NULL;
}

Fault *session_faults(const HostSession *s, CheckLevel level, size_t from)
{
  size_t count;
  Fault *list = NULL;
  const Fault *faults = s->ops->faults(s->engine, &count);
  for (size_t i = from; i < count; i++)
    if (fault_level(faults[i].kind, s->options.check, s->options.checks) == level)
      arrput(list, faults[i]);
  return list;
}

void session_warn_hazards(HostSession *s)
{
  Fault *faults = session_faults(s, CHECK_WARN, s->hazards_told);
  if (s->options.warnings)
    faults_print(s->program, session_shown(s), faults, arrlenu(faults), "warning, not an ",
                 s->options.warnings);
  s->ops->faults(s->engine, &s->hazards_told);
  arrfree(faults);
}

/* For the reports of the other wafers. */
static const char *words_for_end(WseStatus status)
{
  switch (status) {
  case WSE_DEADLOCK: return "a deadlock";
  case WSE_CYCLE_LIMIT: return "the limit of cycles";
  case WSE_INTERRUPTED: return "a signal";
  case WSE_FAULT: return "a finding";
  case WSE_OK: case WSE_USAGE: case WSE_NO_MEMORY: default: return "an error";
  }
}

/* What a warning names may be why the program has not ended well, so the warnings come first. */
WseStatus session_end(HostSession *s)
{
  session_print_rest(s);
  session_warn_hazards(s);
  session_flush(s);
  if (session_is_recorded(s))
    recorder_close(s->engine);
  s->ended = true;
  if (s->options.member)
    cluster_note_end(*s->options.member, words_for_end(s->error.status));
  s->final_error = s->error;
  s->final_error.message = arena_copy_text(s->arena, s->error.message, strlen(s->error.message));
  return s->error.status;
}

void session_flush_diags(HostSession *s, FILE *out)
{
  if (out)
    diags_flush(s->diags, out, DIAG_FORMAT_TEXT);
  /* The same mistake is worth the same message again: diags forget nothing, so start anew. */
  diags_destroy(s->diags);
  s->diags = diags_create(s->sources);
}

WseStatus session_usage(HostSession *s)
{
  char *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  session_flush_diags(s, out);
  base_text_close(out, &text);
  return session_fail(s, WSE_USAGE, text);
}

void session_warn(HostSession *s) { session_flush_diags(s, s->options.warnings); }

static void note_exports(HostSession *s)
{
  Diags *d = s->diags;
  Arena *scratch = diags_scratch(d);
  char *list = arena_printf(scratch, "nothing");
  for (uint32_t i = 0; i < s->image->n_exports && i < NAMES_IN_NOTE; i++)
    list = arena_printf(scratch, "%s%s%s", i ? list : "", i ? ", " : "",
                        s->image->exports[i].name);
  if (s->image->n_exports > NAMES_IN_NOTE)
    list = arena_printf(scratch, "%s, ...", list);
  diag_symbols_exported(d, HOST_NOWHERE, list);
}

int64_t session_export(HostSession *s, const char *name)
{
  const Image *image = s->image;
  const char **names = base_malloc(sizeof *names * (image->n_exports + 1));
  for (uint32_t i = 0; i < image->n_exports; i++) {
    names[i] = image->exports[i].name;
    if (strcmp(names[i], name) == 0) {
      free(names);
      return i;
    }
  }
  diag_symbol_unknown(s->diags, HOST_NOWHERE, name);
  const char *near = base_nearest(name, names, image->n_exports);
  if (near)
    diag_symbol_nearest(s->diags, HOST_NOWHERE, near);
  else
    note_exports(s);
  if (!near && *name)
    diag_export_form(s->diags, HOST_NOWHERE, name, name);
  free(names);
  session_usage(s);
  return -1;
}

WseStatus session_ended(HostSession *s)
{
  if (session_is_core(s) && !s->options.debugger) {
    diag_core_is_over(s->diags, HOST_NOWHERE);
    return session_usage(s);
  }
  if (s->ended) {
    s->error = s->final_error;
    return s->error.status;
  }
  if (s->engine)
    return WSE_OK;
  diag_handle_unusable(s->diags, HOST_NOWHERE);
  return session_usage(s);
}

void session_interrupt(HostSession *s) { atomic_store(&s->interrupt, 1); }
const atomic_int *session_interrupt_flag(const HostSession *s) { return &s->interrupt; }

bool session_is_partial(const HostSession *s)
{
  return s->engine && (s->ended ? s->final_error.status == WSE_INTERRUPTED : !s->finishing);
}

bool session_is_core(const HostSession *s) { return s->options.core != NULL; }

/* ---- what tiles export ----------------------------------------------------------------------- */

const ImageBinding *session_binding(const HostSession *s, uint32_t tile, uint32_t export_index)
{
  uint32_t cls = s->image->tile_class[tile];
  return cls == IMAGE_NO_CLASS ? NULL
                               : s->bindings[(size_t)cls * s->image->n_exports + export_index];
}

uint32_t session_extent(const HostSession *s, uint32_t export_index)
{
  for (uint32_t c = 0; c < s->image->n_classes; c++) {
    const ImageBinding *b = s->bindings[(size_t)c * s->image->n_exports + export_index];
    if (b && b->extent)
      return b->extent;
  }
  return 0;
}

uint32_t session_tile_extent(const HostSession *s, uint32_t tile, uint32_t export_index)
{
  const ImageBinding *b = session_binding(s, tile, export_index);
  return b ? b->extent : 0;
}

/* ---- memory without the device ---------------------------------------------------------- */

bool session_data_address(HostSession *s, uint32_t tile, const ImageBinding *binding,
                          uint32_t *address)
{
  uint8_t word[2];
  *address = binding->address;
  if (!binding->is_pointer)
    return true;
  if (!s->ops->mem_read(s->engine, tile, binding->address, word, sizeof word))
    return false;
  *address = (uint32_t)(word[0] | word[1] << 8);
  return true;
}

bool session_peek(HostSession *s, uint32_t tile, const ImageBinding *binding, uint32_t bytes,
                  void *to)
{
  uint32_t address;
  return session_data_address(s, tile, binding, &address) &&
         s->ops->mem_read(s->engine, tile, address, to, bytes);
}

bool session_poke(HostSession *s, uint32_t tile, const ImageBinding *binding, uint32_t bytes,
                  const void *from)
{
  uint32_t address;
  return session_data_address(s, tile, binding, &address) &&
         s->ops->mem_write(s->engine, tile, address, from, bytes);
}

Engine *session_shown(const HostSession *s)
{
  return session_is_recorded(s) ? recorder_shown(s->engine) : s->engine;
}

static void note_near_symbol(HostSession *s, const ImageClass *image, const char *name)
{
  const char **names = base_malloc(sizeof *names * (image->n_symbols + 1));
  uint32_t n = 0;
  for (uint32_t i = 0; i < image->n_symbols; i++)
    if (!image->symbols[i].is_code)
      names[n++] = image->symbols[i].name;
  const char *near = base_nearest(name, names, n);
  if (near)
    diag_symbol_nearest(s->diags, HOST_NOWHERE, near);
  free(names);
}

bool session_name_is_clear(HostSession *s, uint32_t tile, const char *name)
{
  const ClassCode *cls = program_class(s->program, tile);
  char *choices = cls ? class_name_choices(cls->image, name) : NULL;
  if (!choices)
    return true;
  diag_symbol_choices(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                      program_y(s->program, tile), name, choices);
  free(choices);
  session_usage(s);
  return false;
}

const ImageSymbol *session_symbol(HostSession *s, uint32_t tile, const char *name)
{
  const ClassCode *cls = program_class(s->program, tile);
  const ImageSymbol *symbol = cls ? class_symbol(cls->image, name) : NULL;
  if (symbol)
    return session_name_is_clear(s, tile, name) ? symbol : NULL;
  uint32_t x = program_x(s->program, tile), y = program_y(s->program, tile);
  if (cls) {
    diag_symbol_not_in_tile(s->diags, HOST_NOWHERE, x, y, name);
    note_near_symbol(s, cls->image, name);
  } else {
    diag_tile_without_program(s->diags, HOST_NOWHERE, x, y, name);
  }
  session_usage(s);
  return NULL;
}

WseStatus session_state_error(HostSession *s)
{
  diag_state_unusable(s->diags, HOST_NOWHERE, s->options.load_state, recorder_why(s->engine));
  session_usage(s);
  return session_end(s);
}

WseStatus session_report_outside(HostSession *s, uint32_t tile, const char *name)
{
  if (session_is_recorded(s) && recorder_why(s->engine))
    return session_state_error(s);
  diag_memory_outside(s->diags, HOST_NOWHERE, name, program_x(s->program, tile),
                      program_y(s->program, tile));
  return session_usage(s);
}

WseStatus session_write_symbol(HostSession *s, uint32_t tile, const char *name, const void *bytes,
                               size_t size)
{
  const ImageSymbol *symbol = session_symbol(s, tile, name);
  if (!symbol)
    return WSE_USAGE;
  bool fits = size <= symbol->bytes &&
              s->ops->mem_write(s->engine, tile, symbol->address, bytes, (uint32_t)size);
  return fits ? WSE_OK : session_report_outside(s, tile, name);
}

WseStatus session_read_symbol(HostSession *s, uint32_t tile, const char *name, void *bytes,
                              size_t capacity, size_t *size)
{
  const ImageSymbol *symbol = session_symbol(s, tile, name);
  if (!symbol)
    return WSE_USAGE;
  *size = symbol->bytes;
  uint32_t wanted = capacity < symbol->bytes ? (uint32_t)capacity : symbol->bytes;
  if (wanted && !s->ops->mem_read(s->engine, tile, symbol->address, bytes, wanted))
    return session_report_outside(s, tile, name);
  return WSE_OK;
}
