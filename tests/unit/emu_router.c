/* The fabric: rate, back-pressure, multicast, arbitration, switches and control wavelets, filters,
 * color swap, and what a router finds wrong. */
#include "emu_asm.h"

enum { RED = 4, BLUE = 9, QUEUE = 2, OUT_QUEUE = 3, DATA = 0x100, RESULT = 0x800, N = 40 };

/* ---- small programs -------------------------------------------------------------------------- */

static void fill(AsmClass *c, unsigned n, uint32_t first)
{
  for (unsigned i = 0; i < n; i++) {
    uint32_t v = first + i;
    asm_bytes(c, (uint16_t)(DATA + 4 * i), &v, 4);
  }
  uint32_t nothing = 0;
  asm_bytes(c, RESULT + 0x400, &nothing, 4);
}

static AsmClass *starting(Asm *a, unsigned x, unsigned y, uint32_t first)
{
  AsmClass *c = asm_class(a, x, y, x, y);
  c->image.start_entry = ASM_CODE;
  fill(c, N, first);
  return c;
}

static void delay(AsmClass *c, unsigned turns)
{
  asm_emit(c, in_ri(OP_li, 1, turns));
  uint16_t loop = asm_emit(c, in_rri(OP_addi, 1, 1, 0xffff));
  asm_emit(c, in_ri(OP_bnz, 1, loop));
}

/* Sends `words` 32-bit words from DATA + 4 * first; asynchronously on the queue's microthread. */
static void send(AsmClass *c, unsigned dsr, unsigned queue, unsigned color, unsigned first,
                 unsigned n, unsigned flags)
{
  Descriptor to = de_out(queue, color, (uint16_t)n);
  to.flags |= (uint16_t)flags;
  asm_output(c, queue, color);
  asm_emit(c,
           in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, dsr, to), op_none(),
                  asm_dsr(c, DSR_SRC1, dsr, de_mem((uint16_t)(DATA + 4 * first), (uint16_t)n, 1))));
}

static void receive(AsmClass *c, unsigned dsr, unsigned queue, unsigned color, unsigned first,
                    unsigned n, unsigned flags)
{
  Descriptor from = de_in(queue, color, (uint16_t)n);
  from.flags |= (uint16_t)flags;
  asm_input(c, queue, color);
  asm_emit(c, in_vec(VEC_mov32,
                     asm_dsr(c, DSR_DEST, 8 + dsr,
                             de_mem((uint16_t)(RESULT + 4 * first), (uint16_t)n, 1)),
                     op_none(), asm_dsr(c, DSR_SRC1, 8 + dsr, from)));
}

static void done(AsmClass *c) { asm_emit(c, in0(OP_endtask)); }

static uint32_t got(Asm *a, unsigned x, unsigned y, unsigned i)
{
  return asm_word32(a, x, y, (uint16_t)(RESULT + 4 * i));
}

static ImageColorConfig switched(unsigned n, const PortMask (*positions)[2])
{
  ImageColorConfig config = {.pop = POP_NEVER};
  for (unsigned i = 0; i < n; i++)
    config.positions[i] = (ImagePosition){positions[i][0], positions[i][1], true};
  return config;
}

/* ---- back-pressure, multicast, arbitration --------------------------------------------------- */

static void stalled_receiver_loses_nothing(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 4, 1);
  AsmClass *s = starting(a, 0, 0, 1000), *r = starting(a, 3, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, N, 0);
  done(s);
  delay(r, 200);
  receive(r, 0, QUEUE, RED, 0, N, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 1, 0, RED, M_W, M_E);
  asm_route(a, 2, 0, RED, M_W, M_E);
  asm_route(a, 3, 0, RED, M_W, M_R);
  asm_run_quiet(a, ALL_EVENTS);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(got(a, 3, 0, i), 1000 + i);
  const Machine *m = machine_get(ARCH_WSE2);
  unsigned held = 0;      /* sent before the receiver took anything */
  uint64_t first = asm_find(a, EV_GROUP, 3, 0, 0)->cycle;
  for (size_t i = 0; i < arrlenu(a->events); i++)
    held += a->events[i].kind == EV_GROUP && a->events[i].tile == 0 && a->events[i].cycle < first;
  assert_int_equal(held, m->output_queue_depth[OUT_QUEUE] + a->timing.ramp_up +
                         4 * m->router_slots + m->input_queue_depth[QUEUE] + a->timing.ramp_down);
  assert_true(a->ops->stats(a->engine)->stalls[STALL_OUTPUT] > 0);
  asm_free(a);
}

static void multicast_moves_whole_or_not_at_all(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  AsmClass *s = starting(a, 0, 0, 1), *m = starting(a, 1, 0, 0), *r = starting(a, 2, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, N, 0);
  done(s);
  receive(m, 0, QUEUE, RED, 0, N, 0);
  done(m);
  delay(r, 150);
  receive(r, 0, QUEUE, RED, 0, N, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 1, 0, RED, M_W, M_E | M_R);
  asm_route(a, 2, 0, RED, M_W, M_R);
  asm_run_quiet(a, ALL_EVENTS);
  uint64_t slow = asm_find(a, EV_GROUP, 2, 0, 0)->cycle;
  unsigned early = 0;
  for (size_t i = 0; i < arrlenu(a->events); i++) {
    const TraceEvent *e = &a->events[i];
    if (e->kind == EV_WAVELET && e->tile == 1)
      assert_int_equal(e->to, M_E | M_R);
    early += e->kind == EV_GROUP && e->tile == 1 && e->cycle < slow;
  }
  const Machine *machine = machine_get(ARCH_WSE2);
  assert_int_equal(early, machine->router_slots + machine->input_queue_depth[QUEUE] +
                          a->timing.ramp_down);      /* the fast branch waits for the slow one */
  for (unsigned i = 0; i < N; i++) {
    assert_int_equal(got(a, 1, 0, i), 1 + i);
    assert_int_equal(got(a, 2, 0, i), 1 + i);
  }
  asm_free(a);
}

