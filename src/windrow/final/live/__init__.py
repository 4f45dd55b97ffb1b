"""Folds over what is alive, where records come and go in any order: a tree for each group, whose shape
follows from the numbers of its leaves alone."""
