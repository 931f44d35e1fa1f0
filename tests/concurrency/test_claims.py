"""Claims by many sessions at once: capacity, lanes and batches hold whatever the race."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from typing import Any

import psycopg
import pytest

from tests.concurrency.support import (
    ACTIVE,
    Connection,
    Crew,
    Fleet,
    Row,
    background,
    make_fleet,
    rows,
    until_blocked,
)
from tests.support.servers import Database

ACTIVE_RUNS = """
select count(*) as active
from dispatch.run as r
where r.agent_id = %s and r.status in ('dispatched', 'waiting_local_directory', 'running')
"""


def active(connection: Connection, agent: uuid.UUID) -> int:
    """Count an agent's active runs."""
    found: int = rows(connection, ACTIVE_RUNS, [agent])[0]["active"]
    return found


def finish(fleet: Fleet, connection: Connection, run: Row) -> None:
    """Take a claimed run to its end."""
    report = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
    assert fleet.one(connection, "start_run", **report)["applied"]
    assert fleet.one(connection, "complete_run", **report)["applied"]


def test_capacity_one_serves_one_of_sixteen_claimers_per_round(db: Database) -> None:
    fleet = make_fleet(db, capacity=1)
    with Crew(db, 16) as crew, db.connect() as admin:
        first, second = fleet.issues(admin, 2)
        for _ in range(200):
            fleet.wake(admin, issue_id=first)
            fleet.wake(admin, issue_id=second)
            claimed = crew.together(fleet.claim)
            (run,) = [run for answer in claimed for run in answer]
            assert active(admin, fleet.agent) == 1
            finish(fleet, admin, run)


def test_capacity_three_is_never_exceeded_when_sampled(db: Database) -> None:
    fleet = make_fleet(db, capacity=3)
    done = threading.Event()
    seen: list[int] = []

    def observe(connection: Connection) -> None:
        while not done.is_set():
            seen.append(active(connection, fleet.agent))

    def work(connection: Connection) -> int:
        served = 0
        while True:
            claimed = fleet.claims(connection)
            for run in claimed:
                finish(fleet, connection, run)
            served += len(claimed)
            if not claimed and not fleet.runs(connection, "status = 'queued'"):
                return served

    with Crew(db, 16) as crew, db.connect() as admin, db.connect() as watcher:
        issues = fleet.issues(admin, 10)
        observer = threading.Thread(target=observe, args=[watcher])
        observer.start()
        try:
            for _ in range(10):
                for issue in issues:
                    fleet.wake(admin, issue_id=issue)
                assert sum(crew.together(work)) == 10
        finally:
            done.set()
            observer.join()
        assert max(seen) <= 3
        assert 3 in seen, "the claims never filled the agent, so nothing was shown"
        assert {run["status"] for run in fleet.runs(admin)} == {"completed"}


@pytest.mark.parametrize("function", ["claim_run", "claim_runs"])
def test_a_claim_waits_for_an_open_one_and_counts_it(db: Database, function: str) -> None:
    """The younger run is the better one, so the two would not want the same row."""
    fleet = make_fleet(db, capacity=1)
    asked: Row = (
        {"agent_id": fleet.agent}
        if function == "claim_run"
        else {"runtime_ids": [fleet.runtime]}
    )
    with db.connect(autocommit=False) as first, db.connect() as second, db.connect() as admin:
        fleet.wake(admin)
        (held,) = fleet.call(first, function, **asked)
        urgent = fleet.wake(admin, priority=4, chat_session_id=uuid.uuid4())
        with background(lambda: fleet.call(second, function, **asked)) as answer:
            until_blocked(db, second, first)
            first.commit()
            assert answer.result() == []
        finish(fleet, admin, held)
        (served,) = fleet.call(second, function, **asked)
        assert served["run_id"] == urgent["run_id"]


