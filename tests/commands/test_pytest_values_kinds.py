"""`gold.check` of what is not a number: text, dates, objects and data frames; floats by tolerance, all else exactly."""

from __future__ import annotations

import pytest

from support.pytest_values import KeepingTests, recorded_once

pandas = pytest.importorskip("pandas")

PLAIN = """
    import datetime, decimal

    def test_it(gold):
        gold.check({
            "text": np.array([["a", "bb"], ["c", "d"]]),
            "bytes": np.array([b"x"]),
            "when": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc),
            "day": datetime.date(2024, 2, 29),
            "span": datetime.timedelta(days=1, microseconds=3),
            "days": np.array(["2024-01-01", "2024-01-02"], "datetime64[D]"),
            "spans": np.array([1, 2], "timedelta64[s]"),
            "price": decimal.Decimal("1.10"),
            "object": np.array([None, "x", np.int64(1), np.float64(2.5), True, 2**70], dtype=object),
            "lines": "first\\nsecond",
        })
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"bb"', '"BB"', "text: 1 of 4 elements differ, the first at [[]0, 1] (actual 'BB', gold 'bb')"),
        ('b"x"', 'b"y"', "bytes: is 79, gold is 78"),
        ("12, tz", "13, tz", "when: is '2024-02-29T13:00:00+00:00', gold is '2024-02-29T12:00:00+00:00'"),
        (", tzinfo=datetime.timezone.utc", "", "when: is '2024-02-29T12:00:00', gold *"),
        ("datetime.date(2024, 2, 29)", '"2024-02-29"', "day: is str, gold is date"),
        ("microseconds=3", "microseconds=4", "span: *"),
        ("datetime64[D]", "datetime64[s]", "days: is datetime64[[]s], gold is datetime64[[]D]"),
        ('"2024-01-02"', '"NaT"', "days: *NaT*"),
        ("[1, 2], ", "[1, 3], ", "spans: 1 of 2 elements differ, the first at [[]1] (actual '3 seconds', *"),
        ('"1.10"', '"1.1"', "price: is '1.1', gold is '1.10'"),
        ('[None, "x"', '["None", "x"', "object: 1 of 6 elements differ, the first at [[]0] (actual 'None', gold None)"),
        ('"x", np.int64(1),', '"x", True,', "object: 1 of 6 elements differ, the first at [[]2] (actual True, gold 1)"),
        (
            "np.float64(2.5)",
            "2.500001",
            "object: 1 of 6 elements differ, the first at [[]3] (actual 2.500001, gold 2.5)",
        ),
        ("np.float64(2.5)", "2.5 + 1e-12", ""),
        ("2**70", "2**70 + 1", "object: *"),
        ("nsecond", "nthird", "lines: first differs at line 2, character 1: 'third', gold has 'second'"),
        ("dtype=object", "dtype=object).reshape(2, 3", "object: has shape [[]2, 3], gold has [[]6]"),
    ],
)
def test_text_dates_and_objects_are_compared_exactly(keeping: KeepingTests, old: str, new: str, words: str) -> None:
    recorded_once(keeping, PLAIN)
    keeping.change(old, new)
    result = keeping.run()
    result.assert_outcomes(**{"failed" if words else "passed": 1})
    if words:
        result.stdout.fnmatch_lines([f"E  *{words}"])


FRAME = """
    import pandas as pd

    def frame():
        return pd.DataFrame(
            {
                "n": [1, 2], "x": [FACTOR, 2.5], "name": pd.Series(["a", None], dtype=object, index=[10, 20]),
                "when": pd.to_datetime(["2024-01-01", "2024-01-02"]), "kind": pd.Categorical(["u", "v"]),
                "maybe": pd.array([1, None], dtype="Int64"),
            },
            index=pd.Index([10, 20], name="id"),
        )

    def test_frame(gold):
        gold.check({"table": frame(), "size": 2}, tolerances={"table.x": {"rtol": 0.01}}, ignore=["table.when"])

    def test_series(gold):
        gold.check(frame()["x"])

    def test_large(gold):
        gold.check(pd.concat([frame()] * 60))
