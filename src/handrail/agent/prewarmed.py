"""A process that is started before its session is known.

It loads the modules of the agent, which is most of the work of a start, and then waits for the folder and the
arguments of a session. Until they arrive it reads no settings, opens no files of a user and starts no programs.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from handrail.agent.errors import Refused
from handrail.agent.preload import import_modules
from handrail.import_bundle import keep as keep_bundle
from handrail.transport.start_message import read_start

__all__ = ["await_start"]

_STARTUP: Final = ("start", "controls.initialize", "controls.table")
"""Modules that a start imports, with those that they import."""


def await_start() -> Sequence[str] | None:
    """Wait for a session and enter its folder. Returns its arguments, or None if there will be no session.

    Raises Refused if the folder cannot be entered.
    """
    for name in _STARTUP:
        importlib.import_module(f"handrail.agent.{name}")
    import_modules()
    keep_bundle()
    start = read_start(sys.stdin.fileno())
    if start is None:
        return None
    try:
        os.chdir(start.cwd)
    except OSError as error:
        raise Refused(f"Error: cannot enter the folder {start.cwd}: {error.strerror}") from None
    os.environ["PWD"] = start.cwd
    sys.argv[1:] = start.arguments
    return start.arguments
