"""The gates under real sessions: bounded errors in one direction, and never a lost wake."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgdispatch import Decision, Dispatch, Outcome
from tests.admission.support import assign, assignment, counters, observed
from tests.concurrency.support import (
    Connection,
    Crew,
    Fleet,
    Row,
    background,
    deadlocks,
    make_fleet,
    payloads,
    rows,
    until_blocked,
)
from tests.support.servers import Database


def outcomes(answers: list[Row]) -> Counter[str]:
    """Count what became of wakes."""
    return Counter(answer["outcome"] for answer in answers)


def assigning(
    fleet: Fleet, task: uuid.UUID, agent: uuid.UUID, actor_type: str | None = "agent"
) -> Callable[[Connection], Row]:
    """Make a task for a crew: one assignment."""
    return lambda connection: assign(fleet, connection, task, agent, actor_type)


def test_two_evaluations_at_once_admit_one_too_many(db: Database) -> None:
    """002.1: the error is bounded by the evaluations that do not see each other."""
    fleet = make_fleet(db, agents=8)
    with db.connect() as admin, db.connect(autocommit=False) as first, db.connect() as second:
        (task,) = fleet.issues(admin, 1)
        for agent in fleet.agents[:4]:
            assign(fleet, admin, task, agent)
        assert assign(fleet, first, task, fleet.agents[4])["outcome"] == "queued"
        assert assign(fleet, second, task, fleet.agents[5])["outcome"] == "queued"
        first.commit()
        refused = assign(fleet, second, task, fleet.agents[6])
        assert (refused["outcome"], refused["detail"]["observed"]) == ("rate_limited", 6)


@pytest.mark.parametrize("before", [0, 3, 4])
def test_the_allowance_never_refuses_early(db: Database, before: int) -> None:
    """002.1: at least five are admitted, and no more than the sessions can overlook."""
    fleet = make_fleet(db, agents=13)
    with Crew(db, 8) as crew, db.connect() as admin:
        for task in fleet.issues(admin, 25):
            for agent in fleet.agents[:before]:
                assert assign(fleet, admin, task, agent)["outcome"] == "queued"
            answers = crew.together(
                *(assigning(fleet, task, agent) for agent in fleet.agents[4:12])
            )
            admitted = outcomes(answers)["queued"]
            assert 5 - before <= admitted <= 8
            assert observed(fleet, admin, task) == before + admitted
            late = assign(fleet, admin, task, fleet.agents[12])
            assert late["outcome"] == "rate_limited"


def test_racing_relabels_leave_what_the_last_one_said(db: Database) -> None:
    """T34, T35: whoever of two actors comes last gives the run its label."""
    fleet = make_fleet(db)
    labels: Counter[str] = Counter()
    with Crew(db, 2) as crew, db.connect() as admin:
        for task in fleet.issues(admin, 60):
            answers = crew.together(
                assigning(fleet, task, fleet.agent), assigning(fleet, task, fleet.agent, "user")
            )
            assert outcomes(answers) == {"queued": 1, "coalesced": 1}
            (run,) = fleet.runs(admin, "issue_id = %s", task)
            agent_last = answers[0]["outcome"] == "coalesced"
            labels[run["payload"]["actor_type"]] += 1
            assert run["payload"]["actor_type"] == ("agent" if agent_last else "user")
            assert observed(fleet, admin, task) == int(agent_last)
    assert sum(labels.values()) == 60


@pytest.mark.parametrize(("first", "second"), [("user", "agent"), ("agent", "user")])
def test_a_relabel_waits_for_the_run_that_it_merges_into(
    db: Database, first: str, second: str
) -> None:
    """T34, T35: in each direction, the second one blocked by the first one's insert."""
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as one, db.connect() as other:
        (task,) = fleet.issues(other, 1)
        held = assign(fleet, one, task, fleet.agent, first)
        with background(lambda: assign(fleet, other, task, fleet.agent, second)) as answer:
            until_blocked(db, other, one)
            one.commit()
            merged = answer.result()
        assert (merged["outcome"], merged["run_id"]) == ("coalesced", held["run_id"])
        assert observed(fleet, other, task) == int(second == "agent")


