[
  (block)
  (switch_expression)
  (struct_type)
  (enum_type)
  (initializer)
  (anonymous_initializer)
  (arguments)
  (parameters)
] @indent.begin

["}" ")" "]"] @indent.branch @indent.end
