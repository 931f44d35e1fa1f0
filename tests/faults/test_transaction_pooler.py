"""Everything works behind a pooler that gives each transaction another session."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from pgdispatch import Dispatch, Outcome, Worker
from pgdispatch import worker as module
from pgdispatch._links import together
from tests.concurrency.support import make_fleet, until
from tests.support.servers import Database
from tests.worker.support import NEVER, until_status, wake, working

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

SETTINGS = """
[databases]
* = host={host} port={port} user={user}

[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {listen}
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


@pytest.fixture
def pooled_dsn(db: Database) -> Iterator[str]:
    """A way to the database through a pooler in transaction mode."""
    if PGBOUNCER is None:
        pytest.skip("no pgbouncer: apt package pgbouncer")
    target = conninfo_to_dict(db.dsn)
    host = Path(str(target.get("host", "")))
    if not host.is_absolute():
        pytest.skip("the pooler reaches the server by its socket only")
    # The pooler runs as the server's own account, which alone may enter the socket's folder.
    owner = host.stat()
    folder = Path(tempfile.mkdtemp(prefix="pgdispatch-pooler-"))
    folder.chmod(0o755)
    listen = free_port()
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        SETTINGS.format(
            host=host,
            port=target["port"],
            user=target["user"],
            folder=folder,
            listen=listen,
        )
    )
    identity: dict[str, Any] = {}
    if os.getuid() == 0:
        os.chown(folder, owner.st_uid, owner.st_gid)
        identity = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    process = subprocess.Popen(
        [PGBOUNCER, str(settings)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        **identity,
    )
    try:
        dsn = make_conninfo(
            "", host=str(folder), port=listen, user=target["user"], dbname=db.name
        )
        until(lambda: process.poll() is not None or answers(dsn), "the pooler answers")
        assert process.poll() is None, (folder / "pgbouncer.log").read_text()
        yield dsn
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        shutil.rmtree(folder)


def free_port() -> int:
    """Find a number that no socket has; the pooler needs one for its socket's name."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


def answers(dsn: str) -> bool:
    """Tell whether a connection can be had."""
    try:
        with psycopg.connect(dsn, connect_timeout=5):
            return True
    except psycopg.OperationalError:
        return False


def test_four_threads_work_through_a_pooler(db: Database, pooled_dsn: str) -> None:
    fleet = make_fleet(db, agents=4, capacity=2)
    with db.connect() as admin:
        issues = fleet.issues(admin, 25)
    sessions: set[int] = set()

    def note(connection: psycopg.Connection[Any]) -> None:
        row = connection.execute("select pg_backend_pid()").fetchone()
        sessions.add(row[0] if row else 0)
        connection.rollback()

    with ConnectionPool(
        pooled_dsn, min_size=4, max_size=4, kwargs={"prepare_threshold": None}
    ) as pool:

        def live(number: int) -> int:
            agent = fleet.agents[number]
            dispatch = Dispatch(pool)
            for issue in issues:
                decided = dispatch.queue_wake(
                    fleet.workspace, agent, "work", {"n": number}, issue_id=issue
                )
                assert decided.outcome is Outcome.QUEUED
            served = 0
            while claimed := dispatch.claim_runs(
                fleet.workspace, [fleet.runtime], max=2, per_agent=2
            ) or dispatch.claim_run(fleet.workspace, agent):
                runs = claimed if isinstance(claimed, list) else [claimed]
                for run in runs:
                    started = dispatch.start_run(fleet.workspace, run.run_id, run.claim_no)
                    assert started.applied
                    ended = dispatch.complete_run(
                        fleet.workspace, run.run_id, run.claim_no, {"by": number}
                    )
                    assert ended.applied
                    served += 1
                with pool.connection() as connection:
                    note(connection)
            return served

        with ThreadPoolExecutor(4) as threads:
            served = sum(threads.map(live, range(4)))
        dispatch = Dispatch(pool)
        # A thread that found nothing may have left while another one still held runs.
        while claimed := dispatch.claim_runs(
            fleet.workspace, [fleet.runtime], max=50, per_agent=50, start=True
        ):
            for run in claimed:
                assert dispatch.complete_run(fleet.workspace, run.run_id, run.claim_no).applied
                served += 1
    assert served == 100
    assert len(sessions) > 1, "every transaction had the same session, so nothing was shown"
    with db.connect() as admin:
        assert {run["status"] for run in fleet.runs(admin)} == {"completed"}


@pytest.mark.parametrize("is_listening", [True, False], ids=["listen_dsn", "no_listen"])
def test_a_worker_works_through_a_pooler(
    db: Database,
    pooled_dsn: str,
    *,
    is_listening: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its listener is on a session of its own, or there is none and it polls."""
    fleet = make_fleet(db, agents=2)
    sessions: set[int] = set()
    channels: set[int] = set()

    def noted(conn: psycopg.Connection[Any], calls: Any) -> Any:
        row = conn.execute("select pg_backend_pid()").fetchone()
        is_channel = calls[0].sql.count("wake_channel")
        (channels if is_channel else sessions).add(row[0] if row else 0)
        return together(conn, calls)

    monkeypatch.setattr(module, "together", noted)
    given: dict[str, Any] = (
        {"listen_dsn": db.dsn, "poll_interval": NEVER}
        if is_listening
        else {"listen": False, "poll_interval": 0.05}
    )
    with ExitStack() as stack, db.connect() as admin:
        # Two sessions are held by others at once, so that the pooler has three to lend.
        for _ in range(2):
            stack.enter_context(psycopg.connect(pooled_dsn, prepare_threshold=None)).execute(
                "select"
            )
        worker = Worker(
            pooled_dsn,
            fleet.workspace,
            [fleet.runtime],
            lambda run: {"run": str(run.run_id)},
            concurrency=2,
            heartbeat_interval=0.05,
            **given,
        )
        with caplog.at_level(logging.WARNING, "pgdispatch.worker"), working(worker):
            for number in range(10):
                run = wake(fleet, admin, agent=fleet.agents[number % 2])
                found = until_status(fleet, admin, run, "completed", "failed")
                assert found["result"] == {"run": str(run)}
                stack.close()
    assert caplog.messages == []
    assert len(sessions) > 1, "every transaction had the same session, so nothing was shown"
    assert len(channels) == is_listening
    assert not channels & sessions
