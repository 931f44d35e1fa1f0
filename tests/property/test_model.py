"""Generated programs of wakes, claims and reports agree with the model after every step."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.concurrency.support import Fleet, Row, payloads, rows
from tests.property.model import ACTIVE, TERMINAL, Answer, Queue, Run
from tests.support.servers import NOON, Database

CAPACITIES = {0: 1, 1: 3}
EVERYBODY = list(CAPACITIES)
ISSUES = CHATS = 2
#: Mostly one issue, since the slot of a pair is where most rules meet.
LANES = ["issue 0"] * 7 + ["issue 1", "chat 0", "chat 1", "none 0"]

STATE = """
select
    r.id, r.status::text, r.claim_no, r.attempt, r.max_attempts, r.priority, r.requested_at,
    case when r.status = 'deferred' then r.fire_at end as fire_at, r.lease_expires_at as lease
from dispatch.runs as r
where r.workspace_id = %s
"""

BROKEN = """
select 'capacity' as rule from dispatch.run as r
inner join dispatch.agent as a on a.workspace_id = r.workspace_id and a.id = r.agent_id
where r.workspace_id = %(ws)s
    and r.status in ('dispatched', 'waiting_local_directory', 'running')
group by a.id, a.max_concurrent_runs having count(*) > a.max_concurrent_runs
union all
select 'lane' from dispatch.run as r
where r.workspace_id = %(ws)s
    and r.status in ('dispatched', 'waiting_local_directory', 'running')
group by r.agent_id, r.lane having count(*) > 1
union all
select 'slot' from dispatch.run as r
where r.workspace_id = %(ws)s
    and r.status in ('queued', 'dispatched') and r.issue_id is not null
group by r.agent_id, r.issue_id having count(*) > 1
union all
select 'half a run' from dispatch.run as r
where r.workspace_id = %(ws)s
    and not exists (
        select from dispatch.run_detail as d
        where d.workspace_id = r.workspace_id and d.run_id = r.id
    )
