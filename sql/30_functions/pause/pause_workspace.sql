create or replace function dispatch.pause_workspace(
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
    v_id constant uuid := dispatch._uuid_v7(dispatch._uuid_tick());
begin
    perform dispatch._require_workspace(p_workspace_id);
    if p_reason is null or char_length(btrim(p_reason, E' \t\n\r')) not between 1 and 500 then
        perform dispatch._raise(
            'PD400', 'pause reason missing or too long', 'p_reason', '1 to 500 characters.'
        );
    end if;
    perform dispatch._check_pause_actor(
        p_workspace_id, p_actor_type, p_actor_id, p_acting_run_id
    );
    v_now := dispatch.clock();
    insert into dispatch.workspace_pause (
        workspace_id, id, reason, paused_at, paused_by_type, paused_by_id
    )
    values (
        p_workspace_id, v_id, btrim(p_reason, E' \t\n\r'), v_now, p_actor_type, p_actor_id
    )
    on conflict (workspace_id) where released_at is null do nothing;
    return found;
end;
$fn$;

comment on function dispatch.pause_workspace(uuid, text, uuid, uuid, text) is
$doc$Stop admission, claims, reclaim and promotion in a workspace; true when this call paused
it.

p_reason has 1 to 500 characters after trimming. A repeat keeps the first record and is false.
Runs are left as they are: what is in hand may be started, completed and failed. Assignments
made meanwhile are stored and remembered for replay. Members and the system may, agents may not.
Rule: admission 7.1.
Errors: PD400 missing or malformed argument; PD403 actor is an agent or no member; PD404
workspace not found.$doc$;
