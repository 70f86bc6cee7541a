/* Tasks, scheduler, microthreads, launches, configuration registers, and what is said when a
 * program faults or gets stuck. */
#include "emu_asm.h"

enum { RED = 4, BLUE = 9, QUEUE = 2, OUT_QUEUE = 3, DATA = 0x100, OUT = 0x900, LOG = 0xa00,
       COUNT = 0x8f0 };

static AsmClass *program(Asm *a, unsigned x)
{
  AsmClass *c = asm_class(a, x, 0, x, 0);
  uint8_t zeros[0x40] = {0};
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t v = 100 + i;
    asm_bytes(c, (uint16_t)(DATA + 4 * i), &v, 4);
  }
  asm_bytes(c, LOG, zeros, sizeof zeros);
  c->image.start_entry = ASM_CODE;
  return c;
}

static void end(AsmClass *c) { asm_emit(c, in0(OP_endtask)); }

/* A task that appends `mark` to the log: word LOG + 2 * n, n counted at COUNT. */
static void logging_task(AsmClass *c, TaskKind kind, unsigned id, unsigned mark)
{
  uint16_t entry = asm_emit(c, in_ri(OP_ld16a, 4, COUNT));
  asm_emit(c, in_ri(OP_li, 5, mark));
  asm_emit(c, in_rri(OP_slli, 6, 4, 1));
  asm_emit(c, in_rri(OP_st16, 5, 6, LOG));
  asm_emit(c, in_rri(OP_addi, 4, 4, 1));
  asm_emit(c, in_ri(OP_st16a, 4, COUNT));
  end(c);
  asm_task(c, kind, id, entry, 1, "logger");
}

static void expect_log(Asm *a, unsigned x, unsigned n, const uint16_t *marks)
{
  assert_int_equal(asm_word(a, x, 0, COUNT), n);
  for (unsigned i = 0; i < n; i++)
    assert_int_equal(asm_word(a, x, 0, (uint16_t)(LOG + 2 * i)), marks[i]);
}

/* ---- local tasks ----------------------------------------------------------------------------- */

static void lowest_id_runs_first(void **state)
{
  (void)state;
  static const uint16_t order[] = {8, 12, 20};
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in_i(OP_acti, 20));
  asm_emit(c, in_ri(OP_li, 1, 12));
  asm_emit(c, (Insn){.op = OP_act, .a = 1});
  asm_emit(c, in_i(OP_acti, 8));
  asm_emit(c, in_i(OP_acti, 8));            /* twice before it runs: one run */
  end(c);
  for (unsigned i = 0; i < ARRAY_COUNT(order); i++)
    logging_task(c, TASK_LOCAL, order[i], order[i]);
  asm_run_quiet(a, 0);
  expect_log(a, 0, ARRAY_COUNT(order), order);
  asm_free(a);
}

static void high_priority_runs_before_low_ids(void **state)
{
  (void)state;
  static const uint16_t order[] = {20, 8};
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in_ri(OP_li, 1, 1u << (20 - 16)));
  asm_emit(c, in_ri(OP_stcfgi, 1, CFG_TASK_PRIORITY + 1));
  asm_emit(c, in_i(OP_acti, 20));
  asm_emit(c, in_i(OP_acti, 8));
  asm_emit(c, in_ri(OP_ldcfgi, 9, CFG_TASK_PRIORITY + 1));
  end(c);
  logging_task(c, TASK_LOCAL, 8, 8);
  logging_task(c, TASK_LOCAL, 20, 20);
  asm_run_quiet(a, 0);
  expect_log(a, 0, 2, order);
  asm_free(a);
}

static void blocked_tasks_wait(void **state)
{
  (void)state;
  static const uint16_t order[] = {20, 8};
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, (Insn){.op = OP_blki, .a = ID_TASK, .imm = 8});
  asm_emit(c, in_i(OP_acti, 8));
  asm_emit(c, in_i(OP_acti, 20));
  end(c);
  logging_task(c, TASK_LOCAL, 8, 8);
  logging_task(c, TASK_LOCAL, 20, 20);
  /* the second task ends by unblocking the first */
  c->words--;
  asm_emit(c, in_ri(OP_li, 1, 8));
  asm_emit(c, (Insn){.op = OP_unblk, .a = 1, .imm = ID_TASK});
  end(c);
  asm_run_quiet(a, 0);
  expect_log(a, 0, 2, order);
  asm_free(a);
}

static void active_at_start(void **state)
{
  (void)state;
  static const uint16_t order[] = {9};
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  c->image.start_entry = PC_RETURN;
  logging_task(c, TASK_LOCAL, 9, 9);
  c->image.active = UINT64_C(1) << 9;
  asm_run_quiet(a, 0);
  expect_log(a, 0, 1, order);
  asm_free(a);
}

/* ---- data and control tasks ------------------------------------------------------------------ */

static void send(AsmClass *c, unsigned dsr, unsigned color, unsigned first, unsigned n,
                 unsigned flags)
{
  Descriptor to = de_out(OUT_QUEUE, color, (uint16_t)n);
  to.flags |= (uint16_t)flags;
  asm_output(c, OUT_QUEUE, color);
  asm_emit(c,
           in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, dsr, to), op_none(),
                  asm_dsr(c, DSR_SRC1, dsr, de_mem((uint16_t)(DATA + 4 * first), (uint16_t)n, 1))));
}

static Asm *pair(Arch arch, AsmClass **sender, AsmClass **receiver)
{
  Asm *a = asm_new(arch, 2, 1);
  *sender = program(a, 0);
  *receiver = program(a, 1);
  (*receiver)->image.start_entry = PC_RETURN;
  asm_input(*receiver, QUEUE, RED);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 1, 0, RED, M_W, M_R);
  return a;
}

/* On wse2 the color names the data task, on wse3 the queue; arguments come low half first. */
static void data_task_gets_its_words(void **state)
{
  (void)state;
  for (Arch arch = 0; arch < ARCH_COUNT; arch++) {
    AsmClass *s, *r;
    Asm *a = pair(arch, &s, &r);
    uint32_t payload = 0xabcd1234;
    asm_bytes(s, DATA, &payload, 4);
    send(s, 0, RED, 0, 1, 0);
    end(s);
    uint16_t entry = asm_emit(r, in_ri(OP_st16a, 0, OUT));
    asm_emit(r, in_ri(OP_st16a, 1, OUT + 2));
    end(r);
    asm_task(r, TASK_DATA, arch == ARCH_WSE2 ? RED : QUEUE, entry, 2, "got");
    asm_run_quiet(a, 0);
    assert_int_equal(asm_word32(a, 1, 0, OUT), payload);
    asm_free(a);
  }
}

