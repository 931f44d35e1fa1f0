"""What tests with several real sessions share: a fleet of agents, calls by name, waiting.

Nothing here orders sessions by sleeping: they meet at barriers, or one is known to wait for
another because the server says so.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import TupleRow, dict_row
from psycopg.types.json import Jsonb

from tests.support.servers import Database

Connection = psycopg.Connection[TupleRow]
Row = dict[str, Any]

#: How long a test waits for another session before it gives up.
PATIENCE = 30.0
#: Pause between two looks at the server while waiting for something.
POLL = 0.002

ACTIVE = ("dispatched", "waiting_local_directory", "running")


def rows(connection: Connection, query: str, arguments: Any = None) -> list[Row]:
    """Run a statement and give its rows by column name."""
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(query.encode(), arguments)
        return cursor.fetchall() if cursor.description is not None else []


def call(
    connection: Connection, function: str, workspace: uuid.UUID, **given: Any
) -> list[Row]:
    """Call a function of the schema by name; arguments are named without their p_."""
    names = ["p_workspace_id", *(f"p_{name}" for name in given)]
    listed = ", ".join(f"{name} => %s" for name in names)
    values = [Jsonb(value) if isinstance(value, dict) else value for value in given.values()]
    return rows(
        connection, f"select * from dispatch.{function}({listed})", [workspace, *values]
    )


def one(connection: Connection, function: str, workspace: uuid.UUID, **given: Any) -> Row:
    """Call a function that answers with one row."""
    (row,) = call(connection, function, workspace, **given)
    return row


@dataclass(frozen=True)
class Fleet:
    """A workspace with an owner, one fresh runtime, and agents bound to it."""

    workspace: uuid.UUID
    owner: uuid.UUID
    runtime: uuid.UUID
    agents: tuple[uuid.UUID, ...]

    @property
    def agent(self) -> uuid.UUID:
        """The first agent."""
        return self.agents[0]

    def call(self, connection: Connection, function: str, **given: Any) -> list[Row]:
        """Call a function for this workspace."""
        return call(connection, function, self.workspace, **given)

    def one(self, connection: Connection, function: str, **given: Any) -> Row:
        """Call a function that answers with one row, for this workspace."""
        return one(connection, function, self.workspace, **given)

    def doing(self, function: str, **given: Any) -> Callable[[Connection], Row]:
        """Make a task for a crew: a call that answers with one row."""
        return lambda connection: self.one(connection, function, **given)

    def calling(self, function: str, **given: Any) -> Callable[[Connection], list[Row]]:
        """Make a task for a crew: a call that answers with any number of rows."""
        return lambda connection: self.call(connection, function, **given)

    def waking(self, agent: uuid.UUID | None = None, **given: Any) -> Callable[..., Row]:
        """Make a task for a crew: one wake."""
        return lambda connection: self.wake(connection, agent, **given)

    def wake(self, connection: Connection, agent: uuid.UUID | None = None, **given: Any) -> Row:
        """Queue one wake, by default for the first agent, for the reason `work`, not to merge.

        What these tests are about is a slot that is taken; young runs would merge the wakes.
        """
        given = {"agent_id": agent or self.agent, "reason": "work", "coalesce": False, **given}
        return self.one(connection, "queue_wake", **given)

    def claim(self, connection: Connection, agent: uuid.UUID | None = None) -> list[Row]:
        """Claim one run of an agent, by default of the first."""
        return self.call(connection, "claim_run", agent_id=agent or self.agent)

    def claims(self, connection: Connection, most: int = 1, **given: Any) -> list[Row]:
        """Claim for the fleet's runtime."""
        return self.call(
            connection, "claim_runs", runtime_ids=[self.runtime], max=most, **given
        )

    def issues(self, connection: Connection, count: int) -> list[uuid.UUID]:
        """Make issues that nobody is assigned to."""
        return [
            self.one(connection, "create_issue", title="work", actor_type="system")["issue_id"]
            for _ in range(count)
        ]

    def runs(self, connection: Connection, where: str = "true", *arguments: Any) -> list[Row]:
        """Read the workspace's runs in the order of their ids."""
        return rows(
            connection,
            f"select * from dispatch.runs where workspace_id = %s and {where} order by id",
            [self.workspace, *arguments],
        )


