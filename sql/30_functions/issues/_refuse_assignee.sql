create or replace function dispatch._refuse_assignee(
    p_name text,
    p_refusal dispatch.reason_code
)
returns void
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_refusal = 'invocation_not_allowed' then
        perform dispatch._raise(
            'PD403', 'assignee not allowed', p_name, 'name one that the actor may invoke.',
            'invocation_not_allowed'
        );
    elsif p_refusal is not null then
        perform dispatch._raise(
            'PD400', 'assignee not available', p_name, 'name one that is not archived.',
            p_refusal::text
        );
    end if;
end;
$fn$;

comment on function dispatch._refuse_assignee(text, dispatch.reason_code) is
$doc$Raise the error of a refused assignee; NULL passes.

The error is the same for a private, a foreign and a nonexistent assignee.
Errors: PD403 (DETAIL invocation_not_allowed) assignee not allowed, PD400 (DETAIL
target_unavailable) assignee not available.$doc$;
