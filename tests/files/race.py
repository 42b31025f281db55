"""Opens paths while another process swaps their parts with links, and counts how often an open ends outside.

The other process repeatedly swaps, in one system call, a folder with a link to a folder outside, and a file with a link
to a file outside. Handrail's file module and the usual check (`realpath`, compare, open) read the same paths in turn. A
run is good if the module never read anything outside, and if the usual check did often enough to show that the race was
real.

    python tests/files/race.py --opens 100000
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from handrail.files.errors import FileError
from handrail.files.open import Root, read_resolved
from handrail.files.openat2 import kernel_beneath, opener, walk_beneath
from handrail.files.resolve import anchors_of, resolve

SECRET = b"outside"
ENOUGH_ESCAPES = 100
PATHS = ("folder/file", "file")
_AT_FDCWD, _EXCHANGE = -100, 2


def build(base: Path, name: str = "inside") -> str:
    """Create a folder with two names that will be swapped with links to the outside. Returns its path."""
    inside, outside = base / name, base / "outside"
    (inside / "folder").mkdir(parents=True)
    (outside / "folder").mkdir(parents=True)
    for place, text in ((inside, b"inside"), (outside, SECRET)):
        (place / "folder" / "file").write_bytes(text)
        (place / "file").write_bytes(text)
    os.symlink(outside / "folder", inside / "other-folder")
    os.symlink(outside / "file", inside / "other-file")
    return str(inside)


def swap_until_killed(folder: str) -> None:
    """Swap the names in an endless loop. Prints `begun` after the first swap."""
    os.chdir(folder)
    libc = ctypes.CDLL(None, use_errno=True)
    pairs = [(b"folder", b"other-folder"), (b"file", b"other-file")]
    for first, second in pairs:
        if libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE):
            raise OSError(ctypes.get_errno(), "this file system cannot swap names with renameat2")
    print("begun", flush=True)
    chance = random.Random(1)
    while True:
        # Bursts with pauses: a call that resolves a path several times can succeed only during a pause.
        for _ in range(chance.randrange(1, 60)):
            for first, second in pairs:
                libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
        time.sleep(chance.random() * 0.004)


@contextlib.contextmanager
def adversary(folder: str) -> Iterator[None]:
    """Run the swapping process while the context is open."""
    process = subprocess.Popen([sys.executable, __file__, "--exchange", folder], stdout=subprocess.PIPE)
    try:
        if process.stdout is None or process.stdout.readline() != b"begun\n":
            raise RuntimeError("the swapping process did not start")
        yield
    finally:
        process.kill()
        process.communicate()


def ways(folder: str) -> Iterator[tuple[str, Callable[[str], bytes]]]:
    """The ways to read a path below the folder, by name. `naive` is the usual check, which must fail."""

    def naive(path: str) -> bytes:
        real = os.path.realpath(f"{folder}/{path}")
        if os.path.commonpath([real, folder]) != folder:
            raise PermissionError(path)
        with open(real, "rb") as file:
            return file.read()

    yield "naive", naive
    yield "walk", Root(folder, open_with=walk_beneath).read
    if opener() is kernel_beneath:
        yield "openat2", Root(folder, open_with=kernel_beneath).read

    def decided(path: str) -> bytes:
        resolved = resolve(f"{folder}/{path}", anchors_of(folder))
        if resolved.real is None or os.path.commonpath([resolved.real, folder]) != folder:
            raise PermissionError(path)
        return read_resolved(resolved)

    yield "decided", decided


def write_outside(root: Root) -> None:
    """Write through the swapped folder. The new file must never appear outside."""
    with contextlib.suppress(FileError):
        root.write("folder/written", b"inside")


def race(opens: int, folder: str) -> dict[str, dict[str, int]]:
    """Open paths in each way, in turn. Returns for each way the number of reads, refusals and escapes."""
    found = {name: {"opens": 0, "read": 0, "refused": 0, "escapes": 0} for name, _ in ways(folder)}
    readers = list(ways(folder))
    writer = Root(folder)
    with adversary(folder):
        for turn in range(opens):
            if turn % 16 == 0:
                write_outside(writer)
            for name, read in readers:
                tally = found[name]
                tally["opens"] += 1
                try:
                    escaped = read(PATHS[turn % 2]) == SECRET
                    tally["escapes" if escaped else "read"] += 1
                except (FileError, OSError):
                    tally["refused"] += 1
    outside = os.listdir(Path(folder).parent / "outside" / "folder")
    found["write"] = {"opens": -(-opens // 16), "escapes": len(outside) - 1}
    return found


def is_good(found: dict[str, dict[str, int]], *, enough: int = ENOUGH_ESCAPES) -> bool:
    """Whether the module had no escapes and the usual check had enough of them."""
    ours = sum(tally["escapes"] for name, tally in found.items() if name != "naive")
    return ours == 0 and found["naive"]["escapes"] >= enough


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opens", type=int, default=100_000, help="number of opens in each way")
    parser.add_argument("--exchange", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.exchange:
        swap_until_killed(arguments.exchange)
    with tempfile.TemporaryDirectory() as base:
        found = race(arguments.opens, build(Path(os.path.realpath(base))))
    print(json.dumps(found, indent=2))
    return 0 if is_good(found) else 1


if __name__ == "__main__":
    sys.exit(main())
