"""A migrator that is killed, wherever that happens: the next one ends where it would have."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgdispatch import schema
from tests.migrations.support import (
    THIRD,
    History,
    catalog,
    differing,
    invalid_indexes,
    kept,
    load_rows,
    ordered,
    read_rows,
)
from tests.migrations.test_locks import BUILDING, until
from tests.support.servers import Database

#: Processes are forked from one that has everything imported, and no threads.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pgdispatch.schema", "tests.migrations.test_killed"])


def _kill_at(place: int, then: Callable[[], object]) -> None:
    """Let this process be killed before the statement of that number that it sends."""
    sent = 0
    execute = psycopg.Cursor.execute

    def counted(self: psycopg.Cursor[Any], *given: Any, **rest: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == place:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(self, *given, **rest)

    psycopg.Cursor.execute = counted  # type: ignore[method-assign]
    then()
    os._exit(min(sent, 255) if place == 0 else 0)


def _migrate(place: int, dsn: str, folder: Path) -> None:
    _kill_at(place, lambda: schema.migrate(dsn, migrations=folder))


def _rollback(place: int, dsn: str, folder: Path) -> None:
    _kill_at(place, lambda: schema.rollback(dsn, migrations=folder))


def ended(
    work: Callable[[int, str, Path], None], place: int, database: Database, folder: Path
) -> int | None:
    """Do the work in a process that dies before that statement; give its exit code."""
    process = CONTEXT.Process(target=work, args=(place, database.dsn, folder))
    process.start()
    process.join(120)
    return process.exitcode


SMALL = {
    "0001_first.sql": """\
-- 0001_first: a table
-- depends:
set local lock_timeout = '2s';
create schema dispatch;
create table dispatch.issue (workspace_id integer, title text);
insert into dispatch.issue values (1, 'one');
""",
    "0001_first.rollback.sql": "drop schema dispatch cascade;\n",
    "0002_nicknames.sql": """\
-- 0002_nicknames: a column and what was there cleaned up
-- depends: 0001_first
set local lock_timeout = '2s';
alter table dispatch.issue add column nickname text;
update dispatch.issue set nickname = title || '!';
alter table dispatch.issue add constraint nicknamed check (nickname is not null);
""",
    "0002_nicknames.rollback.sql": "alter table dispatch.issue drop column nickname;\n",
    "0003_titles.sql": THIRD.replace("'300ms'", "'60s'"),
    "0003_titles.rollback.sql": "drop index concurrently if exists dispatch.issue_title_idx;\n",
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Three small migrations, so that every single step of them can be tried."""
    for name, text in SMALL.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_killed_before_each_statement_and_run_again(empty_db: Database, small: Path) -> None:
    """Every statement that a migrator sends, also those for its locks and its records.

    The migrator is run again and again on one database and killed one statement later each
    time; once it has got a migration further, from its first statement on again.
    """
    with empty_db.server.database(empty=True) as whole:
        schema.migrate(whole.dsn, migrations=small)
        count = ended(_migrate, 0, whole, small)
        assert count is not None
        assert 5 < count < 255
        expected = catalog(whole), catalog(whole, schema.META_SCHEMA)
    place, kills, version = 1, 0, None
    while (code := ended(_migrate, place, empty_db, small)) == -signal.SIGKILL:
        kills += 1
        found = schema.status(empty_db.dsn, migrations=small).version
        place, version = (place + 1 if found == version else 1), found
        assert kills < 500
    assert code == 0
    assert kills >= count
    assert (catalog(empty_db), catalog(empty_db, schema.META_SCHEMA)) == expected
    assert empty_db.execute("select i.title, i.nickname from dispatch.issue as i") == [
        ("one", "one!")
    ]
    assert invalid_indexes(empty_db) == []
    assert empty_db.execute(
        "select l.migration_id, l.operation from dispatch_meta._yoyo_log as l"
        " order by l.created_at_utc"
    ) == [(name, "apply") for name in ("0001_first", "0002_nicknames", "0003_titles")]


def test_killed_while_undoing_and_run_again(empty_db: Database, small: Path) -> None:
    schema.migrate(empty_db.dsn, migrations=small)
    for version in ("0003_titles", "0002_nicknames", "0001_first"):
        place = 1
        while schema.status(empty_db.dsn, migrations=small).version == version:
            assert ended(_rollback, place, empty_db, small) in (0, -signal.SIGKILL)
            place += 1
            assert place < 60
    assert empty_db.value("select to_regnamespace('dispatch') is null")
    schema.migrate(empty_db.dsn, migrations=small)
    assert invalid_indexes(empty_db) == []


@pytest.mark.parametrize("place", [1, 4, 8, 12, 40, 200, 600, 1000])
def test_killed_inside_the_whole_schema_and_run_again(
    empty_db: Database, history: History, place: int
) -> None:
    code = ended(_migrate, place, empty_db, history.migrations)
    assert code == -signal.SIGKILL
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    assert schema.find_drift(empty_db.dsn, migrations=history.migrations).differences == ()
    assert invalid_indexes(empty_db) == []
    with empty_db.connect(role="dispatch_reader") as connection:
        schema.check(connection, migrations=history.migrations)


def test_killed_while_the_server_builds_an_index(
    empty_db: Database, history: History, tmp_path: Path
) -> None:
    """The server ends the build of a client that is gone; what it leaves is repaired."""
    two = ("0001_core", "0002_nicknames")
    folder = history.copy(tmp_path / "patient", *two, "0003_titles")
    (folder / "0003_titles.sql").write_text(THIRD.replace("'300ms'", "'60s'"))
    schema.migrate(empty_db.dsn, migrations=history.copy(tmp_path / "two", *two))
    load_rows(empty_db)
    before = read_rows(empty_db)
    with empty_db.connect(autocommit=False) as reader:
        # No lock on the table, but a snapshot: the build has to wait for it at its end.
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select 1 from pg_class limit 1")
        process = CONTEXT.Process(target=_migrate, args=(-1, empty_db.dsn, folder))
        process.start()
        until(empty_db, BUILDING)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        until(empty_db, BUILDING.replace("select exists", "select not exists"))
        assert invalid_indexes(empty_db) == ["dispatch.issue_title_idx"]
    assert schema.migrate(empty_db.dsn, migrations=folder).applied == ("0003_titles",)
    assert invalid_indexes(empty_db) == []
    assert ordered(kept(before, read_rows(empty_db))) == ordered(before)
    with empty_db.server.database(empty=True) as fresh:
        schema.migrate(fresh.dsn, migrations=folder)
        assert differing(catalog(empty_db), catalog(fresh)) == []
