"""Install, migrate, compare and describe the schema.

`sql/` is what the schema is, `migrations/` is how a database gets there; both travel inside
the wheel. Everything about yoyo stays behind this module, so that its files, plain SQL, could
be run by another tool.
"""

from __future__ import annotations

import hashlib
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid1

import psycopg
from psycopg import sql
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI
from yoyo.migrations import default_migration_table, read_migrations

from pgdispatch.errors import SchemaMismatch

#: The schema of the stored logic.
SCHEMA = "dispatch"

#: The schema of the bookkeeping: which migrations a database has.
META_SCHEMA = "dispatch_meta"

#: The one migration until the first release, written whole from sql/.
CORE = "0001_core"

#: The roles that programs act as.
ROLES = ("dispatch_service", "dispatch_worker", "dispatch_operator", "dispatch_reader")

#: Key of the advisory lock that lets one migrator work at a time in a database.
LOCK_KEY = 0x7067_6469_7370_6174

LOCK_POLL_SECONDS = 0.2
LOCK_WAIT = timedelta(minutes=10)

_PACKAGE = Path(__file__).resolve().parent
_MARKED = re.compile(
    r"^-- begin (?P<path>sql/\S+)\n(?P<text>.*?)^-- end (?P=path)\n", re.MULTILINE | re.DOTALL
)


class MigrationError(RuntimeError):
    """The schema cannot be migrated, frozen or compared; the message says what to do."""


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One file of sql/: its path as the repository has it, and its text."""

    path: str
    text: str


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


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration run did: the version before, the version after, what it applied."""

    before: str | None
    after: str | None
    applied: tuple[str, ...]


# --- the files ------------------------------------------------------------------------------


def sql_dir() -> Path:
    """The folder sql/: inside the installed package, else the repository's."""
    return _folder("_sql", "sql")


def migrations_dir() -> Path:
    """The folder migrations/: inside the installed package, else the repository's."""
    return _folder("_migrations", "migrations")


def migration_text(name: str) -> str:
    """Read one migration as it would be applied."""
    return (migrations_dir() / f"{name}.sql").read_text("utf-8")


def _folder(packaged: str, repository: str) -> Path:
    for candidate in (_PACKAGE / packaged, _PACKAGE.parent.parent / repository):
        if candidate.is_dir():
            return candidate
    raise MigrationError(
        f"neither {packaged} in the package nor {repository}/ beside it exists"
    )


def load_sql(folder: Path | None = None) -> list[SqlFile]:
    """Read every file of sql/ in path order, which is the order to apply them in."""
    root = folder or sql_dir()
    paths = sorted(root.rglob("*.sql"), key=lambda path: path.relative_to(root).as_posix())
    return [
        SqlFile(f"sql/{path.relative_to(root).as_posix()}", path.read_text("utf-8"))
        for path in paths
    ]


def apply_sql(connection: psycopg.Connection[Any], folder: Path | None = None) -> None:
    """Apply sql/ to an empty database in one transaction, without any bookkeeping."""
    with connection.transaction():
        connection.execute("set local check_function_bodies = off")
        connection.execute("set local search_path = ''")
        for file in load_sql(folder):
            try:
                connection.execute(file.text.encode())
            except psycopg.Error as error:
                error.add_note(f"in {file.path}")
                raise


# --- freezing -------------------------------------------------------------------------------

_HEADER = """\
-- {name}: the whole schema, frozen from sql/
-- depends:
-- locks: none on tables, all of them are new.  duration: under a second.
-- compat: there is no older client.  undo: {name}.rollback.sql
set local lock_timeout = '2s';

-- Functions name tables and functions that a later file makes.
set local check_function_bodies = off;

"""

