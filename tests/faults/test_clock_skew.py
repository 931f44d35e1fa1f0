"""A client whose clock is ten minutes off sees and causes the same as any other."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest

from tests.concurrency.support import make_fleet
from tests.support.servers import NOON, Database

CLIENT = """
import datetime as dt, sys, time

SKEW, dsn, workspace, runtime = float(sys.argv[1]), *sys.argv[2:]
wall = time.time
time.time = lambda: wall() + SKEW
time.time_ns = lambda: int(time.time() * 1e9)


class Skewed(dt.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(time.time(), dt.timezone.utc)


true = dt.datetime.now(dt.timezone.utc)
dt.datetime = Skewed
assert abs((dt.datetime.now(dt.timezone.utc) - true).total_seconds() - SKEW) < 5

from pgdispatch import Actor, Dispatch  # noqa: E402

MINUTE = dt.timedelta(minutes=1)
with Dispatch(dsn) as dispatch:
    now = dispatch.clock()
    agent = dispatch.queue_depth(workspace)[0].agent_id
    later = dispatch.queue_wake(
        workspace, agent, "later", fire_at=now + dt.timedelta(seconds=30)
    )
    first, second = dispatch.claim_runs(workspace, [runtime], 9, 9, lease=MINUTE)
    for run in first, second:
        print(run.reason, run.dispatched_at - now, run.lease_expires_at - now)
    print(dispatch.start_run(workspace, first.run_id, first.claim_no, MINUTE).applied)
    print(dispatch.extend_lease(workspace, first.run_id, first.claim_no, 2 * MINUTE).applied)
    print(dispatch.defer_run(workspace, second.run_id, second.claim_no, now + MINUTE).applied)
    print([(row.sweep, row.runs) for row in dispatch.sweep()])
    print([(row.step, row.rows) for row in dispatch.tick()])
    print(dispatch.rerun(workspace, second.run_id, *Actor.system()).outcome)
    print(dispatch.claim_runs(workspace, [runtime]) == [])
    print(dispatch.fail_run(workspace, first.run_id, first.claim_no, "runtime_offline").applied)
"""

STATE = """
select
    v.reason, v.status::text, v.claim_no, v.attempt, v.requested_at, v.fire_at,
    v.dispatched_at, v.lease_expires_at, v.started_at, v.finished_at, v.error
from dispatch.runs as v
order by v.id
"""


def played(db: Database, skew: timedelta) -> tuple[list[str], list[object]]:
    """Let a client work whose clock is so far off; give what it saw and what it left."""
    db.set_clock()
    fleet = make_fleet(db, capacity=9)
    with db.connect() as admin:
        for issue in fleet.issues(admin, 2):
            fleet.wake(admin, issue_id=issue)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            CLIENT,
            str(skew.total_seconds()),
            db.dsn,
            str(fleet.workspace),
            str(fleet.runtime),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    left: list[object] = list(db.execute(STATE))
    db.execute("select dispatch.delete_workspace(%s, 'system')", [fleet.workspace])
    return done.stdout.splitlines(), left


@pytest.mark.parametrize("minutes", [-10, 10])
def test_the_database_clock_is_the_only_one(db: Database, minutes: int) -> None:
    right = played(db, timedelta())
    assert right[0][0] == "work 0:00:00 0:01:00"
    assert NOON in right[1][0]  # type: ignore[operator]
    assert played(db, timedelta(minutes=minutes)) == right
