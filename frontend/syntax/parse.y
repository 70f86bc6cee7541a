/* The grammar of the whole language.  Actions build nodes and do nothing else.
 *
 * Three things keep it LALR(1):
 *   - constructs that end in a block (if, switch, blocks) are operands of no operator, so a
 *     statement that starts with one never continues as an expression (use parentheses);
 *   - `type_expr` holds no literal T{...} outside brackets, so the result type of a function
 *     ends before its body, and [2]T{...} is a literal of type [2]T;
 *   - types in declarations are `type`, which no plain block can start.
 *
 * Error recovery: statements, switch prongs and declarations may be `error resync`, where
 * parser_resync chooses the token at which parsing goes on. */

%define api.pure full
%define api.prefix {csl_}
%define api.token.prefix {TK_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param { Parser *p }

%code requires {
#include "frontend/syntax/parse_internal.h"
}

%code {
#define YYMAXDEPTH 20000

/* Parts that are empty have no place of their own and must not widen the whole. */
#define YYLLOC_DEFAULT(whole, rhs, n) ((whole) = join_places(&YYRHSLOC(rhs, 0), (n)))

/* A node of kind KIND over `span`, its fields given as designated initialisers. */
#define MAKE(KIND, Struct, span, ...) \
  ast_add(p->ast, p->diags, ND_##KIND, (span), \
          &((Node##Struct){.head = {0}, __VA_ARGS__}).head, sizeof(Node##Struct))
#define BINARY(at, name, where, l, r) \
  MAKE(BINARY, Binary, at, .op = BINARY_##name, .op_span = where, .left = l, .right = r)
#define BITS(at, name, where, l, r) parser_look_at_bits(p, BINARY(at, name, where, l, r))
#define UNARY(at, name, where, x) \
  MAKE(UNARY, Unary, at, .op = UNARY_##name, .op_span = where, .operand = x)
#define LIST(seq) seq_list(p, seq)
#define FN(place, task, storage_, inline_, name_, params_, result_, body_) \
  MAKE(FN_DECL, FnDecl, place, .storage = storage_, \
       .inlining = function_inlining(p, storage_, inline_), .is_task = task, \
       .name = name_, .params = LIST(function_parameters(p, params_, name_, body_)), \
       .result = (result_).type, \
       .align = (result_).attrs.align, \
       .linksection = function_section(p, task, (result_).attrs.linksection), \
       .linkname = (result_).attrs.linkname, .body = body_, \
       .header = span_join((Span){(place).off, 0}, (result_).type->span))
#define NO_NAME ((Name){{0}, {0, 0}})
#define BAD(at) MAKE(BAD, Bad, at)

static Span join_places(const Span *places, int n);
static int csl_lex(CSL_STYPE *value, Span *place, Parser *p);
static void csl_error(const Span *place, Parser *p, const char *message);
}

%union {
  StrId str;
  uint32_t character;
  const IntLiteral *integer;
  const FloatLiteral *real;
  Node *node;
  NodeSeq *seq;
  NameSeq *names;
  Name name;
  Attributes attrs;
  Result result;
  Storage storage;
  InlineMark inlining;
  StructLayout layout;
  VarKind var_kind;
  int op;
  bool flag;
}

/* Keywords: the scanner takes the list and the spellings from here. */
%token
  CONST "const" VAR "var" PARAM "param" COMPTIME "comptime" FN "fn" TASK "task"
  LAYOUT "layout" INLINE "inline" NOINLINE "noinline" RETURN "return" BREAK "break"
  CONTINUE "continue"
  IF "if" ELSE "else" SWITCH "switch" WHILE "while" FOR "for" AND "and" OR "or"
  STRUCT "struct" UNION "union" ENUM "enum" PACKED "packed" EXTERN "extern" EXPORT "export"
  LINKNAME "linkname" LINKSECTION "linksection" ALIGN "align" ASM "asm" VOLATILE "volatile"
  ANYTYPE "anytype" ANYOPAQUE "anyopaque" TRUE "true" FALSE "false"

%token END 0 "end of file"
%token <str> IDENT "name" BUILTIN "builtin" STRING "string"
%token <integer> INT "integer"
%token <real> FLOAT "float"
%token <character> CHAR "character"
%token
  SHL "<<" SHR ">>" EQ "==" NE "!=" LE "<=" GE ">=" ARROW "->" FAT_ARROW "=>" DEREF ".*"
  ADD_ASSIGN "+=" SUB_ASSIGN "-=" MUL_ASSIGN "*=" DIV_ASSIGN "/=" REM_ASSIGN "%="
  SHL_ASSIGN "<<=" SHR_ASSIGN ">>=" AND_ASSIGN "&=" OR_ASSIGN "|=" XOR_ASSIGN "^="
/* Never grammatical: the scanner has said what is wrong with it. */
%token FOREIGN "foreign operator"

/* Low to high.  A branch without else takes the next else there is. */
%precedence NO_ELSE
%precedence "else"
%left "or"
%left "and"
%nonassoc "==" "!=" '<' "<=" '>' ">="
%left '&' '^' '|'
%left "<<" ">>"
%left '+' '-'
%left '*' '/' '%'
%precedence PREFIX

%type <node> decl var_decl fn_decl local_var param param_type type type_expr field enum_member
%type <node> block stmt loop simple assign jump if_expr switch prong prong_body labelled_block
%type <node> expr binary value literal suffix primary tensor_access tensor_target field_init
%type <node> asm asm_text asm_operand asm_clobber
%type <node> opt_type opt_init opt_step opt_tag opt_value fn_body
%type <seq> decls stmts params params_some exprs args prongs fields fields_some
%type <seq> enum_members enum_members_some field_inits
%type <seq> asm_operands asm_operands_some asm_clobbers asm_clobbers_some
%type <names> capture_names
%type <name> name opt_label label opt_index
%type <attrs> attrs attr
%type <result> result task_result
%type <storage> storage
%type <inlining> inlining
%type <layout> struct_layout
%type <var_kind> var_kind local_kind
%type <op> assign_op
%type <flag> opt_inline fn_or_task opt_volatile struct_or_union opt_const

%%

file
  : %empty
  | decls                     { p->ast->decls = LIST($decls); }
  ;

/* ---- declarations ---------------------------------------------------------------------- */

decls
  : decl                      { $$ = seq_add(p, NULL, $decl); }
  | decls[before] decl        { $$ = seq_add(p, $before, $decl); }
  ;

decl
  : var_decl
  | fn_decl
  | "comptime" block          { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $block); }
  | "layout" block            { $$ = MAKE(LAYOUT, Layout, @$, .body = $block); }
  | name[type] name[id] ';'   { $$ = color_decl(p, @$, $type, $id); }
  | ';'                       { $$ = NULL; }
  | error resync              { $$ = BAD(@error); }
  ;

resync
  : %empty
    {
      if (!parser_resync(p))
        YYABORT;
      yyclearin;
      yyerrok;
    }
  ;

var_decl
  : storage var_kind name opt_type attrs opt_init ';'
    {
      $$ = MAKE(VAR_DECL, VarDecl, @$, .storage = $storage, .var_kind = $var_kind, .name = $name,
                .type = $opt_type, .align = $attrs.align, .linksection = $attrs.linksection,
                .linkname = $attrs.linkname, .init = $opt_init);
    }
  ;

storage
  : %empty                    { $$ = STORAGE_NONE; }
  | "export"                  { $$ = STORAGE_EXPORT; }
  | "extern"                  { $$ = STORAGE_EXTERN; }
  ;

var_kind
  : local_kind
  | "param"                   { $$ = VAR_PARAM; }
  ;

local_kind
  : "const"                   { $$ = VAR_CONST; }
  | "var"                     { $$ = VAR_VAR; }
  ;

opt_type
  : %empty                    { $$ = NULL; }
  | ':' type                  { $$ = $type; }
  ;

opt_init
  : %empty                    { $$ = NULL; }
  | '=' expr                  { $$ = $expr; }
  ;

attrs
  : %empty                    { $$ = (Attributes){NULL, NULL, NULL}; }
  | attrs[before] attr        { $$ = attributes_join(p, $before, $attr); }
  ;

attr
  : "align" '(' expr ')'        { $$ = (Attributes){.align = $expr}; }
  | "linksection" '(' expr ')'  { $$ = (Attributes){.linksection = $expr}; }
  | "linkname" '(' expr ')'     { $$ = (Attributes){.linkname = $expr}; }
  ;

fn_decl
  : storage inlining "fn" name '(' params ')' result fn_body
    { $$ = FN(@$, false, $storage, $inlining, $name, $params, $result, $fn_body); }
  | storage inlining "task" name '(' params ')'[close] task_result[result] fn_body
    {
      if ($result.type == NULL)
        $result.type = MAKE(IDENT, Ident, @close, .name = str_intern_z(p->names, "void"));
      $$ = FN(@$, true, $storage, $inlining, $name, $params, $result, $fn_body);
    }
  ;

result
  : attrs[before] type_expr attrs[after]
    { $$ = (Result){$type_expr, attributes_join(p, $before, $after)}; }
  ;

/* Tasks return nothing and need not say so (SDK docs, conceptual view). */
task_result
  : result
  | attrs                     { $$ = (Result){NULL, $attrs}; }
  ;

fn_body
  : block
  | ';'                       { $$ = NULL; }
  ;

inlining
  : %empty                    { $$ = (InlineMark){.inlining = INLINING_FREE}; }
  | "inline"                  { $$ = (InlineMark){.inlining = INLINING_ALWAYS}; }
  | "noinline"                { $$ = noinline_mark(p, @1, NULL); }
  | "noinline" "inline"       { $$ = noinline_mark(p, @1, "inline"); }
  | "inline" "noinline"       { $$ = noinline_mark(p, @2, "inline"); }
  | "noinline" "export"       { $$ = noinline_mark(p, @1, "export"); }
  | "noinline" "extern"       { $$ = noinline_mark(p, @1, "extern"); }
  ;

opt_inline
  : %empty                    { $$ = false; }
  | "inline"                  { $$ = true; }
  ;

fn_or_task
  : "fn"                      { $$ = false; }
  | "task"                    { $$ = true; }
  ;

params
  : %empty                    { $$ = NULL; }
  | params_some opt_comma     { $$ = $params_some; }
  ;

params_some
  : param                             { $$ = seq_add(p, NULL, $param); }
  | params_some[before] ',' param     { $$ = seq_add(p, $before, $param); }
  ;

param
  : name ':' param_type[type]
    { $$ = MAKE(PARAM, Param, @$, .name = $name, .type = $type); }
  | "comptime" name ':' param_type[type]
    { $$ = MAKE(PARAM, Param, @$, .is_comptime = true, .name = $name, .type = $type); }
  | param_type[type]
    { $$ = MAKE(PARAM, Param, @$, .type = $type); }
  ;

param_type
  : type
  | "anytype"                 { $$ = MAKE(ANYTYPE, Anytype, @$); }
  ;

opt_comma
  : %empty
  | ','
  ;

name
  : IDENT                     { $$ = (Name){$IDENT, @$}; }
  ;

/* ---- statements ------------------------------------------------------------------------ */

block
  : block_open '}'
    { $$ = MAKE(BLOCK, Block, @$, .label = NO_NAME); }
  | block_open stmts '}'
    { $$ = MAKE(BLOCK, Block, @$, .label = NO_NAME, .stmts = LIST($stmts)); }
  ;

block_open
  : '{'                       { parser_mark_brace(p, @$, BRACE_BLOCK); }
  ;

stmts
  : stmt                      { $$ = seq_add(p, NULL, $stmt); }
  | stmts[before] stmt        { $$ = seq_add(p, $before, $stmt); }
  ;

stmt
  : local_var
  | simple ';'                { $$ = $simple; }
  | block
  | labelled_block
  | "comptime" block          { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $block); }
  | loop
  | switch
  | "if" '(' expr ')' stmt[then]                   %prec NO_ELSE
    {
      $$ = MAKE(IF, If, @$, .cond = $expr, .then_part = body_or_empty(p, $then, @then));
    }
  | "if" '(' expr ')' stmt[then] "else" stmt[other]
    {
      $$ = MAKE(IF, If, @$, .cond = $expr, .then_part = body_or_empty(p, $then, @then),
                .else_part = body_or_empty(p, $other, @other));
    }
  | "if" '(' expr ')' simple "else" stmt[other]
    {
      $$ = MAKE(IF, If, @$, .cond = $expr, .then_part = $simple,
                .else_part = body_or_empty(p, $other, @other));
    }
  | "if" '(' expr ')' jump "else" stmt[other]
    {
      $$ = MAKE(IF, If, @$, .cond = $expr, .then_part = $jump,
                .else_part = body_or_empty(p, $other, @other));
    }
  | jump ';'                  { $$ = $jump; }
  | ';'                       { $$ = NULL; }
  | error resync              { $$ = BAD(@error); }
  ;

jump
  : "return" opt_value        { $$ = MAKE(RETURN, Return, @$, .value = $opt_value); }
  | "break" opt_label opt_value
    { $$ = MAKE(BREAK, Break, @$, .label = $opt_label, .value = $opt_value); }
  | "continue" opt_label      { $$ = MAKE(CONTINUE, Continue, @$, .label = $opt_label); }
  ;

opt_label
  : %empty                    { $$ = NO_NAME; }
  | ':' name                  { $$ = $name; }
  ;

opt_value
  : %empty                    { $$ = NULL; }
  | expr
  ;

local_var
  : local_kind name opt_type attrs opt_init ';'
    {
      $$ = MAKE(VAR_DECL, VarDecl, @$, .var_kind = $local_kind, .name = $name, .type = $opt_type,
                .align = $attrs.align, .linksection = $attrs.linksection,
                .linkname = $attrs.linkname, .init = $opt_init);
    }
  | "comptime" local_kind name opt_type attrs opt_init ';'
    {
      $$ = MAKE(VAR_DECL, VarDecl, @$, .is_comptime = true, .var_kind = $local_kind,
                .name = $name, .type = $opt_type, .align = $attrs.align,
                .linksection = $attrs.linksection, .linkname = $attrs.linkname,
                .init = $opt_init);
    }
  ;

label
  : name ':'                  { $$ = $name; }
  ;

labelled_block
  : label block_open '}'
    { $$ = MAKE(BLOCK, Block, @$, .label = $label); }
  | label block_open stmts '}'
    { $$ = MAKE(BLOCK, Block, @$, .label = $label, .stmts = LIST($stmts)); }
  ;

loop
  : opt_inline "for" '(' expr ')' '|' name opt_index '|' stmt
    {
      $$ = MAKE(FOR, For, @$, .label = NO_NAME, .is_inline = $opt_inline, .iterable = $expr,
                .item = $name, .index = $opt_index, .body = body_or_empty(p, $stmt, @stmt));
    }
  | label opt_inline "for" '(' expr ')' '|' name opt_index '|' stmt
    {
      $$ = MAKE(FOR, For, @$, .label = $label, .is_inline = $opt_inline, .iterable = $expr,
                .item = $name, .index = $opt_index, .body = body_or_empty(p, $stmt, @stmt));
    }
  | opt_inline "while" '(' expr ')' opt_step stmt
    {
      $$ = MAKE(WHILE, While, @$, .label = NO_NAME, .is_inline = $opt_inline, .cond = $expr,
                .step = $opt_step, .body = body_or_empty(p, $stmt, @stmt));
    }
  | label opt_inline "while" '(' expr ')' opt_step stmt
    {
      $$ = MAKE(WHILE, While, @$, .label = $label, .is_inline = $opt_inline, .cond = $expr,
                .step = $opt_step, .body = body_or_empty(p, $stmt, @stmt));
    }
  ;

opt_index
  : %empty                    { $$ = NO_NAME; }
  | ',' name                  { $$ = $name; }
  ;

opt_step
  : %empty                    { $$ = NULL; }
  | ':' '(' simple ')'        { $$ = $simple; }
  ;

simple
  : binary
  | assign
  ;

assign
  : binary assign_op expr
    {
      $$ = MAKE(ASSIGN, Assign, @$, .op = $assign_op, .op_span = @assign_op, .target = $binary,
                .value = $expr);
    }
  ;

assign_op
  : '='                       { $$ = ASSIGN_PLAIN; }
  | "+="                      { $$ = BINARY_ADD; }
  | "-="                      { $$ = BINARY_SUB; }
  | "*="                      { $$ = BINARY_MUL; }
  | "/="                      { $$ = BINARY_DIV; }
  | "%="                      { $$ = BINARY_REM; }
  | "<<="                     { $$ = BINARY_SHL; }
  | ">>="                     { $$ = BINARY_SHR; }
  | "&="                      { $$ = BINARY_AND; }
  | "|="                      { $$ = BINARY_OR; }
  | "^="                      { $$ = BINARY_XOR; }
  ;

switch
  : "switch" '(' expr ')' prongs_open prongs opt_comma '}'
    { $$ = MAKE(SWITCH, Switch, @$, .subject = $expr, .prongs = LIST($prongs)); }
  ;

prongs_open
  : '{'                       { parser_mark_brace(p, @$, BRACE_PRONGS); }
  ;

prongs
  : prong                         { $$ = seq_add(p, NULL, $prong); }
  | prongs[before] ',' prong      { $$ = seq_add(p, $before, $prong); }
  ;

prong
  : exprs "=>" prong_body
    { $$ = MAKE(PRONG, Prong, @$, .labels = LIST($exprs), .body = $prong_body); }
  | "else" "=>" prong_body
    { $$ = MAKE(PRONG, Prong, @$, .is_else = true, .body = $prong_body); }
  | error resync              { $$ = BAD(@error); }
  ;

prong_body
  : expr
  | assign
  | jump                      /* as in a block of its own */
    { $$ = MAKE(BLOCK, Block, @$, .label = NO_NAME, .stmts = LIST(seq_add(p, NULL, $jump))); }
  ;

/* ---- expressions ----------------------------------------------------------------------- */

expr
  : binary
  | block
  | labelled_block
  | if_expr
  | switch
  | "comptime" block          { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $block); }
  | "comptime" labelled_block { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $2); }
  | "comptime" if_expr        { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $if_expr); }
  | "comptime" switch         { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $2); }
  | tensor_access
  ;

