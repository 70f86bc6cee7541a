/* What lex.l, parse.y and the files between them share; no other file includes this.
 *
 * A file goes through three steps: scan_file fills an array of tokens; braces_check pairs the
 * braces and repairs the array when one is missing; the parser reads from the array. The array
 * makes good errors cheap: the token before, the line of each token and the partner of each brace
 * are all there when an error is reported or recovered from. */
#ifndef PARSE_INTERNAL_H
#define PARSE_INTERNAL_H

#include "frontend/syntax/syntax.h"

#define DIAG_DEF "frontend/diag.def"
#define DIAG_ONLY_SYNTAX
#include "ir/base/diag_rows.h"
#undef DIAG_ONLY_SYNTAX

/* ---- scan.c, lex.l ----------------------------------------------------------------------- */

typedef struct { uint64_t value; StrId big; unsigned base; } IntLiteral;   /* as NodeInt */
typedef struct { double value; StrId text; } FloatLiteral;                 /* as NodeFloat */

typedef enum {
  BRACE_PLAIN,      /* of a literal or a type: errors inside are recovered from outside */
  BRACE_BLOCK,      /* of statements */
  BRACE_PRONGS      /* of a switch */
} BraceRole;

typedef struct {
  uint16_t kind;         /* a token number of parse.y */
  bool is_first;         /* the first of its line */
  bool is_inserted;      /* by braces_check: len 0, no text */
  bool is_bad;           /* the scanner has reported it: no further error for it */
  uint8_t role;          /* BraceRole of a '{', set by the parser when it knows */
  uint32_t line;         /* from 1 */
  uint32_t column;       /* from 0 */
  uint32_t partner;      /* of '{' and '}': index of the other one */
  Span span;
  union {
    StrId text;                    /* name, builtin without '@', decoded string */
    uint32_t character;
    const IntLiteral *integer;
    const FloatLiteral *real;
  } as;
} Token;

typedef struct {
  const SourceMap *sources;
  StrTable *names;
  Diags *diags;
  Arena *arena;
  FileId file;
  const char *text;          /* the file */
  uint32_t base;             /* offset of its first byte in the joined space */
  uint16_t *keyword_of;      /* stb_ds: token of the keyword with that StrId.raw; 0: none */
  Token *tokens;             /* stb_ds; the last is the end of the file */
  uint32_t pos;              /* next byte */
  uint32_t line, line_start; /* of `pos` */
  bool line_has_token;
} Scan;

/* Fills scan->tokens; reports what is no token and goes on after it. */
void scan_file(Scan *scan);

/* For the actions of lex.l; `length` bytes at scan->pos have been matched. */
void scan_token(Scan *scan, int kind, size_t length);
void scan_newline(Scan *scan);
void scan_word(Scan *scan, size_t length);
void scan_builtin(Scan *scan, size_t length);
void scan_int(Scan *scan, size_t length, unsigned base);
void scan_float(Scan *scan, size_t length);
void scan_bad_number(Scan *scan, size_t length);
void scan_string(Scan *scan, size_t length, bool is_closed);
void scan_char(Scan *scan, size_t length, bool is_closed);
void scan_comment_block(Scan *scan, size_t length, bool is_closed);
void scan_foreign(Scan *scan, size_t length, int kind, const char *help);
void scan_question(Scan *scan);
void scan_bad_word(Scan *scan, size_t length);
void scan_preprocessor(Scan *scan, size_t length);
/* False: it stands within a statement, so it is no comment. */
bool scan_hash_comment(Scan *scan, size_t length);
void scan_bad_bytes(Scan *scan, size_t length);

/* Generated from lex.l: runs its rules over the whole text. */
void lex_run(Scan *scan, const char *text, size_t length);

/* ---- braces.c ---------------------------------------------------------------------------- */

/* Pairs every '{' with its '}'.  If they do not pair up, finds by the indentation where one is
 * missing, reports it there and repairs the tokens, so that the parser always sees a balanced
 * file.  Returns the new array. */
Token *braces_check(Token *tokens, Diags *diags);

/* ---- ast.c ------------------------------------------------------------------------------- */

/* Copies a node of `size` bytes into the tree and completes its head. */
Node *ast_add(Ast *ast, Diags *diags, NodeKind kind, Span span, const Node *draft, size_t size);

/* ---- parse_util.c ------------------------------------------------------------------------ */

/* Lists grow to the left while the parser reduces; flattened once when they are complete. */
typedef struct NodeSeq NodeSeq;
struct NodeSeq { Node *node; NodeSeq *before; uint32_t count; };
typedef struct NameSeq NameSeq;
struct NameSeq { Name name; NameSeq *before; uint32_t count; };

typedef struct { Node *align, *linksection, *linkname; } Attributes;

/* What stands in front of `fn` about inlining; noinline: its place, and the word written beside it
 * that may not be there, or NULL. */
typedef struct { Inlining inlining; Span noinline_at; const char *other; } InlineMark;
/* What follows the parameters of a function; type NULL: of a task that does not say it. */
typedef struct { Node *type; Attributes attrs; } Result;

