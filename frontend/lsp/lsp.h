/* csl-ls: a language server over the compiler's own front end.
 *
 * Reading order: text.c, facts.c, names.c, project.c, profile.c, unused.c, analysis.c, answer_*.c,
 * serve.c, client.c, server.c, csl_ls_main.c.
 *
 * The server itself only keeps the texts of open files and speaks the protocol. For each program it
 * forks a process that checks the program once, sends its messages, and then answers questions
 * about it until a file of it changes. So a question never waits for a second compilation, no state
 * outlives a text, and a crash of the compiler costs one answer. */
#ifndef FRONTEND_LSP_H
#define FRONTEND_LSP_H

#include <jansson.h>

#include "frontend/driver/driver.h"

/* ---- text.c: positions and paths ----------------------------------------------------------- */

bool is_word_byte(char c);
/* Positions of the protocol count lines from 0 and UTF-16 units. */
size_t text_offset_of(const char *text, size_t length, const json_t *position);
json_t *span_range(const SourceMap *sources, Span span);
/* The text after a change of the protocol; malloc. */
char *text_after_change(char *text, const json_t *change);
/* file:// URIs; malloc. NULL: another scheme. */
char *uri_path(const char *uri);
char *path_uri(const char *path);
/* An absolute path without links where it exists; malloc. */
char *path_resolved(const char *folder, const char *path);
char *path_folder(const char *path);        /* malloc; without the slash at its end */

/* ---- facts.c: what the evaluator found out ------------------------------------------------- */

typedef struct {
  Span at;
  uint16_t kind;           /* NodeKind; ND_COUNT: the name of a declaration */
  PoolId type, value;      /* value none: it is not known at compile time */
  FileId module;           /* of an imported module */
  bool has_types, has_values, has_modules;      /* more than one */
} Fact;
typedef struct { uint64_t key; Fact value; } FactMap;
/* About the name of a field: the type that has it; none: a literal without a type. */
typedef struct { PoolId owner; bool has_owners; } FieldFact;   /* more than one */
typedef struct { uint64_t key; FieldFact value; } FieldMap;
typedef struct { FactMap *by_place; FieldMap *fields; } Facts;
/* The functions of a SemaListener; data: Facts *. */
void facts_note_expression(void *data, Sema *s, const Node *n, Span at, const Operand *o);
void facts_note_field(void *data, Span name, PoolId owner);
const Fact *facts_at(Facts *facts, Span at);
const FieldFact *facts_field_at(Facts *facts, Span name);   /* NULL: no tile runs the code */
/* The longest operand that ends there; NULL: none. */
const Fact *facts_ending(const Facts *facts, uint32_t end);
void facts_free(Facts *facts);
/* The type, and the value if one is known and short; NULL: none. */
const char *fact_type_text(const Session *s, Arena *arena, const Fact *fact);
const char *fact_value_text(const Session *s, Arena *arena, const Fact *fact);

/* ---- names.c: which declaration a name means ----------------------------------------------- */

typedef enum {
  SYMBOL_CONST, SYMBOL_VAR, SYMBOL_PARAM, SYMBOL_FN, SYMBOL_TASK, SYMBOL_LOCAL, SYMBOL_ARGUMENT,
  SYMBOL_MODULE, SYMBOL_MEMBER, SYMBOL_LABEL
} SymbolKind;
typedef struct {
  SymbolKind kind;
  StrId name;
  Span at;                 /* the name */
  Span visible;            /* where the name means this; len 0: in the whole file */
  FileId file;
  const Node *node;        /* ND_VAR_DECL, ND_FN_DECL ... or NULL */
  uint32_t owner;          /* members: where their enum or struct type starts */
  bool is_exported;        /* by the word `export` */
} NameSymbol;
typedef struct { Span at; uint32_t symbol; } NameUse;
/* The name of a field in an expression or a literal, or of a member of a module that a parameter or
 * a struct has; only the type or value of what stands before the dot, `base`, says which one. */
