/* Runs the program of layout.csl through libwse and checks its result.
 *
 *     axpy OUT        where OUT is what `cslc -o OUT` has written
 *
 * Exit code 0 if every number is right, else that of the failure. */
#include <wse.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every failure of the library comes with a message that shows a newcomer what to do. */
static void check(WseProgram *program, WseStatus status)
{
  if (status == WSE_OK)
    return;
  fputs(wse_error(program)->message, stderr);
  wse_close(program);
  exit(status);
}

static uint32_t symbol_id(WseProgram *program, const char *name)
{
  WseSymbol symbol;
  check(program, wse_symbol(program, name, &symbol));
  return symbol.id;
}

/* Transfers move 32-bit words of any meaning. */
static uint32_t word_of(float value)
{
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return word;
}

static float value_of(uint32_t word)
{
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static size_t count_wrong(const uint32_t *x, const uint32_t *y, size_t n, float a)
{
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++)
    wrong += value_of(y[i]) != a * value_of(x[i]) + 1;
  return wrong;
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fprintf(stderr, "usage: %s OUT\n", argv[0]);
    return WSE_USAGE;
  }
  WseProgram *program;
  WseOptions options = {.check = WSE_CHECK_ERROR};
  check(program, wse_open(argv[1], &options, &program));

  WseGeometry geometry;
  WseSymbol x;
  check(program, wse_geometry(program, &geometry));
  check(program, wse_symbol(program, "x", &x));

  /* All tiles, `extent` elements each; in the buffer the elements of a tile lie together. */
  WseTransfer to_x = {.target = x.id, .width = geometry.width, .height = geometry.height,
                      .elements = x.extent};
  WseTransfer to_y = to_x;
  to_y.target = symbol_id(program, "y");
  size_t n = wse_transfer_words(&to_x);
  uint32_t *x_words = malloc(n * sizeof *x_words), *y_words = malloc(n * sizeof *y_words);
  if (!x_words || !y_words)
    return WSE_USAGE;
  for (size_t i = 0; i < n; i++) {
    x_words[i] = word_of((float)i);
    y_words[i] = word_of(1);
  }

  /* With a task instead of NULL a call returns at once; operations stay in order. */
  const float a = 0.5f;
  uint32_t argument = word_of(a);
  WseTask copied, launched;
  check(program, wse_h2d(program, &to_x, x_words, &copied));
  check(program, wse_h2d(program, &to_y, y_words, NULL));
  check(program, wse_launch(program, symbol_id(program, "axpy"), &argument, 1, &launched));
  check(program, wse_wait(program, launched));
  check(program, wse_d2h(program, &to_y, y_words, NULL));
  check(program, wse_finish(program));

  size_t wrong = count_wrong(x_words, y_words, n, a);
  printf("%s, %" PRIu32 " x %" PRIu32 " tiles, %" PRIu64 " cycles: %zu numbers, %zu wrong\n",
         geometry.arch, geometry.width, geometry.height, wse_cycle(program), n, wrong);
  free(x_words);
  free(y_words);
  wse_close(program);
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
