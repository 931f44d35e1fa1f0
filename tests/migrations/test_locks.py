"""Somebody's open transaction: a migration waits for a short time, then leaves no trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pgdispatch import schema
from tests.migrations.support import (
    TITLES,
    History,
    catalog,
    differing,
    edit,
    invalid_indexes,
    load_rows,
    read_rows,
)
from tests.support.servers import Database

TWO = ("0001_core", "0002_nicknames")


@pytest.fixture
def second(history: History, tmp_path: Path) -> Path:
    """The first two migrations."""
    return history.copy(tmp_path / "second", *TWO)


@pytest.fixture
def patient(history: History, tmp_path: Path) -> Path:
    """All three, the third of which waits for whoever writes."""
    folder = history.copy(tmp_path / "patient", *TWO, "0003_titles")
    edit(folder / "0003_titles.sql", "'300ms'", "'60s'")
    return folder


@contextmanager
def in_background(dsn: str, folder: Path) -> Iterator[Future[schema.Migrated]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(schema.migrate, dsn, migrations=folder)


def until(database: Database, question: str) -> None:
    """Ask again and again until the server says yes."""
    pause = threading.Event()
    for _ in range(600):
        if database.value(question):
            return
        pause.wait(0.05)
    pytest.fail(f"never came true: {question}")


BUILDING = """
select exists (
    select from pg_stat_activity as a
    where a.datname = current_database()
        and a.query ~ 'create index concurrently'
        and a.wait_event_type = 'Lock'
        and a.pid <> pg_backend_pid()
)
"""


def test_ddl_gives_up_on_a_writer_and_leaves_nothing(
    empty_db: Database, history: History, second: Path, tmp_path: Path
) -> None:
    schema.migrate(empty_db.dsn, migrations=history.copy(tmp_path / "first", "0001_core"))
    load_rows(empty_db)
    before = catalog(empty_db), catalog(empty_db, schema.META_SCHEMA)
    rows = read_rows(empty_db)
    with empty_db.connect(autocommit=False) as writer:
        writer.execute("select from dispatch.workspace for update")
        with pytest.raises(
            schema.MigrationError,
            match=r"0002_nicknames did not get a lock.*nothing was changed",
        ):
            schema.migrate(empty_db.dsn, migrations=second)
        # Whoever came in between was not held up for longer than that.
        empty_db.execute("select from dispatch.workspace")
    assert (catalog(empty_db), catalog(empty_db, schema.META_SCHEMA)) == before
    assert read_rows(empty_db) == rows
    assert schema.migrate(empty_db.dsn, migrations=second).applied == ("0002_nicknames",)


def test_a_rollback_gives_up_on_a_writer_too(empty_db: Database, second: Path) -> None:
    schema.migrate(empty_db.dsn, migrations=second)
    load_rows(empty_db)
    before = catalog(empty_db)
    with empty_db.connect(autocommit=False) as writer:
        writer.execute("select from dispatch.workspace for update")
        with pytest.raises(schema.MigrationError, match="did not get a lock"):
            schema.rollback(empty_db.dsn, migrations=second)
    assert differing(catalog(empty_db), before) == []
    assert schema.rollback(empty_db.dsn, migrations=second).after == "0001_core"


def test_a_migration_that_names_no_limit_has_one(empty_db: Database, tmp_path: Path) -> None:
    (tmp_path / "0001_limits.sql").write_text(
        "-- 0001_limits: shows the limit that is in force\n-- depends:\n"
        "create table public.found as select current_setting('lock_timeout') as value;\n"
    )
    schema.migrate(empty_db.dsn, migrations=tmp_path)
    assert empty_db.value("select f.value from public.found as f") == "2s"


def test_a_build_does_not_begin_while_somebody_writes(
    empty_db: Database, history: History, second: Path
) -> None:
    """It would leave an index that is not valid, and could not take it away."""
    schema.migrate(empty_db.dsn, migrations=second)
    load_rows(empty_db)
    before = catalog(empty_db)
    with empty_db.connect(autocommit=False) as writer:
        writer.execute("update dispatch.issue set title = title")
        with pytest.raises(
            schema.MigrationError, match=r"0003_titles did not get a lock.*nothing was changed"
        ):
            schema.migrate(empty_db.dsn, migrations=history.migrations)
        assert catalog(empty_db) == before
    assert schema.migrate(empty_db.dsn, migrations=history.migrations).applied == (
        "0003_titles",
    )
    assert invalid_indexes(empty_db) == []


def test_a_build_waits_for_a_writer_and_holds_up_nobody(
    empty_db: Database, second: Path, patient: Path
) -> None:
    schema.migrate(empty_db.dsn, migrations=second)
    load_rows(empty_db)
    with empty_db.connect(autocommit=False, options="-c lock_timeout=5s") as writer:
        writer.execute("update dispatch.issue set title = title where number = 1")
        with in_background(empty_db.dsn, patient) as done:
            until(
                empty_db,
                "select count(*) = 1 from pg_locks as l where l.locktype = 'advisory'"
                f" and l.objid::bigint = {(schema.LOCK_KEY + 1) & 0xFFFF_FFFF}",
            )
            empty_db.execute("update dispatch.issue set title = title where number = 2")
            assert not done.done()
            writer.commit()
            assert done.result(timeout=60).applied == ("0003_titles",)
    assert invalid_indexes(empty_db) == []


def test_a_build_that_meets_a_late_writer_says_what_stays(
    empty_db: Database, history: History, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that begins after the question: the next run finds the index and repairs it."""
    schema.migrate(empty_db.dsn, migrations=second)
    load_rows(empty_db)
    monkeypatch.setattr(
        "pgdispatch.schema._migrator._Backend.writers", lambda self, table: set()
    )
    with empty_db.connect(autocommit=False) as writer:
        writer.execute("update dispatch.issue set title = title")
        with pytest.raises(
            schema.MigrationError, match=r"unfinished index dispatch\.issue_title_idx stays"
        ):
            schema.migrate(empty_db.dsn, migrations=history.migrations)
        assert invalid_indexes(empty_db) == ["dispatch.issue_title_idx"]
    monkeypatch.undo()
    assert schema.migrate(empty_db.dsn, migrations=history.migrations).applied == (
        "0003_titles",
    )
    assert invalid_indexes(empty_db) == []


