"""A Dagster asset that runs a campaign, and a check that its outputs are complete.

It decides by the exit code (docs/exit-codes.md): 0 and 3 are complete; 5, 8, 9, 10, 130 and 143 are tried again later, unless the kind
of stop waits for a person, and nothing that was paid for is paid for twice; after every other code, such as 4 for the budget, a person
decides.

Set RESCREEN_CONFIG to the campaign file, and RESCREEN_API_KEY.
"""

import json
import os
import shlex
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
AGAIN_LATER = {5, 8, 9, 10, 130, 143}
# Among those, these kinds of stop (docs/json.md) wait for a person: the same command would send nothing.
DECIDE = {"quarantine", "unrecognised", "earlier_stop", "clock"}


def decide(code, kind):
    """What to do after an exit code, and the kind of its stop: `complete`, `again` or `person`."""
    if code in COMPLETE:
        return "complete"
    return "again" if code in AGAIN_LATER and kind not in DECIDE else "person"


def was_killed(code):
    """Whether a process without a summary was killed, by a signal or by the kernel's memory limit."""
    return code < 0 or code == 137


def without_summary(command):
    """The command that continues, without the temporary file of this asset."""
    words = shlex.split(command or "")
    if "--summary-json" in words:
        at = words.index("--summary-json")
        del words[at : at + 2]
    return shlex.join(words)


def run(config, *flags):
    """Runs the campaign: its exit code, its summary, and what it said."""
    program = os.environ.get("RESCREEN", "rescreen")
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.json"
        command = [program, "run", "-c", config, "--yes", "-q", "--summary-json", summary, *flags]
        try:
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise Failure(f"{program}: {error}", allow_retries=False) from error
        if not summary.exists():
            killed = was_killed(done.returncode)
            raise Failure(f"rescreen ended without a summary: exit code {done.returncode}", allow_retries=killed)
        return done.returncode, json.loads(summary.read_text(encoding="utf-8")), done.stderr


def manifest_of(outputs):
    return json.loads((Path(outputs) / "manifest.json").read_text(encoding="utf-8"))


@asset(description="The answers of a campaign: files of results, failures, pending and skipped rows.")
def screening_results(context: AssetExecutionContext) -> MaterializeResult:
    code, summary, said = run(os.environ["RESCREEN_CONFIG"], *shlex.split(os.environ.get("RESCREEN_FLAGS", "")))
    context.log.info(said)
    stop = summary.get("stop") or summary.get("error") or {}
    reason = f"exit code {code} ({stop.get('kind')}): {stop.get('message')}"
    what = decide(code, stop.get("kind"))
    if what == "again":
        raise RetryRequested(max_retries=48, seconds_to_wait=1800) from Failure(reason)
    if what == "person":
        continues = MetadataValue.text(without_summary(stop.get("next_command")))
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
