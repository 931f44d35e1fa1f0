"""A worker does what is queued, reports it, and stops as it is told."""

from __future__ import annotations

import datetime as dt
import logging
import threading
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from pgdispatch import Done, HandBack, InvalidArgument, JobFailed, Worker, _calls
from pgdispatch import worker as module
from pgdispatch._links import together
from pgdispatch.types import ClaimedRun
from tests.concurrency.support import PATIENCE, Fleet, make_fleet, rows, until
from tests.support.servers import Database
from tests.worker.support import NEVER, run_of, until_status, wake, working


def serve(
    db: Database, fleet: Fleet, handler: Callable[[ClaimedRun], Any], **given: Any
) -> Worker:
    return Worker(db.dsn, fleet.workspace, [fleet.runtime], handler, **given)


class Held:
    """A handler that says that it has begun, and waits until it may end."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.stopped: list[uuid.UUID] = []

    def __call__(self, run: ClaimedRun) -> Any:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        if run.run_id in self.stopped:
            raise HandBack
        return {"held": True}

    def stop(self, run_id: uuid.UUID) -> None:
        self.stopped.append(run_id)
        self.may_end.set()


def test_it_reports_what_a_handler_returns_or_raises(db: Database) -> None:
    fleet = make_fleet(db)

    def handler(run: ClaimedRun) -> Any:
        match run.payload["do"]:
            case "return":
                return {"seen": run.payload["do"]}
            case "nothing":
                return None
            case "done":
                return Done({"n": 1}, session_id="s1", work_dir="/w")
            case "fail":
                raise JobFailed("no luck", "agent_error.no_luck", session_id="s2")
            case _:
                raise LookupError("what was sought")

    with db.connect() as admin:
        ids = {
            do: wake(fleet, admin, payload={"do": do})
            for do in ("return", "nothing", "done", "fail", "raise")
        }
        with working(serve(db, fleet, handler)):
            found = {
                do: until_status(fleet, admin, run, "completed", "failed")
                for do, run in ids.items()
            }
        assert found["return"]["result"] == {"seen": "return"}
        assert (found["nothing"]["status"], found["nothing"]["result"]) == ("completed", None)
        assert (found["done"]["session_id"], found["done"]["work_dir"]) == ("s1", "/w")
        assert found["fail"]["failure_reason"] == "agent_error.no_luck"
        assert (found["fail"]["error"], found["fail"]["session_id"]) == ("no luck", "s2")
        assert found["raise"]["failure_reason"] == "agent_error"
        assert "LookupError: what was sought" in found["raise"]["error"]


def test_work_is_done_outside_of_any_transaction(db: Database) -> None:
    fleet = make_fleet(db)
    seen = []

    def handler(run: ClaimedRun) -> None:
        with db.connect() as other:
            status = run_of(fleet, other, run.run_id)["status"]
            open_ones = rows(
                other,
                "select a.pid from pg_stat_activity as a where a.datname = current_database()"
                # Not one whose statement runs: whoever waits for the end looks all the time.
                " and a.state like 'idle in transaction%'",
            )
            seen.append((status, open_ones))

    with db.connect() as admin, working(serve(db, fleet, handler, poll_interval=0.05)):
        until_status(fleet, admin, wake(fleet, admin), "completed")
    assert seen == [("running", [])]


def test_what_ended_is_reported_with_the_next_claim(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = make_fleet(db)
    made: list[list[str]] = []

    def noted(conn: Any, calls: Any) -> Any:
        made.append([each.sql.split("dispatch.")[1].split("(")[0] for each in calls])
        return together(conn, calls)

    monkeypatch.setattr(module, "together", noted)
    with db.connect() as admin:
        ids = [wake(fleet, admin) for _ in range(3)]
        with working(
            serve(db, fleet, lambda _: None, concurrency=1, listen=False, poll_interval=NEVER)
        ):
            for run in ids:
                until_status(fleet, admin, run, "completed")
    assert made == [
        ["heartbeat"],
        ["claim_runs"],
        *[["complete_runs", "claim_runs"]] * 3,
        ["set_runtime_offline"],
    ]


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_transaction_that_met_another_is_made_again(
    db: Database, monkeypatch: pytest.MonkeyPatch, sqlstate: str
) -> None:
    fleet = make_fleet(db)
    failures = [2, 2]

    def failing(conn: Any, calls: Any) -> Any:
        given = together(conn, calls)
        if calls[0].sql.count("complete_runs") and failures[0]:
            failures[0] -= 1
            # As the server would: after the transaction was rolled back.
            raise psycopg.errors.lookup(sqlstate)("met another one")
        return given

    def rolled_back(conn: Any, calls: Any) -> Any:
        if calls[0].sql.count("claim_runs") and failures[1]:
            failures[1] -= 1
            raise psycopg.errors.lookup(sqlstate)("met another one")
        return failing(conn, calls)

    monkeypatch.setattr(module, "together", rolled_back)
    with db.connect() as admin:
        run = wake(fleet, admin)
        with working(serve(db, fleet, lambda _: {"n": 1}, poll_interval=NEVER)):
            assert until_status(fleet, admin, run, "completed")["result"] == {"n": 1}
    assert failures == [0, 0]


def test_a_refused_report_fails_its_run_and_no_other(db: Database) -> None:
    fleet = make_fleet(db)
    results = {"big": "x" * (1 << 20), "odd": object(), "good": "x"}
    barrier = threading.Barrier(len(results))

    def handler(run: ClaimedRun) -> Any:
        barrier.wait(PATIENCE)
        return {"value": results[run.payload["what"]]}

    with db.connect() as admin:
        ids = {what: wake(fleet, admin, payload={"what": what}) for what in results}
        with working(serve(db, fleet, handler, listen=False)):
            found = {
                what: until_status(fleet, admin, run, "completed", "failed")
                for what, run in ids.items()
            }
    assert found["good"]["status"] == "completed"
    for what in ("big", "odd"):
        assert found[what]["failure_reason"] == "agent_error"
        assert "report refused: InvalidArgument" in found[what]["error"]


def test_a_long_job_keeps_its_lease(db: Database) -> None:
    fleet = make_fleet(db)
    held = Held()
    lease = dt.timedelta(seconds=1.5)
    with db.connect() as admin:
        run = wake(fleet, admin)
        with working(serve(db, fleet, held, lease=lease)):
            first = until_status(fleet, admin, run, "running")["lease_expires_at"]
            until(
                lambda: run_of(fleet, admin, run)["lease_expires_at"] > first + lease,
                "the lease was extended more than once",
            )
            held.may_end.set()
            until_status(fleet, admin, run, "completed")


def test_a_cancelled_job_is_told_to_stop(db: Database) -> None:
    fleet = make_fleet(db)
    held = Held()
    with db.connect() as admin:
        run = wake(fleet, admin)
        with working(serve(db, fleet, held, lease=dt.timedelta(seconds=0.6))):
            assert held.begun.wait(PATIENCE)
            assert fleet.one(admin, "cancel_run", run_id=run, actor_type="system")["applied"]
            assert held.may_end.wait(PATIENCE)
        assert held.stopped == [run]
        assert run_of(fleet, admin, run)["status"] == "cancelled"


def test_a_heartbeat_keeps_the_runtime_fresh_until_the_end(db: Database) -> None:
    fleet = make_fleet(db)
    seen = "select r.last_seen_at from dispatch.runtime as r where r.id = %s"
    status = "select r.status from dispatch.runtime as r where r.id = %s"
    with working(serve(db, fleet, lambda _: None, heartbeat_interval=0.01)):
        first = db.value(seen, [fleet.runtime])
        until(lambda: db.value(seen, [fleet.runtime]) > first, "it beats")
        assert db.value(status, [fleet.runtime]) == "online"
    assert db.value(status, [fleet.runtime]) == "offline"


def test_a_heartbeat_under_way_is_not_cut_off_by_the_end(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server was sent it carries out, so the farewell would not be the last word."""
    fleet = make_fleet(db)
    beats: list[str] = []

    def noted(conn: Any, calls: Any) -> Any:
        is_beat = "dispatch.heartbeat(" in calls[0].sql
        if is_beat:
            beats.append("sent")
        answers = together(conn, calls)
        if is_beat:
            beats.append("answered")
        return answers

    monkeypatch.setattr(module, "together", noted)
    worker = serve(db, fleet, lambda _: None, heartbeat_interval=0.01, listen=False)
    with db.connect(autocommit=False) as admin, working(worker):
        until(lambda: len(beats) > 2, "it beats")
        admin.execute("select from dispatch.runtime for update")
        with db.connect() as observer:
            until(
                lambda: rows(
                    observer,
                    "select from pg_stat_activity as a where %s = any("
                    "pg_blocking_pids(a.pid)) and a.query ~ 'heartbeat'",
                    [admin.info.backend_pid],
                ),
                "a heartbeat waits",
            )
        worker.stop()
        until(worker._over.is_set, "the end has begun")
        admin.rollback()
    assert beats.count("sent") == beats.count("answered")
    status = "select r.status from dispatch.runtime as r where r.id = %s"
    assert db.value(status, [fleet.runtime]) == "offline"


