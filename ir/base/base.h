/* ir/base: the foundation of every layer.
 *
 * Reading order: arena, intern_str, source, diag, fp, file, status_line, command_line, frame.
 * Nothing here knows of CSL, of the IR or of the machine.  Three lifetimes exist in the project: a
 * session arena (sources, AST, pool), a pass arena that is reset, and arrays sized once by their
 * owner; small things are never freed one by one.
 */
#ifndef BASE_H
#define BASE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define BASE_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define BASE_NORETURN __attribute__((noreturn))
#else
#define BASE_PRINTF(fmt, first)
#define BASE_NORETURN
#endif

/* Whether the address sanitizer checks this build. */
#if defined(__SANITIZE_ADDRESS__)
#define BASE_IS_SANITIZED 1
#elif defined(__has_feature)
#define BASE_IS_SANITIZED __has_feature(address_sanitizer)
#else
#define BASE_IS_SANITIZED 0
#endif

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- arena.c ------------------------------------------------------------------------- */

typedef struct Arena Arena;

/* A growing region; `name` appears in memory reports.  Never returns NULL: running out of
 * memory ends the process with a message and exit code 3. */
Arena *arena_create(const char *name);
void arena_destroy(Arena *arena);
/* Drops all that was allocated; debug builds poison it, so that stale pointers die young. */
void arena_reset(Arena *arena);
/* Zeroed memory of `size` bytes, aligned to `align` (a power of two). */
void *arena_alloc(Arena *arena, size_t size, size_t align);
char *arena_copy_text(Arena *arena, const char *text, size_t length);  /* adds a NUL */
char *arena_printf(Arena *arena, const char *format, ...) BASE_PRINTF(2, 3);
/* The text from `from` up to `end`, with one blank where it has several or a new line. */
const char *arena_one_line(Arena *arena, const char *from, const char *end);
size_t arena_used_bytes(const Arena *arena);

#define arena_new(arena, T) ((T *)arena_alloc((arena), sizeof(T), _Alignof(T)))
#define arena_many(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n), _Alignof(T)))

/* malloc family that ends the process (exit 3) instead of returning NULL; for growable arrays
 * (stb_ds and uthash are configured to use these). */
void *base_malloc(size_t size);
void *base_realloc(void *old, size_t size);
void *base_zeroed(size_t n, size_t size);
/* The end of those without memory, also for callers that get memory in another way: the process
 * ends with a message and exit code 3, unless its thread has a BaseRecovery. */
BASE_NORETURN void base_out_of_memory(size_t size, const char *who);

/* Where a thread continues after it has run out of memory, for a library, which must not end the
 * process.
 *   BaseRecovery here BASE_LEAVES_RECOVERY;
 *   base_enter_recovery(&here);
 *   if (setjmp(here.place) != 0)
 *     return ...;                 what was being changed is half changed
 * The innermost one counts, until its scope ends. */
typedef struct BaseRecovery BaseRecovery;
struct BaseRecovery {
  jmp_buf place;
  BaseRecovery *outer;
};
#define BASE_LEAVES_RECOVERY __attribute__((cleanup(base_leave_recovery)))
void base_enter_recovery(BaseRecovery *recovery);
void base_leave_recovery(BaseRecovery *recovery);
/* Formatted text from malloc. */
char *base_print(const char *format, ...) BASE_PRINTF(1, 2);
/* A stream into memory from malloc, which *text and *length describe once base_text_close has
 * closed it; none of the two returns without memory. */
FILE *base_text_open(char **text, size_t *length);
void base_text_close(FILE *stream, char *const *text);

/* stb_ds and uthash allocate through these; their headers may be included before or after. */
#undef uthash_malloc
#define uthash_malloc(size) base_malloc(size)
#undef STBDS_REALLOC
#undef STBDS_FREE
#define STBDS_REALLOC(context, old, size) base_realloc((old), (size))
#define STBDS_FREE(context, old) free(old)

