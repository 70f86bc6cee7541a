/* Breakpoints of all kinds, and the stops that need none. */
#include "emu/dap/dap_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* ---- what breakpoints have in common --------------------------------------------------------- */

static void remove_owned(DapServer *s, BreakOwner owner, uint32_t file)
{
  for (size_t i = arrlenu(s->owned); i-- > 0;)
    if (s->owned[i].owner == owner && s->owned[i].file == file) {
      stops_remove(&s->debugger, s->owned[i].number);
      arrdel(s->owned, i);
    }
}

/* Condition and region of a client's breakpoint: "@X,Y[,W,H] [[if] CONDITION]".  The texts live in
 * `room`, from malloc. */
static void split_condition(const json_t *given, BreakSpec *spec, char **room)
{
  *room = base_print("%s", arg_text(given, "condition", ""));
  spec->condition = *room;
  spec->hits = arg_text(given, "hitCondition", NULL);
  spec->log = arg_text(given, "logMessage", NULL);
  if (**room != '@')
    return;
  char *end = *room + strcspn(*room, " ");
  spec->region = *room + 1;
  spec->condition = end + strspn(end, " ");
  *end = 0;
  if (strncmp(spec->condition, "if ", 3) == 0)
    spec->condition += 3;
}

static json_t *unverified(const char *why)
{
  return json_pack("{s:b,s:o}", "verified", 0, "message", base_json_text(why));
}

static json_t *describe_break(DapServer *s, const Break *b)
{
  json_t *out = json_pack("{s:i,s:b}", "id", (int)b->number, "verified", 1);
  if (b->line)
    json_object_set_new(out, "line", json_integer(b->line + s->line_base));
  return out;
}

/* Sets one, as the client has described it beside `spec`. */
static json_t *set_break(DapServer *s, const json_t *given, BreakSpec spec, BreakOwner owner,
                         uint32_t file)
{
  char *room, *text = NULL;
  size_t length;
  split_condition(given, &spec, &room);
  FILE *out = capture_begin(s, &text, &length);
  const Break *b = stops_add(&s->debugger, &spec);
  capture_end(s, out, &text);
  json_t *answer = b ? describe_break(s, b) : unverified(text);
  if (b)
    arrput(s->owned, ((OwnedBreak){b->number, owner, file}));
  free(text);
  free(room);
  return answer;
}

/* How one breakpoint of a request becomes one of the debugger's; file: that of the request's
 * source, or 0. */
typedef json_t *SetOne(DapServer *s, const json_t *given, uint32_t file);

/* The answer to a request that replaces all breakpoints of this owner and file. */
static json_t *set_each(DapServer *s, const json_t *args, BreakOwner owner, uint32_t file,
                        SetOne *set_one)
{
  json_t *list = json_array();
  const json_t *given;
  size_t i;
  remove_owned(s, owner, file);
  json_array_foreach(json_object_get(args, "breakpoints"), i, given)
    json_array_append_new(list, set_one(s, given, file));
  return json_pack("{s:o}", "breakpoints", list);
}

/* ---- lines, functions, instructions ---------------------------------------------------------- */

static json_t *set_line(DapServer *s, const json_t *given, uint32_t file)
{
  json_int_t line = arg_number(given, "line", 0) - s->line_base;
  if (file == UINT32_MAX || line < 1 || line > UINT32_MAX)
    return unverified("no tile has code of this file");
  char *place = base_print("%s:%lld", s->debugger.program->image->files[file], (long long)line);
  json_t *answer =
      set_break(s, given, (BreakSpec){.kind = BREAK_CODE, .place = place}, OWNER_SOURCE, file);
  free(place);
  return answer;
}

json_t *answer_set_lines(DapServer *s, const json_t *args)
{
  json_t *source = json_object_get(args, "source"), *answer;
  uint32_t file = places_file(s, source);
  json_t *body = set_each(s, args, OWNER_SOURCE, file, set_line);
  size_t i;
  json_array_foreach(json_object_get(body, "breakpoints"), i, answer)
    if (file != UINT32_MAX)
      json_object_set(answer, "source", source);
  return body;
}

/* A function's name; or, as on the command line, "task NAME", "wavelet COLOR ...", "switch COLOR".
 */
static json_t *set_function(DapServer *s, const json_t *given, uint32_t file)
{
  BreakSpec spec = {0};
  spec.kind = stops_kind(arg_text(given, "name", ""), &spec.place);
  return set_break(s, given, spec, OWNER_FUNCTION, file);
}

json_t *answer_set_functions(DapServer *s, const json_t *args)
{
  return set_each(s, args, OWNER_FUNCTION, 0, set_function);
}

static json_t *take_why(DapServer *s)
{
  json_t *answer = unverified(s->why);
  free(s->why);
  s->why = NULL;
  return answer;
}

static json_t *set_instruction(DapServer *s, const json_t *given, uint32_t file)
{
  uint32_t tile;
  int64_t address;
  if (!reference_read(s, arg_text(given, "instructionReference", ""), &tile, &address))
    return take_why(s);
  char *place = base_print("*%lld", (long long)address + arg_number(given, "offset", 0));
  BreakSpec spec = {.kind = BREAK_CODE,
                    .place = place,
                    .has_class = true,
                    .cls = s->debugger.program->image->tile_class[tile]};
  json_t *answer = set_break(s, given, spec, OWNER_INSTRUCTION, file);
  free(place);
  return answer;
}