if_expr
  : "if" '(' expr[cond] ')' expr[then]                   %prec NO_ELSE
    { $$ = MAKE(IF, If, @$, .cond = $cond, .then_part = $then); }
  | "if" '(' expr[cond] ')' expr[then] "else" expr[other]
    { $$ = MAKE(IF, If, @$, .cond = $cond, .then_part = $then, .else_part = $other); }
  ;

/* At least one, and a trailing comma where the caller takes one. */
exprs
  : expr                      { $$ = seq_add(p, NULL, $expr); }
  | exprs[before] ',' expr    { $$ = seq_add(p, $before, $expr); }
  ;

args
  : %empty                    { $$ = NULL; }
  | exprs opt_comma           { $$ = $exprs; }
  ;

binary
  : value
  | '-' binary[x]               %prec PREFIX { $$ = UNARY(@$, NEGATE, @1, $x); }
  | '!' binary[x]               %prec PREFIX { $$ = UNARY(@$, NOT, @1, $x); }
  | '~' binary[x]               %prec PREFIX { $$ = UNARY(@$, COMPLEMENT, @1, $x); }
  | '&' binary[x]               %prec PREFIX { $$ = UNARY(@$, ADDRESS_OF, @1, $x); }
  | "comptime" binary[x]        %prec PREFIX { $$ = MAKE(COMPTIME, Comptime, @$, .operand = $x); }
  | binary[l] '*' binary[r]     { $$ = BINARY(@$, MUL, @2, $l, $r); }
  | binary[l] '/' binary[r]     { $$ = BINARY(@$, DIV, @2, $l, $r); }
  | binary[l] '%' binary[r]     { $$ = BINARY(@$, REM, @2, $l, $r); }
  | binary[l] '+' binary[r]     { $$ = BINARY(@$, ADD, @2, $l, $r); }
  | binary[l] '-' binary[r]     { $$ = BINARY(@$, SUB, @2, $l, $r); }
  | binary[l] "<<" binary[r]    { $$ = BINARY(@$, SHL, @2, $l, $r); }
  | binary[l] ">>" binary[r]    { $$ = BINARY(@$, SHR, @2, $l, $r); }
  | binary[l] '&' binary[r]     { $$ = BITS(@$, AND, @2, $l, $r); }
  | binary[l] '^' binary[r]     { $$ = BITS(@$, XOR, @2, $l, $r); }
  | binary[l] '|' binary[r]     { $$ = BINARY(@$, OR, @2, $l, $r); }
  | binary[l] "==" binary[r]    { $$ = BINARY(@$, EQ, @2, $l, $r); }
  | binary[l] "!=" binary[r]    { $$ = BINARY(@$, NE, @2, $l, $r); }
  | binary[l] '<' binary[r]     { $$ = BINARY(@$, LT, @2, $l, $r); }
  | binary[l] "<=" binary[r]    { $$ = BINARY(@$, LE, @2, $l, $r); }
  | binary[l] '>' binary[r]     { $$ = BINARY(@$, GT, @2, $l, $r); }
  | binary[l] ">=" binary[r]    { $$ = BINARY(@$, GE, @2, $l, $r); }
  | binary[l] "and" binary[r]   { $$ = BINARY(@$, LOGICAL_AND, @2, $l, $r); }
  | binary[l] "or" binary[r]    { $$ = BINARY(@$, LOGICAL_OR, @2, $l, $r); }
  ;

