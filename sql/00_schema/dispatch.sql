-- CREATE SCHEMA IF NOT EXISTS asks for the right to create one even where it exists, which a
-- migrator lacks whose administrator has made the schema for it.
do $do$
begin
    if to_regnamespace('dispatch') is null then
        create schema dispatch;
    end if;
end;
$do$;

comment on schema dispatch is
$doc$Decide which writes start an agent run, keep the queue of runs, and say why nothing ran.

Callers use functions and views only; tables are private.$doc$;
