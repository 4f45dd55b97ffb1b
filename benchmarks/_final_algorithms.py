"""The final aggregators measured: throughput, latency, memory and operations, for one range and for all.

One key, an entry a slice, every slide answered, as in the experiments of Shein 2019 (§3.4, §4.4). The
steps are made before the clock starts, so what is timed is the structure alone: insert, evict, answer.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit

from windrow.aggregates import Operation
from windrow.aggregates.operations import ADD_INTEGERS, GREATEST
from windrow.final import (
    FINAL_AGGREGATORS,
    BlockedTwoStacks,
    FinalAggregator,
    Recalculate,
    SubtractOnEvict,
    blocked_two_stacks,
    recalculate,
    rings,
    subtract_on_evict,
)
from windrow.final.counting import counted
from windrow.final.specialise import specialise
from windrow.final.steps import Steps

CHUNK = 1 << 16
ENTRY = 8
"""Bytes of an entry's record: an integer of 64 bits."""
OPERATIONS = {"sum": ADD_INTEGERS, "max": GREATEST}
LATENCY_WINDOW = 1024
OUTLIERS = 0.005
"""Percent of the slowest slides that are left out, as in the paper: the machine has other things to do."""
SPIKES = LATENCY_WINDOW + 100
"""Slides in a row that the figure of spikes shows: a little more than a turn of the window."""
SPIKY = ("two_stacks", "daba", "flat_fit", "slick_deque_non_inv")
"""Whose spikes it shows."""
SPACE = {
    "recalculate": 1, "subtract_on_evict": 1, "slick_deque_inv": 1, "slick_deque_non_inv": 2, "two_stacks": 2,
    "daba": 2, "flat_fit": 2, "flat_fat": 2, "b_int": 2, "blocked_two_stacks": 2,
}  # fmt: skip
"""Table 4's space of a single query, in windows; the blocked stacks are two stacks."""
ONCE_A_WINDOW = ("blocked_two_stacks", "two_stacks", "daba", "flat_fit")
"""What costs most in them happens once a window, so that a measurement has to be as long as one."""


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    windows: tuple[int, ...]
    all_ranges: tuple[int, ...]
    memory: tuple[int, ...]
    counted: tuple[int, ...]
    slides: int
    latencies: int
    repeats: int
    only: tuple[str, ...] = tuple(FINAL_AGGREGATORS)


