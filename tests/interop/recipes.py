"""What the recipes for Airflow and Dagster decide after each exit code, without these programs: a mistake in a command is
not tried again, and what a person has to decide is not either."""

import importlib.util
import sys
from unittest.mock import MagicMock, patch

import outputs

RECIPES = ["airflow/rescreen_campaign.py", "dagster/rescreen_assets.py"]

# Exit code, kind of the stop, and what to do.
DECISIONS = [
    (0, None, "complete"),
    (3, "failures", "complete"),
    (1, "internal", "person"),
    (2, "usage", "person"),
    (2, "ledger", "person"),
    (4, "limit", "person"),
    (4, "price", "person"),
    (5, "jobs", "again"),
    (6, "guard", "person"),
    (7, "key", "person"),
    (8, "doubt", "again"),
    (8, "unsent", "again"),
    (8, "quarantine", "person"),
    (8, "unrecognised", "person"),
    (8, "clock", "person"),
    (9, "time", "again"),
    (10, "service", "again"),
    (10, "rate_limit", "again"),
    (10, "earlier_stop", "person"),
    (11, "storage", "person"),
    (130, "interrupted", "again"),
    (143, "terminated", "again"),
]


def missing():
    return None


def load(path):
    """A recipe as a module. The programs that it is for are not needed for what is tested here."""
    stubs = {name: MagicMock() for name in ["airflow", "airflow.sdk", "airflow.sdk.exceptions", "dagster"]}
    spec = importlib.util.spec_from_file_location("recipe", outputs.PROJECT / "examples" / path)
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, stubs):
        spec.loader.exec_module(module)
    return module


def check(_campaigns, _folder):
    faults = []
    for path in RECIPES:
        recipe = load(path)
        for code, kind, expected in DECISIONS:
            found = recipe.decide(code, kind)
            if found != expected:
                faults.append(f"{path}: exit code {code} ({kind}): expected {expected}, found {found}")
        killed = [code for code in [-9, -15, 137, 2, 0, 101] if recipe.was_killed(code)]
        if killed != [-9, -15, 137]:
            faults.append(f"{path}: expected that -9, -15 and 137 mean killed, found {killed}")
        command = "rescreen run -c 'my campaign.toml' --summary-json /tmp/x/summary.json --max-credits 6"
        if recipe.without_summary(command) != "rescreen run -c 'my campaign.toml' --max-credits 6":
            faults.append(f"{path}: the temporary file is in the command that continues")
        if recipe.without_summary(None) != "":
            faults.append(f"{path}: expected no command")
    return faults, f"{len(DECISIONS)} exit codes and kinds in {len(RECIPES)} recipes"
