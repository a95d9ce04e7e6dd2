"""A Dagster asset that runs a campaign, and a check that its outputs are complete.

It decides by the exit code (docs/exit-codes.md): 0 and 3 are complete; 5, 8, 9 and 10 are tried again later, and nothing that was
paid for is paid for twice; after every other code, such as 4 for the budget, a person decides.

Set RESCREEN_CONFIG to the campaign file, and RESCREEN_API_KEY.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from dagster import (
    AssetCheckResult,
    AssetExecutionContext,
    Definitions,
    Failure,
    MaterializeResult,
    MetadataValue,
    RetryRequested,
    asset,
    asset_check,
)

COMPLETE = {0, 3}
AGAIN_LATER = {5, 8, 9, 10}


def run(config, *flags):
    """Runs the campaign: its exit code, its summary, and what it said."""
    program = os.environ.get("RESCREEN", "rescreen")
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.json"
        command = [program, "run", "-c", config, "--yes", "-q", "--summary-json", summary, *flags]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if not summary.exists():
            raise Failure(f"rescreen was killed: exit code {done.returncode}")
        return done.returncode, json.loads(summary.read_text(encoding="utf-8")), done.stderr


def manifest_of(outputs):
    return json.loads((Path(outputs) / "manifest.json").read_text(encoding="utf-8"))


@asset(description="The answers of a campaign: files of results, failures, pending and skipped rows.")
def screening_results(context: AssetExecutionContext) -> MaterializeResult:
    code, summary, said = run(os.environ["RESCREEN_CONFIG"], *os.environ.get("RESCREEN_FLAGS", "").split())
    context.log.info(said)
    stop = summary.get("stop") or summary.get("error") or {}
    reason = f"exit code {code} ({stop.get('kind')}): {stop.get('message')}"
    if code in AGAIN_LATER:
        raise RetryRequested(max_retries=48, seconds_to_wait=1800) from Failure(reason)
    if code not in COMPLETE:
        continues = MetadataValue.text(stop.get("next_command") or "")
        raise Failure(reason, metadata={"to continue": continues}, allow_retries=False)
    manifest = manifest_of(summary["outputs"])
    parts = [part["path"] for dataset in manifest["datasets"] for part in dataset["parts"]]
    return MaterializeResult(
        metadata={
            "campaign": summary["campaign"],
            "outputs": MetadataValue.path(summary["outputs"]),
            "results": sum(check["results"] for check in summary["checks"]),
            "failures": summary["failures"],
            "credits": summary["credits"]["charged"],
            "files": MetadataValue.json(parts),
        }
    )


@asset_check(asset=screening_results, blocking=True, description="Every row of the input is answered or accounted for.")
def outputs_are_complete(context) -> AssetCheckResult:
    event = context.instance.get_latest_materialization_event(screening_results.key)
    metadata = event.asset_materialization.metadata
    manifest = manifest_of(metadata["outputs"].value)
    unaccounted = [
        total["check"]
        for total in manifest["totals"]
        if total["asks"] != total["results"] + total["failures"] + total["pending"] + total["skipped"]
    ]
    complete = manifest["complete"] and not manifest["under_way"] and not unaccounted
    return AssetCheckResult(passed=complete, metadata={"unaccounted": MetadataValue.json(unaccounted)})


defs = Definitions(assets=[screening_results], asset_checks=[outputs_are_complete])