value
  : type_expr
  | literal
  ;

literal
  : type_expr '{' '}'
    { $$ = MAKE(STRUCT_INIT, StructInit, @$, .type = $type_expr); }
  | type_expr '{' field_inits opt_comma '}'
    {
      $$ = MAKE(STRUCT_INIT, StructInit, @$, .type = $type_expr, .fields = LIST($field_inits));
    }
  | type_expr '{' exprs opt_comma '}'
    { $$ = MAKE(LIST_INIT, ListInit, @$, .type = $type_expr, .items = LIST($exprs)); }
  | literal[x] '(' args ')'
    { $$ = MAKE(CALL, Call, @$, .callee = $x, .args = LIST($args)); }
  | literal[x] '[' exprs ']'
    { $$ = MAKE(INDEX, Index, @$, .base_expr = $x, .indices = LIST($exprs)); }
  | literal[x] '.' name
    { $$ = MAKE(MEMBER, Member, @$, .base_expr = $x, .name = $name); }
  | literal[x] ".*"
    { $$ = MAKE(DEREF, Deref, @$, .pointer = $x); }
  ;

suffix
  : primary
  | suffix[x] '(' args ')'
    { $$ = MAKE(CALL, Call, @$, .callee = $x, .args = LIST($args)); }
  | suffix[x] '[' exprs ']'
    { $$ = MAKE(INDEX, Index, @$, .base_expr = $x, .indices = LIST($exprs)); }
  | suffix[x] '.' name
    { $$ = MAKE(MEMBER, Member, @$, .base_expr = $x, .name = $name); }
  | suffix[x] ".*"
    { $$ = MAKE(DEREF, Deref, @$, .pointer = $x); }
  ;

