"""Typed views of JSON objects on the wire.

A view has typed fields for what is known. A view that was read keeps its bytes, so unknown fields survive: `view.extra`
returns them and `as_json(view)` writes them back. A view that was built writes the fields that differ from their
defaults, plus those in `always`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
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

from handrail.errors import RemoteProtocolError

__all__ = [
    "Count",
    "Number",
    "OpenUnion",
    "Part",
    "View",
    "ViewError",
    "as_builtins",
    "as_json",
    "build_line",
    "build_view",
    "field_names",
    "keep_raw",
    "read_json",
    "read_text",
    "read_view",
]

V = TypeVar("V", bound="View")
Count = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""An integer of 64 bits. A longer one overflows a float and fills a screen."""
Number = Count | float

_LONE_SURROGATE = "[\ud800-\udfff]"
_TAGS = frozenset({"type", "subtype", "hook_event_name"})
"""Fields that tell kinds apart: a view that was built writes them although they have their default."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


class ViewError(RemoteProtocolError, ValueError):
    """The JSON does not have the shape that the view needs; the text names the field."""


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class _ViewMeta(msgspec.StructMeta):
    """Makes every subclass keyword-only, and gives those with a cached property a `__dict__` to keep it in."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        if any(isinstance(value, cached_property) for value in namespace.values()):
            config["dict"] = True
        return super().__new__(cls, name, bases, namespace, kw_only=True, **config)


class Part(msgspec.Struct, metaclass=_ViewMeta, gc=False):
    """A nested object of a view. Its unknown fields stay in the `raw` bytes of the view and are written with it.

    JSON data cannot be cyclic, so the garbage collector does not have to track it.
    """

    always: ClassVar[frozenset[str]] = frozenset()
    """Fields that are written even if they have their default value, by their names on the wire."""


class _KeepsBytes:
    """A place for the bytes of a view. It is a slot and not a field, so it is not compared, printed or written."""

    __slots__ = ("_raw",)
    _raw: bytes


class View(_KeepsBytes, msgspec.Struct, metaclass=_ViewMeta):
    """The known fields of one JSON object; `raw` has the others too."""

    opaque: ClassVar[bool] = False
    """True if it is written exactly as it was read."""
    always: ClassVar[frozenset[str]] = frozenset()
    """Fields that are written even if they have their default value, by their names on the wire."""

    @property
    def raw(self) -> bytes:
        """The bytes this was read from, or the encoding of a view that was built."""
        kept: bytes | None = getattr(self, "_raw", None)
        return as_json(self) if kept is None else kept

    @property
    def extra(self) -> dict[str, Any]:
        """The unknown fields, by their names on the wire."""
        known = field_names(type(self))
        original = _original(self)
        fields = cast("dict[str, Any]", original) if isinstance(original, dict) else {}
        return {key: value for key, value in fields.items() if key not in known}


