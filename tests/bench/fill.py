"""Fills the tables with as many runs as a measurement needs, in seconds and not through calls.

The rows are those that the stored functions would have written. Constraints of other tables
are known to hold and are not looked at.
"""

from __future__ import annotations

from typing import LiteralString

from tests.bench.floor import Connection
from tests.bench.ours import AGENTS, World

RUNS: LiteralString = """
with made as materialized (
    select
        gen_random_uuid() as id,
        gen_random_uuid() as chat,
        (%(agents)s::uuid[])[1 + n %% %(size)s] as agent_id,
        now() - interval '1 s' - (%(count)s - n) * interval '1 ms' as requested_at
    from generate_series(1, %(count)s) as n
),
admitted as (
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, lane, status, requested_at, claim_no,
        dispatched_at, started_at, finished_at
    )
    select
        %(workspace)s, m.id, m.agent_id, %(runtime)s, m.chat,
        (case when %(is_done)s then 'completed' else 'queued' end)::dispatch.run_status,
        m.requested_at,
        case when %(is_done)s then 1 else 0 end,
        case when %(is_done)s then m.requested_at end,
        case when %(is_done)s then m.requested_at end,
        case when %(is_done)s then m.requested_at end
    from made as m
)
insert into dispatch.run_detail (
    workspace_id, run_id, requested_at, reason, source, payload, chat_session_id, actor_type,
    accountable_id, attribution_source
)
select
    %(workspace)s, m.id, m.requested_at, 'bench', 'wake',
    jsonb_build_object('text', repeat('x', 88)), m.chat, 'system', %(person)s, 'owner_fallback'
from made as m
"""

JOBS: LiteralString = """
insert into public.job (status, payload)
select
    (case when %(is_done)s then 2 else 0 end)::smallint,
    jsonb_build_object('text', repeat('x', 88))
from generate_series(1, %(count)s)
"""

#: As many rows at a time.
SLICE = 1_000_000


def _filled(conn: Connection, query: LiteralString, count: int, **given: object) -> None:
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")
        for at in range(0, count, SLICE):
            conn.execute(query, given | {"count": min(SLICE, count - at)})


def runs(conn: Connection, world: World, count: int, *, is_done: bool = False) -> None:
    """Make runs that wait, each in a lane of its own, or that are completed."""
    _filled(
        conn,
        RUNS,
        count,
        workspace=world.workspace,
        runtime=world.runtime,
        person=world.person,
        agents=list(world.agents),
        size=AGENTS,
        is_done=is_done,
    )


def jobs(conn: Connection, count: int, *, is_done: bool = False) -> None:
    """Make jobs of the floor that wait, or that are done."""
    _filled(conn, JOBS, count, is_done=is_done)