def test_two_racing_inserts_of_a_pair_are_one_run(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 8) as crew, db.connect() as admin:
        for task in fleet.issues(admin, 40):
            answers = crew.together(
                *(
                    fleet.waking(issue_id=task, payload={"n": n}, coalesce=bool(n % 2))
                    for n in range(8)
                )
            )
            assert outcomes(answers)["queued"] == 1
            assert set(outcomes(answers)) <= {"queued", "coalesced", "absorbed"}
            assert len({answer["run_id"] for answer in answers}) == 1
            (run,) = fleet.claim(admin)
            assert sorted(payload["n"] for payload in payloads([run])) == list(range(8))
            done = {"run_id": run["run_id"], "claim_no": 1}
            assert fleet.one(admin, "start_run", **done)["applied"]
            assert fleet.one(admin, "complete_run", **done)["applied"]


def test_a_merge_never_overwrites_a_claimed_run(db: Database) -> None:
    """R11: what a claim gave stays as the run has it; every wake is delivered once."""
    fleet = make_fleet(db)
    delivered: list[Any] = []
    given = 0
    with Crew(db, 2) as crew, db.connect() as admin:
        (task,) = fleet.issues(admin, 1)
        for number in range(200):
            if number % 2 == 0:
                fleet.wake(admin, issue_id=task, payload={"n": given}, coalesce=True)
                given += 1
            claimed, _ = crew.together(
                fleet.claim,
                fleet.waking(issue_id=task, payload={"n": given}, coalesce=True),
            )
            given += 1
            for run in claimed:
                (stored,) = fleet.runs(admin, "id = %s", run["run_id"])
                assert stored["payload"] == run["payload"]
            delivered += payloads(claimed)
            for run in claimed:
                done = {"run_id": run["run_id"], "claim_no": run["claim_no"]}
                assert fleet.one(admin, "start_run", **done)["applied"]
                assert fleet.one(admin, "complete_run", **done)["applied"]
        while claimed := fleet.claim(admin):
            delivered += payloads(claimed)
            done = {"run_id": claimed[0]["run_id"], "claim_no": claimed[0]["claim_no"]}
            assert fleet.one(admin, "start_run", **done)["applied"]
            assert fleet.one(admin, "complete_run", **done)["applied"]
    assert Counter(payload["n"] for payload in delivered) == dict.fromkeys(range(given), 1)


def test_a_run_locked_for_a_merge_is_served_after_it(db: Database) -> None:
    """R11: the claim passes it by and the next poll takes it, with the merged wake."""
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as merger, db.connect() as claimer:
        (task,) = fleet.issues(claimer, 1)
        fleet.wake(claimer, issue_id=task, payload={"n": 1})
        merged = fleet.wake(merger, issue_id=task, payload={"n": 2}, coalesce=True)
        assert merged["outcome"] == "coalesced"
        assert fleet.claim(claimer) == []
        merger.commit()
        (run,) = fleet.claim(claimer)
        assert run["payload"] == {"n": 2}
        assert payloads([run]) == [{"n": 1}, {"n": 2}]


def test_a_merge_into_a_run_that_is_being_claimed_comes_too_late(db: Database) -> None:
    """The wake waits for the claim, finds the run dispatched, and is owed instead."""
    fleet = make_fleet(db)
    with db.connect(autocommit=False) as claimer, db.connect() as other:
        (task,) = fleet.issues(other, 1)
        fleet.wake(other, issue_id=task, payload={"n": 1})
        (run,) = fleet.claim(claimer)
        with background(
            lambda: fleet.wake(other, issue_id=task, payload={"n": 2}, coalesce=True)
        ) as answer:
            until_blocked(db, other, claimer)
            claimer.commit()
            late = answer.result()
        assert (late["outcome"], late["run_id"]) == ("absorbed", run["run_id"])
        (stored,) = fleet.runs(other, "id = %s", run["run_id"])
        assert (stored["payload"], stored["coalesced_count"]) == ({"n": 1}, 1)
        started = fleet.one(other, "start_run", run_id=run["run_id"], claim_no=1)
        assert started["follow_up_run_id"] is not None


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_the_gates_work_at_every_level(db: Database, level: str) -> None:
    fleet = make_fleet(db, agents=6)
    with db.connect() as strict:
        strict.execute(f"set default_transaction_isolation = '{level}'".encode())
        (task,) = fleet.issues(strict, 1)
        for agent in fleet.agents[:5]:
            assert assign(fleet, strict, task, agent)["outcome"] == "queued"
        assert assign(fleet, strict, task, fleet.agent)["outcome"] == "coalesced"
        assert assign(fleet, strict, task, fleet.agents[5])["outcome"] == "rate_limited"
        assert fleet.call(strict, "pause_workspace", actor_type="system", reason="halt")
        assert assign(fleet, strict, task, fleet.agents[5])["reason_code"] == "paused"
        assert fleet.call(strict, "resume_workspace", actor_type="system")


