create or replace function dispatch._is_lease_text(p_text text)
returns boolean
language sql
immutable
parallel safe
as $fn$
select p_text ~ (
    '^(\d{1,7}(\.\d{1,6})? ?(s|secs?|seconds?|mins?|minutes?|h|hours?|d|days?)'
    '|\d{1,4}:[0-5]\d(:[0-5]\d(\.\d{1,6})?)?'
    '|PT(?=\d)(\d{1,4}H)?(\d{1,6}M)?(\d{1,7}(\.\d{1,6})?S)?)$'
);
$fn$;

comment on function dispatch._is_lease_text(text) is
$doc$Tell whether a text is a length of time as a batch may give it: 45 seconds, 00:00:45 or
PT45S.

Errors: none.$doc$;
