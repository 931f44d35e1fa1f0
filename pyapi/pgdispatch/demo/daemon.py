"""One daemon of the demonstration, a process of its own.

It keeps its runtimes alive, claims their runs, executes a command for each, and reports the
end. What ended is reported and the next is claimed in one transaction, so a slot that becomes
free is filled at once. It asks for more than its agents may have: that none gets more than its
capacity is the database's doing.

The first line of standard input is the configuration. Its end of file, which comes when the
starting process closes it or dies, stops the daemon; what it had in hand then stays claimed.
Standard output is one JSON object a line: `ready`, and then each execution.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pgdispatch.aio import AsyncDispatch
from pgdispatch.demo.files import issue_id_of, path_of
from pgdispatch.types import ClaimedRun

POLL_SECONDS = 2.0
HEARTBEAT_SECONDS = 15.0
COMMAND_SECONDS = 60.0
TAIL_BYTES = 2000

#: Asked for at most in one claim, of all agents and of one.
WANTED = 64
WANTED_PER_AGENT = 50

#: What another transaction may cause and a second try survives.
RETRIED = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


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


@dataclass(frozen=True, slots=True)
class Ended:
    """A run whose command has ended."""

    run: ClaimedRun
    exit_code: int | None
    output: str

    @property
    def is_good(self) -> bool:
        """Whether the command succeeded."""
        return self.exit_code == 0

    def report(self) -> dict[str, Any]:
        """Say how the run ended, in the keys of complete_run or fail_run."""
        common = {"run_id": self.run.run_id, "claim_no": self.run.claim_no}
        if self.is_good:
            return common | {"result": {"exit_code": 0, "output": self.output}}
        ending = f"exit code {self.exit_code}" if self.exit_code is not None else "no exit code"
        error = f"{ending}: {self.output}" if self.output else ending
        return common | {"failure_reason": "agent_error", "error": error}


class Daemon:
    """The loop: report, claim, start, wait for whatever comes next."""

    def __init__(self, config: Config, work: AsyncDispatch, work_pid: int) -> None:
        self._config = config
        self._workspace = uuid.UUID(config.workspace_id)
        self._runtimes = [uuid.UUID(text) for text in config.runtime_ids]
        self._paths = {issue_id_of(note): path_of(note) for note in config.notes}
        self._work = work
        self._work_pid = work_pid
        self._ended: list[Ended] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._stopped = False
        self._error: BaseException | None = None

    @property
    def is_busy(self) -> bool:
        """Whether commands are running."""
        return bool(self._tasks)

    def stop(self) -> None:
        """Make the loop end at its next turn."""
        self._stopped = True
        self._changed.set()

    async def listen(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Wake the loop when something may have become claimable.

        What the loop's own transactions cause is claimed by them already.
        """
        async for notice in connection.notifies():
            if notice.pid != self._work_pid and notice.payload in self._config.runtime_ids:
                self._changed.set()

    async def beat(self) -> None:
        """Keep the runtimes alive, on a connection of its own."""
        async with AsyncDispatch(self._config.dsn, pool_size=1) as dispatch:
            while True:
                await asyncio.sleep(HEARTBEAT_SECONDS)
                await dispatch.heartbeat(self._workspace, self._runtimes)

    async def run(self) -> None:
        """Work until the daemon is stopped."""
        await self._work.heartbeat(self._workspace, self._runtimes)
        say({"ready": True, "recovered": await self._recover()})
        while not self._stopped:
            self._changed.clear()
            with suppress(*RETRIED):
                for run in await self._turn():
                    task = self.watched(self._execute(run))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
            if not self._ended:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), POLL_SECONDS)
        if self._error is not None:
            raise self._error
        for runtime in self._runtimes:
            await self._work.set_runtime_offline(self._workspace, runtime, "daemon stopped")

    async def _recover(self) -> int:
        """End what an earlier process of this daemon had in hand; tell how much that was."""
        if not self._config.recovers:
            return 0
        ended = [
            transition
            for runtime in self._runtimes
            for transition in await self._work.recover_runtime(self._workspace, runtime)
        ]
        return len(ended)

    async def close(self) -> None:
        """Kill the commands that are running."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _turn(self) -> list[ClaimedRun]:
        """Report what ended and claim what is next; give the runs that were started.

        A report that does not apply needs nothing more: the run is somebody else's.
        """
        ended = list(self._ended)
        good = [each.report() for each in ended if each.is_good]
        bad = [each.report() for each in ended if not each.is_good]
        async with self._work.transaction() as both:
            if good:
                await both.complete_runs(self._workspace, good)
            if bad:
                await both.fail_runs(self._workspace, bad)
            claimed = await both.claim_runs(
                self._workspace, self._runtimes, max=WANTED, per_agent=WANTED_PER_AGENT
            )
        del self._ended[: len(ended)]
        if not claimed:
            return []
        answers = await self._work.start_runs(
            self._workspace,
            [{"run_id": run.run_id, "claim_no": run.claim_no} for run in claimed],
        )
        return [run for run, answer in zip(claimed, answers, strict=True) if answer.applied]

    async def _execute(self, run: ClaimedRun) -> None:
        began = time.monotonic()
        try:
            exit_code, output = await self._command(self._path_of(run))
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
        self._ended.append(Ended(run, exit_code, output))
        self._changed.set()

    def _path_of(self, run: ClaimedRun) -> Path:
        """Find the file of a run: by its note, else, for a retry, by its issue."""
        if run.handoff_note is not None or run.issue_id is None:
            return path_of(run.handoff_note or "")
        return self._paths.get(run.issue_id, path_of(""))

    async def _command(self, path: Path) -> tuple[int | None, str]:
        """Execute the command on a file; give its exit code and the end of its output."""
        root = Path(self._config.root)
        process = await asyncio.create_subprocess_exec(
            *self._config.command,
            str(root / path),
            cwd=root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        tail = b""
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                while process.stdout and (block := await process.stdout.read(1 << 16)):
                    tail = (tail + block)[-TAIL_BYTES:]
                exit_code: int | None = await process.wait()
        except TimeoutError:
            exit_code, tail = None, tail + f"\nno end within {COMMAND_SECONDS:.0f} s".encode()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        return exit_code, tail.decode(errors="replace").strip()

    def watched(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside the loop, whose failure ends the loop."""
        task = asyncio.create_task(doing)
        task.add_done_callback(self._noticed)
        return task

    def _noticed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
            self.stop()


