"""Starts a session, new or resumed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from msgspec.structs import replace

from handrail.agent.arguments import Arguments
from handrail.agent.base import Host, Output
from handrail.agent.engine import Engine
from handrail.agent.errors import Refused
from handrail.agent.host.wire import Wire
from handrail.agent.known_models import DEMO_NAMES
from handrail.agent.mcp.configured import configured_servers
from handrail.agent.mcp.demo_server import DEMO_SERVER
from handrail.agent.models.base import Model
from handrail.agent.models.choose import choose_model
from handrail.agent.record.transcript import Transcript
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session
from handrail.agent.speaker import new_id
from handrail.schema.view import build_line
from handrail.transcripts import (
    InvalidSessionId,
    SessionFile,
    SessionNotFound,
    TranscriptError,
    projects_folder,
    search_path,
)
from handrail.transcripts.layout import open_below
from handrail.transport.base import Transport

if TYPE_CHECKING:
    from handrail.agent.debug_log import DebugLog
    from handrail.agent.models.api_access import ApiOptions
    from handrail.agent.record.resumed import Resumed, Source

__all__ = ["download", "make_engine", "serve"]

JsonObject = dict[str, Any]
_MODEL_VARIABLES: Final = ("HANDRAIL_MODEL", "ANTHROPIC_MODEL")
_READ_SOON: Final = 16 * 1024 * 1024
"""Bytes of a transcript that is read while the host is idle. A longer one costs memory, so it waits for a prompt."""


def make_engine(
    arguments: Arguments,
    environment: Mapping[str, str],
    cwd: str,
    *,
    output: Output,
    host: Host,
    model: Model | None = None,
) -> Engine:
    """Put a session together. Raises Refused."""
    session = Session(arguments, environment, cwd)
    if notice := session.trust_notice():
        print(notice, file=sys.stderr, flush=True)
    source = _find(session)
    later = source is not None and _is_read_later(session, source)
    earlier = _read(session, source) if source is not None and not later else None
    transcript = _transcript(session, source, earlier)
    if arguments.session_id and transcript.exists():
        raise Refused(f"Error: Session ID {session.id} is already in use.")
    session.is_demo = model is None and session.lacks_model
    log = _debug_log(session)
    options = partial(_api_options, session, log)
    engine = Engine(
        session,
        model=(lambda: model)
        if model is not None
        else choose_model(session.environment, options, has_helper=bool(session.key_helper)),
        output=output,
        host=host,
        transcript=transcript,
    )
    if arguments.agent and not arguments.streams_input and arguments.agent not in engine.agents.kinds:
        raise Refused(engine.agents.unknown(arguments.agent))  # a host may still define it in the handshake
    if arguments.json_schema:
        engine.toolbox()  # refuses an invalid schema before the session starts
    transcript.report = lambda text: _report(engine, text)
    transcript.title = session.title
    transcript.prompt_id = lambda: engine.thread().prompt_id
    transcript.mode = lambda: session.mode
    if arguments.session_mirror:
        from handrail.schema.activity_messages import TranscriptMirrorMessage

        transcript.mirror = lambda path, entries: engine.later(
            output.emit(build_line(TranscriptMirrorMessage, {"filePath": str(path), "entries": entries}))
        )
    if source is not None:
        engine.started_as, engine.resumed_from = "resume", source.session_id
    if earlier is not None:
        _take_up(engine, earlier, session.title)
    elif source is not None:
        _resume_later(engine, source, output)
    _configure_servers(engine)
    if log is not None:
        _describe(engine, log)
    for notice in (*arguments.notices, *session.notices):
        print(notice, file=sys.stderr, flush=True)
    return engine


def _debug_log(session: Session) -> DebugLog | None:
    arguments = session.arguments
    if arguments.debug is None and not arguments.debug_file and not arguments.debug_to_stderr:
        return None
    from handrail.agent.debug_log import open_debug_log

    return open_debug_log(arguments, session.config_home, session.id)


def _api_options(session: Session, log: DebugLog | None) -> ApiOptions:
    """The options of the API that flags and settings give."""
    from handrail.agent.models.api_access import ApiOptions
    from handrail.agent.models.key_helper import KeyHelper

    command = session.key_helper
    helper = KeyHelper(command, environment=session.child_environment(), cwd=session.cwd) if command else None
    options = ApiOptions(session.arguments.betas, session.arguments.workload, helper)
    return replace(options, log=log) if log is not None else options


def _configure_servers(engine: Engine) -> None:
    of_plugins = engine.extensions.servers()
    for problem in engine.extensions.problems:
        print(problem, file=sys.stderr, flush=True)
    configured = configured_servers(engine.session, of_plugins)
    scopes = configured.scopes
    if engine.session.is_demo and not engine.arguments.strict_mcp_config and not engine.arguments.bare:
        taken = {name for _, found in scopes for name in found}
        scopes = [*scopes, ("dynamic", {name: entry for name, entry in DEMO_SERVER.items() if name not in taken})]
    for scope, found in scopes:
        if found:
            engine.hub().configure(found, scope=scope, disabled=configured.disabled)


def _find(session: Session) -> Source | None:
    """The session to resume, if any; a session that is not forked takes its id. Raises Refused."""
    arguments, wanted = session.arguments, session.arguments.resume
    if not wanted and not arguments.continue_ and arguments.from_pr is None:
        return None
    from handrail.agent.record.resumed import find, latest_session  # new sessions need none of it

    if arguments.from_pr and not wanted:
        from handrail.agent.record.pull_requests import linked_session

        wanted = linked_session(arguments.from_pr, home=session.config_home, cwd=session.cwd)
        if not wanted and not arguments.continue_:
            return None
    homes = search_path(env=session.environment)
    try:
        source = find(wanted, homes=homes, cwd=session.cwd) if wanted else latest_session(homes, session.cwd)
        if source is not None:
            os.close(open_below(source.root, source.path))  # it can be read
    except InvalidSessionId:
        raise Refused(
            f'Error: --resume requires a valid session ID or session title. "{wanted}" is neither.'
            " `handrail sessions list` shows those of this machine.",
            result=True,
        ) from None
    except SessionNotFound:
        session.id = wanted or session.id
        raise Refused(f"No conversation found with session ID: {wanted}", result=True) from None
    except TranscriptError as error:
        raise Refused(f"Error: {error}", result=True) from None
    if source is not None and not arguments.fork_session:
        session.id = source.session_id
    elif source is not None and not arguments.session_id:
        session.id = str(uuid4())
    return source


def _read(session: Session, source: Source) -> Resumed:
    """Read the session to resume. Raises Refused."""
    from handrail.agent.record.dropped_turn import ResumeRejected
    from handrail.agent.record.resumed import read

    arguments = session.arguments
    copied = arguments.fork_session or not _is_in_place(source.place, session)
    try:
        return read(source, at=arguments.resume_session_at, drops=arguments.resume_drops_turn, whole=copied)
    except ResumeRejected as error:
        raise Refused(str(error), result=True) from None
    except TranscriptError as error:
        raise Refused(f"Error: {error}", result=True) from None


def _is_read_later(session: Session, source: Source) -> bool:
    """Whether a host gets the answer to its handshake before the session is read.

    A session that is copied, or resumed at an earlier entry, may be refused: then the host gets no such answer.
    """
    arguments = session.arguments
    is_cut = bool(arguments.resume_session_at) or arguments.resume_drops_turn is not None
    is_served = arguments.streams_input and not arguments.rewind_files
    return is_served and not is_cut and not arguments.fork_session and _is_in_place(source.place, session)


def _resume_later(engine: Engine, source: Source, output: Output) -> None:
    """Have the engine read the session when it needs it."""
    named = engine.session.title

    async def load() -> None:
        try:
            earlier = await asyncio.to_thread(_read, engine.session, source)
        except Refused as error:
            print(error.message, file=sys.stderr, flush=True)
            await output.emit(_failed(engine.arguments, error.message))
            engine.host.stop(error.code)
            raise
        _take_up(engine, earlier, named)

    engine.resume_with(load, soon=_size(source.path) <= _READ_SOON)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it will say what is wrong


def _is_in_place(file: SessionFile | None, session: Session) -> bool:
    """Whether a session is in the folder that the agent writes to, so that it continues in its file."""
    return file is not None and file.root == projects_folder(Path(session.config_home))


def _transcript(session: Session, source: Source | None, earlier: Resumed | None) -> Transcript:
    """The transcript to write: the resumed file, whichever folder the session started in, or a new one."""
    place = None if source is None or session.arguments.fork_session else source.place
    transcript = Transcript(
        session.config_home,
        session.cwd,
        session.id,
        enabled=not session.arguments.no_session_persistence,
        place=place if _is_in_place(place, session) else None,
        entrypoint=session.environment.get("CLAUDE_CODE_ENTRYPOINT") or "sdk-cli",
    )
    if earlier is not None and earlier.lines and not session.arguments.session_id and transcript.exists():
        # A transcript from another place must not be mixed into the session that has its id here.
        session.id = str(uuid4())
        transcript.move_to(session.id)
    return transcript


def _take_up(engine: Engine, earlier: Resumed, named: str) -> None:
    """Continue where the conversation ended. A fork starts without cost. `named`: the title that a flag gave."""
    session, transcript = engine.session, engine.transcript
    chosen = session.chosen_model or any(session.environment.get(name) for name in _MODEL_VARIABLES)
    if not chosen and earlier.model not in DEMO_NAMES:  # an API does not know it
        session.chosen_model = earlier.model
    engine.history.replace(earlier.messages)
    engine.files_seen = earlier.files
    if earlier.tokens:
        engine.history.note_tokens(earlier.tokens)
    if not engine.arguments.fork_session:
        engine.ledger.resume_from(earlier.cost, earlier.models)
        asked = engine.arguments.permission_mode or engine.arguments.skip_permissions
        if earlier.mode == "plan" and not asked:  # other modes allow more, so each process has to be given them
            session.set_mode("plan")
        session.title = transcript.title = named or earlier.title or session.title
        transcript.generated_title = earlier.generated_title
    transcript.copy(earlier.lines)
    transcript.resume_after(earlier.last, last_prompt=earlier.last_prompt)
    if earlier.source.place is not None:
        folder = transcript.checkpoints_folder_of(earlier.source.place)
        engine.checkpoints().resume(earlier.file_history, folder)
    if engine.desk.made:  # by a line of the host that came before the conversation was read
        engine.resume_desk(engine.desk())


def _describe(engine: Engine, log: DebugLog) -> None:
    """Log the state of the session at its start."""
    session = engine.session
    state = {
        "session": session.id,
        "folder": f"{session.cwd} ({'trusted' if session.loaded.trusted else 'not trusted'})",
        "model": session.model,
        "settings": session.arguments.setting_sources or "user,project,local",
        "transcript": str(engine.transcript.path) if engine.transcript.enabled else "none",
        "agents": ", ".join(engine.agents.names()),
        "plugins": ", ".join(plugin.name for plugin in engine.extensions.plugins) or "none",
    }
    for name, value in state.items():
        log("session", f"{name}: {value}")


def _report(engine: Engine, text: str) -> None:
    """Report a failure of the transcript on stderr, and to the host while a turn runs."""
    print(text, file=sys.stderr, flush=True)
    if engine.turn is not None:
        engine.later(engine.speaker.system("informational", content=text, level="warning"))


async def download(session: Session) -> None:
    """Download the files of --file below SESSION_ID/uploads, as the CLI does. Raises Refused."""
    from handrail.agent.models.session_files import download_files, read_specs

    files = read_specs(session.arguments.file)
    if session.lacks_model:
        raise Refused("Error: --file needs a Messages API; set ANTHROPIC_API_KEY")
    folder = os.path.join(session.cwd, session.id, "uploads")
    await download_files(files, folder, session.environment, _api_options(session, None))


async def serve(
    transport: Transport,
    arguments: Arguments,
    environment: Mapping[str, str],
    cwd: str,
    *,
    model: Model | None = None,
    signals: bool = False,
) -> int:
    """Serve a host on a transport. `signals`: signals of the process end it. Raises Refused if it cannot start."""
    wire = Wire(transport)
    try:
        engine = make_engine(arguments, environment, cwd, output=wire.output, host=wire, model=model)
    except Refused as error:
        if error.result:
            await wire.output.emit(_failed(arguments, error.message))
        raise
    if arguments.file:
        await download(engine.session)
    return await wire.run(engine, signals=signals)


def _failed(arguments: Arguments, why: str) -> JsonObject:
    """The result of a session that could not start."""
    from handrail.schema.result_message import ResultMessage

    fields = {
        "subtype": "error_during_execution",
        "is_error": True,
        "session_id": arguments.resume or arguments.session_id or new_id(),
        "usage": Ledger().usage(),
        "errors": [why],
        "uuid": new_id(),
    }
    return build_line(ResultMessage, fields)
