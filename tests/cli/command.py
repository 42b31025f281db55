"""Runs `handrail` as a person or a script does, and returns what it printed and how it ended.

`piped` gives it pipes; `at_a_terminal` gives it a pseudo-terminal, on which a test reads and types.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

HANDRAIL = [sys.executable, "-m", "handrail.cli"]
PATIENCE = 60.0
"""Only a hang takes so long: no test waits for time to pass."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[2K")


def piped(*arguments: object, given: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, with pipes for everything."""
    data = given.encode() if isinstance(given, str) else given
    command = [*HANDRAIL, *map(str, arguments)]
    return subprocess.run(
        command, input=data, capture_output=True, timeout=PATIENCE, check=False, env={**os.environ, **environment}
    )


class Screen:
    """A command on a pseudo-terminal."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self._process = process
        self._terminal = terminal
        self.raw = b""
        self._seen = 0

    @property
    def text(self) -> str:
        """Everything on the screen so far, without the styles."""
        return _STYLE.sub("", self.raw.decode("utf-8", "replace")).replace("\r\n", "\n")

    def shows(self, wanted: str) -> str:
        """Wait until the screen shows this, after the text it showed last time. Returns the text in between."""
        until = time.monotonic() + PATIENCE
        while wanted not in self.text[self._seen :]:
            assert self._read(until), f"{wanted!r} never came; the screen: {self.text}"
        found = self.text.index(wanted, self._seen)
        between, self._seen = self.text[self._seen : found], found + len(wanted)
        return between

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        os.write(self._terminal, f"{line}\n".encode())

    def press(self, key: str) -> None:
        """Press one key, such as Ctrl-C (\\x03)."""
        os.write(self._terminal, key.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        self._process.send_signal(number)

    def ends(self) -> int:
        """Wait for the end. Returns the exit code."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(until - time.monotonic(), 0))
        if not ready:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # what Linux says when the other end is closed
            return False
        self.raw += data
        return bool(data)


@contextlib.contextmanager
def at_a_terminal(*arguments: object, **environment: str) -> Iterator[Screen]:
    """Start it on a terminal of 100 columns. Processes that are left at the end are killed."""
    terminal, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40", **environment}
    process = subprocess.Popen(
        [*HANDRAIL, *map(str, arguments)],
        stdin=other,
        stdout=other,
        stderr=other,
        env=environment,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(other)
    try:
        yield Screen(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def _take_terminal() -> None:
    """Make it the controlling terminal, so that Ctrl-C is a signal, also if the tests themselves ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
