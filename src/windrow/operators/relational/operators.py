"""Being written."""


def operator_of(node, evaluate):
    """Being written."""
    raise NotImplementedError
