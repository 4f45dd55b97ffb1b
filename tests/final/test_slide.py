"""`slide()` against plain recomputation: every aggregate × window × kind of values × slide × partial."""

import doctest
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import InputError, SumOverflow, WindrowError
from windrow.final import slide

OPS = ["sum", "count", "mean", "min", "max", "var_samp", "var_pop", "std", "stddev_pop"]
WINDOWS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 1000, 4096, 5000]
LENGTH = 5_100
rng = np.random.default_rng(5)


def floats(*special):
    values = rng.normal(10, 1, LENGTH)
    for value in special:
        values[rng.integers(0, LENGTH, 12)] = value
    return values


INPUTS = {
    "random": floats(),
    "nan": floats(np.nan),
    "inf": floats(np.inf, -np.inf),
    "nan and inf": floats(np.nan, np.inf, -np.inf),
    "ties": rng.integers(0, 3, LENGTH).astype(float),
    "constant": np.full(LENGTH, 0.1),
    "ascending": np.arange(LENGTH, dtype=float),
    "descending": -np.arange(LENGTH, dtype=float),
    "float32": floats().astype(np.float32),
    "ints": rng.integers(-1000, 1000, LENGTH),
    "int8": rng.integers(-128, 128, LENGTH).astype(np.int8),
    "bools": rng.integers(0, 2, LENGTH).astype(bool),
    "masked": np.ma.array(rng.integers(-100, 100, LENGTH), mask=rng.random(LENGTH) < 0.6),
}


def recompute(values, op, begin, end):
    """The aggregate of values[begin:end] that NumPy computes; None where there is none."""
    inside = values[begin:end]
    if np.ma.isMaskedArray(inside):
        inside = inside.compressed()
    if inside.dtype.kind == "f":
        inside = inside.astype(float)
    if op == "count":
        return len(inside)
    if len(inside) == 0:
        return None
    if op in ("min", "max"):
        # NaN sorts above every number.
        return np.sort(inside)[0 if op == "min" else -1]
    if op == "sum":
        return inside.sum() if inside.dtype.kind == "f" else sum(inside.tolist())
    if op == "mean":
        return inside.astype(float).mean()
    ddof = 0 if op.endswith("pop") else 1
    if len(inside) <= ddof:
        return None
    with np.errstate(invalid="ignore"):
        return (np.std if op.startswith("std") else np.var)(inside.astype(float), ddof=ddof)


def agrees(got, expected, scale):
    if expected is None:
        return got is np.ma.masked or np.isnan(got)
    if np.isnan(expected):
        return np.isnan(got)
    if np.isinf(expected):
        return got == expected
    return abs(float(got) - float(expected)) <= 1e-9 * scale


def check(answers, values, op, window, positions):
    """Some of the answers: those around the beginning, the end and the special values, and random ones."""
    assert len(answers) == len(positions)
    if len(positions) == 0:
        return
    places = {*range(min(20, len(positions))), *range(max(0, len(positions) - 5), len(positions))}
    places |= set(rng.integers(0, len(positions), 25).tolist())
    magnitude = np.abs(np.nan_to_num(np.ma.filled(values, 0).astype(float), posinf=0, neginf=0))
    for place in places:
        end = positions[place] + 1
        begin = max(0, end - window)
        with np.errstate(invalid="ignore"):
            expected = recompute(values, op, begin, end)
        if op in ("min", "max", "count") or (op == "sum" and values.dtype.kind != "f"):
            scale = 0
        elif op == "sum":
            scale = magnitude[begin:end].sum()
        elif op == "mean":
            scale = magnitude[begin:end].mean()
        else:
            scale = (magnitude[begin:end] ** 2).mean()
        assert agrees(answers[place], expected, scale), (end, answers[place], expected)


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("op", OPS)
def test_equals_recomputation(op, kind):
    values = INPUTS[kind]
    for window in WINDOWS:
        check(slide(values, op, window), values, op, window, range(LENGTH))
        full = slide(values, op, window, partial=False)
        check(full, values, op, window, range(window - 1, LENGTH))
        for every in (2, 64):
            answers = slide(values, op, window, slide=every)
            check(answers, values, op, window, range(every - 1, LENGTH, every))
        some = slide(values, op, window, slide=10, partial=False)
        check(some, values, op, window, [i for i in range(9, LENGTH, 10) if i >= window - 1])


