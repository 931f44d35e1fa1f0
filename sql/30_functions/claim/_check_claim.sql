create or replace function dispatch._check_claim(
    p_workspace_id uuid,
    p_runtime_ids uuid[],
    p_max integer,
    p_per_agent integer,
    p_start boolean,
    p_lease interval
)
returns void
language plpgsql
stable
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform dispatch._check_isolation();
    end if;
    if p_workspace_id is null or p_workspace_id = '00000000-0000-0000-0000-000000000000' then
        perform dispatch._check_ids(array['p_workspace_id'], array[p_workspace_id]);
    elsif p_runtime_ids is null then
        perform dispatch._raise(
            'PD400', 'argument missing', 'p_runtime_ids', 'give an array of runtime ids.'
        );
    elsif p_max is null or p_max < 0 then
        perform dispatch._check_count('p_max', p_max);
    elsif p_per_agent is null or p_per_agent < 1 then
        perform dispatch._raise('PD400', 'count out of range', 'p_per_agent', '1 or more.');
    elsif p_start is null then
        perform dispatch._raise('PD400', 'argument missing', 'p_start', 'true or false.');
    elsif p_lease is not null then
        perform dispatch._check_lease('p_lease', p_lease);
    end if;
end;
$fn$;

comment on function dispatch._check_claim(
    uuid, uuid[], integer, integer, boolean, interval
) is
$doc$Refuse the first argument of a claim that is missing or out of its range.

Errors: PD400 argument missing, all-zero id, count or lease out of range, transaction too
strict.$doc$;