def test_the_first_stop_lets_the_jobs_end_and_claims_no_more(db: Database) -> None:
    fleet = make_fleet(db)
    held = Held()
    with db.connect() as admin:
        first = wake(fleet, admin)
        worker = serve(db, fleet, held, concurrency=1, poll_interval=0.01)
        with working(worker) as thread:
            assert held.begun.wait(PATIENCE)
            second = wake(fleet, admin)
            worker.stop()
            held.may_end.set()
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert run_of(fleet, admin, first)["status"] == "completed"
        assert run_of(fleet, admin, second)["status"] == "queued"
        assert held.stopped == []


@pytest.mark.parametrize("is_deaf", [False, True], ids=["stoppable", "deaf"])
def test_the_second_stop_hands_the_jobs_back(db: Database, *, is_deaf: bool) -> None:
    fleet = make_fleet(db)
    held = Held()
    handler: Any = held.__call__ if is_deaf else held
    with db.connect() as admin:
        run = wake(fleet, admin)
        with working(serve(db, fleet, handler, stop_grace=0.1), is_halted=True):
            assert held.begun.wait(PATIENCE)
        row = run_of(fleet, admin, run)
        assert (row["status"], row["attempt"]) == ("deferred", 1)
        assert held.stopped == ([] if is_deaf else [run])
        held.may_end.set()
        # Another worker has it at once: it is due.
        with working(serve(db, fleet, lambda _: None)):
            until_status(fleet, admin, run, "completed")


