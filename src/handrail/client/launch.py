"""How a session's CLI is started. In: Options. Out: a transport, and the files it needs while it runs."""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
from collections.abc import Callable

from handrail.client.command_line import arguments, config_files
from handrail.client.environment import child_environment
from handrail.client.find_cli import find_cli
from handrail.client.options import Options
from handrail.transport.base import Transport
from handrail.transport.process import ProcessTransport

__all__ = ["Launch"]


class Launch:
    """One start of a CLI. `argv` is what it is called with."""

    def __init__(self, options: Options) -> None:
        self._folder: str | None = None
        self.env = child_environment(options)
        cli = find_cli(options.cli_path, {**os.environ, **self.env})  # HANDRAIL_CLI is ours, not the child's
        self.argv = [cli, *arguments(options, self._write(config_files(options)))]
        self._options = options

    def transport(self) -> Transport:
        """The child process, recorded where the options ask for it."""
        options = self._options
        process = ProcessTransport(
            self.argv,
            cwd=options.cwd,
            env=self.env,
            user=options.user,
            eof_grace=options.eof_grace,
            term_grace=options.term_grace,
            on_stderr=_by_line(options.stderr) if options.stderr is not None else None,
        )
        if options.record is None:
            return process
        from handrail.transport.recording import RecordingTransport

        return RecordingTransport(process, os.fspath(options.record), argv=self.argv, secrets=self.env)

    @property
    def shown(self) -> list[str]:
        """argv with secrets masked, for people to read."""
        from handrail.transport.masking import mask_argv

        return list(mask_argv(self.argv))

    def clean(self) -> None:
        """Remove the files; the CLI has ended."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _write(self, files: dict[str, str]) -> dict[str, str]:
        """Only the owner can read them: a configuration may hold keys."""
        if not files:
            return {}
        self._folder = tempfile.mkdtemp(prefix="handrail-")
        paths: dict[str, str] = {}
        for flag, content in files.items():
            paths[flag] = os.path.join(self._folder, f"{flag.strip('-')}.json")
            handle = os.open(paths[flag], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(content)
        return paths


def _by_line(tell: Callable[[str], object]) -> Callable[[bytes], None]:
    """Chunks of stderr to lines."""
    decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""

    def take(chunk: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            tell(line)

    return take
