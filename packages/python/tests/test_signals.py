"""A signal ends the command together with Python, and the command publishes what it has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaign import OUTPUTS, published, write_csv

import rescreen

LONG_RUN = """
import rescreen, sys
try:
    rescreen.run(arguments=["--simulate=realtime"])
except KeyboardInterrupt:
    sys.exit(1)
"""


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen in a minute"
        time.sleep(0.05)


def program_that_tells_its_pid(path: Path, then: str) -> None:
    path.write_text(f'#!/bin/sh\necho $$ > "{path}.new"\nmv "{path}.new" "{path}.pid"\n{then}\n', encoding="utf-8")
    path.chmod(0o700)


def charged(outputs: Path) -> int:
    try:
        return rescreen.status(outputs).credits_charged
    except rescreen.UsageError:  # the run has not made its ledger yet
        return 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 1), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_command_too(folder: Path, tmp_path: Path, number: int, code: int) -> None:
    rows = range(300)  # 5 minutes at the rate of the campaign
    names = [f"Naledi {chr(65 + row // 26)}{chr(97 + row % 26)}" for row in rows]
    columns: dict[str, list[Any]] = {"customer_no": [f"{row:04}" for row in rows], "full_name": names}
    columns |= {"country": ["ZA" for _ in rows], "id_number": [None for _ in rows], "score": [*rows]}
    write_csv(folder / "customers.csv", columns)
    program = tmp_path / "command"
    program_that_tells_its_pid(program, f'exec "{rescreen.binary()}" "$@"')
    environment = {**os.environ, "RESCREEN": str(program)}
    # As at a terminal: Ctrl-C goes to all processes of the group.
    python = subprocess.Popen([sys.executable, "-c", LONG_RUN], cwd=folder, env=environment, start_new_session=True)
    try:
        wait_for(lambda: charged(folder / OUTPUTS) > 0)
        os.killpg(python.pid, number)
        assert python.wait(150) == code
    finally:
        python.terminate()
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path(f"{program}.pid").read_text()), 0)
    status = rescreen.status(folder / OUTPUTS)
    assert status.state == "stopped"
    assert status.json["last_stop"]["kind"] == ("interrupted" if number == signal.SIGINT else "terminated")
    assert json.loads((folder / OUTPUTS / "manifest.json").read_text(encoding="utf-8"))["under_way"] is False
    run = rescreen.run(simulate=True, cwd=folder)
    assert (run.complete, run.credits_charged, published(run)) == (True, 300 * 5, 300)


def test_a_second_signal_reaches_the_command(tmp_path: Path) -> None:
    program = tmp_path / "command"
    wait = 'while [ "$seen" != 11 ]; do test -z "$seen" || touch first; sleep 0.1; done'
    program_that_tells_its_pid(program, f"trap 'seen=1$seen' INT\n{wait}")
    environment = {**os.environ, "RESCREEN": str(program)}
    python = subprocess.Popen([sys.executable, "-c", LONG_RUN], cwd=tmp_path, env=environment)
    try:
        wait_for(Path(f"{program}.pid").exists)
        time.sleep(1)  # until the shell has set its trap
        python.send_signal(signal.SIGINT)
        wait_for((tmp_path / "first").exists)
        assert python.poll() is None
        python.send_signal(signal.SIGINT)
        assert python.wait(30) == 1
    finally:
        python.terminate()


def test_a_handler_of_the_application_stays() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        handler = signal.getsignal(signal.SIGTERM)
        with pytest.raises(rescreen.UsageError):
            rescreen.status("nope")
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
