/* Array files of numpy, format 1.0 to 3.0: only what transfers need. A file is untrusted data: the
 * reader checks every length against the file before it uses it. */
#include "emu/host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAGIC_BYTES = 6, VERSION_AT = 6, LENGTH_AT = 8, LENGTH_BYTES_V1 = 2, LENGTH_BYTES_V2 = 4,
  ALIGNMENT = 64, MAX_HEADER = 4096
};
#define MOST_DATA_BYTES (SIZE_MAX / 2)
static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

/* The header is a Python dictionary in text; a cursor over it. */
typedef struct {
  const char *text, *at, *end;
  uint64_t file_offset;         /* of `text` */
  char *why;
  size_t why_size;
} Header;

static bool fail_at(Header *h, const char *what)
{
  snprintf(h->why, h->why_size, "byte %" PRIu64 ": %s",
           h->file_offset + (uint64_t)(h->at - h->text), what);
  return false;
}

static void skip_space(Header *h)
{
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t'))
    h->at++;
}

static bool accept_char(Header *h, char c)
{
  skip_space(h);
  if (h->at == h->end || *h->at != c)
    return false;
  h->at++;
  return true;
}

/* A quoted text without escapes. */
static bool read_text(Header *h, char *to, size_t size)
{
  skip_space(h);
  if (h->at == h->end || (*h->at != '\'' && *h->at != '"'))
    return fail_at(h, "a quoted text is expected");
  char quote = *h->at++;
  size_t length = 0;
  while (h->at < h->end && *h->at != quote) {
    if (length + 1 == size)
      return fail_at(h, "the text is too long");
    to[length++] = *h->at++;
  }
  to[length] = 0;
  return accept_char(h, quote) || fail_at(h, "the text does not end");
}

static bool read_order(Header *h, bool *fortran)
{
  skip_space(h);
  size_t left = (size_t)(h->end - h->at);
  *fortran = left >= 4 && memcmp(h->at, "True", 4) == 0;
  if (!*fortran && !(left >= 5 && memcmp(h->at, "False", 5) == 0))
    return fail_at(h, "True or False is expected");
  h->at += *fortran ? 4 : 5;
  return true;
}

static bool read_shape(Header *h, NpyArray *array)
{
  if (!accept_char(h, '('))
    return fail_at(h, "the shape must be a tuple");
  while (!accept_char(h, ')')) {
    uint64_t n = 0;
    skip_space(h);
    if (h->at == h->end || *h->at < '0' || *h->at > '9')
      return fail_at(h, "a dimension is expected");
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
      if (n > UINT32_MAX)
        return fail_at(h, "the dimension is too large");
      n = 10 * n + (uint64_t)(*h->at - '0');
    }
    if (array->n_dims == NPY_MAX_DIMS)
      return fail_at(h, "there are too many dimensions");
    array->shape[array->n_dims++] = n;
    accept_char(h, ',');
  }
  return true;
}

static bool set_type(Header *h, NpyArray *array, const char *descr)
{
  static const char *const known[] = {"b1", "i1", "i2", "i4", "i8",
                                      "u1", "u2", "u4", "u8", "f2", "f4"};
  const char *type = descr + (strchr("<>|=", descr[0]) && descr[0] ? 1 : 0);
  for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
    if (strcmp(type, known[i]) == 0) {
      array->kind = type[0];
      array->bytes = (unsigned)(type[1] - '0');
      if (descr[0] == '>' && array->bytes > 1)
        return fail_at(h, "big-endian elements; convert with .astype('<' + ...)");
      return true;
    }
  }
  return fail_at(h, "elements must be bool, int or uint of 8 to 64 bits, or float of 16 or 32 "
                    "bits; convert with .astype(...)");
}

static bool read_header(Header *h, NpyArray *array, bool *fortran)
{
  bool have_descr = false, have_order = false, have_shape = false;
  if (!accept_char(h, '{'))
    return fail_at(h, "the header must be a dictionary");
  while (!accept_char(h, '}')) {
    char key[32], descr[32];
    if (!read_text(h, key, sizeof key))
      return false;
    if (!accept_char(h, ':'))
      return fail_at(h, "':' is expected");
    if (strcmp(key, "descr") == 0 && !have_descr) {
      have_descr = true;
      if (!read_text(h, descr, sizeof descr) || !set_type(h, array, descr))
        return false;
    } else if (strcmp(key, "fortran_order") == 0 && !have_order) {
      have_order = true;
      if (!read_order(h, fortran))
        return false;
    } else if (strcmp(key, "shape") == 0 && !have_shape) {
      have_shape = true;
      if (!read_shape(h, array))
        return false;
    } else {
      return fail_at(h, "unknown or repeated key");
    }
    if (!accept_char(h, ',') && !(h->at < h->end && *h->at == '}'))
      return fail_at(h, "',' or '}' is expected");
  }
  return (have_descr && have_order && have_shape) ||
         fail_at(h, "descr, fortran_order or shape is missing");
}

