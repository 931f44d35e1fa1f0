"""The server that everything is measured on, its template database, and what it counts."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from pgdispatch import Dispatch, schema
from pgdispatch.embedded import EmbeddedServer
from tests.bench import floor, ours
from tests.bench.floor import Connection

PAYLOAD = {"text": "x" * 88}
PAYLOAD_TEXT = json.dumps(PAYLOAD)
TEMPLATE = "bench_template"
PATIENCE = 600.0

SETTINGS = {
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "max_connections": "50",
}


@dataclass(frozen=True)
class Sizes:
    """How much is done in one measurement."""

    single: int
    bulk: int
    batch: int
    pickups: int
    batches: tuple[int, ...]
    processes: int
    rounds: int
    #: How many runs are queued, and how many have ended, where growth is measured.
    queued: tuple[int, ...]
    history: tuple[int, ...]
    churn_seconds: float
    previews: int
    #: Whether rows on disk are settled (vacuumed, analyzed, flushed) before each measurement.
    is_timed: bool = True

    def scaled(self, share: float, rounds: int) -> Sizes:
        """Give the same in smaller, for a machine or a moment that is short of time."""
        return dataclasses.replace(
            self,
            rounds=rounds,
            single=max(1, round(self.single * share)),
            bulk=max(1000, round(self.bulk * share)),
            batch=max(200, round(self.batch * share)),
            pickups=max(1, round(self.pickups * share)),
            queued=tuple(max(1000, round(each * share)) for each in self.queued),
            history=tuple(max(1000, round(each * share)) for each in self.history),
            churn_seconds=max(2.0, self.churn_seconds * share),
        )


FULL = Sizes(
    single=1000,
    bulk=10_000,
    batch=10_000,
    pickups=200,
    batches=(10, 50, 200),
    processes=4,
    rounds=3,
    queued=(1000, 100_000, 1_000_000),
    history=(10_000, 100_000, 1_000_000),
    churn_seconds=60.0,
    previews=500,
)
SMOKE = Sizes(
    single=16,
    bulk=1000,
    batch=200,
    pickups=3,
    batches=(50,),
    processes=2,
    rounds=1,
    queued=(100, 1000),
    history=(100, 1000),
    churn_seconds=0.5,
    previews=20,
    is_timed=False,
)


class Bench:
    """The server and its template."""

    def __init__(self, server: EmbeddedServer, sizes: Sizes) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self.sizes = sizes
        with self._admin() as conn:
            conn.execute(f"create database {TEMPLATE}")
            self.version = conn.info.parameter_status("server_version") or ""
        schema.migrate(server.dsn(TEMPLATE))
        with psycopg.connect(server.dsn(TEMPLATE), autocommit=True) as conn:
            conn.execute(floor.SCHEMA)
            self.world = ours.make_world(conn)

    @contextmanager
    def database(
        self, fill: Callable[[Connection], Any] | None = None, *, template: str = TEMPLATE
    ) -> Iterator[tuple[str, Connection]]:
        """Give a fresh database with what is to be done in it, and a connection."""
        name = f"bench_{next(self._numbers)}"
        with self._admin() as admin:
            admin.execute(f"create database {name} template {template}".encode())
        dsn = self._server.dsn(name)
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                if template == TEMPLATE:
                    Dispatch(conn).heartbeat(self.world.workspace, [self.world.runtime])
                if fill is not None:
                    fill(conn)
                self.settle(conn)
                yield dsn, conn
        finally:
            with self._admin() as admin:
                admin.execute(f"drop database {name} with (force)".encode())

    @contextmanager
    def template(self, name: str) -> Iterator[str]:
        """Give an empty database to be filled, which is then one to copy from."""
        with self._admin() as admin:
            admin.execute(f"create database {name}".encode())
        yield self._server.dsn(name)

    def settle(self, conn: Connection) -> None:
        """Have done before the clock runs what the server would do while it does."""
        if self.sizes.is_timed:
            conn.execute("vacuum (analyze)")
            conn.execute("checkpoint")

    @contextmanager
    def without_page_images(self) -> Iterator[None]:
        """Keep images of whole pages out of the WAL while it is weighed."""
        with self._admin() as admin:
            admin.execute("alter system set full_page_writes = off")
            admin.execute("select pg_reload_conf()")
        try:
            yield
        finally:
            with self._admin() as admin:
                admin.execute("alter system reset full_page_writes")
                admin.execute("select pg_reload_conf()")

    @contextmanager
    def _admin(self) -> Iterator[Connection]:
        with psycopg.connect(self._server.dsn("postgres"), autocommit=True) as conn:
            yield conn


def rate(count: int, task: Callable[[], object]) -> float:
    """Time a task, and give how many it did a second."""
    began = time.perf_counter()
    task()
    return count / (time.perf_counter() - began)


def waiting(conn: Connection, table: str, status: str) -> int:
    """Count the rows of a table that have a status."""
    query = f"select count(*) from {table} as t where t.status = {status}"
    found = conn.execute(query.encode()).fetchone()
    assert found is not None
    return int(found[0])


def counters(conn: Connection) -> dict[str, float]:
    """Read what the server has written and touched so far."""
    conn.execute("select pg_stat_force_next_flush()")
    conn.execute("select pg_stat_clear_snapshot()")
    fsyncs = (
        "select w.wal_sync from pg_stat_wal as w"
        if conn.info.server_version < 180000
        else "select sum(i.fsyncs) from pg_stat_io as i where i.object = 'wal'"
    )
    query = f"""
        select
            pg_current_wal_insert_lsn() - '0/0'::pg_lsn,
            d.blks_hit + d.blks_read,
            d.xact_commit,
            ({fsyncs})
        from pg_stat_database as d
        where d.datname = current_database()
    """
    found = conn.execute(query.encode()).fetchone()
    assert found is not None
    names = ("WAL bytes", "buffers", "commits", "fsyncs")
    return {name: float(value or 0) for name, value in zip(names, found, strict=True)}
