/* Is a quiet engine stuck, and why? The engine is examined once; deadlock.h describes the method.
 * The report shows each cause once, with the chain of waits that leads to it from a waiting
 * unit. */
#include "emu/explain/explain_internal.h"
#include "emu/explain/deadlock.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_HEAD = 8, CHAIN_TAIL = 4, OTHERS_SHOWN = 8, RANKS = 6, NO_NODE = 0xffffffff };

static bool wavelets_left(const InspectTile *tile)
{
  if (tile->host_pending)
    return true;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (tile->input[q].count || tile->output[q].count)
      return true;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c].count)
      return true;
  return false;
}

/* Sees an operation that has taken or sent some of its elements. */
static bool has_begun(const InspectThread *thread)
{
  return finite_wait(thread) && thread->run->remaining < thread->run->length;
}

/* Sees an operation, the main thread or an activated task wait. */
static bool tile_waits(const InspectTile *tile)
{
  if (tile->threads[0].state != THREAD_IDLE || (tile->active & tile->blocked))
    return true;
  for (unsigned i = 1; i <= MAX_MICROTHREADS; i++)
    if (finite_wait(&tile->threads[i]))
      return true;
  return false;
}

/* A tile that has not begun waits if a task of its is active and blocked from the start. */
static bool waits_from_start(const Engine *engine, const Program *program, uint32_t tile)
{
  const ClassCode *cls = program_class(program, tile);
  return cls && (cls->image->active & cls->image->blocked & cls->local_ids) != 0 &&
         !engine->ops->touched(engine, tile);
}

/* ---- chains and causes ----------------------------------------------------------------------- */

typedef struct {
  Unit unit;
  uint32_t next, root;          /* nodes; NO_NODE: not known yet.  An end is its own root, of a
                                   cycle the unit where it was found to close */
  bool on_path;
  bool shown;                   /* on the chain that its cause is shown with */
  bool asked, leads_to_host;    /* whether leads_to_host has looked, and what it has found */
} WaitNode;
typedef struct { uint64_t key; uint32_t value; } NodeIndex;
typedef struct { char *key; uint32_t value; } TextIndex;

/* All that wait and have the same cause. */
typedef struct {
  uint32_t root, first;         /* nodes */
  uint32_t count;
  Unit others[OTHERS_SHOWN];
  uint32_t n_alike;
  uint32_t alike[OTHERS_SHOWN]; /* tiles of later ones that differ in the tile alone */
} Cause;

typedef struct {
  Report report;
  const IdleQuestion *question;
  WaitNode *nodes;                  /* stb_ds */
  NodeIndex *index;             /* stb_ds map */
  Cause *causes;                /* stb_ds */
  NodeIndex *cause_of;          /* stb_ds map: by root */
} Analysis;

static uint64_t unit_key(Unit u)
{
  return (uint64_t)u.deed.of << 56 | (uint64_t)u.deed.kind << 52 | (uint64_t)u.kind << 48 |
         (uint64_t)u.end << 40 | (uint64_t)u.index << 32 | u.tile;
}

static uint32_t node_of(Analysis *a, Unit u)
{
  uint64_t key = unit_key(u);
  ptrdiff_t at = hmgeti(a->index, key);
  if (at >= 0)
    return a->index[at].value;
  uint32_t node = (uint32_t)arrlenu(a->nodes);
  arrput(a->nodes, ((WaitNode){.unit = u, .next = NO_NODE, .root = NO_NODE}));
  hmput(a->index, key, node);
  return node;
}

/* Follows the chain from a node, as far as it is new, and gives its nodes their root. */
static uint32_t find_root(Analysis *a, uint32_t start)
{
  uint32_t n = start;
  while (a->nodes[n].root == NO_NODE && !a->nodes[n].on_path && a->nodes[n].unit.kind != UNIT_END) {
    a->nodes[n].on_path = true;
    uint32_t next = node_of(a, unit_after(&a->report, a->nodes[n].unit));
    a->nodes[n].next = next;
    n = next;
  }
  uint32_t root = a->nodes[n].root == NO_NODE ? n : a->nodes[n].root;
  a->nodes[root].root = root;
  for (n = start; a->nodes[n].on_path; n = a->nodes[n].next) {
    a->nodes[n].on_path = false;
    a->nodes[n].root = root;
  }
  return root;
}

