"""Keys of several columns as machine words and bytes, which are equal where the keys are.

NULL equals NULL here, NaN equals NaN, and −0.0 equals 0.0. A key is:

1. words of 64 bits that say which of its columns are NULL,
2. a word for each column of a fixed width, or as many as that is wide (a decimal: two),
3. bytes: those of its strings, one behind the other, the length of each a word more where there are several.

Nested values are written out as bytes one by one, in Python: slow, and rare.

Cost: a few vectorised passes over the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class KeyWords:
    """The keys of some rows."""

    words: Array
    """A row for each key, uint64."""
    starts: Array
    """Where the bytes of each key begin, and those of the last one end."""
    data: Array
    """The bytes of all keys."""

    def __len__(self) -> int:
        return len(self.words)


def key_words(columns: Sequence[pa.Array], rows: int) -> KeyWords:
    """The keys of some rows.

    >>> keys = key_words([pa.array([1, None]), pa.array(["a", "bc"])], 2)
    >>> keys.words.tolist(), keys.starts.tolist(), bytes(keys.data)
    ([[0, 1], [1, 0]], [0, 1, 3], b'abc')
    """
    nulls = np.zeros((rows, max(1, -(-len(columns) // 64))), np.uint64)
    words = [nulls]
    strings: list[pa.Array] = []
    for place, column in enumerate(columns):
        is_null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        if is_null is not None:
            nulls[is_null, place // 64] |= np.uint64(1 << place % 64)
        if _has_bytes(column.type):
            strings.append(_bytes_of(column))
        elif rows and not pat.is_null(column.type):
            of_column = _words_of(column)
            words.append(
                of_column if is_null is None else np.where(is_null[:, None], np.uint64(0), of_column)
            )
    if len(strings) > 1:
        words += [pc.binary_length(one).to_numpy().view(np.uint64)[:, None] for one in strings]
        strings = [pc.binary_join_element_wise(*strings, pa.scalar(b"", pa.large_binary()))]
    together = np.concatenate(words, axis=1)
    if not strings or not rows:
        return KeyWords(together, np.zeros(rows + 1, np.int64), np.empty(0, np.uint8))
    _, offsets, data = strings[0].buffers()
    starts = np.frombuffer(offsets, np.int64, strings[0].offset + rows + 1)[strings[0].offset :]
    return KeyWords(together, starts, np.frombuffer(data or b"", np.uint8))


def words_a_key(types: Sequence[pa.DataType]) -> int:
    """How many words a key with columns of these types has."""
    return key_words([pa.nulls(1, of_type) for of_type in types], 1).words.shape[1]


def plain(column: pa.Array) -> pa.Array:
    """The values of a column, all that are equal written alike: without negative zeros.

    >>> plain(pa.array([-0.0, None, 1.5])).tolist()
    [0.0, None, 1.5]
    """
    if pat.is_floating(column.type):
        return pc.add(column, pa.scalar(0.0, column.type))
    if pat.is_nested(column.type):
        return pa.array([_plain(value) for value in column.to_pylist()], column.type)
    return column


def _has_bytes(of_type: pa.DataType) -> bool:
    """Whether the values of a type have no fixed width."""
    if pat.is_nested(of_type) or pat.is_fixed_size_binary(of_type):
        return True
    try:
        return of_type.bit_width == 0
    except ValueError:
        return not pat.is_null(of_type)


def _words_of(column: pa.Array) -> Array:
    """A row of words for each value of a column with a fixed width; of a NULL anything."""
    if pat.is_boolean(column.type):
        column = column.cast(pa.uint8())
    width = column.type.bit_width // 8
    number = "f" if pat.is_floating(column.type) else "i"
    dtype, words = (f"{number}{width}", 1) if width <= 8 else ("i8", width // 8)
    begin, end = words * column.offset, words * (column.offset + len(column))
    values = np.frombuffer(column.buffers()[1], dtype, end)[begin:]
    if number == "f":
        values = values.astype(np.float64) + 0.0  # there is no −0.0 any more
        values[np.isnan(values)] = np.nan  # and one NaN only
    return (
        values.astype(np.float64 if number == "f" else np.int64, copy=False)
        .view(np.uint64)
        .reshape(-1, words)
    )


def _bytes_of(column: pa.Array) -> pa.Array:
    """The values of a column without a fixed width as bytes; a NULL has none."""
    if pat.is_nested(column.type):
        written = [b"" if value is None else repr(_plain(value)).encode() for value in column.to_pylist()]
        return pa.array(written, pa.large_binary())
    return column.cast(pa.large_binary()).fill_null(b"")


def _plain(value: object) -> object:
    """A nested value without negative zeros."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value
