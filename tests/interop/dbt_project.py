"""Builds the dbt project in examples/dbt over real outputs, with its tests; then over broken folders, where they fail."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import outputs

PROJECT = outputs.PROJECT / "examples" / "dbt"


def missing():
    return None


def build(place, work):
    """The results of `dbt build`, by name of the node."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(PROJECT, work / "project")
    environment = {
        **os.environ,
        "RESCREEN_OUT": str(place),
        "RESCREEN_DUCKDB": str(work / "rescreen.duckdb"),
        "DBT_TARGET_PATH": str(work / "target"),
        "DBT_LOG_PATH": str(work / "logs"),
        "DO_NOT_TRACK": "1",
    }
    dbt = Path(sys.executable).with_name("dbt")
    command = [dbt, "build", "--profiles-dir", ".", "--no-version-check", "--quiet"]
    done = subprocess.run(command, cwd=work / "project", env=environment, capture_output=True, text=True)
    file = work / "target" / "run_results.json"
    if not file.exists():
        raise SystemExit(f"dbt made no run_results.json:\n{done.stdout}{done.stderr}")
    found = json.loads(file.read_text(encoding="utf-8"))["results"]
    return {result["unique_id"].split(".")[2]: result["status"] for result in found}


def worklist_differs(campaigns, database):
    """The worklist is what its description says, computed here from the JSON Lines export."""
    results = [row for campaign in campaigns for dataset in campaign.datasets if dataset.kind == "results" for row in dataset.rows]
    begun, newest = {}, {}
    for row in results:
        round_ = (row["mode"], row["campaign"])
        begun[round_] = min(begun.get(round_, row["completed_at"]), row["completed_at"])
    about = lambda row: (row["mode"], row["subject"] or row["result_id"], row["check_name"])
    age = lambda row: (begun[row["mode"], row["campaign"]], row["campaign"])
    for row in results:
        newest[about(row)] = max(newest.get(about(row), age(row)), age(row))
    review = [row for row in results if age(row) == newest[about(row)] and row["verdict"] in ["review", "adverse"]]
    expected = {row["result_id"] for row in review}
    with duckdb.connect(str(database), read_only=True) as connection:
        found = {row[0] for row in connection.sql("SELECT result_id FROM subjects_to_review").fetchall()}
    return [] if expected and found == expected else [f"expected {len(expected)} rows to review, found {len(found)}"]


def check(campaigns, folder):
    faults = []
    # One folder of each campaign, as the pattern `out/*` finds them.
    for campaign in campaigns:
        (folder / "rounds").mkdir(exist_ok=True)
        (folder / "rounds" / campaign.name).symlink_to(campaign.folder)
    statuses = build(folder / "rounds" / "*", folder / "dbt")
    faults += [f"{name}: {status}" for name, status in statuses.items() if status not in ["pass", "success"]]
    if len(statuses) < 20:
        faults.append(f"expected at least 20 models and tests, found {len(statuses)}")
    faults += worklist_differs(campaigns, folder / "dbt" / "rescreen.duckdb")
    # The tests find a part that is there twice, and one that is missing.
    spoils = {
        "source_unique_rescreen_results_result_id": lambda part: shutil.copy(part, part.with_name("part-again.parquet")),
        "results_are_as_many_as_the_totals_say": lambda part: part.unlink(),
    }
    for expected, spoil in spoils.items():
        broken = folder / "broken"
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(campaigns[0].folder, broken)
        spoil(next((broken / "results").rglob("*.parquet")))
        failed = [name for name, status in build(broken, folder / "dbt").items() if status == "fail"]
        if expected not in failed:
            faults.append(f"expected the test {expected} to fail for a broken folder; failed: {failed}")
    return faults, f"{len(statuses)} models and tests over {len(campaigns)} campaigns"
