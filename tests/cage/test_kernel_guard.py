"""What the kernel refuses to a command in the cage, tried with real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from handrail.cage.base import Limits
from tests.cage.caged import Cage, needs_guard

pytestmark = needs_guard


async def test_project_is_readable(cage: Cage):
    assert await cage.run("cat inside.txt") == (0, "INSIDE\n")


@pytest.mark.parametrize(
    "command",
    [
        "cat ../outside/secret.txt",
        "cat $(echo ../outside/secret.txt)",
        "ln -s ../outside/secret.txt $TMPDIR/link; cat $TMPDIR/link",
        "ln ../outside/secret.txt $TMPDIR/hard && cat $TMPDIR/hard",
        "mv ../outside/secret.txt $TMPDIR/moved && cat $TMPDIR/moved",
        "cp ../outside/secret.txt $TMPDIR/copy",
        "exec < ../outside/secret.txt && cat",
        "cd ../outside && cat secret.txt",
        "head -c 100 ../outside/./secret.txt",
        "setsid -w cat ../outside/secret.txt",
        "ls ../outside",
        "tar cf - ../outside",
        "source ../outside/secret.txt",
    ],
)
async def test_files_outside_are_not_readable(cage: Cage, command: str):
    ran = await cage.run(command)
    assert ran.code != 0
    assert "SECRET" not in ran.output


@pytest.mark.parametrize(
    "command",
    [
        "echo x > inside.txt",
        "echo x >> inside.txt",
        ": > new",
        "rm inside.txt",
        "mv inside.txt other",
        "mkdir folder",
        "ln -s inside.txt link",
        "ln inside.txt link",
        "mkfifo pipe",
        "truncate -s 0 inside.txt",
        "sed -i s/I/J/ inside.txt",
        "chmod 777 inside.txt",
        "touch inside.txt",
        "touch -d 2001-01-01 inside.txt",
        "cp -p ../outside/secret.txt copy",
        "cp inside.txt ../outside/copy",
        "dd if=/dev/zero of=inside.txt count=1",
    ],
)
async def test_nothing_is_written(cage: Cage, command: str):
    before = (cage.project / "inside.txt").stat()
    assert (await cage.run(command)).code != 0
    assert os.listdir(cage.project) == ["inside.txt"]
    assert os.listdir(cage.outside) == ["secret.txt"]
    after = (cage.project / "inside.txt").stat()
    assert (after.st_mode, after.st_size, after.st_mtime_ns) == (before.st_mode, before.st_size, before.st_mtime_ns)


async def test_temporary_folder_is_writable(cage: Cage):
    ran = await cage.run('echo x > "$TMPDIR/made" && sort <<< "here" && cat "$(mktemp)" "$TMPDIR/made"')
    assert ran == (0, "here\nx\n")


async def test_files_hidden_by_rules_are_not_readable(cage: Cage):
    (cage.project / ".env").write_text("KEY=SECRET\n")
    (cage.project / "deep" / "er").mkdir(parents=True)
    (cage.project / "deep" / "er" / ".env").write_text("KEY=SECRET\n")
    (cage.project / "deep" / "plain").write_text("PLAIN\n")
    (cage.project / "to_env").symlink_to(".env")
    cage.deny_reading(".env")
    ran = await cage.run("cat .env deep/er/.env to_env; grep -r KEY .; cat inside.txt deep/plain; ls deep")
    assert "SECRET" not in ran.output
    assert ran.output.endswith("INSIDE\nPLAIN\ner\nplain\n")


async def test_no_connection_is_made(cage: Cage):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        for command in (f"exec 3<>/dev/tcp/127.0.0.1/{port}", f"echo x > /dev/udp/127.0.0.1/{port}"):
            assert (await cage.run(command)).code != 0
        with pytest.raises(BlockingIOError):
            listener.accept()


SOCKETS = """
import socket, sys
made = 0
for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(getattr(socket, family), kind)
        except PermissionError:
            continue
        made += 1
left, right = socket.socketpair()
left.sendall(b"pair")
print(made, right.recv(10))
try:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except PermissionError:
    print("no datagrams")
try:
    left.connect("/run/nothing")
except PermissionError:
    print("no connections")
