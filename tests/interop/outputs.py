"""Runs campaigns with the built-in simulator, and says what is in their outputs.

The JSON Lines export is what the readers of Parquet are compared with: it has every row, and it needs no reader but
Python's own.
"""

import csv
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
KINDS = ["results", "answers", "failures", "pending", "skipped"]

# Texts that a loader may change: leading zeros, empty texts, quotes, line breaks, separators, other scripts.
AWKWARD = ["007", "", 'say "x"', "a\nb", "x;y,z\t|", "\\N", "O'Brien", "Ünïcode ☂ 名前", "=1+1", "NULL", "1e5", " pad "]

BOOK_CAMPAIGN = """
campaign = "{campaign}"

[input]
paths = ["book.csv"]
id = "no"
null = ["NULL"]

[budget]
max_credits = {max_credits}
prices = {{ aml-screening = 2, said-verification = 1, vehicle-check = 6, bank-account = 6 }}

[[check]]
use = "aml-screening"
name = "director-aml"
when = "kind == 'company'"
fields.name = "name"
fields.country = {{ value = "za" }}
fields.entity = {{ value = 0 }}

[[check]]
use = "said-verification"
fields.idNumber = "id_number"
expect.surname = "surname"

[[check]]
use = "vehicle-check"
when = "kind == 'fleet'"
fields.registrationNumber = "plate"

[[check]]
use = "bank-account"
when = "kind == 'person'"
fields.firstName = "name"
fields.surname = "surname"
fields.identityNumber = "id_number"
fields.bankName = {{ value = "Capitec" }}
fields.bankAccountNumber = "account"
fields.bankBranchCode = {{ value = "470010" }}
fields.bankAccountType = {{ value = "savings" }}

[output]
{output}
carry = [
    "Offset",
    {{ Remark = "remark" }},
    {{ Order = {{ column = "Order", type = "integer" }} }},
    {{ score = {{ column = "score", type = "number" }} }},
    {{ member = {{ column = "member", type = "boolean" }} }},
]
"""


@dataclass
class Dataset:
    """One dataset of a campaign: its columns, its files, and its rows as the JSON Lines export has them."""

    kind: str
    check: str | None
    columns: dict[str, str]
    parts: list[Path]
    rows_in_manifest: int
    rows: list[dict] = field(default_factory=list)

    @property
    def name(self):
        return f"{self.kind}/{self.check}" if self.check else self.kind

    @property
    def table(self):
        """The table that `rescreen checks --ddl` creates for it."""
        return f"{self.kind}_{self.check}".replace("-", "_") if self.check else self.kind


@dataclass
class Campaign:
    name: str
    folder: Path
    config: Path
    manifest: dict
    datasets: list[Dataset]


def rescreen(*words, expected=(0,), cwd=None):
    """The standard output of the program."""
    done = subprocess.run([os.environ["RESCREEN"], *map(str, words)], cwd=cwd, capture_output=True, text=True)
    if done.returncode not in expected:
        raise SystemExit(f"rescreen {words[0]}: expected exit code {expected}, found {done.returncode}\n{done.stderr}")
    return done.stdout


def id_number(n):
    """An invented South African ID number with a correct check digit."""
    digits = f"{80 + n % 20:02}{n % 12 + 1:02}{n % 28 + 1:02}{5000 + n:04}08"
    total = sum(sum(divmod(int(digit) * (1 + at % 2), 10)) for at, digit in enumerate(digits))
    return digits + str(-total % 10)


