"""Variables that hooks export for later Bash calls.

Some hooks are given a file in CLAUDE_ENV_FILE and write shell lines such as `export NODE_ENV=test` to it. The
files are run once in a shell, in the order of the hooks, and the variables that changed are taken from there. The files
are deleted at once: they may hold secrets.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Final, Self

from handrail.agent.hooks.command import run_program

__all__ = ["ExportFiles"]

VARIABLE: Final = "CLAUDE_ENV_FILE"
LIMIT: Final = 10.0
"""Seconds that the shell lines may take."""
LARGEST: Final = 256 * 1024
_OF_THE_SHELL: Final = frozenset({"_", "_file", "SHLVL", "PWD", "OLDPWD", "BASHOPTS", "SHELLOPTS", VARIABLE})
_OF_THE_PROCESS: Final = "HANDRAIL_CHILD"
"""Starts the names of variables that mark child processes."""
_READ: Final = 'exec 3>&1 1>/dev/null 2>&1; trap "set +a; env -0 >&3" EXIT; set -a; for _file; do . "$_file"; done'
"""Prints the environment after all files were run. A file that calls `exit` ends the run, but not the printing."""


class ExportFiles:
    """The files of the hooks of one event. They exist until `close`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="handrail-hook-", ignore_cleanup_errors=True)
        self._paths: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    def variables(self) -> dict[str, str]:
        """Make the file of one more hook. Returns the variable that names it."""
        path = os.path.join(self._folder.name, f"hook-{len(self._paths)}.sh")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._paths.append(path)
        return {VARIABLE: path}

    async def read(self, environment: Mapping[str, str], cwd: str) -> dict[str, str]:
        """The variables that the files add to an environment or change in it."""
        written = [path for path in self._paths if 0 < _size(path) <= LARGEST]
        if not written:
            return {}
        argv = ["/bin/bash", "-c", _READ, "handrail", *written]
        ran = await run_program(argv, b"", cwd=cwd, environment=environment, limit=LIMIT)
        pairs = [item.partition("=") for item in ran.printed.split("\0") if "=" in item]
        return {
            name: value
            for name, _, value in pairs
            if environment.get(name) != value
            and name not in _OF_THE_SHELL
            and not name.startswith(_OF_THE_PROCESS)
            and "\ufffd" not in value
        }


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0
