create or replace function dispatch._check_wakes_values(p_wakes dispatch.wake[])
returns void
language plpgsql
volatile
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := dispatch.clock();
    v_bad record;
begin
    select w.ordinality, p.field, p.message, p.advice
    into v_bad
    from unnest(p_wakes) with ordinality as w
    cross join lateral (
        values
        (
            'reason', 'text missing or too long', '1 to 100 bytes.',
            btrim(w.reason) = '' or octet_length(w.reason) > dispatch.reason_limit()
        ),
        (
            'payload', 'document too long', 'at most 1048576 bytes of JSON text.',
            octet_length(w.payload::text) > dispatch.document_limit()
        ),
        (
            'idempotency_key', 'text too long', 'at most 255 bytes.',
            octet_length(w.idempotency_key) > dispatch.key_limit()
        ),
        ('max_attempts', 'attempts out of range', 'at least 1.', w.max_attempts < 1),
        (
            'actor_type', 'unknown word', 'one of user, agent, system.',
            w.actor_type not in ('user', 'agent', 'system')
        ),
        (
            'fire_at', 'time out of range', 'a finite time at most 366 days ahead.',
            w.fire_at > v_now + dispatch.max_delay()
        )
    ) as p (field, message, advice, is_bad)
    where p.is_bad
    order by w.ordinality, p.field
    limit 1;
    if found then
        perform dispatch._raise_wake(
            true, v_bad.ordinality, v_bad.field, 'PD400', v_bad.message, v_bad.advice
        );
    end if;
end;
$fn$;

comment on function dispatch._check_wakes_values(dispatch.wake[]) is
$doc$Refuse the first wake of a batch with a value out of its range.

Errors: PD400 text or document too long, attempts or time out of range, unknown word.$doc$;
