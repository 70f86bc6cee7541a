/* Random calls of libwse in random order, as bytes say: for the fuzz target and its short form.
 *
 * The bytes are all there is to a run.  Calls are wrong in every way that a caller's memory
 * survives: NULL, closed and failed handles, numbers and names of nothing, regions anywhere,
 * operations in any order and never waited for.  After each call what the library promises is
 * checked: a failure has a message, and a run that has ended stays so. */
#ifndef HOST_CALLS_H
#define HOST_CALLS_H

#include "emu/include/wse.h"
#include "ir/machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_HANDLES = 4, CALL_BUFFERS = 64, CALL_IMAGES = 4, CALL_NAMES = 12, CALL_SNAPSHOTS = 4,
       CALL_PORTS = 3, CALL_STOPS = 3, CALL_WORDS = 8, CALL_PATH = 128, CALL_WAFERS = 2 };

typedef struct {
  WseProgram *program;
  bool opened, ended;              /* a fault, a deadlock or the cycle limit has ended it */
  bool is_wafer;                   /* of the cluster */
  WseStatus end;
  WseTask tasks[CALL_BUFFERS];
  uint32_t *buffers[CALL_BUFFERS]; /* live until the handle is closed */
  unsigned n_tasks, n_buffers;
} CallHandle;

typedef struct {
  const uint8_t *data;
  size_t size, at;
  const char *const *images;       /* CALL_IMAGES of them: paths, the last of no image */
  char core[CALL_PATH];            /* a file that cores are written to */
  char wafers[CALL_PATH];          /* a cluster of two wafers with the third image */
  WseCluster *cluster;             /* its programs are the last handles */
  CallHandle handles[CALL_HANDLES];
  WseSnapshot *snapshots[CALL_SNAPSHOTS];      /* of any handle, also of closed ones */
  uint64_t succeeded;              /* calls that returned WSE_OK */
} Calls;

static uint32_t call_byte(Calls *c)
{
  return c->at < c->size ? c->data[c->at++] : 0;
}

static uint32_t call_below(Calls *c, uint32_t limit)
{
  return call_byte(c) % limit;
}

/* Mostly small numbers, now and then one that is far out. */
static uint32_t call_number(Calls *c, uint32_t usual)
{
  static const uint32_t far[] = {0, 1, 7, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
                                 0xfffffffe, 0xffffffff};
  uint32_t byte = call_byte(c);
  return byte < 224 ? byte % usual : far[byte % ARRAY_COUNT(far)];
}

/* Checks the status of a call that runs nothing. */
static void call_check(Calls *c, CallHandle *h, WseStatus status)
{
  const WseError *error = wse_error(h->program);
  c->succeeded += status == WSE_OK;
  if (status == WSE_OK)
    return;
  if (error->status != status || !error->message || !*error->message)
    ICE("status %d, and the error says %d '%s'", (int)status, (int)error->status, error->message);
  if (status != WSE_USAGE) {
    h->ended = true;
    h->end = status;
  }
}

static void call_check_operation(Calls *c, CallHandle *h, WseStatus status)
{
  if (h->ended && status != h->end && status != WSE_USAGE)
    ICE("status %d after the run had ended with %d", (int)status, (int)h->end);
  call_check(c, h, status);
}

static const char *call_name(Calls *c)
{
  static const char *const names[CALL_NAMES] = {
    "a", "h", "n", "flag", "scale", "hang", "crash", "spin", "wait", "x", "", "no such name"};
  uint32_t which = call_below(c, CALL_NAMES + 1);
  return which < CALL_NAMES ? names[which] : NULL;
}

/* Where words enter at the west and leave at the east of plain_layout.csl, or anywhere. */
static uint32_t call_make_ports(Calls *c, WsePort ports[CALL_PORTS])
{
  uint32_t row = call_below(c, 2), n = call_below(c, 4) ? 0 : call_below(c, CALL_PORTS + 1);
  ports[0] = (WsePort){0, row, WSE_WEST, 4, true};
  ports[1] = (WsePort){2, row, WSE_EAST, 4, false};
  for (uint32_t i = call_below(c, 4) ? 2 : 0; i < CALL_PORTS; i++)
    ports[i] = (WsePort){call_number(c, 3), call_number(c, 2), (WseSide)call_number(c, 4),
                         (uint8_t)call_number(c, 6), call_below(c, 2)};
  return n;
}

