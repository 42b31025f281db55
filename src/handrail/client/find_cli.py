"""Finding the CLI executable."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

from handrail.client.errors import CliNotFound, OptionsError

__all__ = ["cli_version", "find_cli"]

VARIABLE = "HANDRAIL_CLI"
PLACES = (
    "~/.local/bin/claude",
    "~/.claude/local/claude",
    "~/.npm-global/bin/claude",
    "/usr/local/bin/claude",
    "~/node_modules/.bin/claude",
    "~/.yarn/bin/claude",
)
"""Locations used by installers, searched after PATH."""


def find_cli(cli_path: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> str:
    """Return the absolute path of the CLI. Raises CliNotFound, or OptionsError for an invalid `cli_path`."""
    environment = os.environ if env is None else env
    asked = cli_path or environment.get(VARIABLE)
    if asked:
        return _configured(os.fspath(asked), environment, "" if cli_path else f" (from {VARIABLE})")
    path = _absolute(environment.get("PATH", os.defpath))
    if found := shutil.which("claude", path=path):
        return os.path.abspath(found)
    home = environment.get("HOME") or os.path.expanduser("~")
    places = [place.replace("~", home, 1) for place in PLACES]
    for place in places:
        if shutil.which(place):
            return place
    raise CliNotFound([f"PATH ({path})", *places])


def _absolute(path: str) -> str:
    """PATH without relative entries such as `.`, so that a `claude` in the project folder is not run."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def _configured(asked: str, environment: Mapping[str, str], by: str) -> str:
    found = shutil.which(os.path.expanduser(asked), path=_absolute(environment.get("PATH", os.defpath)))
    if found is None:
        problem = "is not executable" if os.path.exists(os.path.expanduser(asked)) else "does not exist"
        raise OptionsError("cli_path", f"{asked}{by} {problem}; name the CLI's executable file")
    return os.path.abspath(found)


def cli_version(path: str, *, timeout: float = 10.0) -> str:
    """The output of `--version`, or "" if it fails."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
