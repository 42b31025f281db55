"""Downloads files of the Files API before a session starts, for --file FILE_ID:PATH."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from handrail.agent.errors import Refused
from handrail.agent.models.api_access import ApiOptions, api_access
from handrail.agent.models.base import ModelError
from handrail.agent.models.http_client import HttpClient

__all__ = ["download_files", "read_specs"]

BETA: Final = "files-api-2025-04-14"
LARGEST: Final = 500 * 1024 * 1024
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


def read_specs(specs: Sequence[str]) -> dict[str, str]:
    """The id of each file by its path. Raises Refused for a path that leads out of the folder."""
    found: dict[str, str] = {}
    for spec in specs:
        id, colon, path = spec.partition(":")
        normal = os.path.normpath(path)
        outside = os.path.isabs(normal) or normal.split(os.sep)[0] == ".." or normal == "."
        if not colon or not _ID.fullmatch(id) or not path or "\0" in path or outside:
            raise Refused(f"Error: --file {spec[:80]!r} is not of the form FILE_ID:RELATIVE_PATH")
        found[normal] = id
    return found


async def download_files(
    files: Mapping[str, str], folder: str, environment: Mapping[str, str], options: ApiOptions
) -> None:
    """Write the files below `folder`. Raises Refused if one cannot be downloaded or written."""
    try:
        access = api_access(environment, options)
        key = await options.key_helper.key() if options.key_helper else ""
        client = HttpClient(access)
    except ModelError as error:
        raise Refused(f"Error: --file: {error.message}") from None
    headers = access.headers_for(key=key, betas=(BETA,))
    try:
        for path, id in files.items():
            _write(os.path.join(folder, path), await _download(client, id, headers))
    finally:
        await client.close()


async def _download(client: HttpClient, id: str, headers: Mapping[str, str]) -> bytes:
    try:
        answer = await client.send("GET", f"/v1/files/{id}/content", headers)
        try:
            data = await answer.first(LARGEST + 1)
        finally:
            await answer.close()
    except ModelError as error:
        raise Refused(f"Error: --file {id}: {error.message}") from None
    if answer.status != 200:
        raise Refused(f"Error: --file {id}: the API answered with status {answer.status}")
    if len(data) > LARGEST:
        raise Refused(f"Error: --file {id}: larger than {LARGEST // 2**20} MiB")
    return data


def _write(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise Refused(f"Error: --file: cannot write {path}: {error.strerror}") from None
