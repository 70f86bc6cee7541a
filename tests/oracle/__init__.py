"""An independent oracle for the language: typed program trees, their text in CSL and their value.

Nothing here is taken from the compiler: the rules are those of docs/language.md and docs/ir.md,
computed with Python's integers and fractions.
"""