_ROLLBACK = """\
-- {name}.rollback: drop the schema, as long as it holds nothing and nothing else leans on it
-- Roles belong to the whole cluster and stay.
set local lock_timeout = '2s';

do $do$
declare
    v_dependent text;
begin
    if exists (select from dispatch.workspace) then
        raise exception using
            errcode = 'PD409',
            message = 'schema still holds workspaces',
            hint = 'Delete every workspace with dispatch.delete_workspace first.';
    end if;

    -- CASCADE would silently take along what others have built on our types and views.
    with ours as (
        select 'pg_class'::regclass as classid, c.oid as objid
        from pg_catalog.pg_class as c
        where c.relnamespace = 'dispatch'::regnamespace
        union all
        select 'pg_type'::regclass, t.oid
        from pg_catalog.pg_type as t
        where t.typnamespace = 'dispatch'::regnamespace
        union all
        select 'pg_proc'::regclass, p.oid
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
    ),
    leaning as (
        select
            d.classid,
            d.objid,
            coalesce(
                cl.relnamespace, ty.typnamespace, pr.pronamespace, co.connamespace,
                rw.relnamespace, tr.relnamespace, ad.relnamespace
            ) as namespace
        from ours as o
        join pg_catalog.pg_depend as d
            on d.refclassid = o.classid and d.refobjid = o.objid and d.deptype in ('n', 'a')
        left join pg_catalog.pg_class as cl
            on d.classid = 'pg_class'::regclass and cl.oid = d.objid
        left join pg_catalog.pg_type as ty
            on d.classid = 'pg_type'::regclass and ty.oid = d.objid
        left join pg_catalog.pg_proc as pr
            on d.classid = 'pg_proc'::regclass and pr.oid = d.objid
        left join pg_catalog.pg_constraint as co
            on d.classid = 'pg_constraint'::regclass and co.oid = d.objid
        left join (
            pg_catalog.pg_rewrite as r join pg_catalog.pg_class as rw on rw.oid = r.ev_class
        ) on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
        left join (
            pg_catalog.pg_trigger as t join pg_catalog.pg_class as tr on tr.oid = t.tgrelid
        ) on d.classid = 'pg_trigger'::regclass and t.oid = d.objid
        left join (
            pg_catalog.pg_attrdef as a join pg_catalog.pg_class as ad on ad.oid = a.adrelid
        ) on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
    )
    select pg_catalog.pg_describe_object(l.classid, l.objid, 0)
    into v_dependent
    from leaning as l
    where l.namespace is distinct from 'dispatch'::regnamespace
    limit 1;

    if found then
        raise exception using
            errcode = 'PD409',
            message = 'something outside the schema depends on it',
            detail = v_dependent,
            hint = 'Drop what depends on the schema before this rollback.';
    end if;
end;
$do$;

drop schema dispatch cascade;
"""


def render(name: str = CORE, folder: Path | None = None) -> str:
    """Write the text of the one migration that makes the whole schema from sql/."""
    parts = [_HEADER.format(name=name)]
    for file in load_sql(folder):
        if not file.text.endswith("\n"):
            raise MigrationError(f"{file.path} does not end with a newline")
        parts.append(f"-- begin {file.path}\n{file.text}-- end {file.path}\n\n")
    return "".join(parts).rstrip("\n") + "\n"


def freeze(
    name: str = CORE, *, folder: Path | None = None, migrations: Path | None = None
) -> Path:
    """Write the migration `name`, its rollback and frozen.sha256 from sql/.

    Until the first release there is one migration, made anew at will.
    """
    target = migrations or migrations_dir()
    if target == _PACKAGE / "_migrations":
        raise MigrationError("an installed package is not frozen anew: work in a checkout")
    others = [path.stem for path in _forward_files(target) if path.stem != name]
    if others:
        raise MigrationError(
            f"{name} would stand beside {', '.join(others)}: "
            "the whole schema is frozen only while it is the one migration"
        )
    path = target / f"{name}.sql"
    path.write_text(render(name, folder), "utf-8")
    rollback = target / f"{name}.rollback.sql"
    rollback.write_text(_ROLLBACK.format(name=name), "utf-8")
    (target / "frozen.sha256").write_text(frozen_sums(target), "utf-8")
    return path


def frozen_sums(migrations: Path | None = None) -> str:
    """Sum every migration and rollback, in the form that `sha256sum --check` reads."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted((migrations or migrations_dir()).glob("*.sql"))
    )


def frozen_copies(migrations: Path | None = None) -> dict[str, str]:
    """Find the newest frozen copy of each file of sql/ among the migrations."""
    copies: dict[str, str] = {}
    for path in _forward_files(migrations or migrations_dir()):
        for found in _MARKED.finditer(path.read_text("utf-8")):
            copies[found["path"]] = found["text"]
    return copies


def _forward_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.sql")) if ".rollback" not in path.name]


# --- migrating ------------------------------------------------------------------------------


def status(dsn: str = "", *, migrations: Path | None = None) -> Status:
    """Compare a database with the migrations of this package; change nothing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return read_status(connection, migrations=migrations)


