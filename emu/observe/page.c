/* A run as one self-contained page of HTML: its data, and the application of viewer/ that shows
 * them. */
#include "emu/observe/page_internal.h"
#include "emu/observe/viewer_text.h"

#include "emu/explain/explain.h"

#include <stdlib.h>

/* The arrays' limit: as base64, with the application and the JSON, a page stays below 20 MB. */
enum {
  MOST_DATA_BYTES = 13 << 20,
  MOST_CHAINS = 64,
  FORMAT_VERSION = 1,
  FEW_WAVELETS = 1 << 20, /* events that a page of tasks follows */
  SWITCH_KINDS = 1 << TRACE_SWITCH,
  TASK_KINDS = SWITCH_KINDS | 1 << TRACE_TASK | 1 << TRACE_INST | 1 << TRACE_STALL |
               1 << TRACE_HOST,
  WAVELET_KINDS = 1 << TRACE_WAVELET | 1 << TRACE_QUEUE,
};

/* How full the queues of a tile are: output and input. */
typedef struct {
  uint8_t held[2][MAX_QUEUES];
  uint8_t most[2];   /* of these */
  uint64_t since[2]; /* of that */
} TileFill;

struct Page {
  Pulse pulse; /* the first member */
  const Program *program;
  PageDetail detail;
  Pyramid *pyramid;
  Turns *turns;
  TileCounts *counts; /* by tile; NULL: a page of events */
  Spans *spans;       /* NULL: a page of counts */
  Ways *ways;         /* likewise */
  TileFill *fills;    /* by tile; NULL: no page of events */
  json_t *chains;     /* of waits; NULL: none */
};

static uint64_t look_at_counts(Pulse *pulse, const Engine *engine)
{
  Page *p = (Page *)pulse;
  return pyramid_sample(p->pyramid, p->counts, engine->cycle) - engine->cycle;
}

Page *page_create(const Program *program, PageDetail detail)
{
  bool has_counts = detail != PAGE_OF_EVENTS;
  Page *p = base_malloc(sizeof *p);
  *p = (Page){.pulse.look = look_at_counts,
              .program = program,
              .detail = detail,
              .pyramid = pyramid_create(program, has_counts),
              .turns = turns_create(program)};
  if (has_counts)
    p->counts = base_zeroed(program->n_tiles, sizeof *p->counts);
  else
    p->fills = base_zeroed(program->n_tiles, sizeof *p->fills);
  if (detail == PAGE_OF_COUNTS)
    return p;
  p->spans = spans_create(program);
  p->ways = ways_create(program, has_counts ? FEW_WAVELETS : UINT64_MAX);
  return p;
}

TileCounts *page_counts(Page *p)
{
  return p->counts;
}

Pulse *page_pulse(Page *p)
{
  return p->counts ? &p->pulse : NULL;
}

void page_destroy(Page *p)
{
  if (!p)
    return;
  pyramid_destroy(p->pyramid);
  spans_destroy(p->spans);
  ways_destroy(p->ways);
  turns_destroy(p->turns);
  free(p->fills);
  free(p->counts);
  json_decref(p->chains);
  free(p);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static unsigned fullest_queue(const uint8_t held[MAX_QUEUES])
{
  unsigned most = 0;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    most = held[q] > most ? held[q] : most;
  return most;
}

/* How full the fullest queue was up to now. */
static void hold_fill(Page *p, uint32_t tile, bool output, uint64_t cycle)
{
  TileFill *fill = &p->fills[tile];
  pyramid_hold(p->pyramid, output ? CHANNEL_output_fill : CHANNEL_input_fill, tile,
               fill->since[output], cycle, fill->most[output]);
  fill->since[output] = cycle;
}

static void queue_event(Page *p, const TraceEvent *e)
{
  TileFill *fill = &p->fills[e->tile];
  uint8_t *held = &fill->held[e->output][e->queue];
  *held = (uint8_t)(e->kind == EV_PUSH ? *held + 1 : *held - (*held > 0));
  unsigned most = fullest_queue(fill->held[e->output]);
  if (most != fill->most[e->output]) {
    hold_fill(p, e->tile, e->output, e->cycle);
    fill->most[e->output] = (uint8_t)most;
  }
  if (e->kind == EV_POP && e->output && !program_is_host_color(p->program, e->color))
    pyramid_add(p->pyramid, CHANNEL_sent, e->tile, e->cycle, 1);
}

static void take_up_fill(TileFill *fill, const InspectTile *at, uint64_t cycle)
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    fill->held[0][q] = at->input[q].count;
    fill->held[1][q] = at->output[q].count;
  }
  for (unsigned output = 0; output < 2; output++) {
    fill->most[output] = (uint8_t)fullest_queue(fill->held[output]);
    fill->since[output] = cycle;
  }
}

