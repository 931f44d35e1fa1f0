begin;
select plan(5);


-- The codes that a body writes next to an outcome or hands to telemetry.
create temp view written as
select p.proname, m.parts[1] as word
from pg_catalog.pg_proc as p
cross join lateral regexp_matches(p.prosrc, $$'([a-z_]+)'$$, 'g') as m (parts)
where p.pronamespace = 'dispatch'::regnamespace
    and p.proname in (
        '_agent_verdict', '_pause_verdict', '_duplicate_decision', '_absorb_wake',
        '_settle_wake', '_insert_decision', '_take_back', '_gate_wakes', '_admit_wakes',
        '_allowance_verdict'
    );
create function pg_temp.codes() returns setof text
language sql
as $fn$
    select unnest(enum_range(null::dispatch.reason_code))::text;
$fn$;
select is_empty(
    $$
    select w.proname, w.word
    from written as w
    where w.proname in ('_agent_verdict', '_pause_verdict')
        and w.word not in (select c from pg_temp.codes() as c)
        and w.word not in ('active')
        and w.word not like '%0_'
    $$,
    'the verdicts of a gate are reason codes'
);
select set_eq(
    $$
    select distinct w.word
    from written as w
    where w.word in (select c from pg_temp.codes() as c)
    $$,
    $$
    select c
    from pg_temp.codes() as c
    where c not in (
        'runtime_offline', 'self_trigger_suppressed', 'internal_error', 'not_triggered'
    )
    $$,
    'admission knows every code but those that others decide'
);
select is_empty(
    $$
    select p.proname, m.parts[1]
    from pg_catalog.pg_proc as p
    cross join lateral regexp_matches(
        p.prosrc, $r$'([a-z_]+)'::dispatch\.reason_code$r$, 'g'
    ) as m (parts)
    where p.pronamespace = 'dispatch'::regnamespace
        and m.parts[1] not in (select c from pg_temp.codes() as c)
    $$,
    'no body casts another word to a code'
);
select is(
    (
        select string_agg(k.metric || ' ' || k.reason, ', ')
        from dispatch.gate_counters as k
        where k.metric <> dispatch._gate_metric(k.reason)
    ),
    null,
    'the counters and the records name a gate alike'
);
select set_eq(
    $$select k.reason from dispatch.gate_counters as k$$,
    $$
    select c
    from pg_temp.codes() as c
    where c not in ('queued', 'deferred', 'not_triggered')
    union all
    values ('count_read_failed'), ('task_unattributed')
    $$,
    'there is a counter for every code but those of wakes that were admitted as they came'
);

select * from finish();
rollback;
