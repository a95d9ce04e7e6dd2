"""An Airflow DAG that runs a campaign, and hands its files to the tasks that load them.

It decides by the exit code (docs/exit-codes.md), reads why from `--summary-json`, and the files from the manifest:

    0      go on
    3      go on, and report the rows that failed
    5, 8, 9, 10   try again later: nothing that was paid for is paid for twice
    4, and every other code   stop; a person decides. Airflow does not try again, because the same command sends nothing

Set the Airflow variable `rescreen_config` (or AIRFLOW_VAR_RESCREEN_CONFIG) to the campaign file, and RESCREEN_API_KEY in the
environment of the worker.
"""

import json
import logging
import os
import subprocess
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import Variable, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

log = logging.getLogger(__name__)

COMPLETE = {0, 3}
AGAIN_LATER = {5, 8, 9, 10}


def run(config, *flags):
    """Runs the campaign: its exit code, and its summary."""
    program = os.environ.get("RESCREEN", "rescreen")
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.json"
        command = [program, "run", "-c", config, "--yes", "-q", "--summary-json", summary, *flags]
        # What it says on standard error has no personal data.
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        log.info("rescreen ended with exit code %s\n%s", done.returncode, done.stderr)
        if not summary.exists():
            raise AirflowException(f"rescreen was killed: exit code {done.returncode}")
        return done.returncode, json.loads(summary.read_text(encoding="utf-8"))


def reason(code, summary):
    """Why it ended, and what continues it."""
    stop = summary.get("stop") or summary.get("error") or {}
    continues = stop.get("next_command")
    hint = f"; to continue: {continues}" if continues else ""
    return f"exit code {code} ({stop.get('kind')}): {stop.get('message')}{hint}"


# The first attempt may run for a day; later attempts continue it.
@dag(schedule=None, start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, tags=["rescreen"])
def rescreen_campaign():
    @task(retries=48, retry_delay=timedelta(minutes=30), execution_timeout=timedelta(hours=30))
    def run_campaign():
        flags = Variable.get("rescreen_flags", default="").split()
        code, summary = run(Variable.get("rescreen_config"), *flags)
        if code in COMPLETE:
            return {name: summary[name] for name in ["campaign", "outputs", "failures", "credits", "checks"]}
        if code in AGAIN_LATER:
            raise AirflowException(reason(code, summary))
        raise AirflowFailException(reason(code, summary))

    @task
    def files(summary):
        """The files that count, by dataset. A folder whose manifest is not complete is not handed on."""
        manifest = json.loads((Path(summary["outputs"]) / "manifest.json").read_text(encoding="utf-8"))
        if not manifest["complete"] or manifest["under_way"]:
            raise AirflowFailException(f"{summary['outputs']}: the manifest is not complete")
        listed = {}
        for dataset in manifest["datasets"]:
            name = "/".join(word for word in [dataset["kind"], dataset["check"]] if word)
            listed[name] = [str(Path(summary["outputs"]) / part["path"]) for part in dataset["parts"]]
        return listed

    @task
    def report_failures(summary):
        """Exit code 3: the campaign is complete, and somebody reads `failures`."""
        if summary["failures"]:
            log.warning("%s asks failed: %s/failures", summary["failures"], summary["outputs"])
        return summary["failures"]

    @task
    def load(listed):
        """Replace this by a load into your warehouse: docs/loading.md. `result_id` is the key for a merge."""
        for name, parts in listed.items():
            log.info("%s: %s files", name, len(parts))
        return {name: len(parts) for name, parts in listed.items()}

    summary = run_campaign()
    report_failures(summary)
    load(files(summary))


rescreen_campaign()
