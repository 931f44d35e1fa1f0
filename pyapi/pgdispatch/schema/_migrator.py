"""Bring a database to the newest migration, or back by one, one migrator at a time."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid1

import psycopg
import yoyo.migrations
from psycopg import sql
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI

from pgdispatch.schema._bookkeeping import (
    BOOKKEEPING,
    META_SCHEMA,
    SHOWING,
    Status,
    read_status,
)
from pgdispatch.schema._files import (
    MigrationError,
    check_released,
    migrations_dir,
    rollback_path,
)
from pgdispatch.schema._rights import missing_rights

logger = logging.getLogger("pgdispatch.schema")

#: Key of the advisory lock that lets one migrator work at a time in a database. The number
#: after it is held by the connection that applies: it outlives its process by a statement.
LOCK_KEY = 0x7067_6469_7370_6174

LOCK_POLL_SECONDS = 0.2
LOCK_WAIT = timedelta(minutes=10)

#: How long a statement waits for a lock on a table where its file does not say.
LOCK_TIMEOUT = "2s"

BUILD = re.compile(
    r"^create (?:unique )?index concurrently (?:if not exists )?(?P<index>\w+)\s+"
    r"on (?P<table>dispatch\.\w+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration run did: the version before, the version after, what it applied."""

    before: str | None
    after: str | None
    applied: tuple[str, ...]


def migrate(
    dsn: str = "", *, migrations: Path | None = None, wait: timedelta = LOCK_WAIT
) -> Migrated:
    """Bring a database to the newest migration; a database that is there stays as it is.

    One migrator works at a time in a database; another waits for it at most `wait`. A
    migration and the record of it are one transaction, except for an index that is built
    concurrently: what a broken build left is taken away, and it is built anew.
    """
    folder = migrations or migrations_dir()
    check_released(folder)
    deadline = time.monotonic() + wait.total_seconds()
    with _locked(dsn, deadline):
        with psycopg.connect(dsn, autocommit=True) as connection:
            missing = missing_rights(connection)
            if missing is not None:
                found = _status_if_readable(connection, folder)
                if found is None or not found.is_current:
                    raise missing
                return Migrated(found.version, found.version, ())
        with _opened(dsn, deadline) as backend:
            before = _known_status(backend, folder)
            for each in backend.to_apply(yoyo.migrations.read_migrations(_pattern(folder))):
                with _explained(each.id):
                    backend.apply_one(each)
            backend.connection.execute(SHOWING)
            after = read_status(backend.connection, migrations=folder)
    return Migrated(before.version, after.version, before.pending)


def rollback(
    dsn: str = "", *, migrations: Path | None = None, wait: timedelta = LOCK_WAIT
) -> Migrated:
    """Undo the newest migration of a database, if its rollback finds that safe."""
    folder = migrations or migrations_dir()
    check_released(folder)
    deadline = time.monotonic() + wait.total_seconds()
    with _locked(dsn, deadline), _opened(dsn, deadline) as backend:
        before = _known_status(backend, folder)
        newest = before.version
        if newest is not None:
            if not rollback_path(folder, newest).exists():
                raise MigrationError(f"{newest} has no rollback")
            for each in yoyo.migrations.read_migrations(_pattern(folder)):
                if each.id == newest:
                    with _explained(newest):
                        backend.rollback_one(each)
        after = read_status(backend.connection, migrations=folder)
    return Migrated(before.version, after.version, () if newest is None else (newest,))


def _status_if_readable(connection: psycopg.Connection[Any], folder: Path) -> Status | None:
    try:
        return read_status(connection, migrations=folder)
    except psycopg.errors.InsufficientPrivilege:
        return None


def _known_status(backend: _Backend, folder: Path) -> Status:
    found = read_status(backend.connection, migrations=folder)
    if found.unknown:
        raise MigrationError(
            f"the database has migrations that this package does not know "
            f"({', '.join(found.unknown)}): install a newer pgdispatch"
        )
    return found


