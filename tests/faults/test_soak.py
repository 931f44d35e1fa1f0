"""A randomised run of all public calls at once: no promise broken, no wake lost.

PGDISPATCH_SOAK_SECONDS makes it longer, PGDISPATCH_SOAK_SEED chooses other calls, and
PGDISPATCH_SOAK_THREADS=1 makes the same calls in the same order each time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgdispatch import schema
from pgdispatch.embedded import EmbeddedServer
from tests.concurrency.support import deadlocks
from tests.faults.soak import Soak
from tests.support.servers import Database, Server

SECONDS = float(os.environ.get("PGDISPATCH_SOAK_SECONDS", "20"))
SEED = int(os.environ.get("PGDISPATCH_SOAK_SEED", "1"))
THREADS = int(os.environ.get("PGDISPATCH_SOAK_THREADS", "6"))


def said(soak: Soak) -> str:
    """Sum up a run, so that a failure can be repeated and an idle one be seen."""
    return (
        f"PGDISPATCH_SOAK_SEED={soak.seed} PGDISPATCH_SOAK_THREADS={soak.count}:"
        f" {sum(soak.done.values())} calls {dict(soak.done)}, refused {dict(soak.refused)},"
        f" {len(soak.accepted)} wakes, {len(soak.delivered)} delivered"
    )


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 240)
def test_any_calls_in_any_order(db: Database) -> None:
    soak = Soak(db, SEED, THREADS)
    try:
        soak.run(SECONDS)
        soak.drain()
        soak.check()
        assert deadlocks(db) == 0
        assert len(soak.delivered) > len(soak.accepted) / 20, "hardly anything was delivered"
    except BaseException:
        print(said(soak))
        raise
    print(said(soak))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's account can enter."""
    made = Path(tempfile.mkdtemp(prefix="pgdispatch-soak-"))
    made.chmod(0o777)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@pytest.mark.slow
def test_a_server_that_dies_meanwhile(server: Server, folder: Path) -> None:
    """After a restart all that was acknowledged is there, and all that is left can be done."""
    if server.bindir is None:
        pytest.skip("the server is not ours to crash")
    data_dir = folder / "data"
    durable = {"synchronous_commit": "on"}
    with EmbeddedServer(
        data_dir, bindir=server.bindir, durable=True, settings=durable
    ) as embedded:
        crashing = Database(Server("crash", embedded.dsn, embedded.bindir), "postgres")
        with crashing.connect() as connection:
            schema.apply_sql(connection)
        soak = Soak(crashing, SEED, THREADS)
        bindir, run = embedded.bindir, embedded.run

        def crash() -> None:
            run([bindir / "pg_ctl", "-D", data_dir, "-m", "immediate", "-w", "stop"])

        soak.run(6, crash=crash)
    with EmbeddedServer(
        data_dir, bindir=server.bindir, durable=True, settings=durable
    ) as embedded:
        soak.db = Database(Server("crash", embedded.dsn, embedded.bindir), "postgres")
        soak.drain()
        soak.check()
    print(said(soak))
