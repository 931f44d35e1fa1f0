"""What the queue must do, in plain Python: written from the rules, not from the SQL.

One run is one object, one set of rules is one method, and time is an argument. What is not
modelled is kept out of the generated programs: gates that refuse, merges, pauses, squads.
A wake is a number of its own, so that it shows when one is lost or delivered twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

ACTIVE = frozenset({"dispatched", "waiting_local_directory", "running"})
TERMINAL = frozenset({"completed", "failed", "cancelled"})
SLOT = frozenset({"queued", "dispatched"})
WAITING = frozenset({"queued", "dispatched", "deferred"})
OFFLINE = "runtime_offline"
NETWORK = "agent_error.provider_network"
RETRYABLE = frozenset(
    {
        OFFLINE,
        NETWORK,
        "timeout",
        "runtime_recovery",
        "codex_semantic_inactivity",
        "skill_bundle_unavailable",
    }
)
SWEEPS = ("runtimes", "dispatched", "running", "offline", "queued", "reconnect")

PREPARE = timedelta(seconds=45)
RECOVERY = timedelta(seconds=90)
FRESH = timedelta(seconds=150)
DISPATCH = timedelta(seconds=300)
RUNNING = timedelta(seconds=9000)
TTL = timedelta(hours=2)
GRACE = timedelta(hours=3)
#: How long a key counts before the slot; later it counts after it.
RECENT = timedelta(hours=24)


@dataclass
class Run:
    """One run: where it stands, and the wakes that it stands for."""

    order: int
    agent: int
    issue: int | None
    chat: int | None
    payload: int
    priority: int
    requested_at: datetime
    status: str = "queued"
    attempt: int = 1
    max_attempts: int = 2
    claim_no: int = 0
    fire_at: datetime | None = None
    dispatched_at: datetime | None = None
    started_at: datetime | None = None
    lease: datetime | None = None
    key: str | None = None
    #: Its wakes with their payloads, and those of them that came too late for its claim.
    wakes: dict[int, int] = field(default_factory=dict)
    owed: set[int] = field(default_factory=set)
    failure: str | None = None
    parent: Run | None = None
    rerun_of: Run | None = None
    #: The arguments of the report that ended it.
    report: tuple[object, ...] | None = None
    retry: Run | None = None
    follow_up: Run | None = None

    @property
    def lane(self) -> tuple[str, int]:
        """What serialises the run within its agent."""
        if self.issue is not None:
            return "issue", self.issue
        return ("chat", self.chat) if self.chat is not None else ("quick_create", 0)

    @property
    def is_paired(self) -> bool:
        """Tell whether it shares a slot with other runs of its agent."""
        return self.issue is not None

    @property
    def place(self) -> tuple[int, datetime, int]:
        """Its place in the order of claims."""
        return -self.priority, self.requested_at, self.order


@dataclass(frozen=True)
class Answer:
    """What a transition answers."""

    applied: bool
    reason: str | None = None


APPLIED = Answer(True)


class Queue:
    """All runs of a workspace, its agents' capacities, and when its runtimes were seen."""

    def __init__(self, capacities: dict[int, int], now: datetime) -> None:
        self.capacities = capacities
        #: Agent N is served by runtime N.
        self.seen_at = dict.fromkeys(capacities, now)
        self.offline: set[int] = set()
        self.runs: list[Run] = []
        self._wakes = 0

    # Admission

    def wake(
        self,
        now: datetime,
        agent: int,
        *,
        issue: int | None,
        chat: int | None,
        payload: int,
        priority: int,
        key: str | None,
        fire_at: datetime | None,
        max_attempts: int,
    ) -> tuple[str, Run]:
        """Decide about a wake that may not merge: its outcome and its run."""
        later = fire_at is not None and fire_at > now
        known = next((run for run in self.runs if key and run.key == key), None)
        if known is not None and known.requested_at > now - RECENT:
            return "deduplicated", known
        holder = self.slot(agent, issue)
        if holder is not None and not later:
            self._record(holder, {self._number(): payload})
            return "absorbed", holder
        if known is not None:
            return "deduplicated", known
        run = self._add(Run(len(self.runs), agent, issue, chat, payload, priority, now))
        run.key = key
        run.max_attempts = max_attempts
        run.wakes[self._number()] = payload
        if later:
            run.status, run.fire_at = "deferred", fire_at
        return run.status, run

    def slot(self, agent: int, issue: int | None) -> Run | None:
        """Find the run of a pair that was not started yet."""
        return next(
            (
                run
                for run in self.runs
                if issue is not None
                and (run.agent, run.issue) == (agent, issue)
                and run.status in SLOT
            ),
            None,
        )

    def _add(self, run: Run) -> Run:
        self.runs.append(run)
        return run

    def _number(self) -> int:
        self._wakes += 1
        return self._wakes

    def _record(self, run: Run, wakes: Mapping[int, int]) -> None:
        if run.status == "dispatched":
            run.owed |= wakes.keys() - run.wakes.keys()
        run.wakes |= wakes

    # Directory

    def beat(self, now: datetime, agents: Iterable[int]) -> None:
        """Note a heartbeat of the agents' runtimes."""
        for agent in agents:
            self.seen_at[agent] = now
            self.offline.discard(agent)

    # Claims

    def fresh(self, agent: int, now: datetime) -> bool:
        """Tell whether the agent's runtime was seen lately."""
        return agent not in self.offline and self.seen_at[agent] >= now - FRESH

    def lost(self, agent: int, now: datetime) -> bool:
        """Tell whether the agent's runtime is silent for longer than it may be."""
        return self.seen_at[agent] < now - GRACE

    def active(self, agent: int) -> list[Run]:
        """List the runs that count against an agent's capacity."""
        return [run for run in self.runs if run.agent == agent and run.status in ACTIVE]

    def promote(self, now: datetime, agents: Iterable[int]) -> list[Run]:
        """Drop the retries that were replaced, everywhere, then queue what is due."""
        self.drop_superseded({run.agent for run in self.runs if self._live_rival(run)})
        return self.promote_due(now, agents)

    def promote_due(self, now: datetime, agents: Iterable[int]) -> list[Run]:
        """Of each pair the best, where its slot is free."""
        due = [
            run
            for run in self.runs
            if run.agent in set(agents)
            and run.status == "deferred"
            and run.fire_at is not None
            and run.fire_at <= now
            and self.fresh(run.agent, now)
            and self.slot(run.agent, run.issue) is None
        ]
        self.drop_superseded({run.agent for run in due})
        moved = []
        for run in sorted(due, key=lambda run: run.place):
            if run.status == "deferred" and self.slot(run.agent, run.issue) is None:
                run.status = "queued"
                if run.fire_at is not None and run.fire_at < now - TTL:
                    run.fire_at = now
                moved.append(run)
        return moved

    def _live_rival(self, run: Run) -> Run | None:
        """Find the run that does the work of a retry that waits for its time."""
        if (
            (run.status, run.claim_no) != ("deferred", 0)
            or run.attempt == 1
            or not run.is_paired
        ):
            return None
        holder = self.slot(run.agent, run.issue)
        if holder is not None:
            return holder
        return next(
            (
                other
                for other in self.active(run.agent)
                if other.lane == run.lane and other.rerun_of is not None
            ),
            None,
        )

    def drop_superseded(self, agents: Iterable[int]) -> None:
        """Cancel such retries of these agents; who holds the slot gets their wakes."""
        for run in self.runs:
            rival = self._live_rival(run) if run.agent in set(agents) else None
            if rival is not None:
                if rival.status in SLOT:
                    self._record(rival, run.wakes)
                self.cancel(run)

    def reclaim(
        self, now: datetime, agents: Iterable[int], most: int, lease: timedelta = PREPARE
    ) -> list[Run]:
        """Hand out again the claims that were never confirmed."""
        stale = [
            run
            for run in self.runs
            if run.agent in set(agents)
            and run.status == "dispatched"
            and run.dispatched_at is not None
            and run.dispatched_at < now - RECOVERY
            and (run.lease is None or run.lease < now)
            and self.fresh(run.agent, now)
        ]
        stale.sort(key=lambda run: (-run.priority, run.dispatched_at or now, run.order))
        for run in stale[:most]:
            self._hand_out(run, now, now + lease)
        return stale[:most]

    def claim(
        self,
        now: datetime,
        agents: Iterable[int],
        most: int,
        per_agent: int,
        *,
        start: bool = False,
        lease: timedelta | None = None,
    ) -> list[Run]:
        """Claim queued runs: capacity, one a lane, best first."""
        chosen: list[Run] = []
        for agent in agents:
            if not self.fresh(agent, now):
                continue
            free = min(per_agent, self.capacities[agent] - len(self.active(agent)))
            lanes = {run.lane for run in self.active(agent)}
            mine = [run for run in self.runs if run.agent == agent and run.status == "queued"]
            for run in sorted(mine, key=lambda run: run.place):
                if free > 0 and run.lane not in lanes:
                    chosen.append(run)
                    lanes.add(run.lane)
                    free -= 1
        chosen.sort(key=lambda run: run.place)
        self.drop_superseded({run.agent for run in chosen[:most]})
        for run in chosen[:most]:
            if start:
                self._hand_out(run, now, None if lease is None else now + lease)
                run.status, run.started_at = "running", now
            else:
                self._hand_out(run, now, now + (lease or PREPARE))
                run.status = "dispatched"
        return chosen[:most]

    def _hand_out(self, run: Run, now: datetime, lease: datetime | None) -> None:
        run.claim_no += 1
        run.dispatched_at = now
        run.lease = lease
        run.owed.clear()

    # Sweeps

    def sweep(self, now: datetime, name: str) -> tuple[int, list[Run]]:
        """Make one sweep: how many rows it handles, and which runs."""
        if name == "runtimes":
            silent = {
                agent
                for agent in self.capacities
                if agent not in self.offline and not self.fresh(agent, now)
            }
            self.offline |= silent
            return len(silent), []
        ended = [run for run in self.runs if self._is_over(run, now, name)]
        reason = {
            "offline": OFFLINE,
            "queued": "queued_expired",
            "reconnect": "runtime_reconnect_timeout",
        }.get(name, "timeout")
        for run in ended:
            self.fail(run, run.claim_no, now, reason, ACTIVE | WAITING)
        return len(ended), ended

    def _is_over(self, run: Run, now: datetime, name: str) -> bool:
        """Tell whether a sweep may end a run: liveness first, then age."""
        expired = run.lease is not None and run.lease < now
        lost = self.lost(run.agent, now)
        was_lost = run.parent is not None and run.parent.failure == OFFLINE
        if name == "dispatched" and run.status == "waiting_local_directory":
            return expired
        if name == "dispatched" and run.status == "dispatched":
            return (
                _older(run.dispatched_at, DISPATCH, now)
                and (run.lease is None or expired)
                and (self.fresh(run.agent, now) or lost)
            )
        if name == "running" and run.status == "running":
            return expired or (_older(run.started_at, RUNNING, now) and lost)
        if name == "offline" and run.status in ACTIVE:
            return lost and run.agent in self.offline
        if name == "queued" and run.status == "queued":
            since = max(run.requested_at, run.fire_at or run.requested_at)
            return since < now - TTL and not was_lost
        if name == "reconnect" and run.status == "deferred":
            return (
                was_lost
                and run.claim_no == 0
                and _older(run.fire_at, GRACE, now)
                and not self.fresh(run.agent, now)
            )
        return False

    # Transitions

    def start(self, run: Run, no: int, now: datetime, lease: timedelta | None) -> Answer:
        """Begin a claimed or waiting run."""
        if refusal := self._refusal(run, no, {"dispatched", "waiting_local_directory"}):
            return refusal
        run.status, run.started_at = "running", now
        run.lease = None if lease is None else now + lease
        self._settle(run, now)
        return APPLIED

    def wait(self, run: Run, no: int, now: datetime) -> Answer:
        """Let a claimed run wait."""
        if refusal := self._refusal(run, no, {"dispatched"}):
            return refusal
        run.status, run.lease = "waiting_local_directory", now + PREPARE
        self._settle(run, now)
        return APPLIED

    def extend(self, run: Run, no: int, now: datetime, lease: timedelta | None) -> Answer:
        """Prolong a lease that lasts."""
        if refusal := self._refusal(run, no, ACTIVE):
            return refusal
        if run.lease is None:
            return Answer(False, "wrong_state")
        if run.lease < now:
            return Answer(False, "lease_expired")
        run.lease = max(run.lease, now + (lease or PREPARE))
        return APPLIED

    def requeue(self, run: Run, no: int) -> Answer:
        """Give a claim back."""
        if refusal := self._refusal(run, no, {"dispatched"}):
            return refusal
        run.status, run.lease, run.dispatched_at = "queued", None, None
        return APPLIED

    def defer(self, run: Run, no: int, now: datetime, until: datetime) -> Answer:
        """Put a claimed, waiting or running run off."""
        if refusal := self._refusal(run, no, ACTIVE):
            return refusal
        run.status, run.fire_at = "deferred", max(until, now)
        run.lease = run.dispatched_at = run.started_at = None
        return APPLIED

    def complete(self, run: Run, no: int, result: object) -> Answer:
        """End a running run."""
        report = ("completed", result)
        if refusal := self._refusal(run, no, {"running"}, report):
            return refusal
        self._end(run, "completed", report)
        return APPLIED

    def fail(
        self,
        run: Run,
        no: int,
        now: datetime,
        reason: str,
        allowed: Iterable[str] = ACTIVE,
    ) -> Answer:
        """End a run that failed, and repeat it where that is due."""
        report = ("failed", reason)
        if refusal := self._refusal(run, no, allowed, report):
            return refusal
        was_claimed = run.status in ACTIVE
        self._end(run, "failed", report)
        run.failure = reason
        most = run.max_attempts
        if reason == NETWORK and most > 1:
            most = max(most, 3)
        if (
            reason not in RETRYABLE
            or run.attempt >= most
            or not (run.issue is not None or run.chat is not None)
        ):
            if was_claimed:
                self._settle(run, now)
            run.owed.clear()
            return APPLIED
        run.owed.clear()
        delay = _delay(reason, run.attempt)
        holder = self.slot(run.agent, run.issue)
        if holder is not None and delay is None:
            self._record(holder, run.wakes)
            return APPLIED
        priority = run.priority if run.chat is None else max(run.priority, 3)
        run.retry = self._successor(run, run.wakes, now, priority)
        run.retry.parent = run
        run.retry.attempt = run.attempt + 1
        run.retry.max_attempts = most
        if delay is not None:
            run.retry.status, run.retry.fire_at = "deferred", now + delay
        return APPLIED

    def rerun(self, run: Run, now: datetime) -> Run:
        """Ask for a run once more; what its pair has waiting is replaced."""
        waiting = [
            other
            for other in self.runs
            if run.is_paired
            and (other.agent, other.issue) == (run.agent, run.issue)
            and other.status in WAITING
        ]
        again = self._successor(run, run.wakes, now, run.priority)
        again.rerun_of = run
        run.owed.clear()
        for other in waiting:
            again.wakes |= other.wakes
            self.cancel(other)
        return again

    def cancel(self, run: Run) -> Answer:
        """End a run that is not wanted any more, and all that is recorded on it."""
        if run.status in TERMINAL:
            return Answer(False, "already_terminal")
        self._end(run, "cancelled", None)
        run.owed.clear()
        return APPLIED

    def recover(self, agent: int, now: datetime) -> list[Run]:
        """Fail what a restarted daemon had in hand."""
        lost = self.active(agent)
        for run in lost:
            self.fail(run, run.claim_no, now, "runtime_recovery")
        return lost

    def _end(self, run: Run, status: str, report: tuple[object, ...] | None) -> None:
        run.status, run.report, run.lease = status, report, None

    def _settle(self, run: Run, now: datetime) -> None:
        """Give the wakes that came too late for a claim to the pair's next run."""
        if not run.owed:
            return
        late = {number: run.wakes[number] for number in run.owed}
        run.owed.clear()
        holder = self.slot(run.agent, run.issue)
        if holder is not None:
            self._record(holder, late)
            run.follow_up = holder
        else:
            run.follow_up = self._successor(run, late, now, run.priority)

    def _successor(
        self, run: Run, wakes: Mapping[int, int], now: datetime, priority: int
    ) -> Run:
        return self._add(
            Run(
                len(self.runs),
                run.agent,
                run.issue,
                run.chat,
                run.payload,
                priority,
                now,
                max_attempts=run.max_attempts,
                wakes=dict(wakes),
            )
        )

    def _refusal(
        self,
        run: Run,
        no: int,
        allowed: Iterable[str],
        report: tuple[object, ...] | None = None,
    ) -> Answer | None:
        """Say why a report does not apply; a repeated last one applies without effect."""
        if no != run.claim_no:
            return Answer(False, "superseded")
        if report is not None and run.report == report:
            return APPLIED
        if run.status in TERMINAL:
            return Answer(False, "already_terminal")
        if run.status not in set(allowed):
            return Answer(False, "wrong_state")
        return None


def _older(at: datetime | None, age: timedelta, now: datetime) -> bool:
    return at is not None and at < now - age


def _delay(reason: str, attempt: int) -> timedelta | None:
    """Say how long a retry waits; None when it is queued at once."""
    if reason == OFFLINE:
        return timedelta(seconds=1)
    if reason == NETWORK and attempt > 1:
        return timedelta(seconds=5)
    return None