json_t *answer_set_instructions(DapServer *s, const json_t *args)
{
  return set_each(s, args, OWNER_INSTRUCTION, 0, set_instruction);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* A variable among those of a reference, or an expression in a frame. */
static bool find_data(DapServer *s, const json_t *args, const char *name, uint32_t *tile,
                      EvalValue *value, char **why)
{
  Frames frames;
  json_int_t reference = arg_number(args, "variablesReference", 0);
  json_int_t frame = arg_number(args, "frameId", 0);
  FrameHandle at = {s->debugger.tile, s->debugger.frame};
  char *path = base_print("%s", name);
  if (reference > 0 && (size_t)reference <= arrlenu(s->handles)) {
    const Handle *h = &s->handles[reference - 1];
    at = (FrameHandle){h->tile, h->frame};
    free(path);
    path = values_path(h, name);
  } else if (frame > 0 && (size_t)frame <= arrlenu(s->frames)) {
    at = s->frames[frame - 1];
  }
  EvalContext e = evaluate_context(s->debugger.timeline, at.tile, at.frame, &frames);
  bool ok = evaluate_text(&e, path, value);
  *why = ok ? NULL : base_print("%s", e.why);
  *tile = at.tile;
  free(path);
  return ok;
}

json_t *answer_data_info(DapServer *s, const json_t *args)
{
  uint32_t tile;
  EvalValue v;
  char *why;
  const char *name = arg_text(args, "name", "");
  bool found = find_data(s, args, name, &tile, &v, &why);
  bool fits =
      found && v.kind == EVAL_TYPED && v.in_memory && v.type->bytes && v.type->bytes <= BREAK_BYTES;
  if (!fits) {
    char *text =
        found ? base_print("'%s' is no variable in memory of at most %d bytes", name, BREAK_BYTES)
              : base_print("%s", why);
    json_t *body = json_pack("{s:n,s:o}", "dataId", "description", base_json_text(text));
    free(text);
    free(why);
    return body;
  }
  char *place = reference_text(s, tile, v.address);
  char *id = base_print("%s+%u", place, v.type->bytes);
  char *text = base_print("%s of P%u.%u", name, program_x(s->debugger.program, tile),
                          program_y(s->debugger.program, tile));
  json_t *body = json_pack("{s:o,s:o,s:[s],s:b}", "dataId", base_json_text(id), "description",
                           base_json_text(text), "accessTypes", "write", "canPersist", 0);
  free(place);
  free(id);
  free(text);
  return body;
}

static json_t *set_data(DapServer *s, const json_t *given, uint32_t file)
{
  const char *id = arg_text(given, "dataId", ""), *plus = strrchr(id, '+');
  BreakSpec spec = {.kind = BREAK_WATCH, .place = id};
  char *place = base_print("%.*s", plus ? (int)(plus - id) : 0, id);
  int64_t address = 0;
  spec.bytes = plus ? (uint32_t)strtoul(plus + 1, NULL, 10) : 0;
  bool ok = spec.bytes && reference_read(s, place, &spec.tile, &address);
  spec.address = (uint32_t)address;
  json_t *answer = ok ? set_break(s, given, spec, OWNER_DATA, file)
                      : unverified("this is no variable of a tile");
  free(s->why);
  s->why = NULL;
  free(place);
  return answer;
}

json_t *answer_set_data(DapServer *s, const json_t *args)
{
  return set_each(s, args, OWNER_DATA, 0, set_data);
}

/* ---- faults and ends ------------------------------------------------------------------------- */

static const struct {
  const char *filter, *label;
  bool normally;
} filters[] = {
    {"fault", "Faults and hazards", true},
    {"deadlock", "Deadlock, and the limit of cycles", true},
    {"end", "End of the run", false},
};

json_t *breakpoint_filters(void)
{
  json_t *list = json_array();
  for (size_t i = 0; i < ARRAY_COUNT(filters); i++)
    json_array_append_new(list, json_pack("{s:s,s:s,s:b}", "filter", filters[i].filter, "label",
                                          filters[i].label, "default", filters[i].normally));
  return list;
}

static void choose_filter(bool chosen[ARRAY_COUNT(filters)], const char *name)
{
  for (size_t i = 0; i < ARRAY_COUNT(filters); i++)
    chosen[i] |= strcmp(filters[i].filter, name) == 0;
}

json_t *answer_set_exceptions(DapServer *s, const json_t *args)
{
  bool chosen[ARRAY_COUNT(filters)] = {false};
  const json_t *given;
  size_t i;
  json_array_foreach(json_object_get(args, "filters"), i, given)
      choose_filter(chosen, json_is_string(given) ? json_string_value(given) : "");
  json_array_foreach(json_object_get(args, "filterOptions"), i, given)
      choose_filter(chosen, arg_text(given, "filterId", ""));
  s->on_fault = chosen[0];
  s->on_stuck = chosen[1];
  s->on_end = chosen[2];
  return NULL;
}
