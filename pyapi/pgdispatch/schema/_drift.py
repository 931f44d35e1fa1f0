"""Whether a live database still is what its migrations made: object by object, both ways."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psycopg
from psycopg import sql

from pgdispatch.schema._bookkeeping import META_SCHEMA, Status, read_status
from pgdispatch.schema._catalog import SCHEMA, catalog_objects
from pgdispatch.schema._files import MigrationError, read_migrations

Facets = Mapping[str, str | None]

#: What the live schema is called in the transaction that makes another one beside it.
_ASIDE = "dispatch_set_aside"

_BUSY = "somebody is changing the schema: nothing was compared; check again"


@dataclass(frozen=True, slots=True)
class Difference:
    """One object in which a database is not what it should be."""

    object: str
    kind: Literal["missing", "extra", "different"]
    expected: Facets
    found: Facets

    @property
    def facets(self) -> tuple[str, ...]:
        """What differs of an object that is there: definition, grants, comment."""
        if self.kind != "different":
            return ()
        return tuple(
            name for name, value in self.expected.items() if self.found.get(name) != value
        )

    def lines(self) -> Iterator[str]:
        """Tell the difference: the object, and what was expected (-) and found (+)."""
        yield f"{self.kind:9}  {self.object}"
        for facet in self.facets:
            changed = difflib.unified_diff(
                (self.expected[facet] or "").splitlines(),
                (self.found[facet] or "").splitlines(),
                lineterm="",
                n=0,
            )
            for line in changed:
                if not line.startswith(("---", "+++", "@@")):
                    yield f"    {facet}: {line}"


@dataclass(frozen=True, slots=True)
class Drift:
    """What a comparison found: which migrations the database has, and where it differs."""

    status: Status
    differences: tuple[Difference, ...]


def compare(
    expected: Mapping[str, Facets], found: Mapping[str, Facets]
) -> tuple[Difference, ...]:
    """Compare two descriptions of a schema: what is missing, extra or different in `found`."""
    differences = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            differences.append(Difference(name, "missing", expected[name], {}))
        elif name not in expected:
            differences.append(Difference(name, "extra", {}, found[name]))
        elif expected[name] != found[name]:
            differences.append(Difference(name, "different", expected[name], found[name]))
    return tuple(differences)


def find_drift(
    dsn: str = "", *, against: str | None = None, migrations: Path | None = None
) -> Drift:
    """Compare a live database with what its migrations make, and leave it as it is.

    The migrations that the database has are applied once more beside the live schema, in a
    transaction that is always taken back: it locks none of the live tables. That takes the
    rights of a migrator. `against` names a database that was migrated just so, on a server of
    the same major version; then the live one is only read.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        found_status = read_status(connection, migrations=migrations)
        if found_status.unknown:
            raise MigrationError(
                f"the database has migrations that this package does not know "
                f"({', '.join(found_status.unknown)}): install a newer pgdispatch"
            )
        found = catalog_objects(connection)
        if against is None:
            expected = _made_anew(connection, found_status.applied, migrations)
        else:
            expected = _described(connection, against, found_status, migrations)
        if read_status(connection, migrations=migrations) != found_status:
            raise MigrationError(_BUSY)
    return Drift(found_status, compare(expected, found))


def _made_anew(
    connection: psycopg.Connection[Any], names: Sequence[str], migrations: Path | None
) -> dict[str, dict[str, str | None]]:
    """Describe what migrations make, by applying them beside the live schema for a moment."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("set local lock_timeout = '2s'")
            connection.execute("set local client_min_messages = error")
            row = connection.execute("select to_regnamespace('dispatch') is null").fetchone()
            if row is not None and not row[0]:
                connection.execute(
                    sql.SQL("alter schema dispatch rename to {}").format(sql.Identifier(_ASIDE))
                )
            for migration in read_migrations(migrations):
                if migration.name in names:
                    connection.execute("set local search_path = pg_catalog, pg_temp")
                    connection.execute(_without_concurrency(migration.text).encode())
            connection.execute("reset role")
            return catalog_objects(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"{error.diag.message_primary}: comparing takes the rights of a migrator, or "
            "--against a database that this version has just migrated"
        ) from error
    except psycopg.errors.LockNotAvailable as error:
        raise MigrationError(_BUSY) from error


def _described(
    connection: psycopg.Connection[Any],
    against: str,
    found: Status,
    migrations: Path | None,
) -> dict[str, dict[str, str | None]]:
    with psycopg.connect(against, autocommit=True) as other:
        majors = [each.info.server_version // 10000 for each in (connection, other)]
        if majors[0] != majors[1]:
            raise MigrationError(
                f"the servers are of different versions, {majors[0]} and {majors[1]}, "
                "which describe the same objects differently: take one of the same"
            )
        there = read_status(other, migrations=migrations)
        if there.applied != found.applied:
            raise MigrationError(
                f"the databases have different migrations in {META_SCHEMA}: "
                f"{found.version or 'nothing'} here and {there.version or 'nothing'} there"
            )
        return catalog_objects(other, SCHEMA)


def _without_concurrency(text: str) -> str:
    """An index of an empty table needs no concurrent build, which no transaction may hold."""
    return re.sub(
        r"^((?:create(?: unique)?|drop) index) concurrently\b", r"\1", text, flags=re.M | re.I
    )
