"""A session that dies in the middle of a call leaves nothing half done.

Each session is killed while it provably stands inside its call, behind writes that it has made
already: it waits for a row that another session holds.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.concurrency.support import (
    Connection,
    Fleet,
    Row,
    background,
    make_fleet,
    payloads,
    rows,
    until,
    until_blocked,
)
from tests.support.servers import Database

STATE = """
select 'run' as what, r::text as row from dispatch.run as r
union all
select 'run_detail', d::text from dispatch.run_detail as d
union all
select 'run_trigger', t::text from dispatch.run_trigger as t
union all
select 'gate_event', e::text from dispatch.gate_event as e
order by 1, 2
"""

HOLD_TRIGGERS = "select from dispatch.run_trigger as t where t.run_id = %s for update"
HOLD_DETAIL = "select from dispatch.run_detail as d where d.run_id = %s for update"


def kill_inside(
    db: Database,
    call: Callable[[Connection], Any],
    hold: Callable[[Connection], Any],
) -> None:
    """Make a call in a session that is killed inside it, and see that nothing has changed."""
    with (
        db.connect() as admin,
        db.connect() as victim,
        db.connect(autocommit=False) as holder,
    ):
        before = rows(admin, STATE)
        hold(holder)
        with background(lambda: call(victim)) as answer:
            until_blocked(db, victim, holder)
            pid = victim.info.backend_pid
            rows(admin, "select pg_terminate_backend(%s)", [pid])
            with pytest.raises(psycopg.OperationalError):
                answer.result()
        alive = "select from pg_stat_activity as a where a.pid = %s"
        until(lambda: not rows(admin, alive, [pid]), "the killed session has ended")
        holder.rollback()
        assert rows(admin, STATE) == before


def prepared(fleet: Fleet, connection: Connection) -> uuid.UUID:
    """Make an issue with a queued run that has absorbed a wake; give the run's id."""
    (issue,) = fleet.issues(connection, 1)
    asked = fleet.wake(connection, issue_id=issue, payload={"n": 1})
    assert fleet.wake(connection, issue_id=issue, payload={"n": 2})["outcome"] == "absorbed"
    run: uuid.UUID = asked["run_id"]
    return run


def claimed(fleet: Fleet, connection: Connection) -> Row:
    """Claim the fleet's run; give its report."""
    (run,) = fleet.claim(connection)
    return {"run_id": run["run_id"], "claim_no": run["claim_no"]}


@pytest.mark.parametrize("function", ["claim_run", "claim_runs", "claim_runs to running"])
def test_a_claim(db: Database, function: str) -> None:
    fleet = make_fleet(db)
    calls: dict[str, Callable[[Connection], Any]] = {
        "claim_run": fleet.claim,
        "claim_runs": fleet.claims,
        "claim_runs to running": lambda c: fleet.claims(c, start=True),
    }
    with db.connect() as admin:
        run = prepared(fleet, admin)
        kill_inside(db, calls[function], lambda c: rows(c, HOLD_TRIGGERS, [run]))
        (again,) = fleet.claim(admin)
        assert again["run_id"] == run
        assert again["claim_no"] == 1
        assert payloads([again]) == [{"n": 1}, {"n": 2}]


def test_a_start_with_a_follow_up(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        report = claimed(fleet, admin)
        (stored,) = fleet.runs(admin)
        late = fleet.wake(admin, issue_id=stored["issue_id"], payload={"n": 3})
        assert late["outcome"] == "absorbed"
        kill_inside(
            db,
            fleet.doing("start_run", **report),
            lambda c: rows(c, HOLD_TRIGGERS, [run]),
        )
        started = fleet.one(admin, "start_run", **report)
        assert started["applied"]
        assert started["follow_up_run_id"] is not None
        assert len(fleet.runs(admin)) == 2


def test_a_completion(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        report = claimed(fleet, admin)
        fleet.one(admin, "start_run", **report)
        kill_inside(
            db,
            fleet.doing("complete_run", **report, result={"done": True}),
            lambda c: rows(c, HOLD_DETAIL, [run]),
        )
        assert fleet.one(admin, "complete_run", **report, result={"done": True})["applied"]
        (stored,) = fleet.runs(admin)
        assert stored["status"] == "completed"
        assert stored["result"] == {"done": True}


def test_a_failure_with_a_retry(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        report = claimed(fleet, admin)
        issue = fleet.runs(admin)[0]["issue_id"]
        assert fleet.wake(admin, issue_id=issue, payload={"n": 3})["outcome"] == "absorbed"
        failure = {**report, "failure_reason": "timeout"}
        kill_inside(
            db,
            fleet.doing("fail_run", **failure),
            lambda c: rows(c, HOLD_TRIGGERS, [run]),
        )
        failed = fleet.one(admin, "fail_run", **failure)
        assert failed["applied"]
        assert failed["retry_run_id"] is not None
        (child,) = fleet.claim(admin)
        assert child["run_id"] == failed["retry_run_id"]
        assert payloads([child]) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_wake_that_inserts(db: Database) -> None:
    fleet = make_fleet(db)
    kill_inside(
        db,
        fleet.waking(idempotency_key="k"),
        lambda c: fleet.wake(c, idempotency_key="k"),
    )
    with db.connect() as admin:
        assert fleet.wake(admin, idempotency_key="k")["outcome"] == "queued"
        assert len(fleet.runs(admin)) == 1


def test_a_wake_that_is_absorbed(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        issue = fleet.runs(admin)[0]["issue_id"]
        again: Row = {"issue_id": issue, "payload": {"n": 2}}
        kill_inside(db, fleet.waking(**again), lambda c: rows(c, HOLD_TRIGGERS, [run]))
        assert fleet.wake(admin, **again)["outcome"] == "absorbed"
        assert payloads(fleet.claim(admin)) == [{"n": 1}, {"n": 2}, {"n": 2}]


def test_a_batch_of_wakes(db: Database) -> None:
    fleet = make_fleet(db)
    batch = [
        {"agent_id": str(fleet.agent), "reason": "work", "idempotency_key": key}
        for key in ("a", "b", "c")
    ]
    wakes = psycopg.types.json.Jsonb(batch)
    kill_inside(
        db,
        fleet.calling("queue_wakes", wakes=wakes),
        lambda c: fleet.wake(c, idempotency_key="b"),
    )
    with db.connect() as admin:
        answers = fleet.call(admin, "queue_wakes", wakes=wakes)
        assert [answer["outcome"] for answer in answers] == ["queued"] * 3
