create or replace function dispatch._transitions(
    p_workspace_id uuid,
    p_reports dispatch._report[],
    p_moved uuid[],
    p_repeated dispatch.run_status
)
returns setof dispatch.transition
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
begin
    return query
    select
        a.is_applied, p.run_id, r.status, r.claim_no,
        case when r.status = 'failed' then (
            select c.run_id
            from dispatch.run_detail as c
            where c.workspace_id = p_workspace_id and c.parent_run_id = r.id
            limit 1
        ) end,
        case
            when a.is_applied then null
            when r.id is null then 'not_found'
            when r.claim_no <> p.claim_no then 'superseded'
            when r.status in ('completed', 'failed', 'cancelled') then 'already_terminal'
            else 'wrong_state'
        end,
        d.follow_up_run_id
    from (
        select
            q.ord, q.run_id, q.claim_no, q.result, q.failure_reason, q.error, q.session_id,
            q.work_dir, q.session_lost,
            row_number() over (partition by q.run_id, q.claim_no order by q.ord) as place
        from unnest(p_reports) as q
    ) as p
    left join lateral (
        select s.id, s.status, s.claim_no
        from dispatch.run as s
        where s.workspace_id = p_workspace_id and s.id = p.run_id
        limit 1
    ) as r on true
    left join lateral (
        select
            s.follow_up_run_id, s.result, s.session_id, s.work_dir, s.failure_reason, s.error
        from dispatch.run_detail as s
        where s.workspace_id = p_workspace_id and s.run_id = p.run_id
        limit 1
    ) as d on true
    cross join lateral (
        select coalesce(
            (r.id = any(p_moved) and r.claim_no = p.claim_no and p.place = 1)
            or (
                r.status = p_repeated
                and r.claim_no = p.claim_no
                and case p_repeated
                    when 'completed' then
                        d.result is not distinct from p.result
                        and d.session_id
                        is not distinct from case when not p.session_lost then p.session_id end
                        and d.work_dir is not distinct from p.work_dir
                    when 'failed' then
                        d.failure_reason = coalesce(p.failure_reason, 'agent_error')
                        and d.error
                        is not distinct from dispatch._cut_text(p.error, dispatch.error_limit())
                        and case
                            when p.session_lost then d.session_id is null
                            else p.session_id is null or p.session_id = d.session_id
                        end
                        and (p.work_dir is null or p.work_dir = d.work_dir)
                end
            ),
            false
        ) as is_applied
    ) as a
    order by p.ord;
end;
$fn$;

comment on function dispatch._transitions(
    uuid, dispatch._report[], uuid[], dispatch.run_status
) is
$doc$Answer reports after the write: a transition a report, in the order given.

p_moved are the runs that this call moved. p_repeated is the terminal status whose equal repeat,
with the run's own claim number, counts as applied too; NULL when no repeat does.
Errors: none.$doc$;
