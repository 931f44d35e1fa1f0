from __future__ import annotations

from typing import Any

import psycopg

from pgdispatch.types import Id
from tests.support.calls import CALLS, WS, ZERO, hint_of, sample
from tests.support.servers import Database

# Words that the functions know, where any text would do for the client.
WORDS: dict[str, Any] = {
    "actor_type": "system",
    "assignee_type": None,
    "attribution_policy": "fail_closed",
    "issue_prefix": "ABC",
    "permission": "private",
    "role": "member",
    "target_type": "workspace",
}
# Ids that would refer to something that is not there.
ABSENT = dict.fromkeys(
    ("actor_id", "acting_run_id", "assignee_id", "originator_id", "parent_id", "target_id")
)
# No function stands behind the first. The second looks an all-zero reference up, and finds
# nothing. The third takes NULL for an empty payload, where None could mean JSON's null as well,
# and comments take it for no mentions.
EXCEPT = {
    ("queue_depth", "workspace_id"),
    ("queue_depth", "agent_id"),
    ("resolve_issue", "reference", ZERO),
    ("queue_wake", "payload"),
    ("add_comment", "mentions"),
    ("edit_comment", "mentions"),
}


def valid(name: str) -> dict[str, Any]:
    given = sample(CALLS[name])
    given.update({key: value for key, value in (WORDS | ABSENT).items() if key in given})
    if name == "set_agent_status":
        given["status"] = "active"
    elif name == "create_issue":
        given |= {"status": "todo", "priority": "none"}
    elif "mentions" in given:
        given["mentions"] = []
    return given


def test_the_functions_refuse_what_the_client_refuses(db: Database) -> None:
    """Goes around the client's checks: NULL and all-zero ids, one argument at a time."""
    db.execute("select dispatch.put_workspace(%s, 'Acme')", [WS])
    answers = {}
    with db.connect() as conn:
        for name, declared in CALLS.items():
            call = declared(**valid(name))
            for argument in call.args:
                hint, optional = hint_of(declared, argument)
                bad: list[Any] = [] if optional else [None]
                bad += [ZERO] if hint == Id else []
                for value in bad:
                    if EXCEPT & {(name, argument), (name, argument, value)}:
                        continue
                    try:
                        conn.execute(call.sql.encode(), {**call.args, argument: value})
                        answers[name, argument, value] = "accepted"
                    except psycopg.Error as exc:
                        answers[name, argument, value] = (
                            f"{exc.sqlstate} {exc.diag.column_name} {exc.diag.message_hint}"
                        )
    assert len(answers) > 150
    assert {
        each: answer
        for each, answer in answers.items()
        if not answer.startswith(f"PD400 p_{each[1]} p_{each[1]}: ")
    } == {}
