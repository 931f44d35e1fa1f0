"""Sweeps among themselves and against whoever still reports: each run is ended once."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from tests.concurrency.support import (
    Connection,
    Crew,
    Fleet,
    Row,
    background,
    deadlocks,
    make_fleet,
    rows,
    until_blocked,
)
from tests.support.servers import Database

RUNNING = """
with made as (
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, lane, status, claim_no, requested_at,
        dispatched_at, started_at, lease_expires_at
    )
    select
        %(ws)s, g.id, %(agent)s, %(runtime)s, g.id, 'running', 1,
        dispatch.clock() - %(age)s::interval, dispatch.clock() - %(age)s::interval,
        dispatch.clock() - %(age)s::interval, dispatch.clock() + %(lease)s::interval
    from (select gen_random_uuid() as id from generate_series(1, %(count)s)) as g
    returning id, requested_at
)
insert into dispatch.run_detail (
    workspace_id, run_id, requested_at, reason, source, payload, actor_type,
    attribution_source, chat_session_id
)
select
    %(ws)s, m.id, m.requested_at, 'work', 'wake', '{}', 'system', 'owner_fallback', m.id
from made as m
returning run_id
"""


def in_hand(
    fleet: Fleet, connection: Connection, count: int, age: str, lease: str | None
) -> set[uuid.UUID]:
    """Store runs that have been running for so long, with a lease that ends so much later."""
    given: Row = {"ws": fleet.workspace, "agent": fleet.agent, "runtime": fleet.runtime}
    found = rows(connection, RUNNING, given | {"age": age, "lease": lease, "count": count})
    return {row["run_id"] for row in found}


def sweep(connection: Connection, most: int = 500, only: str | None = None) -> dict[str, int]:
    """Make the sweeps, or one of them; give how many rows each has handled."""
    query = "select s.sweep, s.runs from dispatch.sweep(%s, %s) as s"
    return {row["sweep"]: row["runs"] for row in rows(connection, query, [most, only])}


def claimed(fleet: Fleet, connection: Connection, **given: Any) -> Row:
    """Wake the agent and claim the run; give its report."""
    fleet.wake(connection, **given)
    (run,) = fleet.claim(connection)
    return {"run_id": run["run_id"], "claim_no": run["claim_no"]}


def test_liveness_and_not_age_decides(db: Database) -> None:
    """R08: a thousand healthy runs never stop a sweep from reaching the three that are not."""
    db.set_clock()
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        healthy = in_hand(fleet, admin, 1000, "5 hours", "1 minute")
        stale = in_hand(fleet, admin, 3, "10 minutes", "-1 second")
        whole = (
            "select r::text as row from dispatch.run as r where r.id = any(%s) order by r.id"
        )
        before = rows(admin, whole, [list(healthy)])
        handled = crew.together(lambda connection: sweep(connection, 100)["running"])
        handled.append(sweep(admin, 100)["running"])
        assert sum(handled) == 3
        failed = fleet.runs(admin, "status = 'failed'")
        assert {run["id"] for run in failed} == stale
        assert Counter(run["parent_run_id"] for run in fleet.runs(admin, "attempt = 2")) == (
            Counter(stale)
        )
        for _ in range(50):
            assert sweep(admin, 100, "running") == {"running": 0}
        assert rows(admin, whole, [list(healthy)]) == before


def test_four_sweeps_over_twenty_expired_runs(db: Database) -> None:
    """R15: twenty children, whoever notices the failures."""
    fleet = make_fleet(db)
    with Crew(db, 4) as crew, db.connect() as admin:
        for number in range(10):
            expired = in_hand(fleet, admin, 20, "1 hour", "-1 second")
            handled = crew.together(lambda connection: sweep(connection, 500, "running"))
            left = sweep(admin, 500, "running")["running"]
            assert sum(each["running"] for each in handled) + left == 20
            children = fleet.runs(admin, "parent_run_id = any(%s)", list(expired))
            assert Counter(run["parent_run_id"] for run in children) == Counter(expired)
            assert {run["status"] for run in children} == {"queued"}
            assert len(fleet.runs(admin)) == 40 * (number + 1)
    assert deadlocks(db) == 0


def test_a_failure_racing_a_sweep_has_one_child(db: Database) -> None:
    """R15: of a daemon and a sweep one ends the run, and the child is that one's."""
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        won: Counter[str] = Counter()
        (issue,) = fleet.issues(admin, 1)
        for _ in range(200):
            report = claimed(fleet, admin, issue_id=issue)
            fleet.one(admin, "start_run", **report, lease=timedelta(seconds=60))
            expire(admin, report)
            failed, swept = crew.together(
                fleet.doing("fail_run", **report, failure_reason="runtime_recovery"),
                lambda connection: sweep(connection, 500, "running"),
            )
            assert failed["applied"] != (swept["running"] == 1)
            (parent,) = fleet.runs(admin, "id = %s", report["run_id"])
            reason = "runtime_recovery" if failed["applied"] else "timeout"
            assert (parent["status"], parent["failure_reason"]) == ("failed", reason)
            (child,) = fleet.runs(admin, "parent_run_id = %s", report["run_id"])
            assert (child["attempt"], child["status"]) == (2, "queued")
            fleet.one(admin, "cancel_run", run_id=child["id"], actor_type="system")
            won[reason] += 1
        assert len(won) == 2, f"only one side ever won, so nothing was raced: {won}"


def expire(admin: Connection, report: Row) -> None:
    """Let the lease of a run have ended a second ago."""
    rows(
        admin,
        "update dispatch.run as r set lease_expires_at = dispatch.clock() - interval '1 second'"
        " where r.id = %s",
        [report["run_id"]],
    )


