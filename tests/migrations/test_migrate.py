"""Migrating a database: once, again, from two sides at once, and what is said about it."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI

from pgdispatch import schema
from pgdispatch.errors import SchemaMismatch
from tests.migrations.support import NAMES, NEWEST, catalog, differing
from tests.support.servers import Database


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Migrations of which the second fails half-way."""
    (tmp_path / "0001_first.sql").write_text(
        "-- depends:\ncreate table public.first (a int);\n"
    )
    (tmp_path / "0002_second.sql").write_text(
        "-- depends: 0001_first\ncreate table public.second (a int);\nselect 1 / 0;\n"
    )
    return tmp_path


def test_sql_and_migrations_make_the_same_catalog(empty_db: Database) -> None:
    """Tables, types, functions with their bodies, owners, grants and comments alike."""
    with empty_db.server.database(empty=True) as other:
        with other.connect() as connection:
            schema.apply_sql(connection)
        schema.migrate(empty_db.dsn)
        applied, migrated = catalog(other), catalog(empty_db)
    assert len(applied) > 100
    assert differing(applied, migrated) == [], "run: pgdispatch dev freeze"


@pytest.mark.parametrize(
    "change",
    [
        "alter function dispatch.clock() stable",
        "comment on function dispatch.clock() is 'another'",
        "grant execute on function dispatch.clock() to public",
        "alter table dispatch.run alter column priority set default 7",
        "comment on column dispatch.run.lane is null",
        "drop index dispatch.run_due_idx",
        "alter table dispatch.run drop constraint run_claim_no_range",
        "alter type dispatch.outcome add value 'unheard'",
        "create table dispatch.extra (id uuid)",
    ],
)
def test_the_catalog_listing_sees_a_change(db: Database, change: str) -> None:
    before = catalog(db)
    db.execute(change)
    assert catalog(db) != before


def test_migrating_says_from_and_to_and_repeats_without_effect(empty_db: Database) -> None:
    assert schema.migrate(empty_db.dsn) == schema.Migrated(None, NEWEST, NAMES)
    before = catalog(empty_db), catalog(empty_db, schema.META_SCHEMA)
    assert schema.migrate(empty_db.dsn) == schema.Migrated(NEWEST, NEWEST, ())
    assert (catalog(empty_db), catalog(empty_db, schema.META_SCHEMA)) == before


