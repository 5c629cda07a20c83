# lib.sh - what the parts share; sourced, from the root of the project.
WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT

skip() {
    echo "skipped $1: $2"
    exit 77
}

# venv NAME PACKAGE...: PYTHON is that of a virtual environment with these packages, made once from
# PyPI and kept under $VENVS; where it cannot be made the part is skipped.
venv() {
    name=$1
    shift
    PYTHON=$VENVS/$name-venv/bin/python
    [ -e "$VENVS/$name-venv/made" ] && return
    command -v python3 >/dev/null || skip "$name" "there is no python3"
    mkdir -p "$VENVS"
    if python3 -m venv "$VENVS/$name-venv" >"$WORK/venv" 2>&1 &&
        "$PYTHON" -m pip -q install "$@" >"$WORK/venv" 2>&1; then
        touch "$VENVS/$name-venv/made"
    else
        skip "$name" "$* cannot be installed: $(tail -1 "$WORK/venv")"
    fi
}
