"""The server dies under load: what was acknowledged is there, and nothing is active twice."""

from __future__ import annotations

import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pgdispatch import schema
from pgdispatch.embedded import EmbeddedServer
from tests.concurrency.support import Connection, Fleet, Row, make_fleet, rows, until
from tests.support.servers import Database, Server

#: How many acknowledged completions make enough of a load to be interrupted.
ENOUGH = 150


class Load:
    """Producers and workers that write down what was acknowledged, until the server is gone."""

    def __init__(self, fleet: Fleet, issues: list[uuid.UUID]) -> None:
        self.fleet = fleet
        self.issues = issues
        self.asked: dict[str, uuid.UUID] = {}
        self.claimed: dict[uuid.UUID, int] = {}
        self.completed: set[uuid.UUID] = set()

    def produce(self, connection: Connection) -> None:
        """Queue wakes, each with a key of its own."""
        number = 0
        while True:
            key = str(uuid.uuid4())
            number += 1
            given: Row = (
                {"issue_id": self.issues[number % len(self.issues)]}
                if number % 2
                else {"chat_session_id": uuid.uuid4()}
            )
            decided = self.fleet.wake(
                connection, idempotency_key=key, payload={"key": key}, **given
            )
            if decided["outcome"] == "queued":
                self.asked[key] = decided["run_id"]

    def work(self, connection: Connection) -> None:
        """Claim, start and complete."""
        while True:
            for run in self.fleet.claims(connection, 4, per_agent=4):
                self.claimed[run["run_id"]] = run["claim_no"]
                report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
                self.fleet.one(connection, "start_run", **report)
                if self.fleet.one(connection, "complete_run", **report)["applied"]:
                    self.completed.add(run["run_id"])


@contextmanager
def running(bindir: Path, data_dir: Path) -> Iterator[EmbeddedServer]:
    """Run a durable server on that folder."""
    with EmbeddedServer(
        data_dir, bindir=bindir, durable=True, settings={"synchronous_commit": "on"}
    ) as embedded:
        yield embedded


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's account can enter; pytest's own ones are closed to it."""
    made = Path(tempfile.mkdtemp(prefix="pgdispatch-crash-"))
    made.chmod(0o777)
    try:
        yield made
    finally:
        shutil.rmtree(made)


def test_nothing_acknowledged_is_lost_and_nothing_runs_twice(
    server: Server, folder: Path
) -> None:
    if server.bindir is None:
        pytest.skip("the server is not ours to crash")
    data_dir = folder / "data"
    with running(server.bindir, data_dir) as embedded:
        crashing = Database(Server("crash", embedded.dsn, embedded.bindir), "postgres")
        with crashing.connect() as connection:
            schema.apply_sql(connection)
        fleet = make_fleet(crashing, capacity=8)
        with crashing.connect() as connection:
            load = Load(fleet, fleet.issues(connection, 5))
        threads = [
            threading.Thread(target=until_gone, args=[crashing, task])
            for task in [load.produce] * 3 + [load.work] * 3
        ]
        for thread in threads:
            thread.start()
        until(lambda: len(load.completed) > ENOUGH, "there is enough of a load")
        embedded.run(
            [embedded.bindir / "pg_ctl", "-D", data_dir, "-m", "immediate", "-w", "stop"]
        )
        for thread in threads:
            thread.join()

    with running(server.bindir, data_dir) as embedded:
        restarted = Database(Server("crash", embedded.dsn, embedded.bindir), "postgres")
        with restarted.connect() as connection:
            stored = {run["id"]: run for run in fleet.runs(connection)}
            keys = {run["idempotency_key"]: run["id"] for run in stored.values()}
            assert {key: keys.get(key) for key in load.asked} == load.asked
            assert {stored[run]["status"] for run in load.completed} == {"completed"}
            assert all(stored[run]["claim_no"] >= no for run, no in load.claimed.items())
            twice = rows(
                connection,
                "select r.lane from dispatch.run as r where r.status in"
                " ('dispatched', 'waiting_local_directory', 'running')"
                " group by r.agent_id, r.lane having count(*) > 1",
            )
            assert twice == []

            # The queue goes on where it stood: all that is left can be done.
            fleet.call(connection, "heartbeat", runtime_ids=[fleet.runtime])
            fleet.call(connection, "recover_runtime", runtime_id=fleet.runtime)
            while claimed := fleet.claims(connection, 8, per_agent=8, start=True):
                for run in claimed:
                    report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
                    assert fleet.one(connection, "complete_run", **report)["applied"]
            ended = {run["status"] for run in fleet.runs(connection)}
            assert ended <= {"completed", "failed"}


def until_gone(db: Database, task: object) -> None:
    """Run a task in a session of its own until the server closes it."""
    assert callable(task)
    try:
        with db.connect() as connection:
            task(connection)
    except psycopg.OperationalError:
        return
