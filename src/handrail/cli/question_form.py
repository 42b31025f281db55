"""The model's questions as a numbered form."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.cli.terminal import Interrupted, Terminal, one_line
from handrail.client.callbacks import Deny
from handrail.schema.questions import Question

__all__ = ["QuestionForm"]

UNANSWERED = "The user did not answer the questions."
STOPPED = "The user stopped the turn."


class QuestionForm:
    """Asks one question after the other. Enter leaves a question open."""

    def __init__(self, terminal: Terminal, questions: Sequence[Question]) -> None:
        self._terminal = terminal
        self._questions = questions

    async def ask(self) -> dict[str, str | list[str]] | Deny:
        """Ask them all. Returns answers by question; Deny if none was answered or the turn was stopped."""
        answers: dict[str, str | list[str]] = {}
        try:
            for number, question in enumerate(self._questions, 1):
                self._show(question, number)
                if number == 1:
                    self._terminal.forget_typed()
                answer = await self._ask(question)
                if answer is None:
                    break
                if answer:
                    answers[question.question] = answer
        except Interrupted:
            return Deny(STOPPED, interrupt=True)
        return answers or Deny(UNANSWERED)

    def _show(self, question: Question, number: int) -> None:
        terminal, total = self._terminal, len(self._questions)
        terminal.start_line()
        self._say("")
        count = f"{number} of {total} · " if total > 1 else ""
        terminal.write(one_line(f"{count}{question.header}", 120), "cyan", end="\n", stream=terminal.asks)
        self._say(question.question, "bold")
        for position, option in enumerate(question.options, 1):
            terminal.write(f"  {position:<3}", "cyan", stream=terminal.asks)
            terminal.write(one_line(option.label, 120), stream=terminal.asks)
            about = f"  {one_line(option.description, 200)}" if option.description else ""
            terminal.write(about, "dim", stream=terminal.asks)
            self._say("")
            for line in (option.preview or "").splitlines():
                self._say(f"       {line}", "dim")

    async def _ask(self, question: Question) -> str | list[str] | None:
        many = "one or several numbers" if question.multi_select else "a number"
        while True:
            line = await self._terminal.read_line(f"{many.capitalize()}, or your own words (Enter skips): ")
            if line is None:
                return None
            answer = read_answer(line, question)
            if answer is not None:
                return answer
            last = len(question.options)
            self._say(f"Please type {many} from 1 to {last}, or words (a number of your own in quotes).", "yellow")

    def _say(self, text: str, *styles: str) -> None:
        self._terminal.write(text, *styles, end="\n", stream=self._terminal.asks)


def read_answer(line: str, question: Question) -> str | list[str] | None:
    """Read a typed answer: labels, free text, or "" to skip; None if it is invalid."""
    line = line.strip()
    if len(line) > 1 and line[0] == line[-1] == '"':
        return line[1:-1]
    parts = line.replace(",", " ").split()
    if not parts or not all(part.isdecimal() and part.isascii() for part in parts) or not question.options:
        return line
    numbers = [int(part) for part in parts]
    labels = [option.label for option in question.options]
    if not all(1 <= number <= len(labels) for number in numbers) or (len(numbers) > 1 and not question.multi_select):
        return None
    chosen = [labels[number - 1] for number in dict.fromkeys(numbers)]
    return chosen if question.multi_select else chosen[0]
