"""Masks secrets in everything that is logged, shown or recorded.

Two methods are combined: known values (environment variables with secret names), and patterns (keys of known formats;
credentials in headers, JSON fields, URLs and assignments). A mask replaces only the content of a string, so a line of
JSON stays valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote

from handrail.transport.token_formats import tokens_in

__all__ = ["MASK", "Masker", "mask_argv", "mask_bytes", "mask_text", "names_a_secret"]

MASK = "***"
_MASK = MASK.encode()

_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|authorization|cookie|credential|(?:api|access|private|auth|signing)[_-]?key"
    r"|(?:^|[^a-z])keys?(?:$|[^a-z])",
    re.IGNORECASE,
)
# Many harmless lower-case fields mention keys and tokens (`input_tokens`, `apiKeySource`), so these are listed.
_SECRET_FIELD = re.compile(
    rb"(?:proxy-)?authorization|(?:set-)?cookie|(?:\w+-)*(?:api|auth)[_-]?key|(?:private|secret[_-]?access)[_-]?key"
    rb"|(?:x-)?(?:access|refresh|id|auth|oauth|bearer|session|security|api|client)?[_-]?token"
    rb"|(?:client|api|app|oauth|webhook|shared|consumer)?[_-]?secret|(?:\w+[_-])?(?:password|passwd|passphrase|pwd)"
    rb"|\w*(?:secret|access|api|auth|private|encryption|signing|account|shared)[_-]?key|\w+_(?:token|secret|passw)"
    rb"|_auth(?:token)?|auth",
    re.IGNORECASE,
)
_ENVIRONMENT_NAME = re.compile(rb"[A-Z][A-Z0-9_]*")
_NO_SECRET = re.compile(r"\s*|true|false|null|none|yes|no|on|off|auto|default|disabled|enabled|\d{1,9}", re.IGNORECASE)
_SHORTEST = 4
_SHORT = 8

# The start of a word; in a JSON string it may follow an escape such as \n.
_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"


def _form(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]:
    return re.compile(_START + pattern, flags)


# Patterns by the substrings (in lower case) that a line must contain before they are tried; most lines contain none.
# The group `secret` is masked, or the whole match.
_FORMS: Mapping[tuple[bytes, ...], re.Pattern[bytes]] = {
    (b"bearer", b"basic"): _form(
        rb"(?:bearer|basic)\s+(?=[^\s\"'\\]{0,20}\d|[^\s\"'\\]{16})(?P<secret>[^\s\"'\\,;]+)", re.IGNORECASE
    ),
    # Headers whose value is a secret, as HTTP and curl write them.
    (b"authorization", b"api-key", b"apikey", b"-token", b"x-auth"): _form(
        rb"(?:(?:[a-z]{1,32}-){0,3}(?:authorization|api-?key|token|auth-key|auth-email)\s?[:=]\s?)"
        rb"(?P<secret>[^\r\n\"'\\]+)",
        re.IGNORECASE,
    ),
    (b"cookie",): _form(rb"(?:set-)?cookie\s?:\s?(?P<secret>[^\s\"'\\=;]{1,128}=[^\r\n\"'\\]+)", re.IGNORECASE),
    # The password of an address ends at the last @ before its path.
    (b"://",): re.compile(rb"://[^/\s:@\"'\\]{0,256}:(?P<secret>[^/\s\"'\\]{1,512})@"),
    (b"hooks.slack.com", b"discord.com/api/webhooks", b"webhook.office.com"): re.compile(
        rb"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|webhook\.office\.com"
        rb"/webhookb2)/(?P<secret>[^\s\"'\\]{8,})",
        re.IGNORECASE,
    ),
    (b"private key",): re.compile(rb"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----(?P<secret>[^-\"']+)"),
    (b"putty-user-key",): re.compile(rb"Private-Lines: \d+(?P<secret>[^:]+)"),
    (b"token=", b"key=", b"secret=", b"code=", b"sig=", b"signature=", b"pass"): re.compile(
        rb"(?i)[?&](?:[a-z-]{0,32}_?(?:token|key|secret|password|passwd|signature)|code|sig)=(?P<secret>[^&\s\"'\\]+)"
    ),
    # Connection strings: Password=…; AccountKey=…; SharedAccessKey=…
    (b"password=", b"pwd=", b"accountkey=", b"accesskey=", b"sharedaccesssignature="): _form(
        rb"(?:password|pwd|accountkey|sharedaccesskey|accesskey|sharedaccesssignature)\s?=\s?"
        rb"(?P<secret>[^;\s\"'\\&$]{4,})",
        re.IGNORECASE,
    ),
    # .netrc
    (b"password",): _form(rb"login\s+\S{1,256}\s+password\s+(?P<secret>[^\s\"'\\]+)"),
}
_FIELD_WORDS = (b"authorization", b"cookie", b"key", b"token", b"secret", b"pass", b"pwd", b"credential", b"auth")
_LOOKS_RANDOM = re.compile(rb"(?=[^\d]*\d)(?=.*[A-Za-z]).{6}|[A-Za-z0-9+/=_-]{32}|[!@#%^*~]")
_REST_OF_FIELD = re.compile(rb"[\w-]{0,80}+(\\{0,7})\"\s{0,4}:\s{0,4}\1\"")
_STRING_END = re.compile(rb"[^\"\\]*(?:\\.[^\"\\]*)*", re.DOTALL)
_QUOTE = rb"(?:\\{0,7}[\"'])?"
_ASSIGNMENT = re.compile(
    rb"(?<![A-Za-z0-9_.$-])([A-Za-z_][\w.-]{2,80}+)(?:=|\s=\s|:\s)"
    + _QUOTE
    + rb"(?P<secret>[^\s\"'\\&;$<>(){}\[\],]{3,})"
)


class Masker:
    """Masks secrets for one child. Secret values of its `environment` are masked wherever they occur."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        spellings = {spelling for value in _secret_values(environment or {}) for spelling in _spellings(value)}
        longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._known = re.compile(b"|".join(map(_exactly, longest_first))) if longest_first else None

    def mask_bytes(self, data: bytes) -> bytes:
        """Mask a whole line, or any data that does not end inside a secret."""
        parts, done = list[bytes](), 0
        for start, end in self.secrets_in(data):
            parts += data[done:start], _MASK
            done = end
        return b"".join((*parts, data[done:])) if parts else data

    def secrets_in(self, data: bytes) -> list[tuple[int, int]]:
        """Start and end of each secret, in order and without overlaps."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted(self._found(data)):
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            elif end > start:
                merged.append((start, end))
        return merged

    def _found(self, data: bytes) -> Iterator[tuple[int, int]]:
        if self._known is not None:
            yield from (found.span() for found in self._known.finditer(data))
        yield from tokens_in(data)
        lower = data.lower()
        for hints, form in _FORMS.items():
            if any(hint in lower for hint in hints):
                yield from (found.span("secret") for found in form.finditer(data))
        if any(word in lower for word in _FIELD_WORDS):
            yield from (found.span("secret") for found in _ASSIGNMENT.finditer(data) if _assigns_secret(found))
            yield from _secret_values_of_fields(data, lower)

    def mask_text(self, text: str) -> str:
        """Mask text."""
        return self.mask_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def mask_argv(self, argv: Sequence[str]) -> list[str]:
        """Mask a command line: the values of secret flags, and secrets inside other arguments."""
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
    """Mask one whole line."""
    return Masker(environment).mask_bytes(data)


def mask_text(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Mask some text."""
    return Masker(environment).mask_text(text)


