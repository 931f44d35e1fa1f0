"""One daemon of the demonstration, a process of its own: a worker that executes a command.

The loop is `pgdispatch.Worker`, as `pgdispatch worker` runs it: what ended is reported and the
next is claimed in one transaction, so a slot that becomes free is filled at once. It asks for
more than its agents may have: that none gets more than its capacity is the database's doing.

The first line of standard input is the configuration. Its end of file, which comes when the
starting process closes it or dies, stops the daemon; what it had in hand then is handed back.
Standard output is one JSON object a line: `ready`, and then each execution.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

from pgdispatch.client import Dispatch
from pgdispatch.demo.files import issue_id_of, path_of
from pgdispatch.errors import DispatchError
from pgdispatch.types import ClaimedRun
from pgdispatch.worker import HandBack, JobFailed, Worker

POLL_SECONDS = 2.0
COMMAND_SECONDS = 60.0
TAIL_BYTES = 2000
READ_BYTES = 1 << 16

#: Jobs in hand at most: more than the agents of a daemon may have together.
WANTED = 64


@dataclass(frozen=True, slots=True)
class Config:
    """What a daemon needs to know."""

    dsn: str
    workspace_id: str
    runtime_ids: Sequence[str]
    command: Sequence[str]
    root: str
    notes: Sequence[str] = ()
    recovers: bool = False

    def line(self) -> bytes:
        """Write the configuration as the first line of a daemon's standard input."""
        return json.dumps(asdict(self)).encode() + b"\n"


class Executor:
    """The handler: executes the command on the file that a run is about.

    The commands stay in the daemon's own process group, so that whoever ends that ends them.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._paths = {issue_id_of(note): path_of(note) for note in config.notes}
        self._processes: dict[uuid.UUID, subprocess.Popen[bytes]] = {}
        self._guard = threading.Lock()
        self._is_over = False
        #: Whether a command was ended before its time, which may leave its own behind.
        self.has_killed = False

    def __call__(self, run: ClaimedRun) -> dict[str, Any]:
        """Execute it, in the calling thread, and tell the starting process of it."""
        began = time.monotonic()
        try:
            exit_code, output = self._execute(run)
        except OSError as error:
            exit_code, output = None, str(error)
        say(
            {
                "executed": str(run.run_id),
                "issue": str(run.issue_id),
                "exit_code": exit_code,
                "seconds": round(time.monotonic() - began, 4),
            }
        )
        if exit_code == 0:
            return {"exit_code": 0, "output": output}
        ending = f"exit code {exit_code}" if exit_code is not None else "no exit code"
        raise JobFailed(f"{ending}: {output}" if output else ending)

    def stop(self, run_id: uuid.UUID) -> None:
        """Kill the command of a run, if there is one."""
        with self._guard:
            process = self._processes.get(run_id)
            if process is not None:
                self.has_killed = True
                process.kill()

    def close(self) -> None:
        """Kill the commands that are running, and begin no more."""
        with self._guard:
            self._is_over = True
            running = list(self._processes)
        for run_id in running:
            self.stop(run_id)

    def _execute(self, run: ClaimedRun) -> tuple[int | None, str]:
        """Give the exit code of the command and the end of its output."""
        root = Path(self._config.root)
        with self._guard:
            if self._is_over:
                raise HandBack
            process = subprocess.Popen(
                [*self._config.command, str(root / self._path_of(run))],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            self._processes[run.run_id] = process
        is_late = threading.Event()

        def end_late() -> None:
            is_late.set()
            self.stop(run.run_id)

        timer = threading.Timer(COMMAND_SECONDS, end_late)
        timer.daemon = True
        timer.start()
        try:
            output = _tail(process)
        finally:
            timer.cancel()
            with self._guard:
                del self._processes[run.run_id]
        if self._is_over:
            raise HandBack
        if is_late.is_set():
            return None, f"{output}\nno end within {COMMAND_SECONDS:.0f} s".strip()
        return process.returncode, output

    def _path_of(self, run: ClaimedRun) -> Path:
        """Find the file of a run: by its note, else, for a retry, by its issue."""
        if run.handoff_note is not None or run.issue_id is None:
            return path_of(run.handoff_note or "")
        return self._paths.get(run.issue_id, path_of(""))


def _tail(process: subprocess.Popen[bytes]) -> str:
    """Wait for a command's end, and give the end of what it said."""
    tail = b""
    with process:
        while process.stdout and (block := os.read(process.stdout.fileno(), READ_BYTES)):
            tail = (tail + block)[-TAIL_BYTES:]
    return tail.decode(errors="replace").strip()


_saying = threading.Lock()


def say(event: dict[str, Any]) -> None:
    """Tell the starting process, if it is still there."""
    with _saying, contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


def begin(config: Config) -> int:
    """Come alive, end what an earlier process of this daemon had in hand, tell how much."""
    with Dispatch(config.dsn, pool_size=1) as dispatch:
        dispatch.heartbeat(config.workspace_id, config.runtime_ids)
        if not config.recovers:
            return 0
        return sum(
            len(dispatch.recover_runtime(config.workspace_id, runtime))
            for runtime in config.runtime_ids
        )


def serve(config: Config) -> bool:
    """Work until standard input ends; tell whether commands had to be killed."""
    executor = Executor(config)
    worker = Worker(
        config.dsn,
        config.workspace_id,
        config.runtime_ids,
        executor,
        poll_interval=POLL_SECONDS,
        concurrency=WANTED,
    )
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())

    def watch() -> None:
        # Twice, so that nothing is waited for.
        sys.stdin.buffer.read()
        executor.close()
        worker.stop()
        worker.stop()

    say({"ready": True, "recovered": begin(config)})
    threading.Thread(target=watch, daemon=True).start()
    worker.run()
    return executor.has_killed


def main() -> None:
    """Serve; then take along whatever a killed command may have left behind."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    was_busy = True
    try:
        was_busy = serve(Config(**json.loads(line)))
    except (psycopg.Error, DispatchError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(1) from error
    finally:
        if was_busy and os.getpgrp() == os.getpid():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main()
