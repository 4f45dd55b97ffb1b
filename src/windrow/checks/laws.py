"""The laws, each a function of one example: what is against it, in words, or None.

An example is some runs of values, as slices have them. A law is only looked at if those that it rests on
hold, so that a class is told of the one thing that it does wrong, and not of all that follows from it.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from windrow.aggregates.own.function import raised, shown
from windrow.batch.by_value import pickled_by_value
from windrow.checks.subjects import OwnSubject, fold, folded_records, has_equality, same_answers, same_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.checks.subjects import Subject

    Example = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Law:
    """One law: its name, what it says, and how it is tried."""

    name: str
    meaning: str
    test: Callable[[Any, Example, float], str | None]
    runs: tuple[int, int]
    """How many runs of values an example has, at least and at most."""
    longest: int
    """How many values a run has at most."""
    rests_on: tuple[str, ...] = ()
    not_for: Callable[[Subject], str | None] = lambda subject: None
    """Why the law is none for a subject."""


def lift_one_by_one(subject: Subject, example: Example, tolerance: float) -> str | None:
    """Lifting is about each row alone: batches cut the rows anywhere."""
    (values,) = example
    together = subject.lift(values)
    alone = [state for value in values for state in subject.lift([value])]
    for value, one, other in zip(values, together, alone, strict=True):
        if not subject.same(one, other, tolerance):
            return (
                f"lift of {shown(value)} = {shown(other)}, but {shown(one)} when it is lifted with "
                f"{_listed(values)}"
            )
    return None


def arguments_untouched(subject: OwnSubject, example: Example, tolerance: float) -> str | None:
    """States are kept and used again: what a method is given must stay as it was."""
    calls = {"combine": subject.combine}
    if subject.function.own.inverse is not None:
        calls["inverse"] = lambda a, b: subject.inverse(subject.combine(b, a), b)
    calls["lower"] = lambda a, b: subject.lower([a])
    for method, call in calls.items():
        a, b = (fold(subject, [subject.untouched(value) for value in values]) for values in example)
        before = [subject.untouched(state) for state in (a, b)]
        call(a, b)
        for was, now in zip(before, (a, b), strict=True):
            if not _unchanged(subject, was, now):
                return f"{method} changed the state that it was given, from {shown(was)} to {shown(now)}"
    return None


def _unchanged(subject: OwnSubject, was: Any, now: Any) -> bool:
    if has_equality(was):
        return bool(was == now)
    return bool(subject.packed(was) == subject.packed(now))


def associative(subject: Subject, example: Example, tolerance: float) -> str | None:
    """Windows are put together from slices in whatever grouping is cheapest."""
    a, b, c = (fold(subject, values) for values in example)
    ab, bc = subject.combine(a, b), subject.combine(b, c)
    left, right = subject.combine(ab, c), subject.combine(a, bc)
    if subject.same(left, right, tolerance, [a, b, c, ab, bc]):
        return None
    x, y, z = map(_listed, example)
    return (
        f"combine(combine({x}, {y}), {z}) = {shown(left)}, "
        f"but combine({x}, combine({y}, {z})) = {shown(right)}"
    )


def has_identity(subject: Subject, example: Example, tolerance: float) -> str | None:
    """Slices without rows are combined like others, and change nothing."""
    (values,) = example
    record = subject.record(fold(subject, values))
    nothing = list(subject.operation.empty(1, len(record))[0])
    for records in ([nothing, record], [record, nothing]):
        found = folded_records(subject, records)
        if not _same_records(found, record, 0.0):
            shown_ = shown(tuple(found))
            return f"{shown(tuple(record))} with no rows at all = {shown_}"
    return None


def commutes(subject: Subject, example: Example, tolerance: float) -> str | None:
    """Claimed with `commutative`: rows are then combined as they come."""
    a, b = (fold(subject, values) for values in example)
    one, other = subject.combine(a, b), subject.combine(b, a)
    if subject.same(one, other, tolerance, [a, b]):
        return None
    x, y = map(_listed, example)
    return (
        f"combine({x}, {y}) = {shown(one)}, but combine({y}, {x}) = {shown(other)}; "
        "if the order of rows counts, say commutative = False"
    )


def undone(subject: Subject, example: Example, tolerance: float) -> str | None:
    """The oldest slice is taken out of a window's state again."""
    a, b = (fold(subject, values) for values in example)
    both = subject.combine(a, b)
    if not all(_finite(subject, state) for state in (a, b, both)):
        return None  # an infinity cannot be taken out, and windows do not try
    left = subject.inverse(both, a)
    exact = subject.operation.algebra.invertible
    if subject.same(left, b, 0.0 if exact else tolerance, [] if exact else [a, b, both]):
        return None
    x, y = map(_listed, example)
    almost = exact and subject.same(left, b, tolerance, [a, b, both])
    hint = "; nearly: it rounds, so it is not exact" if almost else ""
    return f"inverse(combine({x}, {y}), {x}) = {shown(left)}, but it should be {y} = {shown(b)}{hint}"


def split_anywhere(subject: Subject, example: Example, tolerance: float) -> str | None:
    """However rows are cut into slices, a window has the same answer."""
    values = [value for run in example for value in run]
    whole, slices = fold(subject, values), [fold(subject, run) for run in example]
    merged = reduce(subject.combine, slices)
    if subject.same(whole, merged, tolerance, [*slices, *subject.lift(values)]):
        return None
    pieces = " | ".join(_listed(run, bare=True) for run in example)
    return (
        f"{len(values)} rows in one slice give {shown(whole)}, but cut as {pieces} they give {shown(merged)}"
    )


