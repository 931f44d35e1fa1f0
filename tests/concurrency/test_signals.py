"""Notices: one a transaction and runtime, of constant size, and only when work may wait."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
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


class Scene:
    """One agent of capacity 2 on one runtime, a session that listens and one that acts."""

    def __init__(self, db: Database, listener: Listener, session: Connection) -> None:
        self.db = db
        self.listener = listener
        self.session = session
        self.now = db.set_clock()
        self.fleet = make_fleet(db, capacity=2)
        self.quiet()

    def do(self, function: str, **given: Any) -> Row:
        """Call a function that answers with one row."""
        return self.fleet.one(self.session, function, **given)

    def call(self, function: str, **given: Any) -> list[Row]:
        """Call a function."""
        return self.fleet.call(self.session, function, **given)

    def wake(self, **given: Any) -> Row:
        """Queue a wake of the agent."""
        return self.fleet.wake(self.session, **given)

    def report(self, status: str = "dispatched", **wake: Any) -> Row:
        """Have a run in a daemon's hands; give the head of a report on it."""
        lane = {} if "issue_id" in wake else {"chat_session_id": uuid.uuid4()}
        report = claimed(self.fleet, self.session, **lane, **wake)
        if status == "waiting_local_directory":
            assert self.do("wait_run", **report, wait_reason="busy")["applied"]
        elif status == "running":
            assert self.do("start_run", **report, lease=timedelta(minutes=1))["applied"]
        return report

    def issue(self) -> uuid.UUID:
        """Make an issue that nobody is assigned to."""
        return self.fleet.issues(self.session, 1)[0]

    def assignment(self) -> dict[str, Any]:
        """Give what assigns an issue to the agent, on its owner's behalf."""
        return {
            "changes": {"assignee": {"type": "agent", "id": str(self.fleet.agent)}},
            "actor_type": "user",
            "actor_id": self.fleet.owner,
        }

    def pass_by(self, time: timedelta, *, alive: bool = True) -> None:
        """Let time pass, with the runtime alive at its end or not."""
        self.now = self.db.set_clock(self.now + time)
        if alive:
            self.call("heartbeat", runtime_ids=[self.fleet.runtime])

    def quiet(self) -> None:
        """Take note that what was said until here is not asked about."""
        self.listener.heard()


@pytest.fixture
def scene(db: Database) -> Iterator[Scene]:
    """A scene in a database of its own."""
    with listening(db) as listener, db.connect() as session:
        yield Scene(db, listener, session)


Act = Callable[[Scene], object]


def _insert_in_bulk(scene: Scene) -> object:
    wakes = [{"agent_id": str(scene.fleet.agent), "reason": "work"} for _ in range(3)]
    return scene.call("queue_wakes", wakes=Jsonb(wakes))


def _insert_by_creation(scene: Scene) -> object:
    return scene.do(
        "create_issue",
        title="work",
        actor_type="user",
        actor_id=scene.fleet.owner,
        assignee_type="agent",
        assignee_id=scene.fleet.agent,
    )


def _insert_by_assignment(scene: Scene) -> object:
    issue = scene.issue()
    return scene.do("update_issue", issue_id=issue, **scene.assignment())


def _insert_by_rerun(scene: Scene) -> object:
    run = scene.report("running", issue_id=scene.issue())
    scene.do("complete_run", **run)
    scene.quiet()
    owner = {"actor_type": "user", "actor_id": scene.fleet.owner}
    return scene.do("rerun", run_id=run["run_id"], **owner)


def _merge(scene: Scene) -> object:
    issue = scene.issue()
    scene.wake(issue_id=issue)
    scene.quiet()
    merged = scene.wake(issue_id=issue, coalesce=True)
    assert merged["outcome"] == "coalesced"
    return merged


def _promotion(scene: Scene) -> object:
    scene.wake(fire_at=scene.now + timedelta(minutes=1))
    scene.pass_by(timedelta(minutes=1))
    scene.quiet()
    return scene.do("promote_deferred")


def _promotion_by_tick(scene: Scene) -> object:
    scene.wake(fire_at=scene.now + timedelta(minutes=1))
    scene.pass_by(timedelta(minutes=1))
    scene.quiet()
    return rows(scene.session, "select * from dispatch.tick('promote')")


def _retry(scene: Scene) -> object:
    run = scene.report("running")
    scene.quiet()
    failed = scene.do("fail_run", **run, failure_reason="timeout")
    assert failed["retry_run_id"] is not None
    return failed


def _resume(scene: Scene) -> object:
    scene.call("pause_workspace", actor_type="system", reason="repair")
    scene.quiet()
    return scene.do("resume_workspace", actor_type="system")


def _activation(scene: Scene) -> object:
    agent = {"agent_id": scene.fleet.agent}
    scene.call("set_agent_status", **agent, status="paused")
    scene.quiet()
    return scene.call("set_agent_status", **agent, status="active")


