"""Random writes in random workspaces: the model, the preview, the write and the rows agree."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.concurrency.support import Connection, Row
from tests.property.predicate import (
    ACTIVE,
    DAY,
    MEMBERS,
    NOBODY,
    OFFLINE,
    ONLINE,
    PENDING,
    STRANGER,
    TEAM,
    UNUSABLE,
    WORKSPACE,
    Actor,
    Agent,
    Answer,
    Comment,
    Issue,
    Reply,
    Run,
    Squad,
    World,
    Write,
    commented,
    expected,
)
from tests.support.servers import NOON, Database

AGENTS, SQUADS, ISSUES = (31, 32, 33, 34), (41, 42), (51, 52, 53)
COMMENTS = (201, 202, 203, 204)
#: Three comments in one thread, or in several, and one on another issue.
ISSUE_OF = {201: 51, 202: 51, 203: 51, 204: 52}
FOREIGN_AGENT, NO_AGENT, FOREIGN_SQUAD, NO_SQUAD = 38, 39, 48, 49
EVERY_STATUS = ("backlog", "todo", "in_progress", "in_review", "blocked", "done", "cancelled")
#: One agent and one issue come up more often, since runs matter where a write meets them.
SOME_AGENT = st.sampled_from([31, 31, 31, *AGENTS])
SOME_ISSUE = st.sampled_from([51, 51, 51, *ISSUES])
AGES = (0, 0, 3, 4, 5, 6, 599, 86_399, 86_400, 90_000)

#: What stays: people, runtimes, and another workspace with an agent and a squad open to all.
STATIC = """
select dispatch.put_workspace(dispatch_test.id(w), 'Workspace', 'WS' || w)
from generate_series(1, 2) as w;
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(m.id), 'Member', m.role)
from (values (11, 'member'), (12, 'member'), (13, 'admin'), (14, 'owner')) as m (id, role);
select dispatch.put_team(dispatch_test.id(1), dispatch_test.id(15), 'Team');
select dispatch.put_runtime(dispatch_test.id(1), dispatch_test.id(r), 'daemon')
from generate_series(21, 23) as r;
select dispatch.heartbeat(dispatch_test.id(1), array[dispatch_test.id(21)]);
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(23), 'not_executable'
);
select dispatch.put_member(dispatch_test.id(2), dispatch_test.id(19), 'Stranger');
select dispatch.put_runtime(dispatch_test.id(2), dispatch_test.id(28), 'daemon');
select dispatch.heartbeat(dispatch_test.id(2), array[dispatch_test.id(28)]);
select dispatch.put_agent(
    dispatch_test.id(2), dispatch_test.id(38), 'Foreign', dispatch_test.id(19),
    dispatch_test.id(28), 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(2), dispatch_test.id(38), 'workspace');
select dispatch.put_squad(
    dispatch_test.id(2), dispatch_test.id(48), 'Foreign', dispatch_test.id(38)
);
"""

BUILD = """
create function dispatch_test.build(p_world jsonb) returns void language plpgsql as $fn$
declare
    v_ws constant uuid := dispatch_test.id(1);
    v_now constant timestamptz := dispatch.clock();
    v_runs jsonb;
