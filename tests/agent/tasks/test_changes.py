"""Changes: refactoring, renaming, new modules, notebooks and pictures."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from pathlib import Path

from handrail.agent.models.script import tool_use
from tests.agent.tasks.story import bash, edit, failure, note, prompt, read, result, shown, task, write

TESTS = "python3 -m unittest -q 2>&1"


async def test_a_refactoring_across_files(tmp_path: Path) -> None:
    files = {
        "money.py": "def fmt(cents):\n    return f'{cents / 100:.2f} EUR'\n",
        "invoice.py": "from money import fmt\n\n\ndef line(name, cents):\n    return name + ': ' + fmt(cents)\n",
        "report.py": "import money\n\n\ndef total(cents):\n    return 'Total: ' + money.fmt(cents)\n",
        "test_money.py": (
            "import unittest\n\nimport invoice\nimport report\n\n\nclass MoneyTest(unittest.TestCase):\n"
            "    def test_texts(self):\n        self.assertEqual(invoice.line('Tea', 250), 'Tea: 2.50 EUR')\n"
            "        self.assertEqual(report.total(1000), 'Total: 10.00 EUR')\n"
        ),
    }
    async with task(tmp_path, files) as work:
        await work.turn(
            "Rename fmt to format_amount everywhere.",
            shown(prompt("Rename fmt")).calls(bash("grep -rn fmt --include=*.py ."), bash(TESTS)),
            shown(result("./money.py:1:", "./invoice.py:1:", "./invoice.py:5:", "./report.py:5:"), result("OK")).calls(
                read("money.py"), read("invoice.py"), read("report.py")
            ),
            shown(result("def fmt"), result("from money import fmt"), result("money.fmt(cents)")).calls(
                edit("money.py", "fmt", "format_amount"),
                edit("invoice.py", "fmt", "format_amount", replace_all=True),
                edit("report.py", "money.fmt", "money.format_amount"),
            ),
            shown(
                result("money.py has been updated successfully."),
                result("invoice.py has been updated. All occurrences"),
                result("report.py has been updated successfully."),
            ).calls(bash(f"grep -rnw fmt --include=*.py .; {TESTS}")),
            shown(result("OK").without("./")).says("Renamed in three files; the tests pass."),
        )
        changed = {name: files[name].replace("fmt", "format_amount") for name in files}
        assert {name: work.text(name) for name in files} == changed


async def test_a_new_module_with_tests(tmp_path: Path) -> None:
    async with task(tmp_path, {"README.md": "# Texts\n"}) as work:
        module = "def slug(title):\n    return '-'.join(title.split())\n"
        tests = (
            "import unittest\n\nfrom texts.slug import slug\n\n\nclass SlugTest(unittest.TestCase):\n"
            "    def test_words(self):\n        self.assertEqual(slug('Hello  World'), 'hello-world')\n"
        )
        await work.turn(
            "Add texts/slug.py with slug(title), and tests.",
            shown(prompt("Add texts/slug.py")).calls(bash("ls -a")),
            shown(result("README.md")).calls(
                write("texts/__init__.py", ""), write("texts/slug.py", module), write("test_slug.py", tests)
            ),
            shown(
                result("File created successfully at:", "texts/__init__.py"),
                result("File created successfully at:", "texts/slug.py"),
                result("File created successfully at:", "test_slug.py"),
            ).calls(bash(TESTS)),
            shown(failure("'Hello-World' != 'hello-world'")).calls(edit("texts/slug.py", "title.", "title.lower().")),
            shown(result("has been updated successfully", "current in your context")).calls(bash(TESTS)),
            shown(result("OK")).says("slug() is in texts/slug.py."),
        )
        assert work.text("texts/slug.py") == module.replace("title.", "title.lower().")
        assert work.text("README.md") == "# Texts\n"


async def test_a_file_is_renamed(tmp_path: Path) -> None:
    async with task(tmp_path, {}) as work:
        work.commit(
            "First", {"util.py": "def one():\n    return 1\n", "main.py": "from util import one\nprint(one())\n"}
        )
        await work.turn(
            "Rename util.py to numbers_of.py.",
            shown(prompt("Rename util.py")).calls(read("util.py"), bash("grep -rn util --include=*.py .")),
            shown(result("def one()"), result("./main.py:1:from util import one")).calls(
                bash("git mv util.py numbers_of.py"), edit("main.py", "from util", "from numbers_of")
            ),
            shown(result("no output"), result("main.py has been updated successfully")).calls(
                bash("python3 main.py && git status --short"), read("util.py")
            ),
            shown(result("R  util.py -> numbers_of.py", " M main.py"), failure("File does not exist")).says("Renamed."),
        )
        assert work.git("status", "--short") == " M main.py\nR  util.py -> numbers_of.py\n"


async def test_a_cell_of_a_notebook_is_changed(tmp_path: Path) -> None:
    def cell(id: str, source: str, **fields: object) -> dict[str, object]:
        return {"cell_type": "code", "id": id, "metadata": {}, "source": source, "execution_count": 1, **fields}

    output = {"output_type": "stream", "name": "stdout", "text": "3\n"}
    cells = [cell("load", "rows = [1, 2, 3]", outputs=[]), cell("count", "print(len(rows))", outputs=[output])]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    async with task(tmp_path, {"stats.ipynb": json.dumps(notebook)}) as work:
        change = tool_use("NotebookEdit", notebook_path="stats.ipynb", cell_id="count", new_source="print(sum(rows))")
        await work.turn(
            "Print the sum, not the number of rows.",
            shown(prompt("Print the sum")).calls(change),
            shown(failure("has not been read")).calls(read("stats.ipynb")),
            shown(result("rows = [1, 2, 3]", "print(len(rows))", '<cell id="count">', "\n3\n")).calls(
                edit("stats.ipynb", "len(rows)", "sum(rows)")
            ),
            shown(failure("NotebookEdit")).calls(change),
            shown(result("print(sum(rows))")).calls(read("stats.ipynb")),
            shown(result("print(sum(rows))").without("len(rows)", "\n3\n")).says("The notebook prints the sum."),
        )
        written = json.loads(work.text("stats.ipynb"))["cells"]
        assert written[0]["source"] == "rows = [1, 2, 3]"
        assert (written[1]["source"], written[1]["outputs"]) == ("print(sum(rows))", [])


async def test_image_is_read(tmp_path: Path) -> None:
    async with task(tmp_path, {"shot.png": _png(2, 2), "fake.png": b"not a picture"}) as work:
        await work.turn(
            "What is on shot.png?",
            shown(prompt("What is on")).calls(read("shot.png"), read("fake.png")),
            shown(result("[image image/png]"), failure("not a complete png")).says("Four red dots."),
        )
        data = b64encode(_png(3, 3)).decode()
        sent = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        await work.turn(
            [{"type": "text", "text": "And on this one?"}, sent],
            shown(prompt("And on this one?"), prompt("[image image/png]"), prompt("saved as:")).says("Nothing."),
        )


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * width) * height
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


async def test_notes_of_subfolders_come_once_and_after_all_results(tmp_path: Path) -> None:
    files = {
        "CLAUDE.md": "Use tabs.\n",
        "api/CLAUDE.md": "Every handler has a test.\n",
        "api/users.py": "def users():\n\treturn []\n",
        "web/CLAUDE.md": "No inline styles.\n",
        "web/page.html": "<p>Hello</p>\n",
        ".claude/rules/html.md": '---\npaths: "**/*.html"\n---\nClose every tag.\n',
    }
    async with task(tmp_path, files) as work:
        await work.turn(
            "Compare the user API with the page.",
            shown(note("Use tabs.").without("handler", "inline", "Close"), prompt("Compare the user")).calls(
                read("api/users.py"), read("web/page.html")
            ),
            shown(
                result("def users()"),
                result("<p>Hello</p>"),
                note("Every handler has a test."),
                note("No inline styles."),
                note("Close every tag."),
            ).calls(read("web/page.html"), edit("api/users.py", "[]", "['Ada']")),
            shown(result("<p>Hello</p>"), result("has been updated successfully")).says("The page shows no users."),
        )
        assert work.text("api/users.py") == "def users():\n\treturn ['Ada']\n"


async def test_a_host_with_its_own_system_prompt(tmp_path: Path) -> None:
    files = {"CLAUDE.md": "Rhymes only.\n", "poem.txt": "Roses are red\n"}
    async with task(tmp_path, files, "--system-prompt", "You are a poet.") as work:
        await work.turn(
            "Add a line.",
            # The tools take absolute paths, so the model has to know the folder.
            shown(
                note("# Environment", f"Working folder: {tmp_path}/project"), note("Rhymes only."), prompt("Add")
            ).calls(edit("poem.txt", "red\n", "red\nGo to bed\n")),
            shown(result("has been updated successfully")).says("Done."),
        )
        assert [block["text"] for block in work.host.model.asked[0]["system"]] == ["You are a poet."]
        assert work.text("poem.txt") == "Roses are red\nGo to bed\n"