def _binding(scene: Scene) -> object:
    agent = {"agent_id": scene.fleet.agent}
    scene.wake()
    scene.call("bind_agent", **agent, runtime_id=None)
    scene.quiet()
    return scene.call("bind_agent", **agent, runtime_id=scene.fleet.runtime)


def _put(scene: Scene, **given: Any) -> object:
    agent = {"agent_id": scene.fleet.agent, "name": "alpha", "owner_id": scene.fleet.owner}
    return scene.call("put_agent", **agent, **given)


def _binding_by_upsert(scene: Scene) -> object:
    scene.call("bind_agent", agent_id=scene.fleet.agent, runtime_id=None)
    scene.quiet()
    return _put(scene, runtime_id=scene.fleet.runtime)


def _sweep(scene: Scene) -> object:
    scene.report("running")
    scene.pass_by(timedelta(hours=4))
    scene.quiet()
    swept = rows(scene.session, "select s.runs from dispatch.sweep() as s")
    assert sum(row["runs"] for row in swept) == 1
    return swept


def _recovery(scene: Scene) -> object:
    for _ in range(2):
        scene.report("running")
    scene.quiet()
    return scene.call("recover_runtime", runtime_id=scene.fleet.runtime)


def _deletion(scene: Scene) -> object:
    issue = scene.issue()
    scene.report("running", issue_id=issue)
    scene.quiet()
    return scene.call("delete_issue", issue_id=issue, actor_type="system")


def _archiving(scene: Scene) -> object:
    scene.report("running")
    scene.quiet()
    return scene.call("archive_agent", agent_id=scene.fleet.agent)


def _everything(scene: Scene) -> object:
    """Insert, merge, end, and widen, in one transaction."""
    report = scene.report("running")
    issue = scene.issue()
    scene.quiet()
    with scene.session.transaction():
        scene.wake(issue_id=issue)
        scene.wake(issue_id=issue, coalesce=True)
        scene.do("complete_run", **report)
        _put(scene, max_concurrent_runs=9)
        assert scene.listener.heard() == Counter()
    return None


CAUSES: dict[str, Act] = {
    "insert": lambda scene: scene.wake(),
    "insert in bulk": _insert_in_bulk,
    "insert by creation": _insert_by_creation,
    "insert by assignment": _insert_by_assignment,
    "insert by rerun": _insert_by_rerun,
    "merge": _merge,
    "promotion": _promotion,
    "promotion by tick": _promotion_by_tick,
    "retry": _retry,
    "resume": _resume,
    "agent activated": _activation,
    "agent bound": _binding,
    "agent bound by upsert": _binding_by_upsert,
    "capacity raised": lambda scene: _put(scene, max_concurrent_runs=3),
    "sweep": _sweep,
    "recovery": _recovery,
    "issue deleted": _deletion,
    "agent archived": _archiving,
    "everything at once": _everything,
}


@pytest.mark.parametrize("act", CAUSES.values(), ids=CAUSES.keys())
def test_what_may_make_a_run_claimable_sends_one_notice(scene: Scene, act: Act) -> None:
    assert act(scene) != []
    assert scene.listener.heard() == {str(scene.fleet.runtime): 1}


#: Each way out of an active status: the status, and the call that ends it.
WAYS_OUT = [
    (status, move)
    for status, moves in {
        "dispatched": ("requeue_run", "defer_run", "cancel_run", "fail_run"),
        "waiting_local_directory": ("defer_run", "cancel_run", "fail_run"),
        "running": ("defer_run", "cancel_run", "complete_run", "fail_run"),
    }.items()
    for move in moves
]
IN_BULK = {"complete_run": "complete_runs", "fail_run": "fail_runs"}


@pytest.mark.parametrize(("status", "move"), WAYS_OUT)
def test_every_way_out_of_an_active_status_sends_one_notice(
    scene: Scene, status: str, move: str
) -> None:
    report = scene.report(status)
    scene.quiet()
    more: Row = {"until": scene.now + timedelta(hours=1)} if move == "defer_run" else {}
    if move == "cancel_run":
        report, more = {"run_id": report["run_id"]}, {"actor_type": "system"}
    assert scene.do(move, **report, **more)["applied"]
    assert scene.listener.heard() == {str(scene.fleet.runtime): 1}


@pytest.mark.parametrize("move", IN_BULK.values())
def test_a_batch_of_reports_sends_one_notice(scene: Scene, move: str) -> None:
    reports = [scene.report("running") for _ in range(2)]
    scene.quiet()
    given = [{"run_id": str(each["run_id"]), "claim_no": each["claim_no"]} for each in reports]
    assert all(row["applied"] for row in scene.call(move, reports=Jsonb(given)))
    assert scene.listener.heard() == {str(scene.fleet.runtime): 1}


def _start(scene: Scene) -> object:
    report = scene.report()
    scene.quiet()
    return scene.do("start_run", **report)


def _wait(scene: Scene) -> object:
    report = scene.report()
    scene.quiet()
    return scene.do("wait_run", **report, wait_reason="busy")


