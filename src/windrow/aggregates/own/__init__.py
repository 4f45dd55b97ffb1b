"""Aggregate functions of the user's own."""
