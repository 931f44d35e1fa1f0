"""Other queues on PostgreSQL that install from PyPI, each as its own documentation drives it.

A peer is a module of this package, with a class `Peer`, that imports what it needs. One that is
not installed is absent, and the table says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.bench.rows import Row
from tests.bench.server import PATIENCE, Bench
from tests.support.servers import REPOSITORY

#: What is measured, in this order; a package whose name differs from its module's is named.
NAMES = ("pgqueuer", "procrastinate", "chancy", "oban")
NEEDED = {"pgqueuer": ("pgqueuer", "asyncpg"), "oban": ("oban", "psycopg_pool")}
LOOK_SECONDS = 0.02

Hit = Callable[[], None]


class PeerLike(Protocol):
    """What the module of a peer provides."""

    #: Counts the jobs that are not done yet.
    remaining: ClassVar[str]

    async def install(self, url: str) -> None:
        """Make the schema."""

    async def put(self, url: str, count: int, size: int) -> float:
        """Enqueue jobs, so many with one call, and give the seconds that took."""

    async def work(self, url: str, size: int, hit: Hit) -> None:
        """Be a worker with so many jobs at once, which calls `hit` in each, until cancelled."""


def installed() -> dict[str, str]:
    """Name the peers that can be imported, with their versions."""
    found = {}
    for name in NAMES:
        if all(importlib.util.find_spec(each) for each in NEEDED.get(name, (name,))):
            found[name] = importlib.metadata.version(name)
    return found


def absent() -> list[str]:
    """Name the peers that cannot be imported."""
    return [name for name in NAMES if name not in installed()]


class Peers:
    """The installed peers on the server of a bench, each with a template of its own."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._templates: set[str] = set()
        self.names = list(installed())

    def enqueue(self, row: Row, count: int, size: int = 1) -> None:
        """Measure one round of enqueueing for each peer."""
        for name in self.names:
            with self._database(name) as (url, conn):
                seconds = _in_process(name, "put", url, count, size)
                assert _remaining(name, conn) == count, name
                row.peers.setdefault(name, []).append(count / seconds)

    def drain(self, row: Row, count: int, size: int) -> None:
        """Measure one round of a worker's work on what waits, for each peer."""
        for name in self.names:
            with self._database(name) as (url, conn):
                _in_process(name, "put", url, count, 1000)
                self._bench.settle(conn)
                seconds = _in_process(name, "work", url, count, size)
                assert _remaining(name, conn) == 0, name
                row.peers.setdefault(name, []).append(count / seconds)

    @contextmanager
    def _database(self, name: str) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
        if name not in self._templates:
            with self._bench.template(f"bench_{name}") as dsn:
                _in_process(name, "install", url_of(dsn), 0, 0)
            self._templates.add(name)
        with self._bench.database(template=f"bench_{name}") as (dsn, conn):
            yield url_of(dsn), conn


def url_of(dsn: str) -> str:
    """Write a connection string as the URL that all of them read."""
    given = conninfo_to_dict(dsn)
    return (
        f"postgresql://{given['user']}@/{given['dbname']}"
        f"?host={given['host']}&port={given['port']}"
    )


def _remaining(name: str, conn: psycopg.Connection[Any]) -> int:
    row = conn.execute(_load(name).remaining.encode()).fetchone()
    assert row is not None
    return int(row[0])


def _load(name: str) -> PeerLike:
    peer: PeerLike = importlib.import_module(f"tests.bench.peers.{name}").Peer()
    return peer


def _in_process(name: str, what: str, url: str, count: int, size: int) -> float:
    """Have a process of its own do it, and give the seconds that it took."""
    words = [name, what, url, str(count), str(size)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.peers", *words],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said = process.stdout.readline() if process.stdout is not None else ""
    finally:
        # How long a worker takes to leave is not asked, nor what it has started itself.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _, trouble = process.communicate()
    assert said, f"{name} {what}: {trouble}"
    return float(said)


async def perform(name: str, what: str, url: str, count: int, size: int) -> float:
    """Do one thing as a peer, and give the seconds that it took."""
    peer = _load(name)
    async with asyncio.timeout(PATIENCE):
        if what == "install":
            await peer.install(url)
            return 0.0
        if what == "put":
            return await peer.put(url, count, size)
        return await _work(peer, url, count, size)


async def _work(peer: PeerLike, url: str, count: int, size: int) -> float:
    """Give the seconds from the first job's begin until all are done in the database."""
    handled, first = 0, 0.0
    loop, all_handled = asyncio.get_running_loop(), asyncio.Event()

    def hit() -> None:
        nonlocal handled, first
        handled += 1
        first = first or time.perf_counter()
        if handled == count:
            loop.call_soon_threadsafe(all_handled.set)

    worker = asyncio.ensure_future(peer.work(url, size, hit))
    waiter = asyncio.ensure_future(all_handled.wait())
    await asyncio.wait({worker, waiter}, return_when=asyncio.FIRST_COMPLETED)
    if not all_handled.is_set():
        await worker
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        while True:
            row = await (await conn.execute(peer.remaining.encode())).fetchone()
            if row is not None and row[0] == 0:
                return time.perf_counter() - first
            await asyncio.sleep(LOOK_SECONDS)
