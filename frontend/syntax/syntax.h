/* The syntactic half of the front end: text in, syntax tree out, no name resolved.
 *
 * Reading order: files.c, nodes.def (the tree), lex.l, scan.c, braces.c, parse.y, parse_util.c,
 * parse_words.c, parse_habits.c, parse_forms.c, parse_errors.c, ast.c, ast_print.c, format.c. The
 * scanner makes an array of tokens, the brace check repairs it, and the parser builds the tree;
 * errors are in the Diags. */
#ifndef SYNTAX_H
#define SYNTAX_H

#include <assert.h>

#include "ir/base/base.h"

/* ---- ast.c: nodes ------------------------------------------------------------------------ */

typedef enum { STORAGE_NONE, STORAGE_EXPORT, STORAGE_EXTERN } Storage;
typedef enum { INLINING_FREE, INLINING_ALWAYS, INLINING_NEVER } Inlining;
typedef enum { VAR_CONST, VAR_VAR, VAR_PARAM } VarKind;
typedef enum { LAYOUT_AUTO, LAYOUT_EXTERN, LAYOUT_PACKED } StructLayout;

typedef enum {
#define BINARY_OP(name, spelling, level) BINARY_##name,
#include "frontend/syntax/nodes.def"
  BINARY_COUNT
} BinaryOp;

typedef enum {
#define UNARY_OP(name, spelling) UNARY_##name,
#include "frontend/syntax/nodes.def"
  UNARY_COUNT
} UnaryOp;

#define ASSIGN_PLAIN (-1)   /* NodeAssign.op of '='; else a BinaryOp */

typedef enum {
#define NODE(KIND, Struct, accessor, text, fields) ND_##KIND,
#include "frontend/syntax/nodes.def"
  ND_COUNT
} NodeKind;

/* The head of every node.  `index` is dense within the file (0 .. Ast.node_count-1), so that
 * later stages can keep side tables by node.  `height` bounds every recursion over the tree:
 * the parser refuses more than AST_MAX_HEIGHT. */
typedef struct {
  uint16_t kind;     /* NodeKind */
  uint16_t height;
  uint32_t index;
  Span span;
} Node;

#define AST_MAX_HEIGHT 1000

typedef struct { Node **at; uint32_t count; } NodeList;
typedef struct { StrId text; Span span; } Name;          /* text raw 0: absent */
typedef struct { Name *at; uint32_t count; } NameList;

static inline bool name_is_given(Name name) { return !str_is_none(name.text); }
static inline NodeKind node_kind(const Node *n) { return (NodeKind)n->kind; }

/* One struct per kind, `NodeBinary` for ND_BINARY ... */
#define FIELD_NODE(name) Node *name;
#define FIELD_OPT(name) Node *name;
#define FIELD_LIST(name) NodeList name;
#define FIELD_NAME(name) Name name;
#define FIELD_NAMES(name) NameList name;
#define FIELD_STR(name) StrId name;
#define FIELD_NUM(type, name) type name;
#define FIELD_FLOAT(name) double name;
#define FIELD_SPAN(name) Span name;
#define NODE(KIND, Struct, accessor, text, fields) \
  typedef struct { Node head; fields } Node##Struct;
#include "frontend/syntax/nodes.def"

