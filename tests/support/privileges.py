"""Who may do what: the privilege matrix of the schema, as text to compare.

`python -m tests.support.privileges` writes tests/golden/privileges.txt anew.
"""

from __future__ import annotations

import sys
from typing import Any

import psycopg

from pgdispatch.schema import ROLES
from tests.support.servers import REPOSITORY, Servers, ServerUnavailable

GOLDEN = REPOSITORY / "tests" / "golden" / "privileges.txt"

# What a role has by itself, by membership and through PUBLIC alike.
_MATRIX = r"""
with grantees as (
    select r.rolname as name, r.oid, null::oid as public
    from pg_roles as r
    where r.rolname = any (%(roles)s)
),
held as (
    select
        'schema' as kind, n.nspname::text as object, g.name,
        array(
            select p
            from unnest(array['usage', 'create']) as p
            where has_schema_privilege(g.oid, n.oid, p)
        ) as privileges
    from pg_namespace as n
    cross join grantees as g
    where n.nspname = 'dispatch'

    union all
    select
        case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end,
        c.relname, g.name,
        array(
            select p
            from unnest(array['select', 'insert', 'update', 'delete', 'truncate',
                'references', 'trigger']) as p
            where has_table_privilege(g.oid, c.oid, p)
                or (
                    p in ('select', 'insert', 'update', 'references')
                    and has_any_column_privilege(g.oid, c.oid, p)
                )
        )
    from pg_class as c
    cross join grantees as g
    where c.relnamespace = to_regnamespace('dispatch')
        and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')

    union all
    select
        'function',
        regexp_replace(p.oid::regprocedure::text, '^dispatch\.', ''), g.name,
        case
            when has_function_privilege(g.oid, p.oid, 'execute') then array['execute']
            else '{}'
        end
    from pg_proc as p
    cross join grantees as g
    where p.pronamespace = to_regnamespace('dispatch')

    union all
    select
        'type', t.typname, g.name,
        case
            when has_type_privilege(g.oid, t.oid, 'usage') then array['usage']
            else '{}'
        end
    from pg_type as t
    cross join grantees as g
    where t.typnamespace = to_regnamespace('dispatch')
        and (
            t.typtype in ('e', 'd')
            or exists (
                select from pg_class as c where c.oid = t.typrelid and c.relkind = 'c'
            )
        )
)
select
    h.kind, h.object,
    coalesce(
        string_agg(
            case
                when h.privileges = '{}' then null
                when h.kind in ('function', 'type') then h.name
                else h.name || ' (' || array_to_string(h.privileges, ', ') || ')'
            end,
            ', ' order by h.name
        ),
        'nobody'
    )
from held as h
group by h.kind, h.object
-- Private functions are many, and a test of its own says that they are nobody's.
having h.object !~ '^_' or h.kind <> 'function' or bool_or(h.privileges <> '{}')
order by
    array_position(array['schema', 'view', 'table', 'sequence', 'type', 'function'], h.kind),
    h.object collate "C"
"""


def matrix(connection: psycopg.Connection[Any]) -> str:
    """Write one line an object: who of the roles may use it, and how."""
    rows = connection.execute(_MATRIX.encode(), {"roles": list(ROLES)}).fetchall()
    lines = [f"{kind} {name}: {who}" for kind, name, who in rows]
    return "\n".join(
        [
            "# Who may do what besides dispatch_owner. Made anew by",
            "#     .venv/bin/python -m tests.support.privileges",
            *lines,
            "",
        ]
    )


def main() -> int:
    """Write the golden file from a database built from sql/."""
    servers = Servers()
    try:
        server = servers.get(servers.names[0])
        with server.database() as database, database.connect() as connection:
            GOLDEN.write_text(matrix(connection), "utf-8")
    except ServerUnavailable as reason:
        print(reason, file=sys.stderr)
        return 1
    finally:
        servers.close()
    print(GOLDEN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
