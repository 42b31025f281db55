"""A typed view of JSON that somebody else wrote. In: raw bytes. Out: a struct that forgets nothing.

A view has typed fields for what is known and keeps the bytes it was read from, so that fields nobody has heard of
yet survive: `view.extra` shows them, `as_json(view)` writes them back. A view is made only when somebody asks for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

import msgspec

__all__ = [
    "Count",
    "Number",
    "OpenUnion",
    "Part",
    "View",
    "ViewError",
    "as_builtins",
    "as_json",
    "keep_raw",
    "read_json",
    "read_text",
    "read_view",
]

V = TypeVar("V", bound="View")
Count = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number that arithmetic can be done with: one of hundreds of digits overflows a float and fills a screen."""
Number = Count | float

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TAGS = frozenset({"type", "subtype", "hook_event_name"})
"""What tells kinds apart: a view built by hand writes it although it is the default."""


class ViewError(ValueError):
    """The JSON does not have the shape that the view needs; the text names the field."""


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class _KeywordsOnly(msgspec.StructMeta):
    """Fields are given by name in every subclass too; msgspec asks for that class by class."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        return super().__new__(cls, name, bases, namespace, kw_only=True, **config)


class Part(msgspec.Struct, metaclass=_KeywordsOnly, gc=False):
    """A typed piece of a view. What it has no name for stays in the `raw` of the view, and is written with it.

    Read from JSON it cannot be part of a cycle, so the garbage collector need not look at it.
    """


class View(msgspec.Struct, metaclass=_KeywordsOnly, dict=True):
    """What is known of one JSON object; the rest stays in `raw`."""

    opaque: ClassVar[bool] = False
    """Nothing of it is understood: it is written exactly as it came."""

    @property
    def raw(self) -> bytes:
        """The bytes this was read from; for a view built by hand, its encoding."""
        kept: bytes | None = self.__dict__.get("_raw")
        return as_json(self) if kept is None else kept

    @property
    def extra(self) -> dict[str, Any]:
        """The fields on the wire that this view has no name for."""
        known = {field.encode_name for field in _fields(type(self))}
        original = _original(self)
        fields = cast("dict[str, Any]", original) if isinstance(original, dict) else {}
        return {key: value for key, value in fields.items() if key not in known}


@cache
def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(cls)


_decoders: dict[type[View], msgspec.json.Decoder[Any]] = {}


def _decoder(cls: type[View]) -> msgspec.json.Decoder[Any]:
    """Made when the first view of a class is read: most programs never see most classes."""
    return _decoders.setdefault(cls, msgspec.json.Decoder(cls))


def keep_raw(view: V, raw: bytes) -> V:
    """Remember what a view was read from. In: the view, its bytes. Out: the view."""
    view.__dict__["_raw"] = raw  # pyright: ignore[reportIndexIssue]  # it takes the class's __dict__ for ours
    return view


def read_view(cls: type[V], raw: bytes) -> V:
    """Read `raw` as `cls`. In: the view's class, one JSON object. Out: the view; ViewError names what does not fit."""
    decoder = _decoders.get(cls) or _decoder(cls)
    try:
        view: V = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        view = _read_slowly(cls, raw, decoder)
    view.__dict__["_raw"] = raw  # pyright: ignore[reportIndexIssue]  # it takes the class's __dict__ for ours
    return view


def _read_slowly(cls: type[V], raw: bytes, decoder: msgspec.json.Decoder[Any]) -> V:
    """Two things are read only here: a null where a field has no room for one, which means that the field is absent,
    and text cut in the middle of a surrogate pair, which is legal JSON that msgspec refuses."""
    try:
        return decoder.decode(msgspec.json.encode(_without_nulls(read_json(raw), cls)))
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ViewError(str(error)) from None


def _without_nulls(value: Any, kind: Any) -> Any:
    choices: tuple[Any, ...] = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    for choice in choices:
        if isinstance(value, dict) and isinstance(choice, type) and issubclass(choice, msgspec.Struct):
            kinds = {field.encode_name: field.type for field in _fields(choice)}
            pairs = cast("dict[str, Any]", value).items()
            return {key: _without_nulls(item, kinds.get(key)) for key, item in pairs if item is not None}
        if isinstance(value, dict) and get_origin(choice) is dict:
            pairs = cast("dict[str, Any]", value).items()
            return {key: _without_nulls(item, get_args(choice)[1]) for key, item in pairs}
        if isinstance(value, list) and get_origin(choice) is list:
            return [_without_nulls(item, get_args(choice)[0]) for item in cast("list[Any]", value)]
    return cast("Any", value)


