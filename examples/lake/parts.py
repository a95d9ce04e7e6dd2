"""The final parts of a campaign, as its manifest lists them: those of the results, and of the answers if they are a
dataset of their own."""

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow
import pyarrow.parquet


@dataclass
class Part:
    table: str
    campaign: str
    mode: str
    path: Path
    rows: int
    bytes: int


def final_parts(folder):
    """The parts of the results and answers. Later runs only add parts. The other datasets are replaced as a whole, so
    they belong into tables that are replaced as a whole too."""
    folder = Path(folder).resolve()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    if manifest["format"] != "parquet":
        raise SystemExit(f"{folder}: expected Parquet, found {manifest['format']}: rescreen export --format parquet")
    parts = []
    for dataset in manifest["datasets"]:
        if dataset["kind"] not in ["results", "answers"]:
            continue
        table = f"{dataset['kind']}_{dataset['check']}".replace("-", "_")
        for part in dataset["parts"]:
            path = folder / part["path"]
            if path.stat().st_size != part["bytes"]:
                raise SystemExit(f"{path}: expected {part['bytes']} bytes as in the manifest, found {path.stat().st_size}")
            # An empty dataset has a part without rows, which a table does not need.
            if part["rows"] > 0:
                parts.append(Part(table, manifest["campaign"], manifest["mode"], path, part["rows"], part["bytes"]))
    return sorted(parts, key=lambda part: (part.table, str(part.path)))


def json_columns(path):
    """The columns with the logical type JSON."""
    columns = pyarrow.parquet.ParquetFile(path).schema
    return [column.name for column in columns if column.logical_type.type == "JSON"]


def plain_schema(path):
    """The columns of a part. JSON becomes text: neither Iceberg nor Delta has such a type that every engine reads. Only
    the key is required, because a campaign may have other columns than an earlier or a later one."""
    schema = pyarrow.parquet.read_schema(path).remove_metadata()
    is_json = lambda kind: isinstance(kind, pyarrow.BaseExtensionType)
    plain = [pyarrow.field(f.name, f.type.storage_type if is_json(f.type) else f.type, f.name != "result_id") for f in schema]
    return pyarrow.schema(plain)
