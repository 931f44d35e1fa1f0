"""What a migrator may not do by itself, as the statements that its DBA has to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from pgdispatch.schema._files import MigrationError

#: The role that owns the schema.
OWNER = "dispatch_owner"

#: The roles that programs act as.
ROLES = ("dispatch_service", "dispatch_worker", "dispatch_operator", "dispatch_reader")

_FACTS = """
select
    quote_ident(current_user) as login,
    me.rolsuper as is_super,
    me.rolsuper or me.rolcreaterole as may_make_roles,
    has_database_privilege(current_database(), 'create') as may_make_schemas,
    current_setting('server_version_num')::integer >= 160000 as has_options,
    array(
        select r.name
        from unnest(%(roles)s::text[]) with ordinality as r (name, place)
        where to_regrole(r.name) is null
        order by r.place
    ) as missing_roles,
    array(
        select s.name
        from unnest(array['dispatch', 'dispatch_meta']) as s (name)
        where to_regnamespace(s.name) is null
    ) as missing_schemas,
    array(
        select n.nspname::text
        from pg_namespace as n
        where n.nspname in ('dispatch', 'dispatch_meta')
            and not has_schema_privilege(n.oid, 'create')
            -- Whoever may join the owner, as the first migration does, has its rights then.
            and n.nspowner is distinct from to_regrole('dispatch_owner')
        order by 1
    ) as closed_schemas
from pg_roles as me
where me.rolname = current_user
"""

# From 16 on a grant says whether it lets its holder use the rights and act as the role.
_MEMBER = """
select
    pg_has_role('dispatch_owner', 'usage') and pg_has_role('dispatch_owner', %(set)s),
    pg_has_role('dispatch_owner', 'member with admin option')
"""


class MissingRights(MigrationError):
    """The role may not do what a migration needs; `statements` are for its DBA to run."""

    def __init__(self, login: str, statements: Sequence[str]) -> None:
        self.login = login
        self.statements = tuple(statements)
        self.message = (
            f"role {login} may not install the schema by itself, and nothing was changed: "
            "let a DBA run the statements in this database, then migrate again"
        )
        super().__init__("\n".join([f"{self.message}:", *self.statements]))


def missing_rights(connection: psycopg.Connection[Any]) -> MissingRights | None:
    """Find what the role of a connection lacks for migrating; None when nothing is missing."""
    row = connection.execute(_FACTS, {"roles": [OWNER, *ROLES]}).fetchone()
    assert row is not None  # noqa: S101 the role of a connection exists
    login, *facts = row
    if facts[0]:
        return None
    statements = list(_statements(connection, login, *facts[1:]))
    return MissingRights(login, statements) if statements else None


def _statements(
    connection: psycopg.Connection[Any],
    login: str,
    may_make_roles: bool,
    may_make_schemas: bool,
    has_options: bool,
    missing_roles: list[str],
    missing_schemas: list[str],
    closed_schemas: list[str],
) -> Iterator[str]:
    wanted = [] if may_make_schemas else missing_schemas
    made_by_dba = set() if may_make_roles else set(missing_roles)
    if wanted and OWNER in missing_roles:
        made_by_dba.add(OWNER)  # the schemas are given to it
    for name in missing_roles:
        if name in made_by_dba:
            yield f"create role {name} nologin;"
    is_member = may_join = OWNER not in made_by_dba
    if OWNER not in missing_roles:
        row = connection.execute(
            _MEMBER, {"set": "set" if has_options else "member"}
        ).fetchone()
        assert row is not None  # noqa: S101 a query without FROM has one row
        # Up to 15 whoever may make roles may join any that is no superuser.
        is_member, may_join = row[0], row[1] or (may_make_roles and not has_options)
    if not is_member and not may_join:
        options = " with inherit true, set true" if has_options else ""
        yield f"grant {OWNER} to {login}{options};"
    for name in wanted:
        yield f"create schema {name} authorization {OWNER};"
    for name in closed_schemas:
        yield f"alter schema {name} owner to {OWNER};"
