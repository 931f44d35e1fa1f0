"""Every hot statement finds its rows by the index made for it, whatever the table holds.

The table is skewed as it is in real use: nearly all runs have ended. Plans are generic, as
stored functions get them in the long run, and are read off the statements inside the functions
while they really execute.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.concurrency.support import Connection, Row, make_fleet, rows
from tests.support.servers import Database

TABLES = ("run", "run_detail", "run_trigger", "comment")
AGENTS = 20
RUNTIMES = 10

#: Scans of a claim or a transition read a handful of rows; none grows with the table.
FEW_ROWS = 200
#: What one call may touch, in pages, all its statements together and warm.
FEW_BUFFERS = 300

#: Runs that are not queued: 290,000 ended, 9,000 deferred, 900 active.
OTHERS = 299_900

SPREAD = """
create temporary table made as
select
    n,
    ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id,
    ('01900000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid as chat,
    (%(agents)s::uuid[])[1 + n %% 20] as agent_id,
    (%(runtimes)s::uuid[])[1 + (n %% 20) / 2] as runtime_id,
    case
        when n <= 290000 then
            (array['completed', 'failed', 'cancelled'])[1 + n %% 3]::dispatch.run_status
        when n <= 299000 then 'deferred'
        when n <= 299900 then
            (array['dispatched', 'running', 'waiting_local_directory'])[1 + (n / 20) %% 3]
            ::dispatch.run_status
        else 'queued'
    end as status,
    case when n <= 290000 then (%(issues)s::uuid[])[1 + n %% 500] end as issue_id,
    now() - interval '1 s' * (400000 - n) / 10 as requested_at
from generate_series(%(first)s::bigint, %(last)s) as n
"""

FILL_RUN = """
insert into dispatch.run (
    workspace_id, id, agent_id, runtime_id, issue_id, lane, status, claim_no, requested_at,
    fire_at, dispatched_at, lease_expires_at, started_at, finished_at
)
select
    %(workspace)s, m.id, m.agent_id, m.runtime_id, m.issue_id, coalesce(m.issue_id, m.chat),
    m.status, 1, m.requested_at,
    case when m.status = 'deferred' then now() + interval '1 h' + m.n * interval '1 s' end,
    now(), now() + interval '1 h',
    case when m.status = 'running' then now() end,
    case when m.n <= 290000 then now() end
from made as m
"""

FILL_DETAIL = """
insert into dispatch.run_detail (
    workspace_id, run_id, issue_id, requested_at, reason, source, payload, idempotency_key,
    chat_session_id, comment_id, parent_run_id, actor_type, accountable_id,
    attribution_source
)
select
    %(workspace)s, m.id, m.issue_id, m.requested_at, 'work', 'wake', '{"n": 1}',
    case when m.n %% 2 = 0 then 'key-' || m.n end,
    case when m.issue_id is null then m.chat end,
    case when m.n %% 4 = 0 and m.n <= 290000 then m.id end,
    case when m.n %% 10 = 0 then lag(m.id) over (order by m.n) end,
    'system', %(owner)s, 'owner_fallback'
from made as m
"""

FILL_TRIGGER = """
insert into dispatch.run_trigger (
    workspace_id, run_id, seq, at, last_at, outcome, source, reason, payload, comment_id,
    actor_type, attribution_source, delivered_count
)
select
    %(workspace)s, m.id, s, m.requested_at, m.requested_at, 'absorbed', 'wake', 'work', '{}',
    case when s = 2 then m.id end, 'system', 'owner_fallback', 1
from made as m
cross join generate_series(1, 2) as s
where m.n <= 290000 and m.n %% 10 = 0
"""

#: Each comment has the id of a run that it has woken; one in ten replies to another.
FILL_COMMENT = """
insert into dispatch.comment (
    workspace_id, id, issue_id, author_type, body, parent_id, created_at, updated_at
)
select
    %(workspace)s, m.id, m.issue_id, 'user', 'work',
    case when m.n %% 40 = 20 then lag(m.id, 5) over (order by m.n) end, m.requested_at,
    m.requested_at
from made as m
where m.n %% 4 = 0 and m.n <= 290000
"""

EXPLAIN = """
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_nested_statements = on;
set auto_explain.log_analyze = on;
set auto_explain.log_timing = off;
set auto_explain.log_buffers = on;
set auto_explain.log_format = json;
set auto_explain.log_level = notice;
set plan_cache_mode = force_generic_plan;
"""


@dataclass
class Work:
    """What one call did, read off the plans of all its statements."""

    indexes: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    buffers: int = 0


class Explained:
    """A session that learns the plan of each statement that it executes."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._plans: list[dict[str, Any]] = []
        connection.execute(EXPLAIN.encode())
        connection.add_notice_handler(self._keep)

    def _keep(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        text = diagnostic.message_primary or ""
        found = re.match(r"duration: [\d.]+ ms  plan:\n(.*)", text, re.DOTALL)
        if found:
            self._plans.append(json.loads(found[1]))

    def work(self, call: Callable[[Connection], Any], few: int) -> Work:
        """Make a call twice, the first time to warm up, undo both, and judge the second."""
        for _ in range(2):
            self._plans.clear()
            with self.connection.transaction(force_rollback=True):
                call(self.connection)
            assert self._plans, "no plan was logged"
        work = Work()
        for plan in self._plans:
            tree = plan["Plan"]
            touched = tree["Shared Hit Blocks"] + tree["Shared Read Blocks"]
            # The plan of the call itself includes those of the statements inside.
            work.buffers = max(work.buffers, touched)
            for node in nodes(tree):
                judge(node, plan["Query Text"], few, work)
        return work


def nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk a plan."""
    yield tree
    for child in tree.get("Plans", []):
        yield from nodes(child)


def judge(node: dict[str, Any], query: str, few: int, work: Work) -> None:
    """Note a node's index, and complain of one that reads what it should not."""
    kind = node["Node Type"]
    if "Index Name" in node:
        work.indexes.add(node["Index Name"])
    work.indexes.update(node.get("Conflict Arbiter Indexes", []))
    loops = node.get("Actual Loops", 0)
    removed = node.get("Rows Removed by Filter", 0)
    removed += node.get("Rows Removed by Index Recheck", 0)
    seen = round((node.get("Actual Rows", 0) + removed) * loops)
    where = f"{kind} of {node.get('Relation Name') or node.get('Index Name')} in\n{query}"
    if kind == "Seq Scan" and node["Relation Name"] in TABLES:
        work.complaints.append(where)
    elif (("Scan" in kind and node.get("Relation Name") in TABLES) or kind == "Sort") and (
        seen > few
    ):
        work.complaints.append(f"{seen} rows: {where}")


class Skewed:
    """A queue full of history, and a few of its rows to work on."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._filled = 0
        self.fleet = fleet = make_fleet(db, agents=AGENTS, capacity=50)
        self.runtimes = [fleet.runtime, *(uuid.uuid4() for _ in range(RUNTIMES - 1))]
        with db.connect() as admin:
            for runtime in self.runtimes[1:]:
                fleet.call(admin, "put_runtime", runtime_id=runtime, daemon_id="daemon-1")
            for number, agent in enumerate(fleet.agents):
                home = self.runtimes[number // 2]
                fleet.call(admin, "bind_agent", agent_id=agent, runtime_id=home)
            fleet.call(admin, "heartbeat", runtime_ids=self.runtimes)
            self.issues = fleet.issues(admin, 500)
        self.queue(100)

    def queue(self, count: int) -> None:
        """Fill the table up to that many queued runs, and let the planner know."""
        given = {
            "agents": list(self.fleet.agents),
            "runtimes": self.runtimes,
            "issues": self.issues,
            "first": self._filled + 1,
            "last": OTHERS + count,
            "workspace": self.fleet.workspace,
            "owner": self.fleet.owner,
        }
        with self._db.connect() as admin:
            # Rows that are known to be right need no look at what they refer to.
            admin.execute("set session_replication_role = replica")
            for statement in (
                SPREAD, FILL_RUN, FILL_DETAIL, FILL_TRIGGER, FILL_COMMENT
            ):  # fmt: skip
                admin.execute(statement.encode(), given)
            admin.execute("vacuum (analyze)")
        self._filled = OTHERS + count

    def connect(self) -> Connection:
        """Open a session of its own."""
        return self._db.connect()

    def active(self, status: str) -> list[uuid.UUID]:
        """Read the ids of active runs of the first agent."""
        with self._db.connect() as admin:
            mine = "agent_id = %s and status = %s::dispatch.run_status"
            return [run["id"] for run in self.fleet.runs(admin, mine, self.fleet.agent, status)]


@dataclass(frozen=True)
class Hot:
    """A call that must stay cheap, and the indexes made for it."""

    name: str
    call: Callable[[Connection], Any]
    indexes: Sequence[str] = ()
    few: int = FEW_ROWS
    buffers: int = FEW_BUFFERS


def hot_calls(skewed: Skewed) -> Iterator[Hot]:
    """List the calls over the skewed table, each with what it should use."""
    fleet = skewed.fleet
    issue = skewed.issues[0]
    all_running = skewed.active("running")
    home = {"runtime_ids": [fleet.runtime]}
    dispatched: Row = {"run_id": skewed.active("dispatched")[0], "claim_no": 1}
    running: Row = {"run_id": all_running[0], "claim_no": 1}
    transition = ("run_pkey", "run_detail_pkey")

    def after(*tasks: Callable[[Connection], Any]) -> Callable[[Connection], None]:
        def run(connection: Connection) -> None:
            for task in tasks:
                task(connection)

        return run

    yield Hot(
        "claim_run",
        fleet.calling("claim_run", agent_id=fleet.agent),
        ("run_claim_order_idx", "run_active_lane_idx", "run_shared_lane_idx", "run_pkey"),
    )
    yield Hot(
        "claim_runs",
        fleet.calling("claim_runs", **home, max=5),
        (
            "run_queue_order_idx",
            "run_active_lane_idx",
            "run_shared_lane_idx",
            "run_due_idx",
            "run_stale_dispatch_idx",
        ),
    )
    yield Hot(
        "claim_runs of all agents",
        fleet.calling("claim_runs", runtime_ids=skewed.runtimes, max=20, start=True),
        ("run_queue_order_idx", "run_active_lane_idx"),
        few=1000,
        buffers=3000,
    )
    yield Hot(
        "reclaim_runs", fleet.calling("reclaim_runs", **home), ("run_stale_dispatch_idx",)
    )
    yield Hot("promote_deferred", fleet.calling("promote_deferred", **home), ("run_due_idx",))
    yield Hot(
        "queue_wake of a free pair",
        fleet.waking(issue_id=issue),
        ("run_pending_slot_idx", "run_detail_key_idx"),
    )
    yield Hot(
        "queue_wake of a busy pair",
        after(fleet.waking(issue_id=issue), fleet.waking(issue_id=issue)),
        ("run_pending_slot_idx", "run_trigger_pkey"),
    )
    yield Hot(
        "queue_wake of a known key",
        fleet.waking(idempotency_key="key-1000"),
        ("run_detail_key_idx",),
    )
    yield Hot(
        "queue_wakes of a hundred",
        fleet.calling(
            "queue_wakes",
            wakes=Jsonb(
                [
                    {"agent_id": str(fleet.agent), "reason": "work", "issue_id": str(each)}
                    for each in skewed.issues[:100]
                ]
            ),
        ),
        ("run_pending_slot_idx",),
        few=1000,
        buffers=10_000,
    )
    yield Hot("start_run", fleet.doing("start_run", **dispatched), transition)
    yield Hot("wait_run", fleet.doing("wait_run", **dispatched, wait_reason="busy"), transition)
    yield Hot("extend_lease", fleet.doing("extend_lease", **dispatched), transition)
    yield Hot("requeue_run", fleet.doing("requeue_run", **dispatched), transition)
    yield Hot(
        "defer_run",
        fleet.doing("defer_run", **running, until=datetime.now(UTC)),
        transition,
    )
    yield Hot("complete_run", fleet.doing("complete_run", **running), transition)
    yield Hot(
        "fail_run with a retry",
        fleet.doing("fail_run", **running, failure_reason="timeout"),
        (*transition, "run_trigger_pkey", "run_detail_parent_idx"),
    )
    yield Hot(
        "cancel_run",
        fleet.doing("cancel_run", run_id=running["run_id"], actor_type="system"),
        transition,
    )
    yield Hot(
        "complete_runs",
        fleet.calling(
            "complete_runs",
            reports=Jsonb([{"run_id": str(run), "claim_no": 1} for run in all_running]),
        ),
        transition,
        few=500,
        buffers=10_000,
    )
    yield Hot(
        "recover_runtime",
        fleet.calling("recover_runtime", runtime_id=fleet.runtime),
        ("run_active_lane_idx",),
        few=1000,
        buffers=30_000,
    )
    yield Hot(
        "an assignment",
        fleet.doing(
            "update_issue",
            issue_id=issue,
            changes={"assignee": {"type": "agent", "id": str(fleet.agent)}},
            actor_type="user",
            actor_id=fleet.owner,
        ),
        ("run_pending_slot_idx",),
    )
    spoken: Row = {"actor_type": "user", "actor_id": fleet.owner}
    named = Jsonb([{"type": "agent", "id": str(each)} for each in fleet.agents[:2]])
    about: Row = {"issue_id": issue, "body": "Please.", **spoken}
    with skewed.connect() as admin:
        ((old,),) = admin.execute(
            "select c.id from dispatch.comment as c where c.issue_id = %s limit 1", [issue]
        ).fetchall()

    def edited(connection: Connection) -> None:
        """Edit a comment that two runs stand for."""
        said = fleet.call(connection, "add_comment", mentions=named, **about)
        fleet.call(
            connection, "edit_comment", comment_id=said[0]["comment_id"], body="Better.",
            mentions=named, **spoken,
        )  # fmt: skip

    plans = ("run_detail_comment_idx", "run_trigger_comment_idx")
    yield Hot(
        "add_comment",
        fleet.calling("add_comment", mentions=named, **about),
        ("run_pending_slot_idx", "run_detail_key_idx"),
    )
    yield Hot(
        "add_comment as a reply",
        fleet.calling("add_comment", parent_id=old, **about),
        ("comment_pkey", *plans),
    )
    yield Hot("edit_comment", edited, ("comment_pkey", *plans), buffers=1000)
    yield Hot(
        "delete_comment",
        fleet.calling("delete_comment", comment_id=old, **spoken),
        ("comment_pkey", "comment_parent_idx", *plans),
    )
    yield Hot(
        "delete_issue",
        fleet.doing("delete_issue", issue_id=issue, actor_type="system"),
        ("run_detail_issue_idx", "run_pkey"),
        few=2000,
        buffers=60_000,
    )
    yield Hot(
        "archive_agent",
        fleet.doing("archive_agent", agent_id=fleet.agent),
        (),
        few=20_000,
        buffers=300_000,
    )


def judged(skewed: Skewed, db: Database) -> list[str]:
    """Make every hot call and collect what is wrong with it."""
    complaints: list[str] = []
    with db.connect() as connection:
        explained = Explained(connection)
        for hot in hot_calls(skewed):
            work = explained.work(hot.call, hot.few)
            found = [f"reads too much: {complaint}" for complaint in work.complaints]
            if missing := set(hot.indexes) - work.indexes:
                found.append(f"does not use {sorted(missing)} but {sorted(work.indexes)}")
            if work.buffers > hot.buffers:
                found.append(f"touches {work.buffers} buffers, at most {hot.buffers} expected")
            complaints += [f"{hot.name} {complaint}" for complaint in found]
            print(f"{hot.name}: {work.buffers} buffers, {sorted(work.indexes)}")
    return complaints


def test_hot_queries_use_their_indexes(db: Database) -> None:
    skewed = Skewed(db)
    complaints = judged(skewed, db)
    skewed.queue(100_000)
    complaints += [f"with 100,000 queued, {complaint}" for complaint in judged(skewed, db)]
    assert complaints == [], "\n\n".join(complaints)


def test_a_scan_is_complained_of(db: Database) -> None:
    """The test above would notice: statements that scan are not let through."""
    with db.connect() as connection:
        explained = Explained(connection)
        query = "select from dispatch.run as r where r.priority = 9"
        work = explained.work(lambda c: rows(c, query), FEW_ROWS)
        assert any("Seq Scan of run" in complaint for complaint in work.complaints)
        fleet = make_fleet(db)
        for _ in range(5):
            fleet.wake(connection)
        connection.execute("set enable_seqscan = off")
        query = "select from dispatch.run as r where r.status = 'queued' and r.attempt = 9"
        work = explained.work(lambda c: rows(c, query), 4)
        assert any("5 rows" in complaint for complaint in work.complaints)
