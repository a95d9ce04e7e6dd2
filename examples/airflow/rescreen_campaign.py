"""An Airflow DAG that runs a campaign, and hands its files to the tasks that load them.

It decides by the exit code (docs/exit-codes.md), reads why from `--summary-json`, and the files from the manifest:

    0      go on
    3      go on, and report the rows that failed
    5, 8, 9, 10, 130, 143   try again later, unless the kind of stop waits for a person; nothing is paid for twice
    4, and every other code   stop; a person decides. Airflow does not try again, because the same command sends nothing

Set the Airflow variable `rescreen_config` (or AIRFLOW_VAR_RESCREEN_CONFIG) to the campaign file, and RESCREEN_API_KEY in the
environment of the worker.
"""

import json
import logging
import os
import shlex
import subprocess
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import Variable, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

log = logging.getLogger(__name__)

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
    """The command that continues, without the temporary file of this task."""
    words = shlex.split(command or "")
    if "--summary-json" in words:
        at = words.index("--summary-json")
        del words[at : at + 2]
    return shlex.join(words)


def run(config, *flags):
    """Runs the campaign: its exit code, and its summary."""
    program = os.environ.get("RESCREEN", "rescreen")
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.json"
        command = [program, "run", "-c", config, "--yes", "-q", "--summary-json", summary, *flags]
        # What it says on standard error has no personal data.
        try:
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise AirflowFailException(f"{program}: {error}") from error
        log.info("rescreen ended with exit code %s\n%s", done.returncode, done.stderr)
        if not summary.exists():
            failure = AirflowException if was_killed(done.returncode) else AirflowFailException
            raise failure(f"rescreen ended without a summary: exit code {done.returncode}")
        return done.returncode, json.loads(summary.read_text(encoding="utf-8"))


def reason(code, summary):
    """Why it ended, and what continues it."""
    stop = summary.get("stop") or summary.get("error") or {}
    continues = without_summary(stop.get("next_command"))
    hint = f"; to continue: {continues}" if continues else ""
    return f"exit code {code} ({stop.get('kind')}): {stop.get('message')}{hint}"


# The first attempt may run for a day; later attempts continue it.
@dag(schedule=None, start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, tags=["rescreen"])
def rescreen_campaign():
    @task(retries=48, retry_delay=timedelta(minutes=30), execution_timeout=timedelta(hours=30))
    def run_campaign():
        flags = shlex.split(Variable.get("rescreen_flags", default=""))
        config = Variable.get("rescreen_config", default=None)
        if not config:
            raise AirflowFailException("the variable rescreen_config is not set: expected the path of a campaign file")
        code, summary = run(config, *flags)
        kind = (summary.get("stop") or summary.get("error") or {}).get("kind")
        what = decide(code, kind)
        if what == "complete":
            return {name: summary[name] for name in ["campaign", "outputs", "failures", "credits", "checks"]}
        if what == "again":
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