static void add_wait(Analysis *a, Unit u)
{
  uint32_t node = node_of(a, u), root = find_root(a, node);
  ptrdiff_t at = hmgeti(a->cause_of, root);
  if (at < 0) {
    hmput(a->cause_of, root, (uint32_t)arrlenu(a->causes));
    arrput(a->causes, ((Cause){.root = root, .first = node}));
    for (uint32_t n = node; n != (uint32_t)NO_NODE && !a->nodes[n].shown; n = a->nodes[n].next)
      a->nodes[n].shown = true;
    return;
  }
  if (a->nodes[node].shown)
    return;
  Cause *cause = &a->causes[a->cause_of[at].value];
  if (cause->count < OTHERS_SHOWN)
    cause->others[cause->count] = u;
  cause->count++;
}

static void add_threads(Analysis *a, uint32_t tile)
{
  InspectTile t = *report_look(&a->report, tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++)
    if (i ? finite_wait(&t.threads[i]) : t.threads[i].state == THREAD_VECTOR)
      add_wait(a, unit_of(UNIT_THREAD, tile, i));
  for (uint64_t ids = t.active & t.blocked; ids; ids &= ids - 1)
    add_wait(a, unit_of(UNIT_TASK, tile, (unsigned)__builtin_ctzll(ids)));
}

static void add_wavelets(Analysis *a, uint32_t tile)
{
  InspectTile t = *report_look(&a->report, tile);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    if (t.output[q].count)
      add_wait(a, unit_of(UNIT_OUTPUT, tile, q));
    if (t.input[q].count)
      add_wait(a, unit_of(UNIT_INPUT, tile, q));
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (t.colors[c].count)
      add_wait(a, unit_of(UNIT_ROUTER, tile, c));
}

/* ---- is it stuck? ---------------------------------------------------------------------------- */

/* A data task of the program's own that takes the color on the tile. */
static bool has_data_task(const Analysis *a, uint32_t tile, unsigned color)
{
  const Program *program = a->report.program;
  const ClassCode *cls = program_class(program, tile);
  unsigned queue = cls ? cls->image->data_queue[color] : MAX_QUEUES;
  if (queue >= MAX_QUEUES)
    return false;
  const ImageTask *task = cls->data_task[program->image->arch == ARCH_WSE2 ? color : queue];
  return task && !is_command_task(program, cls, task);
}

/* A task that has never started stands on the way to the root, so nothing was served this way. */
static bool passes_idle_doer(Analysis *a, uint32_t from, uint32_t root)
{
  bool passes = false;
  for (uint32_t n = from; n != root; n = a->nodes[n].next) {
    Unit unit = a->nodes[n].unit;
    passes |= unit.kind == UNIT_DOER && !doer_has_started(&a->report, unit);
  }
  return passes;
}

/* Would words of the host start what the unit waits for? They do so by data tasks, too, which have
 * sent before what they would send then. */
static bool leads_to_host(Analysis *a, Unit unit)
{
  uint32_t first = node_of(a, unit), node = find_root(a, first);
  Unit root = a->nodes[node].unit;
  if (root.end == END_HOST)
    return !passes_idle_doer(a, first, node);
  if (root.end != END_NO_SENDER || a->nodes[node].asked || !has_sent(&a->report, root))
    return a->nodes[node].leads_to_host;
  a->nodes[node].asked = true;
  bool leads = false;
  for (unsigned c = 0; c < MAX_COLORS && !leads; c++)
    leads = has_data_task(a, root.tile, c) &&
            leads_to_host(a, unit_of(UNIT_RECEIVER, root.tile, c));
  a->nodes[node].leads_to_host = leads;
  return leads;
}

/* Sees nothing wait but operations that have not begun and that words of the host would start: a
 * program that serves one stream after the other ends so. */
static bool tile_awaits_host(Analysis *a, uint32_t tile)
{
  InspectTile t = *report_look(&a->report, tile);
  if (t.threads[0].state != THREAD_IDLE || (t.active & t.blocked))
    return false;
  for (unsigned i = 1; i <= MAX_MICROTHREADS; i++) {
    if (!finite_wait(&t.threads[i]))
      continue;
    if (has_begun(&t.threads[i]) || !leads_to_host(a, unit_of(UNIT_THREAD, tile, i)))
      return false;
  }
  return true;
}

static bool host_may_go_on(Engine *engine, const Program *program)
{
  Analysis a = {.report = report_create(engine, program, NULL)};
  bool may = true;
  for (uint32_t t = 0; may && t < program->n_tiles; t++)
    may = !waits_from_start(engine, program, t) &&
          (engine_at_rest(engine, t) || tile_awaits_host(&a, t));
  arrfree(a.nodes);
  hmfree(a.index);
  return may;
}

