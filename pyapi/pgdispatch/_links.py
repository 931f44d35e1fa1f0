"""The connections of a worker: replaced when they break, cut off when they are frozen."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from pgdispatch import _connections
from pgdispatch._calls import Call
from pgdispatch._logging import watch
from pgdispatch.errors import translated

Connection: TypeAlias = psycopg.Connection[Any]
Pool: TypeAlias = ConnectionPool[Any]

_IDLE = psycopg.pq.TransactionStatus.IDLE

# A peer that vanished is noticed by the kernel within a minute, unless the DSN says otherwise.
_KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


def lively(dsn: str) -> str:
    """Give a DSN whose connections are probed by the kernel and whose connecting ends."""
    given = conninfo_to_dict(dsn)
    missing = {name: value for name, value in _KEEPALIVES.items() if name not in given}
    return make_conninfo(_connections.probe(dsn), **missing)


class Link:
    """One connection for one thread, taken from a pool or opened from a DSN when needed.

    A use that outlasts its time is cut off by `expire`, which another thread calls: a server
    or a network that swallows what is sent gives no error by itself.
    """

    def __init__(self, source: str | Pool) -> None:
        self._source = source if isinstance(source, ConnectionPool) else lively(source)
        self._own: Connection | None = None
        self._used: Connection | None = None
        self._deadline = 0.0
        self._guard = threading.Lock()

    @property
    def backend_pid(self) -> int | None:
        """The server's process behind the connection that is kept open, if there is one."""
        return self._own.info.backend_pid if self._own is not None else None

    @contextmanager
    def use(self, seconds: float) -> Iterator[Connection]:
        """Give a connection in autocommit for at most so many seconds."""
        if isinstance(self._source, ConnectionPool):
            with self._source.connection() as conn:
                was_autocommit = conn.autocommit
                conn.autocommit = True
                try:
                    with self._timed(conn, seconds):
                        yield conn
                finally:
                    if not conn.closed and conn.info.transaction_status == _IDLE:
                        conn.autocommit = was_autocommit
            return
        if self._own is None:
            self._own = psycopg.connect(self._source, autocommit=True, **_connections.OPTIONS)
        try:
            with self._timed(self._own, seconds):
                yield self._own
        finally:
            if self._own.closed:
                self._own = None

    def close(self) -> None:
        """Close the connection that a DSN led to."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def expire(self) -> None:
        """Cut the connection off if its use has outlasted its time."""
        with self._guard:
            if self._used is not None and time.monotonic() > self._deadline:
                _cut(self._used)

    def cut(self) -> None:
        """Cut the connection off at once if it is in use."""
        with self._guard:
            if self._used is not None:
                _cut(self._used)

    def extend(self, seconds: float) -> None:
        """Give the present use so many seconds from now."""
        with self._guard:
            self._deadline = time.monotonic() + seconds

    @contextmanager
    def _timed(self, conn: Connection, seconds: float) -> Iterator[None]:
        with self._guard:
            self._used, self._deadline = conn, time.monotonic() + seconds
        try:
            yield
        finally:
            with self._guard:
                self._used = None


def _cut(conn: Connection) -> None:
    """Shut the socket: whoever waits on it gets the error of a lost connection."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(conn.fileno())) as twin,
    ):
        twin.shutdown(socket.SHUT_RDWR)


def together(conn: Connection, calls: Sequence[Call[Any]]) -> list[Any]:
    """Make calls in one transaction and, where libpq can, in one round trip."""
    watch(conn)
    with ExitStack() as stack:
        cursors = [
            stack.enter_context(psycopg.Cursor(conn, row_factory=tuple_row)) for _ in calls
        ]
        try:
            with translated(), _pipelined(conn):
                conn.execute("begin isolation level read committed")
                for cursor, call in zip(cursors, calls, strict=True):
                    cursor.execute(call.sql.encode(), call.args, binary=True)
                conn.execute("commit")
        except BaseException:
            if not conn.closed and conn.info.transaction_status != _IDLE:
                conn.execute("rollback")
            raise
        return [
            call.read(cursor.fetchall()) for cursor, call in zip(cursors, calls, strict=True)
        ]


@contextmanager
def _pipelined(conn: Connection) -> Iterator[None]:
    """Send statements without waiting for the answer of each."""
    if psycopg.Pipeline.is_supported():
        with conn.pipeline():
            yield
    else:
        yield
