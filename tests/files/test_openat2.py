"""Opening below a folder: openat2 and our own path walk give the same results."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail import platform
from handrail.files import openat2
from handrail.files.openat2 import Opener, kernel_beneath, opener, walk_beneath
from tests.permissions.path_layout import Layout, build_layout

HAS_OPENAT2 = opener() is kernel_beneath
BOTH = [pytest.param(kernel_beneath, marks=pytest.mark.skipif(not HAS_OPENAT2, reason="no openat2")), walk_beneath]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return build_layout(tmp_path_factory.mktemp("layout"))


@pytest.fixture(scope="module")
def folder(layout: Layout) -> Iterator[int]:
    descriptor = os.open(layout.cwd, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def outcome(
    open_with: Opener, folder: int, path: str, flags: int = os.O_RDONLY, *, follow_links: bool = True
) -> str | int:
    """The inode number of the opened file, or the name of the error."""
    try:
        descriptor = open_with(folder, path, flags, follow_links=follow_links)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    found = os.fstat(descriptor).st_ino
    os.close(descriptor)
    return found


@pytest.mark.parametrize("open_with", BOTH)
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/app.ts", "src/app.ts"),
        ("./src//./app.ts", "src/app.ts"),
        ("src/../src/app.ts", "src/app.ts"),
        ("in/x.ts", "src/deep/x.ts"),
        ("in/../app.ts", "src/app.ts"),
        ("in/..", "src"),
        ("src/deep/../..", "."),
        ("src/", "src"),
        (".", "."),
        ("fifo", "fifo"),
        ("..", "EXDEV"),
        ("../proj", "EXDEV"),
        ("in/../../../proj_evil/s", "EXDEV"),
        ("/etc/passwd", "EXDEV"),
        ("key", "EXDEV"),
        ("link/x", "EXDEV"),
        ("loop1", "ELOOP"),
        ("loop1/x", "ELOOP"),
        ("missing", "ENOENT"),
        ("src/missing/x", "ENOENT"),
        ("src/app.ts/x", "ENOTDIR"),
        ("src/app.ts/..", "ENOTDIR"),
    ],
)
def test_a_path_stays_below_its_folder(layout: Layout, folder: int, open_with: Opener, path: str, expected: str):
    number = os.stat(f"{layout.cwd}/{expected}").st_ino if not expected.startswith("E") else expected
    assert outcome(open_with, folder, path) == number


@pytest.mark.parametrize("open_with", BOTH)
@pytest.mark.parametrize("path", ["in", "in/x.ts", "key", "loop1"])
def test_links_are_not_followed_if_disabled(folder: int, open_with: Opener, path: str):
    assert outcome(open_with, folder, path, follow_links=False) == "ELOOP"


@pytest.mark.parametrize("open_with", BOTH)
def test_only_a_folder_is_opened_as_a_folder(folder: int, open_with: Opener):
    assert outcome(open_with, folder, "src/app.ts", os.O_RDONLY | os.O_DIRECTORY) == "ENOTDIR"
    assert outcome(open_with, folder, "in", os.O_RDONLY | os.O_DIRECTORY) == outcome(open_with, folder, "src/deep")


@pytest.mark.skipif(not HAS_OPENAT2, reason="there is nothing to compare with")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(
    path=st.lists(
        st.sampled_from(["..", ".", "", "src", "deep", "in", "link", "key", "loop1", "app.ts", "a", "b", "proj"]),
        max_size=6,
    ).map("/".join),
    follow_links=st.booleans(),
)
def test_walk_agrees_with_the_kernel(folder: int, path: str, follow_links: bool):
    path = path or "."
    ours = outcome(walk_beneath, folder, path, follow_links=follow_links)
    assert ours == outcome(kernel_beneath, folder, path, follow_links=follow_links)


@pytest.mark.parametrize("open_with", BOTH)
def test_descriptors_do_not_leak_and_opens_do_not_block(folder: int, open_with: Opener):
    before = len(os.listdir("/dev/fd"))
    for path in ("src/app.ts", "in/x.ts", "..", "loop1", "fifo", "src/deep/../../missing"):
        outcome(open_with, folder, path)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("open_with", BOTH)
def test_descriptors_are_not_inherited(folder: int, open_with: Opener):
    descriptor = open_with(folder, "src/app.ts", os.O_RDONLY, follow_links=True)
    try:
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="the call is Linux's")
def test_nul_is_rejected_before_the_system_call(folder: int):
    assert outcome(kernel_beneath, folder, "src/app.ts\x00x") == "EINVAL"


@pytest.mark.parametrize("open_with", BOTH)
def test_new_file_has_the_given_mode(tmp_path: Path, open_with: Opener):
    parent = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.close(open_with(parent, "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, follow_links=True, mode=0o600))
    finally:
        os.close(parent)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


class BusyKernel:
    """A C library whose openat2 fails with EAGAIN several times, then opens or fails with another error."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)

    def syscall(self, *arguments: object) -> int:
        answer = self.answers.pop(0) if self.answers else errno.EAGAIN
        openat2.ctypes.set_errno(answer)
        return -1 if answer else 42


@pytest.mark.parametrize(
    ("answers", "expected"), [([errno.EAGAIN, errno.EINTR, 0], 42), ([], "EAGAIN"), ([errno.EACCES], "EACCES")]
)
def test_eagain_is_retried_a_limited_number_of_times(
    monkeypatch: pytest.MonkeyPatch, answers: list[int], expected: int | str
):
    kernel = BusyKernel(*answers)
    monkeypatch.setattr(openat2, "libc", lambda: kernel)
    try:
        found: int | str = kernel_beneath(0, "x", os.O_RDONLY, follow_links=True)
    except OSError as error:
        found = errno.errorcode[error.errno or 0]
    assert found == expected


@pytest.mark.parametrize("lacking", ["the kernel", "HANDRAIL_WITHOUT"])
def test_walk_is_used_without_openat2(lacking: str, monkeypatch: pytest.MonkeyPatch):
    if lacking == "the kernel":
        monkeypatch.setattr(openat2, "libc", lambda: BusyKernel(errno.ENOSYS))
    else:
        monkeypatch.setenv(platform.WITHOUT, "openat2")
    forget_what_was_found()
    assert opener() is walk_beneath
    monkeypatch.undo()
    forget_what_was_found()
    assert opener() is (kernel_beneath if HAS_OPENAT2 else walk_beneath)


def forget_what_was_found() -> None:
    for cached in (opener, platform.has, platform.taken_away):
        cached.cache_clear()