begin
    update dispatch.workspace set attribution_policy = p_world ->> 'policy' where id = v_ws;
    insert into dispatch.workspace_pause (
        workspace_id, id, reason, paused_at, paused_by_type
    )
    select v_ws, dispatch_test.id(9), 'Stop', v_now, 'system'
    where (p_world ->> 'paused')::boolean;
    insert into dispatch.team_member (workspace_id, team_id, user_id)
    select v_ws, dispatch_test.id(15), dispatch_test.id(m::integer)
    from jsonb_array_elements_text(p_world -> 'team') as m;
    insert into dispatch.agent (
        workspace_id, id, name, owner_id, runtime_id, permission, status, archived_at,
        created_at
    )
    select
        v_ws, dispatch_test.id(a.id), 'Agent', dispatch_test.id(a.owner),
        dispatch_test.id(a.runtime), a.permission, a.status,
        case when a.archived then v_now end, v_now
    from jsonb_to_recordset(p_world -> 'agents') as a (
        id integer, owner integer, runtime integer, permission text, status text,
        archived boolean
    );
    insert into dispatch.agent_grant (
        workspace_id, agent_id, target_type, target_id, created_at
    )
    select
        v_ws, dispatch_test.id((a ->> 'id')::integer), g ->> 0,
        dispatch_test.id((g ->> 1)::integer), v_now
    from jsonb_array_elements(p_world -> 'agents') as a
    cross join jsonb_array_elements(a -> 'grants') as g;
    insert into dispatch.squad (workspace_id, id, name, leader_id, archived_at, created_at)
    select
        v_ws, dispatch_test.id(s.id), 'Squad', dispatch_test.id(s.leader),
        case when s.archived then v_now end, v_now
    from jsonb_to_recordset(p_world -> 'squads') as s (
        id integer, leader integer, archived boolean
    );
    insert into dispatch.issue (
        workspace_id, id, number, title, status, priority, assignee_type, assignee_id,
        assignment_generation, creator_type, created_at, updated_at
    )
    select
        v_ws, dispatch_test.id(i.id), i.id, 'Issue', i.status, 'none', i.assignee ->> 0,
        dispatch_test.id((i.assignee ->> 1)::integer), i.generation, 'system', v_now, v_now
    from jsonb_to_recordset(p_world -> 'issues') as i (
        id integer, status text, assignee jsonb, generation bigint
    );
    update dispatch.workspace set issue_counter = 100 where id = v_ws;
    v_runs := (
    select jsonb_agg(to_jsonb(x))
    from (
    select
        r.id, r.agent, r.issue, r.status, r.age, r.reason, r.originator, r.accountable,
        'user' as by,
        case when r.keyed then format(
            'task_assigned:%s:%s:%s', dispatch_test.id(r.issue), dispatch_test.id(r.agent),
            i.generation + 1
        ) end as key,
        r.leads, r.squad, r.comment
    from jsonb_to_recordset(p_world -> 'runs') as r (
        id integer, agent integer, issue integer, status text, age integer, reason text,
        keyed boolean, originator integer, accountable integer, squad integer, leads boolean,
        comment integer
    )
    inner join jsonb_to_recordset(p_world -> 'issues') as i (id integer, generation bigint)
        on i.id = r.issue
    union all
    select
        i.id * 1000 + n, 31, i.id, 'completed', 60, 'task_assigned', null, 11, 'agent', null,
        false, null, null
    from jsonb_to_recordset(p_world -> 'issues') as i (id integer, handed_on integer)
    cross join generate_series(1, i.handed_on) as n
    ) as x
    );
    insert into dispatch.run (
        workspace_id, id, agent_id, runtime_id, issue_id, lane, status, requested_at, fire_at,
        claim_no, finished_at
    )
    select
        v_ws, dispatch_test.id(b.id), dispatch_test.id(b.agent), dispatch_test.id(21),
        dispatch_test.id(b.issue), dispatch_test.id(b.issue), b.status::dispatch.run_status,
        v_now - make_interval(secs => b.age),
        case when b.status = 'deferred' then v_now + interval '1 hour' end, 1,
        case when b.status = 'completed' then v_now end
    from jsonb_to_recordset(v_runs) as b (
        id integer, agent integer, issue integer, status text, age integer, reason text,
        originator integer, accountable integer, by text, key text
    );
    insert into dispatch.run_detail (
        workspace_id, run_id, issue_id, requested_at, reason, source, payload,
        idempotency_key, actor_type, originator_id, accountable_id, attribution_source,
        squad_id, is_leader_run, comment_id
    )
    select
        v_ws, dispatch_test.id(b.id), dispatch_test.id(b.issue),
        v_now - make_interval(secs => b.age), b.reason, 'wake',
        jsonb_build_object('task_id', dispatch_test.id(b.issue), 'actor_type', b.by), b.key,
        'system', dispatch_test.id(b.originator),
        dispatch_test.id(coalesce(b.originator, b.accountable)), 'owner_fallback',
        dispatch_test.id(b.squad), b.leads, dispatch_test.id(b.comment)
    from jsonb_to_recordset(v_runs) as b (
        id integer, agent integer, issue integer, status text, age integer, reason text,
        originator integer, accountable integer, by text, key text, squad integer,
        leads boolean, comment integer
    );
    insert into dispatch.comment (
        workspace_id, id, issue_id, author_type, author_id, body, mentions, parent_id,
        created_at, updated_at
    )
    select
        v_ws, dispatch_test.id(c.id), dispatch_test.id(c.issue), c.author ->> 0,
        dispatch_test.id((c.author ->> 1)::integer), 'Said.',
        c.mentions, dispatch_test.id(c.parent), v_now, v_now
    from jsonb_to_recordset(p_world -> 'comments') as c (
        id integer, issue integer, author jsonb, mentions jsonb, parent integer
    );
