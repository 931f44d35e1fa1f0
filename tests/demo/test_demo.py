"""The whole demonstration, in a process of its own: what it shows and what it leaves."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pgdispatch.embedded import EmbeddedServerError, wheel_bindir

SECONDS = 60
MARK = "PGDISPATCH_TEST_MARK"
PROGRAM = "from pgdispatch.cli import main; main()"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs /proc to look for what is left"
)


@pytest.fixture(autouse=True)
def _has_wheel() -> None:
    try:
        wheel_bindir()
    except EmbeddedServerError as error:
        pytest.skip(str(error))


class Shown:
    """A running demonstration on ten files, whose commands wait at a gate."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        mark = uuid.uuid4().hex
        self._mark = f"{MARK}={mark}".encode()
        self.folder: Path | None = None
        self._gate = folder / "gate"
        os.mkfifo(self._gate)
        files = folder / "files"
        files.mkdir()
        for number in range(10):
            (files / f"{number}.txt").write_text("nothing" if number == 4 else "word here")
        script = folder / "script"
        script.write_text(f'read line < {self._gate}\ngrep -h word "$1"\n')
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "demo", *arguments],
            env=os.environ | {MARK: mark, "DEMO_DIR": str(files), "DEMO_EXEC": f"sh {script}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @contextmanager
    def at_work(self) -> Iterator[dict[int, str]]:
        """Hold the commands back while the block runs, and give the processes there are.

        Opening the gate waits for the first command.
        """
        with self._gate.open("w"):
            seen = self.processes()
            # Only the reaper's command line names the server's folder for good.
            (folder,) = {
                Path(line.split()[-1]) for line in seen.values() if "_reaper.py" in line
            }
            self.folder = folder
            try:
                yield self.processes()
            finally:
                self._gate.unlink()
                self._gate.touch()

    def processes(self) -> dict[int, str]:
        """Every process that descends from it, and its command line.

        All inherit a mark; a server writes over its environment, but works in its folder.
        """
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                is_marked = self._mark in (entry / "environ").read_bytes()
                place = str((entry / "cwd").readlink())
                if is_marked or (self.folder and place.startswith(str(self.folder))):
                    line = (entry / "cmdline").read_bytes()
                    found[int(entry.name)] = line.replace(b"\0", b" ").decode().strip()
        return found

    def output(self) -> str:
        """Wait for the end and give what it printed."""
        return self.process.communicate(timeout=SECONDS)[0]

    def assert_nothing_is_left(self) -> None:
        """Look for processes and for the server's folder."""
        assert self.processes() == {}
        assert self.folder is not None
        assert not self.folder.exists()


@pytest.fixture
def shown(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shown]:
    """A demonstration that is ended with the test; a parameter gives its arguments."""
    running = Shown(tmp_path, *getattr(request, "param", ("--no-crash",)))
    yield running
    running.process.terminate()
    running.process.communicate(timeout=SECONDS)


def daemons(processes: dict[int, str]) -> list[int]:
    return [pid for pid, line in processes.items() if line.endswith("pgdispatch.demo.daemon")]


def wait_for_ends(pids: list[int]) -> None:
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([handle], [], [], SECONDS)[0], f"process {pid} still runs"
        finally:
            os.close(handle)


def test_it_works_on_real_files_and_leaves_nothing(shown: Shown) -> None:
    with shown.at_work() as seen:
        assert len(daemons(seen)) == 2
    text = shown.output()

    assert shown.process.returncode == 0, text
    assert re.search(r"^alpha +1 of 1 +2 +0 ", text, re.M), text
    assert re.search(r"^beta +[12] of 2 +4 +[01] ", text, re.M), text
    assert re.search(r"^gamma +[1-4] of 4 +4 +[01] ", text, re.M), text
    assert text.count("  holds ") == 4
    assert "10 issues: 9 completed, 1 failed" in text
    assert "10 executions of 10 started runs" in text
    assert re.search(r"^  DEMO-\d+ sh .*4\.txt: exit code 1$", text, re.M), text
    for reason in ("invocation_not_allowed", "parked_in_backlog", "agent_runtime_required"):
        assert reason in text
    shown.assert_nothing_is_left()


@pytest.mark.parametrize("shown", [("--crash",)], indirect=True, ids=["crash"])
def test_a_killed_daemon_s_work_is_taken_over(shown: Shown) -> None:
    said = []
    with shown.at_work():
        assert shown.process.stdout is not None
        # The commands are held back until the new process has begun.
        for line in shown.process.stdout:
            said.append(line)
            if " is back " in line:
                break
    text = "".join(said) + shown.output()

    assert shown.process.returncode == 0, text
    assert re.search(r"desk \(process \d+\) is killed by SIGKILL", text), text
    assert "4 runs were in hand, each failed and retried" in text
    assert re.search(r"^gamma +4 of 4 +8 +[45] ", text, re.M), text
    assert text.count("  holds ") == 4
    assert "10 issues: 9 completed, 1 failed, 4 of them after a takeover" in text
    assert "10 executions of 10 started runs, beside 4 that were lost" in text
    shown.assert_nothing_is_left()


@pytest.mark.parametrize(
    "shown", [("--json", "--limit", "3", "--no-crash")], indirect=True, ids=["json"]
)
def test_its_answer_can_be_one_json_object(shown: Shown) -> None:
    with shown.at_work():
        pass
    document = json.loads(shown.output())
    assert shown.process.returncode == 0
    assert document["is_good"] is True
    assert [check["holds"] for check in document["checks"]] == [True] * 4
    assert {name: agent["runs"] for name, agent in document["agents"].items()} == {
        "alpha": 1,
        "beta": 2,
    }


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
    ids=["interrupted", "terminated", "killed"],
)
def test_a_signal_midway_leaves_nothing(
    shown: Shown, number: signal.Signals, code: int
) -> None:
    with shown.at_work() as seen:
        # To the whole group, as a terminal does it.
        os.killpg(shown.process.pid, number)
        if number == signal.SIGKILL:
            wait_for_ends([pid for pid in seen if pid != shown.process.pid])
        text = shown.output()
        shown.assert_nothing_is_left()
    assert shown.process.returncode == code, text
    assert "Traceback" not in text


def test_a_lost_daemon_fails_it_and_leaves_nothing(shown: Shown) -> None:
    with shown.at_work() as seen:
        os.kill(daemons(seen)[0], signal.SIGKILL)
        text = shown.output()
        shown.assert_nothing_is_left()
    assert shown.process.returncode == 1, text
    assert re.search(r"^pgdispatch: daemon \w+ has ended: signal 9$", text, re.M), text
