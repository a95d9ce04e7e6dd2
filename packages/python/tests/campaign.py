"""A campaign of five customers, which the tests run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rescreen

CAMPAIGN = """
campaign = "2026-11"
mode = "production"

[service]
url = "https://service.example"

[input]
paths = ["customers.csv"]
id = "customer_no"

[budget]
max_credits = 100_000
prices = { aml-screening = 5, said-verification = 1 }

[[check]]
use = "aml-screening"
fields.name = "full_name"
fields.country = "country"
fields.entity = { value = 0 }

[[check]]
use = "said-verification"
when = "id_number"
fields.idNumber = "id_number"

[output]
carry = ["score"]
"""
NAMES = ["Naledi Mokoena", "Thabo Nkosi", None, "Jane Smith", "Zoë van der Merwe"]
COLUMNS: dict[str, list[Any]] = {
    "customer_no": ["0001", "0002", "0003", "0004", "0005"],
    "full_name": NAMES,
    "country": ["ZA", "ZA", "ZA", "GB", "NL"],
    "id_number": ["8001015009087", None, None, None, None],
    "score": [1, 2, 3, 4, 5],
}
OUTPUTS = Path("out", "rehearsals", "2026-11")


def campaign_in(tmp_path: Path) -> Path:
    """Make the campaign. DuckDB reads a bracket in a path as a pattern, unless it is told not to."""
    folder = tmp_path / "Prüfung für März [1]"
    folder.mkdir()
    (folder / "rescreen.toml").write_text(CAMPAIGN, encoding="utf-8")
    write_csv(folder / "customers.csv", COLUMNS)
    return folder


def write_csv(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = [columns.keys(), *zip(*columns.values())]
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table_of(library: str, columns: dict[str, list[Any]]) -> Any:
    module = pytest.importorskip(library)
    if library == "pyarrow":
        return module.table(columns)
    if library == "pandas":
        return module.DataFrame(columns).astype({"country": "category"})
    if library == "polars":
        return module.DataFrame(columns).cast({"country": module.Categorical})
    rows = ", ".join(str(tuple(row)).replace("None", "NULL") for row in zip(*columns.values()))
    return module.sql(f"SELECT * FROM (VALUES {rows}) AS t ({', '.join(columns)}) ORDER BY customer_no")


def published(run: rescreen.Run) -> int:
    """How many results the manifest counts."""
    manifest = json.loads((run.outputs / "manifest.json").read_text(encoding="utf-8"))
    return sum(total["results"] for total in manifest["totals"])


def without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
