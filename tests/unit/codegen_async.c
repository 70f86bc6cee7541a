/* Property of the code generator: random programs with operations in the background leave what a
 * plain evaluation of their steps leaves.
 *
 * The tile sends to itself: each channel is a color that leads from the ramp back to the ramp, with
 * an output queue and an input queue.  A program is a chain of tasks.  Operations in the background
 * start or unblock later tasks; where no task waits for them, a synchronous receive shows that a
 * send is over.  Until then nothing writes memory that the operation reads, and nothing touches
 * memory that it writes, so the result does not depend on time; the engine reports what moves
 * across.
 *
 * Programs are trees of steps.  One walk makes the IR, another one carries the steps out.  WSE_SEED
 * and WSE_COUNT choose other programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stb_ds.h>

#include "tests/codegen_harness.h"

enum {
  ARRAYS = 6,
  HIDDEN = ARRAYS,         /* no operation and no pointer comes to it, and no host sees it */
  NO_ARRAY,
  WORDS = 16, CHANNELS = 3, PHASES = 5, FIRST_COLOR = 1, FIRST_TASK = 8,
  CELLS = 16,              /* cell N holds N: numbers that the compiler does not know */
  VARIABLES = 2, HELD = 3, DSD_BYTES = 16, MOST_LENGTH = 6, MOST_DEPTH = 2,
  EXPLICIT = 3,            /* DSRs with numbers; the others get theirs from the code generator, */
  VIRTUAL = 20,            /* which has not as many */
  DSRS = EXPLICIT + VIRTUAL, AT_ONCE = 3
};

/* Numbers of explicit DSRs, among them the last one; one for the fabric's descriptors. */
static const uint8_t explicit_dsrs[EXPLICIT] = {0, 7, 15};
enum { FABRIC_DSR = 3 };

/* On wse2 a queue is a microthread, so all differ. */
static const uint8_t output_queues[CHANNELS] = {2, 3, 4}, input_queues[CHANNELS] = {5, 6, 7};

/* ---- steps ---------------------------------------------------------------------------------- */

typedef enum {
  STEP_STORE,              /* an element becomes a sum of two, or a number */
  STEP_VECTOR,             /* a synchronous operation over memory */
  STEP_SEND, STEP_RECEIVE, /* to or from the channel */
  STEP_LOAD_DSR,           /* an explicit DSR gets a walk */
  STEP_SET_VARIABLE,       /* a variable gets a descriptor */
  STEP_HOLD,               /* a value gets a variable's descriptor as it is now */
  STEP_TAKE,               /* a value gets an element as it is now */
  STEP_LOOP, STEP_IF, STEP_CALL,
  STEP_ACTIVATE
} StepKind;

/* Elements of an array, in words or pairs of words. */
typedef struct { uint8_t array, start, length; int8_t stride; bool wide; } Walk;

/* From BY_ELEMENT on: a number. */
typedef enum {
  BY_CONSTANT, BY_SETS, BY_VARIABLE, BY_HELD, BY_DSR, BY_ELEMENT, BY_TAKEN
} OperandForm;
typedef struct {
  OperandForm form;
  Walk walk;               /* of a vector */
  uint8_t index;           /* of the variable, the value, the DSR, or the element */
  uint8_t array;           /* BY_ELEMENT */
} Operand;

typedef enum { OF_MOVE, OF_ADD, OF_XOR } Arithmetic;
typedef struct { uint8_t task; bool unblocks; } Completion;   /* task: of a phase, 0 none */

typedef struct Step Step;
struct Step {
  StepKind kind;
  uint8_t channel;
  bool in_background;
  OperandForm form;                    /* of the fabric's descriptor */
  bool by_index;                       /* store: at an index that the compiler does not know */
  bool to_scalar;                      /* receive: the last element is all that stays */
  Arithmetic arithmetic;
  Operand to, a, b;                    /* b is what a receive or a move has beside the fabric */
  Completion done;
  uint8_t number, task;
  Step *steps, *others;                /* stb_ds: what loops, branches and calls have */
};

/* ---- random numbers ------------------------------------------------------------------------- */

typedef struct {
  uint64_t state;
  Step *phases[PHASES];                /* stb_ds */
  /* The discipline: operations in the background that read or write an array. */
  uint8_t readers[ARRAYS], writers[ARRAYS];
  bool sends[CHANNELS], receives[CHANNELS];
  bool has_dsr[DSR_FILE_COUNT][DSRS];
  Walk dsrs[DSR_FILE_COUNT][DSRS], variables[VARIABLES], held[HELD];
  bool has_held[HELD], has_taken[HELD], in_call;      /* calls do not see the caller's values */
  struct Pending {                     /* stb_ds: by phase, what is over when it starts */
    uint8_t phase, reads[2], n_reads, writes, channel;
    bool is_send, has_write;
  } *pending;
  uint8_t activations[PHASES + 1], unblocks[PHASES + 1];   /* that a phase waits for */
  bool has_row;                        /* of virtual DSRs, once in a program */
  unsigned phase, depth, budget;
} Gen;

static uint64_t random_bits(Gen *g)
{
  g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t x = g->state;
  return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 16;
}

static unsigned below(Gen *g, unsigned n) { return (unsigned)(random_bits(g) % n); }

/* ---- generator ------------------------------------------------------------------------------ */

static bool may_read(const Gen *g, unsigned array) { return g->writers[array] == 0; }
static bool may_write(const Gen *g, unsigned array)
{
  return g->writers[array] == 0 && g->readers[array] == 0;
}

/* An array for that, or NO_ARRAY. */
static unsigned any_array(Gen *g, bool writes)
{
  unsigned first = below(g, ARRAYS);
  for (unsigned i = 0; i < ARRAYS; i++) {
    unsigned array = (first + i) % ARRAYS;
    if (writes ? may_write(g, array) : may_read(g, array))
      return array;
  }
  return NO_ARRAY;
}

static Walk any_walk(Gen *g, unsigned array, unsigned length, bool wide)
{
  int stride = below(g, 3) ? 1 : (int)below(g, 3) - 1, words = wide ? 2 : 1;
  stride = stride == 0 ? 2 : stride;
  if ((int)(length - 1) * stride >= WORDS / words)
    stride = 1;
  int span = (int)(length - 1) * stride, room = WORDS / words - (span < 0 ? -span : span);
  int start = (int)below(g, (unsigned)room) - (span < 0 ? span : 0);
  return (Walk){(uint8_t)array, (uint8_t)start, (uint8_t)length, (int8_t)stride, wide};
}

