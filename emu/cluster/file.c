/* Cluster files: docs/cluster.md has their schema. Every mistake is reported with its place. */
#include "emu/cluster/cluster_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>
#include <zlib.h>

enum { MOST_BYTES = 1 << 24 };

/* ---- what is wrong --------------------------------------------------------------------------- */

bool cluster_wrong(ClusterReader *r, const char *place, const char *format, ...)
{
  char text[512];
  va_list args;
  if (r->why)
    return false;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  r->why = arena_printf(r->arena, "%s%s%s", place, *place ? ": " : "", text);
  return false;
}

/* "; did you mean 'X'?", or "; expected one of X, Y". */
static const char *advice(Arena *arena, const char *given, const char *const *names, size_t n)
{
  enum { MOST_NAMES = 12 };
  const char *near = base_nearest(given, names, n);
  if (near)
    return arena_printf(arena, "; did you mean '%s'?", near);
  const char *list = "";
  for (size_t i = 0; i < n && i < MOST_NAMES; i++)
    list = arena_printf(arena, "%s%s%s", list, i ? ", " : "", names[i]);
  return arena_printf(arena, "; expected %s%s%s", n > 1 ? "one of " : "", list,
                      n > MOST_NAMES ? ", ..." : "");
}

const char *cluster_no_wafer(const ClusterPlan *plan, const char *name, Arena *arena)
{
  size_t n = arrlenu(plan->wafers);
  const char **names = arena_many(arena, const char *, n + 1);
  for (size_t i = 0; i < n; i++)
    names[i] = plan->wafers[i].name;
  return arena_printf(arena, "no wafer is called '%s'%s", name, advice(arena, name, names, n));
}

