"""One prompt through a session, on the terminal.

Ctrl-C interrupts the turn, a second one ends the session, a third kills the CLI.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Literal, TextIO

from handrail.cli.answers import Answers
from handrail.cli.figures import figures_of
from handrail.cli.follow import follow
from handrail.cli.json_lines import write_json_line
from handrail.cli.printable import printable
from handrail.cli.terminal import Terminal, one_line
from handrail.cli.turn_view import TurnView
from handrail.client.errors import HandrailError
from handrail.client.options import Options
from handrail.client.session import Session
from handrail.client.turn import Turn, TurnResult
from handrail.client.usage import TurnUsage, UsageMeter
from handrail.protocol import BadLine, Message
from handrail.schema.messages import read_message
from handrail.schema.result_message import ResultMessage

__all__ = ["OneTurn", "run_turn"]

NO_TERMINAL = "standard input is not a terminal"
JSON_ASKS_NOBODY = "--json asks nobody"
"""Why no question can be asked."""


async def run_turn(
    options: Options, prompt: str, images: Sequence[bytes], form: Literal["full", "quiet", "json"], *, thinking: bool
) -> int:
    """Run one prompt to its end. Returns 0, 1 if it failed, 130 if interrupted. Raises HandrailError."""
    terminal = Terminal() if form == "full" else Terminal(_nowhere(), sys.stderr)
    nobody = JSON_ASKS_NOBODY if form == "json" else "" if terminal.interactive else NO_TERMINAL
    view = TurnView(terminal, thinking=thinking)
    answers = Answers(terminal, view, nobody=nobody)
    options = options.replace(**answers.options(), include_partial_messages=form == "full")
    return await OneTurn(options, terminal, view, answers, form).run(prompt, images)


def _nowhere() -> TextIO:
    """Draws nothing, for a turn of which only the result is shown."""
    return open(os.devnull, "w", encoding="utf-8")


class OneTurn:
    """A session with one prompt."""

    def __init__(
        self,
        options: Options,
        terminal: Terminal,
        view: TurnView,
        answers: Answers,
        form: Literal["full", "quiet", "json"] = "full",
    ) -> None:
        self._options = options.replace(stderr=self._hear)
        self._terminal = terminal
        self._view = view
        self._answers = answers
        self._form = form
        self._meter = UsageMeter(resumed=bool(options.resume or options.continue_conversation))
        self._results: list[tuple[ResultMessage, TurnUsage]] = []
        self._session: Session | None = None
        self._early: list[str] = []
        self._stops = 0
        self._signal = signal.SIGINT
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, prompt: str, images: Sequence[bytes] = ()) -> int:
        """Run it. Returns the exit code."""
        main = asyncio.current_task()
        assert main is not None
        with self._signals(main):
            try:
                if self._form == "full":
                    self._terminal.status("starting the CLI…")
                async with Session(self._options) as session:
                    self._session = session
                    for line in self._early:
                        self._hear(line)
                    frames = session.frames()
                    turn = await session.send(prompt, images=images)
                    await follow(session, turn, frames, self._view, show=self._show, arrived=self._answers.arrived)
                    return await self._conclude(turn)
            except asyncio.CancelledError:
                if not self._stops:
                    raise
                self._terminal.line("ended", "yellow", stream=sys.stderr)
                return 128 + self._signal
            finally:
                self._terminal.start_line()

    # Messages
    async def _show(self, message: Message | BadLine) -> None:
        async with self._terminal.lock:
            if isinstance(message, BadLine):
                text = f"the CLI wrote a line that cannot be used: {message.reason}"
                self._terminal.line(f"handrail run: {one_line(text, 300)}", "yellow", stream=sys.stderr)
                return
            if message.type == "result":
                self._note_result(message)
            if self._form == "json":
                write_json_line(message.raw)
            self._view.show(read_message(message.type, message.subtype, message.raw))

    def _note_result(self, message: Message) -> None:
        result = read_message(message.type, message.subtype, message.raw)
        if isinstance(result, ResultMessage):
            self._results.append((result, self._meter.add(result)))

    def _hear(self, line: str) -> None:
        """A line of the CLI's stderr. Those from before the handshake wait: if it fails, the error has them."""
        if self._session is None:
            self._early.append(line)
        elif line.strip() and self._form != "quiet":
            self._terminal.line(f"cli: {one_line(line, 400)}", "dim", stream=sys.stderr)

    # The end
    async def _conclude(self, turn: Turn) -> int:
        result = await turn
        if self._form == "quiet" and not result.is_error:
            print(printable(self._results[-1][0].text if self._results else result.text))
        self._view.end()
        stopped = bool(self._stops) or self._answers.stopped
        if result.is_error and not stopped:
            self._tell_failure(result)
        if self._form == "full":
            self._tell_figures(result, stopped=stopped)
        return 128 + self._signal if stopped else 1 if result.is_error else 0

    def _tell_failure(self, result: TurnResult) -> None:
        text = printable(result.text.strip()) or "no reason was given"
        self._terminal.line(f"handrail run: the turn failed ({result.reason}): {text}", "red", stream=sys.stderr)

    def _tell_figures(self, result: TurnResult, *, stopped: bool) -> None:
        self._view.note(f"{'interrupted · ' if stopped else ''}{figures_of(self._results)}")
        if self._view.commands:
            self._view.note(f"background tasks that were ended: {', '.join(self._view.commands)}", "yellow")
        self._view.note(f'resume: handrail run --resume {one_line(result.session_id[:8], 60)} "…"')
        if self._options.record is not None:
            self._view.note(f"recorded: handrail inspect {self._options.record}")

    # Ctrl-C
    def _signals(self, main: asyncio.Task[object]) -> contextlib.ExitStack:
        loop, stack = asyncio.get_running_loop(), contextlib.ExitStack()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop, main, number)
            stack.callback(loop.remove_signal_handler, number)
        return stack

    def _stop(self, main: asyncio.Task[object], number: signal.Signals) -> None:
        self._stops += 1
        self._signal = number
        self._terminal.disturbed()
        session = self._session
        if number != signal.SIGINT or self._stops > 1 or session is None or not session.running:
            main.cancel()
        elif self._terminal.awaits_a_line:
            self._terminal.interrupt()
        else:
            self._terminal.line("interrupting… (Ctrl-C again ends the session)", "yellow", stream=sys.stderr)
            task = asyncio.create_task(self._interrupt(session))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _interrupt(self, session: Session) -> None:
        with contextlib.suppress(HandrailError):
            await session.interrupt(cancel_queued=True)