/* Two streams share a link: the link is busy in every cycle and the colors take turns. */
static void link_is_shared_in_turn(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 3, 2);
  AsmClass *s = starting(a, 0, 0, 1), *t = starting(a, 1, 1, 500), *r = starting(a, 2, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, N, 0);
  done(s);
  send(t, 0, OUT_QUEUE, BLUE, 0, N, 0);
  done(t);
  receive(r, 0, QUEUE, RED, 0, N, DESC_F_ASYNC);
  receive(r, 1, QUEUE + 1, BLUE, N, N, DESC_F_ASYNC);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 1, 0, RED, M_W, M_E);
  asm_route(a, 1, 1, BLUE, M_R, M_N);
  asm_route(a, 1, 0, BLUE, M_S, M_E);
  asm_route(a, 2, 0, RED, M_W, M_R);
  asm_route(a, 2, 0, BLUE, M_W, M_R);
  asm_run_quiet(a, ALL_EVENTS);
  for (unsigned i = 0; i < N; i++) {
    assert_int_equal(got(a, 2, 0, i), 1 + i);
    assert_int_equal(got(a, 2, 0, N + i), 500 + i);
  }
  uint8_t last = 0xff;
  for (unsigned i = 0; i < 2 * N; i++) {
    const TraceEvent *e = asm_find(a, EV_WAVELET, 1, 0, i);
    assert_int_equal(e->cycle, asm_find(a, EV_WAVELET, 1, 0, 0)->cycle + i);
    assert_int_not_equal(e->color, last);
    last = e->color;
  }
  asm_free(a);
}

/* A color that waits blocks no other: RED is never taken, BLUE passes on the same link. */
static void waiting_color_blocks_no_other(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *s = starting(a, 0, 0, 1), *r = starting(a, 1, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 3, DESC_F_ASYNC);
  send(s, 1, 2, BLUE, 0, N, DESC_F_ASYNC);
  done(s);
  receive(r, 1, QUEUE, BLUE, 0, N, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 0, 0, BLUE, M_R, M_E);
  asm_route(a, 1, 0, RED, M_N, M_R);       /* does not take from WEST: it waits */
  asm_route(a, 1, 0, BLUE, M_W, M_R);
  asm_run_quiet(a, 0);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(got(a, 1, 0, i), 1 + i);
  IdleQuestion question = {0};
  assert_int_equal(idle_classify(a->engine, a->program, &question), IDLE_WARNINGS);
  asm_free(a);
}

/* ---- findings -------------------------------------------------------------------------------- */

static Asm *colliding(void)
{
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  for (unsigned x = 0; x < 3; x += 2) {
    AsmClass *c = starting(a, x, 0, 1);
    c->image.color_names[RED] = "red";
    send(c, 0, OUT_QUEUE, RED, 0, 5, 0);
    done(c);
  }
  AsmClass *r = starting(a, 1, 0, 0);
  r->image.color_names[RED] = "red";
  receive(r, 0, QUEUE, RED, 0, 10, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 1, 0, RED, M_W | M_E, M_R);
  asm_route(a, 2, 0, RED, M_R, M_W);
  return a;
}

static void two_wavelets_of_a_color_meet(void **state)
{
  (void)state;
  Asm *a = colliding();
  assert_int_equal(asm_run(a, 0), RUN_FAULT);
  const Fault *f = asm_fault(a);
  char text[256];
  assert_int_equal(f->kind, FAULT_COLOR_MEETS);
  assert_int_equal(f->tile, 1);
  assert_int_equal(f->color, RED);
  assert_int_equal(f->cycle, 5);            /* issue 0, group 2, slot 5, enters next in 5 */
  fault_text(a->program, f, text, sizeof text);
  assert_non_null(strstr(text, "from EAST and WEST (color 4 'red')"));
  asm_free(a);
}

static void hazards_obey_the_check_level(void **state)
{
  (void)state;
  for (unsigned level = 0; level < 2; level++) {
    size_t n;
    Asm *a = colliding();
    a->options.check = level ? CHECK_WARN : CHECK_OFF;
    asm_run_quiet(a, 0);
    a->ops->faults(a->engine, &n);
    assert_true(level ? n > 0 : n == 0);
    uint32_t sum = 0;
    for (unsigned i = 0; i < 10; i++)
      sum += got(a, 1, 0, i);
    assert_int_equal(sum, 2 * (1 + 2 + 3 + 4 + 5));       /* kept, in some order */
    asm_free(a);
  }
}

static const Fault *one_sender(Asm **out, PortMask tx)
{
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *c = starting(a, 1, 0, 1);
  send(c, 0, OUT_QUEUE, RED, 0, 1, 0);
  done(c);
  if (tx)
    asm_route(a, 1, 0, RED, M_R, tx);
  a->options.checks = CHECKS_STRICT;
  *out = a;
  assert_int_equal(asm_run(a, 0), RUN_FAULT);
  return asm_fault(a);
}

static void wavelet_on_an_unknown_color(void **state)
{
  (void)state;
  Asm *a;
  const Fault *f = one_sender(&a, M_W);
  assert_int_equal(f->kind, FAULT_NO_COLOR_CONFIG);
  assert_int_equal(f->tile, 0);
  assert_int_equal(f->color, RED);
  assert_int_equal(f->value, PORT_EAST);
  asm_free(a);
  f = one_sender(&a, 0);
  assert_int_equal(f->kind, FAULT_NO_COLOR_CONFIG);
  assert_int_equal(f->tile, 1);
  assert_int_equal(f->value, PORT_RAMP);
  asm_free(a);
}

/* As a warning: it stays where it is, as in front of an input that is not open, and holds nothing else
 * up. */
