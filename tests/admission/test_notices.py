"""What the gates say: a WARNING when an allowance acts or a key clashes, and nothing else."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

from pgdispatch import Decision, Dispatch, Outcome, ReasonCode
from tests.admission.support import assign, assignment, break_seam, counters, notices
from tests.concurrency.support import Connection, Fleet, make_fleet
from tests.support.clients import Kind
from tests.support.servers import Database

EXHAUSTED = "assignment allowance exhausted"
UNREADABLE = "assignment allowance not readable"
UNATTRIBUTED = "assignment names no issue"
TAKEN = "idempotency key taken"
ACTOR = "0190f7a0-0000-7000-8000-0000000000aa"


@pytest.fixture
def fleet(db: Database) -> Fleet:
    """A workspace with eight agents, at a pinned time."""
    db.set_clock()
    return make_fleet(db, agents=8)


@pytest.fixture
def admin(db: Database) -> Iterator[Connection]:
    """A session of the superuser."""
    with db.connect() as connection:
        yield connection


def exhaust(fleet: Fleet, connection: Connection) -> uuid.UUID:
    """Use up the allowance of a new issue by the first five agents."""
    (task,) = fleet.issues(connection, 1)
    for agent in fleet.agents[:5]:
        assert assign(fleet, connection, task, agent)["outcome"] == "queued"
    return task


def test_a_refusal_warns_with_its_five_fields(fleet: Fleet, admin: Connection) -> None:
    task = exhaust(fleet, admin)
    with notices(admin) as seen:
        payload = assignment(task, actor_id=ACTOR)
        answer = assign(fleet, admin, task, fleet.agents[5], payload=payload)
    assert answer["outcome"] == "rate_limited"
    assert seen == [
        (
            "WARNING",
            EXHAUSTED,
            {
                "task_id": str(task),
                "agent_id": str(fleet.agents[5]),
                "actor_id": ACTOR,
                "observed": 5,
                "allowance": 5,
            },
        )
    ]
    assert counters(admin) == {"allowance_exhausted": 1}


def test_a_failed_count_warns_with_the_error_and_no_count(
    fleet: Fleet, admin: Connection
) -> None:
    task = exhaust(fleet, admin)
    break_seam(admin, "_allowance_count")
    with notices(admin) as seen:
        payload = assignment(task, actor_id=ACTOR)
        answer = assign(fleet, admin, task, fleet.agents[5], payload=payload)
    assert answer["outcome"] == "queued"
    assert seen == [
        (
            "WARNING",
            UNREADABLE,
            {
                "task_id": str(task),
                "agent_id": str(fleet.agents[5]),
                "actor_id": ACTOR,
                "allowance": 5,
                "error": "broken read",
            },
        )
    ]
    assert counters(admin) == {"count_read_failed": 1}
    assert len(fleet.runs(admin)) == 6


@pytest.mark.parametrize("actor", [ACTOR, None])
def test_an_unattributed_wake_warns_without_a_task(
    fleet: Fleet, admin: Connection, actor: str | None
) -> None:
    payload = {"actor_type": "agent", "task_id": 42, "actor_id": actor}
    with notices(admin) as seen:
        answer = fleet.wake(admin, reason="task_assigned", payload=payload)
    assert answer["outcome"] == "queued"
    acting = {} if actor is None else {"actor_id": actor}
    detail = {"agent_id": str(fleet.agent), "allowance": 5, **acting}
    assert seen == [("WARNING", UNATTRIBUTED, detail)]


@pytest.mark.parametrize("own", [True, False])
def test_a_durable_duplicate_warns(
    db: Database, fleet: Fleet, admin: Connection, own: bool
) -> None:
    first = fleet.wake(admin, idempotency_key="k")
    db.advance(timedelta(hours=24))
    asked = fleet.agents[0 if own else 1]
    with notices(admin) as seen:
        answer = fleet.wake(admin, asked, idempotency_key="k")
    assert (answer["reason_code"], answer["run_id"]) == ("duplicate_key", first["run_id"])
    status = {"status": "queued"} if own else {}
    assert seen == [("WARNING", TAKEN, {"agent_id": str(asked), **status})]


def test_everything_else_is_silent(db: Database, fleet: Fleet, admin: Connection) -> None:
    (task,) = fleet.issues(admin, 1)
    answers = []
    with notices(admin) as seen:
        for agent in fleet.agents[:5]:
            answers.append(assign(fleet, admin, task, agent, idempotency_key=f"k {agent}"))
        assert counters(admin) == {}
        answers += [
            assign(fleet, admin, task, fleet.agents[0]),
            assign(fleet, admin, task, fleet.agents[0], coalesce=False),
            assign(fleet, admin, task, fleet.agents[6], idempotency_key=f"k {fleet.agent}"),
            assign(fleet, admin, task, fleet.agents[6], "user"),
            assign(fleet, admin, task, fleet.agents[7], None),
            fleet.wake(admin, uuid.uuid4()),
            fleet.wake(admin, fire_at=db.advance(timedelta(0)) + timedelta(hours=1)),
        ]
        fleet.call(admin, "pause_workspace", actor_type="system", reason="halt")
        answers.append(fleet.wake(admin))
        fleet.call(admin, "resume_workspace", actor_type="system")
        break_seam(admin, "_workspace_is_paused")
        answers.append(fleet.wake(admin))
    assert seen == []
    assert [answer["reason_code"] for answer in answers] == [
        *["queued"] * 5, "coalesced", "already_active", "duplicate_recent", "queued", "queued",
        "invocation_not_allowed", "deferred", "paused", "pause_unreadable",
    ]  # fmt: skip


def test_a_batch_warns_once_an_element_and_in_order(fleet: Fleet, admin: Connection) -> None:
    task = exhaust(fleet, admin)
    elements = [
        {"agent_id": str(agent), "reason": "task_assigned", "payload": assignment(given)}
        for agent, given in zip(fleet.agents[5:], (str(task), "", str(task)), strict=True)
    ]
    with notices(admin) as seen, admin.transaction():
        answers = fleet.call(admin, "queue_wakes", wakes=Jsonb(elements))
    assert [each["outcome"] for each in answers] == ["rate_limited", "queued", "rate_limited"]
    assert sorted((message, detail["agent_id"]) for _, message, detail in seen) == sorted(
        [
            (EXHAUSTED, str(fleet.agents[5])),
            (UNATTRIBUTED, str(fleet.agents[6])),
            (EXHAUSTED, str(fleet.agents[7])),
        ]
    )


@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
@pytest.mark.parametrize("target", ["dsn", "connection"])
def test_a_warning_becomes_a_record(
    db: Database,
    fleet: Fleet,
    admin: Connection,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    target: str,
) -> None:
    task = exhaust(fleet, admin)
    caplog.set_level(logging.DEBUG, "pgdispatch")

    def wake(dispatch: Dispatch) -> Decision:
        return dispatch.queue_wake(
            fleet.workspace, fleet.agents[5], "task_assigned", assignment(task, actor_id=ACTOR)
        )

    if target == "dsn":
        with Kind(kind).on_dsn(db.dsn) as dispatch:
            answer = wake(dispatch)
            dispatch.queue_wake(fleet.workspace, fleet.agents[5], "ordinary")
    else:
        with Kind(kind).on_connection(db.dsn) as (dispatch, _):
            answer = wake(dispatch)
            dispatch.queue_wake(fleet.workspace, fleet.agents[5], "ordinary")
    assert answer.outcome is Outcome.RATE_LIMITED
    assert answer.reason_code is ReasonCode.ALLOWANCE_EXHAUSTED
    (record,) = (each for each in caplog.records if each.name == "pgdispatch")
    assert record.levelno == logging.WARNING
    assert record.getMessage() == EXHAUSTED
    assert vars(record)["event"] == EXHAUSTED
    assert vars(record)["detail"] == {
        "task_id": str(task),
        "agent_id": str(fleet.agents[5]),
        "actor_id": ACTOR,
        "observed": 5,
        "allowance": 5,
    }