FULL = Sizes(
    windows=tuple(1 << power for power in range(0, 25, 2)),
    all_ranges=tuple(1 << power for power in range(11)),
    memory=(*(1 << power for power in range(4, 21, 2)), *(3 << power for power in range(4, 20, 4))),
    counted=(1, 4, 16, 64, 256),
    slides=1 << 18,
    latencies=1_000_000,
    repeats=3,
)
QUICK = Sizes((1, 64, 4096), (1, 16), (64, 96, 4096), (16,), 1 << 14, 20_000, 1)


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything about every algorithm, as it stands in the report."""
    single, every, latency, space, counts = [], [], [], [], []
    for op, operation in OPERATIONS.items():
        for name in algorithms(operation):
            if name not in sizes.only:
                continue
            say(f"{op}, {name}")
            about = {"op": op, "algorithm": name}
            for n in sizes.windows:
                if name == "recalculate" and n > 1 << 12:
                    continue
                slides = max(sizes.slides, n) if name in ONCE_A_WINDOW else sizes.slides
                slides = min(slides, (1 << 24) // n) if name == "recalculate" else slides
                rates = [throughput(name, operation, [n], slides) for _ in range(sizes.repeats)]
                single.append({**about, "window": n, "slides_a_second": round(max(rates))})
            if FINAL_AGGREGATORS[name].many_ranges:
                for n in sizes.all_ranges:
                    slides = max(
                        min(sizes.slides, (1 << 21) // (n * (n if name == "recalculate" else 1))), 64
                    )
                    rate = max(throughput(name, operation, list(range(1, n + 1)), slides) for _ in range(2))
                    taken = operations(name, operation, list(range(1, n + 1)), 8)[0] if n <= 64 else None
                    every.append(
                        {**about, "window": n, "slides_a_second": round(rate), "operations_a_slide": taken}
                    )
            shown = latencies(name, operation, LATENCY_WINDOW, _fewer(name, sizes.latencies))
            latency.append({**about, **_summary(shown)})
            if op == "max" and name in SPIKY:
                latency[-1]["in_a_row"] = shown[-SPIKES:].tolist()
            for n in sizes.memory:
                space.append({**about, "window": n, "records_an_entry": round(memory(name, operation, n), 3)})
            for n in sizes.counted:
                average, worst = operations(name, operation, [n], 2 * n + 2)
                counts.append({**about, "window": n, "average": round(average, 3), "worst": worst})
    return {
        "single": single, "all_ranges": every, "latency": latency, "memory": space, "operations": counts,
        "latency_window": LATENCY_WINDOW,
    }  # fmt: skip


def excess(measured: Mapping[str, Any]) -> float:
    """The most memory that any algorithm takes, as a part of what Table 4 allows, at powers of two."""
    return max(
        row["records_an_entry"] / (SPACE[row["algorithm"]] + 0.02)  # the running totals are beside the window
        for row in measured["memory"]
        if row["window"] & (row["window"] - 1) == 0 and row["window"] >= 256
    )


def _fewer(name: str, slides: int) -> int:
    return slides // 20 if name == "recalculate" else slides


def _summary(nanoseconds: np.ndarray[Any, Any]) -> dict[str, Any]:
    kept = np.sort(nanoseconds)[: -max(round(len(nanoseconds) * OUTLIERS / 100), 1)]
    percentiles = {str(p): int(np.percentile(kept, p)) for p in (0, 25, 50, 75, 99, 99.9, 100)}
    return {
        "average": round(float(kept.mean()), 1),
        "percentiles": percentiles,
    }


def algorithms(operation: Operation, *, many: bool = False) -> dict[str, type[FinalAggregator]]:
    """Those that may serve an operation."""
    return {
        name: algorithm
        for name, algorithm in FINAL_AGGREGATORS.items()
        if algorithm.refusal(operation.algebra) is None and (algorithm.many_ranges or not many)
    }


def steps(ranges: list[int], first: int, last: int) -> Steps:
    """The slides from one entry up to another: each entry is pushed, and every range answered."""
    ends = np.arange(first + 1, last + 1)
    lengths = np.array(ranges)[:, None]
    evict_to = np.maximum(ends - lengths, 0)
    block = ends - 1 - (ends - 1) % lengths
    answers = np.tile(np.arange(len(ends) + 1), (len(ranges), 1))
    keys = np.zeros((len(ranges), len(ends)), np.int32)
    return Steps(ends, ends.copy(), evict_to, block, np.maximum(block, evict_to), answers, keys)


def filled(algorithm: type[FinalAggregator], operation: Operation, ranges: list[int], values: Any) -> Any:
    """An aggregator whose window has just become full."""
    longest = max(ranges)
    # A ring gets its size at once, as the papers' structures do; a deque grows as its input wants it.
    sized = issubclass(algorithm, rings.RingAggregator) and not algorithm.by_column
    own: Any = algorithm
    aggregator = own(operation, 1, len(ranges), longest) if sized else own(operation, 1, len(ranges))
    aggregator.grow(1)
    keys = np.zeros(len(values), np.int32)
    aggregator.slide(values, keys, 0, steps(ranges, longest - 1, longest))
    return aggregator


def throughput(name: str, operation: Operation, ranges: list[int], slides: int) -> float:
    """Slides a second, from a full window on."""
    longest = max(ranges)
    values = readings(longest + slides, operation)
    keys = np.zeros(len(values), np.int32)
    aggregator = filled(FINAL_AGGREGATORS[name], operation, ranges, values)
    chunk = max(CHUNK // len(ranges), 1)
    seconds = 0.0
    for first in range(longest, longest + slides, chunk):
        plan = steps(ranges, first, min(first + chunk, longest + slides))
        begun = time.perf_counter()
        aggregator.slide(values, keys, 0, plan)
        seconds += time.perf_counter() - begun
    return slides / seconds


def memory(name: str, operation: Operation, n: int) -> float:
    """Records held for a window of n entries, in multiples of n; the entries themselves included."""
    algorithm = FINAL_AGGREGATORS[name]
    values = readings(2 * n, operation)
    aggregator = filled(algorithm, operation, [n], values)
    more = 1 if name == "recalculate" else n  # a whole window, for structures that turn over
    aggregator.slide(values, np.zeros(len(values), np.int32), 0, steps([n], n, n + more))
    if not issubclass(algorithm, rings.RingAggregator):  # they read the entries where they are kept anyway
        return (aggregator.bytes + n * ENTRY) / (n * ENTRY)
    bookkeeping = sum(lane.state.nbytes for _, lane in aggregator.lanes)
    return (aggregator.bytes - bookkeeping) / (n * ENTRY)


def operations(name: str, operation: Operation, ranges: list[int], slides: int) -> tuple[float, int]:
    """Operations a slide, on average and at worst."""
    instrumented, count = counted(operation, 1)
    values = readings(max(ranges) + slides, operation)
    aggregator = filled(FINAL_AGGREGATORS[name], instrumented, ranges, values)
    keys = np.zeros(len(values), np.int32)
    taken = []
    count.take()
    for entry in range(max(ranges), max(ranges) + slides):
        aggregator.slide(values, keys, 0, steps(ranges, entry, entry + 1))
        taken.append(count.take())
    return sum(taken) / len(taken), max(taken)


@lru_cache(maxsize=2)
def readings(size: int, operation: Operation) -> np.ndarray[Any, Any]:
    """Like the energy readings of the papers' data: a slow wave with noise, as integers."""
    rng = np.random.default_rng(12)
    step = np.arange(size)
    wave = 5_000 * np.sin(step / 40_000) + 800 * np.sin(step / 90)
    return (10_000 + wave + rng.normal(0, 300, size)).astype(operation.dtype).reshape(-1, 1)


