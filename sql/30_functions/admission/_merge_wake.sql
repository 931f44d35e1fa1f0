-- The caller holds the run row FOR NO KEY UPDATE and has seen it queued under that lock, so the
-- claim that takes it next reads what is written here. requested_at stays: the window is
-- anchored at the first wake.
create or replace function dispatch._merge_wake(
    p_workspace_id uuid,
    p_run_id uuid,
    p_wake dispatch.wake,
    p_now timestamptz
)
returns void
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._record_wake(p_workspace_id, p_run_id, p_wake, 'coalesced', p_now);
    update dispatch.run_detail as d
    set
        payload = case
            when p_wake.comment_id is not null
                and d.reason = 'task_assigned'
                and jsonb_typeof(d.payload) = 'object'
                then d.payload || jsonb_build_object('comment_id', p_wake.comment_id)
            else p_wake.payload
        end,
        comment_id = coalesce(p_wake.comment_id, d.comment_id),
        coalesced_count = d.coalesced_count + 1,
        originator_id = p_wake.originator_id,
        accountable_id = p_wake.accountable_id,
        attribution_source = p_wake.attribution_source,
        evidence_kind = p_wake.evidence_kind,
        evidence_id = p_wake.evidence_id
    where d.workspace_id = p_workspace_id and d.run_id = p_run_id;
    perform dispatch._notify_runtimes(array[p_wake.runtime_id]);
end;
$fn$;

comment on function dispatch._merge_wake(uuid, uuid, dispatch.wake, timestamptz) is
$doc$Merge a wake into a queued run: its payload and attribution replace the run's, and it is
recorded.

Actor, key, priority and the time of the request stay those of the first wake. A comment is
added to the payload of an assignment, by which the allowance counts, instead of replacing it.
Errors: none.$doc$;