typedef struct { Span at; StrId name; FileId file; Span base; } FieldName;
typedef struct { uint32_t key, value; } MemberMap;
/* By the rules of scopes alone, so also in code that no tile runs and in texts with errors. */
typedef struct {
  Session *session;
  NameSymbol *symbols;     /* stb_ds */
  NameUse *uses;           /* stb_ds; the declarations' own names are there, too; by place */
  FieldName *field_names;  /* stb_ds */
  MemberMap *members;      /* by NameSymbol.owner: the first member */
  bool *is_read;           /* stb_ds, by FileId.raw */
  uint32_t *modules;       /* stb_ds: FileId.raw of the files that are imported */
  uint32_t *exporting;     /* stb_ds: the uses that are the only argument of @export_symbol */
  bool has_unknown_import;
} Names;
/* Reads the file and the files that it imports. */
void names_read_file(Names *names, const Ast *ast);
/* Adds uses that the evaluator has seen: of fields, and of members of modules. */
void names_use_fields(Names *names, Facts *facts);
/* Is it a member of a module? */
bool names_is_of_module(const FieldName *field, Facts *facts);
void names_sort(Names *names);
void names_free(Names *names);
/* The use of a name at the offset; NULL: none. */
const NameUse *names_use_at(const Names *names, uint32_t off);
/* The symbol of the file that is visible at the offset under the name; NULL: none. */
const NameSymbol *names_visible(const Names *names, FileId file, StrId name, uint32_t off);
/* Does @export_symbol take the name of the export from this use? */
bool names_is_exporting(const Names *names, Span use);
/* May other files use the globals of this one? */
bool names_is_module(const Names *names, FileId file);
/* The file that a symbol of kind SYMBOL_MODULE imports; NULL: not known. */
const Ast *names_module_of(const Names *names, const NameSymbol *symbol);

/* ---- project.c: which programs a file belongs to ------------------------------------------- */

typedef struct {
  char *folder;            /* where cslc is called */
  char *profile;           /* of the last run, from `folder`; NULL: profile.json */
  char **argv;             /* stb_ds: the arguments of cslc, without the output */
} ProgramCall;
/* The calls of cslc in the csl.json or commands*.sh of the file's folder or one above, or of
 * layout.csl beside the file; stb_ds.  *mistakes gets, by path, what is wrong in each csl.json that
 * was read: a list of messages of the protocol, empty if nothing is. */
ProgramCall *project_calls(const char *path, json_t *mistakes);
ProgramCall project_alone(const char *path);
void project_call_free(ProgramCall *call);

/* ---- analysis.c: one program, in a process of its own -------------------------------------- */

typedef struct {
  const ProgramCall *call;
  const char *stdlib;
  const SourceOverlay *overlays;   /* stb_ds: the open files */
  char **options_argv;     /* stb_ds; options point into it */
  Arena *arena;
  SourceMap *sources;
  Options options;
  CheckedProgram *program;
  Session *session;
  Facts facts;
  Names names;
  bool is_whole;           /* a program with a layout, not one file alone */
  json_t *messages;        /* of the protocol's Diagnostic by path, with their fixes as `data` */
} LspAnalysis;
/* Checks the program with `overlays`; false: the arguments of cslc are wrong. */
bool analysis_run(LspAnalysis *a, const ProgramCall *call, const SourceOverlay *overlays,
                  const char *stdlib);
void analysis_free(LspAnalysis *a);
/* The tree of an open file, which the program need not import; NULL: none. */
const Ast *analysis_file(LspAnalysis *a, const char *path);
char *analysis_path(const LspAnalysis *a, FileId file);       /* malloc */
json_t *analysis_location(const LspAnalysis *a, Span at);
bool ast_declares(const Ast *ast, NodeKind kind);             /* at the top of the file */
const char *analysis_text(const LspAnalysis *a, const Ast *ast, size_t *length);

/* The list of messages about a file, to which more may be added. */
json_t *analysis_messages(LspAnalysis *a, const char *path);

/* ---- profile.c: cycles of the last run ------------------------------------------------------- */

typedef struct { uint32_t line; uint64_t cycles; } LineCycles;   /* over all tiles */
/* The lines of the file that took cycles; stb_ds. `all`: the cycles of all files. */
LineCycles *profile_of_file(const LspAnalysis *a, const char *path, uint64_t *all);
/* Where the program has it; malloc. */
char *profile_path(const ProgramCall *call);
/* "136 cycles, 42.0 %" */
const char *profile_text(Arena *arena, uint64_t cycles, uint64_t all);

/* ---- unused.c ------------------------------------------------------------------------------ */

/* Adds hints for declarations that nothing uses to the messages. */
void unused_report(LspAnalysis *a);

/* ---- answer_*.c, text.c: questions of the protocol --------------------------------------- */

