create or replace function dispatch._take_back(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake
)
returns dispatch.decision
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_holder uuid;
begin
    delete from dispatch.run as r where r.workspace_id = p_workspace_id and r.id = p_run_id;
    if not found then
        return null;
    end if;
    select d.run_id
    into v_holder
    from dispatch.run_detail as d
    where d.workspace_id = p_workspace_id and d.idempotency_key = p_wake.idempotency_key;
    -- Not found: whoever had the key is gone, and the caller tries the insert again.
    if not found then
        return null;
    end if;
    return dispatch._duplicate_decision(p_workspace_id, p_wake, v_holder, 'duplicate_key');
end;
$fn$;

comment on function dispatch._take_back(uuid, uuid, dispatch.wake) is
$doc$Take back what was inserted of a run that lost its pending slot or its key.

Returns the decision of a wake whose key another run has; NULL when the wake is to be tried
again, as after the loss of the slot, whose new holder may absorb it.
Errors: none.$doc$;
