"""What a package index and pip read: version, README, requirements."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from hatchling import build

from tests.architecture.repository import PACKAGE, ROOT, modules, tree_of
from tools.version import of_changelog, version

EXTRAS = {"nats": ("nats-py", "nkeys"), "postgres": ("asyncpg",)}


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """The metadata of a wheel of this checkout."""
    folder = tmp_path_factory.mktemp("metadata")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build.prepare_metadata_for_build_wheel(str(folder))
    return message_from_bytes((folder / name / "METADATA").read_bytes())


def test_readme_of_the_index_has_no_relative_link(metadata: Message):
    text = str(metadata.get_payload())
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "## Install" in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []


def test_every_import_is_part_of_the_plain_installation(metadata: Message):
    required = {re.split(r"[\s\[<>=;!~(]", line, maxsplit=1)[0] for line in plain(metadata)}
    available = required.union(*EXTRAS.values())
    known = packages_distributions()
    missing = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in modules()
        for name in imported_modules(tree_of(path))
        if name != "handrail" and name in known and not available & {one.replace("_", "-") for one in known[name]}
    }
    assert missing == set()


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """The top-level names of the imports of a module, wherever they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_the_only_extras_are_nats_and_postgres(metadata: Message):
    assert sorted(metadata.get_all("Provides-Extra", [])) == sorted(EXTRAS)
    assert [line for line in plain(metadata) if line.startswith(sum(EXTRAS.values(), ()))] == []


def plain(metadata: Message) -> list[str]:
    """The requirements without those of an extra."""
    return [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]


def test_a_build_without_tags_has_the_newest_version_of_the_changelog(tmp_path: Path):
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.4.0 (unreleased)\n\n## 1.3.2 (2027-01-01)\n")
    assert version(tmp_path) == "1.4.0"


def test_a_tag_names_the_version_and_later_commits_are_development_versions(tmp_path: Path):
    (tmp_path / "CHANGELOG.md").write_text("## 1.4.0\n")

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "One")
    assert version(tmp_path) == "1.4.0"
    git("tag", "v1.4.1")
    assert version(tmp_path) == "1.4.1"
    git("commit", "--quiet", "--allow-empty", "--message", "Two")
    git("commit", "--quiet", "--allow-empty", "--message", "Three")
    assert version(tmp_path) == "1.4.2.dev2"


def test_a_source_distribution_keeps_its_version(tmp_path: Path):
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: handrail\nVersion: 1.5.0\n")
    assert version(tmp_path) == "1.5.0"


def test_the_changelog_has_a_version(metadata: Message):
    assert re.fullmatch(r"\d+\.\d+\.\d+", of_changelog())
    assert metadata["Version"] == version()
