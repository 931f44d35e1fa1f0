"""What the gates cost: enqueue through all of them against a bare table, and against history.

Run by hand, on a private server of its own:

    .venv/bin/python -m tests.bench.bench_admission [--server pg18] [--wakes 1000] [--rounds 3]

Each figure is the median of the rounds, measured in alternation on one server, with the lowest
and the highest in brackets. Nothing is asserted: a machine that is shared gives other figures.
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from pgdispatch import schema
from pgdispatch.embedded import EmbeddedServer, wheel_bindir
from tests.support.servers import DEBIAN_15

Connection = psycopg.Connection[TupleRow]

#: The smallest honest queue: one table and one partial index, and no rule at all.
BARE = """
create table bare (
    id bigint generated always as identity primary key,
    status text not null default 'queued',
    priority integer not null default 0,
    payload jsonb not null,
    requested_at timestamptz not null default clock_timestamp()
);
create index on bare (priority desc, requested_at, id) where status = 'queued';
"""

#: Completed runs of the past, half of them assignments by agents, spread over the issues.
HISTORY = """
with made as (
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, issue_id, lane, status, requested_at,
        finished_at
    )
    select
        %(ws)s, gen_random_uuid(), a.id, a.runtime_id, i.id, i.id, 'completed',
        now() - interval '20 minutes' - n * interval '2 seconds', now() - interval '15 minutes'
    from generate_series(1, %(rows)s) as n
    inner join (
        select g.id, row_number() over (order by g.number) - 1 as place,
            count(*) over () as size
        from dispatch.issue as g
        where g.workspace_id = %(ws)s
    ) as i on i.place = n %% i.size
    inner join (
        select g.id, g.runtime_id, row_number() over (order by g.id) - 1 as place,
            count(*) over () as size
        from dispatch.agent as g
        where g.workspace_id = %(ws)s
    ) as a on a.place = n %% a.size
    returning id, issue_id, requested_at
)
insert into dispatch.run_detail (
    workspace_id, run_id, issue_id, requested_at, reason, source, payload, idempotency_key,
    actor_type, attribution_source
)
select
    %(ws)s, m.id, m.issue_id, m.requested_at, 'task_assigned', 'assign',
    jsonb_build_object(
        'task_id', m.issue_id,
        'actor_type', case when get_byte(uuid_send(m.id), 0) < 128 then 'agent' else 'user' end
    ),
    'old ' || m.id, 'system', 'owner_fallback'
