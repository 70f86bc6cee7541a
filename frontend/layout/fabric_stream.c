/* 16-bit elements that stream between the host and the tiles.
 *
 * A stream has one element per wavelet, and operations of release 2 pack two unless their program
 * says something else.  A mode that the program gives is a decision: the host may pack pairs. */
#include "frontend/analysis/analysis.h"
#include "frontend/layout/layout_internal.h"

#include <stb_ds.h>

/* The streams of <memcpy>; those of a layout that a host script makes are 32-bit words. */
static uint32_t memcpy_streams(const Session *session, const FabricUses *uses)
{
  const LayoutResult *layout = session->layout;
  return layout->n_streams > 0 ? uses->streamed & ~(1u << layout->stream_color) : uses->streamed;
}

static bool packs_by_default(const FabricUse *use)
{
  return use->element_bytes == 2 && use->may_pack && use->is_beside_memory &&
         use->simd == SIMD_DEFAULT && use->length != 1;
}

void fabric_check_streams(Session *session, const Programs *programs)
{
  uint32_t told[2] = {0, 0};
  if (release_of(session) != SDK_2)
    return;
  for (size_t k = 0; k < arrlenu(programs->classes); k++) {
    const FabricUses *uses = programs->classes[k].fabric;
    uint32_t streams = memcpy_streams(session, uses);
    for (uint32_t i = 0; i < uses->n; i++) {
      const FabricUse *use = &uses->uses[i];
      uint32_t color = 1u << use->color;
      if (!(streams & color & ~told[use->is_send]) || !packs_by_default(use))
        continue;
      told[use->is_send] |= color;
      diag_stream_packed(session->diags, use->span, (unsigned)use->color,
                         use->is_send ? "to" : "from");
      diag_stream_packed_help(session->diags, use->span);
      release_note(session);
    }
  }
}