def read_status(
    connection: psycopg.Connection[Any], *, migrations: Path | None = None
) -> Status:
    """Compare the database of a connection with the migrations of this package."""
    known = [path.stem for path in _forward_files(migrations or migrations_dir())]
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


def migrate(
    dsn: str = "", *, migrations: Path | None = None, wait: timedelta = LOCK_WAIT
) -> Migrated:
    """Bring a database to the newest migration; a database that is there stays as it is.

    One migrator works at a time in a database; another waits for it at most `wait`. Each
    migration and the record of it are one transaction.
    """
    folder = migrations or migrations_dir()
    with _locked(dsn, wait), closing(_open(dsn)) as backend:
        before = read_status(backend.connection, migrations=folder)
        if before.unknown:
            raise MigrationError(
                f"the database has migrations that this package does not know "
                f"({', '.join(before.unknown)}): install a newer pgdispatch"
            )
        backend.apply_migrations(backend.to_apply(read_migrations(_pattern(folder))))
        _show_bookkeeping(backend.connection)
        after = read_status(backend.connection, migrations=folder)
    return Migrated(before.version, after.version, before.pending)


def _show_bookkeeping(connection: psycopg.Connection[Any]) -> None:
    """Let our roles read which migrations there are, and nothing else of the bookkeeping."""
    roles = connection.execute(
        """
        select r.rolname
        from pg_roles as r
        where r.rolname = any (%s)
            and not has_table_privilege(r.oid, 'dispatch_meta._yoyo_migration', 'select')
        """,
        [list(ROLES)],
    ).fetchall()
    for (name,) in roles:
        role = sql.Identifier(name)
        with connection.transaction():
            connection.execute(
                sql.SQL("grant usage on schema dispatch_meta to {}").format(role)
            )
            connection.execute(
                sql.SQL("grant select on dispatch_meta._yoyo_migration to {}").format(role)
            )


def rollback(
    dsn: str = "", *, migrations: Path | None = None, wait: timedelta = LOCK_WAIT
) -> Migrated:
    """Undo the newest migration of a database, if its rollback finds that safe."""
    folder = migrations or migrations_dir()
    with _locked(dsn, wait), closing(_open(dsn)) as backend:
        before = read_status(backend.connection, migrations=folder)
        newest = before.version
        if newest is not None:
            if not (folder / f"{newest}.rollback.sql").exists():
                raise MigrationError(f"{newest} has no rollback")
            known = read_migrations(_pattern(folder)).filter(lambda each: each.id == newest)
            backend.rollback_migrations(backend.to_rollback(known))
        after = read_status(backend.connection, migrations=folder)
    return Migrated(before.version, after.version, () if newest is None else (newest,))


def _pattern(folder: Path) -> str:
    """The folder as yoyo takes it: a pattern, in which a bracket has a meaning."""
    return re.sub(r"([*?[])", r"[\1]", str(folder))


@contextmanager
def _locked(dsn: str, wait: timedelta) -> Iterator[None]:
    """Hold the migrator's lock in an open transaction of a connection of its own.

    The lock ends with the process, so nobody has to break a left-over one. It is polled: a
    waiting lock call holds a snapshot, and CREATE INDEX CONCURRENTLY would wait for it.
    """
    deadline = time.monotonic() + wait.total_seconds()
    with psycopg.connect(dsn) as connection:
        connection.execute("set local idle_in_transaction_session_timeout = 0")
        while True:
            taken = connection.execute(
                "select pg_try_advisory_xact_lock(%s)", [LOCK_KEY]
            ).fetchone()
            if taken is not None and taken[0]:
                break
            if time.monotonic() > deadline:
                raise MigrationError(
                    f"another migrator is at work{_holder(connection)}: wait for it or end it"
                )
            time.sleep(LOCK_POLL_SECONDS)
        yield


def _holder(connection: psycopg.Connection[Any]) -> str:
    row = connection.execute(
        """
        select l.pid, date_trunc('second', clock_timestamp() - a.xact_start)::text
        from pg_locks as l
        left join pg_stat_activity as a on a.pid = l.pid
        where l.locktype = 'advisory'
            and l.granted
            and l.database = (
                select d.oid from pg_database as d where d.datname = current_database()
            )
            and l.classid::bigint = %s
            and l.objid::bigint = %s
        """,
        [LOCK_KEY >> 32, LOCK_KEY & 0xFFFF_FFFF],
    ).fetchone()
    return f" (server process {row[0]}, for {row[1]})" if row is not None else ""


