/* The parser of the IR's text form; docs/ir.md describes the form, print.c writes it.
 *
 * The scanner cuts the text into tokens first. A statement is one line (except for the braces of
 * globals and functions), so after an error the parser continues with the next line. It collects
 * names of globals and functions beforehand, because the text may use them before their definition.
 * The reader verifies the module, so a caller gets a valid one. */
#include "ir/read_internal.h"

/* ---- globals ----------------------------------------------------------------------- */

static bool read_data(IrReader *r, IrGlobal *g)
{
  uint32_t at;
  if (!rd_expect_u32(r, "an offset in bytes", UINT32_MAX, &at))
    return false;
  const IrToken *t = rd_accept(r, T_TEXT);
  if (!t)
    return rd_expected(r, "data");
  size_t n = strlen(t->text);
  if (n % 2 || strspn(t->text, "0123456789abcdefABCDEF") != n) {
    diag_ir_data_digits(r->diags, t->span);
    return false;
  }
  if (at + (uint64_t)n / 2 > g->bytes) {
    diag_ir_out_of_range(r->diags, t->span, "the end of the data", at + (uint64_t)n / 2, g->bytes);
    return false;
  }
  if (!g->init)
    g->init = arena_alloc(r->arena, g->bytes, 1);
  for (size_t i = 0; i < n; i += 2)
    g->init[at + i / 2] = (uint8_t)(rd_hex_digit(t->text[i]) << 4 | rd_hex_digit(t->text[i + 1]));
  return true;
}

static bool read_reloc(IrReader *r, IrReloc **relocs)
{
  IrReloc reloc = {0};
  int64_t addend;
  if (!rd_expect_u32(r, "an offset in bytes", UINT32_MAX, &reloc.offset) ||
      !rd_expect_either(r, &reloc.is_func, &reloc.target) ||
      !rd_accept_offset(r, INT32_MAX, &addend))
    return false;
  reloc.addend = (int32_t)addend;
  arrput(*relocs, reloc);
  return true;
}

static bool starts_with(const IrReader *r, const char *word)
{
  const IrToken *t = rd_peek(r);
  return t->kind == T_WORD && strcmp(t->text, word) == 0;
}

static void read_global_body(IrReader *r, IrGlobal *g)
{
  IrReloc *relocs = NULL;
  while (starts_with(r, "data") || starts_with(r, "reloc")) {
    size_t start = r->at;
    bool is_data = *rd_next(r)->text == 'd';
    if (!(is_data ? read_data(r, g) : read_reloc(r, &relocs)) || !rd_finish_line(r))
      rd_recover(r, start);
  }
  g->n_relocs = (uint32_t)arrlenu(relocs);
  g->relocs = arena_many(r->arena, IrReloc, g->n_relocs);
  if (relocs)
    memcpy(g->relocs, relocs, sizeof *relocs * arrlenu(relocs));
  arrfree(relocs);
}

static bool read_global_attribute(IrReader *r, IrGlobal *g)
{
  if (rd_accept_word(r, "const"))
    return g->is_const = true;
  if (rd_accept_word(r, "unset"))
    return g->unset = true;
  if (rd_accept_word(r, "keep"))
    return g->keep = true;
  if (rd_accept_word(r, "extent"))
    return rd_expect_u16(r, "a number of elements", UINT16_MAX, &g->extent);
  if (rd_accept_word(r, "address")) {
    g->has_address = true;
    return rd_expect_u16(r, "a byte address", UINT16_MAX, &g->address);
  }
  if (rd_accept_word(r, "type")) {
    const IrToken *t = rd_accept(r, T_TEXT);
    g->type = t ? t->text : "";
    return t || rd_expected(r, "a type in quotes");
  }
  return rd_expected(r, "an attribute of globals, '{' or the end of the line");
}