def mask_argv(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
    """Mask a command line."""
    return Masker(environment).mask_argv(argv)


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether an environment variable or a flag of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def _secret_values(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if len(value) < _SHORTEST or not names_a_secret(name) or _NO_SECRET.fullmatch(value):
            continue
        yield value
        if "\n" in value:  # a multi-line key arrives line by line on stderr
            yield from (line for line in value.splitlines() if len(line) >= 2 * _SHORT)


def _spellings(value: str) -> Iterable[bytes]:
    """The forms in which a value may occur: plain, in JSON, in a URL."""
    forms = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe=""))
    return (form.encode("utf-8", "surrogateescape") for form in forms)


def _exactly(spelling: bytes) -> bytes:
    """A pattern for a value. Short values are matched only as whole words, because they may be parts of others."""
    pattern = re.escape(spelling)
    return pattern if len(spelling) >= _SHORT else _START + pattern + rb"(?![A-Za-z0-9])"


def _assigns_secret(found: re.Match[bytes]) -> bool:
    """Whether an assignment such as `DB_PASSWORD=…` or `api_key: …` holds a secret, by its name and its value."""
    name, value = found[1], found["secret"]
    if _ENVIRONMENT_NAME.fullmatch(name):
        return names_a_secret(name.decode()) and not value.isdigit()
    # Source code is full of `token = next_token`: a value in lower case counts only if it looks like a secret.
    return _is_secret_field(name.replace(b".", b"_")) and _LOOKS_RANDOM.search(value) is not None


def _secret_values_of_fields(data: bytes, lower: bytes) -> Iterator[tuple[int, int]]:
    """The values of secret JSON fields, including those in JSON that is embedded in a JSON string."""
    for start, slashes in _secret_fields(data, lower):
        yield start, _end_of_value(data, start, slashes)


def _secret_fields(data: bytes, lower: bytes) -> Iterator[tuple[int, bytes]]:
    """The start of the values of secret fields, and the backslashes before their quotes."""
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
