create or replace function dispatch._check_isolation()
returns void
language plpgsql
stable
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    if current_setting('transaction_isolation')
        not in ('read committed', 'read uncommitted')
    then
        perform dispatch._raise(
            'PD400', 'transaction too strict', 'transaction_isolation',
            'call this function at READ COMMITTED.'
        );
    end if;
end;
$fn$;

comment on function dispatch._check_isolation() is
$doc$Refuse a transaction that would not see what was committed while it waited for a lock.

Errors: PD400 transaction too strict.$doc$;