def test_batches_in_opposite_order_merge_without_deadlock(db: Database) -> None:
    """T80: pairs and keys in common, in opposite order, by four sessions."""
    fleet = make_fleet(db, agents=5)
    with Crew(db, 4) as crew, db.connect() as admin:
        tasks = fleet.issues(admin, 4)
        for number in range(25):
            elements: list[Row] = []
            for task in tasks:
                for agent in fleet.agents:
                    payload = assignment(task, "user", n=number)
                    named = {"agent_id": str(agent), "reason": "task_assigned"}
                    elements.append({**named, "payload": payload})
                    key = f"{number} {task} {agent}"
                    elements.append({**named, "payload": payload, "idempotency_key": key})
            forth, back = Jsonb(elements), Jsonb(elements[::-1])
            answers = crew.together(
                *(
                    fleet.calling("queue_wakes", wakes=given)
                    for given in (forth, back, forth, back)
                )
            )
            assert all(len(answer) == len(elements) for answer in answers)
            decided = outcomes([row for answer in answers for row in answer])
            assert decided["queued"] == 20
            assert set(decided) <= {"queued", "coalesced", "absorbed", "deduplicated"}
            for run in fleet.runs(admin, "status = 'queued'"):
                fleet.one(admin, "cancel_run", run_id=run["id"], actor_type="system")
        assert deadlocks(db) == 0


def test_batches_of_agents_in_opposite_order_reach_no_caller_as_deadlock(
    db: Database,
) -> None:
    """T80: in one task's allowance the given order rules, and the client tries again."""
    fleet = make_fleet(db, agents=4)

    def send(_: Connection, given: list[Row]) -> list[Decision]:
        return dispatch.queue_wakes(fleet.workspace, given)

    with Dispatch(db.dsn, pool_size=2) as dispatch, Crew(db, 2) as crew, db.connect() as admin:
        for task in fleet.issues(admin, 40):
            elements = [
                {"agent_id": agent, "reason": "task_assigned", "payload": assignment(task)}
                for agent in fleet.agents[:2]
            ]
            forth, back = crew.together(
                partial(send, given=elements), partial(send, given=elements[::-1])
            )
            decided = Counter(each.outcome for each in (*forth, *back))
            assert decided == {Outcome.QUEUED: 2, Outcome.COALESCED: 2}
            assert observed(fleet, admin, task) == 2


def test_one_key_of_many_agents_and_issues_is_one_run(db: Database) -> None:
    """R10: each session has a slot of its own, so the key's index alone decides."""
    fleet = make_fleet(db, agents=32)
    with Crew(db, 32) as crew, db.connect() as admin:
        tasks = fleet.issues(admin, 32)
        for number in range(100):
            answers = crew.together(
                *(
                    fleet.waking(agent, issue_id=task, idempotency_key=f"key {number}")
                    for agent, task in zip(fleet.agents, tasks, strict=True)
                )
            )
            assert outcomes(answers) == {"queued": 1, "deduplicated": 31}
            (run_id,) = {answer["run_id"] for answer in answers}
            assert run_id is not None
            for answer in answers:
                fields = (answer["outcome"], answer["agent_id"], answer["detail"])
                assert fields[0] == "queued" or fields[1:] == (None, None)
            (run,) = rows(
                admin,
                "select r.id, r.status::text as status from dispatch.run as r"
                " where r.status = 'queued'",
            )
            assert run["id"] == run_id
            fleet.one(admin, "cancel_run", run_id=run_id, actor_type="system")
        # A wake that lost its key has taken its row back.
        assert rows(admin, "select count(*) as n from dispatch.run")[0]["n"] == 100


