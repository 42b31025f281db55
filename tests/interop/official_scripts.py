"""The model's replies in each scenario of the official SDKs.

Both SDKs run the same scenarios; `ONLY` lists those that only one of them can run. In a scenario that starts several
agents the replies have conditions, because each agent starts at the beginning of the script.
"""

from __future__ import annotations

from handrail.testing import Reply, Script, When, hang, http_error, reply, text, thinking, tool_use

SDKS = ("python", "typescript")
ONLY = {
    "session_store": "python",
    "mutated_sessions": "python",
    "server_info": "python",
    "blocked_hook_matcher": "python",
    "supported": "typescript",
    "set_mcp_servers": "typescript",
    "rewind_dry_run": "typescript",
    "abort": "typescript",
    "flag_settings": "typescript",
}

TOUCH = tool_use("Bash", command="touch made.txt; echo it is made")
SUBAGENT = tool_use("Agent", description="Look", prompt="look closely", subagent_type="looker", run_in_background=False)
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "like fire"}, {"label": "Blue", "description": "like the sea"}],
}


def says(words: str, **condition: str | bool) -> Reply:
    """A reply for the requests that match a condition."""
    return reply(text(words), when=When(**condition))


def write(name: str, content: str) -> Reply:
    return reply(tool_use("Write", file_path=name, content=content))


MADE = Script.of(
    says("I made it.", tool_result="it is made"),
    says("I understand.", tool_result="not today"),
    TOUCH,
    afterwards=reply(text("nothing came of it")),
)
MEMORY = Script.of(
    says("I will.", prompt="remember"),
    says("It was 42.", said="I will."),
    afterwards=reply(text("I remember nothing.")),
)

