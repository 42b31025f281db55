"""pytest plugin that collects once and runs the tests in forked processes: `pytest -p tools.forked_tests --forks 4`.

pytest-xdist imports and collects all tests in each of its processes, which took a fifth of the time of `make test`.
Here, all processes are forked from one that has collected. Each takes a whole test file at a time, so that a fixture of
a module is set up once. If a process dies, the test that it ran fails, and a new process runs the rest of its file.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

import pytest

SLOW_FIRST = ("faults", "acp", "cli", "contract", "bridge", "architecture", "agent", "fuzz", "conform", "packaging")
"""Folders whose tests are started first, so that no process is left with a slow file at the end."""
ENTRY = 4
"""Bytes of an entry of the queue: few enough for reads and writes to be atomic."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, metavar="N", help="run the collected tests in N forked processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    forks = session.config.getoption("--forks")
    if not forks or session.testsfailed or session.config.option.collectonly:
        return None  # as without this plugin
    ForkedRun(session).run(forks)
    return True


class ForkedRun:
    """The test files that are left, and the processes that take them."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._config, self._items = session, session.config, session.items
        indexes = range(len(self._items))
        files = [list(tests) for _, tests in groupby(indexes, lambda index: self._items[index].path)]
        self._files = sorted(files, key=lambda tests: self._rank(self._items[tests[0]]))
        # The pipe is the queue: each process takes an entry with one read. It never blocks: nothing is added later.
        self._left, queue = os.pipe()
        os.set_blocking(self._left, False)
        os.set_blocking(queue, False)  # fails instead of waiting forever, should 16,384 files not be enough
        for number in range(len(self._files)):
            os.write(queue, number.to_bytes(ENTRY, "little"))
        os.close(queue)
        self._processes: dict[Connection, int] = {}
        # The test that a process runs, and the one that it runs next. No test: the process is starting or has finished.
        self._running: dict[Connection, tuple[int | None, int | None]] = {}
        self._forked = 0

    def _rank(self, item: pytest.Item) -> int:
        folders = item.path.relative_to(self._config.rootpath).parts
        return next((rank for rank, folder in enumerate(SLOW_FIRST) if folder in folders), len(SLOW_FIRST))

    def run(self, forks: int) -> None:
        """Run all tests and report them, in the order in which they end."""
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # one folder with a folder per process
        gc.collect()
        gc.freeze()  # the collected tests stay: no process looks through them again
        try:
            for _ in range(forks):
                self._fork([])
            while self._processes:
                for reports in wait(list(self._processes)):
                    assert isinstance(reports, Connection)
                    if not self._receive(reports):
                        self._ended(reports)
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)
        finally:
            for process in self._processes.values():
                os.kill(process, signal.SIGINT)
                os.waitpid(process, 0)

    def _receive(self, reports: Connection) -> bool:
        """Handle a message of a process; False if the process has closed its end."""
        try:
            message = reports.recv()
        except EOFError:
            return False
        if isinstance(message, tuple):
            self._running[reports] = message
        else:
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=message)
            self._config.hook.pytest_runtest_logreport(report=report)
        return True

    def _ended(self, reports: Connection) -> None:
        """Replace a process that died in the middle of a test. Others have ended because all files are taken."""
        test, following = self._running.pop(reports)
        reports.close()
        os.waitpid(self._processes.pop(reports), 0)
        if test is None:
            return
        item = self._items[test]
        text = f"the process that ran {item.nodeid} died; run this test alone to see why"
        self._config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        )
        file = next((file for file in self._files if following in file), [])
        self._fork([test for test in file if test >= (following or 0)])

    def _fork(self, first: list[int]) -> None:
        """Start a process that runs these tests and then takes files from the queue."""
        reports, sender = Pipe(duplex=False)
        self._forked += 1
        if process := os.fork():
            sender.close()
            self._processes[reports], self._running[reports] = process, (None, None)
            return
        try:
            reports.close()
            self._serve(first, sender)
        except KeyboardInterrupt:
            pass
        except BaseException as error:
            sys.__excepthook__(type(error), error, error.__traceback__)
        finally:
            sender.close()
            os._exit(0)  # the exit handlers are those of the first process

    def _serve(self, first: list[int], sender: Connection) -> None:
        temporary = self._config._tmp_path_factory  # type: ignore[attr-defined]
        temporary._basetemp = temporary.mktemp(f"process-{self._forked}", numbered=False)
        plugins = self._config.pluginmanager
        plugins.unregister(name="terminalreporter")
        plugins.register(ReportSender(self._config, sender))
        capture = plugins.getplugin("capturemanager")
        # The file with the captured output is the same in all processes until each has opened its own.
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        tests = self._tests(first)
        test = next(tests, None)
        while test is not None:
            following = next(tests, None)
            sender.send((test, following))
            after = None if following is None else self._items[following]
            self._config.hook.pytest_runtest_protocol(item=self._items[test], nextitem=after)
            test = following
        sender.send((None, None))

    def _tests(self, first: list[int]) -> Iterator[int]:
        yield from first
        while entry := os.read(self._left, ENTRY):
            yield from self._files[int.from_bytes(entry, "little")]


class ReportSender:
    """Sends the reports of a process to the first one, which counts and prints them."""

    def __init__(self, config: pytest.Config, sender: Connection) -> None:
        self._config, self._sender = config, sender

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._sender.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))