static void call_open(Calls *c, CallHandle *h)
{
  static const char *const kinds[] = {NULL, NULL, NULL, NULL, NULL, NULL, "all", "task", "bad"};
  static const char *const files[] = {NULL, NULL, NULL, "/dev/null", "/dev/null", "/nowhere/file"};
  static const uint64_t limits[] = {100, 2000, 2000, 2000, 2000, 2000, 2000, 5000};
  if (h->program)
    return;
  WsePort ports[CALL_PORTS];
  uint32_t image = call_number(c, CALL_IMAGES - 1);   /* far out: no image, or NULL */
  const char *path = image < CALL_IMAGES ? c->images[image] : NULL;
  WseOptions options = {
    .engine = (WseEngine)call_number(c, 2), .threads = call_number(c, 3),
    .max_cycles = limits[call_below(c, ARRAY_COUNT(limits))],
    .check = (WseCheck)call_number(c, 3), .trace_kinds = kinds[call_below(c, ARRAY_COUNT(kinds))],
    .trace_file = "/dev/null", .sim_log = files[call_below(c, ARRAY_COUNT(files))],
    .ports = ports, .n_ports = call_make_ports(c, ports)};
  WseStatus status = call_below(c, 16) ? wse_open(path, &options, &h->program)
                                       : wse_open_core(path, c->core, &h->program);
  h->opened = status == WSE_OK;
  call_check(c, h, status);
}

static void call_forget(CallHandle *h)
{
  for (unsigned i = 0; i < h->n_buffers; i++)
    free(h->buffers[i]);
  *h = (CallHandle){0};
}

static void call_close_cluster(Calls *c)
{
  wse_cluster_close(c->cluster);
  c->cluster = NULL;
  for (unsigned i = CALL_HANDLES - CALL_WAFERS; i < CALL_HANDLES; i++)
    if (c->handles[i].is_wafer)
      call_forget(&c->handles[i]);
}

static void call_close(Calls *c, CallHandle *h)
{
  bool is_wafer = h->is_wafer;
  wse_close(h->program);           /* nothing happens to a wafer's program */
  if (is_wafer)
    call_close_cluster(c);
  else
    call_forget(h);
}

static void call_open_cluster(Calls *c)
{
  CallHandle *first = &c->handles[CALL_HANDLES - CALL_WAFERS];
  const char *const paths[] = {c->wafers, c->wafers, c->wafers, c->images[0], "/nowhere/c", NULL};
  const char *path = paths[call_below(c, ARRAY_COUNT(paths))], *image;
  WseOptions options = {.engine = (WseEngine)call_below(c, 2), .threads = call_number(c, 3),
                        .max_cycles = 2000, .check = (WseCheck)call_below(c, 3)};
  if (c->cluster)
    return;
  bool none = path != c->wafers && call_below(c, 4) == 0;        /* they would run for hours */
  WseStatus status = wse_cluster_open(path, none ? NULL : &options, &c->cluster);
  const WseError *error = wse_cluster_error(c->cluster);
  if (error->status != status || (status != WSE_OK && !*error->message))
    ICE("status %d, and the error says %d", (int)status, (int)error->status);
  wse_cluster_wafer(c->cluster, call_number(c, 3), &image);
  for (unsigned i = 0; i < CALL_WAFERS; i++) {
    first[i].program = wse_cluster_program(c->cluster, i);
    first[i].is_wafer = first[i].program != NULL;
    first[i].opened = status == WSE_OK;
  }
  if (status != WSE_OK && call_below(c, 2))
    call_close_cluster(c);
}

