"""The repository contains no registry hosts and no machine-specific paths, and every dependency is pinned by hash."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.repository import ROOT, texts

# Written in pieces, so that this file does not match.
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


def test_no_file_contains_a_registry_host():
    assert [name for name, text in texts() if REGISTRY_HOSTS.search(text)] == []


def test_no_file_contains_a_machine_specific_path():
    assert [name for name, text in texts() if MACHINE_PATHS.search(text) or names_this_checkout(text)] == []


def names_this_checkout(text: str) -> bool:
    """Whether the text contains the path of this checkout. Short paths, as in a container, would match other text."""
    return len(ROOT.parts) > 3 and str(ROOT) in text


def test_every_pinned_package_is_pinned_by_hash():
    text = (ROOT / "constraints.txt").read_text().replace("\\\n", " ")
    loose = [line for line in text.splitlines() if "==" not in line or "--hash=sha256:" not in line]
    assert (loose, "--index-url" in text, "://" in text) == ([], False, False)


def test_every_requirement_is_pinned():
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = configuration["project"], configuration["dependency-groups"]
    lists = (project["dependencies"], *project["optional-dependencies"].values(), *groups.values())
    asked = [item for items in lists for item in items]
    names = {re.split(r"[\[<>=; ]", item, maxsplit=1)[0] for item in asked}
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert sorted(names - pinned) == []
