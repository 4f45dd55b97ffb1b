"""Binding what slices cannot answer: statements to trees of operators, one subject a file."""
