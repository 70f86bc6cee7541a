(comment) @comment

[(integer) (float)] @number
[(string) (character)] @string
(escape_sequence) @string.escape
(boolean) @boolean

(builtin) @function.builtin
(function_declaration name: (identifier) @function)
(call callee: (identifier) @function.call)
(call callee: (member name: (identifier) @function.call))

(parameter name: (identifier) @variable.parameter)
(variable_declaration "param" name: (identifier) @variable.parameter)
(variable_declaration "const" name: (identifier) @constant)
(field_declaration name: (identifier) @property)
(field_initializer name: (identifier) @property)
(member name: (identifier) @property)
(enum_member name: (identifier) @constant)
[
  (labelled_block label: (identifier) @label)
  (for_statement label: (identifier) @label)
  (while_statement label: (identifier) @label)
  (break_expression label: (identifier) @label)
  (continue_expression label: (identifier) @label)
]

((identifier) @type.builtin
  (#match? @type.builtin "^([iu][0-9]+|f16|bf16|cb16|f32|void|bool|type|color|direction|comptime_(int|float|string|struct)|imported_module|(input|output)_queue|(data|local|control)_task_id|ut_id|(mem1d|mem4d|circbuf|fabin|fabout)_dsd|dsr_(dest|src0|src1|fifo_dest|fifo_src1)|xdsr|sr)$"))
[(anytype) (anyopaque)] @type.builtin

["fn" "task"] @keyword.function
["return" "break" "continue"] @keyword.return
["if" "else" "switch"] @keyword.conditional
["for" "while"] @keyword.repeat
["and" "or"] @keyword.operator
[
  "const" "var" "param" "comptime" "layout" "struct" "union" "enum" "packed" "extern" "export"
  "inline" "noinline" "align" "linksection" "linkname" "asm" "volatile"
] @keyword

[
  "=" "+=" "-=" "*=" "/=" "%=" "<<=" ">>=" "&=" "|=" "^=" "==" "!=" "<" "<=" ">" ">=" "+" "-" "*"
  "/" "%" "&" "|" "^" "~" "!" "<<" ">>" "->" "=>" ".*"
] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
