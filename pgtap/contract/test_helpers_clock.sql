begin;
select plan(8);

select ok(
    abs(extract(epoch from dispatch.clock() - clock_timestamp())) < 60,
    'the clock shows the time of day until somebody pins it'
);

select is(
    dispatch_test.set_clock('2030-01-15 12:00:00+00'),
    '2030-01-15 12:00:00+00'::timestamptz,
    'pinning answers with the instant'
);
select is(
    dispatch.clock(), '2030-01-15 12:00:00+00'::timestamptz, 'a pinned clock stands still'
);

select dispatch_test.advance_clock(interval '5 seconds');
select is(dispatch.clock(), '2030-01-15 12:00:05+00'::timestamptz, 'it moves when told to');

select dispatch_test.release_clock();
select ok(
    abs(extract(epoch from dispatch.clock() - clock_timestamp())) < 60,
    'a released clock runs again'
);

select is(dispatch_test.error_of('select 1'), '00000', 'no error is told as 00000');
select is(dispatch_test.error_of('select 1/0'), '22012', 'an error is told by its code');
select is(
    dispatch_test.error_of('select dispatch_test.id(1)', 'dispatch_worker'),
    '42501',
    'a statement can be run as another role'
);

select * from finish();
rollback;
