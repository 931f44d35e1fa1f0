"""`pgdispatch explain`: the steps as a table that a person reads, and as JSON."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pgdispatch import Actor, Dispatch
from pgdispatch.cli import main
from tests.support.servers import Database

WORKSPACE, ANA, RUNTIME, AGENT = (uuid.uuid4() for _ in range(4))


@pytest.fixture
def board(db: Database) -> Dispatch:
    """A workspace with an agent, issue ABC-1 queued for it and ABC-2 parked."""
    dispatch = Dispatch(db.dsn)
    dispatch.put_workspace(WORKSPACE, "Board", "ABC")
    dispatch.put_member(WORKSPACE, ANA, "Ana")
    dispatch.put_runtime(WORKSPACE, RUNTIME, "daemon")
    dispatch.heartbeat(WORKSPACE, [RUNTIME])
    dispatch.put_agent(WORKSPACE, AGENT, "Rex", ANA, RUNTIME)
    for status in ("todo", "backlog"):
        dispatch.create_issue(
            WORKSPACE, "Issue", *Actor.user(ANA), status=status, assignee_type="agent",
            assignee_id=AGENT,
        )  # fmt: skip
    return dispatch


def run(db: Database, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--dsn", db.dsn])


def asked(db: Database, issue: str) -> dict[str, Any]:
    done = run(db, issue, "--workspace", str(WORKSPACE), "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_a_table_says_where_it_stops(db: Database, board: Dispatch) -> None:
    done = run(db, "abc-2", "--workspace", str(WORKSPACE))
    assert done.exit_code == 0, done.output
    assert "parked_in_backlog" in done.output
    assert done.output.rstrip().endswith("It stops at: status.")
    assert [line for line in done.output.splitlines() if "pending_slot" in line]
    done = run(db, "ABC-1", "--workspace", str(WORKSPACE))
    assert done.output.rstrip().endswith("Nothing is in the way.")


def test_json_has_the_steps_in_their_order(db: Database, board: Dispatch) -> None:
    found = asked(db, "ABC-2")
    assert found["issue_id"] == str(board.resolve_issue(WORKSPACE, "ABC-2"))
    assert found["stops_at"] == "status"
    assert [each["step"] for each in found["steps"]] == [
        step.step for step in board.explain_issue(WORKSPACE, found["issue_id"])
    ]
    assert found["steps"][1] == {
        "step": "status",
        "ok": False,
        "reason_code": "not_triggered",
        "detail": {"status": "backlog", "why": "parked_in_backlog"},
    }
    assert asked(db, "ABC-1")["stops_at"] is None


@pytest.mark.parametrize("issue", ["ABC-3", "XYZ-1", "7efdafce-362f-4a9c-9e44-24cb5065eda7"])
def test_an_unknown_issue_ends_with_one(db: Database, board: Dispatch, issue: str) -> None:
    done = run(db, issue, "--workspace", str(WORKSPACE))
    assert done.exit_code == 1
    assert "not found" in done.output


def test_the_workspace_must_be_an_id(db: Database) -> None:
    assert run(db, "ABC-1").exit_code == 2
    assert run(db, "ABC-1", "--workspace", "ABC").exit_code == 2


def test_previews_answer_as_the_write(board: Dispatch) -> None:
    parked = board.resolve_issue(WORKSPACE, "ABC-2")
    (preview,) = board.preview_update(
        WORKSPACE, [parked, uuid.uuid4()], {"status": "todo"}, *Actor.user(ANA)
    )
    assert (preview.issue_id, preview.agent_id, preview.will_run) == (parked, AGENT, True)
    written = board.update_issue(WORKSPACE, parked, {"status": "todo"}, *Actor.user(ANA))
    assert (preview.outcome, preview.source) == (written.outcome, written.source)
    (created,) = board.preview_create(
        WORKSPACE, {"assignee": {"type": "agent", "id": AGENT}}, *Actor.system()
    )
    assert (created.issue_id, created.outcome) == (None, "blocked")
    assert created.reason_code == "invocation_not_allowed"
