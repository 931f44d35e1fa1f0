-- The server folds equal notices of one transaction into one, so callers need not remember.
create or replace function dispatch._notify_runtimes(p_runtime_ids uuid[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_runtime uuid;
begin
    foreach v_runtime in array coalesce(p_runtime_ids, '{}') loop
        if v_runtime is not null then
            perform pg_notify(dispatch.wake_channel(), v_runtime::text);
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._notify_runtimes(uuid[]) is
$doc$Tell whoever listens for these runtimes that a run may have become claimable.

Heard on commit, at most once a transaction and runtime; NULL elements are ignored.
Errors: none.$doc$;
