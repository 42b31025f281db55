"""The system call filter of a cage, as a BPF program for seccomp.

The filter lists the calls that are known to be safe; all others fail with EPERM, and calls newer than this file with
ENOSYS. Landlock decides which files may be opened. The filter covers what Landlock does not see: sockets, modes,
owners, times and attributes of files, namespaces, tracing, keys, io_uring, and calls that act on other processes.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from functools import cache
from typing import Final

from handrail.cage.syscalls import ARCHITECTURES, HIGHEST, numbers

__all__ = ["filter_program"]

_COMMON: Final = frozenset(
    """
    read pread64 readv preadv preadv2 write pwrite64 writev pwritev pwritev2 open openat openat2 creat close close_range
    stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 lseek getdents getdents64 readlink
    readlinkat getcwd chdir fchdir dup dup2 dup3 flock pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1
    epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime
    timerfd_gettime inotify_init inotify_init1 inotify_add_watch inotify_rm_watch sendfile splice tee vmsplice
    copy_file_range fadvise64 readahead getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr
    listxattrat file_getattr fsync fdatasync sync_file_range cachestat

    truncate ftruncate fallocate umask mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink
    symlinkat mknod mknodat

    brk mmap munmap mremap mprotect madvise mincore msync mlock mlock2 munlock mlockall munlockall pkey_alloc pkey_free
    pkey_mprotect remap_file_pages memfd_create membarrier get_mempolicy set_mempolicy mbind map_shadow_stack mseal

    fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid setsid getsid setpgid getpgid getpgrp
    set_tid_address set_robust_list get_robust_list futex futex_waitv futex_wake futex_wait futex_requeue rseq
    arch_prctl set_thread_area get_thread_area sched_yield sched_getaffinity sched_getparam sched_getscheduler
    sched_getattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval getpriority ioprio_get getcpu
    getrusage times sysinfo uname getrlimit setrlimit capget getuid geteuid getgid getegid getgroups getresuid getresgid
    setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid prctl seccomp landlock_create_ruleset
    landlock_add_rule landlock_restrict_self pidfd_open getrandom

    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time getitimer setitimer alarm timer_create
    timer_settime timer_gettime timer_getoverrun timer_delete pause

    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall

    sendmsg recvmsg recvfrom sendmmsg recvmmsg getsockopt setsockopt getsockname getpeername shutdown
    """.split()
)
"""Calls that change nothing outside the process, or only files that Landlock guards."""

_SIGNALS: Final = frozenset("kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal".split())
"""Allowed where Landlock keeps signals inside the cage."""

_NETWORK: Final = frozenset("socket socketpair connect bind listen accept accept4 sendto".split())

_BUILDS: Final = frozenset(
    """
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat setxattr lsetxattr
    fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat

    sched_setaffinity sched_setparam sched_setscheduler sched_setattr setpriority ioprio_set personality sync syncfs
    io_setup io_submit io_getevents io_cancel io_destroy io_pgetevents

    shmget shmat shmdt shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
    """.split()
)
"""Calls that builds and tests need in a writable project. Landlock does not guard the modes and times of files."""

_NAMESPACES: Final = 0x7E020000
"""The CLONE_NEW* flags of clone: mount, cgroup, UTS, IPC, user, PID and network."""
_STREAM: Final = 1
_UNIX: Final = 1
_SAFE_IOCTLS: Final = (
    0x5401,  # TCGETS: isatty
    0x802C542A,  # TCGETS2
    0x5413,  # TIOCGWINSZ
    0x540F,  # TIOCGPGRP
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
    0x80086601,  # FS_IOC_GETFLAGS
    0xC020660B,  # FS_IOC_FIEMAP
    0x40049409,  # FICLONE, into a file that is open for writing
)
_UNSAFE_IOCTLS: Final = (
    0x5412,  # TIOCSTI: types into a terminal
    0x541C,  # TIOCLINUX: pastes into a console
    0x40086602,  # FS_IOC_SETFLAGS: changes a file that is open for reading
    0x40046602,  # FS_IOC32_SETFLAGS
    0x401C5820,  # FS_IOC_FSSETXATTR
)
_SIGNAL_FCNTLS: Final = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: they let a file send signals to any process."""

