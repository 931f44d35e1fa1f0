create type dispatch._total as (
    metric text,
    reason text,
    value bigint
);

comment on type dispatch._total is
$doc$How much is added to one counter.$doc$;
