-- Locks: the runtimes by id, before the clock is read, so that an older instant never
-- overwrites a newer one. Sends no notice: it is the hottest write, and whoever it serves is
-- awake.
create or replace function dispatch.heartbeat(p_workspace_id uuid, p_runtime_ids uuid[])
returns integer
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now timestamptz;
    v_touched integer;
begin
    perform dispatch._require_workspace(p_workspace_id);
    if p_runtime_ids is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_runtime_ids', 'give an array of runtime ids.'
        );
    end if;
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = any(p_runtime_ids)
    order by r.id
    for no key update;
    v_now := dispatch.clock();
    update dispatch.runtime as r
    set
        status = 'online',
        last_seen_at = v_now,
        offline_reason = null,
        updated_at = v_now
    where r.workspace_id = p_workspace_id and r.id = any(p_runtime_ids);
    get diagnostics v_touched = row_count;
    return v_touched;
end;
$fn$;

comment on function dispatch.heartbeat(uuid, uuid[]) is
$doc$Mark runtimes as alive, and return how many are known.

They are online from this instant on; a reason for which one was offline is forgotten. Unknown,
all-zero and NULL ids are ignored. Rule: issue-to-run 4.
Errors: PD400 argument missing, PD404 workspace not found.$doc$;
