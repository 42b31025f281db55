"""`handrail record`: records the wire between any SDK and any CLI.

The child gets our stdin and we give out its stdout and stderr, byte for byte; signals go to it and its way of ending
becomes ours. So a script that calls this can take the place of the CLI.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from handrail.platform import die_with_parent
from handrail.transport.recording_file import Direction
from handrail.transport.recording_writer import RecordingWriter, create_recording_file

__all__ = ["app", "record_child"]

CHUNK = 256 * 1024
DRAIN_SECONDS = 1.0
"""Seconds to wait for output after the child has ended: what it left running may hold the pipes open for ever."""
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def record(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD ARGS...", help="The command to run and record.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The recording, or a folder for it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing recording.")] = False,  # noqa: FBT002
) -> None:
    """Record the lines between the caller and CMD, in both directions, and its stderr. Secrets are masked.

    The exit code is that of CMD; 2 if the recording cannot be created, 127 if CMD is missing.

    \b
    Example:
      handrail record -o talk.ndjson -- claude -p --output-format stream-json --verbose "hello"
    """
    if command[0] == "--":
        command = command[1:]
    program = shutil.which(command[0]) if command else None
    if program is None:
        _say(f"{command[0] if command else 'CMD'}: no such executable")
        raise typer.Exit(127 if command else 2)
    path = _path(output)
    try:
        file = create_recording_file(path, overwrite=force)
    except OSError as error:
        exists = isinstance(error, FileExistsError) and not force
        _say(f"{error} (--force overwrites)" if exists else f"{path}: {error.strerror or error}")
        raise typer.Exit(2) from None
    writer = RecordingWriter(file, argv=command, environment=os.environ)
    code = record_child([os.path.abspath(program), *command[1:]], writer)
    state = f"INCOMPLETE ({writer.failure})" if writer.failure else f"{writer.lines} lines"
    _say(f"recorded to {path}: {state}")
    _exit_like(code)


def _path(output: Path | None) -> Path:
    name = f"recording-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.ndjson"
    if output is None:
        return Path(name)
    return output / name if output.is_dir() else output


def record_child(argv: Sequence[str], writer: RecordingWriter) -> int:
    """Run a child between our standard streams. Returns its exit code; negative if a signal killed it."""
    # The kernel ends the child should we be killed; a separate session keeps signals from reaching it twice.
    pipe = subprocess.PIPE
    command = die_with_parent(argv, by="TERM")
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True)
    for number in PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _passer(child.pid))
    assert child.stdin and child.stdout and child.stderr
    outputs = (
        _Pump(child.stdout.fileno(), 1, _taker(writer, "out")),
        _Pump(child.stderr.fileno(), 2, _taker(writer, "err")),
    )
    _Pump(0, os.dup(child.stdin.fileno()), _taker(writer, "in"), writer.end_input)
    child.stdin.close()
    code = _wait(child)
    ended = time.monotonic()
    for pump in outputs:
        pump.drain(ended + DRAIN_SECONDS)
    writer.end(code if code >= 0 else None, _signal_name(-code) if code < 0 else None)
    return code


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Wait until the child has ended. Returns its exit code.

    Python runs what is to be done at a signal only between two steps. One that comes just before we wait, or to another
    thread, must end the waiting too: so we wait for a byte, which the signal itself writes.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        child.wait()
        with contextlib.suppress(BlockingIOError):  # it is full: then there is enough to wake us
            os.write(writing, b"\0")

    threading.Thread(target=watch, daemon=True).start()
    while child.returncode is None:
        os.read(reading, 4096)
    signal.set_wakeup_fd(-1)
    return child.returncode


def _passer(group: int) -> Callable[[int, FrameType | None], None]:
    def pass_on(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)

    return pass_on


def _taker(writer: RecordingWriter, direction: Direction) -> Callable[[bytes], None]:
    return lambda data: writer.take(direction, data)


class _Pump:
    """Carries bytes in a separate thread, so that each direction waits only for its own reader."""

    def __init__(
        self, source: int, sink: int, take: Callable[[bytes], None], at_end: Callable[[], None] | None = None
    ) -> None:
        self._source, self._sink, self._take, self._at_end = source, sink, take, at_end
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def drain(self, deadline: float) -> None:
        """Wait for the end. A slow reader gets all the time it needs; for more to read, we wait until the deadline."""
        while self._thread.is_alive() and not (self._idle.is_set() and time.monotonic() > deadline):
            self._thread.join(0.05)

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # the reader has gone: below, so do we, and the writer learns of it
            while data := self._read():
                self._take(data)
                _write_all(self._sink, data)
            if self._at_end:
                self._at_end()
        for descriptor in (self._source, self._sink):
            _let_go(descriptor)

    def _read(self) -> bytes:
        self._idle.set()
        data = os.read(self._source, CHUNK)
        self._idle.clear()
        return data


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _let_go(descriptor: int) -> None:
    """Close our end of a pipe; the number stays taken, so that no other file can come to stand behind it."""
    if descriptor == 2:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _exit_like(code: int) -> None:
    """End as the child did, also where a signal ended it."""
    if code < 0:
        with contextlib.suppress(OSError, ValueError):
            if -code not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        code = 128 - code
    raise typer.Exit(code)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"handrail record: {text}", file=sys.stderr, flush=True)
