/* What the evaluator says about expressions and declarations, by place in the source. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>

enum { LONGEST_VALUE = 120 };

static uint64_t key_of(Span at)
{
  return (uint64_t)at.off << 32 | at.len;
}

/* The evaluator comes to a place once for each tile class, call and turn of a loop. */
static void merge_fact(Fact *old, const Fact *new)
{
  old->has_types |= !pool_eq(old->type, new->type);
  old->has_values |= !pool_eq(old->value, new->value);
  old->has_modules |= !file_eq(old->module, new->module);
}

void facts_note_expression(void *data, Sema *s, const Node *n, Span at, const Operand *o)
{
  Facts *facts = data;
  if (o->kind == OPR_POISON || at.off == 0)
    return;
  Fact fact = {.at = at, .kind = n ? n->kind : ND_COUNT, .type = o->type};
  if (o->kind == OPR_COMPTIME) {
    fact.value = o->value;
    if (!pool_is_none(o->value) && pool_kind(s->pool, o->value) == PK_MODULE)
      fact.module = s->modules[pool_key(s->pool, o->value).u.index].ast->file;
  }
  ptrdiff_t known = hmgeti(facts->by_place, key_of(at));
  if (known >= 0)
    merge_fact(&facts->by_place[known].value, &fact);
  else
    hmput(facts->by_place, key_of(at), fact);
}

void facts_note_field(void *data, Span name, PoolId owner)
{
  Facts *facts = data;
  ptrdiff_t known = hmgeti(facts->fields, key_of(name));
  if (known < 0) {
    FieldFact fact = {.owner = owner};
    hmput(facts->fields, key_of(name), fact);
  } else {
    FieldFact *fact = &facts->fields[known].value;
    fact->has_owners |= !pool_eq(fact->owner, owner);
  }
}

const FieldFact *facts_field_at(Facts *facts, Span name)
{
  ptrdiff_t known = hmgeti(facts->fields, key_of(name));
  return known >= 0 ? &facts->fields[known].value : NULL;
}

const Fact *facts_at(Facts *facts, Span at)
{
  ptrdiff_t known = hmgeti(facts->by_place, key_of(at));
  return known >= 0 ? &facts->by_place[known].value : NULL;
}

static bool is_operand(uint16_t kind)
{
  return kind == ND_IDENT || kind == ND_MEMBER || kind == ND_CALL || kind == ND_INDEX ||
         kind == ND_DEREF || kind == ND_BUILTIN_CALL;
}

const Fact *facts_ending(const Facts *facts, uint32_t end)
{
  const Fact *best = NULL;
  for (ptrdiff_t i = 0; i < hmlen(facts->by_place); i++) {
    const Fact *fact = &facts->by_place[i].value;
    if (is_operand(fact->kind) && fact->at.off + fact->at.len == end &&
        (!best || fact->at.len > best->at.len))
      best = fact;
  }
  return best;
}

void facts_free(Facts *facts)
{
  hmfree(facts->by_place);
  hmfree(facts->fields);
}

const char *fact_type_text(const Session *s, Arena *arena, const Fact *fact)
{
  if (!fact || pool_is_none(fact->type))
    return NULL;
  const char *text = type_text(s->pool, arena, fact->type);
  return fact->has_types ? arena_printf(arena, "%s, and others", text) : text;
}

const char *fact_value_text(const Session *s, Arena *arena, const Fact *fact)
{
  if (!fact || pool_is_none(fact->value) || fact->has_values)
    return NULL;
  PoolKind kind = pool_kind(s->pool, fact->value);
  if (kind == PK_POISON || kind == PK_MODULE || kind == PK_FUNC || kind == PK_SYMBOLIC ||
      kind == PK_VOID_VALUE || kind < PK_POISON || value_has_symbolic(s->pool, fact->value))
    return NULL;
  const char *text = value_text(s->pool, arena, fact->value);
  if (strlen(text) > LONGEST_VALUE)
    return NULL;
  return kind == PK_STRING ? arena_printf(arena, "\"%s\"", text) : text;
}