/* Brings a transfer into the rectangle; with memcpy, colors 4 and 5 are streams. */
static void call_make_sane(WseTransfer *t, bool in)
{
  t->target = t->streaming ? 5u - in : t->target % 3;
  t->x %= 3;
  t->y %= 2;
  t->width = 1 + t->width % (3 - t->x);
  t->height = 1 + t->height % (2 - t->y);
  t->elements %= 6;
  t->order = (WseOrder)(t->order % 2);
  t->broadcast = in ? (WseBroadcast)(t->broadcast % 3) : WSE_EACH_TILE;
}

/* A transfer, and a buffer that is large enough if the library takes it. */
static uint32_t *call_transfer(Calls *c, CallHandle *h, WseTransfer *t, bool in)
{
  *t = (WseTransfer){
    .target = call_number(c, 9), .streaming = call_below(c, 4) == 0, .is_16bit = call_below(c, 2),
    .x = call_number(c, 3), .y = call_number(c, 2), .width = call_number(c, 4),
    .height = call_number(c, 3), .x_step = call_number(c, 3), .y_step = call_number(c, 3),
    .elements = call_number(c, 8), .order = (WseOrder)call_number(c, 2),
    .broadcast = (WseBroadcast)(call_below(c, 3) ? 0 : call_number(c, 3))};
  if (call_below(c, 4))
    call_make_sane(t, in);
  if (t->streaming && t->elements > 300)      /* a stream has no limit of its own */
    t->elements = 300;
  size_t words = wse_transfer_words(t), most = (size_t)6 * PE_MEM_BYTES / 4;
  if (h->n_buffers == CALL_BUFFERS)
    return NULL;
  uint32_t *buffer = base_malloc(4 * (words < most ? words + 1 : most));
  memset(buffer, (int)call_byte(c), 4 * (words < most ? words + 1 : most));
  return h->buffers[h->n_buffers++] = buffer;
}

static void call_task(Calls *c, CallHandle *h, WseStatus status, WseTask task, bool wanted)
{
  call_check_operation(c, h, status);
  if (status == WSE_OK && wanted && h->n_tasks < CALL_BUFFERS)
    h->tasks[h->n_tasks++] = task;
}

static void call_copy(Calls *c, CallHandle *h, bool in)
{
  WseTransfer transfer;
  WseTask task = 0;
  uint32_t *words = call_transfer(c, h, &transfer, in);
  bool later = call_below(c, 2), none = call_below(c, 32) == 0;
  const WseTransfer *given = none ? NULL : &transfer;
  WseStatus status = in ? wse_h2d(h->program, given, words, later ? &task : NULL)
                        : wse_d2h(h->program, given, words, later ? &task : NULL);
  call_task(c, h, status, task, later);
}

static void call_launch(Calls *c, CallHandle *h)
{
  static const uint32_t args[16] = {0x40000000, 3};
  WseTask task = 0;
  WseSymbol symbol;
  uint32_t function = call_number(c, 9), n = call_number(c, 16);
  if (call_below(c, 4) && wse_symbol_at(h->program, function, &symbol) == WSE_OK)
    n = symbol.n_params;                        /* mostly as many as it takes */
  bool later = call_below(c, 2);
  if (n > ARRAY_COUNT(args))
    n = ARRAY_COUNT(args);
  WseStatus status = wse_launch(h->program, function, call_below(c, 16) ? args : NULL, n,
                                later ? &task : NULL);
  call_task(c, h, status, task, later);
}

static WseTask call_some_task(Calls *c, CallHandle *h)
{
  uint32_t which = call_byte(c);
  return h->n_tasks && which < 250 ? h->tasks[which % h->n_tasks] : call_number(c, 20);
}

