-- The head of the order, without a look at agents and lanes: mostly the runs that a claim takes
-- stand there. A claim that finds too few of them asks _eligible_runs. That no claim number is
-- negative is said for the sake of the index, which serves nothing that does not say so.
create or replace function dispatch._next_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer,
    out run_ids uuid[],
    out agent_ids uuid[]
)
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    select array_agg(o.id), array_agg(o.agent_id)
    into run_ids, agent_ids
    from (
        select q.id, q.agent_id
        from unnest(p_runtime_ids) as rt (id)
        cross join lateral (
            select r.id, r.agent_id, r.priority, r.requested_at
            from dispatch.run as r
            where r.workspace_id = p_workspace_id
                and r.runtime_id = rt.id
                and r.status = 'queued'
                and r.claim_no >= 0
            order by r.priority desc, r.requested_at, r.id
            limit p_max
        ) as q
        order by q.priority desc, q.requested_at, q.id
        limit p_max
    ) as o;
end;
$fn$;

comment on function dispatch._next_runs(uuid, uuid[], integer) is
$doc$Give the p_max first queued runs of these runtimes in claim order, and their agents.

Order: priority, request, id. NULLs when nothing is queued.
Errors: none.$doc$;