def test_an_open_claim_of_one_agent_does_not_hold_up_another(db: Database) -> None:
    fleet = make_fleet(db, agents=2)
    alpha, beta = fleet.agents
    with db.connect(autocommit=False) as first, db.connect() as second, db.connect() as admin:
        fleet.wake(admin, alpha)
        fleet.wake(admin, beta)
        second.execute("set lock_timeout = '1ms'")
        assert fleet.claim(first, alpha)
        (served,) = fleet.claim(second, beta)
        assert served["agent_id"] == beta


def test_claims_of_a_machine_serve_different_agents(db: Database) -> None:
    """A batch passes over an agent that an open claim holds, and serves the others."""
    fleet = make_fleet(db, agents=2)
    alpha, beta = fleet.agents
    with db.connect(autocommit=False) as first, db.connect() as second, db.connect() as admin:
        fleet.wake(admin, alpha, priority=4)
        fleet.wake(admin, alpha, priority=4, chat_session_id=uuid.uuid4())
        wanted = fleet.wake(admin, beta)
        assert fleet.claim(first, alpha)
        second.execute("set lock_timeout = '1ms'")
        (served,) = fleet.claims(second)
        assert served["run_id"] == wanted["run_id"]


def test_capacity_and_lanes_hold_while_better_runs_arrive(db: Database) -> None:
    """Claimers see different runs as the best, so they do not meet on one row."""
    fleet = make_fleet(db, capacity=2)
    chats = [uuid.uuid4() for _ in range(3)]
    produced = threading.Event()
    crossed: list[int] = []

    def produce(connection: Connection) -> None:
        for number in range(120):
            fleet.wake(connection, chat_session_id=chats[number % 3], priority=number)

    def work(connection: Connection) -> int:
        served = 0
        while True:
            over = produced.is_set()
            claimed = fleet.claims(connection)
            crossed.append(active(connection, fleet.agent))
            for run in claimed:
                finish(fleet, connection, run)
            served += len(claimed)
            if over and not claimed and not fleet.runs(connection, "status = 'queued'"):
                return served

    with Crew(db, 2) as producers, Crew(db, 6) as claimers, db.connect() as admin:
        with background(lambda: claimers.together(work)) as served:
            try:
                producers.together(produce)
            finally:
                produced.set()
            assert sum(served.result()) == 240
        assert max(crossed) <= 2
        assert {run["status"] for run in fleet.runs(admin)} == {"completed"}


STOP_BEFORE_LOCKS = """
alter function dispatch._hold_agent(uuid, uuid, integer) rename to _hold_agent_then;
create function dispatch._hold_agent(
    p_workspace_id uuid, p_agent_id uuid, p_per_agent integer
)
returns integer
language plpgsql
as $fn$
begin
    if pg_backend_pid() = {pid} then
        perform pg_advisory_xact_lock(7);
    end if;
    return dispatch._hold_agent_then(p_workspace_id, p_agent_id, p_per_agent);
end;
$fn$;
grant execute on function dispatch._hold_agent(uuid, uuid, integer) to public;
"""


@pytest.mark.parametrize(("capacity", "lanes"), [(1, 2), (2, 1)], ids=["capacity", "lane"])
def test_what_was_chosen_before_the_locks_is_decided_under_them(
    db: Database, capacity: int, lanes: int
) -> None:
    """A claim has chosen its run when another one takes the room or the lane for a better."""
    fleet = make_fleet(db, capacity=capacity)
    chats = [uuid.uuid4() for _ in range(lanes)]
    with (
        db.connect() as slow,
        db.connect() as quick,
        db.connect(autocommit=False) as holder,
        db.connect() as admin,
    ):
        admin.execute(STOP_BEFORE_LOCKS.format(pid=slow.info.backend_pid).encode())
        late = fleet.wake(admin, chat_session_id=chats[0])
        rows(holder, "select pg_advisory_xact_lock(7)")
        with background(lambda: fleet.claims(slow)) as answer:
            until_blocked(db, slow, holder)
            better = fleet.wake(admin, chat_session_id=chats[-1], priority=4)
            (served,) = fleet.claims(quick)
            assert served["run_id"] == better["run_id"]
            holder.rollback()
            assert answer.result() == []
        finish(fleet, admin, served)
        (served,) = fleet.claims(slow)
        assert served["run_id"] == late["run_id"]


