from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgdispatch import (
    Actor,
    Conflict,
    Dispatch,
    DispatchError,
    InvalidArgument,
    NotAllowed,
    NotFound,
    Outcome,
    ReasonCode,
    RunStatus,
)
from tests.support.clients import Kind, World, make_world
from tests.support.servers import Database

MINUTE = dt.timedelta(minutes=1)


@pytest.fixture(params=["blocking", "asyncio"])
def dispatch(request: pytest.FixtureRequest, db: Database) -> Iterator[Dispatch]:
    with Kind(request.param).on_dsn(db.dsn) as client:
        yield client


@pytest.fixture
def world(dispatch: Dispatch) -> World:
    return make_world(dispatch)


def test_an_issue_becomes_a_run_and_is_done(dispatch: Dispatch, world: World) -> None:
    written = dispatch.create_issue(
        world.workspace, "Write it", *world.actor, "todo", "high", "agent", world.agent,
        handoff_note="mind the \x00",
    )  # fmt: skip
    assert written.outcome is Outcome.QUEUED
    assert written.reason_code is ReasonCode.QUEUED
    assert written.identifier == "ACME-1"
    assert written.assignment_generation == 1
    assert written.agent_id == world.agent
    assert written.source == "assign"
    assert isinstance(written.run_id, uuid.UUID)
    assert dispatch.resolve_issue(world.workspace, "ACME-1") == written.issue_id

    (depth,) = dispatch.queue_depth(world.workspace)
    assert (depth.agent_id, depth.status, depth.runs) == (world.agent, RunStatus.QUEUED, 1)
    assert depth.oldest_requested_at.tzinfo is not None
    assert dispatch.queue_depth(world.workspace, uuid.uuid4()) == []

    (run,) = dispatch.claim_runs(world.workspace, [world.runtime], max=5)
    assert run.run_id == written.run_id
    assert run.workspace_id == world.workspace
    assert run.runtime_id == world.runtime
    assert run.issue_id == written.issue_id
    assert (run.claim_no, run.attempt, run.reclaimed) == (1, 1, False)
    assert run.reason == "task_assigned"
    assert run.payload["task_id"] == str(written.issue_id)
    assert run.payload["actor_type"] == "user"
    assert [trigger["source"] for trigger in run.triggers] == ["assign"]
    assert run.handoff_note == "mind the \ufffd"
    assert run.originator_id == run.accountable_id == world.ana
    assert run.lease_expires_at is not None
    assert run.lease_expires_at - run.dispatched_at == dispatch.prepare_lease()

    extended = dispatch.extend_lease(world.workspace, run.run_id, 1, 10 * MINUTE)
    assert (extended.applied, extended.status) == (True, RunStatus.DISPATCHED)
    started = dispatch.start_run(world.workspace, run.run_id, 1, 5 * MINUTE)
    assert (started.applied, started.status, started.claim_no) == (True, RunStatus.RUNNING, 1)
    done = dispatch.complete_run(world.workspace, run.run_id, 1, {"out": "a\x00b"}, "s", "/w")
    assert (done.applied, done.status) == (True, RunStatus.COMPLETED)
    again = dispatch.complete_run(world.workspace, run.run_id, 1, {"out": "a\x00b"}, "s", "/w")
    assert again == done
    late = dispatch.fail_run(world.workspace, run.run_id, 1, "agent_error", "late")
    assert (late.applied, late.reason) == (False, "already_terminal")


def test_results_and_errors_are_stored_with_their_bad_characters_replaced(
    dispatch: Dispatch, world: World, db: Database
) -> None:
    for title in ("One", "Two"):
        dispatch.create_issue(
            world.workspace, title, *world.actor, assignee_type="agent", assignee_id=world.agent
        )
    done, lost = dispatch.claim_runs(
        world.workspace, [world.runtime], max=2, per_agent=2, start=True
    )
    assert dispatch.complete_run(
        world.workspace, done.run_id, done.claim_no, {"o": "a\x00\ud800", "\x00": 1}
    ).applied
    assert dispatch.fail_run(
        world.workspace, lost.run_id, lost.claim_no, error="x\x00y\udfff"
    ).applied
    stored = "select r.result, r.error from dispatch.runs as r where r.id = %s"
    assert db.execute(stored, [done.run_id]) == [({"o": "a\ufffd\ufffd", "\ufffd": 1}, None)]
    assert db.execute(stored, [lost.run_id]) == [(None, "x\ufffdy\ufffd")]


