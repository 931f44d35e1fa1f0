-- Locks: the runtime.
create or replace function dispatch.set_runtime_offline(
    p_workspace_id uuid,
    p_runtime_id uuid,
    p_reason text default null
)
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
    perform dispatch._check_ids(array['p_runtime_id'], array[p_runtime_id]);
    if p_reason is not null then
        perform dispatch._check_text('p_reason', p_reason, dispatch.reason_limit());
    end if;
    perform
    from dispatch.runtime as r
    where r.workspace_id = p_workspace_id and r.id = p_runtime_id
    for no key update;
    if not found then
        perform dispatch._raise(
            'PD404', 'runtime not found', 'p_runtime_id', 'name a runtime of the workspace.'
        );
    end if;
    v_now := dispatch.clock();
    update dispatch.runtime as r
    set
        status = 'offline',
        offline_reason = coalesce(p_reason, r.offline_reason),
        updated_at = v_now
    where r.workspace_id = p_workspace_id
        and r.id = p_runtime_id
        and (r.status, r.offline_reason)
        is distinct from ('offline', coalesce(p_reason, r.offline_reason));
end;
$fn$;

comment on function dispatch.set_runtime_offline(uuid, uuid, text) is
$doc$Mark a runtime as offline.

p_reason not_executable makes its agents unusable, so that their wakes are refused; with any
other reason they wait. NULL keeps the reason of an earlier call; the next heartbeat forgets it.
Runs in its daemon's hands stay. Repeating a call changes nothing. Rule: issue-to-run 4.
Errors: PD400 missing or all-zero argument, reason blank or too long; PD404 workspace or runtime
not found.$doc$;
