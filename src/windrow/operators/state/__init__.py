"""State of operators: keys as integers, rows by when they end, and how all of it is written down."""