@pytest.mark.parametrize("status", ACTIVE)
def test_an_active_run_blocks_its_pair_only(db: Database, status: str) -> None:
    fleet = make_fleet(db, agents=2, capacity=4)
    alpha, beta = fleet.agents
    with db.connect() as admin:
        taken, free = fleet.issues(admin, 2)
        fleet.wake(admin, alpha, issue_id=taken)
        (held,) = fleet.claim(admin, alpha)
        report = {"run_id": held["run_id"], "claim_no": held["claim_no"]}
        if status == "running":
            fleet.one(admin, "start_run", **report)
        elif status == "waiting_local_directory":
            fleet.one(admin, "wait_run", **report, wait_reason="another run has it")
        late = fleet.wake(admin, alpha, issue_id=taken)
        other = fleet.wake(admin, alpha, issue_id=free)
        shared = fleet.wake(admin, beta, issue_id=taken)

        claimed = fleet.claims(admin, 9, per_agent=9)
        assert {run["run_id"] for run in claimed} == {other["run_id"], shared["run_id"]}
        if status == "dispatched":
            assert late["outcome"] == "absorbed"
            fleet.one(admin, "start_run", **report)
        elif status == "waiting_local_directory":
            fleet.one(admin, "start_run", **report)
        assert fleet.claims(admin, 9, per_agent=9) == []
        assert fleet.one(admin, "complete_run", **report)["applied"]
        (next_one,) = fleet.claims(admin, 9, per_agent=9)
        assert next_one["issue_id"] == taken
        assert next_one["agent_id"] == alpha


@pytest.mark.parametrize("key", ["issue", "chat", "quick_create"])
def test_a_lane_never_shows_two_active_runs(db: Database, key: str) -> None:
    fleet = make_fleet(db, capacity=10)
    lanes = 1 if key == "quick_create" else 20

    def work(connection: Connection) -> list[Row]:
        served = []
        while True:
            claimed = fleet.claims(connection, 3, per_agent=3)
            twice = rows(
                connection,
                "select r.lane from dispatch.run as r where r.workspace_id = %s and r.status"
                " in ('dispatched', 'waiting_local_directory', 'running')"
                " group by r.agent_id, r.lane having count(*) > 1",
                [fleet.workspace],
            )
            assert twice == []
            for run in claimed:
                finish(fleet, connection, run)
            served += claimed
            if not claimed and not fleet.runs(connection, "status = 'queued'"):
                return served

    with Crew(db, 16) as crew, db.connect() as admin:
        issues = fleet.issues(admin, lanes)
        for _ in range(3):
            for number in range(lanes):
                given: dict[str, Any] = {
                    "issue": {"issue_id": issues[number]},
                    "chat": {"chat_session_id": uuid.UUID(int=number + 1)},
                    "quick_create": {},
                }[key]
                fleet.wake(admin, **given, payload={"number": number})
        queued = len(fleet.runs(admin, "status = 'queued'"))
        served = [run["run_id"] for runs in crew.together(work) for run in runs]
        assert len(served) == queued
        assert len(set(served)) == queued


def test_two_agents_serve_one_issue_at_once(db: Database) -> None:
    fleet = make_fleet(db, agents=2)
    with Crew(db, 2) as crew, db.connect() as admin:
        (issue,) = fleet.issues(admin, 1)
        for agent in fleet.agents:
            fleet.wake(admin, agent, issue_id=issue)
        answers = crew.together(
            *(fleet.calling("claim_run", agent_id=agent) for agent in fleet.agents)
        )
        assert [[run["agent_id"] for run in answer] for answer in answers] == [
            [fleet.agents[0]],
            [fleet.agents[1]],
        ]