/* An internal error: prints "internal error: ..." with file and line and ends with exit 3. */
BASE_NORETURN void base_ice(const char *file, int line, const char *format, ...) BASE_PRINTF(3, 4);
#define ICE(...) base_ice(__FILE__, __LINE__, __VA_ARGS__)

/* ---- intern_str.c -------------------------------------------------------------------- */

/* An interned byte string (NULs allowed): equal text, equal id.  raw 0 is the empty string. */
typedef struct { uint32_t raw; } StrId;

typedef struct StrTable StrTable;
StrTable *strtable_create(void);
void strtable_destroy(StrTable *table);
StrId str_intern(StrTable *table, const char *text, size_t length);
StrId str_intern_z(StrTable *table, const char *text);
/* NUL-terminated; stays valid as long as the table. */
const char *str_text(const StrTable *table, StrId id);
size_t str_length(const StrTable *table, StrId id);
static const StrId STR_NONE = {0};
static inline bool str_eq(StrId a, StrId b) { return a.raw == b.raw; }
static inline bool str_is_none(StrId a) { return a.raw == 0; }

/* The candidate nearest to `wanted` by edit distance if it is near enough to be a likely
 * misspelling, otherwise NULL; every "did you mean" comes from here. */
const char *base_nearest(const char *wanted, const char *const *candidates, size_t count);

/* ---- source.c ------------------------------------------------------------------------ */

/* A stretch of source text in one offset space shared by all files of a run.  off 0 is "no
 * place": real files start at 1. */
typedef struct { uint32_t off, len; } Span;

typedef struct { uint32_t raw; } FileId;      /* raw 0 is "no file" */
static inline bool file_is_none(FileId a) { return a.raw == 0; }
static inline bool file_eq(FileId a, FileId b) { return a.raw == b.raw; }

typedef struct {
  const char *path;        /* as printed in diagnostics */
  uint32_t line, column;   /* from 1; columns count bytes */
} SourceLoc;

typedef struct SourceMap SourceMap;
SourceMap *source_map_create(void);
void source_map_destroy(SourceMap *map);
/* Registers text under a path as it should be printed; the text is copied.  Returns file 0 if
 * the offset space (4 GB for all files) is full. */
FileId source_add(SourceMap *map, const char *path, const char *text, size_t length);
const char *source_path(const SourceMap *map, FileId file);
const char *source_text(const SourceMap *map, FileId file, size_t *length);
uint32_t source_base(const SourceMap *map, FileId file);  /* offset of the file's first byte */
FileId source_file_of(const SourceMap *map, uint32_t off);
/* Notes a file whose content matters and that is no source text: a table of values, say. */
void source_note_data(SourceMap *map, const char *path);
/* The files that have been read, in the order of the first reading; NULL behind the last one. */
const char *source_path_read(const SourceMap *map, size_t index);
/* Line and column are computed only here, that is when printing. */
SourceLoc source_locate(const SourceMap *map, uint32_t off);
/* The text of the line that holds `off`, without its newline. */
const char *source_line(const SourceMap *map, uint32_t off, size_t *length);

static inline Span span_join(Span a, Span b)
{
  if (a.off == 0)
    return b;
  if (b.off == 0)
    return a;
  uint32_t lo = a.off < b.off ? a.off : b.off;
  uint32_t ea = a.off + a.len, eb = b.off + b.len;
  return (Span){lo, (ea > eb ? ea : eb) - lo};
}

/* ---- file.c ------------------------------------------------------------------------------ */

/* Reads a whole file into malloc'ed memory (NUL-terminated); NULL with errno set on failure. */
char *file_read_all(const char *path, size_t *length);
/* How many bytes of a file that starts with `length` bytes are worth reading. */
typedef uint64_t FileBound(const void *context, const char *start, size_t length);
/* The same for a file that may have no end: reads what `bound` says and one byte more, so that the
 * caller recognises a longer file. */