@pytest.mark.parametrize("unclean", ["a\x00b", "a\ud800b"])
def test_the_database_refuses_what_the_client_replaces(db: Database, unclean: str) -> None:
    with db.connect() as conn, pytest.raises((psycopg.DataError, UnicodeEncodeError)):
        conn.execute("select %s::jsonb", [json.dumps({"out": unclean})])
    with db.connect() as conn, pytest.raises((psycopg.DataError, UnicodeEncodeError)):
        conn.execute("select %s::text", [unclean])


def test_an_empty_queue_is_an_answer(dispatch: Dispatch, world: World) -> None:
    assert dispatch.claim_run(world.workspace, world.agent) is None
    assert dispatch.claim_run(world.workspace, uuid.uuid4()) is None
    assert dispatch.claim_runs(world.workspace, [world.runtime, uuid.uuid4()]) == []
    assert dispatch.claim_runs(world.workspace, []) == []
    assert dispatch.reclaim_runs(world.workspace, [world.runtime]) == []
    assert dispatch.recover_runtime(world.workspace, world.runtime) == []
    assert dispatch.promote_deferred(world.workspace) == 0
    assert dispatch.heartbeat(world.workspace, [world.runtime, uuid.uuid4()]) == 1
    assert dispatch.queue_depth(world.workspace) == []


def test_a_deferred_wake_waits_for_its_time(dispatch: Dispatch, world: World) -> None:
    at = dispatch.clock() + dt.timedelta(days=1)
    answer = dispatch.queue_wake(
        world.workspace, world.agent, "later", {"a": [1]}, "key", fire_at=at, max_attempts=1
    )
    assert answer.outcome is Outcome.DEFERRED
    assert dispatch.promote_deferred(world.workspace, [world.runtime]) == 0
    assert dispatch.claim_run(world.workspace, world.agent) is None
    (depth,) = dispatch.queue_depth(world.workspace, world.agent)
    assert depth.status is RunStatus.DEFERRED


def test_batches_answer_in_the_order_given(dispatch: Dispatch, world: World) -> None:
    issues = [
        dispatch.create_issue(world.workspace, f"Issue {n}", *world.actor).issue_id
        for n in range(3)
    ]
    wakes = [
        {"agent_id": world.agent, "reason": "note", "issue_id": issue, "payload": {"n": n}}
        for n, issue in enumerate(issues)
    ]
    wakes.insert(1, {"agent_id": uuid.uuid4(), "reason": "note"})
    answers = dispatch.queue_wakes(world.workspace, wakes)
    assert [answer.outcome for answer in answers] == ["queued", "blocked", "queued", "queued"]
    assert answers[1].reason_code is ReasonCode.INVOCATION_NOT_ALLOWED
    assert answers[1].run_id is None

    runs = dispatch.claim_runs(
        world.workspace, [world.runtime], max=3, per_agent=3, start=False, lease=MINUTE
    )
    assert [run.run_id for run in runs] == [answers[n].run_id for n in (0, 2, 3)]
    reports = [{"run_id": run.run_id, "claim_no": run.claim_no} for run in runs]
    stale = {"run_id": runs[0].run_id, "claim_no": 99}
    started = dispatch.start_runs(
        world.workspace, [*({**each, "lease": MINUTE} for each in reports), stale]
    )
    assert [each.applied for each in started] == [True, True, True, False]
    assert started[3].reason == "superseded"
    done = dispatch.complete_runs(
        world.workspace, [{**each, "result": {"o": "\x00"}} for each in reports[:2]]
    )
    assert [each.status for each in done] == [RunStatus.COMPLETED] * 2
    (failed,) = dispatch.fail_runs(
        world.workspace, [{**reports[2], "failure_reason": "agent_error", "error": "\x00"}]
    )
    assert failed.status is RunStatus.FAILED