def test_keys_that_merge_are_stored_nowhere(db: Database) -> None:
    """T65: two wakes of one key beside a run that merges them; neither is an error."""
    fleet = make_fleet(db)
    with Crew(db, 2) as crew, db.connect() as admin:
        for number, task in enumerate(fleet.issues(admin, 40)):
            fleet.wake(admin, issue_id=task)
            answers = crew.together(
                fleet.waking(issue_id=task, idempotency_key=f"k {number}", coalesce=True)
            )
            assert outcomes(answers) == {"coalesced": 2}
        assert fleet.runs(admin, "idempotency_key is not null") == []


def test_a_resume_and_a_replay_at_once_make_one_run(db: Database) -> None:
    """T109: two resumes and a replay meet, and each assignment becomes a run once."""
    fleet = make_fleet(db, agents=3)

    def replay(connection: Connection) -> list[Row]:
        query = "select dispatch._replay_assignments(%s, null) as done"
        return rows(connection, query, [fleet.workspace])

    with Crew(db, 3) as crew, db.connect() as admin:
        for number in range(40):
            fleet.call(admin, "pause_workspace", actor_type="system", reason="halt")
            issues = fleet.issues(admin, 3)
            for issue, agent in zip(issues, fleet.agents, strict=True):
                changes = {"assignee": {"type": "agent", "id": str(agent)}}
                given = {"issue_id": issue, "changes": changes, "actor_type": "user"}
                answer = fleet.one(admin, "update_issue", **given, actor_id=fleet.owner)
                assert answer["reason_code"] == "paused"
            resume = fleet.doing("resume_workspace", actor_type="system")
            first, second, _ = crew.together(resume, resume, replay)
            assert [first["resume_workspace"], second["resume_workspace"]].count(True) == 1
            runs = fleet.runs(admin, "issue_id = any(%s)", issues)
            assert sorted(run["issue_id"] for run in runs) == sorted(issues), number
            left = rows(
                admin,
                "select o.resolution from dispatch.deferred_assignment as o"
                " where o.issue_id = any(%s)",
                [issues],
            )
            assert [row["resolution"] for row in left] == ["replayed"] * 3


def test_pauses_at_once_leave_one_record(db: Database) -> None:
    fleet = make_fleet(db)
    with Crew(db, 8) as crew, db.connect() as admin:
        for number in range(25):
            answers = crew.together(
                fleet.doing("pause_workspace", actor_type="system", reason=f"halt {number}")
            )
            assert [answer["pause_workspace"] for answer in answers].count(True) == 1
            answers = crew.together(fleet.doing("resume_workspace", actor_type="system"))
            assert [answer["resume_workspace"] for answer in answers].count(True) == 1
        found = rows(
            admin,
            "select count(*) as n, count(p.released_at) as released"
            " from dispatch.workspace_pause as p",
        )
        assert found == [{"n": 25, "released": 25}]


def test_a_pause_binds_every_claim_that_begins_after_it(db: Database) -> None:
    """R17: the instants are the server's, read around the calls by their own sessions."""
    fleet = make_fleet(db, agents=4, capacity=50)

    def now(connection: Connection) -> datetime:
        found: datetime = rows(connection, "select clock_timestamp() as at")[0]["at"]
        return found

    def pause(connection: Connection) -> datetime:
        fleet.one(connection, "pause_workspace", actor_type="system", reason="halt")
        return now(connection)

    def claim(connection: Connection) -> list[tuple[datetime, list[Row]]]:
        return [(now(connection), fleet.claims(connection, 2)) for _ in range(3)]

    late = 0
    with Crew(db, 4) as crew, db.connect() as admin:
        for number in range(200):
            if number % 10 == 0:
                wakes = [
                    {
                        "agent_id": str(agent),
                        "reason": "work",
                        "chat_session_id": str(uuid.uuid4()),
                    }
                    for agent in fleet.agents
                    for _ in range(8)
                ]
                fleet.call(admin, "queue_wakes", wakes=Jsonb(wakes))
            paused, *claims = crew.together(pause, claim, claim, claim)
            for began, claimed in (each for answer in claims for each in answer):
                if began > paused:
                    late += 1
                    assert claimed == []
            assert fleet.claims(admin, 9, per_agent=9) == []
            fleet.call(admin, "resume_workspace", actor_type="system")
            held = fleet.runs(admin, "status = 'dispatched'")
            for run in held:
                done = {"run_id": run["id"], "claim_no": run["claim_no"]}
                assert fleet.one(admin, "start_run", **done)["applied"]
                assert fleet.one(admin, "complete_run", **done)["applied"]
    assert late > 0


