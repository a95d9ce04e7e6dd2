"""Materializes the asset in examples/dagster with the real Dagster, in a folder of its own."""

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
    folder = Path(tempfile.mkdtemp(prefix="rescreen-dagster-"))
    dagster = Path(sys.executable).with_name("dagster")
    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n", encoding="utf-8")
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(folder / "home"),
        "RESCREEN_FLAGS": "--simulate",
        "XDG_STATE_HOME": str(folder / "state"),
    }
    try:

        def start(config):
            environment["RESCREEN_CONFIG"] = str(config)
            assets = outputs.PROJECT / "examples" / "dagster" / "rescreen_assets.py"
            command = [dagster, "asset", "materialize", "-f", assets, "--select", "screening_results"]
            code, text = orchestrated.run(command, environment, folder / "asset.log")
            return code == 0, text

        faults = orchestrated.check(start, folder, "Dagster")
        log = (folder / "asset.log").read_text(encoding="utf-8")
        if "ASSET_CHECK_EVALUATION" not in log or "RUN_SUCCESS" not in log:
            faults.append("Dagster: expected that the check of the asset was evaluated and passed")
        if "STEP_UP_FOR_RETRY" in log:
            faults.append("Dagster: expected no second attempt")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault in faults:
        print(f"FAILED: {fault}", file=sys.stderr)
    print(f"Dagster {version('dagster')}: exit codes 4 and 3, {time.monotonic() - begun:.1f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
