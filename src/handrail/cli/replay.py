"""`handrail replay`: a recording in place of the CLI.

No event loop: one thread reads the client's lines, this one plays. Arguments after the file are those of a CLI and are
ignored, so that a script that calls this can replace it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from handrail.protocol.frames import BadLine
from handrail.protocol.lines import LineSplitter
from handrail.transport.recording_file import End, Recording, RecordingError, read_recording
from handrail.transport.replay import Due, Replay

__all__ = ["Player", "app"]

CHUNK = 256 * 1024
_CLI_VERSION = re.compile(rb'"claude_code_version"\s*:\s*"([\w.+-]{1,64})"')

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(
    context_settings={"allow_interspersed_args": False, "allow_extra_args": True, "ignore_unknown_options": True}
)
def replay(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The recording.")] = None,
    speed: Annotated[
        float, typer.Option(min=0, metavar="X", help="1: as recorded, 2: twice as fast, 0: no waiting.")
    ] = 0,
    version: Annotated[bool, typer.Option("--version", "-v", help="Print the version of the recorded CLI.")] = False,  # noqa: FBT002
) -> None:
    """Play a recording back as the CLI: read stream-json, write what the CLI wrote, and exit as it did.

    Further arguments are those of the CLI and are ignored; --speed may also follow FILE.

    \b
    Example:
      printf '#!/bin/sh\\nexec handrail replay talk.ndjson "$@"\\n' > claude-replay; chmod +x claude-replay
    """
    further = list(context.args)
    if file is None:
        if version:
            _print_version(None)
        raise typer.Exit(0 if version else _fail("which recording? handrail replay FILE", 2))
    speed = _speed_among(further, speed)
    try:
        recording = read_recording(file)
    except RecordingError as error:
        raise typer.Exit(_fail(str(error), 1)) from None
    except OSError as error:
        raise typer.Exit(_fail(f"{file}: {error.strerror or error}", 1)) from None
    if version or further[:1] in (["-v"], ["--version"]):
        _print_version(recording)
        return
    _end_like(Player(recording, speed).play())


def _speed_among(arguments: list[str], speed: float) -> float:
    """--speed right after the file; later it would be an argument of the CLI."""
    name, equals, value = (arguments[0] if arguments else "").partition("=")
    if name != "--speed":
        return speed
    try:
        speed = float(value if equals else arguments[1])
    except (ValueError, IndexError):
        speed = -1
    if not speed >= 0:
        raise typer.Exit(_fail("--speed wants a number that is not negative", 2))
    del arguments[: 1 if equals else 2]
    return speed


def _print_version(recording: Recording | None) -> None:
    from importlib.metadata import version

    ours = version("handrail")
    found = next((f for row in recording.rows if (f := _CLI_VERSION.search(row.data))), None) if recording else None
    print(f"{found[1].decode() if found else ours} (Handrail {ours} replay)")


class Player:
    """Plays one recording on our standard streams, of any kind."""

    def __init__(self, recording: Recording, speed: float = 0) -> None:
        self._recording = recording
        self._replay = Replay(recording)
        self._speed = speed
        self._input: queue.SimpleQueue[list[bytes | BadLine] | None] = queue.SimpleQueue()

    def play(self) -> End:
        """Play to the end. Returns the exit code of the recorded process."""
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._run()
        except BrokenPipeError:
            return End(0.0, 1)
        if self._replay.missed:
            _fail(f"the input ended, but the recording waited for: {self._replay.missed}", 1)
        return self._recording.end or End(0.0, 0)

    def _run(self) -> None:
        while not self._replay.finished:
            self._write(1, self._replay.at_once())
            due = self._replay.next_due()
            if due is not None:
                self._wait(due)
                self._write(1 if due.dir == "out" else 2, due.data)
            elif not self._replay.finished and not self._replay.has_at_once:
                self._feed(self._input.get())

    def _wait(self, due: Due) -> None:
        """Until it is time; lines that come meanwhile are heard, and what they ask for at once is given."""
        until = time.monotonic() + (due.gap / self._speed if self._speed else 0)
        while (left := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                self._feed(self._input.get(timeout=left))
                self._write(1, self._replay.at_once())

    def _feed(self, lines: list[bytes | BadLine] | None) -> None:
        if lines is None:
            self._replay.end_input()
        for line in lines or ():
            self._replay.feed(line.raw if isinstance(line, BadLine) else line)

    def _read(self) -> None:
        splitter = LineSplitter()
        with contextlib.suppress(OSError):
            while data := os.read(0, CHUNK):
                self._input.put(splitter.feed(data))
        self._input.put(splitter.finish())
        self._input.put(None)

    def _write(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]


def _end_like(end: End) -> None:
    if end.signal:
        with contextlib.suppress(KeyError, OSError, ValueError):
            number = signal.Signals[end.signal]
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
    raise typer.Exit(1 if end.code is None else end.code)


def _fail(text: str, code: int) -> int:
    print(f"handrail replay: {text}", file=sys.stderr, flush=True)
    return code