IdleState idle_classify(Engine *engine, const Program *program, const IdleQuestion *question)
{
  bool waits = false, left = false;
  InspectTile tile;
  for (uint32_t t = 0; t < program->n_tiles; t++) {
    waits |= waits_from_start(engine, program, t);
    if (engine_at_rest(engine, t))
      continue;
    engine->ops->inspect(engine, t, &tile);
    waits |= tile_waits(&tile);
    left |= wavelets_left(&tile);
  }
  if (question->loops || question->unblock_missing || question->stream_short ||
      (waits && !question->host))
    return IDLE_STUCK;
  if (left && question->left_is_error)
    return IDLE_LEFT;
  if (waits && !left && host_may_go_on(engine, program))
    return IDLE_DONE;
  return waits || left ? IDLE_WARNINGS : IDLE_DONE;
}

/* ---- text: a cause --------------------------------------------------------------------------- */

/* A color's way through routers is shown by its first and its last. */
static bool is_passage(const WaitNode *nodes, const uint32_t *chain, size_t n, size_t i)
{
  UnitKind kind = nodes[chain[i]].unit.kind;
  bool before = i > 0 && nodes[chain[i - 1]].unit.kind == kind;
  bool behind = i + 1 < n && nodes[chain[i + 1]].unit.kind == kind;
  if (kind == UNIT_RECEIVER)
    return true;
  return (kind == UNIT_SENDER && behind) || (kind == UNIT_ROUTER && before && behind);
}

/* The nodes from `first` to the root, or once around the cycle; those worth a line. */
static uint32_t *chain_of(const Analysis *a, uint32_t first, uint32_t root)
{
  uint32_t *all = NULL, *shown = NULL;
  bool cycle = a->nodes[root].unit.kind != UNIT_END, inside = false;
  for (uint32_t n = first;; n = a->nodes[n].next) {
    if (inside && n == root)
      break;
    inside |= n == root;
    arrput(all, n);
    if (!cycle && n == root)
      break;
  }
  for (size_t i = 0; i < arrlenu(all); i++)
    if (!is_passage(a->nodes, all, arrlenu(all), i))
      arrput(shown, all[i]);
  arrfree(all);
  return shown;
}

static void print_chain(Analysis *a, const uint32_t *chain)
{
  size_t n = arrlenu(chain);
  for (size_t i = 0; i < n; i++) {
    if (i == CHAIN_HEAD && n > CHAIN_HEAD + CHAIN_TAIL) {
      fprintf(a->report.out, "    because ... %zu more like these ...\n",
              n - CHAIN_HEAD - CHAIN_TAIL);
      i = n - CHAIN_TAIL;
    }
    fprintf(a->report.out, i ? "    because " : "  ");
    unit_print(&a->report, a->nodes[chain[i]].unit);
    fprintf(a->report.out, "\n");
  }
}

/* Waits for elements, and has some of them. */
static bool has_begun_to_receive(Analysis *a, Unit unit)
{
  if (unit.kind != UNIT_THREAD)
    return false;
  const InspectThread *thread = &report_look(&a->report, unit.tile)->threads[unit.index];
  return finite_wait(thread) && thread->waiting == STALL_INPUT &&
         thread->run->remaining < thread->run->length;
}

/* Where the sender waits for something before it sends the rest, lengths that differ are likelier
 * than one operation for several. */
static CutMessage find_short_message(Analysis *a, uint32_t root)
{
  CutMessage found = {.kind = CUT_NONE};
  bool receives = false;
  for (uint32_t n = root, first = 1; !found.kind && (first || n != root); first = 0) {
    Unit unit = a->nodes[n].unit, next = a->nodes[a->nodes[n].next].unit;
    if (unit.kind == UNIT_THREAD) {
      receives = has_begun_to_receive(a, unit);
      found.reader = unit;
    }
    if (receives && unit.kind == UNIT_SENDER && next.kind == UNIT_THREAD &&
        next.tile == unit.tile && has_sent(&a->report, unit))
      found.kind = CUT_BY_SENDER;
    found.sender = unit;
    n = a->nodes[n].next;
  }
  return found;
}

