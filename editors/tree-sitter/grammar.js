// The grammar of CSL for tree-sitter, rule by rule that of frontend/syntax/parse.y, which decides.
// What the compiler refuses after parsing (marks of functions that exclude each other, a missing
// result type) has a tree here: an editor shows it while it is being written.

const PREC = {
  branch: 0,
  or: 1,
  and: 2,
  compare: 3,
  bits: 4,
  shift: 5,
  add: 6,
  multiply: 7,
  prefix: 8,
};

const BINARY_OPERATORS = [
  ['or', PREC.or],
  ['and', PREC.and],
  ...['==', '!=', '<', '<=', '>', '>='].map((o) => [o, PREC.compare]),
  ...['&', '^', '|'].map((o) => [o, PREC.bits]),
  ...['<<', '>>'].map((o) => [o, PREC.shift]),
  ...['+', '-'].map((o) => [o, PREC.add]),
  ...['*', '/', '%'].map((o) => [o, PREC.multiply]),
];

const ASSIGN_OPERATORS = [
  '=', '+=', '-=', '*=', '/=', '%=', '<<=', '>>=', '&=', '|=', '^=',
];

const DECIMAL = /[0-9][0-9_]*/;
const HEX = /0[xX][0-9a-fA-F_]+/;
const HEX_EXPONENT = /[pP][+-]?[0-9][0-9_]*/;
const EXPONENT = /[eE][+-]?[0-9][0-9_]*/;

/* At least one, with commas between, and one behind the last if the author likes. */
function listed(rule) {
  return seq(rule, repeat(seq(',', rule)), optional(','));
}

/* At least one, with commas between only. */
function separated(rule) {
  return seq(rule, repeat(seq(',', rule)));
}

function parenthesised(rule) {
  return seq('(', rule, ')');
}