@cache
def _fields(cls: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(cls)


_decoders: dict[type[View], msgspec.json.Decoder[Any]] = {}


def _decoder(cls: type[View]) -> msgspec.json.Decoder[Any]:
    """The decoder of a class, made at its first use: most programs read few of the classes."""
    return _decoders.setdefault(cls, msgspec.json.Decoder(cls))


def keep_raw(view: V, raw: bytes) -> V:
    """Set the bytes that a view was read from. Returns the view."""
    view._raw = raw  # pyright: ignore[reportPrivateUsage]
    return view


def read_view(cls: type[V], raw: bytes) -> V:
    """Read one JSON object as `cls`. Raises ViewError, which names the field that does not fit."""
    decoder = _decoders.get(cls) or _decoder(cls)
    try:
        view: V = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        view = _read_slowly(cls, raw, decoder)
    view._raw = raw  # pyright: ignore[reportPrivateUsage]
    return view


def _read_slowly(cls: type[V], raw: bytes, decoder: msgspec.json.Decoder[Any]) -> V:
    """Read what the decoder rejects but peers send: null in a field that takes none, which means that the field is
    missing, and text with an unpaired surrogate, which is legal JSON."""
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


def build_view(cls: type[V], fields: Mapping[str, Any]) -> V:
    """Build a view from fields by their names on the wire.

    Raises TypeError for a name that the view does not have, and ViewError for a value that does not fit.
    """
    if unknown := fields.keys() - field_names(cls):
        raise TypeError(f"{cls.__name__} does not have {', '.join(sorted(unknown))}")
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        raise ViewError(str(error)) from None


def build_line(cls: type[View], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of a view with these fields, by their names on the wire, without making the view.

    It has the fields in `always` too. Nested values are written as they are. Raises TypeError for a name that the view
    does not have.
    """
    if not field_names(cls).issuperset(fields):
        raise TypeError(f"{cls.__name__} does not have {', '.join(sorted(fields.keys() - field_names(cls)))}")
    return {**_template(cls), **fields}


@cache
def _template(cls: type[View]) -> dict[str, Any]:
    """The fields that are always written, with their defaults."""
    return {
        wire: _plain(default) for _, wire, default, always in _rows(cls) if always and default is not msgspec.NODEFAULT
    }


@cache
def field_names(cls: type[msgspec.Struct]) -> frozenset[str]:
    """The names of the fields on the wire."""
    return frozenset(cls.__struct_encode_fields__)


def read_json(raw: bytes) -> Any:
    """Decode any JSON value; unpaired surrogates become U+FFFD."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = raw.decode("utf-8", "replace")
        return _scrub(json.loads(text, object_pairs_hook=_scrubbed, parse_constant=_refuse))


def read_text(raw: bytes) -> str | None:
    """Decode a JSON string. Returns None for any other value."""
    try:
        value = read_json(raw) if raw.startswith(b'"') else None
    except ValueError:
        return None
    return cast("str | None", value)


def _scrubbed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {_scrub(key): _scrub(value) for key, value in pairs}


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(_LONE_SURROGATE, "\ufffd", value)
    if isinstance(value, list):
        return [_scrub(item) for item in cast("list[Any]", value)]
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _original(view: View) -> Any:
    kept: bytes | None = getattr(view, "_raw", None)
    try:
        return read_json(kept) if kept is not None else None
    except (ValueError, RecursionError):
        return None


def as_json(view: View) -> bytes:
    """Encode a view: its fields, and the unknown ones it was read with."""
    return view.raw if view.opaque else msgspec.json.encode(as_builtins(view))


def as_builtins(view: View | Part) -> dict[str, Any]:
    """The same as `as_json`, as a dict."""
    if isinstance(view, Part):
        return _built(view)
    original = _original(view)
    return original if view.opaque else _merge_struct(view, original)


def _merge(value: Any, original: Any) -> Any:
    """`value` as it is written, with the unknown fields of `original`."""
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
    if not isinstance(original, dict):
        return _built(value)
    merged = dict(cast("dict[str, Any]", original))
    for name, wire, default, _ in _rows(type(value)):
        item = getattr(value, name)
        if item != default:
            merged[wire] = _merge(item, merged.get(wire))
        elif merged.get(wire) is not None:
            merged[wire] = _merge(default, merged[wire])
    return merged


def _built(value: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct that was not read."""
    built: dict[str, Any] = {}
    for name, wire, default, always in _rows(type(value)):
        item = getattr(value, name)
        if item is default:  # most fields: scalars are shared with their default
            if always:
                built[wire] = item
        elif always or item != default:
            built[wire] = item if type(item) in _SCALARS else _plain(item)
    return built


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, msgspec.Struct):
        return _built(value)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [item if type(item) in _SCALARS else _plain(item) for item in items]
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {key: item if type(item) in _SCALARS else _plain(item) for key, item in pairs}
    return read_json(bytes(value)) if isinstance(value, msgspec.Raw) else msgspec.to_builtins(value)


_Row = tuple[str, str, Any, bool]
"""One field: its name, its name on the wire, its default, and whether it is written also if it has its default."""


@cache
def _rows(cls: type[msgspec.Struct]) -> tuple[_Row, ...]:
    # msgspec.structs.fields() would also evaluate the annotations, which every program would wait for at its start.
    always: frozenset[str] = getattr(cls, "always", frozenset[str]())
    given: tuple[Any, ...] = cls.__struct_defaults__
    required: tuple[Any, ...] = (msgspec.NODEFAULT,) * (len(cls.__struct_fields__) - len(given))
    rows: list[_Row] = []
    for name, wire, default in zip(cls.__struct_fields__, cls.__struct_encode_fields__, required + given, strict=True):
        value: Any = default.factory() if isinstance(default, _FACTORY) else default
        tagged = wire in _TAGS and isinstance(value, str) and bool(value)
        rows.append((name, wire, value, tagged or wire in always))
    return tuple(rows)


class _WithList(msgspec.Struct):
    items: list[Any] = []


_FACTORY = cast("type[Any]", type(_WithList.__struct_defaults__[0]))
"""The type with which msgspec marks a default that each struct gets its own copy of."""


_list = msgspec.json.Decoder(list[msgspec.Raw] | None)


def _split_slowly(raw: bytes) -> list[bytes]:
    try:
        value = read_json(raw)
    except (ValueError, RecursionError):
        return [raw]
    return [msgspec.json.encode(item) for item in cast("list[Any]", value)] if isinstance(value, list) else [raw]


class OpenUnion(Generic[V]):
    """A union of views that one field, the tag, tells apart.

    An object without a row in the table, or that does not fit its row, becomes the `unknown` view with the `problem`.
    """

    def __init__(self, tag: str, table: Mapping[str, type[V]], unknown: Callable[[str, str], V]) -> None:
        self.table: Final = table
        self._name = tag
        fields = [("tag", str, msgspec.field(name=tag, default=""))]
        self._tag: msgspec.json.Decoder[Any] = msgspec.json.Decoder(msgspec.defstruct("Tag", fields))
        self._unknown = unknown

    def __iter__(self) -> Iterator[type[V]]:
        return iter(self.table.values())

    def read(self, raw: bytes) -> V:
        """Read one object. Never raises."""
        try:
            name: str = self._tag.decode(raw).tag
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            name = self._read_tag_slowly(raw)
        return self.read_as(name, raw)

    def read_as(self, name: str, raw: bytes) -> V:
        """Read one object whose tag is known. Never raises."""
        cls = self.table.get(name)
        if cls is None:
            return keep_raw(self._unknown(name, ""), raw)
        try:
            return read_view(cls, raw)
        except ViewError as error:
            return keep_raw(self._unknown(name, str(error)), raw)

    def read_list(self, raw: bytes) -> list[V]:
        """Read a list of objects. No bytes and null are an empty list; any other value is a list of one."""
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
