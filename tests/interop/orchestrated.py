"""A campaign for the tests of Airflow and Dagster: first its budget is too small (exit code 4), then it is raised, and
the campaign ends with exit code 3. What was paid for in the first run is not paid for again."""

import json
import shutil
import subprocess
from pathlib import Path

import outputs

# Less than the 665 credits that the sample list costs.
TOO_LITTLE = 100


def prepare(folder):
    """The sample list, with a budget that is too small."""
    shutil.copytree(outputs.PROJECT / "sample-data", folder / "book")
    config = folder / "book" / "customers.toml"
    set_budget(config, TOO_LITTLE)
    return config


def set_budget(config, credits):
    lines = config.read_text(encoding="utf-8").splitlines()
    changed = [f"max_credits = {credits}" if line.startswith("max_credits") else line for line in lines]
    config.write_text("\n".join(changed) + "\n", encoding="utf-8")


def manifest(config):
    place = next((config.parent / "out/rehearsals").iterdir())
    return json.loads((place / "manifest.json").read_text(encoding="utf-8"))


def state(config):
    """Credits and whether the campaign is complete, from the manifest."""
    found = manifest(config)
    return sum(total["credits"] for total in found["totals"]), found["complete"]


def run(command, environment, log):
    """The exit code and the output of a program."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    text = done.stdout + done.stderr
    Path(log).write_text(text, encoding="utf-8")
    return done.returncode, text


def check(start, folder, name):
    """`start` runs the orchestrator on a campaign, and returns whether it succeeded, and its log."""
    config = prepare(folder)
    faults = []
    succeeded, text = start(config)
    spent, complete = state(config)
    if succeeded or complete:
        faults.append(f"{name}: expected a failure for exit code 4, found success")
    for part in ["exit code 4 (limit)", "--max-credits"]:
        if part not in text:
            faults.append(f"{name}: expected `{part}` in the log of a stop for the budget")
    if not 0 < spent <= TOO_LITTLE:
        faults.append(f"{name}: expected between 1 and {TOO_LITTLE} credits, found {spent}")
    set_budget(config, 2000)
    succeeded, text = start(config)
    spent, complete = state(config)
    if not (succeeded and complete):
        faults.append(f"{name}: expected success for exit code 3, found failure:\n{text[-2000:]}")
    if spent != 665:
        faults.append(f"{name}: expected 665 credits as in one run, found {spent}")
    return faults
