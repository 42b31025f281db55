"""`handrail run` in a pipe: what a script, a log or another program sees of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text
from handrail.conform.messages_api import ScriptedMessagesApi
from handrail.model_access.stored import ModelAccess, save_access
from handrail.transport.recording_file import read_recording
from tests.cli.command import HANDRAIL, PATIENCE, piped
from tests.cli.words import cli, told
from tests.client.scripted_cli import SESSION

PNG = b"\x89PNG\r\n\x1a\n and more"
USAGE = {"usage": {"input_tokens": 3}, "modelUsage": {"m": {"inputTokens": 1200, "outputTokens": 34, "costUSD": 0.5}}}


def test_text_is_shown_once_whether_it_was_streamed_or_not(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        stream("Streamed ", "text.")
        say(assistant("Streamed text."))
        say({**assistant("Whole text."), "message": {**assistant("Whole text.")["message"], "id": "msg_2"}})
        say(result("Whole text."))
        """,
    )
    done = piped("run", "--cli", path, "go")
    text = done.stdout.decode()
    assert (done.returncode, text.count("Streamed text."), text.count("Whole text.")) == (0, 1, 1)
    assert done.stderr == b""


def test_the_end_tells_cost_tokens_time_and_the_session(tmp_path: Path):
    path = cli(tmp_path, f"prompt()\nsay(result('done', total_cost_usd=0.5, duration_ms=4200, **{USAGE!r}))")
    lines = piped("run", "--cli", path, "go").stdout.decode().splitlines()
    assert lines[-2:] == [
        f"$0.5000 · 1,200 tokens in, 34 out · 4.2 s · session {SESSION}",
        f'resume: handrail run --resume {SESSION[:8]} "…"',
    ]


def test_each_tool_is_one_line_with_its_argument_and_its_outcome(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        say(assistant(use("Bash", command="make\\n test")), assistant(use("Read", id="toolu_2", file_path="/a/b")))
        used("nothing to read", id="toolu_2", is_error=True)
        used("x", detail={"stdout": "one\\nall good", "stderr": ""})
        say(result())
        """,
    )
    lines = piped("run", "--cli", path, "go").stdout.decode().splitlines()
    assert [line for line in lines if line.startswith("  ")] == [
        "  ✗ Read /a/b · nothing to read",
        "  ✓ Bash make test · all good (2 lines)",
    ]


def test_the_tools_of_a_subagent_are_indented_below_it(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        say(assistant(use("Task", description="look around", prompt="p")))
        say({**assistant("inner words", use("Read", id="toolu_2", file_path="/a")), "parent_tool_use_id": "toolu_1"})
        used("1 line", id="toolu_2", parent="toolu_1")
        used("found", detail={"status": "completed", "content": [{"type": "text", "text": "found"}], "totalTokens": 9})
        say(result())
        """,
    )
    text = piped("run", "--cli", path, "go").stdout.decode()
    assert [line for line in text.splitlines() if line.startswith("  ")] == [
        "  ▸ Task look around",
        "    ✓ Read /a · 1 line",
        "  ✓ Task look around · found (0 tools, 9 tokens)",
    ]
    assert "inner words" not in text


@pytest.mark.parametrize(("flags", "shown"), [([], False), (["--thinking"], True)])
def test_thinking_is_shown_only_where_it_is_asked_for(tmp_path: Path, flags: list[str], shown: bool):
    path = cli(tmp_path, "prompt()\nstream('deep thought', kind='thinking')\nstream('Answer')\nsay(result('Answer'))")
    assert ("deep thought" in piped("run", *flags, "--cli", path, "go").stdout.decode()) is shown


def test_without_a_terminal_a_permission_is_denied_and_the_note_says_how_to_allow_it(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        rule = {"toolName": "Bash", "ruleContent": "touch *"}
        decide(command="touch a", suggestions=[{"type": "addRules", "rules": [rule], "behavior": "allow"}])
        say(result())
        """,
    )
    done = piped("run", "--cli", path, "go")
    assert done.returncode == 0
    assert told(path)[0]["behavior"] == "deny"  # type: ignore[index]
    assert done.stderr.decode() == (
        "handrail: denied: Bash touch a (standard input is not a terminal); --allow 'Bash(touch *)' would allow it\n"
    )


def test_without_a_terminal_questions_stay_open_and_plans_are_refused(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        decide("AskUserQuestion", questions=[{"question": "Which colour?", "header": "C", "options": []}])
        decide("ExitPlanMode", plan="# do it")
        say(result())
        """,
    )
    done = piped("run", "--cli", path, "go")
    assert [answer["behavior"] for answer in told(path)] == ["deny", "deny"]  # type: ignore[index]
    assert "not answered (standard input is not a terminal): Which colour?" in done.stderr.decode()


