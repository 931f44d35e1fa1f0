"""Pauses and counters through both clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pgdispatch import (
    Actor,
    Dispatch,
    GateCounter,
    InvalidArgument,
    NotAllowed,
    NotFound,
    Outcome,
    ReasonCode,
)
from tests.support.clients import Kind, World, make_world
from tests.support.servers import Database


@pytest.fixture(params=["blocking", "asyncio"])
def dispatch(request: pytest.FixtureRequest, db: Database) -> Iterator[Dispatch]:
    """Either client."""
    with Kind(request.param).on_dsn(db.dsn) as client:
        yield client


@pytest.fixture
def world(dispatch: Dispatch) -> World:
    """A workspace with one agent."""
    return make_world(dispatch)


def moved(dispatch: Dispatch) -> dict[str, int]:
    """Read the counters that are not 0."""
    return {each.reason: each.value for each in dispatch.gate_counters() if each.value}


def test_an_assignment_during_a_pause_runs_after_it(dispatch: Dispatch, world: World) -> None:
    ws = world.workspace
    assert dispatch.pause_workspace(ws, *world.actor, reason=" maintenance ") is True
    assert dispatch.pause_workspace(ws, *world.actor, reason="again") is False
    written = dispatch.create_issue(
        ws, "Write it", *world.actor, assignee_type="agent", assignee_id=world.agent
    )
    assert written.outcome is Outcome.BLOCKED
    assert written.reason_code is ReasonCode.PAUSED
    assert (written.run_id, written.assignment_generation) == (None, 1)
    assert dispatch.claim_runs(ws, [world.runtime]) == []
    assert dispatch.resume_workspace(ws, *world.actor) is True
    assert dispatch.resume_workspace(ws, *world.actor, reason="twice") is False
    (run,) = dispatch.claim_runs(ws, [world.runtime])
    assert (run.issue_id, run.agent_id) == (written.issue_id, world.agent)
    assert moved(dispatch) == {"paused": 1}


def test_who_may_not_is_told(dispatch: Dispatch, world: World) -> None:
    ws = world.workspace
    with pytest.raises(NotAllowed) as caught:
        dispatch.pause_workspace(ws, *Actor.agent(world.agent), reason="halt")
    assert caught.value.column == "p_actor_type"
    with pytest.raises(InvalidArgument) as missing:
        dispatch.pause_workspace(ws, *world.actor)
    assert missing.value.column == "p_reason"
    with pytest.raises(InvalidArgument):
        dispatch.resume_workspace(ws, *world.actor, reason="x" * 501)
    with pytest.raises(NotFound):
        dispatch.resume_workspace(world.agent, *Actor.system())


def test_the_counters_are_rows_by_metric_and_reason(dispatch: Dispatch, world: World) -> None:
    for _ in range(2):
        dispatch.queue_wake(world.workspace, world.agent, "nightly", idempotency_key="k")
    found = dispatch.gate_counters()
    assert found == sorted(found, key=lambda each: (each.metric, each.reason))
    assert len(found) == 18
    assert GateCounter("run_dedup", "duplicate_recent", 1) in found
    assert moved(dispatch) == {"duplicate_recent": 1}
