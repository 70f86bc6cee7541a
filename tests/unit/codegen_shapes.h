/* Shapes that optimisers look for, for the random programs of codegen_random.c, which includes this
 * text behind its generator: loops behind loops that read what the first ones leave, counters with
 * any start and step that make addresses, loops with several ways out, numbers in memory that loops
 * count, pointers that may point to the same place, loops that fill memory, chains of comparisons
 * with one number, and sums of different widths on the two ways of a branch. */
#ifndef CODEGEN_SHAPES_H
#define CODEGEN_SHAPES_H

enum { SHAPE_PLACES = 4, MOST_ROTATED = 5, MOST_TURNS = 12, MOST_TURNS_INSIDE = 3, MANY_TURNS = 80,
       WAYS_OF_CHAIN = 4 };

/* ---- memory --------------------------------------------------------------------------------- */

/* One of a few places, so that accesses often meet; or one of two that a condition chooses. */
static IrValue shared_place(Gen *g)
{
  IrValue base = g->stack.raw && rng_below(&g->rng, 3) == 0 ? g->stack
                                                            : ir_global_addr(&g->b, g->mem, 0);
  IrValue at = ir_binary(&g->b, IR_ptr_add, IRT_PTR, base,
                         word(g, 8 * rng_below(&g->rng, SHAPE_PLACES)));
  if (rng_below(&g->rng, 4))
    return at;
  return ir_select(&g->b, IRT_PTR, pick(g, IRT_BOOL), at, place(g, 8));
}

/* A number that nothing else accesses. */
static void change_cell(Gen *g)
{
  IrType type = any_int(g);
  unsigned cell = rng_below(&g->rng, CELL_BYTES / 8);
  IrValue at = ir_global_addr(&g->b, g->cells, 8 * cell);
  if (rng_below(&g->rng, 4))
    keep(g, ir_load(&g->b, type, at));
  ir_store(&g->b, ir_global_addr(&g->b, g->cells, 8 * cell), int_op(g, type));
}

/* A number in memory, changed: what a loop counts in a global. */
static void change_place(Gen *g)
{
  if (rng_below(&g->rng, 2)) {
    change_cell(g);
    return;
  }
  IrType type = any_int(g);
  IrValue at = shared_place(g);
  IrValue old = keep(g, ir_load(&g->b, type, at));
  IrOp op = (IrOp[]){IR_add, IR_sub, IR_xor}[rng_below(&g->rng, 3)];
  IrValue now = ir_binary(&g->b, op, type, old, pick(g, type));
  if (rng_below(&g->rng, 3) == 0)
    at = shared_place(g);
  ir_store(&g->b, at, keep(g, now));
  if (rng_below(&g->rng, 3) == 0)
    keep(g, ir_load(&g->b, type, shared_place(g)));
}

/* ---- loops behind loops --------------------------------------------------------------------- */

/* A loop of one block and of few turns whose values change places; what it computes lives on. */
static void rotating_loop(Gen *g)
{
  IrBlockId head = new_block(g), after = new_block(g);
  IrType type = any_int(g);
  IrValue args[MOST_ROTATED + 1], params[MOST_ROTATED + 1];
  unsigned n = 1 + rng_below(&g->rng, MOST_ROTATED), turns = 1 + rng_below(&g->rng, 4);
  args[0] = word(g, 0);
  for (unsigned i = 1; i <= n; i++)
    args[i] = pick(g, type);
  ir_br(&g->b, head, args, n + 1);
  g->b.block = head;
  params[0] = new_param(g, head, IRT_I16);
  for (unsigned i = 1; i <= n; i++)
    params[i] = keep(g, new_param(g, head, type));
  for (unsigned i = rng_below(&g->rng, 6); i > 0; i--)
    random_insn(g);
  for (unsigned i = 1; i <= n; i++)
    args[i] = rng_below(&g->rng, 3) ? params[1 + (i + rng_below(&g->rng, 2)) % n] : pick(g, type);
  args[0] = ir_binary(&g->b, IR_add, IRT_I16, params[0], word(g, 1));
  IrValue more = ir_binary(&g->b, IR_ult, IRT_BOOL, args[0], word(g, turns));
  ir_cond_br(&g->b, more, head, args, n + 1, after, NULL, 0);
  g->b.block = after;
}

static void loops_in_a_row(Gen *g)
{
  for (unsigned n = 2 + rng_below(&g->rng, 3); n > 0; n--)
    rotating_loop(g);
}