def test_json_gives_the_raw_lines_and_nothing_else(tmp_path: Path):
    odd = '{"type":"tomorrow",  "b":1.0, "a":"\\u001b[31m \x7f"}'
    path = cli(tmp_path, f"prompt()\nsay_raw({odd!r})\ndecide(command='x')\nsay(assistant('Hi'))\nsay(result('Hi'))")
    done = piped("run", "--json", "--cli", path, "go")
    lines = done.stdout.splitlines()
    assert odd.encode() in lines
    assert [json.loads(line)["type"] for line in lines][-4:] == ["system", "tomorrow", "assistant", "result"]
    assert "--json asks nobody" in done.stderr.decode()
    assert done.returncode == 0


def test_quiet_gives_only_the_final_text(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        say(assistant("Let me see."), assistant(use("Bash", command="ls")))
        used("x")
        sys.stderr.write("a warning\\n")
        say(result("The\\nanswer"))
        """,
    )
    done = piped("run", "-q", "--cli", path, "go")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"The\nanswer\n", b"")


def test_nothing_hostile_reaches_the_output_as_it_is(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        evil = "\\x1b]0;owned\\x07 \\x9b2J \\u202e \\r\\x7f"
        prompt()
        stream(evil, "\\x1b", "[2J")
        say(assistant(use("Bash", command=evil), {"type": "thinking", "thinking": evil}))
        used(evil, detail={"stdout": evil, "stderr": evil})
        decide(command=evil)
        sys.stderr.write(evil + "\\n"); sys.stderr.flush()
        say({"type": "system", "subtype": "informational", "content": evil, "session_id": SESSION})
        say(failure("error_during_execution", evil))
        """,
    )
    for flags in ([], ["--thinking"], ["-q"]):
        done = piped("run", *flags, "--cli", path, "go")
        text = (done.stdout + done.stderr).decode()
        assert done.returncode == 1
        assert {letter for letter in text if ord(letter) < 32 or 127 <= ord(letter) < 160} <= {"\n"}
        assert "\u202e" not in text


def test_a_failed_turn_says_why_in_one_block(tmp_path: Path):
    path = cli(tmp_path, "prompt()\nsay(failure('error_max_turns', 'Reached 2 turns', terminal_reason='max_turns'))")
    done = piped("run", "--cli", path, "go")
    assert done.returncode == 1
    assert done.stderr.decode() == "handrail run: the turn failed (max_turns): Reached 2 turns\n"


