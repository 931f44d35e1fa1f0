create or replace function dispatch._add_totals(p_workspace_id uuid, p_totals dispatch._total[])
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    insert into dispatch.gate_total as o (workspace_id, metric, reason, value)
    select p_workspace_id, t.metric, t.reason, t.value
    from unnest(p_totals) as t
    order by t.metric, t.reason
    on conflict (workspace_id, metric, reason) do update
    set value = o.value + excluded.value;
end;
$fn$;

comment on function dispatch._add_totals(uuid, dispatch._total[]) is
$doc$Add to the sums of what was pruned.

Errors: none.$doc$;
