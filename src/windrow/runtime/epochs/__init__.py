"""Epochs: batches staged, answered and committed."""
