-- Locks: agents, each when its first run comes, then run rows; waits for none. Whatever was
-- guessed before the locks is decided under them: runs are chosen in their order as long as
-- their agents have room and held by one statement; those that may not be claimed after all
-- give their room to the next.
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
    v_tried uuid[] := '{}'::uuid[];
    v_chosen uuid[];
    v_held uuid[];
begin
    taken := '{}'::uuid[];
    loop
        v_chosen := '{}'::uuid[];
        for v_i in 1..cardinality(p_run_ids) loop
            exit when cardinality(taken) + cardinality(v_chosen) >= p_max;
            continue when p_run_ids[v_i] = any(v_tried);
            v_at := array_position(agents, p_owner_ids[v_i]);
            if v_at is null then
                v_at := cardinality(agents) + 1;
                agents[v_at] := p_owner_ids[v_i];
                free[v_at] := dispatch._hold_agent(
                    p_workspace_id, p_owner_ids[v_i], p_per_agent
                );
            end if;
            if free[v_at] > 0 then
                free[v_at] := free[v_at] - 1;
                v_chosen := v_chosen || p_run_ids[v_i];
            end if;
        end loop;
        exit when cardinality(v_chosen) = 0;

        v_since := coalesce(v_since, dispatch.clock() - dispatch.runtime_freshness());
        v_held := dispatch._hold_runs(p_workspace_id, v_chosen, p_runtime_ids, v_since);
        taken := taken || v_held;
        exit when cardinality(v_held) = cardinality(v_chosen);
        v_tried := v_tried || v_chosen;
        for v_i in 1..cardinality(p_run_ids) loop
            if p_run_ids[v_i] = any(v_chosen) and not p_run_ids[v_i] = any(v_held) then
                v_at := array_position(agents, p_owner_ids[v_i]);
                free[v_at] := free[v_at] + 1;
            end if;
        end loop;
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
