"""handrail.transcripts.subagents: the conversations beside a session's own."""

from pathlib import Path

from handrail.transcripts import Damage, read_subagents
from tests.transcripts.conversation import Conversation


def subagent(talk: Conversation, agent_id: str, said: str, *, folder: str = "subagents") -> Path:
    inner = Conversation(talk.path.parent, project=".")
    inner.user(said, isSidechain=True, agentId=agent_id)
    inner.assistant(f"{said}: done", isSidechain=True, agentId=agent_id)
    path = talk.path.with_suffix("") / folder / f"agent-{agent_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return inner.path.rename(path)


def test_session_without_subagents(tmp_path: Path):
    assert read_subagents(Conversation(tmp_path).id, config_home=tmp_path) == []


def test_subagents_are_read_with_their_metadata(tmp_path: Path):
    talk = Conversation(tmp_path)
    path = subagent(talk, "a1", "look around")
    path.with_suffix(".meta.json").write_text('{"agentType":"Explore","description":"look","toolUseId":"t1","new":1}')
    (found,) = read_subagents(talk.id, config_home=tmp_path)
    assert (found.agent_id, found.agent_type, found.description, found.tool_use_id) == ("a1", "Explore", "look", "t1")
    assert [entry.text() for entry in found.messages] == ["look around", "look around: done"]
    assert (found.path, found.damage) == (path, Damage())


def test_nested_subagents_and_bad_metadata_are_read(tmp_path: Path):
    talk = Conversation(tmp_path)
    subagent(talk, "a1", "outer").with_suffix(".meta.json").write_text("{broken")
    subagent(talk, "a2", "inner", folder="subagents/a1/deeper")
    found = read_subagents(talk.id, config_home=tmp_path)
    assert {(agent.agent_id, agent.agent_type) for agent in found} == {("a1", None), ("a2", None)}


def test_a_link_among_subagents_is_not_followed(tmp_path: Path):
    talk = Conversation(tmp_path)
    secret = subagent(talk, "a1", "secret", folder="elsewhere")
    folder = talk.path.with_suffix("") / "subagents"
    folder.mkdir()
    (folder / "agent-x.jsonl").symlink_to(secret)
    (folder / "more").symlink_to(secret.parent)
    assert read_subagents(talk.id, config_home=tmp_path) == []


def test_subagents_folder_that_is_a_link_is_not_followed(tmp_path: Path):
    talk, other = Conversation(tmp_path), Conversation(tmp_path)
    subagent(other, "a1", "of another")
    talk.path.with_suffix("").mkdir()
    (talk.path.with_suffix("") / "subagents").symlink_to(other.path.with_suffix("") / "subagents")
    assert read_subagents(talk.id, config_home=tmp_path) == []
