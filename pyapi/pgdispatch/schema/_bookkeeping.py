"""Which migrations a database has: yoyo's tables, made by us at once, and read by our roles.

yoyo makes the same tables in several steps. Here they come into being in one statement, which
a script for another tool can carry as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from yoyo.migrations import default_migration_table

from pgdispatch.errors import SchemaMismatch
from pgdispatch.schema._files import forward_files, migrations_dir

#: The schema of the bookkeeping.
META_SCHEMA = "dispatch_meta"

#: Makes what is missing of the bookkeeping; a database that has it stays as it is. CREATE …
#: IF NOT EXISTS asks for the right to create even where there is nothing to create.
BOOKKEEPING: LiteralString = """\
do $do$
begin
    if to_regnamespace('dispatch_meta') is null then
        create schema dispatch_meta;
        comment on schema dispatch_meta is
            'Which migrations of schema dispatch this database has.';
    end if;
    if to_regclass('dispatch_meta._yoyo_migration') is null then
        create table dispatch_meta._yoyo_migration (
            migration_hash character varying(64) primary key,
            migration_id character varying(255),
            applied_at_utc timestamp
        );
    end if;
    if to_regclass('dispatch_meta._yoyo_log') is null then
        create table dispatch_meta._yoyo_log (
            id character varying(36) primary key,
            migration_hash character varying(64),
            migration_id character varying(255),
            operation character varying(10),
            username character varying(255),
            hostname character varying(255),
            comment character varying(255),
            created_at_utc timestamp
        );
    end if;
    if to_regclass('dispatch_meta._yoyo_version') is null then
        create table dispatch_meta._yoyo_version (
            version integer primary key,
            installed_at_utc timestamp
        );
        insert into dispatch_meta._yoyo_version
        values (2, clock_timestamp() at time zone 'utc');
    end if;
end;
$do$;
"""

#: Lets our roles read which migrations there are, and nothing else; gives the bookkeeping to
#: dispatch_owner, so that whoever is a member of it may run the next migration.
SHOWING: LiteralString = """\
do $do$
declare
    v_statement text;
begin
    if to_regrole('dispatch_owner') is null then
        return;
    end if;
    -- Whoever gives a schema away needs the right to make one.
    if has_database_privilege(current_database(), 'create') and not exists (
        select from pg_catalog.pg_namespace as n
        where n.nspname = 'dispatch_meta' and n.nspowner = 'dispatch_owner'::regrole
    ) then
        alter schema dispatch_meta owner to dispatch_owner;
    end if;
    for v_statement in
        select format('alter table dispatch_meta.%I owner to dispatch_owner', c.relname)
        from pg_catalog.pg_class as c
        where c.relnamespace = 'dispatch_meta'::regnamespace
            and c.relkind = 'r'
            and c.relowner <> 'dispatch_owner'::regrole
            and has_schema_privilege('dispatch_owner', 'dispatch_meta', 'create')
        union all
        select format(g.form, r.rolname)
        from pg_catalog.pg_roles as r
        cross join (
            values
                ('grant usage on schema dispatch_meta to %I'),
                ('grant select on dispatch_meta._yoyo_migration to %I')
        ) as g (form)
        where r.rolname in (
                'dispatch_service', 'dispatch_worker', 'dispatch_operator', 'dispatch_reader'
            )
            and not (
                has_schema_privilege(r.oid, 'dispatch_meta', 'usage')
                and has_table_privilege(r.oid, 'dispatch_meta._yoyo_migration', 'select')
            )
    loop
        -- Names of roles and tables cannot be parameters.
        execute v_statement;
    end loop;
end;
$do$;
"""


@dataclass(frozen=True, slots=True)
class Status:
    """Which migrations a database has, lacks, and has without this package knowing them."""

    applied: tuple[str, ...]
    pending: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def version(self) -> str | None:
        """The newest migration that the database has."""
        return max(self.applied, default=None)

    @property
    def is_current(self) -> bool:
        """True when the database has exactly the migrations of this package."""
        return not self.pending and not self.unknown


def status(dsn: str = "", *, migrations: Path | None = None) -> Status:
    """Compare a database with the migrations of this package; change nothing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return read_status(connection, migrations=migrations)


def read_status(
    connection: psycopg.Connection[Any], *, migrations: Path | None = None
) -> Status:
    """Compare the database of a connection with the migrations of this package."""
    known = [path.stem for path in forward_files(migrations or migrations_dir())]
    applied = _applied(connection)
    return Status(
        applied=tuple(sorted(applied)),
        pending=tuple(name for name in known if name not in applied),
        unknown=tuple(sorted(applied.difference(known))),
    )


def check(connection: psycopg.Connection[Any], *, migrations: Path | None = None) -> None:
    """Raise SchemaMismatch unless the database has exactly the migrations of this package.

    Any of our roles may ask. A program that starts can tell so at once what each call of it
    would otherwise run into.
    """
    found = read_status(connection, migrations=migrations)
    if found.is_current:
        return
    if found.unknown:
        raise SchemaMismatch(
            "schema is newer than this package", hint="schema: install a newer pgdispatch."
        )
    word = "schema is older than this package" if found.applied else "schema is not set up"
    raise SchemaMismatch(word, hint="schema: run pgdispatch migrate.")


def _applied(connection: psycopg.Connection[Any]) -> set[str]:
    table = f"{META_SCHEMA}.{default_migration_table}"
    row = connection.execute("select to_regclass(%s) is not null", [table]).fetchone()
    if row is None or not row[0]:
        return set()
    rows = connection.execute("select m.migration_id from dispatch_meta._yoyo_migration as m")
    return {name for (name,) in rows}
