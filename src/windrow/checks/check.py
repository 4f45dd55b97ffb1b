"""Try the laws on examples: small ones first, then odder and longer ones; one that breaks a law is shrunk.

Examples are drawn with a seed, so that a check finds tomorrow what it finds today.

Cost: some hundred examples a law, a second or so for a class; compiling it takes another.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.aggregates import Operation, own_function
from windrow.checks.laws import LAWS
from windrow.checks.report import Finding, Report
from windrow.checks.subjects import OperationSubject, OwnSubject
from windrow.checks.values import Values
from windrow.errors import QueryFailed, WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from windrow.checks.laws import Example, Law
    from windrow.checks.subjects import Subject

MOST_TRIES = 2_000
"""Examples tried to make one smaller."""


def check(
    aggregate: Any,
    values: Sequence[Any] | Callable[[Random], Any] | None = None,
    *,
    tolerance: float = 1e-9,
    examples: int = 200,
    seed: int = 0,
) -> Report:
    """Which laws an aggregate of your own keeps: a class of `OwnAggregate`, or an instance.

    `values` are what its argument may be, simplest first, or a function that draws one from a
    `random.Random`; tuples for a function of several arguments. Left out, they are numbers of all sorts.
    Floats may differ by `tolerance` of the values that went in.
    """
    subject: Subject
    if isinstance(aggregate, Operation):
        subject = OperationSubject(aggregate)
        kind = int if np.issubdtype(aggregate.dtype, np.integer) else float
        source = Values(values, 1, kind)
    else:
        name = aggregate.__name__ if isinstance(aggregate, type) else type(aggregate).__name__
        function = own_function(name, aggregate)
        subject = OwnSubject(function)
        source = Values(values, function.arguments, float if function.is_object else function.kind)
    findings: dict[str, Finding] = {}
    tried = 0
    for law in LAWS:
        broken = [name for name in law.rests_on if name in findings and findings[name].holds is False]
        absent = law.not_for(subject)
        if broken or absent:
            why = absent or f"not looked at, since {broken[0]} is broken"
            findings[law.name] = Finding(law.name, None, why)
            continue
        found, count = _try(law, subject, source, tolerance, examples, seed)
        tried += count
        findings[law.name] = Finding(law.name, found is None, found or law.meaning)
    return Report(subject.name, tuple(findings.values()), tried)


def assert_conforms(
    aggregate: Any, values: Sequence[Any] | Callable[[Random], Any] | None = None, **options: Any
) -> None:
    """Raise an AssertionError that says which law is broken, and by which values; as `check` otherwise."""
    report = check(aggregate, values, **options)
    if not report:
        raise AssertionError(str(report))


def _try(
    law: Law, subject: Subject, values: Values, tolerance: float, examples: int, seed: int
) -> tuple[str | None, int]:
    """What is against a law, by the smallest example that was found, and how many were tried."""
    random = Random(f"{seed} {law.name}")
    for number in range(examples):
        example = _draw(law, values, random, number / examples)
        found = _against(law, subject, example, tolerance)
        if found is not None:
            return _shrunk(law, subject, values, example, found, tolerance), number + 1
    return None, examples


def _draw(law: Law, values: Values, random: Random, effort: float) -> list[list[Any]]:
    least, most = law.runs
    runs = random.randint(least, least + round((most - least) * effort))
    longest = 1 + round((law.longest - 1) * effort)
    return [[values.draw(random, effort) for _ in range(random.randint(1, longest))] for _ in range(runs)]


def _against(law: Law, subject: Subject, example: Example, tolerance: float) -> str | None:
    try:
        with np.errstate(all="ignore"):
            return law.test(subject, example, tolerance)
    except QueryFailed as error:
        return str(error).partition(": ")[2]
    except WindrowError as error:
        return str(error)


def _shrunk(
    law: Law, subject: Subject, values: Values, example: list[list[Any]], found: str, tolerance: float
) -> str:
    """What is against the law in the smallest example that can be made from one."""
    tries, smaller = 0, True
    while smaller:
        smaller = False
        for candidate in _simpler(law, values, example):
            tries += 1
            if tries > MOST_TRIES:
                return found
            against = _against(law, subject, candidate, tolerance)
            if against is not None:
                example, found, smaller = candidate, against, True
                break
    return found


def _simpler(law: Law, values: Values, example: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Examples with a run or a value less, then with a simpler value."""
    if len(example) > law.runs[0]:
        for place in range(len(example)):
            yield [*example[:place], *example[place + 1 :]]
    for place, run in enumerate(example):
        if len(run) > 3:  # by halves, and then one by one
            for half in (run[: len(run) // 2], run[len(run) // 2 :]):
                yield [*example[:place], half, *example[place + 1 :]]
        if len(run) > 1:
            for at in range(len(run)):
                yield [*example[:place], [*run[:at], *run[at + 1 :]], *example[place + 1 :]]
    for place, run in enumerate(example):
        for at, value in enumerate(run):
            for better in values.simpler(value):
                yield [*example[:place], [*run[:at], better, *run[at + 1 :]], *example[place + 1 :]]
