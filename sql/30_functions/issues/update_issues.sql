-- Locks: the issues by id, then what admission locks (agents, runs). An id that is named twice
-- is written once.
create or replace function dispatch.update_issues(
    p_workspace_id uuid,
    p_issue_ids uuid[],
    p_changes jsonb,
    p_actor_type text,
    p_actor_id uuid default null,
    p_acting_run_id uuid default null,
    p_handoff_note text default null,
    p_suppress_run boolean default false
)
returns setof dispatch.issue_write
language plpgsql
volatile
parallel unsafe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_writes dispatch.issue_write[];
begin
    perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    if p_issue_ids is null or array_position(p_issue_ids, null) is not null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_issue_ids', 'give ids, none of them NULL.'
        );
    elsif cardinality(p_issue_ids) > dispatch.batch_limit() then
        perform dispatch._raise(
            'PD400', 'batch too long', 'p_issue_ids',
            format('at most %s ids.', dispatch.batch_limit())
        );
    end if;
    v_writes := dispatch._write_issues(
        p_workspace_id, p_issue_ids, p_changes, p_actor_type, p_actor_id, p_acting_run_id,
        p_handoff_note, p_suppress_run, true
    );
    return query
    select
        g.id, w.identifier, w.assignment_generation,
        coalesce(w.outcome, 'none'), coalesce(w.reason_code, 'not_triggered'),
        w.run_id, w.agent_id, w.source, w.detail
    from unnest(p_issue_ids) with ordinality as g (id, place)
    left join unnest(v_writes) as w on w.issue_id = g.id
    order by g.place;
end;
$fn$;

comment on function dispatch.update_issues(
    uuid, uuid[], jsonb, text, uuid, uuid, text, boolean
) is
$doc$Make the same change to many issues: one row an id, in the order given.

p_issue_ids: at most 1000; an id that is named twice is written once and its row repeated. The
other arguments are those of update_issue. A refused assignee is blocked in each row
(invocation_not_allowed or target_unavailable) and no issue is changed. Unknown and foreign ids
are none/not_triggered with nothing else. Rule: issue-to-run 3.
Errors: PD400 malformed argument, more than 1000 ids, assignee no member; PD403 wrong actor;
PD404 workspace not found; PD409 pending slot contended.$doc$;
