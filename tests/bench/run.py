"""Compares pgdispatch with the bare floor on one server, in turn: `python -m tests.bench`.

Each row is measured on a database of its own, the floor and pgdispatch alternating, in several
rounds. What was done is counted in the database after each measurement. `--smoke` does all of
it once with a few runs, for the counts alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import multiprocessing
import platform
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from pgdispatch import Dispatch, Worker, schema
from pgdispatch.embedded import EmbeddedServer, wheel_bindir
from pgdispatch.types import ClaimedRun
from tests.bench import floor, ours
from tests.bench.floor import Connection
from tests.bench.ours import World
from tests.support.servers import DEBIAN_15

PAYLOAD = {"text": "x" * 88}
PAYLOAD_TEXT = json.dumps(PAYLOAD)
TEMPLATE = "bench_template"
PATIENCE = 600.0

SETTINGS = {
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "max_connections": "50",
}

Drain = Callable[[Connection, Callable[[int], None]], None]


@dataclass(frozen=True)
class Sizes:
    """How much is done in one measurement."""

    single: int
    bulk: int
    batch: int
    pickups: int
    batches: tuple[int, ...]
    processes: int
    rounds: int

    def scaled(self, share: float, rounds: int) -> Sizes:
        """Give the same in smaller, for a machine or a moment that is short of time."""
        return dataclasses.replace(
            self,
            rounds=rounds,
            single=max(1, round(self.single * share)),
            bulk=max(1000, round(self.bulk * share)),
            batch=max(200, round(self.batch * share)),
            pickups=max(1, round(self.pickups * share)),
        )


FULL = Sizes(
    single=1000,
    bulk=10_000,
    batch=10_000,
    pickups=200,
    batches=(10, 50, 200),
    processes=4,
    rounds=3,
)
SMOKE = Sizes(single=16, bulk=1000, batch=200, pickups=3, batches=(50,), processes=2, rounds=1)


@dataclass
class Row:
    """One line of the table: rates per second, or other figures where the unit says so."""

    name: str
    goal: str
    unit: str = "/s"
    floor: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """What pgdispatch reaches where the floor reaches 1."""
        if not self.floor or not self.ours or not any(self.floor):
            return None
        return statistics.median(self.ours) / statistics.median(self.floor)


class Bench:
    """The server and its template."""

    def __init__(self, server: EmbeddedServer, sizes: Sizes) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self.sizes = sizes
        with self._admin() as conn:
            conn.execute(f"create database {TEMPLATE}")
            self.version = conn.info.parameter_status("server_version") or ""
        schema.migrate(server.dsn(TEMPLATE))
        with psycopg.connect(server.dsn(TEMPLATE), autocommit=True) as conn:
            conn.execute(floor.SCHEMA)
            self.world = ours.make_world(conn)

    @contextmanager
    def database(
        self, fill: Callable[[Connection], Any] | None = None
    ) -> Iterator[tuple[str, Connection]]:
        """Give a fresh database with what is to be done in it, and a connection."""
        name = f"bench_{next(self._numbers)}"
        with self._admin() as admin:
            admin.execute(f"create database {name} template {TEMPLATE}".encode())
        dsn = self._server.dsn(name)
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                Dispatch(conn).heartbeat(self.world.workspace, [self.world.runtime])
                if fill is not None:
                    fill(conn)
                if self.sizes.processes == FULL.processes:
                    conn.execute("vacuum analyze")
                    conn.execute("checkpoint")
                yield dsn, conn
        finally:
            with self._admin() as admin:
                admin.execute(f"drop database {name} with (force)".encode())

    @contextmanager
    def without_page_images(self) -> Iterator[None]:
        """Keep images of whole pages out of the WAL while it is weighed."""
        with self._admin() as admin:
            admin.execute("alter system set full_page_writes = off")
            admin.execute("select pg_reload_conf()")
        try:
            yield
        finally:
            with self._admin() as admin:
                admin.execute("alter system reset full_page_writes")
                admin.execute("select pg_reload_conf()")

    @contextmanager
    def _admin(self) -> Iterator[Connection]:
        with psycopg.connect(self._server.dsn("postgres"), autocommit=True) as conn:
            yield conn


def rate(count: int, task: Callable[[], object]) -> float:
    """Time a task, and give how many it did a second."""
    began = time.perf_counter()
    task()
    return count / (time.perf_counter() - began)


def enqueue(bench: Bench, row: Row, count: int, *, is_bulk: bool) -> None:
    """Measure one round of enqueueing."""
    with bench.database() as (_, conn):
        put = floor.put_in_bulk if is_bulk else floor.put_one_by_one
        row.floor.append(rate(count, lambda: put(conn, count, PAYLOAD_TEXT)))
        assert waiting(conn, "public.job", "0") == count
    with bench.database() as (_, conn):
        ask = ours.put_in_bulk if is_bulk else ours.put_one_by_one
        row.ours.append(rate(count, lambda: ask(conn, bench.world, count, PAYLOAD)))
        assert waiting(conn, "dispatch.run", "'queued'") == count


def assign(bench: Bench, row: Row, count: int) -> None:
    """Measure one round of assignments, each of which starts a run."""
    with bench.database() as (_, conn):
        row.floor.append(rate(count, lambda: floor.put_one_by_one(conn, count, PAYLOAD_TEXT)))
    with bench.database() as (_, conn):
        issues = ours.make_issues(conn, bench.world, count)
        row.ours.append(rate(count, lambda: ours.assign(conn, bench.world, issues)))
        assert waiting(conn, "dispatch.run", "'queued'") == count


def waiting(conn: Connection, table: str, status: str) -> int:
    """Count the rows of a table that have a status."""
    query = f"select count(*) from {table} as t where t.status = {status}"
    found = conn.execute(query.encode()).fetchone()
    assert found is not None
    return int(found[0])


def drain(
    bench: Bench, row: Row, count: int, base: Drain, own: Drain, *, processes: int = 1
) -> None:
    """Measure one round of doing what waits."""
    fill = functools.partial(floor.load, count=count, payload=PAYLOAD_TEXT)
    with bench.database(fill) as (dsn, conn):
        row.floor.append(drained(dsn, conn, count, base, processes))
        assert floor.completed(conn) == count
    with bench.database(lambda conn: ours.put_in_bulk(conn, bench.world, count, PAYLOAD)) as (
        dsn,
        conn,
    ):
        row.ours.append(drained(dsn, conn, count, own, processes))
        assert ours.completed(conn, bench.world) == count


def drains(
    bench: Bench, count: int, base: Drain, own: Drain, processes: int = 1
) -> Callable[[Row], None]:
    """Make the measurement of one row."""
    return lambda row: drain(bench, row, count, base, own, processes=processes)


def drained(dsn: str, conn: Connection, count: int, task: Drain, processes: int) -> float:
    """Drain in this process or in several, and give the rate."""
    if processes == 1:
        counted: list[int] = []
        reached = rate(count, lambda: task(conn, counted.append))
        assert sum(counted) == count
        return reached
    context = multiprocessing.get_context("spawn")
    barrier, left = context.Barrier(processes), context.Value("q", count)
    times = context.SimpleQueue()
    members = [
        context.Process(target=drain_as_member, args=(dsn, task, barrier, left, times))
        for _ in range(processes)
    ]
    for member in members:
        member.start()
    for member in members:
        member.join(PATIENCE)
        assert member.exitcode == 0
    spans: list[tuple[float, float]] = [times.get() for _ in members]
    return count / (max(end for _, end in spans) - min(begin for begin, _ in spans))


def drain_as_member(dsn: str, task: Drain, barrier: Any, left: Any, times: Any) -> None:
    """Drain beside others until all is done: what one finds empty another may still hold."""

    def done(count: int) -> None:
        with left.get_lock():
            left.value -= count

    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("select")
        barrier.wait(PATIENCE)
        began = time.perf_counter()
        ended = began
        while left.value > 0:
            task(conn, done)
            ended = time.perf_counter()
        times.put((began, ended))


def work(bench: Bench, row: Row, count: int, jobs: int) -> None:
    """Measure a whole worker with a handler that does nothing."""
    with bench.database(lambda conn: ours.put_in_bulk(conn, bench.world, count, PAYLOAD)) as (
        dsn,
        conn,
    ):
        numbers = itertools.count(1)

        def handler(_: ClaimedRun) -> None:
            if next(numbers) == count:
                worker.stop()

        world = bench.world
        worker = Worker(dsn, world.workspace, [world.runtime], handler, concurrency=jobs)
        row.ours.append(rate(count, worker.run))
        assert ours.completed(conn, world) == count


def pick_up(bench: Bench, rows: Sequence[Row], count: int) -> None:
    """Measure how long an idle listener takes from the call that enqueues to the job."""
    for is_ours, measure in ((False, floor_pickups), (True, our_pickups)):
        with bench.database() as (dsn, conn):
            taken = sorted(measure(bench, dsn, conn, count))
            for each, share in zip(rows, (0.5, 0.99), strict=True):
                value = 1000 * taken[min(int(share * len(taken)), len(taken) - 1)]
                (each.ours if is_ours else each.floor).append(value)


def floor_pickups(_: Bench, dsn: str, conn: Connection, count: int) -> list[float]:
    """Give the seconds that a hand-written listener takes for each job."""
    ready, picked = threading.Event(), threading.Semaphore(0)
    times: list[float] = []

    def listen() -> None:
        with psycopg.connect(dsn, autocommit=True) as listener:
            listener.execute("listen job")
            ready.set()
            while len(times) < count:
                for _notice in listener.notifies(timeout=1.0, stop_after=1):
                    pass
                for job in listener.execute(floor.TAKE, [1]).fetchall():
                    times.append(time.perf_counter() - float(job[1]["at"]))
                    listener.execute(floor.END, [[job[0]]])
                    picked.release()

    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(PATIENCE)
    for _number in range(count):
        payload = json.dumps({"at": time.perf_counter()})
        with conn.pipeline(), conn.transaction():
            conn.execute(floor.PUT, [payload])
            conn.execute("select pg_notify('job', '')")
        assert picked.acquire(timeout=PATIENCE)
    thread.join(PATIENCE)
    assert floor.completed(conn) == count
    return times


def our_pickups(bench: Bench, dsn: str, conn: Connection, count: int) -> list[float]:
    """Give the seconds that an idle worker takes for each run."""
    picked = threading.Semaphore(0)
    times: list[float] = []

    def handler(run: ClaimedRun) -> None:
        times.append(time.perf_counter() - float(run.payload["at"]))
        picked.release()

    world = bench.world
    worker = Worker(dsn, world.workspace, [world.runtime], handler, poll_interval=PATIENCE)
    thread = threading.Thread(target=worker.run)
    thread.start()
    dispatch = Dispatch(conn)
    # The first is not counted: it may be found by the look that follows the subscription.
    for number in range(count + 1):
        if number == 1:
            times.clear()
        dispatch.queue_wake(
            world.workspace,
            world.agents[0],
            "bench",
            {"at": time.perf_counter()},
            chat_session_id=uuid.uuid4(),
        )
        assert picked.acquire(timeout=PATIENCE)
    worker.stop()
    thread.join(PATIENCE)
    assert ours.completed(conn, world) == count + 1
    return times


def cost(bench: Bench, rows: dict[str, Row], count: int) -> None:
    """Weigh the whole life of a run: enqueued, claimed, started, completed one by one."""
    with bench.without_page_images():
        for is_ours in (False, True):
            with bench.database() as (_, conn):
                before = counters(conn)
                if is_ours:
                    ours.put_one_by_one(conn, bench.world, count, PAYLOAD)
                    ours.drain_by_steps(conn, bench.world, 1, lambda _: None)
                    assert ours.completed(conn, bench.world) == count
                else:
                    floor.put_one_by_one(conn, count, PAYLOAD_TEXT)
                    floor.drain(conn, 1, lambda _: None)
                    assert floor.completed(conn) == count
                after = counters(conn)
                for name, row in rows.items():
                    value = (after[name] - before[name]) / count
                    (row.ours if is_ours else row.floor).append(value)


def counters(conn: Connection) -> dict[str, float]:
    """Read what the server has written and touched so far."""
    conn.execute("select pg_stat_force_next_flush()")
    conn.execute("select pg_stat_clear_snapshot()")
    fsyncs = (
        "select w.wal_sync from pg_stat_wal as w"
        if conn.info.server_version < 180000
        else "select sum(i.fsyncs) from pg_stat_io as i where i.object = 'wal'"
    )
    query = f"""
        select
            pg_current_wal_insert_lsn() - '0/0'::pg_lsn,
            d.blks_hit + d.blks_read,
            d.xact_commit,
            ({fsyncs})
        from pg_stat_database as d
        where d.datname = current_database()
    """
    found = conn.execute(query.encode()).fetchone()
    assert found is not None
    names = ("WAL bytes", "buffers", "commits", "fsyncs")
    return {name: float(value or 0) for name, value in zip(names, found, strict=True)}


def by_steps(world: World, size: int) -> Drain:
    """Make a drain that claims, starts and completes in three transactions."""
    return functools.partial(_by_steps, world, size)


def _by_steps(world: World, size: int, conn: Connection, done: Callable[[int], None]) -> None:
    ours.drain_by_steps(conn, world, size, done)


def in_one(world: World, size: int, *, start: bool = True) -> Drain:
    """Make a drain that completes and claims in one transaction."""
    return functools.partial(_in_one, world, size, start)


def _in_one(
    world: World, size: int, start: bool, conn: Connection, done: Callable[[int], None]
) -> None:
    ours.drain_together(conn, world, size, done, start=start)


def on_floor(size: int) -> Drain:
    """Make a drain of the floor."""
    return functools.partial(_on_floor, size)


def _on_floor(size: int, conn: Connection, done: Callable[[int], None]) -> None:
    floor.drain(conn, size, done)


def measure(bench: Bench, console: Console) -> list[Row]:
    """Measure every row, round after round."""
    sizes, world = bench.sizes, bench.world
    plan: list[tuple[list[Row], Callable[[], None]]] = []

    def add(name: str, goal: str, task: Callable[[Row], None], unit: str = "/s") -> None:
        row = Row(name, goal, unit)
        plan.append(([row], functools.partial(task, row)))

    add(
        "enqueue one by one",
        "0.85 F, first 0.7",
        lambda row: enqueue(bench, row, sizes.single, is_bulk=False),
    )
    add(
        "enqueue in bulk of 1,000",
        "0.4 F",
        lambda row: enqueue(bench, row, sizes.bulk, is_bulk=True),
    )
    add(
        "assignment that starts a run",
        "0.6 F insert, first 0.4",
        lambda row: assign(bench, row, sizes.single),
    )
    for processes, many, goals in (
        (1, sizes.single, ("1.3 F, first 1.0", "0.6 F, first 0.5")),
        (sizes.processes, 2 * sizes.single, ("", "1.0 F, first 0.7")),
    ):
        for label, own, goal in (
            ("complete + claim(p_start)", in_one(world, 1), goals[0]),
            ("claim, start, complete", by_steps(world, 1), goals[1]),
        ):
            add(
                f"{label}, one by one, {processes} conn.",
                goal,
                drains(bench, many, on_floor(1), own, processes),
            )
    for size in sizes.batches:
        for label, own in (
            ("p_start", in_one(world, size)),
            ("start_runs", in_one(world, size, start=False)),
        ):
            goal = "0.72 F, first 0.45" if (size, label) == (50, "p_start") else ""
            add(
                f"batches of {size}, {label}",
                goal,
                drains(bench, sizes.batch, on_floor(size), own),
            )
    add(
        f"batches of 50, p_start, {sizes.processes} conn.",
        "0.5 F, first 0.3",
        drains(bench, 2 * sizes.batch, on_floor(50), in_one(world, 50), sizes.processes),
    )
    add("whole Worker, 50 jobs at once", "", lambda row: work(bench, row, sizes.batch, 50))
    pickups = [Row("idle pickup p50", "1.3 F", "ms"), Row("idle pickup p99", "15 ms", "ms")]
    plan.append((pickups, lambda: pick_up(bench, pickups, sizes.pickups)))
    weights = {
        "WAL bytes": Row("WAL of a whole life", "2,500 B, first 3,500", "B"),
        "buffers": Row("buffers of a whole life", "", "pages"),
        "commits": Row("commits of a whole life", "", ""),
        "fsyncs": Row("WAL fsyncs of a whole life", "", ""),
    }
    plan.append((list(weights.values()), lambda: cost(bench, weights, min(sizes.single, 500))))
    try:
        for round_no in range(1, sizes.rounds + 1):
            for rows, task in plan:
                console.print(f"round {round_no}: {rows[0].name}", style="dim")
                task()
    except KeyboardInterrupt:
        # What was measured until then is worth showing.
        console.print("interrupted", style="dim")
    return [row for rows, _ in plan for row in rows]


def table(rows: Sequence[Row]) -> Table:
    """Show the medians, their spread, and the ratios."""
    found = Table(box=None, pad_edge=False)
    found.add_column("row", no_wrap=True)
    for column in ("floor F", "spread", "pgdispatch", "spread", "ratio"):
        found.add_column(column, justify="right", no_wrap=True)
    found.add_column("goal", no_wrap=True)
    for row in rows:
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        found.add_row(
            row.name, *_shown(row, row.floor), *_shown(row, row.ours), ratio, row.goal
        )
    return found


def _shown(row: Row, values: Sequence[float]) -> tuple[str, str]:
    if not values:
        return "-", ""
    middle = statistics.median(values)
    spread = 100 * (max(values) - min(values)) / middle if middle else 0.0
    digits = 0 if middle >= 100 else 1
    return f"{middle:,.{digits}f} {row.unit}", f"{spread:.0f} %"


def main() -> None:
    """Start a server, measure, print the table and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few runs, for the counts alone")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="SHARE", help="do only a share of the work"
    )
    parser.add_argument("--rounds", type=int, default=FULL.rounds, help="how often")
    parser.add_argument("--server", choices=("pg15", "pg18"), help="pg15 if it is there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    has_15 = (DEBIAN_15 / "postgres").exists()
    name = given.server or ("pg15" if has_15 else "pg18")
    bindir = DEBIAN_15 if name == "pg15" else wheel_bindir()
    console = Console(stderr=True, quiet=given.smoke, highlight=False)
    began = time.monotonic()
    with EmbeddedServer(bindir=bindir, durable=not given.smoke, settings=SETTINGS) as server:
        bench = Bench(server, SMOKE if given.smoke else FULL.scaled(given.scale, given.rounds))
        rows = measure(bench, console)
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
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
    }
    if given.json is not None:
        given.json.write_text(json.dumps(document, indent=2) + "\n")
    if given.smoke:
        sys.stdout.write(f"bench: {len(rows)} rows counted on PostgreSQL {version}\n")
        return
    out = Console(width=130)
    out.print(
        f"PostgreSQL {version}, {bench.sizes.rounds} rounds, {seconds:.0f} s", highlight=False
    )
    out.print(table(rows))
