"""Spark and Ray with a charge book: a task that is killed pays for nothing again.

Skipped where an engine or PostgreSQL is not installed.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional
from urllib.parse import quote

import pyarrow
import pyarrow.parquet
import pytest

import rescreen

ROWS = 240
PASSWORD = "planted-book-password"
CAMPAIGN = """
campaign = "engines"
mode = "production"
[service]
url = "{url}"
per_minute = 6000
per_minute_max = 12000
[ledger]
book = {{ env = "RESCREEN_BOOK" }}
[input]
id = "id"
[budget]
max_credits = 100_000
prices = {{ aml-screening = 1 }}
[[check]]
use = "aml-screening"
fields.name = "name"
fields.country = {{ value = "ZA" }}
fields.entity = {{ value = 0 }}
"""
# Every tenth customer is there twice, so that tasks have content in common.
CUSTOMERS = pyarrow.table(
    {
        "id": [f"{at:04}" for at in range(ROWS)],
        "name": [f"Naledi Mokoena {at if at % 10 else at // 20}" for at in range(ROWS)],
    }
)
CONTENT = len(set(CUSTOMERS["name"].to_pylist()))


class Account:
    """An account at a simulator in a process of its own, with a charge book and a campaign."""

    def __init__(self, folder: Path, postgres: Path) -> None:
        self.folder = folder
        self.postgres = postgres
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        listen = ["simulate", "--listen", self.url.removeprefix("http://"), "--latency", "100ms", "--fallback", "0"]
        rate = ["--per-minute", "6000", "--per-minute-max", "12000", "--quiet"]
        self.simulator = subprocess.Popen([rescreen.binary(), *listen, *rate])
        self.campaign = folder / "rescreen.toml"
        self.campaign.write_text(CAMPAIGN.format(url=self.url), encoding="utf-8")
        self.env = {
            "RESCREEN_BOOK": f"postgres://owner:{PASSWORD}@{quote(str(postgres), safe='')}/postgres",
            "RESCREEN_API_KEY": "sk-planted-marker-4c1",
            "XDG_STATE_HOME": str(folder / "state"),
        }
        subprocess.run([rescreen.binary(), "book", "init", "--quiet"], env={**os.environ, **self.env}, check=True)

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/_simulator/stats") as reply:
            stats: dict[str, Any] = json.load(reply)
        return stats

    def told(self) -> str:
        """Return what the book says: the sum of the credits of all requests, and of those that are held."""
        sql = "SELECT sum(charged) || ' ' || sum(held) FROM rescreen.request"
        said = subprocess.run(
            ["psql", "-qAt", "-h", self.postgres, "-U", "owner", "postgres", "-c", sql],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return said.stdout.strip()

    def adds_up(self, rows: list[dict[str, Any]]) -> None:
        """Expect that the service's charges are those of the book, and the sum of the credits in the rows."""
        assert sorted(row["subject"] for row in rows) == CUSTOMERS["id"].to_pylist()
        assert {row["dataset"] for row in rows} == {"results"}
        charged = self.stats()["credits_charged"]
        assert charged == CONTENT, "each content is paid for once"
        assert self.told() == f"{charged} 0"
        # A task that runs twice writes its credits twice, and an engine keeps one of them.
        assert sum(row["credits"] for row in rows) == charged


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    found = shutil.which("initdb") or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None
    )
    if found is None or shutil.which("psql") is None:
        pytest.skip("PostgreSQL is not installed")
    # A short path: that of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    user = _other_user(folder)
    data = folder / "data"
    initdb = Path(found)
    subprocess.run(
        [initdb, "-A", "trust", "-U", "owner", "--no-sync", "-D", data], **user, check=True, stdout=subprocess.DEVNULL
    )
    server = subprocess.Popen(
        [initdb.with_name("postgres"), "-D", data, "-c", "listen_addresses=", "-k", folder],
        **user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ready = ["psql", "-h", folder, "-U", "owner", "postgres", "-c", "SELECT 1"]
        while subprocess.run(ready, capture_output=True).returncode:
            assert server.poll() is None, "the server ended"
            time.sleep(0.1)
        account = Account(tmp_path, folder)
        try:
            yield account
        finally:
            account.simulator.kill()
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait()
        shutil.rmtree(folder)


def _other_user(folder: Path) -> dict[str, Any]:
    """PostgreSQL does not run as root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": folder}


def _killed_once(account: Account, parent: bool) -> threading.Thread:
    """Kill one filter, or the process that started it, when some rows were sent."""

    def kill() -> None:
        while True:
            victim = _a_filter(account)
            if victim is not None and account.stats()["credits_charged"] > ROWS // 8:
                with suppress(ProcessLookupError):
                    os.kill(_parent(victim) if parent else victim, signal.SIGKILL)
                return
            time.sleep(0.05)

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    return killing


def _a_filter(account: Account) -> Optional[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"filter" in words and os.fsencode(account.campaign) in words:
                return int(process.name)
    return None


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_spark_repeats_a_task_that_was_killed(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.speculation": "true", "spark.sql.shuffle.partitions": "4"}
    builder = sql.SparkSession.builder.master("local[4,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        customers = spark.createDataFrame(CUSTOMERS.to_pylist()).repartition(4, "id")
        screen = rescreen.map_in_arrow(account.campaign, yes=True, env=account.env)
        columns = screen.schema(customers)
        killing = _killed_once(account, parent=False)
        rows = customers.mapInArrow(screen, columns).collect()
        killing.join(timeout=1)
        assert not killing.is_alive(), "a task was killed"
        account.adds_up([row.asDict() for row in rows])
    finally:
        spark.stop()


def test_ray_repeats_a_task_whose_worker_was_killed(account: Account) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=4, include_dashboard=False, configure_logging=False)
    try:
        screen = rescreen.map_table(account.campaign, yes=True, env=account.env)
        dataset = ray.data.from_arrow(CUSTOMERS).repartition(4)
        killing = _killed_once(account, parent=True)
        rows = dataset.map_batches(screen, batch_format="pyarrow", batch_size=ROWS // 4).take_all()
        killing.join(timeout=1)
        assert not killing.is_alive(), "a worker was killed"
        account.adds_up(rows)
    finally:
        ray.shutdown()


JOB = Path(__file__).parents[3] / "examples" / "kubernetes" / "job.yaml"


@pytest.mark.skipif(not JOB.is_file(), reason="the examples are not beside the package")
def test_pods_of_an_indexed_job_share_the_account_and_are_started_again(account: Account, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    validate = pytest.importorskip("kubernetes_validate").validate
    settings, job = yaml.safe_load_all(JOB.read_text(encoding="utf-8"))
    for resource in (settings, job):
        validate(resource, "1.33", strict=True)
    # What the cluster would give to each pod: its files, its index, and its secrets.
    campaign = settings["data"]["rescreen.toml"].replace(
        'url = "https://service.example"', f'url = "{account.url}"\nper_minute = 6000\nper_minute_max = 12000'
    )
    campaign = campaign.replace("aml-screening = 5", "aml-screening = 1")  # what this service charges
    account.campaign.write_text(campaign, encoding="utf-8")
    pods = job["spec"]["completions"]
    (tmp_path / "in").mkdir()
    columns = CUSTOMERS.rename_columns(["customer_no", "full_name"]).append_column(
        "country", pyarrow.array(["ZA"] * ROWS)
    )
    for pod in range(pods):
        part = columns.slice(pod * ROWS // pods, ROWS // pods)
        pyarrow.parquet.write_table(part, tmp_path / "in" / f"part-{pod}.parquet")
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]

    def start(pod: int) -> subprocess.Popen[bytes]:
        words = [word.replace("$(JOB_COMPLETION_INDEX)", str(pod)) for word in arguments]
        words = [word.replace("/campaign", str(tmp_path)).replace("/data", str(tmp_path)) for word in words]
        env = {**os.environ, **account.env, "JOB_COMPLETION_INDEX": str(pod)}
        return subprocess.Popen([rescreen.binary(), *words, "--quiet"], env=env)

    expect = [rescreen.binary(), "book", "expect", "--quiet", "-c", account.campaign, "--count", str(pods)]
    subprocess.run(expect, env={**os.environ, **account.env}, check=True)
    running = {pod: start(pod) for pod in range(pods)}
    while account.stats()["credits_charged"] < ROWS // 8:
        time.sleep(0.05)
    # A pod that is lost with its disk.
    running[1].kill()
    running[1].wait()
    shutil.rmtree(tmp_path / "out" / "part-1")
    running[1] = start(1)
    assert [running[pod].wait() for pod in range(pods)] == [0] * pods
    rows = []
    for pod in range(pods):
        for path in rescreen.files(tmp_path / "out" / f"part-{pod}"):
            rows += [{**row, "dataset": "results"} for row in pyarrow.parquet.read_table(path).to_pylist()]
    account.adds_up(rows)
    status = subprocess.run(
        [rescreen.binary(), "book", "status", "--json"],
        env={**os.environ, **account.env},
        capture_output=True,
        check=True,
    )
    (found,) = json.loads(status.stdout)["accounts"][0]["campaigns"]
    assert (found["complete"], found["partitions_complete"], found["outputs"]["rows"]) == (True, pods, ROWS)