@given(
    length=st.integers(0, 200),
    window=st.integers(1, 220),
    op=st.sampled_from(["sum", "max", "min"]),
    partial=st.booleans(),
    every=st.integers(1, 12),
    nan_at=st.none() | st.integers(0, 199),
)
@settings(max_examples=400, deadline=None)
def test_wherever_the_borders_of_blocks_fall(length, window, op, partial, every, nan_at):
    """Blocks of 3 to 6 windows: a block, a group of four and a flip of the stacks end at every place."""
    values = np.random.default_rng(length).integers(-50, 50, length).astype(float)
    if nan_at is not None and nan_at < length:
        values[nan_at] = np.nan
    answers = slide(values, op, window, slide=every, partial=partial, _blocks=range(3, 7))
    ends = [i + 1 for i in range(every - 1, length, every) if partial or i >= window - 1]
    expected = [recompute(values, op, max(0, end - window), end) for end in ends]
    np.testing.assert_array_equal(answers, np.array(expected, float))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["random", "nan", "ints", "masked"])
@pytest.mark.parametrize(
    "windows",
    [[16, 256, 4096], list(range(1, 60)), [5, 1, 9, 3, 7, 7], [10, 20, 30, 40, 9_000], range(100, 2000, 100)],
    ids=["few", "all", "unsorted", "longer than the values", "evenly spaced"],
)
def test_many_windows_are_each_single_one(op, kind, windows):
    values = INPUTS[kind]
    together = slide(values, op, windows)
    assert together.shape == (LENGTH, len(windows))
    for place, window in enumerate(windows):
        alone = slide(values, op, window)
        np.testing.assert_allclose(together[:, place], alone, rtol=1e-9, atol=1e-9)
        assert np.array_equal(np.ma.getmaskarray(together[:, place]), np.ma.getmaskarray(alone))


# time

STAMPS = pd.to_datetime("1969-12-31 23:00") + pd.to_timedelta(np.sort(rng.integers(0, 9_000, 3_000)), "s")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("skipped", [False, True])
def test_windows_of_time_are_those_of_pandas(op, skipped):
    values = rng.normal(5, 2, len(STAMPS))
    if skipped:
        values[rng.random(len(values)) < 0.5] = np.nan
    series = pd.Series(values, STAMPS)
    for window in ["1s", "7 seconds", timedelta(minutes=5), np.timedelta64(2, "h")]:
        rolling = series.rolling(pd.Timedelta(window))
        ddof = {"ddof": 0} if op.endswith("pop") else {}
        name = "std" if op.startswith("std") else op.partition("_")[0]
        expected = getattr(rolling, name)(**ddof)
        got = slide(values, op, window, times=STAMPS, skip_nan=True)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
        pd.testing.assert_series_equal(
            slide(series, op, window).astype(float), expected, rtol=1e-6, atol=1e-6, check_freq=False
        )
        every = slide(values, op, window, times=STAMPS, skip_nan=True, slide=9)
        np.testing.assert_allclose(every, got[8::9], rtol=1e-9, atol=1e-9)


def test_times_may_be_numbers_or_have_a_zone():
    assert slide([1, 2, 3, 4], "sum", 2.5, times=[0.0, 1.0, 2.5, 9.0]).tolist() == [1, 3, 5, 4]
    zoned = pd.date_range("2024-03-31", periods=4, freq="h", tz="Europe/Vienna")
    assert slide([1, 2, 3, 4], "sum", "2h", times=zoned).tolist() == [1, 3, 5, 7]
    assert slide(pd.Series([1, 2, 3, 4], zoned), "sum", "2h").tolist() == [1, 3, 5, 7]


def test_many_windows_of_time():
    got = slide(np.arange(4.0), "sum", ["1s", "2s"], times=pd.date_range("2024", periods=4, freq="s"))
    assert got.tolist() == [[0, 0], [1, 1], [2, 3], [3, 5]]


# NaN, drift, overflow


def test_sums_recover_after_nan_and_infinity_and_do_not_drift():
    count = 1_000_000
    values = rng.normal(0, 1, count) * 10.0 ** rng.integers(-8, 8, count)
    values[[10, 400_000, 400_050]] = [np.inf, np.nan, -np.inf]
    for window in (5, 100, 3_000):
        sums = slide(values, "sum", window)
        assert np.isinf(sums[10])
        assert np.isnan(sums[400_000 : 400_000 + window]).all()
        for end in [*rng.integers(window, count, 300), 10 + window + 1, 400_050 + window + 1, count]:
            inside = values[end - window : end]
            if np.isfinite(inside).all():
                assert abs(sums[end - 1] - inside.sum()) <= 1e-9 * np.abs(inside).sum()