static void data_task_runs_once_for_each_wavelet(void **state)
{
  (void)state;
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  send(s, 0, RED, 0, 30, 0);
  end(s);
  logging_task(r, TASK_DATA, RED, 7);
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(asm_word(a, 1, 0, COUNT), 30);
  assert_int_equal(asm_count(a, EV_TASK_START, 1, 0), 30);
  for (unsigned i = 0; i < 30; i++)
    assert_int_equal(asm_find(a, EV_TASK_START, 1, 0, i)->payload, 100 + i);
  asm_free(a);
}

/* While the data task is blocked the wavelets belong to vector operations. */
static void vector_operation_takes_the_queue(void **state)
{
  (void)state;
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  send(s, 0, RED, 0, 10, 0);
  end(s);
  r->image.start_entry = ASM_CODE;
  Descriptor from = de_async(de_in(QUEUE, RED, 6), ACT_NONE, 0);
  asm_emit(r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 0, de_mem(OUT, 6, 1)), op_none(),
                     asm_dsr(r, DSR_SRC1, 0, from)));
  end(r);
  logging_task(r, TASK_DATA, RED, 7);
  a->options.check = CHECK_WARN;                       /* it is a hazard, reported once */
  asm_run_quiet(a, 0);
  size_t findings;
  const Fault *found = a->ops->faults(a->engine, &findings);
  assert_int_equal(findings, 1);
  assert_int_equal(found->kind, FAULT_QUEUE_TASK);
  for (unsigned i = 0; i < 6; i++)
    assert_int_equal(asm_word32(a, 1, 0, (uint16_t)(OUT + 4 * i)), 100 + i);
  assert_int_equal(asm_word(a, 1, 0, COUNT), 4);      /* the rest goes to the task */
  asm_free(a);
}

static void control_tasks(void **state)
{
  (void)state;
  static const uint16_t order[] = {41, 42, 7, 7};
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  /* 31 means no task, 50 not bound, RED a data task, which shares the table on wse2 */
  static const unsigned entries[] = {41, 31, 50, 42, RED};
  for (unsigned i = 0; i < ARRAY_COUNT(entries); i++) {
    uint32_t payload = control_with_entry(0, entries[i]) | 0x1200;
    asm_bytes(s, (uint16_t)(DATA + 4 * i), &payload, 4);
  }
  send(s, 0, RED, 0, ARRAY_COUNT(entries), DESC_F_CONTROL);
  send(s, 1, RED, 8, 1, 0);
  end(s);
  logging_task(r, TASK_CONTROL, 41, 41);
  logging_task(r, TASK_CONTROL, 42, 42);
  logging_task(r, TASK_DATA, RED, 7);
  asm_run_quiet(a, ALL_EVENTS);
  expect_log(a, 1, ARRAY_COUNT(order), order);
  asm_free(a);
}

static void blocked_channel_keeps_control_wavelets_too(void **state)
{
  (void)state;
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  uint32_t payload = control_with_entry(0, 41);
  asm_bytes(s, DATA, &payload, 4);
  send(s, 0, RED, 0, 1, DESC_F_CONTROL);
  end(s);
  logging_task(r, TASK_CONTROL, 41, 41);
  asm_run_quiet(a, 0);
  InspectTile tile;
  a->ops->inspect(a->engine, 1, &tile);
  assert_int_equal(tile.input[QUEUE].count, 1);
  assert_true(tile.input[QUEUE].head.control);
  asm_free(a);
}

/* A control wavelet ends an operation that says so; without on_control it goes its own way and
 * the operation keeps waiting. */
static void control_wavelets_and_vector_operations(void **state)
{
  (void)state;
  for (unsigned on_control = 0; on_control < 2; on_control++) {
    AsmClass *s, *r;
    Asm *a = pair(ARCH_WSE2, &s, &r);
    uint32_t payload = control_with_entry(0, 41);
    asm_bytes(s, DATA + 4 * 20, &payload, 4);
    send(s, 0, RED, 0, 3, 0);
    send(s, 1, RED, 20, 1, DESC_F_CONTROL);
    send(s, 2, RED, 3, 3, 0);
    end(s);
    Descriptor from = de_async(de_in(QUEUE, RED, 6), ACT_ACTIVATE, 12);
    if (on_control)
      from.on_control = (Action){ACT_ACTIVATE, ID_TASK, 13};
    r->image.start_entry = ASM_CODE;
    asm_emit(r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 0, de_mem(OUT, 6, 1)), op_none(),
                       asm_dsr(r, DSR_SRC1, 0, from)));
    end(r);
    logging_task(r, TASK_LOCAL, 12, 12);
    logging_task(r, TASK_LOCAL, 13, 13);
    logging_task(r, TASK_CONTROL, 41, 41);
    r->image.blocked &= ~(UINT64_C(1) << RED);
    asm_run_quiet(a, 0);
    static const uint16_t ended[] = {13}, finished[] = {41, 12};
    expect_log(a, 1, on_control ? 1 : 2, on_control ? ended : finished);
    assert_int_equal(asm_word32(a, 1, 0, OUT + 8), 102);
    assert_int_equal(asm_word32(a, 1, 0, OUT + 20), on_control ? 0 : 105);
    asm_free(a);
  }
}

/* ---- microthreads ---------------------------------------------------------------------------- */

static void join_of_two_operations(void **state)
{
  (void)state;
  static const uint16_t order[] = {12};
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  asm_input(r, QUEUE + 2, BLUE);
  asm_route(a, 0, 0, BLUE, M_R, M_E);
  asm_route(a, 1, 0, BLUE, M_W, M_R);
  send(s, 0, RED, 0, 4, 0);
  send(s, 1, BLUE, 4, 4, 0);
  end(s);
  r->image.start_entry = ASM_CODE;
  asm_emit(r, (Insn){.op = OP_blki, .a = ID_TASK, .imm = 12});
  asm_emit(r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 0, de_mem(OUT, 4, 1)), op_none(),
                     asm_dsr(r, DSR_SRC1, 0, de_async(de_in(QUEUE, RED, 4), ACT_ACTIVATE, 12))));
  asm_emit(r,
           in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 1, de_mem(OUT + 16, 4, 1)), op_none(),
                  asm_dsr(r, DSR_SRC1, 1, de_async(de_in(QUEUE + 2, BLUE, 4), ACT_UNBLOCK, 12))));
  end(r);
  logging_task(r, TASK_LOCAL, 12, 12);
  asm_run_quiet(a, 0);
  expect_log(a, 1, 1, order);
  for (unsigned i = 0; i < 8; i++)
    assert_int_equal(asm_word32(a, 1, 0, (uint16_t)(OUT + 4 * i)), 100 + i);
  asm_free(a);
}

/* Two operations in the background on one queue, and a task that the main thread activates behind
 * both; *second: where the latter starts. */
