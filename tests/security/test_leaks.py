"""Who may not invoke an agent cannot tell a private one from one that is not there."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.servers import NOON, Database

#: Private agents: 31 as it should be, 32 archived, 33 unbound, 34 paused, 35 on a runtime that
#: cannot execute; 38 is of another workspace, 39 of none. A squad 4N is led by 3N.
SETUP = """
select dispatch.put_workspace(dispatch_test.id(w), 'Workspace', 'WS' || w)
from generate_series(1, 2) as w;
select dispatch.put_member(dispatch_test.id(w), dispatch_test.id(11), 'Owner')
from generate_series(1, 2) as w;
select dispatch.put_member(dispatch_test.id(1), dispatch_test.id(12), 'Outsider', 'admin');
select dispatch.put_runtime(dispatch_test.id(w), dispatch_test.id(r), 'daemon')
from generate_series(1, 2) as w, generate_series(21, 22) as r;
select dispatch.heartbeat(dispatch_test.id(w), array[dispatch_test.id(21)])
from generate_series(1, 2) as w;
select dispatch.set_runtime_offline(
    dispatch_test.id(1), dispatch_test.id(22), 'not_executable'
);
select dispatch.put_agent(
    dispatch_test.id(a.workspace), dispatch_test.id(a.id), 'Agent', dispatch_test.id(11),
    dispatch_test.id(a.runtime)
)
from (
    values (1, 30, 21), (1, 31, 21), (1, 32, 21), (1, 33, null), (1, 34, 21), (1, 35, 22),
        (2, 38, 21)
) as a (workspace, id, runtime);
select dispatch.put_agent(
    dispatch_test.id(1), dispatch_test.id(30), 'Open', dispatch_test.id(11),
    p_permission => 'public_to'
);
select dispatch.grant_invoke(dispatch_test.id(1), dispatch_test.id(30), 'workspace');
select dispatch.put_squad(
    dispatch_test.id(s.workspace), dispatch_test.id(s.id + 10), 'Squad', dispatch_test.id(s.id)
)
from (values (1, 31), (1, 32), (1, 33), (1, 34), (1, 35), (2, 38)) as s (workspace, id);
select dispatch.archive_agent(dispatch_test.id(1), dispatch_test.id(32));
select dispatch.set_agent_status(dispatch_test.id(1), dispatch_test.id(34), 'paused');
select dispatch.create_issue(
    dispatch_test.id(1), 'Issue', 'user', dispatch_test.id(12),
    p_assignee_type => 'agent', p_assignee_id => dispatch_test.id(30),
    p_issue_id => dispatch_test.id(51)
);
insert into dispatch.comment (
    workspace_id, id, issue_id, author_type, body, created_at, updated_at
)
select
    dispatch_test.id(1), dispatch_test.id(61), dispatch_test.id(51), 'user', 'Old.',
    dispatch.clock(), dispatch.clock()