def test_variance_keeps_its_digits_when_the_mean_is_large():
    values = 1e9 + rng.normal(0, 1, 20_000)
    got = slide(values, "var_pop", 500, partial=False)
    expected = np.lib.stride_tricks.sliding_window_view(values, 500).var(axis=1)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_nan_is_a_value_in_arrays_and_missing_in_pandas():
    values = np.array([1.0, np.nan, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(slide(values, "max", 2), [1, np.nan, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(slide(values, "min", 2), [1, 1, 2, 2, np.nan])
    for op in ("max", "min", "sum", "mean"):
        np.testing.assert_array_equal(slide(pd.Series(values), op, 2), [1, 1, 2, 2, np.nan])
        np.testing.assert_array_equal(slide(values, op, 2, skip_nan=True), [1, 1, 2, 2, np.nan])
    assert slide(pd.Series(values), "count", 2).tolist() == [1, 1, 1, 1, 0]
    assert slide(values, "count", 2).tolist() == [1, 2, 2, 2, 2]
    np.testing.assert_array_equal(slide(pd.Series([-np.inf, np.nan]), "max", 1), [-np.inf, np.nan])


def test_integer_sums_are_exact_or_an_error():
    near = 2**62
    values = np.array([near, -near, near, near - 1, -near, 5])
    assert slide(values, "sum", 2).tolist() == [near, 0, 0, 2 * near - 1, -1, 5 - near]
    assert slide(np.array([-(2**63), 2**63 - 1]), "sum", 2).tolist() == [-(2**63), -1]
    assert slide(np.array([2**63 + 5, 1], np.uint64), "max", 2).tolist() == [2**63 + 5, 2**63 + 5]
    for too_far in ([near, near], [-near, -near, -1], np.array([2**63], np.uint64)):
        with pytest.raises(SumOverflow, match="does not fit in 64 bits") as caught:
            slide(np.asarray(too_far), "sum", 3)
        assert isinstance(caught.value, OverflowError)
        assert slide(np.asarray(too_far), "mean", 3)[-1] == pytest.approx(np.mean(np.asarray(too_far, float)))


# what goes in comes out


def test_pandas_in_pandas_out():
    series = pd.Series([3, 1, 4, 1, 5], list("abcde"), name="x")
    pd.testing.assert_series_equal(
        slide(series, "sum", 2), pd.Series([3, 4, 5, 5, 6], list("abcde"), name="x")
    )
    pd.testing.assert_frame_equal(
        slide(series, "max", [1, 3]),
        pd.DataFrame({1: [3, 1, 4, 1, 5], 3: [3, 3, 4, 4, 5]}, list("abcde")),
    )
    assert slide(series, "sum", 2, slide=2).index.tolist() == ["b", "d"]
    assert slide(series, "sum", 4, partial=False).index.tolist() == ["d", "e"]


@pytest.mark.parametrize("dtype", ["Int16", "UInt32", "Float64", "Float32", "int64[pyarrow]", "boolean"])
def test_nullable_series(dtype):
    series = pd.Series([1, None, 0, None, None], dtype=dtype)
    assert slide(series, "max", 2).isna().tolist() == [False, False, False, False, True]
    assert slide(series, "sum", 2).fillna(-1).tolist() == [1, 1, 0, 0, -1]
    assert slide(series, "mean", 2).fillna(-1).tolist() == [1, 1, 0, 0, -1]
    assert slide(series, "count", 2).tolist() == [1, 1, 1, 1, 0]
    assert slide(series, "sum", [1, 2]).isna().to_numpy().sum() == 4


def test_dates_have_a_smallest_and_a_largest():
    days = pd.Series(pd.to_datetime(["2024-05-03", None, "2024-05-01", "1960-01-01"]))
    for values in (days, days.dt.tz_localize("Asia/Tokyo"), days - pd.Timestamp("2024-01-01")):
        assert slide(values, "max", 2).equals(values.iloc[[0, 0, 2, 2]].reset_index(drop=True))
        assert slide(values, "min", 2).equals(values.iloc[[0, 0, 2, 3]].reset_index(drop=True))
        assert slide(values, "count", 2).tolist() == [1, 1, 1, 2]
    assert slide(days.to_numpy(), "max", 1).tolist() == days.to_numpy().tolist()


def test_views_other_byte_orders_and_read_only_values():
    values = rng.normal(size=300)
    expected = slide(values[::-3].copy(), "sum", 40)
    np.testing.assert_array_equal(slide(values[::-3], "sum", 40), expected)
    np.testing.assert_array_equal(slide(values[::-3].astype(">f8"), "sum", 40), expected)
    np.testing.assert_array_equal(slide(values.astype(np.float16), "max", 4).dtype, np.float16)
    values.flags.writeable = False
    np.testing.assert_array_equal(slide(values, "max", 1), values)


def test_out_receives_the_answers():
    values, room = rng.normal(size=500), np.empty(500)
    assert slide(values, "mean", 30, out=room) is room
    np.testing.assert_array_equal(room, slide(values, "mean", 30))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("window", [1, 3, 100])
def test_nothing_in_nothing_out(op, window):
    for empty in (np.array([]), np.array([], np.int64), []):
        assert slide(empty, op, window).shape == (0,)
        assert slide(empty, op, [window, 2]).shape == (0, 2)
        assert slide(empty, op, window, partial=False).shape == (0,)
        assert slide(empty, op, "1s", times=pd.DatetimeIndex([])).shape == (0,)
    assert slide(pd.Series([], dtype=float), op, window).empty
    assert slide([1.0, 2.0], op, 5, partial=False).shape == (0,)


# refusals

DAYS = pd.date_range("2024", periods=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 0}, "a window must be a positive number of values, or a duration, not 0"),
        ({"window": -3}, "a window must be a positive number"),
        ({"window": 2.5}, "a window must be a positive number"),
        ({"window": True}, "a window must be a positive number"),
        ({}, "a window must be a positive number of values, or a duration, not None"),
        ({"window": []}, "the list of windows is empty"),
        ({"window": [1, 0]}, "a window must be a positive number"),
        ({"window": [1, 2], "partial": False}, "partial=False needs a single window"),
        ({"window": 2, "op": "summ"}, "there is no aggregate 'summ'; did you mean sum?"),
        ({"window": 2, "op": "zzz"}, "there is no aggregate 'zzz'; there are avg, count, max"),
        ({"window": 2, "slide": 0}, "slide must be a positive number of values, not 0"),
        ({"window": 2, "values": np.ones((2, 2))}, "values must have one dimension, not 2"),
        ({"window": 2, "values": pd.DataFrame({"a": [1]})}, "slide each column of the DataFrame by itself"),
        ({"window": 2, "values": ["a", "b"]}, "values must be numbers, not <U1"),
        ({"window": 2, "values": pd.Series(["a", "b"])}, "values must be numbers, not object"),
        ({"window": 2, "values": pd.Series(["a"], dtype="string")}, "values must be numbers, not string"),
        ({"window": 2, "values": DAYS}, r"sum of datetime64\[ns\] values; only min, max and count"),
        ({"window": "1 day"}, "a window of time .'1 day'. needs times="),
        ({"window": "1 day", "times": DAYS[:2]}, "times must be one for each value: 3"),
        ({"window": "1 day", "times": DAYS[::-1]}, "times must be ascending; the one at 1 is not"),
        ({"window": "1 day", "times": [*DAYS[:2], pd.NaT]}, "times must not be missing"),
        ({"window": "1 day", "times": ["x", "y", "z"]}, "times must be times or numbers"),
        ({"window": "1 dog", "times": DAYS}, "must be a duration such as '5 minutes', not '1 dog'"),
        ({"window": "-1 day", "times": DAYS}, "must be a duration such as '5 minutes', not '-1 day'"),
        ({"window": 3, "times": DAYS}, "must be a duration such as '5 minutes', not 3"),
        ({"window": "1 day", "times": [1, 2, 3]}, "times are numbers, so a window must be a positive one"),
        ({"window": "1 day", "times": DAYS, "partial": False}, "partial=False is for windows of a number"),
        ({"window": 2, "out": np.empty(2)}, "out must be an array of 3 float64 values"),
    ],
)
def test_refusals(arguments, message):
    arguments = {"values": np.arange(3.0), **arguments}
    with pytest.raises(InputError, match=message) as caught:
        slide(**arguments)
    assert isinstance(caught.value, WindrowError)


# around it


def test_it_needs_no_spark():
    code = "import sys; from windrow.final import slide; slide([1.0], 'sum', 1); assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_page_about_it_says_what_happens():
    page = (Path(__file__).parents[2] / "docs" / "slide.md").read_text()
    examples = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(examples, {}, "slide.md", "slide.md", 0)
    assert len(test.examples) > 10
    assert doctest.DocTestRunner(optionflags=flags).run(test).failed == 0