def _extension(scene: Scene) -> object:
    report = scene.report("running")
    scene.quiet()
    assert scene.do("extend_lease", **report)["applied"]
    return None


def _claim_and_start(scene: Scene) -> object:
    scene.wake()
    scene.quiet()
    return scene.fleet.claims(scene.session, start=True)


def _reclaim(scene: Scene) -> object:
    scene.report()
    scene.pass_by(timedelta(minutes=10))
    scene.quiet()
    taken = scene.call("reclaim_runs", runtime_ids=[scene.fleet.runtime])
    assert len(taken) == 1
    return taken


def _stale_report(scene: Scene) -> object:
    report = scene.report("running")
    scene.quiet()
    stale = scene.do("complete_run", run_id=report["run_id"], claim_no=0)
    assert not stale["applied"]
    return stale


def _absorption(scene: Scene) -> object:
    issue = scene.issue()
    scene.report(issue_id=issue)
    scene.quiet()
    absorbed = scene.wake(issue_id=issue)
    assert absorbed["outcome"] == "absorbed"
    return absorbed


def _duplicate(scene: Scene) -> object:
    scene.wake(idempotency_key="once")
    scene.quiet()
    second = scene.wake(idempotency_key="once")
    assert second["outcome"] == "deduplicated"
    return second


def _refusal(scene: Scene) -> object:
    scene.call("pause_workspace", actor_type="system", reason="repair")
    scene.quiet()
    refused = scene.wake()
    assert refused["reason_code"] == "paused"
    return refused


def _refusal_of_an_agent(scene: Scene) -> object:
    scene.call("set_agent_status", agent_id=scene.fleet.agent, status="stopped")
    refused = scene.wake()
    assert refused["reason_code"] == "agent_not_runnable"
    return refused


def _rolled_back_part(scene: Scene) -> object:
    with scene.session.transaction():
        with scene.session.transaction(force_rollback=True):
            scene.wake()
        scene.call("heartbeat", runtime_ids=[scene.fleet.runtime])
    return None


def _reads(scene: Scene) -> object:
    issue = scene.issue()
    run = scene.wake(issue_id=issue)
    scene.quiet()
    scene.call("explain_issue", issue_id=issue)
    scene.call("preview_update", issue_ids=[issue], **scene.assignment())
    scene.fleet.runs(scene.session)
    for view in ("queue_depth", "gate_counters"):
        rows(scene.session, f"select * from dispatch.{view}")
    return run


def _cancelled_while_queued(scene: Scene) -> object:
    run = scene.wake()
    scene.quiet()
    return scene.do("cancel_run", run_id=run["run_id"], actor_type="system")


def _lowered(scene: Scene) -> object:
    return _put(scene, max_concurrent_runs=1)


NO_CAUSES: dict[str, Act] = {
    "claim and start": _claim_and_start,
    "start": _start,
    "wait": _wait,
    "reclaim": _reclaim,
    "extension": _extension,
    "heartbeat": lambda scene: scene.call("heartbeat", runtime_ids=[scene.fleet.runtime]),
    "farewell": lambda scene: scene.call("set_runtime_offline", runtime_id=scene.fleet.runtime),
    "stale report": _stale_report,
    "absorption": _absorption,
    "duplicate": _duplicate,
    "refusal by a pause": _refusal,
    "refusal of an agent": _refusal_of_an_agent,
    "rolled back to a savepoint": _rolled_back_part,
    "reads": _reads,
    "cancelled while queued": _cancelled_while_queued,
    "deferred": lambda scene: scene.wake(fire_at=scene.now + timedelta(hours=1)),
    "pause": lambda scene: scene.call("pause_workspace", actor_type="system", reason="repair"),
    "resume of what is not paused": lambda scene: scene.do(
        "resume_workspace", actor_type="system"
    ),
    "agent paused": lambda scene: scene.call(
        "set_agent_status", agent_id=scene.fleet.agent, status="paused"
    ),
    "agent that is active already": lambda scene: scene.call(
        "set_agent_status", agent_id=scene.fleet.agent, status="active"
    ),
    "agent bound where it is": lambda scene: scene.call(
        "bind_agent", agent_id=scene.fleet.agent, runtime_id=scene.fleet.runtime
    ),
    "agent unbound": lambda scene: scene.call(
        "bind_agent", agent_id=scene.fleet.agent, runtime_id=None
    ),
    "capacity lowered": _lowered,
    "issue without an assignee": lambda scene: scene.issue(),
    "sweep of nothing": lambda scene: rows(scene.session, "select * from dispatch.sweep()"),
}


@pytest.mark.parametrize("act", NO_CAUSES.values(), ids=NO_CAUSES.keys())
def test_what_makes_nothing_claimable_sends_no_notice(scene: Scene, act: Act) -> None:
    scene.quiet()
    act(scene)
    assert scene.listener.heard() == Counter()
