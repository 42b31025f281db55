"""Paths are opened only below their folder."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.files.errors import (
    FileError,
    FileNotThere,
    LinkInTheWay,
    OtherNames,
    OutsideRoot,
    TooLarge,
    WrongKind,
)
from handrail.files.open import (
    Root,
    open_folder,
    open_resolved,
    read_resolved,
    refreshed,
    siblings,
    stat_resolved,
    write_resolved,
)
from handrail.files.openat2 import kernel_beneath, opener, walk_beneath
from tests.permissions.path_layout import Layout, build_layout

WAYS = [walk_beneath, *([kernel_beneath] if opener() is kernel_beneath else [])]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return build_layout(tmp_path)


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def root(layout: Layout, request: pytest.FixtureRequest) -> Iterator[Root]:
    with Root(layout.cwd, open_with=request.param) as root:
        yield root


@pytest.mark.parametrize("path", ["src/app.ts", "src/../src/app.ts", "{cwd}/src/app.ts", "in/../app.ts"])
def test_a_file_below_the_folder_is_read(root: Root, layout: Layout, path: str):
    assert root.read(path.format(cwd=layout.cwd)) == b"proj/src/app.ts"


def test_a_file_is_open_for_reading(root: Root):
    with root.open("src/app.ts") as file:
        assert file.read(4) == b"proj"


@pytest.mark.parametrize(
    ("path", "error", "word"),
    [
        ("missing", FileNotThere, "no such file"),
        ("../proj_evil/s", OutsideRoot, "leads out"),
        ("/etc/passwd", OutsideRoot, "not below"),
        ("{w}/proj_evil/s", OutsideRoot, "not below"),
        ("key", OutsideRoot, "leads out"),
        ("link/.ssh/id_rsa", OutsideRoot, "leads out"),
        ("loop1", LinkInTheWay, "circle"),
        ("fifo", WrongKind, "a pipe"),
        ("src", WrongKind, "a folder"),
        ("", WrongKind, "a folder"),
        ("{cwd}", WrongKind, "a folder"),
        ("src/app.ts/x", WrongKind, "not a folder"),
        ("x\x00y", FileError, "NUL"),
        ("\ud800", FileError, "encoded"),
        ("n" * 300, FileError, "too long"),
    ],
)
def test_read_error_gives_the_reason(root: Root, layout: Layout, path: str, error: type[FileError], word: str):
    with pytest.raises(FileError, match=word) as caught:
        root.read(path.format(w=layout.w, cwd=layout.cwd))
    assert type(caught.value) is error


def test_a_socket_is_refused(root: Root, layout: Layout, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(layout.cwd)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        with pytest.raises(WrongKind):
            root.read("sock")


@pytest.mark.parametrize("path", ["/dev/null", "/proc/self/environ", "/proc/self/fd/0", "/proc"])
@pytest.mark.parametrize("way", WAYS)
def test_devices_and_process_information_are_refused(path: str, way: object):
    with Root("/", open_with=way) as root, pytest.raises(FileError):  # type: ignore[arg-type]
        root.read(path)
    with Root("/", open_with=way) as root, pytest.raises(FileError):  # type: ignore[arg-type]
        root.entries(path)


def test_a_file_over_the_limit_is_not_read(root: Root):
    assert root.read("src/app.ts", limit=15) == b"proj/src/app.ts"
    with pytest.raises(TooLarge, match="15 bytes, and at most 14"):
        root.read("src/app.ts", limit=14)


def test_a_huge_file_is_refused_by_its_size(root: Root, layout: Layout):
    with open(f"{layout.cwd}/huge", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        root.read("huge")


def test_file_larger_than_its_stat_size_is_cut_off_at_the_limit(monkeypatch: pytest.MonkeyPatch, root: Root):
    class SaysNothing:
        st_mode, st_size, st_nlink = stat.S_IFREG, 0, 1

    monkeypatch.setattr(os, "fstat", lambda descriptor: SaysNothing)
    with pytest.raises(TooLarge, match="15 bytes"):
        root.read("src/app.ts", limit=14)


def test_file_with_unexpected_hard_links_is_refused(root: Root):
    with pytest.raises(OtherNames, match="2 names"):
        root.read("hard", most_names=1)
    assert root.read("hard", most_names=2) == root.read("hard")


def test_link_is_an_error_if_links_are_not_followed(root: Root):
    assert root.read("in/x.ts") == b"proj/src/deep/x.ts"
    with pytest.raises(LinkInTheWay, match="links are not followed"):
        root.read("in/x.ts", follow_links=False)


def test_written_file_is_complete_and_keeps_its_permissions(root: Root, layout: Layout):
    old = Path(layout.cwd, "src/app.ts")
    old.chmod(0o750)
    root.write("src/app.ts", b"new")
    assert (old.read_bytes(), old.stat().st_mode & 0o7777) == (b"new", 0o750)
    assert os.listdir(f"{layout.cwd}/src") in (["app.ts", "deep"], ["deep", "app.ts"])


def test_mode_of_a_new_file_respects_the_umask(root: Root, layout: Layout):
    before = os.umask(0o027)
    try:
        root.write("new.txt", b"x")
        root.write("secret.txt", b"x", mode=0o600)
    finally:
        os.umask(before)
    modes = [os.stat(f"{layout.cwd}/{name}").st_mode & 0o777 for name in ("new.txt", "secret.txt")]
    assert modes == [0o640, 0o600]


def test_a_replaced_file_loses_its_set_user_id(root: Root, layout: Layout):
    Path(layout.cwd, "src/app.ts").chmod(0o4755)
    root.write("src/app.ts", b"x")
    assert os.stat(f"{layout.cwd}/src/app.ts").st_mode & 0o7777 == 0o755


def test_write_does_not_change_hard_links(root: Root, layout: Layout):
    root.write("hard", b"mine")
    assert Path(layout.w, "home/.ssh/id_rsa").read_text() == "home/.ssh/id_rsa"
    assert root.read("hard") == b"mine"


def test_missing_folders_are_created_only_on_request(root: Root, layout: Layout):
    with pytest.raises(FileNotThere):
        root.write("new/deep/file", b"x")
    root.write("new/deep/file", b"x", make_folders=True)
    root.write("top", b"x", make_folders=True)
    root.write("in/below/file", b"x", make_folders=True)
    assert Path(layout.cwd, "src/deep/below/file").read_bytes() == b"x"
    assert root.read("new/deep/file") == b"x"


def test_folder_created_concurrently_is_used(root: Root, layout: Layout, monkeypatch: pytest.MonkeyPatch):
    make = os.mkdir

    def make_twice(name: str, *, dir_fd: int) -> None:
        make(name, dir_fd=dir_fd)
        make(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", make_twice)
    root.write("new/file", b"x", make_folders=True)
    assert root.read("new/file") == b"x"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("link/new.txt", OutsideRoot),
        ("../new.txt", OutsideRoot),
        ("key", LinkInTheWay),
        ("dangling", LinkInTheWay),
        ("fifo", WrongKind),
        ("src", WrongKind),
        ("src/", WrongKind),
        (".", WrongKind),
        ("src/..", WrongKind),
        ("x\x00y", FileError),
    ],
)
def test_failed_write_changes_nothing(root: Root, layout: Layout, path: str, error: type[FileError]):
    with pytest.raises(FileError) as caught:
        root.write(path, b"x", make_folders=True)
    assert type(caught.value) is error
    assert sorted(os.listdir(f"{layout.w}/home")) == [".ssh"]
    assert sorted(os.listdir(layout.w)) == ["home", "proj", "proj_evil"]
    assert not [name for name in os.listdir(layout.cwd) if name.endswith(".unfinished")]


def test_failed_write_keeps_the_old_file_and_leaves_no_temporary_file(
    root: Root, layout: Layout, monkeypatch: pytest.MonkeyPatch
):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        root.write("src/app.ts", b"new")
    assert root.read("src/app.ts") == b"proj/src/app.ts"
    assert sorted(os.listdir(f"{layout.cwd}/src")) == ["app.ts", "deep"]


def test_file_of_another_owner_is_written_even_if_chown_fails(root: Root, monkeypatch: pytest.MonkeyPatch):
    def refused(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refused)
    root.write("src/app.ts", b"new")
    assert root.read("src/app.ts") == b"new"


def test_a_folder_is_listed_without_following_its_links(root: Root):
    listing = root.entries()
    kinds = {entry.name: entry.kind for entry in listing.entries}
    assert listing.complete
    assert list(kinds) == sorted(kinds)
    assert {name: kinds[name] for name in ("src", "fifo", "link", "loop1", "hard")} == {
        "src": "directory",
        "fifo": "fifo",
        "link": "link",
        "loop1": "link",
        "hard": "file",
    }
    assert [(entry.name, entry.size) for entry in root.entries("in").entries] == [("x.ts", 18)]


def test_long_listing_is_truncated(root: Root):
    listing = root.entries(limit=2)
    assert (len(listing.entries), listing.complete) == (2, False)


def test_name_deleted_during_listing_is_omitted(root: Root, layout: Layout, monkeypatch: pytest.MonkeyPatch):
    class Gone:
        name = "gone"

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise FileNotFoundError(self.name)

    class Scan:
        def __enter__(self) -> list[Gone]:
            return [Gone()]

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(os, "scandir", lambda descriptor: Scan())
    assert root.entries().entries == []


@pytest.mark.parametrize("path", ["link", "..", "src/app.ts", "missing"])
def test_only_folders_below_the_root_are_listed(root: Root, path: str):
    with pytest.raises(FileError):
        root.entries(path)


def test_missing_folder_is_an_error(layout: Layout):
    with pytest.raises(FileNotThere):
        Root(f"{layout.cwd}/missing")


def test_a_closed_folder_opens_nothing_and_closes_once(layout: Layout):
    root = Root(layout.cwd)
    root.close()
    root.close()
    with pytest.raises(FileError):
        root.read("src/app.ts")


def test_a_folder_that_is_moved_is_still_the_same_folder(layout: Layout):
    with Root(layout.cwd) as root:
        os.rename(layout.cwd, f"{layout.w}/moved")
        os.symlink(f"{layout.w}/home", layout.cwd)
        assert root.read("src/app.ts") == b"proj/src/app.ts"


def test_resolved_file_is_read(layout: Layout):
    resolved = layout.resolve("key")
    assert read_resolved(resolved) == b"home/.ssh/id_rsa"
    with open_resolved(resolved) as file:
        assert file.read() == b"home/.ssh/id_rsa"


def test_link_created_after_the_decision_is_not_followed(layout: Layout):
    resolved = layout.resolve("src/app.ts")
    os.remove(f"{layout.cwd}/src/app.ts")
    os.symlink(f"{layout.w}/home/.ssh/id_rsa", f"{layout.cwd}/src/app.ts")
    with pytest.raises(LinkInTheWay):
        read_resolved(resolved)
    with pytest.raises(LinkInTheWay):
        write_resolved(resolved, b"x")


def test_a_folder_that_became_a_link_since_the_decision_is_not_followed(layout: Layout):
    resolved = layout.resolve("src/app.ts")
    shutil.rmtree(f"{layout.cwd}/src")
    os.symlink(f"{layout.w}/home", f"{layout.cwd}/src")
    with pytest.raises(LinkInTheWay):
        read_resolved(resolved)
    with pytest.raises(LinkInTheWay):
        write_resolved(resolved, b"x")
    assert sorted(os.listdir(f"{layout.w}/home")) == [".ssh"]


def test_hard_link_created_after_the_decision_is_detected(layout: Layout):
    resolved = layout.resolve("src/app.ts")
    os.remove(f"{layout.cwd}/src/app.ts")
    os.link(f"{layout.w}/home/.ssh/id_rsa", f"{layout.cwd}/src/app.ts")
    with pytest.raises(OtherNames):
        read_resolved(resolved)


def test_resolved_file_is_written(layout: Layout):
    write_resolved(layout.resolve("dangling"), b"x")
    write_resolved(layout.resolve("new/folder/file"), b"y", make_folders=True, mode=0o600)
    assert Path(layout.w, "home/.bashrc").read_bytes() == b"x"
    assert Path(layout.cwd, "new/folder/file").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["fifo", "loop1", "/dev/null", "x\x00y", "/proc/self/environ"])
def test_refused_paths_are_not_opened(layout: Layout, path: str):
    with pytest.raises(WrongKind):
        read_resolved(layout.resolve(path))


def test_nul_in_the_folder_name_is_a_clear_error():
    with pytest.raises(FileError, match="it contains a NUL"):
        Root("a\x00b")


def test_path_to_the_same_place_is_refreshed(layout: Layout):
    plain, missing, behind_file = (layout.resolve(path) for path in ("src/app.ts", "new", "src/app.ts/x"))
    assert refreshed(plain) == plain
    assert refreshed(behind_file) == behind_file
    os.remove(f"{layout.cwd}/src/app.ts")
    Path(layout.cwd, "new").touch()
    assert (refreshed(plain).kind, refreshed(missing).kind) == ("missing", "file")
    refused = layout.resolve("fifo")
    assert refreshed(refused) is refused


@pytest.mark.parametrize("other", ["link", "folder", "fifo"])
def test_path_to_something_else_is_not_refreshed(layout: Layout, other: str):
    resolved, path = layout.resolve("src/app.ts"), f"{layout.cwd}/src/app.ts"
    os.remove(path)
    make = {"link": lambda: os.symlink("deep", path), "folder": lambda: os.mkdir(path), "fifo": lambda: os.mkfifo(path)}
    make[other]()
    with pytest.raises(LinkInTheWay if other == "link" else WrongKind):
        refreshed(resolved)


def test_a_file_whose_folder_became_a_file_is_not_refreshed(layout: Layout):
    resolved = layout.resolve("src/app.ts")
    shutil.rmtree(f"{layout.cwd}/src")
    Path(layout.cwd, "src").touch()
    with pytest.raises(WrongKind):
        refreshed(resolved)


def test_resolved_folder_is_opened_and_listed(layout: Layout):
    with open_folder(layout.resolve("src")) as folder:
        assert "app.ts" in os.listdir(folder)
    assert "app.ts" in siblings(layout.resolve("src/missing"))
    assert stat.S_ISDIR(stat_resolved(layout.resolve("/")).st_mode)
    resolved, other = layout.resolve("src"), layout.resolve("src/missing")
    shutil.rmtree(f"{layout.cwd}/src")
    os.symlink(f"{layout.w}/home", f"{layout.cwd}/src")
    with pytest.raises(LinkInTheWay), open_folder(resolved):
        pass
    with pytest.raises(LinkInTheWay):
        siblings(other)


def test_folder_must_be_within_the_given_folders(layout: Layout, tmp_path: Path):
    inside, outside = Path(layout.cwd), Path(layout.w)
    for within in ([layout.cwd], [layout.w], ["/"], ["/no/such", "a\x00b", layout.cwd]):
        Root(f"{layout.cwd}/src", within=within).close()
    for within in ([], [f"{layout.cwd}/src/deep"], ["/no/such"]):
        with pytest.raises(OutsideRoot, match="no longer"):
            Root(f"{layout.cwd}/src", within=within)
    (inside / "moved-out").symlink_to(outside / "home")
    with pytest.raises(OutsideRoot):
        Root(f"{layout.cwd}/moved-out", within=[layout.cwd])


def test_a_folder_whose_parents_cannot_be_opened_is_outside(layout: Layout, monkeypatch: pytest.MonkeyPatch):
    real = os.open

    def closed(path: str, *given: object, **more: object) -> int:
        if path == "..":
            raise PermissionError(13, "denied", path)
        return real(path, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("os.open", closed)
    with pytest.raises(OutsideRoot):
        Root(f"{layout.cwd}/src", within=[layout.cwd])
