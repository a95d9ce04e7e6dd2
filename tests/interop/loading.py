"""Runs the commands of docs/loading.md, sections DuckDB and PostgreSQL, twice, and counts the rows that the tables then
have."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import outputs
import postgres


def missing():
    return postgres.missing() or (None if shutil.which("psql") else "psql is not installed")


def commands(heading):
    """The shell commands in a section of the page."""
    page = (outputs.PROJECT / "docs" / "loading.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL))


def place(folder):
    """The folder that the page speaks of: rescreen.toml, and the outputs of the round 2026-11."""
    shutil.copytree(outputs.PROJECT / "sample-data", folder)
    (folder / "customers.toml").rename(folder / "rescreen.toml")
    outputs.rescreen("run", "--simulate", "-q", "-y", "-c", "rescreen.toml", expected=(3,), cwd=folder)
    (folder / "out/rehearsals/2026-11").rename(folder / "out/2026-11")
    return outputs.read("loading", folder / "rescreen.toml", folder / "out/2026-11", folder / "exported")


def check(_campaigns, folder):
    work = folder / "loading"
    campaign = place(work)
    loaded = [one for one in campaign.datasets if one.table in ["results_aml_screening", "failures"]]
    tools = folder / "tools"
    tools.mkdir()
    (tools / "rescreen").symlink_to(Path(os.environ["RESCREEN"]).resolve())
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    faults = []
    server = postgres.Server()
    with server as connection:
        database = f"host={server.folder} port={server.port} user=postgres dbname=postgres"
        environment = {**os.environ, "PATH": path, "DATABASE": database, "HOME": str(work)}

        def in_postgres(table):
            return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

        def in_duckdb(table):
            command = ["duckdb", "-csv", "-noheader", "screening.duckdb", f"SELECT count(*) FROM {table}"]
            done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=True)
            return int(done.stdout)

        for heading, count in [("DuckDB", in_duckdb), ("PostgreSQL", in_postgres)]:
            for _ in range(2):
                command = ["sh", "-e", "-c", commands(heading)]
                done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
                if done.returncode != 0:
                    return [f"the commands of the section {heading} failed: {done.stderr}"], ""
            for dataset in loaded:
                found = count(dataset.table)
                if found != dataset.rows_in_manifest or not found:
                    expected = dataset.rows_in_manifest
                    faults.append(f"{heading}: expected {expected} rows in {dataset.table}, found {found}")
    return faults, "the commands of the sections DuckDB and PostgreSQL, run twice"
