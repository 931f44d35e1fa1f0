"""The script for a DBA's own tool: it ends where the migrator ends, and nowhere else."""

from __future__ import annotations

import subprocess

import pytest

from pgdispatch import schema
from tests.migrations.support import (
    History,
    catalog,
    differing,
    invalid_indexes,
    load_rows,
    read_rows,
)
from tests.support.servers import Database, ServerUnavailable


def psql(database: Database, text: str, *, stop: bool) -> subprocess.CompletedProcess[str]:
    """Run a script the way a DBA would; without `stop` psql goes on after an error."""
    try:
        program = database.server.psql()
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    return subprocess.run(
        [
            program,
            "--no-psqlrc",
            "--quiet",
            f"--set=ON_ERROR_STOP={int(stop)}",
            f"--dbname={database.dsn}",
        ],
        input=text,
        capture_output=True,
        check=False,
        text=True,
    )


def records(database: Database) -> list[tuple[object, ...]]:
    """What the bookkeeping says, without when and by whom."""
    return database.execute(
        "select m.migration_hash, m.migration_id from dispatch_meta._yoyo_migration as m"
        " order by m.migration_id"
    )


def test_a_script_makes_what_the_migrator_makes(empty_db: Database, history: History) -> None:
    with empty_db.server.database(empty=True) as migrated:
        schema.migrate(migrated.dsn, migrations=history.migrations)
        done = psql(empty_db, schema.script(migrations=history.migrations), stop=True)
        assert (done.returncode, done.stderr) == (0, "")
        for name in (schema.SCHEMA, schema.META_SCHEMA):
            assert differing(catalog(empty_db, name), catalog(migrated, name)) == []
        assert records(empty_db) == records(migrated)
    assert schema.migrate(empty_db.dsn, migrations=history.migrations).applied == ()


@pytest.mark.parametrize("stop", [True, False], ids=["stopping", "going-on"])
def test_a_script_that_is_run_again_changes_nothing(
    empty_db: Database, history: History, stop: bool
) -> None:
    text = schema.script(migrations=history.migrations)
    psql(empty_db, text, stop=True)
    load_rows(empty_db)
    before = catalog(empty_db), records(empty_db), read_rows(empty_db)
    again = psql(empty_db, text, stop=stop)
    assert "schema is not at the version that this step begins with" in again.stderr
    assert (catalog(empty_db), records(empty_db), read_rows(empty_db)) == before


def test_a_script_leads_from_one_version_to_another_and_back(
    empty_db: Database, history: History
) -> None:
    def script(start: str, end: str) -> str:
        return schema.script(start, end, migrations=history.migrations)

    assert psql(empty_db, script("nothing", "0.1.0"), stop=True).returncode == 0
    load_rows(empty_db)
    old, rows = catalog(empty_db), read_rows(empty_db)
    assert psql(empty_db, script("0.1.0", "0003"), stop=True).returncode == 0
    assert schema.status(empty_db.dsn, migrations=history.migrations).is_current
    assert invalid_indexes(empty_db) == []
    assert psql(empty_db, script("0003_titles", "0001"), stop=True).returncode == 0
    assert schema.status(empty_db.dsn, migrations=history.migrations).version == "0001_core"
    assert differing(catalog(empty_db), old) == []
    assert read_rows(empty_db) == rows


def test_a_script_on_the_wrong_database_is_refused(
    empty_db: Database, history: History
) -> None:
    schema.migrate(empty_db.dsn, migrations=history.migrations)
    before = catalog(empty_db), records(empty_db)
    text = schema.script("0001", "0002", migrations=history.migrations)
    done = psql(empty_db, text, stop=False)
    assert "PD503" not in done.stdout
    assert "not at the version" in done.stderr
    assert (catalog(empty_db), records(empty_db)) == before


def test_a_script_does_not_work_beside_a_migrator(empty_db: Database) -> None:
    with empty_db.connect(autocommit=False) as holder:
        holder.execute("select pg_advisory_xact_lock(%s)", [schema.LOCK_KEY])
        done = psql(empty_db, schema.script(), stop=True)
    assert done.returncode != 0
    assert "another migrator is at work" in done.stderr
    assert empty_db.value("select to_regnamespace('dispatch') is null")


def test_an_index_that_is_not_valid_is_not_recorded(
    empty_db: Database, history: History
) -> None:
    """The script cannot repair a build that failed, but it does not take it for done."""
    schema.migrate(empty_db.dsn, migrations=history.copy(history.root.parent / "two", *TWO))
    text = schema.script("0002", "0003", migrations=history.migrations)
    with empty_db.connect(autocommit=False) as writer:
        load_rows(empty_db)
        writer.execute("update dispatch.issue set title = title")
        done = psql(empty_db, text, stop=False)
    assert "lock timeout" in done.stderr
    assert "index is not valid" in done.stderr
    assert schema.status(empty_db.dsn, migrations=history.migrations).pending == (
        "0003_titles",
    )
    assert schema.migrate(empty_db.dsn, migrations=history.migrations).applied == (
        "0003_titles",
    )
    assert invalid_indexes(empty_db) == []


TWO = ("0001_core", "0002_nicknames")


def test_versions_have_several_names(history: History) -> None:
    whole = schema.script(migrations=history.migrations)
    assert schema.script("nothing", "0003", migrations=history.migrations) == whole
    upgrade = schema.script("0.1.0", migrations=history.migrations)
    assert upgrade == schema.script("0001", "0003_titles", migrations=history.migrations)
    with pytest.raises(schema.MigrationError, match=r"no version 0\.9\.0: there are nothing"):
        schema.script("0.9.0", migrations=history.migrations)
    nowhere = schema.script("0003", "0003", migrations=history.migrations)
    assert "_yoyo_migration (migration_hash" not in nowhere