static void wavelet_on_an_unknown_color_waits(void **state)
{
  (void)state;
  for (unsigned own = 0; own < 2; own++) {
    Asm *a = asm_new(ARCH_WSE2, 2, 1);
    AsmClass *c = starting(a, 1, 0, 2);
    send(c, 0, OUT_QUEUE, RED, 0, 1, 0);
    send(c, 1, OUT_QUEUE + 1, BLUE, 0, 1, 0);
    done(c);
    if (!own)
      asm_route(a, 1, 0, RED, M_R, M_W);
    asm_route(a, 1, 0, BLUE, M_R, M_N);
    a->options.check = CHECK_WARN;
    asm_run_quiet(a, ALL_EVENTS);
    InspectTile tile;
    a->ops->inspect(a->engine, 1, &tile);
    assert_int_equal(tile.output[OUT_QUEUE].count, own);
    assert_int_equal(tile.output[OUT_QUEUE + 1].count, 0);
    assert_int_equal(tile.colors[RED].count, !own);
    assert_int_equal(tile.colors[BLUE].count, 0);
    size_t n, unknown = 0;
    const Fault *faults = a->ops->faults(a->engine, &n);
    for (size_t i = 0; i < n; i++)
      unknown += faults[i].kind == FAULT_NO_COLOR_CONFIG;
    assert_int_equal(unknown, 1);
    asm_free(a);
  }
}

static void wavelet_leaves_the_rectangle(void **state)
{
  (void)state;
  static const PortMask sides[] = {M_N, M_S, M_E};
  for (size_t i = 0; i < ARRAY_COUNT(sides); i++) {
    Asm *a;
    const Fault *f = one_sender(&a, sides[i]);
    assert_int_equal(f->kind, FAULT_LEAVES_FABRIC);
    assert_int_equal(f->tile, 1);
    assert_int_equal(1 << f->value, sides[i]);
    asm_free(a);
  }
}

/* Without strictness it is gone, and the run says so once; a route without outputs drops, too. */
static void wavelets_that_go_nowhere(void **state)
{
  (void)state;
  static const PortMask sides[] = {M_E, M_E | M_S, 0};
  for (size_t i = 0; i < ARRAY_COUNT(sides); i++) {
    Asm *a = asm_new(ARCH_WSE2, 2, 1);
    AsmClass *c = starting(a, 1, 0, 1);
    send(c, 0, OUT_QUEUE, RED, 0, 40, 0);
    done(c);
    asm_route(a, 1, 0, RED, M_R, sides[i]);
    assert_int_equal(asm_run(a, 0), RUN_QUIET);
    size_t count;
    const Fault *faults = a->engine->ops->faults(a->engine, &count);
    assert_int_equal(count, sides[i] ? 1 : 0);
    assert_int_equal(a->engine->ops->stats(a->engine)->wavelets, 40);
    assert_int_equal(engine_stats_hops(a->engine->ops->stats(a->engine)), 0);
    assert_true(!count || faults->kind == FAULT_LEAVES_FABRIC);
    IdleQuestion question = {0};
    assert_int_equal(idle_classify(a->engine, a->program, &question), IDLE_DONE);
    asm_free(a);
  }
}

/* ---- switches -------------------------------------------------------------------------------- */

/* Payload of a control wavelet with the given commands; the rest NOP. */
static uint32_t control(unsigned entry, unsigned n, const ControlCommand *commands)
{
  uint32_t payload = control_with_entry(0, entry);
  for (unsigned i = 0; i < MAX_SWITCH_COMMANDS; i++)
    payload =
        control_with_command(payload, i, i < n ? commands[i] : (ControlCommand){CMD_NOP, true});
  return payload;
}

/* A sender at x = 0 emits two data words, one control wavelet, two data words, to the east; the
 * router at x = 1 starts with `from` and the others are as given. */
