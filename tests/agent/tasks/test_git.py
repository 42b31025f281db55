"""Repositories with history: conflicts and commits."""

from __future__ import annotations

from pathlib import Path

from tests.agent.tasks.story import bash, edit, failure, prompt, read, result, shown, task


async def test_a_merge_conflict_is_resolved(tmp_path: Path) -> None:
    async with task(tmp_path, {}) as work:
        work.commit("First", {"greet.py": "def greet(name):\n    return 'Hi ' + name\n"})
        work.git("checkout", "-q", "-b", "polite")
        work.commit("Say hello", {"greet.py": "def greet(name):\n    return 'Hello ' + name\n"})
        work.git("checkout", "-q", "main")
        work.commit("Add a mark", {"greet.py": "def greet(name):\n    return 'Hi ' + name + '!'\n"})
        await work.turn(
            "Merge the branch polite into main, with both changes.",
            shown(prompt("Merge the branch")).calls(bash("git merge polite 2>&1")),
            shown(failure("Exit code 1", "CONFLICT (content): Merge conflict in greet.py")).calls(
                read("greet.py"), bash("git status --short")
            ),
            shown(result("<<<<<<< HEAD", "=======", ">>>>>>> polite"), result("UU greet.py")).calls(
                edit(
                    "greet.py",
                    "<<<<<<< HEAD\n    return 'Hi ' + name + '!'\n"
                    "=======\n    return 'Hello ' + name\n>>>>>>> polite\n",
                    "    return 'Hello ' + name + '!'\n",
                )
            ),
            shown(result("has been updated successfully")).calls(bash("git add greet.py && git commit -q --no-edit")),
            shown(result("no output")).calls(bash("git log --oneline --merges | cat; git status --short")),
            shown(result("Merge branch 'polite'").without("UU")).says("Merged."),
        )
        assert work.text("greet.py") == "def greet(name):\n    return 'Hello ' + name + '!'\n"
        assert work.git("log", "-1", "--format=%s").startswith("Merge branch")


async def test_a_commit_that_was_asked_for(tmp_path: Path) -> None:
    async with task(tmp_path, {}) as work:
        work.commit("Add the list", {"list.txt": "tea\n", "notes.txt": "mine\n"})
        (work.project / "notes.txt").write_text("mine, not done\n")
        await work.turn(
            "Add coffee to list.txt and commit it.",
            shown(prompt("Add coffee")).calls(read("list.txt"), bash("git status --short; git log --oneline | cat")),
            shown(result("1\ttea"), result(" M notes.txt", "Add the list")).calls(
                edit("list.txt", "tea\n", "tea\ncoffee\n")
            ),
            shown(result("has been updated successfully")).calls(bash("git diff list.txt | cat")),
            shown(result("+coffee")).calls(bash("git add list.txt && git commit -m 'Add coffee'")),
            shown(result("1 file changed, 1 insertion(+)", "Add coffee")).says(
                "Committed; notes.txt is not part of it."
            ),
        )
        assert work.git("show", "--stat", "--format=%s", "HEAD").splitlines()[0] == "Add coffee"
        assert work.git("status", "--short") == " M notes.txt\n"
        assert "notes.txt" not in work.git("show", "--stat", "HEAD")
