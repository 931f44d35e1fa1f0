-- Collation C keeps the case rules of a locale out: only plain letters are raised and kept.
create or replace function dispatch._derive_prefix(p_name text)
returns text
language sql
immutable
parallel safe
as $fn$
select coalesce(
    rpad(
        nullif(
            left(
                ltrim(
                    regexp_replace(upper(p_name collate "C"), '[^A-Z0-9]', '', 'g'),
                    '0123456789'
                ),
                3
            ),
            ''
        ),
        3, 'X'
    ),
    'WS'
);
$fn$;

comment on function dispatch._derive_prefix(text) is
$doc$Derive an issue prefix from a workspace's name: its first three letters or digits from the
first letter on, filled up with X; WS for a name without plain letters.

Errors: none.$doc$;
