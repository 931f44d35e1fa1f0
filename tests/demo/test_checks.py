"""The demonstration's checks find what they are there to find."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import psycopg
import pytest

from pgdispatch import Actor, Dispatch
from pgdispatch.demo.checks import check_all, failures, figures
from pgdispatch.demo.world import World, make_world
from tests.support.servers import Database

ISSUES = "every issue ran exactly once, to its end"
EXECUTIONS = "every started run was executed exactly once"
CAPACITY = "no agent had more runs at once than its capacity"
PAIRS = "no two runs of one issue and agent at once"


@dataclass
class History:
    """Three issues of one agent that were done one after the other, the last one in vain."""

    world: World
    issues: list[uuid.UUID]
    executed: list[uuid.UUID]


@pytest.fixture
def history(db: Database) -> History:
    with Dispatch(db.dsn) as dispatch:
        world = make_world(dispatch)
        alpha, workspace = world.alpha, world.workspace
        done = History(world, [], [])
        for number in range(3):
            issue = dispatch.create_issue(
                workspace,
                f"Issue {number}",
                *Actor.user(world.ana.id),
                assignee_type="agent",
                assignee_id=alpha.id,
            )
            assert issue.issue_id is not None
            done.issues.append(issue.issue_id)
        dispatch.heartbeat(workspace, [alpha.runtime.id])
        for _ in done.issues:
            (run,) = dispatch.claim_runs(workspace, [alpha.runtime.id], start=True)
            done.executed.append(run.run_id)
            if run.issue_id == done.issues[-1]:
                dispatch.fail_run(workspace, run.run_id, run.claim_no, "agent_error", "broken")
            else:
                dispatch.complete_run(workspace, run.run_id, run.claim_no)
    return done


def broken(db: Database, history: History, **given: list[uuid.UUID]) -> set[str]:
    """Name the promises that are reported as broken."""
    alpha = history.world.alpha
    with db.connect(role="dispatch_reader") as connection:
        found = check_all(
            connection,
            history.world.workspace,
            given.get("issues", history.issues),
            {alpha.id: (alpha.name, alpha.capacity)},
            given.get("executed", history.executed),
        )
    assert [check.promise for check in found] == [ISSUES, EXECUTIONS, CAPACITY, PAIRS]
    return {check.promise for check in found if not check.holds}


def test_a_true_history_breaks_nothing(db: Database, history: History) -> None:
    assert broken(db, history) == set()
    with db.connect(role="dispatch_reader") as connection:
        (row,) = figures(connection, history.world.workspace)
        (failure,) = failures(connection, history.world.workspace)
    assert (row.agent_id, row.runs, row.completed, row.failed) == (
        history.world.alpha.id,
        3,
        2,
        1,
    )
    assert row.most_at_once == 1
    assert row.wait_p50 is not None and row.wait_p99 is not None
    assert 0 < row.wait_p50 <= row.wait_p99
    assert (failure.issue_id, failure.error) == (history.issues[-1], "broken")


def test_a_run_that_has_not_ended_is_found(db: Database, history: History) -> None:
    with Dispatch(db.dsn) as dispatch:
        waiting = dispatch.create_issue(
            history.world.workspace,
            "One more",
            *Actor.user(history.world.ana.id),
            assignee_type="agent",
            assignee_id=history.world.alpha.id,
        )
    assert waiting.issue_id is not None
    assert broken(db, history, issues=[*history.issues, waiting.issue_id]) == {ISSUES}


def test_an_issue_without_a_run_is_found(db: Database, history: History) -> None:
    assert broken(db, history, issues=[*history.issues, uuid.uuid4()]) == {ISSUES}


def test_a_run_that_nobody_asked_for_is_found(db: Database, history: History) -> None:
    assert broken(db, history, issues=history.issues[1:]) == {ISSUES}


@pytest.mark.parametrize("change", ["twice", "never", "unknown"])
def test_an_execution_too_many_or_too_few_is_found(
    db: Database, history: History, change: str
) -> None:
    executed = {
        "twice": [*history.executed, history.executed[0]],
        "never": history.executed[1:],
        "unknown": [*history.executed, uuid.uuid4()],
    }[change]
    assert broken(db, history, executed=executed) == {EXECUTIONS}


def test_more_runs_at_once_than_the_capacity_are_found(db: Database, history: History) -> None:
    first, second, _ = history.executed
    db.execute(
        """
        update dispatch.run as r
        set dispatched_at = f.dispatched_at
        from dispatch.run as f
        where r.id = %s and f.id = %s
        """,
        [second, first],
    )
    assert broken(db, history) == {CAPACITY}


def test_a_place_filled_at_the_instant_it_became_free_is_none_too_many(
    db: Database, history: History
) -> None:
    first, second, _ = history.executed
    db.execute(
        """
        update dispatch.run as r
        set dispatched_at = f.finished_at
        from dispatch.run as f
        where r.id = %s and f.id = %s
        """,
        [second, first],
    )
    assert broken(db, history) == set()


def test_two_runs_of_a_pair_at_once_are_found(db: Database, history: History) -> None:
    first, second, _ = history.executed
    db.execute(
        """
        update dispatch.run as r
        set issue_id = f.issue_id, dispatched_at = f.dispatched_at
        from dispatch.run as f
        where r.id = %s and f.id = %s
        """,
        [second, first],
    )
    assert broken(db, history) == {ISSUES, CAPACITY, PAIRS}


def test_the_checks_can_be_made_without_any_run(db: Database) -> None:
    with Dispatch(db.dsn) as dispatch:
        world = make_world(dispatch)
    assert broken(db, History(world, [], [])) == set()


def test_work_is_dealt_out_by_capacity_and_all_askers_may_ask(db: Database) -> None:
    with Dispatch(db.dsn) as dispatch:
        world = make_world(dispatch)
        dealt = [share for share, _ in zip(world.shares(), range(70), strict=False)]
        counts = {agent.name: sum(each is agent for each, _ in dealt) for agent in world.agents}
        assert counts == {"alpha": 10, "beta": 20, "gamma": 40}
        for agent, person in set(dealt):
            assert dispatch.can_invoke_agent(world.workspace, agent.id, "user", person.id)
        assert not dispatch.can_invoke_agent(
            world.workspace, world.alpha.id, "user", world.ben.id
        )


def test_the_checks_need_no_more_than_the_reader_s_rights(db: Database) -> None:
    with (
        db.connect(role="dispatch_reader") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("select from dispatch.run")
