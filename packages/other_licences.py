"""Prints the licences of what is in the program besides crates: C code in crates, the C library and Rust's own library."""

import json
import pathlib
import subprocess

import ziglang

ZIG = pathlib.Path(ziglang.__file__).parent / "lib"
metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--locked"]))
crates = {package["name"]: pathlib.Path(package["manifest_path"]).parent for package in metadata["packages"]}

PARTS = [
    ("musl, the C library", ZIG / "libc/musl/COPYRIGHT"),
    ("LLVM libunwind", ZIG / "libunwind/LICENSE.TXT"),
    ("Zstandard", crates["zstd-sys"] / "zstd/LICENSE"),
    ("mimalloc", crates["libmimalloc-sys"] / "c_src/mimalloc/v3/LICENSE"),
    ("Rust's standard library: MIT or Apache-2.0, as above. Copyright The Rust Project Developers", None),
    ("SQLite is in the public domain", None),
]
for name, path in PARTS:
    print(f"{name}\n{'-' * 100}\n{path.read_text() if path else ''}\n{'=' * 100}\n")
