"""Sections of the system prompt for the settings `language` and `attribution`."""

from __future__ import annotations

from typing import Any, Final, cast

from handrail.agent.session import Session

__all__ = ["preferences"]

JsonObject = dict[str, Any]
_LONGEST: Final = 4_000
_LANGUAGE: Final = """\
Language: answer in {language}, with all the characters that it is written with. Names in code and technical terms stay
as they are."""
_ENDINGS: Final = {
    "commit": "Commit messages end with:",
    "pr": "Descriptions of pull requests end with:",
}


def preferences(session: Session) -> list[JsonObject]:
    """The sections as blocks."""
    settings = session.settings.values
    parts: list[str] = []
    if isinstance(language := settings.get("language"), str) and language.strip():
        parts.append(_LANGUAGE.format(language=language.strip()[:100]))
    if isinstance(endings := settings.get("attribution"), dict):
        given = cast("JsonObject", endings)
        found = {name: text for name in _ENDINGS if isinstance(text := given.get(name), str) and text.strip()}
        parts += [f"{_ENDINGS[name]}\n{text[:_LONGEST]}" for name, text in found.items()]
    return [{"type": "text", "text": part} for part in parts]
