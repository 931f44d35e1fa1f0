create type dispatch._ruling as (
    ord integer,
    decision dispatch.decision
);

comment on type dispatch._ruling is
$doc$A decision with the place of its wake in the batch.$doc$;
