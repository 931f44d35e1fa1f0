create or replace function dispatch._store_edit(
    p_workspace_id uuid,
    p_comment dispatch.comment,
    p_body text,
    p_mentions jsonb,
    p_actor_type text,
    p_actor_id uuid,
    p_acting_run_id uuid
)
returns dispatch.comment
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_comment dispatch.comment := p_comment;
begin
    v_comment.body := p_body;
    v_comment.mentions := p_mentions;
    v_comment.source_run_id := case
        when p_comment.author_type = p_actor_type and p_comment.author_id = p_actor_id
            then p_acting_run_id
    end;
    v_comment.updated_at := dispatch.clock();
    update dispatch.comment as c
    set
        body = v_comment.body,
        mentions = v_comment.mentions,
        source_run_id = v_comment.source_run_id,
        updated_at = v_comment.updated_at
    where c.workspace_id = p_workspace_id and c.id = p_comment.id;
    return v_comment;
end;
$fn$;

comment on function dispatch._store_edit(
    uuid, dispatch.comment, text, jsonb, text, uuid, uuid
) is
$doc$Write the new text of a locked comment, and give the comment as it stands.

Errors: none.$doc$;
