"""Users' classes on their way to Spark's tasks: with their code, since a task cannot import their script."""

from __future__ import annotations

import pickle
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle as _cloudpickle

from windrow.runtime.spark.analysis import workers_without_windrow

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

cloudpickle: Any = _cloudpickle  # it has no types


def pickled_by_value(thing: Any, own: Iterable[object]) -> bytes:
    """Anything that holds instances of users' classes, with the code of these classes."""
    modules = _modules(own)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(thing)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


@lru_cache(maxsize=16)
def unpickled(data: bytes) -> Any:
    """The thing again, in a task; once a process, so that nothing is compiled again for every shard."""
    return pickle.loads(data)


class UnpickledInTask:
    """`unpickled`, for a function that goes to Spark's tasks: where there is no Windrow, it says what to do.

    That has to happen while the function itself is read: what comes next is Spark's, and fails in its own
    words where there is no PyArrow either.
    """

    def __call__(self, data: bytes) -> Any:
        return unpickled(data)

    def __reduce__(self) -> tuple[Any, ...]:
        complaint = workers_without_windrow()

        def find() -> Any:  # inside, so that it goes there as code, not as a name in Windrow
            try:
                from windrow.batch.by_value import unpickled
            except ModuleNotFoundError as error:
                if error.name != "windrow":
                    raise
                raise RuntimeError(complaint) from None
            return unpickled

        return find, ()


def _modules(own: Iterable[object]) -> list[ModuleType]:
    """The modules that have the classes of these instances, Windrow's and Python's own aside."""
    names = {cls.__module__ for instance in own for cls in type(instance).__mro__}
    theirs = [n for n in names if n.split(".")[0] not in ("windrow", "builtins", "abc", "typing", "__main__")]
    registered = cloudpickle.list_registry_pickle_by_value()
    return [sys.modules[name] for name in theirs if name in sys.modules and name not in registered]
