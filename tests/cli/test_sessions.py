"""handrail sessions: what it prints, what it changes, and how it fails."""

import asyncio
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from handrail.bridge.store.database import Database
from handrail.bridge.store.ownership import DataFolder
from handrail.bridge.store.shared_values import TABLES
from handrail.bridge.web.running import remembered
from handrail.cli import sessions
from handrail.cli.printable import printable
from handrail.cli.sessions import app
from tests.cli.command import piped
from tests.cli.served import answers, serving
from tests.transcripts.conversation import CWD, Conversation

CLIS = ("", "agent", "claude")
NASTY = "a\x1b[31mb\u009bc\u202ed\x07"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    return tmp_path


def run(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=answer)


def talk_about(home: Path, prompt: str, session_id: str | None = None) -> Conversation:
    talk = Conversation(home, session_id)
    talk.user(prompt)
    talk.assistant(f"About {prompt}.")
    return talk


def test_list_is_one_line_per_session_in_a_pipe(home: Path):
    talk = talk_about(home, "beans")
    os.utime(talk.path, (86400 * 365, 86400 * 365))
    result = run("list")
    (line,) = result.stdout.splitlines()
    assert (result.exit_code, line.split("\t")[0], line.split("\t")[2:]) == (0, talk.id, [CWD, "beans"])


def test_list_as_json_is_what_is_known_of_each(home: Path):
    talk = talk_about(home, "beans")
    (info,) = json.loads(run("list", "--json").stdout)
    assert (info["id"], info["path"], info["title"], info["git_branch"]) == (talk.id, str(talk.path), "beans", "main")


def test_list_keeps_to_a_directory_and_a_limit(home: Path):
    talk_about(home, "beans")
    Conversation(home, project="-other").user("elsewhere")
    assert len(json.loads(run("list", "--json", "--limit", "1").stdout)) == 1
    assert [info["title"] for info in json.loads(run("list", "-d", CWD, "-n", "0", "--json").stdout)] == ["beans"]


def test_empty_list_is_reported_and_succeeds(home: Path):
    assert (run("list").exit_code, run("list").stderr, run("list", "--json").stdout) == (
        0,
        "no sessions found\n",
        "[]\n",
    )


def test_the_table_of_a_terminal_shows_titles_as_text_and_not_as_markup(home: Path):
    talk = talk_about(home, "[bold]not markup[/bold]")
    screen = io.StringIO()
    Console(file=screen, width=120).print(sessions._table(sessions.transcripts.list_sessions()))
    header, row = screen.getvalue().splitlines()
    assert header.split() == ["ID", "Last", "used", "Directory", "Title"]
    assert row.startswith(talk.id[:8])
    assert "[bold]not markup[/bold]" in row


def test_show_takes_the_beginning_of_an_id(home: Path):
    talk = talk_about(home, "beans", "aaaa1111-0000-4000-8000-000000000001")
    text = run("show", "aaaa1").stdout
    assert text.startswith(f"# beans\n\nSession `{talk.id}`\n")
    assert "## Assistant" in text
    assert "About beans." in text


def test_show_can_be_limited_to_the_last_messages(home: Path):
    talk = talk_about(home, "beans")
    assert "## User" not in run("show", talk.id, "--last", "1").stdout


def test_show_as_json_has_messages_damage_and_subagents(home: Path):
    talk = talk_about(home, "beans")
    talk.line(b"{broken\n")
    inner = Conversation(home)
    inner.user("inner", isSidechain=True)
    folder = talk.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    inner.path.rename(folder / "agent-a1.jsonl")
    shown = json.loads(run("show", talk.id, "--json", "--subagents").stdout)
    assert [message["type"] for message in shown["messages"]] == ["user", "assistant"]
    assert (shown["session"]["id"], shown["damage"]["corrupt"]) == (talk.id, 1)
    assert [agent["agent_id"] for agent in shown["subagents"]] == ["a1"]
    assert "# Subagent" in run("show", talk.id, "--subagents").stdout


def test_search_prints_one_line_per_hit(home: Path):
    talk = talk_about(home, "beans")
    assert run("search", "BEANS").stdout.splitlines() == [
        f"{talk.id[:8]}  user       beans",
        f"{talk.id[:8]}  assistant  About beans.",
    ]
    hits = json.loads(run("search", "beans", "--json", "--limit", "1").stdout)
    assert [(hit["session"]["id"], hit["role"], hit["snippet"]) for hit in hits] == [(talk.id, "user", "beans")]