def test_a_run_can_be_given_back_put_off_and_cancelled(
    dispatch: Dispatch, world: World
) -> None:
    run_id = dispatch.queue_wake(world.workspace, world.agent, "note").run_id
    assert run_id is not None
    first = dispatch.claim_run(world.workspace, world.agent, world.runtime)
    assert first is not None
    assert dispatch.requeue_run(world.workspace, run_id, 1).status is RunStatus.QUEUED
    second = dispatch.claim_run(world.workspace, world.agent)
    assert second is not None
    assert second.claim_no == 2
    assert dispatch.requeue_run(world.workspace, run_id, 1).reason == "superseded"
    waiting = dispatch.wait_run(world.workspace, run_id, 2, "directory in use")
    assert waiting.status is RunStatus.WAITING_LOCAL_DIRECTORY
    until = dispatch.clock() + dt.timedelta(hours=1)
    assert dispatch.defer_run(world.workspace, run_id, 2, until).status is RunStatus.DEFERRED
    gone = dispatch.cancel_run(world.workspace, run_id, *world.actor, reason="no need")
    assert (gone.applied, gone.status) == (True, RunStatus.CANCELLED)
    unknown = dispatch.cancel_run(world.workspace, uuid.uuid4(), "system")
    assert (unknown.applied, unknown.reason) == (False, "not_found")


def test_a_restarted_daemon_gets_its_runs_again(dispatch: Dispatch, world: World) -> None:
    run_id = dispatch.create_issue(
        world.workspace, "One", *world.actor, assignee_type="agent", assignee_id=world.agent
    ).run_id
    (run,) = dispatch.claim_runs(world.workspace, [world.runtime], start=True)
    assert run.run_id == run_id
    (lost,) = dispatch.recover_runtime(world.workspace, world.runtime)
    assert (lost.applied, lost.run_id, lost.status) == (True, run_id, RunStatus.FAILED)
    retried = dispatch.claim_run(world.workspace, world.agent)
    assert retried is not None
    assert retried.run_id == lost.retry_run_id
    assert retried.attempt == 2


def test_the_directory_can_be_written(dispatch: Dispatch, world: World) -> None:
    ben, team, squad = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    ws = world.workspace
    dispatch.put_member(ws, ben, "Ben")
    dispatch.put_team(ws, team, "Core")
    dispatch.put_team_member(ws, team, ben)
    dispatch.remove_team_member(ws, team, ben)
    assert dispatch.can_invoke_agent(ws, world.agent, *Actor.user(world.ana)) is True
    assert dispatch.can_invoke_agent(ws, world.agent, *Actor.user(ben)) is False
    dispatch.put_agent(ws, world.agent, "alpha", world.ana, permission="public_to")
    dispatch.grant_invoke(ws, world.agent, "member", ben)
    assert dispatch.can_invoke_agent(ws, world.agent, *Actor.user(ben)) is True
    dispatch.revoke_invoke(ws, world.agent, "member", ben)
    assert dispatch.can_invoke_agent(ws, world.agent, *Actor.user(ben)) is False
    dispatch.put_squad(ws, squad, "Squad", world.agent)
    dispatch.archive_squad(ws, squad)
    dispatch.set_agent_status(ws, world.agent, "paused")
    assert dispatch.queue_wake(ws, world.agent, "note").reason_code == "agent_not_runnable"
    dispatch.set_agent_status(ws, world.agent, "active")
    dispatch.set_runtime_offline(ws, world.runtime, "not_executable")
    assert dispatch.queue_wake(ws, world.agent, "note").reason_code == "runtime_unusable"
    dispatch.heartbeat(ws, [world.runtime])
    assert dispatch.queue_wake(ws, world.agent, "note").outcome == "queued"
    dispatch.bind_agent(ws, world.agent, None)
    assert dispatch.queue_wake(ws, world.agent, "other").reason_code == "agent_runtime_required"
    assert dispatch.archive_agent(ws, world.agent) == 1
    dispatch.remove_member(ws, ben)
    assert dispatch.delete_workspace(ws, "system") == 0


