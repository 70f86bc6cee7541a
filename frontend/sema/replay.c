/* Iterations of loops, and calls, at compile time that do what an earlier one has done.
 *
 * Layouts give each tile its program, parameters and routes, mostly in loops and functions of the
 * coordinates, where a few conditions choose between cases.  So the evaluator walks such a body
 * once per case.  It keeps the outcomes of the conditions in which a counter had a part, that is
 * the captures of the loop or the integers among the arguments; the value of a call; and the acts:
 * what builtins have done to the tiles that their arguments name.  The outcomes make a tree.  A
 * later iteration or call decides the same conditions in the same order; where they lead to an end
 * of the tree, it has the value kept there and repeats the acts with its own coordinates.
 *
 * An iteration or call is kept only if its counters were used for nothing but such conditions and
 * what acts read again, and if it has left nothing else behind: no value in an outer variable, no
 * effect of other builtins or in functions.  What is read again must have no effects, and must not
 * name what the body declares, as that is not there then.  A few that do more end the keeping, for
 * this loop or function; one does not, since constants of the file are at hand from their second
 * use on. */
#include "frontend/sema/sema_internal.h"

#include <string.h>
#include "stb_ds.h"

struct ReplayAct {
  const NodeBuiltinCall *call;
  Span at;
  ReplayAgain *again;
  const void *what;
};
struct ReplayDecision { const Node *condition; bool outcome; };
/* In the tree: a condition with the places by its outcome (0: not seen yet), or an end. */
struct ReplayPlace {
  const Node *condition;        /* NULL: an end, or not known yet */
  uint32_t next[2];
  bool is_end;
  PoolId value;                 /* of a call */
  uint32_t first_act, n_acts;
};
enum { MOST_PLACES = 1 << 16, MOST_NOT_KEPT = 3 };

/* What keeps what is walked; NULL: nothing does. */
static Replay *find_keeper(const Sema *s)
{
  Replay *r = s->own->replay;
  return r != NULL && !r->is_off && !r->is_repeating ? r : NULL;
}

void replay_free(Replay *r)
{
  arrfree(r->acts);
  arrfree(r->decisions);
  arrfree(r->places);
}

void replay_enter(Sema *s, Replay *r)
{
  r->is_off |= sema_emits(s) || s->session->listener != NULL;
  r->is_entered = true;
  r->outer = s->own->replay;
  s->own->replay = r;
}

void replay_leave(Sema *s, Replay *r)
{
  s->own->replay = r->outer;
  r->is_entered = false;
  if (r->is_off)
    replay_free(r);
}

void replay_begin(Sema *s, uint32_t first_counter, uint32_t constant)
{
  Replay *r = s->own->replay;
  r->first_counter = first_counter;
  r->behind_counters = (uint32_t)arrlenu(s->own->locals);
  r->constant = constant;
}

Replay *replay_of_call(Sema *s, uint64_t key)
{
  uint32_t at;
  if (pair_get(&s->own->call_places, key, &at))
    return s->own->calls_kept[at]->is_entered ? NULL : s->own->calls_kept[at];
  Replay *r = arena_new(s->arena, Replay);
  *r = (Replay){.outer = NULL};
  pair_put(&s->own->call_places, key, (uint32_t)arrlenu(s->own->calls_kept));
  arrput(s->own->calls_kept, r);
  return r;
}

/* ---- uses ----------------------------------------------------------------------------------- */

void replay_use(Sema *s, uint32_t local)
{
  for (Replay *r = s->own->replay; r != NULL; r = r->outer)
    r->uses += local >= r->first_counter && local < r->behind_counters &&
               (r->constant >> (local - r->first_counter) & 1) == 0;
}

void replay_store(Sema *s, uint32_t cell)
{
  for (Replay *r = s->own->replay; r != NULL; r = r->outer)
    r->does_more |= cell < r->n_cells;
}

typedef struct { const Sema *s; bool found; } InnerSearch;

static void search_inner(void *context, Node *n)
{
  InnerSearch *search = context;
  const SemaPrivate *own = search->s->own;
  size_t i = own->replay->behind_counters;
  for (; n->kind == ND_IDENT && i < arrlenu(own->locals); i++)
    search->found |= str_eq(own->locals[i].name, node_ident(n)->name);
  node_visit_children(n, search_inner, search);
}

/* Does it name a local that the body has declared so far? */
static bool names_inner(const Sema *s, const Node *n)
{
  InnerSearch search = {.s = s};
  search_inner(&search, (Node *)n);
  return search.found;
}

ReplayMark sema_replay_mark(const Sema *s)
{
  return (ReplayMark){s->own->replay != NULL ? s->own->replay->uses : 0, s->own->effects};
}

