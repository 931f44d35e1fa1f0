-- Locks: the leader FOR KEY SHARE, so that it is not archived meanwhile, then the squad.
create or replace function dispatch.put_squad(
    p_workspace_id uuid,
    p_squad_id uuid,
    p_name text,
    p_leader_id uuid
)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_archived_at timestamptz;
    v_now timestamptz;
begin
    perform dispatch._hold_workspace(p_workspace_id);
    perform dispatch._check_ids(
        array['p_squad_id', 'p_leader_id'], array[p_squad_id, p_leader_id]
    );
    perform dispatch._check_text('p_name', p_name, dispatch.name_limit());
    select a.archived_at
    into v_archived_at
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_leader_id
    for key share;
    if not found then
        perform dispatch._raise(
            'PD404', 'leader not found', 'p_leader_id', 'name an agent of the workspace.'
        );
    elsif v_archived_at is not null then
        perform dispatch._raise(
            'PD400', 'leader is archived', 'p_leader_id', 'name an agent that is in use.'
        );
    end if;
    select s.archived_at
    into v_archived_at
    from dispatch.squad as s
    where s.workspace_id = p_workspace_id and s.id = p_squad_id
    for no key update;
    if v_archived_at is not null then
        perform dispatch._raise(
            'PD409', 'squad is archived', 'p_squad_id', 'an archived squad stays as it was.'
        );
    end if;
    v_now := dispatch.clock();
    insert into dispatch.squad as s (workspace_id, id, name, leader_id, created_at)
    values (p_workspace_id, p_squad_id, p_name, p_leader_id, v_now)
    on conflict (workspace_id, id) do update
    set
        name = p_name,
        leader_id = p_leader_id
    where (s.name, s.leader_id) is distinct from (p_name, p_leader_id);
end;
$fn$;

comment on function dispatch.put_squad(uuid, uuid, text, uuid) is
$doc$Store a squad, or change its name and leader.

Whoever leads it when a wake comes does the work; runs that were admitted stay with the leader
of then. Repeating a call changes nothing. Rule: issue-to-run 6.
Errors: PD400 missing or all-zero argument, name too long, leader is archived; PD404 workspace
or leader not found; PD409 squad is archived.$doc$;
