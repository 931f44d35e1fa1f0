-- Wakes that share a key, a pending slot or an allowance depend on each other, so the later one
-- must see the earlier one decided. All others commute and may be written by one statement. An
-- assignment of any actor belongs to its task's allowance, since a merge relabels the run.
create or replace function dispatch._next_round(p_open dispatch._candidate[])
returns integer[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return array(
        select r.ord
        from (
            select
                c.ord,
                row_number() over (
                    partition by coalesce((c.wake).idempotency_key, c.run_id::text)
                    order by c.ord
                ) as key_rank,
                row_number() over (
                    partition by coalesce((c.wake).issue_id, c.run_id), (c.wake).agent_id
                    order by c.ord
                ) as slot_rank,
                row_number() over (
                    partition by case
                        when (c.wake).reason = 'task_assigned'
                            then coalesce((c.wake).payload ->> 'task_id', c.run_id::text)
                        else c.run_id::text
                    end
                    order by c.ord
                ) as allowance_rank
            from unnest(p_open) as c
        ) as r
        where r.key_rank = 1 and r.slot_rank = 1 and r.allowance_rank = 1
        order by r.ord
    );
end;
$fn$;

comment on function dispatch._next_round(dispatch._candidate[]) is
$doc$Give the places of the open candidates that depend on no earlier open one.

Errors: none.$doc$;
