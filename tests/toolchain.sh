#!/bin/sh
# Says what is missing to build rescreen, before a build fails in the middle. Called by `make`.
# $1: the cargo command. Exit code 1 if something is missing.
cargo=${1:-cargo}
folder=$(dirname "$0")/..
needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$folder/Cargo.toml")
missing=0

say() {
    printf '%s\n' "$@" >&2
    missing=1
}

older() { # is version $1 older than $2?
    [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$1" ]
}

if ! command -v "$cargo" >/dev/null 2>&1; then
    say "rescreen is built with Rust $needed or later, and \`$cargo\` was not found." \
        "  Install Rust: https://rustup.rs" \
        "  If it is already installed: . \"\$HOME/.cargo/env\""
else
    # The version of the compiler counts, which cargo starts.
    found=$("${RUSTC:-rustc}" --version 2>/dev/null | awk '{ sub(/-.*/, "", $2); print $2 }')
    if [ -z "$found" ]; then
        say "\`${RUSTC:-rustc} --version\` gave no version; rescreen is built with Rust $needed or later." \
            "  With rustup: rustup toolchain install stable && rustup default stable"
    elif older "$found" "$needed"; then
        say "rescreen is built with Rust $needed or later; this is Rust $found." \
            "  With rustup: rustup update stable && rustup default stable" \
            "  Else: https://rustup.rs"
    fi
fi

# A compiler without the C library's headers is common, so a small program is compiled.
# CC may have arguments, so it is not quoted.
if ! printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' |
    ${CC:-cc} -x c -c -o /dev/null - >/dev/null 2>&1; then
    say "SQLite and zstd are compiled with a C compiler, and \`${CC:-cc}\` cannot compile a small program. Install one:" \
        "  Debian, Ubuntu:  sudo apt install build-essential" \
        "  Fedora, RHEL:    sudo dnf install gcc glibc-devel" \
        "  Alpine:          sudo apk add build-base" \
        "  macOS:           xcode-select --install"
fi

if [ "$missing" -ne 0 ]; then
    say "A container needs neither: docker build -t rescreen . && docker run --rm rescreen demo"
    exit 1
fi
