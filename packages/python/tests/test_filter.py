"""The filter for tables, Spark and Ray."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from campaign import COLUMNS

import rescreen

CUSTOMERS = pyarrow.table(COLUMNS)


def quick(folder: Path, **settings: Any) -> rescreen.Filter:
    return rescreen.map_in_arrow(folder / "rescreen.toml", simulate=True, **settings)


def test_a_table_gets_a_row_for_each_check_of_each_row_in_order(folder: Path) -> None:
    answers = rescreen.screen(CUSTOMERS, folder / "rescreen.toml", simulate=True)
    subjects = [subject for subject in COLUMNS["customer_no"] for _ in range(2)]
    assert answers["subject"].to_pylist() == subjects
    rows = answers.to_pylist()
    assert [row["dataset"] for row in rows[:6]] == ["results", "results", "results", "skipped", "failures", "skipped"]
    assert rows[4]["code"] == "missing_value"
    assert sum(row["credits"] or 0 for row in rows) == 4 * 5 + 1
    # The folder of the filter is gone.
    assert not (folder / "out").exists() or [path for path in (folder / "out").rglob("*") if path.is_file()] == []


def test_the_columns_are_known_before_and_are_the_same_without_rows(folder: Path) -> None:
    columns = quick(folder).schema(CUSTOMERS)
    assert rescreen.screen(CUSTOMERS, folder / "rescreen.toml", simulate=True).schema == columns
    empty = rescreen.screen(CUSTOMERS.slice(0, 0), folder / "rescreen.toml", simulate=True)
    assert (empty.num_rows, empty.schema) == (0, columns)


def test_what_the_command_refuses_is_an_error_with_its_message(folder: Path) -> None:
    with pytest.raises(rescreen.UsageError, match="a production run needs a charge book"):
        rescreen.screen(CUSTOMERS, folder / "rescreen.toml", yes=True)
    with pytest.raises(rescreen.UsageError, match="score"):
        rescreen.screen(CUSTOMERS.drop_columns("score"), folder / "rescreen.toml", simulate=True)
    with pytest.raises(rescreen.RescreenError, match="of 10 asks failed|some asks failed"):
        rescreen.screen(CUSTOMERS, folder / "rescreen.toml", simulate=True, accept=(0,))


def left(folder: Path) -> list[Path]:
    """List the files that a filter left behind."""
    return [path for path in (folder / "out").rglob("*") if path.is_file()]


@pytest.mark.parametrize("fault", [OSError("the source is gone"), BrokenPipeError("the source is gone")])
def test_rows_that_break_off_are_never_filtered_as_a_whole(folder: Path, fault: OSError) -> None:
    def broken() -> Iterator[pyarrow.RecordBatch]:
        yield from CUSTOMERS.to_batches(max_chunksize=2)[:1]
        raise fault

    with pytest.raises(type(fault), match="the source is gone"):
        list(quick(folder).batches(broken()))
    assert left(folder) == []


def test_rows_that_no_one_wants_any_more_end_the_command(folder: Path) -> None:
    many = pyarrow.concat_tables([CUSTOMERS] * 4000).combine_chunks()
    answers = quick(folder).batches(iter(many.to_batches()))
    next(answers)
    answers.close()
    assert left(folder) == []


def test_a_stop_with_more_rows_than_a_pipe_holds_waits_for_no_one(folder: Path) -> None:
    many = pyarrow.concat_tables([CUSTOMERS] * 4000).combine_chunks()
    many = many.set_column(1, "full_name", pyarrow.array([f"Naledi {at}" for at in range(many.num_rows)]))
    arguments = ("--check", "aml-screening", "--max-credits", "50")
    answers = rescreen.screen(many, folder / "rescreen.toml", simulate=True, arguments=arguments, accept=(4,))
    assert answers.num_rows == many.num_rows
    datasets = answers["dataset"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in datasets} == {"results": 10, "pending": many.num_rows - 10}


def test_equal_tables_have_the_same_partition() -> None:
    asked = []

    class Asked(rescreen.Filter):
        def batches(self, batches: Any, partition: Any = None) -> Any:
            asked.append(partition)
            return batches

    one = rescreen._filter.TableFilter(Asked())
    whole = pyarrow.table({"n": pyarrow.array([1, 2, 3, 4]), "b": pyarrow.array([True, None, False, True])})
    one(whole.slice(0, 3))
    one(pyarrow.table({"n": pyarrow.array([1, 2, 3]), "b": pyarrow.array([True, None, False])}))
    one(whole.slice(1, 3))
    assert asked[0] == asked[1] != asked[2]


def test_a_filter_travels_to_other_machines(folder: Path) -> None:
    for one in (quick(folder), rescreen.map_table(folder / "rescreen.toml", simulate=True)):
        assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(RuntimeError, match="a task of Spark"):
        pytest.importorskip("pyspark")
        quick(folder)(iter(()))


def test_spark_gets_the_rows_of_all_its_tasks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        customers = spark.createDataFrame(CUSTOMERS.to_pandas().astype(object)).repartition(2)
        screen = quick(folder)
        rows = customers.mapInArrow(screen, screen.schema(customers)).collect()
        assert sorted({row.subject for row in rows}) == COLUMNS["customer_no"]
        assert len(rows) == 10
    finally:
        spark.stop()
