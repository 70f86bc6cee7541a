/* Two engines that have run the same program: everything that can be asked of them is compared.
 * A difference fails the running test, or ends the program, with a message that names the seed.
 * Included by one .c file each. */
#ifndef ENGINE_COMPARE_H
#define ENGINE_COMPARE_H

#include "emu_asm.h"

static uint32_t seed_now;       /* for messages */

static void compare_number(const char *what, uint32_t tile, uint64_t x, uint64_t y)
{
  if (x != y)
    fail_msg("seed %u: %s of tile %u: %llu and %llu", seed_now, what, tile, (unsigned long long)x,
             (unsigned long long)y);
}

#define SAME(field) compare_number(#field, tile, x->field, y->field)

static void compare_stats(const EngineStats *x, const EngineStats *y)
{
  uint32_t tile = NO_TILE;
  SAME(first_event);
  SAME(last_event);
  SAME(active_tile_cycles);
  SAME(instructions);
  SAME(groups);
  SAME(elements);
  SAME(wavelets);
  for (unsigned i = 0; i < PORT_RAMP; i++)
    compare_number(port_name((Port)i), tile, x->hops[i], y->hops[i]);
  SAME(tasks);
  for (unsigned i = 0; i < STALL_COUNT; i++)
    compare_number(stall_name((StallCause)i), tile, x->stalls[i], y->stalls[i]);
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    compare_number(timing_trust_name((TimingTrust)i), tile, x->paid[i], y->paid[i]);
}

static void compare_events(const Asm *x, const Asm *y)
{
  size_t nx = arrlenu(x->events), ny = arrlenu(y->events);
  char tx[512], ty[512];
  for (size_t i = 0; i < nx && i < ny; i++) {
    trace_format(x->program, &x->events[i], tx, sizeof tx);
    trace_format(y->program, &y->events[i], ty, sizeof ty);
    if (strcmp(tx, ty) != 0) {
      if (i)
        trace_format(x->program, &x->events[i - 1], tx, sizeof tx);
      fprintf(stderr, "seed %u, event %zu, after %s:\n", seed_now, i, i ? tx : "nothing");
      trace_format(x->program, &x->events[i], tx, sizeof tx);
      fail_msg("\n  %s: %s\n  %s: %s", x->ops->name, tx, y->ops->name, ty);
    }
  }
  if (nx != ny) {
    const Asm *more = nx > ny ? x : y;
    trace_format(x->program, &more->events[nx < ny ? nx : ny], tx, sizeof tx);
    fail_msg("seed %u: only the %s engine, at the end: %s", seed_now, more->ops->name, tx);
  }
}

static void compare_faults(Asm *x, Asm *y)
{
  size_t nx, ny;
  const Fault *fx = x->ops->faults(x->engine, &nx), *fy = y->ops->faults(y->engine, &ny);
  for (size_t i = 0; i < nx && i < ny; i++) {
    if (fault_compare(&fx[i], &fy[i]) != 0) {
      fault_print(x->program, NULL, &fx[i], stderr);
      fault_print(y->program, NULL, &fy[i], stderr);
      fail_msg("seed %u: finding %zu differs", seed_now, i);
    }
  }
  assert_int_equal(nx, ny);
}

static void compare_memory(Asm *x, Asm *y, uint32_t tile, uint32_t bytes)
{
  uint8_t mx[0x400], my[0x400];
  for (uint32_t at = 0; at < bytes; at += sizeof mx) {
    assert_true(x->ops->mem_read(x->engine, tile, at, mx, sizeof mx));
    assert_true(y->ops->mem_read(y->engine, tile, at, my, sizeof my));
    assert_memory_equal(mx, my, sizeof mx);
  }
}

static void compare_tiles(Asm *x, Asm *y)
{
  for (uint32_t t = 0; t < x->program->n_tiles; t++) {
    const ClassCode *cls = program_class(x->program, t);
    assert_int_equal(x->ops->unblock_count(x->engine, t), y->ops->unblock_count(y->engine, t));
    if (!cls)
      continue;
    compare_memory(x, y, t, cls->image->static_bytes);
    const Registers *rx = x->ops->registers(x->engine, t), *ry = y->ops->registers(y->engine, t);
    assert_true((rx == NULL) == (ry == NULL));
    if (rx)
      assert_memory_equal(rx->r, ry->r, sizeof rx->r);
  }
}

/* What reports say of a tile's past. */
static void compare_pasts(uint32_t tile, const InspectTile *a, const InspectTile *b)
{
  const TileRecord *x = a->record, *y = b->record;
  SAME(lost);
  SAME(next);
  SAME(lost_id);
  SAME(lost_pc);
  SAME(before_pc);
  SAME(untaken);
  SAME(untaken_queue);
  SAME(untaken_payload);
  SAME(untaken_cycle);
  for (unsigned i = 0; i < RECENT_ACTIVATIONS; i++) {
    SAME(recent_pc[i]);
    SAME(recent_id[i]);
  }
  for (unsigned i = 0; i < BLOCK_PLACES; i++)
    compare_number("blocked_at", tile, a->blocked_at ? a->blocked_at[i] : PC_RETURN,
                   b->blocked_at ? b->blocked_at[i] : PC_RETURN);
}

static void compare_inspected(uint32_t tile, const InspectTile *x, const InspectTile *y)
{
  if (x->record && y->record)
    compare_pasts(tile, x, y);
  SAME(active);
  SAME(blocked);
  SAME(paused);
  SAME(host_pending);
  SAME(wavelets_seen);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    SAME(threads[i].state);
    SAME(threads[i].pc);
    SAME(threads[i].waiting);
    SAME(threads[i].stream);
  }
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    SAME(input[q].count);
    SAME(output[q].count);
    SAME(input[q].capacity);
    SAME(input[q].head.payload);
    SAME(output[q].head.color);
  }
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    SAME(colors[c].count);
    SAME(colors[c].position);
    SAME(colors[c].suspended);
    SAME(colors[c].head.payload);
    SAME(colors[c].head_from);
    SAME(colors[c].rx);
  }
}

/* What an engine means by a tile at rest. */
static bool is_at_rest(const InspectTile *t)
{
  bool rests = !(t->active & t->blocked) && !t->host_pending && !t->record->untaken &&
               !t->record->to_be_ended;
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++)
    rests &= t->threads[i].state == THREAD_IDLE;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    rests &= !t->input[q].count && !t->output[q].count;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    rests &= !t->colors[c].count;
  return rests;
}

static void compare_inspection(Asm *a, Asm *b)
{
  InspectTile x, y;
  for (uint32_t tile = 0; tile < a->program->n_tiles; tile++) {
    a->ops->inspect(a->engine, tile, &x);
    b->ops->inspect(b->engine, tile, &y);
    compare_inspected(tile, &x, &y);
    if (b->ops->at_rest)
      compare_number("at rest", tile, is_at_rest(&x), b->ops->at_rest(b->engine, tile));
  }
}

static void compare_all(Asm *x, Asm *y)
{
  compare_events(x, y);
  compare_faults(x, y);
  compare_stats(x->ops->stats(x->engine), y->ops->stats(y->engine));
  compare_number("cycle", NO_TILE, x->ops->cycle(x->engine), y->ops->cycle(y->engine));
  compare_tiles(x, y);
  compare_inspection(x, y);
}

#endif