def say(event: dict[str, Any]) -> None:
    """Tell the starting process."""
    print(json.dumps(event), flush=True)


async def serve() -> bool:
    """Be a daemon until standard input ends; tell whether commands had to be killed."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    line = await reader.readline()
    if not line:
        return False
    config = Config(**json.loads(line))
    async with (
        await psycopg.AsyncConnection.connect(config.dsn, autocommit=True) as working,
        await psycopg.AsyncConnection.connect(config.dsn, autocommit=True) as listening,
    ):
        dispatch = AsyncDispatch(working)
        channel = await AsyncDispatch(listening).wake_channel()
        await listening.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        daemon = Daemon(config, dispatch, working.info.backend_pid)
        loop.add_signal_handler(signal.SIGTERM, daemon.stop)

        async def watch() -> None:
            await reader.read()
            daemon.stop()

        helpers = [
            daemon.watched(each) for each in (watch(), daemon.listen(listening), daemon.beat())
        ]
        was_busy = False
        try:
            await daemon.run()
        finally:
            was_busy = daemon.is_busy
            await daemon.close()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
    return was_busy


def main() -> None:
    """Serve; then take along whatever a killed command may have left behind."""
    was_busy = True
    try:
        was_busy = asyncio.run(serve())
    except (psycopg.Error, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(1) from error
    finally:
        if was_busy and os.getpgrp() == os.getpid():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main()
