/* @import_comptime_value: a JSON file as a comptime value of a given type.
 *
 * Numbers must fit their type; an array may be flat if the type has several dimensions; the keys of
 * an object have the form "name:type" with the type of the field. */
#include "frontend/sema/builtins.h"
#include "frontend/sema/sema_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct { Sema *s; Span at; const char *why; } Import;

static PoolId import_value(Import *in, PoolId type, const json_t *json);

static PoolId note_failure(Import *in, const char *why)
{
  if (!in->why)
    in->why = why;
  return POOL(POISON);
}

static PoolId import_number(Import *in, PoolId type, const json_t *json)
{
  Pool *pool = in->s->pool;
  if (type_is_float(pool, type))
    return json_is_number(json) ? pool_float(pool, type, json_number_value(json))
                                : note_failure(in, "expected a number");
  if (!json_is_integer(json))
    return note_failure(in, "expected an integer");
  json_int_t v = json_integer_value(json);
  if (pool_eq(type, POOL(COLOR)))
    return v >= 0 && v < (json_int_t)sema_machine(in->s)->colors
             ? pool_int(pool, type, v) : note_failure(in, "no such color");
  return value_small_fits(pool, type, v) ? pool_int(pool, type, v)
                                         : note_failure(in, "a number does not fit its type");
}

/* Leaves of nested lists in order. */
static bool flatten_lists(Import *in, PoolId element, const json_t *json, PoolId *out, uint64_t n,
                          uint64_t *at)
{
  if (!json_is_array(json)) {
    if (*at == n)
      return note_failure(in, "too many elements"), false;
    out[*at] = import_value(in, element, json);
    return !pool_eq(out[(*at)++], POOL(POISON));
  }
  for (size_t i = 0; i < json_array_size(json); i++)
    if (!flatten_lists(in, element, json_array_get(json, i), out, n, at))
      return false;
  return true;
}

static PoolId import_array(Import *in, PoolId type, const json_t *json)
{
  Pool *pool = in->s->pool;
  uint64_t n = type_element_count(pool, type), at = 0;
  PoolId element = pool_key(pool, type).u.array.element;
  if (!json_is_array(json))
    return note_failure(in, "expected a list");
  PoolId *elems = arena_many(in->s->arena, PoolId, n + 1);
  if (!flatten_lists(in, element, json, elems, n, &at))
    return POOL(POISON);
  if (at != n)
    return note_failure(in, "too few elements");
  return pool_aggregate(pool, type, elems, (uint32_t)n);
}

/* The type that the text after the colon of a key names: a scalar or an array of one. */
static PoolId key_type(Import *in, const char *text)
{
  uint32_t dims[4], rank = 0;
  if (*text == '[') {
    do {
      char *end;
      unsigned long v = strtoul(text + 1, &end, 10);
      if (end == text + 1 || (*end != ',' && *end != ']') || rank == ARRAY_COUNT(dims) ||
          v > UINT16_MAX)
        return note_failure(in, "the array type of a key has no sizes");
      dims[rank++] = (uint32_t)v;
      text = end;
    } while (*text == ',');
    text++;
  }
  PoolId element = scope_predeclared_type(in->s, sema_name(in->s, text));
  if (pool_is_none(element))
    return note_failure(in, "a key names an unknown type: known are 'bool', 'color', "
                            "'comptime_string', the types of numbers and arrays of these");
  return rank ? pool_array_type(in->s->pool, dims, rank, element) : element;
}

