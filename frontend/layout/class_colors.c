/* Colors that the programs of tiles configure themselves. */
#include "frontend/layout/layout_internal.h"

#include <string.h>

/* False after reporting that the program asks for a filter that the tile has not. */
static bool has_its_filters(Session *session, const ProgramClass *class, uint32_t tile)
{
  const LayoutResult *l = session->layout;
  for (uint8_t c = 0; c < MAX_COLORS; c++) {
    if (class->filter_spans[c].off == 0 ||
        color_set_has_filter(l->colors, l->tile_sets[tile], c))
      continue;
    diag_no_filter(session->diags, class->filter_spans[c], (unsigned)c, tile % l->width,
                   tile / l->width);
    return false;
  }
  return true;
}

/* Colors that the program gives routes while it runs have none before. */
static void add_routed_colors(LayoutResult *l, uint32_t routed, uint32_t *set)
{
  ImageColorConfig config;
  memset(&config, 0, sizeof config);   /* configurations are compared as bytes */
  config.positions[0].valid = true;
  for (uint8_t c = 0; routed >> c; c++) {
    Span first;
    if (routed >> c & 1)
      color_set_add(l->colors, *set, c, color_config_intern(l->colors, &config), (Span){0, 0}, set,
                    &first);
  }
}

bool class_colors_add(Session *session, const Programs *programs)
{
  LayoutResult *l = session->layout;
  bool ok = true;
  for (uint32_t t = 0; ok && t < l->width * l->height; t++) {
    if (programs->tile_class[t] == IMAGE_NO_CLASS)
      continue;
    const ProgramClass *class = &programs->classes[programs->tile_class[t]];
    for (uint32_t i = 0; i < class->n_local_colors; i++) {
      Span first;
      ImageColorUse use = class->local_colors[i];
      if (color_set_add(l->colors, l->tile_sets[t], use.color, use.config, class->local_spans[i],
                        &l->tile_sets[t], &first)) {
        ok &= color_set_fits(session, l->colors, l->tile_sets[t], use.config, t % l->width,
                             t / l->width, class->local_spans[i]);
        continue;
      }
      diag_color_config_twice(session->diags, class->local_spans[i], (unsigned)use.color,
                              t % l->width, t / l->width);
      diag_first_here(session->diags, first);
      ok = false;
    }
    add_routed_colors(l, class->routed, &l->tile_sets[t]);
    ok = ok && has_its_filters(session, class, t);
  }
  return ok;
}