# Latency. Single slides are timed inside compiled code: a call from Python takes longer than a slide.

_clock = ctypes.CDLL(None).clock_gettime
_clock.argtypes = [ctypes.c_int, ctypes.c_void_p]
_clock.restype = ctypes.c_int


@njit
def _now(ticks: Any) -> int:
    _clock(1, ticks.ctypes)
    return ticks[0] * 1_000_000_000 + ticks[1]


def latencies(name: str, operation: Operation, n: int, slides: int) -> np.ndarray[Any, Any]:
    """Nanoseconds of single slides, in order, less what reading the clock takes."""
    algorithm = FINAL_AGGREGATORS[name]
    values = readings(n + slides, operation)
    keys = np.zeros(len(values), np.int32)
    aggregator: Any = filled(algorithm, operation, [n], values)
    plan = steps([n], n, n + slides)
    out = np.empty((slides, 1), operation.dtype)
    ticks, taken = np.zeros(2, np.int64), np.zeros(slides, np.int64)
    if issubclass(algorithm, rings.RingAggregator):
        (lane, ring), *_ = aggregator.lanes
        for turn in range(2):  # the first compiles, and lets a deque reach its size
            state = aggregator.snapshot()
            done = 0
            while done < slides:
                done = _ring_latencies(
                    ring.kernel(rings._slide), values[:, lane], keys, plan.evict_to, plan.push_to,
                    plan.answers_from, plan.answer_keys, done, aggregator.entered, *ring.memory,
                    out[:, lane], ticks, taken,
                )  # fmt: skip
                if done < slides:
                    ring.grow_full()
            if turn == 0:
                aggregator.restore(state)
    else:
        modules = {
            BlockedTwoStacks: blocked_two_stacks,
            SubtractOnEvict: subtract_on_evict,
            Recalculate: recalculate,
        }
        slide = specialise(modules[algorithm]._slide, operation, 1)
        for _ in range(2):
            aggregator = filled(algorithm, operation, [n], values)
            if algorithm is BlockedTwoStacks:
                aggregator._make_room(np.array([n]))
                _blocked_latencies(
                    slide, values, keys, plan.evict_to, plan.push_to, plan.block, plan.block_from,
                    plan.answers_from, plan.answer_keys, aggregator.front, aggregator.back, aggregator.behind,
                    aggregator.behind_from, aggregator.cursor, operation.identity, out, ticks, taken,
                )  # fmt: skip
            elif algorithm is SubtractOnEvict:
                _subtract_latencies(
                    slide, values, keys, plan.evict_to[0], plan.push_to, plan.answers_from[0],
                    plan.answer_keys[0], aggregator.total, aggregator.entries, aggregator.cursor,
                    operation.identity, out, ticks, taken,
                )  # fmt: skip
            else:
                _recalculate_latencies(
                    slide, values, keys, plan.evict_to, plan.push_to, plan.answers_from, plan.answer_keys,
                    aggregator.total, operation.identity, out, ticks, taken,
                )  # fmt: skip
    return np.maximum(taken - _clock_cost(ticks), 0)