primary
  : IDENT                     { $$ = MAKE(IDENT, Ident, @$, .name = $IDENT); }
  | "anyopaque"
    { $$ = MAKE(IDENT, Ident, @$, .name = str_intern_z(p->names, "anyopaque")); }
  | INT
    { $$ = MAKE(INT, Int, @$, .value = $INT->value, .big = $INT->big, .base = $INT->base); }
  | FLOAT
    { $$ = MAKE(FLOAT, Float, @$, .value = $FLOAT->value, .text = $FLOAT->text); }
  | CHAR                      { $$ = MAKE(CHAR, Char, @$, .value = $CHAR); }
  | STRING                    { $$ = MAKE(STRING, String, @$, .bytes = $STRING); }
  | "true"                    { $$ = MAKE(BOOL, Bool, @$, .value = true); }
  | "false"                   { $$ = MAKE(BOOL, Bool, @$, .value = false); }
  | BUILTIN '(' args ')'
    {
      $$ = MAKE(BUILTIN_CALL, BuiltinCall, @$, .name = {$BUILTIN, @BUILTIN},
                .args = LIST($args));
    }
  | '(' expr ')'              { $$ = $expr; }
  | '.' '{' '}'               { $$ = MAKE(STRUCT_INIT, StructInit, @$, .type = NULL); }
  | '.' '{' field_inits opt_comma '}'
    { $$ = MAKE(STRUCT_INIT, StructInit, @$, .fields = LIST($field_inits)); }
  | '.' '{' exprs opt_comma '}'
    { $$ = MAKE(LIST_INIT, ListInit, @$, .items = LIST($exprs)); }
  | struct_layout struct_or_union '{' fields '}'
    {
      $$ = MAKE(STRUCT_TYPE, StructType, @$, .layout = $struct_layout,
                .is_union = $struct_or_union, .fields = LIST($fields));
    }
  | "enum" opt_tag '{' enum_members '}'
    { $$ = MAKE(ENUM_TYPE, EnumType, @$, .tag_type = $opt_tag, .members = LIST($enum_members)); }
  | asm
  ;

