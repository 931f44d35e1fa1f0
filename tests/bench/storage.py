"""What the tables' storage parameters pay: fillfactor, and when autovacuum comes.

Run by hand, on a private server of its own, in minutes:

    .venv/bin/python -m tests.bench.storage WHAT [--rounds 3] [--size N]

where WHAT is fillfactor (of run and run_detail), issue, trigger, heartbeat (of runtime), or
vacuum (when it comes to run).

The candidates alternate in several rounds; each figure is the median, with the lowest and the
highest in brackets. What a candidate gives replaces the parameters in sql/20_tables. Nothing
is asserted.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pgdispatch import Dispatch, _calls
from pgdispatch._links import together
from pgdispatch.embedded import EmbeddedServer, wheel_bindir
from pgdispatch.types import Actor
from tests.bench import fill, ours
from tests.bench.floor import Connection
from tests.bench.ours import World
from tests.bench.server import FULL, PAYLOAD, SETTINGS, Bench, counters
from tests.support.servers import DEBIAN_15

#: What a run reports, which makes its completion write the detail row too.
RESULT = {"exit_code": 0, "output": "x" * 200}
LEASE = dt.timedelta(minutes=1)

Candidate = Mapping[str, str]
Figures = dict[str, float]
Measure = Callable[[Bench, Candidate, int], Figures]

FILLFACTORS: dict[str, Candidate] = {
    **{f"run {each}": {"run": f"fillfactor = {each}"} for each in (100, 90, 80, 70)},
    **{f"run_detail {each}": {"run_detail": f"fillfactor = {each}"} for each in (90, 80, 70)},
}

VACUUMS: dict[str, Candidate] = {
    "the server's own": {},
    "a fiftieth": {"run": "autovacuum_vacuum_scale_factor = 0.02"},
    "5,000 rows": {
        "run": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000"
    },
    "5,000 rows, unthrottled": {
        "run": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,"
        " autovacuum_vacuum_cost_delay = 0"
    },
}

ISSUES: dict[str, Candidate] = {
    f"issue {each}": {"issue": f"fillfactor = {each}"} for each in (100, 85, 70)
}

TRIGGERS: dict[str, Candidate] = {
    f"run_trigger {each}": {"run_trigger": f"fillfactor = {each}"} for each in (100, 85, 70)
}

HEARTBEATS: dict[str, Candidate] = {
    f"runtime {each}": {"runtime": f"fillfactor = {each}"} for each in (100, 90, 70, 50)
}


@contextmanager
def prepared(bench: Bench, candidate: Candidate) -> Iterator[Connection]:
    """Give a database whose tables have a candidate's parameters."""

    def fill(conn: Connection) -> None:
        for table, parameters in candidate.items():
            conn.execute(f"alter table dispatch.{table} set ({parameters})".encode())

    with bench.database(fill) as (_, conn):
        yield conn


def live(conn: Connection, world: World, count: int) -> None:
    """Queue runs, and claim, keep alive and complete them in batches of 50, with results."""
    ours.put_in_bulk(conn, world, count, PAYLOAD)
    claim = _calls.claim_runs(
        world.workspace,
        [world.runtime],
        max=50,
        per_agent=50,
        start=True,
        lease=LEASE,
    )
    (claimed,) = together(conn, [claim])
    while claimed:
        runs = [{"run_id": run.run_id, "claim_no": run.claim_no} for run in claimed]
        for run in runs[::5]:
            together(conn, [_calls.extend_lease(world.workspace, **run, lease=LEASE)])
        ended = [{**run, "result": RESULT} for run in runs]
        _, claimed = together(conn, [_calls.complete_runs(world.workspace, ended), claim])


