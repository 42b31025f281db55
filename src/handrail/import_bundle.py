"""Loads the modules that a program imports at startup from one file.

For each import, Python searches the folders of `sys.path`, then opens and checks a file. For a program that starts
often, this takes a good part of the startup time. A bundle holds the code of all these modules. The program writes it
itself while it is idle, into the `__pycache__` folder beside this module, unless `sys.dont_write_bytecode` is set.

A bundle is valid only for the Python and the `sys.path` that it was written with, and each module only while the size
and time of its file are unchanged. All other modules are imported as usual.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

__all__ = ["keep", "save", "use"]

_Module = tuple[str, int, int, bytes]
"""A module to write: its file, the file's time and size, and the code."""
_LENGTH = 8
"""Bytes at the start of a bundle that hold the length of the index. The code of the modules follows the index."""

Entry = tuple[str, int, int, int, int]
"""File of a module, its time in nanoseconds and size; offset and length of the code. The length is 0 for extension
modules."""


class _Bundle:
    """The bundle of one program, and a finder that imports from it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        self._file, self._start = -1, 0

    def load(self) -> None:
        """Read the index. The file stays open, so that modules can be loaded after another process replaces it."""
        self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        length = int.from_bytes(os.pread(self._file, _LENGTH, 0), "little")
        interpreter, entries = marshal.loads(os.pread(self._file, length, _LENGTH))  # noqa: S302 - as safe as a .pyc
        if interpreter == _interpreter():
            self._entries, self._start = entries, _LENGTH + length

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find a module in the bundle; called by the import system."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        file, time, size, _, length = entry
        if _state(file) != (time, size):
            del self._entries[name]
            return None
        loader = _Loader(name, file, self) if length else ExtensionFileLoader(name, file)
        spec = ModuleSpec(name, loader, origin=file)
        spec.has_location = True
        spec.cached = self._path  # not needed, but Python would work out the path of a .pyc, which takes long
        if length and file.endswith("__init__.py"):
            spec.submodule_search_locations = [os.path.dirname(file)]
        return spec

    def code(self, name: str) -> bytes | None:
        """The code of a module; None if it is missing or truncated."""
        if name not in self._entries:
            return None
        _, _, _, offset, length = self._entries[name]
        code = os.pread(self._file, length, self._start + offset) if length else b""
        return code if len(code) == length else None

    def save(self) -> None:
        """Rewrite the bundle if it lacks modules that are loaded."""
        loaded = {name for name, module in list(sys.modules.items()) if _loader(module) is not None}
        if loaded <= self._entries.keys():
            return
        modules = {name: found for name in {*self._entries, *loaded} if (found := self._module(name))}
        entries: dict[str, Entry] = {}
        offset = 0
        for name, (path, time, size, code) in modules.items():
            entries[name] = (path, time, size, offset, len(code))
            offset += len(code)
        index = marshal.dumps((_interpreter(), entries))  # pyright: ignore[reportArgumentType]
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        unfinished = f"{self._path}.{os.getpid()}"
        with open(unfinished, "xb") as file:
            file.write(len(index).to_bytes(_LENGTH, "little") + index)
            file.writelines(code for *_, code in modules.values())
        os.replace(unfinished, self._path)

    def _module(self, name: str) -> _Module | None:
        """A module of the bundle or of this process, unless its file has changed."""
        if (code := self.code(name)) is not None:
            path, time, size, _, _ = self._entries[name]
            return (path, time, size, code) if _state(path) == (time, size) else None
        loader = _loader(sys.modules[name]) if name in sys.modules else None
        if loader is None or (state := _state(loader.path)) is None:
            return None
        if isinstance(loader, ExtensionFileLoader):
            return loader.path, *state, b""
        code = loader.get_code(name)
        return (loader.path, *state, marshal.dumps(code)) if code else None


class _Loader(SourceFileLoader):
    """Loads a module like SourceFileLoader, but takes its code from the bundle."""

    def __init__(self, name: str, path: str, bundle: _Bundle) -> None:
        super().__init__(name, path)
        self._bundle = bundle

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            code = marshal.loads(self._bundle.code(fullname) or b"")  # noqa: S302 - as safe as a .pyc
        except (EOFError, ValueError, TypeError):  # the bundle is damaged, for example by a power failure
            code = None
        return code if isinstance(code, CodeType) else super().get_code(fullname)


def _interpreter() -> tuple[str, int, tuple[str, ...]]:
    """Everything besides the files that decides which code a module name refers to."""
    return sys.version, sys.flags.optimize, tuple(sys.path)


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _loader(module: ModuleType | None) -> SourceFileLoader | ExtensionFileLoader | None:
    """The loader of a module; None if it was not loaded from a file."""
    spec = getattr(module, "__spec__", None)
    loader = spec.loader if isinstance(spec, ModuleSpec) else None
    if module is not sys.modules.get("__main__") and isinstance(loader, SourceFileLoader | ExtensionFileLoader):
        return loader
    return None


_bundles: list[_Bundle] = []


def use(program: str) -> None:
    """From now on, import from this program's bundle as far as it is valid."""
    name = f"{program}.{sys.implementation.cache_tag}.bundle"
    bundle = _Bundle(os.path.join(os.path.dirname(__file__), "__pycache__", name))
    _bundles.append(bundle)
    with suppress(OSError, ValueError, EOFError, TypeError, OverflowError, MemoryError):
        bundle.load()
        sys.meta_path.insert(0, bundle)  # type: ignore[arg-type]


def keep() -> None:
    """Leave the bundles as they are: this process has loaded modules that a start does not need."""
    _bundles.clear()


def save() -> None:
    """Add the modules that are loaded now to the bundles in use. Does nothing if they cannot be written."""
    if not sys.dont_write_bytecode:
        with suppress(OSError, ValueError, ImportError, SyntaxError):
            for bundle in _bundles:
                bundle.save()
