"""A handler that executes a command for each run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import IO

from pgdispatch.types import ClaimedRun
from pgdispatch.worker import Done, HandBack, JobFailed

TAIL_BYTES = 8192
READ_BYTES = 1 << 16
STRAGGLER_SECONDS = 1.0

# What a command finds in its environment, each under PGDISPATCH_ and its name in capitals.
VARIABLES = (
    "run_id",
    "workspace_id",
    "agent_id",
    "runtime_id",
    "issue_id",
    "claim_no",
    "attempt",
    "priority",
    "reason",
    "handoff_note",
    "session_id",
    "work_dir",
)


class Command:
    """Executes a command for a run: exit code 0 completes it, any other fails it.

    The command gets the run as JSON on standard input and as `PGDISPATCH_*` variables. Exit
    code and the tail of the output are the result, or the error. It leads a process group of
    its own, and what is left of that when it has ended is killed. With `timeout`, a command
    that takes longer fails as `timeout`, which is retried.
    """

    def __init__(
        self, words: Sequence[str], *, timeout: float | None = None, grace: float = 5.0
    ) -> None:
        self._words = list(words)
        self._timeout = timeout
        self._grace = grace
        self._processes: dict[uuid.UUID, subprocess.Popen[bytes]] = {}
        self._stopped: set[uuid.UUID] = set()
        self._guard = threading.Lock()

    def __call__(self, run: ClaimedRun) -> Done:
        """Execute the command, in the calling thread."""
        late = threading.Event()
        timers: list[threading.Timer] = []
        with tempfile.TemporaryFile() as given:
            given.write(document(run).encode())
            given.seek(0)
            process = subprocess.Popen(
                self._words,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment(run),
                start_new_session=True,
            )
        with self._guard:
            self._processes[run.run_id] = process
            is_stopped = run.run_id in self._stopped
        if is_stopped:
            self.stop(run.run_id)
        if self._timeout is not None:
            timers.append(threading.Timer(self._timeout, self._end_late, (process, late)))
            timers[0].daemon = True
            timers[0].start()
        try:
            output = self._follow(process)
        finally:
            for timer in timers:
                timer.cancel()
            with self._guard:
                del self._processes[run.run_id]
                was_stopped = run.run_id in self._stopped
                self._stopped.discard(run.run_id)
        if was_stopped:
            raise HandBack
        if late.is_set():
            raise JobFailed(f"no end within {self._timeout:g} s: {output}", "timeout")
        code = process.returncode
        if code != 0:
            ending = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise JobFailed(f"{ending}: {output}" if output else ending)
        return Done({"exit_code": 0, "output": output})

    def stop(self, run_id: uuid.UUID) -> None:
        """End the command of a run: at first kindly, after the grace for good."""
        with self._guard:
            # Remembered, for a command that is about to begin.
            self._stopped.add(run_id)
            process = self._processes.get(run_id)
            if process is None:
                return
            _signal(process, signal.SIGTERM)
        timer = threading.Timer(self._grace, self._kill, (process,))
        timer.daemon = True
        timer.start()

    def _end_late(self, process: subprocess.Popen[bytes], late: threading.Event) -> None:
        late.set()
        self._kill(process)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        with self._guard:
            if process in self._processes.values():
                _signal(process, signal.SIGKILL)

    def _follow(self, process: subprocess.Popen[bytes]) -> str:
        """Wait for the end, and give the tail of what was said until then."""
        tail = bytearray()
        assert process.stdout is not None  # noqa: S101
        reader = threading.Thread(target=_read_tail, args=(process.stdout, tail), daemon=True)
        reader.start()
        # Not reaped yet, the process keeps its number, which is its group's as well.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        reader.join(STRAGGLER_SECONDS)
        _signal(process, signal.SIGKILL)
        process.wait()
        reader.join(STRAGGLER_SECONDS)
        return bytes(tail[-TAIL_BYTES:]).decode(errors="replace").strip()


def document(run: ClaimedRun) -> str:
    """Write a run as one JSON object."""
    members = {each.name: getattr(run, each.name) for each in fields(run)}
    return json.dumps(members, ensure_ascii=False, default=str)


def environment(run: ClaimedRun) -> Mapping[str, str]:
    """Give the environment of a run's command; what the run does not have is absent."""
    given = {
        f"PGDISPATCH_{name.upper()}": str(value)
        for name in VARIABLES
        if (value := getattr(run, name)) is not None
    }
    # The connection string may hold a password that is none of the command's business.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "PGDISPATCH_DSN"
        and name not in {f"PGDISPATCH_{v.upper()}" for v in VARIABLES}
    }
    return inherited | given


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def _read_tail(pipe: IO[bytes], tail: bytearray) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while block := os.read(pipe.fileno(), READ_BYTES):
            tail += block
            del tail[:-TAIL_BYTES]