def test_a_batch_keeps_the_rules_of_a_single_claim(db: Database) -> None:
    fleet = make_fleet(db, agents=2, capacity=2)
    alpha, beta = fleet.agents
    other = uuid.uuid4()
    with db.connect() as admin:
        fleet.call(admin, "put_runtime", runtime_id=other, daemon_id="daemon-1")
        fleet.call(admin, "bind_agent", agent_id=beta, runtime_id=other)
        fleet.call(admin, "heartbeat", runtime_ids=[other])
        chat = uuid.uuid4()
        for _ in range(3):
            fleet.wake(admin, alpha, chat_session_id=chat)
        for issue in fleet.issues(admin, 3):
            fleet.wake(admin, alpha, issue_id=issue)
        fleet.wake(admin, beta)
        claimed = fleet.call(
            admin,
            "claim_runs",
            runtime_ids=[fleet.runtime, fleet.runtime, uuid.uuid4(), other],
            max=50,
            per_agent=50,
        )
        assert len({run["run_id"] for run in claimed}) == len(claimed)
        assert Counter(run["agent_id"] for run in claimed) == {alpha: 2, beta: 1}
        assert sum(run["chat_session_id"] == chat for run in claimed) == 1
        keys = [(-run["priority"], run["requested_at"], run["run_id"]) for run in claimed]
        assert keys == sorted(keys)


def test_batches_racing_batches_hand_out_each_run_once(db: Database) -> None:
    fleet = make_fleet(db, agents=4, capacity=3)
    with Crew(db, 8) as crew, db.connect() as admin:
        issues = fleet.issues(admin, 4)
        for _ in range(25):
            for agent in fleet.agents:
                for issue in issues:
                    fleet.wake(admin, agent, issue_id=issue)
            answers = crew.together(lambda c: fleet.claims(c, 5, per_agent=2))
            claimed = [run for answer in answers for run in answer]
            assert len({run["run_id"] for run in claimed}) == len(claimed)
            counted = Counter(run["agent_id"] for run in claimed)
            assert max(counted.values()) <= 3
            assert all(len(answer) <= 5 for answer in answers)
            for run in claimed:
                finish(fleet, admin, run)


def test_a_full_agent_does_not_hide_anothers_run(db: Database) -> None:
    fleet = make_fleet(db, agents=2, capacity=1)
    alpha, beta = fleet.agents
    with db.connect() as admin:
        fleet.wake(admin, alpha)
        assert fleet.claim(admin, alpha)
        chats = [{"agent_id": str(alpha), "reason": "work"} for _ in range(1000)]
        for element in chats:
            element["chat_session_id"] = str(uuid.uuid4())
        fleet.call(admin, "queue_wakes", wakes=psycopg.types.json.Jsonb(chats))
        wanted = fleet.wake(admin, beta)
        (run,) = fleet.claims(admin, 1)
        assert run["run_id"] == wanted["run_id"]


def test_runs_of_one_transaction_are_served_in_the_order_of_enqueueing(db: Database) -> None:
    fleet = make_fleet(db, capacity=50)
    db.set_clock()
    with db.connect() as admin:
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        issues = fleet.issues(admin, 20)
        for _ in range(10):
            with admin.transaction():
                asked = [fleet.wake(admin, issue_id=issue)["run_id"] for issue in issues]
            served = [fleet.claim(admin)[0] for _ in issues]
            assert [run["run_id"] for run in served] == asked
            for run in served:
                finish(fleet, admin, run)


def test_two_reclaimers_hand_a_stale_run_out_once(db: Database) -> None:
    fleet = make_fleet(db)
    now = db.set_clock()
    with Crew(db, 4) as crew, db.connect() as admin:
        fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
        for _ in range(6):
            fleet.wake(admin, chat_session_id=uuid.uuid4())
        for _ in range(6):
            assert fleet.claim(admin)
        for round_number in range(1, 11):
            now = db.set_clock(now + rows(admin, "select interval '91 s' as step")[0]["step"])
            fleet.call(admin, "heartbeat", runtime_ids=[fleet.runtime])
            answers = crew.together(
                fleet.calling("reclaim_runs", runtime_ids=[fleet.runtime], max=4)
            )
            taken = [run["run_id"] for answer in answers for run in answer]
            assert len(set(taken)) == len(taken)
            # What a reclaimer skipped because another one held it, is left for the next call.
            rest = fleet.call(admin, "reclaim_runs", runtime_ids=[fleet.runtime], max=9)
            assert len(taken) + len(rest) == 6
            assert {run["claim_no"] for run in fleet.runs(admin)} == {round_number + 1}