/* Finds an explicit DSR, a variable or a held value that has a walk of that length which may be
 * used. */
static bool find_walk(Gen *g, OperandForm form, DsrFile file, unsigned length, bool wide,
                      bool writes, Operand *found)
{
  const Walk *walks = form == BY_DSR ? g->dsrs[file] : form == BY_HELD ? g->held : g->variables;
  const bool *has = form == BY_DSR ? g->has_dsr[file] : form == BY_HELD ? g->has_held : NULL;
  unsigned n = form == BY_DSR ? DSRS : form == BY_HELD ? HELD : VARIABLES, first = below(g, n);
  for (unsigned i = 0; i < n && !(form == BY_HELD && g->in_call); i++) {
    unsigned k = (first + i) % n;
    const Walk *w = &walks[k];
    bool is_here = (!has || has[k]) && !(form == BY_DSR && k >= EXPLICIT && g->in_call);
    if (!is_here || w->length != length || w->wide != wide ||
        !(writes ? may_write(g, w->array) : may_read(g, w->array)))
      continue;
    *found = (Operand){.form = form, .walk = *w, .index = (uint8_t)k};
    return true;
  }
  return false;
}

static bool any_operand(Gen *g, DsrFile file, unsigned length, bool wide, bool writes, Operand *o)
{
  OperandForm form = (OperandForm)below(g, BY_ELEMENT);
  if (form >= BY_VARIABLE && find_walk(g, form, file, length, wide, writes, o))
    return true;
  unsigned array = any_array(g, writes);
  if (array == NO_ARRAY)
    return false;
  *o = (Operand){.form = form == BY_SETS ? BY_SETS : BY_CONSTANT,
                 .walk = any_walk(g, array, length, wide)};
  return true;
}

static bool is_number(const Operand *o) { return o->form >= BY_ELEMENT; }

static bool any_number(Gen *g, bool wide, Operand *o)
{
  unsigned array = any_array(g, false), k = below(g, HELD);
  *o = (Operand){.form = BY_TAKEN, .index = (uint8_t)k};
  if (!wide && !g->in_call && g->has_taken[k] && below(g, 2))
    return true;
  *o = (Operand){.form = BY_ELEMENT, .array = (uint8_t)array,
                 .index = (uint8_t)below(g, WORDS / (wide ? 2 : 1))};
  if (below(g, 4) == 0)
    o->array = HIDDEN;
  return o->array != NO_ARRAY;
}

static unsigned elements(Gen *g) { return 1 + below(g, MOST_LENGTH); }

static bool add_store(Gen *g, Step *s)
{
  unsigned array = below(g, 4) ? any_array(g, true) : HIDDEN;
  *s = (Step){.kind = STEP_STORE, .arithmetic = (Arithmetic)below(g, 3)};
  s->to = (Operand){.array = (uint8_t)array, .index = (uint8_t)below(g, WORDS)};
  s->by_index = below(g, 2);
  return array != NO_ARRAY && any_number(g, false, &s->a) && any_number(g, false, &s->b);
}

static bool add_vector(Gen *g, Step *s)
{
  unsigned length = elements(g);
  *s = (Step){.kind = STEP_VECTOR, .arithmetic = (Arithmetic)below(g, 3)};
  bool wide = s->arithmetic == OF_MOVE && below(g, 3) == 0;
  if (!any_operand(g, DSR_DEST, length, wide, true, &s->to) ||
      !any_operand(g, DSR_SRC1, length, wide, false, &s->b))
    return false;
  return s->arithmetic == OF_MOVE || any_operand(g, DSR_SRC0, length, wide, false, &s->a);
}

static OperandForm any_fabric_form(Gen *g)
{
  return (OperandForm[]){BY_CONSTANT, BY_SETS, BY_VARIABLE, BY_DSR}[below(g, 4)];
}

/* What goes out: elements, sums of elements, or one number again and again. */
static bool make_send(Gen *g, Step *s, unsigned channel, unsigned length, bool wide)
{
  *s = (Step){.kind = STEP_SEND, .channel = (uint8_t)channel, .form = any_fabric_form(g)};
  s->arithmetic = wide ? OF_MOVE : (Arithmetic)below(g, 3);
  s->to.walk = (Walk){.length = (uint8_t)length, .wide = wide};
  if (s->arithmetic == OF_MOVE && below(g, 4) == 0)
    return any_number(g, wide, &s->b);
  return any_operand(g, DSR_SRC1, length, wide, false, &s->b) &&
         (s->arithmetic == OF_MOVE || any_operand(g, DSR_SRC0, length, wide, false, &s->a));
}

static bool make_receive(Gen *g, Step *s, unsigned channel, unsigned length, bool wide)
{
  *s = (Step){.kind = STEP_RECEIVE, .channel = (uint8_t)channel, .form = any_fabric_form(g)};
  s->arithmetic = wide ? OF_MOVE : (Arithmetic)below(g, 3);
  s->to_scalar = s->arithmetic == OF_MOVE && below(g, 4) == 0;
  if (s->to_scalar) {
    unsigned array = any_array(g, true);
    s->to = (Operand){.array = (uint8_t)array, .index = (uint8_t)below(g, WORDS / (wide ? 2 : 1)),
                      .walk = {.length = (uint8_t)length, .wide = wide}};
    return array != NO_ARRAY;
  }
  if (!any_operand(g, DSR_DEST, length, wide, true, &s->to))
    return false;
  return s->arithmetic == OF_MOVE || any_operand(g, DSR_SRC0, length, wide, false, &s->a);
}

static unsigned written_array(const Step *s)
{
  return s->to_scalar ? s->to.array : s->to.walk.array;
}

/* The arrays that a send or a receive reads while it runs; a number goes out from a register. */
static unsigned read_arrays(const Step *s, uint8_t reads[2])
{
  unsigned n = 0;
  if (s->arithmetic != OF_MOVE)
    reads[n++] = s->a.walk.array;
  if (s->kind == STEP_SEND && !is_number(&s->b))
    reads[n++] = s->b.walk.array;
  return n;
}