def test_an_old_transaction_counts_what_was_committed_since(db: Database) -> None:
    """T83: windows end at the evaluation, not at the beginning of the caller's transaction."""
    fleet = make_fleet(db, agents=6)
    with db.connect(autocommit=False) as old, db.connect() as admin:
        (task,) = fleet.issues(admin, 1)
        (begun,) = rows(old, "select now() as at")
        for agent in fleet.agents[:5]:
            assign(fleet, admin, task, agent)
        assert assign(fleet, old, task, fleet.agents[5])["outcome"] == "rate_limited"
        other = assign(fleet, old, task, fleet.agents[5], "user")
        (run,) = fleet.runs(old, "id = %s", other["run_id"])
        assert run["requested_at"] > begun["at"]
        assert max(each["requested_at"] for each in fleet.runs(old)) == run["requested_at"]


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_records_live_and_die_with_the_transaction(db: Database, ending: str) -> None:
    """T81: a refusal is kept although no run was written, unless the caller rolls back."""
    fleet = make_fleet(db, agents=6)
    with db.connect(autocommit=False) as caller, db.connect() as admin:
        (task,) = fleet.issues(admin, 1)
        for agent in fleet.agents[:5]:
            assign(fleet, admin, task, agent)
        assert assign(fleet, caller, task, fleet.agents[5])["outcome"] == "rate_limited"
        assert fleet.wake(caller, uuid.uuid4())["outcome"] == "blocked"
        assert counters(admin) == {}
        getattr(caller, ending)()
        kept = {"allowance_exhausted": 1, "invocation_not_allowed": 1}
        assert counters(admin) == (kept if ending == "commit" else {})
        assert len(fleet.runs(admin)) == 5


def test_the_decision_outlives_every_session(db: Database) -> None:
    """T29: nothing but the rows is remembered."""
    fleet = make_fleet(db, agents=6)
    with db.connect() as first:
        (task,) = fleet.issues(first, 1)
        for agent in fleet.agents[:5]:
            assign(fleet, first, task, agent)
    with db.connect() as second:
        assert assign(fleet, second, task, fleet.agents[5])["outcome"] == "rate_limited"


def test_only_work_that_may_be_claimed_is_signalled(db: Database) -> None:
    """T58: a queued and a merged wake are; absorbed, duplicate and refused ones are not."""
    fleet = make_fleet(db, agents=7)
    with db.connect() as session:
        (task,) = fleet.issues(session, 1)
        (channel,) = rows(session, "select dispatch.wake_channel() as name")
        session.execute(f"listen {channel['name']}; listen marker".encode())

        def signals(task_of_call: Callable[[], Row]) -> tuple[str, list[str]]:
            answer = task_of_call()
            session.execute("notify marker")
            heard = []
            for each in session.notifies(timeout=30):
                if each.channel == "marker":
                    break
                heard.append(each.payload)
            return answer["outcome"], heard

        runtime = [str(fleet.runtime)]
        for agent in fleet.agents[:5]:
            key = f"k {agent}"
            queued = signals(partial(assign, fleet, session, task, agent, idempotency_key=key))
            assert queued == ("queued", runtime)
        by_user = partial(assign, fleet, session, task, fleet.agents[5], "user")
        assert signals(by_user) == ("queued", runtime)
        assert signals(by_user) == ("coalesced", runtime)
        silent: list[tuple[str, Row]] = [
            ("absorbed", {"agent": fleet.agents[5], "coalesce": False}),
            ("deduplicated", {"agent": fleet.agents[6], "idempotency_key": f"k {fleet.agent}"}),
            ("rate_limited", {"agent": fleet.agents[6]}),
        ]
        for expected, given in silent:
            answer = signals(partial(assign, fleet, session, task, **given))
            assert answer == (expected, [])

        def paused_and_resumed() -> Row:
            fleet.one(session, "pause_workspace", actor_type="system", reason="halt")
            fleet.one(session, "resume_workspace", actor_type="system")
            return {"outcome": "resumed"}

        assert signals(paused_and_resumed) == ("resumed", runtime)
