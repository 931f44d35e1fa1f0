-- Locks: the named issues FOR KEY SHARE by id, before any agent, so that none is deleted
-- between the look-up and the insert.
create or replace function dispatch._resolve_wake_issues(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_in_batch boolean
)
returns dispatch.wake[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_wakes dispatch.wake[] := p_wakes;
    v_known uuid[];
    v_asked record;
begin
    v_known := array(
        select i.id
        from (
            select distinct n.id
            from unnest(p_wakes) as w
            cross join lateral (
                values (w.issue_id), (dispatch._payload_issue_id(w.payload))
            ) as n (id)
            order by n.id
        ) as a
        cross join lateral (
            select s.id
            from dispatch.issue as s
            where s.workspace_id = p_workspace_id and s.id = a.id
            limit 1
            for key share
        ) as i
    );
    for v_asked in
        select
            w.ordinality, w.issue_id as given_id, p.id as named_id,
            g.id is not null as is_given_known
        from unnest(p_wakes) with ordinality as w
        left join unnest(v_known) as g (id) on g.id = w.issue_id
        left join unnest(v_known) as p (id) on p.id = dispatch._payload_issue_id(w.payload)
        where w.issue_id is not null or p.id is not null
        order by w.ordinality
    loop
        if v_asked.given_id is null then
            v_wakes[v_asked.ordinality].issue_id := v_asked.named_id;
        elsif not v_asked.is_given_known then
            perform dispatch._raise_wake(
                p_in_batch, v_asked.ordinality, 'issue_id', 'PD404',
                'issue not found', 'name an issue of the workspace.'
            );
        elsif v_asked.named_id <> v_asked.given_id then
            perform dispatch._raise_wake(
                p_in_batch, v_asked.ordinality, 'issue_id', 'PD400',
                'two issues named', 'the payload names another issue as its task_id.'
            );
        end if;
    end loop;
    return v_wakes;
end;
$fn$;

comment on function dispatch._resolve_wake_issues(uuid, dispatch.wake[], boolean) is
$doc$Give the wakes with their issues: the one given, else the one that the payload's task_id
names.

A task_id that names no issue of the workspace leaves the wake without one.
Errors: PD404 issue not found; PD400 the payload names another issue than the argument.$doc$;
