"""Classes that are broken on purpose, each in one law: the report names that law and no other."""

from __future__ import annotations

import collections
import doctest
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import windrow
from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST, MOMENTS
from windrow.checks import assert_conforms, check


class Mean(windrow.OwnAggregate):
    state = ("count", "total")

    def lift(self, x):
        return 1, x

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def inverse(self, a, b):
        return a[0] - b[0], a[1] - b[1]

    def lower(self, s):
        return s[1] / s[0]


class Words(windrow.OwnAggregate):
    state = object
    result = "STRING"
    exact = True

    def lift(self, word):
        return collections.Counter([word])

    def combine(self, a, b):
        return a + b

    def inverse(self, a, b):
        return a - b

    def lower(self, s):
        return max(s, key=lambda word: (s[word], word))


class Concatenated(windrow.OwnAggregate):
    """Polynomial rolling hashes: the order counts, and integers do not round."""

    state = ("factor", "hash")
    kind = int
    commutative = False
    result = "BIGINT"

    def lift(self, x):
        return 31, x % 1_000_003

    def combine(self, a, b):
        return a[0] * b[0] % 1_000_003, (a[1] * b[0] + b[1]) % 1_000_003

    def lower(self, s):
        return s[1]


class Product(windrow.OwnAggregate):
    state = float

    def __init__(self, most=1e9):
        self.most = most

    def lift(self, x):
        return x * 1.0

    def combine(self, a, b):
        return max(-self.most, min(self.most, a)) * b if self.most < 0 else a * b

    def lower(self, s):
        return s


@pytest.mark.parametrize(
    ("aggregate", "values"),
    [(Mean, None), (Words, ["a", "b", "c"]), (Concatenated, None), (Product(5.0), [1.0, 2.0, -0.5, 3.0])],
)
def test_those_that_keep_the_laws(aggregate, values):
    report = check(aggregate, values)
    assert report, report
    assert "keeps its laws" in str(report)
    assert_conforms(aggregate, values, seed=3, examples=50)


# Broken, each in one law.


class DeviatesTogether(Mean):
    def lift(self, x):
        return 1, x - x.mean()


class Updates(Words):
    def combine(self, a, b):
        a.update(b)
        return a


class Halves(Mean):
    inverse = None

    def combine(self, a, b):
        return a[0] + b[0], (a[1] + b[1]) / 2


class Last(Mean):
    inverse = None

    def combine(self, a, b):
        return a[0] + b[0], b[1]


class ForgetsCount(Mean):
    def inverse(self, a, b):
        return a[0] - b[0], a[1]


class ClaimsToBeExact(Mean):
    exact = True


class GivesUpLate(Mean):
    inverse = None

    def combine(self, a, b):
        n = a[0] + b[0]
        return (n, a[1] + b[1]) if n <= 30 else (n, a[1])


class PacksKeysOnly(Words):
    def pack(self, s):
        return ",".join(sorted(s)).encode()

    def unpack(self, packed):
        return collections.Counter(packed.decode().split(","))


class HoldsALock(Mean):
    def __init__(self):
        self.lock = threading.Lock()


class OfAnotherType(Mean):
    result = "BIGINT"


class LowersTogether(Mean):
    def lower(self, s):
        return s[1] / s[0].max()


BROKEN = [
    (
        DeviatesTogether,
        None,
        "lift",
        "lift of 1.0 = (1.0, 0.0), but (1.0, -0.5) when it is lifted with [1.0, 2.0]",
    ),
    (Updates, ["a", "b"], "arguments", "combine changed the state that it was given, from Counter({'a': 1})"),
    (Halves, None, "associativity", "combine(combine("),
    (Last, None, "commutativity", "combine(2.0, 1.0) = (2.0, 1.0), but combine(1.0, 2.0) = (2.0, 2.0)"),
    (ForgetsCount, None, "inverse", "inverse(combine(1.0, 1.0), 1.0) = (1.0, 2.0), but it should be 1.0"),
    (ClaimsToBeExact, None, "inverse", "nearly: it rounds, so it is not exact"),
    (GivesUpLate, None, "split", "rows in one slice give"),
    (
        PacksKeysOnly,
        ["a", "b"],
        "serialisation",
        "['b', 'b'] = Counter({'b': 2}), but Counter({'b': 1}) when it has been packed",
    ),
    (HoldsALock, None, "travel", "cannot pickle '_thread.lock' object"),
    (OfAnotherType, None, "answer", "lower returned 0.5, which does not fit in its result, BIGINT"),
    (LowersTogether, None, "answer", "when it is lowered with others"),
]


@pytest.mark.parametrize(("cls", "values", "law", "text"), BROKEN, ids=[b[0].__name__ for b in BROKEN])
def test_the_law_that_is_broken_is_named_and_no_other(cls, values, law, text):
    report = check(cls, values)
    assert report.broken == [law], report
    assert not report
    assert text in str(report)
    with pytest.raises(AssertionError, match=f"{cls.__name__} breaks {law}"):
        assert_conforms(cls, values)


def test_a_small_example_is_found_for_a_large_failure():
    (finding,) = [f for f in check(GivesUpLate).findings if f.law == "split"]
    assert finding.text.startswith("31 rows in one slice give (31.0, 3")


class Raises(Mean):
    def combine(self, a, b):
        if b[1] < 0:
            raise ValueError("negative")
        return a[0] + b[0], a[1] + b[1]


def test_what_a_method_raises_is_told_with_what_it_was_given():
    report = check(Raises, tolerance=1e-6)
    assert "combine raised ValueError: negative, given (1.0, 1.0) and (1.0, -1.0)" in str(report)


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        (ADD_INTEGERS, None),
        (ADD_FLOATS, None),
        (GREATEST, None),
        (MOMENTS, lambda random: (1.0, random.choice([0.0, 1.0, -5.5, 1e6, random.gauss(0, 10)]), 0.0)),
    ],
)
def test_our_own_operations(operation, values):
    assert_conforms(operation, values)


def test_an_operation_whose_identity_is_none():
    wrong = replace(GREATEST, name="wrong", identity=0)
    assert check(wrong).broken == ["identity"]


def test_integers_that_do_not_fit():
    class Wide(Concatenated):
        def combine(self, a, b):
            return 31, int(str(a[1]) + str(abs(b[1])) + "0" * 20)

    assert "which does not fit in 64 bits" in str(check(Wide))


def test_the_page_says_what_happens():
    page = (Path(__file__).parents[2] / "docs" / "aggregates.md").read_text()
    (section,) = re.findall(r"### Is it right\?(.*?)(?:\n##|$)", page, re.DOTALL)
    examples = "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(examples, {}, "aggregates.md", "aggregates.md", 0)
    assert len(test.examples) > 3
    assert doctest.DocTestRunner(optionflags=flags).run(test).failed == 0
