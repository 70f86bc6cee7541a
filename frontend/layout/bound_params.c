/* The parameters of a main file that its layout or the command line sets, and the struct of them
 * that it is imported with. */
#include "frontend/layout/regions.h"

#include <math.h>
#include <string.h>

const Node *param_find(const Session *session, const Ast *ast, const char *name)
{
  StrId id = str_intern_z(session->names, name);
  for (uint32_t i = 0; i < ast->decls.count; i++)
    if (str_eq(param_name_of(ast->decls.at[i]), id))
      return ast->decls.at[i];
  return NULL;
}

StrId param_name_of(const Node *decl)
{
  if (node_kind(decl) == ND_COLOR_DECL)
    return node_color_decl(decl)->name.text;
  bool is_param = node_kind(decl) == ND_VAR_DECL && node_var_decl(decl)->var_kind == VAR_PARAM;
  return is_param ? node_var_decl(decl)->name.text : STR_NONE;
}

/* NULL: the declaration names none, or is a `color NAME;`. */
static const Node *type_of_param(const Node *decl)
{
  return node_kind(decl) == ND_VAR_DECL ? node_var_decl(decl)->type : NULL;
}

bool param_has_type(const Session *session, const Node *decl, const char *name)
{
  if (node_kind(decl) == ND_COLOR_DECL)
    return strcmp(name, "color") == 0;
  const Node *type = type_of_param(decl);
  return type && node_kind(type) == ND_IDENT &&
         strcmp(str_text(session->names, node_ident(type)->name), name) == 0;
}

/* The 16-bit format that the parameter's type is; FP16_COUNT: it is none. */
static Fp16Format format_of(const Session *session, const Node *decl)
{
  const Node *type = type_of_param(decl);
  if (type && node_kind(type) == ND_BUILTIN_CALL &&
      strcmp(str_text(session->names, node_builtin_call(type)->name.text), "fp16") == 0)
    return session->options->fp16;
  Fp16Format f = 0;
  while (f < FP16_COUNT && !param_has_type(session, decl, fp16_name(f)))
    f++;
  return f;
}

const char *param_type_too_narrow(const Session *session, const Node *decl, double number)
{
  if (param_has_type(session, decl, "f32"))
    return isinf(fp32_to_double(fp32_from_double(number))) ? "f32" : NULL;
  Fp16Format f = format_of(session, decl);
  return f < FP16_COUNT && isinf(fp16_to_double(f, fp16_from_double(f, number))) ? fp16_name(f)
                                                                                : NULL;
}

BoundParams bound_params_create(Arena *arena, size_t most)
{
  return (BoundParams){arena_many(arena, PoolField, most + 1), arena_many(arena, PoolId, most + 1),
                       0};
}

void bound_params_set(Session *session, BoundParams *bound, const char *name, PoolId value)
{
  PoolField field = {.name = str_intern_z(session->names, name),
                     .type = pool_type_of(session->pool, value)};
  uint32_t i = 0;
  while (i < bound->n && !str_eq(bound->fields[i].name, field.name))
    i++;
  bound->fields[i] = field;
  bound->values[i] = value;
  bound->n += i == bound->n;
}

PoolId bound_params_value(Session *session, const BoundParams *bound)
{
  PoolKey key = {.kind = PK_STRUCT_TYPE, .type = POOL(TYPE)};
  key.u.fields.n = bound->n;
  key.u.fields.fields = bound->fields;
  return pool_aggregate(session->pool, pool_get(session->pool, &key), bound->values, bound->n);
}