def fillfactor(bench: Bench, candidate: Candidate, count: int) -> Figures:
    """Let runs live on fresh pages, some of them for long enough to extend their lease."""
    with prepared(bench, candidate) as conn:
        before, began = counters(conn), time.perf_counter()
        for _ in range(4):
            live(conn, bench.world, count // 4)
        seconds = time.perf_counter() - began
        after = counters(conn)
        return {
            "runs/s": count / seconds,
            "WAL B": (after["WAL bytes"] - before["WAL bytes"]) / count,
            "buffers": (after["buffers"] - before["buffers"]) / count,
            **tables(conn, ("run", "run_detail"), count),
        }


def vacuum(bench: Bench, candidate: Candidate, seconds: int) -> Figures:
    """Let runs live for a while beside a history of a million."""
    with prepared(bench, candidate) as conn:
        fill.runs(conn, bench.world, 1_000_000, is_done=True)
        conn.execute("vacuum (analyze)")
        marks: list[tuple[float, int]] = []
        before = counters(conn)
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            live(conn, bench.world, 200)
            count += 200
            marks.append((time.perf_counter() - began, count))
        after = counters(conn)
        tenth = seconds / 10
        first = next(done / at for at, done in marks if at >= tenth)
        late = [(at, done) for at, done in marks if at >= seconds - tenth]
        (began_at, begun), (ended_at, ended) = late[0], late[-1]
        return {
            "runs/s": count / marks[-1][0],
            "last/first": (ended - begun) / max(ended_at - began_at, 0.001) / first,
            "buffers": (after["buffers"] - before["buffers"]) / count,
            "WAL B": (after["WAL bytes"] - before["WAL bytes"]) / count,
            **tables(conn, ("run",), count),
        }


def heartbeat(bench: Bench, candidate: Candidate, beats: int) -> Figures:
    """Let two hundred runtimes send their heartbeats, ten a call."""
    with prepared(bench, candidate) as conn:
        world, dispatch = bench.world, Dispatch(conn)
        runtimes = [uuid.uuid4() for _ in range(200)]
        for each in runtimes:
            dispatch.put_runtime(world.workspace, each, "daemon")
        conn.execute("vacuum (full, analyze) dispatch.runtime")
        conn.execute("select pg_stat_reset()")
        before, began = counters(conn), time.perf_counter()
        for _ in range(beats):
            for at in range(0, len(runtimes), 10):
                dispatch.heartbeat(world.workspace, runtimes[at : at + 10])
        count = beats * len(runtimes)
        seconds = time.perf_counter() - began
        after = counters(conn)
        return {
            "beats/s": count / seconds,
            "WAL B": (after["WAL bytes"] - before["WAL bytes"]) / count,
            **tables(conn, ("runtime",), count),
        }


def issue(bench: Bench, candidate: Candidate, count: int) -> Figures:
    """Make issues, then assign each and move it on."""
    with prepared(bench, candidate) as conn:
        world = bench.world
        issues = ours.make_issues(conn, world, count)
        dispatch = Dispatch(conn)
        before = counters(conn)
        ours.assign(conn, world, issues)
        for each in issues:
            changes = {"status": "in_progress"}
            dispatch.update_issue(world.workspace, each, changes, *Actor.user(world.person))
        after = counters(conn)
        return {
            "WAL B": (after["WAL bytes"] - before["WAL bytes"]) / count,
            **tables(conn, ("issue",), count),
        }


def trigger(bench: Bench, candidate: Candidate, count: int) -> Figures:
    """Wake each run three times more, twice alike, and claim it with what it stands for."""
    with prepared(bench, candidate) as conn:
        world = bench.world
        dispatch = Dispatch(conn)
        before = counters(conn)
        for number, each in enumerate(ours.make_issues(conn, world, count)):
            for payload in (PAYLOAD, PAYLOAD, {}, {}):
                agent = world.agents[number % ours.AGENTS]
                dispatch.queue_wake(
                    world.workspace, agent, "bench", payload, issue_id=each, coalesce=False
                )
        claim = _calls.claim_runs(
            world.workspace, [world.runtime], max=50, per_agent=50, start=True
        )
        (claimed,) = together(conn, [claim])
        while claimed:
            ended = [{"run_id": run.run_id, "claim_no": run.claim_no} for run in claimed]
            _, claimed = together(conn, [_calls.complete_runs(world.workspace, ended), claim])
        after = counters(conn)
        return {
            "WAL B": (after["WAL bytes"] - before["WAL bytes"]) / count,
            **tables(conn, ("run_trigger",), count),
        }


def tables(conn: Connection, names: Iterable[str], count: int) -> Figures:
    """Tell how large tables are, how much of them is dead, and how many updates were HOT."""
    found: Figures = {}
    conn.execute("select pg_stat_force_next_flush()")
    conn.execute("select pg_stat_clear_snapshot()")
    for name in names:
        row = conn.execute(
            """
            select
                100.0 * t.n_tup_hot_upd / greatest(t.n_tup_upd, 1),
                t.n_dead_tup,
                pg_relation_size(t.relid) / 1e6,
                pg_indexes_size(t.relid) / 1e6,
                t.autovacuum_count
            from pg_stat_user_tables as t
            where t.relid = ('dispatch.' || %s)::regclass
            """,
            [name],
        ).fetchone()
        assert row is not None
        words = ("HOT %", "dead", "MB", "index MB", "vacuums")
        found |= {f"{name} {w}": float(v) for w, v in zip(words, row, strict=True)}
    return found


def compare(
    bench: Bench,
    candidates: Mapping[str, Candidate],
    measure: Measure,
    size: int,
    rounds: int,
) -> None:
    """Measure the candidates in turn and print what they give."""
    found: dict[str, list[Figures]] = {name: [] for name in candidates}
    for number in range(rounds):
        # Whoever comes first in one round comes last in the next.
        order = list(candidates.items())
        for name, candidate in order if number % 2 == 0 else reversed(order):
            found[name].append(measure(bench, candidate, size))
            print(f"round {number + 1}: {name}: {found[name][-1]}", flush=True)
    for name, figures in found.items():
        print(name)
        for what in figures[0]:
            values = [each[what] for each in figures]
            spread = f"[{min(values):,.1f} to {max(values):,.1f}]"
            print(f"  {what:<20} {statistics.median(values):>12,.1f}  {spread}")


WHAT: dict[str, tuple[Mapping[str, Candidate], Measure, int]] = {
    "fillfactor": (FILLFACTORS, fillfactor, 8000),
    "vacuum": (VACUUMS, vacuum, 60),
    "heartbeat": (HEARTBEATS, heartbeat, 50),
    "issue": (ISSUES, issue, 1000),
    "trigger": (TRIGGERS, trigger, 500),
}


def main() -> None:
    """Start a server, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=tuple(WHAT))
    parser.add_argument("--server", choices=("pg15", "pg18"), default="pg15")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, help="runs, seconds or heartbeats a measurement")
    given = parser.parse_args()
    candidates, measure, size = WHAT[given.what]
    bindir: Path = DEBIAN_15 if given.server == "pg15" else wheel_bindir()
    settings = SETTINGS | {"autovacuum_naptime": "5s"}
    with EmbeddedServer(bindir=bindir, settings=settings) as server:
        bench = Bench(server, FULL)
        print(f"PostgreSQL {bench.version}, {given.rounds} rounds")
        compare(bench, candidates, measure, given.size or size, given.rounds)


if __name__ == "__main__":
    main()
