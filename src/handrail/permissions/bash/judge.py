"""Judges shell commands: one step for every simple command in the text.

Every simple command needs a permission: a rule allows it, it only reads, or it runs only permitted commands. One
denied command denies the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.bash.candidates import Candidate, candidates, could_overlap, with_values
from handrail.permissions.bash.changes import Changes
from handrail.permissions.bash.critical import critical
from handrail.permissions.circumstances import CageUse, Circumstances, Step, World, by_rule, strictest
from handrail.permissions.modes import effective_mode, passes
from handrail.permissions.paths.matching import denies, may_match_below
from handrail.permissions.paths.names import squash
from handrail.permissions.programs.description import Parsed
from handrail.permissions.programs.files import WRITES_FILES, Touch, files_of, hides_target, merges_folders
from handrail.permissions.programs.git import folder_options
from handrail.permissions.programs.hazards import hazard, is_added, is_known, names_nothing
from handrail.permissions.programs.options import Finding
from handrail.permissions.programs.read_only import READERS, asks_for_version, describe, reads_in_cage, runs_outside
from handrail.permissions.programs.variables import (
    inherits,
    is_harmless_alone,
    is_harmless_before,
    only_compared,
    variables_set,
)
from handrail.permissions.programs.wrappers import Runs, base_name, unwrap
from handrail.permissions.rules.bash_content import Content, compile_content, mentions
from handrail.permissions.rules.book import rules_about
from handrail.permissions.rules.rule import Behavior, SourcedRule
from handrail.permissions.shell.commands import Command, Folder, Script, read_script
from handrail.permissions.shell.reading import Redirect
from handrail.permissions.shell.text import deception, shown_command
from handrail.permissions.shell.words import HOLE, NUMBER, Word, fixed_word, is_option
from handrail.permissions.tools.file_access import Use, judge_access, path_rules

__all__ = ["BashJudge", "Judged"]

DEEPEST: Final = 6
_DESCRIPTORS: Final = frozenset("0123456789-")
_STANDARD: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"})
NOTHING_RUNS: Final = Step("allow", "it runs no program", cage="may")
_NO_NAME: Final = re.compile(r"[*?\[\\]|^~?$|^\.{1,2}$")
_REFUSING: Final[tuple[Behavior, ...]] = ("deny", "ask")
ONLY_FLOW: Final = "it exits, waits in a loop or keeps running in the background, and no rule allows any of it"


class Judged(Struct, frozen=True):
    """A simple command and its decision; `unruled` if only a rule is missing."""

    command: Command
    step: Step
    unruled: bool = False


class BashJudge:
    """Judges one shell command. Rules about Bash count for every `tool` that runs commands, beside its own."""

    def __init__(self, circumstances: Circumstances, world: World, tool: str) -> None:
        self.circumstances, self.world = circumstances, world
        self.anchors = circumstances.anchors
        self.mode = effective_mode(circumstances.mode, bypass_available=circumstances.bypass_available)
        self.contents: dict[Behavior, list[tuple[SourcedRule, Content]]] = {
            behavior: [(rule, _content(rule)) for rule in rules_about(circumstances.rules, behavior, "Bash", tool)]
            for behavior in ("deny", "ask", "allow")
        }
        self.passes = passes(self.mode, "Bash")
        self.everything = self._everything()
        self.guarded = any(
            any(rules_about(circumstances.rules, behavior, "Bash", tool, "Read", "Edit")) for behavior in _REFUSING
        )
        self.script, self.text = Script(), ""
        self.prints_inherited: bool = False
        self.whole: SourcedRule | None = None
        self.changes = Changes(circumstances.anchors, world)
        self.allowing: tuple[Command, list[tuple[SourcedRule, int]]] = (Command(()), [])

    def _everything(self) -> Step | None:
        """The step that allows every command, if there is one."""
        if self.passes == "allow":
            return Step("allow", f"the mode {self.mode} lets it pass", "mode")
        for rule, content in self.contents["allow"]:
            if content.kind == "all":
                return self._in_mode(Step("allow", f"the rule {rule.rule} allows every command", "rule", rule))
        return None

    def judge(self, text: str) -> list[Judged]:
        """Judge a whole shell command. Returns its parts; problems of the text itself come first."""
        whole = Command((), text=text)
        if step := self._on_text(text):
            return [Judged(whole, step)]
        folder = self.circumstances.folder
        self._read(text, ((folder,),) if folder else ((),))
        self.whole = next((rule for rule, content in self.contents["allow"] if _is_exactly(rule, content, text)), None)
        judged = [
            Judged(whole, step) for step in (*self._on_doubts(text), *self._on_functions(text), *self._on_names(text))
        ]
        judged += [part for command in self.script.commands for part in self._command(command, 0)]
        if self._is_only_flow(judged):
            judged.append(Judged(whole, Step("ask", ONLY_FLOW, subject=shown_command(text)), unruled=True))
        return self._caged(judged) or [Judged(whole, NOTHING_RUNS)]

    def _is_only_flow(self, judged: list[Judged]) -> bool:
        """Whether it exits, waits in a loop or keeps running in the background, and no rule or mode allows any of it.

        For the first two the CLI asks, and hosts expect the question; the last would outlive the call.
        """
        commands, notes = self.script.commands, self.script.notes
        waits = any(command.name == "sleep" for command in commands)
        flows = any(command.name == "exit" for command in commands) or (waits and (notes.loops or notes.detached))
        flows |= notes.detached and any(_follows(command) for command in commands)
        ruled = self.everything is not None or self.whole is not None
        return bool(flows) and not ruled and all(part.step.reason_type == "other" for part in judged)

    def _read(self, text: str, folders: tuple[Folder, ...]) -> None:
        """Read the script that is judged from now on."""
        self.script, self.text = read_script(text, folders), text
        notes = self.script.notes
        self.prints_inherited = inherits(notes.used - only_compared(self.script.commands), text)

    def _caged(self, judged: list[Judged]) -> list[Judged]:
        """Allow the parts that are harmless only in the cage, if the whole command can run there."""
        if inherits(self.script.notes.used, self.text):
            return [replace(part, step=replace(part.step, cage="")) for part in judged]
        if not self.circumstances.cage or not all(part.step.cage for part in judged):
            return judged
        return [replace(part, step=_in_cage(part.step)) for part in judged]

    def _on_text(self, text: str) -> Step | None:
        """A decision about the text as a whole, before its commands are read."""
        subject = shown_command(text)
        try:
            text.encode()
        except UnicodeEncodeError:
            return Step("deny", "it cannot be written as UTF-8, so no shell can be given it", subject=subject)
        if "\x00" in text:
            return Step("deny", "it contains a NUL, so no shell can be given it", subject=subject)
        for rule, content in self.contents["deny"]:
            if content.matches_text(text):
                return by_rule("deny", rule, subject=subject)
        return None

    def _on_doubts(self, text: str) -> Iterator[Step]:
        subject = shown_command(text)
        if why := deception(text):
            yield Step("ask", f"what is shown may not be what runs: {why}", "safetyCheck", subject=subject)
        for rule, content in self.contents["ask"]:
            if content.matches_text(text):
                yield by_rule("ask", rule, subject=subject)
        if not self.script.doubts:
            return
        for behavior in _REFUSING:
            for rule, content in self.contents[behavior]:
                if mentions(content, text):
                    yield by_rule(behavior, rule, subject=subject)
        if self.whole is not None:
            exactly = f"the rule {self.whole.rule} allows exactly this"
            yield self._in_mode(Step("allow", exactly, "rule", self.whole, subject=subject))
        elif self.everything is None or self.guarded:
            yield Step("ask", f"it is not fully understood: {self.script.doubts[0]}", subject=subject)
        else:
            yield replace(self.everything, subject=subject)

    def _on_functions(self, text: str) -> Iterator[Step]:
        """Ask about functions that take the place of a program: their calls would be judged as the program's."""
        for name in sorted(self.script.notes.functions):
            if describe((fixed_word(name),)) is not None or unwrap(Command((fixed_word(name),))) is not None:
                step = self._unless_everything(f"a function replaces {name}")
                yield replace(step, subject=shown_command(text))

    def _on_names(self, text: str) -> Iterator[Step]:
        """Check variables that are not set by `NAME=value`, but by loops, arithmetic, `read`, `unset` or `local`."""
        notes = self.script.notes
        own = {name for command in self.script.commands for name, _ in variables_set(command)}
        unknown = {name for name, values in notes.values.items() if None in values}
        for name in sorted(({*notes.values, *notes.numbers} - own | unknown) - {"_"}):
            if self.whole is None and not is_harmless_alone(name, HOLE):
                step = self._unless_everything(f"programs act on what {name} holds")
                yield replace(step, subject=shown_command(text))

    # One command

    def _command(self, command: Command, depth: int) -> list[Judged]:
        """Judge a command, then the commands that it runs."""
        written, command = command, self._settled(command)
        runs = unwrap(command) or Runs(transparent=False)
        runs = self._with_found_files(command, runs) if runs.commands else runs
        if depth >= DEEPEST and (runs.commands or runs.scripts):
            runs = Runs(hidden="it is wrapped too often")
        inner = [part for item in runs.commands for part in self._command(item, depth + 1)]
        inner += [part for script in runs.scripts for part in self._inner_script(script, command, depth)]
        step, unruled = self._own(command, runs, inner)
        self.changes.note(command, self.script.notes)
        return [Judged(written, replace(step, subject=shown_command(command.text)), unruled), *inner]

    def _with_found_files(self, command: Command, runs: Runs) -> Runs:
        """Say which files `find -exec` adds to its commands: those below its folders, unless links are among them."""
        found = describe(command.words) if base_name(command.words[0]) == "find" else None
        if not isinstance(found, Parsed):
            return runs
        roots = found.of_kind("path") or [fixed_word(".")]
        paths = [item for root in roots for item in candidates(root, command.folders, self.anchors, self.script.notes)]
        plain = _finds_no_links(command.words)
        if not all(not item.open and not item.glob and (plain or self.world.is_plain(item.path)) for item in paths):
            return runs
        return replace(runs, commands=tuple(_with_files(item, roots) for item in runs.commands))

    def _inner_script(self, text: str, command: Command, depth: int) -> list[Judged]:
        """Judge a script for another shell, in which the variables of this shell are unknown."""
        outer = self.script, self.text, self.prints_inherited
        self._read(text, command.folders)
        judged = [
            Judged(command, step)
            for step in (*self._on_inner_doubts(text), *self._on_functions(text), *self._on_names(text))
        ]
        judged += [part for item in self.script.commands for part in self._command(item, depth + 1)]
        self.script, self.text, self.prints_inherited = outer
        return judged

    def _on_inner_doubts(self, text: str) -> Iterator[Step]:
        if self.script.doubts:
            for rule, content in self.contents["deny"]:
                if mentions(content, text):
                    yield by_rule("deny", rule, subject=shown_command(text))
            why = f"what it runs is not fully understood: {self.script.doubts[0]}"
            yield replace(self._unless_everything(why), subject=shown_command(text))

    def _settled(self, command: Command) -> Command:
        """Look up what words become: numbers, values of variables, files that patterns match."""
        return replace(command, words=tuple(self._settled_word(word, command.folders) for word in command.words))

    def _settled_word(self, word: Word, folders: tuple[Folder, ...]) -> Word:
        if word.fixed or word.values is not None:
            return word
        if word.names and all(self.script.notes.is_number(name) for name in word.names):
            return replace(word, text=word.text.replace(HOLE, NUMBER), splits=False)
        return with_values(word, folders, self.anchors, self.script.notes, self.world)

    def _own(self, command: Command, runs: Runs, inner: list[Judged]) -> tuple[Step, bool]:
        """The step of the command itself; True if only a rule is missing."""
        step, unruled = self._own_step(command, runs, inner)
        if step.cage and any(_changes_file(redirect) for redirect in command.redirects):
            step = replace(step, cage="")  # the cage would stop it
        return step, unruled

    def _own_step(self, command: Command, runs: Runs, inner: list[Judged]) -> tuple[Step, bool]:
        steps = [*self._refusals(command), *self._on_variables(command), *self._on_files(command)]
        if steps and (worst := strictest(steps)).behavior != "allow":
            denied = worst.behavior == "ask" and self.mode == "plan" and command.words
            if denied or worst.cage:
                permission = self._permission(command, runs, inner)[0] if command.words else NOTHING_RUNS
                caged = permission.cage and all(step.cage for step in steps if step.behavior != "allow")
                worst = strictest([replace(worst, cage=worst.cage if caged else ""), *([permission] if denied else [])])
            return worst, False
        if not command.words:
            return NOTHING_RUNS, False
        if runs.hidden and not self._spelled_out(command, len(command.words)):
            return self._unless_everything(runs.hidden), False
        return self._permission(command, runs, inner)

    def _refusals(self, command: Command) -> Iterator[Step]:
        """Refusals that no permission overrides: deny and ask rules, and commands that could destroy everything."""
        for behavior in _REFUSING:
            for rule, content in self.contents[behavior]:
                match = content.denies(command)
                if match == "yes":
                    yield by_rule(behavior, rule)
                elif match or rule.broken:
                    yield Step("ask", f"the rule {rule.rule} may mean this", "rule", rule)
        if why := critical(command, self.anchors, self.script.notes):
            yield Step("ask", why, "safetyCheck")

    def _unless_everything(self, why: str) -> Step:
        """Ask, unless every command is allowed and no deny or ask rule exists that could apply."""
        if self.everything is not None and not self.guarded:
            return self.everything
        return Step("ask", why)

    # Variables

    def _on_variables(self, command: Command) -> Iterator[Step]:
        exact = self._spelled_out(command, len(command.words))
        alone = not command.words or command.name == "export" or self.everything is not None
        for name, value in variables_set(command):
            harmless = is_harmless_alone(name, value) if alone else is_harmless_before(name, value)
            splits_input = name == "IFS" and command.name == "read"  # it holds for this one builtin only
            if not harmless and not splits_input and not exact:
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
        operator, target = redirect.operator, self._settled_word(redirect.target, command.folders)
        if not _opens_file(redirect):
            return
        if operator == "<":
            yield from self._on_touch(Touch(target, "read"), command)
        else:
            yield from self._on_touch(Touch(target, "write", extra=True), command)

    def _on_touch(self, touch: Touch, command: Command) -> Iterator[Step]:
        use: Use = "read" if touch.access == "read" else "write"
        standard = all(text in _STANDARD for text in touch.word.values or (touch.word.text,))
        if standard or (touch.word.text == "-" and use == "read"):
            return
        # The files that a pattern matches now are read. The files it may match decide which rules count.
        pattern = replace(touch.word, values=None) if touch.word.globs else touch.word
        if pattern is not touch.word and use == "read":
            for candidate in candidates(pattern, command.folders, self.anchors, self.script.notes):
                if rule := self._rule_on_pattern(candidate, "Read"):
                    yield self._perhaps(rule, touch)
        word = touch.word if use == "read" else pattern
        for candidate in candidates(word, command.folders, self.anchors, self.script.notes):
            step = self._on_candidate(candidate, use, touch, command)
            if step is not None:
                yield step
            if touch.tree or is_added(touch.word):
                yield from self._on_tree(candidate.path)
            if touch.follows and not self._is_lifted(command):
                yield from self._on_links(candidate.path)

    def _on_tree(self, folder: str) -> Iterator[Step]:
        """Check a folder of which every file is read: a rule may deny one of them."""
        for behavior in _REFUSING:
            for rule in path_rules(self.circumstances, behavior, "Read"):
                content = rule.rule.content
                if content is None or rule.broken or may_match_below(content, squash(folder), self.anchors):
                    cage: CageUse = "must" if behavior == "deny" and not rule.broken else ""
                    why = f"it reads every file in {folder}, and the rule {rule.rule} may mean one of them"
                    yield Step("ask", why, "rule", rule, cage=cage)

    def _on_links(self, folder: str) -> Iterator[Step]:
        """Check a folder of which files are read through links: one of them may lead outside."""
        if self.world.resolve(folder).kind == "directory" and not self.world.is_plain(folder):
            yield Step("ask", f"it follows the links in {folder}", "workingDir", cage="must")

    def _on_candidate(self, candidate: Candidate, use: Use, touch: Touch, command: Command) -> Step | None:
        """Judge one file. If only the mode would ask, the permission of the command itself decides."""
        step = judge_access(self.world.resolve(candidate.path), use, self.circumstances)
        if step.behavior == "deny" and (step.reason_type == "safetyCheck" or touch.perhaps):
            step = replace(step, behavior="ask")
        if step.behavior == "allow" or (step.reason_type == "mode" and not touch.extra):
            return self._on_unknown(candidate, use, touch, command)
        lifted = self._is_lifted(command)
        planned = self.mode == "plan" and step.reason_type == "mode"
        if step.reason_type in ("workingDir", "mode") and lifted:
            return step if planned else self._on_unknown(candidate, use, touch, command)
        if planned and step.rule is None:
            return replace(step, behavior="deny", reason="in the mode plan nothing is changed")
        return step

    def _is_lifted(self, command: Command) -> bool:
        """Whether everything is allowed, or a rule allows exactly this command, wherever its files are."""
        return self.everything is not None or self._spelled_out(command, len(command.words))

    def _on_unknown(self, candidate: Candidate, use: Use, touch: Touch, command: Command) -> Step | None:
        """Check a file whose path is known only in part: a rule may apply to it, or it may be outside."""
        if not candidate.open and not candidate.glob:
            return self._on_changed(candidate, command)
        if rule := self._rule_on_pattern(candidate, "Read" if use == "read" else "Edit"):
            return self._perhaps(rule, touch)
        if touch.word.source.startswith("~") and candidate.open and self.everything is None:
            return Step("ask", f"{touch.word.source} is in the home folder of another user", "workingDir")
        if use == "write" and candidate.glob.startswith("."):
            return Step("ask", f"{touch.word.source} may be a protected file", "safetyCheck")
        if candidate.open and use == "write" and self.everything is None:
            return Step("ask", f"which file {touch.word.source} is, is not known before it runs")
        if use == "read" and not self._is_lifted(command) and not self._comes_from_wrapper(touch.word, command):
            why = f"which file {touch.word.source} is, is not known before it runs"
            return Step("ask", why, cage="must")
        return None

    def _comes_from_wrapper(self, word: Word, command: Command) -> bool:
        """Whether `xargs` or `find -exec` adds this word to a command that a rule allows, and that does not only read.

        A reading command would print any file that is named to it, or that a link among the found files leads to.
        """
        return is_added(word) and base_name(command.words[0]) not in READERS and bool(self._allowing(command))

    def _on_changed(self, candidate: Candidate, command: Command) -> Step | None:
        """Check a file that is known, but that an earlier part of the command may have put there."""
        if self.changes.may_lead_away(candidate.path) and not self._is_lifted(command):
            return Step("ask", f"an earlier part of the command changes {candidate.path}")
        return None

    def _rule_on_pattern(self, candidate: Candidate, tool: str) -> SourcedRule | None:
        """The first deny or ask rule that may mean one of the files that a candidate stands for."""
        rules = (rule for behavior in _REFUSING for rule in path_rules(self.circumstances, behavior, tool))
        return next((rule for rule in rules if candidate.open or self._overlaps(candidate, rule)), None)

    def _perhaps(self, rule: SourcedRule, touch: Touch) -> Step:
        why = f"{touch.word.source} may be a file that the rule {rule.rule} means"
        return Step("ask", why, "rule", rule)

    def _overlaps(self, candidate: Candidate, rule: SourcedRule) -> bool:
        content = rule.rule.content
        if content and content.endswith("**"):
            return denies(content, self.world.resolve(f"{candidate.path}/x"), self.anchors)
        return content is None or bool(rule.broken) or could_overlap(candidate.glob, content)

    def _on_mentioned(self, command: Command) -> Iterator[Step]:
        """Ask if a rule denies a file that an argument names: an unknown program may do anything with it."""
        for word in command.words[1:]:
            if rule := self._mentioned_in(word.text):
                yield Step("ask", f"{word.source} may name a file that the rule {rule.rule} denies", "rule", rule)
            value = word.text.partition("=")[2] or word.text
            if not word.known or word.globs or not value or len(value) > 4096:
                continue
            named = replace(word, text=value, values=None)
            for candidate in candidates(named, command.folders, self.anchors, self.script.notes):
                step = self._denied(candidate)
                if step is not None:
                    yield step

    def _mentioned_in(self, text: str) -> SourcedRule | None:
        """The rule whose file name is part of an argument, such as `-F.env` or `x=@a,.env`."""
        if not text or re.search(r"\s", text):
            return None
        for rule in path_rules(self.circumstances, "deny", "Edit"):  # includes the rules that deny reading
            names = [name for name in (rule.rule.content or "").split("/") if name and not _NO_NAME.search(name)]
            if names and names[-1].casefold() in text.casefold():
                return rule
        return None

    def _denied(self, candidate: Candidate) -> Step | None:
        resolved = self.world.resolve(candidate.path)
        for rule in path_rules(self.circumstances, "deny", "Edit"):
            content = rule.rule.content
            if content is not None and denies(content, resolved, self.anchors):
                return Step("ask", f"an argument names a file that the rule {rule.rule} denies", "rule", rule)
        return None

    # Permission

    def _permission(self, command: Command, runs: Runs, inner: list[Judged]) -> tuple[Step, bool]:
        """The step that allows the command, or asks for permission."""
        words, found = command.words, None if self._runs_nothing(command) else hazard(command.words)
        allowing = self._allowing(command)
        knows = base_name(words[0]) != "git" or self._knows_repository(command)
        looks = isinstance(describe(words), Parsed) and knows and not self.prints_inherited
        if not knows and found is None and not self._spelled_out(command, len(words)):
            found = Finding(len(words), "git may run programs that this repository configures")
        if runs.transparent or (looks and (runs.commands or runs.scripts)):
            return Step("allow", "it is as good as what it runs", "subcommandResults", cage="may"), False
        if looks:
            return Step("allow", "it only looks", cage="" if runs_outside(words) else "may"), False
        if self.whole is not None:
            return self._in_mode(by_rule("allow", self.whole)), False
        for rule, count in allowing:
            last = max(found.index, runs.begins) if found else runs.begins
            if count > last or (found is None and not runs.commands and not runs.scripts):
                step = by_rule("allow", rule)
                return step if asks_for_version(words) else self._in_mode(step), False
        if self.everything is not None and (found is None or not self.guarded):
            rule = self._named_in_arguments(words)
            why = f"{base_name(words[0])} may run what the rule {rule.rule} means" if rule else ""
            return (Step("ask", why, "rule", rule) if rule else self.everything), False
        if self.mode == "plan" and not allowing:
            return Step("deny", "in the mode plan nothing is run that may change something", "mode"), False
        if found is not None:
            why = found.why if allowing or self.everything else "no rule allows it"
            return Step("ask", why, cage=self._cage_for(words)), False
        if self.passes == "files" and self._only_writes_files(words):
            return Step(
                "allow", f"it works on files in the working folders, and the mode is {self.mode}", "mode"
            ), False
        return Step("ask", "no rule allows it", cage=self._cage_for(words)), True

    def _named_in_arguments(self, words: tuple[Word, ...]) -> SourcedRule | None:
        """The deny or ask rule whose program is an argument of an unknown program or of one that runs its arguments."""
        name = base_name(words[0])
        if name not in _CARRIERS and (is_known(name) or files_of(words[:1]) or describe(words) is not None):
            return None
        named = {text for word in words[1:] for text in word.text.split()[:1]}
        for behavior in _REFUSING:
            for rule, _ in self.contents[behavior]:
                first = re.split(r"[\s:*]", rule.rule.content or "")[0]
                if first in named:
                    return rule
        return None

    def _cage_for(self, words: tuple[Word, ...]) -> CageUse:
        """Whether the cage would make the command harmless. Rules about commands hold there too, so they are asked."""
        ruled = any(self.contents[behavior] for behavior in _REFUSING)
        return "must" if reads_in_cage(words) and not ruled else ""

    def _only_writes_files(self, words: tuple[Word, ...]) -> bool:
        """Whether a command only changes files that it names, and nothing before it could have moved them."""
        known = words[0].text in (*WRITES_FILES, "sed") and not hides_target(words) and not merges_folders(words)
        return known and not self.changes.unknown

    def _runs_nothing(self, command: Command) -> bool:
        """Whether it is a command such as `xargs` or `sudo` without anything to run."""
        return len(self.script.commands) == 1 and not command.redirects and names_nothing(command.words)

    def _knows_repository(self, command: Command) -> bool:
        """Whether git works on the trusted repository. Even `git status` runs programs that a repository configures.

        Any folder with a HEAD counts as a repository, and a clone can contain one as plain files.
        """
        for word in (fixed_word("."), *folder_options(command.words)):
            for candidate in candidates(word, command.folders, self.anchors, self.script.notes):
                if candidate.open or self.changes.touches(candidate.path) or self._is_other_repository(candidate.path):
                    return False
        return self.circumstances.trusted

    def _is_other_repository(self, path: str) -> bool:
        """Whether git would find another repository than that of the working folder, on its way up from a folder."""
        folder = squash(path)
        while folder != "/":
            head = self.world.resolve(f"{folder}/HEAD")
            if head.kind != "missing" and not head.lexical.endswith("/.git/HEAD"):
                return True
            if folder in (self.anchors.cwd, self.anchors.real_cwd, self.anchors.project, self.anchors.real_project):
                return False
            if self.world.resolve(f"{folder}/.git").kind != "missing":
                return True
            folder = folder.rpartition("/")[0] or "/"
        return False

    def _in_mode(self, step: Step) -> Step:
        """Plan mode asks even if a rule allows the command."""
        if self.mode != "plan":
            return step
        return replace(step, behavior="ask", reason=f"{step.reason}, but in the mode plan nothing is changed unasked")

    def _allowing(self, command: Command) -> list[tuple[SourcedRule, int]]:
        """The rules that allow a command, and how many of its words each spells out. Cached for the last command."""
        if self.allowing[0] is not command:
            rules = self.contents["allow"] if _is_where_it_was(command) else []
            found = [(rule, content.allows(command)) for rule, content in rules if content.kind != "all"]
            self.allowing = (command, [(rule, count) for rule, count in found if count])
        return self.allowing[1]

    def _spelled_out(self, command: Command, count: int) -> bool:
        """Whether a rule allows exactly this command with all of its words."""
        return self.whole is not None or any(spelled > count for _, spelled in self._allowing(command))