def test_api_error_is_reported_once(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        prompt()
        say({**assistant("API Error: 401"), "is_api_error_message": True})
        say(result("API Error: 401", is_error=True, terminal_reason="api_error"))
        """,
    )
    done = piped("run", "--cli", path, "go")
    assert (done.returncode, (done.stdout + done.stderr).decode().count("API Error: 401")) == (1, 1)


def test_a_cli_that_dies_in_the_turn_is_an_error_without_a_traceback(tmp_path: Path):
    path = cli(tmp_path, "prompt()\nsys.stderr.write('out of memory\\n')\nos._exit(7)")
    done = piped("run", "--cli", path, "go")
    assert done.returncode == 1
    assert "exit code 7" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_malformed_line_is_reported_and_the_rest_arrives(tmp_path: Path):
    path = cli(tmp_path, "prompt()\nsay_raw('oops')\nsay(assistant('Fine'))\nsay(result('Fine'))")
    done = piped("run", "--cli", path, "go")
    assert done.returncode == 0
    assert b"Fine" in done.stdout
    assert b"handrail run: the CLI wrote a line that cannot be used" in done.stderr


def test_stderr_of_the_cli_is_printed_with_its_name(tmp_path: Path):
    path = cli(tmp_path, "sys.stderr.write('early\\n')\nsys.stderr.flush()\nprompt()\nsay(result())")
    assert piped("run", "--cli", path, "go").stderr == b"cli: early\n"


def test_the_prompt_can_come_from_standard_input(tmp_path: Path):
    path = cli(tmp_path, "tell(prompt())\nsay(result())")
    assert piped("run", "--cli", path, "-", given="What is\nthis? ü\n").returncode == 0
    assert told(path) == ["What is\nthis? ü\n"]


def test_a_picture_goes_with_the_prompt(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(PNG)
    path = cli(tmp_path, "heard = hear()\ntell(heard['message']['content'])\nuuids[:] = [heard['uuid']]\nsay(result())")
    piped("run", "--cli", path, "--image", tmp_path / "a.png", "see?")
    ((text, image),) = told(path)  # type: ignore[misc]
    assert (text["text"], image["source"]["media_type"]) == ("see?", "image/png")


def test_options_reach_the_cli(tmp_path: Path):
    path = cli(tmp_path, "tell(sys.argv[2:])\nprompt()\nsay(result())")
    flags = ["--model", "m1", "--permission-mode", "plan", "--allow", "Read", "--allow", "Bash(ls)", "--deny", "Edit"]
    flags += ["--max-turns", "3", "--max-budget", "0.5", "--add-dir", str(tmp_path), "--setting-sources", "user,local"]
    assert piped("run", "--cli", path, "--cwd", tmp_path, *flags, "--continue", "go").returncode == 0
    (arguments,) = told(path)
    assert set(arguments) >= {  # type: ignore[call-overload]
        "--model=m1",
        "--permission-mode=plan",
        "--allowedTools=Read,Bash(ls)",
        "--disallowedTools=Edit",
        "--max-turns=3",
        "--max-budget-usd=0.5",
        f"--add-dir={tmp_path}",
        "--setting-sources=user,local",
        "--continue",
    }


def test_by_default_no_settings_are_loaded(tmp_path: Path):
    path = cli(tmp_path, "tell(sys.argv[2:])\nprompt()\nsay(result())")
    piped("run", "--cli", path, "go")
    assert "--setting-sources=" in told(path)[0]  # type: ignore[operator]


def test_the_start_of_an_id_is_enough_to_resume(tmp_path: Path):
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    line = {"type": "user", "uuid": "u", "sessionId": SESSION, "message": {"role": "user", "content": "hi"}}
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(line) + "\n")
    path = cli(tmp_path, "tell(sys.argv[2:])\nprompt()\nsay(result())")
    assert piped("run", "--cli", path, "--resume", SESSION[:8], "go").returncode == 0
    assert f"--resume={SESSION}" in told(path)[0]  # type: ignore[operator]


def test_a_run_can_be_recorded(tmp_path: Path):
    path = cli(tmp_path, "prompt()\nsay(assistant('Hi'))\nsay(result('Hi'))")
    done = piped("run", "--cli", path, "--record", tmp_path / "talk.ndjson", "go")
    assert f"handrail inspect {tmp_path / 'talk.ndjson'}" in done.stdout.decode()
    assert {row.dir for row in read_recording(tmp_path / "talk.ndjson").rows} == {"in", "out"}


def test_a_subagent_in_the_background_is_waited_for_with_the_turn_that_reports(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        task = {"task_id": "t", "task_type": "local_agent", "description": "sub job"}
        changed = {"type": "system", "subtype": "background_tasks_changed", "session_id": SESSION}
        prompt()
        say({**changed, "tasks": [task]}, assistant("main done"), result("main done"))
        say({**changed, "tasks": []})
        say({"type": "system", "subtype": "init", "session_id": SESSION, "model": "m"})
        report = {**assistant("the report")["message"], "id": "msg_2"}
        say({**assistant(), "message": report}, result("the report", user_message_uuids=[]))
        """,
    )
    assert "the report" in piped("run", "--cli", path, "go").stdout.decode()
    assert piped("run", "-q", "--cli", path, "go").stdout == b"the report\n"


