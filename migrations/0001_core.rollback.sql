-- 0001_core.rollback: drop the schema, as long as it holds nothing and nothing else leans on it
-- Roles belong to the whole cluster and stay.
set local lock_timeout = '2s';
set local statement_timeout = '1min';

do $do$
declare
    v_dependent text;
begin
    if exists (select from dispatch.workspace) then
        raise exception using
            errcode = 'PD409',
            message = 'schema still holds workspaces',
            hint = 'Delete every workspace with dispatch.delete_workspace first.';
    end if;

    -- CASCADE would silently take along what others have built on our types and views.
    with ours as (
        select 'pg_class'::regclass as classid, c.oid as objid
        from pg_catalog.pg_class as c
        where c.relnamespace = 'dispatch'::regnamespace
        union all
        select 'pg_type'::regclass, t.oid
        from pg_catalog.pg_type as t
        where t.typnamespace = 'dispatch'::regnamespace
        union all
        select 'pg_proc'::regclass, p.oid
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
    ),
    leaning as (
        select
            d.classid,
            d.objid,
            coalesce(
                cl.relnamespace, ty.typnamespace, pr.pronamespace, co.connamespace,
                rw.relnamespace, tr.relnamespace, ad.relnamespace
            ) as namespace
        from ours as o
        join pg_catalog.pg_depend as d
            on d.refclassid = o.classid and d.refobjid = o.objid and d.deptype in ('n', 'a')
        left join pg_catalog.pg_class as cl
            on d.classid = 'pg_class'::regclass and cl.oid = d.objid
        left join pg_catalog.pg_type as ty
            on d.classid = 'pg_type'::regclass and ty.oid = d.objid
        left join pg_catalog.pg_proc as pr
            on d.classid = 'pg_proc'::regclass and pr.oid = d.objid
        left join pg_catalog.pg_constraint as co
            on d.classid = 'pg_constraint'::regclass and co.oid = d.objid
        left join (
            pg_catalog.pg_rewrite as r join pg_catalog.pg_class as rw on rw.oid = r.ev_class
        ) on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
        left join (
            pg_catalog.pg_trigger as t join pg_catalog.pg_class as tr on tr.oid = t.tgrelid
        ) on d.classid = 'pg_trigger'::regclass and t.oid = d.objid
        left join (
            pg_catalog.pg_attrdef as a join pg_catalog.pg_class as ad on ad.oid = a.adrelid
        ) on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
    )
    select pg_catalog.pg_describe_object(l.classid, l.objid, 0)
    into v_dependent
    from leaning as l
    where l.namespace is distinct from 'dispatch'::regnamespace
    limit 1;

    if found then
        raise exception using
            errcode = 'PD409',
            message = 'something outside the schema depends on it',
            detail = v_dependent,
            hint = 'Drop what depends on the schema before this rollback.';
    end if;
end;
$do$;

-- The block above has found that nobody loses anything by it.
-- squawk-ignore ban-drop-schema
drop schema dispatch cascade;