def _open(dsn: str) -> _Backend:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("select to_regnamespace(%s) is null", [META_SCHEMA]).fetchone()
        # CREATE SCHEMA IF NOT EXISTS needs the right to create one even where it exists.
        if row is not None and row[0]:
            connection.execute("create schema dispatch_meta")
            connection.execute(
                "comment on schema dispatch_meta is"
                " 'Which migrations of schema dispatch this database has.'"
            )
    uri = DatabaseURI("postgresql+psycopg", None, None, None, None, "", {"conninfo": dsn})
    return _Backend(uri, default_migration_table)


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """yoyo's backend, with four habits changed.

    It connects by any libpq connection string, where yoyo takes its own kind of URI. It takes
    no lock row, since `_locked` holds a better lock. It applies a migration and records it in
    one transaction, where yoyo's can crash between the two. Its log asks neither the password
    database nor a name server.
    """

    def connect(self, dburi: DatabaseURI) -> psycopg.Connection[Any]:
        self.schema = META_SCHEMA
        return psycopg.connect(dburi.args["conninfo"], autocommit=True)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def lock(self, timeout: float = 10) -> Iterator[None]:
        yield

    def apply_one(self, migration: Any, force: bool = False, mark: bool = True) -> None:
        migration.load()
        if not migration.use_transactions:
            super().apply_one(migration, force=force, mark=mark)
            return
        self.ensure_internal_schema_updated()
        with closing(self.copy()) as worker, worker.transaction():
            migration.process_steps(worker, "apply", force=force)
            worker.take_back()
            worker.mark_one(migration, log=False)
            worker.log_migration(migration, "apply")

    def rollback_one(self, migration: Any, force: bool = False) -> None:
        migration.load()
        if not migration.use_transactions:
            super().rollback_one(migration, force=force)
            return
        self.ensure_internal_schema_updated()
        with closing(self.copy()) as worker, worker.transaction():
            migration.process_steps(worker, "rollback", force=force)
            worker.take_back()
            worker.unmark_one(migration, log=False)
            worker.log_migration(migration, "rollback")

    def take_back(self) -> None:
        """Undo what a migration may have set for itself before the bookkeeping is written."""
        self.execute("reset role")
        self.init_connection(self.connection)

    def get_log_data(
        self,
        migration: Any = None,
        operation: str = "apply",
    ) -> Mapping[str, Any]:
        return {
            "id": str(uuid1()),
            "migration_id": migration.id if migration else None,
            "migration_hash": migration.hash if migration else None,
            "username": self.connection.info.user,
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC).replace(tzinfo=None),
            "operation": operation,
        }


# --- comparing ------------------------------------------------------------------------------

