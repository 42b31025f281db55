"""Secrets out of everything that is written down. In: bytes, text or argv. Out: the same, with *** where a secret was.

Two nets. What the caller knows: the values of environment variables whose name says that they are secret. What a secret
looks like: keys of known forms, credentials in headers, JSON fields, URLs and assignments. A mask stands inside the
string that held the secret, so a line of JSON stays a line of JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote

__all__ = ["MASK", "Masker", "mask_argv", "mask_bytes", "mask_text", "names_a_secret"]

MASK = "***"
_MASK = MASK.encode()

_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|authorization|cookie|credential|(?:api|access|private|auth|signing)[_-]?key"
    r"|(?:^|[^a-z])keys?(?:$|[^a-z])",
    re.IGNORECASE,
)
# In lower case many innocent fields speak of keys and tokens (`input_tokens`, `apiKeySource`): only these are meant.
_SECRET_FIELD = re.compile(
    rb"(?:proxy-)?authorization|(?:set-)?cookie|(?:\w+-)*(?:api|auth)[_-]?key|(?:private|secret[_-]?access)[_-]?key"
    rb"|(?:x-)?(?:access|refresh|id|auth|oauth|bearer|session|security|api|client)?[_-]?token"
    rb"|(?:client|api|app|oauth|webhook|shared)?[_-]?secret|(?:\w+_)?password|passwd|passphrase",
    re.IGNORECASE,
)
_ENVIRONMENT_NAME = re.compile(rb"[A-Z][A-Z0-9_]*")
_NO_SECRET = re.compile(r"\s*|true|false|null|none|yes|no|on|off|auto|default|disabled|enabled|\d{1,9}", re.IGNORECASE)
_SHORTEST = 4
_SHORT = 8

# Where a word begins; in a JSON string it may follow an escape such as \n.
_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"


def _form(pattern: bytes, instead: bytes = _MASK, flags: int = 0) -> tuple[re.Pattern[bytes], bytes]:
    return re.compile(_START + pattern, flags), instead


# Each form under what a line must hold (in lower case) before its pattern is tried: most lines hold none of it.
_FORMS: Mapping[tuple[bytes, ...], tuple[re.Pattern[bytes], bytes]] = {
    (b"sk-",): _form(rb"sk-(?:ant-[\w-]{4,}|[\w-]{12,})"),
    (b"bearer", b"basic"): _form(
        rb"(bearer|basic)\s+(?=[^\s\"'\\]{0,20}\d|[^\s\"'\\]{16})[^\s\"'\\,;]+", rb"\1 ***", re.IGNORECASE
    ),
    (b"authorization", b"api-key"): _form(
        rb"((?:[a-z]{1,32}-)?(?:authorization|api-key)\s?[:=]\s?)[^\r\n\"'\\]+", rb"\1***", re.IGNORECASE
    ),
    (b"cookie",): _form(rb"((?:set-)?cookie\s?:\s?)[^\s\"'\\=;]{1,128}=[^\r\n\"'\\]+", rb"\1***", re.IGNORECASE),
    (b"://",): (re.compile(rb"(://[^/\s:@\"'\\]{0,256}:)[^/\s:@\"'\\]{1,512}@"), rb"\1***@"),
    (b"eyj",): _form(rb"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
    (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"xox"): _form(
        rb"(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,})"
    ),
    (b"akia", b"asia"): _form(rb"(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    (b"private key",): (re.compile(rb"(-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----)[^-]+"), rb"\1***"),
    (b"token=", b"key=", b"secret=", b"code="): (
        re.compile(rb"(?i)([?&](?:[a-z]{0,32}_?(?:token|key|secret)|code)=)[^&\s\"'\\]+"),
        rb"\1***",
    ),
}
_FIELD_WORDS = (b"authorization", b"cookie", b"key", b"token", b"secret", b"passw", b"passphrase", b"credential")
_ASSIGNED_WORDS = tuple(word.upper() for word in _FIELD_WORDS)
_REST_OF_FIELD = re.compile(rb"[\w-]{0,80}+(\\{0,7})\"\s{0,4}:\s{0,4}\1\"")
_STRING_END = re.compile(rb"[^\"\\]*(?:\\.[^\"\\]*)*", re.DOTALL)
_ASSIGNMENT = re.compile(rb"(?<![A-Z0-9_])([A-Z][A-Z0-9_]{2,80})=([^\s\"'\\&;$]+)")


class Masker:
    """Masks for one child. `environment` is the child's: what it names as secret is masked wherever it turns up."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        spellings = {spelling for value in _secret_values(environment or {}) for spelling in _spellings(value)}
        longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._known = re.compile(b"|".join(map(_exactly, longest_first))) if longest_first else None

    def mask_bytes(self, data: bytes) -> bytes:
        """One whole line, or any text that no secret leaves in the middle."""
        if self._known is not None:
            data = self._known.sub(_MASK, data)
        lower = data.lower()
        for hints, (form, instead) in _FORMS.items():
            if any(hint in lower for hint in hints):
                data = form.sub(instead, data)
        if b"=" in data and any(word in data for word in _ASSIGNED_WORDS):
            data = _ASSIGNMENT.sub(_mask_assignment, data)
        return _mask_fields(data)

    def mask_text(self, text: str) -> str:
        """The same for text."""
        return self.mask_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def mask_argv(self, argv: Sequence[str]) -> list[str]:
        """A command line: what follows a flag that asks for a secret, and every secret inside the other arguments."""
        masked: list[str] = []
        secret_follows = False
        for argument in argv:
            name, equals, value = argument.partition("=")
            is_flag = name.startswith("-") and names_a_secret(name)
            if secret_follows and not argument.startswith("-") and not _NO_SECRET.fullmatch(argument):
                masked.append(MASK)
            elif is_flag and equals and not _NO_SECRET.fullmatch(value):
                masked.append(f"{name}={MASK}")
            else:
                masked.append(self.mask_text(argument))
            secret_follows = is_flag and not equals
        return masked