def _pattern(folder: Path) -> str:
    """The folder as yoyo takes it: a pattern, in which a bracket has a meaning."""
    return re.sub(r"([*?[])", r"[\1]", str(folder))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say which migration failed, and what to do about a lock that was not to be had."""
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        left = "; ".join(getattr(error, "__notes__", ())) or "nothing was changed"
        raise MigrationError(
            f"{name} did not get a lock within its limit, because of somebody's open "
            f"transaction: migrate again; {left}"
        ) from error
    except psycopg.Error as error:
        error.add_note(f"in {name}")
        raise


# --- one at a time --------------------------------------------------------------------------


@contextmanager
def _locked(dsn: str, deadline: float) -> Iterator[None]:
    """Hold the migrator's lock in an open transaction of a connection of its own.

    The lock ends with the process, so nobody has to break a left-over one. It is polled, since
    a waiting lock call holds a snapshot, for which CREATE INDEX CONCURRENTLY would wait; so
    does the last statement of a transaction that is idle, if it had parameters.
    """
    with psycopg.connect(dsn) as connection:
        connection.execute("set local idle_in_transaction_session_timeout = 0")
        taking = sql.SQL("select pg_try_advisory_xact_lock({})").format(LOCK_KEY)
        _poll_lock(connection, taking, LOCK_KEY, deadline)
        yield


def _poll_lock(
    connection: psycopg.Connection[Any], taking: sql.Composed, key: int, deadline: float
) -> None:
    while True:
        row = connection.execute(taking).fetchone()
        if row is not None and row[0]:
            return
        if time.monotonic() > deadline:
            raise MigrationError(
                f"another migrator is at work{_holder(connection, key)}: wait for it or end it"
            )
        time.sleep(LOCK_POLL_SECONDS)


def _holder(connection: psycopg.Connection[Any], key: int) -> str:
    row = connection.execute(
        """
        select l.pid, date_trunc('second', clock_timestamp() - a.backend_start)::text
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
        [key >> 32, key & 0xFFFF_FFFF],
    ).fetchone()
    return f" (server process {row[0]}, for {row[1]})" if row is not None else ""


# --- yoyo's backend -------------------------------------------------------------------------