/* ---- counters ------------------------------------------------------------------------------- */

/* A loop that counts from anywhere, up or down, perhaps past the end of its type, until its counter
 * is `last`; it tests that before each turn or after it. */
typedef struct {
  IrBlockId head, after;
  IrType type;
  IrValue counter, carried, last;
  int step;
  unsigned scale, turns;
  bool tests_first, is_ordered;      /* ordered: it may also test which one is less */
} Counting;

static IrValue counted_index(Gen *g, const Counting *c)
{
  IrValue index = c->counter;
  if (c->type < IRT_I16)
    index = ir_unary(&g->b, rng_below(&g->rng, 2) ? IR_zext : IR_sext, IRT_I16, index);
  else if (c->type > IRT_I16)
    index = ir_unary(&g->b, IR_trunc, IRT_I16, index);
  return index;
}

/* In the array's middle: the index of eight bits is the farthest. */
static IrValue counted_place(Gen *g, const Counting *c)
{
  IrValue scaled = ir_binary(&g->b, IR_mul, IRT_I16, counted_index(g, c), word(g, c->scale));
  IrValue at = ir_binary(&g->b, IR_add, IRT_I16, scaled, word(g, 8 * rng_below(&g->rng, 4)));
  if (rng_below(&g->rng, 3) == 0) {
    IrValue far = ir_binary(&g->b, IR_and, IRT_I16, pick(g, IRT_I16), word(g, 24));
    at = ir_binary(&g->b, IR_add, IRT_I16, at, far);
  }
  return ir_binary(&g->b, IR_ptr_add, IRT_PTR, ir_global_addr(&g->b, g->array, FIRST_BYTES), at);
}

static void use_counted_place(Gen *g, const Counting *c)
{
  static const IrType types[] = {IRT_I16, IRT_I32, IRT_I64, IRT_F16, IRT_F32, IRT_I8};
  IrType type = types[rng_below(&g->rng, ARRAY_COUNT(types))];
  while (ir_type_bytes(type) > c->scale)
    type = types[rng_below(&g->rng, ARRAY_COUNT(types))];
  if (rng_below(&g->rng, 2))
    ir_store(&g->b, counted_place(g, c), pick(g, type));
  else
    keep(g, ir_load(&g->b, type, counted_place(g, c)));
}

/* From a fixed number near zero or a varying one.  The last is as many steps away as there are
 * turns. */
static IrValue start_counting(Gen *g, Counting *c, unsigned depth)
{
  c->type = any_int(g);
  c->tests_first = rng_below(&g->rng, 3) == 0;
  /* Many: so that the loop does not become straight code. */
  unsigned most = depth ? MOST_TURNS_INSIDE : rng_below(&g->rng, 4) ? MOST_TURNS : MANY_TURNS;
  c->turns = (c->tests_first ? 0 : 1) + rng_below(&g->rng, most);
  c->step = rng_below(&g->rng, 2) ? 1 : (int)rng_below(&g->rng, 9) - 4;
  c->step = c->step ? c->step : 1;
  c->scale = 1U << rng_below(&g->rng, 4);
  c->is_ordered = rng_below(&g->rng, 2);
  int64_t way = (int64_t)c->step * c->turns;
  if (c->is_ordered || rng_below(&g->rng, 3) == 0) {
    int64_t first = (int64_t)rng_below(&g->rng, 24) - 12;
    c->last = ir_const(&g->b, c->type, (uint64_t)(first + way));
    return ir_const(&g->b, c->type, (uint64_t)first);
  }
  IrValue first = ir_binary(&g->b, IR_and, c->type, pick(g, c->type),
                            ir_const(&g->b, c->type, 15));
  c->last = ir_binary(&g->b, IR_add, c->type, first, ir_const(&g->b, c->type, (uint64_t)way));
  return first;
}

static IrValue goes_on(Gen *g, const Counting *c, IrValue now)
{
  if (!c->is_ordered || rng_below(&g->rng, 3) == 0)
    return ir_binary(&g->b, IR_ne, IRT_BOOL, now, c->last);
  return c->step > 0 ? ir_binary(&g->b, IR_slt, IRT_BOOL, now, c->last)
                     : ir_binary(&g->b, IR_slt, IRT_BOOL, c->last, now);
}