static void count_use(Gen *g, const Step *s, int change)
{
  uint8_t reads[2];
  unsigned n = read_arrays(s, reads);
  for (unsigned i = 0; i < n; i++)
    g->readers[reads[i]] = (uint8_t)(g->readers[reads[i]] + change);
  if (s->kind == STEP_RECEIVE)
    g->writers[written_array(s)] = (uint8_t)(g->writers[written_array(s)] + change);
}

/* Sometimes a store to an element of the vector, or one that reads an element. */
static void touch_vector(Gen *g, Step **steps, const Operand *o, bool writes)
{
  Step s;
  if (below(g, 2) || is_number(o) || !add_store(g, &s))
    return;
  const Walk *w = &o->walk;
  unsigned at = (unsigned)(w->start + (int)below(g, w->length) * w->stride) * (w->wide ? 2 : 1);
  Operand *place = writes ? &s.to : &s.b;
  *place = (Operand){.form = BY_ELEMENT, .array = w->array, .index = (uint8_t)at};
  if (writes ? may_write(g, w->array) : may_read(g, w->array))
    arrput(*steps, s);
}

static int free_channel(Gen *g)
{
  unsigned first = below(g, CHANNELS);
  for (unsigned i = 0; i < CHANNELS; i++) {
    unsigned c = (first + i) % CHANNELS;
    if (!g->sends[c] && !g->receives[c])
      return (int)c;
  }
  return -1;
}

static void add_steps(Gen *g, Step **steps, unsigned n);

/* A send in the background, whatever does not disturb it, and a receive that waits for it. */
static void add_exchange(Gen *g, Step **steps)
{
  int channel = free_channel(g);
  unsigned length = elements(g);
  bool wide = below(g, 4) == 0;
  Step send, receive;
  if (channel < 0 || !make_send(g, &send, (unsigned)channel, length, wide))
    return;
  send.in_background = true;
  touch_vector(g, steps, &send.b, true);
  count_use(g, &send, 1);
  g->sends[channel] = true;
  Step *between = NULL;
  touch_vector(g, &between, &send.b, false);
  add_steps(g, &between, below(g, 4));
  bool fits = make_receive(g, &receive, (unsigned)channel, length, wide);
  if (fits && !receive.to_scalar)
    touch_vector(g, &between, &receive.to, false);
  count_use(g, &send, -1);
  g->sends[channel] = false;
  if (fits)
    arrput(*steps, send);
  for (size_t i = 0; i < arrlenu(between); i++)
    arrput(*steps, between[i]);
  if (fits) {
    arrput(*steps, receive);
    touch_vector(g, steps, &send.b, true);
    if (!receive.to_scalar)
      touch_vector(g, steps, &receive.to, false);
  }
  arrfree(between);
}

/* The phase that is to wait for it, which then has one more reason to; 0: none has room. */
static Completion completion_of(Gen *g)
{
  unsigned next = g->phase + 1, far = next + below(g, 2);
  if (next < PHASES && g->activations[next] == 0 && below(g, 2)) {
    g->activations[next]++;
    return (Completion){(uint8_t)next, false};
  }
  for (unsigned task = far; task < PHASES; task++)
    if (g->unblocks[task] == 0) {
      g->unblocks[task]++;
      return (Completion){(uint8_t)task, true};
    }
  return (Completion){0};
}

/* It is over when that phase starts. */
static void note_pending(Gen *g, const Step *s, unsigned phase)
{
  struct Pending p = {.phase = (uint8_t)phase, .channel = s->channel,
                      .is_send = s->kind == STEP_SEND, .has_write = s->kind == STEP_RECEIVE};
  p.n_reads = (uint8_t)read_arrays(s, p.reads);
  p.writes = p.has_write ? (uint8_t)written_array(s) : 0;
  count_use(g, s, 1);
  *(p.is_send ? &g->sends[s->channel] : &g->receives[s->channel]) = true;
  arrput(g->pending, p);
}

static void end_pending(Gen *g)
{
  for (size_t i = 0; i < arrlenu(g->pending);) {
    struct Pending *p = &g->pending[i];
    if (p->phase != g->phase) {
      i++;
      continue;
    }
    for (unsigned k = 0; k < p->n_reads; k++)
      g->readers[p->reads[k]]--;
    if (p->has_write)
      g->writers[p->writes]--;
    *(p->is_send ? &g->sends[p->channel] : &g->receives[p->channel]) = false;
    arrdel(g->pending, i);
  }
}

/* A receive in the background, and the send that it waits for, in the background or not.  A later
 * phase knows that both are over. */
static void add_background(Gen *g, Step **steps)
{
  int channel = free_channel(g);
  unsigned length = elements(g);
  bool wide = below(g, 4) == 0;
  Step send, receive;
  if (channel < 0 || g->phase + 1 == PHASES ||
      !make_receive(g, &receive, (unsigned)channel, length, wide))
    return;
  count_use(g, &receive, 1);
  g->receives[channel] = true;
  Step *between = NULL;
  add_steps(g, &between, below(g, 3));
  bool fits = make_send(g, &send, (unsigned)channel, length, wide);
  count_use(g, &receive, -1);
  g->receives[channel] = false;
  if (fits)
    receive.done = completion_of(g);
  fits = fits && receive.done.task;
  if (fits) {
    receive.in_background = true;
    send.in_background = below(g, 2);
    note_pending(g, &receive, receive.done.task);
    if (send.in_background)
      note_pending(g, &send, receive.done.task);
    arrput(*steps, receive);
  }
  for (size_t i = 0; i < arrlenu(between); i++)
    arrput(*steps, between[i]);
  if (fits)
    arrput(*steps, send);
  arrfree(between);
}

static void load_dsr(Gen *g, Step **steps, DsrFile file, unsigned k)
{
  Step s = {.kind = STEP_LOAD_DSR, .number = (uint8_t)(file * DSRS + k)};
  s.to.walk = any_walk(g, below(g, ARRAYS), elements(g), below(g, 4) == 0);
  s.to.form = below(g, 2) ? BY_SETS : BY_CONSTANT;
  g->dsrs[file][k] = s.to.walk;
  g->has_dsr[file][k] = true;
  arrput(*steps, s);
}

static DsrFile any_file(Gen *g)
{
  return (DsrFile[]){DSR_DEST, DSR_SRC0, DSR_SRC1}[below(g, 3)];
}

static void add_load_dsr(Gen *g, Step **steps)
{
  load_dsr(g, steps, any_file(g), below(g, EXPLICIT));
}

