create or replace function dispatch.sweep(
    p_max integer default 500,
    p_only text default null,
    out sweep text,
    out runs integer
)
returns setof record
language plpgsql
volatile
parallel unsafe
rows 6
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
    if p_max is null or p_max < 1 then
        perform dispatch._raise('PD400', 'count out of range', 'p_max', '1 or more.');
    elsif p_only is not null then
        perform dispatch._check_word('p_only', p_only, dispatch._sweeps());
    end if;
    foreach sweep in array dispatch._sweeps() loop
        continue when sweep <> p_only;
        runs := 0;
        foreach v_workspace in array v_workspaces loop
            exit when runs >= p_max;
            v_now := dispatch.clock();
            if sweep = 'runtimes' then
                runs := runs + dispatch._sweep_runtimes(v_workspace, p_max - runs, v_now);
            elsif sweep = 'queued' and (
                dispatch._workspace_is_paused(v_workspace)
                or dispatch._resumed_since(v_workspace, v_now - dispatch.queued_ttl())
            ) then
                continue;
            else
                runs := runs + dispatch._sweep_runs(v_workspace, sweep, p_max - runs);
            end if;
        end loop;
        return next;
    end loop;
end;
$fn$;

comment on function dispatch.sweep(integer, text) is
$doc$End what nobody will end any more, over all workspaces: a row a sweep, with how many it
handled.

In this order: runtimes (set offline), dispatched, running, offline, queued, reconnect; the
first that fits names the failure. Each handles at most p_max rows; p_only names the one to run.
Runs of a silent runtime are kept for reconnect_grace(), and a running run is never ended while
its runtime is alive, but a waiting run, and a running one that was started with a lease, end
once their lease has run out. What a workspace has queued does not expire while it is paused,
nor within queued_ttl() of the resume; what expires takes its wakes with it. Any number of
callers may sweep at once; all sweeps in one transaction may be chosen as the victim of a
deadlock, one alone may not. Rule: issue-to-run 4.
Errors: PD400 p_max below 1, an unknown sweep, or a transaction stricter than READ COMMITTED
(COLUMN transaction_isolation).$doc$;
