"""Rules that the whole schema keeps, read from the server's catalog."""

from __future__ import annotations

import re

import pytest

from tests.support.servers import REPOSITORY, Database

#: Tables that serve no single workspace by a column of that name.
NOT_TENANT = {"workspace"}

#: What was measured to pay, which the comment above each of these tables says.
STORAGE = {
    "issue": ["fillfactor=85"],
    "run_trigger": ["fillfactor=70"],
    "runtime": ["fillfactor=70"],
}


def test_every_object_belongs_to_the_owner(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select o.what, o.owner::regrole::text
        from (
            select 'schema' as what, n.nspowner as owner
            from pg_namespace as n
            where n.nspname = 'dispatch'
            union all
            select c.relname, c.relowner
            from pg_class as c
            where c.relnamespace = 'dispatch'::regnamespace
            union all
            select p.oid::regprocedure::text, p.proowner
            from pg_proc as p
            where p.pronamespace = 'dispatch'::regnamespace
            union all
            select t.typname, t.typowner
            from pg_type as t
            where t.typnamespace = 'dispatch'::regnamespace
        ) as o
        where o.owner <> 'dispatch_owner'::regrole
        """
    )
    assert rows == []


def test_every_definer_pins_its_search_path(catalog_db: Database) -> None:
    """With pg_temp named last: unnamed, it is searched first for tables."""
    rows = catalog_db.execute(
        """
        select p.oid::regprocedure::text, p.proconfig
        from pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.prosecdef
            and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)
        """
    )
    assert rows == []


def test_nothing_but_the_path_and_the_planner_is_set(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select distinct split_part(s.setting, '=', 1)
        from pg_proc as p
        cross join unnest(p.proconfig) as s (setting)
        where p.pronamespace = 'dispatch'::regnamespace
        """
    )
    settings = {name for (name,) in rows}
    assert {
        name
        for name in settings - {"search_path", "plan_cache_mode", "jit"}
        if not name.startswith("enable_")
    } == set()


def test_a_function_without_a_pin_is_plain_sql_or_refuses_nothing(catalog_db: Database) -> None:
    """PL/pgSQL that is not a definer runs inside one, and pins all the same."""
    rows = catalog_db.execute(
        """
        select p.oid::regprocedure::text
        from pg_proc as p
        join pg_language as l on l.oid = p.prolang
        where p.pronamespace = 'dispatch'::regnamespace
            and l.lanname = 'plpgsql'
            and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)
        """
    )
    assert rows == []


def test_public_functions_that_read_tables_are_definers(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        r"""
        select p.oid::regprocedure::text
        from pg_proc as p
        join pg_language as l on l.oid = p.prolang
        where p.pronamespace = 'dispatch'::regnamespace
            and p.proname not like '\_%%'
            and p.proname <> 'will_enqueue_run'
            and l.lanname = 'plpgsql'
            and not p.prosecdef
        """
    )
    assert rows == []


def test_functions_in_plain_sql_read_no_table(catalog_db: Database) -> None:
    """What reads tables is PL/pgSQL; what is plain SQL may then go without a pin."""
    rows = catalog_db.execute(
        r"""
        select p.oid::regprocedure::text
        from pg_proc as p
        join pg_language as l on l.oid = p.prolang
        join pg_class as c
            on c.relnamespace = p.pronamespace
            and c.relkind in ('r', 'v')
            and p.prosrc ~ ('\m(from|join|into|update)\s+dispatch\.' || c.relname || '\M')
        where p.pronamespace = 'dispatch'::regnamespace and l.lanname = 'sql'
        """
    )
    assert rows == []