end;
$fn$
"""

#: Asks for the preview, makes the write, tells what it left behind, and takes it back.
TRY = """
create function dispatch_test.try(p_call jsonb) returns jsonb language plpgsql as $fn$
declare
    v_ws constant uuid := dispatch_test.id(1);
    v_ids constant uuid[] := array(
        select i::uuid from jsonb_array_elements_text(p_call -> 'issues') as i
    );
    v_changes constant jsonb := p_call -> 'changes';
    v_kind constant text := p_call ->> 'kind';
    v_run constant uuid := (p_call ->> 'run')::uuid;
    v_actor constant uuid := (p_call ->> 'actor')::uuid;
    v_is_new constant boolean := p_call ->> 'form' = 'create';
    v_runs constant uuid[] := array(select r.id from dispatch.run as r);
    v_events constant uuid[] := array(select e.id from dispatch.gate_event as e);
    v_triggers constant text[] := array(
        select t.run_id || ' ' || t.seq || ' ' || t.count from dispatch.run_trigger as t
    );
    v_preview jsonb;
    v_write jsonb;
    v_rows jsonb;
    v_code text;
    v_detail text;
    v_left bigint;
begin
    begin
        if p_call ->> 'form' = 'comment' then
            null;
        elsif v_is_new then
            v_preview := (
                select jsonb_agg(to_jsonb(p))
                from dispatch.preview_create(v_ws, v_changes, v_kind, v_actor, v_run) as p
            );
        else
            v_preview := (
                select jsonb_agg(to_jsonb(p))
                from dispatch.preview_update(
                    v_ws, v_ids, v_changes, v_kind, v_actor, v_run
                ) as p
            );
        end if;
    exception when others then
        get stacked diagnostics v_code = returned_sqlstate, v_detail = pg_exception_detail;
        v_preview := jsonb_build_object('error', v_code, 'detail', v_detail);
    end;
    v_left := (select count(*) from dispatch.run) - cardinality(v_runs)
        + (select count(*) from dispatch.gate_event) - cardinality(v_events)
        + (select count(*) from dispatch.run_trigger) - cardinality(v_triggers);
    begin
        if p_call ->> 'form' = 'comment' then
            v_write := (
                select jsonb_agg(to_jsonb(w))
                from dispatch.add_comment(
                    v_ws, v_ids[1], p_call ->> 'body', v_kind, v_actor, v_run,
                    p_call -> 'mentions', (p_call ->> 'parent')::uuid
                ) as w
            );
        elsif v_is_new then
            v_write := jsonb_build_array(to_jsonb(dispatch.create_issue(
                v_ws, 'New', v_kind, v_actor, v_run,
                coalesce(v_changes ->> 'status', 'todo'), 'none',
                v_changes #>> '{assignee,type}', (v_changes #>> '{assignee,id}')::uuid
            )));
        elsif p_call ->> 'form' = 'update' then
            v_write := jsonb_build_array(to_jsonb(dispatch.update_issue(
                v_ws, v_ids[1], v_changes, v_kind, v_actor, v_run
            )));
        else
            v_write := (
                select jsonb_agg(to_jsonb(w))
                from dispatch.update_issues(
                    v_ws, v_ids, v_changes, v_kind, v_actor, v_run
                ) as w
            );
        end if;
        v_rows := jsonb_build_object(
            'runs', (
                select jsonb_agg(jsonb_build_object(
                    'run_id', r.id, 'issue_id', r.issue_id, 'agent_id', r.agent_id,
                    'source', r.source, 'squad_id', r.squad_id, 'leads', r.is_leader_run,
                    'status', r.status
                ))
                from dispatch.runs as r
                where r.id <> all(v_runs)
            ),
            'events', (
                select jsonb_agg(jsonb_build_object('issue_id', e.issue_id, 'code', e.reason))
                from dispatch.gate_event as e
                where e.id <> all(v_events)
            ),
            'triggers', (
                select jsonb_agg(distinct t.run_id)
                from dispatch.run_trigger as t
                where t.run_id || ' ' || t.seq || ' ' || t.count <> all(v_triggers)
            ),
            'remembered', (select jsonb_agg(o.issue_id) from dispatch.deferred_assignment as o)
        );
        raise exception 'undo' using errcode = 'ZZ000';
    exception
        when sqlstate 'ZZ000' then null;
        when others then
            get stacked diagnostics
                v_code = returned_sqlstate, v_detail = pg_exception_detail;
            v_write := jsonb_build_object('error', v_code, 'detail', v_detail);
    end;
    return jsonb_build_object('preview', v_preview, 'write', v_write, 'rows', v_rows,
        'left', v_left);