field_inits
  : field_init                              { $$ = seq_add(p, NULL, $field_init); }
  | field_inits[before] ',' field_init      { $$ = seq_add(p, $before, $field_init); }
  ;

field_init
  : '.' name '=' expr
    { $$ = MAKE(FIELD_INIT, FieldInit, @$, .name = $name, .value = $expr); }
  ;

tensor_access
  : '|' capture_names '|' '{' exprs[extents] opt_comma '}' "->" tensor_target
    '[' exprs[indices] opt_comma ']'
    {
      $$ = MAKE(TENSOR_ACCESS, TensorAccess, @$, .vars = names_list(p, $capture_names),
                .extents = LIST($extents), .target = $tensor_target, .indices = LIST($indices));
    }
  ;

capture_names
  : name                                { $$ = names_add(p, NULL, $name); }
  | capture_names[before] ',' name      { $$ = names_add(p, $before, $name); }
  ;

tensor_target
  : IDENT                     { $$ = MAKE(IDENT, Ident, @$, .name = $IDENT); }
  | tensor_target[x] '.' name
    { $$ = MAKE(MEMBER, Member, @$, .base_expr = $x, .name = $name); }
  | tensor_target[x] ".*"
    { $$ = MAKE(DEREF, Deref, @$, .pointer = $x); }
  ;

