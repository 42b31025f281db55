"""Output styles: built-in ones, and `output-styles/*.md` of the user, the project and plugins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from handrail.agent.extensions.markdown import read_folder
from handrail.agent.extensions.plugins import Plugin
from handrail.agent.extensions.sources import Source

__all__ = ["DEFAULT", "OutputStyles"]

DEFAULT: Final = "default"
_BUILT_IN: Final = {
    "Concise": "Answer in as few words as carry the meaning. No preamble, no summary of what was just shown.",
    "Explanatory": "While you work, say in a sentence or two why something is done so and what can be learnt from it.",
}


class OutputStyles:
    """The styles by name; `default` adds nothing to the system prompt.

    `places` come with the strongest first. A style of an untrusted place does not replace one of the same name.
    """

    def __init__(self, places: Iterable[Source], plugins: Iterable[Plugin] = ()) -> None:
        self._texts: dict[str, str] = {DEFAULT: "", **_BUILT_IN}
        places = list(places)
        for place in reversed([place for place in places if place.trusted]):
            self._texts |= _styles_in(place.folder("output-styles"))
        for place in places:
            if not place.trusted:
                for name, text in _styles_in(place.folder("output-styles")).items():
                    self._texts.setdefault(name, text)
        for plugin in plugins:
            for folder in plugin.paths("output-styles"):
                self._texts |= _styles_in(folder, f"{plugin.name}:")

    def names(self) -> list[str]:
        """The names, for the answer to initialize."""
        return list(self._texts)

    def chosen(self, name: object) -> str:
        """The style in force when this one is requested; an unknown one is the default."""
        return name if isinstance(name, str) and name in self._texts else DEFAULT

    def text(self, name: str) -> str:
        """The instructions of a style."""
        return self._texts.get(name, "")


def _styles_in(folder: str, prefix: str = "") -> dict[str, str]:
    found = read_folder(folder) if folder else ()
    return {f"{prefix}{head.get('name') or name}": body.strip() for name, head, body in found}