def test_a_lease_that_is_extended_first_keeps_its_run(db: Database) -> None:
    """R09: a sweep that meets an extension waits for nobody and judges the row as it stands."""
    fleet = make_fleet(db)
    now = db.set_clock()
    with Crew(db, 2) as crew, db.connect() as admin:
        ended: Counter[bool] = Counter()
        for number in range(100):
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            report = claimed(fleet, admin, chat_session_id=uuid.uuid4())
            fleet.one(admin, "start_run", **report, lease=timedelta(seconds=60))
            # On the boundary the lease still lasts; just past it the sweep may have it.
            now = db.set_clock(now + timedelta(seconds=60, microseconds=number % 2))
            extended, swept = crew.together(
                fleet.doing("extend_lease", **report, lease=timedelta(seconds=60)),
                lambda connection: sweep(connection, 500, "running"),
            )
            assert not (extended["applied"] and swept["running"])
            assert extended["applied"] == (number % 2 == 0)
            if not extended["applied"]:
                assert extended["reason"] in ("lease_expired", "already_terminal")
                sweep(admin, 500, "running")
            (run,) = fleet.runs(admin, "id = %s", report["run_id"])
            assert (run["status"] == "running") == extended["applied"]
            ended[extended["applied"]] += 1
            for left in fleet.runs(admin, "status in ('queued', 'running')"):
                fleet.one(admin, "cancel_run", run_id=left["id"], actor_type="system")
        assert ended == {True: 50, False: 50}


def test_a_lease_extended_while_the_sweep_waits(db: Database) -> None:
    """What was judged before the locks is judged again under them."""
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin, db.connect() as sweeper, db.connect(autocommit=False) as holder:
        (issue,) = fleet.issues(admin, 1)
        report = claimed(fleet, admin, issue_id=issue)
        fleet.one(admin, "start_run", **report, lease=timedelta(seconds=60))
        expire(admin, report)
        # The sweep locks the issue before the run.
        rows(holder, "select from dispatch.issue as i where i.id = %s for update", [issue])
        with background(lambda: sweep(sweeper, 500, "running")) as swept:
            until_blocked(db, sweeper, holder)
            rows(
                admin,
                "update dispatch.run as r"
                " set lease_expires_at = dispatch.clock() + interval '1 minute'"
                " where r.id = %s",
                [report["run_id"]],
            )
            holder.rollback()
            assert swept.result() == {"running": 0}
        (run,) = fleet.runs(admin)
        assert run["status"] == "running"


@pytest.mark.parametrize("reporting", ["start_run", "complete_run", "requeue_run"])
def test_a_report_racing_a_sweep(db: Database, reporting: str) -> None:
    """Either the report applies or the sweep ends the run, never both."""
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        kind = "running" if reporting == "complete_run" else "dispatched"
        for _ in range(60):
            report = claimed(fleet, admin, chat_session_id=uuid.uuid4(), max_attempts=1)
            if reporting == "complete_run":
                fleet.one(admin, "start_run", **report, lease=timedelta(seconds=60))
            rows(
                admin,
                "update dispatch.run as r"
                " set dispatched_at = r.dispatched_at - interval '1 hour' where r.id = %s",
                [report["run_id"]],
            )
            expire(admin, report)
            answer, swept = crew.together(
                fleet.doing(reporting, **report),
                lambda connection: sweep(connection, 500, kind),
            )
            assert answer["applied"] != (swept[kind] == 1)
            (run,) = fleet.runs(admin, "id = %s", report["run_id"])
            assert (run["status"] == "failed") != answer["applied"]
            if run["status"] not in ("failed", "completed"):
                fleet.one(admin, "cancel_run", run_id=run["id"], actor_type="system")


def test_what_expires_in_the_queue_is_not_claimed(db: Database) -> None:
    """A claim and the sweep of the queue share the runs; each is moved once."""
    fleet = make_fleet(db, capacity=50)
    now = db.set_clock()
    with Crew(db, 4) as crew, db.connect() as admin:
        for _ in range(20):
            for _ in range(10):
                fleet.wake(admin, chat_session_id=uuid.uuid4())
            now = db.set_clock(now + timedelta(hours=2, seconds=1))
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            got = crew.together(
                fleet.calling("claim_runs", runtime_ids=[fleet.runtime], max=5, per_agent=5),
                lambda connection: sweep(connection, 5, "queued"),
                fleet.calling("claim_runs", runtime_ids=[fleet.runtime], max=5, per_agent=5),
                lambda connection: sweep(connection, 5, "queued"),
            )
            handed = [run["run_id"] for run in got[0] + got[2]]
            assert len(set(handed)) == len(handed)
            ended = Counter(run["status"] for run in fleet.runs(admin))
            assert ended["dispatched"] == len(handed)
            assert ended["failed"] == got[1]["queued"] + got[3]["queued"]
            assert sum(ended.values()) == 10
            rows(admin, "delete from dispatch.run as r")
    assert deadlocks(db) == 0


def test_a_heartbeat_keeps_its_runtime_online(db: Database) -> None:
    """A runtime is set offline by what is true under its lock."""
    db.set_clock()
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        for _ in range(50):
            db.advance(timedelta(minutes=5))
            crew.together(
                fleet.calling("heartbeat", runtime_ids=[fleet.runtime]),
                lambda connection: sweep(connection, 500, "runtimes"),
            )
            (runtime,) = rows(
                admin, "select r.status, r.last_seen_at from dispatch.runtime as r"
            )
            assert runtime["status"] == "online"
            assert runtime["last_seen_at"] == db.value("select dispatch.clock()")
