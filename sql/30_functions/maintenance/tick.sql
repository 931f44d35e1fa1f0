create or replace function dispatch.tick(
    p_only text default null,
    out step text,
    out rows integer
)
returns setof record
language plpgsql
volatile
parallel unsafe
rows 4
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_workspaces constant uuid[] := array(
        select w.id from dispatch.workspace as w order by w.id
    );
    v_workspace uuid;
    v_now timestamptz;
begin
    perform dispatch._check_isolation();
    if p_only is not null then
        perform dispatch._check_word('p_only', p_only, dispatch._steps());
    end if;
    foreach step in array dispatch._steps() loop
        continue when step <> p_only;
        rows := 0;
        if step = 'sweep' then
            select coalesce(sum(s.runs), 0)::integer into rows from dispatch.sweep() as s;
        elsif step = 'replay' then
            rows := dispatch._replay_oldest(5);
        else
            foreach v_workspace in array v_workspaces loop
                v_now := dispatch.clock();
                rows := rows + case step
                    when 'promote' then dispatch.promote_deferred(v_workspace)
                    else dispatch._prune(v_workspace, 500, v_now)
                end;
            end loop;
        end if;
        return next;
    end loop;
end;
$fn$;

comment on function dispatch.tick(text) is
$doc$Do what has to be done from time to time, over all workspaces: a row a step, with how many
rows.

In this order: replay (the five oldest assignments that a pause refused, of workspaces that are
not paused), promote (deferred runs that are due), sweep (all sweeps), prune (at most 500 runs
and 500 gate events a workspace that are older than their retention). p_only names the one to
do. Call once a step, each in a transaction of its own: several together hold their locks until
the last is done, and may be chosen as the victim of a deadlock. Rule: issue-to-run 4; admission
7.4.
Errors: PD400 an unknown step, or a transaction stricter than READ COMMITTED (COLUMN
transaction_isolation); PD409 pending slot contended.$doc$;