static Asm *switch_line(ImageColorConfig at1, uint32_t payload, unsigned n1, unsigned n2)
{
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  AsmClass *s = starting(a, 0, 0, 10);
  asm_bytes(s, DATA + 4 * 20, &payload, 4);
  send(s, 0, OUT_QUEUE, RED, 0, 2, 0);
  send(s, 1, OUT_QUEUE, RED, 20, 1, DESC_F_CONTROL);
  send(s, 2, OUT_QUEUE, RED, 2, 2, 0);
  done(s);
  AsmClass *m = starting(a, 1, 0, 0), *r = starting(a, 2, 0, 0);
  if (n1)
    receive(m, 0, QUEUE, RED, 0, n1, 0);
  done(m);
  if (n2)
    receive(r, 0, QUEUE, RED, 0, n2, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_config(a, 1, 0, RED, at1);
  asm_route(a, 2, 0, RED, M_W, M_R);
  return a;
}

static const PortMask deliver_then_forward[][2] = {{M_W, M_R}, {M_W, M_E}};

static void command_acts_behind_its_own_wavelet(void **state)
{
  (void)state;
  static const ControlCommand adv[] = {{CMD_SWITCH_ADV, true}};
  Asm *a = switch_line(switched(2, deliver_then_forward), control(31, 1, adv), 2, 2);
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(got(a, 1, 0, 0), 10);
  assert_int_equal(got(a, 1, 0, 1), 11);
  assert_int_equal(got(a, 2, 0, 0), 12);
  assert_int_equal(got(a, 2, 0, 1), 13);
  const TraceEvent *e = asm_find(a, EV_SWITCH, 1, 0, 0);
  assert_int_equal(e->old_position, 0);
  assert_int_equal(e->new_position, 1);
  uint64_t moved = e->cycle;      /* the control wavelet left in this cycle, no wavelet after it */
  for (size_t i = 0; i < arrlenu(a->events); i++) {
    const TraceEvent *w = &a->events[i];
    if (w->kind == EV_WAVELET && w->tile == 1)
      assert_int_equal(w->to, w->control ? 0 : w->cycle <= moved ? M_R : M_E);
  }
  asm_free(a);
}

/* With ce-ignore off and the ramp in the outputs the wavelet itself reaches this tile. */
static void control_wavelet_is_delivered_by_the_old_position(void **state)
{
  (void)state;
  static const ControlCommand adv[] = {{CMD_SWITCH_ADV, false}};
  Asm *a = switch_line(switched(2, deliver_then_forward), control(40, 1, adv), 2, 2);
  AsmClass *m = a->classes[1];
  uint16_t task = asm_emit(m, in_ri(OP_li, 9, 0x55));
  done(m);
  asm_task(m, TASK_CONTROL, 40, task, 0, "told");
  m->image.blocked &= ~(UINT64_C(1) << RED);
  asm_run_quiet(a, 0);
  assert_int_equal(asm_reg(a, 1, 0, 9), 0x55);
  assert_int_equal(got(a, 2, 0, 1), 13);
  asm_free(a);
}

static void position_stays_at_the_end_or_goes_round(void **state)
{
  (void)state;
  static const ControlCommand adv[] = {{CMD_SWITCH_ADV, true}};
  ImageColorConfig config = switched(2, deliver_then_forward);
  config.current = 1;             /* the last valid one */
  Asm *a = switch_line(config, control(31, 1, adv), 0, 0);
  receive(a->classes[2], 3, QUEUE, RED, 0, 1, 0);
  a->classes[2]->image.start_entry = PC_RETURN;    /* only its queue counts here */
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(asm_count(a, EV_SWITCH, 1, 0), 0);
  asm_free(a);
  config.ring = true;
  a = switch_line(config, control(31, 1, adv), 2, 2);
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(asm_find(a, EV_SWITCH, 1, 0, 0)->new_position, 0);
  assert_int_equal(got(a, 1, 0, 0), 12);
  assert_int_equal(got(a, 2, 0, 0), 10);
  asm_free(a);
}

static void reset_returns_to_position_zero(void **state)
{
  (void)state;
  static const ControlCommand rst[] = {{CMD_SWITCH_RST, true}};
  static const PortMask three[][2] = {{M_W, M_R}, {M_W, M_S}, {M_W, M_E}};
  ImageColorConfig config = switched(3, three);
  config.current = 2;
  Asm *a = switch_line(config, control(31, 1, rst), 2, 2);
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(asm_find(a, EV_SWITCH, 1, 0, 0)->old_position, 2);
  assert_int_equal(got(a, 1, 0, 1), 13);
  assert_int_equal(got(a, 2, 0, 1), 11);
  asm_free(a);
}

/* Payload that leaves the router at x = 1 towards x = 2, by pop mode and command. */
static uint32_t forwarded(PopMode pop, SwitchCommand command, bool can_advance, uint32_t *sent)
{
  static const PortMask two[][2] = {{M_W, M_E}, {M_W, M_E | M_R}};
  const ControlCommand commands[] = {{command, true}, {CMD_SWITCH_RST, false}, {CMD_NOP, false}};
  ImageColorConfig config = switched(can_advance ? 2 : 1, two);
  config.pop = pop;
  *sent = control(33, 3, commands);
  Asm *a = switch_line(config, *sent, 0, 0);
  asm_input(a->classes[1], QUEUE, RED);
  asm_input(a->classes[2], QUEUE, RED);
  asm_run_quiet(a, ALL_EVENTS);
  for (size_t i = 0; i < arrlenu(a->events); i++) {
    if (a->events[i].kind == EV_WAVELET && a->events[i].tile == 1 && a->events[i].control) {
      uint32_t payload = a->events[i].payload;
      asm_free(a);
      return payload;
    }
  }
  fail_msg("no control wavelet");
  return 0;
}

/* A full receiver holds a control wavelet up in a slot: what comes behind it does not slip into the
 * other slot through an input that the command is about to close. */
static void nothing_slips_in_behind_a_command(void **state)
{
  enum { BEFORE = 12, OWN = 4 };
  (void)state;
  static const ControlCommand adv[] = {{CMD_SWITCH_ADV, true}};
  static const PortMask west_then_ramp[][2] = {{M_W, M_E}, {M_R, M_E}};
  uint32_t payload = control(31, 1, adv);
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  AsmClass *s = starting(a, 0, 0, 100), *m = starting(a, 1, 0, 200), *r = starting(a, 2, 0, 0);
  asm_bytes(s, DATA + 4 * (N - 1), &payload, 4);
  send(s, 0, OUT_QUEUE, RED, 0, BEFORE, 0);
  send(s, 1, OUT_QUEUE, RED, N - 1, 1, DESC_F_CONTROL);
  send(s, 2, OUT_QUEUE, RED, BEFORE, 2, 0);
  done(s);
  send(m, 0, OUT_QUEUE, RED, 0, OWN, 0);
  done(m);
  delay(r, 200);
  receive(r, 0, QUEUE, RED, 0, BEFORE + OWN, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_config(a, 1, 0, RED, switched(2, west_then_ramp));
  asm_route(a, 2, 0, RED, M_W, M_R);
  asm_run_quiet(a, 0);
  for (unsigned i = 0; i < BEFORE + OWN; i++)
    assert_int_equal(got(a, 2, 0, i), i < BEFORE ? 100 + i : 200 + i - BEFORE);
  asm_free(a);
}

static void pop_modes(void **state)
{
  (void)state;
  uint32_t sent;
  static const struct { PopMode mode; SwitchCommand command; bool can, pops; } rows[] = {
    {POP_NEVER, CMD_SWITCH_ADV, true, false},
    {POP_ALWAYS, CMD_SWITCH_ADV, false, true},
    {POP_ALWAYS, CMD_NOP, true, true},
    {POP_ON_ADVANCE, CMD_SWITCH_ADV, true, true},
    {POP_ON_ADVANCE, CMD_SWITCH_ADV, false, false},
    {POP_ON_ADVANCE, CMD_NOP, true, false},
    {POP_ON_ADVANCE_NOP, CMD_NOP, true, true},
    {POP_ON_ADVANCE_NOP, CMD_SWITCH_ADV, true, true},
    {POP_ON_ADVANCE_NOP, CMD_SWITCH_ADV, false, false},
  };
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    uint32_t payload = forwarded(rows[i].mode, rows[i].command, rows[i].can, &sent);
    assert_int_equal(payload, rows[i].pops ? control_pop(sent) : sent);
    assert_int_not_equal(sent, control_pop(sent));
  }
}

/* A row of tiles passes a turn: position 0 sends its own, then position 1 forwards the west's.
 * `advance_switch` on the operation itself makes the next sender follow without a gap. */
static void advance_switch_leaves_no_gap(void **state)
{
  (void)state;
  static const PortMask own_then_west[][2] = {{M_R, M_E}, {M_W, M_E}};
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  AsmClass *s = starting(a, 0, 0, 100), *m = starting(a, 1, 0, 200), *r = starting(a, 2, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 10, 0);
  done(s);
  send(m, 0, OUT_QUEUE, RED, 0, 20, DESC_F_ADVANCE);
  done(m);
  receive(r, 0, QUEUE, RED, 0, 30, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_config(a, 1, 0, RED, switched(2, own_then_west));
  asm_route(a, 2, 0, RED, M_W, M_R);
  asm_run_quiet(a, ALL_EVENTS);
  for (unsigned i = 0; i < 30; i++)
    assert_int_equal(got(a, 2, 0, i), i < 20 ? 200 + i : 100 + i - 20);
  uint64_t first = asm_find(a, EV_WAVELET, 1, 0, 0)->cycle;
  for (unsigned i = 0; i < 30; i++)
    assert_int_equal(asm_find(a, EV_WAVELET, 1, 0, i)->cycle, first + i);
  asm_free(a);
}

/* On the transmit side it acts when the wavelet has left, so none takes the new way too early. */
static void advance_switch_on_the_transmit_side(void **state)
{
  (void)state;
  static const PortMask east_then_south[][2] = {{M_R, M_E}, {M_R, M_S}};
  Asm *a = asm_new(ARCH_WSE2, 2, 2);
  AsmClass *s = starting(a, 0, 0, 100), *e = starting(a, 1, 0, 0), *d = starting(a, 0, 1, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 8, DESC_F_ADVANCE);
  send(s, 1, OUT_QUEUE, RED, 8, 8, 0);
  done(s);
  receive(e, 0, QUEUE, RED, 0, 8, 0);
  done(e);
  receive(d, 0, QUEUE, RED, 0, 8, 0);
  done(d);
  asm_config(a, 0, 0, RED, switched(2, east_then_south));
  asm_route(a, 1, 0, RED, M_W, M_R);
  asm_route(a, 0, 1, RED, M_N, M_R);
  asm_run_quiet(a, 0);
  for (unsigned i = 0; i < 8; i++) {
    assert_int_equal(got(a, 1, 0, i), 100 + i);
    assert_int_equal(got(a, 0, 1, i), 108 + i);
  }
  asm_free(a);
}

/* A list of commands runs out along a line: with always_pop each router executes and drops one. */
static void each_router_takes_its_command_of_the_list(void **state)
{
  enum { TILES = 5 };
  static const PortMask two[][2] = {{M_W, M_E}, {M_W, M_E | M_R}};
  static const PortMask first[][2] = {{M_R, M_E}, {M_R, M_E | M_R}};
  static const ControlCommand list[] = {{CMD_NOP, true}, {CMD_SWITCH_ADV, true}, {CMD_NOP, true},
                                        {CMD_SWITCH_ADV, true}};
  (void)state;
  uint32_t payload = control(31, ARRAY_COUNT(list), list);
  Asm *a = asm_new(ARCH_WSE2, TILES, 1);
  AsmClass *s = starting(a, 0, 0, 1);
  asm_bytes(s, DATA, &payload, 4);
  send(s, 0, OUT_QUEUE, RED, 0, 1, DESC_F_CONTROL);
  done(s);
  for (unsigned x = 0; x < TILES - 1; x++) {
    ImageColorConfig config = switched(2, x ? two : first);
    config.pop = POP_ALWAYS;
    asm_config(a, x, 0, RED, config);
  }
  asm_input(starting(a, TILES - 1, 0, 0), QUEUE, RED);
  done(a->classes[a->image.n_classes - 1]);
  asm_route(a, TILES - 1, 0, RED, M_W, M_R);
  asm_run_quiet(a, ALL_EVENTS);
  for (unsigned x = 0; x < TILES - 1; x++) {
    assert_int_equal(asm_count(a, EV_SWITCH, x, 0), x % 2);
    payload = control_pop(payload);
    assert_int_equal(asm_find(a, EV_WAVELET, x, 0, 0)->payload, payload);
  }
  asm_free(a);
}

/* An invalid position ends the list of positions even if a later one is valid. */
static void invalid_position_stops_the_advance(void **state)
{
  static const PortMask four[][2] = {{M_W, M_E}, {M_W, M_E}, {M_W, M_R}, {M_W, M_R}};
  static const ControlCommand adv[] = {{CMD_SWITCH_ADV, true}};
  (void)state;
  for (unsigned ring = 0; ring < 2; ring++) {
    ImageColorConfig config = switched(4, four);
    config.positions[2].valid = false;
    config.current = 1;
    config.ring = ring;
    Asm *a = switch_line(config, control(31, 1, adv), 0, 4);
    asm_input(a->classes[2], QUEUE, RED);
    asm_run_quiet(a, ALL_EVENTS);
    assert_int_equal(asm_count(a, EV_SWITCH, 1, 0), ring);
    if (ring)
      assert_int_equal(asm_find(a, EV_SWITCH, 1, 0, 0)->new_position, 0);
    asm_free(a);
  }
}

/* The ramp is one port: output queues enter the router in turn. */
static void ramp_takes_output_queues_in_turn(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 2);
  AsmClass *s = starting(a, 0, 0, 1), *e = starting(a, 1, 0, 0), *d = starting(a, 0, 1, 0);
  send(s, 0, OUT_QUEUE, RED, 0, N, DESC_F_ASYNC);
  send(s, 1, OUT_QUEUE + 1, BLUE, 0, N, DESC_F_ASYNC);
  done(s);
  receive(e, 0, QUEUE, RED, 0, N, 0);
  done(e);
  receive(d, 0, QUEUE, BLUE, 0, N, 0);
  done(d);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_route(a, 0, 0, BLUE, M_R, M_S);
  asm_route(a, 1, 0, RED, M_W, M_R);
  asm_route(a, 0, 1, BLUE, M_N, M_R);
  asm_run_quiet(a, ALL_EVENTS);
  unsigned changes = 0, pops = 0;
  uint8_t last = 0xff;
  for (size_t i = 0; i < arrlenu(a->events); i++) {
    const TraceEvent *event = &a->events[i];
    if (event->kind != EV_POP || !event->output)
      continue;
    changes += event->queue != last;
    last = event->queue;
    pops++;
  }
  assert_int_equal(pops, 2 * N);
  assert_true(changes > N);      /* while both have something, never one twice in a row */
  asm_free(a);
}

/* ---- filters, color swap, teardown ----------------------------------------------------------- */

static Asm *filtered(ImageFilter filter, unsigned n1)
{
  Asm *a = asm_new(ARCH_WSE2, 3, 1);
  AsmClass *s = starting(a, 0, 0, 0), *m = starting(a, 1, 0, 0), *r = starting(a, 2, 0, 0);
  for (unsigned i = 0; i < N; i++) {
    uint32_t v = i << 16 | i;
    asm_bytes(s, (uint16_t)(DATA + 4 * i), &v, 4);
  }
  send(s, 0, OUT_QUEUE, RED, 0, 30, 0);
  done(s);
  receive(m, 0, QUEUE, RED, 0, n1, 0);
  done(m);
  receive(r, 0, QUEUE, RED, 0, 30, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_config(a, 1, 0, RED, (ImageColorConfig){.positions[0] = {M_W, M_E | M_R, true},
                                              .filter = filter});
  asm_route(a, 2, 0, RED, M_W, M_R);
  asm_run_quiet(a, 0);
  for (unsigned i = 0; i < 30; i++)
    assert_int_equal(got(a, 2, 0, i), i << 16 | i);     /* forwarding is not filtered */
  return a;
}

static void counter_filter_passes_a_block_of_each_period(void **state)
{
  (void)state;
  /* limit1 = T - 1, max = B - 1, init = k * B: one block of B out of T, the last one first */
  Asm *a = filtered((ImageFilter){.kind = FILTER_COUNTER, .count_data = true, .limit1 = 9,
                                  .max_counter = 1, .init_counter = 4}, 6);
  static const unsigned want[] = {6, 7, 16, 17, 26, 27};
  for (unsigned i = 0; i < ARRAY_COUNT(want); i++)
    assert_int_equal(got(a, 1, 0, i) & 0xffff, want[i]);
  asm_free(a);
}

static void range_filter_looks_at_the_index(void **state)
{
  (void)state;
  Asm *a = filtered((ImageFilter){.kind = FILTER_RANGE, .limit1 = 5, .max_counter = 8}, 4);
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(got(a, 1, 0, i) & 0xffff, 5 + i);
  asm_free(a);
}

static void sparse_filter_switches_itself_off(void **state)
{
  (void)state;
  Asm *a = filtered((ImageFilter){.kind = FILTER_SPARSE, .count_data = true, .limit1 = 4,
                                  .has_limit2 = true, .limit2 = 9, .max_counter = 0}, 2 + 15);
  assert_int_equal(got(a, 1, 0, 0) & 0xffff, 0);
  assert_int_equal(got(a, 1, 0, 1) & 0xffff, 5);
  for (unsigned i = 2; i < 17; i++)
    assert_int_equal(got(a, 1, 0, i) & 0xffff, 13 + i);
  asm_free(a);
}

/* With an x swap on both colors of a pair, neighbours see the colors in turn. */
static void color_swap_exchanges_a_pair(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *s = starting(a, 0, 0, 7), *r = starting(a, 1, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 3, 0);
  done(s);
  receive(r, 0, QUEUE, RED + 1, 0, 3, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  for (unsigned k = 0; k < 2; k++)
    asm_config(a, 1, 0, RED + k, (ImageColorConfig){.positions[0] = {M_W, M_R, true},
                                                    .swap_x = true});
  asm_run_quiet(a, 0);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(got(a, 1, 0, i), 7 + i);
  asm_free(a);
}

static void teardown_stops_a_color_and_activates_its_task(void **state)
{
  (void)state;
  static const ControlCommand down[] = {{CMD_TEARDOWN, true}};
  Asm *a = switch_line(switched(1, deliver_then_forward), control(31, 1, down), 0, 0);
  AsmClass *m = a->classes[1];
  receive(m, 0, QUEUE, RED, 0, 2, 0);
  m->image.start_entry = (uint16_t)(asm_here(m) - 6);
  asm_emit(m, in0(OP_endtask));
  uint16_t task = asm_emit(m, in_ri(OP_li, 9, 0x77));
  done(m);
  asm_task(m, TASK_LOCAL, 29, task, 0, "teardown");
  asm_run_quiet(a, ALL_EVENTS);
  assert_int_equal(asm_reg(a, 1, 0, 9), 0x77);
  InspectTile tile;
  a->ops->inspect(a->engine, 1, &tile);
  assert_true(tile.colors[RED].suspended);
  assert_int_equal(got(a, 1, 0, 1), 11);
  asm_free(a);
}

/* Words and control wavelets for a filtered tile: one data task and one control task count what
 * comes through. */
static void count_passed(ImageFilter filter, const char *sent, unsigned data, unsigned controls)
{
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *s = starting(a, 0, 0, 0), *m = starting(a, 1, 0, 0);
  for (unsigned i = 0; sent[i]; i++) {
    uint32_t word = sent[i] == 'c' ? control(40, 0, NULL) & ~(UINT32_C(1) << 24)
                                     : 7u << 16;
    asm_bytes(s, (uint16_t)(DATA + 4 * i), &word, 4);
    send(s, i, OUT_QUEUE, RED, i, 1, sent[i] == 'c' ? DESC_F_CONTROL : 0);
  }
  done(s);
  asm_input(m, QUEUE, RED);
  done(m);
  asm_task(m, TASK_DATA, RED, asm_emit(m, in_rri(OP_addi, 9, 9, 1)), 0, "data");
  done(m);
  asm_task(m, TASK_CONTROL, 40, asm_emit(m, in_rri(OP_addi, 10, 10, 1)), 0, "control");
  done(m);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_config(a, 1, 0, RED, (ImageColorConfig){.positions[0] = {M_W, M_R, true}, .filter = filter});
  asm_run_quiet(a, 0);
  assert_int_equal(asm_reg(a, 1, 0, 9), data);
  assert_int_equal(asm_reg(a, 1, 0, 10), controls);
  asm_free(a);
}

static void filters_and_control_wavelets(void **state)
{
  (void)state;
  /* a range filter lets every control wavelet through */
  count_passed((ImageFilter){.kind = FILTER_RANGE, .limit1 = 8, .max_counter = 9}, "dcdc", 0, 2);
  /* a counter counts what its settings say: data, control wavelets, or both */
  ImageFilter counter = {.kind = FILTER_COUNTER, .limit1 = 9, .max_counter = 1};
  counter.count_data = true;
  count_passed(counter, "cdcdcd", 2, 2);
  counter.count_data = false;
  counter.count_control = true;
  count_passed(counter, "dcdcdc", 2, 2);
  counter.count_data = true;
  count_passed(counter, "dcdcdc", 1, 1);
  /* filter_control: control wavelets only, and only at the maximum */
  counter.count_control = false;
  counter.filter_control = true;
  count_passed(counter, "cdcdcdc", 0, 1);
}

static void sparse_filter_without_a_second_limit(void **state)
{
  (void)state;
  count_passed((ImageFilter){.kind = FILTER_SPARSE, .count_data = true, .limit1 = 3,
                             .max_counter = 0}, "ddddddd", 1 + 3, 0);
}

/* What a tile gets of RED when the other color of the pair has the given swaps there. */
static void expect_swapped(unsigned dx, unsigned dy, bool swap_x, bool swap_y, bool swapped_there)
{
  Asm *a = asm_new(ARCH_WSE2, (uint16_t)(1 + dx), (uint16_t)(1 + dy));
  AsmClass *s = starting(a, 0, 0, 7), *r = starting(a, dx, dy, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 3, 0);
  done(s);
  receive(r, 0, QUEUE, RED + (swapped_there ? 1 : 0), 0, 3, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, dx ? M_E : M_S);
  asm_route(a, dx, dy, RED, dx ? M_W : M_N, M_R);
  asm_config(a, dx, dy, RED + 1,
             (ImageColorConfig){.positions[0] = {dx ? M_W : M_N, M_R, true},
                                .swap_x = swap_x, .swap_y = swap_y});
  asm_run_quiet(a, 0);
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(got(a, dx, dy, i), 7 + i);
  asm_free(a);
}

static void color_swap_by_axis(void **state)
{
  (void)state;
  expect_swapped(1, 0, true, false, true);
  expect_swapped(1, 0, false, true, false);
  expect_swapped(0, 1, false, true, true);
  expect_swapped(0, 1, true, false, false);
  expect_swapped(1, 0, true, true, true);
  expect_swapped(0, 1, true, true, true);
}

/* With both axes what comes from the own ramp changes its color, too. */
static void color_swap_at_the_ramp(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *s = starting(a, 0, 0, 7), *r = starting(a, 1, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 3, 0);
  done(s);
  receive(r, 0, QUEUE, RED + 1, 0, 3, 0);
  done(r);
  asm_config(a, 0, 0, RED + 1, (ImageColorConfig){.positions[0] = {M_R, M_E, true},
                                                  .swap_x = true, .swap_y = true});
  asm_route(a, 1, 0, RED + 1, M_W, M_R);
  asm_run_quiet(a, 0);
  assert_int_equal(got(a, 1, 0, 2), 9);
  asm_free(a);
}

/* A color that starts torn down takes nothing until a program writes its register. */
static void color_that_starts_torn_down(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  AsmClass *s = starting(a, 0, 0, 7), *r = starting(a, 1, 0, 0);
  send(s, 0, OUT_QUEUE, RED, 0, 3, 0);
  done(s);
  receive(r, 0, QUEUE, RED, 0, 3, 0);
  done(r);
  asm_route(a, 0, 0, RED, M_R, M_E);
  asm_config(a, 1, 0, RED, (ImageColorConfig){.positions[0] = {M_W, M_R, true}, .teardown = true});
  asm_run_quiet(a, ALL_EVENTS);
  InspectTile tile;
  a->ops->inspect(a->engine, 1, &tile);
  assert_true(tile.colors[RED].suspended && tile.colors[RED].count == 0);
  assert_int_equal(asm_count(a, EV_WAVELET, 0, 0), 0);
  asm_free(a);
}

/* The public vector: the first command of 0x09df9249 is TEARDOWN for the router alone. */
static void public_control_vector(void **state)
{
  (void)state;
  assert_int_equal(control_command(0x09df9249, 0).command, CMD_TEARDOWN);
  assert_true(control_command(0x09df9249, 0).ce_ignore);
  assert_int_equal(control_entry(0x09df9249), 31);
  assert_int_equal(control_pop(0x09df9249), 0x091f9249);
}

/* ---- host port ------------------------------------------------------------------------------- */

static void host_words_enter_and_leave_at_the_channel_rate(void **state)
{
  (void)state;
  enum { WORDS = 30 };
  Asm *a = asm_new(ARCH_WSE2, 1, 1);
  AsmClass *c = starting(a, 0, 0, 0);
  Descriptor to = de_out(OUT_QUEUE, BLUE, WORDS);
  asm_input(c, QUEUE, RED);
  asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, 0, to), op_none(),
                     asm_dsr(c, DSR_SRC1, 0, de_in(QUEUE, RED, WORDS))));
  done(c);
  asm_load(a, ALL_EVENTS);
  a->program->host_out_colors = 1u << BLUE;
  HostChannel channel = {0};
  for (unsigned i = 0; i < WORDS; i++)
    assert_true(a->ops->post(a->engine, 0, RED, 1000 + i,
                             host_channel_time(&channel, &a->timing, 0)));
  asm_run_quiet(a, 0);
  uint32_t words[WORDS];
  uint64_t cycles[WORDS];
  assert_int_equal(a->ops->take(a->engine, 0, BLUE, words, cycles, WORDS + 1), WORDS);
  for (unsigned i = 0; i < WORDS; i++)
    assert_int_equal(words[i], 1000 + i);
  uint64_t in =
      asm_find(a, EV_HOST_IN, 0, 0, WORDS - 1)->cycle - asm_find(a, EV_HOST_IN, 0, 0, 0)->cycle;
  assert_in_range(in, (WORDS - 1) * 1000 / 257, (WORDS - 1) * 1000 / 257 + 1);
  assert_in_range(cycles[WORDS - 1] - cycles[0], (WORDS - 1) * 1000 / 257 - 4,
                  (WORDS - 1) * 1000 / 257 + 4);
  assert_int_equal(a->ops->take(a->engine, 0, BLUE, words, cycles, WORDS), 0);
  asm_free(a);
}