/* An operation with that DSR. */
static void use_dsr(Gen *g, Step **steps, DsrFile file, unsigned k)
{
  const Walk *w = &g->dsrs[file][k];
  Operand o = {.form = BY_DSR, .walk = *w, .index = (uint8_t)k};
  bool adds = file == DSR_SRC0;
  Step s = {.kind = STEP_VECTOR, .arithmetic = adds ? OF_ADD : OF_MOVE, .to = o, .a = o, .b = o};
  if ((adds && w->wide) || !(file == DSR_DEST ? may_write(g, w->array) : may_read(g, w->array)) ||
      (file != DSR_DEST && !any_operand(g, DSR_DEST, w->length, w->wide, true, &s.to)) ||
      (file != DSR_SRC1 && !any_operand(g, DSR_SRC1, w->length, w->wide, false, &s.b)))
    return;
  arrput(*steps, s);
}

/* More DSRs of a file than there are, a few of them in use at the same time. */
static void add_row_of_dsrs(Gen *g, Step **steps)
{
  DsrFile file = any_file(g);
  g->has_row = true;
  for (unsigned k = 0; k < VIRTUAL; k++) {
    load_dsr(g, steps, file, EXPLICIT + k);
    if (k >= AT_ONCE)
      g->has_dsr[file][EXPLICIT + k - AT_ONCE] = false;
    use_dsr(g, steps, file, EXPLICIT + k - below(g, k < AT_ONCE ? k + 1 : AT_ONCE));
  }
  memset(&g->has_dsr[file][EXPLICIT], 0, sizeof(bool) * VIRTUAL);
}

static void add_variable(Gen *g, Step **steps)
{
  Step s = {.kind = STEP_SET_VARIABLE, .number = (uint8_t)below(g, VARIABLES)};
  s.to.walk = any_walk(g, below(g, ARRAYS), elements(g), below(g, 4) == 0);
  s.to.form = below(g, 2) ? BY_SETS : BY_CONSTANT;
  g->variables[s.number] = s.to.walk;
  arrput(*steps, s);
}

static void add_value(Gen *g, Step **steps)
{
  Step s = {.kind = below(g, 2) ? STEP_HOLD : STEP_TAKE, .number = (uint8_t)below(g, HELD)};
  if (s.kind == STEP_HOLD) {
    s.a.index = (uint8_t)below(g, VARIABLES);
    g->held[s.number] = g->variables[s.a.index];
    g->has_held[s.number] = true;
  } else if (any_number(g, false, &s.a)) {
    g->has_taken[s.number] = true;
  } else {
    return;
  }
  arrput(*steps, s);
}

/* A store to the same hidden element in front of a call and behind it, and one in it that reads the
 * element. */
static void touch_hidden(Gen *g, Step **steps, const Operand *element, bool writes)
{
  Step s;
  if (!add_store(g, &s))
    return;
  *(writes ? &s.to : &s.b) = *element;
  arrput(*steps, s);
}

/* In what may run never or again, DSRs and variables stay as they are. */
static void add_nested(Gen *g, Step **steps)
{
  Step s = {.kind = (StepKind)(STEP_LOOP + below(g, 3)), .number = (uint8_t)(1 + below(g, 3))};
  if (s.kind == STEP_IF && !any_number(g, false, &s.a))
    return;
  bool in_call = g->in_call, touches = s.kind == STEP_CALL && below(g, 2);
  Operand element = {.form = BY_ELEMENT, .array = HIDDEN, .index = (uint8_t)below(g, WORDS)};
  if (touches)
    touch_hidden(g, steps, &element, true);
  g->in_call |= s.kind == STEP_CALL;
  g->depth++;
  if (touches)
    touch_hidden(g, &s.steps, &element, false);
  add_steps(g, &s.steps, 1 + below(g, 4));
  if (s.kind == STEP_IF)
    add_steps(g, &s.others, below(g, 3));
  g->depth--;
  g->in_call = in_call;
  arrput(*steps, s);
  if (touches)
    touch_hidden(g, steps, &element, true);
}

static void add_steps(Gen *g, Step **steps, unsigned n)
{
  for (; n > 0 && g->budget > 0; n--) {
    Step s;
    g->budget--;
    switch (below(g, 16)) {
    case 0: case 1: case 2: case 3:
      if (add_store(g, &s))
        arrput(*steps, s);
      break;
    case 4: case 5: case 6:
      if (add_vector(g, &s))
        arrput(*steps, s);
      break;
    case 7: case 8:
      add_exchange(g, steps);
      break;
    case 9: case 10:
      if (g->depth == 0)
        add_background(g, steps);
      break;
    case 11:
      if (g->depth == 0 && !g->has_row && below(g, 4) == 0)
        add_row_of_dsrs(g, steps);
      else if (g->depth == 0)
        add_load_dsr(g, steps);
      break;
    case 12:
      if (g->depth == 0)
        add_variable(g, steps);
      break;
    case 13: case 14:
      if (g->depth == 0)
        add_value(g, steps);
      break;
    default:
      if (g->depth < MOST_DEPTH)
        add_nested(g, steps);
    }
  }
}

/* The next phase starts when the last of its reasons is there.  What no operation activates, the
 * code does: at the end of the phase, or in front of all if an operation unblocks the task. */
static void make_phase(Gen *g)
{
  Step *steps = NULL;
  end_pending(g);
  g->budget = 24;
  memset(g->has_dsr, 0, sizeof g->has_dsr);      /* tasks load their own */
  memset(g->has_held, 0, sizeof g->has_held);
  memset(g->has_taken, 0, sizeof g->has_taken);
  add_steps(g, &steps, 4 + below(g, 8));
  unsigned next = g->phase + 1;
  if (next < PHASES && g->activations[next] == 0) {
    Step s = {.kind = STEP_ACTIVATE, .task = (uint8_t)next};
    if (g->unblocks[next] && below(g, 2))
      arrins(steps, 0, s);
    else
      arrput(steps, s);
  }
  g->phases[g->phase] = steps;
}

/* What a variable has at the start. */
static Walk first_variable(unsigned i) { return (Walk){(uint8_t)i, 0, (uint8_t)(3 + i), 1, false}; }

static void make_program(Gen *g, uint64_t seed)
{
  *g = (Gen){.state = seed * 2 + 1};
  for (unsigned i = 0; i < VARIABLES; i++)
    g->variables[i] = first_variable(i);
  for (g->phase = 0; g->phase < PHASES; g->phase++)
    make_phase(g);
}

