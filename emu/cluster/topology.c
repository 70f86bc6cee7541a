/* Topologies of cluster files: lines, rings, meshes and tori of wafers with links in given rows and
 * columns of tiles. */
#include "emu/cluster/cluster_internal.h"

#include <string.h>

#include <stb_ds.h>

typedef struct {
  ClusterReader *reader;
  const json_t *value;
  uint32_t width, height;       /* in wafers */
  bool wraps;
} Topology;

static const char here[] = "topology";

static bool get_size(Topology *t, bool is_flat)
{
  const json_t *size = json_object_get(t->value, "size");
  uint32_t *into[] = {&t->width, &t->height};
  t->width = t->height = 1;
  if (!is_flat && json_is_integer(size) && json_integer_value(size) >= 2 &&
      json_integer_value(size) <= MOST_WAFERS) {
    t->width = (uint32_t)json_integer_value(size);
    return true;
  }
  bool ok = is_flat && json_is_array(size) && json_array_size(size) == 2;
  for (unsigned i = 0; ok && i < 2; i++) {
    const json_t *one = json_array_get(size, i);
    ok = json_is_integer(one) && json_integer_value(one) >= 1 &&
         json_integer_value(one) <= MOST_WAFERS;
    *into[i] = ok ? (uint32_t)json_integer_value(one) : 1;
  }
  if (ok && (uint64_t)t->width * t->height <= MOST_WAFERS)
    return true;
  return cluster_wrong(t->reader, "topology.size", is_flat
                       ? "[wafers in a row, rows] has to stand here, at most %d wafers in all"
                       : "a number of wafers from 2 to %d has to stand here", MOST_WAFERS);
}

/* "w3" in a line or ring, "w1.2" (column, row) in a mesh. */
static bool add_wafers(Topology *t, bool is_flat)
{
  const char *image;
  if (!cluster_get_text(t->reader, t->value, here, "image", &image))
    return false;
  for (uint32_t y = 0; y < t->height; y++)
    for (uint32_t x = 0; x < t->width; x++) {
      const char *name = is_flat ? arena_printf(t->reader->arena, "w%u.%u", x, y)
                                 : arena_printf(t->reader->arena, "w%u", x);
      cluster_add_wafer(t->reader, name, image);
    }
  return true;
}

/* A link from the wafer to the next one in its row or column, at each of the given places. */
static bool add_links(Topology *t, uint32_t x, uint32_t y, bool down, const json_t *places)
{
  static const Port edges[2][2] = {{PORT_EAST, PORT_WEST}, {PORT_SOUTH, PORT_NORTH}};
  ClusterReader *r = t->reader;
  uint32_t to_x = down ? x : (x + 1) % t->width, to_y = down ? (y + 1) % t->height : y;
  unsigned from = y * t->width + x, to = to_y * t->width + to_x;
  const char *channels = down && json_object_get(t->value, "column_channels") ? "column_channels"
                                                                              : "channels";
  for (size_t i = 0; i < json_array_size(places); i++) {
    uint32_t at = (uint32_t)json_integer_value(json_array_get(places, i));
    ClusterLink link = {.ends = {{from, edges[down][0], at}, {to, edges[down][1], at}},
                        .name = arena_printf(r->arena, "%s-%s@%u", r->plan->wafers[from].name,
                                             r->plan->wafers[to].name, at)};
    bool ok = cluster_get_wire(r, t->value, here, channels, &link);
    arrput(r->plan->links, link);
    if (!ok)
      return false;
    if (arrlenu(r->plan->links) > MOST_LINKS)
      return cluster_wrong(r, here, "there are more than %d links", MOST_LINKS);
  }
  return true;
}

static bool check_places(Topology *t, const char *key)
{
  const json_t *places = json_object_get(t->value, key);
  const char *place = arena_printf(t->reader->arena, "topology.%s", key);
  bool ok = json_is_array(places) && json_array_size(places);
  for (size_t i = 0; ok && i < json_array_size(places); i++) {
    const json_t *one = json_array_get(places, i);
    ok = json_is_integer(one) && json_integer_value(one) >= 0 &&
         json_integer_value(one) <= UINT16_MAX;
  }
  return ok || cluster_wrong(t->reader, place, "a list of the %s of tiles that have a link has to "
                             "stand here, such as [0]", key);
}

static bool add_direction(Topology *t, bool down)
{
  const char *key = down ? "columns" : "rows";
  uint32_t length = down ? t->height : t->width;
  if (length < 2)
    return true;
  if (!check_places(t, key))
    return false;
  /* Two wafers in a ring have two links: one each way round. */
  for (uint32_t y = 0; y < t->height; y++)
    for (uint32_t x = 0; x < t->width; x++)
      if (((down ? y : x) + 1 < length || t->wraps) &&
          !add_links(t, x, y, down, json_object_get(t->value, key)))
        return false;
  return true;
}

bool cluster_read_topology(ClusterReader *r, const json_t *value)
{
  static const char *const keys[] = {"kind", "size", "image", "rows", "columns", "latency",
                                     "words_per_cycle", "channels", "column_channels"};
  static const char *const kinds[] = {"line", "ring", "mesh", "torus"};
  Topology t = {.reader = r, .value = value};
  const char *kind;
  if (!cluster_check_keys(r, value, here, keys, ARRAY_COUNT(keys)) ||
      !cluster_get_text(r, value, here, "kind", &kind))
    return false;
  unsigned found = 0;
  while (found < ARRAY_COUNT(kinds) && strcmp(kind, kinds[found]) != 0)
    found++;
  if (found == ARRAY_COUNT(kinds))
    return cluster_wrong(r, "topology.kind", "no topology is called '%s'; expected line, ring, "
                         "mesh or torus", kind);
  bool is_flat = found >= 2;
  t.wraps = found & 1;
  return get_size(&t, is_flat) && add_wafers(&t, is_flat) && add_direction(&t, false) &&
         add_direction(&t, true);
}