def test_a_claim_waits_for_a_binding_and_then_obeys_it(db: Database) -> None:
    fleet = make_fleet(db)
    other = uuid.uuid4()
    with (
        db.connect(autocommit=False) as binder,
        db.connect() as claimer,
        db.connect() as admin,
    ):
        fleet.call(admin, "put_runtime", runtime_id=other, daemon_id="daemon-2")
        fleet.call(admin, "heartbeat", runtime_ids=[other])
        asked = fleet.wake(admin)
        fleet.call(binder, "bind_agent", agent_id=fleet.agent, runtime_id=other)
        with background(lambda: fleet.claims(claimer)) as claimed:
            until_blocked(db, claimer, binder)
            binder.commit()
            assert claimed.result() == []
        (run,) = fleet.call(admin, "claim_runs", runtime_ids=[other])
        assert run["run_id"] == asked["run_id"]
        assert run["runtime_id"] == other


def test_bindings_racing_claims_leave_no_run_behind(db: Database) -> None:
    fleet = make_fleet(db)
    other = uuid.uuid4()
    with Crew(db, 3) as crew, db.connect() as admin:
        fleet.call(admin, "put_runtime", runtime_id=other, daemon_id="daemon-1")
        fleet.call(admin, "heartbeat", runtime_ids=[other])
        homes = [other, fleet.runtime]
        for number in range(60):
            home = homes[number % 2]
            fleet.wake(admin, chat_session_id=uuid.uuid4())
            _, here, there = crew.together(
                fleet.calling("bind_agent", agent_id=fleet.agent, runtime_id=home),
                fleet.calling("claim_runs", runtime_ids=[fleet.runtime]),
                fleet.calling("claim_runs", runtime_ids=[other]),
            )
            claimed = here + there or fleet.call(admin, "claim_runs", runtime_ids=[home])
            (run,) = claimed
            finish(fleet, admin, run)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
@pytest.mark.parametrize(
    "statement",
    [
        "dispatch.claim_run(%(ws)s, %(agent)s)",
        "dispatch.claim_runs(%(ws)s, array[%(runtime)s])",
        "dispatch.reclaim_runs(%(ws)s, array[%(runtime)s])",
        "dispatch.promote_deferred(%(ws)s)",
        "dispatch.recover_runtime(%(ws)s, %(runtime)s)",
    ],
)
def test_claims_refuse_stricter_levels(db: Database, level: str, statement: str) -> None:
    fleet = make_fleet(db)
    given = {"ws": fleet.workspace, "agent": fleet.agent, "runtime": fleet.runtime}
    with db.connect() as strict:
        strict.execute(f"set default_transaction_isolation = '{level}'".encode())
        with pytest.raises(psycopg.Error) as refused:
            rows(strict, f"select * from {statement}", given)
        assert refused.value.sqlstate == "PD400"
        assert refused.value.diag.column_name == "transaction_isolation"


def test_an_empty_claim_is_quick_beside_a_locked_run(db: Database) -> None:
    """A run locked by a merge is skipped now and served by the next poll."""
    fleet = make_fleet(db)
    with (
        db.connect(autocommit=False) as merger,
        db.connect() as claimer,
        db.connect() as admin,
    ):
        (issue,) = fleet.issues(admin, 1)
        asked = fleet.wake(admin, issue_id=issue, payload={"n": 1})
        assert fleet.wake(merger, issue_id=issue, payload={"n": 2})["outcome"] == "absorbed"
        started = time.monotonic()
        assert fleet.claims(claimer) == []
        assert time.monotonic() - started < 5
        merger.commit()
        (run,) = fleet.claims(claimer)
        assert run["run_id"] == asked["run_id"]
        assert [trigger["payload"] for trigger in run["triggers"]] == [{"n": 1}, {"n": 2}]
