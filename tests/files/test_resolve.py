"""Resolving paths on the disk."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from handrail.files.resolve import MOST_NAMES, CallPaths, Disk, OneFile, anchors_of, real_path, resolve
from handrail.permissions.paths.matching import Resolved
from tests.files.race import PATHS, adversary, build
from tests.permissions.path_layout import Layout, build_layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return build_layout(tmp_path_factory.mktemp("layout"))


def test_plain_file_resolves_to_itself(layout: Layout):
    path = f"{layout.cwd}/src/app.ts"
    assert layout.resolve("src/./app.ts") == Resolved(asked="src/./app.ts", lexical=path, real=path, kind="file")


@pytest.mark.parametrize(
    ("path", "kind", "real"),
    [
        ("src", "directory", "/w/proj/src"),
        ("src/", "directory", "/w/proj/src"),
        ("new/folder/file", "missing", "/w/proj/new/folder/file"),
        ("src/app.ts/x", "missing", "/w/proj/src/app.ts/x"),
        ("new/../src", "directory", "/w/proj/src"),
        ("key", "file", "/w/home/.ssh/id_rsa"),
        ("link/notes.txt", "missing", "/w/home/notes.txt"),
        ("dangling", "missing", "/w/home/.bashrc"),
        ("in/x.ts", "file", "/w/proj/src/deep/x.ts"),
        ("~/.ssh", "directory", "/w/home/.ssh"),
        ("~", "directory", "/w/home"),
        ("~root/x", "missing", "/w/proj/~root/x"),
        ("fifo", "fifo", "/w/proj/fifo"),
        ("loop1", "loop", None),
        ("loop1/x", "loop", None),
        ("/dev/null", "device", "/dev/null"),
        ("/", "directory", "/"),
        ("x\x00y", "other", None),
        ("\ud800", "other", None),
        ("n" * 300, "other", None),
        ("n/" * 3000, "other", None),
    ],
)
def test_a_path_is_followed_as_far_as_it_exists(layout: Layout, path: str, kind: str, real: str | None):
    resolved = layout.resolve(path)
    assert (resolved.kind, resolved.real) == (kind, real and layout.path(real))


def test_socket_has_its_kind(layout: Layout, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(layout.cwd)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        assert layout.resolve("sock").kind == "socket"


def test_links_on_the_path_are_listed(layout: Layout):
    assert layout.resolve("key").via == (f"{layout.w}/home/.ssh/id_rsa",)
    assert layout.resolve("in/x.ts").via == (f"{layout.cwd}/src/deep",)


def test_dot_dot_after_a_link_is_resolved_both_by_the_kernel_and_by_text(layout: Layout):
    resolved = layout.resolve("link/../proj_evil/s")
    assert (resolved.lexical, resolved.real) == (f"{layout.cwd}/proj_evil/s", f"{layout.w}/proj_evil/s")
    assert resolved.ambiguous
    assert f"{layout.cwd}/proj_evil/s" in resolved.via


def test_the_more_dangerous_of_both_readings_counts(layout: Layout):
    assert layout.resolve("in/../fifo").kind == "fifo"
    resolved = layout.resolve("in/../loop1")
    assert (resolved.kind, resolved.ambiguous) == ("loop", True)
    assert f"{layout.w}/home/.ssh/id_rsa" in layout.resolve("in/../key").via


def test_hard_links_are_counted(layout: Layout):
    assert layout.resolve("hard").links == 2
    assert layout.resolve("src/app.ts").links == 1


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/self", "/proc/4194304/x", "/dev/stdin", "/proc/self/root/etc"]
)
@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="there is no /proc")
def test_path_through_proc_is_process_information(layout: Layout, path: str):
    assert layout.resolve(path).kind == "proc"


def test_path_through_proc_has_its_real_target(layout: Layout):
    resolved = layout.resolve("/proc/self/root/w/home/.ssh/id_rsa")
    assert (resolved.kind, resolved.real) == ("proc", f"{layout.w}/home/.ssh/id_rsa")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_contents_of_an_unsearchable_folder_are_unknown(tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        assert resolve(str(closed / "x"), anchors_of(str(tmp_path))).kind == "other"
    finally:
        closed.chmod(0o700)


@pytest.mark.parametrize(
    "path", ["src", "src/", "new/../src", "key", "link/notes.txt", "dangling", "in/x.ts", "src/app.ts/x"]
)
def test_real_path_agrees_with_realpath(layout: Layout, path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(layout.cwd)
    assert real_path(path) == real_path(f"{layout.cwd}/{path}") == os.path.realpath(path)


def test_real_path_of_a_link_loop_is_the_path_itself(layout: Layout):
    assert real_path(f"{layout.cwd}/./loop1/x") == f"{layout.cwd}/loop1/x"


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged in one step with renameat2")
def test_real_path_never_fails_while_names_are_swapped(tmp_path: Path):
    project = build(tmp_path)
    expected = {f"{tmp_path}/{place}/{path}" for path in PATHS for place in ("inside", "outside")}
    with adversary(project):
        # os.path.realpath raises EINVAL in about one of 70 of these calls.
        found = {real_path(f"{project}/{path}") for _ in range(2000) for path in PATHS}
    assert found <= expected


def test_anchors_have_both_spellings(tmp_path: Path):
    (tmp_path / "real" / "extra").mkdir(parents=True)
    os.symlink("real", tmp_path / "link")
    here, real = f"{tmp_path}/link", os.path.realpath(tmp_path / "real")
    anchors = anchors_of(here, home=here, additional=["extra", "extra"])
    assert (anchors.project, anchors.real_cwd, anchors.real_home, anchors.real_project) == (here, real, real, real)
    assert anchors.additional == (f"{here}/extra", f"{real}/extra")
    assert Disk(anchors).resolve("extra").real == f"{real}/extra"


def test_home_defaults_to_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert anchors_of("/").home == str(tmp_path)


def test_invalid_additional_folder_is_omitted(tmp_path: Path):
    assert anchors_of(str(tmp_path), additional=["", "a\x00b", "c"]).additional == (str(tmp_path / "c"),)


def test_paths_of_a_call_do_not_change(tmp_path: Path):
    paths = CallPaths(anchors_of(str(tmp_path)))
    before = paths.resolve("a")
    (tmp_path / "a").touch()
    assert (before.kind, paths.resolve("a").kind, paths.resolve("./a").kind) == ("missing", "missing", "file")


def test_a_decision_about_one_file_sees_only_that_file(layout: Layout):
    resolved = layout.resolve("key")
    assert OneFile(resolved).resolve("anything") is resolved


def test_world_of_a_call_sees_folders_as_they_are_now(tmp_path: Path):
    anchors = anchors_of(str(tmp_path), home=str(tmp_path))
    paths = CallPaths(anchors)
    (tmp_path / "a").write_text("")
    assert (paths.names("."), paths.is_plain(".")) == (("a",), True)
    (tmp_path / "b c").write_text("")
    assert (len(paths.names(".") or ()), paths.is_plain(".")) == (2, False)


def test_world_of_one_file_has_no_folders(tmp_path: Path):
    one = OneFile(resolve("a", anchors_of(str(tmp_path), home=str(tmp_path))))
    assert (one.names("."), one.is_plain(".")) == ((), False)


def test_the_names_in_a_folder_are_listed(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").touch()
    disk = Disk(anchors_of(str(tmp_path)))
    assert set(disk.names(".") or ()) == {"a", "b"}
    assert disk.names("missing") == ()
    assert disk.names("b") == ()
    assert disk.names("a\x00b") == ()


def test_a_folder_with_too_many_names_is_not_listed(tmp_path: Path):
    for number in range(MOST_NAMES + 1):
        (tmp_path / str(number)).touch()
    disk = Disk(anchors_of(str(tmp_path)))
    assert disk.names(".") is None
    assert not disk.is_plain(".")


@pytest.mark.parametrize("name", ["-x", "a b", "a'b", 'a"b', "a\\b", "a*", "a\nb"])
def test_a_folder_with_odd_names_is_not_plain(tmp_path: Path, name: str):
    (tmp_path / "sub").mkdir()
    disk = Disk(anchors_of(str(tmp_path)))
    assert disk.is_plain(".")
    (tmp_path / "sub" / name).touch()
    assert not disk.is_plain(".")


def test_a_folder_with_links_is_not_plain(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link").symlink_to("/")
    disk = Disk(anchors_of(str(tmp_path)))
    assert not disk.is_plain(".")
    assert not disk.is_plain("missing")