def test_issues_can_be_changed_and_deleted(dispatch: Dispatch, world: World) -> None:
    ws = world.workspace
    one = dispatch.create_issue(ws, "One", *world.actor, status="backlog").issue_id
    two = dispatch.create_issue(ws, "Two", *world.actor).issue_id
    assert one is not None
    assert two is not None
    assignee = {"type": "agent", "id": world.agent}
    parked = dispatch.update_issue(ws, one, {"assignee": assignee}, *world.actor)
    assert (parked.outcome, parked.reason_code) == (Outcome.NONE, ReasonCode.NOT_TRIGGERED)
    assert parked.detail == {"why": "parked_in_backlog"}
    promoted = dispatch.update_issue(ws, one, {"status": "todo"}, *world.actor)
    assert (promoted.outcome, promoted.source) == (Outcome.QUEUED, "status")
    unknown = uuid.uuid4()
    answers = dispatch.update_issues(
        ws, [two, unknown], {"assignee": assignee, "priority": "low"}, *world.actor
    )
    assert [(each.issue_id, each.outcome) for each in answers] == [
        (two, Outcome.QUEUED),
        (unknown, Outcome.NONE),
    ]
    assert dispatch.delete_issue(ws, one, *world.actor) == 1
    with pytest.raises(NotFound) as caught:
        dispatch.resolve_issue(ws, one)
    assert caught.value.column == "p_reference"


def test_comments_can_be_written_changed_and_deleted(dispatch: Dispatch, world: World) -> None:
    ws = world.workspace
    issue = dispatch.create_issue(ws, "One", *world.actor).issue_id
    assert issue is not None
    (quiet,) = dispatch.add_comment(ws, issue, "Hello.", *world.actor)
    assert isinstance(quiet.comment_id, uuid.UUID)
    assert (quiet.target_type, quiet.target_id, quiet.run_id) == (None, None, None)
    assert (quiet.outcome, quiet.reason_code) == (Outcome.NONE, ReasonCode.NOT_TRIGGERED)

    mentions: list[dict[str, object]] = [
        {"type": "agent", "id": world.agent},
        {"type": "agent", "id": "none"},
    ]
    woken, malformed = dispatch.add_comment(
        ws, issue, "You two.", *world.actor, mentions=mentions, parent_id=quiet.comment_id
    )
    assert (woken.target_type, woken.target_id) == ("agent", world.agent)
    assert (woken.outcome, woken.agent_id) == (Outcome.QUEUED, world.agent)
    assert (malformed.target_type, malformed.target_id) == ("agent", None)
    assert malformed.reason_code is ReasonCode.TARGET_UNAVAILABLE

    (edited,) = dispatch.edit_comment(
        ws, woken.comment_id, "You alone.", *world.actor, mentions=mentions[:1]
    )
    assert edited.outcome is Outcome.QUEUED
    assert edited.comment_id == woken.comment_id
    assert edited.run_id != woken.run_id
    (run,) = dispatch.claim_runs(ws, [world.runtime])
    assert run.run_id == edited.run_id
    assert run.reason == "task_mentioned"
    assert run.payload == {"task_id": str(issue), "comment_id": str(woken.comment_id)}
    assert [each["comment_id"] for each in run.triggers] == [str(woken.comment_id)]

    (gone,) = dispatch.delete_comment(ws, quiet.comment_id, *world.actor)
    assert (gone.comment_id, gone.outcome) == (quiet.comment_id, Outcome.NONE)
    late = dispatch.start_run(ws, run.run_id, run.claim_no)
    assert (late.applied, late.status) == (False, RunStatus.CANCELLED)
    with pytest.raises(NotFound) as caught:
        dispatch.delete_comment(ws, woken.comment_id, *world.actor)
    assert caught.value.column == "p_comment_id"


def test_payloads_are_read_without_raising(dispatch: Dispatch) -> None:
    assert dispatch.read_payload(None) == {}
    assert dispatch.read_payload('{"a": 1}') == {"a": 1}
    assert dispatch.read_payload("{broken") == "{broken"


