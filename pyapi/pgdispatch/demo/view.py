"""What the demonstration shows: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pgdispatch.demo.checks import AgentFigures, Check
from pgdispatch.demo.processes import Event
from pgdispatch.demo.world import World
from pgdispatch.types import QueueDepth, RunStatus

LATEST = 6
LINE_SECONDS = 2.0
BAR_WIDTH = 40


class Progress:
    """The picture while the work is done."""

    def __init__(self, console: Console, world: World, total: int) -> None:
        self._console = console
        self._world = world
        self._total = total
        self._began = time.monotonic()
        self._latest: deque[str] = deque(maxlen=LATEST)
        self._next_line = 0.0
        self._names = {agent.id: agent.name for agent in world.agents}
        self._depths: Mapping[tuple[str, RunStatus], int] = {}
        self._asked = self._done = self._failed = 0
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the picture away."""
        if self._live is not None:
            self._live.stop()
        elif exc is None:
            self._print_line()

    def note(self, lines: Iterable[str]) -> None:
        """Remember lines, of which the latest are shown."""
        self._latest.extend(lines)

    def tell(self, line: str) -> None:
        """Show a line that nobody may miss."""
        if self._live is None:
            self._console.print(Text(f"          {line}"), soft_wrap=True)
        else:
            self._live.console.print(Text(line, style="bold"), soft_wrap=True)

    def show(self, asked: int, depths: Iterable[QueueDepth], executed: Sequence[Event]) -> None:
        """Show how far the work is."""
        self._asked = asked
        self._depths = {
            (self._names[depth.agent_id], depth.status): depth.runs
            for depth in depths
            if depth.agent_id in self._names
        }
        self._failed = sum(event["exit_code"] != 0 for event in executed)
        self._done = len(executed)
        if self._live is not None:
            self._live.update(self._picture(), refresh=True)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_SECONDS
            self._print_line()

    @property
    def _rate(self) -> float:
        return self._done / max(time.monotonic() - self._began, 0.001)

    def _at_work(self, agent: str) -> int:
        return sum(
            self._depths.get((agent, status), 0)
            for status in (RunStatus.DISPATCHED, RunStatus.RUNNING)
        )

    def _waiting(self, agent: str) -> int:
        return self._depths.get((agent, RunStatus.QUEUED), 0)

    def _print_line(self) -> None:
        agents = ", ".join(
            f"{name} {self._waiting(name)}+{self._at_work(name)}"
            for name in self._names.values()
        )
        self._console.print(
            f"{time.monotonic() - self._began:6.1f} s  {self._asked} of {self._total} assigned,"
            f" {self._done} done, {self._failed} failed, {self._rate:.0f} runs/s;"
            f" queued+active: {agents}",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )

    def _picture(self) -> RenderableType:
        table = Table(box=None, pad_edge=False)
        for column in ("agent", "daemon"):
            table.add_column(column)
        for column in ("capacity", "queued", "active"):
            table.add_column(column, justify="right")
        table.add_column("")
        for agent in self._world.agents:
            active = self._at_work(agent.name)
            table.add_row(
                agent.name,
                agent.runtime.daemon,
                str(agent.capacity),
                str(self._waiting(agent.name)),
                str(active),
                Text("#" * active, style="green"),
            )
        counts = Text.assemble(
            f"{self._done} of {self._total} done, ",
            (f"{self._failed} failed", "red" if self._failed else ""),
            f", {self._asked} assigned, {self._rate:.0f} runs/s",
        )
        bar = ProgressBar(total=max(self._total, 1), completed=self._done, width=BAR_WIDTH)
        progress = Table.grid(padding=(0, 1))
        progress.add_row(bar, counts)
        latest = (
            Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in self._latest
        )
        return Group(table, progress, *latest)


def agents_table(world: World, rows: Iterable[AgentFigures]) -> Table:
    """Give the figures of each agent."""
    table = Table(box=None, pad_edge=False)
    table.add_column("agent", no_wrap=True)
    for column in ("most at once", "runs", "failed", "wait p50", "p99", "run p50", "p99"):
        table.add_column(column, justify="right", no_wrap=True)
    by_agent = {row.agent_id: row for row in rows}
    for agent in world.agents:
        row = by_agent.get(agent.id)
        if row is None:
            table.add_row(agent.name, f"0 of {agent.capacity}", "0", "0", *["-"] * 4)
            continue
        table.add_row(
            agent.name,
            f"{row.most_at_once} of {agent.capacity}",
            str(row.runs),
            str(row.failed),
            *map(duration, (row.wait_p50, row.wait_p99, row.run_p50, row.run_p99)),
        )
    return table


def check_line(check: Check) -> Text:
    """Say whether a promise was kept."""
    word = Text("holds ", style="green") if check.holds else Text("BROKEN", style="bold red")
    return Text.assemble("  ", word, f"  {check.promise}: {check.found}")


def duration(seconds: float | None) -> str:
    """Write a duration for people."""
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
