"""Notices: one a transaction and runtime, of constant size, and only when work may wait."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.concurrency.support import Connection, Fleet, Row, make_fleet, rows
from tests.support.servers import Database


class Listener:
    """A session that listens, and the notices that reached it since it was last asked."""

    def __init__(self, db: Database, connection: Connection) -> None:
        self._db = db
        self._connection = connection
        self._channel: str = rows(connection, "select dispatch.wake_channel() as name")[0][
            "name"
        ]
        connection.execute(f'listen "{self._channel}"'.encode())

    def heard(self) -> Counter[str]:
        """Collect the payloads up to a mark that is sent now, so that none is waited for."""
        mark = str(uuid.uuid4())
        self._db.execute("select pg_notify(%s, %s)", [self._channel, mark])
        payloads: Counter[str] = Counter()
        for notice in self._connection.notifies(timeout=30):
            assert notice.channel == self._channel
            if notice.payload == mark:
                return payloads
            payloads[notice.payload] += 1
        raise AssertionError("the mark was not heard")


@contextmanager
def listening(db: Database) -> Iterator[Listener]:
    """Listen while the block runs."""
    with db.connect() as connection:
        yield Listener(db, connection)


@pytest.fixture
def fleet(db: Database) -> Fleet:
    """One agent of capacity 2 on one runtime."""
    return make_fleet(db, capacity=2)


def claimed(fleet: Fleet, connection: Connection, **wake: Any) -> Row:
    """Queue a run and claim it; give its report."""
    fleet.wake(connection, **wake)
    (run,) = fleet.claim(connection)
    return {"run_id": run["run_id"], "claim_no": run["claim_no"]}


def test_a_transaction_sends_one_notice_a_runtime(db: Database) -> None:
    fleet = make_fleet(db, agents=3)
    homes = [fleet.runtime, uuid.uuid4(), uuid.uuid4()]
    with listening(db) as listener, db.connect(autocommit=False) as producer:
        for agent, home in zip(fleet.agents[1:], homes[1:], strict=True):
            fleet.call(producer, "put_runtime", runtime_id=home, daemon_id="daemon-1")
            fleet.call(producer, "bind_agent", agent_id=agent, runtime_id=home)
        producer.commit()
        listener.heard()

        wakes = [
            {"agent_id": str(fleet.agents[number % 3]), "reason": "work"}
            for number in range(1000)
        ]
        fleet.call(producer, "queue_wakes", wakes=Jsonb(wakes))
        for agent in fleet.agents:
            fleet.wake(producer, agent, payload={"text": "x" * 1_000_000})
        assert listener.heard() == Counter()
        producer.commit()
        assert listener.heard() == Counter(str(home) for home in homes)


def test_a_rolled_back_wake_sends_nothing(db: Database, fleet: Fleet) -> None:
    with listening(db) as listener, db.connect(autocommit=False) as producer:
        fleet.wake(producer)
        producer.rollback()
        assert listener.heard() == Counter()


@pytest.mark.parametrize(
    ("move", "more", "starts"),
    [
        ("complete_run", {}, True),
        ("fail_run", {}, True),
        ("fail_run", {"failure_reason": "timeout"}, True),
        ("requeue_run", {}, False),
        ("defer_run", {"until": "2030-01-01T00:00:00Z"}, False),
        ("cancel_run", {"actor_type": "system"}, True),
    ],
)
def test_leaving_an_active_status_sends_one_notice(
    db: Database, fleet: Fleet, move: str, more: Row, starts: bool
) -> None:
    db.set_clock()
    with listening(db) as listener, db.connect() as daemon:
        fleet.call(daemon, "heartbeat", runtime_ids=[fleet.runtime])
        report = claimed(fleet, daemon)
        if starts:
            fleet.one(daemon, "start_run", **report)
        listener.heard()
        if move == "cancel_run":
            del report["claim_no"]
        assert fleet.one(daemon, move, **report, **more)["applied"]
        assert listener.heard() == {str(fleet.runtime): 1}


def test_what_makes_nothing_claimable_sends_nothing(db: Database, fleet: Fleet) -> None:
    now = db.set_clock()
    with listening(db) as listener, db.connect() as daemon:
        fleet.call(daemon, "heartbeat", runtime_ids=[fleet.runtime])
        fleet.wake(daemon)
        fleet.wake(daemon)
        assert listener.heard() == {str(fleet.runtime): 2}

        (run,) = fleet.claims(daemon)
        report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
        assert fleet.claims(daemon) == []
        assert fleet.claim(daemon) == []
        fleet.call(daemon, "heartbeat", runtime_ids=[fleet.runtime])
        assert fleet.one(daemon, "extend_lease", **report)["applied"]
        assert fleet.one(daemon, "start_run", **report, lease=timedelta(hours=1))["applied"]
        assert fleet.one(daemon, "extend_lease", **report)["applied"]
        assert not fleet.one(daemon, "requeue_run", **report)["applied"]
        assert fleet.one(daemon, "promote_deferred")["promote_deferred"] == 0
        assert fleet.call(daemon, "reclaim_runs", runtime_ids=[fleet.runtime]) == []
        later = fleet.wake(daemon, fire_at=now + timedelta(hours=1))
        assert later["outcome"] == "deferred"
        assert fleet.runs(daemon)
        assert listener.heard() == Counter()

        assert fleet.one(daemon, "complete_run", **report)["applied"]
        listener.heard()
        assert fleet.one(daemon, "complete_run", **report)["applied"]
        assert listener.heard() == Counter(), "a repeated report moved nothing"


def test_a_promotion_sends_a_notice(db: Database, fleet: Fleet) -> None:
    now = db.set_clock()
    with listening(db) as listener, db.connect() as daemon:
        fleet.wake(daemon, fire_at=now + timedelta(minutes=1))
        db.set_clock(now + timedelta(minutes=1))
        fleet.call(daemon, "heartbeat", runtime_ids=[fleet.runtime])
        assert listener.heard() == Counter()
        assert fleet.one(daemon, "promote_deferred")["promote_deferred"] == 1
        assert listener.heard() == {str(fleet.runtime): 1}


def test_changes_of_an_agent_send_a_notice(db: Database, fleet: Fleet) -> None:
    other = uuid.uuid4()
    with listening(db) as listener, db.connect() as admin:
        fleet.call(admin, "put_runtime", runtime_id=other, daemon_id="daemon-1")
        fleet.call(admin, "set_agent_status", agent_id=fleet.agent, status="paused")
        listener.heard()
        fleet.call(admin, "set_agent_status", agent_id=fleet.agent, status="active")
        assert listener.heard() == {str(fleet.runtime): 1}
        put = {"agent_id": fleet.agent, "name": "alpha", "owner_id": fleet.owner}
        fleet.call(admin, "put_agent", **put, max_concurrent_runs=5)
        assert listener.heard() == {str(fleet.runtime): 1}
        fleet.call(admin, "put_agent", **put, max_concurrent_runs=4)
        assert listener.heard() == Counter()
        fleet.call(admin, "bind_agent", agent_id=fleet.agent, runtime_id=other)
        assert listener.heard() == {str(other): 1}