def test_a_command_in_the_background_is_not_waited_for(tmp_path: Path):
    path = cli(
        tmp_path,
        """
        task = {"task_id": "t", "task_type": "local_bash", "description": "npm start"}
        prompt()
        say({"type": "system", "subtype": "background_tasks_changed", "tasks": [task], "session_id": SESSION})
        say(result())
        """,
    )
    done = piped("run", "--cli", path, "go")
    assert "background tasks that were ended: npm start" in done.stdout.decode()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--permission-mode", "yolo", "go"], "--permission-mode: 'yolo' is not one of"),
        (["--setting-sources", "moon", "go"], "'moon' is not one of user, project, local"),
        (["--resume", "12", "go"], "--resume"),
        (["--resume", SESSION, "--continue", "go"], "--resume: cannot be used with continue_conversation"),
        (["--max-turns", "0", "go"], "--max-turns"),
        (["--max-budget", "-1", "go"], "--max-budget"),
        (["--json", "--quiet", "go"], "choose one of --json and --quiet"),
        (["--image", __file__, "go"], "are not an image"),
        (["--record", __file__, "go"], "exists; choose another name"),
        (["--cwd", "/no/such/folder", "go"], "--cwd"),
        (["--cli", "/no/such/cli", "go"], "--cli: /no/such/cli does not exist"),
        (["   "], "the prompt is empty"),
        ([], "PROMPT"),
        (["--yes", "go"], "--yes"),
    ],
)
def test_a_usage_error_exits_with_2_and_says_what_is_wrong(flags: list[str], says: str):
    done = piped("run", *flags)
    assert (done.returncode, done.stdout) == (2, b"")
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def clean(tmp_path: Path, **more: str) -> dict[str, str]:
    """The environment of a person with nothing installed and no account."""
    no_key = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "HANDRAIL_SCRIPT"), "")
    return {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "PATH": "/usr/bin:/bin", **no_key, **more}


def test_without_claude_and_key_the_demo_answers_and_says_so(tmp_path: Path):
    done = piped("run", "--cwd", tmp_path, "go", **clean(tmp_path))
    assert (done.returncode, "This is Demo mode." in done.stdout.decode()) == (0, True)
    assert done.stderr.decode() == "handrail run: Demo mode: a script answers. `handrail connect` connects a model.\n"


def test_agent_is_chosen_by_name_and_plays_the_script_of_the_environment(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text('{"replies": [], "afterwards": {"blocks": [{"type": "text", "text": "As scripted."}]}}')
    environment = clean(tmp_path, HANDRAIL_SCRIPT=str(script))
    done = piped("run", "--quiet", "--cli", "agent", "--cwd", tmp_path, "go", **environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"As scripted.\n", b"")


async def test_connected_endpoint_answers(tmp_path: Path):
    async with ScriptedMessagesApi(Script.of(text("From the endpoint."))) as api:
        environment = clean(tmp_path)
        save_access(ModelAccess("api", "sk-test-0123456789", api.url, "house-model"), environment)
        done = await asyncio.to_thread(piped, "run", "--quiet", "--cwd", tmp_path, "go", **environment)
    assert (done.returncode, done.stdout) == (0, b"From the endpoint.\n"), done.stderr
    assert api.main_requests[0].body["model"] == "house-model"


def test_missing_claude_is_an_error_where_it_was_requested(tmp_path: Path):
    done = piped("run", "--cli", "claude", "go", **clean(tmp_path, PATH=str(tmp_path)))
    assert (done.returncode, done.stderr.startswith(b"handrail run: --cli: claude not found in")) == (2, True)


def test_program_that_is_not_a_cli_is_an_error_without_a_traceback():
    for program in ("/bin/true", "/bin/cat"):
        done = piped("run", "--cli", program, "go")
        assert (done.returncode, done.stderr.startswith(b"handrail run: the CLI could not be started")) == (1, True)
        assert b"Traceback" not in done.stderr


def test_a_reader_that_leaves_ends_it_quietly(tmp_path: Path):
    path = cli(tmp_path, "prompt()\nstream(*['many words ' * 1000 for _ in range(100)])\nhear()")
    command = [*HANDRAIL, "run", "--cli", path, "go"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(PATIENCE)) == (b"", 1)


def test_a_terminated_run_ends_the_cli_too(tmp_path: Path):
    path = cli(tmp_path, "tell(os.getpid())\nprompt()\nsay(assistant('Working'))\nhear()")
    command = [*HANDRAIL, "run", "--json", "--cli", path, "go"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        while b"Working" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(told(path)[0])), 0)