"""

PICKS = st.integers(0, 15)
STALE = st.sampled_from([0, 0, 0, 0, 0, 0, 0, 1])
LEASES = st.sampled_from([None, None, timedelta(seconds=20), timedelta(minutes=5)])
REASONS = st.sampled_from(["timeout", "timeout", "runtime_offline", "agent_error.unknown"])
SOME = st.sampled_from([[0], [1], [0, 1], [0, 1]])

#: The steps of a program: how often each is taken, and with what.
STEPS: dict[str, tuple[int, dict[str, st.SearchStrategy[Any]]]] = {
    "wake": (
        10,
        {
            "agent": st.sampled_from([0, 1, 1, 1]),
            "lane": st.sampled_from(LANES),
            "payload": st.integers(0, 2),
            "priority": st.sampled_from([0, 0, 2, 4]),
            "key": st.sampled_from([None, "a", "b"]),
            "delay": st.sampled_from([None, None, None, None, -5, 30, 100]),
            "max_attempts": st.sampled_from([1, 2, 2, 3]),
        },
    ),
    "claim_run": (3, {"agent": st.sampled_from(EVERYBODY)}),
    "claim_runs": (
        4,
        {
            "agents": SOME,
            "most": st.integers(0, 4),
            "per_agent": st.integers(1, 3),
            "start": st.sampled_from([False, False, True]),
            "lease": LEASES,
        },
    ),
    "reclaim_runs": (1, {"agents": SOME, "most": st.integers(1, 3)}),
    "promote_deferred": (1, {"agents": SOME}),
    "start_run": (4, {"number": PICKS, "back": STALE, "lease": LEASES}),
    "wait_run": (1, {"number": PICKS, "back": STALE}),
    "extend_lease": (1, {"number": PICKS, "back": STALE, "lease": LEASES}),
    "requeue_run": (1, {"number": PICKS, "back": STALE}),
    "defer_run": (
        1,
        {"number": PICKS, "back": STALE, "delay": st.sampled_from([-10, 0, 20, 100])},
    ),
    "complete_run": (
        1,
        {"number": PICKS, "back": STALE, "result": st.sampled_from([None, 1])},
    ),
    "fail_run": (3, {"number": PICKS, "back": STALE, "reason": REASONS}),
    "cancel_run": (1, {"number": PICKS}),
    "recover_runtime": (1, {"agent": st.sampled_from(EVERYBODY)}),
    "advance": (
        4,
        {
            "seconds": st.sampled_from([1, 30, 45, 46, 90, 91, 120, 151]),
            "beat": st.sampled_from([True, True, True, False]),
        },
    ),
}

step = st.sampled_from(
    [name for name, (often, _) in STEPS.items() for _ in range(often)]
).flatmap(lambda name: st.tuples(st.just(name), st.fixed_dictionaries(STEPS[name][1])))


class Program:
    """Makes each call in the database and in the model, and compares."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.connection = db.connect()
        self.now = db.set_clock(NOON)
        self.queue = Queue(CAPACITIES, self.now)
        self.ids: dict[int, uuid.UUID] = {}
        self.fleet = Fleet(
            uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), tuple(uuid.uuid4() for _ in EVERYBODY)
        )
        self.runtimes = [self.fleet.runtime, uuid.uuid4()]
        self._make()
        self.issues = self.fleet.issues(self.connection, ISSUES)
        self.chats = [uuid.uuid4() for _ in range(CHATS)]

    def _make(self) -> None:
        fleet, connection = self.fleet, self.connection
        fleet.call(connection, "put_workspace", name="Acme")
        fleet.call(connection, "put_member", user_id=fleet.owner, name="Ana")
        for agent in EVERYBODY:
            home = self.runtimes[agent]
            fleet.call(connection, "put_runtime", runtime_id=home, daemon_id="daemon-1")
            fleet.call(
                connection,
                "put_agent",
                agent_id=fleet.agents[agent],
                name=f"agent {agent}",
                owner_id=fleet.owner,
                runtime_id=home,
                max_concurrent_runs=CAPACITIES[agent],
            )
        fleet.call(connection, "heartbeat", runtime_ids=self.runtimes)

    def run(self, name: str, arguments: dict[str, Any]) -> None:
        """Take one step and see that all is as it must be."""
        if "number" in arguments and not self.queue.runs:
            return
        getattr(self, name)(**arguments)
        self.agrees()
        self.keeps_its_promises()

    # Helpers

    def pick(self, number: int, fitting: Iterable[str] = ACTIVE) -> Run:
        """Choose a run: mostly a fitting one, else one that has not ended, else any."""
        fit = [run for run in self.queue.runs if run.status in set(fitting)]
        live = [run for run in self.queue.runs if run.status not in TERMINAL]
        pool = (number < 12 and fit) or (number < 14 and live) or self.queue.runs
        return pool[number % len(pool)]

    def learn(self, run: Run | None, found: uuid.UUID | None) -> None:
        """Note the id of a run that the model expects, or see that it is the one known."""
        assert (run is None) == (found is None)
        if run is not None and found is not None:
            assert self.ids.setdefault(run.order, found) == found
            assert list(self.ids.values()).count(found) == 1

    def report(self, run: Run, back: int) -> Row:
        """Name a run and its claim, or an older claim of it."""
        return {"run_id": self.ids[run.order], "claim_no": run.claim_no - back}

    def check(self, run: Run, answer: Row, wanted: Answer) -> None:
        """Compare the answer of a transition."""
        assert (answer["applied"], answer["reason"]) == (wanted.applied, wanted.reason)
        assert (answer["status"], answer["claim_no"]) == (run.status, run.claim_no)
        assert answer["run_id"] == self.ids[run.order]
        self.learn(run.retry, answer["retry_run_id"])
        self.learn(run.follow_up, answer["follow_up_run_id"])

    def check_claimed(
        self, claimed: list[Row], wanted: list[Run], again: list[Run] | None = None
    ) -> None:
        """Compare what a claim handed out, with the wakes that it delivers."""
        assert {row["run_id"] for row in claimed} == {self.ids[run.order] for run in wanted}
        assert len(claimed) == len(wanted)
        by_id = {row["run_id"]: row for row in claimed}
        for run in wanted:
            row = by_id[self.ids[run.order]]
            assert row["claim_no"] == run.claim_no
            assert row["attempt"] == run.attempt
            assert row["reclaimed"] == (run in (again or []))
            assert Counter(payload["n"] for payload in payloads([row])) == run.wakes

    def runtimes_of(self, agents: list[int]) -> list[uuid.UUID]:
        """Name the runtimes of agents."""
        return [self.runtimes[agent] for agent in agents]

    # Rules

    def wake(
        self,
        agent: int,
        lane: str,
        payload: int,
        priority: int,
        key: str | None,
        delay: int | None,
        max_attempts: int,
    ) -> None:
        """Queue a wake; keys only where no slot decides before them."""
        kind, number = lane.split()
        issue = int(number) if kind == "issue" else None
        chat = int(number) if kind == "chat" else None
        given: dict[str, Any] = {
            "issue": issue,
            "chat": chat,
            "payload": payload,
            "priority": priority,
            "key": key if kind == "chat" else None,
            "fire_at": None if delay is None else self.now + timedelta(seconds=delay),
            "max_attempts": max_attempts,
        }
        outcome, run = self.queue.wake(self.now, agent, **given)
        answer = self.fleet.wake(
            self.connection,
            self.fleet.agents[agent],
            payload={"n": payload},
            priority=priority,
            idempotency_key=given["key"],
            issue_id=None if issue is None else self.issues[issue],
            chat_session_id=None if chat is None else self.chats[chat],
            fire_at=given["fire_at"],
            coalesce=False,
            max_attempts=max_attempts,
        )
        assert answer["outcome"] == outcome
        self.learn(run, answer["run_id"])

    def claim_run(self, agent: int) -> None:
        """Claim one run of an agent."""
        claimed = self.fleet.claim(self.connection, self.fleet.agents[agent])
        self.check_claimed(claimed, self.queue.claim(self.now, [agent], 1, 1))

    def claim_runs(
        self,
        agents: list[int],
        most: int,
        per_agent: int,
        start: bool,
        lease: timedelta | None,
    ) -> None:
        """Claim for runtimes: what is due, what went stale, then what waits."""
        claimed = self.fleet.call(
            self.connection,
            "claim_runs",
            runtime_ids=self.runtimes_of(agents),
            max=most,
            per_agent=per_agent,
            start=start,
            lease=lease,
        )
        again: list[Run] = []
        fresh: list[Run] = []
        if most:
            self.queue.promote(self.now, agents)
            kept = {} if start or lease is None else {"lease": lease}
            again = self.queue.reclaim(self.now, agents, most, **kept)
            fresh = self.queue.claim(
                self.now, agents, most - len(again), per_agent, start=start, lease=lease
            )
        self.check_claimed(claimed, again + fresh, again)

    def reclaim_runs(self, agents: list[int], most: int) -> None:
        """Reclaim alone."""
        claimed = self.fleet.call(
            self.connection, "reclaim_runs", runtime_ids=self.runtimes_of(agents), max=most
        )
        again = self.queue.reclaim(self.now, agents, most)
        self.check_claimed(claimed, again, again)

    def promote_deferred(self, agents: list[int]) -> None:
        """Promote alone."""
        moved = self.fleet.one(
            self.connection, "promote_deferred", runtime_ids=self.runtimes_of(agents)
        )["promote_deferred"]
        assert moved == len(self.queue.promote(self.now, agents))

    def start_run(self, number: int, back: int, lease: timedelta | None) -> None:
        """Start a run."""
        run = self.pick(number, ["dispatched", "waiting_local_directory"])
        report = self.report(run, back)
        wanted = self.queue.start(run, report["claim_no"], self.now, lease)
        answer = self.fleet.one(self.connection, "start_run", **report, lease=lease)
        self.check(run, answer, wanted)

    def wait_run(self, number: int, back: int) -> None:
        """Let a run wait."""
        run = self.pick(number, ["dispatched"])
        report = self.report(run, back)
        wanted = self.queue.wait(run, report["claim_no"], self.now)
        answer = self.fleet.one(self.connection, "wait_run", **report, wait_reason="busy")
        self.check(run, answer, wanted)

    def extend_lease(self, number: int, back: int, lease: timedelta | None) -> None:
        """Prolong a lease."""
        run = self.pick(number)
        report = self.report(run, back)
        wanted = self.queue.extend(run, report["claim_no"], self.now, lease)
        answer = self.fleet.one(self.connection, "extend_lease", **report, lease=lease)
        self.check(run, answer, wanted)

    def requeue_run(self, number: int, back: int) -> None:
        """Give a claim back."""
        run = self.pick(number, ["dispatched"])
        report = self.report(run, back)
        wanted = self.queue.requeue(run, report["claim_no"])
        self.check(run, self.fleet.one(self.connection, "requeue_run", **report), wanted)

    def defer_run(self, number: int, back: int, delay: int) -> None:
        """Put a run off; a deferred retry of an issue has rules of its own."""
        run = self.pick(number)
        if run.is_retry and run.issue is not None:
            return
        report = self.report(run, back)
        until = self.now + timedelta(seconds=delay)
        wanted = self.queue.defer(run, report["claim_no"], self.now, until)
        answer = self.fleet.one(self.connection, "defer_run", **report, until=until)
        self.check(run, answer, wanted)

    def complete_run(self, number: int, back: int, result: int | None) -> None:
        """Complete a run, or repeat that."""
        run = self.pick(number, ["running"])
        report = self.report(run, back)
        wanted = self.queue.complete(run, report["claim_no"], result)
        stored = None if result is None else {"n": result}
        answer = self.fleet.one(self.connection, "complete_run", **report, result=stored)
        self.check(run, answer, wanted)

    def fail_run(self, number: int, back: int, reason: str) -> None:
        """Fail a run, or repeat that."""
        run = self.pick(number)
        report = self.report(run, back)
        wanted = self.queue.fail(run, report["claim_no"], self.now, reason)
        answer = self.fleet.one(self.connection, "fail_run", **report, failure_reason=reason)
        self.check(run, answer, wanted)

    def cancel_run(self, number: int) -> None:
        """Cancel a run."""
        run = self.pick(number, ["queued", "deferred", *ACTIVE])
        wanted = self.queue.cancel(run)
        answer = self.fleet.one(
            self.connection, "cancel_run", run_id=self.ids[run.order], actor_type="system"
        )
        self.check(run, answer, wanted)

    def recover_runtime(self, agent: int) -> None:
        """Fail what a daemon had in hand."""
        answers = self.fleet.call(
            self.connection, "recover_runtime", runtime_id=self.runtimes[agent]
        )
        lost = self.queue.recover(agent, self.now)
        by_id = {answer["run_id"]: answer for answer in answers}
        assert set(by_id) == {self.ids[run.order] for run in lost}
        for run in lost:
            self.check(run, by_id[self.ids[run.order]], Answer(True))

    def advance(self, seconds: int, beat: bool) -> None:
        """Let time pass, with or without a heartbeat at its end."""
        self.now = self.db.set_clock(self.now + timedelta(seconds=seconds))
        if beat:
            self.fleet.call(self.connection, "heartbeat", runtime_ids=self.runtimes)
            self.queue.seen_at = dict.fromkeys(EVERYBODY, self.now)

    # What holds after every step

    def agrees(self) -> None:
        """Every run stands where the model has it."""
        found = {
            row.pop("id"): row for row in rows(self.connection, STATE, [self.fleet.workspace])
        }
        wanted = {self.ids[run.order]: standing(run) for run in self.queue.runs}
        assert found == wanted

    def keeps_its_promises(self) -> None:
        """Capacity, lanes and slots hold in the table itself."""
        assert rows(self.connection, BROKEN, {"ws": self.fleet.workspace}) == []


