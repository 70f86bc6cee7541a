/* The notes that stand under an error or warning: where it happened (calls, imports, the tile),
 * where the names in it are declared, what may have been meant. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>
#include <string.h>

enum { CALLS_SHOWN = 8, IMPORTS_SHOWN = 3, PARAMS_SHOWN = 8, PARAM_TEXT_MOST = 24 };

/* ---- where it happened ---------------------------------------------------------------------- */

/* The chain of calls that made a function: its call, the call that made the caller, and so on;
 * their number.  `last` gets the outermost. */
static int note_instances(Sema *s, uint32_t func, int most, Span *last)
{
  int n = 0;
  while (func != IR_NO_ID && s->funcs[func].instantiated_at.off != 0 && n < most) {
    const FuncInstance *f = &s->funcs[func];
    *last = f->instantiated_at;
    diag_instantiated_here(s->diags, *last, sema_text(s, f->name));
    n++;
    for (uint32_t i = 0; i < f->n_inlined && n < most; i++, n++) {
      *last = f->inlined[i].at;
      diag_called_here(s->diags, *last, sema_text(s, f->inlined[i].name));
    }
    func = f->instantiated_by;
  }
  return n;
}

/* The calls that led to the point reached; the outermost, at offset 0 if there are none. */
static Span note_calls(Sema *s)
{
  int n = 0;
  Span last = {0, 0};
  for (const Frame *f = s->now.frame; f != NULL && n < CALLS_SHOWN && !f->is_declaration; f = f->up)
    if (f->called_at.off != 0 && f->called_at.off != last.off) {   /* recursion: once */
      diag_called_here(s->diags, f->called_at, sema_text(s, f->name));
      last = f->called_at;
      n++;
    } else if (f->is_emitted) {
      n += note_instances(s, f->func, CALLS_SHOWN - n, &last);
    }
  return last;
}

void sema_note_comptime_call(Sema *s)
{
  Span outermost = {0, 0};
  for (const Frame *f = s->now.frame; f != NULL && !f->is_declaration; f = f->up)
    if (f->called_at.off != 0)
      outermost = f->called_at;
  if (outermost.off != 0 && s->now.where == WHERE_TOP)
    diag_called_at_comptime(s->diags, outermost);
}

static bool is_outside(const Sema *s, Span at)
{
  const Session *session = s->session;
  return at.off != 0 &&
         !files_is_standard(session->files, source_file_of(session->sources, at.off));
}

/* The innermost of the calls that note_instances names. */
static Span instance_outside(const Sema *s, uint32_t func)
{
  for (; func != IR_NO_ID; func = s->funcs[func].instantiated_by) {
    const FuncInstance *f = &s->funcs[func];
    if (is_outside(s, f->instantiated_at))
      return f->instantiated_at;
    for (uint32_t i = 0; i < f->n_inlined; i++)
      if (is_outside(s, f->inlined[i].at))
        return f->inlined[i].at;
  }
  return (Span){0, 0};
}

Span sema_place_outside(const Sema *s, Span at)
{
  Span place = at;
  for (const Frame *f = s->now.frame; f != NULL && !is_outside(s, place) && !f->is_declaration;
       f = f->up)
    place = f->called_at.off != 0 || !f->is_emitted ? f->called_at : instance_outside(s, f->func);
  for (uint32_t m = s->now.module; m < arrlenu(s->modules) && !is_outside(s, place);
       m = s->modules[m].parent)
    place = s->modules[m].imported_at;
  return is_outside(s, place) ? place : at;
}

static const char *short_value(Sema *s, PoolId value)
{
  PoolKind kind = pool_kind(s->pool, value);
  bool is_type = kind == PK_WELL_KNOWN_TYPE || kind == PK_INT_TYPE;
  if (!is_type && kind != PK_INT && kind != PK_FLOAT && kind != PK_BOOL_VALUE && kind != PK_STRING)
    return NULL;
  const char *text = is_type ? type_text(s->pool, s->arena, value)
                             : value_text(s->pool, s->arena, value);
  if (strlen(text) > PARAM_TEXT_MOST)
    return NULL;
  return kind == PK_STRING ? arena_printf(s->arena, "\"%s\"", text) : text;
}