def read_json(raw: bytes) -> Any:
    """Any JSON value. In: bytes. Out: dicts, lists and scalars, with U+FFFD where a surrogate has no partner."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = raw.decode("utf-8", "replace")
        return _scrub(json.loads(text, object_pairs_hook=_scrubbed, parse_constant=_refuse))


def read_text(raw: bytes) -> str | None:
    """A JSON string. In: bytes. Out: the text; None where they are no string."""
    try:
        value = read_json(raw) if raw.startswith(b'"') else None
    except ValueError:
        return None
    return cast("str | None", value)


def _scrubbed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {_scrub(key): _scrub(value) for key, value in pairs}


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_scrub(item) for item in cast("list[Any]", value)]
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _original(view: View) -> Any:
    kept: bytes | None = view.__dict__.get("_raw")
    try:
        return read_json(kept) if kept is not None else None
    except (ValueError, RecursionError):
        return None


def as_json(view: View) -> bytes:
    """Write a view. In: a view. Out: JSON: its fields, and the unknown ones it was read with."""
    return view.raw if view.opaque else msgspec.json.encode(as_builtins(view))


def as_builtins(view: View) -> dict[str, Any]:
    """The same as `as_json`, as a dict."""
    original = _original(view)
    return original if view.opaque else _merge_struct(view, original)


def _merge(value: Any, original: Any) -> Any:
    """`value` in wire form; what `original` had beside it, and no field has a name for, is kept."""
    if isinstance(value, msgspec.Struct):
        return _merge_struct(value, original)
    if isinstance(value, msgspec.Raw):
        return read_json(bytes(value))
    if value == original:
        return original  # 1 stays 1 where the field says float
    if isinstance(value, list):
        rows = cast("list[Any]", original) if isinstance(original, list) else []
        items = cast("list[Any]", value)
        return [_merge(item, rows[i] if i < len(rows) else None) for i, item in enumerate(items)]
    if isinstance(value, dict):
        rows_by_key = cast("dict[str, Any]", original) if isinstance(original, dict) else {}
        return {key: _merge(item, rows_by_key.get(key)) for key, item in cast("dict[str, Any]", value).items()}
    return msgspec.to_builtins(value)


def _merge_struct(value: msgspec.Struct, original: Any) -> dict[str, Any]:
    read = isinstance(original, dict)
    merged: dict[str, Any] = dict(cast("dict[str, Any]", original)) if read else {}
    for field in _fields(type(value)):
        item, wire, default = getattr(value, field.name), field.encode_name, _default(field)
        if item != default:
            merged[wire] = _merge(item, merged.get(wire))
        elif merged.get(wire) is not None:
            merged[wire] = _merge(default, merged[wire])
        elif not read and wire in _TAGS and item:
            merged[wire] = item
    return merged


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


_list = msgspec.json.Decoder(list[msgspec.Raw] | None)


def _split_slowly(raw: bytes) -> list[bytes]:
    try:
        value = read_json(raw)
    except (ValueError, RecursionError):
        return [raw]
    return [msgspec.json.encode(item) for item in cast("list[Any]", value)] if isinstance(value, list) else [raw]


class OpenUnion(Generic[V]):
    """A union that tomorrow may grow. In: JSON objects told apart by one field. Out: the view of the table, or the
    `unknown` view, which says in `problem` why."""

    def __init__(self, tag: str, table: Mapping[str, type[V]], unknown: Callable[[str, str], V]) -> None:
        self.table: Final = table
        self._name = tag
        fields = [("tag", str, msgspec.field(name=tag, default=""))]
        self._tag: msgspec.json.Decoder[Any] = msgspec.json.Decoder(msgspec.defstruct("Tag", fields))
        self._unknown = unknown

    def __iter__(self) -> Iterator[type[V]]:
        return iter(self.table.values())

    def read(self, raw: bytes) -> V:
        """One object. In: its bytes. Out: its view, never an error."""
        try:
            name: str = self._tag.decode(raw).tag
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            name = self._read_tag_slowly(raw)
        return self.read_as(name, raw)

    def read_as(self, name: str, raw: bytes) -> V:
        """The same, where the caller knows the tag already."""
        cls = self.table.get(name)
        if cls is None:
            return keep_raw(self._unknown(name, ""), raw)
        try:
            return read_view(cls, raw)
        except ViewError as error:
            return keep_raw(self._unknown(name, str(error)), raw)

    def read_list(self, raw: bytes) -> list[V]:
        """A list of objects. In: JSON; nothing, or null, is an empty list. Out: their views; what is no list is one."""
        try:
            items = _list.decode(raw or b"null") or ()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [self.read(item) for item in _split_slowly(raw)]
        return [self.read(bytes(item)) for item in items]

    def _read_tag_slowly(self, raw: bytes) -> str:
        try:
            value = read_json(raw)
        except (ValueError, RecursionError):
            return ""
        found: Any = cast("dict[str, Any]", value).get(self._name) if isinstance(value, dict) else None
        return found if isinstance(found, str) else ""