static Asm *two_on_a_microthread(uint16_t *second)
{
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  send(s, 0, RED, 0, 7, 0);
  end(s);
  r->image.start_entry = ASM_CODE;
  for (unsigned i = 0; i < 2; i++)
    *second = asm_emit(
        r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, i, de_mem((uint16_t)(OUT + 16 * i), 4 - i, 1)),
                  op_none(),
                  asm_dsr(r, DSR_SRC1, i, de_async(de_in(QUEUE, RED, (uint16_t)(4 - i)),
                                                   ACT_ACTIVATE, 12 + i))));
  asm_emit(r, in_i(OP_acti, 20));
  end(r);
  logging_task(r, TASK_LOCAL, 12, 12);
  logging_task(r, TASK_LOCAL, 13, 13);
  logging_task(r, TASK_LOCAL, 20, 20);
  return a;
}

/* The main thread stands still, the first operation's task does not run, and the second operation
 * takes the words behind those of the first. */
static void an_operation_waits_for_a_busy_microthread(void **state)
{
  (void)state;
  uint16_t second;
  Asm *a = two_on_a_microthread(&second);
  a->options.check = CHECK_WARN;
  asm_run_quiet(a, ALL_EVENTS);
  for (unsigned i = 0; i < 7; i++)
    assert_int_equal(asm_word32(a, 1, 0, (uint16_t)(OUT + 4 * i)), 100 + i);
  uint64_t first_end = asm_find(a, EV_DONE, 1, 0, 0)->cycle;
  assert_int_equal(asm_cycle_at(a, EV_INST, 1, 0, second, 1), first_end + 1);
  assert_true(asm_find(a, EV_TASK_START, 1, 0, 0)->cycle > first_end + 1);
  assert_int_equal(asm_word(a, 1, 0, COUNT), 3);
  assert_int_equal(asm_fault(a)->kind, FAULT_MICROTHREAD_BUSY);
  assert_int_equal(asm_fault(a)->pc, second);
  assert_true(asm_fault(a)->cycle < first_end);
  asm_free(a);
}

static void starting_a_busy_microthread_is_a_hazard(void **state)
{
  (void)state;
  uint16_t second;
  Asm *a = two_on_a_microthread(&second);
  assert_int_equal(asm_run(a, 0), RUN_FAULT);
  assert_int_equal(asm_fault(a)->kind, FAULT_MICROTHREAD_BUSY);
  asm_free(a);
}

static void an_operation_that_never_starts_is_a_deadlock(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_input(c, QUEUE, RED);
  VecOperand d = asm_dsr(c, DSR_DEST, 0, de_mem(OUT, 4, 1));
  VecOperand s = asm_dsr(c, DSR_SRC1, 0, de_async(de_in(QUEUE, RED, 4), ACT_NONE, 0));
  asm_emit(c, in_vec(VEC_mov32, d, op_none(), s));
  uint16_t second = asm_emit(c, in_vec(VEC_mov32, d, op_none(), s));
  end(c);
  a->options.check = CHECK_WARN;
  asm_run_quiet(a, 0);                      /* nothing can happen any more, and the main thread waits */
  InspectTile tile;
  a->ops->inspect(a->engine, 0, &tile);
  assert_int_equal(tile.threads[MAIN_THREAD].state, THREAD_RUNNING);
  assert_int_equal(tile.threads[MAIN_THREAD].pc, second);
  assert_int_equal(tile.threads[MAIN_THREAD].awaited, 1 + QUEUE);
  assert_int_equal(asm_fault(a)->kind, FAULT_MICROTHREAD_BUSY);
  assert_int_equal(asm_fault(a)->value, QUEUE);
  assert_int_equal(asm_fault(a)->pc, second);
  assert_int_equal(asm_fault(a)->cycle, 1);
  asm_free(a);
}

/* wse2: output queue, else the first input queue.  wse3: what is given, else the queue of the first
 * fabric operand. */
static void microthread_numbers(void **state)
{
  (void)state;
  static const struct { Arch arch; bool given; uint8_t want; } rows[] = {
    {ARCH_WSE2, false, OUT_QUEUE}, {ARCH_WSE3, false, OUT_QUEUE}, {ARCH_WSE3, true, 6},
  };
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    Asm *a = asm_new(rows[i].arch, 1, 1);
    AsmClass *c = program(a, 0);
    Descriptor from = de_async(de_in(QUEUE, RED, 4), ACT_NONE, 0);
    asm_input(c, QUEUE, RED);
    asm_output(c, OUT_QUEUE, BLUE);
    from.ut_given = rows[i].given;
    from.ut = rows[i].given ? 6 : 0;
    asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, 0, de_out(OUT_QUEUE, BLUE, 4)), op_none(),
                       asm_dsr(c, DSR_SRC1, 0, from)));
    end(c);
    asm_run_quiet(a, 0);
    InspectTile tile;
    a->ops->inspect(a->engine, 0, &tile);
    assert_int_equal(tile.threads[1 + rows[i].want].state, THREAD_VECTOR);
    asm_free(a);
  }
}

/* A microthread sends so many words of memory; the receiver's main thread stores them. */
static void send_words(AsmClass *s, AsmClass *r, Descriptor to)
{
  asm_emit(s, in_vec(VEC_mov32, asm_dsr(s, DSR_DEST, 0, to), op_none(),
                     asm_dsr(s, DSR_SRC1, 0, de_mem(DATA, to.length, 1))));
  asm_emit(r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 0, de_mem(OUT, to.length, 1)), op_none(),
                     asm_dsr(r, DSR_SRC1, 0, de_in(QUEUE, RED, to.length))));
  end(r);
}

/* Main stands between low and medium microthreads: at low it starves none of its own slots. */
static void microthread_priority(void **state)
{
  (void)state;
  for (unsigned high = 0; high < 2; high++) {
    AsmClass *s, *r;
    Asm *a = pair(ARCH_WSE2, &s, &r);
    r->image.start_entry = ASM_CODE;
    Descriptor to = de_async(de_out(OUT_QUEUE, RED, 30), ACT_NONE, 0);
    to.priority_given = high;
    to.priority = high ? PRIO_HIGH : PRIO_LOW;
    asm_output(s, OUT_QUEUE, RED);
    send_words(s, r, to);
    for (unsigned i = 0; i < 25; i++)
      asm_emit(s, in0(OP_nop));
    uint16_t last = asm_emit(s, in0(OP_endtask));
    asm_run_quiet(a, ALL_EVENTS);
    uint64_t finished = asm_cycle_at(a, EV_INST, 0, 0, last, 0);
    uint64_t first = asm_find(a, EV_GROUP, 0, 0, 0)->cycle;
    if (high) {
      assert_int_equal(first, 2);
      assert_true(finished > 30);
    } else {
      assert_int_equal(finished, 26);
      assert_int_equal(first, 27);
      assert_true(a->ops->stats(a->engine)->stalls[STALL_ISSUE] >= 25);
    }
    asm_free(a);
  }
}

