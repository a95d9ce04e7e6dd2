"""Runs the DAG in examples/airflow with the real Airflow, in a folder and a database of its own."""

import os
import shutil
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import orchestrated
import outputs


def main():
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="rescreen-airflow-"))
    airflow = Path(sys.executable).with_name("airflow")
    try:
        environment = {
            **os.environ,
            "AIRFLOW_HOME": str(folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(outputs.PROJECT / "examples" / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_VAR_RESCREEN_FLAGS": "--simulate",
            "XDG_STATE_HOME": str(folder / "state"),
        }
        code, text = orchestrated.run([airflow, "db", "migrate"], environment, folder / "migrate.log")
        if code != 0:
            raise SystemExit(f"airflow db migrate failed:\n{text[-2000:]}")

        def start(config):
            environment["AIRFLOW_VAR_RESCREEN_CONFIG"] = str(config)
            command = [airflow, "dags", "test", "rescreen_campaign"]
            code, text = orchestrated.run(command, environment, folder / "dag.log")
            return code == 0 and "state=success" in text, text

        faults = orchestrated.check(start, folder, "Airflow")
        log = (folder / "dag.log").read_text(encoding="utf-8")
        if "6 asks failed" not in log:
            faults.append("Airflow: expected the warning about 6 failed asks")
        if "up_for_retry" in log:
            faults.append("Airflow: expected no second attempt")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault in faults:
        print(f"FAILED: {fault}", file=sys.stderr)
    seconds = time.monotonic() - begun
    print(f"Airflow {version('apache-airflow')}: exit codes 4 and 3, {seconds:.1f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