def survives_rest(subject: OwnSubject, example: Example, tolerance: float) -> str | None:
    """An engine is stopped and started; states are written down in between."""
    before, after = example
    state = fold(subject, before)
    back = subject.unpacked(subject.packed(state))
    rest = subject.lift(after)
    straight, resumed = (reduce(subject.combine, [first, *rest]) for first in (state, back))
    if subject.same(straight, resumed, 0.0) and subject.same(state, back, 0.0):
        return None
    how = "pickled" if subject.function.own.pack is None else "packed"
    return (
        f"{_listed(before)} = {shown(state)}, but {shown(back)} when it has been {how} and read back; with "
        f"{_listed(after)} behind it, {shown(straight)} and {shown(resumed)}"
    )


def travels(subject: OwnSubject, example: Example, tolerance: float) -> str | None:
    """`sliding()` sends it to Spark's tasks, with its code and with what that refers to."""
    (values,) = example
    try:
        packed = pickled_by_value(subject.function, [subject.function.own])
        copy = OwnSubject(pickle.loads(packed))
    except Exception as error:
        return f"it cannot be pickled ({raised(error)}); leave out of it what belongs to one process"
    here, there = fold(subject, values), fold(copy, values)
    if subject.same(here, there, 0.0):
        return None
    return f"{_listed(values)} = {shown(here)}, but {shown(there)} after it has been pickled and read back"


def answers_fit(subject: OwnSubject, example: Example, tolerance: float) -> str | None:
    """`lower` gives a value of the type `result` for each window, whatever the other windows are."""
    states = [fold(subject, run) for run in example]
    together = subject.lower(states)  # raises, in words, what is of the wrong type or number
    for run, state, answer in zip(example, states, together, strict=True):
        (alone,) = subject.lower([state])
        if not same_answers(alone, answer, tolerance):
            beside = f"{shown(answer)} when it is lowered with others"
            return f"lower of {_listed(run)} = {shown(alone)}, but {beside}"
    return None


def compiled_alike(subject: OwnSubject, example: Example, tolerance: float) -> str | None:
    """Numba's arithmetic is not always Python's."""
    (values,) = example
    states = subject.lift(values)
    plain = reduce(subject.combine, states)
    _, *found = folded_records(subject, [subject.record(state) for state in states])
    expected = subject.numbers(plain) or ()
    among = [subject.numbers(state) or () for state in states]
    if same_numbers(found, expected, tolerance, among):
        return None
    return f"combine of {_listed(values)} = {shown(plain)} in Python, but compiled {shown(tuple(found))}"


def _only_objects(subject: Subject) -> str | None:
    is_object = isinstance(subject, OwnSubject) and subject.function.is_object
    return None if is_object else "numbers cannot be changed"


def _only_own(subject: Subject) -> str | None:
    return None if isinstance(subject, OwnSubject) else "for classes of users'"


def _only_compiled(subject: Subject) -> str | None:
    return _only_own(subject) or (subject.operation.note if subject.operation.interpreted else None)


def _claimed(subject: Subject) -> str | None:
    return None if subject.operation.algebra.commutative else "not claimed: rows are combined in stream order"


def _inverted(subject: Subject) -> str | None:
    return None if subject.operation.inverse is not None else "there is no inverse, and none is needed"


LAWS = (
    Law("lift", "rows lifted together are as if lifted one by one", lift_one_by_one, (1, 1), 6),
    Law("arguments", "no method changes the states that it is given", arguments_untouched, (2, 2), 3,
        ("lift",), _only_objects),
    Law("associativity", "combine(combine(a, b), c) = combine(a, combine(b, c))", associative, (3, 3), 4,
        ("lift", "arguments")),
    Law("identity", "combining with no rows changes nothing", has_identity, (1, 1), 3,
        ("lift", "arguments")),
    Law("commutativity", "combine(a, b) = combine(b, a)", commutes, (2, 2), 6,
        ("lift", "arguments"), _claimed),
    Law("inverse", "inverse(combine(a, b), a) = b", undone, (2, 2), 4,
        ("lift", "arguments", "associativity"), _inverted),
    Law("split", "rows may be cut into slices anywhere", split_anywhere, (2, 8), 16,
        ("lift", "arguments", "associativity")),
    Law("serialisation", "states survive a restart", survives_rest, (2, 2), 4,
        ("lift", "arguments"), _only_own),
    Law("travel", "it can be sent to Spark's tasks", travels, (1, 1), 2, ("lift", "arguments"), _only_own),
    Law("answer", "lower gives a value of its type for each window", answers_fit, (1, 4), 4,
        ("lift", "arguments"), _only_own),
    Law("compiled", "the compiled combine is the one that is written", compiled_alike, (1, 1), 8,
        ("lift", "arguments"), _only_compiled),
)  # fmt: skip


def _listed(values: Sequence[Any], *, bare: bool = False) -> str:
    """A run of values as people would write the state of them."""
    text = ", ".join(map(shown, values))
    return text if bare or len(values) == 1 else f"[{text}]"


def _finite(subject: Subject, state: Any) -> bool:
    numbers = subject.numbers(state)
    return numbers is None or all(abs(number) < float("inf") for number in numbers)


def _same_records(found: list[Any], record: list[Any], tolerance: float) -> bool:
    if any(isinstance(value, tuple) for value in record):
        return all(a is not None and a[1] is b[1] for a, b in zip(found, record, strict=True))
    return same_numbers(found, record, tolerance, [])
