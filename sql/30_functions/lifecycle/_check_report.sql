create or replace function dispatch._check_report(
    p_workspace_id uuid,
    p_run_id uuid,
    p_claim_no integer
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if num_nulls(p_workspace_id, p_run_id, p_claim_no) = 0
        and '00000000-0000-0000-0000-000000000000' not in (p_workspace_id, p_run_id)
    then
        return;
    end if;
    perform dispatch._check_ids(
        array['p_workspace_id', 'p_run_id'], array[p_workspace_id, p_run_id]
    );
    if p_claim_no is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_claim_no',
            'give the number that the claim returned.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_report(uuid, uuid, integer) is
$doc$Refuse a daemon's report that does not say about which claim of which run it is.

Errors: PD400 argument missing or all-zero id.$doc$;