static void free_steps(Step *steps)
{
  for (size_t i = 0; i < arrlenu(steps); i++) {
    free_steps(steps[i].steps);
    free_steps(steps[i].others);
  }
  arrfree(steps);
}

/* ---- the steps as IR ------------------------------------------------------------------------ */

typedef struct {
  IrModule *m;
  IrBuilder b;
  IrGlobalId arrays[ARRAYS + 1], cells, variables, fabric;
  IrValue held[HELD], taken[HELD];
  unsigned n_funcs;
} Maker;

static IrValue word(Maker *k, uint64_t bits) { return ir_const(&k->b, IRT_I16, bits); }

static IrValue address_of(Maker *k, IrGlobalId global, unsigned offset)
{
  return ir_global_addr(&k->b, global, offset);
}

/* A number that only the run knows. */
static IrValue number_of(Maker *k, unsigned n)
{
  return ir_load(&k->b, IRT_I16, address_of(k, k->cells, 2 * n));
}

static unsigned bytes_of(bool wide) { return wide ? 4 : 2; }

static IrValue element_of(Maker *k, const Operand *o, bool wide)
{
  if (o->form == BY_TAKEN)
    return k->taken[o->index];
  IrValue at = address_of(k, k->arrays[o->array], o->index * bytes_of(wide));
  return ir_load(&k->b, wide ? IRT_I32 : IRT_I16, at);
}

static IrValue descriptor_of(Maker *k, const Walk *w, bool by_sets)
{
  unsigned bytes = bytes_of(w->wide);
  IrDesc d = {.global = k->arrays[w->array]};
  d.desc.kind = DESC_MEM1D;
  d.desc.base = (uint16_t)(by_sets ? 0 : w->start * bytes);
  d.desc.length = by_sets ? 1 : w->length;
  d.desc.stride = w->stride;
  IrValue dsd = ir_dsd_const(&k->b, d);
  if (!by_sets)
    return dsd;
  IrValue by = ir_binary(&k->b, IR_mul, IRT_I16, number_of(k, w->start % CELLS), word(k, bytes));
  by = ir_binary(&k->b, IR_add, IRT_I16, by, word(k, w->start / CELLS * CELLS * bytes));
  dsd = ir_dsd_set(&k->b, dsd, DSRF_LENGTH, number_of(k, w->length));
  return ir_dsd_set(&k->b, dsd, DSRF_BASE_ADD, by);
}

static IrValue variable_of(Maker *k, unsigned index)
{
  return ir_load(&k->b, IRT_DSD, address_of(k, k->variables, DSD_BYTES * index));
}

static uint32_t dsr_number(unsigned k)
{
  return k < EXPLICIT ? explicit_dsrs[k] : IR_VIRTUAL_DSR + k;
}

typedef struct { IrValue args[4]; uint32_t n; } Args;

static IrVecOperand operand_of(Maker *k, const Operand *o, DsrFile file, bool wide, Args *args)
{
  if (o->form == BY_DSR)
    return (IrVecOperand){.kind = IRV_DSR, .file = file, .number = dsr_number(o->index)};
  IrVecOperand out = {.kind = is_number(o) ? IRV_SCALAR : IRV_DSD, .arg = args->n};
  if (is_number(o))
    args->args[args->n++] = element_of(k, o, wide);
  else if (o->form == BY_HELD)
    args->args[args->n++] = k->held[o->index];
  else if (o->form == BY_VARIABLE)
    args->args[args->n++] = variable_of(k, o->index);
  else
    args->args[args->n++] = descriptor_of(k, &o->walk, o->form == BY_SETS);
  return out;
}

static unsigned task_id(unsigned phase) { return FIRST_TASK + phase; }

/* The queue's descriptor as its variable has it: of one element, for synchronous operations. */
static IrDesc fabric_end(const Step *s)
{
  bool is_send = s->kind == STEP_SEND;
  IrDesc d = {.global = {IR_NO_ID}};
  d.desc.kind = is_send ? DESC_FABOUT : DESC_FABIN;
  d.desc.queue = (is_send ? output_queues : input_queues)[s->channel];
  d.desc.color = (uint8_t)(FIRST_COLOR + s->channel);
  d.desc.length = 1;
  return d;
}

static IrValue fabric_variable(Maker *k, const Step *s)
{
  unsigned place = 2 * s->channel + (s->kind == STEP_SEND);
  return address_of(k, k->fabric, DSD_BYTES * place);
}

static IrValue fabric_descriptor(Maker *k, const Step *s)
{
  IrDesc d = fabric_end(s);
  Action done = {ACT_NONE, ID_TASK, 0};
  if (s->done.task)
    done = (Action){s->done.unblocks ? ACT_UNBLOCK : ACT_ACTIVATE, ID_TASK,
                    (uint8_t)task_id(s->done.task)};
  if (s->form == BY_CONSTANT || s->form == BY_DSR) {
    d.desc.length = s->to.walk.length;
    d.desc.flags = s->in_background ? DESC_F_ASYNC : 0;
    d.desc.done = done;
    return ir_dsd_const(&k->b, d);
  }
  IrValue dsd = s->form == BY_SETS ? ir_dsd_const(&k->b, d)
                                   : ir_load(&k->b, IRT_DSD, fabric_variable(k, s));
  dsd = ir_dsd_set(&k->b, dsd, DSRF_LENGTH, number_of(k, s->to.walk.length));
  if (s->in_background)
    dsd = ir_dsd_set(&k->b, dsd, DSRF_FLAGS, word(k, DESC_F_ASYNC));
  if (s->done.task)
    dsd = ir_dsd_set(&k->b, dsd, DSRF_DONE, word(k, action_encode(done)));
  return dsd;
}

/* The fabric's end of a send or receive. */
static IrVecOperand fabric_operand(Maker *k, const Step *s, Args *args)
{
  DsrFile file = s->kind == STEP_SEND ? DSR_DEST : DSR_SRC1;
  IrValue dsd = fabric_descriptor(k, s);
  if (s->form == BY_DSR) {
    ir_dsr_load(&k->b, file, FABRIC_DSR, dsd);
    return (IrVecOperand){.kind = IRV_DSR, .file = file, .number = FABRIC_DSR};
  }
  args->args[args->n] = dsd;
  return (IrVecOperand){.kind = IRV_DSD, .arg = args->n++};
}

