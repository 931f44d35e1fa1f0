-- Locks: comments FOR UPDATE, a level of the thread at a time and by id within it. Each level
-- is looked for once the one above it is locked, under which no reply can come.
create or replace function dispatch._lock_replies(p_workspace_id uuid, p_comment_id uuid)
returns uuid[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_level uuid[] := array[p_comment_id];
    v_thread uuid[] := array[p_comment_id];
begin
    loop
        v_level := array(
            select c.id
            from dispatch.comment as c
            where c.workspace_id = p_workspace_id and c.parent_id = any(v_level)
            order by c.id
            for update
        );
        exit when cardinality(v_level) = 0;
        v_thread := v_thread || v_level;
    end loop;
    return v_thread;
end;
$fn$;

comment on function dispatch._lock_replies(uuid, uuid) is
$doc$Lock the replies to a locked comment, and give it and them.

Errors: none.$doc$;