/* "NAME = VALUE, ..." of the parameters that are short; NULL if there are none. */
static const char *params_text(Sema *s, PoolId params)
{
  if (pool_is_none(params) || pool_kind(s->pool, params) != PK_AGGREGATE)
    return NULL;
  PoolKey type = pool_key(s->pool, pool_type_of(s->pool, params));
  PoolKey value = pool_key(s->pool, params);
  const char *text = NULL;
  unsigned shown = 0;
  for (uint32_t i = 0; i < value.u.aggregate.n && !type.u.fields.is_tuple; i++) {
    const char *one = short_value(s, value.u.aggregate.elems[i]);
    if (one == NULL)
      continue;
    if (shown++ == PARAMS_SHOWN)
      return arena_printf(s->arena, "%s, ...", text);
    text = arena_printf(s->arena, "%s%s%s = %s", text ? text : "", text ? ", " : "",
                        sema_text(s, type.u.fields.fields[i].name), one);
  }
  return text;
}

/* The imports that lead to the module at hand: what its parameters are may be to blame.  Calls lead
 * from that module to the one of the outermost call; imports lead on from there. */
static void note_imports(Sema *s, Span outermost)
{
  int shown = 0;
  bool is_called = outermost.off != 0;
  uint32_t caller = source_file_of(s->session->sources, outermost.off).raw;
  for (uint32_t m = s->now.module; m < arrlenu(s->modules) && s->modules[m].parent != IR_NO_ID &&
                               shown < IMPORTS_SHOWN; m = s->modules[m].parent) {
    const ModuleInstance *module = &s->modules[m];
    const char *params = params_text(s, module->params);
    is_called = is_called && module->ast->file.raw != caller;
    if (params != NULL)
      diag_imported_with(s->diags, module->imported_at, sema_text(s, module->path), params);
    else if (!is_called)
      diag_imported_here(s->diags, module->imported_at, sema_text(s, module->path));
    else
      continue;
    shown++;
  }
}

static void note_context(Diags *diags, void *data)
{
  Sema *s = data;
  if (s->own->unused != NULL) {
    diag_nothing_uses(diags, s->own->unused->name_span, sema_text(s, s->own->unused->name));
    return;
  }
  note_imports(s, note_calls(s));
  uint32_t x, y;
  Span span;
  PoolId params;
  if (s->tile == NULL || !tile_env_place(s, &x, &y, &span, &params) || span.off == 0)
    return;
  const char *text = params_text(s, params);
  if (text != NULL)
    diag_in_tile(diags, span, x, y, text);
}

void context_enter(Sema *s)
{
  s->own->outer = diags_hook_data(s->diags);
  diags_set_hook(s->diags, note_context, s);
}

void context_leave(Sema *s)
{
  diags_set_hook(s->diags, s->own->outer ? note_context : NULL, s->own->outer);
}

/* ---- what the names mean -------------------------------------------------------------------- */

/* Does the expression start with the name?  An operand keeps the name of its declaration through
 * members of other modules, where it must not be looked up. */
static bool starts_with_name(Sema *s, Span span, const char *name)
{
  size_t left, length = strlen(name);
  FileId file = source_file_of(s->session->sources, span.off);
  if (file_is_none(file) || span.len < length)
    return false;
  const char *text = source_text(s->session->sources, file, &left);
  return memcmp(text + (span.off - source_base(s->session->sources, file)), name, length) == 0;
}

void sema_note_declared(Sema *s, const Operand *o)
{
  if (str_is_none(o->name) || !starts_with_name(s, o->span, sema_text(s, o->name)))
    return;
  const Local *local = scope_find(s, o->name);
  const Decl *decl = local != NULL ? NULL : sema_find_decl(s, s->now.module, o->name);
  if (local != NULL)
    diag_declared_here(s->diags, local->span, sema_text(s, o->name));
  else if (decl != NULL)
    diag_declared_here(s->diags, decl->name_span, sema_text(s, o->name));
}

/* Two types that a message would write the same way. */
static bool are_alike(Sema *s, PoolId type, PoolId other)
{
  const char *text = type_text(s->pool, s->arena, type);
  bool is_whole = strstr(text, "...") == NULL;
  return !pool_eq(type, other) && is_whole &&
         strcmp(text, type_text(s->pool, s->arena, other)) == 0;
}

