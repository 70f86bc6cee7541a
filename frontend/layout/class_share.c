/* Classes with equal code are one class.
 *
 * Most are found before anything is compiled: their IR has the same digest.  Different IR may still
 * become the same code, which shows when every class has its own. */
#include "frontend/layout/layout_internal.h"

#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* ---- before code generation ---------------------------------------------------------------- */

typedef struct { IrDigest key; uint32_t value; } ClassOfDigest;
struct ClassTwins { ClassOfDigest *by_digest; };   /* stb_ds */

ClassTwins *class_twins_create(Arena *arena)
{
  return arena_new(arena, ClassTwins);
}

void class_twins_destroy(ClassTwins *twins)
{
  hmfree(twins->by_digest);
}

static bool has_same_colors(const ProgramClass *a, const ProgramClass *b)
{
  return a->routed == b->routed && a->n_local_colors == b->n_local_colors &&
         memcmp(a->local_colors, b->local_colors, sizeof a->local_colors) == 0;
}

uint32_t class_twin_find(ClassTwins *twins, const Programs *programs, const ProgramClass *class,
                         IrDigest digest)
{
  ptrdiff_t at = hmgeti(twins->by_digest, digest);
  uint32_t known = at >= 0 ? twins->by_digest[at].value : IMAGE_NO_CLASS;
  return at >= 0 && has_same_colors(&programs->classes[known], class) ? known : IMAGE_NO_CLASS;
}

void class_twin_add(ClassTwins *twins, IrDigest digest, uint32_t class)
{
  hmput(twins->by_digest, digest, class);
}

/* ---- after code generation ----------------------------------------------------------------- */

/* Two classes with the same content are one.  The content is an image with just that class, as
 * bytes, and the colors it configures itself. */
static StrId content_of(Session *session, StrTable *contents, const ProgramClass *class)
{
  uint32_t tile_class = 0, tile_colors = 0;
  uint64_t blob_at = 0;
  static const uint8_t no_bytes[1];
  ImageColorSet no_colors = {0};
  uint32_t blob = class->code.image.tile_blob_bytes;
  uint8_t *zeros = base_zeroed(blob, 1);
  Image image = {
    .arch = session->options->arch, .fp16 = session->options->fp16, .width = 1, .height = 1,
    .fabric_width = 1, .fabric_height = 1, .channels = 1, .sdk = SDK_1_4,
    .n_classes = 1, .classes = &class->code.image, .tile_class = &tile_class,
    .tile_colors = &tile_colors, .tile_blob_at = &blob_at, .tile_blob_bytes = blob,
    .tile_blobs = blob ? zeros : no_bytes, .n_color_sets = 1, .color_sets = &no_colors,
  };
  size_t length, colors = class->n_local_colors * sizeof *class->local_colors;
  size_t all = colors + sizeof class->routed;
  uint8_t *bytes = image_write(&image, &length);
  bytes = base_realloc(bytes, length + all);
  memcpy(bytes + length, class->local_colors, colors);
  memcpy(bytes + length + colors, &class->routed, sizeof class->routed);
  StrId id = str_intern(contents, (const char *)bytes, length + all);
  free(bytes);
  free(zeros);
  return id;
}

static uint64_t add_to_summary(uint64_t sum, uint16_t word)
{
  enum { FACTOR = 0x01000193 };            /* of the hash of Fowler, Noll and Vo */
  return (sum ^ word) * FACTOR;
}

/* Classes with the same content have the same summary: the whole content of a class, which takes
 * far longer to make, is needed only where a summary comes twice. */
static uint64_t summary_of(const ProgramClass *class)
{
  const ImageClass *image = &class->code.image;
  uint64_t sum = image->n_segments;
  for (uint32_t i = 0; i < image->code_words; i++)
    sum = add_to_summary(sum, image->code[i]);
  for (uint32_t i = 0; i < MAX_COLORS; i++)
    sum = add_to_summary(sum, image->data_queue[i]);
  for (uint32_t i = 0; i < image->n_dsrs; i++)
    for (uint32_t w = 0; w < ARRAY_COUNT(image->dsrs[i].words); w++)
      sum = add_to_summary(sum, image->dsrs[i].words[w]);
  return sum;
}

typedef struct { uint64_t key; uint32_t value; } CountBySummary;   /* of an stb_ds map */

static CountBySummary *count_summaries(const Programs *p)
{
  CountBySummary *counts = NULL;
  for (size_t i = 0; i < arrlenu(p->classes); i++) {
    uint64_t key = summary_of(&p->classes[i]);
    ptrdiff_t at = hmgeti(counts, key);
    hmput(counts, key, at < 0 ? 1 : counts[at].value + 1);
  }
  return counts;
}

uint32_t *classes_share(Session *session, Programs *p)
{
  StrTable *contents = strtable_create();
  uint32_t n = (uint32_t)arrlenu(p->classes), kept = 0;
  uint32_t *renamed = base_zeroed(n + 1, sizeof *renamed);
  struct { uint32_t key; uint32_t value; } *map = NULL;
  CountBySummary *counts = count_summaries(p);
  for (uint32_t i = 0; i < n; i++) {
    if (hmget(counts, summary_of(&p->classes[i])) > 1) {
      uint32_t id = content_of(session, contents, &p->classes[i]).raw;
      ptrdiff_t at = hmgeti(map, id);
      if (at >= 0) {
        renamed[i] = map[at].value;
        class_constants_join(&p->classes[renamed[i]], &p->classes[i]);
        continue;
      }
      hmput(map, id, kept);
    }
    p->classes[kept] = p->classes[i];
    renamed[i] = kept++;
  }
  hmfree(counts);
  arrsetlen(p->classes, kept);
  hmfree(map);
  strtable_destroy(contents);
  return renamed;
}
