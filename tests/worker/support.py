"""A worker in a thread, and a way to the server that can freeze."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgdispatch import Worker
from tests.concurrency.support import PATIENCE, Connection, Fleet, Row, until
from tests.support.servers import Database

#: Longer than any test: what happens then was not caused by a look at the queue.
NEVER = 3600.0


@contextmanager
def working(worker: Worker, *, is_halted: bool = False) -> Iterator[threading.Thread]:
    """Let a worker run in a thread while the block does, and see it end."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            worker.run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    except BaseException:
        is_halted = True
        raise
    finally:
        worker.stop()
        if is_halted:
            worker.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the worker does not end"
    assert not raised, raised


def wake(fleet: Fleet, connection: Connection, **given: Any) -> uuid.UUID:
    """Queue a wake with a lane of its own; give its run's id."""
    given = {"chat_session_id": uuid.uuid4(), **given}
    run: uuid.UUID = fleet.wake(connection, **given)["run_id"]
    return run


def run_of(fleet: Fleet, connection: Connection, run_id: uuid.UUID) -> Row:
    """Read one run."""
    (row,) = fleet.runs(connection, "id = %s", run_id)
    return row


def until_status(
    fleet: Fleet, connection: Connection, run_id: uuid.UUID, *statuses: str
) -> Row:
    """Wait until a run has one of the statuses."""

    def found() -> Row | None:
        row = run_of(fleet, connection, run_id)
        return row if row["status"] in statuses else None

    row: Row = until(found, f"the run is {' or '.join(statuses)}")
    return row


class Proxy:
    """A way to a database that passes bytes on until it is frozen, or refuses connections."""

    def __init__(self, db: Database) -> None:
        given = conninfo_to_dict(db.dsn)
        self._host, self._port = str(given.get("host", "")), int(str(given.get("port", 5432)))
        self._server = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._frozen: set[socket.socket] = set()
        self._is_refusing = False
        self.refused = threading.Event()
        port = self._server.getsockname()[1]
        self.dsn = make_conninfo(db.dsn, host="127.0.0.1", port=port, hostaddr="127.0.0.1")
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def freeze(self) -> None:
        """Swallow from now on what the present connections carry; new ones are served."""
        self._frozen.update(self._sockets)

    def refuse(self, *, refusing: bool = True) -> None:
        """Hang up on whoever connects, or serve again."""
        self._is_refusing = refusing

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                if self._is_refusing:
                    near.close()
                    self.refused.set()
                    continue
                if Path(self._host).is_absolute():
                    far = socket.socket(socket.AF_UNIX)
                    far.connect(f"{self._host}/.s.PGSQL.{self._port}")
                else:
                    far = socket.create_connection((self._host, self._port))
                self._sockets += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(
                        target=self._pump, args=(source, target), daemon=True
                    ).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if source not in self._frozen:
                    target.sendall(data)
        if source not in self._frozen:
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_RDWR)
