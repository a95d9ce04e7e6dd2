"""The readers of Parquet: each gives the rows of a dataset as Python values."""

import duckdb
import pandas
import polars
import pyarrow.parquet

ARROW = {
    "text": ["string", "large_string"],
    "json": ["string", "large_string", "extension<arrow.json>"],
    "integer": ["int64"],
    "number": ["double"],
    "boolean": ["bool"],
    "date": ["date32[day]"],
    "timestamp": ["timestamp[us, tz=UTC]"],
}
DUCKDB = {
    "text": ["VARCHAR"],
    "json": ["JSON", "VARCHAR"],
    "integer": ["BIGINT"],
    "number": ["DOUBLE"],
    "boolean": ["BOOLEAN"],
    "date": ["DATE"],
    "timestamp": ["TIMESTAMP WITH TIME ZONE"],
}
POLARS = {
    "text": ["String"],
    "json": ["String"],
    "integer": ["Int64"],
    "number": ["Float64"],
    "boolean": ["Boolean"],
    "date": ["Date"],
    "timestamp": ["Datetime(time_unit='us', time_zone='UTC')"],
}


class WrongType(Exception):
    """A reader sees another type than the manifest states."""


def expect_types(dataset, found, known):
    for (name, kind), (column, read_as) in zip(dataset.columns.items(), found, strict=True):
        if name != column or read_as not in known[kind]:
            raise WrongType(f"{dataset.name}: expected {name} as {known[kind][0]}, found {column} as {read_as}")


def in_duckdb(dataset, parts):
    connection = duckdb.connect()
    rows = connection.read_parquet(parts)
    expect_types(dataset, zip(rows.columns, map(str, rows.types), strict=True), DUCKDB)
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def in_pyarrow(dataset, parts):
    tables = [pyarrow.parquet.read_table(part) for part in parts]
    table = pyarrow.concat_tables(tables)
    expect_types(dataset, [(field.name, str(field.type)) for field in table.schema], ARROW)
    nullable = {field.name for field in table.schema if field.nullable}
    for name in {"result_id", "campaign", "mode"} & nullable:
        raise WrongType(f"{dataset.name}: expected {name} as required, found it nullable")
    return table.to_pylist()


def in_polars(dataset, parts):
    frame = polars.scan_parquet(parts).collect()
    expect_types(dataset, [(name, str(kind)) for name, kind in frame.schema.items()], POLARS)
    return frame.to_dicts()


def in_pandas(dataset, parts):
    frame = pandas.concat([pandas.read_parquet(part, dtype_backend="pyarrow") for part in parts])
    kinds = [(name, str(kind.pyarrow_dtype)) for name, kind in frame.dtypes.items()]
    expect_types(dataset, kinds, ARROW)
    # `to_dict` gives pandas' own times and its own word for null.
    frame = frame.astype(object).where(frame.notna(), None)
    rows = frame.to_dict("records")
    as_python = lambda cell: cell.to_pydatetime() if isinstance(cell, pandas.Timestamp) else cell
    return [{name: as_python(cell) for name, cell in row.items()} for row in rows]


READERS = {"DuckDB": in_duckdb, "pyarrow": in_pyarrow, "polars": in_polars, "pandas": in_pandas}