/* ---- types ----------------------------------------------------------------------------- */

type
  : binary
  | if_expr
  | switch
  ;

type_expr
  : suffix
  | '[' exprs ']' type_expr[element]
    { $$ = MAKE(ARRAY_TYPE, ArrayType, @$, .dims = LIST($exprs), .element = $element); }
  | '[' '*' ']' opt_const type_expr[pointee]
    {
      $$ = MAKE(POINTER_TYPE, PointerType, @$, .is_many = true, .is_const = $opt_const,
                .pointee = $pointee);
    }
  | '*' opt_const type_expr[pointee]
    { $$ = MAKE(POINTER_TYPE, PointerType, @$, .is_const = $opt_const, .pointee = $pointee); }
  | fn_or_task '(' params ')' type_expr[result]
    {
      $$ = MAKE(FN_TYPE, FnType, @$, .is_task = $fn_or_task, .params = LIST($params),
                .result = $result);
    }
  ;

opt_const
  : %empty                    { $$ = false; }
  | "const"                   { $$ = true; }
  ;

struct_layout
  : %empty                    { $$ = LAYOUT_AUTO; }
  | "extern"                  { $$ = LAYOUT_EXTERN; }
  | "packed"                  { $$ = LAYOUT_PACKED; }
  ;

struct_or_union
  : "struct"                  { $$ = false; }
  | "union"                   { $$ = true; }
  ;

