"""An engine's status as Prometheus metrics, served over HTTP.

Nothing is counted here: every scrape asks for the status, which an engine reads from its catalog, so
the metrics say what is committed and go on after a restart where they were. A scrape costs what a
status costs, a few milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily as Counter
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.registry import Collector

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime, timedelta

    from windrow.runtime.watch.status import Status

    Family = type[Counter] | type[Gauge]
    Measure = tuple[str, Family, Callable[[Any], float | None], str]

# Name, kind, how it is measured (None: there is nothing to tell yet), and what Prometheus shows as help.
# A counter's name gets "_total" behind it.
OF_STREAM: list[Measure] = [
    ("rows", Counter, lambda s: s.rows, "Rows read, the late and the dead ones among them."),
    ("late", Counter, lambda s: s.late, "Rows that came when the watermark had passed them: in no window."),
    ("dead", Counter, lambda s: s.dead, "Rows that could not be read or believed: the dead letters."),
    ("rate", Gauge, lambda s: s.rate, "Rows a second, over the last minute."),
    ("watermark_seconds", Gauge, lambda s: _seconds_since_1970(s.watermark),
     "The watermark, in seconds since 1970: windows that end before it are answered."),
    ("lag_seconds", Gauge, lambda s: _seconds(s.lag), "How far the watermark is behind the clock."),
    ("idle", Gauge, lambda s: s.idle, "1 while no rows come and time goes on with the clock."),
    ("sealed", Gauge, lambda s: s.sealed, "1 once it has been sealed: whatever comes is late."),
    ("epoch_seconds", Gauge, lambda s: s.epoch_seconds, "How long its last epoch took."),
]  # fmt: skip
OF_QUERY: list[Measure] = [
    ("answers", Counter, lambda q: q.answers, "Answers committed."),
    ("answered_until_seconds", Gauge, lambda q: _seconds_since_1970(q.latest_end),
     "The end of the latest window answered, in seconds since 1970."),
    ("entries", Gauge, lambda q: q.entries, "Partials held, in open and closed slices."),
    ("state_bytes", Gauge, lambda q: q.state_bytes, "Memory that its state takes."),
    ("quarantined", Gauge, lambda q: q.quarantined is not None, "1 once it has failed: it no longer runs."),
]  # fmt: skip


class StatusCollector(Collector):
    """Gives a status as metrics, whenever Prometheus asks."""

    def __init__(self, status: Callable[[], Status]) -> None:
        self._status = status

    def collect(self) -> Iterator[Counter | Gauge]:
        """The metrics of this moment."""
        status = self._status()
        streams = [((stream.name,), stream) for stream in status.streams]
        for name, kind, measure, text in OF_STREAM:
            values = ((labels, measure(stream)) for labels, stream in streams)
            yield _family(kind, f"windrow_stream_{name}", text, ["stream"], values)
        queries = [((query.name, query.stream), query) for query in status.queries]
        for name, kind, measure, text in OF_QUERY:
            of_each = ((labels, measure(query)) for labels, query in queries)
            yield _family(kind, f"windrow_query_{name}", text, ["query", "stream"], of_each)
        for name, text, sizes in (
            ("windrow_disk_bytes", "Size of the files of the home.", status.bytes),
            ("windrow_files", "Number of the files of the home.", status.files),
        ):
            yield _family(Gauge, name, text, ["kind"], (((what,), size) for what, size in sizes.items()))
        last = "The last epoch committed; -1 before the first."
        yield _family(Gauge, "windrow_epoch", last, [], [((), status.epoch)])


class MetricsServer:
    """Serves a status at http://address:port/metrics until it is stopped; port 0 takes a free one."""

    def __init__(self, status: Callable[[], Status], port: int, address: str = "127.0.0.1") -> None:
        registry = CollectorRegistry()
        registry.register(StatusCollector(status))
        try:
            self._server, self._thread = start_http_server(port, address, registry)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise WindrowError(
                f"cannot serve metrics at {address}:{port}: {why[:1].lower()}{why[1:]}; "
                "name another port, or 0 for any that is free"
            ) from error
        self.port = int(self._server.server_port)
        self.address = address

    @property
    def url(self) -> str:
        """Where they are served."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}/metrics"

    def stop(self) -> None:
        """Stop serving, and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _family(
    kind: Family,
    name: str,
    text: str,
    labels: Sequence[str],
    samples: Iterable[tuple[Sequence[str], float | None]],
) -> Counter | Gauge:
    family = kind(name, text, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(values, float(value))
    return family


def _seconds_since_1970(instant: datetime | None) -> float | None:
    return None if instant is None else instant.timestamp()


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
