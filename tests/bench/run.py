"""Compares pgdispatch with the bare floor and with peers, in turn: `python -m tests.bench`.

Each row is measured on a database of its own, the floor, pgdispatch and the installed peers
alternating, in several rounds. What was done is counted in the database after each
measurement. `--smoke` does all of it once with a few runs, for the counts alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import multiprocessing
import platform
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from rich.console import Console

from pgdispatch.embedded import EmbeddedServer, wheel_bindir
from tests.bench import churn, peers, tasks, wire
from tests.bench.growth import Growth
from tests.bench.rows import Row, peers_table, table
from tests.bench.server import FULL, SETTINGS, SMOKE, Bench, Sizes
from tests.support.servers import DEBIAN_15

GROUPS = ("enqueue", "drain", "batch", "latency", "cost", "preview", "growth", "churn")


@dataclass(frozen=True)
class Task:
    """What fills some rows, in each round or, where it makes its own rounds, in the first."""

    group: str
    rows: list[Row]
    measure: Callable[[], object]
    is_single: bool = False


class Plan:
    """All that is measured, in its order."""

    def __init__(self, bench: Bench, groups: Iterable[str], *, has_peers: bool) -> None:
        self._bench = bench
        self._sizes = bench.sizes
        self._peers = peers.Peers(bench) if has_peers else None
        self.tasks: list[Task] = []
        #: The rows that the peers have too.
        self.shared: list[Row] = []
        self._enqueue()
        self._drain()
        self._batch()
        self._latency()
        self._cost()
        self._growth()
        self.tasks = [task for task in self.tasks if task.group in groups]
        chosen = {id(row) for task in self.tasks for row in task.rows}
        self.shared = [row for row in self.shared if id(row) in chosen]

    @property
    def rows(self) -> list[Row]:
        """Every row, in its order."""
        return [row for task in self.tasks for row in task.rows]

    def measure(self, console: Console) -> None:
        """Measure every row, round after round; an interruption keeps what there is."""
        try:
            for number in range(1, self._sizes.rounds + 1):
                for task in self.tasks:
                    if number > 1 and task.is_single:
                        continue
                    console.print(f"round {number}: {task.rows[0].name}", style="dim")
                    task.measure()
        except KeyboardInterrupt:
            console.print("interrupted", style="dim")

    def _add(
        self,
        group: str,
        name: str,
        goal: str,
        measure: Callable[[Row], object],
        beside: Callable[[peers.Peers, Row], None] | None = None,
        unit: str = "/s",
    ) -> None:
        row = Row(name, goal, unit)

        def run() -> None:
            measure(row)
            if beside is not None and self._peers is not None:
                beside(self._peers, row)

        self.tasks.append(Task(group, [row], run))
        if beside is not None:
            self.shared.append(row)

    def _enqueue(self) -> None:
        bench, sizes = self._bench, self._sizes
        self._add(
            "enqueue",
            "enqueue one by one",
            "0.85 F, first 0.7",
            lambda row: tasks.enqueue(bench, row, sizes.single, is_bulk=False),
            lambda them, row: them.enqueue(row, sizes.single),
        )
        self._add(
            "enqueue",
            "enqueue in bulk of 1,000",
            "0.4 F, first 10,000 of 60,000",
            lambda row: tasks.enqueue(bench, row, sizes.bulk, is_bulk=True),
            lambda them, row: them.enqueue(row, sizes.bulk, 1000),
        )
        self._add(
            "enqueue",
            "assignment that starts a run",
            "0.6 F insert, first 0.4",
            lambda row: tasks.assign(bench, row, sizes.single),
        )

    def _drain(self) -> None:
        bench, sizes, world = self._bench, self._sizes, self._bench.world
        for processes, many, goals in (
            (1, sizes.single, ("1.3 F, first 1.0", "0.6 F, first 0.5")),
            (sizes.processes, 2 * sizes.single, ("", "1.0 F, first 0.7")),
        ):
            for label, own, goal in (
                ("complete + claim(p_start)", tasks.in_one(world, 1), goals[0]),
                ("claim, start, complete", tasks.by_steps(world, 1), goals[1]),
            ):
                self._add(
                    "drain",
                    f"{label}, one by one, {processes} conn.",
                    goal,
                    tasks.drains(bench, many, tasks.on_floor(1), own, processes),
                )
        self._add(
            "drain",
            "whole worker, one job at once",
            "every peer",
            lambda row: tasks.work(bench, row, sizes.single, 1),
            lambda them, row: them.drain(row, sizes.single, 1),
        )

    def _batch(self) -> None:
        bench, sizes, world = self._bench, self._sizes, self._bench.world
        for size in sizes.batches:
            for label, own in (
                ("p_start", tasks.in_one(world, size)),
                ("start_runs", tasks.in_one(world, size, start=False)),
            ):
                goal = "0.72 F, first 0.45" if (size, label) == (50, "p_start") else ""
                self._add(
                    "batch",
                    f"batches of {size}, {label}",
                    goal,
                    tasks.drains(bench, sizes.batch, tasks.on_floor(size), own),
                )
        self._add(
            "batch",
            f"batches of 50, p_start, {sizes.processes} conn.",
            "0.5 F, first 0.3",
            tasks.drains(
                bench,
                2 * sizes.batch,
                tasks.on_floor(50),
                tasks.in_one(world, 50),
                sizes.processes,
            ),
        )
        self._add(
            "batch",
            "whole worker, 50 jobs at once",
            "pgqueuer",
            lambda row: tasks.work(bench, row, sizes.batch, 50),
            # Some of them do a tenth of it in the same time.
            lambda them, row: them.drain(row, max(200, sizes.batch // 5), 50),
        )

    def _latency(self) -> None:
        bench, sizes = self._bench, self._sizes
        rows = [Row("idle pickup p50", "1.3 F, first 2 F", "ms")]
        rows.append(Row("idle pickup p99", "15 ms (F 11)", "ms"))
        self.tasks.append(
            Task("latency", rows, lambda: tasks.pick_up(bench, rows, sizes.pickups))
        )

    def _cost(self) -> None:
        bench, sizes = self._bench, self._sizes
        weights = {
            "WAL bytes": Row("WAL of a whole life", "2,500 B, first 3,500", "B"),
            "buffers": Row("buffers of a whole life", "", ""),
            "commits": Row("commits of a whole life", "", ""),
            "fsyncs": Row("WAL fsyncs of a whole life", "", ""),
        }
        few = min(sizes.single, 500)
        self.tasks.append(
            Task("cost", list(weights.values()), lambda: tasks.cost(bench, weights, few))
        )
        # As many as make whole batches, of the wakes and of the claims.
        many = 1000 if sizes.is_timed else 100
        for size, name, goal in ((1, "one by one", "2"), (50, "batches of 50", "0.05")):
            self._add(
                "cost",
                f"round trips of a whole life, {name}",
                goal,
                functools.partial(wire.measure, bench, count=many, size=size),
                unit="",
            )
        self._add(
            "cost",
            "memory of a worker with 50 jobs in hand",
            "80 MiB",
            lambda row: tasks.memory(bench, row, 50),
            unit="MiB",
        )
        self._add(
            "preview",
            f"preview of {sizes.previews} issues in one call",
            "50 ms",
            lambda row: tasks.preview(bench, row, sizes.previews),
            unit="ms",
        )

    def _growth(self) -> None:
        bench, sizes = self._bench, self._sizes
        for what, found in (("queued", sizes.queued), ("history", sizes.history)):
            growth = Growth(bench, what, found, min(sizes.single, 300))
            self.tasks.append(Task("growth", growth.rows, growth.measure, is_single=True))
        rows = churn.rows_for(bench)
        self.tasks.append(Task("churn", rows, lambda: churn.measure(bench, rows)))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few runs, for the counts alone")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="SHARE", help="do only a share of the work"
    )
    parser.add_argument("--rounds", type=int, default=FULL.rounds, help="how often")
    parser.add_argument("--server", choices=("pg15", "pg18"), help="pg15 if it is there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    parser.add_argument(
        "--only",
        action="append",
        choices=GROUPS,
        metavar="GROUP",
        help=f"measure these rows alone: {', '.join(GROUPS)} (may be repeated)",
    )
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument(
        "--history",
        type=int,
        metavar="ROWS",
        help="grow to that many ended runs too, for instance 10000000",
    )
    return parser.parse_args()


def sizes_of(given: argparse.Namespace) -> Sizes:
    """Tell how much is to be done."""
    if given.smoke:
        return SMOKE
    sizes = FULL.scaled(given.scale, given.rounds)
    if given.history is not None:
        sizes = dataclasses.replace(sizes, history=(*sizes.history, given.history))
    return sizes


def main() -> None:
    """Start a server, measure, print the tables and write the figures."""
    given = arguments()
    has_15 = (DEBIAN_15 / "postgres").exists()
    name = given.server or ("pg15" if has_15 else "pg18")
    bindir = DEBIAN_15 if name == "pg15" else wheel_bindir()
    console = Console(stderr=True, quiet=given.smoke, highlight=False)
    began = time.monotonic()
    with EmbeddedServer(bindir=bindir, durable=not given.smoke, settings=SETTINGS) as server:
        bench = Bench(server, sizes_of(given))
        plan = Plan(bench, given.only or GROUPS, has_peers=not given.no_peers)
        plan.measure(console)
        version = bench.version
    seconds = time.monotonic() - began
    document = {
        "server": version,
        "settings": SETTINGS,
        "machine": platform.platform(),
        "processors": multiprocessing.cpu_count(),
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "rounds": bench.sizes.rounds,
        "seconds": round(seconds, 1),
        "peers": peers.installed(),
        "absent": peers.absent(),
        "rows": [row.document() for row in plan.rows],
    }
    if given.json is not None:
        given.json.write_text(json.dumps(document, indent=2) + "\n")
    if given.smoke:
        said = f"every count right in {seconds:.0f} s, {peers_text()}"
        sys.stdout.write(f"bench: {len(plan.rows)} rows, PostgreSQL {version}: {said}\n")
        return
    out = Console(width=150)
    out.print(
        f"PostgreSQL {version}, {bench.sizes.rounds} rounds, {seconds:.0f} s,"
        f" {document['processors']} processors",
        highlight=False,
    )
    out.print(table(plan.rows))
    if plan.shared and not given.no_peers:
        out.print(f"\n{peers_text()}", highlight=False)
        out.print(peers_table(plan.shared))


def peers_text() -> str:
    """Say which peers were there and which were not."""
    words = [f"{name} {version}" for name, version in peers.installed().items()]
    words += [f"{name} absent" for name in peers.absent()]
    return f"peers: {', '.join(words)}"
