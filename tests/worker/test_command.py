"""A command is a handler, and `pgdispatch worker` is a worker with one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pgdispatch import Done, HandBack, JobFailed
from pgdispatch.cli import main
from pgdispatch.command import TAIL_BYTES, Command
from pgdispatch.types import ClaimedRun
from tests.concurrency.support import PATIENCE, Fleet, make_fleet, until
from tests.support.servers import Database
from tests.worker.support import run_of, until_status, wake

PROGRAM = "from pgdispatch.cli import main; main()"


def claimed(**given: Any) -> ClaimedRun:
    """Make a run as a claim gives it."""
    values: dict[str, Any] = {
        "run_id": uuid.uuid4(),
        "workspace_id": uuid.uuid4(),
        "agent_id": uuid.uuid4(),
        "runtime_id": uuid.uuid4(),
        "issue_id": None,
        "chat_session_id": None,
        "autopilot_run_id": None,
        "claim_no": 1,
        "attempt": 1,
        "priority": 0,
        "reason": "work",
        "payload": {"text": "grüße"},
        "triggers": [],
        "requested_at": datetime.now(UTC),
        "dispatched_at": datetime.now(UTC),
        "lease_expires_at": None,
        "originator_id": None,
        "accountable_id": None,
        "attribution_source": None,
        "is_leader_run": False,
        "squad_id": None,
        "handoff_note": None,
        "session_id": None,
        "work_dir": None,
        "reclaimed": False,
    }
    return ClaimedRun(**(values | given))


def shell(script: str, **given: Any) -> Command:
    return Command(["sh", "-c", script], **given)


def test_it_gets_the_run_as_json_and_as_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDISPATCH_DSN", "password=secret")
    monkeypatch.setenv("PGDISPATCH_ISSUE_ID", "of a worker around this one")
    run = claimed(handoff_note="do it")
    done = shell("cat; echo; env | grep ^PGDISPATCH_ | sort")(run)
    assert isinstance(done, Done)
    assert done.result is not None
    first, *rest = done.result["output"].splitlines()
    document = json.loads(first)
    assert document["run_id"] == str(run.run_id)
    assert document["payload"] == {"text": "grüße"}
    variables = dict(line.split("=", 1) for line in rest)
    assert variables["PGDISPATCH_RUN_ID"] == str(run.run_id)
    assert variables["PGDISPATCH_CLAIM_NO"] == "1"
    assert variables["PGDISPATCH_HANDOFF_NOTE"] == "do it"
    assert not {"PGDISPATCH_ISSUE_ID", "PGDISPATCH_DSN"}.intersection(variables)


def test_a_run_larger_than_a_pipe_may_go_unread() -> None:
    done = shell("exit 0")(claimed(payload={"text": "x" * (1 << 20)}))
    assert done.result == {"exit_code": 0, "output": ""}


def test_its_exit_code_and_the_tail_of_its_output_are_the_error() -> None:
    script = "seq 3000; echo >&2 end; exit 7"
    with pytest.raises(JobFailed) as caught:
        shell(script)(claimed())
    error = caught.value.report["error"]
    assert error is not None
    assert str(error).startswith("exit code 7: ")
    assert str(error).endswith("2999\n3000\nend")
    assert len(str(error)) < TAIL_BYTES + 20
    with pytest.raises(JobFailed, match="signal 9"):
        shell("kill -9 $$")(claimed())


def test_one_that_takes_too_long_fails_as_timeout() -> None:
    with pytest.raises(JobFailed, match=r"no end within 0\.2 s: begun") as caught:
        shell("echo begun; sleep 60", timeout=0.2)(claimed())
    assert caught.value.report["failure_reason"] == "timeout"


def test_what_it_leaves_behind_is_ended(tmp_path: Path) -> None:
    left = tmp_path / "left"
    done = shell(f"sleep 600 & echo $! > {left}; echo said")(claimed())
    assert done.result == {"exit_code": 0, "output": "said"}
    pid = int(left.read_text())
    until(lambda: not is_running(pid), "it is gone")


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["kind", "stubborn"])
def test_a_stopped_one_is_handed_back(tmp_path: Path, trap: str) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    command = shell(f"{trap}echo > {begun}; sleep 60 & wait; wait", grace=0.2)
    run = claimed()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(command, run)
        begun.read_text()
        command.stop(run.run_id)
        assert isinstance(answer.exception(PATIENCE), HandBack)


def test_one_stopped_before_it_begins_is_handed_back() -> None:
    command = shell("sleep 60")
    run = claimed()
    command.stop(run.run_id)
    with pytest.raises(HandBack):
        command(run)


@contextmanager
def started(db: Database, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start `pgdispatch worker`, and end it with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "worker", "--dsn", db.dsn, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)


def served(fleet: Fleet) -> list[str]:
    return ["--workspace", str(fleet.workspace), "--runtime", str(fleet.runtime)]


def test_the_command_line_completes_and_fails_runs(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        good = wake(fleet, admin, payload={"n": 1})
        bad = wake(fleet, admin, reason="bad")
        script = 'test "$PGDISPATCH_REASON" = work && cat'
        with started(db, *served(fleet), "--exec", f"sh -c '{script}'") as process:
            completed = until_status(fleet, admin, good, "completed")
            failed = until_status(fleet, admin, bad, "failed")
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        assert json.loads(completed["result"]["output"])["payload"] == {"n": 1}
        assert (failed["failure_reason"], failed["error"]) == ("agent_error", "exit code 1")


def test_one_signal_drains_and_two_hand_back(db: Database, tmp_path: Path) -> None:
    fleet = make_fleet(db)
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    os.mkfifo(begun)
    os.mkfifo(gate)
    script = f"sh -c 'echo > {begun}; read line < {gate}'"
    with db.connect() as admin:
        for count in (1, 2):
            run = wake(fleet, admin)
            with started(db, *served(fleet), "--exec", script) as process:
                begun.read_text()
                for _ in range(count):
                    process.send_signal(signal.SIGTERM)
                    # Two signals of one kind that come at once are one.
                    assert process.stderr is not None
                    until_heard(process, "stop")
                if count == 1:
                    gate.write_text("go\n")
                _, said = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, said
            expected = "completed" if count == 1 else "deferred"
            assert run_of(fleet, admin, run)["status"] == expected, said


def until_heard(process: subprocess.Popen[str], word: str) -> None:
    """Read what a worker logs until it says a word."""
    assert process.stderr is not None
    found = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            if word in line:
                found.set()
                return

    threading.Thread(target=read, daemon=True).start()
    assert found.wait(PATIENCE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--runtime", "x", "--exec", "true"], "x is no uuid"),
        (["--runtime", f"{uuid.uuid4()}/{uuid.uuid4()}", "--exec", "true"], "none of the"),
        (["--runtime", str(uuid.uuid4()), "--exec", "no-such-command"], "there is no command"),
        (["--runtime", str(uuid.uuid4()), "--exec", "'"], "No closing quotation"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_sent(arguments: list[str], said: str) -> None:
    words = ["worker", "--workspace", str(uuid.uuid4()), *arguments]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert said in done.output


def test_with_several_workspaces_each_runtime_names_its_own() -> None:
    one, other, runtime = (str(uuid.uuid4()) for _ in range(3))
    words = ["worker", "--workspace", one, "--workspace", other, "--exec", "true"]
    done = CliRunner().invoke(main, [*words, "--runtime", runtime])
    assert done.exit_code == 2
    assert "WORKSPACE/RUNTIME" in done.output
    done = CliRunner().invoke(main, [*words, "--runtime", f"{one}/{runtime}"])
    assert done.exit_code == 2
    assert f"no runtime of {other}" in done.output
