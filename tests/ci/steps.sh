# The steps of `tests/ci/gate` and `tests/ci/gauntlet`, and their result. To be sourced by bash.
#
# Every step runs, even where an earlier one failed. The last line counts steps and tests:
#
#   gate: ok. 2104 passed, 0 failed, 3 skipped, 0 flaky; 9 steps in 640 s
#
# Exit code 0: ok. 1: FAILED. 3: INCOMPLETE, because a step could not run: a tool is missing, or no time was left.

level= begun=$SECONDS
passed=0 failed=0 skipped=0 flaky=0 steps=0
failed_steps=() skipped_steps=() step_lines=()
target=${CARGO_TARGET_DIR:-target}
only=${ONLY:-}

# begin LEVEL: what `target/LEVEL.json` and the last line are called.
begin() {
    level=$1
    mkdir -p "$target"
    tree=$(git rev-parse 'HEAD^{tree}' 2>/dev/null || echo unknown)
    # Files that are not committed are not in the tree that is named.
    clean=true
    [ "$tree" != unknown ] && [ -z "$(git status --porcelain 2>/dev/null)" ] || clean=false
    local earlier=$target/$level.json again
    again=$(tr '[:lower:]' '[:upper:]' <<<"$level")_AGAIN
    if [ "$clean" = true ] && [ -z "${!again:-}" ] && [ -z "$only" ] &&
        grep -q "\"tree\": \"$tree\", \"clean\": true, \"only\": \"\", \"result\": \"ok\"" "$earlier" 2>/dev/null; then
        echo "$level: ok. This tree passed before, see $earlier; $again=1 repeats it."
        exit 0
    fi
}

# The time that has passed in whole seconds.
passed_seconds() {
    echo $((SECONDS - begun))
}

# Ends a command that takes longer than the step may.
limited() {
    if command -v timeout >/dev/null 2>&1; then
        timeout --kill-after=10 "$limit" "$@"
    else
        "$@"
    fi
}

# needs TOOL HOW COMMAND…: says how to install the tool of a command that fails, and returns 77.
needs() {
    local tool=$1 how=$2
    shift 2
    "$@" >/dev/null 2>&1 && return
    echo "SKIPPED: $tool is not installed ($how)"
    return 77
}

needs_nextest() {
    needs cargo-nextest "cargo install cargo-nextest --locked" cargo nextest --version
}

# step NAME SECONDS COMMAND…: runs a step that may take this long. A command that returns 77 has said why it cannot run.
step() {
    local name=$1 limit=$2 from=$SECONDS code=0 result log began
    shift 2
    if [ -n "$only" ] && [[ " $only " != *" ${name// /-} "* ]]; then
        return
    fi
    echo
    echo "=== $name"
    log=$(mktemp) began=$(mktemp)
    if [ -n "${SECONDS_MAX:-}" ] && [ "$(passed_seconds)" -ge "$SECONDS_MAX" ]; then
        echo "SKIPPED: $(passed_seconds) s are over, and no step begins after $SECONDS_MAX s"
        code=77
    else
        [ "$(type -t "$1")" = function ] || set -- limited "$@"
        set +e
        "$@" 2>&1 | tee "$log"
        code=${PIPESTATUS[0]}
        set -e
    fi
    steps=$((steps + 1))
    case $code in
    0) result=ok ;;
    77) result=skipped skipped_steps+=("$name") ;;
    124 | 137)
        result=FAILED failed_steps+=("$name")
        echo "=== $name: it did not end within $limit s"
        ;;
    *) result=FAILED failed_steps+=("$name") ;;
    esac
    tests_of "$log" "$began"
    rm -f "$log" "$began"
    echo "=== $name: $result, $((SECONDS - from)) s"
    step_lines+=("{\"step\": \"$name\", \"result\": \"$result\", \"seconds\": $((SECONDS - from))}")
}

# tests_of LOG BEGAN: adds the tests that a step's output counts, from the summaries of nextest and of cargo test, and the
# notices of skipped tests. BEGAN is a file as old as the step.
tests_of() {
    local counts began=$2
    counts=$(awk '
        # Colours are no part of a summary.
        { gsub(/\033\[[0-9;]*m/, "") }
        /^ *Summary \[/ {
            for (at = 1; at < NF; at++) {
                word = $(at + 1); gsub(/[,;:()]/, "", word); number = $at; gsub(/[^0-9]/, "", number)
                if (word == "passed") passed += number
                if (word == "failed" || word == "timed" || word == "exec") failed += number
                if (word == "flaky") flaky += number
            }
        }
        /^test result: / { passed += $4; failed += $6 }
        /(^|[^A-Za-z])SKIPPED: / { skipped++ }
        END { print passed + 0, failed + 0, flaky + 0, skipped + 0 }
    ' "$1")
    # nextest keeps the output of tests that passed for itself.
    local junit=$target/nextest/${NEXTEST_PROFILE:-default}/junit.xml notices
    if [ "$junit" -nt "$began" ]; then
        notices=$(grep -o 'SKIPPED: .*' "$junit" | sort | uniq -c || true)
        [ -z "$notices" ] || echo "$notices"
        counts+=" $(grep -c 'SKIPPED: ' "$junit" || true)"
    fi
    local step_passed step_failed step_flaky step_skipped in_tests
    read -r step_passed step_failed step_flaky step_skipped in_tests <<<"$counts"
    passed=$((passed + step_passed)) failed=$((failed + step_failed))
    flaky=$((flaky + step_flaky)) skipped=$((skipped + step_skipped + ${in_tests:-0}))
}

# Prints the result, writes it to target/LEVEL.json, and ends.
finish() {
    local result=ok code=0
    [ ${#skipped_steps[@]} -eq 0 ] || result=INCOMPLETE code=3
    [ ${#failed_steps[@]} -eq 0 ] && [ "$failed" -eq 0 ] || result=FAILED code=1
    echo
    [ ${#failed_steps[@]} -eq 0 ] || printf 'failed: %s\n' "${failed_steps[@]}"
    [ ${#skipped_steps[@]} -eq 0 ] || printf 'not run: %s\n' "${skipped_steps[@]}"
    {
        printf '{"tree": "%s", "clean": %s, "only": "%s", "result": "%s", "date": "%s", "seconds": %d,\n' \
            "$tree" "$clean" "$only" "$result" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(passed_seconds)"
        printf ' "passed": %d, "failed": %d, "skipped": %d, "flaky": %d,\n' "$passed" "$failed" "$skipped" "$flaky"
        printf ' "steps": [\n'
        local at
        for at in "${!step_lines[@]}"; do
            printf '  %s%s\n' "${step_lines[$at]}" "$([ "$at" -eq $((${#step_lines[@]} - 1)) ] || echo ,)"
        done
        printf ' ]}\n'
    } >"$target/$level.json"
    echo "$level: $result. $passed passed, $failed failed, $skipped skipped, $flaky flaky;" \
        "$steps steps in $(passed_seconds) s${only:+ (only: $only)}"
    exit "$code"
}
