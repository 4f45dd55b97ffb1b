"""Binding: a parsed statement to a plan, every name looked up, every type known."""