/* Leaves the loop early, with a value, on a condition. */
static void leave_early(Gen *g, const Counting *c)
{
  IrBlockId on = new_block(g);
  IrValue out = pick(g, type_of(g, c->carried));
  ir_cond_br(&g->b, compare(g), c->after, &out, 1, on, NULL, 0);
  g->b.block = on;
}

static void count_turn(Gen *g, const Counting *c, unsigned depth)
{
  for (unsigned n = 1 + rng_below(&g->rng, 6); n > 0; n--) {
    unsigned what = rng_below(&g->rng, 12);
    if (what < 4)
      use_counted_place(g, c);
    else if (what < 6)
      change_place(g);
    else if (what == 6)
      leave_early(g, c);
    else if (what == 7 && depth < 2)
      random_code(g, depth + 1);
    else
      random_insn(g);
  }
}

static void counting_loop(Gen *g, unsigned depth)
{
  Counting c = {.head = new_block(g), .after = new_block(g)};
  IrType carried = any_int(g);
  IrValue args[2] = {start_counting(g, &c, depth), pick(g, carried)};
  unsigned outside = g->n_values;
  ir_br(&g->b, c.head, args, 2);
  g->b.block = c.head;
  c.counter = keep(g, new_param(g, c.head, c.type));
  c.carried = keep(g, new_param(g, c.head, carried));
  if (c.tests_first) {
    IrBlockId body = new_block(g);
    ir_cond_br(&g->b, goes_on(g, &c, c.counter), body, NULL, 0, c.after, &c.carried, 1);
    g->b.block = body;
  }
  count_turn(g, &c, depth);
  args[0] = ir_binary(&g->b, IR_add, c.type, c.counter,
                      ir_const(&g->b, c.type, (uint64_t)(int64_t)c.step));
  args[1] = pick(g, carried);
  if (c.tests_first) {
    ir_br(&g->b, c.head, args, 2);
  } else {
    IrValue more = goes_on(g, &c, args[0]), out = pick(g, carried);
    ir_cond_br(&g->b, more, c.head, args, 2, c.after, &out, 1);
  }
  g->b.block = c.after;
  g->n_values = outside;
  keep(g, new_param(g, c.after, carried));
}

/* ---- fills ---------------------------------------------------------------------------------- */

/* A constant whose bytes are mostly alike. */
static IrValue constant_to_store(Gen *g, IrType type)
{
  static const uint64_t splats[] = {0, UINT64_MAX, UINT64_C(0x7777777777777777), 0x1234};
  return ir_const(&g->b, type, splats[rng_below(&g->rng, ARRAY_COUNT(splats))]);
}

/* Stores of constants at what grows with the counter; they may overlap. */
static void store_constants(Gen *g, IrValue counter)
{
  IrType type = (IrType[]){IRT_I8, IRT_I16, IRT_I32, IRT_I64}[rng_below(&g->rng, 4)];
  IrValue index = counter;
  if (type_of(g, counter) != IRT_I16)
    index = ir_unary(&g->b, IR_trunc, IRT_I16, counter);
  for (unsigned n = 1 + rng_below(&g->rng, 3); n > 0; n--) {
    IrValue at = ir_binary(&g->b, IR_mul, IRT_I16, index, word(g, ir_type_bytes(type)));
    IrValue base = ir_global_addr(&g->b, g->array, FIRST_BYTES + 8 * rng_below(&g->rng, 4));
    ir_store(&g->b, ir_binary(&g->b, IR_ptr_add, IRT_PTR, base, at), constant_to_store(g, type));
  }
}

/* A loop that does nothing but store constants, behind a test of its bound or not. */
static void filling_loop(Gen *g)
{
  IrBlockId front = new_block(g), head = new_block(g), after = new_block(g);
  IrType type = rng_below(&g->rng, 2) ? IRT_I16 : IRT_I32;
  IrValue first = ir_const(&g->b, type, rng_below(&g->rng, 4));
  IrValue bound = ir_const(&g->b, type, 1 + rng_below(&g->rng, 20));
  if (rng_below(&g->rng, 2))
    bound = ir_binary(&g->b, IR_and, type, pick(g, type), ir_const(&g->b, type, 15));
  if (rng_below(&g->rng, 2))
    first = ir_binary(&g->b, IR_and, type, pick(g, type), ir_const(&g->b, type, 7));
  IrOp less = rng_below(&g->rng, 2) ? IR_slt : IR_ult;
  ir_cond_br(&g->b, ir_binary(&g->b, less, IRT_BOOL, first, bound), front, NULL, 0, after, NULL, 0);
  g->b.block = front;
  ir_br(&g->b, head, &first, 1);
  g->b.block = head;
  IrValue counter = new_param(g, head, type);
  store_constants(g, counter);
  IrValue next = ir_binary(&g->b, IR_add, type, counter, ir_const(&g->b, type, 1));
  ir_cond_br(&g->b, ir_binary(&g->b, less, IRT_BOOL, next, bound), head, &next, 1, after, NULL, 0);
  g->b.block = after;
}