void page_take_up(Page *p, Engine *engine)
{
  InspectTile at;
  turns_take_up(p->turns, engine);
  if (p->spans)
    spans_take_up(p->spans, engine);
  if (p->ways)
    ways_take_up(p->ways, engine);
  for (uint32_t tile = 0; p->fills && tile < p->program->n_tiles; tile++) {
    if (!engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &at);
    take_up_fill(&p->fills[tile], &at, engine->ops->cycle(engine));
  }
}

static void wavelet_event(Page *p, const TraceEvent *e)
{
  static const Channel channels[PORT_COUNT] = {[PORT_NORTH] = CHANNEL_north,
                                               [PORT_SOUTH] = CHANNEL_south,
                                               [PORT_EAST] = CHANNEL_east,
                                               [PORT_WEST] = CHANNEL_west,
                                               [PORT_RAMP] = CHANNEL_delivered};
  for (unsigned port = 0; port < PORT_COUNT; port++)
    if (e->to >> port & 1 &&
        (port == PORT_RAMP || program_neighbour(p->program, e->tile, (Port)port) != NO_TILE))
      pyramid_add(p->pyramid, channels[port], e->tile, e->cycle, 1);
}

static void stall_event(Page *p, const TraceEvent *e)
{
  static const Channel channels[STALL_COUNT] = {
      [STALL_PAUSED] = CHANNEL_paused, [STALL_INPUT] = CHANNEL_input, [STALL_FIFO] = CHANNEL_fifo,
      [STALL_OUTPUT] = CHANNEL_output, [STALL_ISSUE] = CHANNEL_issue, [STALL_BANK] = CHANNEL_bank};
  uint64_t from = e->id == STALL_BANK ? e->cycle + 1 : e->cycle - e->payload;
  pyramid_add_cycles(p->pyramid, channels[e->id], e->tile, from, from + e->payload);
}

uint32_t page_kinds(const Page *p)
{
  if (p->detail == PAGE_OF_COUNTS)
    return SWITCH_KINDS;
  return TASK_KINDS | (ways_are_over(p->ways) ? 0 : WAVELET_KINDS);
}

static void count_event(Page *p, const TraceEvent *e)
{
  switch (e->kind) {
  case EV_TASK_START:
    pyramid_add(p->pyramid, CHANNEL_tasks, e->tile, e->cycle, 1);
    break;
  case EV_INST:
    pyramid_add(p->pyramid, CHANNEL_instructions, e->tile, e->cycle, 1);
    break;
  case EV_GROUP:
    pyramid_add(p->pyramid, CHANNEL_groups, e->tile, e->cycle, 1);
    pyramid_add(p->pyramid, CHANNEL_elements, e->tile, e->cycle, e->count);
    break;
  case EV_WAVELET:
    wavelet_event(p, e);
    break;
  case EV_PUSH:
  case EV_POP:
    queue_event(p, e);
    break;
  case EV_STALL:
    stall_event(p, e);
    break;
  case EV_TASK_END:
  case EV_ACTIVATE:
  case EV_BLOCK:
  case EV_UNBLOCK:
  case EV_DONE:
  case EV_SWITCH:
  case EV_ROUTE:
  case EV_WAIT:
  case EV_HOST_IN:
  case EV_HOST_OUT:
  case EV_LAUNCH:
  case EV_COUNT:
  default:
    break;
  }
}

bool page_event(Page *p, const TraceEvent *e)
{
  turns_event(p->turns, e);
  if (p->spans)
    spans_event(p->spans, e);
  if (!p->counts)
    count_event(p, e);
  return p->ways && ways_event(p->ways, e);
}

/* ---- chains of waits ------------------------------------------------------------------------- */

typedef struct {
  const Program *program;
  json_t *chains;
} ChainList;

static void take_wait(void *context, unsigned chain, uint32_t tile, const char *text)
{
  ChainList *list = context;
  while (json_array_size(list->chains) <= chain)
    json_array_append_new(list->chains, json_array());
  json_array_append_new(json_array_get(list->chains, chain),
                        json_pack("{s:i, s:i, s:o}", "x", (int)program_x(list->program, tile), "y",
                                  (int)program_y(list->program, tile), "text",
                                  base_json_text(text)));
}

