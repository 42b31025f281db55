"""Prompts and images in wire form."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from handrail.schema.view import View, as_builtins

__all__ = ["Image", "Prompt", "image_block", "user_line"]

Image = str | os.PathLike[str] | bytes
Prompt = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any] | View]
"""Text, a block, or several of either."""

SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF....WEBP": "image/webp",
}
"""First bytes of the image types that the API accepts, as regular expressions."""


def user_line(prompt: Prompt, images: Sequence[Image], uuid: str, **fields: Any) -> dict[str, Any]:
    """A user line. `fields` are added unless they are None."""
    return {
        "type": "user",
        "message": {"role": "user", "content": _content(prompt, images)},
        "parent_tool_use_id": None,
        "session_id": "",
        "uuid": uuid,
        **{name: value for name, value in fields.items() if value is not None},
    }


def image_block(image: Image) -> dict[str, Any]:
    """An image block from a path or bytes. Raises ValueError for unsupported types."""
    data = image if isinstance(image, bytes) else _read(image)
    media_type = next((kind for start, kind in SIGNATURES.items() if re.match(start, data, re.DOTALL)), None)
    if media_type is None:
        name = f"{len(data)} bytes are" if isinstance(image, bytes) else f"{os.fspath(image)} is"
        raise ValueError(f"{name} not an image that the API accepts ({', '.join(sorted(SIGNATURES.values()))})")
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _content(prompt: Prompt, images: Sequence[Image]) -> str | list[Any]:
    if isinstance(prompt, str) and not images:
        return prompt
    parts = prompt if isinstance(prompt, Sequence) and not isinstance(prompt, str) else [prompt]
    return [_block(part) for part in parts] + [image_block(image) for image in images]


def _block(part: object) -> Mapping[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, View):
        return as_builtins(part)
    if isinstance(part, Mapping) and isinstance(cast("Mapping[str, Any]", part).get("type"), str):
        return cast("Mapping[str, Any]", part)
    raise ValueError(f"a prompt consists of text and blocks with a `type`, not {part!r}")