static bool read_global(IrReader *r)
{
  const IrToken *name = rd_peek(r);
  uint32_t id;
  if (!rd_expect_symbol(r, T_GLOBAL, &id) || !rd_claim(r, &r->global_done[id], "global", name))
    return false;
  IrGlobal *g = &r->m->globals[id];
  uint64_t left = MOST_DATA_BYTES - r->data_bytes;
  if (!rd_expect_word(r, "bytes") || !rd_expect_u32(r, "a size in bytes", left, &g->bytes) ||
      !rd_expect_word(r, "align") || !rd_expect_u32(r, "an alignment", MOST_DATA_BYTES, &g->align))
    return false;
  r->data_bytes += g->bytes;
  while (!rd_at_line_end(r) && rd_peek(r)->kind == T_WORD)
    if (!read_global_attribute(r, g))
      return false;
  if (!rd_accept_loc(r, &g->loc))
    return false;
  if (!rd_accept_punct(r, '{'))
    return rd_finish_line(r);
  read_global_body(r, g);
  return rd_expect_close(r);
}

/* ---- machine set-up ---------------------------------------------------------------- */

static bool read_tile_param(IrReader *r)
{
  IrType type;
  if (!rd_expect_type(r, &type))
    return false;
  arrput(r->tile_params, type);
  return true;
}

static bool read_tile_slot(IrReader *r)
{
  IrTileSlot slot = {0};
  if (rd_accept_word(r, "param")) {
    uint64_t n = arrlenu(r->tile_params);
    if (n == 0)
      return rd_expected(r, "a tile_param before this line");
    if (!rd_expect_u32(r, "a tile parameter", n - 1, &slot.index))
      return false;
    slot.is_param = true;
    slot.type = r->tile_params[slot.index];
    slot.bytes = ir_type_bytes(slot.type);
  } else if (!rd_expect_symbol(r, T_GLOBAL, &slot.index) || !rd_expect_word(r, "offset") ||
             !rd_expect_u32(r, "an offset in bytes", UINT32_MAX, &slot.offset) ||
             !rd_expect_word(r, "bytes") ||
             !rd_expect_u32(r, "a size in bytes", UINT32_MAX, &slot.bytes)) {
    return false;
  }
  arrput(r->tile_slots, slot);
  return true;
}

static bool read_task(IrReader *r)
{
  IrTask task = {0};
  unsigned kind;
  if (!rd_expect_listed(r, IRW_task_kind, "a kind of task", &kind) ||
      !rd_expect_u8(r, "a task id", MAX_TASK_IDS - 1, &task.id) ||
      !rd_expect_symbol(r, T_FUNC, &task.func.raw) || !rd_expect_word(r, "arguments") ||
      !rd_expect_u8(r, "a number of words", 2, &task.arguments))
    return false;
  task.kind = (TaskKind)kind;
  const IrToken *name = rd_accept(r, T_TEXT);
  task.name = name ? name->text : NULL;
  arrput(r->tasks, task);
  return true;
}

static bool read_queue(IrReader *r)
{
  unsigned direction, priority;
  uint32_t number;
  if (!rd_expect_listed(r, IRW_direction, "a direction of queues", &direction) ||
      !rd_expect_u32(r, "a queue", MAX_QUEUES - 1, &number))
    return false;
  ImageQueue *q = direction ? &r->m->output[number] : &r->m->input[number];
  if (rd_accept_word(r, "color")) {
    q->used = true;
    if (!rd_expect_u8(r, "a color", MAX_COLORS - 1, &q->color) || !rd_expect_word(r, "priority") ||
        !rd_expect_listed(r, IRW_priority, "a priority", &priority))
      return false;
    q->priority = (Priority)priority;
    q->implicit = rd_accept_word(r, "implicit");
  }
  const IrToken *name = rd_accept(r, T_TEXT);
  if (name)
    r->m->queue_names[direction][number] = name->text;
  return true;
}

static bool read_color(IrReader *r)
{
  uint32_t color;
  if (!rd_expect_u32(r, "a color", MAX_COLORS - 1, &color))
    return false;
  const IrToken *name = rd_accept(r, T_TEXT);
  if (!name)
    return rd_expected(r, "a name in quotes");
  r->m->color_names[color] = name->text;
  return true;
}

static bool read_data_queue(IrReader *r)
{
  uint32_t color;
  return rd_expect_u32(r, "a color", MAX_COLORS - 1, &color) &&
         rd_expect_u8(r, "a queue", MAX_QUEUES - 1, &r->m->data_queue[color]);
}

static bool read_teardown(IrReader *r)
{
  uint32_t color;
  return rd_expect_u32(r, "a color", MAX_COLORS - 1, &color) &&
         rd_expect_symbol(r, T_FUNC, &r->m->teardown_handler[color]);
}

