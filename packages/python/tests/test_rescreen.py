"""Real runs of the command against its built-in simulator. Nothing leaves the machine."""

from __future__ import annotations

import pickle
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from campaign import CAMPAIGN, COLUMNS, NAMES, OUTPUTS, published, table_of, without_duckdb, write_csv

import rescreen


def test_a_plan_shows_what_a_run_costs(folder: Path) -> None:
    plan = rescreen.plan(simulate=True, cwd=folder)
    assert (plan.exit_code, plan.rows, plan.requests, plan.credits) == (0, 5, 5, 21)
    assert plan.obstacles == () and plan.json["format"] == "rescreen.plan"
    plan = rescreen.plan(simulate=True, cwd=folder, arguments=["--max-credits", "6"])
    assert plan.exit_code == 4
    assert "limit of 6 credits" in plan.obstacles[0]


def test_a_run_and_its_status(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    run = rescreen.run(simulate=True)
    assert (run.exit_code, run.complete, run.rows, run.failures, run.credits_charged) == (3, True, 5, 1, 21)
    assert run.outputs == folder / OUTPUTS
    assert run.json["answered_in_this_run"] == 5
    assert rescreen.run(simulate=True).json["answered_in_this_run"] == 0
    status = rescreen.status(run.outputs)
    assert (status.campaign, status.state, status.percent, status.credits_charged) == ("2026-11", "complete", 100, 21)


def test_campaigns_in_threads(folder: Path) -> None:
    pytest.importorskip("pyarrow")

    def run(month: int) -> int:
        columns = {name: cells[:month] for name, cells in COLUMNS.items()}
        name = ["--campaign", f"2026-0{month}"]
        return rescreen.run(input=table_of("pyarrow", columns), simulate=True, cwd=folder, arguments=name).rows

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(run, [1, 2, 3, 4, 5])) == [1, 2, 3, 4, 5]


def test_paths_as_input_and_a_campaign_file_elsewhere(folder: Path) -> None:
    write_csv(folder / "-b.csv", {name: cells[3:] for name, cells in COLUMNS.items()})
    write_csv(folder / "a.csv", {name: cells[:2] for name, cells in COLUMNS.items()})
    run = rescreen.run(
        f"{folder.name}/rescreen.toml", [folder / "a.csv", f"./{folder.name}/-b.csv"], simulate=True, cwd=folder.parent
    )
    assert (run.exit_code, run.rows, run.outputs) == (0, 4, folder / OUTPUTS)
    run = rescreen.run(folder / "rescreen.toml", "-b.csv", simulate=True, cwd=folder, arguments=["--campaign", "b"])
    assert run.rows == 2


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_a_table_as_input(folder: Path, library: str) -> None:
    pytest.importorskip("pyarrow")
    table = table_of(library, COLUMNS)
    assert rescreen.plan(input=table, simulate=True, cwd=folder).rows == 5
    run = rescreen.run(input=table, simulate=True, cwd=folder)
    assert (run.rows, run.failures, run.credits_charged) == (5, 1, 21)
    [file] = (folder / "rescreen-tables").glob("*.parquet")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_the_same_rows_are_the_same_input(folder: Path, library: str) -> None:
    pytest.importorskip("pyarrow")
    limit = ["--limit", "2"]
    first = rescreen.run(input=table_of("pyarrow", COLUMNS), simulate=True, cwd=folder, accept=[9], arguments=limit)
    assert first.json["answered_in_this_run"] == 3
    # The same rows from another library, and from a file that is elsewhere, go on where the run before ended.
    second = rescreen.run(input=table_of(library, COLUMNS), simulate=True, cwd=folder)
    assert (second.rows, second.credits_charged, second.json["answered_in_this_run"]) == (5, 21, 2)
    (folder / "rescreen-tables").rename(folder / "elsewhere")
    third = rescreen.run(input=table_of(library, COLUMNS), simulate=True, cwd=folder)
    assert (third.rows, third.credits_charged, third.json["answered_in_this_run"]) == (5, 21, 0)
    # Rows at the end are new.
    longer = {name: [*cells, cells[0]] for name, cells in COLUMNS.items()}
    longer["customer_no"][5] = "0006"
    longer["full_name"] = [*NAMES, "Lerato Dlamini"]
    fourth = rescreen.run(input=table_of(library, longer), simulate=True, cwd=folder)
    assert (fourth.rows, fourth.json["answered_in_this_run"]) == (6, 1)
    # Rows in another order are refused, and nothing is sent.
    reverse = {name: cells[::-1] for name, cells in COLUMNS.items()}
    with pytest.raises(rescreen.UsageError, match="row 1 was sent, and has changed") as caught:
        rescreen.run(input=table_of("pyarrow", reverse), simulate=True, cwd=folder)
    assert caught.value.kind == "input"


