create or replace function dispatch._attribution_source(
    p_actor_type text,
    p_originator_id uuid,
    p_accountable_id uuid
)
returns text
language sql
immutable
parallel safe
as $fn$
select case
    when p_actor_type = 'user' and p_originator_id is not null then 'direct_human'
    when coalesce(p_originator_id, p_accountable_id) is not null then 'delegation'
end;
$fn$;

comment on function dispatch._attribution_source(text, uuid, uuid) is
$doc$Name how the human behind a wake was found; NULL when nobody was.

A member's own act is direct_human; an agent or the system that acts for a human is delegation.
Errors: none.$doc$;