/* The register of a microthread is that of its operation: an operation begins with its own. */
static void microthread_priority_by_register(void **state)
{
  (void)state;
  enum { HIGH = 1 << 9, NOPS = 25, REGISTER = CFG_MICROTHREAD + OUT_QUEUE };
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  assert_true(timing_set(&a->timing, "config", 1));   /* a longer one would let the operation in */
  asm_output(s, OUT_QUEUE, RED);
  asm_emit(s, in_ri(OP_li, 1, HIGH));
  asm_emit(s, in_ri(OP_stcfgi, 1, REGISTER));     /* no operation runs: without effect */
  send_words(s, r, de_async(de_out(OUT_QUEUE, RED, 30), ACT_NONE, 0));
  asm_emit(s, in_ri(OP_ldcfgi, 2, REGISTER));
  asm_emit(s, in_ri(OP_st16a, 2, OUT));
  uint16_t raised = asm_emit(s, in_ri(OP_stcfgi, 1, REGISTER));
  asm_emit(s, in_ri(OP_ldcfgi, 2, REGISTER));
  asm_emit(s, in_ri(OP_st16a, 2, OUT + 2));
  for (unsigned i = 0; i < NOPS; i++)
    asm_emit(s, in0(OP_nop));
  uint16_t last = asm_emit(s, in0(OP_endtask));
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(asm_word(a, 0, 0, OUT), 0);
  assert_int_equal(asm_word(a, 0, 0, OUT + 2), HIGH);
  uint64_t first = asm_find(a, EV_GROUP, 0, 0, 0)->cycle;
  assert_int_equal(first, asm_cycle_at(a, EV_INST, 0, 0, raised, 0) + 1);
  assert_true(asm_cycle_at(a, EV_INST, 0, 0, last, 0) > first + NOPS);
  asm_free(a);
}

static void blocked_microthread_pauses(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE3, 1, 1);
  AsmClass *c = program(a, 0);
  asm_input(c, QUEUE, RED);
  asm_output(c, OUT_QUEUE, RED);
  asm_route(a, 0, 0, RED, M_R, M_R);
  Descriptor to = de_async(de_out(OUT_QUEUE, RED, 8), ACT_NONE, 0);
  asm_emit(c, (Insn){.op = OP_blki, .a = ID_MICROTHREAD, .imm = OUT_QUEUE});
  uint16_t vec = asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, 0, to), op_none(),
                                    asm_dsr(c, DSR_SRC1, 0, de_mem(DATA, 8, 1))));
  for (unsigned i = 0; i < 20; i++)
    asm_emit(c, in0(OP_nop));
  uint16_t unblock = asm_emit(c, (Insn){.op = OP_unblki, .a = ID_MICROTHREAD, .imm = OUT_QUEUE});
  asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, 1, de_mem(OUT, 8, 1)), op_none(),
                     asm_dsr(c, DSR_SRC1, 1, de_in(QUEUE, RED, 8))));
  end(c);
  asm_run_quiet(a, ALL_EVENTS);
  assert_true(asm_cycle_at(a, EV_GROUP, 0, 0, vec, 0) > asm_cycle_at(a, EV_INST, 0, 0, unblock, 0));
  assert_int_equal(asm_word32(a, 0, 0, OUT + 28), 107);
  assert_true(a->ops->stats(a->engine)->stalls[STALL_PAUSED] > 0);
  asm_free(a);
}

/* ---- launches and registers ------------------------------------------------------------------ */

static void launched_function_returns(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *c = program(a, 0);
  c->image.start_entry = PC_RETURN;
  uint16_t entry = asm_emit(c, in_ri(OP_li, 1, 77));
  asm_emit(c, in_ri(OP_st16a, 1, LOG));
  asm_emit(c, in_ri(OP_li, 2, 1));
  asm_emit(c, in_ri(OP_stcfgi, 2, CFG_CMD_STREAM));
  asm_emit(c, in0(OP_ret));
  asm_load(a, ALL_EVENTS);
  assert_int_equal(asm_run(a, 0), RUN_QUIET);
  uint16_t argument = 5;
  assert_true(a->ops->mem_write(a->engine, 0, LOG + 2, &argument, 2));
  assert_true(a->ops->launch(a->engine, 0, entry));
  assert_false(a->ops->launch(a->engine, 1, entry));        /* no code there */
  assert_int_equal(a->ops->unblock_count(a->engine, 0), 0);
  assert_int_equal(asm_run(a, 0), RUN_QUIET);
  assert_int_equal(asm_word32(a, 0, 0, LOG), 77 | 5 << 16);
  assert_int_equal(a->ops->unblock_count(a->engine, 0), 1);
  assert_true(a->ops->launch(a->engine, 0, entry));          /* again */
  assert_int_equal(asm_run(a, 0), RUN_QUIET);
  assert_int_equal(a->ops->unblock_count(a->engine, 0), 2);
  assert_int_equal(asm_count(a, EV_LAUNCH, 0, 0), 2);
  asm_free(a);
}

/* What @set_config leaves at comptime counts from the first cycle. */
static void registers_set_before_the_start(void **state)
{
  (void)state;
  static const uint16_t order[] = {20, 8};
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  static const ImageConfig configs[] = {
    {CFG_TSC_CONTROL, 1}, {CFG_TSC_COUNTER, 500}, {CFG_TASK_PRIORITY + 1, 1u << (20 - 16)},
    {CFG_PRNG_STATE, 0x1234}, {CFG_PRNG_STATE + 1, 0x0056}, {CFG_MAIN_PRIORITY, 3},
  };
  memcpy(c->configs, configs, sizeof configs);
  c->image.n_configs = ARRAY_COUNT(configs);
  asm_emit(c, in_ri(OP_ldcfgi, 8, CFG_TSC_COUNTER));
  asm_emit(c, (Insn){.op = OP_rnd, .a = 9});
  asm_emit(c, in_i(OP_acti, 8));
  asm_emit(c, in_i(OP_acti, 20));
  end(c);
  logging_task(c, TASK_LOCAL, 8, 8);
  logging_task(c, TASK_LOCAL, 20, 20);
  asm_run_quiet(a, 0);
  uint32_t random = 0x561234;
  assert_int_equal(asm_reg(a, 0, 0, 8), 500);
  assert_int_equal(asm_reg(a, 0, 0, 9), scalar_random(&random));
  expect_log(a, 0, 2, order);
  asm_free(a);
}

static void printed(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  char *text = context;
  (void)cycle;
  size_t n = strlen(text);
  text[n] = (char)('0' + tile);
  text[n + 1] = (char)byte;
}

