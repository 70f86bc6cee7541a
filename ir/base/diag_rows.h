/* Expands a layer's diag.def; included, perhaps more than once, with DIAG_DEF naming the file.
 *
 *   in the layer's header                      declares one function per row
 *     #define DIAG_DEF "emu/host/diag.def"
 *     #include "ir/base/diag_rows.h"
 *
 *   in the layer's diag.c                      defines them
 *     #define DIAG_DEF "emu/host/diag.def"
 *     #define DIAG_DEFINE
 *     #include "ir/base/diag_rows.h"
 *
 * DIAG_TABLE, a name, may be defined beside DIAG_DEFINE: the rows as `const DiagRow NAME[]` and
 * `const size_t NAME_count`, for listings.
 *
 * Texts and integers are boxed here.  A layer with argument types of its own defines, before
 * the include in its diag.c,
 *     #define DIAG_BOX_OWN PoolId: box_type, StrId: box_name,
 * (with the final comma) where each function has the shape DiagArg box(Diags *, T); it finds the
 * layer's tables by diags_context and makes texts in diags_scratch.
 *
 * No include guard: this is a template.  It undefines what it was given. */

#ifndef DIAG_DEF
#error "define DIAG_DEF, the path of a diag.def, before including ir/base/diag_rows.h"
#endif

#ifndef DIAG_DEFINE

#define DIAG0(severity, id, text) void diag_##id(Diags *diags, Span span);
#define DIAG1(severity, id, text, T, a) void diag_##id(Diags *diags, Span span, T a);
#define DIAG2(severity, id, text, T, a, U, b) void diag_##id(Diags *diags, Span span, T a, U b);
#define DIAG3(severity, id, text, T, a, U, b, V, c)                                             \
  void diag_##id(Diags *diags, Span span, T a, U b, V c);
#define DIAG4(severity, id, text, T, a, U, b, V, c, W, d)                                       \
  void diag_##id(Diags *diags, Span span, T a, U b, V c, W d);
#include DIAG_DEF

#else /* DIAG_DEFINE */

#ifndef DIAG_BOX_OWN
#define DIAG_BOX_OWN
#endif

#ifndef DIAG_BOXES
#define DIAG_BOXES
static inline DiagArg diag_box_text(Diags *d, const char *s) { (void)d; return diag_arg_text(s); }
static inline DiagArg diag_box_int(Diags *d, int64_t i) { (void)d; return diag_arg_int(i); }
static inline DiagArg diag_box_uint(Diags *d, uint64_t u) { (void)d; return diag_arg_uint(u); }
#endif

#define DIAG_BOX(value)                                                                         \
  _Generic((value), DIAG_BOX_OWN                                                                \
    const char *: diag_box_text, char *: diag_box_text,                                         \
    signed char: diag_box_int, short: diag_box_int, int: diag_box_int, long: diag_box_int,      \
    long long: diag_box_int, unsigned char: diag_box_uint, unsigned short: diag_box_uint,       \
    unsigned: diag_box_uint, unsigned long: diag_box_uint, unsigned long long: diag_box_uint)   \
  (diags, (value))

#define DIAG_ROW(severity, id, text) static const DiagRow row_##id = {#id, text, SEV_##severity};
#define DIAG_EMIT(id, n, ...)                                                                   \
  diag_emit(diags, &row_##id, span, (const DiagArg[]){__VA_ARGS__}, n)

#define DIAG0(severity, id, text)                                                               \
  DIAG_ROW(severity, id, text)                                                                  \
  void diag_##id(Diags *diags, Span span)                                                       \
  {                                                                                             \
    diag_emit(diags, &row_##id, span, NULL, 0);                                                 \
  }
#define DIAG1(severity, id, text, T, a)                                                         \
  DIAG_ROW(severity, id, text)                                                                  \
  void diag_##id(Diags *diags, Span span, T a)                                                  \
  {                                                                                             \
    DIAG_EMIT(id, 1, DIAG_BOX(a));                                                              \
  }
#define DIAG2(severity, id, text, T, a, U, b)                                                   \
  DIAG_ROW(severity, id, text)                                                                  \
  void diag_##id(Diags *diags, Span span, T a, U b)                                             \
  {                                                                                             \
    DIAG_EMIT(id, 2, DIAG_BOX(a), DIAG_BOX(b));                                                 \
  }
#define DIAG3(severity, id, text, T, a, U, b, V, c)                                             \
  DIAG_ROW(severity, id, text)                                                                  \
  void diag_##id(Diags *diags, Span span, T a, U b, V c)                                        \
  {                                                                                             \
    DIAG_EMIT(id, 3, DIAG_BOX(a), DIAG_BOX(b), DIAG_BOX(c));                                    \
  }
#define DIAG4(severity, id, text, T, a, U, b, V, c, W, d)                                       \
  DIAG_ROW(severity, id, text)                                                                  \
  void diag_##id(Diags *diags, Span span, T a, U b, V c, W d)                                   \
  {                                                                                             \
    DIAG_EMIT(id, 4, DIAG_BOX(a), DIAG_BOX(b), DIAG_BOX(c), DIAG_BOX(d));                       \
  }
#include DIAG_DEF

#ifdef DIAG_TABLE
#undef DIAG0
#undef DIAG1
#undef DIAG2
#undef DIAG3
#undef DIAG4
#undef DIAG_ROW
#define DIAG_ROW(severity, id, text) {#id, text, SEV_##severity},
#define DIAG0(severity, id, text) DIAG_ROW(severity, id, text)
#define DIAG1(severity, id, text, ...) DIAG_ROW(severity, id, text)
#define DIAG2(severity, id, text, ...) DIAG_ROW(severity, id, text)
#define DIAG3(severity, id, text, ...) DIAG_ROW(severity, id, text)
#define DIAG4(severity, id, text, ...) DIAG_ROW(severity, id, text)
#define DIAG_COUNT_(name) name##_count
#define DIAG_COUNT(name) DIAG_COUNT_(name)
const DiagRow DIAG_TABLE[] = {
#include DIAG_DEF
};
const size_t DIAG_COUNT(DIAG_TABLE) = ARRAY_COUNT(DIAG_TABLE);
#undef DIAG_COUNT
#undef DIAG_COUNT_
#undef DIAG_TABLE
#endif

#undef DIAG_BOX
#undef DIAG_BOX_OWN
#undef DIAG_ROW
#undef DIAG_EMIT
#undef DIAG_DEFINE

#endif

#undef DIAG0
#undef DIAG1
#undef DIAG2
#undef DIAG3
#undef DIAG4
#undef DIAG_DEF