/* The wavelets in a queue or in a color's slots of a router. */
static unsigned wavelets_in(Analysis *a, Unit unit)
{
  const InspectTile *t = report_look(&a->report, unit.tile);
  switch (unit.kind) {
  case UNIT_OUTPUT: return t->output[unit.index].count;
  case UNIT_INPUT: return t->input[unit.index].count;
  case UNIT_ROUTER: return t->colors[unit.index].count;
  case UNIT_THREAD: case UNIT_TASK: case UNIT_RECEIVER: case UNIT_SENDER: case UNIT_COMMAND:
  case UNIT_STREAM: case UNIT_DOER: case UNIT_END: default: return 0;
  }
}

/* The operation of `sender` has sent no more than what the last read from the queue has taken and
 * the `on_way` wavelets that stand behind it, so that read was the first of the message.  Reads of
 * one element are left out: a message is often taken by several of them. */
static bool is_read_in_part(Analysis *a, Unit reader, Unit sender, unsigned on_way)
{
  QueueUse read = report_look(&a->report, reader.tile)->input[reader.index].use;
  const VecRun *run = report_look(&a->report, sender.tile)->threads[sender.index].run;
  uint32_t sent = run->length - run->remaining;
  return read.elements > 1 && !read.ended && read.elements < run->length &&
         read.elements + on_way * run->dest.per_wavelet >= sent;
}

static CutMessage find_long_message(Analysis *a, uint32_t root)
{
  CutMessage found = {.kind = CUT_NONE};
  bool sends = false;
  unsigned on_way = 0, rounds = 0;      /* twice around: the root may stand within the message */
  for (uint32_t n = root; !found.kind && rounds < 2; n = a->nodes[n].next) {
    Unit unit = a->nodes[n].unit;
    on_way += wavelets_in(a, unit);
    if (unit.kind == UNIT_THREAD) {
      const InspectThread *thread = &report_look(&a->report, unit.tile)->threads[unit.index];
      sends = thread->state == THREAD_VECTOR && thread->waiting == STALL_OUTPUT;
      found.sender = unit;
      on_way = 0;
    }
    if (sends && unit.kind == UNIT_INPUT && is_read_in_part(a, unit, found.sender, on_way))
      found.kind = CUT_BY_READER;
    found.reader = unit;
    rounds += a->nodes[n].next == root;
  }
  return found;
}

/* Nothing of the messages of the cycle has been sent. */
static CutMessage find_unsent_message(Analysis *a, uint32_t root)
{
  CutMessage found = {.kind = CUT_NONE};
  unsigned threads = 0, awaited = 0, held_up = 0;
  uint32_t n = root;
  do {
    Unit unit = a->nodes[n].unit;
    threads += unit.kind == UNIT_THREAD;
    awaited += unit.kind == UNIT_SENDER;
    held_up += unit.kind == UNIT_OUTPUT;
    if (unit.kind == UNIT_SENDER)
      found.sender = unit;
    n = a->nodes[n].next;
  } while (n != root);
  if (threads == 1 && awaited)
    found.kind = CUT_TO_ITSELF;
  found.all_receive = awaited && !held_up;
  return found;
}

/* The route leads the words of a tile back into it: the only thread of the cycle sends them, or it
 * has sent them all and does something else. */
static CutMessage find_returning_message(Analysis *a, uint32_t root)
{
  CutMessage found = {.kind = CUT_NONE};
  unsigned threads = 0;
  uint32_t n = root;
  do {
    Unit unit = a->nodes[n].unit, next = a->nodes[a->nodes[n].next].unit;
    Unit third = a->nodes[a->nodes[a->nodes[n].next].next].unit;
    bool returns = next.kind == UNIT_ROUTER && third.kind == UNIT_INPUT && next.tile == third.tile;
    threads += unit.kind == UNIT_THREAD;
    if (returns && hears_itself(&a->report, next.tile, next.index))
      return (CutMessage){.kind = CUT_BACK_TO_ITSELF, .sender = next};
    if (returns && unit.kind == UNIT_OUTPUT && unit.tile == next.tile)
      found = (CutMessage){.kind = CUT_BACK_TO_ITSELF, .sender = next};
    n = a->nodes[n].next;
  } while (n != root);
  return threads == 1 ? found : (CutMessage){.kind = CUT_NONE};
}

static CutMessage find_cut_message(Analysis *a, uint32_t root)
{
  if (a->nodes[root].unit.kind == UNIT_END)
    return (CutMessage){.kind = CUT_NONE};
  CutMessage found = find_returning_message(a, root);
  if (!found.kind)
    found = find_short_message(a, root);
  if (!found.kind)
    found = find_long_message(a, root);
  return found.kind ? found : find_unsent_message(a, root);
}

