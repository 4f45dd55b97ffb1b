"""`windrow demo`: a year of real flights, replayed through the queries of queries.cql."""
