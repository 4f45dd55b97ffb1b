"""Structured logs: what happens to an engine, one JSON object a line.

{"time": "2026-01-31T12:00:00.000000Z", "level": "INFO", "logger": "windrow",
 "event": "epoch_committed", "message": "epoch 17 committed", "epoch": 17, …}

The engine speaks through the ordinary logger "windrow", so any logging setup works; `log_to` is one.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from logging.handlers import WatchedFileHandler
from typing import TYPE_CHECKING, Any, Self

from windrow.errors import WindrowError

if TYPE_CHECKING:
    import os

LOG = logging.getLogger("windrow")


def event(level: int, name: str, message: str, *, error: BaseException | None = None, **about: Any) -> None:
    """Log an event by its name. The message may use what it is `about`: "epoch %(epoch)d committed"."""
    LOG.log(
        level, message, *([about] if about else []), exc_info=error, stacklevel=2,
        extra={"windrow": {"event": name, **about}},
    )  # fmt: skip


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; `extra={"windrow": {…}}` adds fields, "event" among them."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        about = dict(getattr(record, "windrow", {}))
        line: dict[str, Any] = {
            "time": plain(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname,
            "logger": record.name,
            "event": about.pop("event", "message"),
            "message": record.getMessage(),
        }
        line |= {key: plain(value) for key, value in about.items() if key not in line}
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["exception"] = {
                "type": type(error).__qualname__,
                "message": str(error),
                "traceback": self.formatException(record.exc_info),
            }
        return json.dumps(line, ensure_ascii=False)


class LogFile:
    """A file that gets the log, until it is closed."""

    def __init__(self, handler: logging.Handler, level: int) -> None:
        self._handler = handler
        self._level_before = LOG.level
        LOG.addHandler(handler)
        LOG.setLevel(min(level, LOG.getEffectiveLevel()))

    def close(self) -> None:
        """Log there no longer."""
        LOG.removeHandler(self._handler)
        LOG.setLevel(self._level_before)
        self._handler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def log_to(path: str | os.PathLike[str], level: int = logging.INFO) -> LogFile:
    """Append Windrow's log to a file, as JSON lines; a file that was moved away is made anew."""
    try:
        # A lone surrogate, which UTF-8 cannot hold, is written as \udXXX: the escape that JSON has for it.
        handler = WatchedFileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise WindrowError(f"cannot log to {path}: {error.strerror or error}") from error
    handler.setFormatter(JsonLines())
    handler.setLevel(level)
    return LogFile(handler, level)


def plain(value: Any) -> Any:
    """A value as JSON has it: instants in ISO 8601, durations in seconds, the rest as text if need be.

    >>> plain({"watermark": datetime(2026, 1, 31, tzinfo=UTC), "lag": timedelta(minutes=2)})
    {'watermark': '2026-01-31T00:00:00.000000Z', 'lag': 120.0}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)