/* The threads of a cycle, or all its units if none is a thread. */
static void print_cycle(Analysis *a, uint32_t root)
{
  unsigned threads = 0, shown = 0, total;
  uint32_t n = root;
  unsigned length = 0;
  do {
    threads += a->nodes[n].unit.kind == UNIT_THREAD;
    length++;
    n = a->nodes[n].next;
  } while (n != root);
  total = threads ? threads : length;
  CutMessage cut = find_cut_message(a, root);
  if (cut.kind) {
    cut_message_print(&a->report, &cut);
    fprintf(a->report.out, "; so there is ");
  }
  fprintf(a->report.out, "a cycle of waits: ");
  do {
    if (!threads || a->nodes[n].unit.kind == UNIT_THREAD) {
      if (shown < OTHERS_SHOWN) {
        fprintf(a->report.out, "%s", shown ? " for " : "");
        unit_print_short(&a->report, a->nodes[n].unit);
      }
      shown++;
    }
    n = a->nodes[n].next;
  } while (n != root);
  if (total > OTHERS_SHOWN)
    fprintf(a->report.out, " and so on, %u in all", total);
  fprintf(a->report.out, total > 1 ? ", and that for the first" : " for itself");
}

static void print_others(Analysis *a, const Cause *cause)
{
  FILE *out = a->report.out;
  if (!cause->count)
    return;
  fprintf(out, "  the same holds up ");
  for (uint32_t i = 0; i < cause->count && i < OTHERS_SHOWN; i++) {
    fprintf(out, "%s", i ? ", " : "");
    unit_print_short(&a->report, cause->others[i]);
  }
  if (cause->count > OTHERS_SHOWN)
    fprintf(out, " and %u more", cause->count - OTHERS_SHOWN);
  fprintf(out, "\n");
}

/* What `print` writes of a cause or tile; to be freed.  Anonymous: tiles have no names in it, so
 * that what differs in the tile alone is the same text. */
static char *text_of(Analysis *a, void (*print)(Analysis *, uint32_t), uint32_t of, bool anonymous)
{
  char *text = NULL;
  size_t size;
  FILE *before = a->report.out, *out = base_text_open(&text, &size);
  a->report.out = out;
  a->report.anonymous = anonymous;
  print(a, of);
  a->report.out = before;
  a->report.anonymous = false;
  base_text_close(out, &text);
  return text;
}

static void print_root(Analysis *a, uint32_t cause)
{
  const WaitNode *root = &a->nodes[a->causes[cause].root];
  if (root->unit.kind == UNIT_END)
    end_print(&a->report, root->unit);
  else
    print_cycle(a, a->causes[cause].root);
}

/* Nothing but operations that have not begun leads to the words of the host: tiles that serve a
 * stream wait so after each round. */
static bool serves_host(Analysis *a, const Cause *cause)
{
  if (a->nodes[cause->root].unit.end != END_HOST)
    return false;
  for (uint32_t n = cause->first; n != cause->root; n = a->nodes[n].next) {
    Unit unit = a->nodes[n].unit;
    if (unit.kind == UNIT_OUTPUT || unit.kind == UNIT_INPUT || unit.kind == UNIT_ROUTER)
      return false;
    if (unit.kind == UNIT_THREAD &&
        has_begun(&report_look(&a->report, unit.tile)->threads[unit.index]))
      return false;
  }
  return true;
}

/* The way of awaited elements leads through the router, which holds other ones up. */
static bool is_closed_on_way(Analysis *a, Unit closed)
{
  return hmgeti(a->index, unit_key(unit_of(UNIT_SENDER, closed.tile, closed.index))) >= 0;
}

/* What a tile has lost is the cause of what others wait for; a router with its switch in a wrong
 * position holds up what they wait for, so senders behind it are not to blame; a tile that serves
 * the host's words waits for more of them although its work is done; a task that is blocked may be
 * unblocked by what waits elsewhere; what has never started may be held up by any of the others. */
static unsigned rank_of(Analysis *a, uint32_t cause)
{
  Unit root = a->nodes[a->causes[cause].root].unit;
  EndKind end = root.end;
  if (end == END_LOST || end == END_UNTAKEN || end == END_NO_FIRST_CALL)
    return 0;
  if (end == END_CLOSED && is_closed_on_way(a, root))
    return 1;
  if (end == END_NEVER_STARTED && passes_idle_task(&a->report, root.tile))
    return RANKS - 2;
  if (end == END_NEVER_STARTED || end == END_NO_UNBLOCK || end == END_UNKNOWN)
    return RANKS - 1;
  if (end == END_BLOCKED_TASK)
    return RANKS - 2;
  return serves_host(a, &a->causes[cause]) ? RANKS - 3 : 2;
}