def _clock_cost(ticks: Any) -> int:
    return int(np.median(_clock_readings(ticks, np.zeros(10_000, np.int64))))


@njit
def _clock_readings(ticks: Any, taken: Any) -> Any:
    for i in range(len(taken)):
        begun = _now(ticks)
        taken[i] = _now(ticks) - begun
    return taken


@njit
def _ring_latencies(
    slide: Any, records: Any, keys: Any, evict_to: Any, push_to: Any, answers_from: Any, answer_keys: Any,
    done: int, entered: Any, values: Any, aggregates: Any, totals: Any, links: Any, state: Any, out: Any,
    ticks: Any, taken: Any,
) -> int:  # fmt: skip
    for step in range(done, len(push_to)):
        begun = _now(ticks)
        reached = slide(
            records, keys, 0, evict_to[:, : step + 1], push_to[: step + 1], answers_from, answer_keys, step,
            entered, values, aggregates, totals, links, state, out,
        )  # fmt: skip
        taken[step] = _now(ticks) - begun
        if reached == step:
            return step
    return len(push_to)


@njit
def _blocked_latencies(
    slide: Any, records: Any, keys: Any, evict_to: Any, push_to: Any, block: Any, block_from: Any,
    answers_from: Any, answer_keys: Any, front: Any, back: Any, behind: Any, behind_from: Any, cursor: Any,
    identity: Any, out: Any, ticks: Any, taken: Any,
) -> None:  # fmt: skip
    for step in range(len(push_to)):
        one = slice(step, step + 1)
        begun = _now(ticks)
        slide(
            records, keys, 0, evict_to[:, one], push_to[one], block[:, one], block_from[:, one],
            answers_from[:, step : step + 2], answer_keys, front, back, behind, behind_from, cursor,
            identity, out,
        )  # fmt: skip
        taken[step] = _now(ticks) - begun


@njit
def _subtract_latencies(
    slide: Any, records: Any, keys: Any, evict_to: Any, push_to: Any, answers_from: Any, answer_keys: Any,
    total: Any, entries: Any, cursor: Any, identity: Any, out: Any, ticks: Any, taken: Any,
) -> None:  # fmt: skip
    for step in range(len(push_to)):
        one = slice(step, step + 1)
        begun = _now(ticks)
        slide(
            records, keys, 0, evict_to[one], push_to[one], answers_from[step : step + 2], answer_keys,
            total, entries, cursor, identity, out,
        )  # fmt: skip
        taken[step] = _now(ticks) - begun


@njit
def _recalculate_latencies(
    slide: Any, records: Any, keys: Any, evict_to: Any, push_to: Any, answers_from: Any, answer_keys: Any,
    total: Any, identity: Any, out: Any, ticks: Any, taken: Any,
) -> None:  # fmt: skip
    for step in range(len(push_to)):
        begun = _now(ticks)
        slide(
            records, keys, 0, evict_to[:, step : step + 1], push_to[step : step + 1],
            answers_from[:, step : step + 2], answer_keys, total, identity, out,
        )  # fmt: skip
        taken[step] = _now(ticks) - begun
