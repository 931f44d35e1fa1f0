"""Every index that guarantees nothing is there for a call, which is named here and uses it.

Each status change pays for every index whose predicate it touches, so one that serves no call
goes. That the large tables' indexes are also chosen over others is what test_hot_queries shows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.concurrency.support import Connection, make_fleet, rows
from tests.support.servers import Database

SCANS = """
select c.relname, pg_stat_get_xact_numscans(c.oid) as scans
from pg_class as c
join pg_index as i on i.indexrelid = c.oid
where c.relnamespace = 'dispatch'::regnamespace
"""

COMMENT = """
insert into dispatch.comment (
    workspace_id, id, issue_id, author_type, body, created_at, updated_at
)
values (%s, gen_random_uuid(), %s, 'system', 'words', now(), now())
"""

#: So many queued and running runs beside, that it matters which index is taken.
BESIDE = """
insert into dispatch.run (
    workspace_id, id, agent_id, runtime_id, lane, status, requested_at, dispatched_at
)
select
    %(workspace)s, m.id, %(agent)s, %(runtime)s, m.id,
    (array['queued', 'running'])[1 + m.n %% 2]::dispatch.run_status, now(), now()
from (
    select n, gen_random_uuid() as id
    from generate_series(1, 4000) as n
) as m
"""

#: As many recorded wakes, each of a comment of its own.
RECORDED = """
insert into dispatch.run_trigger (
    workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload, comment_id,
    actor_type, attribution_source
)
select
    r.workspace_id, r.id, 1, now(), now(), 'queued', 'comment', 'task_comment', '{}',
    gen_random_uuid(), 'system', 'owner_fallback'