/* What a question is about. */
typedef struct {
  LspAnalysis *a;
  const json_t *params;
  const char *path;
  const Ast *ast;          /* of the file */
  const char *text;
  size_t length;
  uint32_t base;           /* of the file */
  uint32_t off;            /* of the position, if the question has one */
} Question;
typedef json_t *Answer(const Question *q);      /* NULL: null */
json_t *answer_hover(const Question *q);
json_t *answer_definition(const Question *q);
json_t *answer_references(const Question *q);
json_t *answer_highlight(const Question *q);
json_t *answer_prepare_rename(const Question *q);
/* For the server: {"changes", "declaration": Location, "isNameOfHost", "field": its name or null},
 * of this program, or {"error"}. */
json_t *answer_rename(const Question *q);
/* For the server: {"error"} if the program does not stay the same with {"changes", "field"}. */
json_t *answer_check_rename(const Question *q);
json_t *answer_completion(const Question *q);
json_t *answer_signature(const Question *q);
json_t *answer_tokens(const Question *q);
json_t *answer_outline(const Question *q);
json_t *answer_folding(const Question *q);
json_t *answer_format(const Question *q);
json_t *answer_hints(const Question *q);
json_t *answer_fixes(const Question *q);
json_t *answer_workspace(const Question *q);
const NameSymbol *question_symbol(const Question *q, const NameUse *use);      /* NULL of NULL */
/* The comment above a declaration or behind it; NULL: none. */
const char *comment_of(const LspAnalysis *a, Arena *arena, const NameSymbol *symbol);
const char *declaration_text(const LspAnalysis *a, Arena *arena, const NameSymbol *symbol);
/* CompletionItemKind of the protocol. */
enum { ITEM_FUNCTION = 3, ITEM_FIELD = 5, ITEM_VARIABLE = 6, ITEM_MODULE = 9, ITEM_KEYWORD = 14,
       ITEM_ENUM_MEMBER = 20, ITEM_CONSTANT = 21, ITEM_TYPE = 22 };
/* detail, text: NULL: none */
json_t *completion_item(const char *label, int kind, const char *detail, const char *text);
json_t *completion_symbol(const Question *q, LspAnalysis *a, const NameSymbol *symbol);
/* The fields that the struct around the dot may have. */
json_t *complete_fields(const Question *q, size_t dot);
/* What the setting of a builtin behind the dot is; NULL: it is none. */
const char *setting_text(const Question *q, size_t dot, const char *name);
/* The names of semantic tokens, in the order of their numbers. */
json_t *token_types(void);

/* ---- serve.c: a child of the server -------------------------------------------------------- */

/* {"files": [...], "messages": {...}}: what the program has read, and Diagnostics by path. */
json_t *analysis_result(const LspAnalysis *a);
/* The answer to {"method", "params", "path"}, a request of the protocol about a file. */
json_t *analysis_answer(LspAnalysis *a, const json_t *request);
/* Checks the program, writes its result, then an answer for each question that it reads, until
 * there are no more; does not return. */
void analysis_serve(const ProgramCall *call, const SourceOverlay *overlays, const char *stdlib,
                    int in, int out);

/* ---- client.c: messages to the client and from it -------------------------------------------- */

/* Errors of JSON-RPC and of the protocol. */
typedef enum {
  ERROR_PARSE = -32700, ERROR_REQUEST = -32600, ERROR_METHOD = -32601,
  ERROR_NOT_INITIALISED = -32002, ERROR_FAILED = -32803,
} ClientError;
typedef struct {
  int in, out;
  char *input;             /* stb_ds: what came and is no whole message yet */
  bool is_gone;
  bool refreshes_hints, refreshes_tokens, watches_files;      /* if it is asked to */
  unsigned n_requests;
} Client;
void client_send_result(Client *client, const json_t *id, json_t *result);      /* NULL: null */
void client_send_error(Client *client, const json_t *id, ClientError code, const char *text);
void client_notify(Client *client, const char *method, json_t *params);
/* From the parameters of `initialize`. */
void client_read_abilities(Client *client, const json_t *initialize);
/* Asks the client to ask again for what it shows beside texts. */
void client_refresh(Client *client);
/* Asks the client to say when files change. */
void client_watch_files(Client *client);
typedef void ClientMessage(void *context, const char *text, size_t length);
/* Reads what is there, and calls `take` for each message that is whole. */
void client_take_input(Client *client, ClientMessage *take, void *context);

/* ---- server.c: the protocol ---------------------------------------------------------------- */

/* Until `exit` or the end of the input; the exit code. */
int server_run(int in, int out, const char *stdlib);

#endif
