"""Kernels compiled by Numba, whose machine code stays on disk for the next process.

Numba's own cache numbers the files of a function in an index that it reads and writes without a lock. Two
processes that compile a function for different types at the same moment, as Spark's tasks or two test runs
do, can both write number 1, and whoever comes next may be given code for the wrong types. Here a file is
named by what it was compiled from and for, and says so inside: writers never meet, and a reader checks.

Files of an older source are deleted when a newer one is compiled.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

if TYPE_CHECKING:
    from collections.abc import Callable


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """A function that Numba compiles for every combination of types once, on this machine."""
    dispatcher: Any = njit(**options)(function)
    dispatcher._cache = MachineCode(function)
    return dispatcher


class MachineCode(FunctionCache):
    """The machine code of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        numbered = self._cache_file
        self._cache_file = FileForEach(self._cache_path, self._impl.filename_base, numbered._source_stamp)


class FileForEach(IndexDataCacheFile):
    """A file for each combination of types that a function was compiled for."""

    def __init__(self, path: str, name: str, source: object) -> None:
        super().__init__(path, name, source)  # type: ignore[no-untyped-call]
        self._beginning = f"{name}.{_digest((self._version, source), 8)}"
        self._name = name

    def save(self, key: Any, data: Any) -> None:
        """Write the code down, and delete that of an older source."""
        for file in Path(self._cache_path).glob(f"{self._name}.*.nbc"):
            if not file.name.startswith(self._beginning):
                with suppress(OSError):  # somebody else was quicker
                    file.unlink()
        self._save_data(self._file(key), (key, data))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        """The code, or None where there is none."""
        try:
            saved, data = self._load_data(self._file(key))  # type: ignore[no-untyped-call]
        except OSError:
            return None
        return data if saved == key else None

    def _file(self, key: Any) -> str:
        return f"{self._beginning}-{_digest(key, 16)}.nbc"


def _digest(value: object, length: int) -> str:
    return sha256(repr(value).encode()).hexdigest()[:length]
