"""Pictures in the size in which the model sees them.

A picture beyond the limits below is scaled and encoded again with Pillow, an optional package that is imported in a
thread when the first such picture appears. Without it, a picture that the API would refuse is refused here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from handrail.agent.blocks import text_block
from handrail.agent.tools.large_output import readable_size
from handrail.agent.tools.picture import Picture, picture_of
from handrail.errors import CallerError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["FittedPicture", "UnusablePicture", "fit_blocks", "fit_picture", "image_block"]

JsonObject = dict[str, Any]
LONGEST_SIDE: Final = 2000
"""Pixels. The API refuses longer sides in a request with many pictures."""
PATCH: Final = 28
MOST_PATCHES: Final = 4784
"""Squares of PATCH pixels that the model sees; the API scales larger pictures down itself."""
MOST_BYTES: Final = 500 * 1024
"""More are sent only if even the lowest quality needs them, which is still within the limit of the API."""
MOST_PIXELS: Final = 89_000_000
"""Pixels that are decoded; below the number at which Pillow suspects a decompression bomb."""
API_SIDE: Final = 8000
API_BYTES: Final = 3_750_000
"""5 MB in base64."""
_FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
"""The formats in which a picture stays. GIF would need a palette again."""
_QUALITIES: Final = (80, 60, 40, 20)
_ORIENTATION: Final = 0x0112
_SIDEWAYS: Final = 5
"""From this orientation on, width and height are exchanged."""


class UnusablePicture(CallerError):
    """The API would refuse the picture; the text says why and what to do."""


class FittedPicture(NamedTuple):
    """A picture for the model; `original` has the size of the picture it was made from."""

    data: bytes
    shown: Picture
    original: Picture

    @property
    def note(self) -> str:
        """How to find a place of the shown picture in the original; "" if they have the same size."""
        if self.shown[1:] == self.original[1:]:
            return ""
        factor = self.original.width / self.shown.width
        return (
            f"[The picture has {self.original.width}x{self.original.height} pixels and is shown with"
            f" {self.shown.width}x{self.shown.height}. Multiply coordinates by {factor:.2f} to find them in the"
            " original.]"
        )


async def fit_picture(data: bytes) -> FittedPicture:
    """The picture itself if it is within the limits, else a smaller one. Raises UnusablePicture."""
    found = picture_of(data)
    if found is None:
        raise UnusablePicture("It is not a complete png, jpeg, gif or webp. Convert it to one of them.")
    if len(data) <= MOST_BYTES and _target(found.width, found.height) == (found.width, found.height):
        return FittedPicture(data, found, found)
    if found.width * found.height > MOST_PIXELS:
        raise UnusablePicture(f"It has {found.width}x{found.height} pixels, too many to scale. Make a smaller one.")
    try:
        return await asyncio.to_thread(_scaled, data, found)
    except ImportError:
        return _unscaled(data, found)
    except Exception as error:  # Pillow's readers raise many kinds of errors for damaged files
        raise UnusablePicture(f"It is damaged and cannot be scaled: {error}") from error


def image_block(media_type: str, data: str) -> JsonObject:
    """An image block; `data` is base64."""
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


async def fit_blocks(blocks: list[JsonObject]) -> list[JsonObject]:
    """The blocks with each image within the limits. An unusable one is replaced by a note that says why."""
    if not any(block.get("type") == "image" for block in blocks):
        return blocks
    fitted: list[JsonObject] = []
    for block in blocks:
        fitted += await _fit_block(block)
    return fitted


async def _fit_block(block: JsonObject) -> list[JsonObject]:
    held: Any = block.get("source")
    source = cast("JsonObject", held) if isinstance(held, dict) else {}
    if block.get("type") != "image" or "data" not in source:
        return [block]
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        return [text_block("[A picture was left out. Its data is not base64.]")]
    try:
        picture = await fit_picture(data)
    except UnusablePicture as reason:
        return [text_block(f"[A picture was left out. {reason}]")]
    if picture.data is data and picture.shown.media_type == source.get("media_type"):
        return [block]
    shown = image_block(picture.shown.media_type, base64.b64encode(picture.data).decode())
    return [{**block, **shown}, *([text_block(picture.note)] if picture.note else [])]


def _unscaled(data: bytes, found: Picture) -> FittedPicture:
    """The picture as it is, because Pillow is not installed."""
    if len(data) > API_BYTES or max(found.width, found.height) > API_SIDE:
        raise UnusablePicture(
            f"It is too large: {found.width}x{found.height} pixels, {readable_size(len(data))}; the API accepts"
            f" {API_SIDE} pixels a side and {readable_size(API_BYTES)}. Scale it down, or install Pillow (pip install"
            " pillow), with which it is scaled."
        )
    return FittedPicture(data, found, found)


def _target(width: int, height: int) -> tuple[int, int]:
    """The size within the limits, in the same proportions."""
    longest = max(width, height, 1)
    side = min(longest, LONGEST_SIDE)
    while True:
        size = (max(round(width * side / longest), 1), max(round(height * side / longest), 1))
        if ceil(size[0] / PATCH) * ceil(size[1] / PATCH) <= MOST_PATCHES:
            return size
        side = (side - 1) // PATCH * PATCH


def _scaled(data: bytes, found: Picture) -> FittedPicture:
    from PIL import Image, ImageOps

    with Image.open(BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
        if opened.width * opened.height > MOST_PIXELS:  # the header was read differently
            raise ValueError("too many pixels")
        sideways = opened.getexif().get(_ORIENTATION, 1) >= _SIDEWAYS
        width, height = (found.height, found.width) if sideways else (found.width, found.height)
        opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # a large JPEG is decoded in a smaller size
        image = ImageOps.exif_transpose(opened)
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    size = _target(width, height)
    if image.size != size:
        image = image.resize(size, Image.Resampling.LANCZOS)  # pyright: ignore[reportUnknownMemberType]
    shown, media_type = _encoded(image, found.media_type)
    return FittedPicture(shown, Picture(media_type, *size), Picture(found.media_type, width, height))


def _encoded(image: Image, media_type: str) -> tuple[bytes, str]:
    """The picture in its own format, or as JPEG in the best quality that is small enough."""
    if format := _FORMATS.get(media_type):
        data = _saved(image, format)
        if len(data) <= MOST_BYTES:
            return data, media_type
    if image.mode == "RGBA":
        image = _on_white(image)
    data = b""
    for quality in _QUALITIES:
        data = _saved(image, "JPEG", quality=quality)
        if len(data) <= MOST_BYTES:
            break
    return data, "image/jpeg"


def _on_white(image: Image) -> Image:
    from PIL import Image as Images

    white = Images.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _saved(image: Image, format: str, **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, format, **options)
    return out.getvalue()
