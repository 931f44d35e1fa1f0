"""Upgrading a database that has lived: the same catalog as a fresh one, and the same rows."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import psycopg
import pytest

from pgdispatch import schema
from tests.migrations.support import (
    ROWS,
    History,
    catalog,
    differing,
    invalid_indexes,
    kept,
    load_rows,
    ordered,
    read_rows,
)
from tests.support.servers import REPOSITORY, Database

ALL = ("0001_core", "0002_nicknames", "0003_titles")


@pytest.fixture
def first(history: History, tmp_path: Path) -> Path:
    """The migrations that were released."""
    return history.copy(tmp_path / "first", "0001_core")


def fresh_catalog(database: Database, sql: Path) -> list[str]:
    """What a database is to which sql/ was applied at once."""
    with database.server.database(empty=True) as fresh:
        with fresh.connect() as connection:
            schema.apply_sql(connection, sql)
        return catalog(fresh)


def test_the_rows_fill_every_table(db: Database) -> None:
    load_rows(db)
    assert [table for table, rows in read_rows(db).items() if not rows] == []
    statuses = db.execute("select distinct r.status::text from dispatch.run as r order by 1")
    assert [status for (status,) in statuses] == [
        "cancelled",
        "completed",
        "deferred",
        "dispatched",
        "failed",
        "queued",
        "running",
        "waiting_local_directory",
    ]


def test_an_upgraded_database_is_a_fresh_one_with_its_rows(
    empty_db: Database, history: History, first: Path
) -> None:
    schema.migrate(empty_db.dsn, migrations=first)
    load_rows(empty_db)
    before = read_rows(empty_db)

    done = schema.migrate(empty_db.dsn, migrations=history.migrations)

    assert done == schema.Migrated("0001_core", "0003_titles", ALL[1:])
    assert differing(catalog(empty_db), fresh_catalog(empty_db, history.sql)) == []
    assert invalid_indexes(empty_db) == []
    after = read_rows(empty_db)
    assert ordered(kept(before, after)) == ordered(before)
    assert {row["nickname"] for row in after["workspace"]} == {None}
    assert schema.find_drift(empty_db.dsn, migrations=history.migrations).differences == ()


def test_all_at_once_and_one_by_one_end_alike(
    empty_db: Database, history: History, tmp_path: Path
) -> None:
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    with empty_db.server.database(empty=True) as other:
        for number in range(1, 4):
            folder = history.copy(tmp_path / str(number), *ALL[:number])
            assert schema.migrate(other.dsn, migrations=folder).applied == (ALL[number - 1],)
        assert differing(catalog(empty_db), catalog(other)) == []


def test_up_down_up_with_rows(empty_db: Database, history: History, first: Path) -> None:
    schema.migrate(empty_db.dsn, migrations=first)
    load_rows(empty_db)
    rows, old = read_rows(empty_db), catalog(empty_db)
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    new = catalog(empty_db)

    for name, before in (("0003_titles", "0002_nicknames"), ("0002_nicknames", "0001_core")):
        done = schema.rollback(empty_db.dsn, migrations=history.migrations)
        assert done == schema.Migrated(name, before, (name,))
    assert differing(catalog(empty_db), old) == []
    assert read_rows(empty_db) == rows

    schema.migrate(empty_db.dsn, migrations=history.migrations)
    assert differing(catalog(empty_db), new) == []
    assert ordered(kept(rows, read_rows(empty_db))) == ordered(rows)


def test_a_rollback_that_is_none_says_so(
    empty_db: Database, history: History, tmp_path: Path
) -> None:
    folder = history.copy(tmp_path / "some", *ALL[:2])
    (folder / "0002_nicknames.rollback.sql").write_text(
        "do $do$\nbegin\n    raise exception using\n        errcode = 'PD409',\n"
        "        message = 'irreversible';\nend;\n$do$;\n"
    )
    schema.migrate(empty_db.dsn, migrations=folder)
    with pytest.raises(psycopg.Error, match="irreversible"):
        schema.rollback(empty_db.dsn, migrations=folder)
    assert schema.status(empty_db.dsn, migrations=folder).is_current
    (folder / "0002_nicknames.rollback.sql").unlink()
    with pytest.raises(schema.MigrationError, match="0002_nicknames has no rollback"):
        schema.rollback(empty_db.dsn, migrations=folder)


def test_applying_twice_changes_nothing(empty_db: Database, history: History) -> None:
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    load_rows(empty_db)
    before = catalog(empty_db), catalog(empty_db, schema.META_SCHEMA), read_rows(empty_db)
    done = schema.migrate(empty_db.dsn, migrations=history.migrations)
    assert done == schema.Migrated("0003_titles", "0003_titles", ())
    after = catalog(empty_db), catalog(empty_db, schema.META_SCHEMA), read_rows(empty_db)
    assert after == before


def test_files_that_can_be_applied_again_change_nothing(db: Database) -> None:
    """What a later migration carries copies of must go over an older state of itself."""
    load_rows(db)
    before = catalog(db), read_rows(db)
    with db.connect() as connection, connection.transaction():
        connection.execute("set local check_function_bodies = off")
        for file in schema.load_sql():
            if not file.path.startswith(("sql/10_", "sql/20_", "sql/25_")) and (
                # The tests have another clock.
                file.path != "sql/30_functions/clock/clock.sql"
            ):
                connection.execute(file.text.encode())
    assert (catalog(db), read_rows(db)) == before


# --- from every release ---------------------------------------------------------------------


def git(repository: Path, *arguments: str) -> bytes | None:
    """Ask git about a repository; None when there is no git or no repository."""
    program = shutil.which("git")
    if program is None:
        return None
    safe = ["-c", f"safe.directory={repository}"]
    done = subprocess.run(
        [program, *safe, "-C", str(repository), *arguments], capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def released_tags(repository: Path) -> list[str]:
    """Name the releases that a repository has tags for."""
    listed = git(repository, "tag", "--list", "v[0-9]*", "--sort=version:refname")
    return (listed or b"").decode().split()


def unpack(repository: Path, tag: str, folder: Path) -> None:
    """Write the migrations and the rows as a release had them into a folder."""
    packed = git(repository, "archive", tag, "migrations", "tests/migrations/rows.sql")
    assert packed is not None, f"git archive {tag}"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def upgrade_from(
    repository: Path, tag: str, database: Database, folder: Path, newest: Path, sql: Path
) -> None:
    """Install a release, let the database live, upgrade it, and compare."""
    unpack(repository, tag, folder)
    schema.migrate(database.dsn, migrations=folder / "migrations")
    database.execute((folder / "tests" / "migrations" / ROWS.name).read_text("utf-8"))
    before = read_rows(database)
    assert [table for table, rows in before.items() if not rows] == []
    schema.migrate(database.dsn, migrations=newest)
    assert differing(catalog(database), fresh_catalog(database, sql)) == []
    assert invalid_indexes(database) == []
    assert ordered(kept(before, read_rows(database))) == ordered(before)


TAGS = released_tags(REPOSITORY)


@pytest.mark.skipif(not TAGS, reason="no release is tagged in this folder, or there is no git")
@pytest.mark.parametrize("tag", TAGS)
def test_from_every_released_tag(tag: str, empty_db: Database, tmp_path: Path) -> None:
    upgrade_from(REPOSITORY, tag, empty_db, tmp_path, schema.migrations_dir(), schema.sql_dir())


def test_a_tag_is_found_and_upgraded_from(
    empty_db: Database, history: History, tmp_path: Path
) -> None:
    """What the test above does with our releases, shown on a repository with one."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    repository = tmp_path / "repository"
    history.copy(tmp_path / "copy", "0001_core")
    shutil.copytree(tmp_path / "copy", repository / "migrations")
    (repository / "tests" / "migrations").mkdir(parents=True)
    shutil.copy(ROWS, repository / "tests" / "migrations")
    assert released_tags(repository) == []
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]
    for arguments in (
        ["init", "--quiet"],
        ["add", "."],
        [*who, "commit", "--quiet", "--message", "Release"],
        ["tag", "v0.1.0"],
        ["tag", "other"],
    ):
        assert git(repository, *arguments) is not None, arguments
    assert released_tags(repository) == ["v0.1.0"]
    upgrade_from(
        repository, "v0.1.0", empty_db, tmp_path / "old", history.migrations, history.sql
    )
