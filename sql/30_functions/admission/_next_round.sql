-- Wakes that share a key, a pending slot or an allowance depend on each other, so the later one
-- must see the earlier one decided. All others commute and may be written by one statement.
-- Where an agent assigns, the assignments of others to the same task wait as well, since a
-- merge relabels the run that the allowance counts.
create or replace function dispatch._next_round(p_open dispatch._candidate[])
returns dispatch._candidate[]
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_round integer[];
begin
    v_round := array(
        select r.ord
        from (
            select
                w.ord,
                row_number() over (partition by w.key order by w.ord) as key_rank,
                row_number() over (partition by w.slot, w.agent_id order by w.ord) as slot_rank,
                row_number() over (partition by w.task order by w.ord) as task_rank,
                bool_or(w.is_bounded) over (partition by w.task) as is_task_bounded
            from (
                select
                    c.ord,
                    coalesce((c.wake).idempotency_key, c.run_id::text) as key,
                    coalesce((c.wake).issue_id, c.run_id) as slot,
                    (c.wake).agent_id,
                    case
                        when (c.wake).reason = 'task_assigned'
                            then coalesce((c.wake).payload ->> 'task_id', c.run_id::text)
                        else c.run_id::text
                    end as task,
                    coalesce((c.wake).payload -> 'actor_type' = '"agent"', false) as is_bounded
                from unnest(p_open) as c
            ) as w
        ) as r
        where r.key_rank = 1
            and r.slot_rank = 1
            and (r.task_rank = 1 or not r.is_task_bounded)
    );
    if cardinality(v_round) = cardinality(p_open) then
        return p_open;
    end if;
    return array(select c from unnest(p_open) as c where c.ord = any(v_round) order by c.ord);
end;
$fn$;

comment on function dispatch._next_round(dispatch._candidate[]) is
$doc$Give the open candidates that depend on no earlier open one.

Errors: none.$doc$;
