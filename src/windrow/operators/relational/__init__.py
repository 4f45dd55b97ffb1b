"""Operators over relations that change with time: joins, DISTINCT, groups, what becomes of their results."""