# BPF instructions: code, jump if true, jump if false, constant
_LOAD: Final = 0x20
_AND: Final = 0x54
_IF_EQUAL: Final = 0x15
_IF_AT_LEAST: Final = 0x35
_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERROR: Final = 0x00050000
_REFUSE: Final = _ERROR | errno.EPERM
_MISSING: Final = _ERROR | errno.ENOSYS
_NOT_A_TERMINAL: Final = _ERROR | errno.ENOTTY

_Instruction = tuple[int, int, int, int]
_Block = list[_Instruction]


@cache
def filter_program(machine: str, *, builds: bool = False, network: bool = False, signals: bool = True) -> bytes:
    """The filter for a machine name of uname; KeyError for other machines.

    `builds` adds the calls that a writable project needs, `network` those for sockets. `signals`: Landlock scopes them.
    """
    number = numbers(machine)
    allowed = {*_COMMON}
    for names, wanted in ((_SIGNALS, signals), (_BUILDS, builds), (_NETWORK, network)):
        allowed |= names if wanted else frozenset()
    special = _special(builds=builds, network=network, signals=signals)
    program: _Block = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),  # the 32-bit entry has other numbers
        (_LOAD, 0, 0, _NUMBER),
    ]
    for name, block in special.items():
        if name in number:
            program += [(_IF_EQUAL, 0, len(block), number[name]), *block]
    program += _tree(_verdicts(number[name] for name in allowed - set(special) if name in number))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _special(*, builds: bool, network: bool, signals: bool) -> dict[str, _Block]:
    """The calls whose arguments decide. Each block ends with a return."""
    found = {
        "clone": [_argument(0), (_IF_ANY_BIT, 0, 1, _NAMESPACES), _return(_REFUSE), _return(_ALLOW)],
        "clone3": [_return(_MISSING)],  # its flags are in memory, which a filter cannot read; libraries use clone then
        "io_uring_setup": [_return(_MISSING)],
        "prlimit64": [_argument(0), *_one_of([0]), _return(_REFUSE)],
        "fcntl": [_argument(1), *_one_of(_SIGNAL_FCNTLS, _REFUSE), _return(_ALLOW)],
        "ioctl": [_argument(1), *_one_of(_SAFE_IOCTLS), _return(_NOT_A_TERMINAL)],
    }
    if builds:
        found["ioctl"] = [_argument(1), *_one_of(_UNSAFE_IOCTLS, _REFUSE), _return(_ALLOW)]
    else:
        # `nice` lowers its own priority
        found["setpriority"] = [_argument(0), *_unless(0), _argument(1), *_one_of([0]), _return(_REFUSE)]
    if not network:
        # Datagram pairs can send to any address. A stream pair is as closed as a pipe.
        kind = [_argument(1), (_AND, 0, 0, 0xF), *_one_of([_STREAM]), _return(_REFUSE)]
        found["socketpair"] = [_argument(0), *_unless(_UNIX), *kind]
        found["sendto"] = [_argument(4), *_unless(0), _argument(4, high=True), *_one_of([0]), _return(_REFUSE)]
    if not signals:
        found["kill"] = [_argument(0), *_one_of([0]), _return(_REFUSE)]  # 0 is the own process group
    return found


def _argument(index: int, *, high: bool = False) -> _Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))


def _return(verdict: int) -> _Instruction:
    return (_RETURN, 0, 0, verdict)


def _one_of(values: Iterable[int], verdict: int = _ALLOW) -> _Block:
    return [part for value in values for part in ((_IF_EQUAL, 0, 1, value), _return(verdict))]


def _unless(value: int) -> _Block:
    return [(_IF_EQUAL, 1, 0, value), _return(_REFUSE)]


def _verdicts(allowed: Iterable[int]) -> list[tuple[int, int]]:
    """Ranges of call numbers: where each begins, and its verdict."""
    wanted = set(allowed)
    ranges: list[tuple[int, int]] = []
    for number in range(HIGHEST + 2):
        verdict = _ALLOW if number in wanted else _MISSING if number > HIGHEST else _REFUSE
        if not ranges or ranges[-1][1] != verdict:
            ranges.append((number, verdict))
    return ranges


def _tree(ranges: list[tuple[int, int]]) -> _Block:
    """A binary search for the range of the call number. Each side returns, so that jumps stay short."""
    if len(ranges) == 1:
        return [_return(ranges[0][1])]
    middle = len(ranges) // 2
    low, high = _tree(ranges[:middle]), _tree(ranges[middle:])
    return [(_IF_AT_LEAST, len(low), 0, ranges[middle][0]), *low, *high]