static void call_symbols(Calls *c, CallHandle *h)
{
  WseSymbol symbol;
  WseGeometry geometry;
  uint8_t bytes[64];
  size_t size;
  uint32_t x = call_number(c, 4), y = call_number(c, 3);
  bool null = call_below(c, 16) == 0;
  int64_t least;
  uint64_t most;
  switch (call_below(c, 6)) {
  case 5:
    call_check(c, h, wse_param_range(h->program, x, y, null ? NULL : &least, &most));
    break;
  case 0: call_check(c, h, wse_symbol(h->program, call_name(c), null ? NULL : &symbol)); break;
  case 1: call_check(c, h, wse_symbol_at(h->program, x, null ? NULL : &symbol)); break;
  case 2: call_check(c, h, wse_geometry(h->program, null ? NULL : &geometry)); break;
  case 3:
    call_check(c, h, wse_read_symbol(h->program, x, y, call_name(c), null ? NULL : bytes,
                                     call_below(c, sizeof bytes + 1), &size));
    break;
  default: wse_symbol_name(h->program, x, y, call_number(c, 40)); break;
  }
}

static void call_port(Calls *c, CallHandle *h)
{
  uint32_t words[CALL_WORDS] = {1, 2, 3}, port = call_number(c, CALL_PORTS);
  size_t n = call_below(c, CALL_WORDS + 1);
  bool null = call_below(c, 16) == 0;
  switch (call_below(c, 3)) {
  case 0:
    call_check(c, h, wse_port_send(h->program, port, null ? NULL : words, n, call_below(c, 2)));
    break;
  case 1: call_check(c, h, wse_port_take(h->program, port, words, n, null ? NULL : &n)); break;
  default: call_check(c, h, wse_port_left(h->program, port, null ? NULL : &n)); break;
  }
}

static void call_step(Calls *c, CallHandle *h)
{
  WseStop stops[CALL_STOPS];
  bool reached, null = call_below(c, 16) == 0;
  size_t which, n = call_below(c, CALL_STOPS + 1);
  uint32_t most = call_number(c, 200), x = call_number(c, 3), y = call_number(c, 2);
  if (call_below(c, 2)) {
    WseStep unit = (WseStep)call_number(c, 4);
    call_check_operation(c, h, wse_step(h->program, x, y, unit, call_number(c, 20), most,
                                        null ? NULL : &reached));
    return;
  }
  for (size_t i = 0; i < n; i++)
    stops[i] = (WseStop){(WseStopKind)call_number(c, 3), call_number(c, 3), call_number(c, 2),
                         call_name(c), call_number(c, 40)};
  call_check_operation(c, h, wse_run_until(h->program, stops, n, most, null ? NULL : &which));
}

static void call_state(Calls *c, CallHandle *h)
{
  static const char *const registers[] = {"r0", "r15", "sp", "pc", "r16", "", NULL};
  const char *name = registers[call_below(c, ARRAY_COUNT(registers))];
  uint32_t words[CALL_WORDS] = {0x40000000}, x = call_number(c, 3), y = call_number(c, 2);
  uint16_t value = (uint16_t)call_number(c, 200);
  switch (call_below(c, 4)) {
  case 0:
    call_check(c, h, wse_read_register(h->program, x, y, name, call_below(c, 16) ? &value : NULL));
    break;
  case 1: call_check(c, h, wse_write_register(h->program, x, y, name, value)); break;
  case 2:
    call_check(c, h, wse_write_symbol(h->program, x, y, call_name(c), words,
                                      call_below(c, sizeof words + 1)));
    break;
  default:
    call_check_operation(c, h, wse_launch_later(h->program, call_number(c, 9), words,
                                                call_below(c, CALL_WORDS + 1)));
    break;
  }
}

static void call_snapshot(Calls *c, CallHandle *h)
{
  WseSnapshot **s = &c->snapshots[call_below(c, CALL_SNAPSHOTS)];
  const WseSnapshot *before = c->snapshots[call_below(c, CALL_SNAPSHOTS)];
  switch (call_below(c, 4)) {
  case 0:
    wse_snapshot_free(*s);
    *s = NULL;
    break;
  case 1:
    if (!*s)
      call_check(c, h, wse_snapshot_take(h->program, before, s));
    break;
  case 2: {
    WseStatus status = wse_snapshot_restore(h->program, *s);
    call_check(c, h, status);
    h->ended = h->ended && status != WSE_OK;
    break;
  }
  default: wse_snapshot_cycle(*s); break;
  }
}

