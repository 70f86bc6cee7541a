(function_declaration name: (identifier) @name) @definition.function
(variable_declaration name: (identifier) @name) @definition.constant
(call callee: (identifier) @name) @reference.call
