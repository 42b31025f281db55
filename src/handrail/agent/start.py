"""How a session begins. In: arguments and an environment. Out: an engine, new or with an earlier conversation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from handrail.agent.arguments import Arguments
from handrail.agent.engine import Engine
from handrail.agent.errors import Refused
from handrail.agent.host import Host
from handrail.agent.mcp.files import read_configs
from handrail.agent.models.base import Model
from handrail.agent.models.choose import choose_model
from handrail.agent.output import Output
from handrail.agent.session import Session
from handrail.agent.transcript import Transcript
from handrail.transcripts import InvalidSessionId, SessionFile, SessionNotFound, TranscriptError, projects_folder

if TYPE_CHECKING:
    from handrail.agent.resumed import Resumed

__all__ = ["make_engine"]


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
    earlier = _earlier(session)
    transcript = _transcript(session, earlier)
    if earlier is None and arguments.session_id and transcript.exists():
        raise Refused(f"Error: Session ID {session.id} is already in use.")
    engine = Engine(
        session,
        model=model or choose_model(session.environment),
        output=output,
        host=host,
        history=earlier.history() if earlier else None,
        transcript=transcript,
    )
    transcript.report = lambda text: _report(engine, text)
    transcript.title = session.title
    if arguments.session_mirror:
        transcript.mirror = lambda path, entries: engine.later(
            output.emit({"type": "transcript_mirror", "filePath": str(path), "entries": entries})
        )
    if earlier is not None:
        _take_up(engine, earlier)
    _configure_servers(engine)
    if arguments.debug_to_stderr:
        _describe(engine)
    return engine


def _configure_servers(engine: Engine) -> None:
    session, arguments = engine.session, engine.arguments
    servers = (
        {}
        if arguments.strict_mcp_config
        else {server.name: dict(server.config) for server in session.settings.mcp_servers}
    )
    of_plugins = engine.extensions.servers()
    for problem in engine.extensions.problems:
        print(problem, file=sys.stderr, flush=True)
    named = read_configs(arguments.mcp_config, session.cwd)
    for scope, found in (("project", servers), ("plugin", of_plugins), ("dynamic", named)):
        if found:
            engine.hub.configure(found, scope=scope)


def _earlier(session: Session) -> Resumed | None:
    """The conversation that is to go on; the session takes its id, or a new one where it forks."""
    arguments, home = session.arguments, session.data_home
    if not arguments.resume and not arguments.continue_:
        return None
    from handrail.agent.resumed import find, latest_session, read  # most sessions have no past

    wanted = arguments.resume
    if arguments.continue_ and not wanted:
        wanted = latest_session(home, session.cwd)
    if not wanted:
        return None
    try:
        file = find(wanted, home=home, other=session.config_home, cwd=session.cwd)
        copied = arguments.fork_session or not _is_ours(file, session)
        earlier = read(file, at=arguments.resume_session_at, whole=copied)
    except InvalidSessionId:
        raise Refused(
            f'Error: --resume requires a valid session ID or session title. "{wanted}" is neither.'
            " `handrail sessions list` shows those of this machine.",
            result=True,
        ) from None
    except SessionNotFound:
        session.id = wanted
        raise Refused(f"No conversation found with session ID: {wanted}", result=True) from None
    except TranscriptError as error:
        raise Refused(f"Error: {error}", result=True) from None
    if not arguments.fork_session:
        session.id = file.session_id
    elif not arguments.session_id:
        session.id = str(uuid4())
    return earlier


def _is_ours(file: SessionFile, session: Session) -> bool:
    """Is it in the folder that the agent writes to?"""
    return file.root == projects_folder(Path(session.data_home))


def _transcript(session: Session, earlier: Resumed | None) -> Transcript:
    """Where it is written down: a session of ours goes on in its file, wherever it was begun."""
    goes_on = earlier is not None and not session.arguments.fork_session and _is_ours(earlier.file, session)
    return Transcript(
        session.data_home,
        session.cwd,
        session.id,
        enabled=not session.arguments.no_session_persistence,
        place=earlier.file if earlier is not None and goes_on else None,
    )


def _take_up(engine: Engine, earlier: Resumed) -> None:
    """Go on where the conversation ended. A fork has the same past, but has itself cost nothing yet."""
    transcript = engine.transcript
    engine.begun_by = "resume"
    if not engine.arguments.fork_session:
        engine.ledger.go_on_from(earlier.cost, earlier.models)
        engine.session.title = transcript.title = transcript.title or earlier.title
    transcript.copy(earlier.lines)
    transcript.last = earlier.last
    engine.checkpoints.take_up(earlier.file.folder / "checkpoints")


def _describe(engine: Engine) -> None:
    """How the session stands when it begins, for a person who wonders."""
    session = engine.session
    standing = {
        "session": session.id,
        "folder": f"{session.cwd} ({'trusted' if session.loaded.trusted else 'not trusted'})",
        "model": session.model,
        "settings": session.arguments.setting_sources or "user,project,local",
        "sessions are kept in": str(engine.transcript.path.parent) if engine.transcript.enabled else "nothing",
        "agents": ", ".join(engine.agents.names()),
        "plugins": ", ".join(plugin.name for plugin in engine.extensions.plugins) or "none",
    }
    for name, value in standing.items():
        print(f"[DEBUG] {name}: {value}", file=sys.stderr, flush=True)


def _report(engine: Engine, text: str) -> None:
    """A person reads it where errors go; a host that listens is told in the turn."""
    print(text, file=sys.stderr, flush=True)
    if engine.turn is not None:
        engine.later(engine.speaker.system("informational", content=text, level="warning"))
