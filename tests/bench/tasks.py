"""The measurements of single rows: pgdispatch and the floor do the same amount of work.

What was done is counted in the database after each measurement.
"""

from __future__ import annotations

import functools
import itertools
import json
import multiprocessing
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from pgdispatch import Dispatch, Worker
from pgdispatch.types import Actor, ClaimedRun
from tests.bench import floor, ours
from tests.bench.floor import Connection
from tests.bench.ours import World
from tests.bench.rows import Row
from tests.bench.server import PATIENCE, PAYLOAD, PAYLOAD_TEXT, Bench, counters, rate, waiting

Drain = Callable[[Connection, Callable[[int], None]], None]


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


def preview(bench: Bench, row: Row, count: int) -> None:
    """Measure previews of so many issues in one call; the first of a session is not counted."""
    world = bench.world
    with bench.database(lambda conn: ours.make_issues(conn, world, count)) as (_, conn):
        found = conn.execute("select i.id from dispatch.issue as i").fetchall()
        issues = [issue for (issue,) in found]
        assignee = {"assignee": {"type": "agent", "id": str(world.agents[0])}}
        dispatch = Dispatch(conn)
        for number in range(4):
            began = time.perf_counter()
            shown = dispatch.preview_update(
                world.workspace, issues, assignee, *Actor.user(world.person)
            )
            taken = 1000 * (time.perf_counter() - began)
            assert len(shown) == count
            assert all(each.will_run for each in shown)
            if number > 0:
                row.ours.append(taken)


def memory(bench: Bench, row: Row, jobs: int) -> None:
    """Measure what a process holds that is a Worker with so many jobs in hand."""
    world = bench.world
    with bench.database(lambda conn: ours.put_in_bulk(conn, world, jobs, PAYLOAD)) as (dsn, _):
        context = multiprocessing.get_context("spawn")
        said = context.SimpleQueue()
        process = context.Process(target=hold_jobs, args=(dsn, world, jobs, said))
        process.start()
        process.join(PATIENCE)
        assert process.exitcode == 0
        row.ours.append(said.get())


def hold_jobs(dsn: str, world: World, jobs: int, said: Any) -> None:
    """Be a worker whose jobs all wait for the last one; tell the memory in MiB then."""
    held = threading.Barrier(jobs + 1)

    def handler(_: ClaimedRun) -> None:
        held.wait(PATIENCE)
        held.wait(PATIENCE)

    worker = Worker(dsn, world.workspace, [world.runtime], handler, concurrency=jobs)
    thread = threading.Thread(target=worker.run)
    thread.start()
    held.wait(PATIENCE)
    status = Path("/proc/self/status").read_text()
    said.put(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
    held.wait(PATIENCE)
    worker.stop()
    thread.join(PATIENCE)
