"""Deferred runs are queued at their time, once, by however many promoters."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import timedelta

from tests.concurrency.support import Connection, Crew, deadlocks, make_fleet, payloads, rows
from tests.support.servers import Database


def tick(connection: Connection, only: str | None = None) -> dict[str, int]:
    """Make a tick, or one step of it; give how many rows each step has handled."""
    found = rows(connection, "select t.step, t.rows from dispatch.tick(%s) as t", [only])
    return {row["step"]: row["rows"] for row in found}


def test_many_promoters_queue_each_run_once(db: Database) -> None:
    """R14: promoters, claims and ticks at once; one a pair, and each run handed out once."""
    fleet = make_fleet(db, agents=3, capacity=50)
    now = db.set_clock()
    with Crew(db, 8) as crew, db.connect() as admin:
        issues = fleet.issues(admin, 4)
        for _ in range(15):
            due = now + timedelta(minutes=1)
            asked = [
                fleet.wake(
                    admin,
                    agent,
                    fire_at=due,
                    payload={"n": number},
                    issue_id=issues[number % 4] if number % 2 else None,
                    chat_session_id=None if number % 2 else uuid.uuid4(),
                )
                for agent in fleet.agents
                for number in range(12)
            ]
            assert {answer["outcome"] for answer in asked} == {"deferred"}
            early = crew.together(fleet.doing("promote_deferred"))
            assert [row["promote_deferred"] for row in early] == [0] * 8
            now = db.set_clock(due)
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            claim = fleet.calling(
                "claim_runs", runtime_ids=[fleet.runtime], max=99, per_agent=9
            )
            promote = fleet.doing("promote_deferred")
            got = crew.together(
                claim,
                promote,
                promote,
                lambda connection: tick(connection, "promote"),
                claim,
                promote,
                lambda connection: tick(connection, "promote"),
                promote,
            )
            handed = got[0] + got[4]
            while left := fleet.runs(admin, "status not in ('completed', 'cancelled')"):
                for run in handed:
                    report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
                    assert fleet.one(admin, "start_run", **report)["applied"]
                    assert fleet.one(admin, "complete_run", **report)["applied"]
                more = claim(admin)
                assert more or len(handed) == len(left)
                handed = more
            found = fleet.runs(admin, "id = any(%s)", [answer["run_id"] for answer in asked])
            assert Counter(run["claim_no"] for run in found) == {1: len(asked)}
            rows(admin, "delete from dispatch.run as r")
    assert deadlocks(db) == 0


def test_one_of_a_pair_is_queued_by_racing_promoters(db: Database) -> None:
    """R2: the best of the due runs of a pair takes the slot, the others stay due."""
    fleet = make_fleet(db)
    now = db.set_clock()
    with Crew(db, 4) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for _ in range(30):
            due = now + timedelta(seconds=10)
            asked = [
                fleet.wake(admin, issue_id=issue, fire_at=due, priority=priority)["run_id"]
                for priority in (0, 2, 1)
            ]
            now = db.set_clock(due)
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            moved = crew.together(fleet.doing("promote_deferred"))
            assert sum(row["promote_deferred"] for row in moved) == 1
            assert [run["id"] for run in fleet.runs(admin, "status = 'queued'")] == [asked[1]]
            rows(admin, "delete from dispatch.run as r")


def test_a_promotion_racing_a_wake_keeps_the_slot(db: Database) -> None:
    """Whoever comes second meets the other's run; no wake is lost."""
    fleet = make_fleet(db)
    now = db.set_clock()
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        first: Counter[str] = Counter()
        for _ in range(100):
            due = now + timedelta(seconds=10)
            fleet.wake(admin, issue_id=issue, fire_at=due, payload={"n": 1})
            now = db.set_clock(due)
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            _, woken = crew.together(
                fleet.doing("promote_deferred"),
                fleet.waking(issue_id=issue, payload={"n": 2}),
            )
            first[woken["outcome"]] += 1
            delivered = []
            while claimed := fleet.claims(admin):
                delivered += payloads(claimed)
                (run,) = claimed
                report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
                fleet.one(admin, "start_run", **report)
                fleet.one(admin, "complete_run", **report)
            assert sorted(payload["n"] for payload in delivered) == [1, 2]
        assert set(first) <= {"queued", "absorbed"}


def test_a_week_is_not_stale(db: Database) -> None:
    """R14: put off by seven days it survives every tick, and is handed out once, in time."""
    fleet = make_fleet(db)
    start = db.set_clock()
    due = start + timedelta(days=7)
    with db.connect() as admin:
        asked = fleet.wake(admin, fire_at=due)
        for hours in range(6, 7 * 24, 6):
            db.set_clock(start + timedelta(hours=hours))
            if hours % 12:
                fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            tick(admin)
            assert fleet.claims(admin) == []
            assert [run["status"] for run in fleet.runs(admin)] == ["deferred"]
        # The runtime is away when the time comes, and longer than a queued run may wait.
        db.set_clock(due + timedelta(hours=5))
        assert tick(admin)["promote"] == 0
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        assert tick(admin) == {"replay": 0, "promote": 1, "sweep": 0, "prune": 0}
        (run,) = fleet.claims(admin)
        assert (run["run_id"], run["claim_no"], run["attempt"]) == (asked["run_id"], 1, 1)
        assert fleet.claims(admin) == []


def test_putting_off_uses_up_no_attempt(db: Database) -> None:
    """R14: one attempt allowed, put off ten times by its daemon, and then completed."""
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        fleet.wake(admin, max_attempts=1)
        for number in range(1, 11):
            (run,) = fleet.claims(admin)
            assert (run["claim_no"], run["attempt"]) == (number, 1)
            report = {"run_id": run["run_id"], "claim_no": number}
            fleet.one(admin, "start_run", **report)
            # A time in the past means at once.
            later = timedelta(hours=1) if number % 2 else timedelta(hours=-1)
            until = db.value("select dispatch.clock()") + later
            assert fleet.one(admin, "defer_run", **report, until=until)["applied"]
            if number % 2:
                assert fleet.claims(admin) == []
                db.advance(timedelta(hours=1))
                fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            assert tick(admin)["sweep"] == 0
        (run,) = fleet.claims(admin, start=True)
        report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
        assert fleet.one(admin, "complete_run", **report)["applied"]
        assert [run["status"] for run in fleet.runs(admin)] == ["completed"]