end;
$fn$
"""


def ident(number: int | None) -> str | None:
    """The uuid that stands for a number."""
    return None if number is None else f"00000000-0000-7000-8000-{number:012d}"


MAYBE = st.sampled_from([False, False, False, True])
TARGETS: list[tuple[str, int]] = [
    *[("agent", agent) for agent in (31, 31, 31, *AGENTS)] * 3,
    *[("squad", squad) for squad in SQUADS] * 3,
    *[("agent", each) for each in (FOREIGN_AGENT, NO_AGENT)],
    *[("squad", each) for each in (FOREIGN_SQUAD, NO_SQUAD)],
    ("member", 11),
]
GRANTS = [("workspace", WORKSPACE), ("member", 12), ("member", 13), ("team", TEAM)]
OWNERS = st.sampled_from([11, 11, 12, 14, None])


def agents() -> st.SearchStrategy[dict[int, Agent]]:
    return st.tuples(
        *(
            st.builds(
                Agent,
                id=st.just(number),
                owner=OWNERS,
                permission=st.sampled_from(["private", "public_to"]),
                runtime=st.sampled_from([ONLINE] * 4 + [OFFLINE, UNUSABLE, None]),
                archived=st.sampled_from([False] * 6 + [True]),
                status=st.sampled_from(["active"] * 6 + ["paused", "stopped"]),
                grants=st.frozensets(st.sampled_from(GRANTS), max_size=2),
            )
            for number in AGENTS
        )
    ).map(lambda made: {each.id: each for each in made})


def squads() -> st.SearchStrategy[dict[int, Squad]]:
    return st.tuples(
        *(
            st.builds(Squad, id=st.just(number), leader=st.sampled_from(AGENTS), archived=MAYBE)
            for number in SQUADS
        )
    ).map(lambda made: {each.id: each for each in made})


def issues() -> st.SearchStrategy[dict[int, Issue]]:
    return st.tuples(
        *(
            st.builds(
                Issue,
                id=st.just(number),
                status=st.sampled_from(["backlog"] * 7 + [*EVERY_STATUS]),
                assignee=st.sampled_from([*TARGETS, None]),
                generation=st.integers(0, 2),
                handed_on=st.sampled_from([0, 0, 4, 5, 6]),
            )
            for number in ISSUES
        )
    ).map(lambda made: {each.id: each for each in made if each.id is not None})


def possible(runs: list[Run]) -> list[Run]:
    """Leave out what the queue cannot hold: two in one slot, one lane or of one key."""
    kept: list[Run] = []
    for run in runs:
        beside = [each for each in kept if (each.agent, each.issue) == (run.agent, run.issue)]
        if (
            not (run.status in PENDING and any(each.status in PENDING for each in beside))
            and not (run.status in ACTIVE and any(each.status in ACTIVE for each in beside))
            and not (run.keyed and any(each.keyed for each in beside))
        ):
            kept.append(run)
    return [
        replace(
            run, id=100 + place, leads=run.leads and run.squad is not None,
            comment=run.comment if run.comment and ISSUE_OF[run.comment] == run.issue else None,
        )
        for place, run in enumerate(kept)
    ]  # fmt: skip


RUNS = st.lists(
    st.builds(
        Run,
        id=st.just(0),
        agent=SOME_AGENT,
        issue=SOME_ISSUE,
        status=st.sampled_from(["queued", "queued", *ACTIVE, "deferred", "completed"]),
        age=st.sampled_from(AGES),
        reason=st.sampled_from(
            ["task_assigned", "task_assigned", "task_promoted", "task_comment"]
        ),
        keyed=MAYBE,
        originator=st.sampled_from([11, 12, 13, None]),
        accountable=st.sampled_from([14, None]),
        squad=st.sampled_from([None, *SQUADS]),
        leads=st.booleans(),
        comment=st.sampled_from([None, None, *COMMENTS]),
    ),
    max_size=8,
).map(possible)

AUTHORS = [("user", 11), ("user", 12), ("user", None), ("system", None)]
MENTIONS = st.lists(
    st.sampled_from(
        [
            *[target for target in TARGETS if target[0] != "member"] * 2,
            *[("member", 11), ("all", 0), ("agent", NOBODY), ("squad", NOBODY)],
        ]
    ),
    max_size=3,
).map(tuple)


def comments() -> st.SearchStrategy[dict[int, Comment]]:
    return st.tuples(
        *(
            st.builds(
                Comment,
                id=st.just(number),
                issue=st.just(ISSUE_OF[number]),
                author=st.sampled_from([*AUTHORS * 2, *[("agent", each) for each in AGENTS]]),
                mentions=st.one_of(st.just(()), MENTIONS),
                parent=st.sampled_from(
                    [
                        None,
                        *(each for each in COMMENTS if each < number and number < 204),
                    ]
                ),
            )
            for number in COMMENTS
        )
    ).map(lambda made: {each.id: each for each in made})


WORLDS = st.builds(
    World,
    policy=st.sampled_from(["owner_fallback", "fail_closed"]),
    paused=st.sampled_from([False] * 9 + [True]),
    team=st.frozensets(st.sampled_from(MEMBERS), max_size=2),
    agents=agents(),
    squads=squads(),
    issues=issues(),
    runs=RUNS,
    comments=comments(),
)
WRITES = st.builds(
    Write,
    status=st.sampled_from([None, None, "todo", "todo", "in_progress", *EVERY_STATUS]),
    assigned=st.booleans(),
    assignee=st.sampled_from([*TARGETS, None]),
)
#: The kind and id of an actor; an agent acts in one of its active runs, or in none.
ACTORS = st.tuples(
    st.sampled_from(
        [
            *[("user", member) for member in (11, 11, 11, *MEMBERS)] * 2,
            *[("agent", agent) for agent in AGENTS] * 3,
            *[("user", None), ("system", None)] * 2,
            *[("user", STRANGER), ("agent", FOREIGN_AGENT)],
        ]
    ),
    st.integers(0, 3),
)
FORMS = st.sampled_from(["create", "update", "update", "update", "batch"])
#: What is said: on an issue, or in reply to a comment and so on its issue.
WORDS = st.builds(
    Comment,
    id=st.just(0),
    issue=SOME_ISSUE,
    author=st.just(("system", None)),
    mentions=st.one_of(st.just(()), MENTIONS),
    parent=st.sampled_from([None, None, *COMMENTS]),
    is_note=st.sampled_from([False] * 9 + [True]),
)
ACTS = st.tuples(ACTORS, st.one_of(st.tuples(FORMS, WRITES, SOME_ISSUE), WORDS))
TRIALS = st.lists(ACTS, min_size=3, max_size=3)
Who = tuple[tuple[str, int | None], int]
Trial = tuple[Who, tuple[str, Write, int] | Comment]


def spelled(comment: Comment) -> list[dict[str, str]]:
    """The mentions of a comment as they are given; an id that names nobody is no uuid."""
    return [
        {"type": kind, "id": "nobody" if number == NOBODY else f"{ident(number)}"}
        for kind, number in comment.mentions
    ]


class Bench:
    """Builds a world, tries writes in it, and compares them with the model."""

    def __init__(self, connection: Connection, world: World) -> None:
        self.connection = connection
        self.world = world
        stored = {
            "policy": world.policy,
            "paused": world.paused,
            "team": sorted(world.team),
            "agents": [
                asdict(each) | {"grants": sorted(each.grants)} for each in world.agents.values()
            ],
            "squads": [asdict(each) for each in world.squads.values()],
            "issues": [asdict(each) for each in world.issues.values()],
            "runs": [asdict(each) for each in world.runs],
            "comments": [
                asdict(each) | {"mentions": spelled(each)} for each in world.comments.values()
            ],
        }
        connection.execute("select dispatch_test.build(%s)", [Jsonb(stored)])

    def actor(self, kind: str, number: int | None, pick: int) -> Actor:
        """Let an agent act in one of its active runs, or in none."""
        if kind != "agent":
            return Actor(kind, number)
        own = [
            run.id for run in self.world.runs if run.agent == number and run.status in ACTIVE
        ]
        choices: list[int | None] = [*own, None]
        return Actor(kind, number, choices[pick % len(choices)])

    def attempt(self, trial: Trial) -> None:
        """Make one write and its preview, and compare all there is to compare."""
        ((kind, number), pick), act = trial
        actor = self.actor(kind, number, pick)
        if isinstance(act, Comment):
            self.say(act, actor)
            return
        form, write, first = act
        changes: dict[str, Any] = {"status": write.status} if write.status else {}
        if write.assigned and (write.assignee or form != "create"):
            changes["assignee"] = write.assignee and {
                "type": write.assignee[0],
                "id": ident(write.assignee[1]),
            }
        asked = list(ISSUES) if form == "batch" else [first]
        ((found,),) = self.connection.execute(
            "select dispatch_test.try(%s)",
            [
                Jsonb(
                    {
                        "form": form,
                        "issues": [ident(each) for each in asked],
                        "changes": changes,
                        "kind": actor.kind,
                        "actor": ident(actor.id),
                        "run": ident(actor.run),
                    }
                )
            ],
        ).fetchall()
        if (kind, number) in (("user", STRANGER), ("agent", FOREIGN_AGENT)):
            wrong = {"error": "PD403", "detail": ""}
            assert (found["preview"], found["write"]) == (wrong, wrong)
            return
        befores: list[Issue | None] = (
            [None] if form == "create" else [self.world.issues[each] for each in asked]
        )
        if form == "create" and write.assignee is None:
            write = Write(write.status, False, None)
        answers = [
            expected(self.world, write, each, actor, is_preview=False) for each in befores
        ]
        previews = [
            expected(self.world, write, each, actor, is_preview=True) for each in befores
        ]
        self.compare_preview(found["preview"], previews, befores)
        if answers[0].outcome == "blocked" and answers[0].agent is None and form != "batch":
            code = "PD403" if answers[0].code == "invocation_not_allowed" else "PD400"
            assert found["write"] == {"error": code, "detail": answers[0].code}
            return
        self.compare_write(found["write"], answers)
        compare_answers(found["preview"], found["write"])
        compare_rows(found["write"], found["rows"], answers)
        assert found["left"] == 0

    def say(self, words: Comment, actor: Actor) -> None:
        """Write one comment, and compare its answers and what it left behind."""
        if words.parent is not None:
            words = replace(words, issue=ISSUE_OF[words.parent])
        ((found,),) = self.connection.execute(
            "select dispatch_test.try(%s)",
            [
                Jsonb(
                    {
                        "form": "comment",
                        "issues": [ident(words.issue)],
                        "body": "/note Said." if words.is_note else "Said.",
                        "mentions": spelled(words),
                        "parent": ident(words.parent),
                        "kind": actor.kind,
                        "actor": ident(actor.id),
                        "run": ident(actor.run),
                    }
                )
            ],
        ).fetchall()
        if (actor.kind, actor.id) in (("user", STRANGER), ("agent", FOREIGN_AGENT)):
            assert found["write"] == {"error": "PD403", "detail": ""}
            return
        wanted = commented(self.world, replace(words, author=(actor.kind, actor.id)), actor)
        assert isinstance(found["write"], list), found["write"]
        assert [heard_back(each) for each in found["write"]] == [
            (
                *(each.target or (None, None))[:1],
                ident((each.target or (None, None))[1]),
                each.outcome,
                each.code,
                ident(each.agent),
            )
            for each in wanted
        ]
        compare_said(found["write"], found["rows"], wanted)
        assert found["left"] == 0

    def compare_preview(
        self, found: list[Row], wanted: list[Answer], issues: list[Issue | None]
    ) -> None:
        """The preview is the model's, a row an issue in the order given."""
        assert [told(each) for each in found] == [put(each) for each in wanted]
        assert [each["issue_id"] for each in found] == [
            ident(each.id) if each else None for each in issues
        ]
        assert all(each["will_run"] == (each["outcome"] == "queued") for each in found)

    def compare_write(self, found: list[Row], wanted: list[Answer]) -> None:
        """The write is the model's."""
        assert isinstance(found, list), found
        assert [told(each) for each in found] == [put(each) for each in wanted]