static VecOp vec_op(const Step *s, bool wide)
{
  return wide ? VEC_mov32 : (VecOp[]){VEC_mov16, VEC_add16, VEC_xor16}[s->arithmetic];
}

static void make_vec(Maker *k, const Step *s)
{
  bool wide = s->to.walk.wide;
  IrVec v = {.op = vec_op(s, wide), .scalar = IR_NO_ID, .index = IR_NO_ID};
  Args args = {.n = 0};
  if (s->kind == STEP_SEND)
    v.dest = fabric_operand(k, s, &args);
  else if (s->to_scalar)
    v.dest = (IrVecOperand){.kind = IRV_POINTER, .arg = args.n};
  else
    v.dest = operand_of(k, &s->to, DSR_DEST, wide, &args);
  if (s->to_scalar)
    args.args[args.n++] = address_of(k, k->arrays[s->to.array], s->to.index * bytes_of(wide));
  if (s->arithmetic != OF_MOVE)
    v.src0 = operand_of(k, &s->a, DSR_SRC0, wide, &args);
  v.src1 = s->kind == STEP_RECEIVE ? fabric_operand(k, s, &args)
                                   : operand_of(k, &s->b, DSR_SRC1, wide, &args);
  ir_vec(&k->b, &v, args.args, args.n);
}

static void make_store(Maker *k, const Step *s)
{
  IrValue value = element_of(k, &s->b, false);
  if (s->arithmetic != OF_MOVE)
    value = ir_binary(&k->b, s->arithmetic == OF_ADD ? IR_add : IR_xor, IRT_I16,
                      element_of(k, &s->a, false), value);
  IrGlobalId array = k->arrays[s->to.array];
  IrValue at = address_of(k, array, 2 * s->to.index);
  if (s->by_index) {
    IrValue by = ir_binary(&k->b, IR_shl, IRT_I16, number_of(k, s->to.index % CELLS), word(k, 1));
    at = ir_binary(&k->b, IR_ptr_add, IRT_PTR,
                   address_of(k, array, s->to.index / CELLS * CELLS * 2), by);
  }
  ir_store(&k->b, at, value);
}

static void make_steps(Maker *k, const Step *steps);

static void make_loop(Maker *k, const Step *s)
{
  IrBuilder *b = &k->b;
  IrBlockId head = ir_block_add(k->m, b->func), body = ir_block_add(k->m, b->func);
  IrBlockId end = ir_block_add(k->m, b->func);
  IrValue i = ir_block_param(k->m, b->func, head, IRT_I16), from = word(k, 0);
  bool is_known = s->number == 2;
  IrValue turns = is_known ? word(k, s->number) : number_of(k, s->number);
  ir_br(b, head, &from, 1);
  b->block = head;
  ir_cond_br(b, ir_binary(b, IR_slt, IRT_BOOL, i, turns), body, NULL, 0, end, NULL, 0);
  b->block = body;
  make_steps(k, s->steps);
  IrValue next = ir_binary(b, IR_add, IRT_I16, i, word(k, 1));
  ir_br(b, head, &next, 1);
  b->block = end;
}

static void make_if(Maker *k, const Step *s)
{
  IrBuilder *b = &k->b;
  IrBlockId yes = ir_block_add(k->m, b->func), no = ir_block_add(k->m, b->func);
  IrBlockId end = ir_block_add(k->m, b->func);
  IrValue odd = ir_binary(b, IR_and, IRT_I16, element_of(k, &s->a, false), word(k, 1));
  ir_cond_br(b, ir_binary(b, IR_ne, IRT_BOOL, odd, word(k, 0)), yes, NULL, 0, no, NULL, 0);
  b->block = yes;
  make_steps(k, s->steps);
  ir_br(b, end, NULL, 0);
  b->block = no;
  make_steps(k, s->others);
  ir_br(b, end, NULL, 0);
  b->block = end;
}

static IrFuncId open_func(Maker *k, bool is_task)
{
  IrFuncId f = ir_func_add(k->m, arena_printf(k->m->arena, "f%u", k->n_funcs++), IRT_VOID, NULL, 0);
  k->m->funcs[f.raw].is_task = is_task;
  k->m->funcs[f.raw].address_taken = true;
  k->b = (IrBuilder){.module = k->m, .func = f};
  return f;
}

static void make_call(Maker *k, const Step *s)
{
  IrBuilder caller = k->b;
  IrFuncId f = open_func(k, false);
  k->m->funcs[f.raw].address_taken = false;
  k->m->funcs[f.raw].inlining = s->number == 1 ? IR_INLINING_NEVER : IR_INLINING_FREE;
  make_steps(k, s->steps);
  ir_ret(&k->b, IR_NO_VALUE);
  k->b = caller;
  for (unsigned i = 0; i < s->number; i++)
    ir_call(&k->b, f, NULL, 0);
}

static void make_step(Maker *k, const Step *s)
{
  IrValue id;
  switch (s->kind) {
  case STEP_STORE:
    make_store(k, s);
    break;
  case STEP_VECTOR: case STEP_SEND: case STEP_RECEIVE:
    make_vec(k, s);
    break;
  case STEP_LOAD_DSR:
    ir_dsr_load(&k->b, (DsrFile)(s->number / DSRS), dsr_number(s->number % DSRS),
                descriptor_of(k, &s->to.walk, s->to.form == BY_SETS));
    break;
  case STEP_SET_VARIABLE:
    ir_store(&k->b, address_of(k, k->variables, DSD_BYTES * s->number),
             descriptor_of(k, &s->to.walk, s->to.form == BY_SETS));
    break;
  case STEP_HOLD:
    k->held[s->number] = variable_of(k, s->a.index);
    break;
  case STEP_TAKE:
    k->taken[s->number] = element_of(k, &s->a, false);
    break;
  case STEP_LOOP:
    make_loop(k, s);
    break;
  case STEP_IF:
    make_if(k, s);
    break;
  case STEP_CALL:
    make_call(k, s);
    break;
  case STEP_ACTIVATE: default:
    id = word(k, task_id(s->task));
    ir_machine_op(&k->b, IR_activate, IRT_VOID, 0, 0, &id, 1);
  }
}

static void make_steps(Maker *k, const Step *steps)
{
  for (size_t i = 0; i < arrlenu(steps); i++)
    make_step(k, &steps[i]);
}

