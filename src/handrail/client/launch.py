"""Preparing the CLI process of a session: its argv, its environment and its configuration files."""

from __future__ import annotations

import codecs
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.client.command_line import arguments, config_files
from handrail.client.environment import child_environment
from handrail.client.find_cli import find_cli
from handrail.client.options import Options
from handrail.transport.base import Transport
from handrail.transport.process import ProcessTransport

if TYPE_CHECKING:
    from handrail.client.stored_resume import StoredTranscript

__all__ = ["Launch"]

log = logging.getLogger("handrail.client")


class Launch:
    """One start of the CLI with `argv`. `stored` is the session to resume, if it comes from a session store."""

    def __init__(self, options: Options, stored: StoredTranscript | None = None) -> None:
        self._folder: str | None = None
        self._stderr = _Lines(options.stderr) if options.stderr is not None else None
        try:
            self._options = options = self._restore(stored, options) if stored is not None else options
            self.env = child_environment(options)
            cli = find_cli(options.cli_path, {**os.environ, **self.env})  # HANDRAIL_CLI is ours, not the child's
            self.argv = [cli, *arguments(options, self._write(config_files(options)))]
        except BaseException:
            self.clean()
            raise

    @property
    def cwd(self) -> str | None:
        """The folder that the child starts in; None for the one of this process."""
        given = self._options.cwd
        return None if given is None else os.path.expanduser(os.fspath(given))

    @property
    def folder(self) -> str:
        """The folder of the configuration files; "" without any."""
        return self._folder or ""

    def new_process(self) -> ProcessTransport:
        """The transport to a new child process."""
        options = self._options
        return ProcessTransport(
            self.argv,
            cwd=self.cwd,
            env=self.env,
            user=options.user,
            folder=self.folder,
            eof_grace=options.eof_grace,
            term_grace=options.term_grace,
            on_stderr=self._stderr.take if self._stderr is not None else None,
        )

    def transport(self, process: Callable[[Launch], Transport] = new_process) -> Transport:
        """The transport to the child process, recorded if the options ask for it. `process` finds another process."""
        return recorded(process(self), self._options, self.argv, self.env)

    @property
    def shown(self) -> list[str]:
        """argv with secrets masked."""
        from handrail.transport.masking import mask_argv

        return list(mask_argv(self.argv, self.env))

    def clean(self) -> None:
        """Remove the files after the CLI has exited."""
        if self._stderr is not None:
            self._stderr.finish()
        if self._folder is not None:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _restore(self, stored: StoredTranscript, options: Options) -> Options:
        """Write a stored session to a configuration folder, and return the options that resume it there."""
        from handrail.client.stored_resume import write_config_home

        home = Path(self._private_folder()) / "config"
        write_config_home(stored, options, home)
        return options.replace(
            resume=stored.key["session_id"],
            continue_conversation=False,
            env={**options.env, "CLAUDE_CONFIG_DIR": str(home)},
        )

    def _private_folder(self) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.mkdtemp(prefix="handrail-")
        return self._folder

    def _write(self, files: dict[str, str]) -> dict[str, str]:
        """Write the files with mode 0600, because a configuration may contain keys."""
        paths: dict[str, str] = {}
        for flag, content in files.items():
            paths[flag] = os.path.join(self._private_folder(), f"{flag.strip('-')}.json")
            handle = os.open(paths[flag], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(content)
        return paths


def recorded(transport: Transport, options: Options, argv: Sequence[str], secrets: Mapping[str, str]) -> Transport:
    """Wrap a transport in a recorder if the options ask for it. Values in `secrets` are masked."""
    if options.record is None:
        return transport
    from handrail.transport.recording import RecordingTransport

    return RecordingTransport(transport, os.fspath(options.record), argv=argv, secrets=secrets)


class _Lines:
    """Splits chunks of stderr into lines."""

    def __init__(self, on_line: Callable[[str], object]) -> None:
        self._on_line = on_line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, chunk: bytes) -> None:
        """Add a chunk."""
        *lines, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n")
        for line in lines:
            self._call(line)

    def finish(self) -> None:
        """End of input: the rest is a line too."""
        rest, self._rest = self._rest, ""
        if rest:
            self._call(rest)

    def _call(self, line: str) -> None:
        try:
            self._on_line(line)
        except Exception:  # stderr must still be read, or the full pipe would block the CLI
            log.exception("Options.stderr failed")
