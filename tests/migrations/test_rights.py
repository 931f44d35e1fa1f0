"""A migrator that may not make schemas or roles: its DBA gets the exact statements."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgdispatch import schema
from pgdispatch.cli import main
from pgdispatch.embedded import EmbeddedServer
from tests.migrations.support import NAMES, NEWEST, catalog, differing, load_rows
from tests.support.servers import Database

ROLES = ("dispatch_owner", *schema.ROLES)
NUMBERS = itertools.count(1)


@contextmanager
def login(database: Database, options: str = "") -> Iterator[tuple[str, str]]:
    """Make a login role; give its name and its DSN."""
    name = f"dispatch_app_{os.getpid()}_{next(NUMBERS)}"
    with database.connect() as admin:
        who = sql.Identifier(name)
        admin.execute(
            sql.SQL("create role {} login password 'm' ").format(who) + sql.SQL(options)
        )
        try:
            yield name, make_conninfo(database.dsn, user=name, password="m")
        finally:
            admin.execute(sql.SQL("drop owned by {} cascade").format(who))
            admin.execute(sql.SQL("drop role {}").format(who))


@pytest.fixture
def bare(empty_db: Database) -> Iterator[Database]:
    """An empty database on a server of its own, which has none of our roles."""
    if empty_db.server.bindir is None:
        pytest.skip("roles belong to the whole server, and this one is not ours")
    with EmbeddedServer(bindir=empty_db.server.bindir, durable=False, tcp=True) as server:
        database = Database(empty_db.server, "postgres")
        database.dsn = server.dsn("postgres")
        yield database


def run(database: Database, statements: tuple[str, ...]) -> None:
    for statement in statements:
        database.execute(statement)


def test_a_dba_runs_the_statements_and_the_install_goes_through(bare: Database) -> None:
    with login(bare) as (name, dsn):
        with pytest.raises(schema.MissingRights) as caught:
            schema.migrate(dsn)
        options = " with inherit true, set true" if bare.version >= 16 else ""
        assert caught.value.statements == (
            *(f"create role {role} nologin;" for role in ROLES),
            f"grant dispatch_owner to {name}{options};",
            "create schema dispatch authorization dispatch_owner;",
            "create schema dispatch_meta authorization dispatch_owner;",
        )
        assert bare.value("select to_regnamespace('dispatch_meta') is null")
        assert bare.value("select count(*) from pg_roles where rolname ~ '^dispatch_[^a]'") == 0

        run(bare, caught.value.statements)
        assert schema.migrate(dsn).applied == NAMES
        assert schema.status(dsn).is_current
        assert schema.migrate(dsn).applied == ()
        load_rows(bare)
        made = catalog(bare)
        run(bare, ("drop schema dispatch cascade", "drop schema dispatch_meta cascade"))
        schema.migrate(bare.dsn)
        assert differing(made, catalog(bare)) == []
        assert bare.value(
            "select has_database_privilege(%s, 'postgres', 'create')", [name]
        ) is (False)


@pytest.mark.parametrize(
    ("done", "left"),
    [
        ((), "roles owner dispatch dispatch_meta"),
        (("roles",), "owner dispatch dispatch_meta"),
        (("roles", "owner"), "dispatch dispatch_meta"),
        (("roles", "owner", "dispatch"), "dispatch_meta"),
        (("roles", "owner", "create"), ""),
        (("createrole", "create"), ""),
        (("createrole",), "owner dispatch dispatch_meta"),
    ],
    ids=["none", "roles", "member", "schema", "create", "createrole-create", "createrole"],
)
def test_only_what_is_missing_is_asked_for(
    bare: Database, done: tuple[str, ...], left: str
) -> None:
    with login(bare, "createrole" if "createrole" in done else "") as (name, dsn):
        if "roles" in done:
            run(bare, tuple(f"create role {role}" for role in ROLES))
        if "owner" in done:
            run(bare, (f"grant dispatch_owner to {name}",))
        if "dispatch" in done:
            run(bare, ("create schema dispatch authorization dispatch_owner",))
        if "create" in done:
            run(bare, (f"grant create on database postgres to {name}",))
        with psycopg.connect(dsn, autocommit=True) as connection:
            missing = schema.missing_rights(connection)
        asked = "\n".join(missing.statements) if missing is not None else ""
        words = {
            "roles": "create role dispatch_worker nologin;",
            "owner": f"grant dispatch_owner to {name}",
            "dispatch": "create schema dispatch authorization",
            "dispatch_meta": "create schema dispatch_meta authorization",
        }
        assert {key for key, text in words.items() if text in asked} == set(left.split())
        if missing is not None:
            run(bare, missing.statements)
        assert schema.migrate(dsn).applied == NAMES


def test_a_schema_of_somebody_else_is_handed_over(bare: Database) -> None:
    with login(bare) as (name, dsn):
        run(bare, tuple(f"create role {role}" for role in ROLES))
        run(bare, (f"grant dispatch_owner to {name}", "create schema dispatch"))
        with pytest.raises(schema.MissingRights) as caught:
            schema.migrate(dsn)
        assert caught.value.statements == (
            "create schema dispatch_meta authorization dispatch_owner;",
            "alter schema dispatch owner to dispatch_owner;",
        )
        run(bare, caught.value.statements)
        assert schema.migrate(dsn).applied == NAMES


def test_a_database_that_is_current_asks_for_nothing(bare: Database) -> None:
    """A program that migrates when it starts needs no right to do so while nothing is due."""
    schema.migrate(bare.dsn)
    with login(bare, "in role dispatch_reader") as (_, dsn):
        assert schema.migrate(dsn) == schema.Migrated(NEWEST, NEWEST, ())
    with login(bare) as (_, dsn), pytest.raises(schema.MissingRights):
        schema.migrate(dsn)


def test_the_command_prints_the_statements_for_copying(bare: Database, tmp_path: Path) -> None:
    with login(bare) as (name, dsn):
        found = CliRunner().invoke(main, ["migrate", "--dsn", dsn])
        assert found.exit_code == 1
        assert found.stderr.startswith(f"pgdispatch: role {name} may not install the schema")
        assert found.stdout.startswith("create role dispatch_owner nologin;\n")
        plan = CliRunner().invoke(main, ["migrate", "--plan", "--dsn", dsn])
        assert plan.exit_code == 0
        assert f"first, for the DBA of {name}:\n  create role dispatch_owner" in plan.stdout
        script = tmp_path / "for-the-dba.sql"
        script.write_text(found.stdout)
        bare.execute(script.read_text())
        assert CliRunner().invoke(main, ["migrate", "--dsn", dsn]).exit_code == 0
