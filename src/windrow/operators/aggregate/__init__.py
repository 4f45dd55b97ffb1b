"""Window aggregates: slices in, answers out."""
