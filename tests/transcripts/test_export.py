"""handrail.transcripts.export: a conversation for reading and for programs."""

from pathlib import Path

from handrail.transcripts import jsonl, markdown, read_session
from tests.transcripts.conversation import Conversation


def test_json_lines_are_copied_byte_for_byte(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("one")
    talk.assistant("two")
    written = talk.path.read_bytes()
    talk.note("mode", mode="normal")
    assert b"".join(jsonl(read_session(talk.path))) == written


def test_markdown_shows_roles_and_tools(tmp_path: Path):
    talk = Conversation(tmp_path, "3f2a91c0-1111-4222-8333-444455556666")
    talk.user("List it.")
    talk.assistant({"type": "thinking", "thinking": "Which\nfolder?"}, message_id="m")
    talk.assistant("I look.", message_id="m")
    call = talk.call("ls", "m")
    talk.result("ls", call, "a ``` b")
    talk.user([{"type": "image", "source": {"media_type": "image/png"}}, {"type": "hologram"}])
    assert "".join(markdown(read_session(talk.path), "A title")) == (
        "# A title\n\nSession `3f2a91c0-1111-4222-8333-444455556666`\n"
        "\n## User · 2026-03-01 10:00:01\n\nList it.\n"
        "\n## Assistant · 2026-03-01 10:00:02\n\n> Which\n> folder?\n\nI look.\n"
        '\n**Bash**\n\n```json\n{\n  "command": "ls"\n}\n```\n'
        "\n## Tool result · 2026-03-01 10:00:05\n\n````\na ``` b\n````\n"
        "\n## User · 2026-03-01 10:00:06\n\n*[image image/png]*\n\n*[hologram]*\n"
    )


def test_markdown_of_errors_and_of_results_in_parts(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("go")
    parts = [{"type": "text", "text": "one"}, {"type": "image"}]
    talk.user([{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": parts}])
    talk.user([{"type": "tool_result", "tool_use_id": "u", "content": None}])
    text = "".join(markdown(read_session(talk.path)))
    assert "**Error**\n\n```\none\n[image]\n```" in text
    assert text.startswith(f"# {talk.id}\n")


def test_markdown_reports_damage(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("one")
    talk.line(b"{broken\n{cut")
    assert "".join(markdown(read_session(talk.path))).endswith("Damage in the file: 1 truncated, 1 corrupt.\n")
