"""Input and output on a terminal.

Everything a model, a tool or a file wrote goes through `printable` on its way to the screen; the only control
sequences that get there are those of STYLES and of the status line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import unicodedata
from collections.abc import Generator
from typing import TextIO

from handrail.cli.printable import printable

__all__ = ["Interrupted", "Terminal", "closed_pipe_ends_quietly", "cut", "one_line"]

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
CLEAR_LINE = "\r\x1b[2K"
LINE_LIMIT = 64 * 1024


def one_line(text: str, width: int = 200) -> str:
    """Printable text on one line, cut where it is wider than `width` columns."""
    return cut(printable(" ".join(text[: 8 * width].split())), width)


def cut(text: str, width: int) -> str:
    """Text of at most `width` columns; an ellipsis stands for what is left out."""
    used = 0
    for position, letter in enumerate(text):
        used += _columns(letter)
        if used > width:
            return f"{_fitting(text[:position], width - 1)}…"
    return text


def _fitting(text: str, width: int) -> str:
    while text and sum(map(_columns, text)) > width:
        text = text[:-1]
    return text


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


class Interrupted(Exception):
    """Ctrl-C was pressed while a line was awaited."""


class Terminal:
    """One screen and one keyboard. Messages go to `out`; questions to `asks`, from which a person can answer them.

    `lock` guards the screen: a question holds it, so that nothing is printed into the answer.
    """

    def __init__(self, out: TextIO | None = None, asks: TextIO | None = None, *, keyboard: int | None = 0) -> None:
        self.out = sys.stdout if out is None else out
        self.asks = asks or (self.out if self.out.isatty() else sys.stderr)
        self.lock = asyncio.Lock()
        self._keyboard = keyboard if keyboard is not None and os.isatty(keyboard) and self.asks.isatty() else None
        self._typed: asyncio.Future[bytes] | None = None
        self._status = False
        self._at_start = True

    @property
    def interactive(self) -> bool:
        """Whether a person can answer a question."""
        return self._keyboard is not None

    @property
    def awaits_a_line(self) -> bool:
        """Whether a question is open now."""
        return self._typed is not None

    @property
    def width(self) -> int:
        """Columns of the screen."""
        return max(shutil.get_terminal_size((100, 24)).columns, 20) if self.out.isatty() else 160

    def write(self, text: str, *styles: str, end: str = "", stream: TextIO | None = None) -> None:
        """Show untrusted text."""
        target = self.out if stream is None else stream
        self.status("")
        shown = f"{printable(text)}{end}"
        if shown:
            self._put(target, _styled(shown, styles) if styles and _has_colour(target) else shown)
            if target is self.out or (target.isatty() and self.out.isatty()):  # one screen, one cursor
                self._at_start = shown.endswith("\n")

    def line(self, text: str = "", *styles: str, stream: TextIO | None = None) -> None:
        """Show text on separate lines."""
        self.start_line()
        self.write(text, *styles, end="\n", stream=stream)

    def start_line(self) -> None:
        """Go to the start of a line, unless the cursor is there."""
        self.status("")
        if not self._at_start:
            self._put(self.out, "\n")
            self._at_start = True

    def disturbed(self) -> None:
        """The terminal itself has written something, such as ^C: the position of the cursor is unknown."""
        self._at_start = self._at_start and (self._status or not self.out.isatty())

    def status(self, text: str) -> None:
        """Show the current activity, on a line that the next output replaces. Only where there is a screen."""
        if self._status:
            self._put(self.out, CLEAR_LINE)
            self._status = False
        if text and self._at_start and self.out.isatty() and _has_colour(self.out):
            self._put(self.out, _styled(one_line(text, self.width - 1), ("dim",)))
            self._status = True

    def forget_typed(self) -> None:
        """Drop what was typed before the question was on the screen: it cannot have been meant as its answer."""
        if self._keyboard is not None:
            import termios

            with contextlib.suppress(termios.error):
                termios.tcflush(self._keyboard, termios.TCIFLUSH)

    async def read_line(self, prompt: str) -> str | None:
        """Ask for a line. Returns the line, None at the end of input (Ctrl-D); Interrupted at Ctrl-C."""
        if self._keyboard is None:
            return None
        self.start_line()
        self.write(prompt, "bold", stream=self.asks)
        loop, keyboard = asyncio.get_running_loop(), self._keyboard
        self._typed = typed = loop.create_future()
        loop.add_reader(keyboard, _take_line, keyboard, typed)
        try:
            data = await typed
        except BaseException:
            self._at_start = False
            raise
        finally:
            loop.remove_reader(keyboard)
            self._typed = None
        self._at_start = data.endswith(b"\n")
        return data.decode("utf-8", "replace").rstrip("\n") if data else None

    def interrupt(self) -> None:
        """Ctrl-C: a pending read_line raises Interrupted."""
        if self._typed is not None and not self._typed.done():
            self._typed.set_exception(Interrupted())

    def _put(self, stream: TextIO, text: str) -> None:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


def _take_line(keyboard: int, typed: asyncio.Future[bytes]) -> None:
    if typed.done():
        return
    try:
        typed.set_result(os.read(keyboard, LINE_LIMIT))
    except OSError:  # the terminal was closed
        typed.set_result(b"")


def _styled(text: str, styles: tuple[str, ...]) -> str:
    codes = ";".join(STYLES[style] for style in styles)
    body, newline = (text[:-1], "\n") if text.endswith("\n") else (text, "")
    return f"\x1b[{codes}m{body}\x1b[0m{newline}"


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


@contextlib.contextmanager
def closed_pipe_ends_quietly() -> Generator[None]:
    """A reader that closes the pipe is not an error; what is still buffered must not fail a second time at exit."""
    try:
        yield
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
