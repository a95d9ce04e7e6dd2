"""Runs the recipes in examples/lake over several campaigns, twice, and compares every row that the tables then have."""

import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

import outputs
from deltalake import DeltaTable, QueryBuilder

sys.path.insert(0, str(outputs.PROJECT / "examples" / "lake"))

import delta
import iceberg
import pyarrow


def digests(campaigns):
    parts = [part for campaign in campaigns for dataset in campaign.datasets for part in dataset.parts]
    return {part: hashlib.sha256(part.read_bytes()).hexdigest() for part in parts}


def datasets_by_table(campaigns):
    """The rows that each table must have: several campaigns may have the same check."""
    tables = {}
    for campaign in campaigns:
        for dataset in campaign.datasets:
            if dataset.kind in ["results", "answers"] and dataset.rows:
                tables.setdefault(dataset.table, []).append(dataset)
    return tables


def compare(name, table, rows, datasets):
    """The rows of a table, which may have the columns of several campaigns."""
    faults = []
    by_id = {row["result_id"]: row for row in rows}
    expected = sum(len(dataset.rows) for dataset in datasets)
    if len(rows) != expected:
        return [f"{name}: {table}: expected {expected} rows, found {len(rows)}"]
    for dataset in datasets:
        own = [by_id.get(row["result_id"], {}) for row in dataset.rows]
        own = [{column: row.get(column) for column in dataset.columns} for row in own]
        faults += [f"{name}: {table}: {fault}" for fault in outputs.differences(own, dataset)]
    return faults


def check_delta(campaigns, lake):
    added = [delta.register(campaign.folder, lake) for campaign in campaigns]
    again = [delta.register(campaign.folder, lake) for campaign in campaigns]
    faults = [f"Delta: a second run added {parts} parts" for one in again for parts, _ in one.values() if parts]
    for table, datasets in datasets_by_table(campaigns).items():
        opened = DeltaTable(str(lake / table))
        read = QueryBuilder().register("found", opened).execute("SELECT * FROM found").read_all()
        faults += compare("Delta", table, pyarrow.table(read).to_pylist(), datasets)
    return faults, sum(parts for one in added for parts, _ in one.values())


def check_iceberg(campaigns, warehouse):
    catalog = iceberg.open_catalog("rescreen", warehouse)
    added = [iceberg.register(campaign.folder, catalog) for campaign in campaigns]
    again = [iceberg.register(campaign.folder, catalog) for campaign in campaigns]
    faults = [f"Iceberg: a second run added {parts} parts" for one in again for parts, _ in one.values() if parts]
    for table, datasets in datasets_by_table(campaigns).items():
        opened = catalog.load_table(f"rescreen.{table}")
        faults += compare("Iceberg", table, opened.scan().to_arrow().to_pylist(), datasets)
        files = {Path(path.removeprefix("file://")) for path in opened.inspect.files()["file_path"].to_pylist()}
        if not files <= {part for dataset in datasets for part in dataset.parts}:
            faults.append(f"Iceberg: {table} has files that are not parts of a campaign")
    return faults, sum(parts for one in added for parts, _ in one.values())


def main():
    folder = Path(tempfile.mkdtemp(prefix="rescreen-lake-")).resolve()
    faults = []
    try:
        campaigns = outputs.campaigns(folder)
        before = digests(campaigns)
        for name, check in [("Delta", check_delta), ("Iceberg", check_iceberg)]:
            begun = time.monotonic()
            found, parts = check(campaigns, folder / name.lower())
            faults += found
            faults += [] if parts else [f"{name}: expected parts to be added"]
            print(f"{name}: {parts} parts registered, none a second time, {time.monotonic() - begun:.1f} s")
        if digests(campaigns) != before:
            faults.append("a part was changed")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault in faults:
        print(f"FAILED: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
