"""The bundle of modules that a program imports at its start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import handrail.import_bundle

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from bundle import import_bundle
import_bundle.use("program")
from package import module
loaded = {name: type(sys.modules[name].__spec__.loader).__name__ for name in ("package", "package.module")}
exec(sys.argv[2])
import_bundle.save()
print(json.dumps([module.VALUE, loaded, module.__file__, sys.modules["package"].__path__]))
"""
BUNDLED, FROM_FILES = "_Loader", "SourceFileLoader"


class Place:
    """A folder with a copy of the module under test, and a package that a program imports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bundles = folder / "bundle" / "__pycache__"
        self.module = folder / "package" / "module.py"
        for name in ("bundle", "package"):
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text("")
        (folder / "bundle" / "import_bundle.py").write_bytes(Path(handrail.import_bundle.__file__).read_bytes())
        self.module.write_text("VALUE = 1\n")

    def run(self, *options: str, before_save: str = "", **environment: str) -> tuple[Any, dict[str, str]]:
        """Run the program. Returns the value of the module, and which loader each module came from."""
        command = [sys.executable, "-s", *options, "-c", PROGRAM, str(self.folder), before_save]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        value, loaded, file, path = json.loads(done.stdout)
        assert (file, path) == (str(self.module), [str(self.module.parent)])
        return value, loaded

    def files(self) -> list[Path]:
        return sorted(self.bundles.glob("*.bundle*"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_second_start_imports_from_the_bundle(place: Place):
    assert place.run() == (1, {"package": FROM_FILES, "package.module": FROM_FILES})
    assert place.run() == (1, {"package": BUNDLED, "package.module": BUNDLED})
    assert [file.name for file in place.files()] == [f"program.{sys.implementation.cache_tag}.bundle"]


def test_changed_module_is_read_from_its_file_and_bundled_again(place: Place):
    place.run()
    place.module.write_text("VALUE = 'new'\n")
    assert place.run() == ("new", {"package": BUNDLED, "package.module": FROM_FILES})
    assert place.run() == ("new", {"package": BUNDLED, "package.module": BUNDLED})


def test_change_of_the_same_size_is_noticed(place: Place):
    place.run()
    place.module.write_text("VALUE = 2\n")
    os.utime(place.module, ns=(1, 1))
    assert place.run()[0] == 2


def test_kept_bundle_is_used_and_not_written(place: Place):
    assert place.run(before_save="import_bundle.keep()")[1]["package.module"] == FROM_FILES
    assert place.files() == []
    place.run()
    (place.folder / "package" / "module.py").write_text("VALUE = 'new'\n")
    assert place.run(before_save="import_bundle.keep()") == ("new", {"package": BUNDLED, "package.module": FROM_FILES})
    assert place.run() == ("new", {"package": BUNDLED, "package.module": FROM_FILES})


def test_removed_module_is_not_imported(place: Place):
    place.run()
    place.module.unlink()
    with pytest.raises(subprocess.CalledProcessError) as error:
        place.run()
    assert "cannot import name 'module'" in error.value.stderr


def test_bundle_of_another_path_is_not_used(place: Place, tmp_path: Path):
    place.run()
    assert place.run(PYTHONPATH=str(tmp_path / "other"))[1]["package.module"] == FROM_FILES


def test_bundle_without_docstrings_is_only_used_without_them(place: Place):
    place.run("-OO")
    assert place.run()[1]["package.module"] == FROM_FILES


@pytest.mark.parametrize(
    "damage", [b"", b"\0" * 8, b"\xff" * 64, b"garbage" * 100], ids=["empty", "zero", "ff", "text"]
)
def test_damaged_index_is_ignored_and_written_again(place: Place, damage: bytes):
    place.run()
    (file,) = place.files()
    file.write_bytes(damage)
    assert place.run() == (1, {"package": FROM_FILES, "package.module": FROM_FILES})
    assert place.run() == (1, {"package": BUNDLED, "package.module": BUNDLED})


@pytest.mark.parametrize("fill", [None, b"\0", b"\xff", b"N"])
def test_module_with_damaged_code_is_read_from_its_file(place: Place, fill: bytes | None):
    """`N` is the marshalled form of None."""
    place.run()
    (file,) = place.files()
    whole = file.read_bytes()
    index = 8 + int.from_bytes(whole[:8], "little")
    file.write_bytes(whole[:index] + (b"" if fill is None else fill * (len(whole) - index)))
    assert place.run()[0] == 1


def test_nothing_is_written_where_python_writes_no_bytecode(place: Place):
    place.run(PYTHONDONTWRITEBYTECODE="1")
    assert place.files() == []


def test_unwritable_folder_is_not_an_error(place: Place):
    place.bundles.write_text("a file in the place of the folder")
    assert place.run("-B")[0] == place.run()[0] == 1
