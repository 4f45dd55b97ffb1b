"""An operation whose order counts: the composition of affine functions x → (a + 1) x + b, modulo a prime.

The factor is stored less one, so that zeros are the identity.
"""

import numpy as np

from windrow.aggregates.operations import Algebra, Operation

PRIME = 1_000_003


def _compose(left, i, right, j, out, k):
    a, b = left[i, 0] + 1, left[i, 1]
    c, d = right[j, 0] + 1, right[j, 1]
    out[k, 0] = (a * c - 1) % 1_000_003
    out[k, 1] = (a * d + b) % 1_000_003


def compose(left, right):
    """The same on pairs of Python integers."""
    a, c = left[0] + 1, right[0] + 1
    return (a * c - 1) % PRIME, (a * right[1] + left[1]) % PRIME


AFFINE = Operation("affine", np.int64, 0, Algebra(commutative=False), _compose)
