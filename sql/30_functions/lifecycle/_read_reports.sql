create or replace function dispatch._read_reports(p_reports jsonb, p_kinds jsonb)
returns dispatch._report[]
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_reports dispatch._report[];
    v_bad record;
begin
    perform dispatch._check_elements(
        'p_reports', p_reports,
        p_kinds || '{"run_id": "uuid", "claim_no": "integer"}', array['run_id', 'claim_no']
    );
    v_reports := array(
        select row(
            e.ordinality, e.value ->> 'run_id', (e.value ->> 'claim_no')::numeric,
            nullif(e.value -> 'result', 'null'), e.value ->> 'failure_reason',
            e.value ->> 'error', e.value ->> 'session_id', e.value ->> 'work_dir',
            coalesce((e.value ->> 'session_lost')::boolean, false), e.value ->> 'lease'
        )::dispatch._report
        from jsonb_array_elements(p_reports) with ordinality as e (value, ordinality)
        order by e.ordinality
    );
    select p.ord, c.field, c.message, c.advice
    into v_bad
    from unnest(v_reports) as p
    cross join lateral (
        values
        (
            'result', 'document too long', 'at most 1048576 bytes of JSON text.',
            octet_length(p.result::text) > dispatch.document_limit()
        ),
        (
            'failure_reason', 'text too long', 'at most 100 bytes.',
            octet_length(p.failure_reason) > dispatch.reason_limit()
        ),
        (
            'lease', 'lease out of range', 'a positive interval of at most 24 hours.',
            p.lease <= interval '0' or p.lease > dispatch.max_lease()
        )
    ) as c (field, message, advice, is_bad)
    where c.is_bad
    order by p.ord, c.field
    limit 1;
    if found then
        perform dispatch._raise(
            'PD400', v_bad.message, format('p_reports[%s].%s', v_bad.ord - 1, v_bad.field),
            v_bad.advice
        );
    end if;
    return v_reports;
end;
$fn$;

comment on function dispatch._read_reports(jsonb, jsonb) is
$doc$Check and read a batch of reports; p_kinds are the keys that this kind of report knows
besides run_id and claim_no.

Errors: PD400 as _check_elements, document or text too long, lease out of range.$doc$;
