"""A session that dies inside the recovery leaves nothing half done; the next one does it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from datetime import timedelta

import pytest

from tests.concurrency.support import (
    Connection,
    Fleet,
    Row,
    make_fleet,
    payloads,
    rows,
)
from tests.faults.test_killed_sessions import (
    HOLD_DETAIL,
    HOLD_TRIGGERS,
    claimed,
    kill_inside,
    prepared,
)
from tests.support.servers import Database

HOLD_RUN = "select from dispatch.run as r where r.id = %s for update"


def sweep(connection: Connection, only: str | None = None) -> dict[str, int]:
    """Make the sweeps, or one of them."""
    found = rows(connection, "select s.sweep, s.runs from dispatch.sweep(500, %s) as s", [only])
    return {row["sweep"]: row["runs"] for row in found}


def tick(connection: Connection) -> dict[str, int]:
    """Make a whole tick."""
    found = rows(connection, "select t.step, t.rows from dispatch.tick() as t")
    return {row["step"]: row["rows"] for row in found}


def drained(fleet: Fleet, connection: Connection) -> Counter[int]:
    """Do all that is queued; count the wakes that were delivered."""
    numbers: Counter[int] = Counter()
    while taken := fleet.claims(connection, start=True):
        numbers.update(payload["n"] for payload in payloads(taken))
        for run in taken:
            report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
            assert fleet.one(connection, "complete_run", **report)["applied"]
    return numbers


@pytest.mark.parametrize("only", ["running", None])
def test_a_sweep_with_a_retry(db: Database, only: str | None) -> None:
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        fleet.one(admin, "start_run", **claimed(fleet, admin), lease=timedelta(minutes=1))
        db.advance(timedelta(minutes=2))
        # By then the run has failed, and neither its reason nor its retry stands yet.
        kill_inside(db, lambda c: sweep(c, only), lambda c: rows(c, HOLD_DETAIL, [run]))
        assert sweep(admin)["running"] == 1
        assert sweep(admin)["running"] == 0
        assert Counter(each["status"] for each in fleet.runs(admin)) == {
            "failed": 1,
            "queued": 1,
        }
        assert drained(fleet, admin) == {1: 1, 2: 1}


def test_a_sweep_of_the_queue(db: Database) -> None:
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        db.advance(timedelta(hours=3))
        kill_inside(db, lambda c: sweep(c, "queued"), lambda c: rows(c, HOLD_DETAIL, [run]))
        assert sweep(admin)["queued"] == 1
        (stored,) = fleet.runs(admin)
        assert stored["failure_reason"] == "queued_expired"


def test_a_promotion(db: Database) -> None:
    """Killed behind the first of two runs that it drops and hands over."""
    now = db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        fleet.wake(admin, issue_id=issue, payload={"n": 1})
        report = claimed(fleet, admin)
        failed = fleet.one(admin, "fail_run", **report, failure_reason="runtime_offline")
        assert failed["retry_run_id"] is not None
        fleet.wake(admin, issue_id=issue, payload={"n": 2})
        fleet.wake(admin, fire_at=now + timedelta(seconds=1), payload={"n": 3})
        db.advance(timedelta(seconds=1))
        kill_inside(
            db,
            fleet.doing("promote_deferred"),
            lambda c: rows(c, HOLD_DETAIL, [failed["retry_run_id"]]),
        )
        assert fleet.one(admin, "promote_deferred")["promote_deferred"] == 1
        assert drained(fleet, admin) == {1: 1, 2: 1, 3: 1}


def test_a_claim_that_drops_a_retry(db: Database) -> None:
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        fleet.wake(admin, issue_id=issue, payload={"n": 1})
        report = claimed(fleet, admin)
        failed = fleet.one(admin, "fail_run", **report, failure_reason="runtime_offline")
        fleet.wake(admin, issue_id=issue, payload={"n": 2})
        kill_inside(db, fleet.claim, lambda c: rows(c, HOLD_DETAIL, [failed["retry_run_id"]]))
        assert payloads(fleet.claim(admin)) == [{"n": 2}, {"n": 1}]


@pytest.mark.parametrize("hold", [HOLD_RUN, HOLD_DETAIL, HOLD_TRIGGERS])
def test_a_rerun(db: Database, hold: str) -> None:
    """Killed before the cancellation, inside it, and while it hands over."""
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        given: Row = {"run_id": run, "actor_type": "user", "actor_id": fleet.owner}
        kill_inside(db, fleet.doing("rerun", **given), lambda c: rows(c, hold, [run]))
        again = fleet.one(admin, "rerun", **given)
        assert again["outcome"] == "queued"
        assert Counter(each["status"] for each in fleet.runs(admin)) == {
            "cancelled": 1,
            "queued": 1,
        }
        assert drained(fleet, admin) == {1: 1, 2: 1}


def test_a_restart_of_a_daemon(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = prepared(fleet, admin)
        claimed(fleet, admin)
        issue = fleet.runs(admin)[0]["issue_id"]
        assert fleet.wake(admin, issue_id=issue, payload={"n": 3})["outcome"] == "absorbed"
        recover = fleet.calling("recover_runtime", runtime_id=fleet.runtime)
        kill_inside(db, recover, lambda c: rows(c, HOLD_TRIGGERS, [run]))
        (lost,) = recover(admin)
        assert lost["retry_run_id"] is not None
        assert drained(fleet, admin) == {1: 1, 2: 1, 3: 1}


def test_a_tick(db: Database) -> None:
    """One transaction, so the steps that it had made are taken back as well."""
    now = db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        old = fleet.wake(admin)["run_id"]
        fleet.one(admin, "cancel_run", run_id=old, actor_type="system")
        now = db.set_clock(now + timedelta(days=91))
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        fleet.wake(admin, fire_at=now + timedelta(seconds=1))
        db.set_clock(now + timedelta(seconds=1))
        # The row's deletion takes its details along, which is where it is held up.
        kill_inside(db, tick, lambda c: rows(c, HOLD_DETAIL, [old]))
        assert tick(admin) == {"replay": 0, "promote": 1, "sweep": 0, "prune": 1}


DAEMON = """
import sys, uuid, datetime as dt
from pgdispatch import Dispatch
dsn, workspace, runtime = sys.argv[1:]
with Dispatch(dsn) as dispatch:
    first, second, third = dispatch.claim_runs(workspace, [runtime], 3, 3)
    dispatch.start_run(workspace, first.run_id, first.claim_no, dt.timedelta(seconds=60))
    dispatch.wait_run(workspace, second.run_id, second.claim_no, "busy")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_daemon_that_is_killed(db: Database) -> None:
    """What it had in hand is done by the next one, each wake once."""
    db.set_clock()
    fleet = make_fleet(db)
    with db.connect() as admin:
        for number, issue in enumerate(fleet.issues(admin, 3)):
            fleet.wake(admin, issue_id=issue, payload={"n": number})
        with subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(DAEMON),
                db.dsn,
                str(fleet.workspace),
                str(fleet.runtime),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as daemon:
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == "ready\n"
            os.kill(daemon.pid, signal.SIGKILL)
        assert Counter(run["status"] for run in fleet.runs(admin)) == {
            "running": 1,
            "waiting_local_directory": 1,
            "dispatched": 1,
        }
        db.advance(timedelta(seconds=91))
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        swept = sweep(admin)
        assert (swept["dispatched"], swept["running"]) == (1, 1)
        taken = fleet.claims(admin, 9, per_agent=9)
        assert sorted(payload["n"] for payload in payloads(taken)) == [0, 1, 2]
        assert Counter(run["reclaimed"] for run in taken) == {True: 1, False: 2}