"""


@pytest.mark.parametrize(
    ("old", "new", "failed", "words"),
    [
        ("FACTOR = 1.0", "FACTOR = 1.001", 2, "values: 1 of 2 elements out of tolerance*"),
        ("FACTOR = 1.0", "FACTOR = 1.1", 3, "table.x: 1 of 2 elements out of tolerance*"),
        ('"n": [1, 2]', '"n": [1, 3]', 2, "table.n: 1 of 2 elements out of tolerance*"),
        ('"n": [1, 2]', '"n": np.array([1, 2], np.int32)', 2, "table.n: is int32, gold is int64*"),
        ('["a", None]', '["a", "None"]', 2, "table.name: 1 of 2 elements differ, *(actual 'None', gold None)"),
        ('["a", None]', '["a", float("nan")]', 2, "table.name: NaN where gold has none*"),
        ("[1, None]", "[1, 2]", 2, "table.maybe: 1 of 2 elements differ, *(actual 2, gold NA)"),
        ('["u", "v"]', '["u", "v"], categories=["v", "u"]', 2, "table.@table.categories.kind: *"),
        ('name="id"', 'name="key"', 3, "table.@table.index.names: *"),
        ('"name": pd', '"NAME": pd', 2, "table.name: is missing; gold has object [[]2]"),
        ('"2024-01-02"', '"2024-01-03"', 1, "when: 60 of 120 elements differ, *"),
        ("return pd.DataFrame(", "return pd.DataFrame.from_dict(", 0, ""),
    ],
)
def test_a_data_frame_is_compared_with_its_names_dtypes_and_index(
    keeping: KeepingTests, old: str, new: str, failed: int, words: str
) -> None:
    if not failed:
        old, new = '"table": frame()', '"table": frame()[list(frame().columns)].copy()'
    recorded_once(keeping, FRAME)
    assert keeping.kept() == ["test_frame.gold.json", "test_large", "test_series.gold.json"]
    keeping.change(old, new)
    result = keeping.run()
    assert result.parseoutcomes().get("failed", 0) == failed
    if words:
        result.stdout.fnmatch_lines([f"E  *{words}"])


REFUSED = {
    "pd.DataFrame({'a': [{1}]})": "value.a[[]0] is of type set, which has no plain form, so *",
    "pd.DataFrame([[1, 2]], columns=['a', 'a'])": "value has two columns named a, so it cannot be kept; *",
    "pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([('a', 'b')]))": "value is a table whose columns have *",
    "pd.DataFrame({'@table': [1]})": "value has a column named @table, so it cannot be kept; change it: rename it.",
    "pd.DataFrame({'a': []})": "gold.check was given an empty DataFrame, in which there is nothing to compare; *",
    "{'t': pd.Series([1.0, None])}": "t.values has NaN at [[]1] (1 of 2 elements), and NaN never agrees *",
    "pd.Series(pd.to_datetime(['2024-01-01', None]))": "values has NaN at [[]1] (1 of 2 elements), *",
    "np.datetime64('NaT', 'D')": "value has NaN, and NaN never agrees *",
    "np.array([1]).astype('timedelta64')": "value has times without a unit, so it cannot be kept; *",
    "np.array([object()])": "value[[]0] is of type object, which has no plain form, so *",
}


def test_what_has_no_plain_form_is_refused_by_name(keeping: KeepingTests) -> None:
    body = "".join(f"def test_{number}(gold):\n    gold.check({given})\n" for number, given in enumerate(REFUSED))
    result = keeping.run(tests=f"import pandas as pd\n{body}")
    result.assert_outcomes(errors=len(REFUSED))
    result.stdout.fnmatch_lines_random([f"E *{words}" for words in REFUSED.values()])
    assert keeping.kept() == []


def test_missing_times_are_kept_with_equal_nan_and_are_not_other_missing_values(keeping: KeepingTests) -> None:
    keeping.record("""
    def test_it(gold):
        gold.check(np.array([None, np.datetime64("NaT"), float("nan")], dtype=object), equal_nan=True)
    """)
    keeping.run().assert_outcomes(passed=1)
    for old, new in (
        ("[None, np", '[float("nan"), np'),
        ('np.datetime64("NaT")', "None"),
        ("equal_nan=True", "equal_nan=False"),
    ):
        keeping.change(old, new)
        keeping.run().assert_outcomes(failed=1)
        keeping.change(new, old)


def test_diff_shows_every_text_that_differs(keeping: KeepingTests) -> None:
    keeping.record('def test_it(gold):\n    gold.check(np.array([["a", "b"], ["c", "d"]]))\n')
    keeping.change('"b"], ["c"', '"B"], ["C"')
    keeping.run("--gold-diff").stdout.fnmatch_lines(["*[[]0, 1]: 'B', gold 'b'", "*[[]1, 0]: 'C', gold 'c'"])


def test_a_function_may_return_text_and_tables(keeping: KeepingTests) -> None:
    keeping.record("""
    import pandas as pd

    def described(x):
        return {"y": np.tanh(FACTOR * x), "names": np.array(["a", "b"]), "table": pd.DataFrame({"z": x})}

    def test_it(gold):
        gold.check(described, np.linspace(0, 1, 5))
    """)
    keeping.run().assert_outcomes(passed=1)
    keeping.change('["a", "b"]', '["a", "c"]')
    result = keeping.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E  *differs: 1 of * leaves", "E  *names: 1 of 2 elements differ, *"])


def test_polars_frames_are_compared_like_those_of_pandas(keeping: KeepingTests) -> None:
    pytest.importorskip("polars")
    keeping.record("""
    import polars as pl

    def test_it(gold):
        gold.check(pl.DataFrame({"x": [FACTOR, 2.0], "n": [1, None], "name": ["a", None]}))
    """)
    keeping.run().assert_outcomes(passed=1)
    for old, new, words in (
        ("FACTOR = 1.0", "FACTOR = 1.001", "x: 1 of 2 elements out of tolerance*"),
        ("[1, None]", "[1, 0]", "n: is int64, gold is Int64"),
        ('["a", None]', '["a", ""]', "name: 1 of 2 elements differ, *(actual '', gold None)"),
        ("pl.DataFrame(", "dict(", "@table.class: is missing; *"),
    ):
        keeping.change(old, new)
        result = keeping.run()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([f"E  *{words}"])
        keeping.change(new, old)
