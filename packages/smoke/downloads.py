"""Compares what cargo-binstall reads in Cargo.toml, and the Scoop manifest, with the archives that were made.

    downloads.py FOLDER
"""

import hashlib
import json
import pathlib
import sys
import tarfile
import tomllib

folder = pathlib.Path(sys.argv[1])
manifest = tomllib.loads(pathlib.Path("Cargo.toml").read_text())
version = manifest["workspace"]["package"]["version"]
wanted = manifest["package"]["metadata"]["binstall"]


def expanded(template, target):
    values = {"name": "rescreen", "bin": "rescreen", "version": version, "target": target, "binary-ext": ""}
    for name, value in values.items():
        template = template.replace(f"{{ {name} }}", value)
    return template


archives = sorted(folder.glob(f"rescreen-{version}-*.tar.gz"))
if not archives:
    sys.exit(f"FAILED: no archive of version {version} is in {folder}")
for path in archives:
    target = path.name.removeprefix(f"rescreen-{version}-").removesuffix(".tar.gz")
    named = expanded(wanted["pkg-url"], target).rsplit("/", 1)[1]
    if named != path.name:
        sys.exit(f"FAILED: cargo-binstall would look for {named}, and the archive is {path.name}")
    inside = expanded(wanted["bin-dir"], target)
    if inside not in tarfile.open(path).getnames():
        sys.exit(f"FAILED: cargo-binstall would look for {inside} in {path.name}, which does not have it")

scoop = folder / "rescreen.json"
if scoop.exists():
    described = json.loads(scoop.read_text())
    download = described["architecture"]["64bit"]
    archive = folder / download["url"].rsplit("/", 1)[1]
    if hashlib.sha256(archive.read_bytes()).hexdigest() != download["hash"] or described["version"] != version:
        sys.exit("FAILED: the Scoop manifest has another digest or version than its archive")