static void registers(void **state)
{
  (void)state;
  char text[16] = "";
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  AsmClass *c = asm_class(a, 0, 0, 2, 0);
  uint32_t nothing = 0;
  asm_bytes(c, OUT, &nothing, 4);
  c->image.start_entry = ASM_CODE;
  a->image.offset_x = 4;
  a->image.offset_y = 1;
  asm_emit(c, in_ri(OP_ldcfgi, 1, CFG_PE_COORD_X));
  asm_emit(c, in_ri(OP_ldcfgi, 2, CFG_PE_COORD_Y));
  asm_emit(c, in_ri(OP_ldcfgi, 3, CFG_FABRIC_COORD_X));
  asm_emit(c, in_ri(OP_li, 6, CFG_FABRIC_COORD_Y));
  asm_emit(c, (Insn){.op = OP_ldcfg, .a = 4, .b = 6});
  asm_emit(c, (Insn){.op = OP_rnd, .a = 5});
  asm_emit(c, in_ri(OP_li, 6, 'x'));
  asm_emit(c, in_ri(OP_stcfgi, 6, CFG_SIM_PRINT));
  asm_emit(c, in_ri(OP_ldcfgi, 8, CFG_TSC_COUNTER));
  end(c);
  a->options.print = printed;
  a->options.print_context = text;
  a->options.shuffle = 99;
  asm_run_quiet(a, 0);
  uint32_t random = 0xdeadbeef;
  assert_int_equal(asm_reg(a, 2, 0, 1), 2);
  assert_int_equal(asm_reg(a, 2, 0, 2), 0);
  assert_int_equal(asm_reg(a, 2, 0, 3), 6);
  assert_int_equal(asm_reg(a, 2, 0, 4), 1);
  assert_int_equal(asm_reg(a, 2, 0, 5), scalar_random(&random));
  assert_int_equal(asm_reg(a, 2, 0, 8), 0);           /* the counter was never started */
  assert_string_equal(text, "0x1x2x");
  asm_free(a);
}

/* Each selected generator goes its own way; a number beyond the last wraps. */
static void generators_are_selected(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  unsigned generators = machine_get(ARCH_WSE2)->generators;
  asm_emit(c, (Insn){.op = OP_rnd, .a = 1});
  asm_emit(c, in_ri(OP_li, 6, 1));
  asm_emit(c, (Insn){.op = OP_prng, .a = 6});
  asm_emit(c, (Insn){.op = OP_rnd, .a = 2});
  asm_emit(c, in_ri(OP_li, 6, generators));
  asm_emit(c, (Insn){.op = OP_prng, .a = 6});
  asm_emit(c, (Insn){.op = OP_rnd, .a = 3});
  end(c);
  asm_run_quiet(a, 0);
  uint32_t random = 0xdeadbeef;
  uint16_t first = scalar_random(&random), second = scalar_random(&random);
  assert_int_equal(asm_reg(a, 0, 0, 1), first);
  assert_int_equal(asm_reg(a, 0, 0, 2), first);        /* of generator 1 */
  assert_int_equal(asm_reg(a, 0, 0, 3), second);       /* of generator 0 again */
  assert_int_not_equal(first, second);
  asm_free(a);
}

/* ---- queues ---------------------------------------------------------------------------------- */

enum { FLUSH_COLOR = 3, FLUSH_QUEUE = 2, FLUSH_WORDS = 2 };

/* A tile that sends to itself, reports whether its input queue is empty, and flushes it while
 * wavelets are in it: the teardown task runs when the reader has emptied it. */
static void flush_waits_for_an_empty_queue(void **state)
{
  (void)state;
  static const uint16_t order[] = {5, 5, 29};
  Asm *a = asm_new(ARCH_WSE3, 1, 1);
  AsmClass *c = program(a, 0);
  asm_route(a, 0, 0, FLUSH_COLOR, M_R, M_R);
  asm_input(c, FLUSH_QUEUE, FLUSH_COLOR);
  asm_output(c, FLUSH_QUEUE, FLUSH_COLOR);
  c->image.blocked |= UINT64_C(1) << FLUSH_QUEUE;
  asm_emit(c, in_ri(OP_ldcfgi, 8, CFG_QUEUE_STATUS));
  asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, 0, de_out(FLUSH_QUEUE, FLUSH_COLOR, 0)),
                     op_none(), asm_dsr(c, DSR_SRC1, 0, de_mem(DATA, FLUSH_WORDS, 1))));
  for (unsigned i = 0; i < 12; i++)
    asm_emit(c, in0(OP_nop));
  asm_emit(c, in_ri(OP_ldcfgi, 9, CFG_QUEUE_STATUS));
  asm_emit(c, in_ri(OP_li, 1, FLUSH_QUEUE));
  asm_emit(c, (Insn){.op = OP_qflush, .a = 1, .imm = 0});
  asm_emit(c, (Insn){.op = OP_unblki, .a = ID_INPUT_QUEUE, .imm = FLUSH_QUEUE});
  end(c);
  logging_task(c, TASK_DATA, FLUSH_QUEUE, 5);
  c->image.blocked |= UINT64_C(1) << FLUSH_QUEUE;
  logging_task(c, TASK_LOCAL, 29, 29);
  c->words--;
  asm_emit(c, in_ri(OP_ldcfgi, 10, CFG_QUEUE_FLUSHED));
  asm_emit(c, in_ri(OP_stcfgi, 10, CFG_QUEUE_FLUSHED));
  asm_emit(c, in_ri(OP_ldcfgi, 11, CFG_QUEUE_FLUSHED));
  end(c);
  asm_run_quiet(a, 0);
  assert_int_equal(asm_reg(a, 0, 0, 8) & 0xff, 0xff);
  assert_int_equal(asm_reg(a, 0, 0, 9) & 0xff, 0xff & ~(1u << FLUSH_QUEUE));
  assert_int_equal(asm_reg(a, 0, 0, 10), 1u << FLUSH_QUEUE);
  assert_int_equal(asm_reg(a, 0, 0, 11), 0);
  expect_log(a, 0, 3, order);
  asm_free(a);
}

