create or replace function dispatch._check_wake_actors(
    p_workspace_id uuid,
    p_wakes dispatch.wake[],
    p_in_batch boolean
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_bad record;
begin
    select w.ordinality, w.actor_type, w.originator_id, p.problem
    into v_bad
    from unnest(p_wakes) with ordinality as w
    left join lateral (
        select g.user_id
        from dispatch.member as g
        where g.workspace_id = p_workspace_id
            and g.user_id = case w.actor_type
                when 'user' then w.actor_id when 'system' then w.originator_id
            end
        limit 1
    ) as m on true
    left join lateral (
        select g.id
        from dispatch.agent as g
        where g.workspace_id = p_workspace_id
            and g.id = case w.actor_type when 'agent' then w.actor_id end
        limit 1
    ) as a on true
    left join lateral (
        select g.id
        from dispatch.run as g
        where g.workspace_id = p_workspace_id
            and g.id = w.acting_run_id
            and g.agent_id = w.actor_id
            and g.status = any(v_active)
        limit 1
    ) as r on true
    cross join lateral (
        select case
            when w.actor_type <> 'system' and w.originator_id is not null
                then 'originator_of_another'
            when w.actor_type = 'system' and w.originator_id is not null and m.user_id is null
                then 'originator_unknown'
            when w.actor_type = 'agent' and w.actor_id is null then 'agent_unnamed'
            when w.actor_type <> 'agent' and w.acting_run_id is not null then 'run_of_nobody'
            when w.actor_type = 'user' and w.actor_id is not null and m.user_id is null
                then 'no_member'
            when w.actor_type = 'agent' and a.id is null then 'no_agent'
            when w.acting_run_id is not null and r.id is null then 'run_not_active'
        end as problem
    ) as p
    where p.problem is not null
    order by w.ordinality
    limit 1;
    if not found then
        return;
    end if;
    case v_bad.problem
        when 'originator_of_another' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'originator_id', 'PD400',
                'originator not allowed', 'only the system names an originator.'
            );
        when 'originator_unknown' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'originator_id', 'PD400',
                'originator is no member', 'name a member of the workspace.'
            );
        when 'agent_unnamed' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'actor_id', 'PD400',
                'argument missing', 'an acting agent must be named.'
            );
        when 'run_of_nobody' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'acting_run_id', 'PD400',
                'run given for no agent', 'only an agent acts in a run.'
            );
        when 'no_member' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'actor_id', 'PD403',
                'actor is no member', 'act as a member of the workspace.'
            );
        when 'no_agent' then
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'actor_id', 'PD403',
                'actor is no agent', 'act as an agent of the workspace.'
            );
        else
            perform dispatch._raise_wake(
                p_in_batch, v_bad.ordinality, 'acting_run_id', 'PD403',
                'acting run not active', 'name an active run of the acting agent.',
                'attribution_blocked'
            );
    end case;
end;
$fn$;

comment on function dispatch._check_wake_actors(uuid, dispatch.wake[], boolean) is
$doc$Refuse the first wake whose actor, acting run or originator does not hold.

Errors: PD400 an originator that is no member or not the system's, an unnamed agent, a run given
for no agent; PD403 an actor that is no member or no agent, or (DETAIL attribution_blocked) an
acting run that is not an active run of the acting agent.$doc$;
