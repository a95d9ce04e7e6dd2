"""Reads the parts with PySpark, and loads them into the tables that `rescreen checks --ddl spark` prints."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import outputs
from pyspark.sql import SparkSession

TYPES = {
    "text": "string",
    "json": "string",
    "integer": "bigint",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}


def statements(script):
    """Spark executes one statement at a time. No comment of a table ends a line with a semicolon."""
    return [one for one in script.split(";\n") if one.strip()]


def rows_of(frame):
    """Spark's times are in the zone of the session, which is UTC, and Python does not see the zone."""
    import datetime

    def cell(value):
        is_time = isinstance(value, datetime.datetime) and value.tzinfo is None
        return value.astimezone(datetime.timezone.utc) if is_time else value

    return [{name: cell(value) for name, value in row.asDict().items()} for row in frame.collect()]


def check_dataset(spark, campaign, dataset):
    if not dataset.parts:
        return []
    frame = spark.read.parquet(*map(str, dataset.parts))
    wanted = [(name, TYPES[kind]) for name, kind in dataset.columns.items()]
    found = [(field.name, field.dataType.simpleString()) for field in frame.schema]
    faults = [] if found == wanted else [f"{dataset.name}: expected the columns {wanted}, found {found}"]
    faults += outputs.differences(rows_of(frame), dataset)
    frame.createOrReplaceTempView("incoming")
    for _ in range(2):
        # As in docs/loading.md: a second load adds nothing.
        spark.sql(
            f"INSERT INTO {dataset.table}"
            f" SELECT incoming.* FROM incoming LEFT ANTI JOIN {dataset.table} USING (result_id)"
        )
    table = spark.table(dataset.table)
    if [(field.name, field.dataType.simpleString()) for field in table.schema] != wanted:
        faults.append(f"{dataset.name}: the table has other columns than the parts")
    faults += outputs.differences(rows_of(table), dataset)
    comments = spark.sql(f"DESCRIBE TABLE {dataset.table}").collect()
    faults += [f"{dataset.name}: no comment on {row.col_name}" for row in comments if not row.comment]
    return [f"{campaign.name}: {fault}" for fault in faults]


def main():
    os.environ["TZ"] = "UTC"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    time.tzset()
    folder = Path(tempfile.mkdtemp(prefix="rescreen-spark-"))
    faults, tables, rows = [], 0, 0
    try:
        campaigns = outputs.campaigns(folder)
        begun = time.monotonic()
        builder = SparkSession.builder.master("local[2]").appName("rescreen")
        for key, value in {
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}/derby",
        }.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        for campaign in campaigns:
            spark.sql(f"CREATE DATABASE {campaign.name}")
            spark.sql(f"USE {campaign.name}")
            for statement in statements(outputs.rescreen("checks", "--ddl", "spark", "-c", campaign.config)):
                spark.sql(statement)
            for dataset in campaign.datasets:
                faults += check_dataset(spark, campaign, dataset)
                tables, rows = tables + 1, rows + len(dataset.rows)
        version = spark.version
        spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault in faults:
        print(f"FAILED: PySpark: {fault}", file=sys.stderr)
    print(f"PySpark {version}: {tables} tables, {rows} rows read, and loaded twice, {time.monotonic() - begun:.1f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