def _follows(command: Command) -> bool:
    """Whether it is `tail -f`, which does not end by itself."""
    options = (word.text for word in command.words if is_option(word))
    return command.name == "tail" and any(re.match(r"-[^-]*[fF]|--[fr]", option) for option in options)


_CARRIERS: Final = frozenset({"docker", "kubectl", "nerdctl", "nix", "podman", "ssh"})
"""Programs that run their arguments elsewhere, where a rule about a program is meant too."""
_JOINS: Final = frozenset({"-o", "-or", "!", "-not", ",", "("})


def _finds_no_links(words: tuple[Word, ...]) -> bool:
    """Whether find passes on plain files only: `-type f` before the command, without another condition beside it."""
    texts = [word.text for word in words]
    before = texts[: next((at for at, text in enumerate(texts) if text.startswith(("-exec", "-ok"))), 0)]
    return ("-type", "f") in pairwise(before) and not _JOINS.intersection(texts)


def _with_files(command: Command, folders: list[Word]) -> Command:
    """Put folders in the place of the files below them, which can be read if the folders can."""
    values = tuple(value for word in folders for value in (word.values or (word.text,)))
    return replace(
        command,
        words=tuple(
            replace(word, values=values) if is_added(word) and word.text == HOLE else word for word in command.words
        ),
    )


def _opens_file(redirect: Redirect) -> bool:
    """Whether a redirect opens a file: not a text in the command, and not a descriptor."""
    operator = redirect.operator
    if operator in ("<<", "<<-", "<<<"):
        return False
    return operator not in (">&", "<&") or not set(redirect.target.text) <= _DESCRIPTORS


def _changes_file(redirect: Redirect) -> bool:
    return _opens_file(redirect) and redirect.operator != "<" and redirect.target.text not in _STANDARD


def _in_cage(step: Step) -> Step:
    if step.cage == "may":
        return step
    return replace(step, behavior="allow", reason="it runs in the cage, where it can only read the working folders")


def _is_where_it_was(command: Command) -> bool:
    """Whether a rule for `./run` can mean this command: only in the folder where the shell starts."""
    return command.folders == ((),) or "/" not in command.name or command.name.startswith("/")


def _content(rule: SourcedRule) -> Content:
    """The content of a rule. The readable part of a broken rule counts as a prefix."""
    content = rule.rule.content
    return compile_content(f"{content}:*" if rule.broken and content else content)


def _is_exactly(rule: SourcedRule, content: Content, text: str) -> bool:
    return content.kind == "exact" and (rule.rule.content or "").strip() == text.strip()
