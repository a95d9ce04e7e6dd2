"""Run paid checks on lists of customers, and read the results.

The functions start the command `rescreen`, which this package carries, and read the JSON that it prints.

    import rescreen

    plan = rescreen.plan(simulate=True)
    run = rescreen.run(simulate=True)
    print(run.complete, run.credits_charged, rescreen.results(run.outputs))
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

from ._command import RescreenError, Stopped, StrPath, UsageError, binary, call, campaign_words, error_of
from ._filter import Filter, Table, map_in_arrow, map_table, screen

__all__ = [
    "Filter", "Plan", "RescreenError", "Run", "Status", "Stopped", "Table", "UsageError",
    "binary", "failures", "files", "map_in_arrow", "map_table", "plan", "results", "run", "screen", "status",
]  # fmt: skip

Input = Union[StrPath, Sequence[StrPath], Table, None]


@dataclass(frozen=True)
class Plan:
    """What a run would do and cost. `json` has all fields of `rescreen plan --json`."""

    exit_code: int
    """0 if the run would start, and nothing that a plan can see would stop it."""
    obstacles: tuple[str, ...]
    rows: int
    requests: int
    credits: int
    next_command: Optional[str]
    json: dict[str, Any] = field(repr=False, hash=False)


@dataclass(frozen=True)
class Run:
    """How a run ended. Counts are of the whole campaign. `json` has all fields of `rescreen run --json`."""

    exit_code: int
    campaign: str
    complete: bool
    rows: int
    failures: int
    credits_charged: int
    outputs: Path
    """The output folder, for `results` and `failures`."""
    json: dict[str, Any] = field(repr=False, hash=False)


@dataclass(frozen=True)
class Status:
    """The state of a campaign. `json` has all fields of `rescreen status --json`."""

    campaign: str
    state: str
    """`running`, `complete`, `stopped`, `killed` or `not_complete`."""
    percent: Optional[float]
    credits_charged: int
    json: dict[str, Any] = field(repr=False, hash=False)


def plan(
    campaign: StrPath = "rescreen.toml",
    input: Input = None,
    *,
    simulate: bool = False,
    arguments: Sequence[str] = (),
    cwd: Optional[StrPath] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Plan:
    """Show what a run would do and cost. Nothing is sent. The parameters are those of `run`.

    A plan that would stop is not an error: see `exit_code` and `obstacles`.

        assert rescreen.plan().credits < 1000
    """
    said = call("plan", _words(campaign, input, simulate, arguments, cwd), cwd, env)
    return Plan(
        said["exit_code"], tuple(obstacle["reason"] for obstacle in said["obstacles"]), said["rows"]["total"],
        said["requests"], said["credits"]["this_run"], said["next_command"], said,
    )  # fmt: skip


def run(
    campaign: StrPath = "rescreen.toml",
    input: Input = None,
    *,
    simulate: bool = False,
    yes: bool = False,
    arguments: Sequence[str] = (),
    accept: Collection[int] = (0, 3),
    show: bool = False,
    cwd: Optional[StrPath] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Run:
    """Run a campaign, or resume it. What was paid for is not paid for again.

    `input` replaces the paths in the campaign file: a path, a list of paths, or a table. A table needs pyarrow. It is
    written to `rescreen-tables/` beside the campaign file, readable by its owner only, under a name that its content
    determines. rescreen compares the rows, and not the file: the same rows in the same order resume the campaign, and
    rows at the end are new ones. So give a query an ORDER BY. The file stays, because the command that continues names
    it; delete it when the campaign is complete.

    `yes` is needed in production. `arguments` are further flags of `rescreen run`. `env` adds variables, such as
    RESCREEN_API_KEY. `show` lets the messages of the command go to standard error.

    An exit code that is not in `accept` raises Stopped or another RescreenError. On Ctrl-C, SIGTERM or SIGHUP, the
    command is told to end, and this function waits until it has published what it has, up to two minutes. A second
    signal ends it at once. Python handles signals in its main thread only.

        run = rescreen.run(input=frame, yes=True, arguments=["--campaign", "2026-12"])
    """
    words = _words(campaign, input, simulate, [*["--yes"] * yes, *arguments], cwd)
    said = call("run", words, cwd, env, show)
    if said["exit_code"] not in accept:
        raise error_of(said["exit_code"], said["stop"] or {}, said)
    return Run(
        said["exit_code"], said["campaign"], said["complete"], said["rows"], said["failures"],
        said["credits"]["charged"], Path(cwd or ".").absolute() / said["outputs"], said,
    )  # fmt: skip


def status(dir: StrPath, *, cwd: Optional[StrPath] = None, env: Optional[Mapping[str, str]] = None) -> Status:
    """Show the state of a campaign, also while another process runs it. `dir` is its output folder or its name.

    print(rescreen.status("out/2026-11").percent)
    """
    said = call("status", ["--", os.fspath(dir)], cwd, env)
    return Status(said["campaign"], said["state"], said["percent"], said["credits"]["charged"], said)


def files(dir: StrPath, kind: str = "results", check: Optional[str] = None) -> list[Path]:
    """List the valid files of a dataset: `results`, `failures`, `pending`, `skipped` or `answers`.

    Only the files in manifest.json count: others may be left from an earlier publication, or not finished.

        polars.scan_parquet(rescreen.files("out/2026-11", check="aml-screening"))
    """
    folder = Path(dir).absolute()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    datasets = [d for d in manifest["datasets"] if d["kind"] == kind and check in (None, d["check"])]
    if not datasets:
        raise ValueError(f"{folder} has no {kind} of {check or 'any check'}")
    return [folder / part["path"] for dataset in datasets for part in dataset["parts"]]


def results(dir: StrPath, check: Optional[str] = None, *, connection: Any = None) -> Any:
    """Return the results of one check, or of all, as a DuckDB relation; without duckdb, as a pyarrow dataset.

    A column that a check does not have is null in its rows. `connection` is a DuckDB connection.

        rescreen.results("out/2026-11").filter("verdict = 'review'").df()
    """
    return _read(files(dir, "results", check), connection)


def failures(dir: StrPath, *, connection: Any = None) -> Any:
    """Return the rows that could not be read or mapped, or got no answer, in the form of `results`.

    print(rescreen.failures("out/2026-11").aggregate("code, count(*)"))
    """
    return _read(files(dir, "failures"), connection)


def _read(paths: list[Path], connection: Any) -> Any:
    if paths[0].suffix != ".parquet":
        raise ValueError("the outputs are not Parquet: read the paths of files() as JSON Lines")
    try:
        import duckdb
    except ImportError:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet

        # Without a schema, a dataset would have only the columns of its first file.
        schema = pyarrow.unify_schemas([pyarrow.parquet.read_schema(path) for path in paths])
        return pyarrow.dataset.dataset([str(path) for path in paths], schema=schema)
    # DuckDB takes a path for a pattern.
    return (connection or duckdb).read_parquet([glob.escape(str(path)) for path in paths], union_by_name=True)


def _words(
    campaign: StrPath, input: Input, simulate: bool, arguments: Sequence[str], cwd: Optional[StrPath]
) -> list[str]:
    words = [*campaign_words(campaign, simulate), *arguments]
    if input is None:
        return words
    if isinstance(input, (str, os.PathLike)):
        paths: Sequence[StrPath] = [input]
    elif isinstance(input, Table):
        paths = [_written(input, Path(campaign).parent / "rescreen-tables", Path(cwd or "."))]
    elif isinstance(input, (list, tuple)):
        paths = input
    else:  # a DataFrame of an older pandas would be taken for a list of paths
        raise TypeError(
            "input is neither a path, a list of paths nor a table that exports Arrow data (pandas 2.2 or later)"
        )
    return [*words, "--", *(os.fspath(path) for path in paths)]


def _written(table: Table, folder: Path, cwd: Path) -> Path:
    """Write a table as Parquet. Return its path relative to `cwd`, as `source` in the outputs names it."""
    import pyarrow
    import pyarrow.parquet

    place = cwd / folder
    place.mkdir(mode=0o700, exist_ok=True)
    (place / ".gitignore").write_text("*\n")  # the rows are personal data
    reader = pyarrow.RecordBatchReader.from_stream(table)
    schema = reader.schema
    for at, column in enumerate(schema):
        # A categorical column of polars has this type, and pyarrow cannot write it.
        if pyarrow.types.is_dictionary(column.type) and column.type.value_type == pyarrow.string_view():
            schema = schema.set(at, column.with_type(pyarrow.dictionary(column.type.index_type, pyarrow.string())))
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        path = Path(scratch) / "table"
        path.touch(mode=0o600)
        rows = 0
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            for batch in reader:
                # Small row groups: rescreen refuses very large ones.
                writer.write_batch(batch.cast(schema), row_group_size=65536)
                rows += batch.num_rows
        if not rows:  # a run of no rows would be complete
            raise ValueError("the table has no rows; if it is a reader, it can be read only once")
        # The content is in the name, so a run that reads a table never finds another one in its place.
        name = f"table-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}.parquet"
        path.replace(place / name)
    return folder / name
