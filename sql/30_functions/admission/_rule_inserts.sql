create or replace function dispatch._rule_inserts(
    p_workspace_id uuid,
    p_round dispatch._candidate[],
    p_made uuid[],
    p_kept uuid[]
)
returns dispatch._ruling[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_rulings dispatch._ruling[];
    v_c record;
    v_run uuid;
begin
    v_rulings := array(
        select row(
            c.ord,
            row(
                case when (c.wake).fire_at is null then 'queued' else 'deferred' end,
                case when (c.wake).fire_at is null then 'queued' else 'deferred' end,
                c.run_id, (c.wake).agent_id, (c.wake).source, null
            )::dispatch.decision
        )::dispatch._ruling
        from unnest(p_round) as c
        where cardinality(p_kept) = cardinality(p_round) or c.run_id = any(p_kept)
    );
    perform dispatch._notify_runtimes(array(
        select distinct (c.wake).runtime_id
        from unnest(p_round) as c
        where (c.wake).fire_at is null
            and (cardinality(p_kept) = cardinality(p_round) or c.run_id = any(p_kept))
    ));
    if coalesce(cardinality(p_kept), 0) = coalesce(cardinality(p_made), 0) then
        return v_rulings;
    end if;

    delete from dispatch.run as r
    where r.workspace_id = p_workspace_id
        and r.id = any(p_made)
        and not r.id = any(coalesce(p_kept, '{}'));
    for v_c in
        select c.ord, c.wake
        from unnest(p_round) as c
        where c.run_id = any(p_made) and not c.run_id = any(coalesce(p_kept, '{}'))
        order by c.ord
    loop
        select d.run_id
        into v_run
        from dispatch.run_detail as d
        where d.workspace_id = p_workspace_id
            and d.idempotency_key = (v_c.wake).idempotency_key;
        -- Not found: whoever had the key is gone, and the caller tries the insert again.
        if found then
            v_rulings := v_rulings || row(
                v_c.ord,
                dispatch._duplicate_decision(p_workspace_id, v_c.wake, v_run, 'duplicate_key')
            )::dispatch._ruling;
        end if;
    end loop;
    return v_rulings;
end;
$fn$;

comment on function dispatch._rule_inserts(uuid, dispatch._candidate[], uuid[], uuid[]) is
$doc$Decide candidates by what the two inserts of a round did with them.

p_made are the runs that got their row, p_kept those of them that got their detail as well. A
run without detail lost its key to another: its row is taken back and the answer names the run
that has the key. A candidate without a row lost the pending slot and gets no decision here.
Errors: none.$doc$;