module.exports = grammar({
  name: 'csl',
  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.comment],
  supertypes: ($) => [$.declaration, $.statement, $.expression],
  inline: ($) => [$._simple, $._type],

  rules: {
    source_file: ($) => repeat(choice($.declaration, ';')),

    // ---- declarations ----------------------------------------------------------------------

    declaration: ($) => choice(
      $.variable_declaration,
      $.function_declaration,
      $.comptime_declaration,
      $.layout_declaration,
      $.color_declaration,
    ),

    variable_declaration: ($) => seq(
      optional(field('storage', choice('export', 'extern'))),
      field('kind', choice('const', 'var', 'param')),
      $._declared,
      ';',
    ),

    _declared: ($) => seq(
      field('name', $.identifier),
      optional(seq(':', field('type', $._type))),
      repeat($.attribute),
      optional(seq('=', field('value', $.expression))),
    ),

    attribute: ($) => seq(
      choice('align', 'linksection', 'linkname'),
      parenthesised($.expression),
    ),

    function_declaration: ($) => seq(
      repeat(choice('export', 'extern', 'inline', 'noinline')),
      field('kind', choice('fn', 'task')),
      field('name', $.identifier),
      field('parameters', $.parameters),
      repeat($.attribute),
      optional(seq(field('result', $._type_expression), repeat($.attribute))),
      choice(field('body', $.block), ';'),
    ),

    parameters: ($) => parenthesised(optional(listed($.parameter))),

    parameter: ($) => choice(
      seq(
        optional('comptime'),
        field('name', $.identifier),
        ':',
        field('type', $._parameter_type),
      ),
      field('type', $._parameter_type),
    ),

    _parameter_type: ($) => choice($._type, $.anytype),
    anytype: () => 'anytype',

    comptime_declaration: ($) => seq('comptime', field('body', $.block)),
    layout_declaration: ($) => seq('layout', field('body', $.block)),
    color_declaration: ($) => seq(
      field('type', $.identifier),
      field('name', $.identifier),
      ';',
    ),

    // ---- statements ------------------------------------------------------------------------

    block: ($) => seq('{', repeat(choice($.statement, ';')), '}'),

    statement: ($) => choice(
      $.local_declaration,
      $.expression_statement,
      $.block,
      $.labelled_block,
      $.comptime_block,
      $.for_statement,
      $.while_statement,
      $.switch_expression,
      $.if_statement,
      $.jump_statement,
    ),

    local_declaration: ($) => seq(
      optional('comptime'),
      field('kind', choice('const', 'var')),
      $._declared,
      ';',
    ),

    expression_statement: ($) => seq($._simple, ';'),
    jump_statement: ($) => seq($._jump, ';'),
    _simple: ($) => choice($._binary, $.assignment),
    _jump: ($) => choice(
      $.return_expression,
      $.break_expression,
      $.continue_expression,
    ),

    return_expression: ($) => seq('return', optional($.expression)),
    break_expression: ($) => seq(
      'break',
      optional(seq(':', field('label', $.identifier))),
      optional($.expression),
    ),
    continue_expression: ($) => seq(
      'continue',
      optional(seq(':', field('label', $.identifier))),
    ),

    assignment: ($) => seq(
      field('target', $._binary),
      field('operator', choice(...ASSIGN_OPERATORS)),
      field('value', $.expression),
    ),

    _label: ($) => seq(field('label', $.identifier), ':'),
    labelled_block: ($) => seq($._label, $.block),
    comptime_block: ($) => seq('comptime', $.block),

    if_statement: ($) => prec.right(PREC.branch, seq(
      'if',
      parenthesised(field('condition', $.expression)),
      choice(
        field('then', $._body),
        seq(
          field('then', choice($._body, $._simple, $._jump)),
          'else',
          field('else', $._body),
        ),
      ),
    )),

    _body: ($) => choice($.statement, ';'),

    for_statement: ($) => seq(
      optional($._label),
      optional('inline'),
      'for',
      parenthesised(field('iterable', $.expression)),
      '|',
      field('item', $.identifier),
      optional(seq(',', field('index', $.identifier))),
      '|',
      field('body', $._body),
    ),

    while_statement: ($) => seq(
      optional($._label),
      optional('inline'),
      'while',
      parenthesised(field('condition', $.expression)),
      optional(seq(':', parenthesised(field('step', $._simple)))),
      field('body', $._body),
    ),

    switch_expression: ($) => seq(
      'switch',
      parenthesised(field('subject', $.expression)),
      '{',
      listed($.prong),
      '}',
    ),

    prong: ($) => seq(
      choice(separated(field('label', $.expression)), 'else'),
      '=>',
      field('body', choice($.expression, $.assignment, $._jump)),
    ),

    // ---- expressions -----------------------------------------------------------------------

    expression: ($) => choice(
      $._binary,
      $.block,
      $.labelled_block,
      $.if_expression,
      $.switch_expression,
      $.comptime_expression,
      $.tensor_access,
    ),

    comptime_expression: ($) => seq(
      'comptime',
      choice($.block, $.labelled_block, $.if_expression, $.switch_expression),
    ),

    if_expression: ($) => prec.right(PREC.branch, seq(
      'if',
      parenthesised(field('condition', $.expression)),
      field('then', $.expression),
      optional(seq('else', field('else', $.expression))),
    )),

    _binary: ($) => choice($._value, $.unary_expression, $.binary_expression),

    unary_expression: ($) => prec(PREC.prefix, seq(
      field('operator', choice('-', '!', '~', '&', 'comptime')),
      field('operand', $._binary),
    )),

    binary_expression: ($) => choice(
      ...BINARY_OPERATORS.map(([operator, precedence]) =>
        prec.left(precedence, seq(
          field('left', $._binary),
          field('operator', operator),
          field('right', $._binary),
        ))),
    ),

    _value: ($) => choice($._type_expression, $._literal),

    // A literal starts with its type; what follows it may not be the body of a function.
    _literal: ($) => choice(
      $.initializer,
      alias($._literal_call, $.call),
      alias($._literal_index, $.index),
      alias($._literal_member, $.member),
      alias($._literal_dereference, $.dereference),
    ),

    initializer: ($) => seq(
      field('type', $._type_expression),
      '{',
      optional($._initializers),
      '}',
    ),
    anonymous_initializer: ($) => seq('.', '{', optional($._initializers), '}'),
    _initializers: ($) => choice(listed($.field_initializer), listed($.expression)),
    field_initializer: ($) => seq(
      '.',
      field('name', $.identifier),
      '=',
      field('value', $.expression),
    ),

    _literal_call: ($) => seq(field('callee', $._literal), field('arguments', $.arguments)),
    _literal_index: ($) => seq(field('base', $._literal), '[', separated($.expression), ']'),
    _literal_member: ($) => seq(
      field('base', $._literal), '.', field('name', $.identifier)),
    _literal_dereference: ($) => seq(field('pointer', $._literal), '.*'),

    _suffix: ($) => choice($._primary, $.call, $.index, $.member, $.dereference),
    call: ($) => seq(field('callee', $._suffix), field('arguments', $.arguments)),
    index: ($) => seq(field('base', $._suffix), '[', separated($.expression), ']'),
    member: ($) => seq(field('base', $._suffix), '.', field('name', $.identifier)),
    dereference: ($) => seq(field('pointer', $._suffix), '.*'),
    arguments: ($) => parenthesised(optional(listed($.expression))),

    _primary: ($) => choice(
      $.identifier,
      $.anyopaque,
      $.integer,
      $.float,
      $.character,
      $.string,
      $.boolean,
      $.builtin_call,
      $.parenthesized_expression,
      $.anonymous_initializer,
      $.struct_type,
      $.enum_type,
      $.asm_expression,
    ),

    anyopaque: () => 'anyopaque',
    boolean: () => choice('true', 'false'),
    builtin_call: ($) => seq(field('name', $.builtin), field('arguments', $.arguments)),
    parenthesized_expression: ($) => parenthesised($.expression),

    tensor_access: ($) => seq(
      '|',
      separated(field('variable', $.identifier)),
      '|',
      '{',
      listed(field('extent', $.expression)),
      '}',
      '->',
      field('target', $._tensor_target),
      '[',
      listed(field('index', $.expression)),
      ']',
    ),

    _tensor_target: ($) => choice(
      $.identifier,
      alias($._tensor_member, $.member),
      alias($._tensor_dereference, $.dereference),
    ),
    _tensor_member: ($) => seq(
      field('base', $._tensor_target), '.', field('name', $.identifier)),
    _tensor_dereference: ($) => seq(field('pointer', $._tensor_target), '.*'),

    // ---- types -----------------------------------------------------------------------------

    _type: ($) => choice($._binary, $.if_expression, $.switch_expression),

    _type_expression: ($) => choice(
      $._suffix,
      $.array_type,
      $.pointer_type,
      $.function_type,
    ),

    array_type: ($) => seq(
      '[',
      separated(field('extent', $.expression)),
      ']',
      field('element', $._type_expression),
    ),

    pointer_type: ($) => seq(
      choice('*', seq('[', '*', ']')),
      optional('const'),
      field('pointee', $._type_expression),
    ),

    function_type: ($) => seq(
      choice('fn', 'task'),
      field('parameters', $.parameters),
      field('result', $._type_expression),
    ),

    struct_type: ($) => seq(
      optional(choice('extern', 'packed')),
      choice('struct', 'union'),
      '{',
      optional(listed($.field_declaration)),
      '}',
    ),

    field_declaration: ($) => seq(
      field('name', $.identifier),
      ':',
      field('type', $._type),
    ),

    enum_type: ($) => seq(
      'enum',
      optional(parenthesised(field('tag', $._type))),
      '{',
      optional(listed($.enum_member)),
      '}',
    ),

    enum_member: ($) => seq(
      field('name', $.identifier),
      optional(seq('=', field('value', $.expression))),
    ),

    // ---- inline assembly -------------------------------------------------------------------

    asm_expression: ($) => seq(
      'asm',
      optional('volatile'),
      '(',
      field('text', $.string),
      optional(','),
      optional(seq(
        ':', optional(listed($.asm_operand)),
        optional(seq(
          ':', optional(listed($.asm_operand)),
          optional(seq(':', optional(listed($.string)))),
        )),
      )),
      ')',
    ),

    asm_operand: ($) => seq(
      '[', field('name', $.identifier), ']',
      field('constraint', $.string),
      parenthesised(field('value', $.expression)),
    ),

    // ---- tokens ----------------------------------------------------------------------------

    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,
    builtin: () => /@[A-Za-z_][A-Za-z0-9_]*/,

    integer: () => token(choice(DECIMAL, HEX, /0[oO][0-7_]+/, /0[bB][01_]+/)),

    float: () => token(choice(
      seq(DECIMAL, '.', DECIMAL, optional(EXPONENT)),
      seq(DECIMAL, EXPONENT),
      seq(HEX, '.', /[0-9a-fA-F_]+/, optional(HEX_EXPONENT)),
      seq(HEX, HEX_EXPONENT),
    )),

    string: ($) => seq(
      '"',
      repeat(choice(token.immediate(prec(1, /[^"\\\n]+/)), $.escape_sequence)),
      token.immediate('"'),
    ),

    character: ($) => seq(
      '\'',
      repeat(choice(token.immediate(prec(1, /[^'\\\n]+/)), $.escape_sequence)),
      token.immediate('\''),
    ),

    escape_sequence: () => token.immediate(/\\(x[0-9a-fA-F]{2}|[^\n])/),

    comment: () => token(choice(
      /\/\/[^\n]*/,
      /\/\*([^*]|\*+[^*\/])*\*+\//,
    )),
  },
});
