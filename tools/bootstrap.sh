#!/bin/sh
# Creates .venv on a machine that has only Python 3.11 or newer, and installs constraints.txt with verified hashes.
# PYTHON chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."
export UV_PYTHON_DOWNLOADS=never PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'bootstrap: %s\n' "$*"; }
fail() { printf 'bootstrap: %s\n' "$@" >&2; exit 1; }
runs() { "$@" >/dev/null 2>&1; }
new_enough() { runs "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; }

find_python() {
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if new_enough "$candidate"; then
      python=$("$candidate" -c 'import sys; print(sys.executable)')
      say "using $("$python" --version) at $python"
      return
    fi
  done
  fail "no Python 3.11 or newer found (looked for: ${PYTHON:-python3, python3.11 to python3.14, python})." \
    "Install one (for example: apt install python3 python3-venv), or name yours: make PYTHON=/path/to/python3 test"
}

# uv is installed into a separate folder, so that the system Python stays unchanged even if it is externally managed (PEP 668).
fetch_uv() {
  say "fetching uv into .bootstrap"
  mkdir -p .bootstrap
  awk '/^uv==/ { found = 1 } found { print } found && !/\\$/ { exit }' constraints.txt >.bootstrap/uv.txt
  "$python" -m pip install --quiet --require-hashes --no-deps --upgrade --target .bootstrap -r .bootstrap/uv.txt
}

find_uv() {
  for uv in uv "$PWD/.venv/bin/uv" "$PWD/.bootstrap/bin/uv"; do
    if runs "$uv" --version; then return; fi
  done
  if runs "$python" -m pip --version && fetch_uv; then return; fi
  uv=""
}

create_environment() {
  if new_enough .venv/bin/python; then
    say "keeping .venv"
  elif [ -n "$uv" ]; then
    say "creating .venv with uv"
    "$uv" venv --quiet --clear --python "$python" .venv
  else
    say "creating .venv with the venv module"
    "$python" -m venv --clear .venv || {
      rm -rf .venv
      fail "this Python can make no virtual environment: it has neither pip nor ensurepip." \
        "Install them (for example: apt install python3-venv) or install uv, then run make again."
    }
  fi
}

install() {
  if [ -n "$uv" ]; then
    "$uv" pip install --quiet --python .venv/bin/python "$@"
  else
    runs .venv/bin/python -m pip --version || .venv/bin/python -m ensurepip >/dev/null
    .venv/bin/python -m pip install --quiet "$@"
  fi
}

find_python
find_uv
create_environment
say "installing $(grep -c '^[a-z0-9]' constraints.txt) pinned packages, checked by hash (a minute at most, once)"
install --require-hashes -r constraints.txt
say "installing handrail itself"
install --no-deps --no-build-isolation --editable .
say "ready"