static const char *const array_names[ARRAYS + 1] = {"a0", "a1", "a2", "a3", "a4", "a5", "hidden"};

static uint16_t start_value(unsigned array, unsigned i)
{
  return (uint16_t)((array * WORDS + i + 1) * 0x9e37u);
}

static void make_data(Maker *k)
{
  IrModule *m = k->m;
  for (unsigned a = 0; a <= HIDDEN; a++) {
    k->arrays[a] = ir_global_add(m, array_names[a], 2 * WORDS, 4);
    uint8_t *init = arena_many(m->arena, uint8_t, 2 * WORDS);
    for (unsigned i = 0; i < 2 * WORDS; i++)
      init[i] = (uint8_t)(start_value(a, i / 2) >> 8 * (i % 2));
    m->globals[k->arrays[a].raw].init = init;
    m->globals[k->arrays[a].raw].keep = a != HIDDEN;
  }
  k->cells = ir_global_add(m, "cells", 2 * CELLS, 2);
  uint8_t *numbers = arena_many(m->arena, uint8_t, 2 * CELLS);
  for (unsigned i = 0; i < CELLS; i++)
    numbers[2 * i] = (uint8_t)i;
  m->globals[k->cells.raw].init = numbers;
  m->globals[k->cells.raw].keep = true;
  k->variables = ir_global_add(m, "variables", VARIABLES * DSD_BYTES, 2);
  k->fabric = ir_global_add(m, "fabric", 2 * CHANNELS * DSD_BYTES, 2);
  m->globals[k->variables.raw].keep = m->globals[k->fabric.raw].keep = true;
}

static void make_channels(Maker *k)
{
  for (unsigned c = 0; c < CHANNELS; c++) {
    ImageQueue queue = {.used = true, .color = (uint8_t)(FIRST_COLOR + c)};
    k->m->output[output_queues[c]] = k->m->input[input_queues[c]] = queue;
    k->m->data_queue[queue.color] = input_queues[c];
  }
}

/* The first phase stores the descriptors that variables have at the start. */
static void make_variables(Maker *k)
{
  for (unsigned i = 0; i < VARIABLES; i++) {
    Walk w = first_variable(i);
    ir_store(&k->b, address_of(k, k->variables, DSD_BYTES * i), descriptor_of(k, &w, false));
  }
  for (unsigned i = 0; i < 2 * CHANNELS; i++) {
    Step end = {.kind = i % 2 ? STEP_SEND : STEP_RECEIVE, .channel = (uint8_t)(i / 2)};
    ir_store(&k->b, fabric_variable(k, &end), ir_dsd_const(&k->b, fabric_end(&end)));
  }
}

static IrModule *make_module(Arena *arena, const Gen *g, Arch arch)
{
  Maker k = {.m = ir_module_create(arena, arch, FP16_F16)};
  make_data(&k);
  make_channels(&k);
  k.m->tasks = arena_many(arena, IrTask, PHASES);
  k.m->blocked = (UINT64_C(1) << machine_get(arch)->data_task_ids) - 1;
  for (unsigned p = 0; p < PHASES; p++) {
    IrFuncId f = open_func(&k, p > 0);
    if (p == 0)
      make_variables(&k);
    make_steps(&k, g->phases[p]);
    ir_ret(&k.b, IR_NO_VALUE);
    uint64_t bit = UINT64_C(1) << task_id(p);
    k.m->blocked = g->unblocks[p] ? k.m->blocked | bit : k.m->blocked & ~bit;
    if (p > 0)
      k.m->tasks[k.m->n_tasks++] = (IrTask){f, TASK_LOCAL, (uint8_t)task_id(p), 0, NULL};
    if (p == 0) {
      k.m->bindings = arena_new(arena, IrBinding);
      *k.m->bindings = (IrBinding){.is_func = true, .target = f.raw};
      k.m->n_bindings = 1;
    }
  }
  return k.m;
}

/* ---- the steps carried out ------------------------------------------------------------------ */

typedef struct {
  uint16_t arrays[ARRAYS + 1][WORDS];
  uint32_t sent[CHANNELS][MOST_LENGTH];
  const Step *waiting[CHANNELS];       /* a receive in front of its send */
  uint32_t taken[HELD];
  unsigned n_ops;
} Evaluation;

static uint32_t read_element(const Evaluation *e, unsigned array, unsigned at, bool wide)
{
  const uint16_t *words = e->arrays[array];
  return wide ? words[2 * at] | (uint32_t)words[2 * at + 1] << 16 : words[at];
}

static void write_element(Evaluation *e, unsigned array, unsigned at, bool wide, uint32_t value)
{
  uint16_t *words = e->arrays[array];
  words[wide ? 2 * at : at] = (uint16_t)value;
  if (wide)
    words[2 * at + 1] = (uint16_t)(value >> 16);
}

static uint32_t operand_value(const Evaluation *e, const Operand *o, unsigned i, bool wide)
{
  if (o->form == BY_TAKEN)
    return e->taken[o->index];
  if (o->form == BY_ELEMENT)
    return read_element(e, o->array, o->index, wide);
  return read_element(e, o->walk.array, (unsigned)(o->walk.start + (int)i * o->walk.stride), wide);
}

static uint32_t combine(Arithmetic arithmetic, uint32_t a, uint32_t b)
{
  return arithmetic == OF_MOVE ? b : arithmetic == OF_ADD ? (uint16_t)(a + b) : a ^ b;
}

static void receive_element(Evaluation *e, const Step *s, unsigned i, uint32_t value)
{
  bool wide = s->to.walk.wide;
  if (s->arithmetic != OF_MOVE)
    value = combine(s->arithmetic, operand_value(e, &s->a, i, wide), value);
  if (s->to_scalar)
    write_element(e, s->to.array, s->to.index, wide, value);
  else
    write_element(e, s->to.walk.array, (unsigned)(s->to.walk.start + (int)i * s->to.walk.stride),
                  wide, value);
}

static uint32_t sent_element(const Evaluation *e, const Step *s, unsigned i)
{
  bool wide = s->to.walk.wide;
  uint32_t a = s->arithmetic == OF_MOVE ? 0 : operand_value(e, &s->a, i, wide);
  return combine(s->arithmetic, a, operand_value(e, &s->b, i, wide));
}

static void receive_all(Evaluation *e, const Step *s)
{
  for (unsigned i = 0; i < s->to.walk.length; i++)
    receive_element(e, s, i, e->sent[s->channel][i]);
}