fields
  : %empty                    { $$ = NULL; }
  | fields_some opt_comma     { $$ = $fields_some; }
  ;

fields_some
  : field                             { $$ = seq_add(p, NULL, $field); }
  | fields_some[before] ',' field     { $$ = seq_add(p, $before, $field); }
  ;

field
  : name ':' type
    { $$ = MAKE(FIELD_DECL, FieldDecl, @$, .name = $name, .type = $type); }
  ;

opt_tag
  : %empty                    { $$ = NULL; }
  | '(' type ')'              { $$ = $type; }
  ;

enum_members
  : %empty                          { $$ = NULL; }
  | enum_members_some opt_comma     { $$ = $enum_members_some; }
  ;

enum_members_some
  : enum_member                               { $$ = seq_add(p, NULL, $enum_member); }
  | enum_members_some[before] ',' enum_member { $$ = seq_add(p, $before, $enum_member); }
  ;

enum_member
  : name opt_init
    { $$ = MAKE(ENUM_MEMBER, EnumMember, @$, .name = $name, .value = $opt_init); }
  ;

/* ---- inline assembly ------------------------------------------------------------------- */

asm
  : "asm" opt_volatile '(' asm_text[text] opt_comma ')'
    { $$ = MAKE(ASM, Asm, @$, .is_volatile = $opt_volatile, .text = $text); }
  | "asm" opt_volatile '(' asm_text[text] opt_comma ':' asm_operands[out] ')'
    {
      $$ = MAKE(ASM, Asm, @$, .is_volatile = $opt_volatile, .text = $text,
                .outputs = LIST($out));
    }
  | "asm" opt_volatile '(' asm_text[text] opt_comma ':' asm_operands[out] ':' asm_operands[in] ')'
    {
      $$ = MAKE(ASM, Asm, @$, .is_volatile = $opt_volatile, .text = $text,
                .outputs = LIST($out), .inputs = LIST($in));
    }
  | "asm" opt_volatile '(' asm_text[text] opt_comma ':' asm_operands[out] ':' asm_operands[in]
    ':' asm_clobbers ')'
    {
      $$ = MAKE(ASM, Asm, @$, .is_volatile = $opt_volatile, .text = $text,
                .outputs = LIST($out), .inputs = LIST($in), .clobbers = LIST($asm_clobbers));
    }
  ;

