"""Registers the parts of a campaign in Iceberg tables, without rewriting them. A second run adds nothing.

    python iceberg.py ../../out/2026-11 --catalog rescreen

The catalog is one of ~/.pyiceberg.yaml. Without one, `--warehouse FOLDER` keeps a catalog in a SQLite file there. The
tables refer to the parts where they are, so they must stay there: publish to the place where the tables read them.
"""

import argparse
from itertools import groupby
from pathlib import Path

from parts import final_parts, json_columns, plain_schema
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError


def open_catalog(name, warehouse):
    if warehouse is None:
        return load_catalog(name)
    folder = Path(warehouse).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return load_catalog(name, type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())


def register(folder, catalog, namespace="rescreen"):
    """The number of parts and rows that were added to each table."""
    try:
        catalog.create_namespace(namespace)
    except NamespaceAlreadyExistsError:
        pass
    added = {}
    for table_name, parts in groupby(final_parts(folder), key=lambda part: part.table):
        parts = list(parts)
        schema = plain_schema(parts[-1].path)
        name = f"{namespace}.{table_name}"
        # pyiceberg cannot take the smallest and largest value of a JSON column from a file, and nobody filters by them.
        counted = {f"write.metadata.metrics.column.{column}": "counts" for column in json_columns(parts[-1].path)}
        try:
            table = catalog.load_table(name)
            # A later release, or another campaign, may have more columns.
            if {field.name for field in schema} - {field.name for field in table.schema().fields}:
                with table.update_schema() as update:
                    update.union_by_name(schema)
        except NoSuchTableError:
            table = catalog.create_table(name, schema=schema, properties=counted)
        known = set(table.inspect.files()["file_path"].to_pylist())
        new = [part for part in parts if part.path.as_uri() not in known]
        if new and not counted.items() <= table.properties.items():
            with table.transaction() as transaction:
                transaction.set_properties(counted)
        if new:
            table.add_files([part.path.as_uri() for part in new])
        added[name] = (len(new), sum(part.rows for part in new))
    return added


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", help="output folder of a campaign")
    arguments.add_argument("--catalog", default="rescreen", help="name of the catalog")
    arguments.add_argument("--warehouse", help="folder for a catalog in a SQLite file")
    arguments.add_argument("--namespace", default="rescreen")
    given = arguments.parse_args()
    added = register(given.folder, open_catalog(given.catalog, given.warehouse), given.namespace)
    for name, (parts, rows) in added.items():
        print(f"{name}: {parts} parts added, {rows} rows")


if __name__ == "__main__":
    main()