# Every line names the object first, so that two listings differ where the objects do.
_CATALOG: LiteralString = """
with acl as (
    select s.kind, s.oid, s.sub, coalesce(string_agg(s.entry, ',' order by s.entry), '-') as acl
    from (
        select
            o.kind,
            o.oid,
            o.sub,
            case when e.grantee = 0 then 'public' else e.grantee::regrole::text end
            || '=' || e.privilege_type || case when e.is_grantable then '*' else '' end as entry
        from (
            select 'schema' as kind, n.oid, 0 as sub, n.nspacl as acl
            from pg_namespace as n
            union all
            select 'relation', c.oid, 0, c.relacl from pg_class as c
            union all
            select 'column', a.attrelid, a.attnum, a.attacl from pg_attribute as a
            union all
            select 'type', t.oid, 0, t.typacl from pg_type as t
            union all
            select
                'function', p.oid, 0, coalesce(p.proacl, acldefault('f', p.proowner))
            from pg_proc as p
        ) as o
        cross join lateral aclexplode(o.acl) as e
    ) as s
    group by s.kind, s.oid, s.sub
),
lines as (
    select
        'schema ' || n.nspname as object,
        format('owner %%s', n.nspowner::regrole) as what,
        a.acl,
        obj_description(n.oid, 'pg_namespace') as comment
    from pg_namespace as n
    left join acl as a on a.kind = 'schema' and a.oid = n.oid
    where n.nspname = %(schema)s

    union all
    select
        format('relation %%s', c.relname),
        format(
            'kind %%s owner %%s options %%s persistence %%s row security %%s',
            c.relkind, c.relowner::regrole, c.reloptions, c.relpersistence, c.relrowsecurity
        ) || coalesce(
            ' ' || case when c.relkind = 'v' then pg_get_viewdef(c.oid)
            when c.relkind in ('i', 'I') then pg_get_indexdef(c.oid)
                || format(' valid %%s', i.indisvalid)
            end, ''
        ),
        a.acl,
        obj_description(c.oid, 'pg_class')
    from pg_class as c
    left join pg_index as i on i.indexrelid = c.oid
    left join acl as a on a.kind = 'relation' and a.oid = c.oid
    where c.relnamespace = to_regnamespace(%(schema)s)

    union all
    select
        format('column %%s.%%s', c.relname, t.attname),
        format(
            'position %%s type %%s collation %%s not null %%s default %%s identity %%s'
            ' generated %%s storage %%s compression %%s statistics %%s',
            -- A dropped column leaves a gap, which no reader of the table can see.
            row_number() over (partition by c.oid order by t.attnum),
            format_type(t.atttypid, t.atttypmod), nullif(t.attcollation, 0)::regcollation,
            t.attnotnull, pg_get_expr(d.adbin, d.adrelid), t.attidentity, t.attgenerated,
            t.attstorage, t.attcompression, t.attoptions
        ),
        a.acl,
        col_description(c.oid, t.attnum)
    from pg_class as c
    join pg_attribute as t on t.attrelid = c.oid and t.attnum > 0 and not t.attisdropped
    left join pg_attrdef as d on d.adrelid = c.oid and d.adnum = t.attnum
    left join acl as a on a.kind = 'column' and a.oid = c.oid and a.sub = t.attnum
    where c.relnamespace = to_regnamespace(%(schema)s)
        and c.relkind not in ('i', 'I')

    union all
    select
        format('constraint %%s on %%s', o.conname, coalesce(c.relname, t.typname)),
        pg_get_constraintdef(o.oid) || format(' validated %%s', o.convalidated),
        null,
        obj_description(o.oid, 'pg_constraint')
    from pg_constraint as o
    left join pg_class as c on c.oid = o.conrelid
    left join pg_type as t on t.oid = o.contypid
    where o.connamespace = to_regnamespace(%(schema)s)

    union all
    select
        format('trigger %%s on %%s', t.tgname, c.relname),
        pg_get_triggerdef(t.oid) || format(' enabled %%s', t.tgenabled),
        null,
        obj_description(t.oid, 'pg_trigger')
    from pg_trigger as t
    join pg_class as c on c.oid = t.tgrelid
    where c.relnamespace = to_regnamespace(%(schema)s)
        and not t.tgisinternal

    union all
    select
        format('type %%s', t.typname),
        format(
            'kind %%s owner %%s labels %%s base %%s default %%s',
            t.typtype, t.typowner::regrole,
            (
                select array_agg(e.enumlabel order by e.enumsortorder)
                from pg_enum as e
                where e.enumtypid = t.oid
            ),
            case when t.typbasetype <> 0 then format_type(t.typbasetype, t.typtypmod) end,
            t.typdefault
        ),
        a.acl,
        obj_description(t.oid, 'pg_type')
    from pg_type as t
    left join acl as a on a.kind = 'type' and a.oid = t.oid
    where t.typnamespace = to_regnamespace(%(schema)s)

    union all
    select
        format(
            '%%s %%s(%%s)',
            case when p.prokind = 'p' then 'procedure' else 'function' end,
            p.proname, pg_get_function_identity_arguments(p.oid)
        ),
        format('owner %%s ', p.proowner::regrole)
        || case
            when p.prokind in ('f', 'p') then pg_get_functiondef(p.oid) else p.prokind::text
        end,
        a.acl,
        obj_description(p.oid, 'pg_proc')
    from pg_proc as p
    left join acl as a on a.kind = 'function' and a.oid = p.oid
    where p.pronamespace = to_regnamespace(%(schema)s)
)
select format(
    '%%s | %%s | acl %%s | comment %%s',
    l.object, l.what, coalesce(l.acl, '-'), coalesce(to_json(l.comment)::text, '-')
)
from lines as l
order by l.object collate "C", l.what collate "C"
"""


def catalog(connection: psycopg.Connection[Any], schema: str = SCHEMA) -> list[str]:
    """Describe a schema as the server's catalog has it: one text for each object, sorted."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog, pg_temp")
        rows: Sequence[tuple[str]] = connection.execute(_CATALOG, {"schema": schema}).fetchall()
    return [line for (line,) in rows]