/* A microthread of medium priority goes before the main thread, until that is raised to high. */
static void main_thread_priority(void **state)
{
  enum { LEVEL_LOW_VALUE = 0, LEVEL_HIGH_VALUE = 3, LONG = 20 };
  static const uint16_t levels[] = {LEVEL_LOW_VALUE, LEVEL_HIGH_VALUE};
  (void)state;
  for (unsigned i = 0; i < ARRAY_COUNT(levels); i++) {
    AsmClass *s, *r;
    Asm *a = pair(ARCH_WSE2, &s, &r);
    s->configs[s->image.n_configs++] = (ImageConfig){CFG_MAIN_PRIORITY, levels[i]};
    Descriptor to = de_async(de_out(3, RED, LONG), ACT_NONE, 0);
    to.priority_given = true;
    to.priority = PRIO_MEDIUM;
    asm_output(s, 3, RED);
    asm_emit(s, in_vec(VEC_mov32, asm_dsr(s, DSR_DEST, 5, to), op_none(),
                       asm_dsr(s, DSR_SRC1, 5, de_mem(DATA, LONG, 1))));
    for (unsigned k = 0; k < LONG; k++)
      asm_emit(s, in0(OP_nop));
    uint16_t last = asm_emit(s, in0(OP_endtask));
    Descriptor from = de_in(QUEUE, RED, LONG);
    r->image.start_entry = ASM_CODE;
    asm_emit(r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 0, de_mem(OUT, LONG, 1)), op_none(),
                       asm_dsr(r, DSR_SRC1, 0, from)));
    end(r);
    asm_run_quiet(a, ALL_EVENTS);
    uint64_t main_end = asm_cycle_at(a, EV_INST, 0, 0, last, 0);
    uint64_t thread_end = asm_find(a, EV_DONE, 0, 0, 0)->cycle;
    assert_true(levels[i] == LEVEL_HIGH_VALUE ? main_end < thread_end : main_end > thread_end);
    asm_free(a);
  }
}

static void exception_mask_is_kept(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in_ri(OP_ldcfgi, 8, CFG_EXCEPTION_MASK));
  asm_emit(c, in_ri(OP_li, 1, 0x15));
  asm_emit(c, in_ri(OP_stcfgi, 1, CFG_EXCEPTION_MASK));
  asm_emit(c, in_ri(OP_ldcfgi, 9, CFG_EXCEPTION_MASK));
  end(c);
  asm_run_quiet(a, 0);
  assert_int_not_equal(asm_reg(a, 0, 0, 8), 0);       /* all are silent at the start */
  assert_int_equal(asm_reg(a, 0, 0, 9), 0x15);
  asm_free(a);
}

enum { FP_MASK_SHIFT = 3, F32_ONE = 0x3f800000, F32_MAX = 0x7f7fffff, F32_INF = 0x7f800000,
       F32_LEAST = 1, F16_MAX = 0x7bff, F16_INF = 0x7c00, F16_NAN = 0x7e00 };

/* Two operands in d8 and d10, all exceptions but `unmasked` silent, and one instruction. */
static AsmClass *float_program(Asm *a, uint32_t x, uint32_t y, unsigned unmasked)
{
  AsmClass *c = program(a, 0);
  asm_emit(c, in_ri(OP_li32, 8, x));
  asm_emit(c, in_ri(OP_li32, 10, y));
  asm_emit(c, in_ri(OP_li, 1, (uint16_t)~(unmasked << FP_MASK_SHIFT)));
  asm_emit(c, in_ri(OP_stcfgi, 1, CFG_EXCEPTION_MASK));
  return c;
}

static void expect_exception(Asm *a, unsigned raised)
{
  RunStatus status = asm_run(a, ALL_EVENTS);
  assert_int_equal(status, raised ? RUN_FAULT : RUN_QUIET);
  if (raised) {
    assert_int_equal(asm_fault(a)->kind, FAULT_EXCEPTION);
    assert_int_equal(asm_fault(a)->value, raised);
  }
  asm_free(a);
}

static void raises(Opcode op, uint32_t x, uint32_t y, unsigned raised)
{
  for (unsigned unmasked = 0; unmasked <= (FP_RAISES_DIV_BY_0 << 1) - 1; unmasked++) {
    Asm *a = asm_new(ARCH_WSE2, 1, 1);
    AsmClass *c = float_program(a, x, y, unmasked);
    bool pair = insn_info[op].format == FMT_RR;
    asm_emit(c, pair ? (Insn){.op = op, .a = 8, .b = 8} : in_rrr(op, 8, 8, 10));
    end(c);
    expect_exception(a, raised & unmasked);
  }
}

static void unmasked_exceptions_end_the_run(void **state)
{
  (void)state;
  const unsigned inexact = FP_RAISES_INEXACT;
  raises(OP_fadds, F32_MAX, F32_MAX, FP_RAISES_OVERFLOW | inexact);
  raises(OP_fadds, F32_ONE, F32_ONE, 0);
  raises(OP_fsubs, F32_INF, F32_INF, FP_RAISES_INVALID);
  raises(OP_fmuls, F32_LEAST, F32_LEAST, FP_RAISES_UNDERFLOW | inexact);
  raises(OP_fdivs, F32_ONE, 0, FP_RAISES_DIV_BY_0);
  raises(OP_fscales, F32_ONE, 0x7fff, FP_RAISES_OVERFLOW | inexact);
  raises(OP_flts, 0x7fc00000, 0, FP_RAISES_INVALID);
  raises(OP_feqs, 0x7fc00000, 0, 0);
  raises(OP_fnegs, F32_INF, 0, 0);
  raises(OP_faddh, F16_MAX, F16_MAX, FP_RAISES_OVERFLOW | inexact);
  raises(OP_fsubh, F16_INF, F16_INF, FP_RAISES_INVALID);
  raises(OP_fmulh, 1, 1, FP_RAISES_UNDERFLOW | inexact);
  raises(OP_fdivh, 0, 0, FP_RAISES_INVALID);
  raises(OP_fdivh, F16_MAX, 0, FP_RAISES_DIV_BY_0);
  raises(OP_fscaleh, 1, 0xffff, FP_RAISES_UNDERFLOW | inexact);
  raises(OP_fleh, F16_NAN, 0, FP_RAISES_INVALID);
  raises(OP_s2h, F32_MAX, 0, FP_RAISES_OVERFLOW | inexact);
  raises(OP_h2s, F16_MAX, 0, 0);
  raises(OP_u2h, 0xffff, 0, FP_RAISES_OVERFLOW | inexact);
  raises(OP_i2h, 0xf7ff, 0, inexact);            /* -2049 */
  raises(OP_l2h, 0x00010000, 0, FP_RAISES_OVERFLOW | inexact);
  raises(OP_ul2h, 0x80000000, 0, FP_RAISES_OVERFLOW | inexact);
  raises(OP_l2s, 0x7fffffff, 0, inexact);
  raises(OP_ul2s, 0x80000000, 0, 0);
  raises(OP_h2i, F16_MAX, 0, FP_RAISES_INVALID);
  raises(OP_h2u, F16_MAX, 0, 0);
  raises(OP_h2l, F16_INF, 0, FP_RAISES_INVALID);
  raises(OP_h2ul, 0xbc00, 0, FP_RAISES_INVALID); /* -1 */
  raises(OP_s2i, 0x3fc00000, 0, inexact);        /* 1.5 */
  raises(OP_s2u, 0x47800000, 0, FP_RAISES_INVALID);
  raises(OP_s2l, 0x4f000000, 0, FP_RAISES_INVALID);
  raises(OP_s2ul, 0x4f000000, 0, 0);             /* 2^31 */
}