/* The first field of both struct types that has types which are alike; NULL: there is none. */
static const PoolField *field_alike(Sema *s, PoolId type, PoolId other)
{
  PoolKey a = pool_key(s->pool, type), b = pool_key(s->pool, other);
  if (a.kind != PK_STRUCT_TYPE || b.kind != PK_STRUCT_TYPE)
    return NULL;
  for (uint32_t i = 0; i < a.u.fields.n; i++)
    for (uint32_t k = 0; k < b.u.fields.n; k++)
      if (str_eq(a.u.fields.fields[i].name, b.u.fields.fields[k].name) &&
          are_alike(s, a.u.fields.fields[i].type, b.u.fields.fields[k].type))
        return &a.u.fields.fields[i];
  return NULL;
}

void sema_note_alike(Sema *s, PoolId expected, PoolId found, Span span)
{
  const PoolField *field = field_alike(s, expected, found);
  if (are_alike(s, expected, found))
    diag_types_alike(s->diags, span);
  else if (field != NULL)
    diag_types_alike_field(s->diags, span, sema_text(s, field->name));
}

static const Node *declared_as(Sema *s, StrId name)
{
  const Local *local = scope_find(s, name);
  if (local)
    return local->init;
  const Decl *decl = sema_find_decl(s, s->now.module, name);
  return decl && decl->kind == DECL_CONST ? node_var_decl(decl->node)->init : NULL;
}

bool sema_is_call_of(Sema *s, const Node *n, const char *path, const char *beginning)
{
  if (node_kind(n) == ND_IDENT)
    n = declared_as(s, node_ident(n)->name);
  const Node *callee = n && node_kind(n) == ND_CALL ? node_call(n)->callee : NULL;
  if (!callee || node_kind(callee) != ND_MEMBER ||
      node_kind(node_member(callee)->base_expr) != ND_IDENT)
    return false;
  const NodeMember *member = node_member(callee);
  const Decl *module =
    sema_find_decl(s, s->now.module, node_ident(member->base_expr)->name);
  if (!module || module->state != DECL_DONE || pool_kind(s->pool, module->value) != PK_MODULE)
    return false;
  const char *name = sema_text(s, member->name.text);
  uint32_t index = pool_key(s->pool, module->value).u.index;
  return strncmp(name, beginning, strlen(beginning)) == 0 &&
         strcmp(sema_text(s, s->modules[index].path), path) == 0;
}

