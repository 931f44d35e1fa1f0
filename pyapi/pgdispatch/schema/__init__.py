"""Install, migrate, compare and describe the schema.

`sql/` is what the schema is, `migrations/` is how a database gets there; both travel inside
the wheel. Everything about yoyo stays behind this package, so that its files, plain SQL, could
be run by another tool.
"""

from __future__ import annotations

from pgdispatch.schema._bookkeeping import (
    META_SCHEMA,
    Status,
    check,
    read_status,
    status,
)
from pgdispatch.schema._catalog import SCHEMA, catalog, catalog_objects
from pgdispatch.schema._drift import Difference, Drift, compare, find_drift
from pgdispatch.schema._files import (
    CORE,
    Migration,
    MigrationError,
    SqlFile,
    apply_sql,
    load_sql,
    migrations_dir,
    read_migrations,
    released_migrations,
    sql_dir,
)
from pgdispatch.schema._freezing import Frozen, freeze, frozen_state, render, unfrozen
from pgdispatch.schema._migrator import (
    LOCK_KEY,
    LOCK_WAIT,
    Migrated,
    migrate,
    rollback,
)
from pgdispatch.schema._releasing import Released, frozen_sums, release
from pgdispatch.schema._rights import ROLES, MissingRights, missing_rights
from pgdispatch.schema._script import script

__all__ = [
    "CORE",
    "LOCK_KEY",
    "LOCK_WAIT",
    "META_SCHEMA",
    "ROLES",
    "SCHEMA",
    "Difference",
    "Drift",
    "Frozen",
    "Migrated",
    "Migration",
    "MigrationError",
    "MissingRights",
    "Released",
    "SqlFile",
    "Status",
    "apply_sql",
    "catalog",
    "catalog_objects",
    "check",
    "compare",
    "find_drift",
    "freeze",
    "frozen_state",
    "frozen_sums",
    "load_sql",
    "migrate",
    "migrations_dir",
    "missing_rights",
    "read_migrations",
    "read_status",
    "release",
    "released_migrations",
    "render",
    "rollback",
    "script",
    "sql_dir",
    "status",
    "unfrozen",
]
