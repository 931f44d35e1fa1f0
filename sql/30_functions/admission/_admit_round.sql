-- Locks: run rows through _settle_wake, then what the inserts wait for. The loser of the pair's
-- index looks for the slot again, the loser of the key's answers with the run that has the key.
create or replace function dispatch._admit_round(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_now timestamptz
)
returns dispatch._ruling[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_left dispatch._candidate[] := p_round;
    v_open dispatch._candidate[];
    v_rulings dispatch._ruling[] := '{}'::dispatch._ruling[];
    v_runs dispatch.run[];
    v_details dispatch.run_detail[];
    v_runtimes uuid[] := '{}'::uuid[];
    v_held uuid[];
    v_c dispatch._candidate;
    v_decision dispatch.decision;
    v_count bigint;
begin
    for v_try in 1..4 loop
        v_held := null;
        if cardinality(p_round) > 1 then
            v_held := dispatch._lock_holders(p_workspace_id, v_left);
        end if;
        v_open := '{}'::dispatch._candidate[];
        v_runs := '{}'::dispatch.run[];
        v_details := '{}'::dispatch.run_detail[];
        foreach v_c in array v_left loop
            v_decision := dispatch._settle_wake(p_workspace_id, v_c.wake, v_held, p_now);
            if v_decision.outcome is not null then
                v_rulings := v_rulings || row(v_c.ord, v_decision)::dispatch._ruling;
            else
                v_open := v_open || v_c;
                v_runs := v_runs || dispatch._run_row(
                    p_workspace_id, v_c.run_id, v_c.wake, p_now
                );
                v_details := v_details || dispatch._detail_row(
                    p_workspace_id, v_c.run_id, v_c.wake, p_now
                );
            end if;
        end loop;
        v_left := '{}'::dispatch._candidate[];
        exit when cardinality(v_open) = 0;

        v_count := dispatch._insert_runs(p_workspace_id, v_runs, v_details);
        foreach v_c in array v_open loop
            if v_count = cardinality(v_open)
                or dispatch._has_detail(p_workspace_id, v_c.run_id)
            then
                v_decision := dispatch._insert_decision(v_c.run_id, v_c.wake);
                if v_decision.outcome = 'queued'
                    and not (v_c.wake).runtime_id = any(v_runtimes)
                then
                    v_runtimes := v_runtimes || (v_c.wake).runtime_id;
                end if;
            else
                v_decision := dispatch._take_back(p_workspace_id, v_c.run_id, v_c.wake);
            end if;
            if v_decision.outcome is not null then
                v_rulings := v_rulings || row(v_c.ord, v_decision)::dispatch._ruling;
            else
                v_left := v_left || v_c;
            end if;
        end loop;
        exit when cardinality(v_left) = 0;
    end loop;
    if cardinality(v_left) > 0 then
        perform dispatch._raise(
            'PD409', 'pending slot contended', 'p_issue_id', 'try the call again.'
        );
    end if;
    perform dispatch._notify_runtimes(v_runtimes);
    return v_rulings;
end;
$fn$;

comment on function dispatch._admit_round(uuid, dispatch._candidate[], timestamptz) is
$doc$Take independent candidates through gates 4 to 8 and insert the runs of those that pass.

Returns one decision a candidate, in no
order.
Errors: PD409 the pending slot changed hands in four rounds.$doc$;