def test_the_constants_are_python_values(dispatch: Dispatch) -> None:
    assert dispatch.allowance_limit() == 5
    assert dispatch.allowance_window() == 10 * MINUTE
    assert dispatch.duplicate_window() == dt.timedelta(hours=24)
    assert dispatch.runtime_freshness() == dt.timedelta(seconds=150)
    assert dispatch.claim_batch_limit() == 256
    assert dispatch.wake_channel()
    now = dispatch.clock()
    assert now.utcoffset() is not None
    assert abs(now - dt.datetime.now(dt.UTC)) < MINUTE


BadCall = Callable[[Dispatch, World], object]


@pytest.mark.parametrize(
    ("call", "cls", "column", "reason"),
    [
        pytest.param(
            lambda d, w: d.put_agent(w.workspace, w.agent, "a", w.ana, max_concurrent_runs=51),
            InvalidArgument, "p_max_concurrent_runs", None, id="capacity",
        ),
        pytest.param(
            lambda d, w: d.set_agent_status(w.workspace, w.agent, "asleep"),
            InvalidArgument, "p_status", None, id="word",
        ),
        pytest.param(
            lambda d, w: d.create_issue(w.workspace, "T", "ghost"),
            InvalidArgument, "p_actor_type", None, id="actor",
        ),
        pytest.param(
            lambda d, w: d.update_issues(w.workspace, [], {"colour": "red"}, *w.actor),
            InvalidArgument, "p_changes.colour", None, id="unknown key",
        ),
        pytest.param(
            lambda d, w: d.queue_wakes(w.workspace, [{"agent_id": w.agent}]),
            InvalidArgument, "p_wakes[0].reason", None, id="element",
        ),
        pytest.param(
            lambda d, w: d.claim_runs(w.workspace, [w.runtime], lease=25 * 60 * MINUTE),
            InvalidArgument, "p_lease", None, id="lease",
        ),
        pytest.param(
            lambda d, w: d.queue_wake(
                w.workspace, w.agent, "r", fire_at=d.clock() + dt.timedelta(days=367)
            ),
            InvalidArgument, "p_fire_at", None, id="far ahead",
        ),
        pytest.param(
            lambda d, w: d.create_issue(
                w.workspace, "T", *Actor.user(w.ana), assignee_type="agent",
                assignee_id=uuid.uuid4(),
            ),
            NotAllowed, "p_assignee_id", "invocation_not_allowed", id="assignee",
        ),
        pytest.param(
            lambda d, w: d.create_issue(
                w.workspace, "T", *Actor.agent(w.agent, uuid.uuid4())
            ),
            NotAllowed, "p_acting_run_id", "attribution_blocked", id="acting run",
        ),
        pytest.param(
            lambda d, w: d.add_comment(
                w.workspace, uuid.uuid4(), "T", *w.actor, mentions=[{"type": "crowd"}]
            ),
            InvalidArgument, "p_mentions[0].type", None, id="mention",
        ),
        pytest.param(
            lambda d, w: d.add_comment(w.workspace, uuid.uuid4(), "T", *w.actor),
            NotFound, "p_issue_id", None, id="issue",
        ),
        pytest.param(
            lambda d, w: d.resolve_issue(w.workspace, "ACME-999"),
            NotFound, "p_reference", None, id="reference",
        ),
        pytest.param(
            lambda d, w: d.put_team(uuid.uuid4(), uuid.uuid4(), "T"),
            NotFound, "p_workspace_id", None, id="workspace",
        ),
    ],
)  # fmt: skip
def test_errors_name_the_argument(
    dispatch: Dispatch,
    world: World,
    call: BadCall,
    cls: type[DispatchError],
    column: str,
    reason: str | None,
) -> None:
    with pytest.raises(DispatchError) as caught:
        call(dispatch, world)
    error = caught.value
    assert (type(error), error.column, error.reason_code) == (cls, column, reason)
    assert error.hint is not None
    assert error.hint.startswith(f"{column}: ")
    assert not isinstance(error, Conflict)
    assert dispatch.queue_depth(world.workspace) == []