def told(row: Row) -> tuple[Any, ...]:
    """What an answer says, without what only the database knows."""
    detail = row["detail"] or {}
    return row["outcome"], row["reason_code"], row["agent_id"], row["source"], detail.get("why")


def put(answer: Answer) -> tuple[Any, ...]:
    """What the model says, in the same form."""
    return answer.outcome, answer.code, ident(answer.agent), answer.source, answer.why


def heard_back(row: Row) -> tuple[Any, ...]:
    """What an answer to a comment says, without what only the database knows."""
    names = ("target_type", "target_id", "outcome", "reason_code", "agent_id")
    return tuple(row[name] for name in names)


def compare_said(found: list[Row], left: Row, replies: list[Reply]) -> None:
    """A comment's answers have left the rows that they speak of, and nothing else."""
    made = {
        (
            each["agent_id"], each["source"], each["squad_id"], each["leads"], each["run_id"]
        )
        for each in left["runs"] or []
    }  # fmt: skip
    assert made == {
        (ident(each.agent), each.source, ident(each.squad), each.leads, row["run_id"])
        for row, each in zip(found, replies, strict=True)
        if each.outcome == "queued"
    }
    # Targets that come to one agent share its wake, and so its refusal.
    refused = {
        (each.code, each.agent if each.source else place)
        for place, each in enumerate(replies)
        if each.outcome == "blocked"
    }
    assert Counter(each["code"] for each in left["events"] or []) == Counter(
        code for code, _ in refused
    )
    assert set(left["triggers"] or []) == {
        row["run_id"]
        for row, each in zip(found, replies, strict=True)
        if each.outcome in ("coalesced", "absorbed") and each.source
    }
    assert left["remembered"] is None


