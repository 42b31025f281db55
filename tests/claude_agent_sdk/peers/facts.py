"""The public interface of a package, found by reflection: `python facts.py claude_agent_sdk`.

Types are written without their modules, so that the facts of two packages can be compared.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import importlib
import inspect
import json
import sys
import types
import typing
from typing import Any

SPECIAL = ("__init__", "__aenter__", "__aexit__")
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional ",
    inspect.Parameter.KEYWORD_ONLY: "keyword ",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def facts_of(package: str) -> dict[str, Any]:
    """The facts of every exported name of a package, and of the other names of its module `types`."""
    main, kinds = importlib.import_module(package), importlib.import_module(f"{package}.types")
    names = {name: getattr(main, name) for name in main.__all__}
    of_types = {name: value for name, value in vars(kinds).items() if _is_defined_there(name, value, package)}
    known = {**of_types, **names}
    return {
        "names": {name: _facts(value, known) for name, value in sorted(names.items())},
        "types": {name: _facts(value, known) for name, value in sorted(of_types.items()) if name not in names},
        "also in types": sorted(of_types.keys() & names.keys()),
    }


def _is_defined_there(name: str, value: Any, package: str) -> bool:
    """Whether a name of `types` belongs to it: not a module, and not imported from the standard library."""
    if name.startswith("_") or inspect.ismodule(value) or value is typing.Any or value is typing.TYPE_CHECKING:
        return False
    module = getattr(value, "__module__", None)
    if inspect.isclass(value) or inspect.isfunction(value):
        return bool(module and module.startswith(package))
    return typing.get_origin(value) is not None or isinstance(value, (types.UnionType, frozenset))


def _facts(value: Any, known: dict[str, Any]) -> list[str]:
    if inspect.isclass(value):
        return _class_facts(value, known)
    if inspect.isfunction(value):
        return [_signature(value, known)]
    if isinstance(value, (str, frozenset)):
        return [f"value {sorted(value) if isinstance(value, frozenset) else value!r}"]
    return [f"alias {written(value, known)}"]


def _class_facts(cls: type, known: dict[str, Any]) -> list[str]:
    found = [f"class of {', '.join(base.__name__ for base in cls.__mro__[1:])}"]
    if hasattr(cls, "__required_keys__"):
        for name, kind in _hints(cls, known).items():
            found.append(
                f"{'required' if name in cls.__required_keys__ else 'optional'} {name}: {written(kind, known)}"
            )
        return [*found, f"total {cls.__total__}"]  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(cls):
        found.append(str(cls.__dataclass_params__))  # type: ignore[attr-defined]
        found += [_field(field, _hints(cls, known), known) for field in dataclasses.fields(cls)]
    methods = {name: _plain(value) for name, value in vars(cls).items() if _is_public(name, value, cls)}
    return found + [f"{name} {_signature(method, known)}" for name, method in sorted(methods.items())]


def _is_public(name: str, value: Any, cls: type) -> bool:
    if dataclasses.is_dataclass(cls) and name == "__init__":
        return False
    return (not name.startswith("_") or name in SPECIAL) and inspect.isfunction(_plain(value))


def _plain(value: Any) -> Any:
    return value.__func__ if isinstance(value, (classmethod, staticmethod)) else value


def _field(field: Any, hints: dict[str, Any], known: dict[str, Any]) -> str:
    default: Any = ""
    if field.default is not dataclasses.MISSING:
        default = f" = {'sys.stderr' if field.name == 'debug_stderr' else repr(field.default)}"
    elif field.default_factory is not dataclasses.MISSING:
        default = f" = new {field.default_factory()!r}"
    flags = [name for name in ("init", "repr", "compare", "kw_only") if getattr(field, name)]
    return f"field {field.name}: {written(hints[field.name], known)}{default} ({', '.join(flags)})"


def _signature(function: Any, known: dict[str, Any]) -> str:
    hints = _hints(function, known)
    parameters = [
        f"{KINDS.get(parameter.kind, '')}{parameter.name}: {written(hints.get(parameter.name, 'untyped'), known)}"
        + ("" if parameter.default is parameter.empty else f" = {parameter.default!r}")
        for parameter in inspect.signature(function).parameters.values()
    ]
    kind = "async def" if inspect.iscoroutinefunction(function) else "def"
    kind = "async generator" if inspect.isasyncgenfunction(function) else kind
    kind = f"abstract {kind}" if getattr(function, "__isabstractmethod__", False) else kind
    return f"{kind} ({', '.join(parameters)}) -> {written(hints.get('return'), known)}"


def _hints(value: Any, known: dict[str, Any]) -> dict[str, Any]:
    return typing.get_type_hints(value, localns={**known, "Path": __import__("pathlib").Path}, include_extras=True)


def written(kind: Any, known: dict[str, Any]) -> str:
    """A type as text, without modules and with the members of unions in order."""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, typing.ForwardRef):
        return written(known.get(kind.__forward_arg__, kind.__forward_arg__), known)
    if kind is None or kind is type(None):
        return "None"
    if isinstance(kind, list):
        return f"[{', '.join(written(part, known) for part in kind)}]"
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(sorted(written(part, known) for part in arguments))
    if origin is typing.Literal:
        return f"Literal{list(arguments)!r}"
    if origin is collections.abc.Callable:
        return f"Callable[{', '.join(written(part, known) for part in arguments)}]"
    if origin is not None:
        name = origin.__name__ if inspect.isclass(origin) else origin._name
        return f"{name}[{', '.join(written(part, known) for part in arguments)}]"
    return getattr(kind, "__name__", str(kind))


if __name__ == "__main__":
    print(json.dumps(facts_of(sys.argv[1]), indent=1, sort_keys=True))
