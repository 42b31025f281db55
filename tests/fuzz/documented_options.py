"""The options that the installed programs document: from their `--help`, their manual pages and bash's `help`."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

__all__ = ["documented_options"]

MANUALS = Path("/usr/share/man")
LONGEST = 400_000
SECONDS = 5.0
_OPTION = re.compile(
    r"(?<![\w/=.-])(--[A-Za-z][\w-]+|-[A-Za-z][a-z-]{2,}(?![\w])|-[A-Za-z0-9])(?=[\s,=\[<|\])A-Z.:]|\Z)"
)
_ROFF = re.compile(r"\\f(?:\(..|\[[^]]*\]|.)|\\[&/,|^]|\\s[-+]?\d+|\\\((?:hy|mi)")
_RULE_OFF = re.compile(r"-+\Z")


def documented_options(name: str) -> tuple[str, ...]:
    """Every word in the documentation of a program, or of a subcommand such as `git log`, that looks like an option."""
    found = dict.fromkeys(option for text in _texts(name) for option in _OPTION.findall(text[:LONGEST]))
    return tuple(option for option in found if not _RULE_OFF.fullmatch(option))


def _texts(name: str) -> Iterator[str]:
    program, *rest = name.split()
    if rest:
        yield _output([*name.split(), "-h"])
    elif shutil.which(program):
        yield _output([program, "--help"])
    else:
        yield _output(["bash", "-c", 'help -- "$0"', program])
    for path in sorted(MANUALS.glob(f"man1/{'-'.join([program, *rest[:1]])}.1*")):
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
        yield _ROFF.sub("", raw.decode("utf-8", "replace").replace(r"\-", "-"))


def _output(arguments: list[str]) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LC_ALL": "C.UTF-8"}
    try:
        ran = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode("utf-8", "replace")