def test_a_fatal_error_hands_the_jobs_back_and_is_raised(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = make_fleet(db)
    held = Held()
    worker = serve(db, fleet, held, poll_interval=0.02)
    real = _calls.claim_runs

    def broken(*given: Any, **named: Any) -> Any:
        if held.begun.is_set():
            raise InvalidArgument("argument missing", column="p_max")
        return real(*given, **named)

    monkeypatch.setattr(_calls, "claim_runs", broken)
    with db.connect() as admin:
        run = wake(fleet, admin)
        with pytest.raises(InvalidArgument):
            worker.run()
        assert run_of(fleet, admin, run)["status"] == "deferred"


def test_a_handler_may_put_its_run_off(db: Database) -> None:
    fleet = make_fleet(db)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)

    def handler(_: ClaimedRun) -> None:
        raise HandBack(later)

    with db.connect() as admin:
        run = wake(fleet, admin)
        with working(serve(db, fleet, handler)):
            assert until_status(fleet, admin, run, "deferred")["fire_at"] == later


def test_a_run_is_started_only_when_it_is_prepared(db: Database) -> None:
    fleet = make_fleet(db)
    seen: list[tuple[str, str]] = []

    def look(what: str) -> Callable[[ClaimedRun], None]:
        def note(run: ClaimedRun) -> None:
            with db.connect() as other:
                seen.append((what, run_of(fleet, other, run.run_id)["status"]))

        return note

    with db.connect() as admin:
        run = wake(fleet, admin)
        with working(serve(db, fleet, look("work"), prepare=look("prepare"))):
            until_status(fleet, admin, run, "completed")
    assert seen == [("prepare", "dispatched"), ("work", "running")]