static void carry_out(Evaluation *e, const Step *steps);

static void carry_out_step(Evaluation *e, const Step *s)
{
  unsigned turns = 1;
  e->n_ops += s->in_background;
  switch (s->kind) {
  case STEP_STORE:
    write_element(e, s->to.array, s->to.index, false,
                  combine(s->arithmetic, operand_value(e, &s->a, 0, false),
                          operand_value(e, &s->b, 0, false)));
    break;
  case STEP_VECTOR:
    for (unsigned i = 0; i < s->to.walk.length; i++)
      receive_element(e, s, i, operand_value(e, &s->b, i, s->to.walk.wide));
    break;
  case STEP_SEND:
    for (unsigned i = 0; i < s->to.walk.length; i++)
      e->sent[s->channel][i] = sent_element(e, s, i);
    if (e->waiting[s->channel])
      receive_all(e, e->waiting[s->channel]);
    e->waiting[s->channel] = NULL;
    break;
  case STEP_RECEIVE:
    if (s->in_background)
      e->waiting[s->channel] = s;
    else
      receive_all(e, s);
    break;
  case STEP_LOOP: case STEP_CALL:
    for (turns = s->number; turns > 0; turns--)
      carry_out(e, s->steps);
    break;
  case STEP_IF:
    carry_out(e, operand_value(e, &s->a, 0, false) & 1 ? s->steps : s->others);
    break;
  case STEP_TAKE:
    e->taken[s->number] = operand_value(e, &s->a, 0, false);
    break;
  case STEP_LOAD_DSR: case STEP_SET_VARIABLE: case STEP_HOLD: case STEP_ACTIVATE: default:
    break;
  }
}

static void carry_out(Evaluation *e, const Step *steps)
{
  for (size_t i = 0; i < arrlenu(steps); i++)
    carry_out_step(e, &steps[i]);
}

static void evaluate_program(Evaluation *e, const Gen *g)
{
  *e = (Evaluation){.n_ops = 0};
  for (unsigned a = 0; a <= HIDDEN; a++)
    for (unsigned i = 0; i < WORDS; i++)
      e->arrays[a][i] = start_value(a, i);
  for (unsigned p = 0; p < PHASES; p++)
    carry_out(e, g->phases[p]);
}

/* ---- the property --------------------------------------------------------------------------- */

/* Each color leads from the ramp to the ramp. */
static void join_channels(Run *r)
{
  static const ImageColorConfig loop = {
    .positions[0] = {.rx = 1 << PORT_RAMP, .tx = 1 << PORT_RAMP, .valid = true},
  };
  static const ImageColorUse uses[CHANNELS] = {{FIRST_COLOR, 0}, {FIRST_COLOR + 1, 0},
                                               {FIRST_COLOR + 2, 0}};
  r->n_color_configs = 1;
  r->color_configs = &loop;
  r->colors = (ImageColorSet){CHANNELS, uses};
}

static const char *difference(Run *r, const Evaluation *e)
{
  for (unsigned a = 0; a < ARRAYS; a++) {
    uint8_t found[2 * WORDS];
    if (!run_memory(r, array_names[a], found, sizeof found))
      return "memory cannot be read";
    for (unsigned i = 0; i < WORDS; i++) {
      unsigned word = found[2 * i] | (unsigned)found[2 * i + 1] << 8;
      if (word != e->arrays[a][i])
        return arena_printf(r->arena, "%s[%u] is 0x%04x, not 0x%04x", array_names[a], i, word,
                            e->arrays[a][i]);
    }
  }
  return NULL;
}

/* What does not end the run: an access to memory that an operation in the background uses. */
static const char *first_finding(Run *r)
{
  size_t count;
  char text[400] = "";
  const Fault *faults = r->engine->ops->faults(r->engine, &count);
  if (count == 0)
    return NULL;
  fault_text(r->program, &faults[0], text, sizeof text);
  return arena_copy_text(r->arena, text, strlen(text));
}

/* What waits for ever, or NULL. */
static const char *report_of_end(Run *r)
{
  static const IdleQuestion question = {.left_is_error = true};
  char *text;
  size_t size;
  if (idle_classify(r->engine, r->program, &question) == IDLE_DONE)
    return NULL;
  FILE *out = open_memstream(&text, &size);
  deadlock_report(r->engine, r->program, &question, 20, out);
  fclose(out);
  const char *report = arena_copy_text(r->arena, text, size);
  free(text);
  return report;
}

/* Returns how many operations ran in the background. */
static unsigned check_seed(uint64_t seed, bool verbose)
{
  Run r;
  Gen g;
  Evaluation e;
  run_create(&r);
  join_channels(&r);
  r.check_memory = true;
  make_program(&g, seed);
  IrModule *m = make_module(r.arena, &g, (Arch)(seed / 4 % ARCH_COUNT));
  const char *why = ir_verify(m, r.arena);
  if (verbose)
    ir_print(m, stderr);
  int level = (int)(seed % 4) - 1;
  if (level >= 0 && !why)
    ir_optimise(m, &(IrOptOptions){.level = level});
  if (!why && !run_compile(&r, m, level < 0 ? 0 : level))
    why = r.messages;
  if (!why)
    why = run_load(&r, m);
  evaluate_program(&e, &g);
  if (!why)
    why = run_launch(&r, 1000000);
  if (!why)
    why = first_finding(&r);
  if (!why)
    why = report_of_end(&r);
  if (!why)
    why = difference(&r, &e);
  if (why && verbose)
    codegen_print_asm(&r.result, stderr);
  if (why)
    fail_msg("seed %llu: %s", (unsigned long long)seed, why);
  for (unsigned p = 0; p < PHASES; p++)
    free_steps(g.phases[p]);
  arrfree(g.pending);
  run_destroy(&r);
  return e.n_ops;
}

static void test_operations_in_the_background(void **state)
{
  (void)state;
  const char *seed = getenv("WSE_SEED"), *count = getenv("WSE_COUNT");
  uint64_t first = seed ? strtoull(seed, NULL, 0) : 1;
  unsigned n = count ? (unsigned)strtoul(count, NULL, 0) : seed ? 1 : 500, n_ops = 0;
  for (unsigned i = 0; i < n; i++)
    n_ops += check_seed(first + i, seed != NULL && n == 1);
  assert_true(n == 1 || n_ops > 2 * n);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations_in_the_background)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