def test_a_search_without_hits_says_so_and_one_for_nothing_is_wrong_usage(home: Path):
    assert (run("search", "peas").exit_code, run("search", "peas").stderr) == (0, "nothing found\n")
    assert run("search", " ").exit_code == 2


def test_export_writes_a_new_private_file_and_never_over_another(home: Path, tmp_path: Path):
    talk = talk_about(home, "beans")
    target = tmp_path / "talk.md"
    assert run("export", talk.id, "--output", str(target)).exit_code == 0
    assert target.read_text().startswith("# beans\n")
    assert target.stat().st_mode & 0o777 == 0o600
    again = run("export", talk.id, "--output", str(target))
    assert (again.exit_code, again.stderr) == (1, f"handrail sessions: {target}: File exists\n")


def test_export_as_json_lines_is_the_messages_byte_for_byte(home: Path):
    talk = talk_about(home, NASTY)
    written = talk.path.read_bytes()
    talk.note("mode", mode="x")
    assert run("export", talk.id, "--format", "jsonl").stdout_bytes == written


def test_export_tells_of_damage_beside_the_text(home: Path):
    talk = talk_about(home, "beans")
    talk.line(b"{cut")
    assert run("export", talk.id).stderr == f"damage in {talk.path}: 1 truncated\n"


def test_rename_gives_a_title(home: Path):
    talk = talk_about(home, "beans")
    assert run("rename", talk.id[:8], "Peas").exit_code == 0
    assert json.loads(run("list", "--json").stdout)[0]["title"] == "Peas"
    assert run("rename", talk.id, " ").exit_code == 1


def test_delete_asks_first(home: Path):
    talk = talk_about(home, "beans")
    refused = run("delete", talk.id, answer="n\n")
    assert (refused.exit_code, talk.path.exists(), "beans" in refused.stderr) == (1, True, True)
    assert (run("delete", talk.id).exit_code, talk.path.exists()) == (1, True)
    assert (run("delete", talk.id, answer="y\n").exit_code, talk.path.exists()) == (0, False)


def test_delete_with_yes_does_not_ask(home: Path):
    talk = talk_about(home, "beans")
    assert (run("delete", talk.id, "--yes").exit_code, talk.path.exists()) == (0, False)


@pytest.mark.parametrize("command", [("show",), ("export",), ("rename", "title"), ("delete", "--yes")])
def test_a_session_that_is_not_there_is_one_line_and_exit_1(home: Path, command: tuple[str, ...]):
    result = run(command[0], "abcd", *command[1:])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "no session begins with 'abcd'" in result.stderr


@pytest.mark.parametrize(
    "wrong", [("show", "x;y"), ("show", "../../x"), ("show",), ("list", "--limit", "-1"), ("nonsense",)]
)
def test_wrong_usage_is_exit_2_without_a_traceback(home: Path, wrong: tuple[str, ...]):
    result = run(*wrong)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_more_than_one_match_names_them(home: Path):
    talk_about(home, "one", "aaaa1111-0000-4000-8000-000000000001")
    talk_about(home, "two", "aaaa2222-0000-4000-8000-000000000002")
    result = run("show", "aaaa")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "aaaa1111-0000-4000-8000-000000000001, aaaa2222" in result.stderr


@pytest.mark.parametrize("command", ["list", "show", "search", "export", "rename", "delete"])
def test_every_command_has_an_example(command: str):
    assert f"Example:\n    handrail sessions {command}" in run(command, "--help").stdout


@pytest.mark.parametrize(
    "command", [("list",), ("list", "--json"), ("show", "*"), ("show", "*", "--json"), ("search", "b"), ("export", "*")]
)
def test_control_characters_of_a_transcript_never_reach_the_terminal(home: Path, command: tuple[str, ...]):
    talk = Conversation(home)
    talk.user(NASTY, cwd=f"/work/{NASTY}\n/x")
    talk.user([{"type": "tool_result", "tool_use_id": "t", "content": NASTY}])
    talk.note("custom-title", customTitle=NASTY)
    result = run(*(talk.id if part == "*" else part for part in command))
    assert result.exit_code == 0
    assert "b" in result.stdout
    assert not {"\x1b", "\u009b", "\u202e", "\x07"} & set(result.output)