/* Names and builtins of other languages, and what one writes here. */
enum { OF_OTHERS_MOST = 16 };
static const struct { const char *help, *names[OF_OTHERS_MOST]; } other_languages[] = {
  {"integer types are i8, i16, i32, i64 and u8, u16, u32, u64", {"int"}},
  {"unsigned integer types are u8, u16, u32 and u64", {"uint", "unsigned", "usize"}},
  {"unsigned integer types are u8, u16, u32 and u64; u16 indexes all of a tile's memory",
   {"size_t"}},
  {"signed integer types are i8, i16, i32 and i64", {"isize", "short", "long"}},
  {"bytes are u8; texts are comptime_string, known at compile time only", {"char"}},
  {"texts are comptime_string, known at compile time only", {"string"}},
  {"float types are f16 and f32", {"float", "double", "f64"}},
  {"the 16-bit float type is f16", {"half"}},
  {"types of DSDs are mem1d_dsd, mem4d_dsd, circbuf_dsd, fabin_dsd and fabout_dsd",
   {"mem1d", "mem4d", "fabin", "fabout"}},
  {"'_' only drops a value; an array type says its number of elements: '[3]i16{ 1, 2, 3 }'", {"_"}},
  {"a variable without a value is declared without '=': 'var x: i16;'", {"undefined"}},
  {"pointers always point to something; there is no null", {"null", "NULL", "nullptr", "None"}},
  {"the values of bool are true and false", {"True", "False"}},
  {"the directions are NORTH, SOUTH, EAST, WEST and RAMP, the tile's own",
   {"UP", "DOWN", "LEFT", "RIGHT"}},
  {"a range is '@range(TYPE, STOP)', as in 'for (@range(i16, 4)) |i| { ... }'", {"range"}},
  {"memory is declared at the top of the file: 'var buffer: [64]f32;'", {"malloc"}},
  {"a tile gets its place from the layout: '@set_tile_code(x, y, \"FILE.csl\", "
   ".{ .x = x, .y = y })' and 'param x: u16;'",
   {"threadIdx", "blockIdx", "blockDim", "gridDim", "get_global_id"}},
  {"tiles share no memory: they wait for each other's wavelets, or in <collectives/barrier>",
   {"__syncthreads", "barrier"}},
  {"'for (ARRAY) |ITEM, INDEX| { ... }' counts by itself", {"enumerate", "zip"}},
  {"messages as in MPI are in <mpi>, whose routes <mpi/layout> sets",
   {"MPI_Init", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Send", "MPI_Recv", "MPI_Bcast",
    "MPI_Reduce", "MPI_Allreduce", "MPI_Barrier", "MPI_Gather", "MPI_Scatter"}},
  {"the libraries are imported by name, as in '@import_module(\"<math>\")'", {"std"}},
  {"files and libraries are imported by '@import_module(\"FILE.csl\")'",
   {"import", "include", "cImport"}},
  {"'@import_comptime_value(TYPE, \"FILE.json\")' reads a value from a file", {"embedFile"}},
  {"a value is converted by '@as(TYPE, VALUE)'",
   {"intCast", "floatCast", "truncate", "intFromFloat", "floatFromInt", "intToFloat", "floatToInt",
    "intFromEnum", "enumFromInt", "enumToInt", "intToEnum", "intFromBool", "boolToInt", "cast"}},
  {"a pointer and its address as u16 are converted by '@bitcast(TYPE, VALUE)'",
   {"intToPtr", "ptrFromInt", "ptrToInt", "intFromPtr"}},
  {"a pointer gets another type by '@ptrcast(TYPE, VALUE)'", {"alignCast", "constCast"}},
  {"the type of a value is '@type_of(VALUE)'", {"TypeOf", "typeOf"}},
  {"what is known of a type is in <types>: '@import_module(\"<types>\")'",
   {"typeInfo", "bitSizeOf", "typeName"}},
  {"'@element_count(@type_of(ARRAY))' is the number of an array's elements",
   {"sizeOf", "sizeof", "size_of", "len", "length"}},
  {"@comptime_print shows compile-time values; at run time there is <simprint>",
   {"print", "printf", "println", "compileLog"}},
  {"'@comptime_assert(false, \"TEXT\")' ends the compilation, '@assert(false)' the run",
   {"compileError", "panic", "trap", "error", "unreachable"}},
  {"the opposite of a bool is '!VALUE'", {"not"}},
  {"functions of numbers are in <math>: '@import_module(\"<math>\")'",
   {"sqrt", "min", "max", "abs", "floor", "ceil", "sin", "cos", "tanh", "exp", "log", "pow", "fabs",
    "fmin", "fmax"}},
  {"functions of numbers are in <math>: '@import_module(\"<math>\")'",
   {"sqrtf", "floorf", "ceilf", "sinf", "cosf", "tanhf", "expf", "logf", "powf", "fabsf", "fminf",
    "fmaxf", "isnan", "isinf", "round"}},
  {"arrays are '@zeros([4]f32)' and '[2]f32{ 1.0, 2.0 }'; DSD operations such as "
   "'@fadds(dest, a, b)' compute with them", {"np", "numpy", "zeros", "ones"}},
  {"DSD operations on integers have 16 bits, and none multiplies or divides: "
   "'@map(FUNCTION, SOURCE, DEST)' calls a function for each element",
   {"add32", "sub32", "mul32", "and32", "or32", "xor32", "mul16", "div16", "div32", "max16",
    "min16"}},
  {"no DSD operation divides or takes the smaller: '@map(FUNCTION, SOURCE, DEST)' calls a "
   "function for each element",
   {"fdivs", "fdivh", "fdiv", "fmins", "fminh", "fmin", "fsqrts", "fsqrth", "fsqrt", "fexps",
    "frecips"}},
  {"integers are divided by '/' and '%', which round towards zero",
   {"divTrunc", "divExact", "divFloor", "div", "rem", "mod"}},
  {"'a * b + c' on numbers, '@fmacs(DEST, A, B, C)' on DSDs", {"mulAdd", "fma"}},
  {"'+', '-', '*' and shifts of integers wrap at run time and report no overflow",
   {"addWithOverflow", "subWithOverflow", "mulWithOverflow", "shlWithOverflow", "shlExact",
    "shrExact"}},
  {"a DSD operation copies: '@mov32(dest, source)', '@fmovs(dest, source)'",
   {"memcpy", "memmove", "copy"}},
  {"a DSD operation sets: '@mov32(dest, 0)', '@fmovs(dest, 0.0)'", {"memset", "fill", "set"}},
};

