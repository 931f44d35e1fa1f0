-- The second line of defence: every transition guards its own statement. Reads its own row
-- only.
create or replace function dispatch._keep_terminal()
returns trigger
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform dispatch._raise(
        'PD500', 'terminal run changed', 'status',
        'a run that has ended never changes its status.'
    );
    return null;
end;
$fn$;

comment on function dispatch._keep_terminal() is
$doc$Refuse a statement that would change the status of a run that has ended.

Errors: PD500 terminal run changed.$doc$;

create or replace trigger run_keep_terminal
before update of status on dispatch.run
for each row
when (old.status in ('completed', 'failed', 'cancelled'))
execute function dispatch._keep_terminal();

comment on trigger run_keep_terminal on dispatch.run is
$doc$Keeps terminal runs as they are; links may still be cleared.$doc$;
