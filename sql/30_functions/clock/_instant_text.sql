create or replace function dispatch._instant_text(p_at timestamptz)
returns text
language sql
stable
parallel safe
as $fn$
select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
$fn$;

comment on function dispatch._instant_text(timestamptz) is
$doc$Write an instant in UTC, whatever the session's time zone is.

Errors: none.$doc$;
