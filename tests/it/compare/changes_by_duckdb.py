#!/usr/bin/env python3
"""Counts the changes between two published folders with DuckDB, as a second opinion on `rescreen diff`.

Usage: changes_by_duckdb.py OLD NEW. Prints one JSON object: the counts by check and kind of change.
"""

import json
import sys
from pathlib import Path

import duckdb


def table(connection, name, folder):
    """The asks of a folder: how each ended, and its number among the asks with its check and subject."""
    manifest = json.loads((folder / "manifest.json").read_text())
    parts = []
    for dataset in manifest["datasets"]:
        columns = {column["name"] for column in dataset["schema"]}
        digest = "answer_digest" if "answer_digest" in columns else "NULL"
        ended = {
            "results": f"verdict, finding, {digest}",
            "failures": "NULL, code, NULL",
            "pending": "NULL, reason, NULL",
            "skipped": "NULL, reason, NULL",
        }[dataset["kind"]]
        for part in dataset["parts"]:
            parts.append(
                f"SELECT check_name, subject, '{dataset['kind']}', {ended}, source, row_number "
                f"FROM read_parquet('{folder / part['path']}') WHERE subject IS NOT NULL AND check_name IS NOT NULL"
            )
    connection.execute(
        f"CREATE TABLE {name}_rows (check_name TEXT, subject TEXT, outcome TEXT, verdict TEXT, finding TEXT, "
        f"digest TEXT, source TEXT, row_number BIGINT)"
    )
    for part in parts:
        connection.execute(f"INSERT INTO {name}_rows {part}")
    connection.execute(
        f"CREATE TABLE {name} AS SELECT *, row_number() OVER "
        f"(PARTITION BY check_name, subject ORDER BY source, row_number) AS nth FROM {name}_rows"
    )


QUERY = """
SELECT check_name, CASE
    WHEN o.outcome IS NULL THEN 'joined'
    WHEN n.outcome IS NULL THEN 'left'
    WHEN o.outcome IN ('pending', 'skipped') OR n.outcome IN ('pending', 'skipped') THEN 'not_answered'
    WHEN o.outcome = 'failures' AND n.outcome = 'failures' THEN 'not_answered'
    WHEN n.outcome = 'failures' THEN 'failed_now'
    WHEN o.outcome = 'failures' THEN 'failed_before'
    WHEN o.verdict IN ('clear', 'not_found') AND n.verdict IN ('review', 'adverse') THEN 'new_match'
    WHEN o.verdict IN ('review', 'adverse') AND n.verdict IN ('clear', 'not_found') THEN 'cleared'
    WHEN o.verdict <> n.verdict THEN 'verdict_changed'
    WHEN o.finding <> n.finding THEN 'finding_changed'
    WHEN o.digest <> n.digest THEN 'answer_changed'
    ELSE 'unchanged' END AS change, count(*)
FROM o FULL JOIN n USING (check_name, subject, nth)
GROUP BY ALL ORDER BY ALL
"""


def main():
    connection = duckdb.connect()
    for name, folder in zip("on", sys.argv[1:3]):
        table(connection, name, Path(folder))
    counts = {}
    for check, change, count in connection.execute(QUERY).fetchall():
        counts.setdefault(check, {})[change] = count
    print(json.dumps(counts))


main()
