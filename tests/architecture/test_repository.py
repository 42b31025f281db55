"""What is checked in works on every machine: no registry is named, no path of one machine, every pin has its hashes."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.repository import ROOT, texts

# Written in pieces, or this file would name them itself.
REGISTRY_HOSTS = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in (
            ("pypi", "org"),
            ("pypi", "python", "org"),
            ("pythonhosted", "org"),
            ("npmjs", "org"),
            ("npmjs", "com"),
            ("yarnpkg", "com"),
            ("npmmirror", "com"),
            ("anaconda", "org"),
            ("docker", "io"),
            ("ghcr", "io"),
        )
    )
)
MACHINE_PATHS = re.compile(r"/work/(?:main|shared)\b|/tmp/(?:lab)\b|/root/\.|/(?:home|Users)/runner/")


def test_no_file_names_a_package_registry():
    assert [name for name, text in texts() if REGISTRY_HOSTS.search(text)] == []


def test_no_file_names_a_path_of_one_machine():
    assert [name for name, text in texts() if MACHINE_PATHS.search(text) or names_this_checkout(text)] == []


def names_this_checkout(text: str) -> bool:
    """A checkout near the root of the disk, as in a container, has a path too plain to look for."""
    return len(ROOT.parts) > 3 and str(ROOT) in text


def test_every_pinned_package_is_pinned_by_hash():
    text = (ROOT / "constraints.txt").read_text().replace("\\\n", " ")
    loose = [line for line in text.splitlines() if "==" not in line or "--hash=sha256:" not in line]
    assert (loose, "--index-url" in text, "://" in text) == ([], False, False)


def test_everything_the_project_asks_for_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(item for extra in project["optional-dependencies"].values() for item in extra)]
    names = {re.split(r"[\[<>=; ]", item, maxsplit=1)[0] for item in asked}
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert sorted(names - pinned) == []