/* Only the last element raises an exception. */
static void vector_raises(VecOp op, uint32_t x, uint32_t y, unsigned raised)
{
  enum { N = 5, LEFT = 0x200, RIGHT = 0x300 };
  unsigned bytes = vec_elem_bytes(vecops[op].src);
  for (unsigned unmasked = 0; unmasked <= (FP_RAISES_DIV_BY_0 << 1) - 1; unmasked++) {
    Asm *a = asm_new(ARCH_WSE2, 1, 1);
    AsmClass *c = float_program(a, 0, 0, unmasked);
    for (uint32_t i = 0, zero = 0; i < N; i++) {
      asm_bytes(c, (uint16_t)(LEFT + i * bytes), i + 1 < N ? &zero : &x, bytes);
      asm_bytes(c, (uint16_t)(RIGHT + i * bytes), i + 1 < N ? &zero : &y, bytes);
    }
    VecOperand left = asm_dsr(c, DSR_SRC0, 0, de_mem(LEFT, N, 1));
    asm_emit(c, in_vec(op, asm_dsr(c, DSR_DEST, 0, de_mem(OUT, N, 1)),
                       vecops[op].sources > 1 ? left : op_none(),
                       asm_dsr(c, DSR_SRC1, 0, de_mem(RIGHT, N, 1))));
    end(c);
    expect_exception(a, raised & unmasked);
  }
}

static void vector_operations_raise_exceptions(void **state)
{
  (void)state;
  const unsigned inexact = FP_RAISES_INEXACT;
  vector_raises(VEC_fadds, F32_MAX, F32_MAX, FP_RAISES_OVERFLOW | inexact);
  vector_raises(VEC_fsubs, F32_INF, F32_INF, FP_RAISES_INVALID);
  vector_raises(VEC_fmuls, F32_LEAST, F32_LEAST, FP_RAISES_UNDERFLOW | inexact);
  vector_raises(VEC_fmaxs, F32_INF, F32_ONE, 0);
  vector_raises(VEC_faddh, F16_MAX, F16_MAX, FP_RAISES_OVERFLOW | inexact);
  vector_raises(VEC_fsubh, F16_INF, F16_INF, FP_RAISES_INVALID);
  vector_raises(VEC_fmulh, F16_INF, 0, FP_RAISES_INVALID);
  vector_raises(VEC_faddhs, F16_INF, F16_INF | 0x8000, FP_RAISES_INVALID);
  vector_raises(VEC_fs2h, 0, F32_MAX, FP_RAISES_OVERFLOW | inexact);
  vector_raises(VEC_fh2s, 0, F16_NAN, 0);
  vector_raises(VEC_fh2xp16, 0, F16_MAX, FP_RAISES_INVALID);
  vector_raises(VEC_fs2xp16, 0, 0x3fc00000, inexact);
  vector_raises(VEC_xp162fh, 0, 0xf7ff, inexact);
  vector_raises(VEC_xp162fs, 0, 0xf7ff, 0);
  vector_raises(VEC_add16, 0xffff, 0xffff, 0);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void expect_fault(Insn insn, FaultKind kind, const char *text)
{
  char *whole = NULL;
  size_t size;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in0(OP_nop));
  asm_emit(c, insn);
  end(c);
  assert_int_equal(asm_run(a, 0), RUN_FAULT);
  assert_int_equal(asm_fault(a)->kind, kind);
  FILE *out = open_memstream(&whole, &size);
  fault_print(a->program, a->engine, asm_fault(a), out);
  fclose(out);
  if (!strstr(whole, text) || !strstr(whole, "error: cycle 1, P0.0: ") ||
      !strstr(whole, "pe.csl:2"))
    fail_msg("text is: %s", whole);
  free(whole);
  asm_free(a);
}

static void faults_name_cycle_tile_and_line(void **state)
{
  (void)state;
  expect_fault(in_ri(OP_ld16a, 1, 0xc000), FAULT_ADDRESS,
               "outside the tile's memory: address 0xc000");
  expect_fault(in_ri(OP_st16a, 1, 0x101), FAULT_ALIGNMENT, "odd address: address 0x0101");
  expect_fault(in_ri(OP_st16a, 1, ASM_CODE), FAULT_CODE_STORE, "store into code: address 0x4000");
  expect_fault(in_ri(OP_li, 7, 0x20), FAULT_STACK, "stack grows into data or code");
  expect_fault(in_i(OP_trap, 3), FAULT_TRAP, "trap: 3");
  expect_fault((Insn){.op = OP_assert, .a = 1}, FAULT_ASSERT, "assertion failed");
  expect_fault((Insn){.op = OP_act, .a = 7}, FAULT_ID_RANGE, "outside the range");
  expect_fault(in_ldsr(DSR_SRC0, 1, LOG), FAULT_DESCRIPTOR, "no valid descriptor");
  expect_fault((Insn){.op = OP_dsrget, .a = 1, .b = 1, .file = DSR_SRC0, .field = DSRF_BASE},
               FAULT_DSR_FIELD, "no such field");
  expect_fault(in_ri(OP_stcfgi, 1, 0x1234), FAULT_CONFIG_ADDRESS, "0x1234");
  expect_fault(in_ri(OP_stcfgi, 1, CFG_PE_COORD_X), FAULT_CONFIG_ADDRESS, "0x7e00");
  expect_fault((Insn){.op = OP_blk, .a = 7, .imm = ID_TASK}, FAULT_ID_RANGE, "outside the range");
  expect_fault((Insn){.op = OP_qflush, .a = 7}, FAULT_ID_RANGE, "outside the range");
}

static void running_off_the_code_is_a_fault(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in0(OP_nop));
  assert_int_equal(asm_run(a, 0), RUN_FAULT);
  assert_int_equal(asm_fault(a)->kind, FAULT_PC);
  asm_free(a);
}

/* Memory outside static data and stack reads as zero and can be used; it is only allocated then. */
static void free_memory_can_be_used(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in_ri(OP_ld16a, 2, 0x8000));
  asm_emit(c, in_ri(OP_li, 1, 0x5a5a));
  asm_emit(c, in_ri(OP_st16a, 1, 0x8000));
  asm_emit(c, in_ri(OP_ld16a, 3, 0x8000));
  asm_emit(c, in_ri(OP_ld16a, 4, DATA));
  asm_emit(c, in_ri(OP_ld16a, 5, ASM_CODE));       /* code can be read */
  end(c);
  asm_run_quiet(a, 0);
  assert_int_equal(asm_reg(a, 0, 0, 2), 0);
  assert_int_equal(asm_reg(a, 0, 0, 3), 0x5a5a);
  assert_int_equal(asm_reg(a, 0, 0, 4), 100);
  assert_int_equal(asm_reg(a, 0, 0, 5), c->code[0]);
  asm_free(a);
}

