"""Pictures that a prompt carries, saved as files, so that the model can use them with commands."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from typing import Any, Final, cast

from handrail.agent.tools.large_output import saved
from handrail.agent.tools.picture import picture_of

__all__ = ["attached_pictures"]

JsonObject = dict[str, Any]
MOST: Final = 20
"""Pictures of one prompt that are saved."""


def attached_pictures(blocks: Iterable[JsonObject], folder: str) -> str:
    """Save the pictures of a prompt below a folder as they came. Returns a text with their paths, "" without any."""
    pictures = [data for block in blocks if (data := _data(block))]
    paths = [path for data in pictures[:MOST] if (path := _save(data, folder))]
    return f"[The pictures of this message are saved as: {', '.join(paths)}]" if paths else ""


def _data(block: JsonObject) -> bytes:
    held: Any = block.get("source")
    source = cast("JsonObject", held) if isinstance(held, dict) else {}
    if block.get("type") != "image" or not isinstance(source.get("data"), str):
        return b""
    try:
        return base64.b64decode(source["data"], validate=True)
    except ValueError:
        return b""


def _save(data: bytes, folder: str) -> str:
    """The path of a new file; "" if the data is not a picture, or the disk is full."""
    found = picture_of(data)
    if found is None:
        return ""
    return saved(os.path.join(folder, f"image-{os.urandom(5).hex()}.{found.media_type.partition('/')[2]}"), data)