void page_note_waits(Page *p, Engine *engine, const IdleQuestion *question)
{
  json_decref(p->chains);
  p->chains = json_array();
  ChainList list = {p->program, p->chains};
  deadlock_chains(engine, p->program, question, MOST_CHAINS, take_wait, &list);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void pack_events(Page *p, uint64_t cycles, Pack *pack, json_t *top)
{
  turns_pack(p->turns, pack, top);
  if (p->spans)
    spans_pack(p->spans, cycles, pack, top);
  if (p->ways)
    ways_pack(p->ways, pack, top);
}

static void pack_counts(Page *p, uint64_t cycles, Pack *pack, json_t *top)
{
  if (p->counts)
    pyramid_last_sample(p->pyramid, p->counts, cycles);
  for (uint32_t t = 0; p->fills && t < p->program->n_tiles; t++)
    for (unsigned output = 0; output < 2; output++)
      hold_fill(p, t, output, cycles);
  pyramid_pack(p->pyramid, pack, top);
}

static json_t *describe_run(Page *p, const Profile *profile, Engine *engine, const PageTexts *texts,
                            Pack *pack)
{
  const Image *image = p->program->image;
  uint64_t cycles = engine->ops->cycle(engine);
  json_t *top = json_object();
  json_object_set_new(top, "version", json_integer(FORMAT_VERSION));
  json_object_set_new(top, "title", base_json_text(texts->title));
  if (texts->wafer)
    json_object_set_new(top, "wafer", base_json_text(texts->wafer));
  json_object_set_new(top, "width", json_integer(image->width));
  json_object_set_new(top, "height", json_integer(image->height));
  json_object_set_new(top, "cycles", json_integer((json_int_t)cycles));
  json_object_set_new(top, "statistics", json_loads(texts->statistics, 0, NULL));
  json_object_set_new(top, "honesty", base_json_text(texts->honesty));
  json_object_set_new(top, "message", base_json_text(texts->findings ? texts->findings : ""));
  json_object_set_new(top, "channels", describe_channels(p->counts != NULL));
  json_object_set_new(top, "classes", describe_classes(p->program));
  json_object_set_new(top, "sources", describe_sources(profile, texts->title));
  json_object_set_new(top, "findings", describe_findings(p->program, engine));
  json_object_set_new(top, "memory_bytes", json_integer(PE_MEM_BYTES));
  if (p->chains)
    json_object_set(top, "chains", p->chains);
  json_object_set_new(top, "routes", describe_routes(p->program, pack));
  json_object_set_new(top, "sampled", json_boolean(p->counts));
  pack_events(p, cycles, pack, top);
  pack_counts(p, cycles, pack, top);
  return top;
}

static void write_escaped(const char *text, FILE *out)
{
  for (; *text; text++) {
    switch (*text) {
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '&':
      fputs("&amp;", out);
      break;
    default:
      fputc(*text, out);
      break;
    }
  }
}

static void write_html(Pack *pack, json_t *top, const PageTexts *texts, FILE *out)
{
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        out);
  if (texts->wafer) {
    write_escaped(texts->wafer, out);
    fputs(": ", out);
  }
  write_escaped(texts->title, out);
  fputs("</title>\n<style>\n", out);
  fwrite(viewer_css, 1, viewer_css_bytes, out);
  fputs("</style></head><body>\n<div id=\"viewer\"><noscript>This page needs JavaScript."
        "</noscript></div>\n<script type=\"application/octet-stream\" id=\"data\">\n",
        out);
  pack_write(pack, top, true, out);
  fputs("\n</script>\n<script>\n", out);
  fwrite(viewer_js, 1, viewer_js_bytes, out);
  fputs("</script>\n<script>wseViewer.mountPage();</script>\n</body></html>\n", out);
}

void page_write(Page *p, const Profile *profile, Engine *engine, const PageTexts *texts, FILE *out)
{
  Pack *pack = pack_create(MOST_DATA_BYTES);
  json_t *top = describe_run(p, profile, engine, texts, pack);
  if (texts->data_only)
    pack_write(pack, top, false, out);
  else
    write_html(pack, top, texts, out);
  json_decref(top);
  pack_destroy(pack);
}