def test_every_object_is_commented(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select o.what
        from (
            select 'schema dispatch' as what, obj_description(n.oid, 'pg_namespace') as comment
            from pg_namespace as n
            where n.nspname = 'dispatch'
            union all
            select 'relation ' || c.relname, obj_description(c.oid, 'pg_class')
            from pg_class as c
            where c.relnamespace = 'dispatch'::regnamespace
                and c.relkind in ('r', 'v', 'm', 'p', 'S')
            union all
            select 'type ' || t.typname, obj_description(t.oid, 'pg_type')
            from pg_type as t
            left join pg_class as c on c.oid = t.typrelid
            where t.typnamespace = 'dispatch'::regnamespace
                and (t.typtype in ('e', 'd') or c.relkind = 'c')
            union all
            select 'function ' || p.oid::regprocedure, obj_description(p.oid, 'pg_proc')
            from pg_proc as p
            where p.pronamespace = 'dispatch'::regnamespace
            union all
            select
                format('trigger %s on %s', t.tgname, t.tgrelid::regclass),
                obj_description(t.oid, 'pg_trigger')
            from pg_trigger as t
            join pg_class as c on c.oid = t.tgrelid
            where c.relnamespace = 'dispatch'::regnamespace and not t.tgisinternal
        ) as o
        where coalesce(o.comment, '') = ''
        order by 1
        """
    )
    assert rows == []


def test_a_function_says_what_it_raises(catalog_db: Database) -> None:
    """Each PD code in a body is in the last paragraph of the comment, from "Errors:" on."""
    rows = catalog_db.execute(
        """
        select distinct p.oid::regprocedure::text, code.found[1]
        from pg_proc as p
        cross join lateral regexp_matches(p.prosrc, '''(PD[0-9]{3})''', 'g') as code (found)
        where p.pronamespace = 'dispatch'::regnamespace
            and p.proname <> '_raise'
            and position(
                code.found[1] in coalesce(
                    substring(obj_description(p.oid, 'pg_proc') from 'Errors:.*$'), ''
                )
            ) = 0
        """
    )
    assert rows == []


def test_every_tenant_table_is_keyed_by_its_workspace(catalog_db: Database) -> None:
    tables = catalog_db.execute(
        """
        select c.relname, (
            select a.attname
            from pg_index as i
            join pg_attribute as a on a.attrelid = c.oid and a.attnum = i.indkey[0]
            where i.indrelid = c.oid and i.indisprimary
        )
        from pg_class as c
        where c.relnamespace = 'dispatch'::regnamespace and c.relkind in ('r', 'p')
        """
    )
    assert len(tables) > 10
    wrong = {name: key for name, key in tables if key != "workspace_id"}
    assert set(wrong) == NOT_TENANT


def test_every_unique_index_begins_with_the_workspace(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select i.indexrelid::regclass::text
        from pg_index as i
        join pg_class as c on c.oid = i.indrelid
        left join pg_attribute as a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where c.relnamespace = 'dispatch'::regnamespace
            and i.indisunique
            and c.relname <> all (%s)
            and a.attname is distinct from 'workspace_id'
        """,
        [list(NOT_TENANT)],
    )
    assert rows == []


def test_every_foreign_key_carries_the_workspace(catalog_db: Database) -> None:
    """Composite, the workspace first on both sides, and nothing is set to NULL by it."""
    keys = catalog_db.execute(
        """
        select
            o.conname,
            r.relname,
            f.attname,
            t.attname,
            cardinality(o.conkey),
            o.confdeltype::text,
            o.confupdtype::text
        from pg_constraint as o
        join pg_class as c on c.oid = o.conrelid
        join pg_class as r on r.oid = o.confrelid
        join pg_attribute as f on f.attrelid = o.conrelid and f.attnum = o.conkey[1]
        join pg_attribute as t on t.attrelid = o.confrelid and t.attnum = o.confkey[1]
        where o.contype = 'f' and c.relnamespace = 'dispatch'::regnamespace
        """
    )
    assert len(keys) > 10
    wrong = []
    for name, target, column, referenced, width, on_delete, on_update in keys:
        expected = ("workspace_id", "id", 1) if target == "workspace" else None
        found = (column, referenced, width)
        if expected is not None:
            is_right = found == expected
        else:
            is_right = found[:2] == ("workspace_id", "workspace_id") and width > 1
        if not is_right or on_delete not in "ac" or on_update not in "ac":
            wrong.append(name)
    assert wrong == []


def test_every_index_is_valid(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select i.indexrelid::regclass::text
        from pg_index as i
        join pg_class as c on c.oid = i.indrelid
        where c.relnamespace = 'dispatch'::regnamespace and not (i.indisvalid and i.indisready)
        """
    )
    assert rows == []


def test_one_trigger_alone(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select t.tgrelid::regclass::text
        from pg_trigger as t
        join pg_class as c on c.oid = t.tgrelid
        where c.relnamespace = 'dispatch'::regnamespace and not t.tgisinternal
        """
    )
    assert rows == [("dispatch.run",)]


@pytest.mark.parametrize("table", ["run", "run_detail"])
def test_one_place_admits(catalog_db: Database, table: str) -> None:
    rows = catalog_db.execute(
        r"""
        select p.proname, count(*)
        from pg_proc as p
        cross join lateral regexp_matches(
            p.prosrc, '\minsert\s+into\s+dispatch\.' || %s || '\M', 'gi'
        )
        where p.pronamespace = 'dispatch'::regnamespace
        group by p.proname
        """,
        [table],
    )
    assert [count for _, count in rows] == [1]


def test_storage_parameters_are_those_that_pay(catalog_db: Database) -> None:
    rows = catalog_db.execute(
        """
        select c.relname, c.reloptions
        from pg_class as c
        where c.relnamespace = 'dispatch'::regnamespace
            and c.relkind in ('r', 'i')
            and c.reloptions is not null
        """
    )
    assert dict(rows) == STORAGE


@pytest.mark.parametrize("table", ["run", "run_detail", "gate_event", "agent", *STORAGE])
def test_a_table_says_why_it_is_stored_so(table: str) -> None:
    tables = "\n".join(
        path.read_text() for path in sorted((REPOSITORY / "sql" / "20_tables").iterdir())
    )
    head = re.search(rf"((?:^--.*\n)+)create table dispatch\.{table} \(", tables, re.M)
    assert head is not None
    assert re.search("fillfactor|storage parameters", head[1])