char *file_read_bounded(const char *path, FileBound *bound, const void *context, size_t *length);
/* A regular file of at most `most` bytes; NULL with what is wrong in *why. */
char *file_read_text(const char *path, size_t most, size_t *length, const char **why);
/* The same for what is left in a stream. */
char *file_read_stream(FILE *in, size_t most, size_t *length, const char **why);
enum { FILE_TEXT_MAX_BYTES = 64 << 20, FILE_DATA_MAX_BYTES = 1 << 30 };
/* Writes a file whole or not at all, as file_out_open does; false with errno set on failure. */
bool file_write_all(const char *path, const void *data, size_t length);
/* Does the path end so, with something in front? */
bool file_has_ending(const char *path, const char *ending);
/* "pe.csl" names "dir/pe.csl", too. */
bool file_is_named(const char *path, const char *name);
/* Do both paths name one regular file, or the same name where no file is yet? */
bool file_is_same(const char *path, const char *other);
/* A monotonic clock, for reports of how long something took. */
double base_seconds(void);

/* A file that has its name only after file_out_keep: until then it has no name, or,
 * where the file system has no such files, a temporary one in the same folder.  What is no regular
 * file, a pipe or device, is written directly, as is a file that the caller of the program has
 * opened: /dev/stdout, /dev/stderr, /dev/fd/N. */
typedef struct {
  FILE *stream;                /* NULL: not open */
  char *path;                  /* symbolic links followed */
  char *temporary;             /* NULL: none */
  bool direct, kept;
} FileOut;
/* False with errno set on failure. */
bool file_out_open(FileOut *out, const char *path);
/* All that was written so far stands under the file's name now; more may be written.  False with
 * errno set on failure. */
bool file_out_keep(FileOut *out);
/* For programs: a write beyond the limit of file sizes fails with a reason, as on a full disk,
 * instead of ending the process without one. */
void file_limit_fails(void);
/* For programs, before they open files: standard streams that the caller has closed get descriptors
 * that take and give nothing.  Otherwise the next file would be one of them, and get what is meant
 * for the stream. */
void file_reserve_streams(void);
/* Why what was written to the stream has not all arrived, for a message. */
const char *file_lost_reason(FILE *stream);
/* Closes; what was not kept is gone.  False with errno set if the last bytes were lost. */
bool file_out_close(FileOut *out);
/* Keeps what was written, and closes.  False with *why, for a message: some of it is lost. */
bool file_out_finish(FileOut *out, const char **why);

/* ---- status_line.c: what a long operation is doing, on a terminal ------------------------ */

typedef struct {
  FILE *out;                   /* NULL: the line never comes */
  double silent;               /* seconds before the first text */
  double begun, shown_at;
  bool is_shown;
} StatusLine;
#define STATUS_LINE_SECONDS 3  /* the usual ones */
FILE *status_line_terminal(void);       /* standard error; NULL: it is no terminal */
/* An operation begins. */
void status_line_begin(StatusLine *line, FILE *out, double silent);
/* The operation is long, and it is time for a new text. */
bool status_line_is_due(const StatusLine *line);
void status_line_show(StatusLine *line, const char *format, ...) BASE_PRINTF(2, 3);
/* Makes room for other text. */
void status_line_hide(StatusLine *line);
void status_line_end(StatusLine *line);

/* ---- command_line.c: what every tool says of its command line ------------------------ */

struct option;
/* Writes to stderr that `tool` has no option `given` ("--name" or "--name=value"), and the nearest
 * of its long `names`, or where it lists them. */
void command_line_report_unknown(const char *tool, const char *given, const char *const *names,
                                 size_t count);
/* The same for what getopt_long has rejected with `result`, '?' or ':'.  `opterr` is 0, `letters`
 * begin with ':', and no long option has a letter as its value that is no short option, too. */
void command_line_report_rejected(const char *tool, int result, char *const *argv,
                                  const struct option *options);
/* `code`, the exit code of `tool`, unless what it wrote to standard output is lost: then 1, after
 * saying so. */
int command_line_end(const char *tool, int code);

/* ---- diag.c -------------------------------------------------------------------------- */

typedef enum { SEV_NOTE, SEV_WARNING, SEV_ERROR } Severity;

