"""How answers are to be written. In: `output-styles/*.md` of the user, the project and plugins. Out: styles by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from handrail.agent.markdown import read_folder
from handrail.agent.plugins import Plugin
from handrail.agent.sources import Source

__all__ = ["DEFAULT", "OutputStyles"]

DEFAULT: Final = "default"
_BUILT_IN: Final = {
    "Concise": "Answer in as few words as carry the meaning. No preamble, no summary of what was just shown.",
    "Explanatory": "While you work, say in a sentence or two why something is done so and what can be learnt from it.",
}


class OutputStyles:
    """The styles that there are; `default` adds nothing to what the model is told."""

    def __init__(self, places: Iterable[Source], plugins: Iterable[Plugin] = ()) -> None:
        self._texts: dict[str, str] = {DEFAULT: "", **_BUILT_IN}
        folders = [place.folder("output-styles") for place in places if place.trusted]
        for folder in reversed(folders):  # the strongest last, so that it counts
            self._add(folder, "")
        for plugin in plugins:
            for folder in plugin.paths("output-styles"):
                self._add(folder, f"{plugin.name}:")

    def _add(self, folder: str, prefix: str) -> None:
        for name, head, body in read_folder(folder) if folder else ():
            self._texts[f"{prefix}{head.get('name') or name}"] = body.strip()

    def names(self) -> list[str]:
        """For the answer to initialize."""
        return list(self._texts)

    def chosen(self, name: object) -> str:
        """The style in force when this one is asked for."""
        return name if isinstance(name, str) and name in self._texts else DEFAULT

    def text(self, name: str) -> str:
        """What the model is told for it."""
        return self._texts.get(name, "")