from made as m
"""


@dataclass(frozen=True)
class World:
    """A workspace with agents on one runtime, and issues to wake them for."""

    workspace: uuid.UUID
    agents: list[uuid.UUID]
    issues: list[uuid.UUID]


def make_world(connection: Connection) -> World:
    """Make a workspace, without issues."""
    ws, ana, runtime = (uuid.uuid4() for _ in range(3))
    agents = [uuid.uuid4() for _ in range(8)]
    execute = connection.execute
    execute("select dispatch.put_workspace(%s, 'Bench', 'BENCH')", [ws])
    execute("select dispatch.put_member(%s, %s, 'Ana')", [ws, ana])
    execute("select dispatch.put_runtime(%s, %s, 'daemon')", [ws, runtime])
    execute("select dispatch.heartbeat(%s, array[%s::uuid])", [ws, runtime])
    for agent in agents:
        execute("select dispatch.put_agent(%s, %s, 'agent', %s, %s)", [ws, agent, ana, runtime])
    return World(ws, agents, [])


def with_issues(connection: Connection, world: World, count: int) -> World:
    """Add issues that have no run, and give the workspace with these alone."""
    made = connection.execute(
        """
        insert into dispatch.issue (
            workspace_id, id, number, title, status, priority, creator_type, created_at,
            updated_at
        )
        select
            %(ws)s, gen_random_uuid(), n + (select count(*) from dispatch.issue), 'issue',
            'todo', 'none', 'system', now(), now()
        from generate_series(1, %(count)s) as n
        returning id
        """,
        {"ws": world.workspace, "count": count},
    ).fetchall()
    return World(world.workspace, world.agents, [issue for (issue,) in made])


def bare(connection: Connection, world: World) -> None:
    """Insert as many rows into the bare table, a commit each."""
    for number, issue in enumerate(world.issues):
        payload = Jsonb({"task_id": str(issue), "actor_type": "agent", "n": number})
        connection.execute("insert into bare (payload) values (%s) returning id", [payload])


def gated(connection: Connection, world: World) -> None:
    """Wake an agent for each issue through all gates, a commit each."""
    for number, issue in enumerate(world.issues):
        payload = Jsonb({"task_id": str(issue), "actor_type": "agent", "n": number})
        (answer,) = connection.execute(
            """
            select d.outcome::text
            from dispatch.queue_wake(
                %s, %s, 'task_assigned', %s, %s, p_issue_id => %s
            ) as d
            """,
            [
                world.workspace,
                world.agents[number % len(world.agents)],
                payload,
                f"key {number} {issue}",
                issue,
            ],
        )
        assert answer == ("queued",), answer


def gated_batch(connection: Connection, world: World) -> None:
    """Wake the agents for all issues in one call."""
    elements = [
        {
            "agent_id": str(world.agents[number % len(world.agents)]),
            "reason": "task_assigned",
            "payload": {"task_id": str(issue), "actor_type": "agent", "n": number},
            "idempotency_key": f"key {number} {issue}",
        }
        for number, issue in enumerate(world.issues)
    ]
    answers = connection.execute(
        "select d.outcome::text from dispatch.queue_wakes(%s, %s) as d",
        [world.workspace, Jsonb(elements)],
    ).fetchall()
    assert set(answers) == {("queued",)}, set(answers)


def bare_batch(connection: Connection, world: World) -> None:
    """Insert as many rows into the bare table by one statement."""
    payloads = [
        {"task_id": str(issue), "actor_type": "agent", "n": number}
        for number, issue in enumerate(world.issues)
    ]
    connection.execute(
        "insert into bare (payload) select e.value from jsonb_array_elements(%s) as e",
        [Jsonb(payloads)],
    )


Way = Callable[[Connection, World], None]


def rate(connection: Connection, world: World, way: Way, wakes: int) -> float:
    """Measure one way with fresh issues, in wakes a second."""
    fresh = with_issues(connection, world, wakes)
    begun = time.perf_counter()
    way(connection, fresh)
    return wakes / (time.perf_counter() - begun)


def measure(
    connection: Connection,
    world: World,
    ways: Sequence[tuple[str, Way]],
    wakes: int,
    rounds: int,
) -> dict[str, float]:
    """Measure ways in alternation, print their medians, and give them."""
    for _, way in ways:
        rate(connection, world, way, min(wakes, 100))
    found: dict[str, list[float]] = {name: [] for name, _ in ways}
    for _ in range(rounds):
        for name, way in ways:
            found[name].append(rate(connection, world, way, wakes))
    for name, rates in found.items():
        spread = f"[{min(rates):,.0f} to {max(rates):,.0f}]"
        print(f"  {name:<28} {statistics.median(rates):>9,.0f} /s  {spread}")
    return {name: statistics.median(rates) for name, rates in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--server", choices=("pg15", "pg18"), default="pg15")
    parser.add_argument(
        "--wakes", type=int, default=1000, help="wakes a measurement, at most 1000"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--history", type=int, default=1_000_000, help="rows of history")
    given = parser.parse_args()
    bindir: Path = DEBIAN_15 if given.server == "pg15" else wheel_bindir()
    one = [("bare table", bare), ("queue_wake", gated)]
    bulk = [("bare table, one statement", bare_batch), ("queue_wakes, one call", gated_batch)]
    with EmbeddedServer(bindir=bindir, settings={"shared_buffers": "256MB"}) as server:
        dsn = server.dsn("postgres")
        schema.migrate(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(BARE)
            print(f"{given.server}, {given.wakes} wakes, median of {given.rounds} rounds")
            print("without history")
            world = make_world(connection)
            empty = measure(connection, world, [*one, *bulk], given.wakes, given.rounds)
            with_issues(connection, world, 1000)
            connection.execute(HISTORY, {"ws": world.workspace, "rows": given.history})
            connection.execute("vacuum analyze")
            print(f"with {given.history:,} completed runs")
            full = measure(connection, world, [*one, *bulk], given.wakes, given.rounds)
    for title, names in (("one by one", one), ("in bulk", bulk)):
        (floor, _), (ours, _) = names
        print(
            f"{title}: {empty[ours] / empty[floor]:.2f} of the bare table,"
            f" {full[ours] / full[floor]:.2f} with history;"
            f" history costs {empty[ours] / full[ours]:.2f} times"
        )


if __name__ == "__main__":
    main()