bool sema_replay_rereads(Sema *s, const Node *n, ReplayMark before)
{
  Replay *r = find_keeper(s);
  if (r == NULL || r->uses == before.uses)
    return false;
  r->does_more |= names_inner(s, n) || s->own->effects != before.effects;
  r->uses = before.uses;
  return true;
}

void replay_decide(Sema *s, const Node *n, ReplayMark before, PoolId outcome)
{
  Replay *r = find_keeper(s);
  if (pool_is_none(outcome)) {          /* the walk reads the operands once more */
    if (r != NULL)
      r->uses = before.uses;
  } else if (sema_replay_rereads(s, n, before)) {
    arrput(r->decisions, ((struct ReplayDecision){n, value_is_true(outcome)}));
  }
}

void sema_replay_act(Sema *s, const NodeBuiltinCall *call, Span at, ReplayAgain *again,
                     const void *what, size_t bytes)
{
  Replay *r = find_keeper(s);
  if (r == NULL)
    return;
  void *kept = arena_alloc(s->arena, bytes, _Alignof(max_align_t));
  memcpy(kept, what, bytes);
  arrput(r->acts, ((struct ReplayAct){call, at, again, kept}));
}

/* ---- keeping ------------------------------------------------------------------------------- */

void replay_start(Sema *s, ReplayStart *start)
{
  Replay *r = find_keeper(s);
  if (r == NULL)
    return;
  *start = (ReplayStart){s->own->effects, (uint32_t)arrlenu(r->acts)};
  r->n_cells = (uint32_t)arrlenu(s->own->cells);
  r->uses = 0;
  r->does_more = false;
  arrsetlen(r->decisions, 0);
}

static uint32_t add_place(Replay *r)
{
  arrput(r->places, ((struct ReplayPlace){.condition = NULL}));
  return (uint32_t)arrlenu(r->places) - 1;
}

/* The place to which the decisions lead; false: other conditions than before, or too many. */
static bool place_of_decisions(Replay *r, uint32_t *out)
{
  if (arrlenu(r->places) + arrlenu(r->decisions) >= MOST_PLACES)
    return false;
  uint32_t at = arrlenu(r->places) == 0 ? add_place(r) : 0;
  for (size_t i = 0; i < arrlenu(r->decisions); i++) {
    struct ReplayDecision d = r->decisions[i];
    if (r->places[at].is_end ||
        (r->places[at].condition != NULL && r->places[at].condition != d.condition))
      return false;
    r->places[at].condition = d.condition;
    uint32_t next = r->places[at].next[d.outcome];
    if (next == 0) {
      next = add_place(r);
      r->places[at].next[d.outcome] = next;
    }
    at = next;
  }
  *out = at;
  return r->places[at].condition == NULL && !r->places[at].is_end;
}

void replay_keep(Sema *s, const ReplayStart *start, PoolId value)
{
  Replay *r = find_keeper(s);
  uint32_t at;
  if (r == NULL)
    return;
  uint32_t n_acts = (uint32_t)arrlenu(r->acts) - start->acts;
  if (r->does_more || r->uses != 0 || s->own->effects != start->effects + n_acts ||
      !place_of_decisions(r, &at)) {
    r->is_off = ++r->n_not_kept == MOST_NOT_KEPT;
    arrsetlen(r->acts, start->acts);
    return;
  }
  struct ReplayPlace *end = &r->places[at];
  end->is_end = true;
  end->value = value;
  end->first_act = start->acts;
  end->n_acts = n_acts;
}

/* ---- repeating ----------------------------------------------------------------------------- */

/* The end to which the conditions lead now; NULL: none has been there. */
static const struct ReplayPlace *find_end(Sema *s, const Replay *r, ReplayDecide *decide)
{
  uint32_t at = 0;
  while (!r->places[at].is_end) {
    PoolId outcome = decide(s, r->places[at].condition);
    if (pool_is_none(outcome))
      return NULL;
    at = r->places[at].next[value_is_true(outcome)];
    if (at == 0)
      return NULL;
  }
  return &r->places[at];
}

bool replay_repeat(Sema *s, ReplayDecide *decide, PoolId *value)
{
  Replay *r = s->own->replay;
  if (r->is_off || arrlenu(r->places) == 0)
    return false;
  r->is_repeating = true;
  const struct ReplayPlace *end = find_end(s, r, decide);
  for (uint32_t i = 0; end != NULL && i < end->n_acts; i++) {
    const struct ReplayAct *act = &r->acts[end->first_act + i];
    s->own->effects++;
    act->again(s, act->call, act->at, act->what);
  }
  r->is_repeating = false;
  if (end != NULL)
    *value = end->value;
  return end != NULL;
}
