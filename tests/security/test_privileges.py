"""Who may do what, and that nobody else may do anything."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from pgdispatch.schema import ROLES
from tests.support.privileges import GOLDEN, matrix
from tests.support.servers import Database


@pytest.fixture
def stranger(catalog_db: Database) -> Iterator[str]:
    """A role that can log in and was granted nothing."""
    name = f"dispatch_stranger_{os.getpid()}"
    catalog_db.execute(f"create role {name} login")
    yield name
    catalog_db.execute(f"drop role {name}")


def functions(database: Database) -> list[tuple[str, str]]:
    """Each function with a call of it whose arguments are all NULL."""
    return [
        (signature, f"select from dispatch.{name}({arguments})")
        for signature, name, arguments in database.execute(
            """
            select
                p.oid::regprocedure::text,
                quote_ident(p.proname),
                (
                    select coalesce(string_agg(
                        format('null::%s', format_type(a.type, null)), ', ' order by a.position
                    ), '')
                    from unnest(p.proargtypes) with ordinality as a (type, position)
                )
            from pg_proc as p
            where p.pronamespace = 'dispatch'::regnamespace
                and p.prorettype <> 'trigger'::regtype
            order by 1
            """
        )
    ]


def test_the_matrix_is_the_reviewed_one(catalog_db: Database) -> None:
    with catalog_db.connect() as connection:
        assert matrix(connection) == GOLDEN.read_text("utf-8"), (
            "review the change, then run: .venv/bin/python -m tests.support.privileges"
        )


def test_public_has_nothing(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select o.what, e.privilege_type
        from (
            select 'schema' as what, coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl
            from pg_namespace as n
            where n.nspname = 'dispatch'
            union all
            select c.relname, coalesce(c.relacl, acldefault('r', c.relowner))
            from pg_class as c
            where c.relnamespace = 'dispatch'::regnamespace
                and c.relkind in ('r', 'v', 'm', 'p')
            union all
            select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner))
            from pg_proc as p
            where p.pronamespace = 'dispatch'::regnamespace
        ) as o
        cross join lateral aclexplode(o.acl) as e
        where e.grantee = 0
        """
    )
    assert rows == []


def test_nothing_may_be_handed_on(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select o.what, e.grantee::regrole::text
        from (
            select p.oid::regprocedure::text as what, p.proacl as acl, p.proowner as owner
            from pg_proc as p
            where p.pronamespace = 'dispatch'::regnamespace
            union all
            select c.relname, c.relacl, c.relowner
            from pg_class as c
            where c.relnamespace = 'dispatch'::regnamespace
        ) as o
        cross join lateral aclexplode(o.acl) as e
        where e.is_grantable and e.grantee <> o.owner
        """
    )
    assert rows == []


def test_a_stranger_calls_no_function(catalog_db: Database, stranger: str) -> None:
    calls = functions(catalog_db)
    assert len(calls) > 50
    got = {}
    with catalog_db.connect(session=stranger) as connection:
        for signature, call in calls:
            try:
                connection.execute(call.encode())
                got[signature] = "00000"
            except psycopg.Error as error:
                got[signature] = error.sqlstate or ""
    assert {name: code for name, code in got.items() if code != "42501"} == {}


def test_a_stranger_touches_no_relation(catalog_db: Database, stranger: str) -> None:
    names = catalog_db.execute(
        "select c.relname from pg_class as c"
        " where c.relnamespace = 'dispatch'::regnamespace and c.relkind in ('r', 'v')"
    )
    assert len(names) > 10
    with catalog_db.connect(session=stranger) as connection:
        for (name,) in names:
            for text in ("select from dispatch.{}", "delete from dispatch.{}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(sql.SQL(text).format(sql.Identifier(name)))


@pytest.mark.parametrize("role", ROLES)
def test_no_role_touches_a_table_or_writes_a_view(catalog_db: Database, role: str) -> None:
    rows = catalog_db.execute(
        """
        select c.relname, p.name
        from pg_class as c
        cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as p (name)
        where c.relnamespace = 'dispatch'::regnamespace
            and c.relkind in ('r', 'v')
            and has_table_privilege(%s, c.oid, p.name)
            and (c.relkind = 'r' or p.name <> 'select')
        """,
        [role],
    )
    assert rows == []


@pytest.mark.parametrize("role", ROLES)
def test_no_role_calls_a_private_function(catalog_db: Database, role: str) -> None:
    """Private are those whose name begins with an underscore, and the predicate."""
    rows = catalog_db.execute(
        r"""
        select p.oid::regprocedure::text
        from pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and (p.proname like '\_%%' or p.proname = 'will_enqueue_run')
            and has_function_privilege(%s, p.oid, 'execute')
        """,
        [role],
    )
    assert rows == []


def test_every_public_function_is_granted_to_somebody(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        r"""
        select p.oid::regprocedure::text
        from pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.proname not like '\_%%'
            and p.proname <> 'will_enqueue_run'
            and not exists (
                select from unnest(%s::text[]) as r (name)
                where has_function_privilege(r.name, p.oid, 'execute')
            )
        """,
        [list(ROLES)],
    )
    assert rows == []


def test_the_roles_are_plain(catalog_db: Database) -> None:
    """None may log in, none is a superuser, none belongs to the owner."""
    rows = catalog_db.execute(
        """
        select r.rolname, r.rolcanlogin, r.rolsuper, r.rolcreaterole, r.rolbypassrls,
            pg_has_role(r.oid, 'dispatch_owner', 'member')
        from pg_roles as r
        where r.rolname = any (%s)
        order by 1
        """,
        [[*ROLES, "dispatch_owner"]],
    )
    assert rows == [
        ("dispatch_operator", False, False, False, False, False),
        ("dispatch_owner", False, False, False, False, True),
        ("dispatch_reader", False, False, False, False, False),
        ("dispatch_service", False, False, False, False, False),
        ("dispatch_worker", False, False, False, False, False),
    ]


@pytest.mark.parametrize(
    ("role", "allowed", "forbidden"),
    [
        ("dispatch_service", "create_issue", "claim_run"),
        ("dispatch_worker", "claim_run", "create_issue"),
        ("dispatch_worker", "complete_run", "put_workspace"),
        ("dispatch_reader", "clock", "queue_wake"),
        ("dispatch_operator", "clock", "create_issue"),
    ],
)
def test_each_role_does_its_own_work_only(
    catalog_db: Database, role: str, allowed: str, forbidden: str
) -> None:
    (granted,) = catalog_db.execute(
        """
        select
            bool_and(has_function_privilege(%(role)s, p.oid, 'execute'))
                filter (where p.proname = %(allowed)s),
            bool_or(has_function_privilege(%(role)s, p.oid, 'execute'))
                filter (where p.proname = %(forbidden)s)
        from pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
        """,
        {"role": role, "allowed": allowed, "forbidden": forbidden},
    )
    assert granted == (True, False)
