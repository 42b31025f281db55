"""The CLI of a server: which one is chosen, and the options with which a session starts it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from handrail.bridge.session.launcher import Launcher, launcher
from handrail.bridge.store.base import SessionRecord
from handrail.client.options import Options
from handrail.model_access.choice import CliChoice

ID, OTHER = str(uuid4()), str(uuid4())


def options(*, resumes: bool = False, trusted: bool = False, **fields: Any) -> Options:
    record = SessionRecord(id=ID, cwd="/work", created=0, changed=0, **fields)
    return Launcher(CliChoice.fixed("/bin/true"), {}, lambda folder: trusted)(record, resumes=resumes)


def test_environment_is_limited_to_known_variables():
    given = {"HANDRAIL_MODEL": "m", "BRIDGE_TOKEN": "t", "HANDRAIL_SCRIPT": "", "AWS_PROFILE": "work", "SECRET": "s"}
    choice = CliChoice.fixed("/bin/true", environment=given)
    record = SessionRecord(id=ID, cwd="/", created=0, changed=0)
    started = launcher(choice, ["AWS_PROFILE", "AWS_REGION"], given)(record, resumes=False)
    assert started.env == {"HANDRAIL_MODEL": "m", "AWS_PROFILE": "work"}
    assert not started.inherit_env


def test_new_session_has_an_id_and_old_session_is_resumed():
    assert (options().session_id, options().resume) == (ID, None)
    resumed = options(resumes=True, conversation=OTHER)
    assert (resumed.session_id, resumed.resume) == (None, OTHER)


def test_fork_resumes_its_origin_under_a_new_id():
    fork = options(options={"origin": OTHER, "origin_message": "m1"})
    assert (fork.resume, fork.fork_session, fork.session_id, fork.resume_session_at) == (OTHER, True, ID, "m1")
    assert not options(resumes=True, conversation=ID, options={"origin": OTHER}).fork_session


@pytest.mark.parametrize(("trusted", "sources"), [(False, ("user",)), (True, ("user", "project", "local"))])
def test_project_settings_are_read_only_in_trusted_folders(trusted: bool, sources: tuple[str, ...]):
    assert tuple(options(trusted=trusted).setting_sources) == sources
    assert tuple(options(trusted=trusted, mode="plan").setting_sources) == sources


def test_granted_rules_become_options():
    rules: list[dict[str, Any]] = [
        {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}]},
        {"type": "addRules", "behavior": "deny", "rules": [{"toolName": "WebFetch"}]},
        {"type": "addDirectories", "directories": ["/b"]},
    ]
    found = options(rules=rules, options={"add_dirs": ["/a"]}, mode="plan")
    assert (list(found.allowed_tools), list(found.disallowed_tools)) == (["Bash(ls:*)"], ["WebFetch"])
    assert (list(found.add_dirs), found.permission_mode) == (["/a", "/b"], "plan")
    assert not found.allow_dangerously_skip_permissions
    assert options(options={"may_bypass": True}).allow_dangerously_skip_permissions


def test_only_known_choices_are_passed_on():
    chosen = {"model": "opus", "max_turns": 3, "add_dirs": ["/a"], "plugin_dirs": ["/p"], "system_prompt": "no"}
    found = options(options=chosen)
    assert (found.model, found.max_turns, list(found.add_dirs)) == ("opus", 3, ["/a"])
    assert [plugin["path"] for plugin in found.plugins] == ["/p"]  # type: ignore[index]
    assert found.system_prompt is None