def test_the_bookkeeping_has_its_own_schema(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    rows = empty_db.execute(
        "select c.relnamespace::regnamespace::text, c.relname from pg_class as c"
        " where c.relname ~ 'yoyo' and c.relkind = 'r' order by 2"
    )
    assert rows == [
        ("dispatch_meta", "_yoyo_log"),
        ("dispatch_meta", "_yoyo_migration"),
        ("dispatch_meta", "_yoyo_version"),
    ]
    assert empty_db.execute(
        "select l.migration_id, l.operation from dispatch_meta._yoyo_log as l"
    ) == [(name, "apply") for name in NAMES]


def test_the_bookkeeping_is_what_yoyo_makes_itself(empty_db: Database) -> None:
    """So that yoyo finds nothing to upgrade, and its own commands work beside ours."""
    uri = DatabaseURI("postgresql+psycopg", None, None, None, None, "", {})
    with empty_db.server.database(empty=True) as other:
        other.execute("create schema dispatch_meta")
        migrations, log = "_yoyo_migration", "_yoyo_log"
        with closing(_Plain(uri._replace(args={"conninfo": other.dsn}), migrations)) as backend:
            backend.ensure_internal_schema_updated()
        schema.migrate(empty_db.dsn)
        shown = (
            "select m.migration_hash, m.migration_id from dispatch_meta._yoyo_migration as m"
        )
        assert sorted(empty_db.execute(shown)) == sorted(
            (hashlib.sha256(name.encode()).hexdigest(), name) for name in NAMES
        )
        tables = [
            [
                line.split(" | grants ")[0].replace("dispatch_owner", "postgres")
                for line in catalog(database, schema.META_SCHEMA)
                if not line.startswith("schema ")
            ]
            for database in (other, empty_db)
        ]
        assert any(log in line for line in tables[0])
        assert tables[0] == tables[1]


def test_any_member_of_the_owner_may_go_on(empty_db: Database) -> None:
    """Not only who migrated first: the bookkeeping belongs to the owner as well."""
    schema.migrate(empty_db.dsn)
    owners = empty_db.execute(
        "select distinct c.relowner::regrole::text, n.nspowner::regrole::text"
        " from pg_class as c join pg_namespace as n on n.oid = c.relnamespace"
        " where n.nspname = 'dispatch_meta' and c.relkind = 'r'"
    )
    assert owners == [("dispatch_owner", "dispatch_owner")]


def test_status_reads_and_writes_nothing(empty_db: Database) -> None:
    assert schema.status(empty_db.dsn) == schema.Status((), NAMES, ())
    assert empty_db.value("select to_regnamespace('dispatch_meta') is null")
    schema.migrate(empty_db.dsn)
    found = schema.status(empty_db.dsn)
    assert found == schema.Status(NAMES, (), ())
    assert found.is_current


def test_a_newer_database_is_told_and_left_alone(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    empty_db.execute(
        "insert into dispatch_meta._yoyo_migration"
        " values ('abc', '0002_from_the_future', localtimestamp)"
    )
    found = schema.status(empty_db.dsn)
    assert (found.unknown, found.is_current) == (("0002_from_the_future",), False)
    with pytest.raises(schema.MigrationError, match="install a newer pgdispatch"):
        schema.migrate(empty_db.dsn)


def test_a_program_can_check_the_schema_under_its_own_role(empty_db: Database) -> None:
    with (
        empty_db.connect() as connection,
        pytest.raises(SchemaMismatch, match="not set up") as caught,
    ):
        schema.check(connection)
    assert caught.value.sqlstate == "PD503"
    schema.migrate(empty_db.dsn)
    for role in schema.ROLES:
        with empty_db.connect(role=role) as connection:
            schema.check(connection)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("delete from dispatch_meta._yoyo_migration")
    empty_db.execute("update dispatch_meta._yoyo_migration set migration_id = '0002_later'")
    with empty_db.connect() as connection, pytest.raises(SchemaMismatch, match="newer"):
        schema.check(connection)


def _migrate(dsn: str, go: multiprocessing.synchronize.Event) -> tuple[str, ...]:
    go.wait()
    return schema.migrate(dsn).applied


def test_eight_processes_migrate_at_once(empty_db: Database) -> None:
    """One applies, the others wait for it and find nothing to do."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(8) as pool:
        go = manager.Event()
        jobs = [pool.apply_async(_migrate, (empty_db.dsn, go)) for _ in range(8)]
        go.set()
        assert sorted(job.get(timeout=120) for job in jobs) == [*[()] * 7, NAMES]
    assert schema.status(empty_db.dsn).is_current
    assert empty_db.value("select count(*) from dispatch_meta._yoyo_log") == len(NAMES)


def test_a_waiting_migrator_gives_up_and_names_the_holder(empty_db: Database) -> None:
    with empty_db.connect(autocommit=False) as holder:
        holder.execute("select pg_advisory_xact_lock(%s)", [schema.LOCK_KEY])
        pid = holder.info.backend_pid
        with pytest.raises(schema.MigrationError, match=f"server process {pid}"):
            schema.migrate(empty_db.dsn, wait=timedelta(0))
    assert schema.migrate(empty_db.dsn, wait=timedelta(0)).applied == NAMES


def test_the_lock_of_a_migrator_that_died_binds_nobody(empty_db: Database) -> None:
    holder = empty_db.connect(autocommit=False)
    holder.execute("select pg_advisory_xact_lock(%s)", [schema.LOCK_KEY])
    empty_db.execute("select pg_terminate_backend(%s, 10000)", [holder.info.backend_pid])
    assert schema.migrate(empty_db.dsn, wait=timedelta(0)).applied == NAMES
    holder.close()


def test_a_failed_migration_leaves_no_trace_of_itself(empty_db: Database, broken: Path) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        schema.migrate(empty_db.dsn, migrations=broken)
    assert schema.status(empty_db.dsn, migrations=broken).pending == ("0002_second",)
    assert empty_db.value("select to_regclass('public.second') is null")
    (broken / "0002_second.sql").write_text("-- depends: 0001_first\nselect 1;\n")
    done = schema.migrate(empty_db.dsn, migrations=broken)
    assert done == schema.Migrated("0001_first", "0002_second", ("0002_second",))


def test_a_folder_with_brackets_is_read(empty_db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "a[b]c"
    folder.mkdir()
    (folder / "0001_first.sql").write_text("-- depends:\ncreate table public.first (a int);\n")
    assert schema.migrate(empty_db.dsn, migrations=folder).applied == ("0001_first",)


def test_up_down_up(empty_db: Database) -> None:
    schema.migrate(empty_db.dsn)
    before = catalog(empty_db)
    for name, older in zip(reversed(NAMES), [*reversed(NAMES[:-1]), None], strict=True):
        assert schema.rollback(empty_db.dsn) == schema.Migrated(name, older, (name,))
    assert empty_db.value("select to_regnamespace('dispatch') is null")
    schema.migrate(empty_db.dsn)
    assert catalog(empty_db) == before


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """Our first migration alone."""
    for name in (f"{NAMES[0]}.sql", f"{NAMES[0]}.rollback.sql"):
        shutil.copy(schema.migrations_dir() / name, tmp_path)
    return tmp_path


def test_down_is_refused_while_there_is_data(empty_db: Database, first: Path) -> None:
    schema.migrate(empty_db.dsn, migrations=first)
    empty_db.execute("select dispatch.put_workspace(gen_random_uuid(), 'kept')")
    with pytest.raises(psycopg.Error, match="still holds workspaces") as caught:
        schema.rollback(empty_db.dsn, migrations=first)
    assert caught.value.sqlstate == "PD409"
    assert schema.status(empty_db.dsn, migrations=first).is_current
    assert empty_db.value("select count(*) from dispatch.workspace") == 1


@pytest.mark.parametrize(
    "leaning",
    [
        "create view public.depth as select q.runs from dispatch.queue_depth as q",
        "create table public.log (what dispatch.outcome)",
        "create function public.f(p dispatch.outcome) returns int language sql as 'select 1'",
        "create table public.log (at timestamptz default dispatch.clock())",
    ],
)
def test_down_is_refused_while_something_leans_on_it(
    empty_db: Database, first: Path, leaning: str
) -> None:
    schema.migrate(empty_db.dsn, migrations=first)
    empty_db.execute(leaning)
    with pytest.raises(psycopg.Error, match="outside the schema depends on it"):
        schema.rollback(empty_db.dsn, migrations=first)
    assert schema.status(empty_db.dsn, migrations=first).is_current


class _Plain(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """yoyo's backend as it is, but for the way to connect."""

    def connect(self, dburi: DatabaseURI) -> psycopg.Connection[Any]:
        self.schema = schema.META_SCHEMA
        return psycopg.connect(dburi.args["conninfo"], autocommit=True)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def lock(self, timeout: float = 10) -> Iterator[None]:
        yield


@contextmanager
def odd_login(database: Database) -> Iterator[tuple[str, str]]:
    """A superuser whose name and password have every character that a URI must escape."""
    name, password = f"odd us/er:@%?#{os.getpid()}", "p@ss:/w%ord?#&='\\ "
    with database.connect() as connection:
        literal = psycopg.sql.Literal(password)
        who = psycopg.sql.Identifier(name)
        connection.execute(
            psycopg.sql.SQL("create role {} superuser login password {}").format(who, literal)
        )
        try:
            yield name, password
        finally:
            connection.execute(
                psycopg.sql.SQL("reassign owned by {} to current_user").format(who)
            )
            connection.execute(psycopg.sql.SQL("drop owned by {}").format(who))
            connection.execute(psycopg.sql.SQL("drop role {}").format(who))


def test_a_migrator_need_not_be_a_superuser(empty_db: Database) -> None:
    """Membership in the owner and the right to make schemas do, once the roles exist."""
    name = f"dispatch_migrator_{os.getpid()}"
    with empty_db.server.database(empty=True) as made, made.connect() as admin:
        schema.migrate(made.dsn)
        who = psycopg.sql.Identifier(name)
        admin.execute(psycopg.sql.SQL("create role {} login password 'm'").format(who))
        try:
            admin.execute(psycopg.sql.SQL("grant dispatch_owner to {}").format(who))
            admin.execute(
                psycopg.sql.SQL("grant create on database {} to {}").format(
                    psycopg.sql.Identifier(empty_db.name), who
                )
            )
            dsn = psycopg.conninfo.make_conninfo(empty_db.dsn, user=name, password="m")
            assert schema.migrate(dsn).applied == NAMES
            assert differing(catalog(empty_db), catalog(made)) == []
        finally:
            empty_db.execute(f"drop owned by {name} cascade")
            admin.execute(psycopg.sql.SQL("drop role {}").format(who))


def quoted(value: str) -> str:
    return quote(value, safe="")


@pytest.mark.parametrize("form", ["keywords", "uri", "socket uri", "variables"])
def test_any_form_of_libpq_connects(
    empty_db: Database, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = conninfo_to_dict(empty_db.dsn)
    host, port = str(parts["host"]), str(parts["port"])
    if form == "socket uri" and not host.startswith("/"):
        pytest.skip("the server is not reached by a socket")
    with odd_login(empty_db) as (user, password):
        if form == "keywords":
            dsn = psycopg.conninfo.make_conninfo(empty_db.dsn, user=user, password=password)
        elif form == "variables":
            dsn = ""
            for name, value in {
                "PGHOST": host,
                "PGPORT": port,
                "PGUSER": user,
                "PGPASSWORD": password,
                "PGDATABASE": empty_db.name,
            }.items():
                monkeypatch.setenv(name, value)
        else:
            login = f"{quoted(user)}:{quoted(password)}"
            place = (
                f"@{quoted(host)}:{port}/{empty_db.name}"
                if form == "socket uri"
                else f"@/{empty_db.name}?host={quoted(host)}&port={port}"
            )
            dsn = f"postgresql://{login}{place}"
        assert schema.migrate(dsn).applied == NAMES
        assert schema.status(dsn).is_current