def compare_answers(preview: list[Row], write: list[Row]) -> None:
    """Preview and write say the same, but for what the actor has no right to know."""
    for before, after in zip(preview, write, strict=True):
        if (before["detail"] or {}).get("why") != "not_invocable":
            names = ("outcome", "reason_code", "agent_id", "source", "detail")
            assert [before[name] for name in names] == [after[name] for name in names]


def compare_rows(found: list[Row], left: Row, answers: list[Answer]) -> None:
    """Each answer has left the rows that it speaks of, and nothing else has appeared."""
    made = {each["issue_id"]: each for each in left["runs"] or [] if each["status"] == "queued"}
    assert len(made) == len(left["runs"] or [])
    events = {each["issue_id"]: each["code"] for each in left["events"] or []}
    for row, answer in zip(found, answers, strict=True):
        run = made.pop(row["issue_id"], None)
        assert (run is not None) == (answer.outcome == "queued")
        if run:
            assert run["run_id"] == row["run_id"]
            assert (run["agent_id"], run["source"]) == (ident(answer.agent), answer.source)
            assert (run["squad_id"], run["leads"]) == (
                ident(answer.squad),
                answer.squad is not None,
            )
        # An assignee that is refused, before there is a wake, is no matter of a gate.
        recorded = (
            answer.outcome in ("blocked", "deduplicated", "rate_limited")
            and answer.source is not None
        )
        assert events.pop(row["issue_id"], None) == (answer.code if recorded else None)
        assert (answer.outcome in ("coalesced", "absorbed")) == (
            row["run_id"] in (left["triggers"] or [])
        )
        assert (answer.code == "paused" and answer.source == "assign") == (
            row["issue_id"] in (left["remembered"] or [])
        )
    assert (made, events) == ({}, {})