def test_what_is_no_table_is_refused(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    wrong: Any = 5
    with pytest.raises(TypeError):
        rescreen.run(input=wrong, simulate=True, cwd=folder)


def test_a_reader_is_read_once(folder: Path) -> None:
    table = table_of("pyarrow", COLUMNS)
    reader = table.to_reader()
    assert rescreen.plan(input=reader, simulate=True, cwd=folder).rows == 5
    # Else a run of no rows would be complete.
    with pytest.raises(ValueError, match="no rows"):
        rescreen.run(input=reader, simulate=True, cwd=folder)


def test_results_in_duckdb(folder: Path) -> None:
    pytest.importorskip("duckdb")
    run = rescreen.run(simulate=True, cwd=folder)
    results = rescreen.results(run.outputs)
    assert results.aggregate("count(*), sum(credits)").fetchall() == [(published(run), run.credits_charged)]
    types = dict(zip(results.columns, map(str, results.types)))
    assert types["completed_at"] == "TIMESTAMP WITH TIME ZONE"
    assert (types["subject"], types["credits"], types["top_match_score"]) == ("VARCHAR", "BIGINT", "DOUBLE")
    subjects = results.filter("check_name = 'aml-screening'").project("subject").order("subject").fetchall()
    assert subjects == [("0001",), ("0002",), ("0004",), ("0005",)]
    # A column of one check is null in the rows of another.
    assert results.filter("check_name = 'said-verification'").project("top_match_score").fetchall() == [(None,)]
    assert rescreen.results(run.outputs, "said-verification").shape[0] == 1
    assert rescreen.failures(run.outputs).project("subject, code").fetchall() == [("0003", "missing_value")]


def test_a_path_is_not_a_pattern(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    outputs = rescreen.run(simulate=True, cwd=folder).outputs
    for name in ("round 1", "round [1]"):
        shutil.copytree(outputs, tmp_path / name)
    for path in rescreen.files(tmp_path / "round 1"):
        path.write_bytes(b"not read")
    assert rescreen.results(tmp_path / "round [1]").shape == rescreen.results(outputs).shape


def test_results_in_a_connection_of_the_caller(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    run = rescreen.run(simulate=True, cwd=folder)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE branch AS SELECT '0004' AS customer_no, 'Leeds' AS branch")
        rescreen.results(run.outputs, "aml-screening", connection=connection).create_view("answer")
        joined = connection.sql("SELECT branch FROM answer JOIN branch ON subject = customer_no")
        assert joined.fetchall() == [("Leeds",)]


def test_results_in_pyarrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    run = rescreen.run(simulate=True, cwd=folder)
    without_duckdb(monkeypatch)
    results = rescreen.results(run.outputs).to_table()
    assert results.num_rows == published(run)
    assert sum(results["credits"].to_pylist()) == run.credits_charged
    assert results.schema.field("completed_at").type == pyarrow.timestamp("us", "UTC")
    assert results.schema.field("subject").type == pyarrow.string()
    checks = ["aml-screening", "said-verification"]
    columns = {name for check in checks for name in rescreen.results(run.outputs, check).schema.names}
    assert set(results.column_names) == columns
    assert "0001" in results["subject"].to_pylist()
    assert rescreen.failures(run.outputs).to_table()["code"].to_pylist() == ["missing_value"]


def test_only_the_files_of_the_manifest_count(folder: Path) -> None:
    run = rescreen.run(simulate=True, cwd=folder)
    [first, second] = rescreen.files(run.outputs)
    (first.parent / "part-000099.parquet").write_bytes(first.read_bytes())
    assert rescreen.files(run.outputs) == [first, second]
    assert rescreen.files(run.outputs, check="aml-screening") == [first]
    with pytest.raises(ValueError, match="vin-decode"):
        rescreen.results(run.outputs, "vin-decode")
    with pytest.raises(FileNotFoundError, match=r"manifest\.json"):
        rescreen.results(folder)


def test_json_lines_are_not_parquet(folder: Path) -> None:
    run = rescreen.run(simulate=True, cwd=folder, arguments=["--format", "jsonl"])
    with pytest.raises(ValueError, match="not Parquet"):
        rescreen.results(run.outputs)
    assert rescreen.files(run.outputs)[0].suffix == ".jsonl"


def test_carried_columns_of_a_table_keep_their_types(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    without_duckdb(monkeypatch)
    run = rescreen.run(input=table_of("pyarrow", COLUMNS), simulate=True, cwd=folder)
    results = rescreen.results(run.outputs, "aml-screening")
    assert results.schema.field("score").type == pyarrow.int64()
    assert results.to_table()["source"][0].as_py().startswith("rescreen-tables/table-")


def test_a_missing_file(folder: Path) -> None:
    with pytest.raises(rescreen.UsageError, match="No such file") as caught:
        rescreen.run("nope.toml", simulate=True, cwd=folder)
    assert (caught.value.exit_code, caught.value.kind) == (2, "campaign_file")
    assert str(caught.value).endswith("(exit code 2)")
    copy = pickle.loads(pickle.dumps(caught.value))  # as between the processes of a pool
    assert isinstance(copy, rescreen.UsageError) and str(copy) == str(caught.value)
    with pytest.raises(rescreen.UsageError, match="No such file") as caught:
        rescreen.run(input="nope.csv", simulate=True, cwd=folder)
    assert caught.value.kind == "input"
    with pytest.raises(rescreen.UsageError):
        rescreen.status(folder / "nope")


def test_a_bad_campaign_file(folder: Path) -> None:
    (folder / "rescreen.toml").write_text(CAMPAIGN.replace("max_credits", "max_credit"), encoding="utf-8")
    for function in (rescreen.plan, rescreen.run):
        with pytest.raises(rescreen.UsageError, match="max_credit"):
            function(simulate=True, cwd=folder)


def test_a_stop_is_an_error_unless_it_is_accepted(folder: Path) -> None:
    limit = ["--max-credits", "6"]
    with pytest.raises(rescreen.Stopped, match="limit of 6 credits") as caught:
        rescreen.run(simulate=True, cwd=folder, arguments=limit)
    assert (caught.value.exit_code, caught.value.kind) == (4, "limit")
    assert caught.value.next_command and "--max-credits" in caught.value.next_command
    assert caught.value.json and caught.value.json["credits"]["charged"] <= 6
    run = rescreen.run(simulate=True, cwd=folder, arguments=limit, accept=[4])
    assert (run.exit_code, run.complete) == (4, False)
    with pytest.raises(rescreen.RescreenError, match="1 ask failed"):
        rescreen.run(simulate=True, cwd=folder, accept=[0])


def test_a_command_that_prints_no_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "rescreen"
    program.write_text("#!/bin/sh\necho out of order >&2\nkill -9 $$\n")
    program.chmod(0o700)
    monkeypatch.setenv("RESCREEN", str(program))
    with pytest.raises(rescreen.RescreenError, match="out of order") as caught:
        rescreen.run()
    assert (caught.value.exit_code, caught.value.kind) == (-9, None)


def test_the_command_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESCREEN", str(tmp_path / "nope"))
    with pytest.raises(FileNotFoundError, match="nope"):
        rescreen.binary()
    monkeypatch.delenv("RESCREEN")
    program = tmp_path / "rescreen"
    program.write_text("")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert rescreen.binary().name == "rescreen"
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert rescreen.binary() == program
    program.unlink()
    with pytest.raises(FileNotFoundError, match="is not installed"):
        rescreen.binary()


def test_variables_are_added_to_the_environment(folder: Path) -> None:
    with pytest.raises(rescreen.UsageError, match="found an empty source"):
        rescreen.run(yes=True, cwd=folder, env={"RESCREEN_API_KEY": ""})


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "rescreen", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("rescreen ")
    assert subprocess.run([sys.executable, "-m", "rescreen", "wrong"], capture_output=True).returncode == 2