def write_book(folder, max_credits, output=""):
    """A list with texts that loaders may change, and with rows that fail."""
    folder.mkdir(parents=True)
    header = ["no", "kind", "name", "surname", "id_number", "plate", "account", "Offset", "remark"]
    header += ["Order", "score", "member"]
    with open(folder / "book.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for n in range(60):
            kind = ["person", "company", "fleet"][n % 3]
            identity = id_number(n) if n % 10 else "not an ID number"
            writer.writerow(
                [
                    f"{n:05}", kind, f"Name {n}", f"Vexford{n % 7}", identity, f"CA{n:06}", f"12345{n:05}",
                    AWKWARD[n % len(AWKWARD)], AWKWARD[(n + 5) % len(AWKWARD)],
                    # A whole number that a floating point number cannot hold.
                    2**53 + 1 + n, n / 10 if n % 4 else "NULL", ["true", "false", "NULL"][n % 3],
                ]
            )
        file.write("00060,person,too few cells\n")
    text = BOOK_CAMPAIGN.format(campaign=folder.name, max_credits=max_credits, output=output)
    (folder / "rescreen.toml").write_text(text, encoding="utf-8")
    return folder / "rescreen.toml"


def campaigns(folder):
    """The demo, the sample campaign of suppliers, a list of awkward texts, and the same list stopped by its budget, with
    the answers in a dataset of their own."""
    rescreen("demo", "--dir", folder / "demo", "-q")
    demo = ("demo", folder / "demo" / "customers.toml", folder / "demo/out/rehearsals/demo-1")
    shutil.copytree(PROJECT / "sample-data", folder / "suppliers")
    rest = {
        "suppliers": folder / "suppliers" / "suppliers.toml",
        "book": write_book(folder / "book", 1000),
        "stopped": write_book(folder / "stopped", 60, 'answer = "dataset"\nsent = false'),
    }
    made = [demo]
    for name, config in rest.items():
        flags = ["--simulate", "--mode", "production", "--max-errors", "100%", "-y", "-q"]
        rescreen("run", "-c", config, *flags, expected=(3, 4))
        made.append((name, config, next((config.parent / "out/rehearsals").iterdir())))
    return [read(name, config, place, folder / f"{name}-export") for name, config, place in made]


def read(name, config, place, exported):
    """A campaign with its datasets; the rows come from an export as JSON Lines to a new folder."""
    rescreen("export", place, "--to", exported, "--format", "jsonl", "-q")
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    lines = json.loads((exported / "manifest.json").read_text(encoding="utf-8"))
    # An export has the answers in a column of the results, wherever the campaign has them.
    exports = {(one["kind"], one["check"]): one for one in lines["datasets"]}
    datasets = []
    for published in manifest["datasets"]:
        kind = "results" if published["kind"] == "answers" else published["kind"]
        source = exports[kind, published["check"]]
        columns = {column["name"]: column["type"] for column in published["schema"]}
        known = {column["name"]: column["type"] for column in source["schema"]}
        if not columns.items() <= known.items():
            raise SystemExit(f"{name}: the export of {published['kind']} has other columns than the campaign")
        dataset = Dataset(
            kind=published["kind"],
            check=published["check"],
            columns=columns,
            parts=[place / part["path"] for part in published["parts"]],
            rows_in_manifest=sum(part["rows"] for part in published["parts"]),
        )
        for part in source["parts"]:
            with open(exported / part["path"], encoding="utf-8") as file:
                dataset.rows += [row_of(json.loads(line, parse_float=Decimal), columns, known) for line in file]
        dataset.rows.sort(key=key)
        datasets.append(dataset)
    return Campaign(name, place, config, manifest, datasets)


def key(row):
    return row["result_id"]


def row_of(row, columns, known):
    if list(row) != list(known):
        raise SystemExit(f"expected the columns {list(known)}, found {list(row)}")
    return {name: cell_of(row[name], kind) for name, kind in columns.items()}


def cell_of(cell, kind):
    """A cell of a JSON Lines file, in the type that its column has."""
    if cell is None:
        return None
    if kind == "timestamp":
        return datetime.fromisoformat(cell)
    if kind == "date":
        return date.fromisoformat(cell)
    if kind == "number":
        return float(cell)
    return cell


def differences(found, dataset):
    """What differs between rows that were read and those of the export: the first few, without their values."""
    found = sorted(found, key=key)
    if len(found) != dataset.rows_in_manifest:
        return [f"{dataset.name}: expected {dataset.rows_in_manifest} rows as in the manifest, found {len(found)}"]
    if len(found) != len(dataset.rows):
        return [f"{dataset.name}: expected {len(dataset.rows)} rows as in the export, found {len(found)}"]
    different = []
    for wanted, row in zip(dataset.rows, found, strict=True):
        if list(row) != list(wanted):
            return [f"{dataset.name}: expected the columns {list(wanted)}, found {list(row)}"]
        for name, cell in wanted.items():
            if not same(cell, row[name], dataset.columns[name]):
                place = f"{dataset.name}, result {row['result_id']}, column {name} ({dataset.columns[name]})"
                wanted_type, found_type = type(cell).__name__, type(row[name]).__name__
                how = "the values differ" if wanted_type == found_type else f"{wanted_type} became {found_type}"
                different.append(f"{place}: {how}")
    return different[:5]


def same(wanted, found, kind):
    if wanted is None or found is None:
        return wanted is None and found is None
    if kind == "json" and isinstance(found, str):
        found = json.loads(found, parse_float=Decimal)
    if kind == "timestamp" and found.utcoffset() is None:
        return False
    return type(wanted) is type(found) and wanted == found