/* ---- branches ------------------------------------------------------------------------------- */

/* A number is compared with one constant after the other; each way brings a value. */
static void chain_of_branches(Gen *g, unsigned depth)
{
  IrType type = any_int(g), brought = any_type(g);
  IrBlockId meet = new_block(g);
  IrValue x = pick(g, type);
  if (rng_below(&g->rng, 2))
    x = ir_binary(&g->b, IR_and, type, x, ir_const(&g->b, type, 3));
  unsigned before = g->n_values;
  for (unsigned i = 0; i < WAYS_OF_CHAIN; i++) {
    IrBlockId way = new_block(g), next = new_block(g);
    IrOp op = rng_below(&g->rng, 3) ? IR_eq : IR_ult;
    IrValue is = ir_binary(&g->b, op, IRT_BOOL, x, ir_const(&g->b, type, i));
    ir_cond_br(&g->b, is, way, NULL, 0, next, NULL, 0);
    g->b.block = way;
    if (rng_below(&g->rng, 2))
      random_code(g, depth + 1);
    IrValue out = pick(g, brought);
    ir_br(&g->b, meet, &out, 1);
    g->b.block = next;
    g->n_values = before;
  }
  IrValue out = pick(g, brought);
  ir_br(&g->b, meet, &out, 1);
  g->b.block = meet;
  keep(g, new_param(g, meet, brought));
}

/* The sum or difference of two numbers or of their low parts; its first instruction is the same for
 * each width. */
static IrValue sum_of_width(Gen *g, IrOp op, IrType type, IrValue x, IrValue y)
{
  if (type == IRT_I64)
    return ir_binary(&g->b, op, type, x, y);
  IrValue low_x = ir_unary(&g->b, IR_trunc, type, x), low_y = ir_unary(&g->b, IR_trunc, type, y);
  return ir_binary(&g->b, op, type, low_x, low_y);
}

/* Both ways begin with a sum of the same numbers, but not always as wide; one of words may come
 * first. */
static void sums_on_two_ways(Gen *g)
{
  static const IrType widths[] = {IRT_I16, IRT_I32, IRT_I32, IRT_I64, IRT_I64};
  IrBlockId ways[2] = {new_block(g), new_block(g)}, meet = new_block(g);
  IrOp op = rng_below(&g->rng, 4) ? IR_add : IR_sub;
  IrValue x = pick(g, IRT_I64), y = pick(g, IRT_I64), a = pick(g, IRT_I16), b = pick(g, IRT_I16);
  ir_cond_br(&g->b, pick(g, IRT_BOOL), ways[0], NULL, 0, ways[1], NULL, 0);
  for (unsigned way = 0; way < 2; way++) {
    g->b.block = ways[way];
    IrType type = widths[rng_below(&g->rng, ARRAY_COUNT(widths))];
    IrValue out[2] = {b};
    if (rng_below(&g->rng, 2))
      out[0] = ir_binary(&g->b, op, IRT_I16, a, b);
    out[1] = sum_of_width(g, op, type, x, y);
    if (type != IRT_I64)
      out[1] = ir_unary(&g->b, IR_zext, IRT_I64, out[1]);
    ir_br(&g->b, meet, out, 2);
  }
  g->b.block = meet;
  keep(g, new_param(g, meet, IRT_I16));
  keep(g, new_param(g, meet, IRT_I64));
}

/* ---- one of them ---------------------------------------------------------------------------- */

static void random_shape(Gen *g, unsigned depth)
{
  switch (rng_below(&g->rng, 7)) {
  case 0: loops_in_a_row(g); break;
  case 1: case 2: counting_loop(g, depth); break;
  case 3: chain_of_branches(g, depth); break;
  case 4: sums_on_two_ways(g); break;
  case 5: filling_loop(g); break;
  default: change_place(g); break;
  }
  g->budget -= g->budget < 8 ? g->budget : 8;
}

#endif