typedef struct {
  Ast *ast;
  Diags *diags;
  StrTable *names;
  const SourceMap *sources;
  Token *tokens;             /* repaired */
  uint32_t fed, next;        /* the token that was fed last, and will be next */
  uint32_t failed;           /* the token of the last syntax error */
  bool is_complete;          /* it lacked no more than the ';' before that token */
  uint32_t reported;         /* number of syntax errors so far */
  uint32_t synced;           /* where parsing went on after the last one; UINT32_MAX: never */
} Parser;

NodeSeq *seq_add(Parser *p, NodeSeq *before, Node *node);     /* NULL nodes are left out */
NodeList seq_list(Parser *p, const NodeSeq *seq);
NameSeq *names_add(Parser *p, NameSeq *before, Name name);
NameList names_list(Parser *p, const NameSeq *seq);
/* `more` added to `attrs`; reports what is given twice. */
Attributes attributes_join(Parser *p, Attributes attrs, Attributes more);

/* 'noinline' at this place; also notes it as a sign of the release. */
InlineMark noinline_mark(Parser *p, Span at, const char *other);

/* For a declaration with this storage class; reports what may not stand beside noinline. */
Inlining function_inlining(Parser *p, Storage storage, InlineMark mark);
/* The section of a function; reports that a task has one. */
Node *function_section(Parser *p, bool is_task, Node *section);
/* As they are; with a body, those without a name are reported. */
const NodeSeq *function_parameters(Parser *p, const NodeSeq *params, Name function,
                                   const Node *body);
/* An empty statement as the body of a statement is an empty block. */
Node *body_or_empty(Parser *p, Node *stmt, Span span);
/* The node itself, a '&' or '^'; warns of a '|' or '^' before it that C would join later. */
Node *parser_look_at_bits(Parser *p, Node *n);
Node *color_decl(Parser *p, Span span, Name type, Name name);

/* The tokens of a file as the scanner makes them (stb_ds); what they point to lives in `arena`. */
Token *tokens_of(const SourceMap *sources, StrTable *names, Diags *diags, FileId file,
                 Arena *arena);

/* The parser has found out what the brace at `span` holds. */
void parser_mark_brace(Parser *p, Span span, BraceRole role);
/* After an error: sets the feed to the next place where a statement, prong or declaration can start
 * or where the enclosing braces close; false: the parser gives up. */
bool parser_resync(Parser *p);

/* The bracket that is open at token `i` and has no partner before it; UINT32_MAX: none.  Nothing
 * but braces stays open over the end of a statement. */
uint32_t parser_open_bracket(const Parser *p, uint32_t i);

/* ---- parse_words.c ----------------------------------------------------------------------- */

/* The token numbers of the grammar are below this. */
enum { KIND_LIMIT = 512 };

/* The token as it is written, shortened. */
const char *token_spelling(Parser *p, const Token *t);
/* "name 'x'", "the end of the file", ... */
const char *token_found(Parser *p, const Token *t);
/* The same where `expected`, a text of expected_words, was expected. */
const char *token_found_for(Parser *p, const Token *t, const char *expected);
/* Of `n` token numbers: "an expression", "';' or ')'", ...; NULL if there is nothing to say. */
const char *expected_words(Parser *p, const int *expected, size_t n);
bool is_expected(int kind, const int *expected, size_t n);

/* ---- parse_habits.c ---------------------------------------------------------------------- */

bool token_is_comparison(int kind);
/* Does nothing stand between the two? */
bool tokens_touch(const Token *a, const Token *b);
/* What to write in place of what others write so at `found`, which follows `before` (or NULL);
 * NULL: it is none of the known habits. */
const char *habit_help(Parser *p, const Token *before, const Token *found);
/* The word of another language that does not fit at `found`, and its help; NULL: none. */
const Token *habit_word(const Parser *p, const Token *before, const Token *found,
                        const char **help);
/* A note on a word that other languages have; false: none. */
bool habit_note_word(Parser *p, const Token *t);
/* The same, or on the keyword that the name is most like. */
bool habit_note_name(Parser *p, const Token *t);
/* `@bind_local_task(...);` outside of a block. */
bool habit_is_call_at_top(const Parser *p, const Token *found);

/* ---- parse_errors.c ---------------------------------------------------------------------- */

/* Printing stops at 20 errors; more than that many reports are not even made. */
enum { MAX_SYNTAX_ERRORS = 100 };

/* A syntax error at the token that was fed last; `expected` holds `n` token numbers. */
void parser_report(Parser *p, const int *expected, size_t n);
void parser_report_depth(Parser *p, Span span);

/* ---- parse_forms.c ----------------------------------------------------------------------- */

/* A note under the error at `found`, which follows `before` (or NULL) in the bracket at index
 * `open` (UINT32_MAX: in none): what is wrong with the two, or how the construct around them is
 * written.  wants_operator: an operator could stand at `found`. */
void parser_note_form(Parser *p, const Token *before, const Token *found, uint32_t open,
                      bool wants_operator);

/* ---- parse.y ----------------------------------------------------------------------------- */

/* A token's spelling, or what it is called in messages ("name", "string"). */
const char *token_name(int kind);
/* Keywords are the tokens first..last; their spelling is token_name. */
int token_keyword_first(void);
int token_keyword_last(void);
/* Parses the tokens into p->ast->decls. */
void parse_run(Parser *p);

#endif
