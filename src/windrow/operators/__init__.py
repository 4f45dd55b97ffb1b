"""Window operators: they keep the state of queries, as arrays, and turn partials into answers."""
