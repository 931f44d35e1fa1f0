"""Reruns against whoever else moves the pair's runs: no wake is lost, nothing started ends."""

from __future__ import annotations

import uuid
from collections import Counter
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
    payloads,
    rows,
    until_blocked,
)
from tests.support.servers import Database


def report_of(run: Row) -> Row:
    """Name a claimed run and its claim."""
    return {"run_id": run["run_id"], "claim_no": run["claim_no"]}


def rerunning(fleet: Fleet, run: uuid.UUID) -> Any:
    """Make a task for a crew: a rerun asked for by the owner."""
    return fleet.doing("rerun", run_id=run, actor_type="user", actor_id=fleet.owner)


def drained(fleet: Fleet, connection: Connection) -> list[int]:
    """Do all that is queued; list the numbers of the wakes that were delivered."""
    numbers = []
    while claimed := fleet.claims(connection, start=True):
        numbers += [payload["n"] for payload in payloads(claimed)]
        for run in claimed:
            fleet.one(connection, "complete_run", **report_of(run))
    return sorted(numbers)


def test_a_wake_racing_a_rerun_is_not_lost(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        came: Counter[str] = Counter()
        for number in range(150):
            asked = fleet.wake(admin, issue_id=issue, payload={"n": 1})
            if number % 2:
                # The slot is free, so the wake and the rerun both want it.
                assert drained(fleet, admin) == [1]
            again, woken = crew.together(
                rerunning(fleet, asked["run_id"]),
                fleet.waking(issue_id=issue, payload={"n": 2}, coalesce=False),
            )
            assert again["outcome"] == "queued"
            assert again["source"] == "rerun"
            came[woken["outcome"]] += 1
            assert drained(fleet, admin) == [1, 2]
        assert set(came) == {"queued", "absorbed"}, f"nothing was raced: {came}"
    assert deadlocks(db) == 0


def test_what_was_started_meanwhile_is_left_to_end(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        won: Counter[str] = Counter()
        for _ in range(150):
            fleet.wake(admin, issue_id=issue, payload={"n": 1})
            (run,) = fleet.claim(admin)
            again, started = crew.together(
                rerunning(fleet, run["run_id"]), fleet.doing("start_run", **report_of(run))
            )
            assert again["outcome"] == "queued"
            (first,) = fleet.runs(admin, "id = %s", run["run_id"])
            assert first["status"] == ("running" if started["applied"] else "cancelled")
            won[first["status"]] += 1
            if started["applied"]:
                assert fleet.claims(admin) == []
                assert fleet.one(admin, "complete_run", **report_of(run))["applied"]
            assert drained(fleet, admin) == [1]
        assert len(won) == 2, f"only one side ever won, so nothing was raced: {won}"


def test_a_start_that_a_rerun_waits_for_wins(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin, db.connect() as asking, db.connect(autocommit=False) as daemon:
        (issue,) = fleet.issues(admin, 1)
        fleet.wake(admin, issue_id=issue, payload={"n": 1})
        (run,) = fleet.claim(admin)
        assert fleet.one(daemon, "start_run", **report_of(run))["applied"]
        with background(lambda: rerunning(fleet, run["run_id"])(asking)) as again:
            until_blocked(db, asking, daemon)
            daemon.commit()
            assert again.result()["outcome"] == "queued"
        (first,) = fleet.runs(admin, "id = %s", run["run_id"])
        assert first["status"] == "running"


def test_a_failure_racing_a_rerun_leaves_one_live_run(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        retried: Counter[bool] = Counter()
        for number in range(150):
            fleet.wake(admin, issue_id=issue, payload={"n": 1})
            (run,) = fleet.claims(admin, start=True)
            reason = ("timeout", "runtime_offline")[number % 2]
            again, failed = crew.together(
                rerunning(fleet, run["run_id"]),
                fleet.doing("fail_run", **report_of(run), failure_reason=reason),
            )
            assert again["outcome"] == "queued"
            assert failed["applied"]
            retried[failed["retry_run_id"] is not None] += 1
            assert drained(fleet, admin) == [1]
            live = fleet.runs(admin, "status not in ('completed', 'failed', 'cancelled')")
            assert live == []
        assert retried[True]
    assert deadlocks(db) == 0


@pytest.mark.parametrize("waiting", [True, False])
def test_reruns_of_one_pair_follow_each_other(db: Database, waiting: bool) -> None:
    fleet = make_fleet(db)
    with Crew(db, 4) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for _ in range(40):
            asked = fleet.wake(admin, issue_id=issue, payload={"n": 1})
            if not waiting:
                assert drained(fleet, admin) == [1]
            made = crew.together(rerunning(fleet, asked["run_id"]))
            assert {again["outcome"] for again in made} == {"queued"}
            assert len({again["run_id"] for again in made}) == 4
            (left,) = fleet.runs(admin, "status = 'queued'")
            assert left["id"] in {again["run_id"] for again in made}
            assert drained(fleet, admin) == [1]
    assert deadlocks(db) == 0


def test_a_pause_between_the_gates_and_the_insert(db: Database) -> None:
    """The gates are asked once: what passed them is queued, nothing is cancelled in vain."""
    fleet = make_fleet(db)
    with db.connect() as admin, db.connect() as asking, db.connect(autocommit=False) as holder:
        (issue,) = fleet.issues(admin, 1)
        asked = fleet.wake(admin, issue_id=issue, payload={"n": 1})
        rows(
            holder,
            "select from dispatch.run as r where r.id = %s for update",
            [asked["run_id"]],
        )
        with background(lambda: rerunning(fleet, asked["run_id"])(asking)) as again:
            until_blocked(db, asking, holder)
            fleet.call(admin, "pause_workspace", actor_type="system", reason="holiday")
            holder.rollback()
            assert again.result()["outcome"] == "queued"
        fleet.call(admin, "resume_workspace", actor_type="system")
        assert drained(fleet, admin) == [1]


def test_an_archive_that_comes_first_refuses_the_rerun(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin, db.connect() as asking, db.connect(autocommit=False) as owner:
        (issue,) = fleet.issues(admin, 1)
        asked = fleet.wake(admin, issue_id=issue, payload={"n": 1})
        fleet.call(owner, "archive_agent", agent_id=fleet.agent)
        with background(lambda: rerunning(fleet, asked["run_id"])(asking)) as again:
            until_blocked(db, asking, owner)
            owner.commit()
            assert again.result()["reason_code"] == "target_unavailable"
        assert [run["status"] for run in fleet.runs(admin)] == ["cancelled"]