def mask_bytes(data: bytes, environment: Mapping[str, str] | None = None) -> bytes:
    """Mask one whole line. In: the line, the child's environment. Out: the line without secrets."""
    return Masker(environment).mask_bytes(data)


def mask_text(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Mask some text. In: the text, the child's environment. Out: the text without secrets."""
    return Masker(environment).mask_text(text)


def mask_argv(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
    """Mask a command line. In: argv, the child's environment. Out: argv without secrets."""
    return Masker(environment).mask_argv(argv)


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether a name says so. In: that of an environment variable or a flag. Out: true for API_KEY and the like."""
    return _SECRET_NAME.search(name) is not None


def _secret_values(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if len(value) < _SHORTEST or not names_a_secret(name) or _NO_SECRET.fullmatch(value):
            continue
        yield value
        if "\n" in value:  # a key of several lines meets us line by line on stderr
            yield from (line for line in value.splitlines() if len(line) >= 2 * _SHORT)


def _spellings(value: str) -> Iterable[bytes]:
    """How a value may stand in a line: as it is, in JSON, in a URL."""
    forms = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe=""))
    return (form.encode("utf-8", "surrogateescape") for form in forms)


def _exactly(spelling: bytes) -> bytes:
    """Short values are masked only where they stand alone: they may be parts of ordinary words."""
    pattern = re.escape(spelling)
    return pattern if len(spelling) >= _SHORT else _START + pattern + rb"(?![A-Za-z0-9])"


def _mask_assignment(found: re.Match[bytes]) -> bytes:
    name, value = found.groups()
    innocent = not names_a_secret(name.decode()) or value.isdigit() or value == _MASK
    return found[0] if innocent else name + b"=" + _MASK


def _mask_fields(data: bytes) -> bytes:
    """JSON fields that hold secrets, also inside a JSON text that is itself a JSON string."""
    parts, done = list[bytes](), 0
    for start, slashes in sorted(set(_secret_fields(data))):
        if start < done:
            continue
        end = _end_of_value(data, start, slashes)
        parts += data[done:start], _MASK if end > start else b""
        done = end
    return b"".join((*parts, data[done:])) if parts else data


def _secret_fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where the values of secret fields begin, and the backslashes before their quotes."""
    lower = data.lower()
    for word in _FIELD_WORDS:
        at = -1
        while (at := lower.find(word, at + 1)) >= 0:
            found = _REST_OF_FIELD.match(data, at + len(word))
            if found is None:
                continue
            name_start = data.rfind(b'"', max(0, at - 80), at) + 1
            if name_start and _is_secret_field(data[name_start : found.start(1)]):
                yield found.end(), found[1]


@lru_cache(maxsize=1024)
def _is_secret_field(name: bytes) -> bool:
    if _ENVIRONMENT_NAME.fullmatch(name):
        return names_a_secret(name.decode())
    return _SECRET_FIELD.fullmatch(name) is not None


def _end_of_value(data: bytes, start: int, slashes: bytes) -> int:
    if not slashes:
        found = _STRING_END.match(data, start)
        return found.end() if found else start
    at = start
    while (at := data.find(slashes + b'"', at)) >= 0:
        if data[at - 1 : at] != b"\\":
            return at
        at += 1
    return len(data)