static PoolId import_struct(Import *in, const json_t *json)
{
  if (!json_is_object(json))
    return note_failure(in, "expected an object");
  size_t n = json_object_size(json), i = 0;
  const char **names = arena_many(in->s->arena, const char *, n + 1);
  PoolId *values = arena_many(in->s->arena, PoolId, n + 1);
  const char *key;
  json_t *value;
  void *iter = json_object_iter((json_t *)(uintptr_t)json);
  for (; iter; iter = json_object_iter_next((json_t *)(uintptr_t)json, iter), i++) {
    key = json_object_iter_key(iter);
    value = json_object_iter_value(iter);
    const char *colon = strchr(key, ':');
    size_t length = colon ? (size_t)(colon - key) : strlen(key);
    names[i] = arena_copy_text(in->s->arena, key, length);
    if (json_is_object(value)) {
      values[i] = import_struct(in, value);
    } else if (!colon) {
      return note_failure(in, "a key is not written \"name:type\"");
    } else {
      PoolId type = key_type(in, colon + 1);
      values[i] = pool_eq(type, POOL(POISON)) ? type : import_value(in, type, value);
    }
    if (pool_eq(values[i], POOL(POISON)))
      return POOL(POISON);
  }
  return sema_make_struct(in->s, names, values, (uint32_t)n);
}

static PoolId import_value(Import *in, PoolId type, const json_t *json)
{
  Pool *pool = in->s->pool;
  if (json_is_null(json))
    return note_failure(in, "there is a null");
  if (pool_kind(pool, type) == PK_ARRAY_TYPE)
    return import_array(in, type, json);
  if (pool_eq(type, POOL(COMPTIME_STRUCT)))
    return import_struct(in, json);
  if (pool_kind(pool, type) == PK_STRUCT_TYPE) {        /* fields go by their names */
    PoolId value = import_struct(in, json);
    return pool_eq(value, POOL(POISON))
             ? value : sema_coerce(in->s, operand_value(in->s, value), type, in->at).value;
  }
  if (pool_eq(type, POOL(BOOL)))
    return json_is_boolean(json) ? pool_bool(json_is_true(json))
                                 : note_failure(in, "expected a bool");
  if (pool_eq(type, POOL(COMPTIME_STRING)))
    return json_is_string(json)
             ? pool_string(pool, sema_name(in->s, json_string_value(json)))
             : note_failure(in, "expected a string");
  if (type_is_numeric(pool, type) || pool_eq(type, POOL(COLOR)))
    return import_number(in, type, json);
  return note_failure(in, "values of this type cannot be imported");
}

/* NULL after reporting.  What the file holds is not quoted: it may be any file. */
static json_t *read_json(Sema *s, const char *file, Span at)
{
  size_t size;
  const char *why;
  char *bytes = file_read_text(file, FILE_TEXT_MAX_BYTES, &size, &why);
  if (!bytes) {
    diag_import_value_file(s->diags, at, file, why);
    return NULL;
  }
  source_note_data(s->session->sources, file);
  json_error_t error;
  json_t *json = json_loadb(bytes, size, JSON_DECODE_ANY, &error);
  free(bytes);
  if (!json)
    diag_import_value_file(s->diags, at, file,
                           arena_printf(s->arena, "it is no JSON, from line %d, column %d on",
                                        error.line, error.column));
  return json;
}

Operand builtin_import_comptime_value(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  PoolId path = sema_comptime(s, call->args.at[1], POOL(COMPTIME_STRING));
  if (pool_eq(type, POOL(POISON_TYPE)) || pool_eq(path, POOL(POISON)))
    return operand_poison();
  if (pool_kind(s->pool, path) != PK_STRING) {
    diag_not_a_string(s->diags, call->args.at[1]->span,
                      pool_type_of(s->pool, path));
    return operand_poison();
  }
  const char *name = sema_text(s, pool_key(s->pool, path).u.string);
  const char *beside = source_path(s->session->sources, s->modules[s->now.module].ast->file);
  const char *slash = strrchr(beside, '/');
  const char *file = name[0] == '/' || !slash
                       ? name : arena_printf(s->arena, "%.*s%s", (int)(slash - beside) + 1, beside,
                                             name);
  json_t *json = read_json(s, file, at);
  if (!json)
    return operand_poison();
  Import in = {s, at, NULL};
  size_t errors = diags_error_count(s->diags);
  PoolId value = import_value(&in, type, json);
  json_decref(json);
  if (!pool_eq(value, POOL(POISON)))
    return operand_value(s, value);
  if (diags_error_count(s->diags) == errors)
    diag_import_value_shape(s->diags, at, file, type,
                            in.why ? in.why : "the shapes differ");
  return operand_poison();
}
