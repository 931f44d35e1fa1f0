create or replace function dispatch.resume_workspace(
    p_workspace_id uuid,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_reason text default null
)
returns boolean
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
    if char_length(btrim(p_reason, E' \t\n\r')) > 500 then
        perform dispatch._raise(
            'PD400', 'resume reason too long', 'p_reason', 'at most 500 characters.'
        );
    end if;
    perform dispatch._check_pause_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_now := dispatch.clock();
    update dispatch.workspace_pause as p
    set
        released_at = v_now,
        released_by_type = p_actor_type,
        released_by_id = p_actor_id,
        release_reason = nullif(btrim(p_reason, E' \t\n\r'), '')
    where p.workspace_id = p_workspace_id and p.released_at is null;
    if not found then
        return false;
    end if;
    perform dispatch._replay_assignments(p_workspace_id, null);
    perform dispatch._notify_runtimes(array(
        select r.id from dispatch.runtime as r where r.workspace_id = p_workspace_id
    ));
    return true;
end;
$fn$;

comment on function dispatch.resume_workspace(uuid, text, uuid, uuid, text) is
$doc$End a workspace's pause; true when this call ended it.

In the same transaction the assignments that the pause refused are replayed, oldest first,
through all gates; nothing else is queued, and what waited in the queue is claimed in its order.
p_reason may be NULL or blank, at most 500 characters. Members and the system may, agents may
not. Rule: admission 7.1 and 7.4.
Errors: PD400 missing or malformed argument; PD403 actor is an agent or no member; PD404
workspace not found; PD409 pending slot contended.$doc$;
