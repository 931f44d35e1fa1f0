-- Locks: agents, each when its first run comes, then run rows; waits for none. Whatever was
-- guessed before the locks is decided under them.
create or replace function dispatch._take_runs(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_run_ids uuid[],
    p_owner_ids uuid[],
    p_max integer,
    p_per_agent integer,
    inout agents uuid[],
    inout free integer[],
    out taken uuid[]
)
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_since timestamptz;
    v_at integer;
begin
    taken := '{}'::uuid[];
    for v_i in 1..cardinality(p_run_ids) loop
        exit when cardinality(taken) >= p_max;
        v_at := array_position(agents, p_owner_ids[v_i]);
        if v_at is null then
            v_at := cardinality(agents) + 1;
            agents[v_at] := p_owner_ids[v_i];
            free[v_at] := dispatch._hold_agent(p_workspace_id, p_owner_ids[v_i], p_per_agent);
        end if;
        if free[v_at] > 0 then
            v_since := coalesce(v_since, dispatch.clock() - dispatch.runtime_freshness());
            if dispatch._hold_run(p_workspace_id, p_run_ids[v_i], p_runtime_ids, v_since) then
                taken := taken || p_run_ids[v_i];
                free[v_at] := free[v_at] - 1;
            end if;
        end if;
    end loop;
end;
$fn$;

comment on function dispatch._take_runs(
    uuid, uuid[], uuid[], uuid[], integer, integer, uuid[], integer[]
) is
$doc$Hold those of these runs that may be claimed, in their order, at most p_max.

p_owner_ids are their agents in the same order. agents are those asked so far and free how many
more runs each may be handed, NULL while another claim holds it; both grow. Keeps each agent
within its capacity and p_per_agent, and one active run a lane. Rule: issue-to-run 4.
Errors: none.$doc$;