def make_fleet(db: Database, *, agents: int = 1, capacity: int = 6) -> Fleet:
    """Make a workspace with agents of that capacity on one fresh runtime."""
    fleet = Fleet(
        uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), tuple(uuid.uuid4() for _ in range(agents))
    )
    with db.connect() as admin:
        fleet.call(admin, "put_workspace", name="Acme", issue_prefix="ACME")
        fleet.call(admin, "put_member", user_id=fleet.owner, name="Ana", role="owner")
        fleet.call(admin, "put_runtime", runtime_id=fleet.runtime, daemon_id="daemon-1")
        for number, agent in enumerate(fleet.agents):
            fleet.call(
                admin,
                "put_agent",
                agent_id=agent,
                name=f"agent {number}",
                owner_id=fleet.owner,
                runtime_id=fleet.runtime,
                max_concurrent_runs=capacity,
            )
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
    return fleet


class Crew:
    """A number of sessions, each in a thread of its own, that start together."""

    def __init__(self, db: Database, size: int, **parameters: Any) -> None:
        self.size = size
        self.connections = [db.connect(**parameters) for _ in range(size)]
        self._pool = ThreadPoolExecutor(size)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for connection in self.connections:
            connection.close()

    def together(self, *tasks: Callable[[Connection], Any]) -> list[Any]:
        """Run a task in each session at once and give their results in order.

        One task is run in all of them, several in as many sessions. An error of one is raised
        once all have ended.
        """
        shares = list(tasks) * self.size if len(tasks) == 1 else list(tasks)
        barrier = threading.Barrier(len(shares), timeout=PATIENCE)

        def work(connection: Connection, task: Callable[[Connection], Any]) -> Any:
            barrier.wait()
            return task(connection)

        futures = [
            self._pool.submit(work, connection, task)
            for connection, task in zip(self.connections, shares, strict=False)
        ]
        for future in futures:
            future.exception(PATIENCE)
        return [future.result() for future in futures]


@contextlib.contextmanager
def background(task: Callable[[], Any]) -> Iterator[Future[Any]]:
    """Run a task in a thread while the block runs; the block asks the future for its result."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(task)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Look until a condition gives something true, and give that."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s in vain until {what}")
        time.sleep(POLL)


def until_blocked(db: Database, waiting: Connection, by: Connection) -> None:
    """Wait until one session waits for a lock that the other one holds."""
    with db.connect() as observer:
        until(
            lambda: rows(
                observer,
                "select where %s = any(pg_blocking_pids(%s))",
                [by.info.backend_pid, waiting.info.backend_pid],
            ),
            "the session waits for the other one",
        )


def until_waiting(db: Database, waiting: Connection) -> None:
    """Wait until a session waits for a lock of any other one."""
    with db.connect() as observer:
        until(
            lambda: rows(
                observer,
                "select where cardinality(pg_blocking_pids(%s)) > 0",
                [waiting.info.backend_pid],
            ),
            "the session waits",
        )


def deadlocks(db: Database) -> int:
    """Read the server's deadlock counter of the database, after its sessions have reported."""
    with db.connect() as observer:
        observer.execute("select pg_stat_force_next_flush()")
        observer.execute("select pg_stat_clear_snapshot()")
        found: int = rows(
            observer,
            "select d.deadlocks from pg_stat_database as d"
            " where d.datname = current_database()",
        )[0]["deadlocks"]
    return found


def payloads(claimed: Sequence[Row]) -> list[Any]:
    """List the payload of each wake that claimed runs deliver, a counted one as often."""
    return [
        trigger["payload"]
        for run in claimed
        for trigger in run["triggers"]
        for _ in range(trigger["count"])
    ]
