/* A run as one self-contained page of HTML: statistics, where the tiles were busy, what they waited
 * for, the profile, and the report of the findings. */
#include "emu/observe/observe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  TIME_BUCKETS = 256,           /* of the time line; their width doubles as the run goes on */
  MAP_CELLS = 96,               /* most in a row or column of a map: then cells are blocks */
  MAP_PIXELS = 480, TIME_HEIGHT = 120, ROWS_SHOWN = 200,
  HUE_RANGE = 200,              /* from blue, little, to red, much */
};

typedef struct { uint64_t issues, moves, waits; } TileCount;

struct Page {
  const Program *program;
  TileCount *tiles;
  uint64_t bucket_cycles, issues[TIME_BUCKETS], moves[TIME_BUCKETS], last;
};

Page *page_create(const Program *program)
{
  Page *p = base_malloc(sizeof *p);
  *p = (Page){.program = program, .bucket_cycles = 1};
  p->tiles = base_zeroed(program->n_tiles, sizeof *p->tiles);
  return p;
}

void page_destroy(Page *p)
{
  if (!p)
    return;
  free(p->tiles);
  free(p);
}

static void halve_buckets(uint64_t buckets[TIME_BUCKETS])
{
  for (unsigned i = 0; i < TIME_BUCKETS; i++)
    buckets[i] = 2 * i + 1 < TIME_BUCKETS ? buckets[2 * i] + buckets[2 * i + 1] : 0;
}

static unsigned bucket_of(Page *p, uint64_t cycle)
{
  while (cycle / p->bucket_cycles >= TIME_BUCKETS) {
    halve_buckets(p->issues);
    halve_buckets(p->moves);
    p->bucket_cycles *= 2;
  }
  return (unsigned)(cycle / p->bucket_cycles);
}

void page_event(Page *p, const TraceEvent *e)
{
  TileCount *tile = &p->tiles[e->tile];
  p->last = e->cycle;
  if (e->kind == EV_INST || e->kind == EV_GROUP) {
    tile->issues++;
    p->issues[bucket_of(p, e->cycle)]++;
  } else if (e->kind == EV_WAVELET) {
    tile->moves++;
    p->moves[bucket_of(p, e->cycle)]++;
  } else if (e->kind == EV_STALL) {
    tile->waits += e->payload;
  }
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_escaped(const char *text, FILE *out)
{
  for (; *text; text++) {
    switch (*text) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(*text, out); break;
    }
  }
}

static void write_text(const char *heading, const char *text, FILE *out)
{
  fprintf(out, "<h2>%s</h2>\n<pre>", heading);
  put_escaped(text, out);
  fputs("</pre>\n", out);
}

/* ---- maps ------------------------------------------------------------------------------------ */

typedef enum { MAP_ISSUES, MAP_MOVES, MAP_WAITS, MAP_COUNT } MapKind;

static uint64_t value_of(const TileCount *tile, MapKind kind)
{
  switch (kind) {
  case MAP_ISSUES: return tile->issues;
  case MAP_MOVES: return tile->moves;
  case MAP_WAITS: case MAP_COUNT: default: return tile->waits;
  }
}

/* Mean of a block of tiles whose north-west tile is (x, y). */
static double block_mean(const Page *p, MapKind kind, uint32_t x, uint32_t y, uint32_t side)
{
  const Image *image = p->program->image;
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t j = y; j < y + side && j < image->height; j++)
    for (uint32_t i = x; i < x + side && i < image->width; i++, n++)
      sum += (double)value_of(&p->tiles[program_tile(p->program, i, j)], kind);
  return n ? sum / n : 0;
}

static void write_cell(const Page *p, MapKind kind, uint32_t x, uint32_t y, uint32_t side,
                       double most, FILE *out)
{
  double mean = block_mean(p, kind, x, y, side), part = most > 0 ? mean / most : 0;
  fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"1\" height=\"1\" fill=\"hsl(%d 80%% %d%%)\">"
               "<title>P%u.%u: %.1f</title></rect>\n", x / side, y / side,
          (int)(HUE_RANGE * (1 - part)), mean > 0 ? 50 : 92, x, y, mean);
}

static void write_map(const Page *p, MapKind kind, const char *heading, FILE *out)
{
  const Image *image = p->program->image;
  uint32_t larger = image->width > image->height ? image->width : image->height;
  uint32_t side = (larger + MAP_CELLS - 1) / MAP_CELLS;
  uint32_t columns = (image->width + side - 1) / side, rows = (image->height + side - 1) / side;
  double most = 0;
  for (uint32_t y = 0; y < image->height; y += side)
    for (uint32_t x = 0; x < image->width; x += side) {
      double mean = block_mean(p, kind, x, y, side);
      most = mean > most ? mean : most;
    }
  uint32_t longer = columns > rows ? columns : rows;
  fprintf(out, "<figure><figcaption>%s, at most %.1f%s</figcaption>\n<svg width=\"%u\" "
               "height=\"%u\" viewBox=\"0 0 %u %u\" shape-rendering=\"crispEdges\">\n",
          heading, most, side > 1 ? " (mean of a block of tiles)" : "",
          (unsigned)(MAP_PIXELS * columns / longer),
          (unsigned)(MAP_PIXELS * rows / longer < 8 ? 8 : MAP_PIXELS * rows / longer), columns,
          rows);
  for (uint32_t y = 0; y < image->height; y += side)
    for (uint32_t x = 0; x < image->width; x += side)
      write_cell(p, kind, x, y, side, most, out);
  fputs("</svg></figure>\n", out);
}

