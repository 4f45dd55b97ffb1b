"""One stream's Spark StreamingQuery: hands out batches, which are staged and committed as epochs."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from datetime import datetime
from socket import SHUT_RDWR
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from windrow.errors import HomeError, MachineFailed, WindrowError
from windrow.runtime.epochs.too_many_dead import check_dead
from windrow.runtime.spark.analysis import reason
from windrow.runtime.spark.blame import ENGINE_ERRORS, JAVA_GONE, Stopped, failure
from windrow.runtime.spark.patience import NOTHING_LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from windrow.runtime.epochs.epoch import Epochs
    from windrow.runtime.epochs.report import EpochReport
    from windrow.runtime.epochs.stage import Staging
    from windrow.runtime.state.queries import RunningQuery

# Spark keeps a hundred batches of its own logs, and replaced source logs for ten minutes; Windrow never
# goes back further than one batch. Of triggers that find nothing, Spark reports one in ten seconds; with the
# trigger itself as the interval it would leave out every other one, which comes a moment too early.
SETTINGS = {
    "spark.sql.streaming.noDataProgressEventInterval": "100ms",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "30s",
}


REST_SECONDS = 5.0
"""How long Spark may take to come to rest before it is interrupted in what it does. It prints that, but a
source that is slow to list, or a batch that is, should not hold up who stops the stream."""


class Reader:
    """Reads one stream, until the end of what is there or until it is stopped."""

    def __init__(
        self,
        staging: Staging,
        epochs: Epochs,
        rows: DataFrame,
        queries: Callable[[], list[RunningQuery]],
        tables: Callable[[Iterable[RunningQuery]], Mapping[str, DataFrame]],
        report: Callable[[EpochReport], None],
        keep_pace: Callable[[Callable[[], bool]], None] = lambda stopping: None,
    ) -> None:
        """`keep_pace` is called before a batch is taken, with what says whether the stream is being stopped;
        it returns when others have come as far."""
        self.staging = staging
        self.queries = queries
        """The queries that its rows are for."""
        self.failure: BaseException | None = None
        """What stopped it, unless that was `stop`."""
        self.gave_up = False
        """Whether a batch was given up."""
        self.retired = False
        """Whether it takes no more batches, and waits to be stopped."""
        self.is_held_back = False
        """Whether its next batch waits for other streams to come as far."""
        self._epochs = epochs
        self._rows = rows
        self._tables = tables
        self._report = report
        self._keep_pace = keep_pace
        self._query: Any = None
        self._connection: Any = None
        self._stopping = False
        self._in_batch = False
        self._given_up = Event()
        self._told_to_stop = Event()
        self._stopped = Event()

    def start(self, *, live: bool, **trigger: Any) -> None:
        """Start reading; `trigger` as Spark's."""

        def queries() -> list[RunningQuery]:
            if self._stopping or self.retired:  # while the batch waited for its turn
                raise Stopped
            return self.queries()

        def process(batch: DataFrame, batch_id: int) -> None:
            self._in_batch = True
            try:
                gateway: Any = batch.sparkSession.sparkContext._gateway
                self._connection = gateway._gateway_client.get_thread_connection()
                self.is_held_back = True
                self._keep_pace(lambda: self._stopping or self.retired)
                self.is_held_back = False
                with self.staging.staged(
                    batch, batch_id, queries, self._tables, live=live, stopping=lambda: self._stopping
                ) as part:
                    if self._stopping:
                        raise Stopped
                    if part is not None:
                        for report in self._epochs.run(part):
                            self._report(report)
                check_dead(self.staging.stream, self.staging.progress)
                if self.staging.listening is not None:
                    self.staging.listening.begin()
            except BaseException as error:
                if not isinstance(error, Exception):
                    self.failure = error
                    # py4j answers Spark, which waits for it, only if what ends the callback is an Exception.
                    raise WindrowError(f"{type(error).__name__} ended the batch") from error
                if not (self._stopping or isinstance(error, Stopped)):
                    self.failure = error  # Spark would hand it on as text
                    raise
                self.gave_up = True
                if isinstance(error, HomeError):
                    self.failure = error
                # Anything else is what stopping does: Spark cancels the batch's jobs.
                self._wait_to_be_stopped()
                raise Stopped from None
            finally:
                self._in_batch = False

        check_dead(self.staging.stream, self.staging.progress)
        self.staging.check_record()
        checkpoint = self.staging.checkpoint
        writer = self._rows.writeStream.foreachBatch(process).trigger(**trigger)
        writer = writer.queryName(f"windrow {self.staging.stream.name} in {checkpoint}")
        with _settings(self._rows.sparkSession):
            self._query = writer.option("checkpointLocation", f"file://{checkpoint}").start()
            # The source, and with it its log, is made by Spark's thread and takes its settings then.
            while self._query.isActive and self._query.status["message"].startswith("Initializing"):
                time.sleep(0.01)

    @property
    def active(self) -> bool:
        """Whether it is still reading, or about to."""
        query = self._query
        if query is None:
            return not self._stopping and self.failure is None
        try:
            return bool(query.isActive)
        except JAVA_GONE as error:
            self._note_gone(error)
            return False

    @property
    def is_waiting(self) -> bool:
        """Whether Spark has looked, since the last batch, and found nothing."""
        query = self._query
        if query is None:
            return False
        try:
            status = query.status
        except JAVA_GONE:
            return False
        return bool(status["message"].startswith("Waiting for") and not status["isDataAvailable"])

    def looked(self) -> float | None:
        """When Spark last began to look for rows, of the times that it is done with; None before the first.

        In seconds since 1970, by the system's clock: Spark reports when a trigger began, to the millisecond.
        """
        query = self._query
        try:
            progress = None if query is None else query.lastProgress
        except JAVA_GONE:
            return None
        return None if progress is None else datetime.fromisoformat(progress.timestamp).timestamp()

    def process_available(self, in_vain: Callable[[], bool]) -> None:
        """Wait until all rows that are there now have been processed, or until there is no point in it: the
        stream is held back, and nobody else has rows that would let it go on."""
        while self._query is None and self.active:
            time.sleep(0.01)
        with self._our_errors() as query:
            if query is None:
                return
            raised: list[BaseException] = []

            def wait() -> None:
                try:
                    query.processAllAvailable()
                except BaseException as error:  # for whoever waits for this thread
                    raised.append(error)

            waiting = Thread(target=wait, name="windrow waits", daemon=True)
            waiting.start()
            while waiting.is_alive() and not (self.is_held_back and in_vain()):
                waiting.join(0.05)
            if raised:
                raise raised[0]

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it ends, or for some time; raises what stopped it, unless that was `stop`."""
        with self._our_errors() as query:
            if query is not None:
                query.awaitTermination(seconds)

    def retire(self) -> None:
        """Finish the batch that is under way and take no more; the next one waits, to be read by another."""
        self.retired = True

    def stop(self) -> None:
        """Stop; a batch that is under way is given up, whole, unless it is being committed already.

        Returns when nothing of it is under way any more, also where Spark itself has died, or where it could
        not be started: states are being read back by then.
        """
        self._stopping = True
        query = self._query
        if query is None:
            self.staging.rest()
        else:
            try:
                self._come_to_rest(query)
                self._told_to_stop.set()
                query.stop()
            except Exception as error:  # Spark has died, or was stopped: nothing is read any more
                self._note_gone(error)
            finally:
                self._told_to_stop.set()
                # Spark does not wait for the callback, and the home is about to be let go.
                self.staging.rest()
            # Java holds the callback, and with it this object, for as long as we hold Java's query: two
            # garbage collectors, neither of which would see that nobody needs either.
            self._query = None
            connection, self._connection = self._connection, None
            if connection is not None and connection.socket is not None:  # there is none if Java is gone
                # Spark's thread is gone, and ours that it called would wait for it for ever. (Not closed:
                # that would wait for the thread that waits.)
                with suppress(OSError):
                    connection.socket.shutdown(SHUT_RDWR)
            self._stopped.set()

    def _come_to_rest(self, query: Any) -> None:
        """Let Spark hand out the batch that it plans, or give up the one that is under way: an interruption
        in the middle of either is printed."""
        if self._in_batch:
            self._rows.sparkSession.sparkContext.cancelJobGroup(query.runId)
        patience = time.monotonic() + REST_SECONDS
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < patience:
            if self._given_up.wait(0.02):
                break

    def _wait_to_be_stopped(self) -> None:
        """Wait until Spark has been told to stop the query: an interruption before that counts as a failure.

        A reader that is retired waits here with the batch that it may not take, until it is replaced.
        """
        self._given_up.set()
        self._told_to_stop.wait()
        while not self._stopped.wait(0.01):
            if self._query is not None and not self.active:
                break

    def _note_gone(self, error: Exception) -> None:
        """Java has died, and the stream with it."""
        self.failure = self.failure or error

    @contextmanager
    def _our_errors(self) -> Iterator[Any]:
        """Spark's query, if it has not been stopped. An error of ours that ended it is raised as itself, not
        as Spark's report of it, also when it has been stopped since."""
        query = self._query
        try:
            yield query
            if query is None and self.failure is not None:
                raise self._explained(self.failure)
        except ENGINE_ERRORS as error:
            raise self._explained(error) from error

    def _explained(self, error: BaseException) -> BaseException:
        ours = self.failure
        if isinstance(ours, WindrowError) or not isinstance(ours, Exception | None):
            return ours  # a wish to exit, or Ctrl-C, is for whoever waits
        fault = failure(ours or error)
        if isinstance(fault, MachineFailed):
            told = f"stream '{self.staging.stream.name}' stopped: {fault.problem}. {NOTHING_LOST}"
            return MachineFailed(fault.problem, told, lasting=True)
        detail = f"{type(ours).__name__}: {ours}" if ours is not None else reason(error)
        return WindrowError(f"stream '{self.staging.stream.name}' stopped: {detail}")


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    """Settings that a streaming query takes along when it starts; the session is left as it was."""
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, found in before.items():
            if found is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, found)
