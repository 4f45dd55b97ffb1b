"""States at rest: arrays and tables in one Arrow table."""
