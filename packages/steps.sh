# shellcheck shell=bash disable=SC2154
# The steps of `packages/make`, and the table of what became of them. To be sourced by bash.

lines=() result=0
only=${ONLY:-}

# Whether packages of this kind are asked for.
wanted() {
    [ -z "$only" ] && return
    case " $only " in *" $1 "*) ;; *) return 1 ;; esac
}

# missing TOOL: says what is missing; the step is then not done, which is no failure.
missing() {
    echo "SKIPPED: $1 is missing"
    return 77
}

# step NAME COMMAND…: runs a step. It sets `detail` to the file that it made.
step() {
    local name=$1 begun=$SECONDS code=0 said=$target/step.txt outcome size=
    shift
    detail=
    mkdir -p "$target"
    echo "== $name"
    "$@" >"$said" 2>&1 || code=$?
    cat "$said"
    case $code in
    0 | 77) outcome=ok ;;
    *) outcome=FAILED result=1 ;;
    esac
    if [ "$outcome" = ok ] && grep -q '^SKIPPED' "$said"; then
        outcome=$(grep '^SKIPPED' "$said" | paste -sd ';')
        [ "$result" -eq 1 ] || result=3
    fi
    [ -e "$detail" ] && size=$(du -hs --apparent-size "$detail" | cut -f 1)
    lines+=("$name|${detail##*/}|$size|$outcome|$((SECONDS - begun))")
}

table() {
    echo
    {
        echo "step|artefact|size|made and tested|seconds"
        printf '%s\n' "${lines[@]}"
    } | column -t -s '|'
    case $result in
    0) echo "packages: ok, in $SECONDS s" ;;
    1) echo "packages: FAILED" ;;
    3) echo "packages: INCOMPLETE" ;;
    esac
    exit $result
}
