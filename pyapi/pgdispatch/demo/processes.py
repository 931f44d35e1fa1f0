"""The daemons' processes, as the process that starts them sees them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import IO, Any, Self

from pgdispatch.demo.daemon import Config

STOP_SECONDS = 10.0
LAST_WORDS_SECONDS = 0.1
READ_BYTES = 1 << 16

Event = dict[str, Any]


class DaemonFailed(RuntimeError):
    """A daemon ended before it was asked to; the message says what it said last."""


class DaemonProcess:
    """One daemon: a process that leads a session of its own, to which its commands belong."""

    def __init__(self, name: str, config: Config) -> None:
        self.name = name
        self.is_ready = False
        self.recovered = 0
        self.executed: list[Event] = []
        self._line = b""
        self._said = b""
        self._process = subprocess.Popen(
            # -P: the folder in which the demonstration is called holds no code of ours.
            [sys.executable, "-P", "-m", "pgdispatch.demo.daemon"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with contextlib.suppress(BrokenPipeError):
            self._pipe(self._process.stdin).write(config.line())
            self._pipe(self._process.stdin).flush()

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._process.pid

    @property
    def outputs(self) -> dict[IO[bytes], Callable[[bytes], None]]:
        """The pipes to read from, and who takes what comes."""
        return {
            self._pipe(self._process.stdout): self._hear,
            self._pipe(self._process.stderr): self._overhear,
        }

    @property
    def ending(self) -> str | None:
        """How the process ended, if it did; its number is not given up by that."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        found = os.waitid(os.P_PID, self.pid, options)
        if found is None:
            return None
        lines = self._said.decode(errors="replace").strip().splitlines()
        word = "exit code" if found.si_code == os.CLD_EXITED else "signal"
        return f"{word} {found.si_status}" + (f", {lines[-1]}" if lines else "")

    def ask_to_stop(self) -> None:
        """Close its standard input."""
        with contextlib.suppress(BrokenPipeError):
            self._pipe(self._process.stdin).close()

    def kill(self) -> None:
        """Kill the process alone, as a crash does."""
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill what is left of it, its commands included.

        While the process is not waited for, its number, which is its session's too, belongs
        to nobody else.
        """
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(BrokenPipeError):
                self._pipe(pipe).close()

    def _hear(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            event: Event = json.loads(line)
            if "ready" in event:
                self.is_ready = True
                self.recovered = event["recovered"]
            else:
                self.executed.append(event)

    def _overhear(self, data: bytes) -> None:
        self._said = (self._said + data)[-READ_BYTES:]

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # noqa: S101
        return pipe


class Daemons:
    """All daemons together: listens to them, and ends them with the block."""

    def __init__(self, configs: Iterable[tuple[str, Config]]) -> None:
        self._configs = list(configs)
        self._members: list[DaemonProcess] = []
        self._gone: list[DaemonProcess] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        """Start them."""
        try:
            for name, config in self._configs:
                self._start(name, config)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End them, whatever they do."""
        self._end()

    @property
    def names(self) -> list[str]:
        """Their names and process ids, for people."""
        return [f"{member.name} (process {member.pid})" for member in self._members]

    @property
    def are_ready(self) -> bool:
        """Whether all are about to claim."""
        return all(member.is_ready for member in self._members)

    @property
    def executed(self) -> list[Event]:
        """Every execution of a command so far."""
        return [event for each in (*self._gone, *self._members) for event in each.executed]

    @property
    def recovered(self) -> int:
        """How many runs a process found in hand that was started after a crash."""
        return sum(member.recovered for member in self._members)

    def crash(self, name: str) -> int:
        """Kill a daemon's process, and then its commands, as a supervisor would; tell which."""
        (member,) = (each for each in self._members if each.name == name)
        member.kill()
        self._members.remove(member)
        self._gone.append(member)
        self._take(time.monotonic() + LAST_WORDS_SECONDS)
        for pipe in member.outputs:
            with contextlib.suppress(KeyError):
                self._selector.unregister(pipe)
        member.end()
        return member.pid

    def restart(self, name: str) -> int:
        """Start a process in the place of one that crashed; tell which."""
        config = dict(self._configs)[name]
        return self._start(name, dataclasses.replace(config, recovers=True)).pid

    def listen(self, seconds: float) -> None:
        """Take what they say for a while; raise DaemonFailed if one is gone."""
        self._take(time.monotonic() + seconds)
        for member in self._members:
            if member.ending is not None:
                self._take(time.monotonic() + LAST_WORDS_SECONDS)
                raise DaemonFailed(f"daemon {member.name} has ended: {member.ending}")

    def stop(self) -> None:
        """Ask them to stop and wait until they have, so that all they say is heard."""
        for member in self._members:
            member.ask_to_stop()
        self._take(time.monotonic() + STOP_SECONDS)

    def _start(self, name: str, config: Config) -> DaemonProcess:
        member = DaemonProcess(name, config)
        self._members.append(member)
        for pipe, taker in member.outputs.items():
            self._selector.register(pipe, selectors.EVENT_READ, taker)
        return member

    def _take(self, until: float) -> None:
        """Read until the time is up or nobody is left to read from."""
        while (left := until - time.monotonic()) > 0 and self._selector.get_map():
            for key, _ in self._selector.select(left):
                data = os.read(key.fd, READ_BYTES)
                if data:
                    key.data(data)
                else:
                    self._selector.unregister(key.fileobj)

    def _end(self) -> None:
        try:
            self.stop()
        finally:
            for member in self._members:
                member.end()
            self._selector.close()
