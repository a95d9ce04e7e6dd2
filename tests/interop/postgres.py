"""Loads the outputs into a real PostgreSQL: the tables that `rescreen checks --ddl postgres` prints, filled with COPY.

The server is started for this test alone, in a temporary folder, on a Unix socket, and is stopped at the end.
"""

import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import duckdb
import duckdb_tables
import outputs
import psycopg

TYPES = {
    "text": "text",
    "json": "jsonb",
    "integer": "bigint",
    "number": "double precision",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp with time zone",
}


def program(name):
    """The newest of the installed programs of PostgreSQL; Debian does not put them on the path."""
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda path: int(path.split("/")[4]))
    return places[-1] if places else shutil.which(name)


def missing():
    names = [name for name in ["initdb", "postgres"] if program(name) is None]
    if names:
        return f"PostgreSQL's {' and '.join(names)} not found"
    if os.geteuid() == 0 and unprivileged() is None:
        return "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`"
    return None


def unprivileged():
    for name in ["postgres", "nobody"]:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    return None


class Server:
    """A cluster in a temporary folder. PostgreSQL refuses to run as root: then it runs as another user."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rescreen-pg-"))
        self.user = {}
        if os.geteuid() == 0:
            owner = unprivileged()
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self.user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self.process = None
        # The number is a part of the socket's name.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def __enter__(self):
        data, log = self.folder / "data", self.folder / "log"
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}
        surround = {"cwd": self.folder, "env": environment, **self.user}
        flags = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([program("initdb"), *flags], check=True, capture_output=True, **surround)
        options = [f"unix_socket_directories={self.folder}", "listen_addresses=", "fsync=off", f"port={self.port}"]
        flags = [word for option in options for word in ("-c", option)]
        with open(log, "w") as out:
            command = [program("postgres"), "-D", data, *flags]
            self.process = subprocess.Popen(command, stdout=out, stderr=out, **surround)
        for _ in range(300):
            try:
                return psycopg.connect(
                    host=str(self.folder), port=self.port, user="postgres", dbname="postgres", autocommit=True
                )
            except psycopg.OperationalError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        text = log.read_text()
        self.__exit__()
        raise SystemExit(f"PostgreSQL did not start:\n{text}")

    def __exit__(self, *_):
        if self.process:
            # A fast shutdown: it does not wait for connections.
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def check(campaigns, folder):
    exact = lambda text: json.loads(text, parse_float=Decimal)
    psycopg.types.json.set_json_loads(exact)
    faults, tables, rows = [], 0, 0
    with Server() as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        version = connection.execute("SHOW server_version").fetchone()[0].split(" ")[0]
        for campaign in campaigns:
            schema = campaign.name
            connection.execute(f"CREATE SCHEMA {schema}; SET search_path TO {schema}")
            connection.execute(outputs.rescreen("checks", "--ddl", "postgres", "-c", campaign.config))
            for dataset in campaign.datasets:
                copy(connection, dataset, folder / "copied.csv")
                faults += [f"{campaign.name}: {fault}" for fault in compare(connection, schema, dataset)]
                tables, rows = tables + 1, rows + len(dataset.rows)
        faults += check_comments(connection)
        words = connection.execute("SELECT DISTINCT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T', 'C')").fetchall()
        connection.execute("CREATE SCHEMA reserved; SET search_path TO reserved")
        connection.execute(duckdb_tables.with_columns(campaigns[0], "postgres", [word for (word,) in words]))
    return faults, f"PostgreSQL {version}, {tables} tables, {rows} rows"


def copy(connection, dataset, path):
    """Parquet to CSV with DuckDB, then COPY: as docs/loading.md says. An empty text is in quotes, a null is not."""
    if not dataset.parts:
        return
    parts = [str(part) for part in dataset.parts]
    duck = duckdb.connect()
    duck.execute(f"COPY (SELECT * FROM read_parquet($parts)) TO '{path}' (FORMAT csv, HEADER)", {"parts": parts})
    with connection.cursor().copy(f"COPY {dataset.table} FROM STDIN (FORMAT csv, HEADER)") as copying:
        copying.write(path.read_bytes())


def compare(connection, schema, dataset):
    found = connection.execute(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        (schema, dataset.table),
    ).fetchall()
    wanted = [(name, TYPES[kind]) for name, kind in dataset.columns.items()]
    if [(name, kind) for name, kind, _ in found] != wanted:
        return [f"{dataset.name}: expected the columns {wanted}, found {found}"]
    rows = connection.cursor(row_factory=psycopg.rows.dict_row).execute(f"SELECT * FROM {dataset.table}").fetchall()
    return outputs.differences(rows, dataset)


def check_comments(connection):
    """Every table and column has its comment."""
    missing = connection.execute(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT a.attisdropped"
        " WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND col_description(c.oid, a.attnum) IS NULL"
    ).fetchall()
    return [f"expected a comment on {table}.{column}, found none" for table, column in missing]