/* The report joins the cause to an earlier one, if that is the same at another tile. */
static bool is_told(Analysis *a, uint32_t cause, TextIndex **seen)
{
  char *key = text_of(a, print_root, cause, true);
  ptrdiff_t at = shgeti(*seen, key);
  if (at < 0) {
    shput(*seen, key, cause);
  } else {
    Cause *first = &a->causes[(*seen)[at].value];
    if (first->n_alike < OTHERS_SHOWN)
      first->alike[first->n_alike] = a->nodes[a->causes[cause].root].unit.tile;
    first->n_alike++;
  }
  free(key);
  return at >= 0;
}

/* The tile has sent the host what it had to send, as far as it knows. */
static bool is_end_of_stream(Analysis *a, const Cause *cause)
{
  Unit root = a->nodes[cause->root].unit;
  return a->nodes[cause->first].unit.kind == UNIT_STREAM && root.end == END_NO_SENDER;
}

/* Causes in the order of the report, each with those that are like it: stb_ds.  A stream that has
 * come to its end says nothing beside the others. */
static uint32_t *causes_to_tell(Analysis *a)
{
  uint32_t *told = NULL;
  TextIndex *seen = NULL;
  bool others = false;
  for (uint32_t i = 0; i < arrlenu(a->causes); i++)
    others |= !is_end_of_stream(a, &a->causes[i]);
  sh_new_strdup(seen);
  for (unsigned r = 0; r < RANKS; r++)
    for (uint32_t i = 0; i < arrlenu(a->causes); i++)
      if (rank_of(a, i) == r && !(others && is_end_of_stream(a, &a->causes[i])) &&
          !is_told(a, i, &seen))
        arrput(told, i);
  shfree(seen);
  return told;
}

static void print_alike(Analysis *a, const Cause *cause)
{
  FILE *out = a->report.out;
  if (!cause->n_alike)
    return;
  fprintf(out, "  likewise at ");
  for (uint32_t i = 0; i < cause->n_alike && i < OTHERS_SHOWN; i++) {
    fprintf(out, "%s", i ? ", " : "");
    report_tile(&a->report, cause->alike[i]);
  }
  if (cause->n_alike > OTHERS_SHOWN)
    fprintf(out, " and %u more", cause->n_alike - OTHERS_SHOWN);
  fprintf(out, "\n");
}

/* Is it a module whose calls all tiles of a group have to make? */
static bool is_of_collectives(const char *module)
{
  static const char *const modules[] = {"<collectives", "<mpi", "<blas"};
  for (size_t i = 0; i < ARRAY_COUNT(modules); i++)
    if (strncmp(module, modules[i], strlen(modules[i])) == 0)
      return true;
  return false;
}

static uint32_t place_of_queue(const InspectQueue *queue)
{
  return queue_use_is_any(queue->use) ? queue->use.pc : PC_RETURN;
}

/* Where the thread is, where the task begins, or where the queue was used last; PC_RETURN for other
 * units. */
static uint32_t place_of_unit(Analysis *a, Unit unit)
{
  const ClassCode *cls = program_class(a->report.program, unit.tile);
  if (unit.kind == UNIT_THREAD)
    return report_look(&a->report, unit.tile)->threads[unit.index].pc;
  if (unit.kind == UNIT_INPUT)
    return place_of_queue(&report_look(&a->report, unit.tile)->input[unit.index]);
  if (unit.kind == UNIT_OUTPUT)
    return place_of_queue(&report_look(&a->report, unit.tile)->output[unit.index]);
  bool is_task = unit.kind == UNIT_TASK && cls && cls->local_task[unit.index];
  return is_task ? cls->local_task[unit.index]->entry : PC_RETURN;
}

/* That module, such as <collectives_2d/pe>, if the first to wait is part of it; else NULL.  The
 * routes and tasks of a collective are the library's, and what is missing is a call. */
static const char *collective_of_wait(Analysis *a, const Cause *cause)
{
  Unit first = a->nodes[cause->first].unit;
  const char *module = calls_into_library(a->report.engine, a->report.program, first.tile,
                                          place_of_unit(a, first)).module;
  return module && is_of_collectives(module) ? module : NULL;
}

