create or replace function dispatch._find_duplicate(
    p_workspace_id uuid,
    p_idempotency_key text,
    p_at timestamptz
)
returns uuid
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_run uuid;
begin
    select d.run_id
    into v_run
    from dispatch.run_detail as d
    where d.workspace_id = p_workspace_id
        and d.idempotency_key = p_idempotency_key
        and d.requested_at > p_at - dispatch.duplicate_window();
    return v_run;
end;
$fn$;

comment on function dispatch._find_duplicate(uuid, text, timestamptz) is
$doc$Gate 4: give the run that makes a wake with this key a recent duplicate at p_at; NULL when
none.

Looks at every agent and status; a run exactly duplicate_window() old is left to the insert.
Errors: none of its own; one of the read reaches the caller and nothing is written.$doc$;