def test_a_claim_that_was_lost_is_taken_up(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        run = wake(fleet, admin)
        assert len(fleet.claims(admin)) == 1
        admin.execute(
            "update dispatch.run set dispatched_at = dispatched_at - interval '1 hour',"
            " lease_expires_at = lease_expires_at - interval '1 hour'"
        )
        with working(serve(db, fleet, lambda _: None)):
            assert until_status(fleet, admin, run, "completed")["claim_no"] == 2


@pytest.mark.parametrize("recover", [True, False])
def test_it_recovers_what_an_earlier_process_left(db: Database, *, recover: bool) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin:
        left = wake(fleet, admin)
        assert len(fleet.claims(admin, start=True)) == 1
        with working(serve(db, fleet, lambda _: None, recover=recover)):
            if recover:
                found = until_status(fleet, admin, left, "failed")
                assert found["failure_reason"] == "runtime_recovery"
                (retry,) = fleet.runs(admin, "parent_run_id = %s", left)
                until_status(fleet, admin, retry["id"], "completed")
            else:
                until_status(fleet, admin, wake(fleet, admin), "completed")
                assert run_of(fleet, admin, left)["status"] == "running"


def test_several_workspaces_share_one_loop(db: Database) -> None:
    fleets = [make_fleet(db) for _ in range(3)]
    given = {each.workspace: [each.runtime] for each in fleets}
    with db.connect() as admin:
        worker = Worker(
            db.dsn, given, handler=lambda _: None, concurrency=1, poll_interval=NEVER
        )
        with working(worker):
            # More than there is room for at once, so that none may be forgotten.
            ids = [(each, wake(each, admin)) for each in fleets for _ in range(4)]
            for fleet, run in ids:
                until_status(fleet, admin, run, "completed")


def test_a_workspace_that_fails_does_not_hold_up_another(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = make_fleet(db), make_fleet(db)
    other = uuid.uuid4()
    with db.connect() as admin:
        bad.call(admin, "put_runtime", runtime_id=other, daemon_id="daemon-2")
        bad.call(admin, "heartbeat", runtime_ids=[other])
        worker = Worker(
            db.dsn,
            {good.workspace: [good.runtime], bad.workspace: [bad.runtime, other]},
            handler=lambda _: None,
            poll_interval=NEVER,
        )
        with caplog.at_level(logging.WARNING, "pgdispatch.worker"), working(worker):
            for _ in range(3):
                until_status(good, admin, wake(good, admin), "completed")
    assert any("was not served" in each for each in caplog.messages)


def test_it_works_on_a_pool(db: Database) -> None:
    fleet = make_fleet(db)
    with db.connect() as admin, ConnectionPool(db.dsn, min_size=1, max_size=2) as pool:
        worker = Worker(pool, fleet.workspace, [fleet.runtime], lambda _: None)
        with working(worker):
            for _ in range(3):
                until_status(fleet, admin, wake(fleet, admin), "completed")


def test_it_may_do_so_with_the_worker_s_role_alone(db: Database) -> None:
    fleet = make_fleet(db)
    dsn = psycopg.conninfo.make_conninfo(db.dsn, options="-c role=dispatch_worker")
    with db.connect() as admin:
        run = wake(fleet, admin)
        worker = Worker(dsn, fleet.workspace, [fleet.runtime], lambda _: None, recover=True)
        with working(worker):
            until_status(fleet, admin, run, "completed")


def test_what_makes_no_sense_is_refused_before_anything_is_sent() -> None:
    workspace, runtime = uuid.uuid4(), uuid.uuid4()

    def handler(_: ClaimedRun) -> None:
        return None

    for bad in (0, 257):
        with pytest.raises(ValueError, match="concurrency"):
            Worker("", workspace, [runtime], handler, concurrency=bad)
    with pytest.raises(InvalidArgument):
        Worker("", "no uuid", [runtime], handler)
    with pytest.raises(InvalidArgument):
        Worker("", workspace, [], handler)
    with pytest.raises(InvalidArgument):
        Worker("", {}, handler=handler)
    with pytest.raises(TypeError):
        Worker("", {workspace: [runtime]}, [runtime], handler)
    with pytest.raises(TypeError):
        Worker("", workspace, [runtime])
    with pytest.raises(psycopg.ProgrammingError):
        Worker("no dsn at all", workspace, [runtime], handler)