/* The last thread on the way to the root; NULL: none. */
static const Unit *thread_before_root(const Analysis *a, const Cause *cause)
{
  const Unit *thread = NULL;
  for (uint32_t n = cause->first; n != cause->root; n = a->nodes[n].next)
    if (a->nodes[n].unit.kind == UNIT_THREAD)
      thread = &a->nodes[n].unit;
  return thread;
}

static void print_help(Analysis *a, const Cause *cause)
{
  const char *module = collective_of_wait(a, cause);
  const Unit *root = &a->nodes[cause->root].unit;
  CutMessage cut = find_cut_message(a, cause->root);
  const char *advice = root->kind == UNIT_END
                         ? end_help(&a->report, root, thread_before_root(a, cause))
                         : cycle_help(&a->report, &cut);
  if (is_end_of_stream(a, cause))
    advice = "compare what the program sends, and what sets it off, with what the transfer asks "
             "for";
  if (module && root->kind == UNIT_END && root->end == END_LOST)
    fprintf(a->report.out, "  help: a call of %s began before the one before it had ended: start "
            "the next call on an axis in the callback of the one before it\n", module);
  else if (module)
    fprintf(a->report.out, "  help: what waits is part of a call of %s: let all tiles that take "
            "part make the same calls, in the same order and with the same root and count%s\n",
            module, strcmp(module, "<collectives_2d/pe>") == 0 ? ", after init()" : "");
  else if (advice)
    fprintf(a->report.out, "  help: %s\n", advice);
}

/* The first to wait lacks words of a color, and those of another one have come to its ramp, for
 * which it has no queue: its program may have got the wrong one from the layout. */
static void print_stray(Analysis *a, const Cause *cause)
{
  Unit first = a->nodes[cause->first].unit, root = a->nodes[cause->root].unit;
  const ClassCode *cls = program_class(a->report.program, first.tile);
  bool lacks = root.end == END_NOT_DELIVERED || root.end == END_NO_SENDER ||
               root.end == END_NOT_CONFIGURED || root.end == END_EDGE;
  if (!lacks || first.kind != UNIT_THREAD || !cls ||
      report_look(&a->report, first.tile)->threads[first.index].waiting != STALL_INPUT)
    return;
  for (uint8_t c = 0; c < MAX_COLORS; c++) {
    const InspectColor *color = &report_look(&a->report, first.tile)->colors[c];
    bool has_come = color->count && (color->tx & port_bit(PORT_RAMP));
    if (!has_come || cls->image->data_queue[c] < MAX_QUEUES)
      continue;
    fprintf(a->report.out, "  help: words of ");
    report_color(&a->report, first.tile, c);
    fprintf(a->report.out, " have come to ");
    report_tile(&a->report, first.tile);
    fprintf(a->report.out, "'s ramp, and it has no input queue for them: does its program receive "
            "the wrong color?\n");
    return;
  }
}

