"""Transitions that race: one of them applies, the others say why not, and nobody deadlocks."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Callable
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
    deadlocks,
    make_fleet,
    rows,
    until_blocked,
    until_waiting,
)
from tests.support.servers import Database


def report_of(run: Row) -> Row:
    """Name a claimed run and its claim."""
    return {"run_id": run["run_id"], "claim_no": run["claim_no"]}


def test_requeue_and_start_exclude_each_other(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        fleet.wake(admin)
        won: Counter[str] = Counter()
        for _ in range(200):
            (run,) = fleet.claim(admin)
            report = report_of(run)
            requeued, started = crew.together(
                fleet.doing("requeue_run", **report),
                fleet.doing("start_run", **report),
            )
            assert requeued["applied"] != started["applied"]
            loser = started if requeued["applied"] else requeued
            assert loser["reason"] == "wrong_state"
            won["requeue" if requeued["applied"] else "start"] += 1
            if started["applied"]:
                assert fleet.one(admin, "complete_run", **report)["applied"]
                fleet.wake(admin)
        assert len(won) == 2, f"only one side ever won, so nothing was raced: {won}"


def test_a_start_racing_a_reclaim_is_applied_or_superseded(db: Database) -> None:
    fleet = make_fleet(db)
    now = db.set_clock()
    with Crew(db, 2) as crew, db.connect() as admin:
        for _ in range(100):
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            fleet.wake(admin)
            (run,) = fleet.claim(admin)
            now = db.set_clock(now + timedelta(seconds=91))
            started, reclaimed = crew.together(
                fleet.doing("start_run", **report_of(run)),
                fleet.calling("reclaim_runs", runtime_ids=[fleet.runtime]),
            )
            if started["applied"]:
                assert reclaimed == []
                last = report_of(run)
            else:
                assert started["reason"] == "superseded"
                (again,) = reclaimed
                assert again["run_id"] == run["run_id"]
                assert again["claim_no"] == run["claim_no"] + 1
                last = report_of(again)
                assert fleet.one(admin, "start_run", **last)["applied"]
            assert fleet.one(admin, "complete_run", **last)["applied"]


def test_one_child_whoever_notices_the_failure(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 3) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for _ in range(200):
            fleet.wake(admin, issue_id=issue)
            (run,) = fleet.claim(admin)
            report = report_of(run)
            assert fleet.one(admin, "start_run", **report)["applied"]
            failed, recovered, cancelled = crew.together(
                fleet.doing("fail_run", **report, failure_reason="timeout"),
                fleet.calling("recover_runtime", runtime_id=fleet.runtime),
                fleet.doing("cancel_run", run_id=run["run_id"], actor_type="system"),
            )
            ended = [failed["applied"], cancelled["applied"]]
            ended += [row["applied"] for row in recovered if row["run_id"] == run["run_id"]]
            # Recovery lists the runs before it locks them, so it may report one as ended.
            assert Counter(ended)[True] == 1
            children = fleet.runs(admin, "parent_run_id = %s", run["run_id"])
            assert len(children) == (0 if cancelled["applied"] else 1)
            for child in children:
                assert child["attempt"] == 2
                assert child["status"] == "queued"
                assert child["reason"] == "work"
                fleet.one(admin, "cancel_run", run_id=child["id"], actor_type="system")


def test_attempts_rise_by_one_and_stop(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        fleet.wake(admin, issue_id=issue, max_attempts=4)
        for attempt in range(1, 5):
            (run,) = fleet.claim(admin)
            assert run["attempt"] == attempt
            reason = ("timeout", "runtime_recovery")[attempt % 2]
            failed = fleet.one(admin, "fail_run", **report_of(run), failure_reason=reason)
            assert failed["applied"]
            assert (failed["retry_run_id"] is None) == (attempt == 4)
        assert fleet.claim(admin) == []
        stored = [run["failure_reason"] for run in fleet.runs(admin)]
        assert stored == ["runtime_recovery", "timeout", "runtime_recovery", "timeout"]


def test_a_superseded_claim_changes_nothing(db: Database) -> None:
    fleet = make_fleet(db)
    now = db.set_clock()
    with db.connect() as admin:
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        fleet.wake(admin)
        (old,) = fleet.claim(admin)
        assert fleet.call(admin, "reclaim_runs", runtime_ids=[fleet.runtime]) == []
        db.set_clock(now + timedelta(seconds=91))
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        (new,) = fleet.call(admin, "reclaim_runs", runtime_ids=[fleet.runtime])
        moves: dict[str, Row] = {
            "start_run": {},
            "wait_run": {"wait_reason": "busy"},
            "extend_lease": {},
            "defer_run": {"until": now},
            "requeue_run": {},
            "fail_run": {},
            "complete_run": {},
        }
        stored = "select r::text, r.xmin::text from dispatch.run as r"
        for status in ("dispatched", "waiting_local_directory", "running"):
            before = rows(admin, stored)
            assert fleet.runs(admin)[0]["status"] == status
            for move, more in moves.items():
                answer = fleet.one(admin, move, **report_of(old), **more)
                assert answer["applied"] is False
                assert answer["reason"] == "superseded", move
            assert rows(admin, stored) == before
            if status == "dispatched":
                assert fleet.one(admin, "wait_run", **report_of(new), wait_reason="x")[
                    "applied"
                ]
            elif status == "waiting_local_directory":
                assert fleet.one(admin, "start_run", **report_of(new))["applied"]
        assert fleet.one(admin, "complete_run", **report_of(new))["applied"]


def test_batches_in_opposite_order_beside_everything_else(db: Database) -> None:
    fleet = make_fleet(db, agents=4, capacity=50)
    before = deadlocks(db)
    with Crew(db, 6) as crew, db.connect() as admin:
        for number in range(30):
            wakes = [
                {
                    "agent_id": str(agent),
                    "reason": "work",
                    "chat_session_id": str(uuid.uuid4()),
                }
                for agent in fleet.agents
                for _ in range(25)
            ]
            asked = fleet.call(admin, "queue_wakes", wakes=Jsonb(wakes))
            claimed = fleet.claims(admin, 256, per_agent=50, start=True)
            assert len(claimed) == 100
            reports = [
                {"run_id": str(run["run_id"]), "claim_no": run["claim_no"]} for run in claimed
            ]
            victims = random.Random(number).sample([row["run_id"] for row in asked], 10)

            def cancel(connection: Connection, runs: list[uuid.UUID] = victims) -> list[Row]:
                return [
                    fleet.one(connection, "cancel_run", run_id=run, actor_type="system")
                    for run in runs
                ]

            forth, back, failed, cancelled, recovered, _ = crew.together(
                fleet.calling("complete_runs", reports=Jsonb(reports)),
                fleet.calling("complete_runs", reports=Jsonb(reports[::-1])),
                fleet.calling("fail_runs", reports=Jsonb(reports[::-2])),
                cancel,
                fleet.calling("recover_runtime", runtime_id=fleet.runtime)
                if number % 3 == 0
                else fleet.claims,
                fleet.calling("queue_wakes", wakes=Jsonb(wakes[:20])),
            )
            # A repeated completion is applied too, hence one of the two at least.
            ended = {
                row["run_id"] for row in forth + back + failed + cancelled if row["applied"]
            }
            if number % 3 == 0:
                ended |= {row["run_id"] for row in recovered if row["applied"]}
            assert ended >= {run["run_id"] for run in claimed}
            left = fleet.runs(admin, "id = any(%s)", [row["run_id"] for row in asked])
            assert {run["status"] for run in left} <= {"completed", "failed", "cancelled"}
            admin.execute("delete from dispatch.run")
    assert deadlocks(db) == before


LOCKERS = ["delete_issue", "archive_agent", "delete_workspace"]


def remove(fleet: Fleet, connection: Connection, remover: str, issue: uuid.UUID) -> int:
    """Delete or archive what a wake is for; give how many runs that cancelled."""
    if remover == "delete_issue":
        answer = fleet.one(connection, remover, issue_id=issue, actor_type="system")
    elif remover == "archive_agent":
        answer = fleet.one(connection, remover, agent_id=fleet.agent)
    else:
        answer = fleet.one(connection, remover, actor_type="system")
    found: int = answer[remover]
    return found


@pytest.mark.parametrize("remover", LOCKERS)
def test_no_enqueue_slips_past_a_removal(db: Database, remover: str) -> None:
    """A wake that came first is cancelled, one that came after is refused."""
    before = deadlocks(db)
    for number in range(25):
        fleet = make_fleet(db)
        with Crew(db, 3) as crew, db.connect() as admin:
            (issue,) = fleet.issues(admin, 1)

            def wake(connection: Connection, to: uuid.UUID = issue, f: Fleet = fleet) -> str:
                try:
                    outcome: str = f.wake(connection, issue_id=to)["outcome"]
                except psycopg.Error as refused:
                    assert refused.sqlstate == "PD404"
                    return "refused"
                return outcome

            order = [wake, wake, lambda c, t=issue, f=fleet: remove(f, c, remover, t)]
            cancelled = crew.together(*(order if number % 2 else order[::-1]))
            count = next(answer for answer in cancelled if isinstance(answer, int))
            made = [answer for answer in cancelled if answer in ("queued", "absorbed")]
            live = fleet.runs(admin, "finished_at is null")
            assert live == []
            assert count == (1 if made else 0)
            assert made in ([], ["queued"], ["queued", "absorbed"], ["absorbed", "queued"])
    assert deadlocks(db) == before


@pytest.mark.parametrize("remover", LOCKERS)
@pytest.mark.parametrize("ending", ["retry", "follow_up", "claim"])
def test_a_removal_and_a_runs_successor_do_not_deadlock(
    db: Database, remover: str, ending: str
) -> None:
    """Both wait for one run row: whoever gets it first must not want what the other holds.

    A claim that starts its run at once has a successor when its wakes do not fit into it.
    """
    fleet = make_fleet(db)
    with (
        db.connect() as daemon,
        db.connect() as remover_session,
        db.connect(autocommit=False) as holder,
        db.connect() as admin,
    ):
        (issue,) = fleet.issues(admin, 1)
        asked = fleet.wake(admin, issue_id=issue, payload={"n": 1})
        succeed: Callable[[Connection], Any]
        hold = "select from dispatch.run as r where r.id = %s for update"
        if ending == "claim":
            for letter in "abc":
                bulk = {"text": letter * 300_000}
                fleet.wake(admin, issue_id=issue, payload=bulk)
            hold = "select from dispatch.run_trigger as t where t.run_id = %s for update"
            succeed = fleet.calling("claim_runs", runtime_ids=[fleet.runtime], start=True)
        else:
            report = report_of(fleet.claim(admin)[0])
            if ending == "retry":
                succeed = fleet.doing("fail_run", **report, failure_reason="timeout")
            else:
                assert fleet.wake(admin, issue_id=issue)["outcome"] == "absorbed"
                succeed = fleet.doing("start_run", **report)
        rows(holder, hold, [asked["run_id"]])

        with background(lambda: succeed(daemon)) as moved:
            until_blocked(db, daemon, holder)
            with background(lambda: remove(fleet, remover_session, remover, issue)) as removed:
                until_waiting(db, remover_session)
                holder.commit()
                moved.result()
                assert removed.result() >= 0
        assert fleet.runs(admin, "finished_at is null") == []


def test_no_advisory_lock_outlives_its_transaction(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 4) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)

        def life(connection: Connection) -> None:
            for _ in range(10):
                fleet.wake(connection, chat_session_id=uuid.uuid4(), idempotency_key="k")
                fleet.wake(connection, issue_id=issue)
                for run in fleet.claims(connection, 2):
                    fleet.one(connection, "start_run", **report_of(run))
                    fleet.one(
                        connection, "fail_run", **report_of(run), failure_reason="timeout"
                    )
                fleet.call(connection, "promote_deferred")
                fleet.call(connection, "reclaim_runs", runtime_ids=[fleet.runtime])
                fleet.call(connection, "recover_runtime", runtime_id=fleet.runtime)
                with pytest.raises(psycopg.Error):
                    fleet.wake(connection, reason="")

        crew.together(life)
        held = rows(
            admin,
            "select l.classid from pg_locks as l inner join pg_database as d"
            " on d.oid = l.database and d.datname = current_database()"
            " where l.locktype = 'advisory'",
        )
        assert held == []
        sources = rows(
            admin,
            "select p.proname from pg_proc as p"
            " where p.pronamespace = 'dispatch'::regnamespace"
            r" and p.prosrc ~ 'advisory_(lock|unlock)'",
        )
        assert sources == []
