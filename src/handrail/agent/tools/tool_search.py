"""ToolSearch: finds tools of MCP servers whose definitions are left out of the requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool
from handrail.schema.tool_results import ToolSearchResult
from handrail.schema.view import as_builtins

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["ToolSearch"]

_DEFAULT_RESULTS: Final = 5
_MOST_RESULTS: Final = 50
_SELECT: Final = "select:"
_IN_NAME, _IN_DESCRIPTION = 3, 1
"""The score of a word, by where it is found."""
_DESCRIPTION: Final = """\
Loads tools of MCP servers. Only the names of the tools below are known so far; load one before you call it, and then \
call it like any other.

- `select:NAME,NAME` loads tools by their exact names. Load all you need in one call.
- Other queries are words to look for in names and descriptions; `+word` must be in the name. The best matches are \
loaded, at most `max_results`.
- A loaded tool stays loaded. If nothing matches, use other words or a name from the list; do not guess names."""


class ToolSearchInput(Struct, frozen=True):
    """What to look for."""

    query: Annotated[str, Meta(description="`select:` and names, or words to look for.")]
    max_results: Annotated[float, Meta(description="The most tools to load for words: 5 by default.")] = (
        _DEFAULT_RESULTS
    )


class ToolSearch(Tool[ToolSearchInput]):
    """Loads tools. `deferred` returns the tools that can be loaded, by name."""

    name = "ToolSearch"
    Input = ToolSearchInput
    strict = False
    concurrent = True

    def __init__(self, deferred: Callable[[], Mapping[str, Tool[Any]]]) -> None:
        self._deferred = deferred

    @property
    def description(self) -> str:  # type: ignore[override]
        """What it does, and the names of the tools at the moment."""
        return "\n".join((_DESCRIPTION, "", "Tools that can be loaded:", *self._deferred()))

    async def run(self, given: ToolSearchInput, desk: Desk) -> Outcome:
        tools = self._deferred()
        found = _find(given.query.strip(), tools)
        if not given.query.strip().startswith(_SELECT):
            found = found[: max(1, min(int(given.max_results), _MOST_RESULTS))]
        desk.state.loaded_tools.update(dict.fromkeys(found))
        result = ToolSearchResult(matches=found, query=given.query, total_deferred_tools=len(tools))
        references = [{"type": "tool_reference", "tool_name": name} for name in found]
        return Outcome(references or "No matching deferred tools found", as_builtins(result))


def _find(query: str, tools: Mapping[str, Tool[Any]]) -> list[str]:
    """The names of the tools that a query means, best first."""
    if query.startswith(_SELECT):
        wanted = [name.strip() for name in query.removeprefix(_SELECT).split(",")]
        return list(dict.fromkeys(name for name in wanted if name in tools))
    words = query.casefold().split()
    required = [word[1:] for word in words if word.startswith("+")]
    others = [word for word in words if not word.startswith("+")]
    scores = {
        name: _score(name.casefold(), tool.description.casefold(), [*required, *others])
        for name, tool in tools.items()
        if all(word in name.casefold() for word in required)
    }
    return sorted((name for name, score in scores.items() if score), key=lambda name: -scores[name])


def _score(name: str, description: str, words: list[str]) -> int:
    parts = set(re.split(r"[\W_]+", name))
    return sum(
        (_IN_NAME + (word in parts)) * (word in name) + _IN_DESCRIPTION * (word in description)
        for word in words
        if word
    )