static void print_cause(Analysis *a, uint32_t index)
{
  const Cause *cause = &a->causes[index];
  const Unit *root = &a->nodes[cause->root].unit;
  print_root(a, index);
  fprintf(a->report.out, "\n");
  uint32_t *chain = chain_of(a, cause->first, cause->root);
  print_chain(a, chain);
  if (root->kind != UNIT_END) {
    fprintf(a->report.out, "    because ");
    unit_print_short(&a->report, *root);
    fprintf(a->report.out, " waits, see above\n");
  }
  arrfree(chain);
  print_others(a, cause);
  print_alike(a, cause);
  print_stray(a, cause);
  print_help(a, cause);
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool takes_commands(const Program *program, uint32_t tile)
{
  const ClassCode *cls = program_class(program, tile);
  return cls && cls->image->data_queue[program->machine->memcpy_command_color] < MAX_QUEUES;
}

static void print_note(Analysis *a, uint32_t tile)
{
  Report *r = &a->report;
  const InspectTile *t = report_look(r, tile);
  report_tile(r, tile);
  fprintf(r->out, ": %u word%s from the host cannot enter%s", t->host_pending,
          t->host_pending == 1 ? "" : "s",
          takes_commands(r->program, tile) ? "" : ": its program does not import <memcpy/memcpy>");
}

static void add_command(Analysis *a, uint32_t tile)
{
  if (owes_unblock(&a->report, tile))
    add_wait(a, unit_of(UNIT_COMMAND, tile, 0));
}

/* A tile that lacks words may have done nothing at all, so all tiles count. */
static void add_streams(Analysis *a)
{
  for (uint32_t t = 0; a->question->short_colors && t < a->report.program->n_tiles; t++)
    for (uint32_t colors = a->question->short_colors[t]; colors; colors &= colors - 1)
      add_wait(a, unit_of(UNIT_STREAM, t, (unsigned)__builtin_ctz(colors)));
}

static void for_touched(Analysis *a, void (*add)(Analysis *, uint32_t))
{
  Report *r = &a->report;
  for (uint32_t t = 0; t < r->program->n_tiles; t++)
    if (r->engine->ops->touched(r->engine, t))
      add(a, t);
}

static unsigned lines_of(const char *text)
{
  unsigned n = 0;
  for (; *text; text++)
    n += *text == '\n';
  return n;
}

/* Returns the lines that are left of `lines`. */
static unsigned print_causes(Analysis *a, const uint32_t *tell, unsigned lines)
{
  size_t n = arrlenu(tell), i = 0;
  for (; i < n; i++) {
    char *text = text_of(a, print_cause, tell[i], false);
    unsigned needs = lines_of(text), rest = i + 1 < n;
    bool fits = i == 0 || needs + rest <= lines;
    if (fits)
      fprintf(a->report.out, "cause %zu: %s", i + 1, text);
    free(text);
    if (!fits)
      break;
    lines -= needs < lines ? needs : lines;
  }
  if (i < n) {
    fprintf(a->report.out, "and %zu more causes\n", n - i);
    lines -= lines > 0;
  }
  return lines;
}

/* Of tiles that the host has words for, which they do not take. */
static void print_notes(Analysis *a, unsigned lines)
{
  TextIndex *seen = NULL;
  Report *r = &a->report;
  sh_new_strdup(seen);
  for (uint32_t t = 0; t < r->program->n_tiles && lines; t++) {
    if (!r->engine->ops->touched(r->engine, t) || !report_look(r, t)->host_pending)
      continue;
    char *key = text_of(a, print_note, t, true);
    if (shgeti(seen, key) < 0) {
      fprintf(r->out, "  ");
      print_note(a, t);
      fprintf(r->out, "\n");
      lines--;
    }
    shput(seen, key, t);
    free(key);
  }
  shfree(seen);
}

static Analysis analyse_waits(Engine *engine, const Program *program,
                              const IdleQuestion *question, FILE *out)
{
  Analysis a = {.report = report_create(engine, program, out), .question = question};
  a.report.unblocks_expected = question->unblocks_expected;
  a.report.unlaunched = question->unlaunched;
  a.report.launched = question->launched;
  a.report.loops = question->loops;
  for_touched(&a, add_threads);
  for (uint32_t t = 0; t < program->n_tiles; t++)
    if (waits_from_start(engine, program, t))
      add_threads(&a, t);
  for_touched(&a, add_command);
  add_streams(&a);
  for_touched(&a, add_wavelets);
  return a;
}

static void free_analysis(Analysis *a)
{
  arrfree(a->nodes);
  arrfree(a->causes);
  hmfree(a->index);
  hmfree(a->cause_of);
}

void deadlock_report(Engine *engine, const Program *program, const IdleQuestion *question,
                     unsigned max_lines, FILE *out)
{
  Analysis a = analyse_waits(engine, program, question, out);
  uint32_t *tell = causes_to_tell(&a);
  print_notes(&a, print_causes(&a, tell, max_lines));
  arrfree(tell);
  free_analysis(&a);
}

static void print_wait(Analysis *a, uint32_t node)
{
  unit_print(&a->report, a->nodes[node].unit);
}

void deadlock_chains(Engine *engine, const Program *program, const IdleQuestion *question,
                     unsigned most,
                     void (*wait)(void *context, unsigned chain, uint32_t tile, const char *text),
                     void *context)
{
  Analysis a = analyse_waits(engine, program, question, NULL);
  uint32_t *tell = causes_to_tell(&a);
  for (unsigned i = 0; i < arrlenu(tell) && i < most; i++) {
    const Cause *cause = &a.causes[tell[i]];
    uint32_t *chain = chain_of(&a, cause->first, cause->root);
    if (a.nodes[cause->root].unit.kind != UNIT_END)
      arrput(chain, cause->root);       /* where the cycle closes */
    for (size_t j = 0; j < arrlenu(chain); j++) {
      char *text = text_of(&a, print_wait, chain[j], false);
      wait(context, i, a.nodes[chain[j]].unit.tile, text);
      free(text);
    }
    arrfree(chain);
  }
  arrfree(tell);
  free_analysis(&a);
}