from dispatch.run as r
where r.agent_id = %(agent)s
"""


class World:
    """A fleet with something for every call to find."""

    def __init__(self, db: Database) -> None:
        self.now = db.set_clock()
        self.fleet = fleet = make_fleet(db, agents=2)
        self.other, self.team, self.agent = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
        with db.connect() as admin:
            fleet.call(admin, "put_member", user_id=self.other, name="Ben")
            fleet.call(admin, "put_team", team_id=self.team, name="all")
            fleet.call(admin, "put_team_member", team_id=self.team, user_id=self.other)
            fleet.call(admin, "put_agent", agent_id=self.agent, name="own", owner_id=self.other)
            fleet.call(
                admin,
                "grant_invoke",
                agent_id=fleet.agent,
                target_type="member",
                target_id=self.other,
            )
            self.issues = fleet.issues(admin, 50)
            for issue in self.issues[:10]:
                fleet.wake(admin, issue_id=issue)
            (run,) = fleet.claim(admin)
            self.held = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
            chat = uuid.uuid4()
            for _ in range(3):
                fleet.wake(admin, chat_session_id=chat, priority=1)
            fleet.wake(admin, fire_at=self.now + timedelta(minutes=1))
            admin.execute(COMMENT.encode(), [fleet.workspace, self.issues[0]])
            beside = {"workspace": fleet.workspace, "agent": fleet.agents[1]}
            admin.execute(BESIDE.encode(), beside | {"runtime": fleet.runtime})
            admin.execute(RECORDED.encode(), beside)
            admin.execute("vacuum (analyze)")


Task = Callable[[World, Connection], Any]


def calling(function: str, **given: Any) -> Task:
    """Make a call; what depends on the world is given as a function of it."""

    def run(world: World, conn: Connection) -> Any:
        made = {
            name: value(world) if callable(value) else value for name, value in given.items()
        }
        return world.fleet.call(conn, function, **made)

    return run


def stepping(query: str) -> Task:
    """Run a statement that serves all workspaces."""
    return lambda _, conn: rows(conn, query)


def runtimes(world: World) -> list[uuid.UUID]:
    return [world.fleet.runtime]


claim = calling("claim_runs", runtime_ids=runtimes, max=5)
remove_member = calling("remove_member", user_id=lambda world: world.other)
delete_issue = calling(
    "delete_issue", issue_id=lambda world: world.issues[0], actor_type="system"
)
claim_of_one = calling("claim_run", agent_id=lambda world: world.fleet.agent)
prune = stepping("select * from dispatch.tick('prune')")


def fail_twice(world: World, conn: Connection) -> None:
    """Repeat a report: the second answer looks for the retry that the first one made."""
    world.fleet.one(conn, "start_run", **world.held)
    for _ in range(2):
        world.fleet.one(conn, "fail_run", **world.held, failure_reason="timeout")


def delete_comment(world: World, conn: Connection) -> None:
    (comment,) = rows(conn, "select c.id from dispatch.comment as c")
    world.fleet.call(conn, "delete_comment", comment_id=comment["id"], actor_type="system")


def pause_and_resume(world: World, conn: Connection) -> None:
    for function in ("pause_workspace", "resume_workspace"):
        world.fleet.call(conn, function, actor_type="system", reason="repair")


def wake_by_agent(world: World, conn: Connection) -> None:
    payload = {"task_id": str(world.issues[20]), "actor_type": "agent"}
    world.fleet.wake(
        conn, issue_id=world.issues[20], reason="task_assigned", payload=Jsonb(payload)
    )


#: The call that each index serves, by its name and as it is made.
SERVED: dict[str, tuple[str, Task]] = {
    "team_member_user_idx": ("remove_member", remove_member),
    "agent_owner_idx": ("remove_member", remove_member),
    "agent_runtime_idx": (
        "delete_workspace, which no agent may outlive",
        calling("delete_workspace", actor_type="system"),
    ),
    "agent_grant_target_idx": ("remove_member", remove_member),
    "issue_parent_idx": ("delete_issue, of a parent", delete_issue),
    "comment_issue_idx": ("delete_issue, of its comments", delete_issue),
    "comment_parent_idx": ("delete_issue, of its comments' replies", delete_issue),
    "run_queue_order_idx": ("claim_runs, the head of the order", claim),
    "run_claim_order_idx": ("claim_run, an agent's best run", claim_of_one),
    "run_shared_lane_idx": (
        "claim_runs, the first of a shared lane",
        calling("claim_runs", runtime_ids=runtimes, max=50, per_agent=50),
    ),
    "run_armed_retry_idx": ("claim_runs, retries that yield", claim),
    "run_stale_dispatch_idx": (
        "reclaim_runs",
        calling("reclaim_runs", runtime_ids=runtimes),
    ),
    "run_due_idx": (
        "promote_deferred",
        calling("promote_deferred", runtime_ids=runtimes),
    ),
    "run_queued_since_idx": (
        "sweep, of what nobody claims",
        stepping("select * from dispatch.sweep(p_only => 'queued')"),
    ),
    "run_finished_idx": ("tick, retention", prune),
    "run_detail_allowance_idx": ("queue_wake, the allowance", wake_by_agent),
    "run_detail_issue_idx": ("delete_issue, of an issue with runs", delete_issue),
    "run_detail_parent_idx": ("fail_run, said again", fail_twice),
    "run_detail_comment_idx": ("delete_comment, the runs it woke", delete_comment),
    "run_trigger_comment_idx": ("delete_comment, the runs it joined", delete_comment),
    "deferred_assignment_open_idx": ("resume_workspace, the replay", pause_and_resume),
    "gate_event_at_idx": ("tick, retention", prune),
}


@pytest.fixture(scope="module")
def world_db(server: Any) -> Any:
    """One database for all calls, each of which is undone."""
    with server.database() as database:
        yield database, World(database)


def scans(conn: Connection) -> dict[str, int]:
    """Count the scans of each index in the transaction so far."""
    return {row["relname"]: row["scans"] for row in rows(conn, SCANS)}


@pytest.mark.parametrize(
    ("index", "call"), [(index, call) for index, (call, _) in SERVED.items()]
)
def test_an_index_is_used_by_its_call(
    world_db: tuple[Database, World], index: str, call: str
) -> None:
    database, world = world_db
    with database.connect() as conn:
        # Tables of a few rows would be read whole.
        conn.execute("set enable_seqscan = off")
        conn.execute("set plan_cache_mode = force_generic_plan")
        with conn.transaction(force_rollback=True):
            before = scans(conn)
            SERVED[index][1](world, conn)
            after = scans(conn)
    used = sorted(name for name, count in after.items() if count > before[name])
    assert index in used, f"{call} uses {used}"


def test_every_index_has_its_call(catalog_db: Database) -> None:
    """A unique one is there for what it guarantees."""
    found = catalog_db.execute(
        """
        select c.relname
        from pg_index as i
        join pg_class as c on c.oid = i.indexrelid
        where c.relnamespace = 'dispatch'::regnamespace and not i.indisunique
        """
    )
    assert {name for (name,) in found} == set(SERVED)


def test_every_index_says_what_it_serves(catalog_db: Database) -> None:
    found = catalog_db.execute(
        """
        select c.relname, obj_description(c.oid, 'pg_class')
        from pg_index as i
        join pg_class as c on c.oid = i.indexrelid
        where c.relnamespace = 'dispatch'::regnamespace
            and not exists (select from pg_constraint as o where o.conindid = c.oid)
        """
    )
    wordless = [
        name for name, said in found if not (said or "").startswith(("Serves ", "Guarantees "))
    ]
    assert wordless == []
