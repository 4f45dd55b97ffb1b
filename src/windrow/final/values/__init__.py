"""Windows over the values themselves: how often each occurs."""
