alter table dispatch.workspace_pause
add constraint workspace_pause_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.member
add constraint member_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.team
add constraint team_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.team_member
add constraint team_member_team_fkey
foreign key (workspace_id, team_id) references dispatch.team (workspace_id, id),
add constraint team_member_member_fkey
foreign key (workspace_id, user_id) references dispatch.member (workspace_id, user_id);

alter table dispatch.runtime
add constraint runtime_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.agent
add constraint agent_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id),
add constraint agent_owner_fkey
foreign key (workspace_id, owner_id) references dispatch.member (workspace_id, user_id),
add constraint agent_runtime_fkey
foreign key (workspace_id, runtime_id) references dispatch.runtime (workspace_id, id);

alter table dispatch.agent_grant
add constraint agent_grant_agent_fkey
foreign key (workspace_id, agent_id) references dispatch.agent (workspace_id, id);

alter table dispatch.squad
add constraint squad_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id),
add constraint squad_leader_fkey
foreign key (workspace_id, leader_id) references dispatch.agent (workspace_id, id);

alter table dispatch.issue
add constraint issue_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id),
add constraint issue_parent_fkey
foreign key (workspace_id, parent_id) references dispatch.issue (workspace_id, id);

alter table dispatch.comment
add constraint comment_issue_fkey
foreign key (workspace_id, issue_id) references dispatch.issue (workspace_id, id)
on delete cascade,
add constraint comment_parent_fkey
foreign key (workspace_id, parent_id) references dispatch.comment (workspace_id, id)
on delete cascade;

-- The run's issue is held by run_detail alone: there it has an index that no transition pays
-- for.
alter table dispatch.run
add constraint run_agent_fkey
foreign key (workspace_id, agent_id) references dispatch.agent (workspace_id, id),
add constraint run_runtime_fkey
foreign key (workspace_id, runtime_id) references dispatch.runtime (workspace_id, id);

alter table dispatch.run_detail
add constraint run_detail_run_fkey
foreign key (workspace_id, run_id) references dispatch.run (workspace_id, id)
on delete cascade,
add constraint run_detail_issue_fkey
foreign key (workspace_id, issue_id) references dispatch.issue (workspace_id, id);

alter table dispatch.run_trigger
add constraint run_trigger_run_fkey
foreign key (workspace_id, run_id) references dispatch.run (workspace_id, id)
on delete cascade;

alter table dispatch.deferred_assignment
add constraint deferred_assignment_issue_fkey
foreign key (workspace_id, issue_id) references dispatch.issue (workspace_id, id)
on delete cascade,
add constraint deferred_assignment_agent_fkey
foreign key (workspace_id, agent_id) references dispatch.agent (workspace_id, id);

alter table dispatch.gate_event
add constraint gate_event_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);

alter table dispatch.gate_total
add constraint gate_total_workspace_fkey
foreign key (workspace_id) references dispatch.workspace (id);
