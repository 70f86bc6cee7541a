/* Fuzz target of the image reader. */
#include "tests/image_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted must also be usable: everything is looked at once, and written again. */
static void use(const Image *image)
{
  char *text = NULL;
  size_t length, written;
  FILE *out = open_memstream(&text, &length);
  image_print(image, out);
  fclose(out);
  free(text);
  for (uint32_t i = 0; i < image->n_classes; i++)
    for (uint32_t pc = 0; pc <= 0xffff; pc += 2)
      image_line_at(&image->classes[i], (uint16_t)pc);
  uint8_t *file = image_write(image, &written);
  Arena *arena = arena_create("fuzz");
  const char *reason;
  if (!image_read(file, written, arena, &reason))
    ICE("an accepted image, written again, is refused: %s", reason);
  arena_destroy(arena);
  free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Arena *arena = arena_create("fuzz");
  const char *reason = NULL;
  Image *image = image_read(data, size, arena, &reason);
  if (!image && !reason)
    ICE("an image was refused without a reason");
  if (image)
    use(image);
  arena_destroy(arena);
  return 0;
}