def prepared(db: Database) -> Connection:
    db.set_clock(NOON)
    db.execute(STATIC)
    db.execute(BUILD)
    db.execute(TRY)
    return db.connect(autocommit=False)


def tried(connection: Connection, world: World, trials: list[Trial]) -> None:
    """Try writes in a world, each by itself; nothing of it is kept."""
    try:
        bench = Bench(connection, world)
        for trial in trials:
            bench.attempt(trial)
    finally:
        connection.rollback()


def world(**changed: Any) -> World:
    """Agents 31 to 34 of member 11, each as it should be; what is given differs."""
    plain = Agent(31, 11, "private", ONLINE, False, "active", frozenset())
    open_to_all = frozenset({("workspace", WORKSPACE)})
    issues = [
        Issue(51, "todo", None),
        Issue(52, "backlog", ("agent", 31)),
        Issue(53, "todo", None),
    ]
    made = World(
        policy="owner_fallback",
        paused=False,
        team=frozenset({12}),
        agents={
            31: plain,
            32: replace(plain, id=32, permission="public_to", grants=open_to_all),
            33: replace(
                plain, id=33, permission="public_to", grants=frozenset({("team", TEAM)})
            ),
            34: replace(plain, id=34, archived=True),
        },
        squads={41: Squad(41, 31, False), 42: Squad(42, 34, False)},
        issues={each.id: each for each in issues if each.id},
    )
    return replace(made, **changed)


RUNNING = Run(100, 32, 51, "running", 60, "task_comment", False, 12, None)
QUEUED = Run(101, 31, 52, "queued", 60, "task_comment", False, 11, None)


