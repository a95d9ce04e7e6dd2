#!/usr/bin/env bash
# Tests the simulator with requests that schemathesis makes from its OpenAPI document. A reply with a status that the
# document does not declare, and a 5xx other than the simulated ones, is a failure. `make schemathesis` builds first.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=${SCHEMATHESIS:-schemathesis}
if ! "$tool" --version >/dev/null 2>&1; then
    echo "SKIPPED: schemathesis is not installed (pip install schemathesis; SCHEMATHESIS names another path)"
    exit 0
fi

folder=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service" 2>/dev/null; rm -rf "$folder"' EXIT
export SCHEMATHESIS_HOOKS=tests/schemathesis_checks.py

for dialect in described field; do
    "${CARGO_TARGET_DIR:-target}/debug/rescreen" simulate --listen 127.0.0.1:0 --dialect "$dialect" --per-minute 1000000 \
        --per-minute-max 1000000 --credits 1000000000 --cooldown 0s >"$folder/out" 2>"$folder/err" &
    service=$!
    url=
    for _ in $(seq 100); do
        url=$(grep -ho 'http://[0-9.:]*[0-9]' "$folder/out" "$folder/err" | head -n 1 || true)
        [ -z "$url" ] || break
        sleep 0.1
    done
    if [ -z "$url" ]; then
        echo "the simulator did not start:" >&2
        cat "$folder/err" >&2
        exit 1
    fi
    echo "=== dialect $dialect"
    "$tool" run "$url/_simulator/openapi.json" --url "$url" --header "x-api-key: simulated" --workers 2 \
        --checks status_code_conformance,no_unsimulated_server_error --phases examples,coverage,fuzzing \
        --max-examples "${SCHEMATHESIS_EXAMPLES:-40}" --request-timeout 10 --seed 1 --no-color
    kill "$service"
    wait "$service" 2>/dev/null || true
    service=
done
