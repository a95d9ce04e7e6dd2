"""Reads real outputs with DuckDB, pyarrow, polars and pandas, loads them into DuckDB and PostgreSQL with the printed
tables, runs the commands of docs/loading.md, and builds the dbt project. Every value is compared with
the JSON Lines export."""

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import dbt_project
import duckdb_tables
import loading
import outputs
import postgres
import readers
import recipes
import two_rounds


def check_coverage(campaigns):
    """The test is worth something only if every kind of column has values and nulls, and every dataset has rows."""
    values, nulls, kinds = Counter(), Counter(), Counter()
    for campaign in campaigns:
        for dataset in campaign.datasets:
            kinds[dataset.kind] += len(dataset.rows)
            for row in dataset.rows:
                for name, kind in dataset.columns.items():
                    (nulls if row[name] is None else values)[kind] += 1
    faults = [f"no row in any dataset {kind}" for kind in outputs.KINDS if not kinds[kind]]
    for kind in readers.ARROW:
        faults += [f"no column of type {kind} with a value"] if not values[kind] else []
        faults += [f"no column of type {kind} with a null"] if not nulls[kind] else []
    return faults


def check_readers(campaigns):
    faults = []
    for name, reader in readers.READERS.items():
        begun, rows = time.monotonic(), 0
        for campaign in campaigns:
            for dataset in campaign.datasets:
                found = []
                try:
                    if dataset.parts:
                        found = reader(dataset, [str(part) for part in dataset.parts])
                    faults += [f"{name}: {campaign.name}: {fault}" for fault in outputs.differences(found, dataset)]
                except readers.WrongType as fault:
                    faults.append(f"{name}: {campaign.name}: {fault}")
                rows += len(found)
        print(f"{name}: {rows} rows read, {time.monotonic() - begun:.1f} s")
    return faults


def main():
    # What was started is stopped, and the folder removed, if the step of .ci/run takes too long.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    faults, skipped = [], []
    folder = Path(tempfile.mkdtemp(prefix="rescreen-interop-"))
    try:
        begun = time.monotonic()
        campaigns = outputs.campaigns(folder)
        rows = sum(len(dataset.rows) for campaign in campaigns for dataset in campaign.datasets)
        print(f"{len(campaigns)} campaigns, {rows} rows, {time.monotonic() - begun:.1f} s")
        faults += check_coverage(campaigns)
        faults += check_readers(campaigns)
        checks = {
            "DuckDB tables": duckdb_tables,
            "PostgreSQL": postgres,
            "docs/loading.md": loading,
            "dbt": dbt_project,
            "recipes": recipes,
            "two rounds": two_rounds,
        }
        for name, check in checks.items():
            begun = time.monotonic()
            reason = check.missing()
            if reason:
                skipped.append(name)
                print(f"{name}: SKIPPED: {reason}")
                continue
            found, summary = check.check(campaigns, folder)
            faults += [f"{name}: {fault}" for fault in found]
            print(f"{name}: {summary or 'failed'}, {time.monotonic() - begun:.1f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault in faults:
        print(f"FAILED: {fault}", file=sys.stderr)
    skips = f" (skipped: {', '.join(skipped)})" if skipped else ""
    print(f"interop: {'FAILED' if faults else 'ok'}{skips}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
