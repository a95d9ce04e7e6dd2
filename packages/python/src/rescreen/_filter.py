"""Rows in, answers out: `rescreen filter --arrow` as a child process, for tables, Spark and Ray."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Optional, Protocol, runtime_checkable

from ._command import StrPath, binary, campaign_words, error_of, terminations

if TYPE_CHECKING:
    import pyarrow

_BATCH_BYTES = 64 << 20
"""A batch has about this size. The command refuses one of more than 256 MiB."""
_END_SECONDS = 60
"""How long a command that is not needed any more may take to end. It waits for replies that are on their way."""
_INTERRUPTED = (130, 143)
"""Exit codes after which rows are missing."""


@runtime_checkable
class Table(Protocol):
    """A table that exports Arrow data, of pandas (2.2), polars (1.3), pyarrow, DuckDB (1.3) or another library."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows."""


@dataclass(frozen=True)
class Filter:
    """A filter with its settings, which can be pickled. The parameters are those of `map_in_arrow`."""

    campaign: StrPath = "rescreen.toml"
    simulate: bool = False
    yes: bool = False
    arguments: Sequence[str] = ()
    accept: Collection[int] = (0, 3)
    env: Optional[Mapping[str, str]] = field(default=None, repr=False)
    name: str = "spark"

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Filter the batches of a task of Spark. Its number is the end of the name of the partition."""
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            raise RuntimeError("expected to be called by a task of Spark; use rescreen.screen for a table")
        return self.batches(batches, f"{self.name}-{task.partitionId()}")

    def batches(
        self, batches: Iterator[pyarrow.RecordBatch], partition: Optional[str] = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Filter batches. The rows come when all batches are read and answered. Without a batch, nothing is started."""
        import pyarrow

        first = next(batches, None)
        if first is None:
            return
        with tempfile.TemporaryFile() as messages, terminations():
            child = self._start(partition, messages)
            assert child.stdin is not None and child.stdout is not None
            try:
                # The command reads all rows before it sends any, and sends none if they break off.
                writer = pyarrow.ipc.new_stream(child.stdin, first.schema)
                batch: Optional[pyarrow.RecordBatch] = first
                while batch is not None and _is_written(lambda batch=batch: _write(writer, batch)):
                    batch = next(batches, None)
                _is_written(lambda: (writer.close(), child.stdin.close()))
                with suppress(pyarrow.ArrowInvalid, OSError):  # nothing, or less than all: the exit code says why
                    yield from pyarrow.ipc.open_stream(child.stdout)
                if child.wait() not in self.accept or child.returncode in _INTERRUPTED:
                    messages.seek(0)
                    raise error_of(child.returncode, {"message": _reason(messages.read())})
            finally:
                _end(child)

    def _start(self, partition: Optional[str], messages: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [binary(), "filter", "--arrow", *self._words(partition)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            env={**os.environ, **(self.env or {})},
            # A Ctrl-C at the terminal would reach the command twice.
            start_new_session=True,
        )

    def schema(self, rows: Any) -> Any:
        """Return the columns of the results for these rows, of Spark if the rows are, else of pyarrow.

        They come from a rehearsal of no rows. Nothing is sent.
        """
        import pyarrow

        if not hasattr(rows, "sparkSession"):
            return self.columns(pyarrow.RecordBatchReader.from_stream(rows).schema)
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

        return from_arrow_schema(self.columns(to_arrow_schema(rows.schema)))

    def columns(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """Return the columns of the results for rows with these columns, as `schema` does."""
        import pyarrow

        no_rows = pyarrow.BufferOutputStream()
        pyarrow.ipc.new_stream(no_rows, schema).close()
        done = subprocess.run(
            [binary(), "filter", "--arrow", *replace(self, simulate=True, yes=False)._words(None)],
            input=no_rows.getvalue().to_pybytes(),
            capture_output=True,
            env={**os.environ, **(self.env or {})},
        )
        if done.returncode:
            raise error_of(done.returncode, {"message": _reason(done.stderr)})
        return pyarrow.ipc.open_stream(done.stdout).schema

    def _words(self, partition: Optional[str]) -> list[str]:
        words = [*campaign_words(self.campaign, self.simulate), *["--yes"] * self.yes]
        words += ["--partition", partition] if partition else []
        return [*words, *self.arguments]


@dataclass(frozen=True)
class TableFilter:
    """A filter of whole tables, which can be pickled and sent to other machines."""

    filter: Filter

    def __call__(self, table: Table) -> pyarrow.Table:
        """Filter a table. A digest of its values is the name of the partition."""
        import pyarrow

        rows = pyarrow.RecordBatchReader.from_stream(table).read_all()
        digest = hashlib.sha256(repr([(column.name, str(column.type)) for column in rows.schema]).encode())
        for batch in rows.to_batches(max_chunksize=1024):
            # Equal rows may have different bytes in memory.
            for row in batch.to_pylist():
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
        partition = f"table-{digest.hexdigest()[:16]}"
        answers = list(self.filter.batches(iter(rows.to_batches()), partition))
        return pyarrow.Table.from_batches(answers, answers[0].schema if answers else self.filter.columns(rows.schema))


def screen(
    rows: Table,
    campaign: StrPath = "rescreen.toml",
    *,
    simulate: bool = False,
    yes: bool = False,
    arguments: Sequence[str] = (),
    accept: Collection[int] = (0, 3),
    env: Optional[Mapping[str, str]] = None,
) -> pyarrow.Table:
    """Check the rows of a table, and return a row for each check of each row, in their order.

    `yes` is needed in production, and so is a charge book: see docs/engines.md. `arguments` are further flags of
    `rescreen filter`. `env` adds variables, such as RESCREEN_API_KEY. An exit code that is not in `accept` raises
    Stopped or another RescreenError. Needs pyarrow.

        answers = rescreen.screen(frame, simulate=True)
    """
    return map_table(campaign, simulate=simulate, yes=yes, arguments=arguments, accept=accept, env=env)(rows)


def map_in_arrow(
    campaign: StrPath = "rescreen.toml",
    *,
    simulate: bool = False,
    yes: bool = False,
    arguments: Sequence[str] = (),
    accept: Collection[int] = (0, 3),
    env: Optional[Mapping[str, str]] = None,
    name: str = "spark",
) -> Filter:
    """Return a function for `mapInArrow` of Spark. The other parameters are those of `screen`.

    A task that Spark repeats pays for nothing again. Repeat a job with the same partitioning. The partitions of the
    campaign are called `name` and the number of the task: two DataFrames in one campaign need two names.

        screen = rescreen.map_in_arrow(yes=True)
        customers.mapInArrow(screen, screen.schema(customers))
    """
    return Filter(campaign, simulate, yes, tuple(arguments), tuple(accept), env, name)


def map_table(
    campaign: StrPath = "rescreen.toml",
    *,
    simulate: bool = False,
    yes: bool = False,
    arguments: Sequence[str] = (),
    accept: Collection[int] = (0, 3),
    env: Optional[Mapping[str, str]] = None,
) -> TableFilter:
    """Return a function from table to table, as for `map_batches` of Ray.

    The parameters are those of `screen`.

        dataset.map_batches(rescreen.map_table(yes=True), batch_format="pyarrow")
    """
    return TableFilter(map_in_arrow(campaign, simulate=simulate, yes=yes, arguments=arguments, accept=accept, env=env))


def _write(writer: Any, batch: pyarrow.RecordBatch) -> None:
    rows = max(1, _BATCH_BYTES * batch.num_rows // max(1, batch.nbytes))
    for first in range(0, batch.num_rows, rows):
        writer.write_batch(batch.slice(first, rows))


def _is_written(write: Any) -> bool:
    """Whether the command still reads. One that has ended has refused something, and says what."""
    try:
        write()
    except BrokenPipeError:
        return False
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a command whose rows are not wanted any more, and close what leads to it.

    Its input is closed last, and without an end mark: rows that broke off are not taken for whole.
    """
    assert child.stdin is not None and child.stdout is not None
    child.stdout.close()
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_END_SECONDS)
    child.kill()
    child.wait()
    with suppress(BrokenPipeError):
        child.stdin.close()


def _reason(said: bytes) -> str:
    """Return what matters of the messages: the error, or why the command stopped."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("error:", "stopped:"))]
    return "; ".join(reasons or lines[-1:]).removeprefix("error: ") or "the command said nothing"
