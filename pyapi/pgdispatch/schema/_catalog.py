"""What the server's catalog says about a schema, as text that can be compared."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

#: The schema of the stored logic.
SCHEMA = "dispatch"

# Row types of tables and types of arrays come and go with what they are made for: not listed.
_CATALOG: LiteralString = """
with granted as (
    select
        'schema' as kind, n.oid, 0 as sub,
        coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl
    from pg_namespace as n
    where n.nspname = %(schema)s
    union all
    select
        'relation', c.oid, 0,
        coalesce(
            c.relacl,
            acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)
        )
    from pg_class as c
    where c.relnamespace = to_regnamespace(%(schema)s)
        and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    union all
    select 'column', a.attrelid, a.attnum, a.attacl
    from pg_attribute as a
    join pg_class as c on c.oid = a.attrelid
    where c.relnamespace = to_regnamespace(%(schema)s)
    union all
    select 'type', t.oid, 0, coalesce(t.typacl, acldefault('T', t.typowner))
    from pg_type as t
    where t.typnamespace = to_regnamespace(%(schema)s)
    union all
    select 'function', p.oid, 0, coalesce(p.proacl, acldefault('f', p.proowner))
    from pg_proc as p
    where p.pronamespace = to_regnamespace(%(schema)s)
    union all
    select
        'default', d.oid, 0, d.defaclacl
    from pg_default_acl as d
    where d.defaclnamespace = to_regnamespace(%(schema)s)
),
acl as (
    select s.kind, s.oid, s.sub, string_agg(s.entry, ', ' order by s.entry) as acl
    from (
        select
            g.kind,
            g.oid,
            g.sub,
            case when e.grantee = 0 then 'public' else e.grantee::regrole::text end
            || '=' || e.privilege_type || case when e.is_grantable then '*' else '' end as entry
        from granted as g
        cross join lateral aclexplode(g.acl) as e
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
        format(
            '%%s %%s',
            case c.relkind
                when 'r' then 'table' when 'p' then 'table' when 'v' then 'view'
                when 'i' then 'index' when 'I' then 'index' when 'S' then 'sequence'
                when 'm' then 'materialized view' when 'f' then 'foreign table'
                when 'c' then 'attributes of'
                else 'relation'
            end,
            c.relname
        ),
        format(
            'kind %%s owner %%s options %%s persistence %%s row security %%s %%s identity %%s',
            c.relkind, c.relowner::regrole, c.reloptions, c.relpersistence, c.relrowsecurity,
            c.relforcerowsecurity, c.relreplident
        ) || coalesce(
            E'\n' || case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid)
            when c.relkind in ('i', 'I') then pg_get_indexdef(c.oid)
                || format(' valid %%s ready %%s', i.indisvalid, i.indisready)
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
        pg_get_constraintdef(o.oid) || format(' validated %%s', o.convalidated)
        || coalesce(
            (
                -- A foreign key binds nobody while its triggers are disabled.
                select format(' enabled %%s', bool_and(g.tgenabled = 'O'))
                from pg_trigger as g
                where g.tgconstraint = o.oid and g.tgisinternal
                having count(*) > 0
            ), ''
        ),
        null,
        obj_description(o.oid, 'pg_constraint')
    from pg_constraint as o
    left join pg_class as c on c.oid = o.conrelid
    left join pg_type as t on t.oid = o.contypid
    where o.connamespace = to_regnamespace(%(schema)s)
        -- From 18 on a NOT NULL is one; the column says it already.
        and o.contype <> 'n'

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
        format('rule %%s on %%s', r.rulename, c.relname),
        pg_get_ruledef(r.oid) || format(' enabled %%s', r.ev_enabled),
        null,
        obj_description(r.oid, 'pg_rewrite')
    from pg_rewrite as r
    join pg_class as c on c.oid = r.ev_class
    where c.relnamespace = to_regnamespace(%(schema)s)
        and r.rulename <> '_RETURN'

    union all
    select
        format('policy %%s on %%s', p.polname, c.relname),
        format(
            'command %%s permissive %%s roles %%s using %%s check %%s',
            p.polcmd, p.polpermissive,
            (
                select array_agg(
                    case m when 0 then 'public' else m::regrole::text end order by 1
                )
                from unnest(p.polroles) as m
            ),
            pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
        ),
        null,
        obj_description(p.oid, 'pg_policy')
    from pg_policy as p
    join pg_class as c on c.oid = p.polrelid
    where c.relnamespace = to_regnamespace(%(schema)s)

    union all
    select
        format('statistics %%s', s.stxname),
        pg_get_statisticsobjdef(s.oid) || format(' owner %%s', s.stxowner::regrole),
        null,
        obj_description(s.oid, 'pg_statistic_ext')
    from pg_statistic_ext as s
    where s.stxnamespace = to_regnamespace(%(schema)s)

    union all
    select
        format('default privileges of %%s on %%s', d.defaclrole::regrole, d.defaclobjtype),
        '',
        a.acl,
        null
    from pg_default_acl as d
    left join acl as a on a.kind = 'default' and a.oid = d.oid
    where d.defaclnamespace = to_regnamespace(%(schema)s)

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
    left join pg_class as c on c.oid = t.typrelid
    left join acl as a on a.kind = 'type' and a.oid = t.oid
    where t.typnamespace = to_regnamespace(%(schema)s)
        and coalesce(c.relkind, 'c') = 'c'
        and not exists (select from pg_type as e where e.typarray = t.oid)

    union all
    select
        format(
            '%%s %%s(%%s)',
            case when p.prokind = 'p' then 'procedure' else 'function' end,
            p.proname, pg_get_function_identity_arguments(p.oid)
        ),
        format(E'owner %%s\n', p.proowner::regrole)
        || case
            when p.prokind in ('f', 'p') then pg_get_functiondef(p.oid) else p.prokind::text
        end,
        a.acl,
        obj_description(p.oid, 'pg_proc')
    from pg_proc as p
    left join acl as a on a.kind = 'function' and a.oid = p.oid
    where p.pronamespace = to_regnamespace(%(schema)s)
)
select l.object, l.what, l.acl, l.comment
from lines as l
order by l.object collate "C"
"""


def catalog_objects(
    connection: psycopg.Connection[Any], schema: str = SCHEMA
) -> dict[str, dict[str, str | None]]:
    """Describe each object of a schema: its definition, its grants and its comment."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog, pg_temp")
        rows = connection.execute(_CATALOG, {"schema": schema}).fetchall()
    return {
        name: {"definition": definition, "grants": grants, "comment": comment}
        for name, definition, grants, comment in rows
    }


def catalog(connection: psycopg.Connection[Any], schema: str = SCHEMA) -> list[str]:
    """Describe a schema as the server's catalog has it: one text for each object, sorted."""
    return [
        f"{name} | {facets['definition']} | grants {facets['grants'] or '-'}"
        f" | comment {facets['comment'] or '-'}"
        for name, facets in catalog_objects(connection, schema).items()
    ]