static bool read_empty_handler(IrReader *r)
{
  bool output = rd_accept_word(r, "output");
  uint32_t queue;
  if (!output && !rd_accept_word(r, "input")) {
    const IrToken *t = rd_peek(r);
    diag_ir_expected(r->diags, t->span, "input or output", rd_token_text(r, t));
    return false;
  }
  return rd_expect_u32(r, "a queue", MAX_QUEUES - 1, &queue) &&
         rd_expect_symbol(r, T_FUNC, &r->m->empty_handler[output][queue]);
}

static bool read_dsr_init(IrReader *r)
{
  IrDsrInit init = {0};
  uint32_t number;
  const IrToken *t = rd_peek(r);
  if (!rd_dsr(r, &init.file, &number))
    return false;
  if (number >= MAX_DSRS) {
    diag_ir_out_of_range(r->diags, t->span, "a DSR", number, MAX_DSRS - 1);
    return false;
  }
  init.number = (uint8_t)number;
  if (!rd_desc(r, &init.desc))
    return false;
  arrput(r->dsrs, init);
  return true;
}

static bool read_config(IrReader *r)
{
  ImageConfig config;
  if (!rd_expect_u16(r, "a register's address", UINT16_MAX, &config.address) ||
      !rd_expect_u16(r, "a word", UINT16_MAX, &config.value))
    return false;
  arrput(r->configs, config);
  return true;
}

static bool read_active(IrReader *r)
{
  return rd_expect_number(r, "a mask of task ids", UINT64_MAX, &r->m->active);
}

static bool read_blocked(IrReader *r)
{
  return rd_expect_number(r, "a mask of task ids", UINT64_MAX, &r->m->blocked);
}

static bool read_paused(IrReader *r)
{
  return rd_expect_u8(r, "a mask of microthreads", UINT8_MAX, &r->m->paused);
}

static bool read_separate_control(IrReader *r)
{
  r->m->separate_control = true;
  return true;
}

static bool read_binding(IrReader *r)
{
  IrBinding b = {0};
  if (!rd_expect_u32(r, "an export's number", UINT32_MAX, &b.export_index) ||
      !rd_expect_either(r, &b.is_func, &b.target))
    return false;
  b.is_pointer = rd_accept_word(r, "pointer");
  if (rd_accept_word(r, "extent") &&
      !rd_expect_u16(r, "a number of elements", UINT16_MAX, &b.extent))
    return false;
  arrput(r->bindings, b);
  return true;
}

static bool read_loc(IrReader *r)
{
  uint64_t number;
  uint32_t at = 0;
  Span span;
  if (!rd_expect_number(r, "the next location", UINT32_MAX, &number) ||
      !rd_expect_u32(r, "an offset", UINT32_MAX, &span.off) ||
      !rd_expect_u32(r, "a length", UINT32_MAX, &span.len))
    return false;
  if (number != r->m->n_locs) {
    diag_ir_expected(r->diags, r->tokens[r->at - 3].span, "locations in order",
                     rd_token_text(r, &r->tokens[r->at - 3]));
    return false;
  }
  if (rd_accept_word(r, "at") && !rd_expect_u32(r, "a location before this", number - 1, &at))
    return false;
  const IrToken *name = rd_accept(r, T_TEXT);
  ir_loc_add(r->m, span, (IrLocId){at}, name ? name->text : NULL);
  return true;
}

/* ---- module ------------------------------------------------------------------------ */

static const struct {
  const char *word;
  bool (*read)(IrReader *r);
} statements[] = {
  {"loc", read_loc},           {"tile_param", read_tile_param}, {"tile_slot", read_tile_slot},
  {"global", read_global},     {"color", read_color},           {"data_queue", read_data_queue},
  {"teardown", read_teardown}, {"queue", read_queue},           {"dsr", read_dsr_init},
  {"config", read_config},     {"active", read_active},         {"blocked", read_blocked},
  {"task", read_task},         {"binding", read_binding},       {"func", rd_function},
  {"paused", read_paused},     {"empty", read_empty_handler},
  {"separate_control", read_separate_control},
};