bool cluster_check_keys(ClusterReader *r, const json_t *value, const char *place,
                        const char *const *keys, size_t n_keys)
{
  const char *key;
  json_t *ignored;
  if (!json_is_object(value))
    return cluster_wrong(r, place, "an object {...} has to stand here");
  json_object_foreach((json_t *)(uintptr_t)value, key, ignored) {
    bool known = false;
    for (size_t i = 0; i < n_keys; i++)
      known |= strcmp(key, keys[i]) == 0;
    if (!known)
      return cluster_wrong(r, place, "unknown key '%s'%s", key,
                           advice(r->arena, key, keys, n_keys));
  }
  return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *inside(const ClusterReader *r, const char *place, const char *key)
{
  return arena_printf(r->arena, "%s%s%s", place, *place ? "." : "", key);
}

bool cluster_get_text(ClusterReader *r, const json_t *object, const char *place, const char *key,
                      const char **value)
{
  const json_t *found = json_object_get(object, key);
  if (!found)
    return cluster_wrong(r, place, "the key '%s' is missing", key);
  if (!json_is_string(found) || !json_string_length(found))
    return cluster_wrong(r, inside(r, place, key), "a text in quotes has to stand here");
  *value = arena_copy_text(r->arena, json_string_value(found), json_string_length(found));
  return true;
}

static bool take_number(ClusterReader *r, const json_t *found, const char *place, uint64_t least,
                        uint64_t most, uint64_t *value)
{
  if (!json_is_integer(found) || json_integer_value(found) < (json_int_t)least ||
      json_integer_value(found) > (json_int_t)most)
    return cluster_wrong(r, place, "an integer from %llu to %llu has to stand here",
                         (unsigned long long)least, (unsigned long long)most);
  *value = (uint64_t)json_integer_value(found);
  return true;
}

/* A number of an object by key.  False: it is missing or not from `least` to `most`. */
static bool get_number(ClusterReader *r, const json_t *object, const char *place, const char *key,
                       uint64_t least, uint64_t most, uint64_t *value)
{
  const json_t *found = json_object_get(object, key);
  if (!found)
    return cluster_wrong(r, place, "the key '%s' is missing", key);
  return take_number(r, found, inside(r, place, key), least, most, value);
}

/* ---- wafers ---------------------------------------------------------------------------------- */

int cluster_find(const ClusterPlan *plan, const char *name, size_t length)
{
  for (size_t i = 0; i < arrlenu(plan->wafers); i++)
    if (strlen(plan->wafers[i].name) == length &&
        memcmp(plan->wafers[i].name, name, length) == 0)
      return (int)i;
  return -1;
}

static bool check_name(ClusterReader *r, const char *place, const char *name)
{
  if (strpbrk(name, ":@=(),/ \t\n"))
    return cluster_wrong(r, place, "the name '%s' has one of the characters : @ = ( ) , / or a "
                         "space, which have a meaning in host actions and file names", name);
  if (cluster_find(r->plan, name, strlen(name)) >= 0)
    return cluster_wrong(r, place, "a second wafer is named '%s'; names must differ", name);
  return true;
}

/* Paths of images are relative to the file. */
static const char *image_path(const ClusterReader *r, const char *image)
{
  const char *slash = strrchr(r->path, '/');
  if (*image == '/' || !slash)
    return image;
  return arena_printf(r->arena, "%.*s%s", (int)(slash + 1 - r->path), r->path, image);
}

void cluster_add_wafer(ClusterReader *r, const char *name, const char *image)
{
  arrput(r->plan->wafers, ((ClusterWafer){name, image_path(r, image)}));
}

static bool read_wafer(ClusterReader *r, const json_t *value, const char *place)
{
  static const char *const keys[] = {"name", "image"};
  const char *name, *image;
  if (!cluster_check_keys(r, value, place, keys, ARRAY_COUNT(keys)) ||
      !cluster_get_text(r, value, place, "name", &name) ||
      !cluster_get_text(r, value, place, "image", &image) ||
      !check_name(r, inside(r, place, "name"), name))
    return false;
  cluster_add_wafer(r, name, image);
  return true;
}

/* ---- links ----------------------------------------------------------------------------------- */

static const char *const edge_names[] = {
  [PORT_NORTH] = "north", [PORT_SOUTH] = "south", [PORT_EAST] = "east", [PORT_WEST] = "west",
};

const char *cluster_edge_name(Port edge) { return edge_names[edge]; }

static bool get_edge(ClusterReader *r, const json_t *value, const char *place, Port *edge)
{
  const char *name;
  if (!cluster_get_text(r, value, place, "edge", &name))
    return false;
  for (unsigned i = 0; i < ARRAY_COUNT(edge_names); i++)
    if (strcmp(name, edge_names[i]) == 0) {
      *edge = (Port)i;
      return true;
    }
  return cluster_wrong(r, inside(r, place, "edge"), "no edge is called '%s'%s", name,
                       advice(r->arena, name, edge_names, ARRAY_COUNT(edge_names)));
}

static bool read_end(ClusterReader *r, const json_t *link, const char *at, const char *key,
                     ClusterEnd *end)
{
  static const char *const keys[] = {"wafer", "edge", "at"};
  const char *place = inside(r, at, key), *wafer;
  const json_t *value = json_object_get(link, key);
  uint64_t number;
  if (!value)
    return cluster_wrong(r, at, "the key '%s' is missing", key);
  if (!cluster_check_keys(r, value, place, keys, ARRAY_COUNT(keys)) ||
      !cluster_get_text(r, value, place, "wafer", &wafer) ||
      !get_edge(r, value, place, &end->edge) ||
      !get_number(r, value, place, "at", 0, UINT16_MAX, &number))
    return false;
  end->at = (uint32_t)number;
  int found = cluster_find(r->plan, wafer, strlen(wafer));
  if (found >= 0) {
    end->wafer = (unsigned)found;
    return true;
  }
  return cluster_wrong(r, inside(r, place, "wafer"), "%s",
                       cluster_no_wafer(r->plan, wafer, r->arena));
}

/* Enough that the credits of a link that is never held up suffice for its full rate. */
static uint64_t credits_of_rate(const ClusterLink *link)
{
  enum { MARGIN = 4 };
  return (2 * link->latency * link->rate_num + link->rate_den - 1) / link->rate_den + MARGIN;
}

static bool read_channel(ClusterReader *r, const json_t *value, const char *place,
                         ClusterLink *link)
{
  static const char *const keys[] = {"colors", "direction", "credits"};
  if (!cluster_check_keys(r, value, place, keys, ARRAY_COUNT(keys)))
    return false;
  const json_t *colors = json_object_get(value, "colors");
  ClusterChannel channel = {.credits = (uint32_t)credits_of_rate(link)};
  const char *direction = "forward";
  uint64_t number;
  if (!json_is_array(colors) || json_array_size(colors) != 2)
    return cluster_wrong(r, inside(r, place, "colors"), "two colors have to stand here, [at the "
                         "first end, at the second end]");
  for (unsigned i = 0; i < 2; i++) {
    if (!take_number(r, json_array_get(colors, i), inside(r, place, "colors"), 0, MAX_COLORS - 1,
                     &number))
      return false;
    channel.colors[i] = (uint8_t)number;
  }
  if (json_object_get(value, "direction") &&
      !cluster_get_text(r, value, place, "direction", &direction))
    return false;
  if (strcmp(direction, "forward") != 0 && strcmp(direction, "backward") != 0)
    return cluster_wrong(r, inside(r, place, "direction"),
                         "'%s' is no direction; expected forward (first end to second) or backward",
                         direction);
  channel.from = strcmp(direction, "backward") == 0;
  if (json_object_get(value, "credits")) {
    if (!get_number(r, value, place, "credits", 1, MOST_CREDITS, &number))
      return false;
    channel.credits = (uint32_t)number;
  }
  arrput(link->channels, channel);
  return true;
}

static bool get_rate(ClusterReader *r, const json_t *object, const char *place, ClusterLink *link)
{
  const json_t *rate = json_object_get(object, "words_per_cycle");
  link->rate_num = link->rate_den = 1;
  if (!rate)
    return true;
  double value = json_is_number(rate) ? json_number_value(rate) : 0;
  if (!(value >= 1.0 / RATE_UNITS && value <= 1))
    return cluster_wrong(r, inside(r, place, "words_per_cycle"),
                         "a number from 0.001 to 1 has to stand here; more words per cycle need "
                         "more links");
  if (value < 1) {
    link->rate_num = (uint32_t)(value * RATE_UNITS + 0.5);
    link->rate_den = RATE_UNITS;
  }
  return true;
}

bool cluster_get_wire(ClusterReader *r, const json_t *object, const char *place,
                      const char *channels_key, ClusterLink *link)
{
  const json_t *channels = json_object_get(object, channels_key);
  if (!get_number(r, object, place, "latency", 1, MOST_LATENCY, &link->latency) ||
      !get_rate(r, object, place, link))
    return false;
  const char *list = inside(r, place, channels_key);
  if (!json_is_array(channels) || json_array_size(channels) == 0)
    return cluster_wrong(r, list, "a list of at least one channel has to stand here, "
                         "[{\"colors\": [4, 5]}, ...]");
  for (size_t i = 0; i < json_array_size(channels); i++)
    if (!read_channel(r, json_array_get(channels, i), arena_printf(r->arena, "%s[%zu]", list, i),
                      link))
      return false;
  return true;
}

static bool read_link(ClusterReader *r, const json_t *value, const char *place)
{
  static const char *const keys[] = {"name", "from", "to", "latency", "words_per_cycle",
                                     "channels"};
  ClusterLink link = {.name = arena_printf(r->arena, "link%zu", arrlenu(r->plan->links))};
  bool ok = cluster_check_keys(r, value, place, keys, ARRAY_COUNT(keys)) &&
            (!json_object_get(value, "name") ||
             cluster_get_text(r, value, place, "name", &link.name)) &&
            read_end(r, value, place, "from", &link.ends[0]) &&
            read_end(r, value, place, "to", &link.ends[1]) &&
            cluster_get_wire(r, value, place, "channels", &link);
  arrput(r->plan->links, link);
  return ok;
}

/* ---- checks over all links ------------------------------------------------------------------- */

static bool same_gate(const ClusterEnd *a, const ClusterEnd *b)
{
  return a->wafer == b->wafer && a->edge == b->edge && a->at == b->at;
}

/* An end of a link, and its name. */
typedef struct { ClusterEnd end; size_t link; } GateUse;
typedef struct { const char *name; size_t link; } LinkName;

static int compare_numbers(size_t a, size_t b) { return a < b ? -1 : a > b; }

static int compare_gates(const void *a, const void *b)
{
  const GateUse *x = a, *y = b;
  int order = compare_numbers(x->end.wafer, y->end.wafer);
  order = order ? order : compare_numbers(x->end.edge, y->end.edge);
  order = order ? order : compare_numbers(x->end.at, y->end.at);
  return order ? order : compare_numbers(x->link, y->link);
}

static int compare_names(const void *a, const void *b)
{
  const LinkName *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : compare_numbers(x->link, y->link);
}

static bool gates_differ(ClusterReader *r, GateUse *uses, size_t n)
{
  qsort(uses, n, sizeof *uses, compare_gates);
  for (size_t i = 1; i < n; i++) {
    const GateUse *a = &uses[i - 1], *b = &uses[i];
    if (same_gate(&a->end, &b->end))
      return cluster_wrong(r, "", "the links '%s' and '%s' both end at the %s edge of wafer '%s' "
                           "at %u; one link with more channels joins two places",
                           r->plan->links[a->link].name, r->plan->links[b->link].name,
                           edge_names[b->end.edge], r->plan->wafers[b->end.wafer].name, b->end.at);
  }
  return true;
}

static bool names_differ(ClusterReader *r, LinkName *uses, size_t n)
{
  qsort(uses, n, sizeof *uses, compare_names);
  for (size_t i = 1; i < n; i++)
    if (strcmp(uses[i - 1].name, uses[i].name) == 0)
      return cluster_wrong(r, "", "two links are named '%s'; names must differ", uses[i].name);
  return true;
}

static bool link_makes_sense(ClusterReader *r, const ClusterLink *link)
{
  if (same_gate(&link->ends[0], &link->ends[1]))
    return cluster_wrong(r, "", "the link '%s' begins and ends at the same place", link->name);
  for (size_t i = 0; i < arrlenu(link->channels); i++)
    for (size_t k = 0; k < i; k++) {
      const ClusterChannel *a = &link->channels[k], *b = &link->channels[i];
      unsigned end = a->colors[0] == b->colors[0] ? 0 : 1;
      if (a->from == b->from && a->colors[end] == b->colors[end])
        return cluster_wrong(r, "", "the link '%s' has two channels of one direction with color %u "
                             "at its %s end; each channel needs its own", link->name,
                             a->colors[end], end ? "second" : "first");
    }
  return true;
}

static bool check_links(ClusterReader *r)
{
  size_t n = arrlenu(r->plan->links);
  GateUse *gates = arena_many(r->arena, GateUse, 2 * n + 1);
  LinkName *names = arena_many(r->arena, LinkName, n + 1);
  for (size_t i = 0; i < n; i++) {
    const ClusterLink *link = &r->plan->links[i];
    if (!link_makes_sense(r, link))
      return false;
    gates[2 * i] = (GateUse){link->ends[0], i};
    gates[2 * i + 1] = (GateUse){link->ends[1], i};
    names[i] = (LinkName){link->name, i};
  }
  return gates_differ(r, gates, 2 * n) && names_differ(r, names, n);
}

/* ---- the file -------------------------------------------------------------------------------- */

typedef bool ReadOne(ClusterReader *r, const json_t *value, const char *place);

static bool read_list(ClusterReader *r, const json_t *top, const char *key, size_t most,
                      ReadOne *read_one)
{
  const json_t *list = json_object_get(top, key);
  if (!list)
    return true;
  if (!json_is_array(list) || json_array_size(list) > most)
    return cluster_wrong(r, key, "a list [...] of at most %zu has to stand here", most);
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!read_one(r, json_array_get(list, i), arena_printf(r->arena, "%s[%zu]", key, i)))
      return false;
  return true;
}