static bool is_one_of(const char *name, const char *const names[OF_OTHERS_MOST])
{
  for (size_t i = 0; i < OF_OTHERS_MOST && names[i]; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}

bool sema_note_other_language(Sema *s, const char *name, Span span)
{
  for (size_t i = 0; i < ARRAY_COUNT(other_languages); i++)
    if (is_one_of(name, other_languages[i].names)) {
      diag_syntax_help(s->diags, span, other_languages[i].help);
      return true;
    }
  return false;
}

/* Names that programs mostly give to modules of the library, with what follows the module. */
static const struct { const char *name, *library, *params; } usual_modules[] = {
  {"sys_mod", "memcpy/memcpy", ", memcpy_params"}, {"timestamp", "time", ""}, {"tsc", "time", ""},
  {"math_lib", "math", ""}, {"ctrl", "control", ""}, {"layout_mod", "layout", ""},
};

static bool note_usual_module(Sema *s, const char *name, Span span)
{
  for (size_t i = 0; i < ARRAY_COUNT(usual_modules); i++)
    if (strcmp(usual_modules[i].name, name) == 0) {
      diag_import_usual(s->diags, span, name, usual_modules[i].library, usual_modules[i].params);
      return true;
    }
  return false;
}

bool sema_note_foreign(Sema *s, const char *name, Span span)
{
  if (sema_note_other_language(s, name, span) || note_usual_module(s, name, span))
    return true;
  /* uint32_t and the like */
  bool is_unsigned = name[0] == 'u';
  const char *digits = name + (is_unsigned ? 4 : 3), *end = digits;
  if (strncmp(name + is_unsigned, "int", 3) != 0)
    return false;
  while (*end >= '0' && *end <= '9')
    end++;
  if (end == digits || (*end != 0 && strcmp(end, "_t") != 0))
    return false;
  diag_suggest(s->diags, span, arena_printf(s->arena, "%c%.*s", is_unsigned ? 'u' : 'i',
                                            (int)(end - digits), digits));
  return true;
}

void diag_suggest(Diags *diags, Span span, const char *name)
{
  if (name == NULL)
    return;
  diag_did_you_mean(diags, span, name);
  diags_fix(diags, span, name);
}

static bool is_other_queue(PoolId type, PoolId found)
{
  return (pool_eq(type, POOL(INPUT_QUEUE)) && pool_eq(found, POOL(OUTPUT_QUEUE))) ||
         (pool_eq(type, POOL(OUTPUT_QUEUE)) && pool_eq(found, POOL(INPUT_QUEUE)));
}

void sema_note_makes_one(Sema *s, PoolId type, PoolId found, Span span)
{
  static const struct { uint32_t type; const char *form; } makers[] = {
    {POOL_RAW_COLOR, "@get_color(NUMBER)"},
    {POOL_RAW_INPUT_QUEUE, "@get_input_queue(NUMBER)"},
    {POOL_RAW_OUTPUT_QUEUE, "@get_output_queue(NUMBER)"},
    {POOL_RAW_LOCAL_TASK_ID, "@get_local_task_id(NUMBER)"},
    {POOL_RAW_CONTROL_TASK_ID, "@get_control_task_id(NUMBER)"},
    {POOL_RAW_UT_ID, "@get_ut_id(NUMBER)"}};
  if (pool_eq(type, POOL(DATA_TASK_ID)))
    diag_makes_one(s->diags, span, s->session->options->arch == ARCH_WSE2
                                     ? "@get_data_task_id(COLOR)"
                                     : "@get_data_task_id(INPUT_QUEUE)");
  for (size_t i = 0; i < ARRAY_COUNT(makers); i++)
    if (makers[i].type == type.raw && (type_is_int(s->pool, found) || is_other_queue(type, found)))
      diag_makes_one(s->diags, span, makers[i].form);
  PoolKey to = pool_key(s->pool, type), from = pool_key(s->pool, found);
  if (to.kind == PK_POINTER_TYPE && to.u.pointer_type.is_many &&
      from.kind == PK_POINTER_TYPE && !from.u.pointer_type.is_many &&
      pool_eq(to.u.pointer_type.pointee, from.u.pointer_type.pointee))
    diag_many_from_one(s->diags, span);
}

void sema_note_void(Sema *s, const Operand *o, Span span)
{
  const char *name = str_is_none(o->name) ? "" : sema_text(s, o->name);
  if (!pool_eq(o->type, POOL(VOID)))
    return;
  if (strncmp(name, "MEMCPY", strlen("MEMCPY")) == 0)
    diag_stream_without_color(s->diags, span, name);
  else if (o->kind == OPR_COMPTIME && *name)
    diag_void_param(s->diags, span);
}

static bool is_span(Span a, Span b) { return a.off == b.off && a.len == b.len; }

void sema_first_here(Sema *s, Span at, Span first)
{
  const Ast *ast = s->modules[s->now.module].ast;
  for (uint32_t m = 0; is_span(at, first) && m < arrlenu(s->modules); m++)
    if (s->modules[m].ast == ast && m != s->now.module && s->modules[m].parent != IR_NO_ID) {
      diag_first_in_import(s->diags, s->modules[m].imported_at, sema_text(s, s->modules[m].path));
      return;
    }
  diag_first_here(s->diags, first);
}

/* ---- where parameters are bound -------------------------------------------------------------- */

/* The line of a host script that has set the parameter to what it is; off 0: none has. */
static Span outside_span(Sema *s, const ModuleInstance *m, StrId name)
{
  PoolId value = pool_is_none(m->params) ? m->params : pool_field(s->pool, m->params, name);
  if (!pool_is_none(value))
    value = value_on_tile(s, value);
  for (size_t i = s->session->n_outside; i-- > 0;) {
    const OutsideBinding *b = &s->session->outside[i];
    if (is_span(b->owner, m->imported_at) && str_eq(b->name, name) && pool_eq(b->value, value))
      return b->span;
  }
  return (Span){0};
}

Span module_binding_span(Sema *s, const ModuleInstance *m, StrId name, Span *name_span)
{
  const Node *n = m->params_node;
  if (n != NULL && node_kind(n) == ND_STRUCT_INIT)
    for (uint32_t i = 0; i < node_struct_init(n)->fields.count; i++) {
      const NodeFieldInit *field = node_field_init(node_struct_init(n)->fields.at[i]);
      if (str_eq(field->name.text, name)) {
        *name_span = field->name.span;
        return field->value->span;
      }
    }
  Span outside = outside_span(s, m, name);
  *name_span = n != NULL ? n->span : outside.off ? outside : m->imported_at;
  const OptionBinding *options[] = {s->session->options->params, s->session->options->colors};
  for (size_t k = 0; k < ARRAY_COUNT(options) && name_span->off == 0; k++)
    for (size_t i = 0; i < arrlenu(options[k]); i++)
      if (strcmp(options[k][i].name, sema_text(s, name)) == 0)
        *name_span = options[k][i].span;
  return *name_span;
}

/* ---- parameters of library modules ----------------------------------------------------------- */

/* The comment behind the code of a line, without its slashes; NULL if there is none. */
static const char *comment_behind(Sema *s, Span code)
{
  size_t left;
  FileId file = source_file_of(s->session->sources, code.off);
  const char *text = source_text(s->session->sources, file, &left);
  const char *from = text + (code.off - source_base(s->session->sources, file));
  const char *end = memchr(from, '\n', left - (size_t)(from - text));
  if (end == NULL)
    end = text + left;
  while (from + 2 < end && memcmp(from, "//", 2) != 0)
    from++;
  if (from + 2 >= end)
    return NULL;
  for (from += 2; from < end && *from == ' ';)
    from++;
  return arena_printf(s->arena, "%.*s", (int)(end - from), from);
}

void sema_note_param(Sema *s, const Decl *d)
{
  const char *name = sema_text(s, d->name);
  const char *comment = sema_is_library(s, d->module) ? comment_behind(s, d->name_span) : NULL;
  if (comment != NULL)
    diag_parameter_is(s->diags, d->name_span, name, comment);
  else
    diag_declared_here(s->diags, d->name_span, name);
}

bool sema_report_other_struct(Sema *s, const Operand *base, StrId member)
{
  if (base->kind != OPR_COMPTIME || str_is_none(base->name) || !sema_in_library(s) ||
      scope_find(s, base->name) != NULL)
    return false;
  Decl *d = sema_find_decl(s, s->now.module, base->name);
  if (d == NULL || d->kind != DECL_PARAM || !pool_eq(d->value, base->value))
    return false;
  const ModuleInstance *m = &s->modules[s->now.module];
  Span name_span;
  diag_other_struct_bound(s->diags, module_binding_span(s, m, d->name, &name_span),
                          sema_text(s, m->path), sema_text(s, d->name), sema_text(s, member));
  sema_note_param(s, d);
  d->state = DECL_FAILED;
  return true;
}