SPEAKING: dict[str, Script] = {
    "query": Script.of(text("Hello.")),
    "multi_turn": Script.of(says("one", prompt="first"), says("two", said="one")),
    "streaming_input": Script.of(text("one"), text("two")),
    "image_input": Script.of(says("a pixel", prompt="what is this")),
    "partial_messages": Script.of(reply(thinking("Let me see."), text("red green blue"))),
    "interrupt": Script.of(reply(text("I begin"), hang()), text("still here")),
    "max_turns": Script.of(TOUCH, TOUCH, text("never said")),
    "budget": Script.of(TOUCH, TOUCH, TOUCH, text("never said")),
    "error_result": Script.of(http_error(400, message="the request is odd", times=20)),
    "structured_output": Script.of(tool_use("StructuredOutput", name="Ada", age=36), text("done")),
    "parallel_tools": Script.of(
        [tool_use("Bash", command="echo left"), tool_use("Bash", command="echo right")], text("both")
    ),
    "abort": Script.of(reply(text("I begin"), hang())),
}
PERMITTING: dict[str, Script] = {
    "permission_allow": MADE,
    "permission_deny": MADE,
    "permission_updated_input": Script.of(says("changed", tool_result="by the user"), TOUCH),
    "permission_suggestions": Script.of(
        reply(tool_use("Write", file_path="one.txt", content="1")),
        reply(tool_use("Write", file_path="two.txt", content="2")),
        text("two files"),
    ),
    "permission_interrupt": MADE,
    "question": Script.of(says("Blue it is.", tool_result="Blue"), tool_use("AskUserQuestion", questions=[QUESTION])),
    "plan_mode": Script.of(tool_use("ExitPlanMode", plan="1. Dig."), text("digging")),
    "allowed_tools": Script.of(says("I made it.", tool_result="it is made"), TOUCH),
    "disallowed_tools": Script.of(says("none", prompt="is there a shell")),
    "set_permission_mode": Script.of(text("ready"), write("made.txt", "x"), text("written")),
}
HOOKING: dict[str, Script] = {
    "hook_allow": MADE,
    "hook_deny": MADE,
    "hook_modify": Script.of(says("changed", tool_result="by the hook"), TOUCH),
    "hook_after": Script.of(says("I heard.", prompt="the disk is nearly full"), TOUCH),
    "hook_prompt": Script.of(says("Monday.", prompt="today is a Monday"), afterwards=reply(text("no idea"))),
    "hook_prompt_blocked": Script.of(afterwards=reply(text("never asked"))),
    "hook_stop": Script.of(says("more", prompt="not yet"), text("finished")),
    "blocked_hook_matcher": MADE,
}
MOVING: dict[str, Script] = {
    "sdk_tools": Script.of(
        says("5 and 12", tool_result="12"),
        [tool_use("mcp__sums__add", a=2, b=3), tool_use("mcp__sums__multiply", a=3, b=4)],
    ),
    "sdk_tool_error": Script.of(says("it failed", failed=True), tool_use("mcp__sums__divide", a=1, b=0)),
    "sdk_tool_image": Script.of(says("a pixel", after="mcp__sums__picture"), tool_use("mcp__sums__picture")),
    "mcp_status": Script.of(text("hello")),
    "agents": Script.of(
        says("I see a mouse.", prompt="look closely", system="You have good eyes"),
        says("A mouse, it says.", tool_result="I see a mouse."),
        SUBAGENT,
    ),
    "background_task": Script.of(
        says("it runs", prompt="start it", after="Bash"),
        says("it was stopped", prompt="<task-notification>"),
        reply(tool_use("Bash", command="sleep 600", run_in_background=True)),
        afterwards=reply(text("it runs")),
    ),
    "set_mcp_servers": Script.of(
        text("ready"), tool_use("mcp__late__greet"), says("greeted", tool_result="Hello from late")
    ),
}
REMEMBERING: dict[str, Script] = {
    "resume": MEMORY,
    "continue": MEMORY,
    "fork": MEMORY,
    "resume_at": Script.of(
        says("I will.", prompt="remember"),
        says("And that too.", prompt="this too"),
        says("It was 42.", said="I will."),
        says("I know too much.", said="And that too."),
    ),
    "own_session_id": MEMORY,
    "sessions": MEMORY,
    "session_store": MEMORY,
    "mutated_sessions": MEMORY,
    "rewind": Script.of(
        tool_use("Read", file_path="notes.txt"), write("notes.txt", "new\n"), text("changed"), text("bye")
    ),
    "rewind_dry_run": Script.of(
        tool_use("Read", file_path="notes.txt"), write("notes.txt", "new\n"), text("changed"), text("bye")
    ),
}
SETTING: dict[str, Script] = {
    "set_model": Script.of(text("one"), text("two")),
    "system_prompt": Script.of(says("Arr.", system="You are a pirate"), afterwards=reply(text("Hello."))),
    "system_prompt_append": Script.of(says("Arr.", system="Speak like a pirate"), afterwards=reply(text("Hello."))),
    "settings_sources": Script.of(
        says("denied", failed=True), says("ran", failed=False, after="Bash"), reply(TOUCH, when=When(prompt="go"))
    ),
    "add_dir": Script.of(
        says("read", tool_result="from outside"), tool_use("Read", file_path="/OUTSIDE/far.txt"), text("not read")
    ),
    "env": Script.of(says("it is seen", tool_result="colour=teal"), tool_use("Bash", command="echo colour=$COLOUR")),
    "stderr": Script.of(text("Hello.")),
    "tools_option": Script.of(text("Hello.")),
    "slash_command": Script.of(says("Good day, Ada.", prompt="Greet Ada warmly"), afterwards=reply(text("what?"))),
    "skills_and_agents_on_disk": Script.of(text("Hello.")),
    "plugin": Script.of(says("Hi from the plugin.", prompt="Say hi the plugin way"), afterwards=reply(text("what?"))),
    "context_usage": Script.of(text("Hello.")),
    "server_info": Script.of(text("Hello.")),
    "supported": Script.of(text("Hello.")),
    "flag_settings": Script.of(text("one"), text("two")),
}


PARTS = {
    "speaking": SPEAKING,
    "permitting": PERMITTING,
    "hooking": HOOKING,
    "moving": MOVING,
    "remembering": REMEMBERING,
    "setting": SETTING,
}


def scenarios(sdk: str, part: str) -> list[str]:
    """The names of the scenarios in a part that an SDK runs."""
    return [name for name in PARTS[part] if ONLY.get(name, sdk) == sdk]
