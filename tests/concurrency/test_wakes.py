"""Wakes by many sessions at once: one slot, one key, and no wake lost or delivered twice."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.concurrency.support import (
    Connection,
    Crew,
    Fleet,
    Row,
    background,
    make_fleet,
    payloads,
    rows,
    until_blocked,
)
from tests.support.servers import Database

DUPLICATE = {"duplicate_recent", "duplicate_key"}


def outcomes(answers: list[Row]) -> Counter[str]:
    """Count what became of wakes."""
    return Counter(answer["outcome"] for answer in answers)


def end(fleet: Fleet, connection: Connection, run: Row) -> Row:
    """Start a claimed run and complete it; give the answer to the start."""
    report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
    started = fleet.one(connection, "start_run", **report)
    assert started["applied"]
    assert fleet.one(connection, "complete_run", **report)["applied"]
    return started


def drain(fleet: Fleet, connection: Connection) -> list[Any]:
    """Claim and end what is left; give the payloads that were delivered."""
    delivered = []
    while claimed := fleet.claims(connection, 50, per_agent=50):
        delivered += payloads(claimed)
        for run in claimed:
            end(fleet, connection, run)
    return delivered


def test_two_wakes_of_a_pair_give_one_run_and_one_absorption(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for _ in range(100):
            answers = crew.together(
                *(fleet.waking(issue_id=issue, payload={"n": n}) for n in "ab")
            )
            assert outcomes(answers) == {"queued": 1, "absorbed": 1}
            assert {answer["reason_code"] for answer in answers} == {"queued", "already_active"}
            assert len({answer["run_id"] for answer in answers}) == 1
            (run,) = fleet.claim(admin)
            assert Counter(payload["n"] for payload in payloads([run])) == {"a": 1, "b": 1}
            end(fleet, admin, run)


def test_one_key_from_many_sessions_is_one_run(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 32) as crew:
        for number in range(100):
            key = f"key-{number}"
            answers = crew.together(fleet.waking(idempotency_key=key))
            assert outcomes(answers) == {"queued": 1, "deduplicated": 31}
            assert len({answer["run_id"] for answer in answers}) == 1
            assert answers[0]["run_id"] is not None
            codes = {a["reason_code"] for a in answers if a["outcome"] == "deduplicated"}
            assert codes <= DUPLICATE
        with db.connect() as admin:
            assert len(fleet.runs(admin)) == 100
            # The losers have taken back what they wrote before they met the key.
            assert len(rows(admin, "select from dispatch.run")) == 100


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_wake_waits_for_an_uncommitted_key(db: Database, ending: str) -> None:
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as first, db.connect() as second:
        held = fleet.wake(first, idempotency_key="k")
        with background(lambda: fleet.wake(second, idempotency_key="k")) as answer:
            until_blocked(db, second, first)
            getattr(first, ending)()
            decided = answer.result()
        if ending == "commit":
            assert decided["outcome"] == "deduplicated"
            assert decided["run_id"] == held["run_id"]
        else:
            assert decided["outcome"] == "queued"
            assert decided["run_id"] not in (None, held["run_id"])
        assert [run["id"] for run in fleet.runs(second)] == [decided["run_id"]]


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_wake_waits_for_an_uncommitted_slot(db: Database, ending: str) -> None:
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as first, db.connect() as second:
        (issue,) = fleet.issues(second, 1)
        held = fleet.wake(first, issue_id=issue, payload={"n": 1})
        with background(lambda: fleet.wake(second, issue_id=issue, payload={"n": 2})) as answer:
            until_blocked(db, second, first)
            getattr(first, ending)()
            decided = answer.result()
        (run,) = fleet.claim(second)
        assert run["run_id"] == decided["run_id"]
        if ending == "commit":
            assert decided["outcome"] == "absorbed"
            assert decided["run_id"] == held["run_id"]
            assert payloads([run]) == [{"n": 1}, {"n": 2}]
        else:
            assert decided["outcome"] == "queued"
            assert payloads([run]) == [{"n": 2}]


def test_a_key_of_another_agents_run_names_the_run_alone(db: Database) -> None:
    fleet = make_fleet(db, agents=2)
    with Crew(db, 2) as crew:
        for number in range(50):
            key = f"key-{number}"
            answers = crew.together(
                *(
                    lambda c, a=a, k=key: fleet.wake(c, a, idempotency_key=k)
                    for a in fleet.agents
                )
            )
            assert outcomes(answers) == {"queued": 1, "deduplicated": 1}
            (late,) = (answer for answer in answers if answer["outcome"] == "deduplicated")
            assert {answer["run_id"] for answer in answers} == {late["run_id"]}
            assert late["agent_id"] is None
            assert late["detail"] is None


def test_other_constraints_are_raised_as_they_are(db: Database) -> None:
    """Only the key's and the slot's own indexes are yielded to."""
    fleet = make_fleet(db)
    with db.connect() as admin:
        admin.execute(
            "alter table dispatch.run_detail add constraint no_such_reason"
            " check (reason <> 'odd')"
        )
        admin.execute(
            "create unique index one_priority on dispatch.run (workspace_id, priority)"
            " where priority = 7"
        )
        with pytest.raises(psycopg.errors.CheckViolation):
            fleet.wake(admin, reason="odd", idempotency_key="k")
        fleet.wake(admin, priority=7)
        with pytest.raises(psycopg.errors.UniqueViolation):
            fleet.wake(admin, priority=7)
        assert len(fleet.runs(admin)) == 1


@pytest.mark.parametrize("starts", [False, True], ids=["dispatched", "running"])
def test_every_wake_is_delivered_once_when_wakes_race_claims(
    db: Database, starts: bool
) -> None:
    fleet = make_fleet(db)
    delivered: list[Any] = []
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for number in range(500):
            answer, claimed = crew.together(
                fleet.waking(issue_id=issue, payload={"n": number}),
                fleet.calling("claim_runs", runtime_ids=[fleet.runtime], start=starts),
            )
            assert answer["outcome"] in ("queued", "absorbed")
            delivered += payloads(claimed)
            for run in claimed:
                report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
                if not starts:
                    assert fleet.one(admin, "start_run", **report)["applied"]
                assert fleet.one(admin, "complete_run", **report)["applied"]
            # Half of the rounds race for a run that waits already, half for one that does not.
            if number % 2:
                delivered += drain(fleet, admin)
        delivered += drain(fleet, admin)
        assert Counter(payload["n"] for payload in delivered) == dict.fromkeys(range(500), 1)


@pytest.mark.parametrize("move", ["start_run", "requeue_run", "fail_run", "wait_run"])
def test_a_wake_racing_a_transition_is_delivered_once(db: Database, move: str) -> None:
    fleet = make_fleet(db)
    more = {
        "fail_run": {"failure_reason": "agent_error.unknown"},
        "wait_run": {"wait_reason": "the directory is taken"},
    }
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for number in range(100):
            fleet.wake(admin, issue_id=issue, payload={"n": number, "by": "first"})
            (run,) = fleet.claim(admin)
            report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
            answer, moved = crew.together(
                fleet.waking(issue_id=issue, payload={"n": number, "by": "late"}),
                fleet.doing(move, **report, **more.get(move, {})),
            )
            assert moved["applied"]
            assert answer["outcome"] in ("queued", "absorbed")
            given = Counter(payload["by"] for payload in payloads([run]))
            assert given == {"first": 1}
            if move in ("start_run", "wait_run"):
                if move == "wait_run":
                    assert fleet.one(admin, "start_run", **report)["applied"]
                assert fleet.one(admin, "complete_run", **report)["applied"]
            again = Counter(payload["by"] for payload in drain(fleet, admin))
            # What goes back to the queue is delivered whole, all else only what came too late.
            wanted = {"late": 1, "first": 1} if move == "requeue_run" else {"late": 1}
            assert again == wanted


def test_promotion_racing_an_enqueue_of_the_pair_breaks_nothing(db: Database) -> None:
    fleet = make_fleet(db)
    now = db.set_clock()
    with Crew(db, 3) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        step = rows(admin, "select interval '10 s' as step")[0]["step"]
        for _ in range(100):
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            later = fleet.wake(admin, issue_id=issue, fire_at=now + step / 2)
            assert later["outcome"] == "deferred"
            now = db.set_clock(now + step)
            promoted, answer, claimed = crew.together(
                fleet.doing("promote_deferred"),
                fleet.waking(issue_id=issue),
                fleet.claims,
            )
            assert promoted["promote_deferred"] in (0, 1)
            assert answer["outcome"] in ("queued", "absorbed")
            live = fleet.runs(admin, "status in ('deferred', 'queued', 'dispatched')")
            assert len(live) == (2 if answer["outcome"] == "queued" else 1)
            slots = [run for run in live if run["status"] in ("queued", "dispatched")]
            assert len(slots) == 1
            for run in claimed:
                end(fleet, admin, run)
            drain(fleet, admin)
            assert fleet.runs(admin, "finished_at is null") == []


def test_due_runs_that_may_not_move_hide_no_others(db: Database) -> None:
    """Due runs whose slot is busy are the oldest, and yet another pair is promoted."""
    fleet = make_fleet(db, agents=2)
    alpha, beta = fleet.agents
    now = db.set_clock()
    with db.connect() as admin:
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        (issue,) = fleet.issues(admin, 1)
        stuck: dict[str, Any] = {
            "agent_id": str(alpha),
            "reason": "work",
            "issue_id": str(issue),
            "fire_at": (now + timedelta(seconds=1)).isoformat(),
        }
        fleet.call(admin, "queue_wakes", wakes=Jsonb([stuck] * 600))
        assert fleet.wake(admin, alpha, issue_id=issue)["outcome"] == "queued"
        wanted = fleet.wake(admin, beta, issue_id=issue, fire_at=now + timedelta(seconds=2))
        db.set_clock(now + timedelta(seconds=3))
        assert fleet.one(admin, "promote_deferred", max=1)["promote_deferred"] == 1
        (run,) = fleet.runs(admin, "id = %s", wanted["run_id"])
        assert run["status"] == "queued"
        fleet.claims(admin, 9, per_agent=9)

        again = fleet.wake(admin, beta, issue_id=issue, fire_at=now + timedelta(seconds=4))
        fleet.one(admin, "cancel_run", run_id=wanted["run_id"], actor_type="system")
        db.set_clock(now + timedelta(seconds=5))
        (claimed,) = fleet.claims(admin, 9, per_agent=9)
        assert claimed["run_id"] == again["run_id"]


def test_batches_in_opposite_order_do_not_deadlock(db: Database) -> None:
    fleet = make_fleet(db, agents=4)
    with Crew(db, 4) as crew, db.connect() as admin:
        issues = fleet.issues(admin, 10)
        for number in range(15):
            wakes = [
                {
                    "agent_id": str(agent),
                    "reason": "work",
                    "issue_id": str(issue),
                    "idempotency_key": f"{number}-{agent}-{issue}",
                }
                for agent in fleet.agents
                for issue in issues
            ]
            forth = Jsonb(wakes)
            back = Jsonb(wakes[::-1])
            answers = crew.together(
                *(
                    fleet.calling("queue_wakes", wakes=given)
                    for given in (forth, back, forth, back)
                )
            )
            decided = outcomes([row for answer in answers for row in answer])
            assert decided["queued"] == 40
            assert decided["absorbed"] + decided["deduplicated"] == 120
            fleet_runs = fleet.runs(admin, "status = 'queued'")
            assert len(fleet_runs) == 40
            for run in fleet_runs:
                fleet.one(admin, "cancel_run", run_id=run["id"], actor_type="system")


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_wakes_work_at_every_level(db: Database, level: str) -> None:
    fleet = make_fleet(db)
    with db.connect() as strict, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        strict.execute(f"set default_transaction_isolation = '{level}'".encode())
        assert fleet.wake(strict, issue_id=issue)["outcome"] == "queued"
        assert fleet.wake(strict, issue_id=issue)["outcome"] == "absorbed"
        assert fleet.wake(strict, idempotency_key="k")["outcome"] == "queued"
        assert fleet.wake(strict, idempotency_key="k")["outcome"] == "deduplicated"
        batch = [{"agent_id": str(fleet.agent), "reason": "work"}] * 3
        answers = fleet.call(strict, "queue_wakes", wakes=Jsonb(batch))
        assert outcomes(answers) == {"queued": 3}
        assert len(fleet.claims(admin, 9, per_agent=9)) == 2


def test_a_slot_taken_behind_an_old_snapshot_is_a_serialization_failure(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as strict, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        strict.execute("set transaction isolation level repeatable read")
        rows(strict, "select 1 as snapshot")
        fleet.wake(admin, issue_id=issue, idempotency_key="k")
        with pytest.raises(psycopg.errors.SerializationFailure):
            fleet.wake(strict, issue_id=issue)
        strict.rollback()
        strict.execute("set transaction isolation level repeatable read")
        rows(strict, "select 1 as snapshot")
        fleet.wake(admin, idempotency_key="l")
        with pytest.raises(psycopg.errors.SerializationFailure):
            fleet.wake(strict, idempotency_key="l")


def test_an_end_frees_the_slot_at_once(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for ending in ("complete_run", "fail_run", "cancel_run", "recover_runtime"):
            key = f"key-{ending}"
            asked = fleet.wake(admin, issue_id=issue, idempotency_key=key, max_attempts=1)
            assert asked["outcome"] == "queued"
            (run,) = fleet.claim(admin)
            report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
            assert fleet.one(admin, "start_run", **report)["applied"]
            if ending == "recover_runtime":
                fleet.one(admin, ending, runtime_id=fleet.runtime)
            elif ending == "cancel_run":
                fleet.one(admin, ending, run_id=run["run_id"], actor_type="system")
            else:
                fleet.one(admin, ending, **report)
            # The key stays taken by the run that has ended, the slot does not.
            again = fleet.wake(admin, issue_id=issue, idempotency_key=key)
            assert again["outcome"] == "deduplicated"
            assert again["run_id"] == run["run_id"]
            fresh = fleet.wake(admin, issue_id=issue)
            assert fresh["outcome"] == "queued"
            fleet.one(admin, "cancel_run", run_id=fresh["run_id"], actor_type="system")


def test_unknown_agents_are_decisions_and_leave_the_batch(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        batch = [
            {"agent_id": str(agent), "reason": "work"}
            for agent in (fleet.agent, uuid.uuid4(), fleet.agent)
        ]
        answers = fleet.call(admin, "queue_wakes", wakes=Jsonb(batch))
        assert [answer["outcome"] for answer in answers] == ["queued", "blocked", "queued"]
        assert answers[1]["reason_code"] == "invocation_not_allowed"