opt_volatile
  : %empty                    { $$ = false; }
  | "volatile"                { $$ = true; }
  ;

asm_operands
  : %empty                    { $$ = NULL; }
  | asm_operands_some opt_comma
  ;

asm_operands_some
  : asm_operand                                { $$ = seq_add(p, NULL, $asm_operand); }
  | asm_operands_some[before] ',' asm_operand  { $$ = seq_add(p, $before, $asm_operand); }
  ;

asm_operand
  : '[' name ']' STRING '(' expr ')'
    {
      $$ = MAKE(ASM_OPERAND, AsmOperand, @$, .name = $name, .constraint = $STRING,
                .value = $expr);
    }
  ;

asm_clobbers
  : %empty                    { $$ = NULL; }
  | asm_clobbers_some opt_comma
  ;

asm_clobbers_some
  : asm_clobber                                { $$ = seq_add(p, NULL, $asm_clobber); }
  | asm_clobbers_some[before] ',' asm_clobber  { $$ = seq_add(p, $before, $asm_clobber); }
  ;

asm_clobber
  : asm_text
  ;

asm_text
  : STRING                    { $$ = MAKE(STRING, String, @$, .bytes = $STRING); }
  ;

%%

/* ---- between parser and token array ------------------------------------------------------ */

static Span join_places(const Span *places, int n)
{
  Span whole = {places[0].off + places[0].len, 0};
  bool any = false;
  for (int i = 1; i <= n; i++) {
    if (places[i].len == 0)
      continue;
    whole = any ? span_join(whole, places[i]) : places[i];
    any = true;
  }
  return whole;
}

static int csl_lex(CSL_STYPE *value, Span *place, Parser *p)
{
  const Token *t = &p->tokens[p->next];
  p->fed = p->next;
  if (t->kind != TK_END)
    p->next++;
  *place = t->span;
  if (t->kind == TK_IDENT || t->kind == TK_BUILTIN || t->kind == TK_STRING)
    value->str = t->as.text;
  else if (t->kind == TK_INT)
    value->integer = t->as.integer;
  else if (t->kind == TK_FLOAT)
    value->real = t->as.real;
  else if (t->kind == TK_CHAR)
    value->character = t->as.character;
  return t->kind;
}

/* Only a stack that is full comes here: syntax errors go to yyreport_syntax_error. */
static void csl_error(const Span *place, Parser *p, const char *message)
{
  (void)message;
  parser_report_depth(p, *place);
}

static int yyreport_syntax_error(const yypcontext_t *context, Parser *p)
{
  yysymbol_kind_t symbols[YYNTOKENS];
  int expected[YYNTOKENS];
  int n = yypcontext_expected_tokens(context, symbols, YYNTOKENS);
  size_t count = 0;
  for (int i = 0; i < n; i++)
    for (int t = 0; t <= YYMAXUTOK; t++)
      if (YYTRANSLATE(t) == symbols[i] && symbols[i] != YYSYMBOL_YYUNDEF) {
        expected[count++] = t;
        break;
      }
  parser_report(p, expected, count);
  return 0;
}

const char *token_name(int kind)
{
  return yysymbol_name(YYTRANSLATE(kind));
}

int token_keyword_first(void)
{
  return TK_CONST;
}

int token_keyword_last(void)
{
  return TK_FALSE;
}

void parse_run(Parser *p)
{
  csl_parse(p);
}

const char *const *syntax_keywords(uint32_t *n)
{
  static const char *words[TK_FALSE - TK_CONST + 1];   /* every call writes the same words */
  *n = (uint32_t)ARRAY_COUNT(words);
  for (int kind = TK_CONST; kind <= TK_FALSE; kind++)
    words[kind - TK_CONST] = token_name(kind);
  return words;
}
