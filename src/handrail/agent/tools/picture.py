"""Detecting the type and size of an image from its first bytes."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

__all__ = ["ENDINGS", "Picture", "picture_of"]

ENDINGS: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_NOT_FRAME_HEADERS: Final = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG markers in the range of frame headers that are not one: DHT, JPG and DAC."""


class Picture(NamedTuple):
    """An image of a type that the Messages API accepts; the size is in pixels."""

    media_type: str
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    """Detect an image. Returns None for other data and for a truncated header."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return Picture("image/png", *struct.unpack(">II", data[16:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return Picture("image/gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError):
        pass
    return None


def _jpeg(data: bytes) -> Picture | None:
    """Walk the segments up to the frame header, which contains the size."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xFF:  # padding
            at += 1
            continue
        if 0xC0 <= kind <= 0xCF and kind not in _NOT_FRAME_HEADERS:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Picture("image/jpeg", width, height)
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        at += 2 + length
    return None


def _webp(data: bytes) -> Picture | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        return Picture("image/webp", width, height) if len(data) >= 30 else None
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return Picture("image/webp", width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L":
        (bits,) = struct.unpack("<I", data[21:25])
        return Picture("image/webp", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
    return None