/* One row of a diag.def: the template's {} are replaced by the arguments in order. */
typedef struct {
  const char *id;
  const char *text;
  Severity severity;
} DiagRow;

/* An argument of kind POISON stands for what is in error already: an error or warning about it is
 * not recorded. */
typedef enum { DIAG_ARG_TEXT, DIAG_ARG_INT, DIAG_ARG_UINT, DIAG_ARG_POISON } DiagArgKind;
typedef struct {
  DiagArgKind kind;
  const char *text;    /* copied when the diagnostic is recorded */
  int64_t i;
  uint64_t u;
} DiagArg;

static inline DiagArg diag_arg_text(const char *s)
{
  return (DiagArg){.kind = DIAG_ARG_TEXT, .text = s};
}
static inline DiagArg diag_arg_poison(const char *s)
{
  return (DiagArg){.kind = DIAG_ARG_POISON, .text = s};
}
static inline DiagArg diag_arg_int(int64_t i)
{
  return (DiagArg){.kind = DIAG_ARG_INT, .i = i};
}
static inline DiagArg diag_arg_uint(uint64_t u)
{
  return (DiagArg){.kind = DIAG_ARG_UINT, .u = u};
}

typedef enum { DIAG_FORMAT_TEXT, DIAG_FORMAT_JSON } DiagFormat;

/* Collects diagnostics; they are sorted by position, de-duplicated, capped (20 errors) and
 * printed per phase, and the next phase does not start on errors.  A note belongs to the
 * error or warning recorded last before it and is printed below it. */
typedef struct Diags Diags;
Diags *diags_create(const SourceMap *sources);
void diags_destroy(Diags *diags);
/* A layer's own data, for boxing arguments of its own types (see diag_rows.h), and memory for
 * the texts made while boxing; it lives until the diagnostic has been recorded. */
void diags_set_context(Diags *diags, void *context);
void *diags_context(const Diags *diags);
Arena *diags_scratch(Diags *diags);
/* A hook is called behind each error and warning and adds notes about where that happened (calls,
 * imports, the tile); they stand below the other notes.  There is one hook at a time. */
typedef void DiagHook(Diags *diags, void *data);
void diags_set_hook(Diags *diags, DiagHook *hook, void *data);
void *diags_hook_data(const Diags *diags);
void diags_warnings_are_errors(Diags *diags, bool on);
void diag_emit(Diags *diags, const DiagRow *row, Span span, const DiagArg *args, size_t n_args);
/* Makes the warning that was reported last an error: it is certain. */
void diags_raise(Diags *diags);
/* Was the error or warning that was reported last recorded, or was it known already?  Notes that
 * take long to find are not looked for in vain. */
bool diags_takes_notes(const Diags *diags);
/* Does the error or warning that was reported last stand in the span? */
bool diags_last_is_in(const Diags *diags, Span span);
/* The id of the error that was reported last, if it stands at just this span and has no note but
 * those of the hook; NULL. */
const char *diags_bare_error(const Diags *diags, Span span);
/* The text that, in the place of `span`, would do what the note (or head) recorded last asks for;
 * for editors, in JSON only. */
void diags_fix(Diags *diags, Span span, const char *text);
/* From now on, more than twenty errors are printed, too. */
void diags_show_all(Diags *diags);
/* Drops what was recorded under the id and not printed; it no longer counts. */
void diags_drop(Diags *diags, const char *id);
size_t diags_error_count(const Diags *diags);
/* The same with those that were not recorded because they are known already: what this grows by
 * says whether a part of the program has errors, although another part may have had them first. */
size_t diags_errors_met(const Diags *diags);
size_t diags_warning_count(const Diags *diags);
/* Prints what has not been printed yet:
 *   file:line:col: error: text [id]
 *     source line
 *     ^~~~
 * or one JSON object per line. */
void diags_flush(Diags *diags, FILE *out, DiagFormat format);
/* A JSON string.  JSON texts are UTF-8, source texts and names of files need not be: what is not
 * becomes '?'. */
