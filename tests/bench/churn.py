"""What an old snapshot costs: dead rows pile up, since nobody may clear them away."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import closing

import psycopg

from pgdispatch import Dispatch, _calls
from pgdispatch._links import together
from tests.bench import fill, floor
from tests.bench.floor import Connection
from tests.bench.ours import AGENTS, World
from tests.bench.rows import Row
from tests.bench.server import PAYLOAD, PAYLOAD_TEXT, Bench

#: Jobs that always wait.
BACKLOG = 100
#: Which part of the time is its beginning and its end.
SHARE = 12


def rows_for(bench: Bench) -> list[Row]:
    """Make the lines that `measure` fills."""
    edge = f"{bench.sizes.churn_seconds / SHARE:g} s"
    return [
        Row(f"old snapshot: last {edge} / first", "0.9 (F 0.52), first 0.6", "x"),
        Row(f"old snapshot: first {edge}", ""),
        Row(f"old snapshot: last {edge}", ""),
    ]


def measure(bench: Bench, rows: list[Row]) -> None:
    """Enqueue and complete one by one for a while beside a session that holds a snapshot."""
    world = bench.world
    kept, first, last = rows
    with bench.database(lambda conn: fill.jobs(conn, BACKLOG)) as (dsn, conn):
        begin, end = _rates(bench, dsn, conn, _floor_turn())
        assert floor.completed(conn) > 0
        kept.floor.append(end / begin)
        first.floor.append(begin)
        last.floor.append(end)
    with bench.database(lambda conn: fill.runs(conn, world, BACKLOG)) as (dsn, conn):
        begin, end = _rates(bench, dsn, conn, _own_turn(world))
        kept.ours.append(end / begin)
        first.ours.append(begin)
        last.ours.append(end)


def _rates(
    bench: Bench, dsn: str, conn: Connection, turn: Callable[[Connection], None]
) -> tuple[float, float]:
    """Take turns until the time is over; give the rates at its beginning and at its end."""
    seconds = bench.sizes.churn_seconds
    edge = seconds / SHARE
    with closing(psycopg.connect(dsn)) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("select count(*) from dispatch.run")
        marks = []
        began = time.perf_counter()
        while (at := time.perf_counter() - began) < seconds:
            turn(conn)
            marks.append(at)
        holder.execute("select")
    first = sum(at < edge for at in marks)
    last = sum(at >= seconds - edge for at in marks)
    return first / edge, last / edge


def _floor_turn() -> Callable[[Connection], None]:
    def turn(conn: Connection) -> None:
        conn.execute(floor.PUT, [PAYLOAD_TEXT]).fetchone()
        ((job, _),) = conn.execute(floor.TAKE, [1]).fetchall()
        conn.execute(floor.END, [[job]])

    return turn


def _own_turn(world: World) -> Callable[[Connection], None]:
    """Enqueue one, complete the last and claim the next, as a worker does."""
    workspace, count = world.workspace, 0
    claim = _calls.claim_runs(workspace, [world.runtime], start=True)
    in_hand: list[dict[str, object]] = []

    def turn(conn: Connection) -> None:
        nonlocal count
        agent = world.agents[count % AGENTS]
        count += 1
        Dispatch(conn).queue_wake(
            workspace, agent, "bench", PAYLOAD, chat_session_id=uuid.uuid4()
        )
        calls = [_calls.complete_runs(workspace, list(in_hand))] if in_hand else []
        *ended, claimed = together(conn, [*calls, claim])
        assert all(each.applied for some in ended for each in some)
        in_hand[:] = [{"run_id": run.run_id, "claim_no": run.claim_no} for run in claimed]
        assert in_hand

    return turn