static bool read_top(ClusterReader *r, const json_t *top)
{
  static const char *const keys[] = {"wafers", "links", "topology"};
  if (!cluster_check_keys(r, top, "", keys, ARRAY_COUNT(keys)))
    return false;
  const json_t *topology = json_object_get(top, "topology");
  if (!topology && !json_object_get(top, "wafers"))
    return cluster_wrong(r, "", "the keys 'wafers' and 'topology' are both missing; one of them "
                         "says what the cluster consists of");
  if ((topology && !cluster_read_topology(r, topology)) ||
      !read_list(r, top, "wafers", MOST_WAFERS, read_wafer) ||
      !read_list(r, top, "links", MOST_LINKS, read_link))
    return false;
  if (arrlenu(r->plan->wafers) == 0)
    return cluster_wrong(r, "wafers", "at least one wafer has to stand here");
  return check_links(r);
}

bool cluster_read(const char *path, Arena *arena, ClusterPlan *plan, const char **why)
{
  ClusterReader r = {.arena = arena, .path = path, .plan = plan};
  size_t length;
  *plan = (ClusterPlan){0};
  *why = "";
  char *text = file_read_text(path, MOST_BYTES, &length, why);
  if (!text)
    return false;
  json_error_t error;
  json_t *top = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (!top)
    cluster_wrong(&r, "", "line %d, column %d: %s", error.line, error.column, error.text);
  bool ok = top && read_top(&r, top);
  json_decref(top);
  free(text);
  *why = r.why;
  return ok;
}

