"""Counts round trips where they happen: on the way between client and server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.bench import floor, ours
from tests.bench.floor import Connection
from tests.bench.rows import Row
from tests.bench.server import PAYLOAD, PAYLOAD_TEXT, Bench

#: The server says so when it has answered all it was sent and waits for the next.
READY = b"Z"


class Wire:
    """A way to a server that counts how often the server was ready for the next request."""

    def __init__(self, dsn: str) -> None:
        given = conninfo_to_dict(dsn)
        self._host, self._port = str(given["host"]), int(str(given["port"]))
        self._server = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.answers = 0
        port = self._server.getsockname()[1]
        # Nothing is encrypted, so that the answers can be told apart.
        self.dsn = make_conninfo(
            dsn, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable"
        )
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if Path(self._host).is_absolute():
                    far = socket.socket(socket.AF_UNIX)
                    far.connect(f"{self._host}/.s.PGSQL.{self._port}")
                else:
                    far = socket.create_connection((self._host, self._port))
                self._sockets += [near, far]
                for task in ((near, far, None), (far, near, self._count)):
                    threading.Thread(target=_pump, args=task, daemon=True).start()

    def _count(self, rest: bytearray) -> None:
        """Take whole messages off what the server said so far."""
        at = 0
        while len(rest) - at >= 5:
            size = 1 + int.from_bytes(rest[at + 1 : at + 5])
            if len(rest) - at < size:
                break
            self.answers += rest[at : at + 1] == READY
            at += size
        del rest[:at]


def _pump(
    source: socket.socket, target: socket.socket, count: Callable[[bytearray], None] | None
) -> None:
    rest = bytearray()
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            if count is not None:
                rest += data
                count(rest)
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)


def measure(bench: Bench, row: Row, count: int, size: int) -> None:
    """Count the round trips of a run, from the wake on, in batches of that size."""
    with bench.database() as (dsn, _):
        row.floor.append(_trips(dsn, count, lambda conn: _floor_lives(conn, count, size)))
    with bench.database() as (dsn, _):
        row.ours.append(_trips(dsn, count, lambda conn: _own_lives(bench, conn, count, size)))


def _trips(dsn: str, count: int, task: Callable[[Connection], None]) -> float:
    with Wire(dsn) as wire, psycopg.connect(wire.dsn, autocommit=True) as conn:
        before = wire.answers
        task(conn)
        return (wire.answers - before) / count


def _floor_lives(conn: Connection, count: int, size: int) -> None:
    if size == 1:
        floor.put_one_by_one(conn, count, PAYLOAD_TEXT)
    else:
        floor.put_in_bulk(conn, count, PAYLOAD_TEXT, size=1000)
    floor.drain(conn, size, lambda _: None)


def _own_lives(bench: Bench, conn: Connection, count: int, size: int) -> None:
    if size == 1:
        ours.put_one_by_one(conn, bench.world, count, PAYLOAD)
    else:
        ours.put_in_bulk(conn, bench.world, count, PAYLOAD)
    ours.drain_together(conn, bench.world, size, lambda _: None)
