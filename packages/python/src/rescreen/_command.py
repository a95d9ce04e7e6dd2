"""Starting the command `rescreen`, and the errors that it ends with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

StrPath = Union[str, "os.PathLike[str]"]


class RescreenError(Exception):
    """The command did not do its work.

    `exit_code` is negative if a signal killed the command. `kind` and `next_command` are None if it stated none.

        try:
            rescreen.run(yes=True)
        except rescreen.RescreenError as error:
            print(error.exit_code, error.kind, error.message, error.next_command)
    """

    def __init__(self, exit_code: int, stop: Mapping[str, Any], json: Optional[dict[str, Any]] = None) -> None:
        self.message: str = stop.get("message") or "the run is complete, and its exit code is not in `accept`"
        self.exit_code = exit_code
        self.kind: Optional[str] = stop.get("kind")
        self.next_command: Optional[str] = stop.get("next_command")
        self.json = json
        super().__init__(exit_code, stop, json)  # what pickle calls it with, in another process

    def __str__(self) -> str:
        return f"{self.message} (exit code {self.exit_code})"


class UsageError(RescreenError):
    """Exit code 2: correct the arguments, the campaign file or the input."""


class Stopped(RescreenError):
    """Exit codes 4 to 10, 130 and 143: the campaign is not complete. Run again, or a person decides; see `kind`."""


_ERRORS = {2: UsageError, **dict.fromkeys([*range(4, 11), 130, 143], Stopped)}


def error_of(exit_code: int, stop: Mapping[str, Any], json: Optional[dict[str, Any]] = None) -> RescreenError:
    """Return the error of an exit code."""
    return _ERRORS.get(exit_code, RescreenError)(exit_code, stop, json)


def binary() -> Path:
    """Return the path of the command.

    It is what the environment variable RESCREEN names, or the command that was installed with this package, or the
    first one in PATH.

        subprocess.run([rescreen.binary(), "checks"])
    """
    named = os.environ.get("RESCREEN")
    if named:
        found = shutil.which(named)
        if found is None:
            raise FileNotFoundError(f"RESCREEN names {named}, which is not a program")
        return Path(found).absolute()
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", "osx_framework_user" if sys.platform == "darwin" else "posix_user"),
        str(Path(__file__).parents[1] / "bin"),  # of `pip install --target`
        *os.get_exec_path(),
    ]
    found = shutil.which("rescreen", path=os.pathsep.join(folders))
    if found is None:
        raise FileNotFoundError(
            "the command `rescreen` is not installed: install this package, or set RESCREEN to its path"
        )
    return Path(found).absolute()


def campaign_words(campaign: StrPath, simulate: bool) -> list[str]:
    """Return the words that name the campaign file, and say that it is rehearsed."""
    # The command finds rescreen.toml itself, and then refuses one that other users can write to.
    words = [] if os.fspath(campaign) == "rescreen.toml" else ["--config", os.fspath(campaign)]
    return words + ["--simulate"] * simulate


def call(
    command: str, words: Sequence[str], cwd: Optional[StrPath], env: Optional[Mapping[str, str]], show: bool = False
) -> dict[str, Any]:
    """Run the command, and return the object that it prints."""
    with terminations():
        child = subprocess.Popen(
            [binary(), command, "--json", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if show else subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            encoding="utf-8",
            errors="replace",
            # A Ctrl-C at the terminal would reach the command twice, and a second signal ends it without its results.
            start_new_session=True,
        )
        try:
            printed, messages = child.communicate()
        except BaseException as reason:
            _end(child, signal.SIGINT if isinstance(reason, KeyboardInterrupt) else signal.SIGTERM)
            raise
    try:
        said: dict[str, Any] = json.loads(printed)
    except ValueError:
        message = (messages or "").strip() or f"the command ended with {child.returncode} and printed nothing"
        raise RescreenError(child.returncode, {"message": message}) from None
    if said["error"]:
        raise error_of(said["exit_code"], said["error"], said)
    return said


def _end(child: subprocess.Popen[str], number: int) -> None:
    while True:
        try:
            child.send_signal(number)
            child.communicate()  # a full pipe would keep it from ending
            return
        except (KeyboardInterrupt, SystemExit):
            continue


@contextmanager
def terminations() -> Iterator[None]:
    """Turn the signals that end Python into an exception. A handler of the application stays."""
    changed = []
    if threading.current_thread() is threading.main_thread():
        changed = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