def standing(run: Run) -> dict[str, int | str | datetime | None]:
    """Give a run of the model as the database shows it."""
    return {
        "status": run.status,
        "claim_no": run.claim_no,
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "priority": run.priority,
        "requested_at": run.requested_at,
        "fire_at": run.fire_at if run.status == "deferred" else None,
        "lease": run.lease if run.status in ACTIVE else None,
    }


Step = tuple[str, dict[str, Any]]


def woken(payload: int, **more: Any) -> Step:
    """A wake for the second agent on the first issue."""
    plain: dict[str, Any] = {
        "agent": 1,
        "lane": "issue 0",
        "payload": payload,
        "priority": 0,
        "key": None,
        "delay": None,
        "max_attempts": 2,
    }
    return "wake", plain | more


def took(name: str, **more: Any) -> Step:
    """A transition of the first run that fits, by its newest claim."""
    return name, {"number": 0, "back": 0} | more


CLAIM: Step = ("claim_run", {"agent": 1})
CLAIM_0: Step = ("claim_run", {"agent": 0})
LATER: Step = ("advance", {"seconds": 91, "beat": True})
BATCH: Step = (
    "claim_runs",
    {"agents": [0, 1], "most": 3, "per_agent": 3, "start": True, "lease": None},
)
PROMOTE: Step = ("promote_deferred", {"agents": [0, 1]})
TIMED_OUT = took("fail_run", reason="timeout")
START = took("start_run", lease=None)
DONE = took("complete_run", result=None)