"""


async def test_only_a_pair_of_sockets_can_be_made(cage: Cage):
    ran = await cage.run(f"{sys.executable} -I -c '{SOCKETS}'")
    assert ran.output == "0 b'pair'\nno datagrams\nno connections\n"


async def test_no_process_outside_can_be_signalled(cage: Cage):
    for target in filter(None, (cage.witness, os.getpid(), os.getppid(), 1)):
        ran = await cage.run(f"kill -9 {target}")
        assert ran.code != 0
        assert "Operation not permitted" in ran.output
    await cage.run("kill -9 -1")
    assert (await cage.run("sleep 100 & kill $!; wait $!")).code == 128 + signal.SIGTERM


async def test_no_process_outside_can_be_traced_or_inspected(cage: Cage):
    trace = f"import ctypes; print(ctypes.CDLL(None).ptrace(16, {cage.witness}, 0, 0))"
    assert (await cage.run(f"{sys.executable} -I -c '{trace}'")).output == "-1\n"
    for name in ("environ", "cmdline", "maps", "mem", "status", "root/etc/passwd", "cwd/inside.txt", "fd"):
        for pid in (cage.witness, "$PPID"):
            assert (await cage.run(f"head -c 1 /proc/{pid}/{name} || ls /proc/{pid}/{name}/")).code != 0, name


async def test_environment_of_the_agent_is_not_readable(cage: Cage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "KEY-CANARY")
    cage.environment = dict(os.environ) | {"HOME": str(cage.home)}
    ran = await cage.run(
        "env; cat /proc/$PPID/environ /proc/self/environ /proc/*/environ; set; strings /proc/1/environ"
    )
    assert "KEY-CANARY" not in ran.output


@pytest.mark.skipif(os.getuid() != 0, reason="only root has capabilities to lose")
async def test_root_has_no_capabilities(cage: Cage):
    (cage.project / "closed").write_text("CLOSED\n")
    os.chown(cage.project / "closed", 12345, 12345)
    (cage.project / "closed").chmod(0o600)
    assert "CLOSED" not in (await cage.run("cat closed")).output
    read = (
        "import ctypes as c; d = (c.c_uint32 * 6)(); c.CDLL(None).capget((c.c_uint32 * 2)(0x20080522, 0), d); print(*d)"
    )
    assert (await cage.run(f"{sys.executable} -I -c '{read}'")).output == "0 0 0 0 0 0\n"
    for command in (
        "mount -t tmpfs x $TMPDIR",
        "chroot /",
        "hostname other",
        "date -s 2001-01-01",
        "mknod $TMPDIR/d c 1 3",
    ):
        assert (await cage.run(command)).code != 0, command


@pytest.mark.parametrize("flags", ["-U", "-m", "-n", "-p -f", "-u", "-i", "-C", "-U -r -m"])
async def test_no_namespace_can_be_made(cage: Cage, flags: str):
    assert (await cage.run(f"unshare {flags} true")).code != 0


async def test_processes_that_hide_end_with_the_command(cage: Cage):
    hide = "(setsid env -i sleep 1000 & ) ; setsid setsid env -i bash -c 'exec -a hidden sleep 1000' & "
    reads, writes = os.pipe()
    try:
        caged = await cage.start(f"{hide} echo started", writes)
        os.close(writes)
        assert await caged.wait() == 0
        assert os.read(reads, 100) == b"started\n"
        assert caged.end_all()
        assert os.read(reads, 100) == b"", "a process still holds the pipe"
    finally:
        os.close(reads)


async def test_threads_of_the_agent_stay_free(cage: Cage):
    await cage.run("true")
    assert (cage.outside / "secret.txt").read_text() == "SECRET\n"
    assert (await asyncio.to_thread((cage.outside / "secret.txt").read_text)) == "SECRET\n"
    socket.socket().close()
    outside = await asyncio.create_subprocess_exec("cat", cage.outside / "secret.txt", stdout=subprocess.PIPE)
    assert (await outside.communicate())[0] == b"SECRET\n"


async def test_program_that_does_not_exist_is_reported(cage: Cage):
    cage.limits = Limits()
    with pytest.raises(PermissionError):  # bash itself is not readable
        await cage.run("true")