/* ---- deadlock -------------------------------------------------------------------------------- */

static char *report(Asm *a)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  deadlock_report(a->engine, a->program, &(IdleQuestion){0}, 24, out);
  fclose(out);
  return text;
}

static void expect_in(const char *text, const char *part)
{
  if (!strstr(text, part))
    fail_msg("'%s' is not in:\n%s", part, text);
}

static void receive_that_never_completes(void **state)
{
  (void)state;
  AsmClass *s, *r;
  Asm *a = pair(ARCH_WSE2, &s, &r);
  send(s, 0, RED, 0, 3, 0);
  end(s);
  r->image.start_entry = ASM_CODE;
  r->image.color_names[RED] = "red";
  r->image.queue_names[0][QUEUE] = "rx_iq";
  asm_emit(r, in0(OP_nop));
  uint16_t vec = asm_emit(r, in_vec(VEC_mov32, asm_dsr(r, DSR_DEST, 0, de_mem(OUT, 5, 1)),
                                    op_none(), asm_dsr(r, DSR_SRC1, 0, de_in(QUEUE, RED, 5))));
  end(r);
  r->names[0] = (ImageVecNames){.pc = vec, .dest = "result", .src0 = "", .src1 = "in_dsd"};
  r->image.n_vec_names = 1;
  asm_run_quiet(a, 0);
  IdleQuestion alone = {0}, hosted = {.host = true},
               launched = {.host = true, .unblock_missing = true};
  assert_int_equal(idle_classify(a->engine, a->program, &alone), IDLE_STUCK);
  assert_int_equal(idle_classify(a->engine, a->program, &hosted), IDLE_WARNINGS);
  assert_int_equal(idle_classify(a->engine, a->program, &launched), IDLE_STUCK);
  char *text = report(a);
  expect_in(text, "P1.0 main thread waits for a wavelet on color 4 'red', input queue 2 'rx_iq', "
                  "for 'in_dsd', 2 of 5 elements to go at pe.csl:2");
  expect_in(text, "nobody at P0.0 sends on color 4 any more; the last sent: 3 elements at pe.csl:1");
  free(text);
  asm_free(a);
}

/* Each tile sends more than the fabric holds before it receives: they wait for each other. */
static void cycle_of_waits_is_named(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  for (unsigned x = 0; x < 2; x++) {
    AsmClass *c = program(a, x);
    unsigned out = x ? BLUE : RED, in = x ? RED : BLUE;
    asm_input(c, QUEUE, in);
    send(c, 0, out, 0, 30, 0);
    asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, 1, de_mem(OUT, 30, 1)), op_none(),
                       asm_dsr(c, DSR_SRC1, 1, de_in(QUEUE, in, 30))));
    end(c);
    asm_route(a, x, 0, out, M_R, x ? M_W : M_E);
    asm_route(a, x, 0, in, x ? M_W : M_E, M_R);
  }
  asm_run_quiet(a, 0);
  IdleQuestion alone = {0};
  assert_int_equal(idle_classify(a->engine, a->program, &alone), IDLE_STUCK);
  char *text = report(a);
  expect_in(text, "P0.0 main thread waits for room in output queue 3, color 4");
  expect_in(text, "because P1.0 input queue 2 is full");
  expect_in(text, "cause 1: a cycle of waits: P0.0 main thread for P1.0 main thread, and that "
                  "for the first");
  free(text);
  asm_free(a);
}

static void blocked_switch_is_named(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *c = program(a, 0);
  send(c, 0, RED, 0, 30, 0);
  end(c);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 1, 0, RED, M_N, M_R);
  asm_run_quiet(a, 0);
  char *text = report(a);
  expect_in(text, "cause 1: P1.0's router takes color 4 from NORTH only "
                  "(to RAMP, switch position 0)");
  free(text);
  asm_free(a);
}

static void cycle_limit(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = program(a, 0);
  asm_emit(c, in_i(OP_jmp, ASM_CODE));
  asm_load(a, ALL_EVENTS);
  const uint64_t first = 100, second = 200, jump = a->program->timing.jump;
  assert_int_equal(a->ops->run(a->engine, first), RUN_LIMIT);
  assert_int_equal(a->ops->cycle(a->engine), first);
  unsigned issued = asm_count(a, EV_INST, 0, 0);
  assert_int_equal(issued, (first + jump - 1) / jump);
  assert_int_equal(a->ops->run(a->engine, second), RUN_LIMIT);
  /* nothing is lost between the runs */
  assert_int_equal(asm_count(a, EV_INST, 0, 0), (second + jump - 1) / jump);
  asm_free(a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lowest_id_runs_first),
    cmocka_unit_test(high_priority_runs_before_low_ids),
    cmocka_unit_test(blocked_tasks_wait),
    cmocka_unit_test(active_at_start),
    cmocka_unit_test(data_task_gets_its_words),
    cmocka_unit_test(data_task_runs_once_for_each_wavelet),
    cmocka_unit_test(vector_operation_takes_the_queue),
    cmocka_unit_test(control_tasks),
    cmocka_unit_test(blocked_channel_keeps_control_wavelets_too),
    cmocka_unit_test(control_wavelets_and_vector_operations),
    cmocka_unit_test(join_of_two_operations),
    cmocka_unit_test(an_operation_waits_for_a_busy_microthread),
    cmocka_unit_test(starting_a_busy_microthread_is_a_hazard),
    cmocka_unit_test(an_operation_that_never_starts_is_a_deadlock),
    cmocka_unit_test(microthread_numbers),
    cmocka_unit_test(microthread_priority),
    cmocka_unit_test(microthread_priority_by_register),
    cmocka_unit_test(main_thread_priority),
    cmocka_unit_test(exception_mask_is_kept),
    cmocka_unit_test(unmasked_exceptions_end_the_run),
    cmocka_unit_test(vector_operations_raise_exceptions),
    cmocka_unit_test(blocked_microthread_pauses),
    cmocka_unit_test(launched_function_returns),
    cmocka_unit_test(registers),
    cmocka_unit_test(generators_are_selected),
    cmocka_unit_test(flush_waits_for_an_empty_queue),
    cmocka_unit_test(registers_set_before_the_start),
    cmocka_unit_test(faults_name_cycle_tile_and_line),
    cmocka_unit_test(running_off_the_code_is_a_fault),
    cmocka_unit_test(free_memory_can_be_used),
    cmocka_unit_test(receive_that_never_completes),
    cmocka_unit_test(cycle_of_waits_is_named),
    cmocka_unit_test(blocked_switch_is_named),
    cmocka_unit_test(cycle_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
