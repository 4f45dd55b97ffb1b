"""Operators over relations that change with time: joins, DISTINCT, groups, and what becomes of their results."""