def write(
    form: str = "update",
    issue: int = 51,
    to: tuple[str, int] | None = None,
    *,
    status: str | None = None,
    by: tuple[str, int | None] = ("user", 11),
) -> Trial:
    return (by, 0), (form, Write(status, to is not None, to), issue)


NAMED: dict[str, tuple[World, Trial]] = {
    "an agent for a person": (world(), write(to=("agent", 31))),
    "a private agent for another member": (world(), write(to=("agent", 31), by=("user", 12))),
    "a private agent for an admin": (world(), write(to=("agent", 31), by=("user", 13))),
    "an agent open to a team, for one in it": (
        world(), write(to=("agent", 33), by=("user", 12)),
    ),
    "an agent open to a team, for one who is not": (
        world(), write(to=("agent", 33), by=("user", 13)),
    ),
    "an agent acts for its run's originator, not for its owner": (
        world(runs=[RUNNING]), write(issue=53, to=("agent", 31), by=("agent", 32)),
    ),
    "an agent that acts in no run acts for nobody": (
        world(), write(issue=53, to=("agent", 33), by=("agent", 32)),
    ),
    "an archived agent for its owner": (world(), write(to=("agent", 34))),
    "an archived agent for another member": (
        world(), write(to=("agent", 34), by=("user", 12)),
    ),
    "a squad": (world(), write(to=("squad", 41))),
    "a squad whose leader is archived": (world(), write(to=("squad", 42))),
    "a promotion of a private agent by another member": (
        world(), write(issue=52, status="todo", by=("user", 12)),
    ),
    "a second assignment within the window": (
        world(runs=[replace(QUEUED, issue=51, age=4, reason="task_assigned")]),
        write(to=("agent", 31)),
    ),
    "a second assignment after it": (
        world(runs=[replace(QUEUED, issue=51, age=5, reason="task_assigned")]),
        write(to=("agent", 31)),
    ),
    "an assignment while a run is dispatched": (
        world(runs=[replace(QUEUED, issue=51, status="dispatched")]), write(to=("agent", 31)),
    ),
    "an assignment whose key a run has": (
        world(runs=[replace(QUEUED, issue=51, status="completed", keyed=True)]),
        write(to=("agent", 31)),
    ),
    "an assignment whose key an old run has": (
        world(runs=[replace(QUEUED, issue=51, status="completed", keyed=True, age=DAY)]),
        write(to=("agent", 31)),
    ),
    "a promotion with a pending run": (world(runs=[QUEUED]), write(issue=52, status="todo")),
    "a promotion into done": (world(), write(issue=52, status="done")),
    "an agent promotes the issue of its run": (
        world(
            runs=[RUNNING], issues=world().issues | {51: Issue(51, "backlog", ("agent", 32))}
        ),
        write(status="todo", by=("agent", 32)),
    ),
    "an agent takes on the issue it runs": (
        world(runs=[RUNNING]), write(to=("agent", 32), by=("agent", 32)),
    ),
    "a new issue in done": (world(), write("create", to=("agent", 31), status="done")),
    "a batch with what is parked in it": (world(), write("batch", to=("agent", 31))),
    "a sixth assignment by an agent": (
        world(issues=world().issues | {53: Issue(53, "todo", None, 2, 5)}),
        write(issue=53, to=("agent", 32), by=("agent", 32)),
    ),
    "a paused workspace": (world(paused=True), write(to=("agent", 31))),
    "nobody answers, and somebody must": (
        world(policy="fail_closed"), write(to=("agent", 32), by=("system", None)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("where", "trial"), NAMED.values(), ids=NAMED.keys())
def test_named_writes_agree_with_the_model(db: Database, where: World, trial: Trial) -> None:
    with prepared(db) as connection:
        tried(connection, where, [trial])


@pytest.mark.parametrize("part", range(4))
def test_generated_writes_agree_with_the_model(db: Database, part: int) -> None:
    """2,000 worlds on each server, the same each time; PGDISPATCH_WORLDS=N makes N others."""
    asked = os.environ.get("PGDISPATCH_WORLDS")
    worlds = int(asked or 500)
    seen = 0
    connection = prepared(db)

    @settings(
        max_examples=worlds,
        deadline=None,
        database=None,
        phases=[Phase.generate] if asked is None else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(world=WORLDS, trials=TRIALS)
    def writes(world: World, trials: list[Trial]) -> None:
        nonlocal seen
        tried(connection, world, trials)
        seen += 1

    with connection:
        (writes if asked else seed(part)(writes))()
    assert seen >= worlds
