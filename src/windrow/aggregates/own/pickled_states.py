"""Pickles of users' states that run no code when they are read: only types that are known are made again.

A pickle is a small program: it may name any function there is, and reading it calls that function. Whoever
could write a file of a home would so run what they like as the engine. What is written and read here names
plain containers and values, NumPy's arrays and scalars, and the types that the user's class lists in
`state_types`; anything else is refused by name, when it is written and, the more so, when it is read.

Cost: that of pickle; beside it, a look into a dictionary for each class that a state mentions.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from windrow.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Collection

PLAIN = frozenset(
    (module, name)
    for module, names in {
        "builtins": "bool bytearray bytes complex dict float frozenset int list range set slice str tuple",
        "collections": "Counter OrderedDict defaultdict deque",
        "datetime": "date datetime time timedelta timezone",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "uuid": "UUID",
        "zoneinfo": "ZoneInfo",
        "numpy": "dtype ndarray",
        "numpy._core.multiarray": "_reconstruct scalar",
        "numpy._core.numeric": "_frombuffer",
        # NumPy before 2.0 wrote the same functions under these names.
        "numpy.core.multiarray": "_reconstruct scalar",
        "numpy.core.numeric": "_frombuffer",
    }.items()
    for name in names.split()
)
"""What any state may mention, by module and name: nothing here reads, writes or runs anything."""


class UnknownType(QueryFailed):
    """A state mentions something else than plain values and the types that it is known to be made of."""

    @classmethod
    def named(cls, *names: str | None) -> UnknownType:
        """The error about a module and a name in it."""
        return cls(
            f"a state mentions {'.'.join(filter(None, names))}, which is neither plain nor listed: name the "
            "type in state_types of the aggregate, or write its pack and unpack"
        )


def pickled(state: Any, types: Collection[type]) -> bytes:
    """A state as bytes; UnknownType if it could not be read back.

    >>> unpickled(pickled({"a": {1, 2}}, ()), ())
    {'a': {1, 2}}
    >>> pickled(print, ())
    Traceback (most recent call last):
    windrow.aggregates.own.pickled_states.UnknownType: a state mentions builtins.print, which is ...
    """
    written = io.BytesIO()
    _Pickler(written, types).dump(state)
    return written.getvalue()


def unpickled(data: bytes, types: Collection[type]) -> Any:
    """The state again; UnknownType, before anything has been called, if the bytes mention anything else."""
    return _Unpickler(io.BytesIO(data), types).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, types: Collection[type]) -> None:
        super().__init__(file)
        self._known = _by_name(types)

    def reducer_override(self, value: Any) -> Any:
        # Instances come here as well; only what a pickle mentions by name has such a name.
        name = getattr(value, "__qualname__", None)
        if name is not None:
            mentioned = (value.__module__, name)
            if mentioned not in PLAIN and mentioned not in self._known:
                raise UnknownType.named(*mentioned)
        if type(value) is ZoneInfo and value.key is not None:
            return ZoneInfo, (value.key,)  # by itself it mentions `getattr`
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, types: Collection[type]) -> None:
        super().__init__(file)
        self._known = _by_name(types)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._known:  # the type at hand: nothing is imported because a file says so
            return self._known[module, name]
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        if (module, name) == ("builtins", "getattr"):
            return _way_to_a_zone
        raise UnknownType.named(module, name)


def _way_to_a_zone(owner: Any, name: str) -> Any:
    """What `getattr` may be used for: homes of format 4 have time zones that are written with it."""
    if owner is not ZoneInfo or name != "_unpickle":
        raise UnknownType.named("builtins", "getattr")
    return ZoneInfo._unpickle  # type: ignore[attr-defined]


def _by_name(types: Collection[type]) -> dict[tuple[str, str], type]:
    return {(known.__module__, known.__qualname__): known for known in types}
