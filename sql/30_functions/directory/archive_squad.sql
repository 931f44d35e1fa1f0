-- Locks: the squad.
create or replace function dispatch.archive_squad(p_workspace_id uuid, p_squad_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
begin
    perform dispatch._require_workspace(p_workspace_id);
    perform dispatch._check_ids(array['p_squad_id'], array[p_squad_id]);
    perform
    from dispatch.squad as s
    where s.workspace_id = p_workspace_id and s.id = p_squad_id
    for no key update;
    if not found then
        perform dispatch._raise(
            'PD404', 'squad not found', 'p_squad_id', 'name a squad of the workspace.'
        );
    end if;
    v_now := dispatch.clock();
    update dispatch.squad as s
    set archived_at = v_now
    where s.workspace_id = p_workspace_id and s.id = p_squad_id and s.archived_at is null;
end;
$fn$;

comment on function dispatch.archive_squad(uuid, uuid) is
$doc$Retire a squad: nothing can be assigned to it any more.

Its leader's runs stay. Repeating a call keeps the first instant.
Errors: PD400 missing or all-zero argument, PD404 workspace or squad not found.$doc$;