def test_an_index_whose_build_failed_is_found_and_repaired(
    empty_db: Database, history: History, second: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The remains are what a unique build leaves that finds duplicates."""
    schema.migrate(empty_db.dsn, migrations=second)
    load_rows(empty_db)
    empty_db.execute("update dispatch.issue set title = 'alike'")
    unique = TITLES.format(how="concurrently ").replace("create", "create unique")
    with pytest.raises(psycopg.errors.UniqueViolation):
        empty_db.execute(unique)
    assert invalid_indexes(empty_db) == ["dispatch.issue_title_idx"]
    drifted = schema.find_drift(empty_db.dsn, migrations=second).differences
    assert [(each.kind, each.object) for each in drifted] == [
        ("extra", "index issue_title_idx")
    ]

    schema.migrate(empty_db.dsn, migrations=history.migrations)

    assert "dropped and built anew: dispatch.issue_title_idx" in caplog.text
    assert invalid_indexes(empty_db) == []
    assert schema.find_drift(empty_db.dsn, migrations=history.migrations).differences == ()


def test_a_unique_build_that_fails_leaves_nothing(
    empty_db: Database, history: History, tmp_path: Path
) -> None:
    folder = history.copy(tmp_path / "unique", *TWO, "0003_titles")
    edit(folder / "0003_titles.sql", "create index", "create unique index")
    schema.migrate(empty_db.dsn, migrations=history.copy(tmp_path / "two", *TWO))
    load_rows(empty_db)
    empty_db.execute("update dispatch.issue set title = 'alike'")
    before = catalog(empty_db)
    with pytest.raises(psycopg.errors.UniqueViolation) as caught:
        schema.migrate(empty_db.dsn, migrations=folder)
    assert "in 0003_titles" in caught.value.__notes__
    assert catalog(empty_db) == before
    empty_db.execute("update dispatch.issue set title = id::text")
    schema.migrate(empty_db.dsn, migrations=folder)
    with pytest.raises(psycopg.errors.UniqueViolation):
        empty_db.execute("update dispatch.issue set title = 'alike'")


def test_an_index_that_a_dba_has_built_is_taken(
    empty_db: Database, history: History, second: Path
) -> None:
    schema.migrate(empty_db.dsn, migrations=second)
    empty_db.execute(TITLES.format(how="concurrently "))
    built = empty_db.value("select 'dispatch.issue_title_idx'::regclass::oid")
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    assert empty_db.value("select 'dispatch.issue_title_idx'::regclass::oid") == built
    assert schema.find_drift(empty_db.dsn, migrations=history.migrations).differences == ()


def test_the_next_migrator_waits_for_what_a_dead_one_left_running(
    empty_db: Database, history: History, second: Path, patient: Path
) -> None:
    """The lock of a dead migrator ends with it; its build may go on in the server."""
    schema.migrate(empty_db.dsn, migrations=second)
    load_rows(empty_db)
    orphan = empty_db.connect()
    orphan.execute("select pg_advisory_lock(%s)", [schema.LOCK_KEY + 1])
    with in_background(empty_db.dsn, patient) as done:
        until(
            empty_db,
            "select exists (select from pg_stat_activity as a where a.pid <> pg_backend_pid()"
            " and a.datname = current_database() and a.query ~ '^select pg_try_advisory_lock')",
        )
        assert not done.done()
        assert schema.status(empty_db.dsn, migrations=patient).pending == ("0003_titles",)
        orphan.close()
        assert done.result(timeout=60).applied == ("0003_titles",)
