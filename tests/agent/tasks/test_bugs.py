"""Faults: found, fixed and checked by running the project's tests."""

from __future__ import annotations

from pathlib import Path

from tests.agent.tasks.story import (
    bash,
    edit,
    failure,
    note,
    process_task,
    prompt,
    read,
    result,
    shown,
    task,
    with_found,
)

TESTS = "python3 -m unittest -q 2>&1"
SHOP = {
    "CLAUDE.md": "Run the tests with `python3 -m unittest -q`.\n",
    "shop/__init__.py": "",
    "shop/order.py": (
        "from shop.discount import rate\n\n\ndef total(prices, code=None):\n"
        "    whole = sum(prices)\n    return whole - whole * rate(code)\n"
    ),
    "shop/discount.py": (
        'RATES = {"SPRING": 10, "STAFF": 25}\n\n\ndef rate(code):\n    return RATES.get(code, 0) / 10\n'
    ),
    "test_order.py": (
        "import unittest\n\nfrom shop.order import total\n\n\nclass OrderTest(unittest.TestCase):\n"
        "    def test_discount(self):\n        self.assertEqual(total([60, 40], 'SPRING'), 90)\n\n"
        "    def test_no_discount(self):\n        self.assertEqual(total([60, 40]), 100)\n"
    ),
}


async def test_find_a_bug_fix_it_and_run_the_tests(tmp_path: Path) -> None:
    async with process_task(tmp_path, SHOP) as work:
        said = await work.turn(
            "The total of an order with a discount code is wrong. Find out why and fix it.",
            shown(note("Run the tests with"), prompt("discount code is wrong"))
            .says("I'll run the tests first.")
            .calls(bash(TESTS), bash("ls shop")),
            shown(failure("AssertionError: 0.0 != 90", "Exit code 1"), result("discount.py"))
            .says("The discount is ten times too large.")
            .calls(read("shop/order.py"), read("shop/discount.py")),
            shown(result("whole * rate(code)"), result("RATES.get(code, 0) / 10")).calls(
                edit("shop/discount.py", "RATES.get(code, 0) / 10", "RATES.get(code, 0) / 100")
            ),
            shown(result("has been updated successfully")).calls(bash(TESTS)),
            shown(result("Ran 2 tests", "OK")).says("Fixed in shop/discount.py:5: rates are percentages."),
        )
        assert said.startswith("Fixed in")
        said = await work.turn(
            "Which codes are there?", shown(prompt("Which codes")).says("SPRING (10 %) and STAFF (25 %).")
        )
        assert "/ 100\n" in work.text("shop/discount.py")
        assert work.text("shop/order.py") == SHOP["shop/order.py"]


async def test_wrong_edits_are_explained_and_corrected(tmp_path: Path) -> None:
    source = "def first(items):\n    return items[1]\n\n\ndef last(items):\n    return items[1]\n"
    async with task(tmp_path, {"ends.py": source}) as work:
        await work.turn(
            "first() and last() of ends.py are wrong.",
            shown(prompt("ends.py are wrong")).calls(read("ends.py")),
            shown(result("2\t    return items[1]", "6\t    return items[1]")).calls(
                edit("ends.py", "return items[1]", "return items[0]")
            ),
            shown(failure("Found 2 matches", "set replace_all to true")).calls(
                edit("ends.py", "2\t    return items[1]", "x")
            ),
            shown(failure("String to replace not found")).calls(
                edit("ends.py", "first(items):\n    return items[1]", "first(items):\n    return items[0]")
            ),
            shown(result("has been updated successfully")).calls(edit("ends.py", "items[1]", "items[-1]")),
            shown(result("has been updated successfully")).calls(edit("end.py", "items", "things")),
            shown(failure("does not exist", "Did you mean ends.py?")).says("Both are right now."),
        )
        assert work.text("ends.py") == source.replace("items[1]", "items[0]", 1).replace("items[1]", "items[-1]")


async def test_a_long_log_is_searched_where_it_was_saved(tmp_path: Path) -> None:
    script = "for n in range(6000):\n    print(f'{n:05} ok')\nprint('06000 FATAL disk is full')\nraise SystemExit(0)\n"
    files = {"good.py": script, "bad.py": script.replace("SystemExit(0)", "SystemExit(3)")}
    async with task(tmp_path, files) as work:
        await work.turn(
            "Why does the job fail?",
            shown(prompt("Why does")).calls(bash("python3 good.py")),
            shown(result("Output too large", "00000 ok").without("FATAL")).calls(
                with_found(r"saved to: (\S+)", lambda path: bash(f"grep -n FATAL {path}"))
            ),
            shown(result("6001:06000 FATAL disk is full")).calls(bash("python3 bad.py")),
            # A failed command is shown up to the limit, and then where the rest is.
            shown(failure("Exit code 3", "truncated", "00000 ok").without("FATAL")).calls(
                with_found(r"bytes is in (\S+?)\]", lambda path: read(path, offset=6000, limit=2))
            ),
            shown(result("6001\t06000 FATAL disk is full")).says("The disk is full."),
        )


async def test_a_bisect_with_git(tmp_path: Path) -> None:
    async with task(tmp_path, {}) as work:
        for number in range(1, 9):
            limit = "<" if number < 5 else "<="
            work.commit(f"Change {number}", {"limit.py": f"# {number}\ndef fits(n):\n    return n {limit} 10\n"})
        check = "python3 -c 'import limit, sys; sys.exit(limit.fits(10))'"
        await work.turn(
            "fits(10) was false some commits ago. Which commit changed that?",
            shown(prompt("Which commit")).calls(bash("git log --oneline | cat"), bash(check)),
            shown(result("Change 8", "Change 1"), failure("Exit code 1")).calls(
                bash(f"git bisect start HEAD HEAD~7 && git bisect run {check}")
            ),
            shown(result("is the first bad commit", "    Change 5\n")).calls(
                bash("git bisect reset && git status -sb")
            ),
            shown(result("## main")).says("“Change 5” made the limit inclusive."),
        )
        assert work.git("status", "-sb") == "## main\n"


async def test_a_huge_file_is_read_in_parts(tmp_path: Path) -> None:
    rows = "".join(f"{number},customer {number},open\n" for number in range(20_000))
    async with task(
        tmp_path, {"orders.csv": rows.replace("12345,customer 12345,open", "12345,customer 12345,lost")}
    ) as work:
        await work.turn(
            "One order is lost. Set it to open.",
            shown(prompt("One order")).calls(read("orders.csv")),
            shown(failure("exceeds maximum allowed size", "offset and limit")).calls(bash("grep -n lost orders.csv")),
            shown(result("12346:12345,customer 12345,lost")).calls(read("orders.csv", offset=12345, limit=3)),
            shown(result("12345\t", "12346\t12345,customer 12345,lost", "12347\t")).calls(
                edit("orders.csv", "12345,customer 12345,lost", "12345,customer 12345,open")
            ),
            # The model knows three lines of the file, so it is not told that it knows the file.
            shown(result("has been updated successfully").without("current in your context")).says("It is open."),
        )
        assert work.text("orders.csv") == rows
