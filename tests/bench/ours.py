"""The same work done by pgdispatch, with every gate, lock and constraint in force."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from pgdispatch import Dispatch, _calls
from pgdispatch._links import together
from pgdispatch.types import Actor
from tests.bench.floor import Connection

AGENTS = 8
CAPACITY = 50


@dataclass(frozen=True)
class World:
    """The workspace in the template database."""

    workspace: uuid.UUID
    person: uuid.UUID
    runtime: uuid.UUID
    agents: tuple[uuid.UUID, ...]


def make_world(conn: Connection) -> World:
    """Make a workspace with agents on one runtime."""
    world = World(
        uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), tuple(uuid.uuid4() for _ in range(AGENTS))
    )
    dispatch = Dispatch(conn)
    dispatch.put_workspace(world.workspace, "Bench", "BENCH")
    dispatch.put_member(world.workspace, world.person, "Ana", "owner")
    dispatch.put_runtime(world.workspace, world.runtime, "daemon")
    for agent in world.agents:
        dispatch.put_agent(
            world.workspace,
            agent,
            str(agent),
            world.person,
            world.runtime,
            max_concurrent_runs=CAPACITY,
        )
    return world


def put_one_by_one(conn: Connection, world: World, count: int, payload: object) -> None:
    """Queue wakes, each in a transaction of its own."""
    dispatch = Dispatch(conn)
    for number in range(count):
        answer = dispatch.queue_wake(
            world.workspace,
            world.agents[number % AGENTS],
            "bench",
            payload,
            chat_session_id=uuid.uuid4(),
        )
        assert answer.outcome == "queued"


def put_in_bulk(
    conn: Connection, world: World, count: int, payload: object, *, size: int = 1000
) -> None:
    """Queue wakes, so many with one call."""
    dispatch = Dispatch(conn)
    for at in range(0, count, size):
        wakes = [
            {
                "agent_id": world.agents[number % AGENTS],
                "reason": "bench",
                "payload": payload,
                "chat_session_id": str(uuid.uuid4()),
            }
            for number in range(at, min(at + size, count))
        ]
        answers = dispatch.queue_wakes(world.workspace, wakes)
        assert all(answer.outcome == "queued" for answer in answers)


def make_issues(conn: Connection, world: World, count: int) -> list[uuid.UUID]:
    """Make issues without an assignee."""
    dispatch, found = Dispatch(conn), []
    with dispatch.transaction() as both:
        for _ in range(count):
            made = both.create_issue(world.workspace, "Work", *Actor.user(world.person))
            assert made.issue_id is not None
            found.append(made.issue_id)
    return found


def assign(conn: Connection, world: World, issues: list[uuid.UUID]) -> None:
    """Assign issues, each in a transaction of its own; each starts a run."""
    dispatch = Dispatch(conn)
    for number, issue in enumerate(issues):
        assignee = {"type": "agent", "id": str(world.agents[number % AGENTS])}
        answer = dispatch.update_issue(
            world.workspace, issue, {"assignee": assignee}, *Actor.user(world.person)
        )
        assert answer.outcome == "queued"


def drain_by_steps(
    conn: Connection, world: World, size: int, done: Callable[[int], None]
) -> None:
    """Claim, start and complete until nothing waits: three transactions a batch."""
    dispatch = Dispatch(conn)
    workspace = world.workspace
    while claimed := dispatch.claim_runs(
        workspace, [world.runtime], max=size, per_agent=min(size, CAPACITY)
    ):
        if size == 1:
            (run,) = claimed
            assert dispatch.start_run(workspace, run.run_id, run.claim_no).applied
            assert dispatch.complete_run(workspace, run.run_id, run.claim_no).applied
        else:
            reports = [{"run_id": run.run_id, "claim_no": run.claim_no} for run in claimed]
            assert all(each.applied for each in dispatch.start_runs(workspace, reports))
            assert all(each.applied for each in dispatch.complete_runs(workspace, reports))
        done(len(claimed))


def drain_together(
    conn: Connection,
    world: World,
    size: int,
    done: Callable[[int], None],
    *,
    start: bool = True,
) -> None:
    """Complete the last and claim the next in one transaction, as a worker does.

    Without `start` what was claimed is started in a transaction between.
    """
    workspace = world.workspace
    claim = _calls.claim_runs(
        workspace, [world.runtime], max=size, per_agent=min(size, CAPACITY), start=start
    )
    (claimed,) = together(conn, [claim])
    while claimed:
        reports = [{"run_id": run.run_id, "claim_no": run.claim_no} for run in claimed]
        if not start:
            (started,) = together(conn, [_calls.start_runs(workspace, reports)])
            assert all(each.applied for each in started)
        ended, following = together(conn, [_calls.complete_runs(workspace, reports), claim])
        assert all(each.applied for each in ended)
        done(len(claimed))
        claimed = following


def completed(conn: Connection, world: World) -> int:
    """Count what is done."""
    row = conn.execute(
        "select count(*) from dispatch.run as r"
        " where r.workspace_id = %s and r.status = 'completed' and r.claim_no = 1",
        [world.workspace],
    ).fetchone()
    assert row is not None
    return int(row[0])