/* ---- time line and profile ------------------------------------------------------------------- */

static void write_line(const uint64_t values[TIME_BUCKETS], unsigned n, uint64_t most,
                       const char *color, FILE *out)
{
  fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", color);
  for (unsigned i = 0; i < n; i++)
    fprintf(out, "%u,%.1f ", i * 4,
            TIME_HEIGHT * (1 - (most ? (double)values[i] / (double)most : 0)));
  fputs("\"/>\n", out);
}

static void write_time(Page *p, FILE *out)
{
  uint64_t most = 0;
  unsigned n = bucket_of(p, p->last) + 1;
  for (unsigned i = 0; i < n; i++) {
    most = p->issues[i] > most ? p->issues[i] : most;
    most = p->moves[i] > most ? p->moves[i] : most;
  }
  fprintf(out, "<h2>Over time</h2>\n<p>Instructions and groups of all tiles (blue), wavelets moved "
               "by all routers (orange), in steps of %" PRIu64 " cycles to cycle %" PRIu64
               "; at most %" PRIu64 ".</p>\n",
          p->bucket_cycles, p->last, most);
  fprintf(out, "<svg width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n", n * 4, TIME_HEIGHT,
          n * 4, TIME_HEIGHT);
  write_line(p->issues, n, most, "#1f77b4", out);
  write_line(p->moves, n, most, "#ff7f0e", out);
  fputs("</svg>\n", out);
}

static void write_row(const ProfileRow *row, uint64_t all, FILE *out)
{
  fprintf(out, "<tr><td class=\"t\">");
  put_escaped(*row->file ? row->file : "(no source)", out);
  fprintf(out, ":%u</td><td>%" PRIu64 "</td><td>%.1f%%</td><td>%" PRIu64 "</td><td>%" PRIu64
               "</td><td>%" PRIu64 "</td>", row->line, row->cycles,
          all ? 100.0 * (double)row->cycles / (double)all : 0, row->instructions, row->groups,
          row->elements);
  for (unsigned k = STALL_NONE + 1; k < STALL_COUNT; k++)
    fprintf(out, "<td>%" PRIu64 "</td>", row->stalls[k]);
  fprintf(out, "<td>%" PRIu64 "</td></tr>\n", row->start);
}

static void write_profile(const Profile *profile, FILE *out)
{
  size_t n;
  uint64_t all = 0;
  const ProfileRow *rows = profile_rows(profile, &n);
  for (size_t i = 0; i < n; i++)
    all += rows[i].cycles;
  fputs("<h2>Cycles by source line</h2>\n<table><tr><th class=\"t\">line</th><th>cycles</th>"
        "<th>share</th><th>instructions</th><th>groups</th><th>elements</th>", out);
  for (unsigned k = STALL_NONE + 1; k < STALL_COUNT; k++)
    fprintf(out, "<th>waits: %s</th>", stall_name((StallCause)k));
  fputs("<th>start</th></tr>\n", out);
  for (size_t i = 0; i < n && i < ROWS_SHOWN; i++)
    write_row(&rows[i], all, out);
  fputs("</table>\n", out);
  if (n > ROWS_SHOWN)
    fprintf(out, "<p>%zu more lines.</p>\n", n - ROWS_SHOWN);
}

void page_write(Page *p, const Profile *profile, const PageTexts *texts, FILE *out)
{
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
  put_escaped(texts->title, out);
  fputs("</title>\n<style>body{font:14px sans-serif;margin:2em;max-width:75em}"
        "table{border-collapse:collapse}td,th{padding:1px 8px;text-align:right;"
        "border-bottom:1px solid #ddd}.t{text-align:left}pre{background:#f6f6f6;padding:8px;"
        "overflow:auto}figure{display:inline-block;margin:0 2em 1em 0}</style></head><body>\n<h1>",
        out);
  put_escaped(texts->title, out);
  fprintf(out, "</h1>\n<p>%u x %u tiles.</p>\n", p->program->image->width,
          p->program->image->height);
  if (texts->findings && *texts->findings)
    write_text("Findings", texts->findings, out);
  fputs("<h2>Where</h2>\n", out);
  write_map(p, MAP_ISSUES, "instructions and groups", out);
  write_map(p, MAP_MOVES, "wavelets moved", out);
  write_map(p, MAP_WAITS, "cycles that vector operations waited", out);
  write_time(p, out);
  write_profile(profile, out);
  write_text("Statistics", texts->statistics, out);
  write_text("What a cycle stands for", texts->honesty, out);
  fputs("</body></html>\n", out);
}
