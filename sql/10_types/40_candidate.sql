create type dispatch._candidate as (
    ord integer,
    run_id uuid,
    code dispatch.reason_code,
    wake dispatch.wake
);

comment on type dispatch._candidate is
$doc$A wake on its way through the gates: its place in the batch, the id that its run would get,
the code of the gate that blocked it (NULL while none did) and the wake with its attribution
stamped.$doc$;