static void call_core(Calls *c, CallHandle *h)
{
  const char *const paths[] = {c->core, c->core, c->core, "/nowhere/core", NULL};
  call_check(c, h, wse_dump_core(h->program, paths[call_below(c, ARRAY_COUNT(paths))]));
}

static void call_look(Calls *c, CallHandle *h)
{
  const char *text;
  switch (call_below(c, 6)) {
  case 0: wse_cycle(h->program); break;
  case 1: wse_symbol_count(h->program); break;
  case 4: if (call_below(c, 16) == 0) wse_interrupt(h->program); break;
  case 2: text = wse_warnings(h->program); if (text && !*text) ICE("an empty warning"); break;
  case 3: text = wse_statistics(h->program); if (*text != '{') ICE("no statistics"); break;
  default: wse_version(); break;
  }
}

static void call_one(Calls *c)
{
  CallHandle *h = &c->handles[call_byte(c) % 4 == 3 ? call_below(c, CALL_HANDLES) : 0];
  bool useless = h->program && (!h->opened || h->ended);
  if (useless && call_below(c, 4) == 0)               /* first seen what can be done with it */
    call_close(c, h);
  bool is_for_wafer = h >= &c->handles[CALL_HANDLES - CALL_WAFERS];
  if (!h->program && is_for_wafer)
    call_open_cluster(c);
  else if (!h->program && call_below(c, 8))
    call_open(c, h);
  switch (call_below(c, 21)) {
  case 0: if (call_below(c, 8) == 0) call_close(c, h); break;
  case 1: case 2: case 3: call_copy(c, h, true); break;
  case 4: case 5: case 6: call_copy(c, h, false); break;
  case 7: case 8: case 9: call_launch(c, h); break;
  case 10: call_check_operation(c, h, wse_run(h->program, call_number(c, 200))); break;
  case 11: call_check_operation(c, h, wse_wait(h->program, call_some_task(c, h))); break;
  case 12: wse_is_done(h->program, call_some_task(c, h)); break;
  case 13:
    if (call_below(c, 3) == 0)
      call_check_operation(c, h, call_below(c, 4) ? wse_finish(h->program)
                                                  : wse_give_up(h->program));
    break;
  case 14: call_symbols(c, h); break;
  case 15: call_port(c, h); break;
  case 16: call_step(c, h); break;
  case 17: call_state(c, h); break;
  case 18: call_snapshot(c, h); break;
  case 19: call_core(c, h); break;
  default: call_look(c, h); break;
  }
}

static void call_write_cluster(const Calls *c)
{
  FILE *out = fopen(c->wafers, "w");
  if (!out)
    ICE("cannot write %s", c->wafers);
  fprintf(out, "{\"topology\": {\"kind\": \"line\", \"size\": %d, \"image\": \"%s\", \"rows\": [0], "
          "\"latency\": 20, \"channels\": [{\"colors\": [4, 4]}]}}", CALL_WAFERS, c->images[2]);
  fclose(out);
}

/* Returns how many calls succeeded. */
static uint64_t calls_run(const uint8_t *data, size_t size, const char *const images[CALL_IMAGES])
{
  Calls c = {.data = data, .size = size, .images = images};
  snprintf(c.core, sizeof c.core, "%s.core", images[0]);
  snprintf(c.wafers, sizeof c.wafers, "%s.json", images[0]);
  call_write_cluster(&c);
  while (c.at < c.size)
    call_one(&c);
  for (unsigned i = 0; i < CALL_HANDLES; i++)
    call_close(&c, &c.handles[i]);
  call_close_cluster(&c);
  for (unsigned i = 0; i < CALL_SNAPSHOTS; i++)
    wse_snapshot_free(c.snapshots[i]);
  remove(c.core);
  remove(c.wafers);
  return c.succeeded;
}

#endif