NAMED: dict[str, list[Step]] = {
    "a retry that yields hands over its only wake": [
        woken(1), CLAIM, START, woken(2), TIMED_OUT, CLAIM,
    ],
    "a retry that yields to a claimed run is owed there": [
        woken(1), CLAIM, START, woken(2), took("wait_run"), TIMED_OUT, CLAIM, START,
        TIMED_OUT, CLAIM, CLAIM,
    ],
    "a retry inherits all wakes, those that came too late as well": [
        woken(1), woken(2), CLAIM, woken(0), woken(2), TIMED_OUT, CLAIM, START, TIMED_OUT,
    ],
    "a final failure has a follow-up for what came too late": [
        woken(1, max_attempts=1), CLAIM, woken(2), woken(2), TIMED_OUT, CLAIM, START,
    ],
    "a start has a follow-up that waits for the lane": [
        woken(1), CLAIM, woken(2), START, CLAIM, woken(0), DONE, CLAIM,
    ],
    "a wait has a follow-up too": [
        woken(1), CLAIM, woken(2), took("wait_run"), START, DONE, CLAIM,
    ],
    "requeue and reclaim deliver what came too late": [
        woken(1), CLAIM, woken(2), took("requeue_run"), CLAIM, woken(2), LATER,
        ("reclaim_runs", {"agents": [1], "most": 1}), START, CLAIM,
    ],
    "only the newest claim may give back": [
        woken(1), CLAIM, LATER, ("reclaim_runs", {"agents": [1], "most": 1}),
        took("requeue_run", back=1), took("start_run", back=1, lease=None),
        took("extend_lease", back=1, lease=None), took("requeue_run"),
    ],
    "an extension never shortens a lease": [
        woken(1), CLAIM, took("start_run", lease=timedelta(minutes=5)),
        took("extend_lease", lease=None), LATER, LATER, LATER, LATER,
        took("extend_lease", lease=None), DONE,
    ],
    "a deferred run keeps its wakes and waits for its slot": [
        woken(1), CLAIM, woken(2), took("defer_run", delay=20), woken(0), LATER, PROMOTE, CLAIM,
        PROMOTE, START, PROMOTE, DONE, CLAIM,
    ],
    "of two due runs of a pair the better one is promoted": [
        woken(1, delay=30), woken(2, delay=30, priority=4), LATER, PROMOTE, PROMOTE, CLAIM,
        START, PROMOTE,
    ],
    "a claim promotes, reclaims and claims in one call": [
        woken(1), CLAIM, woken(2, lane="issue 1", delay=30), woken(0, lane="chat 0"), LATER,
        BATCH,
    ],
    "every active status counts against the capacity": [
        woken(1, agent=0), CLAIM_0, woken(2, agent=0, lane="chat 0"), CLAIM_0, BATCH,
        took("wait_run"), CLAIM_0, BATCH, START, CLAIM_0, BATCH, DONE, CLAIM_0,
    ],
    "a runtime is fresh for 150 seconds to the instant": [
        woken(1), ("advance", {"seconds": 150, "beat": False}), CLAIM, woken(2),
        START, DONE, ("advance", {"seconds": 1, "beat": False}), CLAIM,
    ],
    "a silent runtime is served nothing": [
        woken(1), ("advance", {"seconds": 151, "beat": False}), CLAIM,
        BATCH,
        ("advance", {"seconds": 1, "beat": True}), CLAIM,
    ],
    "a cancelled run takes its wakes along": [
        woken(1), CLAIM, woken(2), ("cancel_run", {"number": 0}), woken(0), CLAIM,
    ],
}  # fmt: skip


@pytest.mark.parametrize("steps", NAMED.values(), ids=NAMED.keys())
def test_named_programs_agree_with_the_model(db: Database, steps: list[Step]) -> None:
    program = Program(db)
    with program.connection:
        for name, arguments in steps:
            program.run(name, arguments)


def test_generated_programs_agree_with_the_model(db: Database) -> None:
    """The same programs each time; PGDISPATCH_PROGRAMS=N makes N others, for a search."""
    asked = os.environ.get("PGDISPATCH_PROGRAMS")

    @settings(
        max_examples=int(asked or 25),
        deadline=None,
        database=None,
        derandomize=asked is None,
        phases=[Phase.generate] if asked is None else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(steps=st.lists(step, min_size=60, max_size=80))
    def programs(steps: list[Step]) -> None:
        program = Program(db)
        with program.connection:
            for name, arguments in steps:
                program.run(name, arguments)

    programs()