static bool read_statement(IrReader *r)
{
  const char *names[ARRAY_COUNT(statements)];
  const IrToken *t = rd_next(r);
  for (size_t i = 0; t->kind == T_WORD && i < ARRAY_COUNT(statements); i++) {
    names[i] = statements[i].word;
    if (strcmp(t->text, names[i]) == 0)
      return statements[i].read(r) && rd_finish_line(r);
  }
  if (t->kind == T_WORD)
    rd_unknown_word(r, t->span, "statement", t->text, names, ARRAY_COUNT(statements));
  else
    diag_ir_expected(r->diags, t->span, "a statement", rd_token_text(r, t));
  return false;
}

/* Enters the names of all globals and functions. */
static void collect_names(IrReader *r)
{
  for (size_t i = 0; i + 1 < arrlenu(r->tokens); i++) {
    const IrToken *t = &r->tokens[i], *name = t + 1;
    if (!t->first || t->kind != T_WORD)
      continue;
    if (strcmp(t->text, "global") == 0 && name->kind == T_GLOBAL &&
        shgeti(r->globals, name->text) < 0)
      shput(r->globals, (char *)name->text, ir_global_add(r->m, name->text, 0, 1).raw);
    if (strcmp(t->text, "func") == 0 && name->kind == T_FUNC && shgeti(r->funcs, name->text) < 0)
      shput(r->funcs, (char *)name->text, ir_func_add(r->m, name->text, IRT_VOID, NULL, 0).raw);
  }
  r->global_done = arena_many(r->arena, bool, r->m->n_globals);
  r->func_done = arena_many(r->arena, bool, r->m->n_funcs);
}

static bool read_module_line(IrReader *r, Arch *arch, Fp16Format *fp16, const char **source)
{
  const IrToken *t = rd_next(r), *name;
  if (t->kind == T_WORD && strcmp(t->text, "module") == 0 && (name = rd_accept(r, T_WORD)) &&
      arch_from_name(name->text, arch) && (name = rd_accept(r, T_WORD))) {
    for (int i = 0; i < FP16_COUNT; i++) {
      const IrToken *path;
      if (strcmp(fp16_name((Fp16Format)i), name->text) == 0 && (path = rd_accept(r, T_TEXT))) {
        *fp16 = (Fp16Format)i;
        *source = path->text;
        return true;
      }
    }
  }
  diag_ir_no_module(r->diags, t->span, "module wse3 f16 \"main.csl\"");
  return false;
}

#define TO_MODULE(r, list)                                                                      \
  do {                                                                                          \
    (r)->m->n_##list = (uint32_t)arrlenu((r)->list);                                            \
    (r)->m->list = arena_alloc((r)->arena, sizeof *(r)->list * arrlenu((r)->list) + 1, 8);       \
    if ((r)->list)                                                                              \
      memcpy((r)->m->list, (r)->list, sizeof *(r)->list * arrlenu((r)->list));                  \
    arrfree((r)->list);                                                                         \
  } while (0)

static void finish_module(IrReader *r)
{
  TO_MODULE(r, tile_params);
  TO_MODULE(r, tile_slots);
  TO_MODULE(r, tasks);
  TO_MODULE(r, dsrs);
  TO_MODULE(r, configs);
  TO_MODULE(r, bindings);
}

IrModule *ir_read(Arena *arena, SourceMap *sources, FileId file, Diags *diags)
{
  IrReader r = {.arena = arena, .diags = diags};
  size_t length, errors = diags_error_count(diags);
  const char *text = source_text(sources, file, &length);
  Arch arch;
  Fp16Format fp16;
  const char *source;
  rd_scan_all(&r, text, length, source_base(sources, file));
  Span start = r.tokens[0].span;
  if (read_module_line(&r, &arch, &fp16, &source)) {
    r.m = ir_module_create(arena, arch, fp16);
    r.m->source = source;
    collect_names(&r);
    size_t line = r.at;
    if (!rd_finish_line(&r))
      rd_recover(&r, line);
    while (rd_peek(&r)->kind != T_END) {
      line = r.at;
      if (!read_statement(&r))
        rd_recover(&r, line);
    }
    finish_module(&r);
  }
  arrfree(r.tokens);
  shfree(r.globals);
  shfree(r.funcs);
  if (diags_error_count(diags) != errors)
    return NULL;
  const char *fault = ir_verify(r.m, arena);
  if (fault)
    diag_ir_invalid(diags, start, fault);
  return fault ? NULL : r.m;
}
