/* Inside the parser of the IR's text form: read_scan.c, read_desc.c, read_func.c, read.c. */
#ifndef READ_INTERNAL_H
#define READ_INTERNAL_H

#include "ir/opt/opt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>
#include <uthash.h>

/* Data of one module; more cannot be meant for a tile, and junk must not exhaust the host. */
enum { MOST_DATA_BYTES = 1 << 24 };

typedef enum {
  T_WORD, T_NUMBER, T_TEXT, T_VALUE, T_GLOBAL, T_FUNC, T_LOC, T_PUNCT, T_END
} TokenKind;

typedef struct {
  TokenKind kind;
  bool first;              /* of its line */
  Span span;
  const char *text;        /* word, name without sigil, text without quotes, punctuation */
  uint64_t number;         /* number, value, location */
} IrToken;

typedef struct { char *key; uint32_t value; } NameMap;
/* Entries of a uthash from numbers of values and blocks to ids. */
typedef struct NumberEntry {
  UT_hash_handle hh;
  uint64_t key;
  uint32_t value;
} NumberEntry;

typedef struct {
  Arena *arena;
  Diags *diags;
  IrModule *m;
  IrToken *tokens;           /* stb_ds array, T_END last */
  size_t at;
  NameMap *globals, *funcs;
  bool *global_done, *func_done;
  uint64_t data_bytes;
  /* lists that grow; copied to the module at the end */
  IrType *tile_params;
  IrTileSlot *tile_slots;
  IrTask *tasks;
  IrDsrInit *dsrs;
  ImageConfig *configs;
  IrBinding *bindings;
  /* of the function being read */
  IrFunc *f;
  IrFuncId func;
  uint32_t block;          /* IR_NO_ID before the first label */
  NumberEntry *values, *blocks;
  Span *first_use;         /* by value: where it was first named */
} IrReader;

static inline bool rd_is_digit(int c) { return c >= '0' && c <= '9'; }
static inline int rd_hex_digit(int c)
{
  if (rd_is_digit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- read_scan.c ------------------------------------------------------------------- */

void rd_scan_all(IrReader *r, const char *text, size_t length, uint32_t base);
/* What is called accept_... takes a token of this line if it is there; expect_... records what was
 * expected if it is not.  False: a diagnostic was recorded. */
const IrToken *rd_peek(const IrReader *r);
const IrToken *rd_next(IrReader *r);
bool rd_at_line_end(const IrReader *r);
/* After an error in the line that began at token `start`: to the beginning of the next one. */
void rd_recover(IrReader *r, size_t start);
const char *rd_token_text(IrReader *r, const IrToken *t);
bool rd_expected(IrReader *r, const char *want);
bool rd_accept_punct(IrReader *r, char c);
bool rd_expect_punct(IrReader *r, char c);
bool rd_accept_word(IrReader *r, const char *word);
bool rd_expect_word(IrReader *r, const char *word);
const IrToken *rd_accept(IrReader *r, TokenKind kind);
bool rd_expect_number(IrReader *r, const char *what, uint64_t most, uint64_t *number);
bool rd_expect_u32(IrReader *r, const char *what, uint64_t most, uint32_t *number);
bool rd_expect_u16(IrReader *r, const char *what, uint64_t most, uint16_t *number);
bool rd_expect_u8(IrReader *r, const char *what, uint64_t most, uint8_t *number);
bool rd_expect_i16(IrReader *r, const char *what, int16_t *number);
/* With a guess which of the candidates was meant. */
void rd_unknown_word(IrReader *r, Span span, const char *kind, const char *name,
                     const char *const *candidates, size_t n);
bool rd_expect_listed(IrReader *r, IrWordList list, const char *kind, unsigned *number);
bool rd_type_named(IrReader *r, const char *name, Span span, IrType *type);
bool rd_expect_type(IrReader *r, IrType *type);
bool rd_expect_symbol(IrReader *r, TokenKind kind, uint32_t *id);
bool rd_expect_either(IrReader *r, bool *is_func, uint32_t *id);
bool rd_accept_offset(IrReader *r, int64_t most, int64_t *offset);
bool rd_accept_loc(IrReader *r, IrLocId *loc);
bool rd_finish_line(IrReader *r);
bool rd_expect_close(IrReader *r);
bool rd_claim(IrReader *r, bool *done, const char *kind, const IrToken *t);

/* ---- read_desc.c ------------------------------------------------------------------- */

bool rd_desc(IrReader *r, IrDesc *d);
bool rd_dsr(IrReader *r, DsrFile *file, uint32_t *number);

/* ---- read_func.c ------------------------------------------------------------------- */

bool rd_function(IrReader *r);

#endif