"""

AGENTS = (31, 32, 33, 34, 35, 38, 39)
SQUADS = (41, 42, 43, 44, 45, 48, 49)
ISSUE = "dispatch_test.id(51)"

#: Every function that serves an actor and can name an agent, as calls on a target.
CALLS = {
    "can_invoke_agent": "dispatch.can_invoke_agent(dispatch_test.id(1), %(target)s, {actor})",
    "create_issue": (
        "dispatch.create_issue(dispatch_test.id(1), 'New', {actor}, "
        "p_assignee_type => %(kind)s, p_assignee_id => %(target)s)"
    ),
    "update_issue": (
        f"dispatch.update_issue(dispatch_test.id(1), {ISSUE}, %(changes)s, {{actor}})"
    ),
    "update_issues": (
        f"dispatch.update_issues(dispatch_test.id(1), array[{ISSUE}], %(changes)s, {{actor}})"
    ),
    "preview_create": "dispatch.preview_create(dispatch_test.id(1), %(changes)s, {actor})",
    "preview_update": (
        f"dispatch.preview_update(dispatch_test.id(1), array[{ISSUE}], %(changes)s, {{actor}})"
    ),
    "add_comment": (
        f"dispatch.add_comment(dispatch_test.id(1), {ISSUE}, 'New.', {{actor}}, "
        "p_mentions => %(mentions)s)"
    ),
    "edit_comment": (
        "dispatch.edit_comment(dispatch_test.id(1), dispatch_test.id(61), 'New.', {actor}, "
        "p_mentions => %(mentions)s)"
    ),
}

#: What an answer about a comment says of itself: the comment that it made, and its target.
OWN_WORDS = {"add_comment": 3, "edit_comment": 3}

#: Producers of wakes are trusted: they pass no invoke gate.
TRUSTED = {"queue_wake", "queue_wakes"}

ACTORS = {
    "an admin": "'user', dispatch_test.id(12)",
    "the system": "'system'",
    "nobody": "'user'",
    "an agent in no run": "'agent', dispatch_test.id(30)",
    "an agent for the admin": (
        "'agent', dispatch_test.id(30), (select r.id from dispatch.run as r)"
    ),
}


def test_no_other_function_takes_an_actor_and_an_agent(catalog_db: Database) -> None:
    found = catalog_db.execute(
        """
        select p.proname
        from pg_proc as p
        where p.pronamespace = 'dispatch'::regnamespace
            and p.proname !~ '^_'
            and 'p_actor_type' = any(p.proargnames)
            and p.proargnames && array[
                'p_agent_id', 'p_assignee_id', 'p_changes', 'p_mentions', 'p_wakes'
            ]
        """
    )
    assert {name for (name,) in found} - TRUSTED == set(CALLS)


def answer(connection: psycopg.Connection[Any], sql: str, given: dict[str, Any]) -> Any:
    """All that a caller can see of a call: its rows, or each part of its error."""
    try:
        with connection.transaction(force_rollback=True):
            return connection.execute(f"select * from {sql}".encode(), given).fetchall()
    except psycopg.Error as error:
        told = error.diag
        return (
            told.sqlstate, told.message_primary, told.message_detail, told.message_hint,
            told.column_name, told.table_name, told.constraint_name, told.severity,
        )  # fmt: skip


@pytest.mark.parametrize("actor", ACTORS.values(), ids=ACTORS.keys())
def test_every_answer_about_an_agent_that_is_not_open_is_one(db: Database, actor: str) -> None:
    db.set_clock(NOON)
    db.execute(SETUP)
    db.execute("update dispatch.run set status = 'running', claim_no = 1")
    with db.connect() as connection:
        notices: list[str | None] = []
        connection.add_notice_handler(lambda said: notices.append(said.message_primary))
        for name, call in CALLS.items():
            for kind, targets in (("agent", AGENTS), ("squad", SQUADS)):
                if kind == "squad" and name == "can_invoke_agent":
                    continue
                seen = {}
                for number in targets:
                    target = f"00000000-0000-7000-8000-{number:012d}"
                    given = {
                        "target": target,
                        "kind": kind,
                        "changes": Jsonb({"assignee": {"type": kind, "id": target}}),
                        "mentions": Jsonb([{"type": kind, "id": target}]),
                    }
                    told = answer(connection, call.format(actor=actor), given)
                    if name in OWN_WORDS:
                        assert [(row[1], str(row[2])) for row in told] == [(kind, target)]
                        told = [row[OWN_WORDS[name] :] for row in told]
                    seen[number] = told
                assert len({repr(each) for each in seen.values()}) == 1, (name, kind, seen)
                said = repr(seen)
                assert name == "can_invoke_agent" or "invocation_not_allowed" in said, seen
        assert notices == []


def test_a_promotion_is_no_oracle(db: Database) -> None:
    """The preview of a promotion says alike of every agent that is not open."""
    db.set_clock(NOON)
    db.execute(SETUP)
    db.execute(
        """
        insert into dispatch.issue (
            workspace_id, id, number, title, status, priority, assignee_type, assignee_id,
            creator_type, created_at, updated_at
        )
        select
            dispatch_test.id(1), dispatch_test.id(100 + n), 100 + n, 'Parked', 'backlog',
            'none', case when n < 40 then 'agent' else 'squad' end, dispatch_test.id(n),
            'system', dispatch.clock(), dispatch.clock()
        from unnest(%s::integer[]) as n
        """,
        [[*AGENTS, *SQUADS]],
    )
    told = db.execute(
        """
        select distinct p.agent_id, p.source, p.will_run, p.outcome, p.reason_code, p.detail
        from dispatch.preview_update(
            dispatch_test.id(1),
            array(select dispatch_test.id(n) from generate_series(1, 200) as n),
            '{"status": "todo"}', 'user', dispatch_test.id(12)
        ) as p
        where p.issue_id <> dispatch_test.id(51)
        """
    )
    assert told == [(None, None, False, "none", "not_triggered", {"why": "not_invocable"})]


def test_a_comment_is_no_oracle(db: Database) -> None:
    """Comments that name nobody say alike of every agent that is not open.

    Each issue has one as its assignee; on each a comment is written, and a reply to that agent.
    """
    db.set_clock(NOON)
    db.execute(SETUP)
    agents = [number for number in AGENTS if number < 38]
    squads = [number for number in SQUADS if number < 48]
    db.execute(
        """
        insert into dispatch.issue (
            workspace_id, id, number, title, status, priority, assignee_type, assignee_id,
            creator_type, created_at, updated_at
        )
        select
            dispatch_test.id(1), dispatch_test.id(100 + n), 100 + n, 'Kept', 'todo', 'none',
            case when n < 40 then 'agent' else 'squad' end, dispatch_test.id(n), 'system',
            dispatch.clock(), dispatch.clock()
        from unnest(%s::integer[]) as n
        """,
        [[*agents, *squads]],
    )
    db.execute(
        """
        insert into dispatch.comment (
            workspace_id, id, issue_id, author_type, author_id, body, created_at, updated_at
        )
        select
            dispatch_test.id(1), dispatch_test.id(200 + n), dispatch_test.id(100 + n), 'agent',
            dispatch_test.id(n), 'Said by it.', dispatch.clock(), dispatch.clock()
        from unnest(%s::integer[]) as n
        """,
        [agents],
    )
    told = """
        select distinct a.outcome, a.reason_code, a.run_id, a.agent_id, a.target_id is null
        from unnest(%s::integer[]) as n
        cross join dispatch.add_comment(
            dispatch_test.id(1), dispatch_test.id(100 + n), 'Please.', 'user',
            dispatch_test.id(12), p_parent_id => dispatch_test.id(200 + n * %s)
        ) as a
    """
    refused = [("blocked", "invocation_not_allowed", None, None, False)]
    assert db.execute(told, [agents, None]) == refused
    assert db.execute(told, [squads, None]) == refused
    assert db.execute(told, [agents, 1]) == [("none", "not_triggered", None, None, True)]
    events = "select distinct e.reason from dispatch.gate_event as e"
    assert db.execute(events) == [("invocation_not_allowed",)]
