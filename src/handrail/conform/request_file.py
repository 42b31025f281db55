"""Files with the requests that a CLI sent to the Messages API, so that two CLIs can be compared.

The format is NDJSON: a header, then one row per request. `main` are the requests of the conversation, not those for
titles and summaries. Secrets are masked.

    {"handrail":"requests","version":1,"argv":["claude","-p","Hi"]}
    {"main":true,"headers":{"anthropic-beta":"…"},"body":{"model":"…","messages":[…]}}
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from handrail.conform.messages_api import ReceivedRequest
from handrail.errors import CallerError
from handrail.transport.masking import mask_argv, mask_bytes

__all__ = ["RequestFileError", "is_request_file", "read_requests", "write_requests"]

VERSION = 1
_MARK = b'{"handrail":"requests"'


class RequestFileError(CallerError, ValueError):
    """The file is not a request file or is damaged. The text contains the file and the line."""


class _Header(msgspec.Struct, tag_field="handrail", tag="requests"):
    version: int = VERSION
    argv: list[str] = []


class _Row(msgspec.Struct):
    main: bool
    headers: dict[str, str]
    body: dict[str, Any]


def write_requests(path: Path, requests: Iterable[ReceivedRequest], *, argv: Sequence[str] = ()) -> None:
    """Write requests to a file that only its owner can read. An existing file is replaced."""
    rows = [msgspec.json.encode(_Header(argv=mask_argv(argv)))]
    rows += [mask_bytes(msgspec.json.encode(_Row(request.main, request.headers, request.body))) for request in requests]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(row + b"\n" for row in rows)


def is_request_file(path: Path) -> bool:
    """Whether a file begins with the header of a request file. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def read_requests(path: Path) -> list[ReceivedRequest]:
    """Read the requests of a file. Raises RequestFileError and OSError."""
    header, *rows = path.read_bytes().splitlines() or [b""]
    try:
        msgspec.json.decode(header, type=_Header)
    except msgspec.MsgspecError as error:
        raise RequestFileError(f"{path}:1: not the header of a request file: {error}") from None
    requests: list[ReceivedRequest] = []
    for number, line in enumerate(rows, 2):
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.MsgspecError as error:
            raise RequestFileError(f"{path}:{number}: not a request: {error}") from None
        requests.append(ReceivedRequest(row.body, row.headers, row.main))
    return requests