@contextmanager
def _opened(dsn: str, deadline: float) -> Iterator[_Backend]:
    uri = DatabaseURI("postgresql+psycopg", None, None, None, None, "", {"conninfo": dsn})
    with closing(_Backend(uri, yoyo.migrations.default_migration_table)) as backend:
        taking = sql.SQL("select pg_try_advisory_lock({})").format(LOCK_KEY + 1)
        _poll_lock(backend.connection, taking, LOCK_KEY + 1, deadline)
        backend.connection.execute(BOOKKEEPING)
        yield backend


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """yoyo's backend, with its habits changed.

    It connects by any libpq connection string, where yoyo takes its own kind of URI. It takes
    no lock row, since `_locked` holds a better lock, and works on the one connection that it
    was opened with. It applies a migration and records it in one transaction, where yoyo's can
    crash between the two; and it knows what a concurrent build of an index may leave behind.
    Its log asks neither the password database nor a name server.
    """

    def connect(self, dburi: DatabaseURI) -> psycopg.Connection[Any]:
        self.schema = META_SCHEMA
        connection = psycopg.connect(dburi.args["conninfo"], autocommit=True)
        # A server that cannot watch its client finds out at the end of the statement.
        with contextlib.suppress(psycopg.errors.InvalidParameterValue):
            connection.execute("set client_connection_check_interval = '1s'")
        return connection

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def lock(self, timeout: float = 10) -> Iterator[None]:
        yield

    def apply_one(self, migration: Any, force: bool = False, mark: bool = True) -> None:
        migration.load()
        self.ensure_internal_schema_updated()
        if not migration.use_transactions:
            self.run_statements(Path(migration.path))
        with self.transaction():
            if migration.use_transactions:
                self.prepare("local")
                migration.process_steps(self, "apply", force=force)
                self.take_back()
            self.mark_one(migration, log=False)
            self.log_migration(migration, "apply")

    def rollback_one(self, migration: Any, force: bool = False) -> None:
        migration.load()
        self.ensure_internal_schema_updated()
        if not migration.use_transactions:
            path = Path(migration.path)
            self.run_statements(rollback_path(path.parent, path.stem))
        with self.transaction():
            if migration.use_transactions:
                self.prepare("local")
                migration.process_steps(self, "rollback", force=force)
                self.take_back()
            self.unmark_one(migration, log=False)
            self.log_migration(migration, "rollback")

    def prepare(self, scope: str) -> None:
        """Begin a migration: whatever it needs it names with its schema."""
        self.execute(f"set {scope} search_path = pg_catalog, pg_temp")
        self.execute(f"set {scope} lock_timeout = '{LOCK_TIMEOUT}'")

    def take_back(self) -> None:
        """Undo what a migration may have set for itself before the bookkeeping is written."""
        self.execute("reset role")
        self.execute("reset lock_timeout")
        self.execute("reset statement_timeout")
        self.init_connection(self.connection)

    def run_statements(self, path: Path) -> None:
        """Run a file that no transaction may hold, so that it can be run again."""
        _, _, statements = yoyo.migrations.read_sql_migration(str(path))
        self.prepare("session")
        try:
            for statement in statements:
                build = BUILD.search(statement)
                if build is None:
                    self.connection.execute(statement.encode())
                else:
                    self.build(statement, build["index"], build["table"])
        finally:
            if not self.connection.broken:
                self.take_back()

    def build(self, statement: str, index: str, table: str) -> None:
        """Build an index concurrently; leave a valid one, or none if that can be."""
        self.drop_invalid(index)
        self.await_writers(table)
        try:
            self.connection.execute(statement.encode())
        except psycopg.Error as error:
            try:
                self.drop_invalid(index)
            except psycopg.Error:
                error.add_note(
                    f"until then the unfinished index dispatch.{index} stays, serving nobody"
                )
            raise

    def drop_invalid(self, index: str) -> None:
        """Take away what an earlier build left unfinished."""
        row = self.connection.execute(
            """
            select from pg_index as i
            where i.indexrelid = to_regclass(%s) and not i.indisvalid
            """,
            [f"dispatch.{index}"],
        ).fetchone()
        if row is not None:
            logger.warning("an unfinished index is dropped and built anew: dispatch.%s", index)
            self.connection.execute(
                sql.SQL("drop index concurrently dispatch.{}").format(sql.Identifier(index))
            )

    def await_writers(self, table: str) -> None:
        """Wait, as long as a lock may be waited for, until those who write just now are done.

        A build waits for them too, but only after it has made an index that is not valid yet.
        """
        row = self.connection.execute(
            "select s.setting::bigint from pg_settings as s where s.name = 'lock_timeout'"
        ).fetchone()
        limit = row[0] / 1000 if row is not None and row[0] else LOCK_WAIT.total_seconds()
        deadline = time.monotonic() + limit
        writers = self.writers(table)
        while writers:
            if time.monotonic() > deadline:
                raise psycopg.errors.LockNotAvailable(
                    f"transactions that write to {table} stayed open"
                )
            time.sleep(LOCK_POLL_SECONDS)
            writers &= self.writers(table)

    def writers(self, table: str) -> set[str]:
        """Name the transactions that hold a lock on a table for which a build would wait."""
        rows = self.connection.execute(
            """
            select l.virtualtransaction
            from pg_locks as l
            where l.locktype = 'relation'
                and l.granted
                and l.relation = to_regclass(%s)
                and l.database = (
                    select d.oid from pg_database as d where d.datname = current_database()
                )
                and l.mode not in ('AccessShareLock', 'RowShareLock', 'ShareLock')
            """,
            [table],
        )
        return {name for (name,) in rows}

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
