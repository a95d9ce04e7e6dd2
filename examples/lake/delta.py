"""Registers the parts of a campaign in Delta tables, without rewriting them. A second run adds nothing.

    python delta.py ../../out/2026-11 --lake ../../lake

A Delta table refers to files below its own folder. Each part gets a hard link there, or is copied if the lake is on
another file system; its bytes stay the same. For a lake in object storage, upload the parts to the same names.
"""

import argparse
import json
import os
import shutil
from itertools import groupby
from pathlib import Path

from deltalake import DeltaTable, Field, Schema
from deltalake.transaction import AddAction
from parts import final_parts, plain_schema


def name_in_table(part):
    """The same for every run, wherever the output folder is."""
    return f"{part.mode}/{part.campaign}/{part.path.name}"


def link(part, target):
    """Puts the part below the folder of the table."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and target.stat().st_size == part.bytes:
        return
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        os.link(part.path, unfinished)
    except OSError:
        shutil.copyfile(part.path, unfinished)
    unfinished.rename(target)


def open_table(folder, schema):
    if not DeltaTable.is_deltatable(str(folder)):
        return DeltaTable.create(str(folder), schema=schema, mode="error")
    table = DeltaTable(str(folder))
    # A later release, or another campaign, may have more columns.
    known = {field.name for field in table.schema().fields}
    new = [Field(field.name, field.type, nullable=True) for field in schema.fields if field.name not in known]
    if new:
        table.alter.add_columns(new)
        table = DeltaTable(str(folder))
    return table


def register(folder, lake):
    """The number of parts and rows that were added to each table."""
    added = {}
    for table_name, parts in groupby(final_parts(folder), key=lambda part: part.table):
        parts = list(parts)
        place = Path(lake).resolve() / table_name
        table = open_table(place, Schema.from_arrow(plain_schema(parts[-1].path)))
        known = dict(zip(*(table.get_add_actions().column(name).to_pylist() for name in ["path", "size_bytes"])))
        new = []
        for part in parts:
            name = name_in_table(part)
            if known.get(name, part.bytes) != part.bytes:
                raise SystemExit(f"{place}: {name} has another size than the part of the campaign; was it begun again?")
            if name not in known:
                link(part, place / name)
                new.append(part)
        if new:
            actions = [
                AddAction(
                    path=name_in_table(part),
                    size=part.bytes,
                    partition_values={},
                    modification_time=int(part.path.stat().st_mtime * 1000),
                    data_change=True,
                    stats=json.dumps({"numRecords": part.rows}),
                )
                for part in new
            ]
            # All parts or none: a reader sees one new version of the table.
            table.create_write_transaction(actions=actions, mode="append", schema=table.schema())
        added[place.name] = (len(new), sum(part.rows for part in new))
    return added


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", help="output folder of a campaign")
    arguments.add_argument("--lake", required=True, help="folder of the Delta tables")
    given = arguments.parse_args()
    for name, (parts, rows) in register(given.folder, given.lake).items():
        print(f"{name}: {parts} parts added, {rows} rows")


if __name__ == "__main__":
    main()