/* ... and one accessor, `node_binary(n)`, which checks the kind. */
#define NODE(KIND, Struct, accessor, text, fields) \
  static inline const Node##Struct *node_##accessor(const Node *n) \
  { \
    assert(n->kind == ND_##KIND); \
    return (const Node##Struct *)(const void *)n; \
  }
#include "frontend/syntax/nodes.def"

const char *node_kind_name(NodeKind kind);          /* "binary operation" */
const char *binary_op_spelling(BinaryOp op);        /* "+", "and" */
const char *unary_op_spelling(UnaryOp op);
int binary_op_level(BinaryOp op);                   /* higher binds tighter */
static inline bool binary_op_is_comparison(BinaryOp op)
{
  return op >= BINARY_EQ && op <= BINARY_GE;
}

/* Calls `visit` for each child of `n` that is there, in source order. */
typedef void NodeVisit(void *context, Node *child);
void node_visit_children(const Node *n, NodeVisit *visit, void *context);

/* ---- parse_util.c: one file ----------------------------------------------------------------- */

/* Signs of a release: release.def. */
typedef enum {
#define SIGN(id, release, word, what) SIGN_##id,
#include "frontend/release.def"
  SIGN_COUNT
} SignId;

/* A parsed file.  Its nodes live in its own arena; it stays valid until ast_destroy. */
typedef struct {
  Arena *arena;
  FileId file;
  const StrTable *names;
  NodeList decls;        /* top-level nodes in source order */
  uint32_t node_count;
  bool has_errors;       /* syntax errors were reported; ND_BAD nodes may be in the tree */
  bool is_too_deep;      /* one of them: AST_MAX_HEIGHT was passed */
  Span signs[SIGN_COUNT];  /* words that show a release; off 0: not there */
} Ast;

/* Scans and parses one registered file.  Reports into `diags`; never returns NULL and never
 * fails on bad input: the tree then holds what could be understood. */
Ast *ast_parse(const SourceMap *sources, StrTable *names, Diags *diags, FileId file);
void ast_destroy(Ast *ast);

/* ---- files.c: the files of a program -------------------------------------------------------- */

typedef struct SourceFiles SourceFiles;
/* Text that stands for a file: standard input, or what an editor has not saved (an absolute path
 * without links). */
typedef struct { const char *path, *text; size_t length; } SourceOverlay;
typedef struct {
  const char *main_file;         /* imports may be next to it, too; NULL: there is none */
  const char *source_stdlib;     /* the standard library, unless it is installed next to cslc */
  const char *const *import_paths;
  size_t n_import_paths;
  const SourceOverlay *overlays;
  size_t n_overlays;
} FilePlaces;
/* The files read live in `arena`; CSL_STDLIB and CSL_IMPORT_PATH are honoured. */
SourceFiles *files_open(Arena *arena, SourceMap *sources, StrTable *names, Diags *diags,
                        const FilePlaces *places);
void files_close(SourceFiles *files);
/* The parsed file that `path` means in an import from `importer` (NULL: as on the command line):
 * absolute; "<lib>"; otherwise next to the importing file, next to the main file, then in the
 * import paths. Each file is read and parsed once. NULL after reporting at `at`. */
const Ast *files_import(SourceFiles *files, const char *path, const Ast *importer, Span at);
bool files_has_library(SourceFiles *files, const char *name);
/* The tree of a file that was imported; NULL: there is none. */
const Ast *files_parsed(const SourceFiles *files, FileId file);
/* Source files have the ids 1 to this one. */
uint32_t files_last(const SourceFiles *files);
/* Is it part of the standard library? */
bool files_is_standard(const SourceFiles *files, FileId file);
/* Its path; a file of the standard library by its name in imports, wherever that is installed. */
const char *files_name(const SourceFiles *files, FileId file);
/* Where the program's own files have words that show a release, by SignId; off 0: nowhere. */
const Span *files_signs(const SourceFiles *files);

/* ---- ast_print.c, ast.c ------------------------------------------------------------------ */

/* Canonical CSL: parses to the same tree (spans apart). */
void ast_print(const Ast *ast, FILE *out);
/* Every field that makes the tree's identity, one node per line: two trees are equal exactly if
 * their dumps are. */
void ast_dump(const Ast *ast, FILE *out);

/* ---- format.c, parse.y, parse_util.c ----------------------------------------------------- */

/* The text of a file without syntax errors in the project's layout: the same tokens and comments in
 * the same lines, with other white space.  From malloc. */
char *source_format(const Ast *ast, const SourceMap *sources, StrTable *names, size_t *length);

/* The keywords of the language. */
const char *const *syntax_keywords(uint32_t *n);

/* One token per line: `line:column kind text`, as cslc --emit=tokens shows them.  Reports the
 * scanner's errors. */
void tokens_print(const SourceMap *sources, StrTable *names, Diags *diags, FileId file, FILE *out);

#endif
