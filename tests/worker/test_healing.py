"""A worker goes on after its connections were closed, frozen, or refused."""

from __future__ import annotations

import queue
import threading
import uuid
from typing import Any

import pytest

from pgdispatch import Worker
from pgdispatch import worker as module
from pgdispatch._links import together
from pgdispatch.types import ClaimedRun
from tests.concurrency.support import PATIENCE, Connection, Fleet, make_fleet, rows, until
from tests.support.servers import Database
from tests.worker.support import NEVER, Proxy, until_status, wake, working

OTHERS = (
    "select a.pid, a.query from pg_stat_activity as a"
    " where a.datname = current_database() and a.pid <> pg_backend_pid()"
    " and a.backend_type = 'client backend'"
)


def nothing(_: ClaimedRun) -> None:
    return None


class Heard:
    """Counts how often a worker has subscribed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._times = threading.Semaphore(0)
        real = Worker._subscribe

        def counted(worker: Worker, conn: Any) -> None:
            real(worker, conn)
            self._times.release()

        monkeypatch.setattr(Worker, "_subscribe", counted)

    def wait(self) -> None:
        """Wait for one more subscription."""
        assert self._times.acquire(timeout=PATIENCE)


class Counted(queue.SimpleQueue[Any]):
    """Counts what a worker is told."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        super().put(item, block, timeout)
        self.puts += 1


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    return Heard(monkeypatch)


def settle(fleet: Fleet, admin: Connection) -> None:
    """Have a run done, so that the worker has nothing to look for any more."""
    until_status(fleet, admin, wake(fleet, admin), "completed")


def test_a_notice_wakes_an_idle_worker(db: Database, heard: Heard) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        worker = Worker(db.dsn, fleet.workspace, [fleet.runtime], nothing, poll_interval=NEVER)
        with working(worker):
            heard.wait()
            for _ in range(5):
                settle(fleet, admin)


def test_an_empty_answer_older_than_an_enqueue_is_not_trusted(
    db: Database, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is enqueued after a claim has looked, and heard of before it has answered."""
    fleet = make_fleet(db)
    late: list[uuid.UUID] = []
    is_armed = threading.Event()
    inbox = Counted()
    with db.connect() as admin:

        def slow(conn: Any, calls: Any) -> Any:
            answers = together(conn, calls)
            if is_armed.is_set() and "claim_runs" in calls[-1].sql and not answers[-1]:
                is_armed.clear()
                before = inbox.puts
                late.append(wake(fleet, admin))
                until(lambda: inbox.puts > before, "the notice is heard")
            return answers

        monkeypatch.setattr(module, "together", slow)
        worker = Worker(db.dsn, fleet.workspace, [fleet.runtime], nothing, poll_interval=NEVER)
        monkeypatch.setattr(worker, "_inbox", inbox)
        with working(worker):
            heard.wait()
            for _ in range(3):
                settle(fleet, admin)
            is_armed.set()
            # Ends with a claim that finds nothing more.
            settle(fleet, admin)
            until(lambda: late, "a claim was empty")
            until_status(fleet, admin, late[0], "completed")


def test_without_listening_it_polls(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        worker = Worker(
            db.dsn,
            fleet.workspace,
            [fleet.runtime],
            nothing,
            listen=False,
            poll_interval=0.05,
        )
        with working(worker):
            for _ in range(3):
                settle(fleet, admin)
            assert not [row for row in rows(admin, OTHERS) if "listen" in row["query"]]


def test_a_killed_listener_subscribes_again_and_looks(db: Database, heard: Heard) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        worker = Worker(db.dsn, fleet.workspace, [fleet.runtime], nothing, poll_interval=NEVER)
        with working(worker):
            heard.wait()
            settle(fleet, admin)
            pids = [row["pid"] for row in rows(admin, OTHERS) if "listen" in row["query"]]
            assert len(pids) == 1
            admin.execute("select pg_terminate_backend(%s)", pids)
            run = wake(fleet, admin)
            until_status(fleet, admin, run, "completed")
            heard.wait()
            settle(fleet, admin)


def test_a_frozen_listener_is_replaced(
    db: Database, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.3)
    fleet = make_fleet(db)
    with db.connect() as admin, Proxy(db) as proxy:
        worker = Worker(
            db.dsn,
            fleet.workspace,
            [fleet.runtime],
            nothing,
            listen_dsn=proxy.dsn,
            poll_interval=NEVER,
            probe_interval=0.3,
        )
        with working(worker):
            heard.wait()
            settle(fleet, admin)
            proxy.freeze()
            run = wake(fleet, admin)
            until_status(fleet, admin, run, "completed")


def test_a_listener_that_cannot_connect_at_first_does_later(db: Database, heard: Heard) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin, Proxy(db) as proxy:
        proxy.refuse()
        worker = Worker(
            db.dsn,
            fleet.workspace,
            [fleet.runtime],
            nothing,
            listen_dsn=proxy.dsn,
            poll_interval=0.05,
        )
        with working(worker):
            assert proxy.refused.wait(PATIENCE)
            settle(fleet, admin)
            proxy.refuse(refusing=False)
            heard.wait()


def test_killed_sessions_cost_nothing_but_time(db: Database) -> None:
    fleet = make_fleet(db)
    begun, may_end = threading.Event(), threading.Event()

    def handler(_: ClaimedRun) -> None:
        begun.set()
        assert may_end.wait(PATIENCE)

    with db.connect() as admin:
        run = wake(fleet, admin)
        worker = Worker(db.dsn, fleet.workspace, [fleet.runtime], handler, poll_interval=0.1)
        with working(worker):
            assert begun.wait(PATIENCE)
            gone = [row["pid"] for row in rows(admin, OTHERS)]
            admin.execute("select pg_terminate_backend(p) from unnest(%s::int[]) as p", [gone])
            until(
                lambda: not {row["pid"] for row in rows(admin, OTHERS)}.intersection(gone),
                "the sessions are gone",
            )
            may_end.set()
            until_status(fleet, admin, run, "completed")
            settle(fleet, admin)


@pytest.mark.parametrize("at", ["idle", "busy"])
def test_a_frozen_connection_is_cut_off(
    db: Database, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 0.5)
    fleet = make_fleet(db)
    begun, may_end = threading.Event(), threading.Event()

    def handler(_: ClaimedRun) -> None:
        begun.set()
        assert may_end.wait(PATIENCE)

    with db.connect() as admin, Proxy(db) as proxy:
        worker = Worker(
            proxy.dsn,
            fleet.workspace,
            [fleet.runtime],
            handler,
            listen=False,
            poll_interval=0.1,
            heartbeat_interval=0.1,
        )
        with working(worker):
            if at == "busy":
                run = wake(fleet, admin)
                assert begun.wait(PATIENCE)
                proxy.freeze()
                may_end.set()
            else:
                may_end.set()
                settle(fleet, admin)
                proxy.freeze()
                run = wake(fleet, admin)
            until_status(fleet, admin, run, "completed")


def test_a_server_that_is_away_at_first_is_waited_for(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin, Proxy(db) as proxy:
        proxy.refuse()
        run = wake(fleet, admin)
        worker = Worker(proxy.dsn, fleet.workspace, [fleet.runtime], nothing)
        with working(worker):
            assert proxy.refused.wait(PATIENCE)
            proxy.refuse(refusing=False)
            until_status(fleet, admin, run, "completed")