/* The data, brought into row-major order. */
static void take_data(NpyArray *array, const uint8_t *data, bool fortran)
{
  size_t size = (size_t)(array->count * array->bytes);
  array->data = base_malloc(size ? size : 1);
  if (!fortran || array->n_dims < 2) {
    memcpy(array->data, data, size);
    return;
  }
  uint64_t index[NPY_MAX_DIMS] = {0};
  for (uint64_t i = 0; i < array->count; i++) {   /* i counts in row-major order */
    uint64_t from = 0;
    for (unsigned d = array->n_dims; d-- > 0;)
      from = from * array->shape[d] + index[d];
    memcpy(array->data + i * array->bytes, data + from * array->bytes, array->bytes);
    for (unsigned d = array->n_dims; d-- > 0 && ++index[d] == array->shape[d];)
      index[d] = 0;
  }
}

/* False: no file can be as long. */
static bool count_elements(NpyArray *array)
{
  array->count = 1;
  for (unsigned d = 0; d < array->n_dims; d++)
    if (__builtin_mul_overflow(array->count, array->shape[d], &array->count))
      return false;
  return array->count <= MOST_DATA_BYTES / array->bytes;
}

bool npy_parse(const uint8_t *file, size_t size, NpyArray *array, char *why, size_t why_size)
{
  *array = (NpyArray){0};
  Header h = {.text = (const char *)file, .at = (const char *)file, .why = why,
              .why_size = why_size};
  if (size < LENGTH_AT + LENGTH_BYTES_V2 || memcmp(file, magic, MAGIC_BYTES) != 0)
    return fail_at(&h, "this is no .npy file; write one with numpy.save");
  h.at += VERSION_AT;
  unsigned version = file[VERSION_AT];
  if (version < 1 || version > 3)
    return fail_at(&h, "unknown version of the .npy format");
  size_t width = version == 1 ? LENGTH_BYTES_V1 : LENGTH_BYTES_V2;
  uint32_t length = 0;
  for (size_t i = 0; i < width; i++)
    length |= (uint32_t)file[LENGTH_AT + i] << 8 * i;
  h.at += LENGTH_AT - VERSION_AT;
  size_t start = LENGTH_AT + width;
  if (length > MAX_HEADER || start + length > size)
    return fail_at(&h, "the header's length is wrong");
  h = (Header){(const char *)file + start, (const char *)file + start,
               (const char *)file + start + length, start, why, why_size};
  bool fortran = false;
  if (!read_header(&h, array, &fortran))
    return false;
  h.at = h.end;
  if (!count_elements(array) || size - start - length != array->count * array->bytes)
    return fail_at(&h, "the data are not as long as the shape says");
  take_data(array, file + start + length, fortran);
  return true;
}

static uint64_t bound_bytes(const void *context, const char *start, size_t length)
{
  bool begins = length >= MAGIC_BYTES && memcmp(start, magic, MAGIC_BYTES) == 0;
  return begins ? *(const uint64_t *)context : length;
}

bool npy_read(const char *path, uint64_t most_bytes, NpyArray *array, char *why, size_t why_size)
{
  size_t size;
  uint64_t most = LENGTH_AT + LENGTH_BYTES_V2 + MAX_HEADER + most_bytes;
  *array = (NpyArray){0};
  char *file = file_read_bounded(path, bound_bytes, &most, &size);
  if (!file) {
    snprintf(why, why_size, "%s", strerror(errno));
    return false;
  }
  bool ok = size <= most && npy_parse((const uint8_t *)file, size, array, why, why_size);
  if (size > most)
    snprintf(why, why_size, "it has more than the %" PRIu64 " bytes that the tiles could take",
             most_bytes);
  free(file);
  return ok;
}

void npy_free(NpyArray *array)
{
  free(array->data);
  array->data = NULL;
}

bool npy_write(const char *path, const NpyArray *array)
{
  char header[MAX_HEADER], shape[256];
  size_t used = 0;
  uint64_t count = 1;
  shape[0] = 0;
  for (unsigned d = 0; d < array->n_dims; d++) {
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%" PRIu64 ",%s", array->shape[d],
                             d + 1 < array->n_dims ? " " : "");
    count *= array->shape[d];
  }
  int text = snprintf(header, sizeof header,
                      "{'descr': '%s%c%u', 'fortran_order': False, 'shape': (%s), }",
                      array->bytes == 1 ? "|" : "<", array->kind, array->bytes, shape);
  /* The data start at a multiple of ALIGNMENT; the header ends with a newline. */
  size_t prefix = LENGTH_AT + LENGTH_BYTES_V1;
  size_t total = (prefix + (size_t)text + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  size_t data_bytes = (size_t)(count * array->bytes);
  uint8_t *file = base_malloc(total + data_bytes);
  memset(file, ' ', total);
  memcpy(file, magic, MAGIC_BYTES);
  file[VERSION_AT] = 1;
  file[VERSION_AT + 1] = 0;
  file[LENGTH_AT] = (uint8_t)(total - prefix);
  file[LENGTH_AT + 1] = (uint8_t)((total - prefix) >> 8);
  memcpy(file + prefix, header, (size_t)text);
  file[total - 1] = '\n';
  memcpy(file + total, array->data, data_bytes);
  bool ok = file_write_all(path, file, total + data_bytes);
  free(file);
  return ok;
}
