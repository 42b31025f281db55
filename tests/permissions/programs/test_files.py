"""The files that a command names, and what becomes of them."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.files import WRITES_FILES, files_of
from tests.permissions.command_words import shown, words_of


def touched(text: str) -> list[str]:
    """`read x`, `write x!`: a sign for what is not what the program is for."""
    return [
        f"{touch.access} {shown(touch.word.text)}{'!' if touch.extra else ''}" for touch in files_of(words_of(text))
    ]


def test_no_words_name_no_files():
    assert files_of(()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frobnicate a b", []),
        ("cat a b", ["read a", "read b"]),
        ("/bin/cat a", ["read a"]),
        ("cat", []),
        ("cat -n a", ["read a"]),
        ("cat -- -n", ["read -n"]),
        ("cat -", ["read -"]),
        ("head -n 5 a", ["read a"]),
        ("head -n5 a", ["read a"]),
        ("head -qn 5 a", ["read a"]),
        ("tail --pid 7 a", ["read a"]),
        ("tail --pid=7 a", ["read a"]),
        ("grep x a b", ["read a", "read b"]),
        ("grep -e x a b", ["read a", "read b"]),
        ("grep --regexp=x a", ["read a"]),
        ("grep -f p a", ["read p", "read a"]),
        ("grep -A 3 x a", ["read a"]),
        ("grep --include '*.py' x a", ["read a"]),
        ("grep -f/etc/x a", ["read /etc/x", "read a"]),
        ("grep --file=/etc/x a", ["read /etc/x", "read a"]),
        ("grep --file=../x a", ["read ../x", "read a"]),
        ("grep --color=always x a", ["read a"]),
        ("grep --file /etc/x a", ["read /etc/x", "read a"]),
        ("cp -- a b", ["read a", "write b", "write b/a"]),
        ("cat --x=a/../b", ["read a/../b"]),
        ("ls ~/x", ["read ⌂/x"]),
        ("sort -k 2 a", ["read a"]),
        ("jq .x a", ["read a"]),
        ("touch a", ["write a"]),
        ("touch -d now a", ["write a"]),
        ("mkdir -p a/b", ["write a/b"]),
        ("mkdir -m 700 a", ["write a"]),
        ("rm -rf a b", ["remove a", "remove b"]),
        ("mv a b c", ["remove a", "remove b", "write c", "write c/a", "write c/b"]),
        ("cp a b", ["read a", "write b", "write b/a"]),
        ("cp a", ["read a"]),
        ("cp -t /d a", ["read /d", "read a", "write /d", "write /d/d", "write /d/a"]),
        ("cp --target-directory=d a", ["read a", "write d", "write d/a"]),
        ("tee a b", ["write a", "write b"]),
        ("cp -St a b", ["read a", "write b", "write b/a"]),
        ("cp -l a b", ["write a", "write b", "write b/a"]),
        ("ln -s a b", ["write a", "write b", "write b/a"]),
        ("chmod 700 a", ["write a"]),
        ("python3 x.py y", ["read x.py"]),
        ("python3.12 -u x.py", ["read x.py"]),
        ("node --check x.js", ["read x.js"]),
        ("bash", []),
        ("sed -n p a b", ["read a", "read b"]),
        ("sed -i s/a/b/ c", ["write c"]),
        ("awk -F : '{print}' a x=1 b", ["read a", "read b"]),
        ("find a b -name x", ["read a", "read b"]),
        ("find -L a ! -name x", ["read a"]),
        ("find a \\( -name x \\)", ["read a"]),
        ("find", []),
        ("find a", ["read a"]),
        ("find a -delete", ["remove a"]),
        ("find a -newer b", ["read b", "read a"]),
        ("find a -samefile b -fprint c", ["read a", "read b", "write c!"]),
        ("find a -fls c", ["read a", "write c!"]),
        ("git -C a status", ["read a"]),
        ("git diff --no-index a b", ["read a", "read b"]),
        ("git diff a b", ["read a", "read b"]),
        ("touch --reference=/x a", ["write /x", "write a"]),
        ("touch --reference /x a", ["write /x", "write /x", "write a"]),
        ("touch -r/x a", ["write /x", "write a"]),
        ("foo --out=/x -I/y ../z a,/b", ["read /x!", "read /y!", "read ../z!", "read /b!"]),
        ("foo http://x/y a/b", []),
        ("docker run -w /app x", []),
        ("python3 -m foo /x", ["read /x!"]),
        ("git commit -F /x -m y", ["read /x!"]),
        ("git log -F x", []),
        ("dd if=a of=b bs=1", ["read a", "write b"]),
        ("curl https://x", []),
        ("curl -o a https://x", ["write a!"]),
        ("curl --output=a https://x", ["write a!"]),
        ("curl https://x -o", ["write □!"]),
        ("curl -sSLo a https://x", ["write a!"]),
        ("curl -oa https://x", ["write a!"]),
        ("curl -O https://x", ["write .!"]),
        ("curl --remote-name https://x", ["write .!"]),
        ("curl -sSLO https://x", ["write .!"]),
        ("curl -T a https://x", ["read a!"]),
        ("curl -b a https://x", ["read a!"]),
        ("curl -b k=v https://x", []),
        ("curl --cookie=a https://x", ["read a!"]),
        ("curl -d @a https://x", ["read a!"]),
        ("curl -d@a https://x", ["read a!"]),
        ("curl -F f=@a https://x", ["read a!"]),
        ("curl -F 'f=<a' https://x", ["read a!"]),
        ("curl --data=@a https://x", ["read a!"]),
        ("curl --data-binary=@a https://x", ["read a!"]),
        ("curl --data=a https://x", []),
        ("wget https://x", ["write .!"]),
        ("wget -O a https://x", ["write a!"]),
        ("wget -Oa https://x", ["write a!"]),
        ("wget --output-document=a https://x", ["write a!"]),
        ("wget --directory-prefix a https://x", ["write a!"]),
        ("wget -O - https://x", []),
        ("wget https://x -O", ["write □!"]),
        ("docker ps -v /x:/y", []),
        ("docker run -v /x:/y image", ["write /x!"]),
        ("docker run --volume=../x:/y image", ["write ../x!"]),
        ("docker run -v name:/y image", []),
        ('docker run -v "$x:/y" image', ["write □!"]),
        ("docker run --mount type=bind,source=/x,target=/y image", ["write /x!"]),
        ("docker run --mount=type=bind,src=/x image", ["write /x!"]),
        ("docker run --mount type=tmpfs image", []),
        ("podman create -v", ["write □!"]),
    ],
)
def test_effects_of_a_command_on_files_are_known(text: str, expected: list[str]):
    assert touched(text) == expected


def test_accept_edits_covers_plain_file_commands():
    assert set(WRITES_FILES) == {"touch", "mkdir", "rmdir", "rm", "mv", "cp", "tee"}
