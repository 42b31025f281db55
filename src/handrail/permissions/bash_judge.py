"""May a shell command run? In: its text and what is in force. Out: one step for every simple command in it.

Each command needs its own permission: a rule, or being one that only looks, or running nothing but what is permitted.
One that is denied denies all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.bash_commands import Command, Script, read_script
from handrail.permissions.bash_critical import critical
from handrail.permissions.bash_files import WRITES_FILES, Touch, files_of, hides_target
from handrail.permissions.bash_git import folder_options
from handrail.permissions.bash_hazards import hazard, names_nothing
from handrail.permissions.bash_paths import Candidate, candidates, could_overlap
from handrail.permissions.bash_read_only import asks_for_version, reads_only
from handrail.permissions.bash_reading import Redirect
from handrail.permissions.bash_rules import Content, compile_content, mentions
from handrail.permissions.bash_text import deception, shown_command
from handrail.permissions.bash_variables import is_harmless_alone, is_harmless_before, variables_set
from handrail.permissions.bash_words import HOLE, NUMBER, Word, fixed_word
from handrail.permissions.bash_wrappers import Runs, base_name, unwrap
from handrail.permissions.circumstances import Circumstances, Step, World, by_rule, strictest
from handrail.permissions.file_access import Use, judge_access, path_rules
from handrail.permissions.modes import effective_mode, passes
from handrail.permissions.paths import denies
from handrail.permissions.rule_book import rules_about
from handrail.permissions.rules import Behavior, SourcedRule

__all__ = ["BashJudge", "Judged"]

DEEPEST: Final = 6
_DESCRIPTORS: Final = frozenset("0123456789-")
_STANDARD: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})
_REFUSING: Final[tuple[Behavior, ...]] = ("deny", "ask")
ONLY_FLOW: Final = "it loops or exits, and no rule allows any of it"


class Judged(Struct, frozen=True):
    """A simple command and what became of it; `unruled` where only a rule is missing."""

    command: Command
    step: Step
    unruled: bool = False


class BashJudge:
    """Judges one shell command."""

    def __init__(self, circumstances: Circumstances, world: World) -> None:
        self.circumstances, self.world = circumstances, world
        self.anchors = circumstances.anchors
        self.mode = effective_mode(circumstances.mode, bypass_available=circumstances.bypass_available)
        self.contents: dict[Behavior, list[tuple[SourcedRule, Content]]] = {
            behavior: [(rule, _content(rule)) for rule in rules_about(circumstances.rules, behavior, "Bash")]
            for behavior in ("deny", "ask", "allow")
        }
        self.everything = self._everything()
        self.guarded = any(
            any(rules_about(circumstances.rules, behavior, tool))
            for behavior in _REFUSING
            for tool in ("Bash", "Read", "Edit")
        )
        self.script = Script()
        self.whole: SourcedRule | None = None
        self.allowing: tuple[Command, list[tuple[SourcedRule, int]]] = (Command(()), [])

    def _everything(self) -> Step | None:
        """What allows every command, if anything does."""
        if passes(self.mode, "Bash") == "allow":
            return Step("", "allow", f"the mode {self.mode} lets it pass", "mode")
        for rule, content in self.contents["allow"]:
            if content.kind == "all":
                return self._in_mode(Step("", "allow", f"the rule {rule.rule} allows every command", "rule", rule))
        return None

    def judge(self, text: str) -> list[Judged]:
        """Judge a whole shell command. Out: its parts; what is wrong with the text itself comes first."""
        whole = Command((), text=text)
        if step := self._on_text(text):
            return [Judged(whole, step)]
        self.script = read_script(text)
        self.whole = next((rule for rule, content in self.contents["allow"] if _is_exactly(rule, content, text)), None)
        judged = [Judged(whole, step) for step in (*self._on_doubts(text), *self._on_names(text))]
        judged += [part for command in self.script.commands for part in self._command(command, 0)]
        if self._is_only_flow(judged):
            judged.append(Judged(whole, Step(shown_command(text), "ask", ONLY_FLOW, "other"), unruled=True))
        return judged or [Judged(whole, Step("", "allow", "there is nothing to run", "other"))]

    def _is_only_flow(self, judged: list[Judged]) -> bool:
        """Does it loop or exit, and nobody has said a word for any of it?"""
        flows = self.script.notes.loops or any(command.name == "exit" for command in self.script.commands)
        return (
            bool(flows)
            and self.everything is self.whole is None
            and all(part.step.reason_type == "other" for part in judged)
        )

    def _on_text(self, text: str) -> Step | None:
        """What the text as a whole decides before anything in it is looked at."""
        try:
            text.encode()
        except UnicodeEncodeError:
            return Step(
                shown_command(text), "deny", "it cannot be written as UTF-8, so no shell can be given it", "other"
            )
        if "\x00" in text:
            return Step(shown_command(text), "deny", "it contains a NUL, so no shell can be given it", "other")
        for rule, content in self.contents["deny"]:
            if content.matches_text(text):
                return by_rule(shown_command(text), "deny", rule)
        return None

    def _on_doubts(self, text: str) -> Iterator[Step]:
        subject = shown_command(text)
        if why := deception(text):
            yield Step(subject, "ask", f"what is shown may not be what runs: {why}", "safetyCheck")
        for rule, content in self.contents["ask"]:
            if content.matches_text(text):
                yield by_rule(subject, "ask", rule)
        if not self.script.doubts:
            return
        for behavior in _REFUSING:
            for rule, content in self.contents[behavior]:
                if mentions(content, text):
                    yield by_rule(subject, behavior, rule)
        if self.whole is not None:
            exactly = f"the rule {self.whole.rule} allows exactly this"
            yield self._in_mode(Step(subject, "allow", exactly, "rule", self.whole))
        elif self.everything is None or self.guarded:
            yield Step(subject, "ask", f"it is not fully understood: {self.script.doubts[0]}", "other")
        else:
            yield replace(self.everything, subject=subject)

    def _on_names(self, text: str) -> Iterator[Step]:
        """Variables that are set otherwise than by `NAME=value`: by loops, sums, `read`, `unset`, `local`."""
        notes = self.script.notes
        own = {name for command in self.script.commands for name, _ in variables_set(command)}
        for name in sorted({*notes.values, *notes.numbers} - own - {"_"}):
            if self.whole is None and not is_harmless_alone(name, HOLE):
                step = self._unless_everything(f"programs act on what {name} holds")
                yield replace(step, subject=shown_command(text))

    # One command

    def _command(self, command: Command, depth: int) -> list[Judged]:
        """A command, and after it whatever it runs in turn."""
        written, command = command, self._settled(command)
        runs = unwrap(command) or Runs(transparent=False)
        if depth >= DEEPEST and (runs.commands or runs.scripts):
            runs = Runs(hidden="it is wrapped too often")
        inner = [part for item in runs.commands for part in self._command(item, depth + 1)]
        inner += [part for script in runs.scripts for part in self._inner_script(script, command, depth)]
        step, unruled = self._own(command, runs, inner)
        return [Judged(written, replace(step, subject=shown_command(command.text)), unruled), *inner]

    def _inner_script(self, text: str, command: Command, depth: int) -> list[Judged]:
        """What a text runs that another shell is given. Variables of this shell are not known there."""
        outer, self.script = self.script, read_script(text, command.folders)
        judged = [Judged(command, step) for step in (*self._on_inner_doubts(text), *self._on_names(text))]
        judged += [part for item in self.script.commands for part in self._command(item, depth + 1)]
        self.script = outer
        return judged

    def _on_inner_doubts(self, text: str) -> Iterator[Step]:
        if self.script.doubts:
            for rule, content in self.contents["deny"]:
                if mentions(content, text):
                    yield by_rule(shown_command(text), "deny", rule)
            why = f"what it runs is not fully understood: {self.script.doubts[0]}"
            yield replace(self._unless_everything(why), subject=shown_command(text))

    def _settled(self, command: Command) -> Command:
        """Note where a variable is certain to hold a number."""
        if not any(word.names for word in command.words):
            return command
        return replace(command, words=tuple(self._settled_word(word) for word in command.words))

    def _settled_word(self, word: Word) -> Word:
        if word.names and all(self.script.notes.is_number(name) for name in word.names):
            return replace(word, text=word.text.replace(HOLE, NUMBER), splits=False)
        return word

    def _own(self, command: Command, runs: Runs, inner: list[Judged]) -> tuple[Step, bool]:
        """The step of the command itself; True where only a rule is missing."""
        steps = [*self._refusals(command), *self._on_variables(command), *self._on_files(command)]
        if steps and (worst := strictest(steps)).behavior != "allow":
            denied = worst.behavior == "ask" and self.mode == "plan" and command.words
            return strictest([worst, self._permission(command, runs, inner)[0]]) if denied else worst, False
        if not command.words:
            return Step("", "allow", "it runs no program", "other"), False
        if runs.hidden and not self._spelled_out(command, len(command.words)):
            return self._unless_everything(runs.hidden), False
        return self._permission(command, runs, inner)

    def _refusals(self, command: Command) -> Iterator[Step]:
        """What no permission lifts: rules that deny or ask, and what could take everything away."""
        for behavior in _REFUSING:
            for rule, content in self.contents[behavior]:
                match = content.denies(command)
                if match == "yes":
                    yield by_rule("", behavior, rule)
                elif match or rule.broken:
                    yield Step("", "ask", f"the rule {rule.rule} may mean this", "rule", rule)
        if why := critical(command, self.anchors, self.script.notes):
            yield Step("", "ask", why, "safetyCheck")

    def _unless_everything(self, why: str) -> Step:
        """Ask, unless every command is allowed and no rule could have something against it."""
        if self.everything is not None and not self.guarded:
            return self.everything
        return Step("", "ask", why, "other")

    # Variables

    def _on_variables(self, command: Command) -> Iterator[Step]:
        exact = self._spelled_out(command, len(command.words))
        alone = not command.words or self.everything is not None
        for name, value in variables_set(command):
            harmless = is_harmless_alone(name, value) if alone else is_harmless_before(name, value)
            if not harmless and not exact:
                yield self._unless_everything(f"programs act on what {name} holds")
        if command.words and not command.words[0].fixed:
            yield self._unless_everything("which program it runs is not known before it runs")

    # Files

    def _on_files(self, command: Command) -> Iterator[Step]:
        for redirect in command.redirects:
            yield from self._on_redirect(redirect, command)
        touched = files_of(command.words)
        for touch in touched:
            yield from self._on_touch(touch, command)
        if self.guarded and all(touch.extra for touch in touched):
            yield from self._on_mentioned(command)

    def _on_redirect(self, redirect: Redirect, command: Command) -> Iterator[Step]:
        operator, target = redirect.operator, redirect.target
        if operator in ("<<", "<<-", "<<<") or (operator in (">&", "<&") and set(target.text) <= _DESCRIPTORS):
            return
        if operator == "<":
            yield from self._on_touch(Touch(target, "read"), command)
        else:
            yield from self._on_touch(Touch(target, "write", extra=True), command)

    def _on_touch(self, touch: Touch, command: Command) -> Iterator[Step]:
        use: Use = "read" if touch.access == "read" else "write"
        if touch.word.text in _STANDARD or (touch.word.text == "-" and use == "read"):
            return
        for candidate in candidates(touch.word, command.folders, self.anchors, self.script.notes):
            step = self._on_candidate(candidate, use, touch, command)
            if step is not None:
                yield step

    def _on_candidate(self, candidate: Candidate, use: Use, touch: Touch, command: Command) -> Step | None:
        """Judge one file. What only the mode asks about is left to the permission of the command itself."""
        step = judge_access(self.world.resolve(candidate.path), use, self.circumstances)
        if step.behavior == "deny" and step.reason_type == "safetyCheck":
            step = replace(step, behavior="ask")
        if step.behavior == "allow" or (step.reason_type == "mode" and not touch.extra):
            return self._on_unknown(candidate, use, touch)
        lifted = self.everything is not None or self._spelled_out(command, len(command.words))
        planned = self.mode == "plan" and step.reason_type == "mode"
        if step.reason_type in ("workingDir", "mode") and lifted:
            return step if planned else self._on_unknown(candidate, use, touch)
        if planned and step.rule is None:
            return replace(step, behavior="deny", reason="in the mode plan nothing is changed")
        return step

    def _on_unknown(self, candidate: Candidate, use: Use, touch: Touch) -> Step | None:
        """A file that is known only in part may be one that a rule speaks of, or lie elsewhere."""
        if not candidate.open and not candidate.glob:
            return None
        tool = "Read" if use == "read" else "Edit"
        rules = [rule for behavior in _REFUSING for rule in path_rules(self.circumstances, behavior, tool)]
        for rule in rules:
            if candidate.open or self._overlaps(candidate, rule):
                return Step(
                    "", "ask", f"{touch.word.source} may be a file that the rule {rule.rule} means", "rule", rule
                )
        if touch.word.source.startswith("~") and candidate.open and self.everything is None:
            return Step("", "ask", f"{touch.word.source} is in the home of somebody else", "workingDir")
        if use == "write" and candidate.glob.startswith("."):
            return Step("", "ask", f"{touch.word.source} may be a protected file", "safetyCheck")
        if candidate.open and use == "write" and self.everything is None:
            return Step("", "ask", f"which file {touch.word.source} is, is not known before it runs", "other")
        return None

    def _overlaps(self, candidate: Candidate, rule: SourcedRule) -> bool:
        content = rule.rule.content
        if content and content.endswith("**"):
            return denies(content, self.world.resolve(f"{candidate.path}/x"), self.anchors)
        return content is None or bool(rule.broken) or could_overlap(candidate.glob, content)

    def _on_mentioned(self, command: Command) -> Iterator[Step]:
        """A program not known here may do anything with a file that it is told of: if a rule denies it, ask."""
        for word in command.words[1:]:
            value = word.text.partition("=")[2] or word.text
            if not word.known or word.globs or not value or len(value) > 4096:
                continue
            for candidate in candidates(replace(word, text=value), command.folders, self.anchors, self.script.notes):
                step = self._denied(candidate)
                if step is not None:
                    yield step

    def _denied(self, candidate: Candidate) -> Step | None:
        resolved = self.world.resolve(candidate.path)
        for rule in (rule for tool in ("Read", "Edit") for rule in path_rules(self.circumstances, "deny", tool)):
            content = rule.rule.content
            if content is not None and denies(content, resolved, self.anchors):
                return Step("", "ask", f"it is told of a file that the rule {rule.rule} denies", "rule", rule)
        return None

    # Permission

    def _permission(self, command: Command, runs: Runs, inner: list[Judged]) -> tuple[Step, bool]:
        """What allows the command, if anything does."""
        words, found = command.words, None if self._runs_nothing(command) else hazard(command.words)
        allowing = self._allowing(command)
        looks = reads_only(words) and (base_name(words[0]) != "git" or self._knows_repository(command))
        if runs.transparent or (looks and (runs.commands or runs.scripts)):
            return Step("", "allow", "it is as good as what it runs", "subcommandResults"), False
        if looks:
            return Step("", "allow", "it only looks", "other"), False
        if self.whole is not None:
            return self._in_mode(by_rule("", "allow", self.whole)), False
        for rule, count in allowing:
            last = max(found.index if found else 0, runs.begins)
            if count > last or (found is None and not runs.commands and not runs.scripts):
                step = by_rule("", "allow", rule)
                return step if asks_for_version(words) else self._in_mode(step), False
        if self.everything is not None and (found is None or not self.guarded):
            return self.everything, False
        if self.mode == "plan" and not allowing:
            return Step("", "deny", "in the mode plan nothing is run that may change something", "mode"), False
        if found is not None:
            return Step("", "ask", found.why if allowing or self.everything else "no rule allows it", "other"), False
        if passes(self.mode, "Bash") == "files" and words[0].text in (*WRITES_FILES, "sed") and not hides_target(words):
            return Step(
                "", "allow", f"it works on files in the working folders, and the mode is {self.mode}", "mode"
            ), False
        return Step("", "ask", "no rule allows it", "other"), True

    def _runs_nothing(self, command: Command) -> bool:
        """Is it one that runs what is named behind it, or fed to it, and neither is there?"""
        return len(self.script.commands) == 1 and not command.redirects and names_nothing(command.words)

    def _knows_repository(self, command: Command) -> bool:
        """Even git's status runs what the repository configures: it must be the trusted one.

        Any folder with a HEAD may pass for a repository, and can come with a clone as plain files.
        """
        for word in (fixed_word("."), *folder_options(command.words)):
            for candidate in candidates(word, command.folders, self.anchors, self.script.notes):
                head = self.world.resolve(f"{candidate.path}/HEAD")
                if candidate.open or (head.kind != "missing" and not head.lexical.endswith("/.git/HEAD")):
                    return False
        return self.circumstances.trusted

    def _in_mode(self, step: Step) -> Step:
        """A rule does not lift the mode in which nothing is changed."""
        if self.mode != "plan":
            return step
        return replace(step, behavior="ask", reason=f"{step.reason}, but in the mode plan nothing is changed unasked")

    def _allowing(self, command: Command) -> list[tuple[SourcedRule, int]]:
        """The rules that allow a command, and how many of its words each spells out; worked out once for each."""
        if self.allowing[0] is not command:
            rules = self.contents["allow"] if _is_where_it_was(command) else []
            found = [(rule, content.allows(command)) for rule, content in rules if content.kind != "all"]
            self.allowing = (command, [(rule, count) for rule, count in found if count])
        return self.allowing[1]

    def _spelled_out(self, command: Command, count: int) -> bool:
        """Does a rule allow exactly this command, with all of its words?"""
        return self.whole is not None or any(spelled > count for _, spelled in self._allowing(command))


def _is_where_it_was(command: Command) -> bool:
    """A rule that names `./run` means the one in the folder where the shell starts, not one of another folder."""
    return command.folders == ((),) or "/" not in command.name or command.name.startswith("/")


def _content(rule: SourcedRule) -> Content:
    """The content of a rule; of one that could not be read, what is legible is a beginning."""
    content = rule.rule.content
    return compile_content(f"{content}:*" if rule.broken and content else content)


def _is_exactly(rule: SourcedRule, content: Content, text: str) -> bool:
    return content.kind == "exact" and (rule.rule.content or "").strip() == text.strip()
