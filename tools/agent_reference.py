"""Writes the reference tables of docs/guides/agent.md from the code: `python -m tools.agent_reference`.

With --check nothing is written, and the exit code is 1 if the file is out of date.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from handrail.agent import controls
from handrail.agent.controls.handshake import FIELDS
from handrail.agent.flags import FLAGS, Flag
from handrail.agent.hooks.base import EVENTS
from handrail.agent.setting_keys import SETTING_KEYS
from handrail.agent.subcommands import SUBCOMMAND_STATES
from handrail.agent.variables import VARIABLES

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "agent.md"
BEGIN = "<!-- reference: written by `make agent-reference` -->"
END = "<!-- end of the reference -->"
STATES = {
    "works": "works",
    "refused": "refused",
    "notice": "ignored, with a notice",
    "terminal": "for terminals only",
}


def reference() -> str:
    """The tables, between their marks."""
    parts = [
        BEGIN,
        _table("Flags", ("flag", "state", "meaning"), map(_flag, FLAGS)),
        _table("Sub-commands", ("command", "state"), ((f"`{name}`", STATES[state]) for name, state in _subcommands())),
        _table(
            "Environment variables",
            ("variable", "state", "meaning"),
            ((f"`{one.name}`", STATES[one.state], one.text) for one in VARIABLES),
        ),
        _table("Control requests", ("request", "state"), _requests()),
        _table("Fields of initialize", ("field", "state", "effect"), _fields()),
        _table(
            "Settings",
            ("key", "state", "meaning"),
            ((f"`{one.name}`", STATES[one.state], one.text) for one in SETTING_KEYS),
        ),
        _table("Hook events", ("event", "state"), _events()),
        END,
    ]
    return "\n\n".join(parts) + "\n"


def _flag(flag: Flag) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in flag.names.split())
    return names, STATES[flag.state], flag.why or flag.help


def _subcommands() -> Iterable[tuple[str, str]]:
    return sorted(SUBCOMMAND_STATES.items())


def _requests() -> list[tuple[str, str]]:
    """Every method marked with `@control`. One whose body only raises a refusal is refused."""
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules(controls.__path__):
        for _, part in inspect.getmembers(import_module(f"{controls.__name__}.{module.name}"), inspect.isclass):
            for method in vars(part).values():
                if subtype := getattr(method, "control", ""):
                    found[subtype] = STATES["refused" if _only_refuses(method) else "works"]
    return [(f"`{name}`", state) for name, state in sorted(found.items())]


def _fields() -> Iterator[tuple[str, str, str]]:
    for name, effect in sorted(FIELDS.items()):
        if name != "subtype":
            yield f"`{name}`", STATES["works" if effect else "notice"], effect or "not supported"


def _only_refuses(method: object) -> bool:
    import ast
    import textwrap

    [function] = ast.parse(textwrap.dedent(inspect.getsource(method))).body  # type: ignore[arg-type]
    body = [one for one in function.body if not isinstance(one, ast.Expr)]  # type: ignore[attr-defined]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _events() -> Iterator[tuple[str, str]]:
    for name, event in sorted(EVENTS.items()):
        yield f"`{name}`", f"never happens: {event.never}" if event.never else "works"


def _table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"### {title}", "", _row(heads), _row(("---",) * len(heads)), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def written(guide: str) -> str:
    """The guide with updated tables."""
    before, _, tables = guide.partition(BEGIN)
    _, _, after = tables.partition(END)
    rest = f"\n{after.strip()}\n" if after.strip() else ""
    return f"{before.rstrip()}\n\n{reference().strip()}\n{rest}"


def main() -> int:
    old = GUIDE.read_text()
    new = written(old)
    if "--check" in sys.argv[1:]:
        if old != new:
            print("docs/guides/agent.md is out of date; run `make agent-reference`", file=sys.stderr)
        return int(old != new)
    GUIDE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
