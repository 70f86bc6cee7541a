[
  (block)
  (switch_expression)
  (struct_type)
  (enum_type)
  (initializer)
  (anonymous_initializer)
] @fold