static void put_text(const char *text, unsigned char **bytes)
{
  state_put(bytes, text, strlen(text) + 1);
}

static void put_link(const ClusterLink *link, unsigned char **bytes)
{
  uint64_t numbers[] = {
    link->ends[0].wafer, link->ends[0].edge, link->ends[0].at, link->ends[1].wafer,
    link->ends[1].edge, link->ends[1].at, link->latency, link->rate_num, link->rate_den,
    arrlenu(link->channels),
  };
  put_text(link->name, bytes);
  state_put(bytes, numbers, sizeof numbers);
  for (size_t i = 0; i < arrlenu(link->channels); i++) {
    const ClusterChannel *channel = &link->channels[i];
    uint64_t of_channel[] = {channel->colors[0], channel->colors[1], channel->from,
                             channel->credits};
    state_put(bytes, of_channel, sizeof of_channel);
  }
}

uint32_t cluster_plan_mark(const ClusterPlan *plan)
{
  unsigned char *bytes = NULL;
  for (size_t i = 0; i < arrlenu(plan->wafers); i++)
    put_text(plan->wafers[i].name, &bytes);
  for (size_t i = 0; i < arrlenu(plan->links); i++)
    put_link(&plan->links[i], &bytes);
  uint32_t mark = (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, arrlenu(bytes));
  arrfree(bytes);
  return mark;
}

void cluster_plan_free(ClusterPlan *plan)
{
  for (size_t i = 0; i < arrlenu(plan->links); i++)
    arrfree(plan->links[i].channels);
  arrfree(plan->links);
  arrfree(plan->wafers);
}
