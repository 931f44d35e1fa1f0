-- A workspace that has lived: at least one row in each table, made by the functions where one
-- makes it. Runs on any release, so only ever calls what the first one had.
do $do$
declare
    v_ws constant uuid := '10000000-0000-4000-8000-000000000001';
    v_ana constant uuid := '10000000-0000-4000-8000-000000000002';
    v_ben constant uuid := '10000000-0000-4000-8000-000000000003';
    v_box constant uuid := '10000000-0000-4000-8000-000000000004';
    v_alpha constant uuid := '10000000-0000-4000-8000-000000000005';
    v_beta constant uuid := '10000000-0000-4000-8000-000000000006';
    v_team constant uuid := '10000000-0000-4000-8000-000000000007';
    v_squad constant uuid := '10000000-0000-4000-8000-000000000008';
    v_issue uuid;
    v_run uuid;
    v_claim integer;
begin
    perform dispatch.put_workspace(v_ws, 'Acme', 'ACME');
    perform dispatch.put_member(v_ws, v_ana, 'Ana', 'owner');
    perform dispatch.put_member(v_ws, v_ben, 'Ben');
    perform dispatch.put_team(v_ws, v_team, 'Builders');
    perform dispatch.put_team_member(v_ws, v_team, v_ben);
    perform dispatch.put_runtime(v_ws, v_box, 'daemon-1', 'laptop');
    perform dispatch.put_agent(v_ws, v_alpha, 'alpha', v_ana, v_box, 'public_to', 20);
    perform dispatch.put_agent(v_ws, v_beta, 'beta', v_ana, v_box);
    perform dispatch.grant_invoke(v_ws, v_alpha, 'team', v_team);
    perform dispatch.put_squad(v_ws, v_squad, 'Pair', v_alpha);
    perform dispatch.heartbeat(v_ws, array[v_box]);

    -- One run for each way to end or to stand, the last with a wake absorbed.
    for v_place in 1 .. 8 loop
        select i.issue_id, i.run_id into v_issue, v_run
        from dispatch.create_issue(
            v_ws, 'Issue ' || v_place, 'user', v_ana,
            p_assignee_type => 'agent', p_assignee_id => v_alpha
        ) as i;
        if v_place < 8 then
            select c.claim_no into v_claim
            from dispatch.claim_runs(v_ws, array[v_box], p_start => v_place < 6) as c;
        end if;
        case v_place
            when 1 then perform dispatch.complete_run(v_ws, v_run, v_claim, '{"fixed": true}');
            when 2 then perform dispatch.fail_run(v_ws, v_run, v_claim, 'agent_error', 'no');
            when 3 then perform dispatch.cancel_run(v_ws, v_run, 'user', v_ana);
            when 4 then
                perform dispatch.fail_run(v_ws, v_run, v_claim, 'runtime_offline', 'gone');
            when 5 then null;
            when 6 then perform dispatch.wait_run(v_ws, v_run, v_claim, 'the folder is in use');
            when 7 then null;
            else
                perform dispatch.queue_wake(
                    v_ws, v_alpha, 'comment', '{"comment": "hurry"}', 'hurry-1', v_issue,
                    p_actor_type => 'user', p_actor_id => v_ana
                );
        end case;
    end loop;
    perform dispatch.queue_wake(
        v_ws, v_beta, 'later', p_fire_at => dispatch.clock() + interval '1 hour',
        p_actor_type => 'user', p_actor_id => v_ana
    );
    perform dispatch.create_issue(
        v_ws, 'For the pair', 'user', v_ana, p_assignee_type => 'squad',
        p_assignee_id => v_squad
    );
    -- Refused while paused, and kept for the resume.
    perform dispatch.pause_workspace(v_ws, 'user', v_ana, p_reason => 'upkeep');
    perform dispatch.create_issue(
        v_ws, 'While paused', 'user', v_ana, p_assignee_type => 'agent', p_assignee_id => v_beta
    );
    -- What no function makes, or only the passing of weeks.
    insert into dispatch.comment (
        workspace_id, id, issue_id, author_type, author_id, body, created_at, updated_at
    )
    values (
        v_ws, '10000000-0000-4000-8000-000000000009', v_issue, 'user', v_ana, 'Hello',
        dispatch.clock(), dispatch.clock()
    );
    insert into dispatch.gate_total (workspace_id, metric, reason, value)
    values (v_ws, 'pause', 'paused', 3);
end;
$do$;