def test_a_title_with_controls_is_asked_about_safely(home: Path):
    talk = talk_about(home, "beans")
    talk.note("custom-title", customTitle=NASTY)
    assert "\x1b" not in run("delete", talk.id, answer="n\n").output


def test_printable_writes_controls_out_and_keeps_lines_tabs_and_letters():
    assert printable("é\t\U0001f600\r\n\x1b\x7f\u009b\u2066\ud800") == "é\t\U0001f600\n\\x1b\\x7f\\x9b\\u2066\\ud800"


def test_reader_that_stops_early_is_not_a_failure(home: Path):
    for number in range(200):
        talk_about(home, f"{number} " + "x" * 150)
    program = "import sys; from handrail.cli import main; sys.exit(main(['sessions', 'search', 'x', '-n', '400']))"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        process = subprocess.run([sys.executable, "-c", program], stdout=closed, stderr=subprocess.PIPE, timeout=60)
    assert (process.returncode, process.stderr) == (0, b"")


def test_a_terminal_that_knows_only_ascii_gets_escapes(home: Path):
    talk_about(home, "größe")
    program = "import sys; from handrail.cli import main; sys.exit(main(['sessions', 'list', *sys.argv[1:]]))"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for flags, title in ([], rb"gr\xf6\xdfe"), (["--json"], "größe".encode()):
        command = [sys.executable, "-c", program, *flags]
        process = subprocess.run(command, capture_output=True, env=environment, timeout=60)
        assert (process.returncode, process.stderr) == (0, b"")
        assert title in process.stdout


def test_list_and_search_keep_to_the_sessions_of_one_cli(home: Path):
    talk_about(home, "beans")
    environment = {"CLAUDE_CONFIG_DIR": str(home), "ANTHROPIC_API_KEY": "", "HANDRAIL_SCRIPT": ""}
    assert piped("run", "--cli", "agent", "--cwd", home, "say peas", **environment).returncode == 0
    titles = {cli: [one["title"] for one in json.loads(run("list", "--json", "--cli", cli).stdout)] for cli in CLIS}
    assert titles == {"": ["say peas", "beans"], "agent": ["say peas"], "claude": ["beans"]}
    assert "beans" not in run("search", "a", "--cli", "agent").stdout
    assert run("list", "--cli", "gemini").exit_code == 2


@pytest.mark.parametrize("command", [("rename", "title"), ("delete", "--yes")])
def test_unreachable_server_is_reported_in_one_line(home: Path, tmp_path: Path, command: tuple[str, str]):
    talk, data = talk_about(home, "beans"), tmp_path / "data"
    folder = DataFolder(data)
    try:
        asyncio.run(Database(data / "handrail.db", TABLES).close())
        with remembered(data, "http://127.0.0.1:1"):
            result = run(command[0], talk.id, *command[1:], "--data", str(data))
    finally:
        folder.close()
    assert (result.exit_code, talk.path.exists()) == (1, True)
    assert result.stderr.startswith("handrail sessions: http://127.0.0.1:1: ")
    assert len(result.stderr.splitlines()) == 1


def test_page_and_command_line_show_the_same_titles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "HANDRAIL_SCRIPT": "", "ANTHROPIC_API_KEY": ""}
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", environment["CLAUDE_CONFIG_DIR"])
    with serving(tmp_path, "--cli", "agent", **environment) as server, server.browser() as browser:
        assert server.lets_in(browser)
        asyncio.run(answers(server, browser, tmp_path))
        (info,) = json.loads(run("list", "--json", "--cli", "agent").stdout)
        order = {"id": "1", "command": "rename", "fields": {"session": info["id"], "title": "From the page"}}
        assert browser.post("/api/commands", json=order).json()["ok"]
        assert [one["title"] for one in json.loads(run("list", "--json").stdout)] == ["From the page"]
        assert run("rename", info["id"][:8], "From here", "--data", str(tmp_path / "data")).exit_code == 0
        assert [one["title"] for one in browser.get("/api/sessions").json()["sessions"]] == ["From here"]
        assert [one["title"] for one in json.loads(run("list", "--json").stdout)] == ["From here"]
        assert run("delete", "--yes", info["id"], "--data", str(tmp_path / "data")).exit_code == 0
        assert browser.get("/api/sessions").json()["sessions"] == []
        assert run("list", "--json").stdout == "[]\n"