/* Two tiles that send without pause share a channel in turn. */
static void host_channel_is_shared(void **state)
{
  (void)state;
  Asm *a = asm_new(ARCH_WSE2, 2, 1);
  for (unsigned x = 0; x < 2; x++) {
    AsmClass *c = starting(a, x, 0, 100 * x);
    send(c, 0, OUT_QUEUE, BLUE, 0, N, 0);
    done(c);
  }
  asm_load(a, ALL_EVENTS);
  a->program->host_out_colors = 1u << BLUE;
  asm_run_quiet(a, 0);
  uint64_t first = asm_find(a, EV_HOST_OUT, 0, 0, 0)->cycle, prev = 0;
  for (unsigned i = 0; i < N; i++) {
    uint64_t x0 = asm_find(a, EV_HOST_OUT, 0, 0, i)->cycle,
             x1 = asm_find(a, EV_HOST_OUT, 1, 0, i)->cycle;
    assert_true(x0 < x1 && (i == 0 || x0 > prev));
    assert_int_equal(asm_find(a, EV_POP, 0, 0, i)->cycle, x0);
    assert_int_equal(asm_find(a, EV_POP, 1, 0, i)->cycle, x1);
    prev = x1;
  }
  assert_in_range(prev - first, (2 * N - 1) * 1000 / 257, (2 * N - 1) * 1000 / 257 + 1);
  asm_free(a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(stalled_receiver_loses_nothing),
    cmocka_unit_test(multicast_moves_whole_or_not_at_all),
    cmocka_unit_test(link_is_shared_in_turn),
    cmocka_unit_test(waiting_color_blocks_no_other),
    cmocka_unit_test(two_wavelets_of_a_color_meet),
    cmocka_unit_test(hazards_obey_the_check_level),
    cmocka_unit_test(wavelet_on_an_unknown_color),
    cmocka_unit_test(wavelet_on_an_unknown_color_waits),
    cmocka_unit_test(wavelet_leaves_the_rectangle),
    cmocka_unit_test(wavelets_that_go_nowhere),
    cmocka_unit_test(command_acts_behind_its_own_wavelet),
    cmocka_unit_test(control_wavelet_is_delivered_by_the_old_position),
    cmocka_unit_test(position_stays_at_the_end_or_goes_round),
    cmocka_unit_test(reset_returns_to_position_zero),
    cmocka_unit_test(nothing_slips_in_behind_a_command),
    cmocka_unit_test(pop_modes),
    cmocka_unit_test(each_router_takes_its_command_of_the_list),
    cmocka_unit_test(invalid_position_stops_the_advance),
    cmocka_unit_test(ramp_takes_output_queues_in_turn),
    cmocka_unit_test(advance_switch_leaves_no_gap),
    cmocka_unit_test(advance_switch_on_the_transmit_side),
    cmocka_unit_test(counter_filter_passes_a_block_of_each_period),
    cmocka_unit_test(range_filter_looks_at_the_index),
    cmocka_unit_test(sparse_filter_switches_itself_off),
    cmocka_unit_test(filters_and_control_wavelets),
    cmocka_unit_test(sparse_filter_without_a_second_limit),
    cmocka_unit_test(color_swap_exchanges_a_pair),
    cmocka_unit_test(color_swap_by_axis),
    cmocka_unit_test(color_swap_at_the_ramp),
    cmocka_unit_test(color_that_starts_torn_down),
    cmocka_unit_test(teardown_stops_a_color_and_activates_its_task),
    cmocka_unit_test(public_control_vector),
    cmocka_unit_test(host_words_enter_and_leave_at_the_channel_rate),
    cmocka_unit_test(host_channel_is_shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
