"""Field types shared by several commands, with their limits."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["Effort", "Fields", "Id", "Mode", "Model", "Name", "OfSession", "Path", "Style", "Text", "Tokens"]

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Path = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
Model = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][\w.:/\[\]-]{0,127}$")]
Text = Annotated[str, Meta(max_length=1_000_000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "auto", "manual", "bypassPermissions"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
Style = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
Tokens = Annotated[int, Meta(ge=0, le=1_000_000)]


class Fields(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of a command. Unknown fields are refused."""


class OfSession(Fields, frozen=True, kw_only=True):
    """A session."""

    session: Id
