create or replace function dispatch._explain_claim(
    p_workspace_id uuid,
    p_issue_id uuid,
    p_agent_id uuid,
    p_run dispatch.run,
    p_now timestamptz
)
returns setof dispatch.explanation
language plpgsql
stable
parallel safe
rows 10
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_active constant dispatch.run_status[] := array[
        'dispatched', 'waiting_local_directory', 'running'
    ]::dispatch.run_status[];
    v_is_active constant boolean := coalesce(p_run.status = any(v_active), false);
    v_agent record;
    v_runtime record;
    v_runtime_code dispatch.reason_code;
    v_used bigint;
    v_lane uuid;
    v_last record;
    v_place bigint;
begin
    select a.id, a.runtime_id, a.max_concurrent_runs
    into v_agent
    from dispatch.agent as a
    where a.workspace_id = p_workspace_id and a.id = p_agent_id;
    select t.id, t.status, t.last_seen_at, t.offline_reason
    into v_runtime
    from dispatch.runtime as t
    where t.workspace_id = p_workspace_id
        and t.id = coalesce(p_run.runtime_id, v_agent.runtime_id);
    v_runtime_code := case
        when v_runtime.id is null then 'agent_runtime_required'::dispatch.reason_code
        when v_runtime.status = 'offline' and v_runtime.offline_reason = 'not_executable'
            then 'runtime_unusable'
        when cardinality(
            dispatch._fresh_runtimes(p_workspace_id, array[v_runtime.id], p_now)
        ) = 0 then 'runtime_offline'
    end;
    select count(*), (array_agg(r.id) filter (where r.lane = p_issue_id))[1]
    into v_used, v_lane
    from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.agent_id = p_agent_id
        and r.status in ('dispatched', 'waiting_local_directory', 'running');
    v_place := case
        when p_run.status = 'queued' then dispatch._queue_place(p_workspace_id, p_run)
    end;
    select r.id, r.status
    into v_last
    from dispatch.run_detail as d
    inner join dispatch.run as r on r.workspace_id = p_workspace_id and r.id = d.run_id
    where d.workspace_id = p_workspace_id and d.issue_id = p_issue_id
    order by d.requested_at desc, d.run_id desc
    limit 1;

    return query
    select
        c.step, case when v_agent.id is not null then c.ok end,
        case when v_agent.id is not null then c.code end,
        case when v_agent.id is not null then jsonb_strip_nulls(c.detail) else '{}' end
    from (
        values
            (
                'runtime', v_runtime_code is null, v_runtime_code,
                jsonb_build_object(
                    'runtime_id', v_runtime.id, 'status', v_runtime.status,
                    'last_seen_at', v_runtime.last_seen_at
                )
            ),
            (
                'capacity', v_is_active or v_used < v_agent.max_concurrent_runs, null,
                jsonb_build_object(
                    'active', v_used, 'max_concurrent_runs', v_agent.max_concurrent_runs
                )
            ),
            (
                'lane', v_is_active or v_lane is null, null,
                jsonb_build_object('run_id', v_lane)
            )
    ) as c (step, ok, code, detail)
    union all
    select
        'queue', v_is_active or coalesce(v_place = 1, false),
        case
            when p_run.status = 'deferred' then 'deferred'
            when p_run.id is null then 'not_triggered'
        end::dispatch.reason_code,
        jsonb_strip_nulls(jsonb_build_object(
            'run_id', coalesce(p_run.id, v_last.id), 'status',
            coalesce(p_run.status, v_last.status), 'place', v_place, 'fire_at',
            case when p_run.status = 'deferred' then p_run.fire_at end
        ));
end;
$fn$;

comment on function dispatch._explain_claim(
    uuid, uuid, uuid, dispatch.run, timestamptz
) is
$doc$Explain what a claim at p_now has to go by: steps runtime, capacity, lane, queue.

p_run is the run that stands for the issue and its agent, NULLs when none does; then the queue
names the issue's last run. Waiting for capacity, for the lane or for an earlier run of the
agent has no code.
Errors: none.$doc$;
