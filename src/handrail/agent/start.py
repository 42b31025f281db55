"""Starts a session, new or resumed."""

from __future__ import annotations

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
from handrail.agent.conversation.history import History
from handrail.agent.engine import Engine
from handrail.agent.errors import Refused
from handrail.agent.host.wire import Wire
from handrail.agent.known_models import DEMO_NAMES
from handrail.agent.mcp.configured import configured_servers
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
from handrail.transport.base import Transport

if TYPE_CHECKING:
    from handrail.agent.debug_log import DebugLog
    from handrail.agent.models.api_access import ApiOptions
    from handrail.agent.record.resumed import Resumed

__all__ = ["download", "make_engine", "serve"]

JsonObject = dict[str, Any]
_MODEL_VARIABLES: Final = ("HANDRAIL_MODEL", "ANTHROPIC_MODEL")


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
    earlier = _earlier(session)
    transcript = _transcript(session, earlier)
    if arguments.session_id and transcript.exists():
        raise Refused(f"Error: Session ID {session.id} is already in use.")
    log = _debug_log(session)
    options = partial(_api_options, session, log)
    engine = Engine(
        session,
        model=(lambda: model)
        if model is not None
        else choose_model(session.environment, options, has_helper=bool(session.key_helper)),
        output=output,
        host=host,
        history=_history(earlier) if earlier else None,
        transcript=transcript,
    )
    if arguments.agent and not arguments.streams_input and arguments.agent not in engine.agents.kinds:
        raise Refused(engine.agents.unknown(arguments.agent))  # a host may still define it in the handshake
    if arguments.json_schema:
        engine.toolbox()  # refuses an invalid schema before the session starts
    transcript.report = lambda text: _report(engine, text)
    transcript.title = session.title
    transcript.prompt_id = lambda: engine.thread().prompt_id
    if arguments.session_mirror:
        from handrail.schema.activity_messages import TranscriptMirrorMessage

        transcript.mirror = lambda path, entries: engine.later(
            output.emit(build_line(TranscriptMirrorMessage, {"filePath": str(path), "entries": entries}))
        )
    if earlier is not None:
        _take_up(engine, earlier)
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
    for scope, found in configured.scopes:
        if found:
            engine.hub().configure(found, scope=scope, disabled=configured.disabled)


def _earlier(session: Session) -> Resumed | None:
    """The conversation to resume, if any. The session takes its id, and its model unless another was chosen."""
    arguments, wanted = session.arguments, session.arguments.resume
    if not wanted and not arguments.continue_ and arguments.from_pr is None:
        return None
    from handrail.agent.record.dropped_turn import ResumeRejected  # new sessions need none of it
    from handrail.agent.record.resumed import find, latest_session, read

    if arguments.from_pr and not wanted:
        from handrail.agent.record.pull_requests import linked_session

        wanted = linked_session(arguments.from_pr, home=session.config_home, cwd=session.cwd)
        if not wanted and not arguments.continue_:
            return None
    homes = search_path(env=session.environment)
    try:
        source = find(wanted, homes=homes, cwd=session.cwd) if wanted else latest_session(homes, session.cwd)
        if source is None:
            return None
        copied = arguments.fork_session or not _is_in_place(source.place, session)
        earlier = read(source, at=arguments.resume_session_at, drops=arguments.resume_drops_turn, whole=copied)
    except InvalidSessionId:
        raise Refused(
            f'Error: --resume requires a valid session ID or session title. "{wanted}" is neither.'
            " `handrail sessions list` shows those of this machine.",
            result=True,
        ) from None
    except SessionNotFound:
        session.id = wanted or session.id
        raise Refused(f"No conversation found with session ID: {wanted}", result=True) from None
    except ResumeRejected as error:
        raise Refused(str(error), result=True) from None
    except TranscriptError as error:
        text = str(error)
        raise Refused(text if text.startswith("Resume rejected") else f"Error: {text}", result=True) from None
    if not arguments.fork_session:
        session.id = source.session_id
    elif not arguments.session_id:
        session.id = str(uuid4())
    chosen = session.chosen_model or any(session.environment.get(name) for name in _MODEL_VARIABLES)
    if not chosen and earlier.model not in DEMO_NAMES:  # an API does not know it
        session.chosen_model = earlier.model
    return earlier


def _is_in_place(file: SessionFile | None, session: Session) -> bool:
    """Whether a session is in the folder that the agent writes to, so that it continues in its file."""
    return file is not None and file.root == projects_folder(Path(session.config_home))


def _transcript(session: Session, earlier: Resumed | None) -> Transcript:
    """The transcript to write: the resumed file, whichever folder the session started in, or a new one."""
    place = None if earlier is None or session.arguments.fork_session else earlier.source.place
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


def _history(earlier: Resumed) -> History:
    history = History(earlier.messages)
    if earlier.tokens:
        history.note_tokens(earlier.tokens)
    return history


def _take_up(engine: Engine, earlier: Resumed) -> None:
    """Continue where the conversation ended. A fork starts without cost."""
    transcript = engine.transcript
    engine.started_as = "resume"
    engine.resumed_from = earlier.source.session_id
    if not engine.arguments.fork_session:
        engine.ledger.resume_from(earlier.cost, earlier.models)
        engine.session.title = transcript.title = transcript.title or earlier.title
        transcript.generated_title = earlier.generated_title
    transcript.copy(earlier.lines)
    transcript.resume_after(earlier.last, last_prompt=earlier.last_prompt)
    if earlier.source.place is not None:
        folder = transcript.checkpoints_folder_of(earlier.source.place)
        engine.checkpoints().resume(earlier.file_history, folder)


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
    if session.is_demo:
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
