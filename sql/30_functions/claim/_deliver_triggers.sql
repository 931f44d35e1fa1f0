-- Runs after the statement that moved the run rows and not inside it: a wake that was recorded
-- while that statement waited would be lost. The order of arrival is that of seq.
create or replace function dispatch._deliver_triggers(p_workspace_id uuid, p_run_id uuid)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    with sized as (
        select
            t.run_id, t.seq, t.count,
            octet_length(dispatch._trigger_json(
                t.at, t.outcome, t.source, t.reason, t.payload, t.idempotency_key, t.comment_id,
                t.actor_type, t.actor_id, t.originator_id, t.count
            )::text) as size,
            row_number() over (partition by t.run_id order by t.last_at desc, t.seq desc) = 1
            as is_newest
        from dispatch.run_trigger as t
        where t.workspace_id = p_workspace_id and t.run_id = p_run_id
    ),
    summed as (
        select
            z.run_id, z.seq, z.count, z.is_newest,
            sum(case when z.is_newest then z.size else 0 end) over (partition by z.run_id)
            + sum(case when z.is_newest then 0 else z.size end) over (
                partition by z.run_id order by z.seq
            ) as running_size
        from sized as z
    )
    update dispatch.run_trigger as t
    set delivered_count = case
        when s.is_newest or s.running_size <= dispatch.trigger_budget() then t.count else 0
    end
    from summed as s
    where t.workspace_id = p_workspace_id and t.run_id = p_run_id and t.seq = s.seq;
end;
$fn$;

comment on function dispatch._deliver_triggers(uuid, uuid) is
$doc$Mark which wakes of a just claimed run this claim delivers.

The newest always, then the oldest in order of arrival as long as all together fit
trigger_budget(); what does not fit stays owed.
Errors: none.$doc$;
