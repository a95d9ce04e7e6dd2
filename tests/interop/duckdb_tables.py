"""Creates the tables that `rescreen checks --ddl duckdb` prints, and loads the parts into them, twice."""

import duckdb
import outputs
import readers


def missing():
    return None


def check(campaigns, _folder):
    faults, tables, rows = [], 0, 0
    for campaign in campaigns:
        connection = duckdb.connect()
        connection.execute(outputs.rescreen("checks", "--ddl", "duckdb", "-c", campaign.config))
        for dataset in campaign.datasets:
            parts = [str(part) for part in dataset.parts]
            for _ in range(2 if parts else 0):
                # By name, so that a column that a later release adds does not shift the others.
                connection.execute(
                    f"INSERT OR IGNORE INTO {dataset.table} BY NAME SELECT * FROM read_parquet($parts)", {"parts": parts}
                )
            table = connection.table(dataset.table)
            try:
                types = zip(table.columns, map(str, table.types), strict=True)
                readers.expect_types(dataset, types, readers.DUCKDB)
            except readers.WrongType as fault:
                faults.append(f"{campaign.name}: {fault}")
                continue
            found = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
            faults += [f"{campaign.name}: {fault}" for fault in outputs.differences(found, dataset)]
            tables, rows = tables + 1, rows + len(found)
        comments = connection.execute("SELECT count(*) FROM duckdb_columns() WHERE comment IS NULL AND NOT internal")
        if comments.fetchone() != (0,):
            faults.append(f"{campaign.name}: expected a comment on every column")
    faults += check_reserved_words(campaigns[0])
    return faults, f"{tables} tables, {rows} rows loaded twice"


def check_reserved_words(demo):
    """Every word that DuckDB reserves can be the name of a carried column."""
    words = duckdb.sql("SELECT DISTINCT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'").fetchall()
    connection = duckdb.connect()
    connection.execute(with_columns(demo, "duckdb", [word for (word,) in words]))
    return []


def with_columns(demo, engine, names):
    """The tables of a campaign that carries columns with these names."""
    config = demo.config.parent / f"reserved-{engine}.toml"
    text = demo.config.read_text(encoding="utf-8")
    listed = ", ".join(f'"{name}"' for name in names)
    config.write_text(text.replace('carry = ["branch"]', f"carry = [{listed}]"), encoding="utf-8")
    return outputs.rescreen("checks", "aml-screening", "--ddl", engine, "-c", config)
