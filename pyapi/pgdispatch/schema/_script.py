"""One script that does what a migrator would do, for a DBA's own tool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pgdispatch.schema._bookkeeping import BOOKKEEPING, SHOWING
from pgdispatch.schema._files import (
    Migration,
    MigrationError,
    migrations_dir,
    read_migrations,
    rollback_path,
    version_of_release,
)
from pgdispatch.schema._migrator import BUILD, LOCK_KEY, LOCK_TIMEOUT

#: What the version of a database without the schema is called.
NOTHING = "nothing"

_GUARD = """\
do $do$
begin
    if not pg_try_advisory_xact_lock({key}) then
        raise exception using
            errcode = 'PD503',
            message = 'another migrator is at work',
            hint = 'schema: wait for it, or end it.';
    end if;
    if coalesce(
        (select max(m.migration_id) from dispatch_meta._yoyo_migration as m), '{nothing}'
    ) <> '{before}' then
        raise exception using
            errcode = 'PD503',
            message = 'schema is not at the version that this step begins with',
            hint = 'schema: this step leads from {before} to {after}.';
    end if;
end;
$do$;
"""

_LOG = """\
insert into dispatch_meta._yoyo_log (
    id, migration_hash, migration_id, operation, username, hostname, created_at_utc
) values (
    gen_random_uuid(), '{hash}', '{name}', '{operation}', session_user, 'a script',
    clock_timestamp() at time zone 'utc'
);
"""

_RECORD = """\
insert into dispatch_meta._yoyo_migration (migration_hash, migration_id, applied_at_utc)
values ('{hash}', '{name}', clock_timestamp() at time zone 'utc');
"""

_UNRECORD = """\
delete from dispatch_meta._yoyo_migration as m
where m.migration_hash = '{hash}';
"""


def script(
    start: str | None = None, end: str | None = None, *, migrations: Path | None = None
) -> str:
    """Write the SQL that brings a database from one version to another, with its bookkeeping.

    A version is the name of a migration, its number, a release, or `nothing`, which is where
    a script starts that is not told otherwise; it ends at the newest. An end before the start
    makes the script that undoes. Each step begins by asking whether the database is there, so
    a script that is run twice, or on the wrong database, changes nothing.
    """
    folder = migrations or migrations_dir()
    known = read_migrations(folder)
    places = [NOTHING, *(each.name for each in known)]
    first = places.index(_resolve(start or NOTHING, places, folder))
    last = places.index(_resolve(end or places[-1], places, folder))
    parts = [f"-- pgdispatch: from {places[first]} to {places[last]}\n"]
    if first <= last:
        parts.append(f"begin;\n{BOOKKEEPING}commit;\n")
        for place in range(first, last):
            parts.append("".join(_up(known[place], places[place])))
        parts.append(f"begin;\n{SHOWING}commit;\n")
    else:
        for place in range(first, last, -1):
            parts.append("".join(_down(known[place - 1], places[place - 1], folder)))
    return "\n".join(parts)


def _resolve(wanted: str, places: list[str], folder: Path) -> str:
    released = version_of_release(wanted, folder)
    found = [name for name in places if name in (wanted, released) or _number(name) == wanted]
    if not found:
        raise MigrationError(f"no version {wanted}: there are {', '.join(places)}")
    return found[0]


def _number(name: str) -> str:
    return name.split("_")[0]


def _up(migration: Migration, before: str) -> Iterator[str]:
    name = migration.name
    guard = _GUARD.format(key=LOCK_KEY, nothing=NOTHING, before=before, after=name)
    record = _filled(_RECORD, name, "apply")
    yield from _step(migration.text, guard, record, migration.is_transactional)


def _down(migration: Migration, after: str, folder: Path) -> Iterator[str]:
    name = migration.name
    path = rollback_path(folder, name)
    if not path.exists():
        raise MigrationError(f"{name} has no rollback")
    guard = _GUARD.format(key=LOCK_KEY, nothing=NOTHING, before=name, after=after)
    record = _filled(_UNRECORD, name, "rollback")
    yield from _step(path.read_text("utf-8"), guard, record, migration.is_transactional)


def _step(text: str, guard: str, record: str, is_transactional: bool) -> Iterator[str]:
    if is_transactional:
        yield f"begin;\n{guard}"
        yield "set local search_path = pg_catalog, pg_temp;\n"
        yield f"set local lock_timeout = '{LOCK_TIMEOUT}';\n"
        yield f"{text}reset role;\n{record}commit;\n"
    else:
        # No transaction may hold this text, so the record of it asks what came of it.
        yield f"begin;\n{guard}commit;\n{text}"
        yield f"begin;\n{guard}{_validity(text)}{record}commit;\n"
        yield "reset lock_timeout;\nreset statement_timeout;\n"


def _validity(text: str) -> str:
    found = BUILD.search(text)
    if found is None:
        return ""
    index = found["index"]
    return f"""\
do $do$
begin
    if not exists (
        select from pg_catalog.pg_index as i
        where i.indexrelid = to_regclass('dispatch.{index}') and i.indisvalid
    ) then
        raise exception using
            errcode = 'PD503',
            message = 'index is not valid',
            hint = 'schema: drop index concurrently dispatch.{index}, then run this again.';
    end if;
end;
$do$;
"""


def _filled(record: str, name: str, operation: str) -> str:
    """Write down a step in both tables, as yoyo does."""
    words = {
        "hash": hashlib.sha256(name.encode()).hexdigest(),
        "name": name,
        "operation": operation,
    }
    return record.format(**words) + _LOG.format(**words)
