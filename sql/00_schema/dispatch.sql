create schema if not exists dispatch;

comment on schema dispatch is
$doc$Decide which writes start an agent run, keep the queue of runs, and say why nothing ran.

Callers use functions and views only; tables are private.$doc$;