struct json_t *base_json_text(const char *text);
/* Forgets what was recorded since a mark and not printed; for speculative analysis. */
size_t diags_mark(const Diags *diags);
void diags_rewind(Diags *diags, size_t mark);
/* Takes what diags_rewind would forget, in the memory of `diags`; NULL: there was nothing. */
typedef struct TakenDiags TakenDiags;
TakenDiags *diags_take(Diags *diags, size_t mark);
/* Records it after all, its errors as warnings. */
void diags_put_back(Diags *diags, const TakenDiags *taken);

/* Each layer has its own diag.def with rows
 *   DIAG0(severity, id, text)            -> void diag_ID(Diags *, Span)
 *   DIAG1(severity, id, text, T, a)      -> void diag_ID(Diags *, Span, T a)
 *   DIAG2 .. DIAG4 likewise, with up to four typed parameters
 * expanded to one typed function per row by ir/base/diag_rows.h: a call with wrong argument types
 * does not compile.  severity is NOTE, WARNING or ERROR. */

/* ---- frame.c: messages with a header ---------------------------------------------------- */

/* The bytes of the message that the input begins with, behind *header bytes of header; PART: the
 * header is not complete; WRONG: it has no length, or a senseless one, and the place where the next
 * message starts is not known. */
enum { FRAME_PART = -1, FRAME_WRONG = -2 };
long long frame_length(const char *input, size_t length, size_t *header);
/* A message, and bytes without a header; false: the other side is gone. */
bool frame_write(int fd, const char *text);
bool frame_write_bytes(int fd, const char *bytes, size_t length);

/* ---- fp.c ---------------------------------------------------------------------------- */

/* The one home of device arithmetic: comptime evaluation, the IR folder and the emulator all
 * call it.  Values are bit patterns.  16-bit formats: add, sub, mul, div and sqrt are computed
 * in f32 and rounded once; fused multiply-add in f64 and rounded once.  NaN results are the
 * canonical quiet NaN of the format.  Rounding is to nearest, ties to even.  No libm. */
typedef enum { FP16_F16, FP16_BF16, FP16_CB16, FP16_COUNT } Fp16Format;
const char *fp16_name(Fp16Format format);

uint32_t fp32_from_double(double value);   /* rounded once */
double fp32_to_double(uint32_t bits);
uint16_t fp16_from_double(Fp16Format format, double value);  /* rounded once */
double fp16_to_double(Fp16Format format, uint16_t bits);
uint16_t fp16_from_fp32(Fp16Format format, uint32_t bits);
uint32_t fp16_to_fp32(Fp16Format format, uint16_t bits);     /* exact */

typedef enum { FP_ADD, FP_SUB, FP_MUL, FP_DIV, FP_MAX, FP_MIN } FpBinary;
typedef enum { FP_LT, FP_LE, FP_EQ } FpCompare;   /* all false on NaN */
uint32_t fp32_binary(FpBinary op, uint32_t a, uint32_t b);
/* fp32_binary(FP_ADD, a, b), inline: sums are most of what tiles do. */
static inline uint32_t fp32_add(uint32_t a, uint32_t b)
{
  float x, y, sum;
  uint32_t bits;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  sum = x + y;
  memcpy(&bits, &sum, sizeof bits);
  return sum == sum ? bits : fp32_binary(FP_ADD, a, b);
}
/* fp32_binary(FP_MUL, a, b), inline for the same reason. */
static inline uint32_t fp32_mul(uint32_t a, uint32_t b)
{
  float x, y, product;
  uint32_t bits;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  product = x * y;
  memcpy(&bits, &product, sizeof bits);
  return product == product ? bits : fp32_binary(FP_MUL, a, b);
}
uint16_t fp16_binary(Fp16Format format, FpBinary op, uint16_t a, uint16_t b);
bool fp32_compare(FpCompare op, uint32_t a, uint32_t b);
bool fp16_compare(Fp16Format format, FpCompare op, uint16_t a, uint16_t b);
/* a*b + c with one rounding (f32: exact product in f64, sum rounded to odd, then to f32). */
uint32_t fp32_fma_odd(uint32_t a, uint32_t b, uint32_t c);
/* The same; inline while the nearest double to the sum says how it rounds: if it is a normal f32's
 * and not in the middle of two of these, or zero. */
