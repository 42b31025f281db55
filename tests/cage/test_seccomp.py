"""The system call filter, run by a small interpreter of BPF so that every architecture is tested on each."""

from __future__ import annotations

import errno
import struct

import pytest

from handrail.cage.seccomp import filter_program
from handrail.cage.syscalls import ARCHITECTURES, HIGHEST, numbers

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def verdict(machine: str, number: int, *arguments: int, architecture: int = 0, **options: bool) -> int:
    """What a filter returns for one call."""
    program = list(struct.iter_unpack("HBBI", filter_program(machine, **options)))
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *padded)
    at = value = 0
    for _ in program:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code == 0x20:
            value = struct.unpack_from("I", data, constant)[0]
        elif code == 0x54:
            value &= constant
        elif code == 0x06:
            return constant
        else:
            holds = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}[code]
            at += if_true if holds else if_false
    raise AssertionError("the filter does not return")


@pytest.fixture(params=list(ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def refused(code: int) -> int:
    return ERROR | code


@pytest.mark.parametrize(
    "name", ["read", "openat", "execve", "futex", "mmap", "exit_group", "kill", "statx", "recvmsg"]
)
def test_ordinary_calls_are_allowed(machine: str, name: str):
    assert verdict(machine, numbers(machine)[name]) == ALLOW


@pytest.mark.parametrize(
    "name", ["socket", "connect", "bind", "fchmod", "fchownat", "utimensat", "fsetxattr", "shmget"]
)
def test_calls_outside_the_list_are_refused(machine: str, name: str):
    assert verdict(machine, numbers(machine)[name]) == refused(errno.EPERM)


REFUSED = {
    "x86_64": {"ptrace": 101, "mount": 165, "bpf": 321, "keyctl": 250, "unshare": 272, "setns": 308, "kexec_load": 246},
    "aarch64": {"ptrace": 117, "mount": 40, "bpf": 280, "keyctl": 219, "unshare": 97, "setns": 268, "kexec_load": 104},
}
SAME = {
    "open_by_handle_at": (304, 265),
    "process_vm_readv": (310, 270),
    "userfaultfd": (323, 282),
    "mq_open": (240, 180),
}


def test_dangerous_calls_are_refused(machine: str):
    column = list(ARCHITECTURES).index(machine)
    found = {**REFUSED[machine], **{name: given[column] for name, given in SAME.items()}, "file_setattr": 469}
    for name, number in found.items():
        for options in ({}, {"builds": True}, {"builds": True, "network": True}):
            assert verdict(machine, number, **options) == refused(errno.EPERM), name


def test_unknown_calls_are_missing(machine: str):
    for number in (HIGHEST + 1, 1000, 0x40000000 + 39, 0xFFFFFFFF):
        assert verdict(machine, number) == refused(errno.ENOSYS)


def test_other_architectures_are_killed(machine: str):
    for architecture in (0x40000003, 0x40000028, *set(ARCHITECTURES.values()) - {ARCHITECTURES[machine]}):
        assert verdict(machine, 1, architecture=architecture) == KILL


def test_arguments_decide(machine: str):
    number = numbers(machine)
    no = refused(errno.EPERM)
    for name, arguments, expected in (
        ("clone", (0x11,), ALLOW),
        ("clone", (0x10000000 | 0x11,), no),
        ("clone", (0x40000000,), no),
        ("clone3", (), refused(errno.ENOSYS)),
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (4711, 7), no),
        ("fcntl", (3, 2), ALLOW),
        ("fcntl", (3, 8), no),
        ("fcntl", (3, 10), no),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), refused(errno.ENOTTY)),
        ("ioctl", (0, 0x40086602), refused(errno.ENOTTY)),
        ("setpriority", (0, 0, 5), ALLOW),
        ("setpriority", (0, 99, 5), no),
        ("setpriority", (2, 0, 5), no),
        ("socketpair", (1, 0x80801), ALLOW),
        ("socketpair", (1, 2), no),
        ("socketpair", (2, 1), no),
        ("sendto", (3, 0, 1, 0, 0), ALLOW),
        ("sendto", (3, 0, 1, 0, 0x1000), no),
        ("sendto", (3, 0, 1, 0, 0x100000000), no),
    ):
        assert verdict(machine, number[name], *arguments) == expected, (name, arguments)


def test_builds_may_change_modes_but_not_type_into_terminals(machine: str):
    number = numbers(machine)
    assert verdict(machine, number["fchmod"], builds=True) == ALLOW
    assert verdict(machine, number["ioctl"], 0, 0x5414, builds=True) == ALLOW
    assert verdict(machine, number["ioctl"], 0, 0x5412, builds=True) == refused(errno.EPERM)
    assert verdict(machine, number["socket"], 2, builds=True) == refused(errno.EPERM)
    assert verdict(machine, number["socket"], 2, builds=True, network=True) == ALLOW


def test_only_the_own_group_is_signalled_where_landlock_does_not_scope_signals(machine: str):
    number = numbers(machine)
    assert verdict(machine, number["kill"], 0, 9, signals=False) == ALLOW
    for target in (1, 4711, 0xFFFFFFFF):
        assert verdict(machine, number["kill"], target, 9, signals=False) == refused(errno.EPERM)
    for name in ("tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo"):
        assert verdict(machine, number[name], signals=False) == refused(errno.EPERM)