static inline uint32_t fp32_fma(uint32_t a, uint32_t b, uint32_t c)
{
  enum { LEAST = 1023 - 126, NORMALS = 253, BELOW = (1 << 29) - 1, MIDDLE = 1 << 28 };
  float x, y, z, result;
  uint64_t wide;
  uint32_t bits;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  memcpy(&z, &c, sizeof z);
  double sum = (double)x * (double)y + (double)z;
  memcpy(&wide, &sum, sizeof wide);
  bool normal = (wide >> 52 & 0x7ff) - LEAST < NORMALS && (wide & BELOW) != MIDDLE;
  if (!normal && wide << 1 != 0)
    return fp32_fma_odd(a, b, c);
  result = (float)sum;
  memcpy(&bits, &result, sizeof bits);
  return bits;
}
uint16_t fp16_fma(Fp16Format format, uint16_t a, uint16_t b, uint16_t c);
/* a[i] = fp32_add(a[i], b[i]). */
void fp32_add_all(uint32_t *restrict a, const uint32_t *restrict b, size_t n);
/* c[i] = fp32_fma(a[i], b, c[i]); c[i] = fp16_fma(format, a[i], b, c[i]). */
void fp32_fma_all(const uint32_t *a, uint32_t b, uint32_t *c, size_t n);
void fp16_fma_all(Fp16Format format, const uint16_t *a, uint16_t b, uint16_t *c, size_t n);
/* The same for each factor b[k] in turn, with the elements of a from k * step on, apart from c. */
void fp16_fma_rows(Fp16Format format, const uint16_t *a, size_t step, const uint16_t *b,
                   size_t rows, uint16_t *c, size_t n);
/* f32 c + f16 a * f16 b, one rounding. */
uint32_t fp16_mixed_fma(Fp16Format format, uint16_t a, uint16_t b, uint32_t c);
/* Truncation toward zero, then the low `bits` bits; NaN gives 0, out of range saturates to the
 * 64-bit range before the low bits are kept. */
uint64_t fp_to_int(double value, unsigned bits, bool is_signed);
uint32_t fp32_from_i64(int64_t value);     /* rounded once */
uint32_t fp32_from_u64(uint64_t value);
uint16_t fp16_from_i64(Fp16Format format, int64_t value);
uint16_t fp16_from_u64(Fp16Format format, uint64_t value);
/* value * 2^exponent, rounded once. */
uint32_t fp32_scale(uint32_t bits, int exponent);
uint16_t fp16_scale(Fp16Format format, uint16_t bits, int exponent);
double fp32_least_normal(void);
double fp16_least_normal(Fp16Format format);

/* ---- fp_raise.c ---------------------------------------------------------------------- */

/* The exceptions of IEEE 754, in the order of the machine's exception mask. */
enum {
  FP_RAISES_UNDERFLOW = 1 << 0, FP_RAISES_OVERFLOW = 1 << 1, FP_RAISES_INEXACT = 1 << 2,
  FP_RAISES_INVALID = 1 << 3, FP_RAISES_DIV_BY_0 = 1 << 4,
};
/* What an operation on values of f32 and the 16-bit formats has raised whose result, in a format
 * with the given least normal number, is `result`. */
unsigned fp_raised_sum(double a, double b, double result, double least_normal);
unsigned fp_raised_product(double a, double b, double result, double least_normal);
unsigned fp_raised_quotient(double a, double b, double result, double least_normal);
unsigned fp_raised_fma(double a, double b, double c, double result, double least_normal);
unsigned fp_raised_rounding(double value, double result, double least_normal);
unsigned fp_raised_scale(double value, int exponent, double result, double least_normal);
unsigned fp_raised_to_int(double value, unsigned bits, bool is_signed);
unsigned fp_raised_compare(double a, double b);    /* less, less or equal */

#endif
